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

from queryveil.catalog import Sentence, paragraph
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
_LINKS = say("sessions-link")


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
        sessions = ".sessions" if linked else ""
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration={},
            guarantee=Guarantee(
                kind=NONE,
                caveats=(*_CAVEATS, _LINKS) if linked else _CAVEATS,
            ),
            tables=(self._declare_table(linked=linked),),
            what=Sentence("token-hash.what"),
            how=paragraph(
                Sentence("token-hash.how", digits=self.digits),
                Sentence(f"token-hash.how.words.{self.token_order}"),
                Sentence(f"token-hash.how.sessions.{self.sessions}"),
                Sentence("token-hash.how.removed"),
            ),
            assessment=assessment(
                singling_out=(YES, Sentence(f"token-hash.singling-out{sessions}")),
                linkability=(YES, Sentence(f"token-hash.linkability{sessions}")),
                inference=(NOT_EXCLUDED, Sentence("token-hash.inference")),
                disclosed=Sentence("token-hash.disclosed"),
                learnt=(
                    Sentence("token-hash.learnt.words"),
                    Sentence(f"token-hash.learnt.person{sessions}"),
                ),
            ),
        )

    def _declare_table(self, *, linked: bool) -> PublishedTable:
        return PublishedTable(
            name="log",
            noun="rows",
            row=Sentence("token-hash.row"),
            columns=columns(
                ("session", "query") if linked else ("query",),
                {"query": Sentence("token-hash.column.query")},
            ),
            counts=OCCURRENCES,
            texts=HASHES,
            links=SESSION if linked else NOTHING,
            order=() if linked else ("query",),
        )

    def check(self, log: SearchLog) -> None:
        if self.sessions == "keep":
            session_rows.check(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        with run.stage("count") as say:
            parts = log.engine.keep(_parts(log))
            distinct = log.engine.batches(parts.select("token").distinct())
            known = self._hash_tokens(distinct, run.noise.key())
            run.private["token-map"] = known
            say(f"{known.num_rows:,} different words, each hashed once")
        with run.stage("protect") as say:
            hashed = self._hash_queries(parts.join(log.engine.register(known), "token"))
            if self.sessions == "keep":
                rows = session_rows.events(log).join(hashed, "query")
                table = session_rows.shuffled(log, rows, "hashed", run.noise)
            else:
                rows = _events(log).join(hashed, "query").select(query="hashed")
                # In the order of the hashes, which tells nothing that the rows do not.
                batches = list(log.engine.batches(rows.order_by("query")))
                table = pa.Table.from_batches(_to_plain_strings(batches), pa.schema([("query", pa.string())]))
            log.engine.drop(parts)
            say(f"{table.num_rows:,} query events with hashes for words")
            return {"log": table}

    def _hash_tokens(self, tokens: Iterable[pa.RecordBatch], key: bytes) -> pa.Table:
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

    def _hash_queries(self, coded: ir.Table) -> ir.Table:
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


def _to_plain_strings(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches with plain strings, whatever kind of text an engine has."""
    schema = pa.schema([("query", pa.string())])
    for batch in batches:
        yield pa.record_batch([batch.column(0).cast(pa.string())], schema=schema)
