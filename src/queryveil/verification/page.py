"""References that would make a browser ask another machine, or leave the release, when it shows a page.

Only what a browser acts on counts: a released url that stands in the page as text is no reference.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

_REFERRING = frozenset(
    {
        "src",
        "href",
        "action",
        "formaction",
        "srcset",
        "imagesrcset",
        "poster",
        "data",
        "background",
        "ping",
        "cite",
        "manifest",
        "xlink:href",
        "longdesc",
        "profile",
        "classid",
        "codebase",
        "archive",
        "srcdoc",
    }
)
_LOADED_NAMES = re.compile(r"url\(\s*['\"]?\s*(?!data:|#|['\")\s])|@import|image-set\(", re.IGNORECASE)
"""In a style: any url that is neither inline nor in the page."""

_ASKING = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport\b|https?:|['\"]//"
)
_DATA_SCRIPTS = {"application/json", "application/ld+json", "text/plain"}


def outside_references(text: str, inside: set[str]) -> list[str]:
    """One sentence for each reference to anything but the page itself and the files `inside`."""
    reader = _References(inside)
    reader.feed(text)
    reader.close()
    return reader.found


class _References(HTMLParser):
    def __init__(self, inside: set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.inside = inside
        self.found: list[str] = []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in attrs}
        for name, value in given.items():
            if name in _REFERRING and not self._stays(value):
                self._say(f"<{tag}> has a '{name}' that points outside")
            elif name == "style" and _LOADED_NAMES.search(value):
                self._say(f"<{tag}> has a style that loads from outside")
        if tag == "script" and "src" in given and self._stays(given["src"]):
            self._say("<script> is loaded and not part of the page")
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self._say("<meta> sends the reader elsewhere")
        if tag == "base":
            self._say("<base> changes what references mean")
        self._within = tag if tag in {"style", "script"} else ""
        if tag == "script" and given.get("type", "").lower() in _DATA_SCRIPTS:
            self._within = ""

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "style" and _LOADED_NAMES.search(data):
            self._say("<style> loads from outside")
        elif self._within == "script" and _ASKING.search(data):
            self._say("<script> can ask another machine")

    def _stays(self, value: str) -> bool:
        return value == "" or value.startswith(("#", "data:")) or value.partition("#")[0] in self.inside

    def _say(self, problem: str) -> None:
        self.found.append(f"{problem} (line {self.getpos()[0]})")
