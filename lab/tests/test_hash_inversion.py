"""The attack on hashed logs: what it reports, where its control stands, and input that is not what it should be."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
import queryveil_lab as lab
from lab.tests.inversion import worlds
from tests.command import command
from tests.conftest import at

SIZE: dict[str, int] = {"words": 90, "pool": 400, "number": 20_000}


def table(queries: list[list[str]], prefix: str = "u") -> pa.Table:
    return pa.table(
        {
            "user": [f"{prefix}{number % 500}" for number in range(len(queries))],
            "time": [at(number) for number in range(len(queries))],
            "query": [" ".join(query) for query in queries],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A raw log, a release of another one of the same world with its map, and things that do not fit."""
    out = tmp_path_factory.mktemp("hashed")
    pq.write_table(table(worlds.queries(1, users=1, **SIZE)), out / "raw.parquet")
    other = qv.read(table(worlds.queries(1, users=2, **SIZE)))
    qv.publish(other, qv.TokenHash(), out=out / "release", i_understand=True)
    pq.write_table(table(worlds.queries(1, users=2, **SIZE)), out / "unhashed.parquet")
    words = pq.read_table(out / "release.private" / "token-map.parquet")
    pq.write_table(words, out / "map.parquet")
    lines = ["hash\ttoken", *(f"{one['hash'].upper()}\t{one['token']}" for one in words.to_pylist())]
    (out / "map.tsv").write_text("\n".join(lines) + "\n")
    # The same hashed log as rows of users, as another tool might have made it.
    known = {one["token"]: one["hash"] for one in words.to_pylist()}
    hashed = [[known[word].upper() for word in query] for query in worlds.queries(1, users=2, **SIZE)]
    pq.write_table(table(hashed), out / "hashed.parquet")
    foreign = [[f"z{word}" for word in query] for query in worlds.queries(1, users=3, **SIZE)]
    pq.write_table(table(foreign), out / "foreign.parquet")
    pq.write_table(table([["one"]] * 3), out / "short.parquet")
    pq.write_table(pa.table({"hash": ["ab"], "word": ["x"]}), out / "wrong.parquet")
    (out / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    return out


def attack(folder: Path, *more: str, target: str = "release", truth: str = "map.parquet") -> list[str]:
    paths = ("--reference", str(folder / "raw.parquet"), "--target", str(folder / target))
    return ["attack", "hash-inversion", *paths, "--truth", str(folder / truth), *more]


def test_it_finds_words_that_its_control_does_not(folder: Path) -> None:
    done = command(*attack(folder, "-n", "60", "--expand-to", "80", "--json"))
    assert done.code == 0 and done.err == ""
    found = done.document
    assert {"accuracy", "matchable", "iterations", "seconds", "success", "control", "interval"} <= set(found)
    assert found["accuracy"] == found["success"] == found["correct"] / found["matchable"] > 0.9
    assert found["control"] < 0.3 and found["interval"][0] > 0.4
    assert [one["n"] for one in found["stages"]] == [60, 80]
    assert all(one["ceiling"] > 0.9 for one in found["stages"])
    assert sum(one["matchable"] for one in found["bands"]) == found["matchable"] == found["trials"]
    assert found["by_iteration"][0]["changed"] is None
    assert found["by_iteration"][-1]["accuracy"] > found["by_iteration"][0]["accuracy"]
    assert len(found["by_iteration"]) == found["iterations"] + 1


def test_n_has_a_short_and_a_long_form(folder: Path) -> None:
    found = [command(*attack(folder, flag, "40", "--json")).document["correct"] for flag in ("-n", "--n")]
    assert found[0] == found[1]


@pytest.mark.parametrize("target", ["release/log.parquet", "hashed.parquet"])
@pytest.mark.parametrize("truth", ["map.parquet", "map.tsv"])
def test_targets_and_maps_come_in_several_forms(folder: Path, target: str, truth: str) -> None:
    whole = command(*attack(folder, "-n", "40", "--json")).document
    found = command(*attack(folder, "-n", "40", "--json", target=target, truth=truth)).document
    assert found["matchable"] == whole["matchable"] and abs(found["correct"] - whole["correct"]) <= 2


def test_no_word_is_printed_unless_asked_for(folder: Path) -> None:
    done = command(*attack(folder, "-n", "40"))
    assert done.code == 0 and "Hashing words protects nobody" in " ".join(done.out.split())
    words = {word for query in worlds.queries(1, users=1, **SIZE) for word in query}
    hashes = set(pq.read_table(folder / "map.parquet")["hash"].to_pylist())
    assert not (words | hashes) & set(done.out.split())
    asked = command(*attack(folder, "-n", "40", "--show-examples", "5"))
    assert asked.out.count("is taken for") == 5 and words & set(asked.out.split())
    in_json = command(*attack(folder, "-n", "40", "--show-examples", "5", "--json")).document
    assert len(in_json["examples"]) == 5


@pytest.mark.parametrize("name", ["taken.parquet", "taken.tsv"])
def test_what_hashes_are_taken_for_can_be_written_for_the_curator(
    folder: Path, name: str, tmp_path: Path
) -> None:
    out = tmp_path / name
    assert command(*attack(folder, "-n", "40", "--out", str(out))).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    if name.endswith("parquet"):
        rows = [(one["hash"], one["token"]) for one in pq.read_table(out).to_pylist()]
    else:
        head, *lines = out.read_text().splitlines()
        assert head == "hash\ttoken"
        rows = [(one, token) for one, token in (line.split("\t") for line in lines)]
    assert len(rows) == 40
    again = command(*attack(folder, "-n", "40", "--out", str(out)))
    assert again.code == 2 and "exists already" in again.err
    missing = command(*attack(folder, "-n", "40", "--out", str(out / name)))
    assert missing.code == 6 and "cannot be written" in missing.err
    odd = command(*attack(folder, "-n", "40", "--out", str(tmp_path / "map.txt")))
    assert odd.code == 2 and "neither .parquet nor .tsv" in odd.err
    inside = command(*attack(folder, "-n", "40", "--out", str(folder / "release" / name)))
    assert inside.code == 2 and "a published folder is never changed" in inside.err


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"target": "unhashed.parquet"}, 3, "the target is not hashed"),
        ({"reference": "release/log.parquet", "target": "raw.parquet"}, 3, ""),
        ({"reference": "hashed.parquet", "target": "raw.parquet"}, 3, "they are swapped; swap --reference"),
        ({"reference": "hashed.parquet"}, 3, "the reference is made of hashes; give a raw log"),
        ({"reference": "foreign.parquet"}, 5, "so none of them can be found"),
        ({"n": "5000"}, 2, "different hashes"),
        ({"n": "1"}, 2, "'n' must be an int >= 2"),
        ({"reference": "short.parquet"}, 5, "the reference has fewer than two different words"),
        ({"truth": "wrong.parquet"}, 3, "has no column 'token'"),
        ({"truth": "broken.parquet"}, 3, "cannot be read"),
        ({"truth": "missing.parquet"}, 3, "cannot be read"),
        ({"target": "missing.parquet"}, 3, "missing.parquet"),
        ({"target": "broken.parquet"}, 3, "broken.parquet"),
    ],
)
def test_wrong_input(changes: dict[str, str], code: int, words: str, folder: Path) -> None:
    given = {"reference": "raw.parquet", "target": "release", "truth": "map.parquet", **changes}
    n = given.pop("n", "40")
    paths = [part for name, file in given.items() for part in (f"--{name}", str(folder / file))]
    done = command("attack", "hash-inversion", *paths, "-n", n)
    assert done.code == code and done.out == "" and words in done.err
    assert done.err.count("\n") == 1 and "Traceback" not in done.err


