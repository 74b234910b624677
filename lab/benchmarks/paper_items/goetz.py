"""Goetz et al. 2012: four tables and eight figures, at the paper's number of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from paper_items import Evidence, Paper, Row, numbered
from queryveil.mechanisms.zealous import theory
from queryveil_lab.studies import printed

_PART = "paper-zealous"
_KINDS = {"keywords": "keywords", "queries": "queries", "clicks": "clicks", "query-pairs": "query pairs"}
_TABLE_1 = {
    ("delta", 1): (6.6e-16, 1.3e-37, 2.5e-59, 4.7e-81),
    ("delta_indistinguishable", 1): (7.2e-20, 1.4e-41, 2.7e-63, 5.2e-85),
    ("delta", 5): (1, 3.2e-3, 1.5e-7, 6.5e-12),
    ("delta_indistinguishable", 5): (3.1e-4, 1.4e-8, 6.4e-13, 2.9e-17),
}
_TABLE_2 = {1: 81.1205, 3: 78.7260, 5: 78.6827, 7: 79.3368, 9: 80.3316}


# -- tables 1 and 2: arithmetic, done by the package --------------------------------------------------------------


def _deltas(which: str, scale: int) -> list[float]:
    tops = (50, 100, 150, 200)
    return [theory.paper(5, scale, 500_000, delta=None, tau=1, second_threshold=top)[which] for top in tops]


def _table_1(which: str, scale: int) -> Row:
    printed = _TABLE_1[which, scale]
    name = {"delta": "delta", "delta_indistinguishable": "delta'"}[which]
    return Row(
        item="Table 1",
        what=f"{name} of ZEALOUS at tau' = 50, 100, 150, 200; noise scale {scale}, m = 5, 500,000 users",
        ours=lambda _: ", ".join(f"{one:.1e}" for one in _deltas(which, scale)),
        paper=", ".join(f"{one:.1e}" for one in printed),
        agrees=lambda _: all(
            abs(ours / theirs - 1) < 0.07 for ours, theirs in zip(_deltas(which, scale), printed, strict=True)
        ),
        note="by the paper's formulas; the package's own thresholds, for whole numbers, are slightly lower",
    )


def _thresholds() -> dict[int, float]:
    return {tau: theory.paper_threshold(2, 4.0, 500_000, 0.001, tau) for tau in _TABLE_2}


# -- table 3 and figures 2 and 3 --------------------------------------------------------------------------------


def _published(evidence: Evidence, kind: str) -> dict[int, float]:
    return evidence.line(_PART, "zealous-m", "published", "m", items=kind)


def _totals(evidence: Evidence, kind: str) -> dict[int, float]:
    return evidence.line(_PART, "zealous-m", "total", "m", items=kind)


def _listed(line: Mapping[Any, float], at: Mapping[Any, float], unit: float = 1) -> str:
    return ", ".join(f"{line[place] / unit:,.0f}" for place in at)


def _table_3a(kind: str) -> Row:
    in_paper = printed.ZEALOUS_PUBLISHED[kind]
    left = in_paper[40] / in_paper[1]

    def ours(evidence: Evidence) -> str:
        line = _published(evidence, kind)
        return f"{_listed(line, in_paper)}: {100 * line[40] / line[1]:.0f} % are left"

    def agrees(evidence: Evidence) -> bool:
        line = [_published(evidence, kind)[m] for m in in_paper]
        falls = all(after <= before for before, after in pairwise(line))
        return falls and 0.5 < line[-1] / line[0] / left < 2

    return Row(
        item="Table 3A",
        what=f"{_KINDS[kind]} published at m = 1, 4, 8, 20, 40",
        ours=ours,
        paper=f"{_listed(in_paper, in_paper)}: {100 * left:.0f} % are left",
        agrees=agrees,
        note="compared is the fall; there are fewer because popular queries of the generated log are less popular",
    )


def _turn(line: Mapping[Any, float]) -> Any:
    return max(line, key=lambda place: line[place])


def _table_3b(kind: str) -> Row:
    in_paper = printed.ZEALOUS_TOTALS[kind]

    def at_the_same(evidence: Evidence) -> dict[int, float]:
        line = _totals(evidence, kind)
        return {m: line[m] for m in in_paper}

    return Row(
        item="Table 3B",
        what=f"sum of counts of {_KINDS[kind]} at m = 1, 4, 8, 20, 40, in thousands, and where it is largest",
        ours=lambda evidence: (
            f"{_listed(at_the_same(evidence), in_paper, 1000)}: at {_turn(at_the_same(evidence))}"
        ),
        paper=f"{_listed(in_paper, in_paper)}: at {_turn(in_paper)}",
        agrees=lambda evidence: _turn(at_the_same(evidence)) == _turn(in_paper),
        note="compared is where it turns",
    )


def _precision(evidence: Evidence, metric: str, kind: str, top: int) -> dict[int, float]:
    return evidence.line(_PART, "zealous-m", metric, "m", items=kind, top=str(top))


def _ends(line: Mapping[Any, float]) -> str:
    low, high = min(line), max(line)
    return f"{line[low]:.2g} at m = {low}, {line[high]:.2g} at m = {high}"


def _figure_2(metric: str, name: str, kind: str, top: int, *, better: bool, **more: str) -> Row:
    """Whether some m above 1 is better, or m = 1 is."""

    def agrees(evidence: Evidence) -> bool:
        line = _precision(evidence, metric, kind, top)
        return (min(line, key=lambda m: line[m]) > 1) is better

    return Row(
        item="Figure 2",
        what=f"{name} over the top {top:,} {_KINDS[kind]}",
        ours=lambda evidence: _ends(_precision(evidence, metric, kind, top)),
        paper="for small j some m above 1 is best" if better else "for large j m = 1 is best",
        agrees=agrees,
        **more,
    )


def _among(kind: str) -> Row:
    """On the log of the study's page: the runs at the paper's size have no such figure."""

    def line(evidence: Evidence) -> Mapping[Any, float]:
        found = evidence.found("zealous-m")
        return found.where(metric="precision-l1-among", items=kind, top="10").along("m")

    return Row(
        item="Figure 2",
        what=f"mean L1 distance (shares among the top 10) over the top 10 {_KINDS[kind]}",
        ours=lambda evidence: _ends(line(evidence)),
        paper="for small j some m above 1 is best",
        agrees=lambda evidence: min(line(evidence), key=lambda m: line(evidence)[m]) > 1,
        note="on a log of 2,000,000 rows",
    )


def _average(kind: str, printed: int) -> Row:
    def ours(evidence: Evidence) -> float:
        return evidence.found("zealous-m").where(metric="items-per-user", items=kind).value

    return Row(
        item="Table 4",
        what=f"different {_KINDS[kind]} of an average user",
        ours=lambda evidence: f"{ours(evidence):.0f}",
        paper=f"{printed}",
        agrees=lambda evidence: abs(ours(evidence) / printed - 1) < 0.2,
        differs="a property of the log, to which the generator is not fitted"
        if kind in ("keywords", "query-pairs")
        else "",
        note="on a log of 2,000,000 rows",
    )


def _covered(kind: str) -> Row:
    top = 10_000 if kind == "keywords" else 1_000  # at every m all of the top 1,000 keywords are published

    def agrees(evidence: Evidence) -> bool:
        line = list(_precision(evidence, "missing", kind, top).values())
        return all(after >= before for before, after in pairwise(line))

    return Row(
        item="Figure 2",
        what=f"how many of the top {top:,} {_KINDS[kind]} are missing, against m",
        ours=lambda evidence: ", ".join(
            f"{value:,.0f}" for value in _precision(evidence, "missing", kind, top).values()
        ),
        paper="more are missing the larger m is",
        agrees=agrees,
    )


def _best_m(evidence: Evidence, kind: str) -> dict[int, int]:
    """The most accurate m for each j."""
    best = {}
    for top in sorted(
        int(one["top"]) for one in evidence.points(_PART, "zealous-j", items=kind, m=1) if "top" in one
    ):
        line = evidence.line(_PART, "zealous-j", "precision-kl", "m", items=kind, top=str(top))
        best[top] = int(min(line, key=lambda m: line[m]))
    return best


def _most_often(best: Mapping[int, int]) -> int:
    return Counter(best.values()).most_common(1)[0][0]


def _figure_3(kind: str, printed: int) -> Row:
    return Row(
        item="Figure 3",
        what=f"the m of lowest relative entropy, {_KINDS[kind]}",
        ours=lambda evidence: ", ".join(
            f"{m} at j = {top:,}"
            for top, m in _best_m(evidence, kind).items()
            if top in (10, 100, 1_000, 2_000, 10_000)
        ),
        paper=f"{printed}",
        agrees=lambda evidence: _most_often(_best_m(evidence, kind)) == printed,
        differs="which m is best depends on j: the head of the generated log is covered at every m, so a larger m "
        "goes on gaining, and further down m = 1 covers most; the paper's rule (1 to cover much, about the average "
        "items per user to know the head) is what comes out",
    )


# -- figures 4 to 8 ---------------------------------------------------------------------------------------------


def _checks(evidence: Evidence, study: str, starts: str) -> list[Mapping[str, Any]]:
    found = [
        one for one in evidence.part(_PART)["studies"][study]["checks"] if one["name"].startswith(starts)
    ]
    if not found:
        raise LookupError(f"{study} has no check '{starts}...'")
    return found


def _checked(item: str, study: str, starts: str, what: str, paper: str, **more: str) -> Row:
    """A row whose verdict is that of a study's checks."""
    return Row(
        item=item,
        what=what,
        ours=lambda evidence: "; ".join(one["detail"] for one in _checks(evidence, study, starts)),
        paper=paper,
        agrees=lambda evidence: all(one["passes"] for one in _checks(evidence, study, starts)),
        **more,
    )


