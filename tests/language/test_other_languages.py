"""Logs in languages that the word lists are not of: what is not looked for is not said to be missing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.language import spotting
from tests.command import command
from tests.conftest import at

ENGLISH = (
    "karen walsh houston tx",
    "cheap flights to florida",
    "weather tomorrow",
    "back pain what to do",
    "divorce lawyer near me",
    "used bicycle for sale",
)
GERMAN = (
    "wetter münchen morgen",
    "günstige flüge nach mallorca",
    "rückenschmerzen was tun",
    "scheidung anwalt köln",
    "arzt in der nähe",
    "steuererklärung online",
    "jürgen müller stuttgart",
    "wohnung mieten leipzig",
    "gebrauchtes fahrrad kaufen",
    "juergen@example.de",
)
CHINESE = ("北京 天气", "便宜 机票", "王伟 上海", "离婚 律师", "淘宝", "糖尿病症状")
ARABIC = ("الطقس غدا", "رحلات رخيصة", "محمد علي القاهرة", "محامي طلاق", "أعراض السكري")
OTHERS = {"german": GERMAN, "chinese": CHINESE, "arabic": ARABIC}


def rows(queries: tuple[str, ...], users: int = 3) -> pa.Table:
    made = [(f"u{user}", at(minute), query) for user in range(users) for minute, query in enumerate(queries)]
    user, time, query = zip(*made, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query)})


def saved(queries: tuple[str, ...], folder: Path) -> str:
    pq.write_table(rows(queries), folder / "log.parquet")
    return str(folder / "log.parquet")


@pytest.mark.parametrize("language", OTHERS)
def test_names_are_not_looked_for_in_other_languages(language: str, tmp_path: Path) -> None:
    found = qv.inspect(qv.read(rows(OTHERS[language]))).exposure
    assert found is not None and found["words_known"] < spotting.LEAST_KNOWN
    assert found["looked_for"] == ["identifier"]
    assert {kind: share for kind, share in found["shares"].items() if share is not None} == {
        "identifier": 0.1 if language == "german" else 0.0
    }
    path = saved(OTHERS[language], tmp_path)
    said = " ".join(command("inspect", path).out.split())
    assert "were not looked for" in said and "name a person" not in said
    assert f"{100 * found['words_known']:.0f} % of the log's words are known" in said and "Below 50 %" in said
    assert "have a mail address or number" in said


def test_names_are_looked_for_in_english(tmp_path: Path) -> None:
    found = qv.inspect(qv.read(rows(ENGLISH))).exposure
    assert found is not None and found["words_known"] > 0.8 and found["shares"]["person"] == round(1 / 6, 6)
    assert len(found["looked_for"]) == len(found["shares"]) == 6
    assert "name a person" in " ".join(command("inspect", saved(ENGLISH, tmp_path)).out.split())


def test_the_usual_logs_are_english(generated: Path) -> None:
    found = qv.inspect(qv.read(generated)).exposure
    assert found is not None and found["words_known"] > 0.6 and found["shares"]["person"] > 0


def test_a_log_without_words_hides_no_names() -> None:
    found = qv.inspect(qv.read(rows(("4711", "0815 1234")))).exposure
    assert found is not None and found["words_known"] is None and found["shares"]["person"] == 0.0


@pytest.mark.parametrize("language", OTHERS)
def test_exposure_says_that_it_cannot_read(language: str, tmp_path: Path) -> None:
    path = saved(OTHERS[language], tmp_path)
    done = command("attack", "exposure", path)
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "Language Too few words are English words" in said and "% of log." in said
    assert "there may be many more" in said
    (one,) = command("attack", "exposure", path, "--json").document["subjects"]
    assert one["readable"] is False and one["words_known"] < spotting.LEAST_KNOWN


def test_exposure_of_english_has_no_such_warning() -> None:
    result = qv.ExposureAttack().run([qv.read(rows(ENGLISH))])
    assert not any(label == "Language" for label, _ in result.words)
    assert json.loads(json.dumps(result.as_dict()))["subjects"][0]["readable"] is True


def test_profiles_of_another_language_are_not_advised_on(tmp_path: Path) -> None:
    done = command("advise", saved(CHINESE, tmp_path), "--purpose", "profiling")
    assert done.code == 5 and "publish semantic" in done.err and "--taxonomy" in done.err


def test_wordnet_is_not_proposed_in_the_place_of_wordnet(tmp_path: Path) -> None:
    path = saved(CHINESE, tmp_path)
    given = ["publish", path, "--method", "clump", "--k", "2", "--out", str(tmp_path / "out")]
    done = command(*given)
    assert done.code == 5 and "--taxonomy" in done.err and "WordNet" not in done.err
    (tmp_path / "own.tsv").write_text("apple\tfruit\n")
    done = command(*given, "--taxonomy", str(tmp_path / "own.tsv"))
    assert done.code == 5 and "--taxonomy" in done.err and "WordNet" in done.err
