"""advise(): the known best setting is found, weaker promises are never recommended, and the cost is said."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.advice import Option
from queryveil.show.cli.options import reading_words
from tests.command import command
from tests.conftest import at, many

SHARED = ["news", "maps", "rain today", "cats", "train", "disease"]
EASY: dict[str, Any] = {"epsilon": 20.0, "delta": 9e-4}


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    """600 users; everyone asks for the same six things and then for one of their own, and clicks."""
    rows = [
        (f"u{user}", at(minute), query, f"https://{query.split()[0]}.example/")
        for user in range(600)
        for minute, query in enumerate([*SHARED, f"own {user}"])
    ]
    names = ("user", "time", "query", "url")
    return qv.read(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))))


@pytest.fixture(scope="module")
def file(log: qv.SearchLog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("advice") / "log.parquet"
    pq.write_table(log.engine.arrow(log.source), path)
    return path


def taken(*options: Option) -> None:
    """A shell and the command line take the commands of these options, and make the mechanism of it that was tried.

    Options that differ in a number alone count as one.
    """
    path = "a log's  copy.parquet"
    for option in {(one.method, one.varied): one for one in options}.values():
        name, *words = shlex.split(option.command(path))
        assert (name, *words[:3]) == ("queryveil", "publish", option.method, path)
        assert words[-2:] == ["--out", "DIR"]
        reached = qv.UsageError("as far as here", "")
        with (
            mock.patch.object(qv, "read") as read,
            mock.patch.object(qv, "publish", side_effect=reached) as publish,
        ):
            done = command(*words)
        assert "as far as here" in done.err, done.err
        assert read.call_args.args == ([path],) and publish.call_args.args[1] == option.mechanism


@pytest.mark.parametrize("purpose", [name for name in qv.PURPOSES if name != "profiling"])
def test_every_purpose_recommends_what_can_be_published(
    log: qv.SearchLog, purpose: str, tmp_path: Path
) -> None:
    advice = qv.advise(log, purpose, **EASY)
    best = advice.best
    assert best is not None and best in advice.options
    taken(*advice.options)
    mechanism = best.mechanism
    if isinstance(mechanism, qv.ClickGraph):
        lists = tmp_path / "lists.tsv"
        lists.write_text("query\turl\nnews\thttps://news.example/\n")
        mechanism = dataclasses.replace(mechanism, results=str(lists))
    release = qv.publish(log, mechanism, allow_empty=True, i_understand=True)
    assert release.plan.method == best.method
    # What is accepted is for everything that is published.
    assert (release.guarantee.epsilon or 0) <= EASY["epsilon"] and (release.guarantee.delta or 0) <= EASY[
        "delta"
    ]
    said = json.loads(json.dumps(advice.as_dict(), allow_nan=False))
    assert said["recommended"]["method"] == best.method and len(said["options"]) == len(advice.options)
    assert set(said["figures"]) >= set(said["options"][0]["figures"])


def test_with_all_users_alike_the_figures_are_known(log: qv.SearchLog) -> None:
    """So little noise that nothing is left to chance: six queries of everybody, and 600 of one user each."""
    advice = qv.advise(log, "coverage", top=6, epsilon=2000.0, delta=9e-4)
    figures = {option.varied_value: option.figures for option in advice.options}
    assert figures[8]["published"] == 6 and figures[8]["coverage"] == 1.0
    assert figures[8]["kl"] == pytest.approx(0.0, abs=1e-6)
    # One item of seven at random: each is kept by about 86 of 600 users, and still published.
    assert figures[1]["published"] == 6 and figures[1]["kl"] > figures[8]["kl"]


def test_a_sample_is_scaled_up(log: qv.SearchLog) -> None:
    advice = qv.advise(log, "coverage", top=6, epsilon=2000.0, delta=9e-4, most_users=300)
    assert 0.3 < advice.share < 0.7 and advice.users == round(600 * advice.share)
    figures = {option.varied_value: option.figures for option in advice.options}
    assert figures[8]["coverage"] == 1.0


def test_a_delta_that_publish_refuses_is_not_advised(log: qv.SearchLog) -> None:
    with pytest.raises(qv.UsageError, match=r"delta 0.001 is too large.*600 users"):
        qv.advise(log, "coverage", epsilon=1.0, delta=1e-3)


def test_nothing_is_recommended_where_nothing_would_be_published(log: qv.SearchLog) -> None:
    # As in test_the_command, noise alone publishes something with probability 3e-9.
    advice = qv.advise(log, "coverage", epsilon=0.001, delta=1e-12)
    assert advice.best is None and advice.as_dict()["recommended"] is None


def test_weaker_promises_are_shown_and_not_recommended(log: qv.SearchLog) -> None:
    advice = qv.advise(log, "profiling", epsilon=1.0, most_users=100)
    weaker = [option for option in advice.options if option.weaker]
    assert {option.label for option in weaker} == {
        "max-phrases 20, not padded",
        "epsilon-per query",
        "domain per-topic",
    }
    # Nothing that is recommended gives the numbers of a user's queries away.
    plans = [option.mechanism.plan() for option in advice.options if not option.weaker]
    assert plans and all(plan.guarantee.neighbours == "replace-one-user" for plan in plans)
    taken(*advice.options)
    assert any(" " in word for option in weaker for word in shlex.split(option.command()))
    per_topic = next(option for option in weaker if option.varied_value == "per-topic")
    assert per_topic.figures["loss"] == 0.0, "profiles over disclosed topics stay as they are"
    assert advice.best is not None and not advice.best.weaker
    # A setting that is best by far and promises less is still not recommended.
    only = dataclasses.replace(advice, options=tuple(weaker))
    assert only.best is None and only.remarks == ()


def recommending(advice: qv.Advice, **scores: Any) -> qv.Advice:
    """The same options with these scores, by what varies in them; all others have none."""
    options = [
        option.with_figures(
            dict(option.figures) | {advice.purpose.score: scores.get(f"at_{option.varied_value}")}
        )
        for option in advice.options
    ]
    return dataclasses.replace(advice, options=tuple(options))


def test_a_profile_of_which_little_is_left_is_warned_of(log: qv.SearchLog) -> None:
    advice = qv.advise(log, "profiling", epsilon=1.0, most_users=100)
    assert recommending(advice, at_5=0.49).remarks == ()
    (said,) = recommending(advice, at_5=0.88).remarks
    assert "A loss of 0.88 out of 1 leaves little" in said


def test_where_a_rule_leads_elsewhere_it_is_said(log: qv.SearchLog) -> None:
    """The log has seven queries for each user, so that the rule for precision is 6 or 8 of those tried."""
    advice = qv.advise(log, "precision", **EASY)
    _, said = recommending(advice, at_1=0.5, at_6=0.75, at_8=0.75).remarks
    assert "where kl is 0.75; at 1 it is 0.5" in said and "how many users" in said
    either = (recommending(advice, at_6=0.1).remarks, recommending(advice, at_8=0.1).remarks)
    assert min(map(len, either)) == 1
    _, said = recommending(advice, at_1=0.5).remarks
    assert "unknown" in said
    advice = qv.advise(log, "coverage", **EASY)
    _, said = recommending(advice, at_1=0.25, at_4=0.5).remarks
    assert "leads to max-items 1, where coverage is 0.25; at 4 it is 0.5." in said and "how many" not in said
    (guess,) = recommending(advice, at_1=0.5, at_4=0.25).remarks
    assert "default" in guess and "stated" not in guess
    stated = qv.advise(log, "coverage", items_per_user=12, **EASY)
    guess = recommending(stated, at_1=0.5, at_4=0.25).remarks[0]
    assert "12" in guess and "default" not in guess


def test_what_a_purpose_needs_is_in_its_command(log: qv.SearchLog) -> None:
    for purpose, parts in (("keywords", 2), ("research", 3)):
        advice = qv.advise(log, purpose, **EASY)
        for option in advice.options:
            words = shlex.split(option.command())
            for flag in ("--epsilon-clicks", "--results"):
                assert flag in words
            assert ("--epsilon-reformulations" in words) == (purpose == "research")
            made = option.mechanism
            assert isinstance(made, qv.ClickGraph) and made.epsilon == made.epsilon_clicks
            assert made.epsilon == pytest.approx(20 / parts, rel=2e-3) and parts * made.epsilon <= 20
        assert "RESULTS is a file of public result lists" in advice.remarks[0]


def test_the_share_of_searches_does_not_use_published_counts() -> None:
    """400 users search for the same thing five times: with one query per user, it is published with a count of 400."""
    rows = [(f"u{user}", dt.datetime(2026, 1, day), "news") for user in range(400) for day in range(1, 6)]
    users, times, queries = zip(*rows, strict=True)
    made = qv.read(pa.table({"user": list(users), "time": list(times), "query": list(queries)}))
    options = {option.varied_value: option for option in qv.advise(made, "research", **EASY).options}
    assert options[1].figures["searches"] == options[5].figures["searches"] == 1.0


def test_a_log_without_clicks_will_do_for_research(log: qv.SearchLog) -> None:
    rows = log.engine.arrow(log.source).select(["user", "time", "query"])
    advice = qv.advise(qv.read(rows), "research", **EASY)
    for option in advice.options:
        words = shlex.split(option.command())
        assert "--epsilon-reformulations" in words and not {"--epsilon-clicks", "--results"} & set(words)
    assert "have half each. The log has no clicks." in advice.remarks[0]


def test_a_handful_of_users_advises_nothing() -> None:
    few, more = (qv.advise(qv.read(many(n, ["news", "maps"])), "coverage", **EASY) for n in (1, 200))
    assert "The pilot has only 1 user, so each user makes up more than 2 %" in few.remarks[0]
    assert not any("The pilot has only" in one for one in more.remarks)


def test_a_release_of_nothing_has_no_divergence(file: Path) -> None:
    """As above, noise publishes something with probability 3e-9."""
    little = ("--epsilon", "0.001", "--delta", "1e-12")
    done = command("advise", str(file), "--purpose", "precision", *little)
    lines = [line.split() for line in done.out.splitlines() if line.startswith("  zealous")]
    assert done.code == 0 and lines and all(line[2:] == ["0", "0", "-"] for line in lines)


def test_a_command_keeps_every_digit() -> None:
    taken(
        Option(
            qv.Zealous(epsilon=math.log(10), delta=1 / 300, max_items=3, guarantee="probabilistic"),
            "max_items",
            {},
        )
    )


def test_a_printed_command_can_be_copied(tmp_path: Path, file: Path) -> None:
    """It is longer than a line, and the log's path has spaces: lines end in a backslash, and not within a word."""
    path = tmp_path / "a log's  copy.parquet"
    path.write_bytes(file.read_bytes())
    done = command("advise", str(path), "--purpose", "coverage", "--epsilon", "20", "--delta", "9e-4")
    assert done.code == 0
    printed = done.out[done.out.index("queryveil publish") : done.out.index("\n  Rule")]
    assert "\n" in printed
    script = f"printf '%s\\n' {printed}\n"
    taken = subprocess.run(["/bin/sh"], input=script, capture_output=True, text=True, check=True)
    words = taken.stdout.splitlines()
    method = done.out[done.out.index("  Advice") :].split()[1]
    assert words[:4] == ["queryveil", "publish", method, str(path)] and words[-2:] == ["--out", "DIR"]