def _difference(evidence: Evidence, kind: str, method: str) -> dict[Any, float]:
    along = "epsilon" if method == "zealous" else "k"
    return evidence.line(_PART, "count-difference", "mean-difference", along, items=kind, method=method)


def _steps(line: Mapping[Any, float], form: str) -> str:
    return ", ".join(f"{format(value, form)} at {at:g}" for at, value in line.items())


def _figure_5(
    kind: str, paper: str, holds: Callable[[Mapping[Any, float], Mapping[Any, float]], bool], **more: Any
) -> Row:
    return Row(
        item="Figure 5",
        what=f"mean difference of counts of {_KINDS[kind]}, scaled to the log's total",
        ours=lambda evidence: (
            f"by epsilon: {_steps(_difference(evidence, kind, 'zealous'), '.3g')}; "
            f"by k: {_steps(_difference(evidence, kind, 'k-query'), '.3g')}"
        ),
        paper=paper,
        agrees=lambda evidence: holds(
            _difference(evidence, kind, "zealous"), _difference(evidence, kind, "k-query")
        ),
        **more,
    )


def _one_histogram(evidence: Evidence, kind: str) -> Mapping[str, float]:
    """Mean differences of both methods from the log's occurrences (`lab/benchmarks/count_units.py`)."""
    found: Mapping[str, float] = evidence.part("count-units")["differences"][kind]["the log's occurrences"]
    return found


