"""Makes logs of people who do not exist: from settings, or from a release.

May import: errors, parameters, data, files, reading, release.
"""
