"""A plan in a terminal and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queryveil.charts.cards import Card, CardTable, Shown

if TYPE_CHECKING:
    from queryveil.charts.pictures import Picture
    from queryveil.mechanisms.base import Plan


class ShownPlan(Shown):
    """How a plan shows itself."""

    def _card(self) -> Card:
        return _card(cast("Plan", self))

    def plot(self) -> Picture:
        """What a suspicion about a person can become once such a release is read: the plot of the guarantee."""
        return cast("Plan", self).guarantee.plot()


def _card(plan: Plan) -> Card:
    facts: list[tuple[str, object]] = [("guarantee", plan.guarantee.headline), ("publishes", plan.what)]
    facts += [(f"parameter {name}", _value(value)) for name, value in plan.parameters.items()]
    facts += [
        (plan.labels.get(name, name.replace("_", " ")), value)
        for name, value in plan.calibration.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    columns = [
        (table.name, ", ".join(column.name for column in table.columns), table.row) for table in plan.tables
    ]
    tables = (CardTable("Tables", ("table", "columns", "a row is"), columns),)
    words = (plan.guarantee.plain_words(), *(f"Warning: {one}" for one in plan.warnings), *plan.expected)
    return Card(f"Plan of {plan.method}", f"{plan.method}; {plan.guarantee.headline}", facts, words, tables)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
