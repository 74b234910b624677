"""What measuring found, in a terminal, in a notebook and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queryveil.charts.cards import Card, CardTable, Shown, counted, number, percent
from queryveil.errors import UsageError, in_python

if TYPE_CHECKING:
    from queryveil.charts.pictures import Picture
    from queryveil.measure.evaluation import Evaluation
    from queryveil.measure.inspection import Inspection

_CURATOR = "For the curator alone: no guarantee covers these figures."
_SHARES = ("share", "probability", "fraction")


class ShownEvaluation(Shown):
    """How an evaluation shows itself."""

    def _card(self) -> Card:
        made = cast("Evaluation", self)
        rows = [(name, number(one.value), one.unit, one.direction) for name, one in made.figures.items()]
        first = ", ".join(f"{name} {number(one.value)}" for name, one in list(made.figures.items())[:3])
        line = f"{made.release}; {counted(len(rows), 'figure')}{f': {first}' if first else ''}"
        more = [("left out", in_python(f"{name}: {why}")) for name, why in made.left_out.items()]
        more += [("note", said) for said in (*made.notes.values(), *made.warnings)]
        tables = [CardTable("Figures", ("measure", "value", "unit", "direction"), iter(rows), len(rows))]
        return Card(f"Evaluation of {made.release}", line, more, (_CURATOR,), tables)

    def plot(self) -> Picture:
        """The figures that are shares, as bars from 0 to 1."""
        from queryveil.charts import pictures

        made = cast("Evaluation", self)
        shares = [
            (name, one.value, percent(one.value))
            for name, one in made.figures.items()
            if one.value is not None and one.unit.startswith(_SHARES) and 0 <= one.value <= 1
        ]
        if not shares:
            raise UsageError("no figure of this evaluation is a share", "look at its measures instead")
        return pictures.bars(f"What {made.release} keeps of the log", shares, "share of 1")


class ShownInspection(Shown):
    """How an inspection shows itself."""

    def _card(self) -> Card:
        made = cast("Inspection", self)
        found = made.uniqueness
        alone = ", ".join(
            f"{percent(share)} by {counted(int(known), 'query')}" for known, share in found.items()
        )
        alone = alone.replace("querys", "queries")
        facts: list[tuple[str, object]] = [
            ("rows", made.rows),
            ("users", made.users),
            ("rejected rows", made.rejected),
        ]
        if made.clicks_without_user:
            facts.append(("clicks that name no user (rejected)", made.clicks_without_user))
        facts += [("from", made.span["first"]), ("to", made.span["last"])] if made.span else []
        facts.append(("users who are unique", alone or "not measured"))
        facts += [("note", one) for one in made.notes]
        kinds = [(name, int(one["distinct"]), one["per_user"]) for name, one in made.items.items()]
        tables = [CardTable("Items", ("kind", "different ones", "per user"), kinds)]
        line = (
            f"{counted(made.rows, 'row')}, {counted(made.users, 'user')}; unique: {alone or 'not measured'}"
        )
        return Card("Inspection of a log", line, facts, (_CURATOR,), tables)

    def plot(self) -> Picture:
        """The share of users who are unique by 1, 2 and 3 of their queries, as bars."""
        from queryveil.charts import pictures

        found = cast("Inspection", self).uniqueness
        if not found:
            raise UsageError(
                "no user of this log has a query, so nobody is unique by one", "read another log"
            )
        rows = [(f"{known} known", share, percent(share)) for known, share in found.items()]
        most = max(found.values())
        return pictures.bars(
            f"Up to {percent(most)} of users are found by a few of their queries", rows, "share of users"
        )
