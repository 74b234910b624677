"""What an attack found, in a terminal, in a notebook and as a picture. Texts of a log are never in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queryveil.charts.cards import Card, CardTable, Shown, counted, percent

if TYPE_CHECKING:
    from queryveil.attack.protocol import AttackResult, Table
    from queryveil.charts.pictures import Picture


class ShownAttack(Shown):
    """How the result of an attack shows itself. Its examples are left out: they are words of the log."""

    def _card(self) -> Card:
        made = cast("AttackResult", self)
        low, high = made.interval
        facts: list[tuple[str, object]] = [
            ("success", percent(made.success)),
            ("control", percent(made.control)),
            ("advantage", f"{percent(made.advantage)} ({percent(low)} to {percent(high)})"),
            ("trials", counted(made.trials, "trial") if made.trials else "none: exact"),
        ]
        words = [f"{label}: {sentence}" if label else sentence for label, sentence in made.words]
        tables = [_shown("Results", made.table), *(_shown(title, table) for title, table in made.more)]
        line = f"{made.attack}; success {percent(made.success)}, control {percent(made.control)}"
        return Card(f"Attack {made.attack}", line, facts, words, [one for one in tables if one.columns])

    def plot(self) -> Picture:
        """How often the attack succeeded, and how often its control did, as bars."""
        from queryveil.charts import pictures

        made = cast("AttackResult", self)
        rows = [
            ("attack", made.success, percent(made.success)),
            ("control", made.control, percent(made.control)),
        ]
        for one in made.each.values():
            rows.append((one.of, one.success, percent(one.success)))
        better = "better than" if made.interval[0] > 0 else "not shown to be better than"
        return pictures.bars(f"The attack {made.attack} is {better} its control", rows, "share of successes")


def _shown(title: str, table: Table) -> CardTable:
    return CardTable(title, table[0] if table else (), table[1:])
