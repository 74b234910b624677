"""Which parameters of a click graph go together, and which contradict each other."""

from __future__ import annotations

from queryveil.errors import UsageError, argument
from queryveil.mechanisms.click_graph import steered_graph
from queryveil.mechanisms.click_graph.graph_parameters import MAX_QUERIES, GraphParameters
from queryveil.mechanisms.selection.gaussian_account import MOST_EPSILON, MOST_ITEMS
from queryveil.mechanisms.selection.listed_items import MOST_Z_OF_SUMS
from queryveil.parameters import parameters

_OF_STEERED = ("shares", "counts_share", "decoys", "neighbours")


def refuse_pure(delta: float | None) -> None:
    """Refuse delta 0, with its reason: the declaration would only say that it must be above 0."""
    if delta == 0:
        raise UsageError(
            "delta 0 asks for pure differential privacy, under which no query of a log can be published: a query "
            "that only one user made always has some chance to appear",
            "use a delta above 0, well below one over the number of users",
        )


def refuse_contradictions(method: GraphParameters) -> None:
    """Refuse parameters that no release can have together."""
    _refuse_lists_of_groups(method)
    if method.is_steered:
        _refuse_others(method, steered_graph.THRESHOLD_PARAMETERS, "threshold")
        _refuse_steered(method)
        return
    _refuse_others(method, _OF_STEERED, "steered")
    given = (method.noise_scale is not None, method.threshold is not None)
    asked = (method.epsilon is not None, method.delta is not None)
    if not ((all(given) and not any(asked)) or (all(asked) and not any(given))):
        raise UsageError(
            "click-graph needs epsilon and delta, or a noise scale and a threshold",
            f"pass {argument('epsilon')} and {argument('delta')}, or "
            f"{argument('noise_scale')} and {argument('threshold')}",
        )
    if method.epsilon_counts is not None and method.counts_noise_scale is not None:
        raise _conflict_error("epsilon-counts", "counts-noise-scale")
    if method.epsilon_clicks is not None and method.clicks_noise_scale is not None:
        raise _conflict_error("epsilon-clicks", "clicks-noise-scale")
    fresh = method.epsilon_counts is not None or method.counts_noise_scale is not None
    if (method.counts == "fresh") != fresh:
        raise UsageError(
            "fresh counts have their own privacy loss, and reused ones have none",
            f"pass {argument('counts', 'fresh')} together with {argument('epsilon_counts')}, or neither",
        )
    _refuse_half_bought_clicks(method)
    _refuse_half_bought_reformulations(method)


def _refuse_lists_of_groups(method: GraphParameters) -> None:
    for flag, given in (
        (argument("results"), method.results),
        (argument("suggestions"), method.suggestions),
        (argument("public"), method.public),
    ):
        if method.is_grouped and given is not None:
            raise UsageError(
                f"{flag} lists queries as they are typed, and groups of queries are published",
                f"leave out {flag}, or {argument('group_queries', True)}; clicks of groups can be private: "
                f"{argument('urls', 'private')} or {argument('selection')} "
                "steered",
            )


def _refuse_others(method: GraphParameters, names: tuple[str, ...], owner: str) -> None:
    """Refuse what belongs to the other way of choosing queries."""
    for one in parameters(type(method)):
        if one.name in names and getattr(method, one.name) != one.default:
            raise UsageError(
                f"{argument(one.name)} belongs to {argument('selection', owner)}, and "
                f"queries are selected by '{method.selection}'",
                f"leave out {argument(one.name)}, or pass {argument('selection', owner)}",
            )


def _refuse_steered(method: GraphParameters) -> None:
    if method.epsilon is None or method.delta is None:
        raise UsageError(
            "steered selection needs epsilon and delta, which all tables share",
            f"pass {argument('epsilon')} and {argument('delta')}",
        )
    if method.epsilon > MOST_EPSILON:
        raise UsageError(
            f"parameter 'epsilon' must be a number > 0 and <= {MOST_EPSILON:g}; got {method.epsilon:g}",
            f"pass a smaller {argument('epsilon')}; about 1 is usual",
        )
    if method.public_z is not None and method.public_z > MOST_Z_OF_SUMS:
        raise UsageError(
            f"parameter 'public_z' must be a number > 0 and <= {MOST_Z_OF_SUMS:g}; got {method.public_z:g}",
            f"pass a smaller {argument('public_z')}; 4 is usual",
        )
    for name in ("max_queries", "max_clicks", "max_reformulations"):
        if (asked := getattr(method, name)) is not None and asked > MOST_ITEMS:
            raise UsageError(
                f"parameter '{name}' must be a whole number from 1 to {MOST_ITEMS}; got {asked}",
                f"pass a smaller --{name.replace('_', '-')}; {MAX_QUERIES['steered']} is usual",
            )
    given = steered_graph.SteeredGraph(method).shares
    if len(given) != len(steered_graph.SHARES) or given[0] == 0:
        raise UsageError(
            "shares are three numbers, for queries, clicks and reformulations, and that of queries is above 0",
            f"pass {argument('shares', '50,30,20')}, or 0 for clicks or reformulations that you do not want",
        )
    of_tables = {"max_clicks": given[1], "max_reformulations": given[2], "decoys": given[2]}
    for name, share in of_tables.items():
        flag = argument(name)
        if getattr(method, name) is not None and share == 0:
            raise UsageError(
                f"{flag} is for a table that has no share of the privacy budget",
                f"leave out {flag}, or give the table a share with {argument('shares')}",
            )


def _refuse_half_bought_reformulations(method: GraphParameters) -> None:
    if method.epsilon_reformulations is None:
        if method.suggestions is not None or method.delta_reformulations is not None:
            raise UsageError(
                "reformulations have their own privacy loss", f"pass {argument('epsilon_reformulations')} too"
            )
    elif (method.suggestions is None) == (method.delta_reformulations is None):
        raise UsageError(
            "reformulations come from public suggestion lists, or from query pairs behind a threshold",
            f"pass {argument('suggestions', 'FILE')}, or {argument('delta_reformulations')}, and not both",
        )


def _refuse_half_bought_clicks(method: GraphParameters) -> None:
    if not method.has_clicks:
        if method.results is not None or method.delta_clicks is not None or method.urls != "public":
            raise UsageError(
                "click counts have their own privacy loss", f"pass {argument('epsilon_clicks')} too"
            )
        return
    if (method.urls == "private") != (method.delta_clicks is not None):
        raise UsageError(
            "urls that are not public need a threshold with a delta, public ones need none",
            f"pass {argument('urls', 'private')} together with {argument('delta_clicks')}, or neither",
        )
    if method.urls == "private" and method.epsilon_clicks is None:
        raise UsageError(
            "private urls are calibrated from epsilon and delta", f"pass {argument('epsilon_clicks')}"
        )
    if method.urls != "public" and method.results is not None:
        raise UsageError(
            "the urls come from the log and from result lists",
            f"drop {argument('urls')}, or drop {argument('results')}",
        )


def _conflict_error(one: str, other: str) -> UsageError:
    return UsageError(f"{one} and {other} say the same thing twice", f"pass --{one} or --{other}")