READ = {
    "format": "tsv",
    "columns": {"user": 1, "time": 2, "query": 4},
    "time_format": "%y%m%d%H%M%S",
    "header": False,
    "delimiter": "\t",
    "max_rejected": 0.25,
    "engine": "duckdb",
    "session_gap_minutes": 45,
}


def test_a_printed_command_reads_the_log_as_it_was_read(tmp_path: Path) -> None:
    """Whatever was said of how to read it; a shell takes the words back, and publish reads the same."""
    path = tmp_path / "it's a log"
    rows = [
        f"u{user}\t9702{n + 10}120000\t-\t{query}" for user in range(300) for n, query in enumerate(SHARED)
    ]
    path.write_text("\n".join(rows) + "\n")
    given = ["--columns", "user=1,time=2,query=4", "--time-format", "%y%m%d%H%M%S", "--no-header"]
    given += ["--delimiter", "\t", "--max-rejected", "0.25", "--format", "tsv", "--session-gap-minutes", "45"]
    asked = ["advise", str(path), "--purpose", "coverage", "--epsilon", "20", "--delta", "9e-4", *given]
    done = command(*asked)
    assert done.code == 0, done.err
    printed = done.out[done.out.index("queryveil publish") : done.out.index("\n  Rule")].replace("\\\n", " ")
    out = tmp_path / "advice"
    document = command(*asked, "--json", "--out", str(out)).document
    kept = json.loads((out / "advice.json").read_text())
    for text in (printed, document["recommended"]["command"], kept["options"][0]["command"]):
        words = shlex.split(text)
        with mock.patch.object(qv, "read", side_effect=qv.UsageError("as far as here", "")) as read:
            assert "as far as here" in command(*words[1:]).err
        assert read.call_args.args == ([str(path)],)
        options = dict(read.call_args.kwargs)
        options["delimiter"] = qv.ReadOptions(delimiter=options["delimiter"]).delimiter
        assert {name: options[name] for name in READ} == READ


