"""A page that a browser only shows: nothing in it runs, loads, sends or leads out of the release.

Only what a browser acts on counts: a released url that stands in the page as text is no reference. Browsers forgive
more than any parser here could follow, so what is not plainly harmless is refused: elements that are not on a list,
and every `<` that is not the beginning of an element that was seen.
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
_LOADED_NAMES = re.compile(
    r"url\(\s*['\"]?\s*(?!data:image/|#|['\")\s])|@import|image-set\(|\\", re.IGNORECASE
)
"""In a style: any url that is neither an image inside the page nor in the page, and escapes that could spell one."""

_NAMES = """
html head meta title style body header main footer nav section article aside div span p h1 h2 h3 h4 h5 h6 a b
i u em strong small sub sup code pre blockquote q ul ol li dl dt dd table caption colgroup col thead tbody
tfoot tr th td br hr figure figcaption details summary time abbr mark img svg g path line rect circle ellipse
text tspan polyline polygon use defs desc marker clippath lineargradient radialgradient stop symbol bdi bdo
"""
_HARMLESS = frozenset(_NAMES.split())

_POLICY = "content-security-policy"
"""The one order to a browser that only forbids."""


def outside_references(text: str, inside: set[str]) -> list[str]:
    """One sentence for each thing that is more than shown, or that refers to anything but the files `inside`."""
    reader = _References(inside)
    reader.feed(text)
    reader.close()
    if text.count("<") != reader.elements:
        reader.found.append("the page has a '<' that begins no element, which browsers may take for one")
    return reader.found


class _References(HTMLParser):
    def __init__(self, inside: set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.inside = inside
        self.found: list[str] = []
        self.elements = 0
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements += 1
        given = {name: (value or "").strip() for name, value in attrs}
        if tag not in _HARMLESS:
            self._add_problem(f"<{tag[:20]}> can do more than show something")
        for name, value in given.items():
            if name.startswith("on"):
                self._add_problem(f"<{tag[:20]}> has '{name[:20]}', which runs a script")
            elif name in _REFERRING and not self._is_internal(tag, value):
                self._add_problem(f"<{tag[:20]}> has a '{name}' that points outside")
            elif _LOADED_NAMES.search(value) and name in {
                "style",
                "fill",
                "stroke",
                "filter",
                "mask",
                "clip-path",
            }:
                self._add_problem(f"<{tag[:20]}> has a {name} that loads from outside")
        if tag == "meta" and given.get("http-equiv", _POLICY).lower() != _POLICY:
            self._add_problem("<meta> tells the browser to do something")
        self._within = tag if tag == "style" else ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._within = ""

    def handle_endtag(self, tag: str) -> None:
        self.elements += 1
        self._within = ""

    def handle_decl(self, decl: str) -> None:
        self.elements += decl.lower() == "doctype html"

    def handle_data(self, data: str) -> None:
        if self._within == "style" and _LOADED_NAMES.search(data):
            self._add_problem("<style> loads from outside")

    def _is_internal(self, tag: str, value: str) -> bool:
        if tag == "img" and value.startswith("data:image/"):
            return True
        return value == "" or value.startswith("#") or value.partition("#")[0] in self.inside

    def _add_problem(self, problem: str) -> None:
        self.found.append(f"{ascii(problem)[1:-1]} (line {self.getpos()[0]})")
