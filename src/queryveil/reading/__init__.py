"""Reads any source into one lazy table of query events, on any engine.

May import: errors, parameters, plugins, compiled, display, files.
"""
