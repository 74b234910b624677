"""From a log to transactions over a taxonomy, and from groups of them to a table: what Clump and Partition share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.catalog import Sentence, paragraph
from queryveil.errors import CannotBeMet, argument
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS
from queryveil.mechanisms.base import MOST_UNKNOWN, Mechanism, Plan, Run, warn_of_unknown
from queryveil.mechanisms.crowds import TEXT_LISTS, crowd_plan
from queryveil.mechanisms.taxonomy_items import items_of
from queryveil.parameters import COUNTED, param
from queryveil.privacy.declarations import GROUP, LABELS, QUERIES, USERS, WORDS, PublishedTable, columns
from queryveil.privacy.statements import NO, NOT_EXCLUDED, Statement, assessment, say

if TYPE_CHECKING:
    from queryveil.mechanisms.transactions.algorithms import Bags, Grouping, Tree
    from queryveil.reading.log import SearchLog

TRANSACTIONS = (USERS, QUERIES)
SHARED = "transaction"
FAKE_ACCOUNTS = "fake-accounts"
CAVEATS = tuple(
    say(code, Sentence(f"statement.{code}.transactions"))
    for code in ("all-alike", "known-members", FAKE_ACCOUNTS, "no-sum")
)
TAXONOMY_IS_PUBLIC = say("taxonomy-is-public")
TABLE = PublishedTable(
    name="transactions",
    noun="transactions",
    row=Sentence("transactions.row"),
    columns=columns(
        ("group", "items"),
        {name: Sentence(f"transactions.column.{name}") for name in ("group", "items")},
    ),
    texts=LABELS,
    links=GROUP,
)

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Vocabulary:
    """A taxonomy, and the words that it is not asked for."""

    taxonomy: Taxonomy
    skipped: frozenset[str]
    whole: bool = False
    """Whether a query is one item, not its words."""

    @property
    def noun(self) -> str:
        """What is looked up."""
        return QUERIES if self.whole else WORDS

    @staticmethod
    def of(file: str | None, *, whole: bool = False) -> Vocabulary:
        if file is None:
            # Function words are nouns in WordNet by accident; in someone's own taxonomy a word is what it says.
            return Vocabulary(Taxonomy.wordnet(), FUNCTION_WORDS, whole)
        return Vocabulary(Taxonomy.from_file(Path(file)), frozenset(), whole)


@dataclass(frozen=True)
class Coded:
    """A log's transactions as numbers: concepts of a pruned taxonomy, and whose each transaction is."""

    taxonomy: Taxonomy
    tree: Tree
    bags: Bags
    users: Codes
    uncovered: pa.Table
    """Words that no concept stands for, with how many transactions have them and why. For the curator."""
    unknown: float
    """Share of the log's words, as often as they are posed and function words aside, that the taxonomy lacks."""


def whose_transactions() -> Any:
    """The parameter that says what a transaction is."""
    return param(
        "one transaction per user (merged words) or per query",
        details="Groups have k users either way",
        choices=TRANSACTIONS,
        default="users",
        group=COUNTED,
    )


def taxonomy_file() -> Any:
    """The parameter that names the taxonomy."""
    return param(
        "file of child and parent in two columns; WordNet's nouns if left out",
        details="[Your own taxonomy](taxonomy.md#your-own-taxonomy). If it has no word of the log, the exit "
        "code is 5",
        path=True,
        default=None,
        group=COUNTED,
    )


class Generalising(Mechanism, Protocol):
    """What Clump and Partition have in common."""

    @property
    def k(self) -> int: ...
    @property
    def transactions(self) -> str: ...
    def vocabulary(self) -> Vocabulary: ...


def plan(method: Generalising, grouping: str, rules: Mapping[str, Any]) -> Plan:
    """What is promised; `grouping` says how groups are found: `better`, `paper`, or `partition`, with its `rules`."""
    vocabulary = method.vocabulary()
    replaced = Sentence(f"transactions.how.{'whole' if vocabulary.whole else method.transactions}")
    return crowd_plan(
        method,
        method.k,
        SHARED,
        assumed=(TAXONOMY_IS_PUBLIC,),
        caveats=tuple(_with_rules(one, rules) for one in CAVEATS),
        table=dataclasses.replace(TABLE, rows_of=method.transactions, items_of=vocabulary.noun),
        what=Sentence(f"transactions.what.{method.transactions}", k=method.k),
        how=paragraph(
            replaced,
            Sentence("transactions.how.senses") if vocabulary.skipped and not vocabulary.whole else "",
            Sentence(f"transactions.how.{grouping}"),
            Sentence("transactions.how.published", k=method.k),
        ),
        taxonomy=vocabulary.taxonomy.identity,
        assessment=_assessment(method.k),
    )


