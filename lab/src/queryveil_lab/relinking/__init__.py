"""Putting together again what a release took apart: the sessions, or pseudonyms, of one person."""
