"""Presents results: the command line, the workbench, and reports.

Command line and workbench ask for what they show by public names, as any user would.

May import: errors, parameters, plugins, catalog, files, display, reading, count, privacy, language, mechanisms,
release, verification, synthetic, measure, attack, advice.
"""
