"""Recurring releases: one release for each period of a public calendar, and one index over them."""
