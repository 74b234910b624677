"""The documentation is run: commands, Python blocks, links and names are those of the code.

A shown output counts as right if every line of it, with numbers masked and white space collapsed, is in the real
output: noise changes numbers and terminals change line ends, but neither changes words, but for `7 queries` that
become `1 query`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import queryveil as qv
from queryveil.show.cli.app import app
from queryveil.show.cli.commands import SENTENCES, loaded
from tests.command import command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOT_OURS = {".git", ".venv", "data", "site", "build", "dist", "demo", "demo.private", "spark-warehouse"}

WITH_PYTHON = [
    ROOT / "README.md",
    *(
        DOCS / name
        for name in (
            "index.md",
            "tutorial.md",
            "reference/python.md",
            "reference/release-folder.md",
            "reference/spotting.md",
        )
    ),
    *sorted((DOCS / "how-to").glob("*.md")),
    *sorted((DOCS / "reference" / "formats").glob("*.md")),
]

# The demo's own size takes half a minute; its words are the same for fewer users. Here and in the pages the most
# frequent item has so many users that no release is empty but with probability far below 1e-6.
SMALL_DEMO = ["demo", "--out", "demo", "--users", "6000"]


def files(pattern: str) -> list[Path]:
    return sorted(
        path
        for path in ROOT.rglob(pattern)
        if path.is_file()
        and path.name != ".git"  # a file in a worktree
        and not any(
            part in NOT_OURS or part.endswith(("_cache", "__", ".egg-info", ".hypothesis"))
            for part in path.relative_to(ROOT).parts[:-1]
        )
    )


def blocks(page: Path) -> list[tuple[str, str]]:
    """Fenced blocks as (language, text), in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def masked(text: str) -> str:
    small = re.sub(r"\d+(\.\d+)?e[+-]\d+", "#", text)
    return " ".join(re.sub(r"\d+([,.:T-]+\d+)*", "#", small).split())


def counted(text: str) -> str:
    """The same for one or several of what is counted."""
    return re.sub(r"(# \w+?)(?:ies|y|s)\b", r"\1", text)


def missing(shown: str, real: str) -> list[str]:
    """The lines of `shown` that `real` does not have."""
    whole = masked(real)
    # Which items are published is random: rows below this heading are examples.
    fixed = re.sub(r"(users, with noise\n)(?:  \S.*\n)+", r"\1", shown)
    lines = (line for line in fixed.splitlines() if line.strip() not in {"", "..."})
    return [
        line for line in lines if masked(line) not in whole and counted(masked(line)) not in counted(whole)
    ]


# -- commands ------------------------------------------------------------------------------------------------


def whole() -> Any:
    """The program with all its commands loaded."""
    group: Any = typer.main.get_command(app)
    group.commands = {name: loaded(name) for name in group.commands}
    return group


