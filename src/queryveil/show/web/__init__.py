"""The workbench: pages in a browser that take a person from a raw log to a signed-off release.

Pages are rendered here and ask for what they show by public names, as any user would. Long work is done by processes of
its own. Nothing is ever asked of another host.
"""
