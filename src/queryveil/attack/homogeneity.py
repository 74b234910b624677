"""The homogeneity attack: all who could have posed a query are few, so a crowd of k is most of them.

An attacker need not tell the members of a crowd apart if it shares what he wants to know. Side knowledge is a
population of n people outside of whom nobody poses a query (the staff of a firm, the patients of a surgery); the
release says that at least so many did. A member of the population then did with probability min(1, users/n). How
many users a published query has at least is the method's own promise: k for k-query, the exact count of k-keyword,
a majority of a group for k-session.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.attack.protocol import AttackInput, AttackResult, Progress, Table
from queryveil.catalog import count
from queryveil.errors import InputError, UsageError, argument
from queryveil.parameters import Declared, param, validate
from queryveil.privacy.declarations import LABELS, TYPED, PublishedTable
from queryveil.privacy.guarantee import K_ANONYMITY
from queryveil.reading.text import keywords, normalise

if TYPE_CHECKING:
    from queryveil.release.publish import Release

_DELIMITERS = ("\t", ",", ";", "|")
_MOST_PEOPLE = 10**12
_BANDS = (1.0, 0.5, 0.1, 0.01)
_EXAMPLES = 20

Least = Callable[[str], int]
"""The number of users that a query, or what the method makes of it, has at least; 0 if the release does not say."""


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """A query, how many people could have posed it, and of how many of them it is known anyway."""

    query: str
    people: int
    known: int = 0


@dataclass(frozen=True, kw_only=True)
class HomogeneityAttack(Declared):
    """If nearly everybody in a small group must have made a query, readers learn it about each member."""

    name: ClassVar[str] = "homogeneity"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(name="release", kind="release", help="A k-anonymous release."),
        AttackInput(
            name="population",
            kind="file",
            help="Queries, and how many people could have made each: columns query, n and, if you have it, known.",
            needed=False,
            option=True,
        ),
    )

    query: str | None = param("one query, instead of a file", default=None)
    size: int | None = param(
        "people who could have made that query", ge=1, le=_MOST_PEOPLE, default=None
    )  # fmt: skip
    known: int | None = param(
        "people who are known from elsewhere to have made it; 0 if left out", ge=0, le=_MOST_PEOPLE, default=None
    )  # fmt: skip
    show_examples: bool = param("show the queries about which the attacker is surest", default=False)

    def __post_init__(self) -> None:
        validate(self)
        if (self.query is None) != (self.size is None):
            raise UsageError(
                "a query was given without the size of its population, or the size without a query",
                f"pass {argument('query')} and {argument('size')}",
            )
        if self.known is not None and self.query is None:
            raise UsageError(
                f"{argument('known')} is for a single query",
                f"pass {argument('query')} and {argument('size')} too, or a column 'known' in the file",
            )
        if self.size is not None and (self.known or 0) > self.size:
            raise UsageError(
                f"{argument('known')} is larger than {argument('size')}",
                f"raise {argument('size')} or lower {argument('known')}",
            )

    def run(
        self,
        release: Release,
        population: str | Path | None = None,
        /,
        *,
        progress: Progress | None = None,
    ) -> AttackResult:
        """How sure an attacker is of each query, with the release and without it."""
        suspicions = self._load_suspicions(population)
        least = least_users(release)
        with_release, without, crowds = [], [], []
        for number, one in enumerate(suspicions, 1):
            users = least(normalise(one.query))
            crowds.append(users)
            with_release.append(min(1.0, max(users, one.known) / one.people))
            without.append(one.known / one.people)
            if progress and number % 10_000 == 0:
                progress(number, len(suspicions))
        published = [at for at, users in enumerate(crowds) if users]
        success, control = (
            _mean_share([shares[at] for at in published]) for shares in (with_release, without)
        )
        absent = [at for at, users in enumerate(crowds) if not users]
        certain = sum(with_release[at] >= 1 for at in published)
        figures = {
            "interval_is": "of the advantage: exact for these queries, nothing was sampled",
            "k": release.guarantee.k,
            "method": release.plan.method,
            "queries": len(suspicions),
            "published": len(published),
            "certain": certain,
            "not_published": {
                "queries": len(absent),
                "confidence": _mean_share([with_release[at] for at in absent]),
            },
            "smaller_than_crowd": sum(crowds[at] > suspicions[at].people for at in published),
            "confidence": [with_release[at] for at in range(len(suspicions))],
        }
        return AttackResult(
            attack=self.name,
            success=success,
            control=control,
            interval=(success - control,) * 2,
            trials=len(suspicions),
            figures=figures,
            table=_result_table([with_release[at] for at in published], [without[at] for at in published]),
            words=_summary_sentences(figures, success, control),
            examples=_example_rows(suspicions, crowds, with_release) if self.show_examples else (),
        )

    def _load_suspicions(self, population: str | Path | None) -> Sequence[Suspicion]:
        if (population is None) == (self.query is None):
            raise UsageError(
                "the attack needs to know how many people could have made the query",
                f"pass {argument('population', 'FILE')} with columns query and n, or "
                f"{argument('query')} and {argument('size')}, and not both",
            )
        if population is not None:
            return list(read_population(Path(population)))
        if self.query is None or self.size is None:
            raise AssertionError("checked when the attack was made")
        return [Suspicion(query=self.query, people=self.size, known=self.known or 0)]


# -- what a release says of a query --------------------------------------------------------------------------


def least_users(release: Release) -> Least:
    """How many users a query has at least, by what the release declares its rows to be."""
    k, plan = release.guarantee.k, release.plan
    for name, table in release.tables.items():
        reader = _table_reader(plan.table(name)) if release.guarantee.kind == K_ANONYMITY else None
        if reader is not None and k is not None:
            return reader(table, k)
    if release.guarantee.kind == K_ANONYMITY:
        raise InputError(
            f"this release of {plan.method} lacks a table of queries, words or groups",
            "see what is wrong with queryveil release verify",
        )
    raise InputError(
        f"the homogeneity attack needs crowds of k users, and this release of {plan.method} promises none",
        "name a release of k-query, k-session, k-keyword, clump or partition",
    )


def _table_reader(declared: PublishedTable) -> Callable[[pa.Table, int], Least] | None:
    """How a table is read: rows of queries, counted words, or groups of words or of concepts."""
    if {"session", "query"} <= set(declared.names) and declared.texts == TYPED:
        return _of_queries
    if {"prefix", "count"} <= set(declared.names):
        return _of_keywords
    if {"group", "items"} <= set(declared.names):
        return _of_concepts if declared.texts == LABELS else _of_sessions
    return None


def _of_queries(table: pa.Table, k: int) -> Least:
    published = set(pc.unique(table["query"]).to_pylist())
    return lambda query: k if query in published else 0


def _of_keywords(table: pa.Table, k: int) -> Least:
    """A whole word, with its exact number of users. A prefix says nothing of one word."""
    counts = dict(zip(table["prefix"].to_pylist(), table["count"].to_pylist(), strict=True))

    def least(query: str) -> int:
        words = keywords(query)
        return max(k, counts[words[0]]) if len(words) == 1 and words[0] in counts else 0

    return least


def _of_sessions(table: pa.Table, k: int) -> Least:
    """A keyword of a published set is that of a majority; several need not be the same majority's."""
    sets = {
        group: frozenset(items)
        for group, items in zip(table["group"].to_pylist(), table["items"].to_pylist(), strict=True)
    }
    holding: dict[str, list[frozenset[str]]] = {}
    for one in sets.values():
        for word in one:
            holding.setdefault(word, []).append(one)

    def least(query: str) -> int:
        words = set(keywords(query))
        if not words:
            return 0
        rarest = min(words, key=lambda word: len(holding.get(word, ())))
        return with_all(len(words), k) if any(words <= one for one in holding.get(rarest, ())) else 0

    return least


