"""Writes files atomically, and defines the layout of a release folder.

May import: errors, parameters.
"""
