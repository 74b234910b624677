"""The audit as people ask for it: in Python and on the command line, its page, its exit codes, and after a stop."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil.mechanisms.selection import count_selection
from queryveil_lab.audits import running
from tests.command import command

QUICK = ("--epsilon", "0.5", "--delta", "0.01", "--steps-only", "--workers", "1")
METHOD = qv.TruncatedGeometric(epsilon=0.5, delta=0.01)


def test_the_json_has_what_scripts_read() -> None:
    found = command("audit", "truncated-geometric", *QUICK, "--runs", "2000", "--json")
    assert found.code == 0, found.err
    said = found.document
    assert said["claimed_epsilon"] == 0.5 and said["delta"] == 0.01 and said["confidence"] == 0.95
    assert said["passes"] is True and said["refuted_by"] == []
    # One item per user: the declared noise is as small as it may be, and the proof comes close.
    assert 0.45 < said["epsilon_lower_bound"] <= 0.5 and said["is_proof"] is True
    assert 0.005 < said["delta_lower_bound"] <= 0.01
    assert {one["how"] for one in said["findings"]} == {"proof", "runs"}


def test_a_mechanism_that_lies_has_exit_code_1_and_says_what_refutes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quiet(counts: Any, run: Any, draw: Any) -> Any:
        return counts, (counts >= draw.at_least) & (counts > 0)

    monkeypatch.setattr(count_selection, "with_thresholds", quiet)
    found = command("audit", "truncated-geometric", *QUICK, "--runs", "300", "--json")
    assert found.code == 1 and found.document["passes"] is False
    assert {"new items", "popular items"} <= {one["shape"] for one in found.document["refuted_by"]}
    shown = command("audit", "truncated-geometric", *QUICK, "--runs", "300")
    assert shown.code == 1 and "FAIL" in shown.out and "does not hold" in shown.out


@pytest.mark.parametrize("method", ["k-query --k 5", "k-session --k 5", "clump --k 5"])
def test_a_method_without_a_guarantee_is_refused_and_points_to_attacks(method: str) -> None:
    found = command("audit", *method.split())
    assert found.code == 2 and "k-anonymity" in found.err and "queryveil attack" in found.err
    assert "nothing about what one user changes" in " ".join(found.err.split())


def test_a_method_that_promises_nothing_is_refused() -> None:
    found = command("audit", "token-hash")
    assert found.code == 2 and "promises nothing" in found.err and "queryveil attack" in found.err


def test_too_few_runs_are_refused_with_a_number_that_does() -> None:
    found = command("audit", "truncated-geometric", *QUICK, "--runs", "20")
    assert found.code == 2 and "too few" in found.err
    enough = re.search(r"--runs (\d+)", found.err)
    assert enough is not None
    assert command("audit", "truncated-geometric", *QUICK, "--runs", enough[1]).code == 0
    fewer = str(int(enough[1]) - 2)
    assert command("audit", "truncated-geometric", *QUICK, "--runs", fewer).code == 2


def test_an_epsilon_that_nothing_can_refute_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="cannot be refuted by any number of runs"):
        lab.audit(qv.TruncatedGeometric(epsilon=60, delta=0.01), whole_path=False)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--runs", "1", "'runs' must be"),
        ("--confidence", "1", "'confidence' must be"),
        ("--workers", "0", "'workers'"),
    ],
)
def test_wrong_numbers_are_refused_by_name(option: str, value: str, told: str) -> None:
    found = command("audit", "truncated-geometric", "--epsilon", "1", "--delta", "0.01", option, value)
    assert found.code == 2 and told in found.err


def test_the_page_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    out = tmp_path / "audit"
    found = lab.audit(METHOD, runs=1_000, workers=1, whole_path=False, out=out)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert {one.name for one in out.iterdir()} == {
        "index.html",
        "audit.json",
        "trade-off.html",
        "trade-off.png",
        "trade-off.svg",
    }
    assert found.verdict in html.unescape(page) and not re.search(r'(src|href)="(https?:)?//', page)
    assert page.count("<tr") == len(found.findings) + 1
    assert json.loads((out / "audit.json").read_text("utf-8")) == json.loads(json.dumps(found.as_dict()))
    assert not (tmp_path / "audit.partial").exists()
    again = command("audit", "truncated-geometric", *QUICK, "--out", str(out))
    assert again.code == 2 and "exists" in again.err


def test_an_audit_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, calls, real = tmp_path / "audit", [0], running.done

    def stopped(test: Any, levels: Any) -> Any:
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        return real(test, levels)

    monkeypatch.setattr(running, "done", stopped)
    arguments = ("audit", "truncated-geometric", *QUICK, "--runs", "1000", "--out", str(out))
    first = command(*arguments)
    assert first.code == 130 and "run it again to go on" in first.err and not out.exists()
    other = command(*arguments[:-4], "--runs", "2000", "--out", str(out))
    assert other.code == 2 and "not of this audit" in other.err
    assert command(*arguments).code == 0
    total = len(
        [one for one in json.loads((out / "audit.json").read_text("utf-8"))["findings"] if one["runs"]]
    )
    assert calls[0] == total + 1, "three trials were kept, and one was stopped"


def test_seeds_decide_logs_and_nothing_else() -> None:
    one, other, third = (
        lab.audit(METHOD, runs=400, workers=1, whole_path=False, seed=seed) for seed in (1, 1, 2)
    )
    logs = [[found.words for found in each.findings] for each in (one, other, third)]
    assert logs[0] == logs[1] != logs[2]
    measured = [[found.points for found in each.findings if found.how == "runs"] for each in (one, other)]
    assert measured[0] != measured[1], "noise has no seed"


def test_several_processes_find_the_same_trials() -> None:
    found = lab.audit(METHOD, runs=400, workers=2, whole_path=False)
    assert found.passes and len(found.findings) == len(
        lab.audit(METHOD, runs=400, workers=1, whole_path=False).findings
    )


def test_the_whole_path_passes_and_folders_forks_and_odd_rows_are_looked_at() -> None:
    found = lab.audit(qv.TruncatedGeometric(epsilon=0.2, delta=0.1), runs=120, workers=1)
    assert found.passes, found.verdict
    assert {one.runner for one in found.findings} == {"step", "whole path"}
    assert found.folders is not None and found.folders.fields > 100
    assert found.odd_rows is not None and found.forked is not None and len(found.beside) == 3


def test_logs_of_drawn_phrases_are_audited_exactly_and_by_runs() -> None:
    found = lab.audit(qv.Semantic(epsilon=2, domain="citrus"), runs=2_000, workers=1, whole_path=False)
    assert found.passes and {one.how for one in found.findings} == {"proof", "runs"}
    assert 0.8 < found.epsilon_lower_bound <= 2
