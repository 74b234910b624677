"""Renders templates of a version, with its sentences in one language."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from queryveil import catalog as catalogs
from queryveil.catalog import Catalog

if TYPE_CHECKING:
    from jinja2 import Environment

_HTML = (".html.jinja", "parts.jinja")


def render(catalog: Catalog, template: str, **values: Any) -> str:
    """Return a template of the version of a catalog as text, with the sentences of the catalog."""
    return environment(catalog).get_template(template).render(**values)


def environment(catalog: Catalog) -> Environment:
    """Return the environment in which the templates of a version are rendered."""
    return _environment(str(catalog.templates), catalog.version, catalog.language)


@functools.cache
def _environment(folder: str, version: int, language: str) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    catalog = catalogs.open_catalog(version, language)
    made = Environment(
        loader=FileSystemLoader(folder),
        # Only text that is no HTML is not escaped.
        autoescape=lambda name: name is not None and name.endswith(_HTML),  # noqa: S701
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Every sentence that reaches a page is said in the language of the page.
        finalize=catalog.text,
    )
    made.globals |= {
        "say": lambda id, **fields: catalog.say(id, fields),
        "count": catalogs.count,
        "language": language,
    }
    made.filters |= {
        "localize": catalog.text,
        "markdown": lambda text: escape_markdown(catalog.text(text)),
        "cells": lambda row: _table_row([catalog.text(one) for one in row]),
        "json": functools.partial(_as_json, catalog),
    }
    return made


def escape_markdown(text: str) -> str:
    """Return a text that means nothing to Markdown."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|" else one for one in text)


def _table_row(cells: Sequence[str]) -> str:
    """A row of a table of Markdown; a bar or a line break in a cell would end it."""
    return f"| {' | '.join(' '.join(one.split()).replace('|', chr(92) + '|') for one in cells)} |"


def _as_json(catalog: Catalog, value: Any, indent: int | None = None) -> str:
    return json.dumps(catalog.localize(value), indent=indent, ensure_ascii=False, allow_nan=False)
