"""ZEALOUS: items that enough users share, with noisy counts."""
