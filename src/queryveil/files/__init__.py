"""Writes files that are whole or not there at all, and knows what a release folder looks like.

May import: errors, parameters.
"""
