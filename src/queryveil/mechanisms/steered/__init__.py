"""Steered selection: several times more items for the same guarantee."""