def _beside_one(evidence: Evidence, kind: str) -> str:
    return ", ".join(f"{value:.3g} at {name}" for name, value in _one_histogram(evidence, kind).items())


def _from_which(evidence: Evidence) -> str:
    """From which epsilon on ZEALOUS is better than k = 10 for keywords; what is within 1 % is level."""
    found = _one_histogram(evidence, "keywords")
    times = {name: value / found["k = 10"] for name, value in found.items() if name.startswith("epsilon")}
    level = [name for name, one in times.items() if abs(one - 1) <= 0.01]
    better = [name for name, one in times.items() if one < 0.99]
    told = [f"level with k = 10 at {', '.join(level)}"] if level else []
    told += [f"better from {better[0]} on"] if better else ["nowhere better than k = 10"]
    return f"ZEALOUS is {' and '.join(told)}"


def _six_is_sixty(evidence: Evidence) -> bool:
    found = _one_histogram(evidence, "queries")
    return abs((found["epsilon 5"] + found["epsilon 7"]) / 2 / found["k = 60"] - 1) < 0.1


def _hits(evidence: Evidence, method: str, along: str, **where: object) -> dict[Any, float]:
    return evidence.line(_PART, "index-caching", "hit-probability", along, method=method, **where)


def _scarce(memory: float) -> Row:
    """With lists of equal length, on the log of the study's page."""

    def line(evidence: Evidence, method: str, along: str) -> Mapping[Any, float]:
        found = evidence.found("index-caching").where(documents="even", memory=memory, method=method)
        found = found.where(metric="hit-probability")
        return (found.where(m=6) if method == "zealous" else found).along(along)

    def lists(evidence: Evidence) -> float:
        found = evidence.found("index-caching").where(documents="even", memory=memory)
        return found.where(metric="lists-of-log").value

    def ours(evidence: Evidence) -> str:
        zealous, crowds = line(evidence, "zealous", "epsilon"), line(evidence, "k-query", "k")
        return f"with room for {lists(evidence):,.0f} lists {_steps(zealous, '.3f')}; by k: {_steps(crowds, '.3f')}"

    def agrees(evidence: Evidence) -> bool:
        best = max(line(evidence, "k-query", "k").values())
        return sum(one > best for one in line(evidence, "zealous", "epsilon").values()) > 1

    return Row(
        item="Figure 6(a)",
        what="hit probability, ZEALOUS (m = 6) by epsilon against k-query anonymity, lists of equal length",
        ours=ours,
        paper="ZEALOUS is better over a range of parameters; memory for about 85 lists",
        agrees=agrees,
        note="on a log of 400,000 rows",
    )


