"""Public lists, the whole way, for every method that takes one: plan, noise, manifest, verification, both engines.

What only one family of methods has is in test_listed_items (counts) and test_listed_sums (Gaussian selection).
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

import queryveil as qv
from queryveil.catalog import Sentence
from queryveil.reading.engine.base import Engine
from tests.command import command
from tests.mechanisms.public_lists import (
    LISTED,
    METHODS,
    OFF,
    CountedNoise,
    NoNoise,
    method,
    of_items,
    published,
    rows,
    write_catalogue,
)
from tests.mutations import manifest_of, write_again
from tests.sentences import fields_of, sentences_in

ONE_EACH = ("zealous", "steered", "weighted", "truncated", "graph", "steered graph")
"""One setting of each method: for what does not depend on its parameters."""


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalogue(tmp_path_factory.mktemp("list") / "catalogue.txt")


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(rows())


def shown(calibration: Any) -> Any:
    """The figures of the table that has the list."""
    return calibration.get("queries", calibration)


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", METHODS)
def test_the_plan_states_list_threshold_and_decoys(which: str, catalogue: Path) -> None:
    plan = method(which, catalogue).plan(users=500)
    draw = plan.draws[0]
    assert draw.public is not None and all(one.public is None for one in plan.draws[1:])
    assert (draw.public.items, draw.public.lines) == (LISTED, LISTED)
    assert draw.above is not None and 0 < draw.public.above < draw.above
    figures = shown(plan.calibration)
    assert 0 < figures["expected_decoys"] < 3 and figures["public_threshold"] == draw.public.above
    expected = fields_of(plan.expected, "plan.decoys")
    assert (expected["decoys"], expected["items"]) == (figures["expected_decoys"], LISTED)
    assert {"public-list"} <= {one.code for one in plan.guarantee.assumptions}
    assert {"decoys"} <= {one.code for one in plan.guarantee.caveats}
    (listed,) = [one for one in sentences_in(plan.how) if one.id.startswith("how.list")]
    assert listed.fields["items"] == LISTED
    assert plan.tables[0].texts == "listed"
    assert "catalogue" not in json.dumps(plan.as_dict()), "no name of the curator's file"
    more = shown(method(which, catalogue, public_z=2).plan(users=500).calibration)
    assert more["expected_decoys"] > 10 * figures["expected_decoys"]


@pytest.mark.parametrize("which", METHODS)
def test_the_list_costs_nothing(which: str, catalogue: Path) -> None:
    """Noise, thresholds of other items, mu, p, epsilon and delta are those without a list."""
    with_list, without = method(which, catalogue).plan(users=500), method(which, None).plan(users=500)
    assert tuple(dataclasses.replace(one, public=None) for one in with_list.draws) == without.draws
    assert with_list.guarantee.cost == without.guarantee.cost


@pytest.mark.parametrize("which", ONE_EACH)
def test_what_does_not_go_with_a_list_is_refused(which: str, catalogue: Path) -> None:
    most = 41 if which in ("steered", "weighted", "steered graph") else 1_001
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"public": None, "public_z": 3}, "name its file with public"),
        ({"public_z": 0}, "parameter 'public_z' must be"),
        ({"public_z": most}, "parameter 'public_z' must be"),
    ]
    if "graph" not in which:
        wrong.append(({"items": ("queries", "keywords")}, "has one kind of item"))
    if which == "graph":
        wrong.append(({"neighbours": "replace"}, "neighbours belongs to selection='steered'"))
    for given, said in wrong:
        with pytest.raises(qv.UsageError, match=said):
            method(which, catalogue, **given)


# -- noise ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", METHODS)
def test_every_item_of_the_list_gets_noise_and_others_only_if_somebody_has_them(
    which: str, catalogue: Path, log: qv.SearchLog
) -> None:
    noise = CountedNoise()
    found = published(method(which, catalogue), log, noise=noise)
    if "steered" in which or which.startswith("weighted"):
        assert noise.drawn[0] == LISTED + OFF, "in the first round; then some are dropped"
    else:
        assert noise.drawn[0] == LISTED
        assert sum(noise.drawn[1:]) == OFF + (len(found) if "fresh" in which else 0)


@pytest.mark.parametrize("which", METHODS)
def test_items_go_by_their_own_thresholds(which: str, catalogue: Path, log: qv.SearchLog) -> None:
    """Without noise: 25 users are enough on the list, and not off it."""
    epsilon = {"truncated": 0.4, "truncated, replaced": 1.6, "steered graph, replaced": 1.5}.get(which, 1)
    epsilon = 1.5 if which in ("steered, replaced", "weighted, replaced") else epsilon
    made = method(which, catalogue, public_z=3, epsilon=epsilon)
    assert published(made, log, noise=NoNoise()) == {"flu": 300, "measles": 25}
    assert published(method(which, None, epsilon=epsilon), log, noise=NoNoise()) == {"flu": 300}


@pytest.mark.parametrize("which", [*ONE_EACH, "graph of users"])
def test_engines_publish_the_same_with_the_same_noise(
    which: str, everything: Path, log: qv.SearchLog, spark_log: qv.SearchLog
) -> None:
    """All items are on the list, whose noise is drawn in its order before the log is counted."""
    made = method(which, everything, public_z=2)
    here = published(made, log, seed=7)
    assert here == published(made, spark_log, seed=7) and len(here) > 20, "decoys too"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that people have, and texts that engines may sort in different ways."""
    file = write_catalogue(tmp_path_factory.mktemp("list") / "everything.txt")
    more = "not on the list\nunlisted and rare\nzürich\nÉclair\n\U0001f600\nzz top\n"
    file.write_text(file.read_text("utf-8") + more, "utf-8")
    return file


