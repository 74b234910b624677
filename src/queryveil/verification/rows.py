"""Rows as their tables declare them: above their thresholds, each once, in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.verification import texts
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge
from queryveil.verification.tables import Opened

MAX_COUNT = 10**15
"""More rows than any log has, and more than the largest noise."""


def checks(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """Of all tables, whatever made them; of tables that cannot be read, nothing."""
    declared = manifest.section("tables")
    if not declared or set(declared) - set(opened):
        return []
    tables = {name: opened[name].table for name in declared}
    draws = manifest.content.get("draws")
    above, listed = thresholds(manifest), _list_thresholds(draws)
    return [
        judge(
            "thresholds",
            _passing_text(above, listed),
            lambda: _check_thresholds(tables, declared, above, listed),
        ),
        *_check_deviations(manifest, tables),
        judge(
            "texts",
            Sentence("verify.rows.queries-and-keywords-are-in-normal"),
            lambda: texts.problems(tables, declared),
        ),
        judge(
            "distinct",
            Sentence("verify.rows.no-row-appears-twice-where-all"),
            lambda: _check_duplicates(tables, declared),
        ),
        judge(
            "order",
            Sentence("verify.rows.order-of-rows-tells-nothing-more"),
            lambda: _check_orders(tables, declared),
        ),
        judge(
            "published",
            Sentence("verify.rows.queries-refer-to-another-table-are"),
            lambda: _check_ranges(tables, declared),
        ),
    ]


def thresholds(manifest: Manifest) -> dict[str, int | None]:
    """Return, by table, the threshold that published counts are above: that of the last draw, whose noise they have.

    Malformed draws are left to the checks of draws.
    """
    draws = manifest.content.get("draws")
    found: dict[str, int | None] = {}
    for draw in draws if isinstance(draws, list) else ():
        if isinstance(draw, dict):
            above = draw.get("above")
            found[str(draw.get("table"))] = above if isinstance(above, int) else None
    return found


def _list_thresholds(draws: Any) -> dict[str, tuple[int, int]]:
    """By table the threshold of a public list, and how many items can have it."""
    found: dict[str, tuple[int, int]] = {}
    for draw in draws if isinstance(draws, list) else ():
        public = draw.get("public") if isinstance(draw, dict) else None
        if isinstance(public, dict):
            top, items = public.get("above"), public.get("items")
            if type(top) is int and type(items) is int:
                found[str(draw.get("table"))] = top, items
    return found


def _passing_text(above: Mapping[str, int | None], listed: Mapping[str, tuple[int, int]]) -> str:
    bounded = [
        f"{name} above {top:,}" + (f" ({listed[name][0]:,} on the public list)" if name in listed else "")
        for name, top in above.items()
        if top is not None
    ]
    if not bounded:
        return Sentence("verify.rows.no-count-has-threshold-of-its")
    return Sentence("verify.rows.counts-are-above-their-thresholds", join=", ".join(bounded))


def _check_thresholds(
    tables: Mapping[str, pa.Table],
    declared: Mapping[str, Any],
    above: Mapping[str, int | None],
    listed: Mapping[str, tuple[int, int]],
) -> Iterator[str]:
    for name, table in tables.items():
        top, least = above.get(name), declared[name].get("least")
        low = _at_most(table, top)
        if name in listed and top is not None:
            # Which rows are on the list only its file tells; but there are no more than it has items.
            own, items = listed[name]
            if low > items:
                yield Sentence("verify.rows.more-rows-of-table-are-below", name=name, top=top)
            top = min(top, own)
            low = _at_most(table, top)
        if low:
            yield Sentence("verify.rows.counts-of-table-are-not-above", low=low, name=name, top=top)
        huge = pc.sum(pc.greater(table["count"], MAX_COUNT)).as_py() if "count" in table.column_names else 0
        if huge:
            yield Sentence(
                "verify.rows.counts-of-table-are-above-more", huge=huge, name=name, max_count=MAX_COUNT
            )
        below = 0 if least is None else pc.sum(pc.less(table["count"], least)).as_py() or 0
        if below:
            yield Sentence("verify.rows.counts-of-table-are-below", below=below, name=name, least=least)


def _at_most(table: pa.Table, top: int | None) -> int:
    """Rows whose count is not above a threshold."""
    return 0 if top is None else pc.sum(pc.less_equal(table["count"], top)).as_py() or 0


def _check_deviations(manifest: Manifest, tables: Mapping[str, pa.Table]) -> list[Check]:
    """The check of deviations, if any table has them."""
    stated = [name for name, table in tables.items() if "deviation" in table.column_names]
    if not stated:
        return []
    return [
        judge(
            "deviations",
            Sentence("verify.rows.every-deviation-is-one-declared-noise"),
            lambda: (
                Sentence("verify.rows.deviations-of-table-do-not-follow", wrong=wrong, name=name)
                for name in stated
                if (wrong := _wrong_deviations(manifest, name, tables[name]["deviation"]))
            ),
        )
    ]


def _wrong_deviations(manifest: Manifest, name: str, column: pa.ChunkedArray) -> int:
    """Count deviations that no weight gives: a row of weight b, from 1 to the grid, has the noise scale over b.

    docs/proofs/steered.md, step 5. The weight of a row is not published, so this bounds the deviation from below, by
    the noise of a row that counts users fully.
    """
    scale, grid = noise_of_counts(manifest, name)
    deviations = pc.fill_null(column, 0).to_numpy()
    # The smallest weight whose deviation is not above the stated one.
    weights = -(-scale // np.maximum(deviations, 1))
    good = (deviations >= 1) & (weights <= grid) & (-(-scale // weights) == deviations)
    return int((~good).sum())


def noise_of_counts(manifest: Manifest, name: str) -> tuple[int, int]:
    """The noise scale of a table's last draw, and the weight of a row that counts users fully."""
    draws = [one for one in manifest.content["draws"] if one["table"] == name]
    return int(draws[-1]["scale"]), int(manifest.section("calibration")["grid"])


