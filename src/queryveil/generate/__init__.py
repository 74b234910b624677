"""Synthetic search logs that look like real ones: any size, streaming, the same rows for the same settings.

from queryveil.generate import SETTINGS, generate
generate("log.parquet", SETTINGS["small"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from queryveil.generate.settings import SETTINGS, LogSettings

if TYPE_CHECKING:
    from queryveil.generate.results import results_table
    from queryveil.generate.stream import SCHEMA, LogStream, PlantedSecret, batches
    from queryveil.generate.write import Generated, generate, write_results

# What needs numpy and pyarrow is imported when it is first used.
_LATER = {
    "SCHEMA": "stream",
    "LogStream": "stream",
    "PlantedSecret": "stream",
    "batches": "stream",
    "results_table": "results",
    "Generated": "write",
    "generate": "write",
    "write_results": "write",
}

__all__ = [
    "SCHEMA",
    "SETTINGS",
    "Generated",
    "LogSettings",
    "LogStream",
    "PlantedSecret",
    "batches",
    "generate",
    "results_table",
    "write_results",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"queryveil.generate.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
