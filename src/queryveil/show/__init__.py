"""Shows results to people: the curator's report, reports as files, the command line and the workbench.

Command line and workbench ask for what they show by public names, as any user would.

May import: errors, parameters, plugins, files, display, reading, count, privacy, language, mechanisms, release,
verification, synthetic, measure, attack, advice.
"""
