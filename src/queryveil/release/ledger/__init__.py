"""The ledger: what was spent on a source of data, and what may still be."""
