"""Releases of k-query, k-keyword and token-hash: every crowd is counted anew from the tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.verification import crowds
from queryveil.verification.crowds import MOST_USERS, Promised, one_of, whole
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge
from queryveil.verification.tables import Opened

_LOG = {"session": pa.int64(), "query": pa.string()}
_ITEMS = {"prefix": pa.string(), "count": pa.int64()}
_LONGEST_PREFIX = 64

_ACCOUNTS = ("rows-apart", "user-is-account")
_OF_CROWDS = ("fake-accounts", "all-alike")
_K_QUERY = Promised(
    parameters={"k": whole(2, MOST_USERS)},
    shared="query",
    assumptions=(*_ACCOUNTS, "sessions-apart"),
    caveats=(*_OF_CROWDS, "sessions-link", "pairs-have-no-crowd"),
)
_K_KEYWORD = Promised(
    parameters={"k": whole(2, MOST_USERS)},
    shared="word or prefix",
    assumptions=_ACCOUNTS,
    caveats=(*_OF_CROWDS, "prefix-hides-the-rest", "counts-are-exact"),
)
_TOKEN_HASH = Promised(
    parameters={
        "digits": whole(4, 64),
        "token_order": one_of("keep", "shuffle"),
        "sessions": one_of("keep", "drop"),
    },
    kind="none",
    caveats=("hashes-do-not-protect",),
)


# -- k-query -------------------------------------------------------------------------------------------------


def k_query(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    made = _common_checks(manifest, opened, _K_QUERY, {"log": _LOG})
    if not _all_passed(made, opened, "log"):
        return made
    table, k = opened["log"].table, manifest.section("parameters")["k"]
    return [
        *made,
        judge(
            "crowd",
            Sentence("verify.anonymity.every-query-is-in-at-least", k=k),
            lambda: _check_crowds(table, k),
        ),
        judge(
            "sessions",
            Sentence("verify.anonymity.sessions-are-numbered-from-0-in"),
            lambda: _check_sessions(table),
        ),
    ]


def _check_crowds(table: pa.Table, k: int) -> Iterator[str]:
    """Each of k users has a session of her own; fewer sessions cannot be k users'."""
    once = table.group_by(["query", "session"]).aggregate([])
    sizes = once.group_by("query").aggregate([("session", "count")])
    few = pc.sum(pc.less(sizes["session_count"], k)).as_py() or 0
    if few:
        yield Sentence("verify.anonymity.queries-are-in-fewer-than-sessions", few=few, k=k)


def _check_sessions(table: pa.Table) -> Iterator[str]:
    """Numbers with gaps, or rows in another order, would be a place to tell more than which rows belong together."""
    numbers = table["session"].combine_chunks()
    if len(numbers) == 0:
        return
    if numbers[0].as_py() != 0:
        yield Sentence("verify.anonymity.first-session-is-not-0")
    steps = pc.subtract(numbers.slice(1), numbers.slice(0, len(numbers) - 1))
    if pc.any(pc.or_(pc.less(steps, 0), pc.greater(steps, 1))).as_py():
        yield Sentence("verify.anonymity.rows-are-not-in-order-of")


# -- k-keyword -----------------------------------------------------------------------------------------------


def k_keyword(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    made = _common_checks(manifest, opened, _K_KEYWORD, {"items": _ITEMS})
    if not _all_passed(made, opened, "items"):
        return made
    table, k = opened["items"].table, manifest.section("parameters")["k"]
    return [
        *made,
        judge(
            "crowd",
            Sentence("verify.anonymity.every-row-has-at-least-users", k=k),
            lambda: _check_counts(table, k),
        ),
        judge(
            "prefixes",
            Sentence("verify.anonymity.rows-are-words-or-prefixes-with"),
            lambda: _check_prefixes(table),
        ),
    ]


def _check_counts(table: pa.Table, k: int) -> Iterator[str]:
    few = pc.sum(pc.less(table["count"], k)).as_py() or 0
    if few:
        yield Sentence("verify.anonymity.rows-have-fewer-than-users", few=few, k=k)


def _check_prefixes(table: pa.Table) -> Iterator[str]:
    texts = table["prefix"]
    starred = pc.ends_with(texts, "*")
    for wrong, id in (
        (pc.equal(texts, ""), "empty"),
        (pc.equal(texts, "*"), "star"),
        (pc.and_(starred, pc.greater(pc.utf8_length(texts), _LONGEST_PREFIX + 1)), "long"),
    ):
        number = pc.sum(wrong).as_py() or 0
        if number:
            yield Sentence(f"verify.anonymity.prefixes.{id}", number=number, most=_LONGEST_PREFIX)


# -- token-hash ----------------------------------------------------------------------------------------------


def token_hash(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    parameters = manifest.section("parameters")
    linked = parameters.get("sessions") == "keep"
    columns = dict(_LOG) if linked else {"query": pa.string()}
    made = _common_checks(manifest, opened, _TOKEN_HASH, {"log": columns})
    if not _all_passed(made, opened, "log"):
        return made
    table = opened["log"].table
    made.append(
        judge(
            "hashes",
            Sentence("verify.anonymity.queries-are-hashes-and-nothing-else"),
            lambda: _check_hashes(table["query"], parameters),
        )
    )
    if linked:
        made.append(
            judge(
                "sessions",
                Sentence("verify.anonymity.sessions-are-numbered-from-0-in"),
                lambda: _check_sessions(table),
            )
        )
    return made


def _check_hashes(queries: pa.ChunkedArray, parameters: Mapping[str, Any]) -> Iterator[str]:
    digits = parameters["digits"]
    shape = re.compile(rf"[0-9a-f]{{{digits}}}( [0-9a-f]{{{digits}}})*")
    different = pc.unique(queries).to_pylist()
    strange = sum(1 for query in different if not shape.fullmatch(query))
    if strange:
        yield Sentence("verify.anonymity.queries-are-not-made-of-hashes", strange=strange, digits=digits)
    if parameters["token_order"] == "shuffle":  # noqa: S105 (an order, no secret)
        ordered = sum(1 for query in different if (parts := query.split(" ")) != sorted(parts))
        if ordered:
            yield Sentence("verify.anonymity.hashes-of-queries-are-not-in", ordered=ordered)


# -- common --------------------------------------------------------------------------------------------------


def _common_checks(
    manifest: Manifest,
    opened: Mapping[str, Opened],
    promised: Promised,
    expected: Mapping[str, Mapping[str, pa.DataType]],
) -> list[Check]:
    named = set(manifest.section("tables"))
    return [
        *crowds.manifest_checks(manifest, promised),
        crowds.columns_check(expected, named, opened),
    ]


def _all_passed(made: list[Check], opened: Mapping[str, Opened], table: str) -> bool:
    """Whether parameters and columns are such that the rows can be judged."""
    return table in opened and all(check.passes for check in made if check.name in {"parameters", "columns"})