def commands(
    command: object = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command with its option flags."""
    command = whole() if command is None else command
    flags = {
        flag
        for one in getattr(command, "params", [])
        for flag in (*one.opts, *one.secondary_opts)
        if flag.startswith("-") and flag not in {"-h", "--help"}
    }
    yield path, flags
    for name, part in getattr(command, "commands", {}).items():
        if getattr(part, "hidden", False):  # what stands for a recipe, which people type as a file
            continue
        yield from commands(part, (*path, name))


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    said = {name: " ".join(command.help.split()) for name, command in whole().commands.items()}
    # Of a longer text the list has the beginning.
    assert {name: text for name, text in said.items() if not text.startswith(SENTENCES[name])} == {}


def test_exit_codes_are_those_of_the_code() -> None:
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    raised = {
        getattr(qv, name).exit_code
        for name in qv.__all__
        if isinstance(getattr(qv, name), type) and issubclass(getattr(qv, name), qv.QueryveilError)
    }
    assert listed == raised | {0, 70, 130}


# -- what pages show -----------------------------------------------------------------------------------------


def shown_commands(text: str) -> Iterator[tuple[str, str, int]]:
    """Of a console block: each command line, what is shown below it, and the exit code."""
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        code = re.search(r"^\[exit code (\d+)\]\n", output, re.MULTILINE)
        yield line, output.replace(code.group(0), "") if code else output, int(code.group(1)) if code else 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a terminal of 100 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def run_python(codes: list[str]) -> list[str]:
    """Return what each block prints. The blocks run one after the other, and share the names of one module."""
    module = sys.modules["page"] = types.ModuleType("page")  # where classes of a page are looked up
    printed = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # a page is no test: its warnings are not errors
        for code in codes:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, "page", "exec"), module.__dict__)  # noqa: S102
            printed.append(out.getvalue())
    return printed


def run_python_apart(codes: list[str], folder: Path) -> list[str]:
    """Do the same in a process of its own, for pages that register classes or start processes."""
    script = "\nprint('\\x1e')\n".join(codes)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\x1e\n")


APART = {"add-a-mechanism-or-reader", "audit-a-mechanism", "tutorial", "write-a-plugin"}


def arguments(line: str) -> list[str]:
    words = shlex.split(line)
    assert words[0] == "queryveil" or words == ["make", "demo"], f"the test cannot run: {line}"
    return SMALL_DEMO if words[0] == "make" else words[1:]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.stem)
def test_pages_show_what_happens(page: Path, folder: Path) -> None:
    check_page(page, folder)


def check_page(page: Path, folder: Path) -> None:
    """Do what a page says, in order, and compare."""
    found = blocks(page)
    for at, (language, text) in enumerate(found):
        if language == "console":
            for line, output, code in shown_commands(text):
                done = command(*arguments(line))
                assert done.code == code, f"{line}\n{done.err}"
                assert missing(output, done.out + done.err) == [], line
        elif language == "python" and (at == 0 or "python" not in _before(found, at)):
            # Blocks that no command separates share their names.
            run_of = _together(found, at)
            codes = [code for code, _ in run_of]
            printed = run_python_apart(codes, folder) if page.stem in APART else run_python(codes)
            for (_, expected), real in zip(run_of, printed, strict=True):
                assert missing(expected, real) == []


def _before(found: list[tuple[str, str]], at: int) -> list[str]:
    """Languages of the blocks back to the last command."""
    languages = [language for language, _ in found[:at]]
    while "console" in languages:
        languages = languages[languages.index("console") + 1 :]
    return languages


def _together(found: list[tuple[str, str]], at: int) -> list[tuple[str, str]]:
    """The Python blocks from here to the next command, each with the output shown below it."""
    joined: list[tuple[str, str]] = []
    for place in range(at, len(found)):
        language, text = found[place]
        if language == "console":
            break
        if language == "python":
            after = found[place + 1] if place + 1 < len(found) else ("", "")
            joined.append((text, after[1] if after[0] == "text" else ""))
    return joined


def test_the_first_commands_publish_something(folder: Path) -> None:
    """What README says to do with a log, done with the tutorial's: the release is not empty, and verifies."""
    made = next(line for text in _of(DOCS / "tutorial.md") for line, *_ in shown_commands(text))
    assert made == "queryveil generate log.tsv.gz --users 5000"
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("searches.tsv.gz", "log.tsv.gz")
    first = re.findall(r"^    (queryveil .*?)(?: +#.*)?$", readme, re.MULTILINE)
    assert [line.split()[1] for line in first] == ["inspect", "plan", "publish", "release"]
    for line in [made, *first]:
        done = command(*arguments(line))
        assert done.code == 0, f"{line}\n{done.err}"
    assert qv.load(folder / "release").released["items"] > 0


def _of(page: Path) -> list[str]:
    return [text for language, text in blocks(page) if language == "console"]


def test_the_comparison_can_fail() -> None:
    real = "  read      620,000 rows, 20,000 users, 0 rejected\n  spent  epsilon 2, delta 1e-06,\n  per user"
    assert missing("read 5 rows, 1,000 users, 3 rejected\nepsilon 2.5, delta 3.2e-07, per user", real) == []
    assert missing("read 5 rows, 1,000 people, 3 rejected", real) != []
    assert missing("left epsilon 2", real) != []
    assert missing("published above 14: 7 queries", "published above 14: 1 query") == []
    assert missing("published above 14: 7 queries", "published above 14: 7 keywords") != []


def test_the_demo_is_shown_as_make_runs_it() -> None:
    assert "queryveil demo --out demo\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


# -- links and names -----------------------------------------------------------------------------------------


def test_relative_links_lead_somewhere() -> None:
    pages = files("*.md")
    assert len(pages) > 15
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not re.match(r"[a-z]+:", target):
                path, _, anchor = target.partition("#")
                there = (page.parent / path) if path else page
                assert there.exists(), f"{page.relative_to(ROOT)} links to {target}"
                assert not anchor or anchor in _anchors(there), f"{page.relative_to(ROOT)} links to {target}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert f" {page.relative_to(DOCS).as_posix()}\n" in nav, page


# Put together from parts, so that this file does not name them itself.
HOSTS = [
    ".".join(parts)
    for parts in (("pypi", "org"), ("pythonhosted", "org"), ("anaconda", "org"), ("npmjs", "org"))
]
PATHS = re.compile(r"(?<![\w.}*])/(?:home|root|work|Users)/\w\w")  # one letter is an example


def named_elsewhere(text: str) -> list[str]:
    """Package hosts, and paths of one machine, that a text names."""
    return [host for host in HOSTS if host in text] + [found.group() for found in PATHS.finditer(text)]


def test_no_file_names_a_package_host_or_a_path_of_one_machine() -> None:
    looked_at = 0
    for path in files("*"):
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        looked_at += 1
        assert named_elsewhere(text) == [], path.relative_to(ROOT)
    assert looked_at > 50
    assert named_elsewhere(f"see {'/'}home/ann/log.tsv on files.{HOSTS[1]}") == [HOSTS[1], "/" + "home/an"]
