"""queryveil-lab repeats published experiments on search logs, and tests the claims of queryveil.

Installed next to queryveil, it adds the commands `compare` and `audit`, and the attacks `hash-inversion` and
`relinking`. The names below are for programs:

    import queryveil as qv
    import queryveil_lab as lab

    lab.audit(qv.Steered(epsilon=1, delta=1e-6)).passes
    lab.compare(qv.read("log.parquet"), "zealous-m", out="results")
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

_HOME = {
    name.name: str(node.module)
    for node in ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
}
"""Public names and their modules, from the stub that type checkers read."""

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that listing commands loads no study."""
    if name not in _HOME:
        raise AttributeError(f"module 'queryveil_lab' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
