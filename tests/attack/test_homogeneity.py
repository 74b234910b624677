"""The homogeneity attack: confidences by hand, what each method promises of a query, and wrong input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.attack.homogeneity import with_all
from tests.command import command
from tests.conftest import many


def users(**queries: Any) -> qv.SearchLog:
    """So many users of each query; all of a query's are different from all of another's."""
    parts = [many(number, [query.replace("_", " ")], prefix=query) for query, number in queries.items()]
    return qv.read(pa.concat_tables(parts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("releases")
    log = users(insolvency_lawyer=3, headache=5, divorce=2, secret_one=1, weather=30)
    qv.publish(log, qv.KQuery(k=3), out=out / "queries")
    qv.publish(log, qv.KKeyword(k=3), out=out / "keywords")
    qv.publish(log, qv.KSession(k=3), out=out / "sessions")
    qv.publish(log, qv.Clump(k=3), out=out / "concepts")
    qv.publish(
        log,
        qv.Zealous(epsilon=20, delta=0.1, max_items=1, guarantee="probabilistic"),
        out=out / "zealous",
        i_understand=True,
    )
    qv.publish(log, qv.TokenHash(), out=out / "hashed", i_understand=True)
    (out / "population.csv").write_text(
        "query,n,known\nInsolvency Lawyer,4,1\nheadache,10,\ndivorce,4,2\nsecret one,9,0\n", encoding="utf-8"
    )
    return out


def found(release: Path, query: str, size: int, known: int = 0) -> dict[str, Any]:
    return qv.HomogeneityAttack(query=query, size=size, known=known).run(qv.load(release)).as_dict()


# -- confidences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "size", "known", "confidence", "control"),
    [
        ("insolvency lawyer", 4, 0, 0.75, 0.0),
        ("insolvency lawyer", 4, 1, 0.75, 0.25),
        ("insolvency lawyer", 4, 4, 1.0, 1.0),
        ("insolvency lawyer", 3, 0, 1.0, 0.0),
        ("  INSOLVENCY lawyer ", 1000, 0, 0.003, 0.0),
        ("headache", 10, 0, 0.3, 0.0),
    ],
)
def test_confidence_by_hand(
    folder: Path, query: str, size: int, known: int, confidence: float, control: float
) -> None:
    one = found(folder / "queries", query, size, known)
    assert (one["success"], one["control"]) == (pytest.approx(confidence), pytest.approx(control))
    assert (
        one["advantage"] == pytest.approx(confidence - control) and one["interval"] == [one["advantage"]] * 2
    )
    assert one["k"] == 3 and one["certain"] == (confidence == 1)


def test_a_query_that_is_not_in_the_release_is_not_learnt(folder: Path) -> None:
    one = found(folder / "queries", "divorce", 4, 2)
    assert (one["success"], one["control"], one["published"]) == (0.0, 0.0, 0)
    assert one["not_published"] == {"queries": 1, "confidence": 0.5}, "what was known anyway"


def test_a_population_smaller_than_the_crowd_is_pointed_out(folder: Path) -> None:
    made = qv.HomogeneityAttack(query="weather", size=2).run(qv.load(folder / "queries"))
    assert made.success == 1.0 and made.figures["smaller_than_crowd"] == 1
    assert "smaller than the crowd" in dict(made.words)["Check"]


def test_a_file_of_populations(folder: Path) -> None:
    made = qv.HomogeneityAttack().run(qv.load(folder / "queries"), folder / "population.csv")
    assert made.figures["confidence"] == [0.75, 0.3, 0.5, 0.0]
    assert (made.figures["queries"], made.figures["published"]) == (4, 2)
    assert (made.success, made.control) == (pytest.approx((0.75 + 0.3) / 2), pytest.approx((0.25 + 0) / 2))
    json.dumps(made.as_dict(), allow_nan=False)


# -- what a method promises of a query -----------------------------------------------------------------------


def test_a_keyword_has_its_exact_number_of_users(folder: Path) -> None:
    assert found(folder / "keywords", "headache", 10)["success"] == 0.5, "5 of 10, not k = 3"
    assert found(folder / "keywords", "insolvency", 10)["success"] == 0.3
    assert found(folder / "keywords", "insolvency lawyer", 10)["published"] == 0, "two words are not one row"
    assert found(folder / "keywords", "divorce", 10)["published"] == 0, "folded into a prefix, if at all"


def test_a_keyword_of_a_session_is_that_of_a_majority_alone() -> None:
    """Three rows of a release say 'flu', and two users searched for it: k of n would be too sure."""
    table = pa.concat_tables([many(2, ["flu"], prefix="ill"), many(1, ["maps"], prefix="well")])
    release = qv.publish(qv.read(table), qv.KSession(k=3))
    assert release.tables["transactions"]["items"].to_pylist() == [["flu"]] * 3
    assert qv.HomogeneityAttack(query="flu", size=4).run(release).success == 2 / 4
    assert qv.HomogeneityAttack(query="maps", size=4).run(release).figures["published"] == 0


@pytest.mark.parametrize(("k", "words"), [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3)])
def test_so_many_have_all_keywords_at_least(k: int, words: int) -> None:
    """Against all ways in which majorities of k to 2k - 1 people can vote."""
    least = min(
        len(set.intersection(*map(set, votes)))
        for people in range(k, 2 * k)
        for votes in itertools.product(itertools.combinations(range(people), people // 2 + 1), repeat=words)
    )
    assert with_all(words, k) == least


def test_sessions_and_concepts(folder: Path) -> None:
    assert found(folder / "sessions", "headache", 10)["success"] == 0.2, "a majority of three"
    assert found(folder / "sessions", "insolvency lawyer", 10)["success"] == 0.1
    labels = {
        label
        for row in qv.load(folder / "concepts").tables["transactions"]["items"].to_pylist()
        for label in row
    }
    assert found(folder / "concepts", min(labels), 10)["success"] == 0.3
    assert found(folder / "concepts", "no such concept", 10)["published"] == 0


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no columns 'query' and 'n'"),
        ("insolvency lawyer,4\n", "no columns 'query' and 'n'"),
        ("query,size\ndivorce,4\n", "no columns 'query' and 'n'"),
        ("query,n\n", "has no rows"),
        *(
            (f"query,n\ndivorce,{wrong}\n", "line 2")
            for wrong in ("0", "-1", "1.5", "nan", "", "9" * 13, "\u0664")
        ),
        ("query,n,known\nweather,9,1\ndivorce,4,5\n", "line 3"),
        ("query,n\n,4\n", "line 2"),
        ("query,n\ndivorce\n", "line 2"),
        ("query\tn\n" + "x" * 200_000 + "\t3\n", "cannot be read"),
    ],
)
def test_wrong_populations(content: str, words: str, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "population.txt"
    file.write_text(content, encoding="utf-8")
    done = command("attack", "homogeneity", str(folder / "queries"), "--population", str(file))
    assert done.code == 3 and done.out == "" and words in done.err
    assert "divorce" not in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("queries", 2, "could have made the query"),
        ("queries --query weather", 2, "pass --query and --size"),
        ("queries --size 4", 2, "pass --query and --size"),
        ("queries --query weather --size 4 --population population.csv", 2, "and not both"),
        ("queries --population population.csv --known 2", 2, "--known is for a single query"),
        ("queries --query weather --size 4 --known 5", 2, "--known is larger than --size"),
        ("queries --query weather --size 0", 2, "'size' must be an int >= 1"),
        ("zealous --query weather --size 4", 3, "this release of zealous promises none"),
        ("hashed --query weather --size 4", 3, "this release of token-hash promises none"),
        ("missing --query weather --size 4", 3, "is not a release"),
        ("queries --population missing.csv", 3, "cannot be read (FileNotFoundError)"),
    ],
)
def test_wrong_commands(
    arguments: str, code: int, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = command("attack", "homogeneity", *arguments.split())
    assert done.code == code and done.out == "" and words in done.err


def test_a_binary_file_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(bytes(range(256)))
    with pytest.raises(qv.InputError, match="cannot be read"):
        qv.HomogeneityAttack().run(qv.load(folder / "queries"), tmp_path / "file.bin")


def test_a_release_that_lacks_its_table_is_refused(folder: Path) -> None:
    release = qv.load(folder / "queries")
    del release.tables["log"]
    with pytest.raises(qv.InputError, match="lacks a table"):
        qv.HomogeneityAttack(query="weather", size=4).run(release)


# -- command -------------------------------------------------------------------------------------------------


def test_queries_are_shown_only_if_asked_for(folder: Path) -> None:
    given = ["attack", "homogeneity", str(folder / "queries"), "--population", str(folder / "population.csv")]
    for more in ([], ["--json"]):
        done = command(*given, *more)
        assert done.code == 0 and "lawyer" not in done.out.lower() and "headache" not in done.out
    shown = command(*given, "--show-examples")
    assert "Insolvency Lawyer: at least 3 of 4 people, 75.0 % sure" in shown.out
    assert "secret" not in shown.out, "it is not in the release"
    assert command(*given, "--show-examples", "--json").document["examples"]
