"""Rows that a publisher withholds after a read-through: the release without them, as a release of its own.

Only rows are removed; counts stay as they are. If the texts are chosen by looking at the release, and not at the log,
this is processing of what was already protected: the promise stays the same. The release says how many rows are gone.
Probabilistic differential privacy is not kept by processing (docs/proofs/zealous.md), so it is refused there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa

from queryveil.errors import InputError, UsageError, argument
from queryveil.privacy.guarantee import PROBABILISTIC
from queryveil.reading.text import normalise
from queryveil.release.publish import Release, load

_LARGEST = 64 * 1024 * 1024


def texts_of(table: pa.Table) -> Iterator[tuple[int, str]]:
    """Each published text with the number of its row."""
    for column, kind in zip(table.column_names, table.schema.types, strict=True):
        if pa.types.is_string(kind):
            yield from enumerate(table[column].to_pylist())
        elif pa.types.is_list(kind):
            for place, texts in enumerate(table[column].to_pylist()):
                yield from ((place, text) for text in texts)


def withhold(release: Release | str | Path, texts: Collection[str], out: str | Path) -> Release:
    """A release without the rows that hold one of these texts, written to a new folder.

    The `release` stays as it is, and is not to be published then. `texts`: queries, words or urls, as they are
    published; a row that holds one of them in any column goes.
    """
    loaded = release if isinstance(release, Release) else load(release)
    if loaded.guarantee.kind == PROBABILISTIC:
        raise UsageError(
            "probabilistic differential privacy may be lost when somebody chooses which rows to take out",
            f"publish anew with {argument('guarantee', 'approximate')}, and withhold from that",
        )
    if not all("count" in table.column_names for table in loaded.tables.values()):
        raise UsageError(
            f"a release of {loaded.plan.method} has rows that belong together, of which none can be taken out alone",
            "take the queries out of the log, and publish anew",
        )
    unwanted = {normalise(one) for one in texts} | set(texts)
    tables, gone = {}, dict(loaded.withheld)
    for name, table in loaded.tables.items():
        out_of = {place for place, text in texts_of(table) if text in unwanted}
        tables[name] = table.filter(pa.array([at not in out_of for at in range(table.num_rows)], pa.bool_()))
        if out_of:
            gone[name] = gone.get(name, 0) + len(out_of)
    if gone == loaded.withheld:
        raise InputError("none of these texts is in the release", "write them as they are published")
    if not any(table.num_rows for table in tables.values()):
        raise UsageError("nothing would be left of the release", "withhold fewer texts")
    return dataclasses.replace(loaded, tables=tables, withheld=gone, private={}, private_path=None).save(out)


def texts_to_withhold(file: str | Path) -> list[str]:
    """The texts of a `file`, one in a line; lines that begin with # are remarks."""
    path = Path(file)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"'{path}' is too large for a list of texts", "name a file of one text per line")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"'{path}' cannot be read ({type(error).__name__})", "name a UTF-8 file of one text per line"
        ) from None
    found = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not found:
        raise InputError(f"'{path}' names no text", "write one text per line")
    return found
