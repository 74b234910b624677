"""The parameters of a click graph, as they are declared, and what follows from them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from queryveil.mechanisms import shared_parameters as shared
from queryveil.mechanisms.click_graph import theory
from queryveil.mechanisms.selection.listed_items import TakesPublicItems
from queryveil.parameters import COUNTED, METHOD, PROMISES, param
from queryveil.privacy import calibration

MAX_QUERIES = {"threshold": 20, "steered": 100}
"""Queries that one user may add, by the selection, if no bound is given."""
_MOST = 10**9
_BOUND = {"ge": 1, "le": _MOST, "group": COUNTED}
_PRICE = {"gt": 0, "default": None, "group": PROMISES}
_CHANCE = {"gt": 0, "lt": 1, "default": None, "group": PROMISES}
_SCALE = {"gt": 0, "le": calibration.MAX_SCALE, "default": None, "group": PROMISES}


@dataclass(frozen=True, kw_only=True)
class GraphParameters(TakesPublicItems):
    """The declared parameters of a click graph."""

    epsilon: float | None = param(
        "privacy loss per user, for choosing queries; with --selection steered, for all tables together",
        **_PRICE,
    )
    delta: float | None = param(
        "probability that the loss is exceeded, for the same tables",
        **_CHANCE,
        details="Choose it below one over the number of users",
    )
    selection: str = param(
        "how queries are chosen: noisy counts above a threshold, or steered Gaussian selection, which publishes more",
        choices=("threshold", "steered"),
        default="threshold",
        group=METHOD,
    )
    max_queries: int = param(
        f"queries that one user may add (d): the first {MAX_QUERIES['threshold']} by time if left out, or "
        f"{MAX_QUERIES['steered']} at random with --selection steered",
        default=None,
        **_BOUND,
    )
    shares: tuple[float, ...] | None = param(
        "with --selection steered: shares of the privacy budget (of mu squared) for queries, clicks and "
        "reformulations; 50,30,20 if left out, and 0 leaves a table out",
        ge=0,
        many=True,
        default=None,
        group=PROMISES,
    )
    counts_share: float | None = param(
        "with --selection steered: the part of each share that pays for counts of users; 0.2 if left out",
        ge=0.01,
        le=0.9,
        default=None,
        group=PROMISES,
    )
    decoys: float | None = param(
        "with --selection steered: reformulations that noise alone may publish, on average; 1 if left out",
        ge=1e-6,
        le=1000,
        default=None,
        group=METHOD,
    )
    count_by: str = param(
        "count every time a query is made, or every user once",
        choices=("occurrences", "users"),
        default="occurrences",
        group=COUNTED,
    )
    group_queries: str = param(
        "count queries with the same words as one, in any order, singular or plural; the group's words are published",
        choices=("none", "words"),
        default="none",
        group=COUNTED,
        details="[How to read such a "
        "release](../how-to/publish-a-click-graph.md#count-queries-with-one-meaning-as-one)",
    )
    counts: str = param(
        "publish the noisy count that chose a query (free, biased near the threshold) or a fresh one",
        choices=("reuse", "fresh"),
        default="reuse",
        group=COUNTED,
    )
    epsilon_counts: float | None = param("privacy loss of fresh counts", **_PRICE)
    urls: str = param(
        "urls from public result lists, from the log behind a threshold, or the most clicked ones (no guarantee "
        "covers them)",
        choices=("public", "private", "clicked"),
        default="public",
        group=COUNTED,
    )
    results: str | Callable[[str], Iterable[str]] | None = param(  # noqa: RUF009 (a frozen value)
        "file of public result lists (query, url)",
        path=True,
        function=True,
        default=None,
        group=COUNTED,
        details="For `--urls public`: text between tabs, commas, semicolons, or bars, or Parquet",
    )
    max_clicks: int | None = param(
        "clicks that one user may add, chosen like queries (d_c); max-queries if left out",
        default=None,
        **_BOUND,
    )
    epsilon_clicks: float | None = param(
        "privacy loss of click counts", **_PRICE, details="Without it there is no table of clicks"
    )
    delta_clicks: float | None = param("delta of private urls", **_CHANCE)
    suggestions: str | Callable[[str], Iterable[str]] | None = param(  # noqa: RUF009 (a frozen value)
        "file of public suggestion lists (query, suggestion); query pairs of the log if left out",
        path=True,
        function=True,
        default=None,
        group=COUNTED,
    )
    max_reformulations: int | None = param(
        "reformulations that one user may add, chosen like queries (d_r); max-queries if left out",
        default=None,
        **_BOUND,
    )
    epsilon_reformulations: float | None = param(
        "privacy loss of reformulation counts",
        **_PRICE,
        details="Without it there is no table of reformulations",
    )
    delta_reformulations: float | None = param(
        "delta of reformulations",
        **_CHANCE,
        details="Only for reformulations that are not from `--suggestions`",
    )
    neighbours: str = param(
        **shared.NEIGHBOURS
        | {
            "help": "what is hidden: one user added or removed, or one user's history replaced "
            "(with --selection steered)"
        }
    )
    public: str | None = param(
        **shared.PUBLIC
        | {"help": "file of public queries (a catalogue, page titles): all get noise, and need no delta"}
    )
    public_z: float | None = param(**shared.PUBLIC_Z, details="At most 40 with `--selection steered`")
    analysis: str = param(
        "thresholds by the paper or by our proof",
        choices=("paper", "tight"),
        default="tight",
        group=PROMISES,
        details="The paper's theorem needs K of at least d",
    )
    noise_scale: float | None = param("scale of the noise (b), instead of epsilon", **_SCALE)
    threshold: float | None = param(
        "publish queries above this noisy count (K), instead of delta", ge=1, default=None, group=PROMISES
    )
    counts_noise_scale: float | None = param(
        "scale of the noise of fresh counts (b_q), instead of epsilon-counts", **_SCALE
    )
    clicks_noise_scale: float | None = param(
        "scale of the noise of click counts (b_c), instead of epsilon-clicks", **_SCALE
    )
    non_negative: bool = param("set negative counts to zero", default=False, group=COUNTED)

    @property
    def is_steered(self) -> bool:
        """Whether queries are selected by the steered Gaussian mechanism, and all tables share one account."""
        return self.selection == "steered"

    @property
    def is_grouped(self) -> bool:
        """Whether queries with the same words count as one."""
        return self.group_queries == "words"

    @property
    def listed_kinds(self) -> tuple[str, ...]:
        """A public list is of queries."""
        return ("queries",)

    @property
    def has_clicks(self) -> bool:
        """Whether thresholds are asked for a table of clicks."""
        return self.epsilon_clicks is not None or self.clicks_noise_scale is not None

    @property
    def counts_users(self) -> bool:
        """Whether a user counts once per item."""
        return self.count_by == "users"

    def setting(self) -> theory.Setting:
        """Return the noise and the threshold that decide which queries are published, without steered selection."""
        d, once, by_paper = self.max_queries, self.counts_users, self.analysis == "paper"
        if self.noise_scale is not None and self.threshold is not None:
            return theory.given_setting(d, self.noise_scale, self.threshold, once=once, by_paper=by_paper)
        if self.epsilon is None or self.delta is None:
            raise AssertionError("checked when the mechanism was made")
        if by_paper:
            return theory.paper_setting(d, self.epsilon, self.delta, once=once)
        return theory.tight_setting(d, self.epsilon, self.delta, once=once)
