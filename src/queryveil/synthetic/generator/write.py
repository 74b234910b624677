"""Write a generated log to a file, one chunk at a time, under a temporary name until it is complete."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from queryveil.errors import UsageError
from queryveil.files.new_files import new_files
from queryveil.synthetic.generator.result_lists import results_table
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.stream import SCHEMA, LogStream, PlantedSecret

FORMATS: Final[Mapping[str, str]] = {
    ".parquet": "parquet",
    ".tsv": "aol",
    ".txt": "aol",
    ".csv": "csv",
    ".jsonl": "jsonl",
}
METADATA: Final = "queryveil.fit_generator"
"""Key of a Parquet file's metadata that says what its rows were made like."""
_COMPRESSION: Final[Mapping[str, str]] = {".gz": "gzip", ".zst": "zstd"}
_HEADERS: Final[Mapping[str, str]] = {
    "aol": "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n",
    "csv": "user,time,query,url,rank\n",
    "jsonl": "",
}


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What was written."""

    path: Path
    secrets_file: Path
    rows: int
    users: int
    queries: int
    """Query events: several clicks on one search count once."""
    clicks: int
    secrets: Mapping[str, int]
    """Planted secrets of each kind."""
    about_file: Path | None = None
    """What the log was made like, if it was made like another one."""


def generate(
    out: Path | str,
    settings: LogSettings,
    *,
    format: str | None = None,
    secrets_file: Path | str | None = None,
    about: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Generated:
    """Write a log to `out`, and where its secrets are to `secrets_file` (by default `out` + .secrets.tsv).

    `about` says what the log was made like. It is written to `out` + .like.json, and into the file itself where the
    format has a place for it, which is Parquet.
    """
    out = Path(out)
    kind, compression = _format_of(out, format)
    secrets_file = Path(secrets_file) if secrets_file else out.with_name(out.name + ".secrets.tsv")
    rows = users = queries = clicks = 0
    kinds: Counter[str] = Counter()
    said = [out.with_name(out.name + ".like.json")] if about else []
    with new_files(out, secrets_file, *said) as (log_part, secrets_part, *about_parts), ExitStack() as files:
        for part_file in about_parts:
            part_file.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        write = files.enter_context(_open_writer(log_part, kind, compression, about))
        listing = files.enter_context(secrets_part.open("w", encoding="utf-8"))
        listing.write("user\ttime\tquery\tkind\n")
        for part in LogStream(settings):
            write(part.batch)
            listing.writelines(map(_secret_line, part.secrets))
            rows += part.batch.num_rows
            users += part.users
            queries += part.events
            clicks += part.batch.num_rows - part.batch["url"].null_count
            kinds.update(secret.kind for secret in part.secrets)
            if progress:
                progress(rows, settings.total_rows)
    return Generated(
        path=out,
        secrets_file=secrets_file,
        about_file=said[0] if said else None,
        rows=rows,
        users=users,
        queries=queries,
        clicks=clicks,
        secrets=dict(kinds),
    )


def write_results(out: Path | str, settings: LogSettings) -> int:
    """Write the pool's public result lists (query, url, rank) to Parquet, TSV or CSV; the number of rows."""
    out = Path(out)
    delimiters = {".tsv": "\t", ".csv": ","}
    if out.suffix != ".parquet" and out.suffix not in delimiters:
        raise UsageError(f"the format of {out.name} is unknown", "end its name in .parquet, .tsv or .csv")
    with new_files(out) as (part,):
        table = results_table(settings)
        if out.suffix == ".parquet":
            pyarrow.parquet.write_table(table, part, compression="zstd")
        else:
            # Pool queries hold no delimiter, quote or line end.
            delimiter = delimiters[out.suffix]
            options = pyarrow.csv.WriteOptions(
                include_header=False, delimiter=delimiter, quoting_style="none"
            )
            with part.open("wb") as file:
                # Arrow would put the names between quotes, which are text in a file with tabs.
                file.write((delimiter.join(table.column_names) + "\n").encode())
                pyarrow.csv.write_csv(table, file, options)
    return int(table.num_rows)


def _format_of(out: Path, format: str | None) -> tuple[str, str | None]:
    compression = _COMPRESSION.get(out.suffix)
    inner = Path(out.stem).suffix if compression else out.suffix
    kind = FORMATS.get(inner) if format is None else format
    if kind == "tsv":
        kind = "aol"
    if kind is None or kind not in FORMATS.values():
        wrong = f"the format of {out.name} is unknown" if format is None else f"format {format!r} is unknown"
        raise UsageError(wrong, "use .parquet, .tsv, .csv or .jsonl, the text formats also with .gz or .zst")
    if kind == "parquet" and compression:
        raise UsageError("Parquet is compressed inside", "end the name in .parquet")
    return kind, compression


def _secret_line(secret: PlantedSecret) -> str:
    return f"{secret.user}\t{secret.time:%Y-%m-%d %H:%M:%S}\t{secret.query}\t{secret.kind}\n"


@contextmanager
def _open_writer(
    path: Path, kind: str, compression: str | None, about: Mapping[str, Any] | None
) -> Iterator[Callable[[pa.RecordBatch], Any]]:
    if kind == "parquet":
        schema = SCHEMA.with_metadata({METADATA: json.dumps(about)}) if about else SCHEMA
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer.write_batch
        return
    lines = {"aol": _aol_lines, "csv": _csv_lines, "jsonl": _jsonl_lines}[kind]
    with pa.OSFile(str(path), "wb") as raw, ExitStack() as stack:
        file = stack.enter_context(pa.CompressedOutputStream(raw, compression)) if compression else raw
        file.write(_HEADERS[kind].encode())
        yield lambda batch: file.write(_bytes_of(lines(batch)))


def _bytes_of(lines: pa.StringArray) -> pa.Buffer:
    """The text of an array whose strings end in a newline: Arrow already keeps it in one piece."""
    _, offsets, data = lines.buffers()
    ends = memoryview(offsets).cast("i")
    first = ends[lines.offset]
    return data.slice(first, ends[lines.offset + len(lines)] - first)


def _concatenate(*parts: pa.Array | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, "")


def _text_columns(
    batch: pa.RecordBatch, missing: str
) -> tuple[pa.StringArray, pa.StringArray, pa.StringArray]:
    """Time, url and rank as text."""
    time = batch["time"].cast(pa.timestamp("s")).cast(pa.string())
    return time, batch["url"].fill_null(missing), batch["rank"].cast(pa.string()).fill_null(missing)


def _aol_lines(batch: pa.RecordBatch) -> pa.StringArray:
    time, url, rank = _text_columns(batch, "")
    return _concatenate(batch["user"], "\t", batch["query"], "\t", time, "\t", rank, "\t", url, "\n")


def _csv_lines(batch: pa.RecordBatch) -> pa.StringArray:
    time, url, rank = _text_columns(batch, "")
    query = pc.replace_substring(batch["query"], '"', '""')
    return _concatenate(batch["user"], ",", time, ',"', query, '",', url, ",", rank, "\n")


def _jsonl_lines(batch: pa.RecordBatch) -> pa.StringArray:
    time, _, rank = _text_columns(batch, "null")
    query = pc.replace_substring(pc.replace_substring(batch["query"], "\\", "\\\\"), '"', '\\"')
    url = _concatenate('"', batch["url"], '"').fill_null("null")
    user = _concatenate('{"user": "', batch["user"], '", "time": "', time, '", "query": "', query)
    return _concatenate(user, '", "url": ', url, ', "rank": ', rank, "}\n")
