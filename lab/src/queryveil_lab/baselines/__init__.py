"""Published ways to choose and count items privately, to compare with those of queryveil.

May import: queryveil.
"""
