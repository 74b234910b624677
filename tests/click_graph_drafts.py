"""Click-graph releases made by hand, with figures that fit each other, for the tests of the verifier."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from queryveil.verification.graph_worth import paper_threshold, thresholded

from tests.verification.test_verification import ADD_REMOVE, LISTS, SESSIONS, Draft, promised, table, tables

SUGGESTIONS = "the suggestion lists are public: a function of the query alone"
NOT_COVERED = "the clicked urls are taken from the log itself and are not covered by any guarantee"
LN10 = math.log(10)


def up(number: Decimal | Fraction) -> float:
    value = float(number)
    return value if Fraction(value) >= Fraction(number) else math.nextafter(value, math.inf)


def above(most: int, scale: float, top: int, *, once: bool = False) -> dict[str, Any]:
    """The figures of a noisy threshold."""
    worth = thresholded(most, scale, top, once=once)
    return {
        "noise_scale": scale,
        "threshold": top,
        "epsilon": up(worth.epsilon),
        "delta": min(1.0, up(worth.delta)),
    }


def listed(most: int, scale: float) -> dict[str, Any]:
    """The figures of noisy counts on public lists."""
    return {"noise_scale": scale, "epsilon": up(Fraction(most) / Fraction(scale))}


def theorem(most: int, scale: float, top: float, more: float = 0.0) -> dict[str, Any]:
    """The paper's alpha, epsilon and delta."""
    alpha = max(math.exp(1 / scale), 1 + 1 / (2 * math.exp((top - 1) / scale) - 1))
    return {
        "noise_scale": scale,
        "threshold": top,
        "alpha": alpha,
        "epsilon": most * math.log(alpha) + more,
        "delta": most / 2 * math.exp((most - top) / scale),
    }


def graph(
    parameters: dict[str, Any], calibration: dict[str, Any], guarantee: dict[str, Any], **rows: pa.Table
) -> Draft:
    common = {
        "max_queries": 20,
        "count": "occurrences",
        "counts": "reuse",
        "urls": "public",
        "analysis": "tight",
        "non_negative": False,
    }
    made = Draft(
        {
            "format": "queryveil-release",
            "format_version": 1,
            "method": "click-graph",
            "what": "The click graph of a search log",
            "how": "Each user's first 20 queries were counted.",
            "parameters": common | parameters,
            "calibration": calibration,
            "guarantee": guarantee,
            "tables": {},
            "software": {"name": "queryveil", "version": "0.1.0"},
            "created": "2025-01-31",
        },
        rows,
    )
    made.describe()
    return made


def part(kind: str, epsilon: float, delta: float, *assumed: str, of: str = "") -> dict[str, Any]:
    return promised(kind, epsilon, delta, ADD_REMOVE, *assumed) | ({"of": of} if of else {})


def queries() -> Draft:
    """The specification's example: e^epsilon = 10, delta = 1e-5, d = 20, so b = 8.69 and K = 121."""
    scale = up(Fraction(20) / Fraction(LN10))
    calibration = above(20, scale, 121) | {"count_for_half": 122, "count_for_99_percent": 156}
    calibration["paper"] = theorem(20, scale, float(paper_threshold(20, LN10, 1e-5)))
    return graph(
        {"epsilon": LN10, "delta": 1e-5},
        calibration,
        part("approximate-dp", LN10, 1e-5),
        queries=table([400, 150, 150, 122], query=["weather", "Zoo", "ant\u00e9", "maps"]),
    )


def paper() -> Draft:
    """The same with the paper's threshold of 140.00."""
    made = queries()
    scale = made.manifest["calibration"]["noise_scale"]
    made.manifest["parameters"]["analysis"] = "paper"
    made.manifest["calibration"] |= above(20, scale, 140)
    made.manifest["calibration"] |= {"count_for_half": 141, "count_for_99_percent": 175}
    tables(queries=table([400, 141], query=["weather", "maps"]))(made)
    return made


