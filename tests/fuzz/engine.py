"""One DuckDB for many small logs: starting one takes longer than reading a log of some lines.

A session has tables and views of its own, as if the engine were new: what it makes is dropped at its end. The settings
are those that `staging.connect` makes, made once. An engine that failed inside itself is not used again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import duckdb

from queryveil.reading import staging

SESSIONS = 2000
"""Sessions of one engine, so that nothing piles up in it."""
_FAILED_INSIDE = (duckdb.FatalException, duckdb.InternalException, duckdb.ConnectionException)
_MADE = re.compile(r"\s*CREATE (TABLE|VIEW) (?:IF NOT EXISTS )?(\w+)")


class Shared:
    """Stands for the module `duckdb` in `staging`."""

    def __init__(self) -> None:
        self.engines = 0
        self._engine: Any = None
        self._config: dict[str, str] = {}
        self._settings: list[str] = []
        self._sessions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(duckdb, name)

    def connect(self, *, config: dict[str, str]) -> _Session:
        # Nothing that small is spilled, so the folder for it may be one that is gone.
        asked = {name: value for name, value in config.items() if name != "temp_directory"}
        if self._engine is None or asked != self._config or self._sessions >= SESSIONS:
            self.close()
            self._engine, self._config = duckdb.connect(config={**config, "threads": "1"}), asked
            self.engines += 1
        self._sessions += 1
        return _Session(self, self._engine.cursor(), self._settings)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine, self._settings, self._sessions = None, [], 0


class _Session:
    def __init__(self, shared: Shared, cursor: Any, settings: list[str]) -> None:
        self._shared, self._cursor, self._settings = shared, cursor, settings
        self._made: list[str] = []

    def close(self) -> None:
        """Drop the session's tables, or the whole engine if an error inside it is the reason for closing."""
        if isinstance(sys.exc_info()[1], _FAILED_INSIDE):
            self._shared.close()
            return
        for one in reversed(self._made):
            self._cursor.execute(f"DROP {one}")
        self._cursor.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, sql: str, *given: Any) -> Any:
        if sql.startswith("SET "):
            if sql in self._settings:
                return self._cursor
            self._settings.append(sql)
        elif made := _MADE.match(sql):
            self._made.append(f"{made[1]} IF EXISTS {made[2]}")
        return self._cursor.execute(sql, *given)


@contextmanager
def one_engine() -> Iterator[Shared]:
    """Read all logs by one engine."""
    shared = Shared()
    with mock.patch.object(staging, "duckdb", shared):
        try:
            yield shared
        finally:
            shared.close()
