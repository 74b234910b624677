"""Truncated geometric noise: items that enough users share, where each user has few."""