def _with_rules(caveat: Statement, rules: Mapping[str, Any]) -> Statement:
    """By which rules accounts of one's own can choose: those by which groups are found."""
    return (
        dataclasses.replace(caveat, fields=tuple(rules.items())) if caveat.code == FAKE_ACCOUNTS else caveat
    )


def _assessment(k: int) -> tuple[Statement, ...]:
    return assessment(
        singling_out=(NO, Sentence("transactions.singling-out", k=k)),
        linkability=(NOT_EXCLUDED, Sentence("transactions.linkability", k=k)),
        inference=(NOT_EXCLUDED, Sentence("transactions.inference")),
        disclosed=Sentence("transactions.disclosed", k=k),
        checked=Sentence("transactions.checked", k=k),
    )


def publish(
    log: SearchLog,
    run: Run,
    vocabulary: Vocabulary,
    transactions: str,
    group: Callable[[Tree, Bags, Codes], Grouping],
) -> dict[str, pa.Table]:
    """Code the log, group its transactions, and write every one as what its group has in common."""
    with run.stage("map") as say:
        coded = code(log, vocabulary, transactions)
        run.private["uncovered-words"] = coded.uncovered
        _warn_coverage(run, coded, vocabulary)
        say(
            f"{len(coded.bags):,} {transactions} with {len(coded.bags.items):,} items; "
            f"{coded.uncovered.num_rows:,} {vocabulary.noun} have no concept and are left out "
            "(uncovered-words.parquet in the private folder)"
        )
    with run.stage("group") as say:
        found = group(coded.tree, coded.bags, coded.users)
        # Of users also those who posed nothing but empty queries, and are no transaction at all.
        of = log.users if transactions == "users" else len(coded.bags)
        empty = of - len(coded.bags) + found.empty
        figures = {**asdict(found.quality), "empty": empty, "groups": len(found.published)}
        run.private["quality"] = pa.table(
            {"measure": list(figures), "value": pa.array(map(float, figures.values()), pa.float64())}
        )
        say(
            f"{len(found.published):,} groups; {empty:,} {transactions} without items are left out; distortion "
            f"{found.quality.ggd_per_item:.3f} per item (1 is suppressing all)"
        )
    with run.stage("protect"):
        return {"transactions": _published_table(found, coded.taxonomy, run)}


def _warn_coverage(run: Run, coded: Coded, vocabulary: Vocabulary) -> None:
    """Tell the curator if little of the log can be in the release. The share is the log's, and never published."""
    if coded.unknown > MOST_UNKNOWN:
        warn_of_unknown(run, coded.unknown, vocabulary.noun)


# -- from words to concepts ----------------------------------------------------------------------------------


def code(log: SearchLog, vocabulary: Vocabulary, transactions: str) -> Coded:
    """Every user's merged words, or every query, as concepts of the taxonomy that occur."""
    from queryveil.mechanisms.transactions.algorithms import Bags, Tree

    users, texts, distinct_texts = _user_texts(log, transactions)
    found = items_of(distinct_texts, vocabulary.taxonomy, whole=vocabulary.whole)
    flat, starts, known_words, concepts = found.flat, found.starts, found.texts, found.concepts
    skipped = np.fromiter((word in vocabulary.skipped for word in known_words), np.bool_, len(known_words))
    concepts = np.where(skipped, np.int32(-1), concepts)
    if not (concepts >= 0).any():
        raise CannotBeMet(
            f"the taxonomy has a concept for none of this log's {vocabulary.noun}",
            f"give one that knows its {vocabulary.noun} with {argument('taxonomy')}"
            + ("" if vocabulary.skipped else ", or leave it out for WordNet"),
        )
    lengths = (starts[1:] - starts[:-1])[texts]
    words = flat[ranges(starts[:-1][texts], lengths)]
    owners = np.repeat(users if transactions == "users" else np.arange(len(texts)), lengths)
    covered = concepts[words] >= 0
    meant = ~skipped[words]
    unknown = float((meant & ~covered).sum() / max(1, meant.sum()))
    uncovered = _uncovered_words(known_words, skipped, owners[~covered], words[~covered])
    owners, items = owners[covered], concepts[words[covered]]
    people = np.arange(int(users[-1]) + 1) if transactions == "users" else users
    if transactions == "users":  # without duplicates after mapping
        owners, items = _distinct_pairs(owners, items, len(vocabulary.taxonomy))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(people)))))
    pruned = vocabulary.taxonomy.prune(np.unique(items))
    return Coded(
        pruned, Tree(pruned.parents), Bags(pruned.map_concepts(items), offsets), people, uncovered, unknown
    )


