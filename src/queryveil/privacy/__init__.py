"""Defines guarantees, calibrates noise, and is its only source.

May import: errors, parameters, catalog, display.
"""
