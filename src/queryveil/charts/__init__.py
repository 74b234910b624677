"""Draws figures and escapes what stands in them; it knows no log and no release.

May import: errors, parameters.
"""
