"""Every command does its job, in words and as one JSON document."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.command import Outcome, command

PAGE = ["plan", "zealous", "--guarantee", "probabilistic", "--delta", "1e-3", "--users", "500000"]
PAPER = ["--guarantee", "probabilistic"]
ZEALOUS = ["--method", "zealous", *PAPER, "--epsilon", "2", "--delta", "1e-3", "--max-items", "3"]
USERS, ROWS = 300, 1_201


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a log: three queries of everybody, one of each, and a row without a time."""
    lines = ["user\ttime\tquery\turl\trank"]
    for user in range(USERS):
        for minute, query in enumerate(("news", "weather", "maps", f"my own {user}")):
            click = "http://news.example\t1" if query == "news" else "\t"
            lines.append(f"u{user}\t2026-01-01 00:0{minute}:00\t{query}\t{click}")
    lines += ["u0\t2026-01-02\t\t\t", "u0\tsome day\tlost\t\t", ""]
    (tmp_path / "log.tsv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def done(*arguments: str) -> Outcome:
    outcome = command(*arguments)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return outcome


def document(*arguments: str) -> Any:
    return done(*arguments, "--json").document


# -- plan ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "m", "tau", "second"), [("2", "5", "1", 106), ("2", "5", "5", 102), ("1", "2", "4", 79)]
)
def test_plan_prints_the_thresholds_of_the_page(epsilon: str, m: str, tau: str, second: int) -> None:
    given = [*PAGE, "--epsilon", epsilon, "--max-items", m, "--tau", tau]
    made = document(*given)
    assert made["calibration"]["second_threshold"] == second
    assert made["calibration"]["threshold"] == int(tau)
    assert made["calibration"]["noise_scale"] == 2 * int(m) / float(epsilon)
    assert re.search(rf"published above \(noisy users\) +{second} ", done(*given).out)


def test_plan_has_the_keys_that_scripts_read() -> None:
    made = document(*PAGE, "--epsilon", "2", "--max-items", "5")
    assert made["method"] == "zealous"
    assert made["parameters"]["max_items"] == 5
    assert made["calibration"]["paper"].keys() >= {
        "noise_scale",
        "threshold",
        "second_threshold",
        "delta",
        "delta_indistinguishable",
    }
    promise = made["guarantee"]
    assert (promise["kind"], promise["unit"], promise["neighbours"]) == (
        "probabilistic-dp",
        "user",
        "replace-one-user",
    )
    assert (promise["epsilon"], promise["delta"]) == (2, 1e-3)
    assert promise["assumptions"]
    assert promise["caveats"]


@pytest.mark.parametrize(
    ("tau", "second"), [(1, 81.1205), (3, 78.7260), (5, 78.6827), (7, 79.3368), (9, 80.3316)]
)
def test_plan_prints_the_paper_s_figures_beside_ours(tau: int, second: float) -> None:
    made = document(*PAGE, "--epsilon", "1", "--max-items", "2", "--tau", str(tau))
    assert made["calibration"]["paper"]["second_threshold"] == pytest.approx(second, abs=5e-5)


@pytest.mark.parametrize(
    ("scale", "second", "delta"), [("1", "50", 6.6e-16), ("5", "150", 1.4e-7), ("5", "200", 6.5e-12)]
)
def test_plan_computes_delta_from_noise_and_threshold(scale: str, second: str, delta: float) -> None:
    given = ["--noise-scale", scale, "--second-threshold", second, "--max-items", "5", "--tau", "1"]
    made = document("plan", "zealous", "--guarantee", "probabilistic", "--users", "500000", *given)
    assert made["calibration"]["paper"]["delta"] == pytest.approx(delta, rel=0.05)
    assert 0 < made["guarantee"]["delta"] <= made["calibration"]["paper"]["delta"]


