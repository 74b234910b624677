"""Dependencies go one way, and public names match."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import queryveil

SOURCE = Path(queryveil.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = Path(__file__).parent
SCRIPT = TESTS.parent / "scripts" / "import_graph.py"

ROOMS = sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").is_file())
PARTS = {
    "errors": set[str](),
    "parameters": {"errors"},
    "arguments": {"errors"},
    "plugins": {"errors"},
    "compiled": set[str](),
    "extension": {*ROOMS, "errors", "parameters", "compiled"} - {"show"},
}
"""Modules that stand in no room, and what they may import. No room may import `extension`."""
PUBLIC_ONLY = {"errors", "parameters", "plugins", "catalog", "files", "synthetic", "show"}
"""What command line and workbench may import besides public names: declarations, errors, sentences, and files."""


def may_import(room: str) -> set[str]:
    """What the room's own docstring says."""
    tree = ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8"))
    said = re.search(r"^May import: ([\w,\s]+)\.$", ast.get_docstring(tree) or "", re.MULTILINE)
    assert said, f"the docstring of '{room}' must say what it may import"
    return set(re.split(r",\s*", said[1]))


def part_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


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
    if any(file.is_relative_to(SOURCE / "show" / one) for one in ("cli", "web")):
        assert imported(file) <= PUBLIC_ONLY
        return
    assert imported(file) - {part} <= (PARTS[part] if part in PARTS else may_import(part))


def test_rooms_stand_one_above_the_other() -> None:
    placed = set(PARTS)
    left = {room: may_import(room) for room in ROOMS}
    while left:
        ready = {room for room, below in left.items() if below <= placed}
        assert ready, f"these import each other: {sorted(left)}"
        placed |= ready
        left = {room: below for room, below in left.items() if room not in ready}


def run_script(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)


def test_the_import_graph_has_no_circle_and_no_arrow_upwards() -> None:
    done = run_script()
    assert done.returncode == 0, done.stdout + done.stderr


WRONG = {
    "upward arrow": {"low/a.py": "from queryveil.high import b\n"},
    "circle of modules": {
        "low/a.py": "from queryveil.low import b\n",
        "low/b.py": "import queryveil.low.a\n",
    },
    "circle of modules: lazy": {
        "low/a.py": "from queryveil.low import b\n",
        "low/b.py": "def later():\n    from queryveil.low.a import x\n",
    },
    "circle of modules: types": {
        "low/a.py": "from queryveil.low import b\n",
        "low/b.py": "if TYPE_CHECKING:\n    from queryveil.low.a import X\n",
    },
}


@pytest.mark.parametrize("case", WRONG)
def test_the_import_graph_sees_what_is_wrong(case: str, tmp_path: Path) -> None:
    fault = case.partition(":")[0]
    package = {
        "low/__init__.py": '"""Low.\n\nMay import: errors.\n"""\n',
        "high/__init__.py": '"""High.\n\nMay import: errors, low.\n"""\n',
        "high/b.py": "from queryveil.low import a\n",
        "low/a.py": "",
    }
    for given, clean in ((package, True), (package | WRONG[case], False)):
        for name, text in given.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        done = run_script("--source", str(tmp_path))
        assert done.returncode == (0 if clean else 1), done.stderr
        assert (fault in done.stdout) is not clean


