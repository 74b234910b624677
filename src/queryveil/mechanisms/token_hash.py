"""Token hashing: replace every word by a keyed hash. It promises nothing, and an attack shows why.

Whoever has another log of the same kind finds the words again by how often they come together. The method
exists to be attacked: docs/proofs/token-hash.md.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.count import item_kinds
from queryveil.errors import CannotBeMet, argument
from queryveil.mechanisms import sessions as session_rows
from queryveil.mechanisms.base import Mechanism, Plan, Run, public_parameters
from queryveil.parameters import param, validate
from queryveil.privacy.declarations import HASHES, NOTHING, OCCURRENCES, SESSION, PublishedTable, columns
from queryveil.privacy.guarantee import NONE, Guarantee
from queryveil.privacy.statements import NOT_EXCLUDED, YES, assessment, say

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

_PLACE_DIGITS = 9
"""Decimal digits of a word's place in its query: enough for any text that fits into memory."""

_MAP = pa.schema([("hash", pa.string()), ("token", pa.string())])

_CAVEATS = (
    say(
        "hashes-do-not-protect",
    ),
    say("one-word-uncovers-all"),
    say(
        "own-queries-uncover",
    ),
    say("rare-stays-rare"),
)
_LINKS = say("sessions-link", "a session links queries that one user made one after the other")