def test_a_public_number_of_users_asks_for_the_guarantee_that_needs_it() -> None:
    asked = ["plan", "zealous", "--epsilon", "2", "--delta", "1e-3", "--max-items", "5", "--users", "500000"]
    made = document(*asked)
    assert made["guarantee"]["kind"] == "probabilistic-dp"
    assert made == document(*asked, "--guarantee", "probabilistic")
    assert document(*asked, "--guarantee", "approximate")["guarantee"]["kind"] == "approximate-dp"
    assert document(*asked, "--neighbours", "add-remove")["guarantee"]["kind"] == "approximate-dp"


def test_the_shortest_plan_works_as_it_is() -> None:
    """The approximate guarantee is the default: it asks for no number of users, and tells none."""
    made = document("plan", "zealous", "--epsilon", "1", "--delta", "1e-6")
    assert made["guarantee"]["kind"] == "approximate-dp"
    assert (made["guarantee"]["epsilon"], made["guarantee"]["delta"]) == (1, 1e-6)
    assert "users" not in made["parameters"]
    assert made == document(
        "plan", "zealous", "--epsilon", "1", "--delta", "1e-6", "--guarantee", "approximate"
    )


# -- inspect -------------------------------------------------------------------------------------------------


def test_inspect_has_the_keys_that_scripts_read() -> None:
    found = document("inspect", "log.tsv")
    assert (found["rows"], found["users"], found["empty_queries"]) == (ROWS, USERS, 1)
    assert (found["rejected"]["total"], found["rejected"]["reasons"]) == (1, {"bad time": 1})
    assert found["rejected"]["examples"] == [{"file": "log.tsv", "line": ROWS + 2, "reason": "bad time"}]
    assert found["span"] == {"first": "2026-01-01T00:00:00", "last": "2026-01-02T00:00:00"}
    assert (found["queries"], found["clicks"], found["orphan_clicks"]) == (4 * USERS, USERS, 0)
    assert found["items"].keys() == {"keywords", "queries", "query-pairs", "clicks"}
    assert found["items"]["queries"].keys() >= {"distinct", "per_user"}
    assert found["items"]["queries"]["distinct"] == USERS + 3
    assert found["uniqueness"].keys() == {"1", "2", "3"}
    # One of each user's four queries is the user's own.
    assert found["uniqueness"]["1"] == pytest.approx(0.25)


def test_inspect_in_words() -> None:
    said = done("inspect", "log.tsv").out
    assert "1,201 rows, 300 users, 1 row with an empty query, 1 rejected (tsv)" in said
    assert "log.tsv line 1203: bad time" in said
    assert "N = 1: 25 %" in said
    assert "lost" not in said


def test_columns_by_number_and_times_by_format() -> None:
    rows = [f"{user}\t970916{user:02}0159\tq {user}\n" for user in range(10, 20)]
    Path("excite.txt").write_text("".join(rows))
    given = ["--columns", "user=1,time=2,query=3", "--time-format", "%y%m%d%H%M%S"]
    found = document("inspect", "excite.txt", *given)
    assert (found["rows"], found["span"]["first"]) == (10, "1997-09-16T10:01:59")


# -- publish, release verify ---------------------------------------------------------------------------------


def test_publish_has_the_keys_that_scripts_read(here: Path) -> None:
    made = document("publish", "log.tsv", *ZEALOUS, "--out", "new/folders/release")
    assert made["release"] == "new/folders/release"
    assert made["guarantee"]["kind"] == "probabilistic-dp"
    assert made["released"] == {"items": 3}
    assert made["seconds"].keys() >= {"read", "bound", "select", "count", "write"}
    release = here / "new" / "folders" / "release"
    assert {one.name for one in release.iterdir()} == {
        "manifest.json",
        "items.parquet",
        "croissant.json",
        "DATASHEET.md",
        "report.html",
    }
    assert set(pq.read_table(release / "items.parquet")["query"].to_pylist()) == {"news", "weather", "maps"}
    private = release.with_name("release.private")
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert "log.tsv" not in (release / "manifest.json").read_text()


