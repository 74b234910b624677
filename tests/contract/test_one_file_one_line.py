"""What it costs to extend queryveil: a mechanism is one file, one line, and one proof page; a format is one file.

Both are made from the guide's own blocks, in a copy of the repository, and used like any other.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "add-a-mechanism-or-reader.md"
MODULE = Path("src/queryveil/mechanisms/common_queries.py")
REGISTRY = Path("src/queryveil/mechanisms/__init__.py")
PROOF = Path("docs/proofs/common-queries.md")
FORMAT = Path("src/queryveil/reading/formats/tilde.py")
SAMPLE = Path("tests/data/samples/tilde.tilde")
FORMATS_PAGE = Path("docs/reference/formats.md")
KEPT = ("src", "docs", "man", "scripts", "tests", "benchmarks", "pyproject.toml")


def block(kind: str, text: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)
    assert found, f"the guide has no block of {kind}"
    return found[1]


def copy_repository(place: Path) -> Path:
    for name in KEPT:
        source = ROOT / name
        if source.is_dir():
            # Compiled loops come along: they are kept beside the modules, and modules keep their times.
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("evidence", "*.png"))
        else:
            shutil.copy(source, place / name)
    return place


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, with the guide to mechanisms followed to the letter."""
    place = copy_repository(tmp_path_factory.mktemp("copy"))
    guide = GUIDE.read_text(encoding="utf-8").partition("## A format")[0]
    (place / MODULE).write_text(block("python", guide), encoding="utf-8")
    (place / PROOF).write_text(block("markdown", guide), encoding="utf-8")
    registry = (place / REGISTRY).read_text(encoding="utf-8")
    start = registry.index("_HOMES = (\n") + len("_HOMES = (\n")
    (place / REGISTRY).write_text(registry[:start] + block("py", guide) + registry[start:], encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def with_format(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, with the guide to formats followed to the letter."""
    place = copy_repository(tmp_path_factory.mktemp("with_format"))
    guide = GUIDE.read_text(encoding="utf-8").partition("## A format")[2]
    (place / FORMAT).write_text(block("py", guide), encoding="utf-8")
    (place / SAMPLE).write_text(block("log", guide), encoding="utf-8")
    page = (place / FORMATS_PAGE).read_text(encoding="utf-8")
    heading = "|---|---|---|\n"
    (place / FORMATS_PAGE).write_text(
        page.replace(heading, heading + block("markdown", guide), 1), encoding="utf-8"
    )
    return place


def run(copy: Path, *words: str, within: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=within or copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def queryveil(copy: Path, within: Path, *words: str) -> str:
    done = run(copy, "-c", "from queryveil.show.cli import run; run()", *words, within=within)
    assert done.returncode == 0, done.stderr
    return done.stdout


def touched(copy: Path, suffix: str = ".py") -> tuple[set[Path], int]:
    """Return the files that only the copy has, and the number of lines that differ in files with a suffix."""
    added, lines = set(), 0
    for folder in ("src", "tests", "scripts", "benchmarks", "docs"):
        for file in (copy / folder).rglob("*"):
            if not file.is_file() or "__pycache__" in file.parts:
                continue
            name = file.relative_to(copy)
            if not (ROOT / name).is_file():
                added.add(name)
            elif name.suffix == suffix:
                before, after = ((place / name).read_text(encoding="utf-8") for place in (ROOT, copy))
                changed = difflib.ndiff(before.splitlines(), after.splitlines()) if before != after else ()
                lines += sum(line[:2] in ("+ ", "- ") for line in changed)
    return added, lines


def test_a_mechanism_is_one_file_one_line_and_one_proof_page(copy: Path) -> None:
    assert touched(copy) == ({MODULE, PROOF}, 1)


def test_a_format_is_one_file_a_sample_and_a_row_of_a_table(with_format: Path) -> None:
    assert touched(with_format) == ({FORMAT, SAMPLE}, 0)
    assert touched(with_format, ".md")[1] == 1


def test_a_format_is_recognized_named_and_refuses_options_of_others(
    with_format: Path, tmp_path: Path
) -> None:
    shutil.copy(with_format / SAMPLE, tmp_path / "log.tilde")
    found = json.loads(queryveil(with_format, tmp_path, "inspect", "log.tilde", "--json"))
    assert (found["format"], found["rows"], found["users"]) == ("tilde", 4, 3)
    kept = json.loads(
        queryveil(with_format, tmp_path, "inspect", "log.tilde", "--where", "session=s1", "--json")
    )
    assert kept["rows"] == 2
    (tmp_path / "log.tilde").rename(tmp_path / "log.txt")
    named = json.loads(queryveil(with_format, tmp_path, "inspect", "log.txt", "--format", "tilde", "--json"))
    assert named["rows"] == 4
    assert "tilde" in queryveil(with_format, tmp_path, "inspect", "--help")
    words = ("-c", "from queryveil.show.cli import run; run()", "inspect", "log.txt", "--format", "tilde")
    refused = run(with_format, *words, "--table", "x", within=tmp_path)
    assert refused.returncode == 2 and "--table" in refused.stderr


def test_a_format_passes_the_tests_of_all_formats(with_format: Path) -> None:
    tests = (
        "tests/contract/test_row_locality.py",
        "tests/reading/formats/test_formats_page.py",
        "tests/reading/formats/test_corpus.py",
        "tests/docs/test_speed.py",
    )
    words = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *tests)
    done = run(with_format, *words, "-k", "tilde or has_a_case or every_format")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "6 passed" in done.stdout and "skipped" not in done.stdout


def test_it_is_planned_published_verified_evaluated_and_attacked(copy: Path, tmp_path: Path) -> None:
    helped = queryveil(copy, tmp_path, "publish", "common-queries", "--help")
    assert "--epsilon" in helped and "--delta" in helped and "--k " not in helped
    assert "common-queries" in queryveil(copy, tmp_path, "publish", "--help")
    plan = json.loads(
        queryveil(copy, tmp_path, "plan", "common-queries", "--epsilon", "4", "--delta", "0.0005", "--json")
    )
    assert plan["guarantee"]["epsilon"] == 4 and plan["draws"][0]["above"] == plan["calibration"]["threshold"]
    queryveil(copy, tmp_path, "generate", "log.parquet", "--users", "1500")
    asked = ("--epsilon", "4", "--delta", "0.0005", "--out", "out")
    queryveil(copy, tmp_path, "publish", "common-queries", "log.parquet", *asked)
    verified = json.loads(queryveil(copy, tmp_path, "release", "verify", "out", "--json"))
    assert verified["passes"] and "guarantee" in {check["name"] for check in verified["checks"]}
    measured = json.loads(queryveil(copy, tmp_path, "evaluate", "log.parquet", "out", "--json"))
    assert measured
    attacked = queryveil(
        copy,
        tmp_path,
        "attack",
        "active",
        "--methods",
        "common-queries",
        "--trials",
        "50",
        "--delta",
        "0.0005",
    )
    assert "common-queries" in attacked


def test_it_passes_the_contract_and_the_reference_page_has_it(copy: Path) -> None:
    written = run(copy, "scripts/reference.py", "--write")
    assert written.returncode == 0, written.stderr
    assert "## `common-queries`" in (copy / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")
    words = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/contract/test_mechanisms.py")
    done = run(copy, *words, "-k", "common-queries or reference_page")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
