"""The frame of a page: one look for the public and the curator's report, no script, no network, fit for print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from queryveil.catalog import Catalog, open_catalog
from queryveil.catalog.templates import environment, render
from queryveil.display import svg

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may do for a page: show it."""


@dataclass(frozen=True)
class Section:
    """A part of a page; its name is what links lead to."""

    name: str
    title: str
    body: Sequence[str]


def document(
    *,
    kind: str,
    title: str,
    head: Sequence[str],
    sections: Sequence[Section],
    foot: str,
    style: str = "",
    catalog: Catalog | None = None,
) -> str:
    """A whole page: what matters most in `head`, then sections with links to them. All but titles is HTML already.

    `catalog` has the sentences of the page, of the latest version in English if it is left out.
    """
    kept = [
        {"name": one.name, "title": one.title, "body": Markup("\n".join(one.body))}
        for one in sections
        if any(one.body)
    ]
    return render(
        catalog or open_catalog(),
        "page.html.jinja",
        policy=POLICY,
        kind=kind,
        title=title,
        head=Markup("\n".join(head)),
        sections=kept,
        foot=Markup(foot),
        style=Markup(svg.STYLE + style),
    )


def _part(catalog: Catalog | None, name: str, *given: Any, **more: Any) -> str:
    """A part of a page, from the macro with its name."""
    parts: Any = environment(catalog or open_catalog()).get_template("parts.jinja").module
    return str(getattr(parts, name)(*given, **more))


def table(
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    kind: str = "",
    catalog: Catalog | None = None,
) -> str:
    """A table whose cells are HTML already; `numbers` are the columns to set at the right.

    What may be wider than the page is scrolled, by the keyboard too, and has a name for those who do not see it.
    """
    return _part(
        catalog, "table", heading, [[Markup(one) for one in row] for row in rows], numbers=numbers, kind=kind
    )


def keyed(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values, which go below each other on a phone; values are HTML already."""
    return _part(None, "keyed", [(name, Markup(value)) for name, value in rows])


def publisher(about: Sequence[tuple[str, str]], catalog: Catalog | None = None) -> list[str]:
    """What the publisher says, named as theirs."""
    catalog = catalog or open_catalog()
    rows = [(catalog.text(name).capitalize(), said) for name, said in about]
    return [_part(catalog, "publisher", rows)] if rows else []


def wording(catalog: Catalog) -> svg.Wording:
    """Return how figures of a page write numbers and their description."""
    entries = catalog.entries
    return svg.Wording(catalog.style.localize, entries["axis.million"], entries["axis.against"])


def listed(sentences: Sequence[str]) -> str:
    return _part(None, "listed", sentences)


def paragraphs(sentences: Sequence[str], catalog: Catalog | None = None) -> str:
    return _part(catalog, "paragraphs", sentences)
