"""Renders templates of a version, with its sentences in one language."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queryveil import catalog as catalogs
from queryveil.catalog import Catalog

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

_HTML = (".html.jinja", "parts.jinja")


def render(catalog: Catalog, template: str, **values: Any) -> str:
    """Return a template of the version of a catalog as text, with the sentences of the catalog."""
    return environment(catalog).get_template(template).render(**values)


def environment(catalog: Catalog) -> Environment:
    """Return the environment in which the templates of a version are rendered."""
    return _environment(str(catalog.templates), catalog.version, catalog.language)


def warm_up(catalog: Catalog) -> Iterator[None]:
    """Compile the templates of a version, one after the other."""
    for name in environment(catalog).list_templates(["jinja"]):
        environment(catalog).get_template(name)
        yield


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
        bytecode_cache=_compiled_templates(Path(folder), language),
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


def _compiled_templates(folder: Path, language: str) -> BytecodeCache:
    """Return a cache of compiled templates, kept where Python keeps compiled modules, if it may be written.

    Sentences that a template always says are compiled into it, so that a catalog has compiled templates of its own.
    """
    from jinja2 import BytecodeCache

    sentences = hashlib.sha256((folder / f"{language}.yaml").read_bytes()).hexdigest()[:16]
    compiled = catalogs.FOLDER / "__pycache__"

    class CompiledTemplates(BytecodeCache):
        def load_bytecode(self, bucket: Any) -> None:
            with contextlib.suppress(OSError), (compiled / self._name(bucket)).open("rb") as file:
                bucket.load_bytecode(file)

        def dump_bytecode(self, bucket: Any) -> None:
            if sys.dont_write_bytecode:
                return
            with contextlib.suppress(OSError):  # it is compiled anew in each process
                compiled.mkdir(exist_ok=True)
                made = compiled / f"{self._name(bucket)}.{os.getpid()}"
                made.write_bytes(bucket.bytecode_to_string())
                made.replace(compiled / self._name(bucket))

        @staticmethod
        def _name(bucket: Any) -> str:
            return f"{bucket.key}.{sentences}.{sys.implementation.cache_tag}"

    return CompiledTemplates()


def escape_markdown(text: str) -> str:
    """Return a text that means nothing to Markdown."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|" else one for one in text)


def _table_row(cells: Sequence[str]) -> str:
    """A row of a table of Markdown; a bar or a line break in a cell would end it."""
    return f"| {' | '.join(' '.join(one.split()).replace('|', chr(92) + '|') for one in cells)} |"


def _as_json(catalog: Catalog, value: Any, indent: int | None = None) -> str:
    return json.dumps(catalog.localize(value), indent=indent, ensure_ascii=False, allow_nan=False)
