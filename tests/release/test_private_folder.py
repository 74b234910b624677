"""The private folder goes where it is told to, is found there again, and never where it is handed on unnoticed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import queryveil as qv
from tests.command import Outcome, command
from tests.conftest import many

LINE = "publish log.tsv --method k-query --k 2 --out public/release"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = many(4, ["apples", "pears"]).to_pylist()
    lines = [f"{row['user']}\t{row['time']}\t{row['query']}\n" for row in rows]
    Path("log.tsv").write_text("user\ttime\tquery\n" + "".join(lines))
    return tmp_path


def run(line: str) -> Outcome:
    return command(*line.split())


def test_it_goes_where_it_is_told_to_and_is_found_there(here: Path) -> None:
    done = run(f"{LINE} --private vault/mine")
    assert done.code == 0 and "vault/mine is for you alone" in " ".join(done.out.split()), done
    assert "--private vault/mine" in " ".join(done.out.split())
    assert {one.name for one in Path("public").iterdir()} == {"release"}
    assert stat.S_IMODE(Path("vault/mine").stat().st_mode) == 0o700
    assert Path("vault/mine/curator.json").exists()
    everything = b"".join(file.read_bytes() for file in Path("public/release").iterdir())
    assert b"vault" not in everything and qv.verify("public/release").passes

    done = run("attack linkage log.tsv public/release --trials 5 --known 1 --save --private vault/mine")
    assert done.code == 0 and Path("vault/mine/attacks/linkage.json").exists(), done
    done = run("report public/release --curator --log log.tsv --private vault/mine")
    assert done.code == 0 and Path("vault/mine/report.html").exists(), done
    assert "linkage" in Path("vault/mine/report.html").read_text()
    assert {one.name for one in Path("public").iterdir()} == {"release"}


def test_another_log_is_noticed_by_what_it_holds(here: Path) -> None:
    assert run(f"{LINE} --private vault").code == 0
    Path("other.tsv").write_text(Path("log.tsv").read_text() + "new\t2026-01-01\tapples\n")
    evaluate = "evaluate other.tsv public/release --metric coverage"
    assert run(evaluate).code == 0, "nobody can know without the private folder"
    done = run(f"{evaluate} --private vault")
    assert done.code == 3 and "is a release of another log" in done.err
    done = run(f"{evaluate} --private vault --private vault")
    assert done.code == 2 and "once for each release" in done.err


def test_python_says_the_same(here: Path) -> None:
    made = qv.publish(qv.read("log.tsv"), qv.KQuery(k=2), out="release", private="vault")
    assert made.private_place == Path("vault") and not Path("release.private").exists()
    assert qv.private_folder(qv.load("release", private="vault")) == Path("vault")
    assert qv.write_curator_report(qv.load("release", private="vault")) == Path("vault/report.html")
    saved = qv.publish(qv.read("log.tsv"), qv.KQuery(k=2)).save("second", private="vault-2")
    assert Path("vault-2/curator.json").exists() and saved.private_place == Path("vault-2")
    usual = qv.publish(qv.read("log.tsv"), qv.KQuery(k=2), out="third")
    assert usual.private_place == Path("third.private")


@pytest.mark.parametrize(
    ("private", "words"),
    [
        ("public/release", "must be in different places"),
        ("public/release/mine", "must be in different places"),
        ("public", "must be in different places"),
        ("log.tsv", "exists already"),
        ("s3://bucket/mine", "outside this machine"),
    ],
)
def test_a_place_that_would_give_it_away_is_refused(private: str, words: str, here: Path) -> None:
    done = run(f"{LINE} --private {private}")
    assert done.code == 2 and words in done.err, done
    assert {one.name for one in here.iterdir()} == {"log.tsv"}


def test_a_folder_that_is_not_there_is_not_made_up(here: Path) -> None:
    assert run(LINE).code == 0
    for line in (
        "report public/release --curator --private typo",
        "evaluate log.tsv public/release --private typo",
    ):
        done = run(line)
        assert done.code == 2 and "there is no private folder 'typo'" in done.err, done
    assert not Path("typo").exists()


@pytest.mark.parametrize(
    ("place", "sign"),
    [
        ("work", ".git"),
        ("www", None),
        ("public_html/data", None),
        ("dist", None),
        ("Dropbox/work", None),
        ("OneDrive - Firm", None),
    ],
)
def test_a_folder_that_is_uploaded_is_warned_of(place: str, sign: str | None, here: Path) -> None:
    Path(place).mkdir(parents=True)
    if sign:
        (here / place / sign).mkdir()
    log = qv.read("log.tsv")
    made = qv.publish(log, qv.KQuery(k=2), out=here / place / "deep" / "release")
    (warning,) = [one for one in made.warnings if "private folder" in one]
    assert "looks like a folder that is uploaded" in warning and "--private" in warning
    apart = qv.publish(log, qv.KQuery(k=2), out=here / place / "second", private=here / "vault")
    assert not [one for one in apart.warnings if "private folder" in one]
