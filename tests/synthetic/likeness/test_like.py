"""A log like another one: fitted to its figures, or to a release; what is written says whether it is private."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.synthetic.generator import LogSettings, generate_batches
from queryveil.synthetic.generator.habits import PUBLISHED, normalize_shares
from queryveil.synthetic.likeness import fit
from queryveil.synthetic.likeness.counts import curve_of
from tests.command import command

OTHER = dataclasses.replace(
    PUBLISHED,
    zipf=0.6,
    one_off=0.5,
    click_rate=0.25,
    activity=0.8,
    go_on=(0.7, 0.5),
    repeat=(0.1, 0.15),
    hours=normalize_shares(*[3.0] * 12, *[1.0] * 12),
)
"""People who differ from the default in everything that is fitted."""


@pytest.fixture(scope="module")
def log() -> pa.Table:
    return pa.Table.from_batches(
        generate_batches(LogSettings(users=1_000, rows=12_000, days=14, seed=5, habits=OTHER))
    )


@pytest.fixture(scope="module")
def fitted(log: pa.Table) -> qv.FittedProfile:
    return qv.fit_generator(qv.read(log))


def test_the_fitted_log_has_the_figures_of_the_other(fitted: qv.FittedProfile) -> None:
    for name in (
        "top 10",
        "top 100",
        "distinct",
        "repeats",
        "clicks",
        "session_mean",
        "session_one",
        "heavy",
    ):
        assert fitted.made[name] == pytest.approx(fitted.wanted[name], rel=0.25), name
    # The default does not have them: without fitting this would fail.
    plain = qv.figures_of(
        qv.read(pa.Table.from_batches(generate_batches(LogSettings(users=1_000, rows=12_000, days=14))))
    )
    assert plain.clicks != pytest.approx(fitted.wanted["clicks"], rel=0.25)
    assert plain.repeats != pytest.approx(fitted.wanted["repeats"], rel=0.25)
    assert plain.heavy != pytest.approx(fitted.wanted["heavy"], rel=0.25)
    habits = fitted.settings.total_habits
    assert sum(habits.hours[:12]) == pytest.approx(0.75, abs=0.05)


def test_size_and_days_are_those_of_the_log_unless_given(log: pa.Table, fitted: qv.FittedProfile) -> None:
    assert (fitted.settings.users, fitted.settings.rows, fitted.settings.days) == (1_000, 12_000, 14)


def test_of_a_large_log_some_users_are_looked_at(monkeypatch: pytest.MonkeyPatch, log: pa.Table) -> None:
    monkeypatch.setattr(fit, "_ROWS", 4_000)
    monkeypatch.setattr(fit, "_ROUNDS", 2)
    found = qv.fit_generator(qv.read(log), seed=9)
    assert (found.settings.users, found.settings.rows, found.settings.seed) == (1_000, 12_000, 9)
    assert (
        found.wanted["distinct"] > qv.figures_of(qv.read(log)).distinct
    )  # fewer rows repeat each other less


def test_the_shape_of_counts_is_found() -> None:
    ranks = np.arange(1, 401)
    curve = curve_of(np.asarray(1e6 * (ranks + 3.0) ** -0.9, dtype=np.float64))
    assert curve.zipf == pytest.approx(0.9)
    assert (curve.head, curve.ranks) == (3.0, 240)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    steep = dataclasses.replace(PUBLISHED, zipf=1.25, head=2.0, one_off=0.6)
    table = pa.Table.from_batches(generate_batches(LogSettings(users=4_000, rows=60_000, habits=steep)))
    out = tmp_path_factory.mktemp("like") / "release"
    qv.publish(qv.read(table), qv.Steered(epsilon=4, delta=1e-4), out=out)
    return out


def test_a_release_is_followed_by_its_counts_alone(release: Path) -> None:
    found = qv.fit_generator(release, users=500)
    assert found.is_private
    assert found.made["zipf"] == pytest.approx(found.wanted["zipf"], abs=0.25)
    habits = found.settings.total_habits
    assert habits.zipf > 1.05  # the default has 1.0, and what it was published from 1.25
    assert habits == dataclasses.replace(PUBLISHED, zipf=habits.zipf, head=habits.head)
    assert found.settings.users == 500


def test_a_release_that_counts_no_queries_is_refused(tmp_path: Path, log: pa.Table) -> None:
    out = tmp_path / "words"
    method = qv.Zealous(epsilon=5, delta=1e-5, max_items=2, neighbours="add-remove")
    qv.publish(qv.read(log), method, items="keywords", out=out)
    with pytest.raises(qv.CannotBeMet, match="does not count 20 queries"):
        qv.fit_generator(out)


def test_what_is_written_says_that_it_is_not_private(
    tmp_path: Path, log: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit, "_ROUNDS", 2)
    pq.write_table(log, "log.parquet")
    done = command("generate", "made.parquet", "--like", "log.parquet", "--users", "300", "--rows", "2000")
    assert done.code in (0, None), done.err
    assert "NOT PRIVATE" in " ".join(done.out.split())
    said = json.loads(Path("made.parquet.like.json").read_text())
    assert said["private"] is False and said["note"].startswith("NOT PRIVATE")
    inside = json.loads(pq.read_schema("made.parquet").metadata[b"queryveil.fit_generator"])
    assert inside == said
    assert pq.read_metadata("made.parquet").num_rows == 2_000
    # None of the log's users and texts is in it.
    assert not set(log["user"].unique().to_pylist()) & set(json.dumps(said).split('"'))


def test_what_follows_a_release_says_that_it_costs_nothing(
    tmp_path: Path, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "_ROUNDS", 2)
    done = command("generate", str(tmp_path / "made.tsv"), "--like", str(release), "--users", "300", "--json")
    assert done.code in (0, None), done.err
    said = done.document["like"]
    assert said["private"] is True and "costs no privacy" in said["note"]
    assert (tmp_path / "made.tsv.like.json").is_file()


@pytest.mark.parametrize("other", [("--setting", "small"), ("--version", "1")])
def test_like_and_a_version_exclude_each_other(tmp_path: Path, log: pa.Table, other: tuple[str, str]) -> None:
    pq.write_table(log, tmp_path / "log.parquet")
    done = command("generate", str(tmp_path / "made.tsv"), "--like", str(tmp_path / "log.parquet"), *other)
    assert done.code == 2
    assert not (tmp_path / "made.tsv").exists()


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "made.tsv").write_text("mine")
    done = command("generate", str(tmp_path / "made.tsv"), "--like", str(tmp_path / "none.parquet"))
    assert done.code == 2
    assert (tmp_path / "made.tsv").read_text() == "mine"