def test_publish_in_words_tells_every_stage_the_guarantee_and_what_is_next() -> None:
    said = done("publish", "log.tsv", *ZEALOUS, "--out", "out").out
    told = [line.split()[0] for line in said.splitlines() if line.startswith("  ") and line[2:3] != " "]
    assert told[:5] == ["read", "bound", "select", "write", "Guarantee"]
    assert "epsilon 2, delta 0.001, if one user's history is replaced" in " ".join(said.split())
    assert "queryveil release verify out" in said


def test_publish_several_kinds_on_a_terminal_of_forty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    kinds = ["--items", "queries,clicks", "--epsilon-split", "3,1", "--epsilon", "8"]
    said = done("publish", "log.tsv", *ZEALOUS, *kinds, "--out", "out").out
    assert max(map(len, said.splitlines())) <= 40
    assert json.loads(Path("out/manifest.json").read_text())["tables"].keys() == {"queries", "clicks"}


def test_publish_nothing_if_that_is_allowed() -> None:
    made = document("publish", "log.tsv", *ZEALOUS, "--tau", "1000", "--allow-empty", "--out", "out")
    assert made["released"] == {"items": 0}
    assert document("release", "verify", "out")["passes"] is True


def test_publish_clicks_of_published_queries() -> None:
    Path("results.tsv").write_text("query\turl\nnews\thttp://news.example\nnews\thttp://other.example\n")
    clicks = ["--then-clicks", "--results", "results.tsv"]
    made = document("publish", "log.tsv", *ZEALOUS, *clicks, "--out", "out")
    assert made["released"] == {"items": 3, "clicks": 2}
    assert made["guarantee"]["epsilon"] == 4
    assert document("release", "verify", "out")["passes"] is True


def test_verify_names_every_check() -> None:
    done("publish", "log.tsv", *ZEALOUS, "--out", "out")
    found = document("release", "verify", "out")
    assert found["passes"] is True
    assert all(check["passes"] for check in found["checks"])
    said = done("release", "verify", "out").out
    assert all(f"ok        {check['name']}: " in said for check in found["checks"])


def test_verify_ends_with_a_verdict_and_what_it_cannot_see() -> None:
    done("publish", "log.tsv", *ZEALOUS, "--out", "out")
    found = document("release", "verify", "out")
    checks, verdict, rest = done("release", "verify", "out").out.split("\n\n")
    assert checks.count("  ok  ") == len(found["checks"])
    assert verdict.startswith(f"  ok        Verdict: all {len(found['checks'])} checks passed.")
    assert rest.splitlines()[0] == "  What cannot be checked from a release, whatever the verdict:"
    assert rest.count("unchecked ") == len(found["not_checked"]) > 0
    Path("out/DATASHEET.md").write_text("changed")
    changed = command("release", "verify", "out")
    assert changed.code == 1 and "FAILED    Verdict: " in changed.out
    assert "not what it says it is" in " ".join(changed.out.split())
    assert changed.out.index("FAILED    Verdict: ") < changed.out.index("What cannot be checked")


def test_tables_are_exported_once() -> None:
    done("publish", "log.tsv", "--method", "k-query", "--k", "5", "--out", "out")
    assert document("release", "export", "out", "--out", "tables")["files"] == ["tables/log.csv"]
    assert command("release", "export", "out", "--out", "tables").code == 2


def test_an_attack_is_saved() -> None:
    done("publish", "log.tsv", "--method", "k-query", "--k", "5", "--out", "out")
    found = document("attack", "linkage", "log.tsv", "out", "--trials", "5", "--known", "1", "--save")
    assert len(found["saved"]) == 1 and Path(found["saved"][0]).exists()


# -- ledger --------------------------------------------------------------------------------------------------


