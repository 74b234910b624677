"""queryveil publishes search logs without exposing the people in them.

The names below follow the data: read a log, look at its risk, plan a release, publish it, check it.

    import queryveil as qv

    log = qv.read("log.tsv.gz")                                  # read
    qv.inspect(log).uniqueness                                   # see the risk
    method = qv.Steered(epsilon=1, delta=1e-6)                   # bound, count, protect
    method.plan().guarantee                                      # known before any data is read
    release = qv.publish(log, method, items="queries")           # release
    release.guarantee, release.tables["items"], release.save("out/")
    qv.verify("out/").passes                                     # judge
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any


def _homes() -> dict[str, str]:
    """Where each public name lives, from the one list of them: the stub that type checkers read."""
    listed = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    return {
        name.name: node.module
        for node in listed.body
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }


_HOME = _homes()
__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """A public name is imported when it is first used, so that `queryveil --help` is quick."""
    if name == "__version__":
        from importlib.metadata import version

        return version("queryveil")
    if name not in _HOME:
        from queryveil.errors import nearest

        hint = "" if name.startswith("_") else nearest(name, __all__)
        raise AttributeError(f"module 'queryveil' has no attribute '{name}'" + (f"; {hint}" if hint else ""))
    value = getattr(import_module(_HOME[name]), name)
    if isinstance(value, FunctionType):
        from queryveil.arguments import check_arguments

        value = check_arguments(value)
    # Some modules are named like what they hold: the public name wins.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