def public() -> Draft:
    """Fresh counts, clicks on public results, and suggestions; nothing but the selection has a delta."""
    epsilons = (1.0, 0.5, 2.0, 0.25)
    guarantee = part("approximate-dp", 3.75, 1e-6, LISTS, SESSIONS, SUGGESTIONS)
    guarantee["parts"] = [
        part("approximate-dp", 1.0, 1e-6, of="queries"),
        *(
            part("pure-dp", one, 0.0, LISTS, SESSIONS, SUGGESTIONS, of=of)
            for one, of in zip(epsilons[1:], ("counts of queries", "clicks", "reformulations"), strict=True)
        ),
    ]
    calibration = above(4, 4.0, 59) | {"counts_noise_scale": 8.0}
    calibration |= {"clicks": listed(10, 5.0), "reformulations": listed(3, 12.0)}
    calibration["paper"] = theorem(4, 4.0, float(paper_threshold(4, 1.0, 1e-6)), more=2.75)
    return graph(
        {
            "epsilon": 1.0,
            "delta": 1e-6,
            "max_queries": 4,
            "counts": "fresh",
            "epsilon_counts": 0.5,
            "max_clicks": 10,
            "clicks_noise_scale": 5.0,
            "max_reformulations": 3,
            "epsilon_reformulations": 0.25,
        },
        calibration,
        guarantee,
        queries=table([90, 44, -3], query=["cats", "maps", "ants"]),
        clicks=table([9, -2, 14, 14], query=["cats", "cats", "maps", "maps"], url=["u", "v", "s", "t"]),
        reformulations=table([30, -7], query=["cats", "cats"], next_query=["dogs", "maps"]),
    )


def private() -> Draft:
    """Urls and query pairs of the log, each behind a threshold of its own."""
    clicks, pairs = above(3, 3.0, 37), above(2, 4.0, 47)
    guarantee = part("approximate-dp", 2.5, 2.1e-5, SESSIONS)
    guarantee["parts"] = [
        part("approximate-dp", 1.0, 1e-6, of="queries"),
        part("approximate-dp", 1.0, 1e-5, of="clicks"),
        part("approximate-dp", 0.5, 1e-5, SESSIONS, of="reformulations"),
    ]
    return graph(
        {
            "epsilon": 1.0,
            "delta": 1e-6,
            "max_queries": 4,
            "urls": "private",
            "max_clicks": 3,
            "epsilon_clicks": 1.0,
            "delta_clicks": 1e-5,
            "max_reformulations": 2,
            "epsilon_reformulations": 0.5,
            "delta_reformulations": 1e-5,
        },
        above(4, 4.0, 59) | {"clicks": clicks, "reformulations": pairs},
        guarantee,
        queries=table([90, 60], query=["cats", "maps"]),
        clicks=table([60, 38, 40], query=["cats", "cats", "maps"], url=["u", "v", "s"]),
        reformulations=table([49, 48], query=["cats", "maps"], next_query=["maps", "cats"]),
    )


def clicked() -> Draft:
    """The most clicked urls of the log: no guarantee, for no part."""
    guarantee = part("approximate-dp", 1.0, 1e-6)
    del guarantee["epsilon"], guarantee["delta"]
    guarantee |= {"kind": "none", "caveats": [NOT_COVERED]}
    return graph(
        {"epsilon": 1.0, "delta": 1e-6, "max_queries": 4, "urls": "clicked"}
        | {"max_clicks": 10, "epsilon_clicks": 2.0},
        above(4, 4.0, 59) | {"clicks": listed(10, 5.0)},
        guarantee,
        queries=table([90, 60], query=["cats", "maps"]),
        clicks=table([9, -2], query=["cats", "cats"], url=["u", "v"]),
    )


def chosen() -> Draft:
    """Noise and threshold were given, a user counts once per query, negative counts are set to zero."""
    figures = above(4, 1.0, 15, once=True)
    guarantee = part("approximate-dp", figures["epsilon"] + 2.0, figures["delta"], LISTS)
    guarantee["parts"] = [
        part("approximate-dp", figures["epsilon"], figures["delta"], of="queries"),
        part("pure-dp", 2.0, 0.0, LISTS, of="clicks"),
    ]
    return graph(
        {"noise_scale": 1.0, "threshold": 15.5, "max_queries": 4, "count": "users", "non_negative": True}
        | {"max_clicks": 10, "epsilon_clicks": 2.0},
        figures | {"clicks": listed(10, 5.0), "paper": theorem(4, 1.0, 15.5, more=2.0)},
        guarantee,
        queries=table([90, 16], query=["cats", "maps"]),
        clicks=table([9, 0], query=["cats", "cats"], url=["u", "v"]),
    )


def empty() -> Draft:
    made = private()
    made.tables = {name: one.slice(0, 0) for name, one in made.tables.items()}
    made.describe()
    return made
