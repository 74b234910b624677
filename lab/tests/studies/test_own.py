"""Studies from a file: what they run, and one sentence for everything that can be wrong with them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from tests.command import command
from tests.conftest import many

OWN = """
question: How many queries per user?
methods:
  - {method: zealous, epsilon: 1, delta: 1e-3, items: queries, guarantee: probabilistic}
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
    made = lab.compare(log, own, out=tmp_path / "out")
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
    assert [check.passes for check in made.checks] == [True]
    assert "coverage-2.png" in [file.name for file in made.figures]


def test_several_processes_find_the_same(log: qv.SearchLog, own: Path) -> None:
    one, two = (lab.compare(log, own, workers=workers) for workers in (1, 2))
    assert one.table.equals(two.table)


def test_a_process_that_cannot_start_says_why_in_a_sentence(
    log: qv.SearchLog, own: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUERYVEIL_MEMORY", "much")
    with pytest.raises(qv.UsageError, match="is not a size"):
        lab.compare(log, own, workers=2)
    assert capfd.readouterr().err == "", "no traceback of a process: it may quote the log"


def test_cells_of_a_changed_file_are_not_mixed_in(log: qv.SearchLog, own: Path, tmp_path: Path) -> None:
    real = lab.find_study(own)

    def measure(*_: object) -> list[dict[str, Any]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.compare(log, dataclasses.replace(real, measure=measure), out=tmp_path / "out")
    own.write_text(OWN.replace("epsilon: 1", "epsilon: 2"))
    assert lab.find_study(own).version != real.version
    with pytest.raises(qv.UsageError, match="another study, log or setting"):
        lab.compare(log, own, out=tmp_path / "out")


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
            "use one of rising, falling, flat",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(own: Path, text: str, said: str) -> None:
    own.write_text(text)
    with pytest.raises(qv.QueryveilError) as told:
        lab.find_study(own)
    assert said in str(told.value) and "\n" not in str(told.value)
    assert "fear of" not in str(told.value), "a log that was named by mistake is not repeated"


ONE = "methods: [{method: k-query, k: 5}]\n"
VARIED = "methods: [{method: zealous, delta: 1e-3, guarantee: probabilistic}]\n"
COVERAGE = "measures: [coverage]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (VARIED + COVERAGE + "vary: {epsilon: [5], max_items: [[1]]}", "not a single value"),
        (VARIED + COVERAGE + "vary: {epsilon: [5], max_items: [{a: 1}]}", "not a single value"),
        (VARIED + COVERAGE + "vary: {epsilon: [5], max_items: [1, null]}", "a value that is empty"),
        (VARIED + COVERAGE + f"vary: {{epsilon: [0x{'f' * 9000}]}}", "not a single value"),
        (VARIED + COVERAGE + "vary: {epsilon: [5], max_items: [[1]]}", "not a single value"),
        ("methods: [{method: zealous, items: {a: 1}}]\n" + COVERAGE, "not a single value"),
        ("methods: [{method: semantic}]\nvary: {pad: [true, false]}\n" + COVERAGE, "cannot vary"),
        ("methods: [{method: k-query, k: [5]}]\n" + COVERAGE, "not a single value"),
        ("methods: [{method: k-query, k: 5, label: [a]}]\n" + COVERAGE, "'label' is not a text"),
        ("methods: [{method: k-query}]\n" + COVERAGE, "k-query needs 'k'"),
        (ONE + COVERAGE + "name: {a: b}", "'name' is not a text"),
        (ONE + COVERAGE + "name: 2026-05-32", "is not YAML"),
        (ONE + COVERAGE + "name: !!bool maybe", "is not YAML"),
        (ONE + COVERAGE + "pattern: 7", "'pattern' is not a text"),
        (ONE + "measures: [[coverage]]", "'measures' is not a text"),
        (ONE + COVERAGE + "top: abc", "'top' must be a whole number"),
        (ONE + COVERAGE + "top: [1, 2]", "'top' must be a whole number"),
        (ONE + COVERAGE + "top: true", "'top' must be a whole number"),
        (ONE + "measures: [coverage@10]\ntop: abc", "'top' must be a whole number"),
        (ONE + COVERAGE + "seeds: {a: b}", "'seeds' is not a list"),
        (ONE + COVERAGE + "seeds: [1]", "'seeds' is not a list"),
        (ONE + COVERAGE + "repeats: 100001", "from 1 to 100000"),
        (
            VARIED + COVERAGE + f"vary: {{epsilon: {[*range(1, 3001)]}, max_items: {[*range(1, 3001)]}}}",
            "its grid has 9,000,000 cells, and 100,000 are the most",
        ),
    ],
)
def test_nonsense_is_told_when_the_file_is_read(own: Path, text: str, said: str) -> None:
    own.write_text(text)
    with pytest.raises(qv.InputError) as told:
        lab.find_study(own)
    assert said in str(told.value) and told.value.hint and len(str(told.value)) < 300


