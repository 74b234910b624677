"""Publishes: charges the ledger, runs a method, writes a release with its documents, and loads it again.

May import: errors, parameters, plugins, catalog, files, display, reading, language, privacy, mechanisms.
"""
