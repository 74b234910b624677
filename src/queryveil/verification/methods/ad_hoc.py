"""Releases of ad hoc steps: they promise nothing and say so, and hold the columns of their steps and no others.

What each step does can partly be seen from the rows: pseudonyms are hashes, sessions are short, queries are not rare,
no mail address is left, shares and sealed texts have their form.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.verification.crowds import MOST_USERS, Promised, Rule, columns_check, manifest_checks, whole
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge
from queryveil.verification.tables import Opened

_STEPS = (
    "delete-users",
    "hash-users",
    "shorten-sessions",
    "drop-infrequent",
    "scrub",
    "secret-sharing",
    "split-personality",
)
_PARAMETERS: dict[str, tuple[str, Rule]] = {
    "shorten-sessions": ("max_session", whole(1, 10**9)),
    "drop-infrequent": ("min_users", whole(2, MOST_USERS)),
    "secret-sharing": ("k", whole(2, 10_000)),
}
_MAIL = r"[^\s@<>]+@[^\s@<>]+\.\pL{2,}"
_PSEUDONYM, _LABEL, _NUMBER, _SEALED = (
    r"^[0-9a-f]{16}$",
    r"^[0-9a-f]{32}$",
    r"^[0-9a-f]{64}$",
    r"^(?:[0-9a-f]{128})+[0-9a-f]{32}$",
)


def checks(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """What depends on parameters or tables that another check has found wrong is left out, not passed."""
    parameters = manifest.section("parameters")
    given = parameters.get("steps")
    steps: list[str] = given if isinstance(given, list) and _are_known(given) else []
    # A parameter of a step may be stated only with its step.
    others = manifest.declared - {"regions", *(name for name, _ in _PARAMETERS.values())}
    made = [
        *manifest_checks(
            dataclasses.replace(manifest, declared=others), _expected_guarantee(parameters, steps)
        ),
        columns_check(_expected_columns(steps), set(manifest.section("tables")), opened),
    ]
    judgeable = all(check.passes for check in made if check.name in {"parameters", "columns"})
    if not judgeable or not set(_expected_columns(steps)) <= set(opened):
        return made
    log = opened["log"].table
    made.append(
        judge(
            "sessions",
            Sentence("verify.ad-hoc.sessions-are-numbered-from-0-in"),
            lambda: _check_numbering(log),
        )
    )
    made += _of_steps(steps, parameters, log)
    if "secret-sharing" in steps:
        queries = opened["queries"].table
        made.append(
            judge(
                "shares",
                Sentence("verify.ad-hoc.labels-shares-and-sealed-queries-look"),
                lambda: _check_shares(log, queries),
            )
        )
    else:
        made.append(
            judge("queries", Sentence("verify.ad-hoc.no-query-is-empty"), lambda: _check_missing_values(log))
        )
    return made


def _are_known(steps: Any) -> bool:
    return (
        isinstance(steps, list)
        and bool(steps)
        and all(isinstance(step, str) and step in _STEPS for step in steps)
        and len(set(steps)) == len(steps)
    )


def _expected_guarantee(parameters: Mapping[str, Any], steps: Sequence[str]) -> Promised:
    rules: dict[str, Rule] = {"steps": _are_known}
    rules |= dict(_PARAMETERS[step] for step in steps if step in _PARAMETERS)
    if "scrub" in steps and "regions" in parameters:
        rules["regions"] = lambda value: (
            isinstance(value, list) and all(isinstance(one, str) and one.isascii() for one in value)
        )
    return Promised(rules, kind="none", caveats=("promises-nothing",))


def _expected_columns(steps: Sequence[str]) -> dict[str, dict[str, pa.DataType]]:
    log = {} if "delete-users" in steps else {"user": pa.string()}
    log["session"] = pa.int64()
    if "secret-sharing" not in steps:
        return {"log": log | {"query": pa.string()}}
    shares = dict.fromkeys(("share_x", "share_y", "label"), pa.string())
    return {"log": log | shares, "queries": {"label": pa.string(), "sealed": pa.string()}}


def _of_steps(steps: Sequence[str], parameters: Mapping[str, Any], log: pa.Table) -> Iterator[Check]:
    text = "label" if "secret-sharing" in steps else "query"
    if {"hash-users", "split-personality"} & set(steps) and "delete-users" not in steps:
        yield judge(
            "pseudonyms",
            Sentence("verify.ad-hoc.hashes-stand-in-place-of-users"),
            lambda: _check_pattern(log["user"], _PSEUDONYM, "pseudonyms"),
        )
    if "shorten-sessions" in steps:
        most = parameters["max_session"]
        yield judge(
            "short-sessions",
            Sentence("verify.ad-hoc.no-session-has-more-than-rows", most=most),
            lambda: _check_lengths(log, most),
        )
    if "drop-infrequent" in steps:
        least = parameters["min_users"]
        yield judge(
            "frequent",
            Sentence("verify.ad-hoc.every-query-is-in-at-least", least=least),
            lambda: _check_frequencies(log, text, least),
        )
    if "scrub" in steps and text == "query":
        yield judge(
            "scrubbed", Sentence("verify.ad-hoc.no-mail-address-is-left"), lambda: _check_identifiers(log)
        )


def _check_numbering(log: pa.Table) -> Iterator[str]:
    """Numbers with gaps, or rows in another order, would be a place to tell more."""
    numbers = log["session"].to_numpy()
    steps = np.diff(numbers)
    if len(numbers) and (numbers[0] != 0 or ((steps < 0) | (steps > 1)).any()):
        yield Sentence("verify.ad-hoc.sessions-are-not-numbered-from-0")


def _check_missing_values(log: pa.Table) -> Iterator[str]:
    empty = pc.sum(pc.equal(log["query"], "")).as_py() or 0
    if empty:
        yield Sentence("verify.ad-hoc.queries-are-empty", empty=empty)


def _check_pattern(column: pa.ChunkedArray, pattern: str, what: str) -> Iterator[str]:
    # \n would end a line for $: such texts are strange whatever they match.
    good = pc.and_not(pc.match_substring_regex(column, pattern), pc.match_substring(column, "\n"))
    strange = pc.sum(pc.invert(good)).as_py() or 0
    if strange:
        yield Sentence("verify.ad-hoc.do-not-look-as-they-should", strange=strange, what=what)


def _check_lengths(log: pa.Table, most: int) -> Iterator[str]:
    long = int((np.unique(log["session"].to_numpy(), return_counts=True)[1] > most).sum())
    if long:
        yield Sentence("verify.ad-hoc.sessions-have-more-than-rows", long=long, most=most)


def _check_frequencies(log: pa.Table, text: str, least: int) -> Iterator[str]:
    counted = log.group_by([text, "session"]).aggregate([]).group_by(text).aggregate([([], "count_all")])
    rare = pc.sum(pc.less(counted["count_all"], least)).as_py() or 0
    if rare:
        yield Sentence("verify.ad-hoc.queries-are-in-fewer-than-sessions", rare=rare, least=least)


def _check_identifiers(log: pa.Table) -> Iterator[str]:
    left = pc.sum(pc.match_substring_regex(log["query"], _MAIL)).as_py() or 0
    if left:
        yield Sentence("verify.ad-hoc.queries-have-mail-address-in-them", left=left)


def _check_shares(log: pa.Table, queries: pa.Table) -> Iterator[str]:
    yield from _check_pattern(log["label"], _LABEL, "labels")
    yield from _check_pattern(queries["sealed"], _SEALED, "sealed queries")
    for name in ("share_x", "share_y"):
        yield from _check_pattern(log[name], _NUMBER, "shares")
    labels = pc.unique(log["label"])
    if pc.sort_indices(queries["label"]).to_pylist() != list(range(queries.num_rows)):
        yield Sentence("verify.ad-hoc.sealed-queries-are-not-in-order")
    known = pc.is_in(labels, queries["label"].combine_chunks())
    if len(labels) != queries.num_rows or not (pc.all(known).as_py() or not len(labels)):
        yield Sentence("verify.ad-hoc.log-and-sealed-queries-have-different")
