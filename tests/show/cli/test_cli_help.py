"""Help: each method has its own options in groups, nothing is cut, and both ways to publish are one.

A screen is taken to be 80 columns by 50 lines.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer

import queryveil as qv
from queryveil.parameters import GROUPS, OUTPUT, PROMISES, READING, parameters
from queryveil.privacy.noise import Noise
from queryveil.show.cli.app import app
from queryveil.show.cli.commands import loaded
from tests.command import command
from tests.conftest import many
from tests.seeded import SeededBits

WIDTH, LINES = 80, 50


@pytest.fixture(autouse=True)
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(tmp_path)


def every(found: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group of commands, with its path."""
    if found is None:
        found = typer.main.get_command(app)
        found.commands = {name: loaded(name) for name in found.commands}
    yield path, found
    for name, part in getattr(found, "commands", {}).items():
        yield from every(part, (*path, name))


COMMANDS = dict(every())


def flags(found: Any) -> set[str]:
    named = (name for one in found.params if not one.hidden for name in (*one.opts, *one.secondary_opts))
    return {name for name in named if name.startswith("-")}


def said(*path: str) -> str:
    outcome = command(*path, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


# -- every command -------------------------------------------------------------------------------------------


def cut(text: str, names: set[str]) -> set[str]:
    """The names that a help text does not have whole."""
    return names - set(re.findall(r"(?<![\w-])--?[\w-]+", text))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_name_is_cut_and_no_line_too_long(path: tuple[str, ...]) -> None:
    text = said(*path)
    assert text.startswith(f"Usage: {' '.join(('queryveil', *path))}")
    assert cut(text, flags(COMMANDS[path]) | {"--help"}) == set()
    assert max(map(len, text.splitlines())) <= WIDTH
    for name, one in getattr(COMMANDS[path], "commands", {}).items():
        if one.hidden:  # what stands for a recipe, which people type as a file
            continue
        assert re.search(rf"^  {re.escape(name)} ", text, re.MULTILINE), name


@pytest.mark.parametrize(
    "path", [path for path, found in COMMANDS.items() if not hasattr(found, "commands")], ids=" ".join
)
def test_every_command_takes_json(path: tuple[str, ...]) -> None:
    assert "--json" in said(*path)


def test_a_cut_name_is_seen() -> None:
    assert cut("│ --delta-reform…  <float>  delta │", {"--delta-reformulations"})
    assert cut("│ --max-rejecte │\n│ d │", {"--max-rejected"})
    assert not cut("  -h, --help  x", {"-h", "--help"})


# -- methods -------------------------------------------------------------------------------------------------


def test_help_of_publish_zealous_fits_two_screens() -> None:
    assert len(said("publish", "zealous").splitlines()) <= 2 * LINES


@pytest.mark.parametrize("method", qv.MECHANISMS)
def test_a_method_shows_its_own_options_only(method: str) -> None:
    own = {one.flag for one in parameters(qv.MECHANISMS[method])}
    others = {one.flag for cls in qv.MECHANISMS.values() for one in parameters(cls)} - own
    for verb in ("plan", "publish"):
        shown = flags(COMMANDS[verb, method])
        assert own <= shown and not others & shown


@pytest.mark.parametrize("method", qv.MECHANISMS)
def test_options_stand_in_the_groups_that_they_declare(method: str) -> None:
    text = said("publish", method)
    found = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert found == ["What it works on", *(group for group in GROUPS if group in found)]
    assert {PROMISES, READING, OUTPUT} <= set(found)
    parts = dict(re.findall(r"^(\S.*):\n((?:  .*\n)+)", text, re.MULTILINE))
    for one in parameters(qv.MECHANISMS[method]):
        assert re.search(rf"^  {one.flag}\b", parts[one.declaration.group], re.MULTILINE), one.flag


@pytest.mark.parametrize("verb", ["plan", "publish"])
def test_methods_are_listed_with_one_line_each(verb: str) -> None:
    listed = re.search(r"^Methods:\n((?:  .*\n)+)", said(verb), re.MULTILINE)
    assert listed is not None
    assert [line.split()[0] for line in listed[1].splitlines()] == list(qv.MECHANISMS)


# -- two ways to say the same --------------------------------------------------------------------------------

ASKED = ["--epsilon", "2", "--delta", "1e-4", "--guarantee", "approximate"]
WAYS = {
    "method first": ["zealous", "log.parquet", *ASKED],
    "method behind": ["log.parquet", "--method", "zealous", *ASKED],
    "method last": ["log.parquet", *ASKED, "--method=zealous"],
    "options first": ["--method", "zealous", *ASKED, "log.parquet"],
}


def test_both_ways_to_name_the_method_give_the_same_release(monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(many(300, ["news"]), "log.parquet")
    publish = qv.publish

    def seeded(*given: Any, **named: Any) -> qv.Release:
        return publish(*given, **named | {"noise": Noise(SeededBits(7)), "i_understand": True})

    monkeypatch.setattr(qv, "publish", seeded)
    made = {}
    for way, words in WAYS.items():
        out = way.replace(" ", "-")
        outcome = command("publish", *words, "--out", out)
        assert outcome.code == 0, outcome
        manifest = re.sub(r'"created": "[^"]*"', "", Path(out, "manifest.json").read_text())
        made[way] = (pq.read_table(f"{out}/items.parquet").to_pylist(), manifest)
    assert len(made["method first"][0]) == 1
    assert all(one == made["method first"] for one in made.values())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("log.parquet --out out", "no method is named; write queryveil publish METHOD LOG --out DIR"),
        ("--out out log.parquet", "no method is named"),
        ("log.parquet --out out --method zealous --method k-query", "the method is named twice"),
        ("zealous log.parquet --k 5 --out out", "method zealous takes no --k"),
        ("log.parquet --method zealous --k 5 --out out", "method zealous takes no --k"),
        ("zealus log.parquet --out out", "there is no method 'zealus'; did you mean zealous?"),
    ],
)
def test_a_method_that_is_not_said_right_is_one_sentence(words: str, sentence: str) -> None:
    pq.write_table(many(3, ["news"]), "log.parquet")
    outcome = command("publish", *words.split())
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert sentence in outcome.err


def test_a_method_is_planned_without_the_others() -> None:
    """What one needs, others do without: a third of the time that a plan takes."""
    script = (
        "import sys; sys.argv = 'queryveil plan zealous --epsilon 1 --delta 1e-6'.split()\n"
        "from queryveil.show import cli\n"
        "try:\n    cli.run()\nexcept SystemExit as ended:\n"
        "    homes = [one for one in sys.modules if one.startswith('queryveil.mechanisms.')]\n"
        "    print(ended.code, [one for one in homes if 'semantic' in one or 'clump' in one or 'steered' in one])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_the_name_of_a_method_is_that_of_its_class() -> None:
    assert {name: cls.name for name, cls in qv.MECHANISMS.items()} == {name: name for name in qv.MECHANISMS}