def _check_duplicates(tables: Mapping[str, pa.Table], declared: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        unique = list(declared[name]["unique"])
        twice = table.num_rows - table.group_by(unique).aggregate([]).num_rows if unique else 0
        if twice:
            yield Sentence("verify.rows.rows-of-table-appear-twice", twice=twice, name=name)


def _check_orders(tables: Mapping[str, pa.Table], declared: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        keys = declared[name]["order"]
        if keys and not _is_ordered(table, keys):
            order = ", ".join(f"{key} (largest first)" if key == "count" else key for key in keys)
            yield Sentence("verify.rows.table-is-not-ordered-by", name=name, order=order)


def _is_ordered(table: pa.Table, keys: list[str]) -> bool:
    """Whether each row is at or after the one before it, text being compared by its bytes."""
    if table.num_rows < 2:
        return True
    tied: pa.ChunkedArray | None = None
    for key in keys:
        column = table[key].cast(pa.binary()) if pa.types.is_string(table[key].type) else table[key]
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        wrong = pc.less(before, after) if key == "count" else pc.greater(before, after)
        if pc.any(wrong if tied is None else pc.and_(tied, wrong)).as_py():
            return False
        same = pc.equal(before, after)
        tied = same if tied is None else pc.and_(tied, same)
    return True


def _check_ranges(tables: Mapping[str, pa.Table], declared: Mapping[str, Any]) -> Iterator[str]:
    for name, table in tables.items():
        for column, place in declared[name].get("inside", {}).items():
            where, _, other = place.partition(".")
            published = tables[where][other].combine_chunks()
            strange = pc.sum(pc.invert(pc.is_in(table[column], published))).as_py() or 0
            if strange:
                yield Sentence(
                    "verify.rows.rows-of-table-have-is-not", strange=strange, name=name, column=column
                )
