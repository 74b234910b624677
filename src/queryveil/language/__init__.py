"""Finds concepts, names, places, and identifiers in queries.

May import: errors, parameters, data, reading.
"""
