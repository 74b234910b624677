"""A published release, opened so that it can be changed, and written again with digests and documents that fit."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil as qv
from queryveil.catalog import to_data
from queryveil.files import folder
from queryveil.release.documents import rendering
from queryveil.release.publish import Release
from queryveil.verification import Verification

REWRITE = frozenset({"manifest", "documents"})
"""Checks that compare a release with what its writer writes. They find nearly every change, which hides whether the
more specific checks find it too."""


class Draft:
    """Manifest, tables and documents of a release, to be changed."""

    def __init__(self, release: Path) -> None:
        self.release: Path | None = release
        self.manifest: dict[str, Any] = json.loads((release / folder.MANIFEST).read_text(encoding="utf-8"))
        self.tables = {name: pq.read_table(release / f"{name}.parquet") for name in self.manifest["tables"]}
        self.documents: dict[str, bytes | None] = {}
        """Other documents than manifest and tables give; None for one that is left out."""

    @classmethod
    def made(cls, method: qv.Mechanism, **tables: pa.Table) -> Draft:
        """What a method would say of rows that it did not make."""
        draft = cls.__new__(cls)
        made = Release(plan=method.plan(), tables=tables).manifest()
        draft.release, draft.tables, draft.documents = None, tables, {}
        draft.manifest = json.loads(folder.as_json(to_data(made)))
        return draft

    def describe(self) -> None:
        """State the rows and columns that tables have now."""
        stated = self.manifest["tables"]
        some = next(iter(stated.values()))
        for name, table in self.tables.items():
            entry = stated.setdefault(name, copy.deepcopy(some) | {"file": f"{name}.parquet"})
            helps = {one["name"]: one["help"] for one in entry["columns"]}
            entry["rows"] = table.num_rows
            entry["columns"] = [
                {"name": one.name, "type": str(one.type), "help": helps.get(one.name, "x")}
                for one in table.schema
            ]
        self.manifest["tables"] = {name: stated[name] for name in self.tables}

    def write(self, out: Path) -> Path:
        out.mkdir()
        content = copy.deepcopy(self.manifest)
        content["files"] = {}
        for name, table in self.tables.items():
            folder.write_table(table, out / f"{name}.parquet")
            content["files"][f"{name}.parquet"] = digested(out / f"{name}.parquet") | {"rows": table.num_rows}
        for name, text in self._documents(content):
            (out / name).write_bytes(text)
            content["files"][name] = digested(out / name)
        (out / folder.MANIFEST).write_text(folder.as_json(content), encoding="utf-8")
        return out

    def _documents(self, content: dict[str, Any]) -> list[tuple[str, bytes]]:
        try:
            made = dict(rendering.render_documents(copy.deepcopy(content), self.tables))
        except (
            TypeError,
            ValueError,
            KeyError,
            AttributeError,
            qv.QueryveilError,
        ):  # what is malformed has no documents that fit
            old = self.release
            made = (
                {name: (old / name).read_bytes() for name in rendering.NAMES if (old / name).is_file()}
                if old
                else dict(_BLANK)
            )
        return [(name, text) for name, text in (made | self.documents).items() if text is not None]


_BLANK = {folder.CROISSANT: b"x", folder.DATASHEET: b"x", folder.REPORT: b"x"}


def digested(file: Path) -> dict[str, Any]:
    content = file.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def failed(result: Verification) -> set[str]:
    """What failed, but for what compares a release with its writer."""
    return {check.name for check in result.failed} - REWRITE


# -- changes -------------------------------------------------------------------------------------------------

Change = Callable[[Draft], object]


def put(*keys: Any, value: Any) -> Change:
    def change(made: Draft) -> None:
        inner: Any = made.manifest
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def drop(*keys: Any) -> Change:
    def change(made: Draft) -> None:
        inner: Any = made.manifest
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


def both(*changes: Change) -> Change:
    return lambda made: [one(made) for one in changes]


def without(where: str, code: str) -> Change:
    """The guarantee without an assumption or a caveat."""

    def change(made: Draft) -> None:
        said = made.manifest["guarantee"][where]
        kept = [one for one in said if one["code"] != code]
        assert len(kept) < len(said), code
        made.manifest["guarantee"][where] = kept

    return change


def only(**given: pa.Table) -> Change:
    """These tables and no others."""

    def change(made: Draft) -> None:
        made.tables = dict(given)
        made.describe()

    return change


def table(counts: list[int], **columns: list[Any]) -> pa.Table:
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return pa.table(arrays | {"count": pa.array(counts, pa.int64())})


def tables(**replaced: pa.Table | None) -> Change:
    """Other tables, described as they are; None for one that is taken out."""

    def change(made: Draft) -> None:
        made.tables = {name: one for name, one in (made.tables | replaced).items() if one is not None}
        made.describe()

    return change


def page(html: str) -> Change:
    """More in the body of the page."""

    def change(made: Draft) -> None:
        assert made.release is not None
        text = (made.release / folder.REPORT).read_text(encoding="utf-8")
        assert "<body>" in text
        made.documents[folder.REPORT] = text.replace("<body>", f"<body>{html}", 1).encode()

    return change
