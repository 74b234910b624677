"""What the studies of private histograms share: ZEALOUS beside k-query anonymity, as Goetz et al. compare them.

Each method is measured only where its own parameters vary: ZEALOUS along epsilon and m, k-query anonymity along k.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from queryveil import InputError
from queryveil.extension import Original, argument
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies.declaration import Axis, Cell, Findings, Given, Row
from queryveil_lab.studies.grid import Entry, Grid, Take, method_axis

ZEALOUS, K_QUERY = "zealous", "k-query"
NAMES = {ZEALOUS: "ZEALOUS", K_QUERY: "k-query anonymity"}

ITEMS = Axis("items", ("keywords", "queries", "query-pairs", "clicks"), "what is counted")
EPSILON = Axis("epsilon", (1.0, 2.0, 3.0, 5.0, 7.0, 10.0), "privacy loss per user (ZEALOUS)")
DELTA = Axis("delta", (1e-3,), "probability that the loss is exceeded (ZEALOUS)")
M = Axis("m", (1,), "items that one user may add (ZEALOUS)")
K = Axis("k", (10, 20, 40, 60, 80, 100), "users that a query must have (k-query anonymity)")

_COLUMNS = {"query-pairs": "time", "clicks": "url"}
"""What some items need beside user and query."""
_SETS = {"epsilon": "epsilon", "delta": "delta", "m": "max_items", "items": "items"}


def _normalize_log(given: Given) -> Original:
    """The log with its texts in normal form once, not once for every release."""
    log = given.the_log
    table = log.engine.put_aside(log.table, log.workspace)
    return Original(dataclasses.replace(log, normal=table, source=table.drop("words")))


def compared(
    *measures: Take, items: str | None = None, alone: bool = False, further: tuple[str, ...] = ("items",)
) -> Grid:
    """ZEALOUS, alone or beside k-query anonymity; of one kind of item, or of every kind on the axis `items`.

    Cells that differ in other further axes alone look at the same releases.
    """
    # The paper's guarantee.
    fixed = {"guarantee": "probabilistic"} | ({"items": (items,)} if items else {})
    zealous, k_query = Entry(ZEALOUS, ZEALOUS, fixed, _SETS), Entry(K_QUERY, K_QUERY, {}, {"k": "k"})
    return Grid(
        (zealous,) if alone else (zealous, k_query),
        measures,
        further=further,
        shared=further != ("items",),
        ready=_normalize_log,
    )


METHOD = method_axis(compared().methods)

# -- both methods in one figure, as the paper draws them: k goes to 100 where epsilon goes to 10 -------------------

_TIMES = 10
PLACE = Scale(
    "place",
    "k of k-query anonymity, and epsilon of ZEALOUS",
    ticks=(10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
    labels=f"['k ' + datum.label, '\u03b5 ' + datum.value / {_TIMES}]",
)


def in_one(found: Findings) -> Findings:
    """Every row with its place along the axis that both methods share."""
    return found.changed(
        lambda row: {"place": float(row["k"] if row["method"] == K_QUERY else _TIMES * row["epsilon"])}
    )


def labelled(row: Row) -> str:
    """The method, with m where it has one."""
    return NAMES[row["method"]] + (f", m = {row['m']}" if row["method"] == ZEALOUS else "")


def publishes(grid: Grid, given: Given, cell: Cell) -> bool:
    """k-query anonymity publishes no clicks."""
    return grid.differs(given, cell) and (cell["method"], cell["items"]) != (K_QUERY, "clicks")


def possible(grid: Grid, given: Given, cells: Sequence[Cell]) -> None:
    """Refuse a log without the columns that the items of these cells need, and no more than these."""
    kinds = list(dict.fromkeys(cell["items"] for cell in cells))
    others = ",".join(kind for kind in kinds if kind not in _COLUMNS)
    for kind in kinds:
        column = _COLUMNS.get(kind)
        if column is not None and column not in given.the_log.columns:
            raise InputError(
                f"counting {kind} needs a '{column}' column, and the log has none",
                f"name it with {argument('columns', {column: '...'})}, or leave them out with "
                f"{argument('vary', {'items': (others or 'queries').split(',')})}",
            )
    grid.plan(given, cells)
