"""`queryveil evaluate`: its table, its JSON, its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.utility.graphs import clicks, log, queries, release

EVENTS = [
    ("fear of dogs", "http://www.dogs.example/a", 20),
    ("fear of cats", "http://cats.example", 11),
    ("x", None, 2),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and two releases: one with clicks, one of queries alone."""
    made = tmp_path_factory.mktemp("evaluate")
    original = log(EVENTS)
    pq.write_table(original.engine.arrow(original.source), made / "log.parquet")
    release(
        queries=queries({"fear of dogs": 19, "fear of cats": 12}),
        clicks=clicks(
            {("fear of dogs", "http://www.dogs.example/a"): 17, ("fear of cats", "http://cats.example"): -1}
        ),
    ).save(made / "full")
    release(queries=queries({"fear of cats": 9})).save(made / "plain")
    return made


def arguments(folder: Path, *rest: str) -> list[str]:
    return ["evaluate", str(folder / "log.parquet"), *rest]


def test_one_release_as_json(folder: Path) -> None:
    done = command(
        *arguments(
            folder, str(folder / "full"), "--seeds", "dogs.example", "--pattern", "fear of *", "--json"
        )
    )
    assert done.code == 0 and done.err == ""
    found = done.document["measures"]
    assert found["coverage@100"] == pytest.approx(2 / 3)
    assert found["keyword-generation@0.95"] == 1 and found["keyword-generation@0.95/original"] == 1
    assert found["pattern-ranking@20"] == 1 and found["pattern-ranking@20/correlation"] == 1
    assert done.document["stated"]["missing@100"] == {
        "unit": "items",
        "direction": "lower is better",
        "help": qv.MEASURES["missing"].help,
    }
    assert done.document["left_out"] == {"suggestions": "the release has no table of reformulations"}


def test_several_releases_as_json(folder: Path) -> None:
    full, plain = str(folder / "full"), str(folder / "plain")
    done = command(*arguments(folder, full, plain, "--metric", "coverage@1", "--metric", "missing", "--json"))
    assert [one["release"] for one in done.document] == [full, plain]
    assert done.document[0]["measures"]["coverage@1"] == 1
    assert done.document[1]["measures"] == {"coverage@1": 0.0, "missing@100": 2}


def test_the_table_says_units_directions_and_whom_it_is_for(folder: Path) -> None:
    done = command(*arguments(folder, str(folder / "full"), str(folder / "plain"), "--top", "2"))
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "coverage@2 1.0000 0.5000 share higher is better" in words
    assert "missing@2 0 1 items lower is better" in words
    assert "not protected: they are for the curator" in words
    assert "left out keyword-generation: needs --seeds" in words
    assert "fear" not in done.out, "figures name no query"


def test_seeds_from_a_file(folder: Path) -> None:
    file = folder / "seeds.txt"
    file.write_text("dogs.example\n")
    full = str(folder / "full")
    done = command(
        *arguments(folder, full, "--metric", "keyword-generation@0.5", "--seeds", str(file), "--json")
    )
    assert done.document["measures"]["keyword-generation@0.5/released"] == 1


def test_the_list_of_measures() -> None:
    plain, document = command("evaluate", "--list"), command("evaluate", "--list", "--json").document
    assert plain.code == 0
    assert list(document) == list(qv.MEASURES)
    for name, about in document.items():
        assert name in plain.out
        assert " ".join(about["help"].split()) in " ".join(plain.out.split())


@pytest.mark.parametrize(
    ("rest", "code", "message"),
    [
        (["full", "--metric", "coverge"], 2, "there is no measure 'coverge'; did you mean coverage"),
        (["full", "--metric", "keyword-generation"], 2, "needs --seeds"),
        (
            ["full", "--metric", "keyword-generation", "--seeds", "no.example"],
            5,
            "no url of the log is in the seed",
        ),
        (["full", "--pattern", "fear of"], 2, "exactly one *"),
        (["full", "--pattern", "love of *"], 5, "no query of the log fits the pattern"),
        (["plain", "--metric", "similar-queries"], 3, "there is no table of clicks in"),
        (["full", "--metric", "coverage", "--top", "0"], 2, "--top"),
        (["none"], 3, "is not a release"),
        ([], 2, "RELEASE"),
    ],
)
def test_errors(folder: Path, rest: list[str], code: int, message: str) -> None:
    named = [str(folder / one) if one in {"full", "plain", "none"} else one for one in rest]
    done = command(*arguments(folder, *named))
    assert done.code == code and message in done.err and done.out == ""
    assert done.err.count("\n") == 1
    under_json = command(*arguments(folder, *named, "--json"))
    assert under_json.code == code and json.loads(under_json.err)["error"]["message"]