def test_what_was_not_said_is_not_printed_and_no_password_is() -> None:
    assert reading_words({}) == []
    assert reading_words({"engine": "spark", "header": True}) == ["--header", "--engine", "spark"]
    for url in ("postgres://me:secret@host/db", "trino://host/db?token=secret"):
        assert reading_words({"engine": url}) == ["--engine", "ENGINE"]


def test_too_few_to_be_of_use_are_not_recommended(tmp_path: Path) -> None:
    """100 users share four queries, all others have their own: whatever is published is fewer than five."""
    rows = many(100, ["news", "maps", "cats", "rain today"]).to_pylist()
    rows += [{"user": f"o{n}", "time": at(0), "query": f"own {n}"} for n in range(500)]
    table = pa.Table.from_pylist(rows)
    for purpose in ("coverage", "precision", "research"):
        # Noise alone publishes one of 500 queries, in 5 draws for each of 8 settings, with probability 2e-8 at most.
        advice = qv.advise(qv.read(table), purpose, epsilon=200.0, delta=1e-12)
        most = max(option.figures["published"] or 0 for option in advice.options)
        assert most == 4 and advice.best is None and not advice.useful
        said = advice.as_dict()
        assert said["useful"] is False and said["recommended"] is None
        assert "about 4 queries" in said["verdict"] and "fewer than 5" in said["verdict"]
        for way in ("More users", "larger epsilon", "keywords"):
            assert way in said["verdict"]
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "log.parquet")
    done = command("advise", str(tmp_path / "log.parquet"), "--purpose", "coverage", "--delta", "1e-9")
    assert done.code == 0 and "queryveil publish" not in done.out and "recommended" not in done.out
    assert "Nothing useful" in " ".join(done.out.split())


