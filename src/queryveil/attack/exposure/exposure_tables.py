"""What the exposure attack says to people: which release is the most exposed one, tables, sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from queryveil.attack.exposure.found import Exposure
from queryveil.attack.protocol import Table, clopper_pearson
from queryveil.language.spotting import KNOWN_IS, Spotter, is_readable

LABELS: Final[Mapping[str, str]] = {
    "person": "person",
    "non-star": "non-star person",
    "company": "company",
    "place": "place",
    "adult": "adult term",
    "revealing": "revealing term",
    "identifier": "identifier",
    "non-star+place": "non-star and place",
    "non-star+company": "non-star and company",
    "non-star+adult": "non-star and adult term",
    "non-star+revealing": "non-star and revealing term",
    "person+place": "person and place",
}


def ranked(found: Sequence[Exposure]) -> list[Exposure]:
    """The most exposed first: the one in which most texts name a person, of equals the larger share, then as named.

    Persons count, not shares: two names among five texts do not outweigh a hundred among a thousand. Nor does the
    control decide, which is a count of another kind where words have no order. Nothing here is drawn at random.
    """
    return sorted(found, key=lambda one: (-one.hits, -one.success))


def near(ranked: Sequence[Exposure]) -> list[Exposure]:
    """Those whose number is so near the first one's that chance may have decided: of both together, about half."""
    first, *others = ranked
    return [
        one
        for one in others
        if not first.hits or clopper_pearson(first.hits, first.hits + one.hits)[0] <= 1 / 2
    ]


def _most(ranked: Sequence[Exposure]) -> str:
    first, *others = ranked
    if not first.hits:
        return f"None of the {len(ranked)} releases names a person."
    rest = ", ".join(f"{one.name} in {one.hits:,}" for one in others)
    most = (
        f"Of {len(ranked)} releases, {first.name} names persons in the most different queries: {first.hits:,}"
    )
    close = [f"{one.hits:,}" for one in near(ranked)]
    if not close:
        return f"{most}; {rest}."
    return (
        f"{most}; {rest}. {first.hits:,} and {' or '.join(close)} are too close to tell apart: the difference may be "
        "chance."
    )


def tables(found: list[Exposure]) -> list[tuple[str, Table]]:
    """Within sessions, different queries, occurrences: a column for each subject, two if its truth is known."""
    made = []
    for title, key, total in (
        ("within sessions", "sessions", "units"),
        ("different queries", "queries", "texts"),
        ("occurrences", "occurrences", "occurrences"),
    ):
        columns: list[tuple[str, Mapping[str, int] | None, int | None]] = []
        for one in found:
            counts: Mapping[str, Any] = one.as_dict()["counts"]
            believed = ", believed" if one.correct else ""
            columns.append((one.name + believed, counts[key], getattr(one, total)))
            if one.correct:
                columns.append((f"{one.name}, correct", one.correct[key], getattr(one, total)))
        rows: list[tuple[str, ...]] = [(title, *(name for name, _, _ in columns))]
        rows.append(("all", *(_number(number) for _, _, number in columns)))
        for category, label in LABELS.items():
            rows.append((label, *(_number(part[category] if part else None) for _, part, _ in columns)))
        made.append(("", tuple(rows)))
    return made


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def said(
    star: int,
    found: list[Exposure],
    ranked: list[Exposure],
    reference: str | None,
    spotter: Spotter,
) -> Iterator[tuple[str, str]]:
    worst = ranked[0]
    low, high = worst.interval
    yield (
        "Found",
        f"{worst.hits:,} of {worst.texts:,} different queries of {worst.name} name a person: "
        f"{100 * worst.success:.2f} %. {_chance(worst)} it is {100 * worst.control:.2f} %. The advantage is "
        f"{100 * (worst.success - worst.control):.2f} percentage points, with a 95 % interval of {100 * low:.2f} to "
        f"{100 * high:.2f}.{'' if low > 0 else _no_advantage(worst)}"
        if worst.texts
        else f"Nothing: {worst.name} has no text.",
    )
    if len(ranked) > 1 and worst.what != "log":
        yield "Most", _most(ranked)
    yield (
        "Linked",
        "; ".join(
            f"{one.name}: "
            + (f"{one.units:,} {one.linked_by}" if one.linked_by else "nothing links one query to another")
            + ("" if one.ordered else ", words in no order")
            for one in found
        )
        + ".",
    )
    unread = [one for one in found if not is_readable(one.words_known)]
    if unread:
        shares = ", ".join(f"{100 * (one.words_known or 0):.0f} % of {one.name}" for one in unread)
        yield (
            "Language",
            f"Too few words are {KNOWN_IS}: {shares}. The text seems to be in another language. Few persons, places, "
            "companies and terms were found, but there may be many more.",
        )
    counted = f"in {reference}" if reference else "in the release itself (no raw log was given)"
    yield (
        "Star",
        f"A name that occurs {star:,} times or more {counted} counts as a famous person's (a star's). The raw log is "
        "the best place to count: a name that is rare in a release may be famous.",
    )
    yield (
        "Spotter",
        f"It looks only at words and their neighbours: {spotter.about}. It misses names that are not in the census, "
        "and takes some words for names. The control counts words that are neighbours by chance, but not phrases "
        "such as 'penny stocks'.",
    )


def _chance(one: Exposure) -> str:
    return "Read backwards" if one.ordered else "With words shuffled between queries"


def _no_advantage(one: Exposure) -> str:
    """What a control as large as success says, and what it does not."""
    if not one.hits:
        return " Finding nobody does not show that nobody is named."
    if one.ordered:
        return " So chance alone could explain this number. But some of these may still be people."
    return " A shuffle can make more names than chance does. So a result below it does not show that nobody is named."
