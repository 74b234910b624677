"""Break each condition of a module in turn, and ask its tests: every mutant that no test notices is printed.

    python benchmarks/mutants.py
    python benchmarks/mutants.py queryveil.verification.recomputed tests/verification/test_recomputed.py

Conditions are made always true, always false and their opposite; comparisons are moved by one; parts of `and` and `or`
are left out, and each is taken for the other; findings are not reported. Each mutant replaces the module in a process
of its own, which runs the tests until the first one fails. The exit code is 1 if a mutant survives.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MODULE = "queryveil.verification.draws"
TESTS = ("tests/verification/test_draws.py",)

Edit = Callable[[Any], None]
Mutant = tuple[int, str, ast.Module]

_MOVED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


def mutants(source: str) -> Iterator[Mutant]:
    """The line, what was done there, and the module."""
    tree = ast.parse(source)
    for place, node in enumerate(ast.walk(tree)):
        for what, edit in _edits(node):
            changed = copy.deepcopy(tree)
            target = list(ast.walk(changed))[place]
            edit(target)
            yield getattr(node, "lineno", 0), what, ast.fix_missing_locations(changed)


def _edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.If | ast.IfExp):
        shown = ast.unparse(node.test)
        yield f"always: {shown}", _test(lambda _: ast.Constant(True))
        yield f"never: {shown}", _test(lambda _: ast.Constant(False))
        yield f"opposite: {shown}", _test(lambda test: ast.UnaryOp(ast.Not(), test))
    if isinstance(node, ast.comprehension):
        for number, test in enumerate(node.ifs):
            yield f"all: {ast.unparse(test)}", _filter(number)
    if isinstance(node, ast.BoolOp):
        for number, value in enumerate(node.values):
            yield f"without: {ast.unparse(value)}", _part(number)
        yield f"and for or, or for and: {ast.unparse(node)}", _other_operator
    if isinstance(node, ast.Compare):
        for number, sign in enumerate(node.ops):
            if type(sign) in _MOVED:
                yield f"moved by one ({number}): {ast.unparse(node)}", _moved(number)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        yield f"not reported: {ast.unparse(node)[:70]}", _silent


def _test(made: Callable[[ast.expr], ast.expr]) -> Edit:
    def edit(node: Any) -> None:
        node.test = made(node.test)

    return edit


def _filter(number: int) -> Edit:
    def edit(node: Any) -> None:
        del node.ifs[number]

    return edit


def _part(number: int) -> Edit:
    def edit(node: Any) -> None:
        del node.values[number]
        if len(node.values) == 1:  # one value alone is no operation
            node.values.append(node.values[0])

    return edit


def _other_operator(node: Any) -> None:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def _moved(number: int) -> Edit:
    def edit(node: Any) -> None:
        node.ops[number] = _MOVED[type(node.ops[number])]()

    return edit


def _silent(node: Any) -> None:
    """The function stays a generator, and says nothing here."""
    node.value = ast.YieldFrom(ast.Tuple([], ast.Load()))


# -- asking the tests ----------------------------------------------------------------------------------------


def noticed(module: ModuleType, tree: ast.Module, tests: tuple[str, ...]) -> bool:
    """Whether a test fails, or the module cannot even be made, with a mutant in place of the module."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = 1
    try:
        exec(compile(tree, str(module.__file__), "exec"), module.__dict__)  # noqa: S102 - the mutant takes the place of the module
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def main(name: str = MODULE, *tests: str) -> int:
    asked = tests or TESTS
    module = importlib.import_module(name)
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    if noticed(module, ast.parse(source), asked):
        print("the tests fail without any mutant")
        return 1
    start, made, survived = time.monotonic(), 0, 0
    for line, what, tree in mutants(source):
        made += 1
        if not noticed(module, tree, asked):
            survived += 1
            print(f"survived  line {line}: {what}", flush=True)
    print(
        f"{made} mutants of {name}, {survived} survived {', '.join(asked)} ({time.monotonic() - start:.0f} s)"
    )
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