def test_what_is_recommended_publishes_enough(log: qv.SearchLog) -> None:
    """A setting with the best score and next to nothing in it is not the one."""
    advice = qv.advise(log, "precision", **EASY)
    assert advice.useful and "Nothing" not in advice.verdict
    lucky = dataclasses.replace(
        advice,
        options=tuple(
            option.with_figures(
                {
                    "published": 0.4 if option.varied_value == 40 else 6.0,
                    "kl": 1.0 if option.varied_value < 40 else 0.0,
                }
            )
            for option in advice.options
            if option.method == "zealous"
        ),
    )
    assert lucky.best is not None and lucky.best.varied_value == 1


def test_what_the_pilot_costs_is_said(log: qv.SearchLog) -> None:
    advice = qv.advise(log, "research", **EASY)
    assert advice.bits == pytest.approx(2.807, abs=1e-3)
    # Rounded up: it is an upper bound. People of an earlier log are people too, and often the same ones.
    for words in ("600 users", "100 %", "at most 2.9 bits each time", "no guarantee covers", "a public log"):
        assert words in advice.cost
    assert "an earlier log costs the people in that log just as much" in advice.cost
    for text in ("own 17", "rain today"):
        assert text not in json.dumps(advice.as_dict())


def test_the_folder_is_the_curators(log: qv.SearchLog, tmp_path: Path) -> None:
    advice = qv.advise(log, "coverage", **EASY)
    advice.save(tmp_path / "deep" / "out")
    out = tmp_path / "deep" / "out"
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in out.iterdir()} == {0o600}
    assert {"advice.json", "table.csv", "coverage.svg", "kl.svg", "published.svg"} <= {
        file.name for file in out.iterdir()
    }
    with pytest.raises(qv.UsageError, match="exists already"):
        advice.save(out)


