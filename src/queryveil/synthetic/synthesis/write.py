"""Write a synthetic log to a file, one chunk at a time, under a temporary name until it is complete."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from queryveil.errors import CannotBeMet, InputError, UsageError
from queryveil.files import output
from queryveil.files.new_files import new_files
from queryveil.release import publish as releases
from queryveil.release.publish import Release
from queryveil.synthetic.synthesis.draw import SCHEMA, draw_parts
from queryveil.synthetic.synthesis.model import QUERIES, GraphModel
from queryveil.synthetic.synthesis.size import START, Size

METADATA: Final = "queryveil.synthetic"
"""Key of a Parquet file's metadata that says that its rows are made up, and from what."""
_FORMATS: Final[Mapping[str, str]] = {".parquet": "parquet", ".tsv": "aol", ".txt": "aol"}
_COMPRESSION: Final[Mapping[str, str]] = {".gz": "gzip", ".zst": "zstd"}
_AOL_HEADER: Final = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
# What AOL text cannot hold: its delimiters, and the dash that stands for a withheld query.
_NOT_AOL: Final = r"[\t\n\r\x00]"
_WITHHELD: Final = "-"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Synthesized:
    """What was written."""

    path: Path
    format: str
    rows: int
    users: int
    sessions: int
    queries: int
    """Query events: several clicks on one search count once."""
    clicks: int
    seed: int


def synthesize(
    release: Release | str | Path | Mapping[str, pa.Table],
    out: str | Path,
    *,
    rows: int | None = None,
    users: int | None = None,
    seed: int = 0,
    days: int = 30,
    start: date = START,
    format: str | None = None,
    progress: Progress | None = None,
) -> Synthesized:
    """Draw a search log from a released click graph (a folder, a `Release`, or its tables) and write it to `out`.

    Left out, `rows` is 31 per user, or what the released counts add up to, and `users` one per 31 rows. The name
    decides the `format`: `.parquet`, or AOL text (`.tsv`, `.txt`, also `.gz` and `.zst`).
    """
    out = Path(out)
    size = Size(rows=rows, users=users, seed=seed, days=days, start=start)
    kind, compression = _format_of(out, format)
    output.new_file(out)
    tables, origin = _load_tables(release)
    model = GraphModel.from_tables(tables)
    size = size.fill_defaults(model.released_total)
    if kind == "aol":
        _require_plain(model)
    made: Counter[str] = Counter()
    with (
        new_files(out) as (unfinished,),
        _open_writer(unfinished, kind, compression, _origin_mark(origin, size)) as write,
    ):
        for part in draw_parts(model, size):
            write(part.batch)
            made.update(part.counts)
            if progress is not None:
                progress(made["rows"], size.rows or 0)
    return Synthesized(path=out, format=kind, seed=seed, **made)


def _load_tables(
    release: Release | str | Path | Mapping[str, pa.Table],
) -> tuple[Mapping[str, pa.Table], Any]:
    """The release's tables, and what is known of how they were made."""
    if isinstance(release, (str, Path)):
        release = releases.load(release)
    made_by = ""
    origin: dict[str, Any] = {}
    if isinstance(release, Release):
        origin = {"method": release.plan.method, "guarantee": release.guarantee.as_dict()}
        made_by = f" (its method is '{release.plan.method}')"
    tables = release.tables if isinstance(release, Release) else release
    if not isinstance(tables, Mapping):
        raise UsageError(
            f"a release cannot be a {type(release).__name__}",
            "pass a folder, a Release, or its tables by name",
        )
    if QUERIES not in tables:
        raise InputError(
            f"the release has no table '{QUERIES}'{made_by}, so sessions cannot be drawn from it",
            "publish the log with queryveil publish click-graph",
        )
    return tables, origin


def _origin_mark(origin: Mapping[str, Any], size: Size) -> str:
    """What the file says of itself."""
    return json.dumps(
        {
            "synthetic": True,
            "note": "Drawn from a released click graph; no person made any row.",
            "drawn_from": origin,
            "rows": size.rows,
            "users": size.users,
            "seed": size.seed,
            "software": f"queryveil {metadata.version('queryveil')}",
        }
    )


# -- formats -------------------------------------------------------------------------------------------------


def _format_of(out: Path, format: str | None) -> tuple[str, str | None]:
    compression = _COMPRESSION.get(out.suffix)
    inner = Path(out.stem).suffix if compression else out.suffix
    kind = _FORMATS.get(inner) if format is None else format
    if kind not in _FORMATS.values():
        wrong = (
            f"the format of '{out.name}' is unknown" if format is None else f"there is no format '{format}'"
        )
        raise UsageError(wrong, "end the name in .parquet, .tsv or .txt, the last two also with .gz or .zst")
    if kind == "parquet" and compression:
        raise UsageError("Parquet is compressed inside", "end the name in .parquet")
    return str(kind), compression


def _require_plain(model: GraphModel) -> None:
    """Refuse texts that would not come back from AOL text as they are."""
    spoiled = any(
        pc.any(pc.match_substring_regex(one, _NOT_AOL)).as_py() for one in (model.queries, model.urls)
    )
    if spoiled or pc.any(pc.equal(model.queries, _WITHHELD)).as_py():
        raise CannotBeMet(
            "the release has a tab, a line end or a query that is only a dash, which the AOL format cannot hold",
            "write Parquet instead: end the name in .parquet",
        )


@contextmanager
def _open_writer(
    path: Path, kind: str, compression: str | None, mark: str
) -> Iterator[Callable[[pa.RecordBatch], Any]]:
    if kind == "parquet":
        schema = SCHEMA.with_metadata({METADATA: mark})
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer.write_batch
        return
    with ExitStack() as stack:
        file = stack.enter_context(pa.OSFile(str(path), "wb"))
        if compression is not None:
            file = stack.enter_context(pa.CompressedOutputStream(file, compression))
        file.write(_AOL_HEADER)
        yield lambda batch: file.write(_aol_lines(batch))


def _aol_lines(batch: pa.RecordBatch) -> pa.Buffer:
    """AOL's five columns as text; users carry the mark, as there is no column for a source."""
    time = batch["time"].cast(pa.timestamp("s")).cast(pa.string())
    parts = (batch["user"], batch["query"], time, "", batch["url"].fill_null(""))
    lines = pc.binary_join_element_wise(*parts, "\t")
    whole = pc.binary_join(pa.LargeListArray.from_arrays(pa.array([0, len(lines)], pa.int64()), lines), "\n")
    return pa.py_buffer(whole[0].as_py().encode() + b"\n")
