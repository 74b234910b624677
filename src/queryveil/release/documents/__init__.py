"""The documents of a release: data sheet, public page, Croissant description."""