def test_the_command(file: Path, tmp_path: Path) -> None:
    done = command("advise", str(file), "--purpose", "coverage", "--epsilon", "20", "--delta", "9e-4")
    assert done.code == 0 and "<- recommended" in done.out and "no guarantee covers" in done.out
    # Noise alone publishes one of 606 items, in 5 draws for each of 8 settings, with probability 3e-9 (3e-3 with the
    # usual delta).
    little = ("--epsilon", "0.001", "--delta", "1e-12")
    done = command("advise", str(file), "--purpose", "coverage", *little, "--json")
    assert done.code == 0 and json.loads(done.out)["recommended"] is None


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--purpose", "coverge"], 2, "did you mean coverage"),
        (["--purpose", "coverage", "--epsilon", "nan"], 2, "'epsilon' must be a number"),
        (["--purpose", "coverage", "--delta", "0"], 2, "'delta' must be a number"),
        (["--purpose", "coverage", "--top", "0"], 2, "top"),
        ([], 2, "purpose"),
    ],
)
def test_wrong_requests(file: Path, options: list[str], code: int, said: str) -> None:
    done = command("advise", str(file), *options)
    assert done.code == code and said in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "nan"], "'epsilon' must be a number > 0"),
        (["--epsilon", "1e9"], "'epsilon' must be a number > 0 and <= 1,000,000"),
        (["--delta", "1"], "'delta' must be a number > 0 and < 1"),
        (["--most-users", "1"], "each user would be more than 1 % of every figure; pass --most-users 100"),
        (["--most-users", "0"], "'most_users' must be an int >= 1"),
    ],
)
def test_wrong_numbers_are_refused_before_a_log_is_read(options: list[str], said: str) -> None:
    done = command("advise", "no-such-log", "--purpose", "coverage", *options)
    assert done.code == 2 and said in done.err


def test_logs_that_lack_something(tmp_path: Path) -> None:
    bare = qv.read(pa.table({"user": ["a", "b"], "query": ["x", "y"]}))
    for purpose, column in (("caching", "url"), ("research", "time"), ("suggestions", "time")):
        with pytest.raises(qv.InputError, match=f"'{column}' column"):
            qv.advise(bare, purpose)
    empty = tmp_path / "empty.tsv"
    empty.write_text("")
    assert command("advise", str(empty), "--purpose", "coverage").code == 3