def with_all(keywords: int, k: int) -> int:
    """How many users of a group have all of so many keywords at least, if each has a majority of k to 2k - 1."""
    sizes = range(k, 2 * k)
    return min(max(0, keywords * (people // 2 + 1) - (keywords - 1) * people) for people in sizes)


def _of_concepts(table: pa.Table, k: int) -> Least:
    """Every member of a group has something at or below a published concept; it is named by its label."""
    published = set(pc.unique(pc.list_flatten(table["items"])).to_pylist())
    return lambda label: k if label in published else 0


# -- side knowledge ------------------------------------------------------------------------------------------


def read_population(file: Path) -> Iterator[Suspicion]:
    """Queries with the number of people who could have posed each, from a text with a header."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            delimiter = next(
                (one for one in _DELIMITERS if {"query", "n"} <= _header_names(first, one)), None
            )
            if delimiter is None:
                raise InputError(
                    f"the population in '{file.name}' has no columns 'query' and 'n'",
                    "name them in the first line, between tabs, commas, semicolons or bars",
                )
            rows = csv.DictReader(
                lines,
                delimiter=delimiter,
                quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
            )
            rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
            empty = True
            for row in rows:
                empty = False
                yield _parse_suspicion(row, rows.line_num, file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"the population in '{file.name}' cannot be read ({type(error).__name__})",
            "give a text file with columns query and n",
        ) from None
    if empty:
        raise InputError(f"the population in '{file.name}' has no rows", "name at least one query")


def _header_names(line: str, delimiter: str) -> set[str]:
    return {name.strip() for name in line.rstrip("\r\n").split(delimiter)}


def _parse_suspicion(row: dict[str, str | None], line: int, file: Path) -> Suspicion:
    people, known = _parse_integer(row.get("n")), _parse_integer(row.get("known") or "0")
    if not row.get("query") or people is None or known is None or not 0 <= known <= people or people < 1:
        raise InputError(
            f"line {line} of the population in '{file.name}' is not a query, a number of people and, if you have it, "
            "a number of known people",
            "give whole numbers, n at least 1 and known at most n",
        )
    return Suspicion(query=str(row["query"]), people=people, known=known)


def _parse_integer(text: str | None) -> int | None:
    """A whole number that is written as one."""
    digits = (text or "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else None


# -- what people read ----------------------------------------------------------------------------------------


def _mean_share(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0


def _result_table(with_release: Sequence[float], without: Sequence[float]) -> Table:
    if not with_release:
        return ()
    rows = [
        (
            "certain" if least == 1 else f"at least {100 * least:g} %",
            f"{sum(one >= least for one in with_release):,}",
            f"{sum(one >= least for one in without):,}",
        )
        for least in _BANDS
    ]
    return (("confidence", "queries, with the release", "without it"), *rows)


def _summary_sentences(
    figures: dict[str, Any], success: float, control: float
) -> tuple[tuple[str, str], ...]:
    if not figures["published"]:
        none = f"None of {figures['queries']:,} queries is in the release. So it says nothing about who made them."
        return (("Found", none),)
    said = [
        (
            "Found",
            f"{figures['published']:,} of {figures['queries']:,} queries are in the release. So each was made by at "
            f"least as many users as {figures['method']} with k = {figures['k']:,} promises. On average the attacker "
            f"is {100 * success:.1f} % sure that a person in the population made the query, and {100 * control:.1f} "
            f"% sure without the release. The attacker is certain for {count(figures['certain'], 'queries')}.",
        ),
        (
            "Assumed",
            "Nobody outside the population made the query, and nobody made it from several accounts. Each account "
            "counts as a user.",
        ),
        (
            "Guarantee",
            "It is not broken: nobody in the crowd can be told from the others. k-anonymity does not stop readers from "
            "learning something about the whole crowd at once.",
        ),
    ]
    if figures["smaller_than_crowd"]:
        said.append(
            (
                "Check",
                f"{figures['smaller_than_crowd']:,} populations are smaller than the crowd that the release promises. "
                "Somebody outside made the query, or somebody made it from several accounts.",
            )
        )
    return tuple(said)


def _example_rows(
    suspicions: Sequence[Suspicion], crowds: Sequence[int], confidences: Sequence[float]
) -> tuple[tuple[str, str], ...]:
    """The queries that are learnt best."""
    order = sorted((at for at, users in enumerate(crowds) if users), key=lambda at: -confidences[at])
    return tuple(
        (
            "Example",
            f"{suspicions[at].query}: at least {crowds[at]:,} of {suspicions[at].people:,} people, "
            f"{100 * confidences[at]:.1f} % sure",
        )
        for at in order[:_EXAMPLES]
    )