def _user_texts(log: SearchLog, transactions: str) -> tuple[Codes, Codes, pa.StringArray]:
    """User and text of each row as numbers, and the texts. Users' numbers ascend; every engine gives the same.

    The order decides ties in grouping, so it must be total, and one that a log has on any engine.
    """
    timed = ["time"] if transactions == "queries" and "time" in log.columns else []
    rows = log.queries.select("user", *timed, "query").distinct().order_by(["user", *timed, "query"])
    users, texts = [], []
    for batch in log.engine.batches(rows.select("user", "query")):
        users.append(batch.column("user").cast(pa.string()).dictionary_encode())
        texts.append(batch.column("query").cast(pa.string()).dictionary_encode())
    user_codes, _ = _unify_codes(users)
    text_codes, different = _unify_codes(texts)
    return user_codes, text_codes, different


def _unify_codes(parts: list[pa.DictionaryArray]) -> tuple[Codes, pa.StringArray]:
    """Codes by first appearance, and what they stand for."""
    whole = pa.chunked_array(parts, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    if not len(whole):
        return np.empty(0, np.int64), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks]).astype(np.int64)
    return codes, whole.chunk(0).dictionary


def _distinct_pairs(
    owners: Codes, values: npt.NDArray[np.int32], below: int
) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Distinct pairs in order; values are below a limit."""
    pairs = np.sort(owners * below + values)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return pairs // below, (pairs % below).astype(np.int32)


def _uncovered_words(
    words: Sequence[str], skipped: npt.NDArray[np.bool_], owners: Codes, uncovered: npt.NDArray[np.int32]
) -> pa.Table:
    """Uncovered words with the number of transactions that have them, most frequent first."""
    _, once = _distinct_pairs(owners, uncovered, len(words))
    times = np.bincount(once, minlength=len(words)).tolist()
    ranked = sorted(np.unique(once).tolist(), key=lambda word: (-times[word], words[word]))
    reasons = ("not in the taxonomy", "function word")
    return pa.table(
        {
            "word": pa.array([words[word] for word in ranked], pa.string()),
            "transactions": pa.array([times[word] for word in ranked], pa.int64()),
            "reason": pa.array([reasons[int(skipped[word])] for word in ranked], pa.string()),
        }
    )


# -- from groups to a table ----------------------------------------------------------------------------------


def _published_table(found: Grouping, taxonomy: Taxonomy, run: Run) -> pa.Table:
    """One row per transaction under its group's random number, in the order of these numbers.

    Rows of a group are equal, so that nothing depends on where a member stood in the log. Labels are copied cell by
    cell: a dictionary would tell concepts of the log that are not published.
    """
    names = taxonomy.labels(range(len(taxonomy)))
    published = _by_name(found.published, names)
    numbers = run.noise.permutation(len(published))
    sizes = np.bincount(found.groups[found.groups >= 0], minlength=len(numbers))
    by_number = np.argsort(numbers)
    groups = np.repeat(by_number, sizes[by_number])
    lengths = published.lengths[groups]
    items = published.items[ranges(published.offsets[:-1][groups], lengths)]
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())  # refuses what does not fit
    shown = pa.array(names, pa.string()).take(pa.array(items))
    lists = pa.ListArray.from_arrays(offsets, shown, type=TEXT_LISTS)
    return pa.table({"group": pa.array(numbers[groups], pa.int64()), "items": lists})


def _by_name(bags: Bags, names: Sequence[str]) -> Bags:
    """Items of each transaction in the order of their names, which anyone can check to tell nothing."""
    place = np.empty(len(names), np.int64)
    place[np.array(sorted(range(len(names)), key=names.__getitem__))] = np.arange(len(names))
    owners = np.repeat(np.arange(len(bags)), bags.lengths)
    return dataclasses.replace(bags, items=bags.items[np.lexsort((place[bags.items], owners))])


def ranges(starts: Codes, lengths: Codes) -> Codes:
    """start, start + 1, ... for each start, as many as its length."""
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if len(ends) else 0
    found: Codes = np.arange(count) + np.repeat(starts - (ends - lengths), lengths)
    return found