def test_a_ledger_is_opened_charged_and_shown() -> None:
    budget = ["--source", "web", "--epsilon", "3", "--delta", "0.01"]
    opened = document("ledger", "open", "ledger.db", *budget)
    assert (opened["source"], opened["budget"]) == ("web", {"epsilon": 3, "delta": 0.01})
    done("publish", "log.tsv", *ZEALOUS, "--out", "out", "--ledger", "ledger.db", "--source", "web")
    (account,) = document("ledger", "show", "ledger.db")
    assert account["left"] == {"epsilon": 1, "delta": 0.009}
    assert [event["method"] for event in account["events"]] == ["zealous"]
    said = done("ledger", "show", "ledger.db", "--source", "web", "--verbose").out
    assert "left      epsilon 1 and delta 0.009" in said
    assert "'mobile' with epsilon 1" in done(
        "ledger", "open", "ledger.db", "--source", "mobile", "--epsilon", "1", "--delta", "0"
    ).out  # fmt: skip


# -- generate, demo ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.tsv", "a.csv.gz", "a.jsonl.zst", "new/a.parquet"])
def test_generated_logs_can_be_inspected(name: str) -> None:
    made = document("generate", name, "--users", "40", "--rows", "400", "--results-out", "results.tsv")
    assert (made["log"], made["rows"], made["users"]) == (name, 400, 40)
    assert Path(made["secrets_file"]).exists()
    assert Path("results.tsv").read_text().startswith("query\turl\trank\n")
    found = document("inspect", name)
    assert (found["rows"], found["users"], found["rejected"]["total"]) == (400, 40, 0)


def test_generate_in_words() -> None:
    said = done("generate", "a.tsv", "--users", "40", "--rows", "400", "--seed", "3").out
    assert "a.tsv: 400 rows, 40 users" in said
    assert "queryveil inspect a.tsv" in said


SPECIAL = ("epsilon", "delta", "noise", "guarantee", "differential", "rows", "distinct", "threshold", "users")


def test_demo_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first screen is a story in everyday words; the same in figures comes behind it."""
    monkeypatch.setenv("COLUMNS", "80")
    whole = done("demo", "--out", "shown", "--users", "5000").out
    story, _, figures = whole.partition("The same in figures, as the commands print it")
    assert len(story.splitlines()) <= 50 and max(map(len, story.splitlines())) <= 80
    said = " ".join(story.split())
    # What the guarantee says of itself, and why nobody is found, are words of others.
    promise = said[said.index("5. What is promised") : said.index("6. What it is")]
    found = said[said.index("4. Who can be") : said.index("5. What is promised")]
    own = said.replace(promise, "").replace(found, "")
    assert [word for word in SPECIAL if word in own.lower()] == []
    assert re.search(r"Someone who knows 3 things .* in \d+ of 100 cases", own)
    assert "None of the 10 secrets is in the release" in found
    assert "now finds that person in 0 of 100 cases, because the release" in found
    assert re.search(r"\d+ of the log's 10 most frequent searches are in the release\.", own)
    assert "Guarantee epsilon 1, delta 1e-06, if one user is added or removed" in " ".join(figures.split())
    passed = re.search(r"ok +(\d+) of (\d+) checks passed", figures)
    assert passed and passed[1] == passed[2]


def test_demo_as_a_document() -> None:
    shown = document("demo", "--out", "shown", "--users", "5000")
    assert shown["verified"] is True
    assert shown["secrets_published"] == 0
    log, release = shown["attack"]["results"]
    assert log["success"] > 0.5 and release["success"] == 0
    assert 0 <= shown["evaluate"]["coverage@10"] <= 1
    assert 1 <= len(shown["top"]) == min(10, shown["released"]["items"])
    assert Path(shown["release"], "report.html").exists()
    _the_demos_attack_is_on_the_curators_page(shown)


def _the_demos_attack_is_on_the_curators_page(shown: Any) -> None:
    page = Path(shown["curator_report"]).read_text()
    assert "No attack is kept" not in page
    (kept,) = (Path("shown") / "release.private" / "attacks").iterdir()
    result = json.loads(kept.read_text())["result"]
    assert result["attack"] == "linkage" and result["success"] == shown["attack"]["success"]
    assert "linkage" in page


# -- version -------------------------------------------------------------------------------------------------


def test_the_version() -> None:
    assert re.fullmatch(r"queryveil \d+\.\d+\.\d+\S*\n", done("--version").out)
