"""Print the rooms of queryveil and the lab, and the arrows between them; fail if an arrow goes up or closes a circle.

    python scripts/import_graph.py            # print; exit code 1 if something is wrong
    python scripts/import_graph.py --write    # draw docs/architecture.svg, and fill the tables of rooms in the docs

A room is a package directly below `queryveil`. The docstring of its `__init__` says in the first sentence what it is
for, and in a line "May import: ..." what stands below it. An import inside a function makes a start quicker, and an
import for type checking is never run; both count as arrows like any other, so neither can close a circle.
"""

from __future__ import annotations

import argparse
import ast
import html
import importlib
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
TABLES = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md")
"""Pages with the table of rooms between two comments."""
BEGIN, END = "<!-- rooms: scripts/import_graph.py --write -->", "<!-- end of rooms -->"

BASE = ("errors", "parameters", "plugins", "compiled", "queryveil")
"""Modules that stand in no room: everything may import them. The lab may import queryveil."""
FLOW = ("show", "advice", "attack", "measure", "synthetic", "verification", "language", "count")
"""From left to right in the picture, where rooms stand side by side; the others follow."""

UNSORTED = {"audits"}
"""Packages whose modules still import each other for types."""

RUN, LAZY, TYPES, PUBLIC = "run", "lazy", "types", "public"

PACKAGES = {
    "queryveil": (ROOT / "src" / "queryveil", "qv"),
    "queryveil_lab": (ROOT / "lab" / "src" / "queryveil_lab", "lab"),
}
"""Where each package is, and the short name under which its public names are used."""


@dataclass(frozen=True)
class Arrow:
    """One module imports another: when it is run, later in a function, for types, or by a public name (`qv.x`)."""

    source: str
    target: str
    when: str


@dataclass(frozen=True)
class Room:
    name: str
    sentence: str
    below: frozenset[str]
    modules: int


def modules(source: Path) -> dict[str, Path]:
    """Names below `queryveil` and their files, without the two modules that only list names of others."""
    found = {}
    for file in sorted(source.rglob("*.py")):
        parts = file.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in {"", "extension"}:
            found[name] = file
    return found


def arrows(files: Mapping[str, Path], package: str = "queryveil") -> list[Arrow]:
    trees = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in files.items()}
    found = {
        Arrow(name, target, when)
        for name, tree in trees.items()
        for target, when in (*_imports(tree, RUN, files, package), *_public(tree, package))
        if target != name
    }
    return sorted(found, key=lambda one: (one.source, one.target, one.when))


