"""Bounds what a user adds, and counts items: keywords, queries, query pairs, clicks, itemsets.

May import: errors, parameters, compiled, files, reading.
"""
