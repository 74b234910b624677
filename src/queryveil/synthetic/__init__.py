"""Generates logs of invented users, from settings or from a release.

May import: errors, parameters, data, files, reading, release.
"""
