"""k-session anonymity: add and delete keywords until every session looks like those of k - 1 other users.

After Motwani and Nabar, Anonymizing unstructured data. Sessions become sets of keywords; groups of k to 2k - 1 users
are made greedily by set distance, and each session is published as the keywords that more than half of its group's
users have. What that promises and what it does not is in docs/proofs/k-session.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.catalog import Sentence, count
from queryveil.count import item_kinds
from queryveil.mechanisms import sessions
from queryveil.mechanisms.base import (
    SESSIONS_APART,
    Plan,
    Run,
    need_users,
)
from queryveil.mechanisms.crowds import TEXT_LISTS, Crowds, crowd_plan
from queryveil.privacy.declarations import GROUP, SESSIONS, PublishedTable, columns
from queryveil.privacy.statements import NO, NOT_EXCLUDED, Statement, assessment, say

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.mechanisms.k_session.grouping import Groups, KeywordSets
    from queryveil.reading.log import SearchLog

_CODED = pa.dictionary(pa.int32(), pa.string())
_TABLE = PublishedTable(
    name="transactions",
    noun="transactions",
    row=Sentence("k-session.row"),
    columns=columns(
        ("group", "items"),
        {name: Sentence(f"k-session.column.{name}") for name in ("group", "items")},
    ),
    counts=SESSIONS,
    links=GROUP,
)


@dataclass(frozen=True, kw_only=True)
class KSession(Crowds):
    """Sessions as keyword sets that at least k users have.

    Publish sessions as sets of keywords, each changed until at least k users have the same set.
    """

    name: ClassVar[str] = "k-session"
    example: ClassVar[Mapping[str, Any]] = {"k": 3}

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised of each set of keywords, whatever the number of users."""
        return crowd_plan(
            self,
            self.k,
            "set of keywords",
            assumed=(SESSIONS_APART,),
            caveats=self._caveats(),
            table=_TABLE,
            what=Sentence("k-session.what"),
            how=Sentence("k-session.how", k=self.k, most=2 * self.k - 1),
            assessment=self._assessment(),
        )

    def _assessment(self) -> tuple[Statement, ...]:
        return assessment(
            singling_out=(NO, Sentence("k-session.singling-out", k=self.k)),
            linkability=(NOT_EXCLUDED, Sentence("k-session.linkability", k=self.k)),
            inference=(NOT_EXCLUDED, Sentence("k-session.inference", accounts=self._accounts)),
            disclosed=Sentence("k-session.disclosed", most=self.k // 2 + 1),
            withheld=Sentence("k-session.withheld", k=self.k),
            checked=Sentence("k-session.checked", k=self.k),
        )

    @property
    def _accounts(self) -> Sentence:
        """The accounts of an attack that makes a set appear if one more user has it."""
        return count(self.k // 2, "accounts")

    def _caveats(self) -> tuple[Statement, ...]:
        attack = Sentence("statement.fake-accounts.sessions", accounts=self._accounts)
        return (
            say("all-alike", Sentence("statement.all-alike.sessions")),
            say("fake-accounts", attack, accounts=self.k // 2),
            say("known-members", Sentence("statement.known-members.sessions")),
            say("sets-are-a-compromise"),
            say("sessions-are-exact", accounts=self.k),
        )

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)
        sessions.check(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        # Its compiled loops take a while to load: only where they are used.
        from queryveil.mechanisms.k_session.grouping import group

        with run.stage("count") as say:
            sets, names = keyword_sets(log)
            say(f"{len(sets):,} sessions with {len(sets.items):,} keywords, {len(names):,} different")
        with run.stage("protect") as say:
            found = group(sets, self.k)
            table, by_number = _transactions(found, names, run)
            run.private |= _release_cost(sets, found, by_number)
            say(_cost_summary(sets, found))
            return {"transactions": table}


def keyword_sets(log: SearchLog) -> tuple[KeywordSets, pa.StringArray]:
    """A log's sessions as sets of coded keywords, and what the codes stand for, in the order of their texts."""
    import pyarrow.compute as pc

    from queryveil.mechanisms.k_session.grouping import KeywordSets

    users, words, lengths = [], [], [np.zeros(0, dtype=np.int64)]
    # A stream of coded batches: the text of every session at once would be many times larger.
    for batch in log.engine.batches(_session_keywords(log)):
        lists = batch.column("keywords")
        users.append(batch.column("user").cast(pa.string()).dictionary_encode())
        words.append(pc.list_flatten(lists).cast(pa.string()).dictionary_encode())
        lengths.append(pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64))
    owners, _ = _encode_texts(users)
    codes, names = _encode_texts(words)
    sizes = np.concatenate(lengths)
    sessions_of = np.repeat(np.arange(len(sizes)), sizes)
    distinct = np.unique(sessions_of * max(1, len(names)) + codes)
    starts = np.searchsorted(distinct, np.arange(len(sizes) + 1) * max(1, len(names)))
    kept = (distinct % max(1, len(names))).astype(np.int32)
    return KeywordSets(starts.astype(np.int64), kept, owners, len(names)), names


def _session_keywords(log: SearchLog) -> ir.Table:
    """One row for each session that has a keyword: its user and its keywords, with repeats."""
    rows = log.sessions() if "time" in log.columns else log.queries
    rows = item_kinds.with_keywords(rows.select("user", "session", "words"))
    rows = rows.filter(rows["keyword"] != "")
    listed = rows.group_by(["user", "session"]).aggregate(keywords=rows["keyword"].collect())
    return listed.select("user", "keywords")


def _encode_texts(parts: list[pa.DictionaryArray]) -> tuple[npt.NDArray[np.int32], pa.StringArray]:
    """Texts as numbers in the order of the texts, whatever order an engine gave them in."""
    import pyarrow.compute as pc

    whole = pa.chunked_array(parts, _CODED).unify_dictionaries()
    if not len(whole):
        return np.zeros(0, dtype=np.int32), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks])
    texts = next(chunk.dictionary for chunk in whole.chunks)
    order = pc.sort_indices(texts)
    rank = np.empty(len(texts), dtype=np.int32)
    rank[order.to_numpy()] = np.arange(len(texts), dtype=np.int32)
    return rank[codes], texts.take(order)


