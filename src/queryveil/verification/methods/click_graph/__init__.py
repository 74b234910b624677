"""Checks of releases of the click graph."""