@dataclass(frozen=True, kw_only=True)
class TokenHash(Mechanism):
    """Hashes in place of words. It promises nothing.

    Replace every word by a keyed hash of it, which promises nothing; for attacks and comparisons.
    """

    name: ClassVar[str] = "token-hash"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {}

    digits: int = param(
        "hexadecimal digits of each hash to keep",
        ge=4,
        le=64,
        default=16,
        details="If two words get the same digits, the exit code is 5",
    )
    token_order: str = param(
        "order of the words in a query",
        choices=("keep", "shuffle"),
        default="keep",
        details="`shuffle` is the order of their hashes",
    )
    sessions: str = param(
        "whether a session's queries stay together", choices=("keep", "drop"), default="keep"
    )

    def __post_init__(self) -> None:
        validate(self)

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised: nothing."""
        linked = self.sessions == "keep"
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration={},
            guarantee=Guarantee(
                kind=NONE,
                caveats=(*_CAVEATS, _LINKS) if linked else _CAVEATS,
            ),
            tables=(self._table(linked=linked),),
            what="Queries of a search log with a hash in place of every word",
            how=self._how(),
            assessment=assessment(
                singling_out=(
                    YES,
                    ("The rows with one session number are one person's. " if linked else "")
                    + "A hash, or a combination of hashes, that appears once is one person's.",
                ),
                linkability=(
                    YES,
                    ("A number links the queries of a session. " if linked else "")
                    + "Equal hashes link queries that share a rare word. How often hashes appear links them to the "
                    "words of other logs.",
                ),
                inference=(
                    NOT_EXCLUDED,
                    "Nothing limits it. Someone with a similar log can turn hashes back into words, from how often "
                    "they appear, alone and together.",
                ),
                disclosed="The queries of single people are disclosed, row by row, with a hash in place of each word.",
                learnt=(
                    "Words, from how often their hashes appear, alone and together.",
                    "Who a row is about, if its words give that person away"
                    + (", and the other queries of the same session." if linked else "."),
                ),
            ),
        )

    def _table(self, *, linked: bool) -> PublishedTable:
        return PublishedTable(
            name="log",
            noun="rows",
            row="A query, with a hash in place of every word.",
            columns=columns(
                ("session", "query") if linked else ("query",),
                {"query": "a query: the hashes of its words, with spaces between them"},
            ),
            counts=OCCURRENCES,
            texts=HASHES,
            links=SESSION if linked else NOTHING,
            order=() if linked else ("query",),
        )

    def _how(self) -> str:
        order = {
            "keep": "The words of a query stayed in their order.",
            "shuffle": "The words of a query were put into the order of their hashes.",
        }[self.token_order]
        linked = {
            "keep": "Sessions were put into random order, with a random number in place of the user. The queries "
            "inside a session stayed in the order in which they were made.",
            "drop": "Sessions were left out, and queries were put into the order of their hashes.",
        }[self.sessions]
        return (
            f"Every word was replaced by the first {self.digits} hexadecimal digits of its HMAC-SHA-256 under a "
            f"secret random key. The key was forgotten. {order} {linked} Users, times, clicks and ranks were left "
            "out. So were queries without any word."
        )

    def check(self, log: SearchLog) -> None:
        if self.sessions == "keep":
            session_rows.check(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        with run.stage("count") as say:
            parts = log.engine.keep(_parts(log))
            distinct = log.engine.batches(parts.select("token").distinct())
            known = self._hashes(distinct, run.noise.key())
            run.private["token-map"] = known
            say(f"{known.num_rows:,} different words, each hashed once")
        with run.stage("protect") as say:
            hashed = self._hashed(parts.join(log.engine.register(known), "token"))
            if self.sessions == "keep":
                rows = session_rows.events(log).join(hashed, "query")
                table = session_rows.shuffled(log, rows, "hashed", run.noise)
            else:
                rows = _events(log).join(hashed, "query").select(query="hashed")
                # In the order of the hashes, which tells nothing that the rows do not.
                batches = list(log.engine.batches(rows.order_by("query")))
                table = pa.Table.from_batches(_strings(batches), pa.schema([("query", pa.string())]))
            log.engine.drop(parts)
            say(f"{table.num_rows:,} query events with hashes for words")
            return {"log": table}

    def _hashes(self, tokens: Iterable[pa.RecordBatch], key: bytes) -> pa.Table:
        """The hash of every token, in the order of the tokens."""
        import pyarrow.compute as pc

        made = []
        for batch in tokens:
            texts = batch.column("token").to_pylist()
            hashes = [hmac.digest(key, text.encode(), "sha256").hex()[: self.digits] for text in texts]
            made.append(
                pa.record_batch([pa.array(hashes, pa.string()), pa.array(texts, pa.string())], schema=_MAP)
            )
        table = pa.Table.from_batches(made, _MAP)
        if pc.count_distinct(table["hash"]).as_py() < table.num_rows:
            raise CannotBeMet(
                f"two different words have the same hash of {self.digits} digits",
                f"raise {argument('digits')} (64 at most)",
            )
        return table.sort_by("token")

    def _hashed(self, coded: ir.Table) -> ir.Table:
        """Every query with its hashes, in one text: columns query, hashed."""
        if self.token_order == "keep":  # noqa: S105 (an order, no secret)
            # Lists come together in any order: each hash carries its place in front until they are sorted.
            key = coded["place"].cast("string").lpad(_PLACE_DIGITS, "0") + coded["hash"]
            lists = coded.group_by("query").aggregate(parts=key.collect())
            ordered = lists["parts"].sort().map(lambda part: part.substr(_PLACE_DIGITS))
        else:
            lists = coded.group_by("query").aggregate(parts=coded["hash"].collect())
            ordered = lists["parts"].sort()
        return lists.select("query", hashed=ordered.join(" "))


def _parts(log: SearchLog) -> ir.Table:
    """The words of every distinct query: query, place, token."""
    rows = log.queries
    # Texts that differ only in what normal form removes have one query, and words that cut into the same tokens.
    texts = rows.group_by("query").aggregate(words=rows["words"].min())
    cut = texts.mutate(token=texts["words"].split(" ")).unnest("token", offset="place")
    tokens = cut.select("query", "place", token=item_kinds.keyword_of(cut["token"]))
    return tokens.filter(tokens["token"] != "")


def _events(log: SearchLog) -> ir.Table:
    """Query events without their sessions; without times every row is one."""
    if "time" in log.columns:
        return log.queries.select("user", "time", "query").distinct()
    return log.queries.select("query")


def _strings(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches with plain strings, whatever kind of text an engine has."""
    schema = pa.schema([("query", pa.string())])
    for batch in batches:
        yield pa.record_batch([batch.column(0).cast(pa.string())], schema=schema)