def test_a_release_of_another_method_is_refused(folder: Path) -> None:
    log = qv.read(folder / "raw.parquet")
    release = qv.publish(log, qv.KQuery(k=2))
    with pytest.raises(qv.InputError, match="the target is not hashed"):
        lab.HashInversionAttack().run(log, release, {"ab": "x"})


def test_in_python_the_truth_may_be_a_mapping(folder: Path) -> None:
    words = {one["hash"]: one["token"] for one in pq.read_table(folder / "map.parquet").to_pylist()}
    found = lab.HashInversionAttack(n=40).run(
        qv.read(folder / "raw.parquet"), qv.load(folder / "release"), words
    )
    assert found.success > 0.9 and json.dumps(found.as_dict(), allow_nan=False)


def test_rows_of_a_log_without_times_are_counted() -> None:
    raw, other = (worlds.queries(4, users=users, **SIZE) for users in (1, 2))
    ours, theirs = (
        qv.read(table(one).drop(["time"]))
        for one in (raw, [[worlds.hashed(word) for word in query] for query in other])
    )
    truth = {worlds.hashed(word): word for query in other for word in query}
    assert lab.HashInversionAttack(n=40).run(ours, theirs, truth).success > 0.8


def test_a_release_for_a_raw_log_is_told(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "manifest.json").write_text('{"format": "queryveil-release"}')
    done = command(
        "attack", "hash-inversion", "--reference", str(tmp_path / "release"), "--target", "b", "--truth", "c"
    )
    assert done.code == 3 and "is a release, and a raw log is needed" in done.err and "swapped" in done.err


