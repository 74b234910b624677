"""`queryveil compare`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import queryveil_lab as lab
from tests.command import command

QUICK = ("--vary", "d=1,2", "--vary", "delta=0.001")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = ["user\ttime\tquery"]
    lines += [
        f"u{user}\t2026-01-01 00:0{minute}:00\t{query}"
        for user in range(200)
        for minute, query in enumerate(("news", "private words", "news"))
    ]
    (tmp_path / "log.tsv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def test_compare_prints_checks_and_where_the_figures_are() -> None:
    done = command("compare", "log.tsv", "--study", "release-d", "--out", "out", *QUICK)
    assert (done.code, done.err) == (0, ""), "a shape that is missing is a finding, not a failure"
    assert re.search(
        r"^  (pass|FAIL|too small +to tell whether) +impressions peak at an inner d", done.out, re.MULTILINE
    )
    assert re.search(r"^  pass +real releases agree", done.out, re.MULTILINE)
    assert "out/figures/impressions.png" in done.out
    assert "curator alone" in " ".join(done.out.split())
    assert "private words" not in done.out
    assert Path("out/index.html").is_file()


def test_compare_json_is_one_document() -> None:
    done = command(
        "compare", "log.tsv", "--study", "release-d", "--out", "out", "--repeats", "2", "--json", *QUICK
    )
    assert (done.code, done.err) == (0, "")
    made: Any = done.document
    assert made.keys() >= {"study", "out", "rows", "checks", "passes", "figures", "seconds"}
    assert made["checks"][0].keys() - {"undecided"} == {"name", "passes", "detail"}
    assert all(Path(file).is_file() for file in made["figures"])


def test_release_probability_needs_no_log() -> None:
    asked = (
        "--study",
        "release-probability",
        "--out",
        "out",
        "--repeats",
        "1",
        "--vary",
        "frequency=100,140",
    )
    done = command("compare", *asked)
    assert (done.code, done.err) == (0, "")
    assert "curator" not in done.out
    assert Path("out/figures/release-probability.svg").is_file()


def test_list_names_every_study() -> None:
    listed = command("compare", "--list")
    assert listed.code == 0
    for name, study in lab.STUDIES.items():
        assert f"{name}\n" in listed.out
        assert study.question in " ".join(listed.out.split())
    assert command("compare", "--list", "--json").document.keys() == set(lab.STUDIES)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["log.tsv", "--out", "out"], "no study is named"),
        (["log.tsv", "--study", "release-e", "--out", "out"], "there is no study 'release-e'"),
        (["log.tsv", "--study", "release-d"], "--out DIR"),
        (["--study", "release-d", "--out", "out"], "needs a log"),
        (["log.tsv", "--study", "release-probability", "--out", "out"], "reads no log"),
        (["log.tsv", "--study", "release-d", "--out", "log.tsv"], "exists already"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--vary", "d"], "not a name and values"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--vary", "k=2"], "does not vary 'k'"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--vary", "d=x"], "--vary d=1,5,10"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--vary", f"d={10**20}"], "below a trillion"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--vary", f"d={10**400}"], "below a trillion"),
        (["log.tsv", "--study", "release-d", "--out", "out", "--repeats", "0"], "--repeats"),
    ],
)
def test_wrong_usage_is_one_sentence(asked: list[str], said: str) -> None:
    done = command("compare", *asked)
    assert (done.code, done.out) == (2, "")
    assert said in done.err and done.err.count("\n") == 1
    assert not Path("out").exists()
    assert json.loads(command("compare", *asked, "--json").err)["error"]["kind"] == "usage"


def test_a_folder_of_somebody_else_is_refused_before_the_log_is_read() -> None:
    Path("z/s.partial").mkdir(parents=True)
    Path("z/s.partial/thesis.txt").write_text("years of work")
    done = command("compare", "missing.tsv", "--study", "release-d", "--out", "z/s", *QUICK)
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
    assert "choose another --out" in done.err
    assert [file.name for file in Path("z").rglob("*")] == ["s.partial", "thesis.txt"]


def test_a_folder_that_cannot_go_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from queryveil_lab.studies import running

    asked = ("compare", "log.tsv", "--study", "release-d", "--out", "out", *QUICK)
    real = running._write_comparison

    def and_another_file(*given: Any) -> None:
        real(*given)
        Path("out.partial/thesis.txt").write_text("years of work")

    monkeypatch.setattr(running, "_write_comparison", and_another_file)
    done = command(*asked)
    assert done.code == 0 and "out.partial: it holds more than the finished cells" in done.out
    assert [file.name for file in Path("out.partial").iterdir()] == ["thesis.txt"]


def test_an_interruption_says_that_it_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from queryveil_lab.studies import running

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    asked = ("compare", "log.tsv", "--study", "release-d", "--out", "out", *QUICK)
    with monkeypatch.context() as patched:
        patched.setattr(running, "_write_comparison", interrupted)
        done = command(*asked)
    assert done.code == 130 and "run it again to go on" in done.err
    assert Path("out.partial").is_dir() and not Path("out").exists()
    again = command(*asked)
    assert again.code == 0 and "4 cells had been finished before" in again.out
    assert not Path("out.partial").exists()
