"""`queryveil evaluate`: its table, its JSON, its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.measure.graphs import clicks, log, queries, release

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
    release(queries=queries({"something else": 9})).save(made / "foreign")
    return made


def arguments(folder: Path, *rest: str) -> list[str]:
    return ["evaluate", str(folder / "log.parquet"), *rest]


def test_one_release_as_json(folder: Path) -> None:
    done = command(
        *arguments(
            folder, str(folder / "full"), "--seeds", "dogs.example", "--pattern", "fear of *", "--json"
        )
    )
    assert done.code == 0
    # It was made by hand, and is told to be no release of its method.
    assert json.loads(done.err.splitlines()[-1])["warning"]["message"].startswith(
        f"the release '{folder / 'full'}' fails 2 checks: thresholds, order"
    )
    found = done.document["measures"]
    assert found["coverage@100"] == pytest.approx(2 / 3)
    assert found["keyword-generation@0.95"] == 1 and found["keyword-generation@0.95/original"] == 1
    assert found["pattern-ranking@20"] == 1 and found["pattern-ranking@20/correlation"] == 1
    assert done.document["stated"]["missing@100"] == {
        "unit": "items",
        "direction": "lower is better",
        "help": qv.MEASURES["missing"].help,
    }
    assert done.document["left_out"]["suggestions"] == "the release has no table of reformulations"
    assert set(done.document["left_out"]) == {
        "inaccuracy",
        "index-caching",
        "query-substitution",
        "spelling-correction",
        "suggestions",
        "transaction-quality",
        "profile-divergence",
    }
    assert set(done.document["notes"]) == {"count-difference"} and done.document["warnings"] == []


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


@pytest.fixture(scope="module")
def anonymous(folder: Path) -> list[str]:
    """k-anonymous releases of the log: sessions of queries, keywords with prefixes, sets of keywords."""
    original = qv.read(folder / "log.parquet")
    for method in (qv.KQuery(k=2), qv.KKeyword(k=2), qv.KSession(k=2)):
        qv.publish(original, method, out=folder / method.name)
    return [str(folder / name) for name in ("k-query", "k-keyword", "k-session")]


def test_k_anonymous_releases_are_compared_in_one_command(folder: Path, anonymous: list[str]) -> None:
    done = command(*arguments(folder, *anonymous, "--json"))
    assert done.code == 0
    # Sessions are of queries first, but keywords are what all three have.
    assert [one["items"] for one in done.document] == ["keywords"] * 3
    sessions, words, sets = (one["measures"] for one in done.document)
    assert sessions["coverage@100"] == sessions["coverage@100/queries"] == 1
    assert words["coverage@100"] == 1 and words["inaccuracy@10/threshold"] == 2
    assert sets["distinct"] >= 4
    for one in done.document:
        assert "clicked documents" in one["notes"]["index-caching"]
    table = command(*arguments(folder, *anonymous, "--metric", "index-caching", "--memory", "64"))
    shown = " ".join(table.out.split())
    assert "note index-caching: document frequencies from the log's clicked documents; 64 bytes" in shown


def test_figures_of_different_items_do_not_stand_side_by_side(folder: Path, anonymous: list[str]) -> None:
    full, (sessions, words, _) = str(folder / "full"), anonymous
    names = ["--metric", "distinct", "--json"]
    one, other = command(*arguments(folder, full, words, *names)).document
    assert one["measures"] == {"distinct/queries": 2, "distinct/clicks": 2} and one["items"] is None
    assert other["measures"].keys() == {"distinct/keywords"}
    one, other = command(*arguments(folder, full, sessions, *names)).document
    assert one["items"] == other["items"] == "queries"
    assert one["measures"].keys() == {"distinct", "distinct/clicks"}
    shown = " ".join(command(*arguments(folder, sessions, words, "--metric", "distinct")).out.split())
    assert "items keywords, unless the name of a measure says otherwise" in shown


def test_document_frequencies_from_a_file_and_thresholds(folder: Path, anonymous: list[str]) -> None:
    file = folder / "df.tsv"
    file.write_text("fear\t3\ndogs\t9\n")
    sessions = anonymous[0]
    done = command(
        *arguments(
            folder, sessions, "--metric", "index-caching", "--df", str(file), "--memory", "1kB", "--json"
        )
    )
    assert done.document["notes"]["index-caching"] == (
        "document frequencies from 'df.tsv' (TSV, 2 words); 1,000 bytes of memory"
    )
    done = command(*arguments(folder, sessions, "--metric", "inaccuracy@0", "--frequent", "15", "--json"))
    assert done.document["measures"]["inaccuracy@0/published"] == 2
    options = ["--min-ratio", "1", "--min-information", "0", "--min-together", "1", "--most-queries", "10"]
    done = command(*arguments(folder, sessions, "--metric", "query-substitution@3", *options, "--json"))
    assert done.document["measures"]["query-substitution@3/released"] == 0


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
        (["full", "--metric", "coverage", "--top", f"{10**20}"], 2, "from 1 to 1e+12"),
        (["full", "--metric", f"coverage@{10**20}"], 2, "from 1 to 1e+12"),
        (["plain", "--metric", "index-caching"], 3, "there is no table of keywords in"),
        (["plain", "--metric", "inaccuracy"], 3, "name a number of users with --frequent"),
        (
            ["plain", "--metric", "coverage", "--df", "none"],
            2,
            "none of the chosen measures takes the option 'df'",
        ),
        (["plain", "--df", "no-such-file"], 3, "cannot be read (FileNotFoundError)"),
        (["plain", "--memory", "much"], 2, "the memory is not a size"),
        (["plain", "--metric", "precision"], 2, "did you mean precision-l1 or precision-kl"),
        (["foreign"], 3, "is a release of another log"),
        (["none"], 3, "is not a release"),
        ([], 2, "RELEASE"),
    ],
)
def test_errors(folder: Path, rest: list[str], code: int, message: str) -> None:
    named = [str(folder / one) if one in {"full", "plain", "foreign", "none"} else one for one in rest]
    done = command(*arguments(folder, *named))
    assert done.code == code and message in done.err and done.out == ""
    assert sum(not line.startswith("Warning: ") for line in done.err.splitlines()) == 1
    under_json = command(*arguments(folder, *named, "--json"))
    assert under_json.code == code and json.loads(under_json.err.splitlines()[-1])["error"]["message"]