def expecting(measures: str, measure: str) -> str:
    return (
        f"methods: [{{method: k-query}}]\nvary: {{k: [5, 6]}}\nmeasures: [{measures}]\n"
        f"expect: [{{measure: {measure}, along: k, shape: flat}}]\n"
    )


@pytest.mark.parametrize(
    ("measures", "measure", "meant"),
    [
        ("coverage", "coverage", "coverage@100"),
        ("coverage@2", "coverage", "coverage@2"),
        ("coverage", "coverage/clicks", "coverage@100/clicks"),
        ("released-share", "released-share/impressions", "released-share/impressions"),
    ],
)
def test_what_is_expected_may_leave_out_the_default(
    own: Path, log: qv.SearchLog, measures: str, measure: str, meant: str
) -> None:
    own.write_text(expecting(measures, measure))
    made = lab.compare(log, own)
    assert made.checks[0].name.startswith(f"{meant} is flat along k")
    if "clicks" not in meant:
        assert made.checks[0].passes, "and it is found among what was measured"


@pytest.mark.parametrize(
    ("measures", "measure", "said"),
    [
        ("coverage@10", "coverge@10", "did you mean coverage@10"),
        ("coverage@10", "coverage@100", "did you mean coverage@10"),
        ("released-share", "released-share/impresions", "did you mean released-share/impressions"),
        ("coverage@10", "xyz", "use one of coverage@10"),
        ("'coverage@10', 'coverage@20'", "coverage", "write one of coverage@10, coverage@20"),
        ("coverage", "[coverage]", "'measure' is not a text"),
        ("coverage", "null", "'measure' is not a text"),
    ],
)
def test_what_is_expected_must_be_measured(own: Path, measures: str, measure: str, said: str) -> None:
    own.write_text(expecting(measures, measure))
    with pytest.raises(qv.InputError, match=said):
        lab.find_study(own)


def test_every_method_is_planned_before_anything_is_written(
    log: qv.SearchLog, own: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    own.write_text(
        "methods: [{method: k-query, k: 5}, {method: profile-histogram, epsilon: 1, max_queries: 5, domain: dogg}]\n"
        "measures: [coverage]\n"
    )
    with pytest.raises(qv.UsageError, match="concept"):
        lab.compare(log, own, out=tmp_path / "out")
    own.write_text(OWN)
    with pytest.raises(qv.UsageError, match="parameter 'max_items'"):
        lab.compare(log, own, out=tmp_path / "out", vary={"max_items": [1, 10**11]})
    own.write_text("methods: [{method: k-query, k: 5000}]\nmeasures: [coverage]\n")
    with pytest.raises(qv.QueryveilError, match="5,000 users"):
        lab.compare(log, own, out=tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_files_and_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="cannot be read"):
        lab.find_study(tmp_path / "nothing.yaml")
    with pytest.raises(qv.UsageError, match="did you mean release-d"):
        lab.find_study("relase-d")
    done = command("compare", "log.tsv", "--study", str(tmp_path / "nothing.yaml"), "--out", "out")
    assert done.code == 3 and "cannot be read" in done.err


def test_aliases_are_refused_before_they_are_followed(tmp_path: Path) -> None:
    """Each level of this stands for ten of the one before: a few hundred bytes, and 10^10 values."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    bomb = tmp_path / "bomb.yaml"
    bomb.write_text("\n".join([*levels, "name: *a9", "methods: *a9", "measures: [coverage@2]"]))
    log = tmp_path / "log.tsv"
    log.write_text("user\tquery\nu\tq\n")
    found = command("compare", str(log), "--study", str(bomb), "--out", str(tmp_path / "out"))
    assert (found.code, found.out) == (3, "")
    assert "has an alias" in found.err and not (tmp_path / "out").exists()


def test_an_anchor_that_nothing_refers_to_is_no_harm(log: qv.SearchLog, own: Path) -> None:
    own.write_text(OWN.replace("vary:", "vary: &varied"))
    assert lab.compare(log, own).table.num_rows
