"""Arrows go one way, public names match, modules stay readable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import queryveil

SOURCE = Path(queryveil.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# What each part of the flow may import, in the order in which data goes through it.
BASE = {"errors", "parameters", "text"}
WRITE = {"folder", "output", "appearing", "interruptions"}
READ = BASE | {"readers", "engine", "workspace"}
COUNT = READ | {"log", "items", "contribution"}
PROTECT = COUNT | {"guarantee", "strength", "noise", "calibration", "results"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "parameters": {"errors"},
    "text": set(),
    "readers": {"errors", "folder"},
    "engine": {"errors", "workspace"},
    "workspace": {"errors", "interruptions"},
    "log": READ,
    "items": READ | {"log"},
    "contribution": READ | {"log", "items"},
    "strength": set(),
    "guarantee": {"errors", "strength"},
    "noise": {"errors"},
    "calibration": set(),
    "results": COUNT,
    "data": set(),
    "identifiers": {"errors"},
    "secret_sharing": {"errors"},
    "mechanisms": PROTECT | {"taxonomy", "transactions", "language", "identifiers", "secret_sharing"},
    "folder": set(),
    "interruptions": set(),
    "appearing": {"errors", "interruptions"},
    "output": {"errors", "folder", "appearing"},
    "ledger_store": {"errors", "output"},
    "ledger_seals": {"ledger_store"},
    "ledger": {"errors", "guarantee", "ledger_store", "ledger_seals"},
    "report": {"errors", "guarantee", "strength", "folder"},
    "loading": {"folder", "guarantee", "mechanisms", "parameters"},
    "understanding": {"errors", "guarantee", "strength", "mechanisms", "noise"},
    "release": PROTECT | WRITE | {"loading", "mechanisms", "understanding", "ledger", "report"},
    "graph": COUNT | {"release"},
    "utility": COUNT | {"release", "graph", "guarantee", "folder", "mechanisms", "taxonomy"},
    "spotting": BASE | {"data", "taxonomy", "identifiers"},
    "attacks": PROTECT
    | WRITE
    | {"mechanisms", "release", "graph", "utility", "generator", "spotting", "inversion"},
    "advice": PROTECT | WRITE | {"mechanisms", "release", "graph", "utility", "report"},
    "reporting": WRITE | {"errors", "log", "release", "report", "utility", "attacks", "verification"},
    "inversion": COUNT | {"release", "transactions"},
    # Numbers are computed anew from the folder's schema alone. Only `planned` and `rebuilt`, which compare sentences
    # and documents to the letter, ask the writer: see test_the_verifier_computes_numbers_on_its_own.
    "verification": {"understanding", "errors", "folder", "taxonomy"}
    | {"mechanisms", "parameters", "release", "report"}
    | {"sshsig"},
    "sshsig": {"errors"},
    "signing": {"errors", "folder", "output", "sshsig", "verification"},
    "inspection": COUNT | {"spotting"},
    "generator": {"errors", "output", "appearing", "data"},
    "taxonomy": {"errors", "data"},
    "language": BASE | {"data", "taxonomy"},
    "transactions": {"errors"},
    "studies": PROTECT
    | WRITE
    | {"mechanisms", "release", "graph", "utility", "report", "taxonomy", "transactions"}
    | {"attacks", "spotting", "inversion", "generator"},
    "synthesis": {"errors", "parameters", "output", "release", "generator"},
}
PUBLIC_ONLY = {"cli"}
"""Thin layers: they know public names, plus declarations, errors to render and where results may go."""


def part_of(file: Path) -> str:
    first = file.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported(file: Path) -> set[str]:
    """The parts of queryveil that a file imports, for type checking or not."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "queryveil":
            rest = node.module.split(".")[1:]
            found |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("queryveil.")}
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_follow_the_flow(file: Path) -> None:
    part = part_of(file)
    if part == "__init__":
        return
    if part in PUBLIC_ONLY:
        assert imported(file) - {"cli"} <= {
            "errors",
            "parameters",
            "output",
            "generator",
            "interruptions",
            "workspace",
        }
        return
    assert part in ALLOWED, f"say in ALLOWED where '{part}' stands in the flow"
    assert imported(file) - {part} <= ALLOWED[part]


def test_the_verifier_computes_numbers_on_its_own() -> None:
    """An error of the writer's is caught only by code that does not repeat it."""
    asking = {
        file.stem
        for file in SOURCE.glob("verification/*.py")
        if imported(file) - {"verification", "errors", "folder", "taxonomy", "sshsig"}
    }
    assert asking == {"planned", "rebuilt"}


def test_the_check_above_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "readers.py"
    wrong.write_text("from queryveil.mechanisms import Zealous\n")
    assert imported(wrong) - ALLOWED["readers"] == {"mechanisms"}


def test_public_names_exist_and_nothing_else_is_public() -> None:
    assert sorted(queryveil.__all__) == sorted(queryveil._HOME)
    assert dir(queryveil) == sorted(queryveil.__all__)
    for name in queryveil.__all__:
        assert getattr(queryveil, name) is not None


def test_public_names_survive_imports_of_modules() -> None:
    import importlib

    for file in SOURCE.glob("*.py"):
        if file.stem != "__init__":
            importlib.import_module(f"queryveil.{file.stem}")
    assert callable(queryveil.generate) and callable(queryveil.verify) and callable(queryveil.inspect)
    assert callable(queryveil.normalise) and callable(queryveil.publish)


def test_modules_stay_readable() -> None:
    long = {str(f.relative_to(SOURCE)): len(f.read_text().splitlines()) for f in FILES}
    assert {name: lines for name, lines in long.items() if lines > 420} == {}
