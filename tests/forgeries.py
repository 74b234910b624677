"""Forgeries of a release by someone who knows the format: digests and dependent documents are written again."""

from __future__ import annotations

import contextlib
import datetime
import html
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import queryveil as qv
from queryveil.errors import QueryveilError
from queryveil.files import folder
from queryveil.release import planned
from queryveil.release.documents import rendering
from tests import mutations

METHODS: dict[str, qv.Mechanism] = {
    "steered": mutations.METHODS["steered"],
    "zealous": qv.Zealous(epsilon=8, delta=1e-4, max_items=4),
    "truncated-geometric": qv.TruncatedGeometric(epsilon=8, delta=1e-4, max_items=4),
    "click-graph": qv.ClickGraph(
        epsilon=8,
        delta=1e-4,
        max_queries=4,
        epsilon_clicks=4,
        urls="private",
        delta_clicks=1e-4,
        epsilon_reformulations=4,
        delta_reformulations=1e-4,
    ),
    "k-query": mutations.METHODS["k-query"],
    "k-session": mutations.METHODS["k-session"],
}
TEXT = "measles"
"""A text that no log of these releases has."""
SENTENCE = "No one can be harmed by this release."
URL_CHANGES = (
    *("another text", "upper case", "blank at the end", "control character", "not composed"),
    *("full-width letters", "quotation marks", "very long text"),
)
COUNT_CHANGES = ("one more", "one less", "ten times", "zero", "negative")
_EVERYWHERE = ", everywhere"
_SENTENCE = re.compile(
    r"[^\s<>\"|#*{}][^<>\"|{}\n]* [^<>\"|{}\n]* [^<>\"|{}\n]*?[.?](?=[\s<\"]|$)", re.MULTILINE
)
_NUMBER = re.compile(r"(?<![\w.#&])\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
_MARKUP = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)


@dataclass(frozen=True)
class Forgery:
    """One change of a copied release folder."""

    change: str
    """Its class, which `UNDETECTABLE` and the tests name."""
    place: str
    apply: Callable[[Path], None]

    @property
    def reason(self) -> str | None:
        """Why a release alone cannot show it; None if it can."""
        return UNDETECTABLE.get(self.change.removesuffix(_EVERYWHERE))


_ANY_TEXT = "any text in normal form can be in a log, and every row is written for the new text"
_ANY_URL = "a URL is published as it is in the log, and a log can have any text there"
_ANY_COUNT = (
    "the true count is secret and noise has no limit, so any count above the threshold can be published"
)
_ANY_DEVIATION = "the weight of an item follows from a noisy sum that is not published"
_ROW_ADDED = "any item that enough users have can be published"
_ROW_REMOVED = "an item that is missing may have had too few users"
_ANY_PARAMETER = (
    "noise does not show how it was drawn, and all values are within the limits of these parameters too"
)
UNDETECTABLE: dict[str, str] = {
    "earlier day": "no clock signs a release",
    "day before the format existed": "the clock of the machine that wrote a release can be wrong",
    "manifest key withheld": "rows that were removed leave no trace",
    "manifest key about": "the publisher's own words, which every document marks as such",
    "text: another text": _ANY_TEXT,
    "text: very long text": "a log can have texts of up to a megabyte",
    **dict.fromkeys([f"url: {change}" for change in URL_CHANGES], _ANY_URL),
    **dict.fromkeys([f"count: {change}" for change in COUNT_CHANGES], _ANY_COUNT),
    **dict.fromkeys(
        [f"deviation: {change}" for change in ("one more", "one less", "ten times")], _ANY_DEVIATION
    ),
    "set: item removed": "a set can have any keywords, if all its rows have the same",
    "row added": _ROW_ADDED,
    "rows of a text added": _ROW_ADDED,
    "row twice": "a user can search for one thing twice, and a group can have one more session",
    "row removed": _ROW_REMOVED,
    "all rows removed": _ROW_REMOVED,
    "table file: no statistics, as by older Arrow": "older releases of Arrow write fewer statistics",
    "other parameter": _ANY_PARAMETER,
    "other method": _ANY_PARAMETER,
    "invented log": "a release does not show which log it comes from",
}
"""Why a release alone cannot show these changes. A change of every cell with one value has the same reason."""