def test_words_that_were_given_are_not_found(folder: Path) -> None:
    """Success, control, halves, tenths and updates are of hashes whose words were not given."""
    heap = ("-n", "60", "--update", "heap", "--json")
    without, given = (command(*attack(folder, *heap, *more)).document for more in ((), ("--bootstrap", "30")))
    assert without["given"] == 0 and given["given"] + given["matchable"] == without["matchable"]
    assert given["trials"] == given["matchable"] == sum(one["matchable"] for one in given["bands"])
    assert [given["bands"][0]["first"], given["bands"][-1]["last"]] == [31, 60]
    stage = given["stages"][0]
    assert stage["matchable"] == given["matchable"] and stage["accuracy"] == given["accuracy"]
    assert stage["top_half"] is None and stage["bottom_half"] == given["accuracy"]
    assert {one["matchable"] for one in given["by_iteration"]} == {given["matchable"]}
    # Nothing of the given half is in the control: it finds no more than frequencies tell, as without anything given.
    assert given["control_is"]["matchable"] == given["matchable"] and given["control"] < 0.3
    assert (
        "The words of" in given["words"]["Found"] and "not counting given ones" in given["words"]["Control"]
    )
    examples = command(*attack(folder, *heap, "--bootstrap", "30", "--show-examples", "60")).document
    assert len(examples["examples"]) == 30


def test_an_inversion_that_learns_nothing_finds_nothing_of_the_rest(folder: Path) -> None:
    """Without any update nodestart's pairs are judged, whatever was given: the score does not rise with the gift."""
    none = ("-n", "60", "--update", "heap", "--iterations", "0", "--json")
    found = [
        command(*attack(folder, *none, "--bootstrap", str(given))).document["accuracy"] for given in (30, 55)
    ]
    plain = command(*attack(folder, *none)).document
    assert max(found) <= max(one["accuracy"] or 0.0 for one in plain["bands"])


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (
            "60",
            2,
            "the words of all 60 hashes are given by --bootstrap 60, and nothing is left to be found; pass a",
        ),
        ("500", 2, "the words of all 60 hashes are given"),
    ],
)
def test_where_everything_is_given_nothing_can_be_found(
    given: str, code: int, words: str, folder: Path
) -> None:
    done = command(*attack(folder, "-n", "60", "--update", "heap", "--bootstrap", given))
    assert done.code == code and done.out == "" and words in done.err and done.err.count("\n") == 1


def test_where_every_word_of_the_reference_is_given_nothing_can_be_found(folder: Path) -> None:
    """The true map knows the ten most frequent hashes alone."""
    log, release = qv.read(folder / "raw.parquet"), qv.load(folder / "release")
    frequent = lab.TokenCounts.of(release).tokens.to_pylist()[:10]
    words = {one["hash"]: one["token"] for one in pq.read_table(folder / "map.parquet").to_pylist()}
    few = {one: words[one] for one in frequent}
    with pytest.raises(qv.CannotBeMet, match="gives every word that could be found"):
        lab.HashInversionAttack(n=60, update="heap", bootstrap=20).run(log, release, few)


def test_what_is_said_of_frequencies_follows_from_the_figures(folder: Path) -> None:
    """Against a reference of frequencies alone the attack is its own control."""
    said = command(*attack(folder, "-n", "60", "--json")).document["words"]
    assert "frequencies alone give away little" in said["Control"] and "protects nobody" in said["Means"]
    shuffled = qv.read(table([[word] for query in worlds.queries(1, users=1, **SIZE) for word in query]))
    words = {one["hash"]: one["token"] for one in pq.read_table(folder / "map.parquet").to_pylist()}
    found = lab.HashInversionAttack(n=60).run(shuffled, qv.load(folder / "release"), words)
    assert found.interval[0] <= 0, "there is no company in queries of one word"
    said = dict(found.words)
    assert (
        "frequencies alone seem to give away as much" in said["Control"] and "little" not in said["Control"]
    )
    assert "did not give the words away" in said["Means"]


def test_what_is_right_with_all_others_known_is_not_called_a_ceiling(folder: Path) -> None:
    done = command(*attack(folder, "-n", "60"))
    assert "others known" in done.out and "could be found   seconds" not in done.out
    assert "Ceiling" not in done.out and "can find more" in " ".join(done.out.split())
