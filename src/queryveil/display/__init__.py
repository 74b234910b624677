"""Draws plain values: figures, cards, and escaped text.

May import: errors, parameters.
"""