def forgeries(release: Path, others: Mapping[str, Path], invented: Path) -> Iterator[Forgery]:
    """Yield every forgery of a release.

    Args:
        release: The folder that is forged.
        others: Releases of other methods from the same log.
        invented: A release by the same method from an invented log.
    """
    yield from _manifest_forgeries(release)
    yield from _document_forgeries(release, invented)
    for name, table in _tables(release).items():
        yield from _cell_forgeries(name, table)
        yield from _row_forgeries(name, table)
        yield from _file_forgeries(name)
    yield from _folder_forgeries(release)
    yield from _relabelings(release, others)
    yield Forgery("invented log", "every file", lambda to: _replace_folder(to, invented))


def passes(release: Path, forgery: Forgery, to: Path) -> bool | None:
    """Whether a forged copy passes `verify`; None if the forgery leaves every file as it was."""
    mutations.copied(release, to)
    forgery.apply(to)
    if _contents(to) == _contents(release):
        return None
    try:
        return qv.verify(to).passes
    except QueryveilError:
        return False


def _contents(place: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() if file.is_file() else b"" for file in place.iterdir()}


# -- writing -------------------------------------------------------------------------------------------------


def _tables(release: Path) -> dict[str, pa.Table]:
    return {
        name: pq.read_table(release / f"{name}.parquet") for name in mutations.manifest_of(release)["tables"]
    }


def _write(to: Path, content: dict[str, Any], tables: Mapping[str, pa.Table] | None = None) -> None:
    """Write manifest, changed tables, documents, and digests. Documents that cannot be written stay as they are."""
    for name, table in (tables or {}).items():
        folder.write_table(table, to / f"{name}.parquet")
        content["tables"][name]["rows"] = table.num_rows
        _state_file(to, content, f"{name}.parquet", rows=table.num_rows)
    try:
        mutations.write_again(to, content, with_documents=True)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, QueryveilError, pa.ArrowException):
        mutations.write_again(to, content, with_documents=False)


def _state_file(to: Path, content: dict[str, Any], name: str, **stated: int) -> None:
    file = to / name
    content["files"][name] = {"sha256": folder.file_digest(file), "bytes": file.stat().st_size, **stated}


def _replace_folder(to: Path, release: Path) -> None:
    mutations.copied(release, to)


# -- manifest ------------------------------------------------------------------------------------------------


def _manifest_forgeries(release: Path) -> Iterator[Forgery]:
    content = mutations.manifest_of(release)
    for at in mutations.leaves(content):
        if at[0] == "files" and not str(at[1]).endswith(".parquet"):
            continue  # digests of documents, which are computed again
        place = ".".join(map(str, at))
        if at != ("created",):
            yield Forgery("manifest value", place, _with(partial(mutations.changed, at=at)))
            yield Forgery("manifest value removed", place, _with(partial(_without, at=at)))
    today = datetime.date.fromisoformat(content["created"])
    for change, day in (
        ("earlier day", today - datetime.timedelta(days=1)),
        ("day before the format existed", datetime.date(2001, 1, 1)),
        ("day in the future", today + datetime.timedelta(days=400)),
    ):
        yield Forgery(change, "created", _with(partial(_merge, {"created": day.isoformat()})))
    for key, value in {
        "note": TEXT,
        "withheld": {next(iter(content["tables"])): 3},
        "about": {"purpose": SENTENCE},
        "assessment": [{"code": "singling-out", "sentence": SENTENCE, "fields": {}}],
    }.items():
        yield Forgery(f"manifest key {key}", key, _with(partial(_merge, {key: value})))


