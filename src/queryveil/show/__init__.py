"""Shows results to people: the curator's report, reports as files, and the command line.

The command line asks for what it shows by public names, as any user would.

May import: errors, parameters, files, charts, reading, count, privacy, language, mechanisms, release, verification,
synthetic, measure, attack, advice, auditing, study.
"""