def _public(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """The homes of public names that are used as `qv.name`, or `lab.name` in the lab."""
    short, named = PACKAGES[package][1], importlib.import_module(package)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == short:
            home = named._HOME.get(node.attr)
            yield from [(home.removeprefix(f"{package}."), PUBLIC)] if home else []


def _imports(node: ast.AST, when: str, files: Mapping[str, Path], package: str) -> Iterator[tuple[str, str]]:
    start = f"{package}."
    for child in ast.iter_child_nodes(node):
        now = when
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and when == RUN:
            now = LAZY
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            now = TYPES
        if isinstance(child, ast.Import):
            names = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            inside = [f"{child.module}.{alias.name}" for alias in child.names]
            names = [name if name.removeprefix(start) in files else child.module for name in inside]
        else:
            names = []
        for name in names:
            if name.removeprefix(start) in files and name.startswith(start):
                yield name.removeprefix(start), when
        yield from _imports(child, now, files, package)


def room_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def rooms(source: Path, files: Mapping[str, Path]) -> dict[str, Room]:
    found = {}
    for folder in sorted(source.iterdir()):
        init = folder / "__init__.py"
        if not init.is_file():
            continue
        said = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
        may = re.search(r"^May import: ([\w,\s]+)\.$", said, re.MULTILINE)
        if not may:
            raise SystemExit(f"the docstring of '{folder.name}' does not say what it may import")
        sentence = " ".join(said.split("\n\n")[0].split())
        number = sum(room_of(name) == folder.name for name in files)
        found[folder.name] = Room(folder.name, sentence, frozenset(re.split(r",\s*", may[1])), number)
    return found


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups that can be reached from each other (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        number[one] = lowest[one] = len(number)
        stack.append(one)
        for other in sorted(edges.get(one, ())):
            if other not in number:
                visit(other)
                lowest[one] = min(lowest[one], lowest[other])
            elif other in stack:
                lowest[one] = min(lowest[one], number[other])
        if lowest[one] == number[one]:
            group = stack[stack.index(one) :]
            del stack[stack.index(one) :]
            if len(group) > 1:
                found.append(sorted(group))

    for one in sorted(edges):
        if one not in number:
            visit(one)
    return found


def edges_of(given: Iterable[Arrow]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for arrow in given:
        found.setdefault(arrow.source, set()).add(arrow.target)
    return found


def levels(found: Mapping[str, Room]) -> dict[str, int]:
    """How high each room stands: above all that it may import."""
    height: dict[str, int] = dict.fromkeys(BASE, 0)
    while len(height) < len(found) + len(BASE):
        ready = {n: r for n, r in found.items() if n not in height and r.below <= height.keys()}
        if not ready:
            raise SystemExit(f"these rooms may import each other: {sorted(found.keys() - height.keys())}")
        height |= {name: 1 + max(height[one] for one in room.below) for name, room in ready.items()}
    return height


def wrong(files: Mapping[str, Path], drawn: list[Arrow], found: Mapping[str, Room]) -> list[str]:
    """Every fault as a sentence."""
    said = []
    for arrow in drawn:
        source, target = room_of(arrow.source), room_of(arrow.target)
        allowed = found[source].below if source in found else {"errors"}
        if source != target and target not in allowed:
            said.append(f"upward arrow: {arrow.source} -> {arrow.target}")
    said += [
        "circle of modules: " + ", ".join(one)
        for one in circles(edges_of(one for one in drawn if one.when != PUBLIC))
        if {room_of(module) for module in one} - UNSORTED
    ]
    between = {
        Arrow(room_of(one.source), room_of(one.target), RUN)
        for one in drawn
        if room_of(one.source) != room_of(one.target)
    }
    said += ["circle of rooms: " + ", ".join(one) for one in circles(edges_of(between))]
    return said


def report(drawn: list[Arrow], found: Mapping[str, Room]) -> Iterator[str]:
    height = levels(found)
    yield f"{len(found)} rooms, the highest first; arrows to those that they import"
    for name in sorted(found, key=lambda one: (-height[one], one)):
        used: dict[str, int] = {}
        for arrow in drawn:
            target = room_of(arrow.target)
            if room_of(arrow.source) == name and target != name:
                used[target] = used.get(target, 0) + 1
        listed = ", ".join(f"{one} {number}" for one, number in sorted(used.items())) or "nothing"
        yield f"  {height[name]} {name:<13}{found[name].modules:>3} modules -> {listed}"
    lazy = [one for one in drawn if one.when == LAZY]
    yield f"{len(lazy)} lazy imports"
    for one in lazy:
        yield f"  {one.source} -> {one.target}"


def needed(found: Mapping[str, Room], drawn: Iterable[Arrow]) -> set[tuple[str, str]]:
    """Arrows between rooms without those that other arrows make plain: if a -> b -> c, then not a -> c."""
    below: dict[str, set[str]] = {name: set() for name in found}
    for arrow in drawn:
        source, target = room_of(arrow.source), room_of(arrow.target)
        if source in found and target in found and source != target:
            below[source].add(target)
    reach: dict[str, set[str]] = {}
    for name in sorted(found, key=levels(found).__getitem__):
        reach[name] = below[name].union(*(reach[one] for one in below[name]))
    return {
        (source, target)
        for source, targets in below.items()
        for target in targets
        if not any(target in reach[other] for other in targets)
    }


WIDTH, HEIGHT, GAP, STEP, MARGIN = 232, 78, 24, 118, 20
"""Of a box, between boxes side by side, from one level to the next, and around the picture."""


def picture(found: Mapping[str, Room], drawn: Iterable[Arrow]) -> str:
    """The rooms as boxes, the highest on top; each arrow points to what is imported."""
    height = levels(found)
    top = max(height.values())
    rows = {
        level: sorted((n for n in found if height[n] == level), key=_from_left) for level in range(1, top + 1)
    }
    wide = max(len(row) for row in rows.values()) * (WIDTH + GAP) - GAP + 2 * MARGIN
    place = {}
    for level, row in rows.items():
        left = (wide - (len(row) * (WIDTH + GAP) - GAP)) / 2
        for number, name in enumerate(row):
            place[name] = (left + number * (WIDTH + GAP), MARGIN + (top - level) * STEP)
    tall = MARGIN * 2 + (top - 1) * STEP + HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" role="img" '
            'font-family="system-ui, sans-serif">',
            "<title>The rooms of queryveil: every arrow goes down</title>",
            f'<rect width="{wide}" height="{tall}" fill="#ffffff"/>',
            '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 Z" fill="#55606e"/></marker>',
            *(_line(place[source], place[target]) for source, target in sorted(needed(found, drawn))),
            *(line for name in sorted(found) for line in _box(found[name], *place[name])),
            "</svg>\n",
        ]
    )


def _from_left(name: str) -> tuple[int, str]:
    return (FLOW.index(name) if name in FLOW else len(FLOW), name)


def _line(source: tuple[float, float], target: tuple[float, float]) -> str:
    """A curve from box to box; one that passes other levels leaves by the side, so that it goes around them."""
    x1, y1 = source[0] + WIDTH / 2, source[1] + HEIGHT
    x2, y2 = target[0] + WIDTH / 2, target[1]
    bend = (y2 - y1) / 2
    first, second = (x1, y1 + bend), (x2, y2 - bend)
    if target[1] - source[1] > STEP and abs(x2 - x1) > WIDTH / 2:
        y1 -= HEIGHT / 2
        x1 += WIDTH / 2 if x2 > x1 else -WIDTH / 2
        first, second = (x2, y1), (x2, y1)
    curve = f"M{x1:g} {y1:g} C{first[0]:g} {first[1]:g} {second[0]:g} {second[1]:g} {x2:g} {y2:g}"
    return f'<path d="{curve}" fill="none" stroke="#55606e" marker-end="url(#tip)"/>'


def _box(room: Room, x: float, y: float) -> Iterator[str]:
    yield f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#f4f7fa" stroke="#1f5f8b"/>'
    yield (
        f'<text x="{x + 10:g}" y="{y + 19:g}" font-size="15" font-weight="bold" fill="#17202b">{room.name}</text>'
    )
    lines = textwrap.wrap(room.sentence, 36)
    shown = (
        lines
        if len(lines) <= 3
        else [*lines[:2], textwrap.shorten(" ".join(lines[2:]), 36, placeholder=" ...")]
    )
    for number, line in enumerate(shown):
        yield (
            f'<text x="{x + 10:g}" y="{y + 36 + 14 * number:g}" font-size="11" fill="#17202b">'
            f"{html.escape(line)}</text>"
        )


def table(found: Mapping[str, Room]) -> str:
    """The rooms as rows of a page, from the source of the data to the reader."""
    height = levels(found)
    rows = ["| package in `src/queryveil` | what it is for | imports |", "|---|---|---|"]
    for name in sorted(found, key=lambda one: (height[one], one)):
        below = sorted(found[name].below - set(BASE), key=lambda one: (height[one], one))
        rows.append(f"| `{name}/` | {found[name].sentence} | {', '.join(below)} |")
    return "\n".join(rows)


def with_table(page: str, rows: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rows}\n{END}{after}"


def written(found: Mapping[str, Room], drawn: Iterable[Arrow]) -> dict[Path, str]:
    """What each file must hold that is made from the graph."""
    pages = {page: with_table(page.read_text(encoding="utf-8"), table(found)) for page in TABLES}
    return pages | {PICTURE: picture(found, drawn)}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Print the import graph of queryveil.")
    parser.add_argument(
        "--write", action="store_true", help="draw the picture and fill the tables in the docs"
    )
    parser.add_argument("--source", type=Path, help="another folder with the package to look at")
    parser.add_argument("--package", choices=PACKAGES, help="one package; both if left out")
    options = parser.parse_args(words)
    faults: list[str] = []
    for package in [options.package] if options.package else ["queryveil"] if options.source else PACKAGES:
        source = options.source or PACKAGES[package][0]
        files = modules(source)
        drawn, found = arrows(files, package), rooms(source, files)
        print("\n".join([f"{package}:", *report(drawn, found)]))  # noqa: T201
        faults += wrong(files, drawn, found)
        if options.write and package == "queryveil":
            for path, text in written(found, drawn).items():
                path.write_text(text, encoding="utf-8")
    print("\n".join(faults) or "no circle, and every arrow goes down")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