def _transactions(found: Groups, names: pa.StringArray, run: Run) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """One row per session, equal sets under one random number; and for each group its number.

    Groups that came to the same set are one: which of its sessions were together would tell more than the sets do.
    """
    known: dict[bytes, int] = {}
    contents = found.items.tobytes()
    width, starts = found.items.itemsize, found.starts.tolist()
    same = [
        known.setdefault(contents[width * first : width * end], len(known)) for first, end in pairwise(starts)
    ]
    numbers = run.noise.permutation(len(known))[np.array(same)]
    of_session = numbers[found.of_session]
    order = np.argsort(of_session, kind="stable")
    lists = pa.ListArray.from_arrays(
        pa.array(found.starts, pa.int32()), names.take(pa.array(found.items)), type=TEXT_LISTS
    )
    shown = lists.take(pa.array(found.of_session[order]))
    return pa.table({"group": pa.array(of_session[order], pa.int64()), "items": shown}), numbers


def _release_cost(sets: KeywordSets, found: Groups, numbers: npt.NDArray[np.int64]) -> dict[str, pa.Table]:
    """What the release cost, in all and set by set. For the curator."""
    empty = np.diff(found.starts)[found.of_session] == 0
    figures = {
        "sessions": len(sets),
        "keywords": len(sets.items),
        "keywords_added": int(found.added.sum()),
        "keywords_deleted": int(found.deleted.sum()),
        "added_per_session": float(found.added.mean()),
        "deleted_per_session": float(found.deleted.mean()),
        "share_of_sets_that_became_empty": float(empty.mean()),
        "groups": len(found),
        "different_sets": len(np.unique(numbers)),
    }
    by_set = (
        pa.table(
            {
                "group": numbers[found.of_session],
                "keywords": sets.sizes,
                "added": found.added,
                "deleted": found.deleted,
            }
        )
        .group_by("group")
        .aggregate([("group", "count"), ("keywords", "sum"), ("added", "sum"), ("deleted", "sum")])
    )
    by_set = by_set.rename_columns(["group", "sessions", "keywords", "added", "deleted"]).sort_by("group")
    return {
        "cost": pa.table(
            {"measure": list(figures), "value": pa.array(map(float, figures.values()), pa.float64())}
        ),
        "cost-of-groups": by_set,
    }


def _cost_summary(sets: KeywordSets, found: Groups) -> str:
    empty = (np.diff(found.starts)[found.of_session] == 0).mean()
    return (
        f"{len(found):,} groups; of {len(sets.items) / len(sets):.2f} keywords per session {found.deleted.mean():.2f} "
        f"were deleted and {found.added.mean():.2f} added; {100 * empty:.1f} % of the sets became empty"
    )
