"""Finds which sessions, or parts of sessions, are of one user.

May import: queryveil.
"""
