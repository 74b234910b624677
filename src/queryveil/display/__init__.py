"""Draws plain values: figures, cards, and escaped text. It knows no log and no release.

May import: errors, parameters.
"""
