"""Finds concepts, names, places and identifiers in the texts of queries.

May import: errors, parameters, data, reading.
"""