def _by_memory(evidence: Evidence) -> str:
    """The same at m = 1 and 6 with room for fewer and more lists, on the log of the study's page."""
    told = []
    for memory in (0.001, 0.01):
        found = evidence.found("index-caching").where(documents="even", memory=memory, method="zealous")
        lines = [found.where(metric="hit-probability", m=m).along("epsilon") for m in (1, 6)]
        means = " and ".join(f"{sum(line.values()) / len(line):.3f}" for line in lines)
        lists = found.where(metric="lists-of-log").values("value")
        told.append(f"{means} with room for {lists[0]:,.0f} lists" if lists else means)
    return ", ".join(told)


def _of_release(evidence: Evidence) -> str:
    """Hits by the release's own shares, 85 lists (`lab/benchmarks/hit_shares.py`)."""
    found = evidence.part("hit-shares")["hits"]["epsilon 5"]
    first, second = (found[f"m = {m}"]["of the release"] for m in (1, 6))
    return f"{first:.3f} and {second:.3f} at epsilon 5 with 85 lists"


def _quality(
    evidence: Evidence, metric: str, method: str, along: str, top: str, **where: object
) -> dict[Any, float]:
    return evidence.line(_PART, "query-substitution", metric, along, method=method, top=top, **where)


_FEW_PAIRS = (
    "a release by ZEALOUS has hundreds of query pairs, so its substitutes are of other queries than those of k-query "
    "anonymity, which at k = 10 keeps nearly all that the original's substitutes are made from"
)


def _figure_7(part: str, metric: str, name: str, **more: str) -> Row:
    def both(evidence: Evidence) -> tuple[float, float]:
        ours = _quality(evidence, metric, "zealous", "epsilon", "2", m=1)
        theirs = _quality(evidence, metric, "k-query", "k", "2")
        return sum(ours.values()) / len(ours), sum(theirs.values()) / len(theirs)

    def agrees(evidence: Evidence) -> bool:
        by_k = list(_quality(evidence, metric, "k-query", "k", "2").values())
        zealous, crowds = both(evidence)
        return zealous > crowds / 1.5 and max(by_k) < 1.5 * min(by_k)

    return Row(
        item=f"Figure 7({part})",
        what=f"{name} of the first two substitutes, ZEALOUS (m = 1) and k-query anonymity",
        ours=lambda evidence: (
            f"by epsilon: {_steps(_quality(evidence, metric, 'zealous', 'epsilon', '2', m=1), '.2f')}; "
            f"by k: {_steps(_quality(evidence, metric, 'k-query', 'k', '2'), '.2f')}"
        ),
        paper="comparable; epsilon and k hardly matter",
        agrees=agrees,
        note="comparable, and hardly, mean here: within a factor of 1.5",
        differs=_FEW_PAIRS,
        **more,
    )


