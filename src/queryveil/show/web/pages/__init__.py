"""The pages of the workbench, one module each.

A module maps addresses to functions: `PAGES` for pages that are opened, `FORMS` for forms that are sent.
"""

from __future__ import annotations

from typing import Final

MODULES: Final[dict[str, str]] = {
    "entrance": "",
    "log": "",
    "risk": "",
    "design": "",
    "publish": "",
    "attack": "",
    "releases": "",
    "series": "",
    "history": "History",
    "jobs": "",
}
"""The modules, each with its title beside the steps on every page, where `/` and its name is then an address."""
LINKS: Final = {name: title for name, title in MODULES.items() if title}
