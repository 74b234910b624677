"""Shows results to people: the curator's report, reports as files, and the command line.

May import: errors, parameters, files, charts, reading, privacy, release, verification, synthetic, measure,
attack.
"""