PAPER = Paper(
    name="Goetz et al. 2012",
    key="goetz-2012",
    page="Frequent keywords, queries, pairs and clicks with differential privacy: ZEALOUS. Here: 500,000 users, "
    "10,000,000 generated rows, delta 0.001 (`python lab/benchmarks/papers.py zealous`).",
    tables=numbered("Table", 4),
    figures=numbered("Figure", 8),
    studies={
        **dict.fromkeys(("Table 3", "Table 4", "Figure 2"), "zealous-m"),
        "Figure 3": "zealous-j",
        "Figure 4": "count-distribution",
        "Figure 5": "count-difference",
        "Figure 6": "index-caching",
        **dict.fromkeys(("Figure 7", "Figure 8"), "query-substitution"),
    },
    drawn={
        "zealous-m-published": ("Table 3A", ""),
        "zealous-m-total": ("Table 3B", ""),
        "zealous-m-coverage": ("Figure 2", "missing"),
        "zealous-m-kl": ("Figure 2", "relative entropy"),
        "zealous-m-l1": ("Figure 2", "shares among"),
        "zealous-m-l1-whole": ("Figure 2", "shares of everything"),
        "zealous-j-kl": ("Figure 3", ""),
        "count-distribution": ("Figure 4", ""),
        "count-difference-mean": ("Figure 5", ""),
        "index-caching-both": ("Figure 6(a)", ""),
        "index-caching-m": ("Figure 6(b)", ""),
        "query-substitution-quality": ("Figure 7", ""),
        "query-substitution-coverage": ("Figure 8", ""),
    },
    rows=(
        *(_table_1(*which) for which in _TABLE_1),
        Row(
            item="Table 2",
            what="tau' at tau = 1, 3, 5, 7, 9; m = 2, epsilon 1, 500,000 users",
            ours=lambda _: ", ".join(f"{one:.4f}" for one in _thresholds().values()),
            paper=", ".join(f"{one:.4f}" for one in _TABLE_2.values()),
            agrees=lambda _: all(abs(one - _TABLE_2[tau]) < 1e-4 for tau, one in _thresholds().items()),
            note="for delta 0.001; the caption's 0.01 does not give the printed figures",
        ),
        *(_table_3a(kind) for kind in _KINDS),
        *(_table_3b(kind) for kind in _KINDS),
        *(
            _average(kind, printed)
            for kind, printed in (("keywords", 56), ("queries", 20), ("clicks", 14), ("query-pairs", 7))
        ),
        Row(
            item="Figure 1",
            what="a drawing of the algorithm",
            paper="a drawing",
            left_out="it shows no measurement; the algorithm is in docs/proofs/zealous.md",
        ),
        *(
            _figure_2("precision-kl", "relative entropy", kind, 10, better=True)
            for kind in ("keywords", "queries")
        ),
        _figure_2("precision-kl", "relative entropy", "keywords", 10_000, better=False),
        _figure_2("precision-kl", "relative entropy", "queries", 1_000, better=False),
        *(
            _figure_2(
                "precision-l1",
                "mean L1 distance (shares of everything)",
                kind,
                10,
                better=True,
                differs="shares of everything in a release grow when it loses its rare items, and it loses more of "
                "them the larger m is; shares among the top j do not, and behave as in the paper",
            )
            for kind in ("keywords", "queries")
        ),
        *(_among(kind) for kind in ("keywords", "queries")),
        *(_covered(kind) for kind in _KINDS),
        _figure_3("keywords", 8),
        _figure_3("queries", 2),
        _checked(
            "Figure 4",
            "count-distribution",
            "the power law",
            "slope of the number of items against their count: keywords, queries, clicks",
            "the power law is well preserved",
            note="preserved means here: within half a unit",
        ),
        _checked(
            "Figure 4",
            "count-distribution",
            "every count of queries",
            "smallest published count of queries by ZEALOUS, epsilon 5",
            "tau' is about 10",
        ),
        _figure_5(
            "keywords",
            "falls with epsilon, grows with k; ZEALOUS is better than any k above epsilon 2",
            lambda ours, theirs: all(
                value <= 1.05 * min(theirs.values()) for at, value in ours.items() if at > 2
            ),
            note=lambda evidence: (
                "better means here: at most 5 % above the best k. Each release is compared with what it counts itself; "
                f"beside one histogram of the log, of 2,000,000 rows, it is {_beside_one(evidence, 'keywords')}: "
                f"{_from_which(evidence)}"
            ),
        ),
        _figure_5(
            "queries",
            "epsilon 6 is about k = 60",
            lambda ours, theirs: abs((ours[5.0] + ours[7.0]) / 2 / theirs[60] - 1) < 0.2,
            differs="of our own making: each release is compared with what it counts itself, ZEALOUS with users and "
            "k-query anonymity with occurrences; beside one histogram of the log it is as printed (the next row)",
            note="about means here: within 20 %, between epsilon 5 and 7",
        ),
        Row(
            item="Figure 5",
            what="the same, both beside one histogram of the log: its occurrences",
            ours=lambda evidence: _beside_one(evidence, "queries"),
            paper="epsilon 6 is about k = 60",
            agrees=_six_is_sixty,
            note="on a log of 2,000,000 rows (`lab/benchmarks/count_units.py`); about means here: within 10 %, between "
            "epsilon 5 and 7; beside the log's users it is as close",
        ),
        _figure_5(
            "query-pairs",
            "k-query anonymity is better",
            lambda ours, theirs: max(theirs.values()) <= min(ours.values()),
        ),
        *(_scarce(memory) for memory in (0.001, 0.01)),
        _checked(
            "Figure 6(a)",
            "index-caching",
            "ZEALOUS hits more often",
            "hit probability, ZEALOUS against k-query anonymity, memory for 1 % of all postings",
            "ZEALOUS is better over a range of parameters",
            differs="memory is filled by 85 lists in the paper and by hundreds here, so lists of rarer keywords count, "
            "which k-query anonymity keeps and ZEALOUS loses",
        ),
        Row(
            item="Figure 6(b)",
            what="hit probability at m = 1 and at m = 6, mean over epsilon",
            ours=lambda evidence: " and ".join(
                f"{sum(line.values()) / len(line):.4f}"
                for line in (_hits(evidence, "zealous", "epsilon", m=m) for m in (1, 6))
            ),
            paper="below 0.33 and above 0.36",
            agrees=lambda evidence: (
                sum(_hits(evidence, "zealous", "epsilon", m=6).values())
                > 1.05 * sum(_hits(evidence, "zealous", "epsilon", m=1).values())
            ),
            note=lambda evidence: (
                "m = 6 is better only from epsilon 5 on, and by little. Memory does not explain it: on a log of "
                f"400,000 rows it is {_by_memory(evidence)} with lists of equal length, within chance. If hits are "
                f"shares of the release itself, there is such a step ({_of_release(evidence)}); but it goes on growing "
                "with m, and the paper's falls at some point"
            ),
        ),
        _figure_7("a", "ndcg", "NDCG"),
        _figure_7("b", "ap", "average precision"),
        _figure_7("c", "precision", "precision"),
        _figure_7("d", "recall", "recall"),
        Row(
            item="Figure 8",
            what="coverage of the first two substitutes at m = 1 and at m = 6, by epsilon",
            ours=lambda evidence: "; ".join(
                f"m = {m}: {_steps(_quality(evidence, 'coverage', 'zealous', 'epsilon', '2', m=m), '.3f')}"
                for m in (1, 6)
            ),
            paper="m = 6 covers less throughout",
            agrees=lambda evidence: all(
                six < one
                for one, six in zip(
                    *(
                        _quality(evidence, "coverage", "zealous", "epsilon", "2", m=m).values()
                        for m in (1, 6)
                    ),
                    strict=True,
                )
            ),
        ),
    ),
)
