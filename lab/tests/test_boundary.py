"""The boundary between queryveil and the lab, and the rooms of the lab."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import queryveil as qv
import queryveil.extension
import queryveil_lab
from queryveil.plugins import OTHER_PACKAGES

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "src" / "queryveil"
LAB = ROOT / "lab" / "src" / "queryveil_lab"
INTERNAL = Path(__file__).parent / "internal_imports.txt"
MOST_INTERNAL = 86
"""Lines of the list. Lower this with every line that goes."""
MODULE = "queryveil" + "_lab"  # spelled so that no search of this file finds it


def files(folder: Path) -> list[Path]:
    found = [one for one in folder.rglob("*.py*") if one.suffix in (".py", ".pyi")]
    assert found
    return found


def test_the_product_never_names_the_module_of_the_lab() -> None:
    named = [str(file) for file in files(PRODUCT) if MODULE in file.read_text(encoding="utf-8")]
    assert named == []
    others = [PRODUCT.parents[1] / "pyproject.toml", *(PRODUCT.parents[1] / "tests").rglob("*.py")]
    imports = re.compile(rf"^\s*(?:import|from) (?:{MODULE}|lab)\b", re.MULTILINE)
    assert [str(file) for file in others if imports.search(file.read_text(encoding="utf-8"))] == []


def imported(file: Path) -> Iterator[str]:
    """Names of queryveil that a file imports, for types or not, that are neither public nor in the extension."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("queryveil."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "queryveil":
            known = {"queryveil": set(qv.__all__), "queryveil.extension": set(queryveil.extension.__all__)}
            yield from (
                f"{node.module}.{one.name}"
                for one in node.names
                if one.name not in known.get(node.module or "", ())
            )


def listed() -> dict[str, str]:
    lines = [line for line in INTERNAL.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return dict(line.split(": ", 1) for line in lines)


def test_the_lab_imports_public_names_the_extension_and_what_is_listed() -> None:
    used = {name for file in files(LAB) for name in imported(file)}
    assert used - set(listed()) == set(), "use public names or queryveil.extension"
    assert set(listed()) - used == set(), "remove what is no longer imported"


def test_the_list_only_shrinks_and_every_line_has_a_reason() -> None:
    assert len(listed()) <= MOST_INTERNAL
    assert all(len(reason.split()) >= 4 for reason in listed().values())


@pytest.mark.parametrize(
    "line",
    [
        "from queryveil.files import workspace",
        "import queryveil.files.workspace",
        "from queryveil import files",
        "from queryveil.extension import no_such_name",
    ],
)
def test_an_internal_import_is_seen(line: str, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def later():\n    {line}\nfrom queryveil import publish\nimport queryveil as qv\n")
    assert len(list(imported(file))) == 1


def test_the_extension_names_what_it_imports() -> None:
    names = queryveil.extension.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(queryveil.extension, name) for name in names)


def test_public_names_exist() -> None:
    assert dir(queryveil_lab) == queryveil_lab.__all__
    assert all(getattr(queryveil_lab, name) is not None for name in queryveil_lab.__all__)


def test_the_rooms_of_the_lab_form_no_circle() -> None:
    words = [sys.executable, str(ROOT / "scripts" / "import_graph.py"), "--package", MODULE]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# -- the product alone ---------------------------------------------------------------------------------------


ALONE = f"""
import sys
sys.modules[{MODULE!r}] = None
from importlib import metadata
every = metadata.entry_points
metadata.entry_points = lambda **given: [one for one in every(**given) if one.dist.name != "queryveil-lab"]
"""
"""Takes the lab out of an environment in which both packages are installed."""


def alone(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ALONE + program, *words],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def command_alone(*words: str) -> subprocess.CompletedProcess[str]:
    return alone("from queryveil.show.cli import run; run()", *words)


@pytest.mark.parametrize(
    "words", [("audit", "steered"), ("compare",), ("attack", "hash-inversion"), ("attack", "relinking")]
)
def test_without_the_lab_a_command_says_which_package_has_it(words: tuple[str, ...]) -> None:
    done = command_alone(*words, "--json")
    assert done.returncode == 2
    error = json.loads(done.stderr)["error"]
    assert "queryveil-lab" in error["message"] and error["hint"] == "install queryveil-lab"


def test_without_the_lab_nothing_else_is_lost() -> None:
    program = f"""
import queryveil as qv
from queryveil.show.cli.commands import COMMANDS
for name in qv.__all__:
    getattr(qv, name)
for registry in (COMMANDS, qv.ATTACKS, qv.MEASURES, qv.FORMATS, qv.MECHANISMS):
    assert not registry.plugins
    list(registry.values())
assert not [name for name in sys.modules if name.startswith({MODULE!r} + ".")]
print(*COMMANDS, *qv.ATTACKS)
"""
    done = alone(program)
    assert done.returncode == 0, done.stderr
    from queryveil.show.cli.commands import COMMANDS

    lost = {*COMMANDS, *qv.ATTACKS} - set(done.stdout.split())
    assert lost == {name for names in OTHER_PACKAGES.values() for name in names}
    assert command_alone("--help").returncode == 0


def test_help_and_verify_do_not_load_the_lab() -> None:
    program = f"""
from queryveil.show.cli import run
import sys
try:
    run()
finally:
    print([name for name in sys.modules if name.startswith({MODULE!r} + ".") and ".cli" not in name])
"""
    for words in (["--help"], ["release", "verify", "--help"], ["plan", "steered", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 and done.stdout.rstrip().endswith("[]"), done.stdout[-300:] + done.stderr