def test_picture_and_tables_are_those_of_the_code(tmp_path: Path) -> None:
    graph = runpy.run_path(str(SCRIPT))
    files = graph["modules"](SOURCE)
    made = graph["written"](graph["rooms"](SOURCE, files), graph["arrows"](files))
    stale = [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run python scripts/import_graph.py --write"


def test_tests_stand_in_the_same_rooms() -> None:
    here = {folder.name for folder in TESTS.iterdir() if (folder / "__init__.py").is_file()}
    assert here - {
        "browser",
        "cluster",
        "contract",
        "docs",
        "faults",
        "frozen",
        "fuzz",
        "statistical",
        "supply",
    } <= set(ROOMS)
    assert [file.name for file in TESTS.glob("test_*.py")] == [Path(__file__).name]


def test_the_verifier_computes_numbers_on_its_own() -> None:
    """An error of the writer's is caught only by code that does not repeat it.

    The writer is asked for its list of methods, to know whether a taxonomy is missing, and to write a release that is
    compared byte by byte, or that a program never saved. Draws, rows, crowds and tables are checked without it. The
    catalog has sentences, and computes nothing.
    """
    home = SOURCE / "verification"
    asking = {
        file.relative_to(home).as_posix()
        for file in home.rglob("*.py")
        if imported(file) - {"verification", "errors", "files", "language", "display", "catalog"}
    }
    writers = {"rewrite.py", "series.py", "given.py"}
    assert asking == {"__init__.py", "unchecked.py", "methods/semantic.py"} | writers


def test_the_check_above_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "formats.py"
    wrong.write_text("from queryveil.mechanisms import Zealous\n")
    assert imported(wrong) - may_import("reading") == {"mechanisms"}


def test_public_names_exist_and_nothing_else_is_public() -> None:
    assert "Zealous" in queryveil.__all__ and len(queryveil.__all__) == len(set(queryveil.__all__))
    assert dir(queryveil) == queryveil.__all__
    for name in queryveil.__all__:
        assert getattr(queryveil, name) is not None


def test_public_names_are_listed_once() -> None:
    """In the stub, as `X as X`, which is how type checkers know that a name is meant to be public."""
    listed = (SOURCE / "__init__.pyi").read_text(encoding="utf-8")
    runs = (SOURCE / "__init__.py").read_text(encoding="utf-8").partition("from __future__")[2]
    for name in queryveil.__all__:
        assert len(re.findall(rf"\b{name} as {name}\b", listed)) == 1, name
        assert f'"{name}"' not in runs, name


def test_public_names_survive_imports_of_modules() -> None:
    import importlib

    for part in (*ROOMS, *PARTS):
        importlib.import_module(f"queryveil.{part}")
    assert callable(queryveil.generate) and callable(queryveil.verify) and callable(queryveil.inspect)
    assert callable(queryveil.normalise) and callable(queryveil.publish)


# -- mechanisms stand alone ----------------------------------------------------------------------------------


def imports_of_mechanisms(file: Path, home: str, homes: set[str]) -> list[str]:
    """The modules of other mechanisms that a file of `home` imports, also for types or inside a function."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        parts = [name.split(".") for name in names if name.startswith("queryveil.mechanisms.")]
        found += [".".join(one) for one in parts if one[2] in homes - {home}]
    return found


def test_no_mechanism_imports_another(tmp_path: Path) -> None:
    """Neither do shared modules. What two mechanisms need is in a module that belongs to none of them."""
    package = SOURCE / "mechanisms"
    homes = {cls.__module__.split(".")[2] for cls in queryveil.MECHANISMS.values()}
    found = {
        str(file.relative_to(package)): names
        for file in package.rglob("*.py")
        if (
            names := imports_of_mechanisms(
                file, file.relative_to(package).parts[0].removesuffix(".py"), homes
            )
        )
    }
    assert found == {}
    wrong = tmp_path / "steered.py"
    for line in (
        "from queryveil.mechanisms.zealous import theory",
        "from queryveil.mechanisms import zealous",
        "import queryveil.mechanisms.zealous.theory",
    ):
        wrong.write_text(f"def later():\n    {line}\n")
        assert imports_of_mechanisms(wrong, "steered", homes)
        assert imports_of_mechanisms(wrong, "zealous", homes) == []


# -- nobody guesses what a release is from the name of its method --------------------------------------------

CONSUMERS = ("release", "verification", "measure", "attack", "advice", "show", "synthetic", "display")
"""Rooms that read releases. Studies choose methods as the series of an experiment, and may name them."""


def _is_method(node: ast.expr) -> bool:
    """`method`, `X.method`, `X["method"]` or `X.get("method")`, also inside a call such as str()."""
    if isinstance(node, ast.Name):
        return node.id == "method"
    if isinstance(node, ast.Attribute):
        return node.attr == "method"
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "method"
    if isinstance(node, ast.Call):
        got = isinstance(node.func, ast.Attribute) and node.func.attr == "get" and bool(node.args)
        named = got and isinstance(node.args[0], ast.Constant) and node.args[0].value == "method"
        return named or any(map(_is_method, node.args))
    return False


def _has_text(node: ast.expr) -> bool:
    """A text, or a literal with texts inside."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Tuple | ast.List | ast.Set) and any(map(_has_text, node.elts))


def compared_methods(file: Path) -> list[int]:
    """Lines that compare the name of a method with a text."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_method, sides)) and any(map(_has_text, sides)):
                found.append(node.lineno)
        elif isinstance(node, ast.Match) and _is_method(node.subject):
            found.append(node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr in {"startswith", "endswith"}:
            found += [node.lineno] if _is_method(node.value) else []
    return found


@pytest.mark.parametrize("room", CONSUMERS)
def test_no_reader_of_releases_compares_the_name_of_a_method(room: str) -> None:
    """Draws, tables and statements declare what a release is. Checks of one method's own rows may know its name."""
    apart = SOURCE / "verification" / "methods"
    files = [file for file in FILES if part_of(file) == room and not file.is_relative_to(apart)]
    assert files
    assert {str(file): lines for file in files if (lines := compared_methods(file))} == {}


@pytest.mark.parametrize(
    "line",
    [
        'method == "zealous"',
        '"zealous" != plan.method',
        'manifest["method"] in ("zealous", "click-graph")',
        'manifest.get("method") not in {"zealous"}',
        'str(content["method"]) == "k-query"',
        'release.plan.method.startswith("k-")',
    ],
)
def test_such_a_comparison_is_seen(line: str, tmp_path: Path) -> None:
    file = tmp_path / "reader.py"
    file.write_text(f"if {line}:\n    pass\n")
    assert compared_methods(file) == [1]
    file.write_text("if method in MECHANISMS or method == other.method:\n    pass\n")
    assert compared_methods(file) == []


def twice(files: Iterable[Path], most: int = 10) -> set[str]:
    """Where more than so many lines of code stand again to the letter, not counting comments and imports."""
    seen: dict[tuple[str, ...], str] = {}
    found = set()
    for file in files:
        text = file.read_text(encoding="utf-8")
        imports: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        code = [
            (number, line.strip())
            for number, line in enumerate(text.splitlines(), 1)
            if re.search(r"\w", line) and not line.strip().startswith("#") and number not in imports
        ]
        for start in range(len(code) - most):
            run = tuple(line for _, line in code[start : start + most + 1])
            here = f"{file.name}:{code[start][0]}"
            if seen.setdefault(run, here) != here:
                found.add(f"{seen[run]} ~ {here}")
    return found


def test_nothing_longer_than_ten_lines_is_written_twice(tmp_path: Path) -> None:
    assert twice(FILES) == set()
    copies = [tmp_path / "one.py", tmp_path / "two.py"]
    for copy in copies:
        copy.write_text((SOURCE / "privacy" / "strength.py").read_text(encoding="utf-8"))
    assert twice(copies)


# -- no hidden state -----------------------------------------------------------------------------------------

FOREIGN = {
    ("count/public_items.py", "strerror"),
    ("release/ledger/store.py", "orig"),
    ("release/ledger/store.py", "sqlite_errorname"),
    ("release/ledger/store.py", "sqlstate"),
    ("release/recipes/reading.py", "problem_mark"),
    ("release/recipes/reading.py", "style"),
    ("show/cli/app.py", "exit_code"),
    ("show/cli/usage.py", "commands"),
    ("show/cli/usage.py", "ctx"),
    ("show/cli/usage.py", "errors"),
    ("show/cli/usage.py", "listing"),
    ("show/cli/usage.py", "opts"),
    ("show/cli/usage.py", "param"),
    ("show/web/app.py", "detail"),
    ("show/web/app.py", "status_code"),
    ("study/own.py", "problem_mark"),
}
"""Attributes that objects of other libraries may lack. No value of queryveil has optional attributes."""


def optional_attributes(tree: ast.AST) -> set[str]:
    """Names that are read with `getattr(value, "name", default)`."""
    return {
        str(node.args[1].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) == 3
        and isinstance(node.args[1], ast.Constant)
    }


def _is_namespace(node: ast.AST) -> bool:
    """`vars(value)` or `value.__dict__`."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars"
    return called or (isinstance(node, ast.Attribute) and node.attr == "__dict__")


def hidden_writes(tree: ast.AST) -> list[int]:
    """Lines that write to the namespace of a value, or set attributes of frozen values after `__post_init__`."""
    initial = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__post_init__"
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            found += [node.lineno] if _is_namespace(node.value) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changes = node.func.attr in {"pop", "popitem", "update", "setdefault", "clear"}
            sets = node.func.attr == "__setattr__" and id(node) not in initial
            found += [node.lineno] if sets or (changes and _is_namespace(node.func.value)) else []
    return found


def test_no_value_has_hidden_state() -> None:
    """Only the two functions that `__post_init__` calls may set attributes of frozen values."""
    trees = {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text("utf-8")) for file in FILES}
    found = {(name, one) for name, tree in trees.items() for one in optional_attributes(tree)}
    assert found <= FOREIGN, "make it an attribute of the protocol, with a default"
    assert [name for name, tree in trees.items() if hidden_writes(tree)] == [
        "mechanisms/shared_parameters.py",
        "parameters.py",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "vars(log)['cache'] = 1",
        "log.__dict__['cache'] = 1",
        "del vars(log)['cache']",
        "vars(log).pop('cache', None)",
        "log.__dict__.update(cache=1)",
        "object.__setattr__(log, 'cache', 1)",
        "getattr(mechanism, 'hook', None)",
    ],
)
def test_hidden_state_is_seen(line: str) -> None:
    tree = ast.parse(line)
    assert hidden_writes(tree) == [1] or optional_attributes(tree) == {"hook"}
    clean = ast.parse(
        "def __post_init__(self):\n    object.__setattr__(self, 'k', 1)\nvars(log)\ngetattr(a, name)"
    )
    assert hidden_writes(clean) == [] and optional_attributes(clean) == set()


PROCESS_WIDE = {
    "files/forks.py": {"_unclosed"},
    "files/workspace.py": {"_held", "_removals"},
    "release/ahead.py": {"_BEGUN"},
    "show/cli/console.py": {"_signs"},
    "study/processes.py": {"_here"},
}
"""Module-level containers that code changes: files and threads of this process, and lines of its terminal."""
_CHANGES = {"add", "append", "clear", "discard", "extend", "pop", "popitem", "remove", "setdefault", "update"}


def changed_globals(tree: ast.Module) -> set[str]:
    """Names of the module that its functions change, or bind anew."""
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found: set[str] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = list(ast.walk(function))
        own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        for node in nodes:
            changed: ast.AST | None = None
            if isinstance(node, ast.Global):
                found |= set(node.names)
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                changed = node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                changed = node.func.value if node.func.attr in _CHANGES else None
            if isinstance(changed, ast.Name) and changed.id in names - own:
                found.add(changed.id)
    return found


def test_modules_keep_no_state_but_of_their_process() -> None:
    trees = {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text("utf-8")) for file in FILES}
    found = {name: names for name, tree in trees.items() if (names := changed_globals(tree))}
    assert {name for name, names in found.items() if names - PROCESS_WIDE.get(name, set())} == set()


@pytest.mark.parametrize(
    "line", ["KNOWN[name] = 1", "KNOWN.update(name=1)", "global KNOWN", "del KNOWN[name]"]
)
def test_state_of_a_module_is_seen(line: str) -> None:
    assert changed_globals(ast.parse(f"KNOWN = {{}}\ndef remember(name):\n    {line}\n")) == {"KNOWN"}
    assert changed_globals(ast.parse("KNOWN = {}\ndef look(KNOWN):\n    KNOWN['a'] = 1\n")) == set()
