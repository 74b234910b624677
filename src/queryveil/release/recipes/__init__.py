"""Recipes: a release as a file that can be read, signed off, kept in version control and run again."""