@pytest.fixture(scope="module")
def spark_log(spark: Engine) -> qv.SearchLog:
    return qv.read(rows(), engine=spark)


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def releases(
    catalogue: Path, log: qv.SearchLog, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """With z = 2 some 40 decoys are there; that there is none has a chance far below 1e-6."""
    home = tmp_path_factory.mktemp("releases")
    made = {}
    for number, which in enumerate(METHODS):
        made[which] = home / str(number)
        qv.publish(log, method(which, catalogue, public_z=2), out=made[which])
    yield made
    shutil.rmtree(home)


@pytest.mark.parametrize("which", METHODS)
def test_it_verifies_and_is_saved_again_byte_by_byte(
    which: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    release = releases[which]
    verdict = qv.verify(release)
    assert verdict.passes, verdict.failed
    assert any(line.startswith("public list:") for line in verdict.not_checked)
    qv.load(release).save(tmp_path / "again")
    for file in release.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name
    content = manifest_of(release)
    assert next(iter(content["tables"].values()))["texts"] == "listed"
    digest = content["draws"][0]["public"]["sha256"]
    decoys = Sentence("statement.decoys", decoys=shown(content["calibration"])["expected_decoys"])
    for name in ("DATASHEET.md", "report.html"):
        text = (release / name).read_text(encoding="utf-8")
        assert digest in text and decoys[1:] in text and "catalogue" not in text


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"items": LISTED + 1}, "manifest"),
    ({"above": 5}, "manifest"),
    ({"sha256": "0" * 64}, "manifest"),
    ({"lines": 1}, "manifest"),
    ({"items": 0}, "draws"),
    ({"above": 0}, "draws"),
    ({"above": True}, "draws"),
    ({"sha256": "short"}, "draws"),
    ({"more": 1}, "draws"),
]


@pytest.mark.parametrize("which", ONE_EACH)
def test_a_changed_list_fails(which: str, releases: dict[str, Path], tmp_path: Path) -> None:
    release = shutil.copytree(releases[which], tmp_path / "out")
    content = manifest_of(release)
    stated = content["draws"][0]["public"]
    for change, check in CHANGES:
        content["draws"][0]["public"] = stated | change
        write_again(release, content, with_documents=False)
        assert check in {one.name for one in qv.verify(release).failed}, change
    del content["draws"][0]["public"]
    write_again(release, content, with_documents=False)
    assert "manifest" in {one.name for one in qv.verify(release).failed}, "left out"


@pytest.mark.parametrize("which", ONE_EACH)
def test_a_list_of_the_logs_own_queries_warns_the_curator_alone(
    which: str, own: tuple[qv.SearchLog, Path], tmp_path: Path
) -> None:
    log, names = own
    made = qv.publish(log, method(which, names, public_z=1), out=tmp_path / "out")
    assert any("100% of the items on the public list are in the log" in one for one in made.warnings)
    files = list((tmp_path / "out").iterdir())
    assert files and all("are in the log" not in file.read_text("utf-8", "replace") for file in files)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[qv.SearchLog, Path]:
    """A log in which everyone has a query of their own, and the list of these queries."""
    names = [f"q{number}" for number in range(1_500)]
    file = tmp_path_factory.mktemp("list") / "own.txt"
    file.write_text("\n".join(names))
    table = pa.table({"user": names, "query": names, "time": ["2006-03-01 10:00:00"] * len(names)})
    return qv.read(table), file


# -- refusals come before the charge -------------------------------------------------------------------------


@pytest.mark.parametrize("which", ONE_EACH)
def test_a_bad_list_is_exit_3_and_charges_nothing(which: str, tmp_path: Path) -> None:
    csv.write_csv(of_items([(40, "flu")]), tmp_path / "log.csv")
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("logs", epsilon=2, delta=1e-5)
    cls, usual = METHODS[which]
    words = ["publish", cls.name, str(tmp_path / "log.csv"), "--epsilon", "1", "--delta", "1e-6"]
    words += ["--ledger", str(tmp_path / "ledger.db"), "--source", "logs", "--out", str(tmp_path / "out")]
    words += ["--selection", "steered"] if "selection" in usual else []
    for content in (None, b"", b"caf\xe9\n"):
        if content is not None:
            (tmp_path / "list.txt").write_bytes(content)
        done = command(*words, "--public", str(tmp_path / "list.txt"))
        assert done.code == 3 and "public list" in done.err and done.err.count("\n") <= 3, done.err
        assert ledger.budget("logs").spent.epsilon == 0 and not (tmp_path / "out").exists()
