"""What study `set-union` compares: a log in whole numbers, shipped methods on it, and baselines of the literature."""
