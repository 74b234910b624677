"""Bounds what each user contributes, and counts items: keywords, queries, query pairs, clicks, and itemsets.

May import: errors, parameters, compiled, files, catalog, reading.
"""
