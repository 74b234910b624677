"""What people read: the data sheet and the report of a release, made from its manifest and tables alone."""
