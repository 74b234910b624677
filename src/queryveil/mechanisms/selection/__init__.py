"""The selection core: bounded histories come in, and selected items with their evidence come out; counts follow."""