def _with(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    return lambda to: _write(to, change(mutations.manifest_of(to)))


def _without(content: dict[str, Any], at: tuple[str | int, ...]) -> dict[str, Any]:
    inner: Any = content
    for name in at[:-1]:
        inner = inner[name]
    del inner[at[-1]]
    return content


def _merge(changes: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    return _ordered(content | changes)


def _ordered(content: dict[str, Any]) -> dict[str, Any]:
    """The keys in the order in which the writer puts them."""
    first = ("format", "format_version", "documents", "about")
    last = ("tables", "withheld", "software", "created", "files")
    names = [*first, *(name for name in content if name not in (*first, *last)), *last]
    return {name: content[name] for name in names if name in content}


# -- documents -----------------------------------------------------------------------------------------------


def _document_forgeries(release: Path, invented: Path) -> Iterator[Forgery]:
    content = mutations.manifest_of(release)
    for name in rendering.document_names(content):
        text = (release / name).read_text(encoding="utf-8")
        for found in _SENTENCE.finditer(text):
            yield _replaced(name, "sentence", text, found.span(), SENTENCE)
        markup = [one.span() for one in _MARKUP.finditer(text)]
        drawn = 0
        for found in _NUMBER.finditer(text):
            if name == folder.REPORT and any(first <= found.start() < last for first, last in markup):
                drawn += 1
                if drawn % 20:
                    continue  # coordinates and styles: one in twenty
            digit = str((int(found.group()[-1]) + 1) % 10)
            yield _replaced(name, "number", text, (found.end() - 1, found.end()), digit)
        other = (invented / name).read_text(encoding="utf-8")
        for change, forged in {
            "document of another release": other,
            "blank at the end": f"{text} ",
            "rows at the end": f"{text}\nu17\t{TEXT}\n",
            "byte order mark": f"\ufeff{text}",
            "line ends": text.replace("\n", "\r\n"),
        }.items():
            yield Forgery(change, name, _document(name, forged))
        yield Forgery("document removed", name, partial(_remove_file, name=name))


def _replaced(name: str, change: str, text: str, span: tuple[int, int], by: str) -> Forgery:
    line = text.count("\n", 0, span[0]) + 1
    shown = html.unescape(text[max(0, span[0] - 30) : span[1]]).replace("\n", " ")
    forged = text[: span[0]] + by + text[span[1] :]
    return Forgery(f"document {change}", f"{name}, line {line}: {shown[-60:]}", _document(name, forged))


def _document(name: str, text: str) -> Callable[[Path], None]:
    """Write a document, its digest, and the documents after it, which may name that digest."""

    def apply(to: Path) -> None:
        content = mutations.manifest_of(to)
        tables = _tables(to)
        stated, content["files"] = content["files"], {}
        content["files"] = {one: entry for one, entry in stated.items() if one not in rendering.NAMES}
        for one, written in rendering.render_documents(content, tables):
            (to / one).write_bytes(text.encode() if one == name else written)
            _state_file(to, content, one)
        mutations.write_again(to, content, with_documents=False)

    return apply


def _remove_file(to: Path, name: str) -> None:
    content = mutations.manifest_of(to)
    (to / name).unlink()
    del content["files"][name]
    mutations.write_again(to, content, with_documents=False)


# -- tables --------------------------------------------------------------------------------------------------


_TEXTS: dict[str, Callable[[str], str | None]] = {
    "another text": lambda _: TEXT,
    "upper case": str.upper,
    "blank at the end": lambda text: f"{text} ",
    "control character": lambda text: f"{text}\u0001",
    "not composed": lambda _: "me\u0301tro",
    "full-width letters": lambda _: "\uff4d\uff45\uff41\uff53\uff4c\uff45\uff53",
    "quotation marks": lambda text: f'"{text}"',
    "empty text": lambda _: "",
    "very long text": lambda _: "measles " * 5_000 + "x",
    "missing value": lambda _: None,
}
_NUMBERS: dict[str, Callable[[int], int | None]] = {
    "one more": lambda number: number + 1,
    "one less": lambda number: number - 1,
    "ten times": lambda number: number * 10,
    "zero": lambda _: 0,
    "negative": lambda number: -number - 1,
    "largest number": lambda _: 2**63 - 1,
    "missing number": lambda _: None,
}
_SETS: dict[str, Callable[[list[str]], list[str | None] | None]] = {
    "another item": lambda items: [TEXT, *items[1:]],
    "item added": lambda items: sorted([*items, TEXT]),
    "item removed": lambda items: list(items[1:]),
    "item twice": lambda items: [items[0], *items],
    "other order": lambda items: items[::-1],
    "item in upper case": lambda items: [items[0].upper(), *items[1:]],
    "empty item": lambda items: ["", *items[1:]],
    "missing item": lambda items: [None, *items[1:]],
    "missing set": lambda _: None,
}
_KINDS = {"query": "text", "next_query": "text", "items": "set"}


def _cell_forgeries(name: str, table: pa.Table) -> Iterator[Forgery]:
    """Change the first cell of a column, and every cell with its value."""
    if not table.num_rows:
        return
    for column in table.schema:
        value = table[column.name][0].as_py()
        changes: Mapping[str, Callable[[Any], Any]] = (
            _TEXTS if isinstance(value, str) else _NUMBERS if isinstance(value, int) else _SETS
        )
        kind = _KINDS.get(column.name, column.name)
        for change, function in changes.items():
            new, place = function(value), f"{name}.{column.name}"
            yield Forgery(f"{kind}: {change}", place, _cells(name, column.name, value, new, everywhere=False))
            yield Forgery(
                f"{kind}: {change}{_EVERYWHERE}",
                place,
                _cells(name, column.name, value, new, everywhere=True),
            )


def _cells(name: str, column: str, old: Any, new: Any, *, everywhere: bool) -> Callable[[Path], None]:
    def apply(to: Path) -> None:
        content, tables = mutations.manifest_of(to), _tables(to)
        forged = {name: _changed(tables[name], column, old, new, everywhere=everywhere)}
        if everywhere:
            for other, stated in content["tables"].items():
                for inner, outer in stated.get("inside", {}).items():
                    if outer == f"{name}.{column}":
                        table = forged.get(other, tables[other])
                        forged[other] = _changed(table, inner, old, new, everywhere=True)
        _write(to, content, {one: _sorted(table, content["tables"][one]) for one, table in forged.items()})

    return apply


def _changed(table: pa.Table, column: str, old: Any, new: Any, *, everywhere: bool) -> pa.Table:
    values = table[column].to_pylist()
    changed = [new if one == old and (everywhere or place == 0) else one for place, one in enumerate(values)]
    at = table.column_names.index(column)
    return table.set_column(at, table.schema.field(at), pa.array(changed, table.schema.field(at).type))


def _sorted(table: pa.Table, stated: Mapping[str, Any]) -> pa.Table:
    """The rows in the declared order, if there is one."""
    keys = [(key, "descending" if key == "count" else "ascending") for key in stated["order"]]
    return table.sort_by(keys) if keys else table


def _row_forgeries(name: str, table: pa.Table) -> Iterator[Forgery]:
    if not table.num_rows:
        return
    texts = [one.name for one in table.schema if pa.types.is_string(one.type)]

    def added(rows: pa.Table) -> pa.Table:
        new = rows.slice(0, 1)
        for text in texts[-1:]:
            new = _changed(new, text, new[text][0].as_py(), TEXT, everywhere=True)
        return pa.concat_tables([rows, new])

    def renamed(rows: pa.Table) -> pa.Table:
        """All rows with one text, once more with another."""
        if not texts:
            return pa.concat_tables([rows, rows.slice(0, 1)])
        old = rows[texts[-1]][0].as_py()
        crowd = rows.filter(pc.equal(rows[texts[-1]], old))
        joined = pa.concat_tables([rows, _changed(crowd, texts[-1], old, TEXT, everywhere=True)])
        return joined.sort_by("session") if "session" in rows.column_names else joined

    changes: dict[str, Callable[[pa.Table], pa.Table]] = {
        "row added": added,
        "rows of a text added": renamed,
        "row twice": lambda rows: pa.concat_tables([rows.slice(0, 1), rows]),
        "row removed": lambda rows: rows.slice(1),
        "all rows removed": lambda rows: rows.slice(0, 0),
    }
    for change, function in changes.items():
        yield Forgery(change, name, _rows(name, function, ordered=True))
    backwards = _rows(name, lambda rows: rows.take(list(range(rows.num_rows))[::-1]), ordered=False)
    yield Forgery("rows in another order", name, backwards)


def _rows(name: str, change: Callable[[pa.Table], pa.Table], *, ordered: bool) -> Callable[[Path], None]:
    def apply(to: Path) -> None:
        content = mutations.manifest_of(to)
        forged = change(_tables(to)[name]).combine_chunks()
        _write(to, content, {name: _sorted(forged, content["tables"][name]) if ordered else forged})

    return apply


def _file_forgeries(name: str) -> Iterator[Forgery]:
    """Change how a table is stored, and not its rows."""

    def stored(change: Callable[[pa.Table], pa.Table], **options: Any) -> Callable[[Path], None]:
        def apply(to: Path) -> None:
            content = mutations.manifest_of(to)
            table = change(_tables(to)[name])
            older = options.pop("older", False)
            pq.write_table(table, to / f"{name}.parquet", **{"compression": "zstd", **options})
            if older:
                _relabel_arrow(to / f"{name}.parquet")
            stated = [
                {"name": one.name, "type": str(one.type), "help": column["help"]}
                for one, column in zip(table.schema, [*content["tables"][name]["columns"]] * 2, strict=False)
            ]
            content["tables"][name]["columns"] = stated
            _state_file(to, content, f"{name}.parquet", rows=table.num_rows)
            _write(to, content)

        return apply

    def same(table: pa.Table) -> pa.Table:
        return table

    narrow = {"int64": pa.int32(), "string": pa.large_string()}
    for change, apply in {
        "other compression": stored(same, compression="none"),
        "small row groups": stored(same, row_group_size=1),
        "no dictionary": stored(same, use_dictionary=False),
        "no statistics": stored(same, write_statistics=False),
        "no statistics, as by older Arrow": stored(same, write_statistics=False, older=True),
        "metadata in the file": stored(lambda table: table.replace_schema_metadata({"raw": TEXT})),
        "another type": stored(
            lambda table: table.cast(
                pa.schema([(one.name, narrow.get(str(one.type), one.type)) for one in table.schema])
            )
        ),
        "column added": stored(
            lambda table: table.append_column("raw", pa.array([TEXT] * table.num_rows, pa.string()))
        ),
        "column removed": stored(lambda table: table.remove_column(table.num_columns - 1)),
        "column renamed": stored(lambda table: table.rename_columns(["x", *table.column_names[1:]])),
        "bytes at the end": lambda to: _bytes_at_end(to, name),
    }.items():
        yield Forgery(f"table file: {change}", f"{name}.parquet", apply)


def _relabel_arrow(file: Path) -> None:
    """State a release of Arrow whose name is as long."""
    version = re.compile(rb"(?<=parquet-cpp-arrow version )\d+")
    file.write_bytes(version.sub(lambda found: b"%d" % (int(found[0]) - 1), file.read_bytes()))


def _bytes_at_end(to: Path, name: str) -> None:
    content, file = mutations.manifest_of(to), to / f"{name}.parquet"
    file.write_bytes(TEXT.encode() + file.read_bytes())
    _state_file(to, content, file.name, rows=content["files"][file.name]["rows"])
    mutations.write_again(to, content, with_documents=False)


# -- the folder ----------------------------------------------------------------------------------------------


def _add_folder(to: Path) -> None:
    (to / "raw").mkdir()
    _put(to / "raw" / "rows.txt")


def _folder_forgeries(release: Path) -> Iterator[Forgery]:
    def listed(to: Path) -> None:
        content = mutations.manifest_of(to)
        (to / "notes.txt").write_text(TEXT)
        _state_file(to, content, "notes.txt")
        _write(to, content)

    def reformatted(text: Callable[[str], str]) -> Callable[[Path], None]:
        return lambda to: _edit(to / folder.MANIFEST, text)

    yield Forgery("file added", "notes.txt, not listed", lambda to: _put(to / "notes.txt"))
    yield Forgery("file added", "notes.txt, listed", listed)
    yield Forgery("file added", ".hidden", lambda to: _put(to / ".hidden"))
    yield Forgery("file added", "a folder", _add_folder)
    yield Forgery("file added", "a link", lambda to: (to / "raw").symlink_to("/etc/hostname"))
    yield Forgery("false signature", folder.SIGNATURE, lambda to: _put(to / folder.SIGNATURE))
    yield Forgery("manifest layout", "one line", reformatted(lambda text: json.dumps(json.loads(text))))
    yield Forgery("manifest layout", "blank at the end", reformatted(lambda text: text + " "))
    yield Forgery("manifest layout", "escapes", reformatted(lambda text: text.replace('"me', '"\\u006de')))
    yield Forgery(
        "manifest layout", "a key twice", reformatted(lambda text: text.replace("{", '{"format": "x",', 1))
    )
    tables = list(mutations.manifest_of(release)["tables"])
    for one, other in itertools.pairwise(tables):
        yield Forgery("tables exchanged", f"{one} and {other}", _exchange(one, other))


def _put(file: Path) -> None:
    file.write_text(TEXT)


def _edit(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")


def _exchange(one: str, other: str) -> Callable[[Path], None]:
    def apply(to: Path) -> None:
        tables = _tables(to)
        _write(to, mutations.manifest_of(to), {one: tables[other], other: tables[one]})

    return apply


# -- relabeling ----------------------------------------------------------------------------------------------


def _relabelings(release: Path, others: Mapping[str, Path]) -> Iterator[Forgery]:
    """The same tables under other parameters, or another method, with everything else as it follows from these."""
    content = mutations.manifest_of(release)
    for name, value in {
        **content["parameters"],
        "users": content["parameters"].get("users", 1_000_000),
    }.items():
        for new in _other_values(value) if name in content["parameters"] else (value,):
            parameters = content["parameters"] | {name: new}
            forged = content | {"parameters": parameters}
            yield Forgery("other parameter", f"{name} {value} as {new}", _relabel(forged))
    for other in others.values():
        stated = mutations.manifest_of(other)
        yield Forgery("other method", f"{content['method']} as {stated['method']}", _relabel(stated))


def _other_values(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value - 1, value + 1)
    if isinstance(value, float):
        return (value / 2, value * 1.01, value * 2)
    if isinstance(value, str):
        return (mutations.another(value),)
    return ()


def _relabel(content: dict[str, Any]) -> Callable[[Path], None]:
    """Leave the copy as it is if these parameters cannot make such tables."""

    def apply(to: Path) -> None:
        tables, created = _tables(to), mutations.manifest_of(to)["created"]
        with contextlib.suppress(QueryveilError, TypeError, KeyError, ValueError):
            plan = next(iter(planned.plans(content, None)), None)
            if plan is None:
                return
            columns = {
                name: [column["name"] for column in table["columns"]]
                for name, table in plan.as_dict()["tables"].items()
            }
            tables = {name: tables[name].select(columns[name]) for name in columns}
            written = to.with_name(f"{to.name}-relabeled")
            for earlier in (written, folder.private_folder(written)):
                shutil.rmtree(earlier, ignore_errors=True)
            qv.Release(plan=plan, tables=tables, created=created).save(written)
            _replace_folder(to, written)

    return apply
