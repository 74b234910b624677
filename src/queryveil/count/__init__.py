"""Bounds what a user adds, and counts items: keywords, queries, query pairs, clicks.

May import: errors, parameters, reading.
"""
