"""What the studies of private histograms share: publishing by ZEALOUS or by k-query anonymity, and drawing lines.

Goetz et al. compare both on one log. A method is measured only where its own parameters vary: ZEALOUS along epsilon and
m, k-query anonymity along k.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.errors import CannotBeMet, InputError
from queryveil.measure.measure import Original
from queryveil.mechanisms import Mechanism, sessions
from queryveil.mechanisms.k_query import KQuery
from queryveil.mechanisms.zealous.zealous import Zealous
from queryveil.study.declaration import Axis, Cell, Findings, Given, Row

ZEALOUS, K_QUERY = "zealous", "k-query"
NAMES = {ZEALOUS: "ZEALOUS", K_QUERY: "k-query anonymity"}

ITEMS = Axis("items", ("keywords", "queries", "query-pairs", "clicks"), "what is counted")
METHOD = Axis("method", (ZEALOUS, K_QUERY), "how the log is published")
EPSILON = Axis("epsilon", (1.0, 2.0, 3.0, 5.0, 7.0, 10.0), "privacy loss per user (ZEALOUS)")
DELTA = Axis("delta", (1e-3,), "probability that the loss is exceeded (ZEALOUS)")
M = Axis("m", (1,), "items that one user may add (ZEALOUS)")
K = Axis("k", (10, 20, 40, 60, 80, 100), "users that a query must have (k-query anonymity)")

_COLUMNS = {"query-pairs": "time", "clicks": "url"}
"""What some items need beside user and query."""
_OWN = {ZEALOUS: ("epsilon", "delta", "m"), K_QUERY: ("k",)}


def prepare(given: Given) -> Original:
    """The log with its texts in normal form once, not once for every release."""
    log = given.the_log
    table = log.engine.put_aside(log.table, log.workspace)
    return Original(dataclasses.replace(log, table=table, source=table.drop("words")))


def differs(given: Given, cell: Cell) -> bool:
    """Parameters of the other method stay at their first value; k-query anonymity publishes no clicks."""
    method = cell.values.get("method", ZEALOUS)
    foreign = [name for other, names in _OWN.items() if other != method for name in names]
    first = all(cell[name] == given.axes[name][0] for name in foreign if name in cell.values)
    return first and not (method == K_QUERY and cell.values.get("items") == "clicks")


def possible(given: Given, cells: Sequence[Cell]) -> None:
    """Refuse a log without the columns that the items of these cells need, and no more than these."""
    kinds = list(dict.fromkeys(cell["items"] for cell in cells))
    others = ",".join(kind for kind in kinds if kind not in _COLUMNS)
    for kind in kinds:
        column = _COLUMNS.get(kind)
        if column is not None and column not in given.the_log.columns:
            raise InputError(
                f"counting {kind} needs a '{column}' column, and the log has none",
                f"name it with --columns {column}=..., or leave them out with --vary items={others or 'queries'}",
            )
    if any(cell.values.get("method") == K_QUERY for cell in cells):
        sessions.check(given.the_log)


def mechanism(cell: Cell) -> Mechanism:
    if cell.values.get("method", ZEALOUS) == K_QUERY:
        return KQuery(k=cell["k"])
    return Zealous(
        epsilon=cell["epsilon"],
        delta=cell["delta"],
        max_items=cell["m"],
        items=(cell["items"],),
        guarantee="probabilistic",  # the paper's guarantee
    )


def mechanism_of(items: str, cell: Cell) -> Mechanism:
    """For a study of one kind of item."""
    return mechanism(Cell({**cell.values, "items": items}))


def drawn(
    found: Findings, x: Scale, y: Scale, by: str, by_title: str, words: Words, panel: str | None = None
) -> Any:
    """Means over the runs as lines, the runs as points."""
    keep = [x.column, by, *([panel] if panel else [])]
    places = dict.fromkeys(tuple(one[name] for name in keep) for one in found)
    lines = []
    for place in places:
        here = dict(zip(keep, place, strict=True))
        lines.append({**here, "value": found.where(**here).value})
    if not lines:
        raise CannotBeMet(f"the log has too little for a figure of {y.title}", "use a longer log")
    points = [{**{name: one[name] for name in keep}, "value": one["value"]} for one in found]
    return figures.curves(
        _texts(lines, by), _texts(points, by), x=x, y=y, by=by, by_title=by_title, words=words, panel=panel
    )


def _texts(rows: Iterable[Row], by: str) -> list[Row]:
    return [{**one, by: NAMES.get(str(one[by]), str(one[by]))} for one in rows]


def scale_of(found: Findings, column: str, title: str, *, log: bool = False) -> Scale:
    ticks = tuple(sorted(found.values(column)))
    whole = "d" if all(isinstance(one, int) for one in ticks) else "~g"
    return Scale(column, title, log=log, ticks=ticks, format=whole, zero=False)
