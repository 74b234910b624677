"""Studies from a file: what they run, and one sentence for everything that can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import many

OWN = """
question: How many queries per user?
methods:
  - {method: zealous, epsilon: 1, delta: 1e-3, items: queries}
  - {method: k-query, k: 10, label: crowds of 10}
vary:
  max_items: [1, 2]
measures: [coverage@2]
repeats: 2
expect:
  - {measure: coverage@2, along: max-items, shape: flat}
"""


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(many(2000, ["news", "maps"]))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    return file


def test_it_runs_methods_over_the_grid(log: qv.SearchLog, own: Path, tmp_path: Path) -> None:
    made = qv.compare(log, own, out=tmp_path / "out")
    rows = [row for row in made.table.to_pylist() if row["metric"] == "coverage@2"]
    # Two runs for each of two bounds; k-query has no such bound, and nothing in it is random.
    assert [(row["method"], row["max_items"], row["repeat"]) for row in rows] == [
        ("zealous", 1, 0),
        ("zealous", 1, 1),
        ("zealous", 2, 0),
        ("zealous", 2, 1),
        ("crowds of 10", 1, 0),
    ]
    assert {row["mechanism"] for row in rows} == {"zealous", "k-query"}
    assert {row["value"] for row in rows} == {1.0} and {row["unit"] for row in rows} == {"share"}
    assert [check.passed for check in made.checks] == [True]
    assert "coverage-2.png" in [file.name for file in made.figures]


def test_several_processes_find_the_same(log: qv.SearchLog, own: Path) -> None:
    one, two = (qv.compare(log, own, workers=workers) for workers in (1, 2))
    assert one.table.equals(two.table)


def test_a_process_that_cannot_start_says_why_in_a_sentence(
    log: qv.SearchLog, own: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUERYVEIL_MEMORY", "much")
    with pytest.raises(qv.UsageError, match="is not a size"):
        qv.compare(log, own, workers=2)
    assert capfd.readouterr().err == "", "no traceback of a process: it may quote the log"


def test_cells_of_a_changed_file_are_not_mixed_in(log: qv.SearchLog, own: Path, tmp_path: Path) -> None:
    study = qv.find_study(own)
    own.write_text(OWN.replace("epsilon: 1", "epsilon: 2"))
    assert qv.find_study(own).version != study.version
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "about.json").write_text("{}")
    with pytest.raises(qv.UsageError, match="another study, log or setting"):
        qv.compare(log, own, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods: {", "is not YAML"),
        ("\x00", "is not YAML"),
        ("", "the file is not a mapping"),
        ("- 1", "the file is not a mapping"),
        ("method: []", "did you mean methods"),
        ("fear of dogs: 1", "something that is not known"),
        ("methods: []", "'methods' is not a list"),
        ("methods: [1]", "an entry of methods is not a mapping"),
        ("methods: [{method: zealus}]", "did you mean zealous"),
        ("methods: [{method: zealous, epsilo: 1}]", "did you mean epsilon"),
        ("methods: [{method: zealous, epsilon: many}]", "'epsilon' is not a number"),
        ("methods: [{method: k-query, k: 5}, {method: k-query, k: 6}]", "the same label"),
        ("methods: [{method: k-query, k: 5}]\nmeasures: [coverge]", "did you mean coverage"),
        ("methods: [{method: k-query, k: 5}]\nmeasures: coverage", "'measures' is not a list"),
        ("methods: [{method: k-query, k: 1}]\nmeasures: [coverage]", "parameter 'k' must be"),
        ("methods: [{method: k-query}]\nvary: {k: [5, 1]}\nmeasures: [coverage]", "parameter 'k' must be"),
        ("methods: [{method: k-query}]\nvary: {k: [5, 5]}\nmeasures: [coverage]", "a value twice"),
        ("methods: [{method: k-query}]\nvary: {k: 5}\nmeasures: [coverage]", "'k' is not a list"),
        ("methods: [{method: k-query, k: 5}]\nvary: {k: [5]}\nmeasures: [coverage]", "left open"),
        ("methods: [{method: k-query, k: 5}]\nmeasures: [coverage]\nrepeats: 0", "'repeats' must be"),
        (
            "methods: [{method: k-query}]\nvary: {k: [5]}\nmeasures: [coverage]\n"
            "expect: [{measure: coverage, along: k, shape: round}]",
            "use rising, falling, flat",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(own: Path, text: str, said: str) -> None:
    own.write_text(text)
    with pytest.raises(qv.QueryveilError) as told:
        qv.find_study(own)
    assert said in str(told.value) and "\n" not in str(told.value)
    assert "fear of" not in str(told.value), "a log that was named by mistake is not repeated"


def test_files_and_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="cannot be read"):
        qv.find_study(tmp_path / "nothing.yaml")
    with pytest.raises(qv.UsageError, match="did you mean release-d"):
        qv.find_study("relase-d")
    done = command("compare", "log.tsv", "--study", str(tmp_path / "nothing.yaml"), "--out", "out")
    assert done.code == 3 and "cannot be read" in done.err


def test_shapes_are_told_apart() -> None:
    from queryveil.studies.grid import has_shape

    assert has_shape([1, 2, 3], "rising") and not has_shape([1, 2, 3], "falling")
    assert has_shape([3, 1, 1.01], "falling") and not has_shape([3, 1, 2], "falling")
    assert has_shape([1, 1.01, 1], "flat") and not has_shape([1, 2, 1], "flat")
