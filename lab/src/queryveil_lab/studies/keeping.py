"""The finished cells of a study, kept in a folder beside the output until all are done.

Nothing in that folder is taken on trust: a folder of somebody else's is refused, a cell that is damaged is done
again, and only files that were written here are removed.
"""

from __future__ import annotations

import contextlib
import json
import math
import secrets
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from queryveil import UsageError
from queryveil.extension import argument, output
from queryveil.files import folder, interruptions
from queryveil_lab.studies.declaration import Cell, Given, Row, Study
from queryveil_lab.studies.kept_folder import ABOUT, beside, check_place, json_of, meant, plain

_EXACT = 2**53
"""Whole numbers up to here are the same as floats."""


class Kept:
    """The finished cells of a run, for the curator alone."""

    def __init__(self, out: Path, study: Study, given: Given, cells: Sequence[Cell]) -> None:
        self.out = out
        self.folder = beside(out)
        self._study = study
        self._names = {ABOUT, *(_file_name(cell) for cell in cells)}
        about = _study_identity(study, given)
        check_place(out)
        with output.disk_errors(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            check_place(out)
            note = self.folder / ABOUT
            if note.exists() and json_of(note) != about:
                raise UsageError(
                    f"'{self.folder}' holds the finished cells of another study, log or setting",
                    f"move that folder away, or choose another {argument('out')}",
                )
            self.folder.chmod(0o700)
            for file in self._own_files():
                file.chmod(0o600)
            _write_atomically(note, about)

    def read(self, cell: Cell) -> list[Row] | None:
        """The rows of a cell; None if it is not finished, or is not as it was written."""
        file = self.folder / _file_name(cell)
        with output.disk_errors(self.out):
            rows = json_of(file) if plain(file) else None
        if not isinstance(rows, list) or not rows:
            return None
        return rows if all(_is_row_of(self._study, cell, row) for row in rows) else None

    def write(self, cell: Cell, rows: list[Row]) -> None:
        with output.disk_errors(self.out):
            _write_atomically(self.folder / _file_name(cell), rows)
        interruptions.note_partial(self.folder, "finished cells are kept: run it again to go on")

    def remove(self) -> bool:
        """Take away what was written here, and the folder unless something else is in it."""
        with contextlib.suppress(OSError):
            # What says whose folder it is goes last, in case this is interrupted.
            for file in sorted(self._own_files(), key=lambda file: file.name == ABOUT):
                file.unlink(missing_ok=True)
            self.folder.rmdir()
        return not self.folder.exists()

    def _own_files(self) -> Iterator[Path]:
        for file in self.folder.iterdir():
            if plain(file) and (file.name in self._names or meant(file) in self._names):
                yield file


def _file_name(cell: Cell) -> str:
    return f"{cell.name}.json"


def _is_row_of(study: Study, cell: Cell, row: Any) -> bool:
    """Whether this is a row that the cell can have found."""
    if not isinstance(row, dict) or list(row) != study.columns():
        return False
    known = {"study": study.name, **cell.values}
    if any(type(row[name]) is not type(value) or row[name] != value for name, value in known.items()):
        return False
    texts = (row[name] for name in ("mechanism", "how", "metric"))
    may_lack = (row[name] for name in (*study.labels, "unit"))
    return (
        all(isinstance(one, str) for one in texts)
        and all(one is None or isinstance(one, str) for one in may_lack)
        and (row["repeat"] is None or _is_number(row["repeat"], int))
        and _is_number(row["value"], int, float)
    )


def _is_number(value: Any, *kinds: type) -> bool:
    if type(value) not in kinds:
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= _EXACT


def _study_identity(study: Study, given: Given) -> dict[str, Any]:
    """What must be the same for finished cells to be of use."""
    made = {
        "study": study.name,
        "version": study.version,
        "axes": {name: list(values) for name, values in given.axes.items()},
        "repeats": given.repeats,
        "results": folder.file_digest(given.results) if given.results and given.results.is_file() else None,
        "log": given.log.fingerprint(*given.log.columns) if given.log is not None else None,
        "software": metadata.version("queryveil"),
    }
    # As it will be read back.
    same: dict[str, Any] = json.loads(json.dumps(made))
    return same


def _write_atomically(file: Path, content: Any) -> None:
    text = json.dumps(content, allow_nan=False)
    temporary = file.with_suffix(f".{secrets.token_hex(4)}.tmp")
    temporary.touch(mode=0o600, exist_ok=False)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
