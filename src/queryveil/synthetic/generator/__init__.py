"""Synthetic search logs that look like real ones: any size, streaming, the same rows for the same settings.

from queryveil.synthetic.generator import SETTINGS, generate
generate("log.parquet", SETTINGS["small"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from queryveil.synthetic.generator.settings import SETTINGS, LogSettings

if TYPE_CHECKING:
    from queryveil.synthetic.generator.result_lists import results_table
    from queryveil.synthetic.generator.stream import SCHEMA, LogStream, PlantedSecret, generate_batches
    from queryveil.synthetic.generator.write import Generated, generate, write_results

# What needs numpy and pyarrow is imported when it is first used.
_LATER = {
    "SCHEMA": "stream",
    "LogStream": "stream",
    "PlantedSecret": "stream",
    "generate_batches": "stream",
    "results_table": "result_lists",
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
    "generate",
    "generate_batches",
    "results_table",
    "write_results",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"queryveil.synthetic.generator.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
