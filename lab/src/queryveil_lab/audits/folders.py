"""Two neighbouring releases, field by field: what depends on the log without noise is named.

Both logs are published several times. A field that is the same in all releases of one log, the same in all of the
other, and different between the two, depends on the log alone. It is looked at again in more releases before it is
named, and must refute the claim at the level of the verdict. Tables and what is made of them may differ, but by noise.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil import Mechanism, SearchLog, publish
from queryveil.files import workspace
from queryveil_lab.audits import statistics
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.series import Repeats
from queryveil_lab.audits.statistics import Level
from queryveil_lab.audits.whole import opened

_FIRST_LOOK = 4
_MOST_SHOWN = 60
_MOST_RELEASES = 300

Fields = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was found in the folders of two neighbouring logs."""

    fields: int
    """How many were compared."""
    releases: int
    """Of each log."""
    leaking: tuple[str, ...]
    """Fields that depend on the log without noise."""
    suspected: tuple[str, ...] = ()
    """Fields that look so, where epsilon is so large that too many releases would be needed to be sure."""
    refutes: bool

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"leaking": list(self.leaking), "suspected": list(self.suspected)}


def compared(
    mechanism: Mechanism,
    first: pa.Table,
    second: pa.Table,
    claim: Claim,
    level: Level,
    *,
    users: int | None = None,
    series: Repeats | None = None,
) -> Compared:
    """Publish two logs, and compare what their folders hold; of a series, its index and all releases."""
    logs = opened(first), opened(second)

    def published(log: SearchLog, out: Path) -> None:
        if series is not None and series.periods > 1:
            series.published(log, mechanism, out, users)
        else:
            publish(log, mechanism, out=out, users=users, allow_empty=True, i_understand=True)

    with workspace.temporary_folder() as folder:
        found: tuple[list[Fields], list[Fields]] = ([], [])
        _publish_more(published, logs, found, folder, _FIRST_LOOK)
        suspects = _differing_fields(found)[:_MOST_SHOWN]
        enough = max(_FIRST_LOOK, statistics.needed(claim, level.tests, level.chance) // 2 + 1)
        confirmed: tuple[str, ...] = ()
        if suspects and enough <= _MOST_RELEASES:
            values = {name: found[0][0].get(name) for name in suspects}
            # What was looked at to choose the fields is not what they are tested on.
            found = ([], [])
            _publish_more(published, logs, found, folder, enough)
            confirmed = tuple(
                name for name in suspects if _is_refuted(found, name, values[name], claim, level)
            )
            suspects = confirmed
        return Compared(
            fields=len({name for side in found for one in side for name in one}),
            releases=len(found[0]),
            leaking=tuple(_field_name(name) for name in confirmed),
            suspected=tuple(_field_name(name) for name in suspects if name not in confirmed),
            refutes=bool(confirmed),
        )


def _is_refuted(
    found: tuple[list[Fields], list[Fields]], name: str, value: str | None, claim: Claim, level: Level
) -> bool:
    """Whether one value of a field comes with one log and not with the other, more often than is claimed."""
    times = [sum(one.get(name) == value for one in side) for side in found]
    return statistics.proven(claim, times[0], times[1], len(found[0]), level).refutes


def _publish_more(
    published: Callable[[SearchLog, Path], None],
    logs: tuple[SearchLog, SearchLog],
    found: tuple[list[Fields], list[Fields]],
    folder: Path,
    times: int,
) -> None:
    for log, fields in zip(logs, found, strict=True):
        for _ in range(times):
            out = folder / "release"
            published(log, out)
            fields.append(fields_of(out))
            shutil.rmtree(out)
            shutil.rmtree(folder / "release.private", ignore_errors=True)


def _differing_fields(found: tuple[list[Fields], list[Fields]]) -> tuple[str, ...]:
    names = sorted({name for side in found for one in side for name in one})
    chosen = []
    for name in names:
        values = [{one.get(name) for one in side} for side in found]
        if len(values[0]) == len(values[1]) == 1 and values[0] != values[1]:
            chosen.append(name)
    return tuple(chosen)


def fields_of(release: Path) -> Fields:
    """Everything that a release folder holds beside the rows of its tables, and the order of these."""
    found: Fields = {}
    for file in sorted(path for path in release.rglob("*") if path.is_file()):
        name = file.relative_to(release).as_posix()
        found[f"{name}: bytes"] = str(file.stat().st_size)
        found[f"{name}: mode"] = oct(file.stat().st_mode & 0o777)
        if file.suffix == ".json":
            found |= {f"{name}: {key}": value for key, value in _flatten(json.loads(file.read_text("utf-8")))}
        elif file.suffix == ".parquet":
            found |= {f"{name}: {key}": value for key, value in _of_parquet(file)}
        else:
            found |= {
                f"{name}: line {number}": line
                for number, line in enumerate(file.read_text("utf-8").splitlines())
            }
    return found


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flatten(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        yield f"{path}.length", str(len(value))
        for number, one in enumerate(value):
            yield from _flatten(one, f"{path}[{number}]")
    else:
        yield path, json.dumps(value)


def _of_parquet(file: Path) -> Iterator[tuple[str, str]]:
    """The footer, and the order of rows."""
    data = pq.ParquetFile(file)
    footer = data.metadata
    yield "rows", str(footer.num_rows)
    yield "row groups", str(footer.num_row_groups)
    yield "created by", str(footer.created_by)
    yield "key-value metadata", str(sorted((footer.metadata or {}).items()))
    table = data.read()
    texts = [name for name in table.column_names if pa.types.is_string(table.schema.field(name).type)]
    if texts:
        joined = pc.binary_join_element_wise(*[table[name] for name in texts], "\x1f")
        yield "order of rows", str(hash(tuple(joined.to_pylist())))


def _field_name(name: str) -> str:
    """A field by its name alone; values may be of the log."""
    return name if name.isprintable() else "".join(one if one.isprintable() else "?" for one in name)
