"""The commands of the lab behave like those of queryveil: help, typos, outputs, and secrets."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.show.cli.commands import loaded
from tests.command import command
from tests.conftest import many

COMPARE = "compare missing.tsv --study release-d --out {}"
INVERT = "attack hash-inversion --reference missing.tsv --target missing.tsv --truth missing.tsv --out {}.tsv"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["audit", "compare"])
def test_a_command_is_listed_with_its_first_sentence(name: str) -> None:
    said, listed = " ".join(loaded(name).help.split()), " ".join(command("--help").out.split())
    assert f" {name} " in listed and " ".join(said.split()[:6]) in listed


@pytest.mark.parametrize("method", qv.MECHANISMS)
def test_audit_takes_every_method(method: str) -> None:
    done = command("audit", method, "--help")
    assert done.code == 0 and "--runs" in done.out


def test_a_typo_gets_a_suggestion() -> None:
    pq.write_table(many(4, ["apples"]), "good.parquet")
    done = command("compare", "good.parquet", "--study", "releas-d", "--out", "out")
    assert done.code == 2 and "release-d" in done.err


@pytest.mark.parametrize("line", [COMPARE, INVERT])
def test_an_address_elsewhere_is_no_place_for_an_output(line: str) -> None:
    done = command(*line.format("s3://bucket/out").split())
    assert done.code == 2 and "s3:" in done.err


@pytest.mark.parametrize("line", [COMPARE, INVERT])
def test_nothing_is_written_into_a_release(line: str) -> None:
    qv.publish(qv.read(many(4, ["apples", "pears"])), qv.KQuery(k=2), out="release", i_understand=True)
    assert command(*line.format("release/new").split()).code == 2
    assert qv.verify("release").passes


@pytest.mark.parametrize("study", ["hash-inversion", "expansion"])
def test_one_user_has_no_halves(study: str) -> None:
    pq.write_table(many(1, ["apples", "pears"]), "one.parquet")
    assert command("compare", "one.parquet", "--study", study, "--out", "out").code == 5


def test_an_engine_keeps_its_secret() -> None:
    pq.write_table(many(4, ["apples"]), "log.parquet")
    engine = "postgres://ann:hunter2@host/db"
    done = command("compare", "log.parquet", "--study", "zealous-m", "--out", "out", "--engine", engine)
    assert done.code == 2 and "hunter2" not in done.err + done.out


def test_a_study_whose_aliases_unfold_without_end_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    Path("study.yaml").write_text("\n".join(lines) + "\n")
    pq.write_table(many(4, ["apples"]), "log.parquet")
    done = command("compare", "log.parquet", "--study", "study.yaml", "--out", "out")
    assert done.code in (2, 3)
