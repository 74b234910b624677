"""Says what is promised, calibrates it, and is the only place where noise is drawn.

May import: errors, parameters, catalog, display.
"""
