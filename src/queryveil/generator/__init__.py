"""Synthetic search logs that look like real ones: any size, streaming, the same rows for the same settings.

from queryveil.generator import SETTINGS, generate
generate("log.parquet", SETTINGS["small"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from queryveil.generator.settings import SETTINGS, LogSettings

if TYPE_CHECKING:
    from queryveil.generator.results import results_table
    from queryveil.generator.stream import SCHEMA, LogStream, PlantedSecret, batches
    from queryveil.generator.write import Generated, generate, write_results

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
        return getattr(import_module(f"queryveil.generator.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
