"""Hook of MkDocs: shows links that leave the folder of a site as plain text.

Pages of queryveil and of the lab link to each other. These links work in a clone, but not on the site of one of them.
"""

from __future__ import annotations

import os
import re
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s]*)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the text of a page without links to files outside of the site."""
    folder = os.path.dirname(page.file.src_uri)  # noqa: PTH120 (a path inside of the site)

    def shown(link: re.Match[str]) -> str:
        inside = not os.path.normpath(os.path.join(folder, link[2])).startswith("..")  # noqa: PTH118
        return link[0] if inside else link[1]

    return _LINK.sub(shown, markdown)
