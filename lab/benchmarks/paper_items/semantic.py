"""Sanchez et al. 2018: four figures, no table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paper_items import Evidence, Paper, Row, numbered

_PRINTED = {"sqc1": "SQC1", "sqc2": "SQC2", "nsqc-printed": "NSQC", "hbdp-printed": "HBDP"}
_DRAWN = ("0.1", "0.5", "1", "2", "5", "10")
_SETTINGS = {"A": "Figure 2", "B": "Figure 3", "C": "Figure 4"}
_NEARLY = 0.01
"""Bits by which two losses may differ and count as equal; the standard error of a run is a little less."""


def _loss(evidence: Evidence, setting: str, criterion: str, epsilon: str) -> float:
    return float(evidence.part("profiles")["losses"]["query"][setting][criterion][epsilon])


def _at(evidence: Evidence, setting: str, epsilon: str) -> dict[str, float]:
    return {one: _loss(evidence, setting, one, epsilon) for one in _PRINTED}


def _listed(setting: str, *epsilons: str) -> Callable[[Evidence], str]:
    return lambda evidence: "; ".join(
        f"at {epsilon}: "
        + ", ".join(f"{_PRINTED[one]} {value:.3f}" for one, value in _at(evidence, setting, epsilon).items())
        for epsilon in epsilons
    )


def _falls(setting: str) -> Row:
    def agrees(evidence: Evidence) -> bool:
        lines = ([_loss(evidence, setting, one, at) for at in _DRAWN] for one in list(_PRINTED)[:3])
        return all(line[-1] < line[0] - _NEARLY for line in lines)

    return Row(
        item=_SETTINGS[setting],
        what=f"setting {setting}: the loss falls with epsilon (SQC1, SQC2, NSQC)",
        ours=_listed(setting, "0.1", "10"),
        paper="falls up to epsilon 10",
        agrees=agrees,
        note="if epsilon is for each query; for a whole user, as the paper proves it, the loss is flat",
    )


def _semantic_best(setting: str) -> Row:
    def agrees(evidence: Evidence) -> bool:
        return all(
            _loss(evidence, setting, "sqc2", epsilon)
            <= min(_at(evidence, setting, epsilon).values()) + _NEARLY
            for epsilon in ("2", "5", "10")
        )

    return Row(
        item=_SETTINGS[setting],
        what=f"setting {setting}: who loses least",
        ours=_listed(setting, "2", "5", "10"),
        paper="SQC2, above epsilon 1",
        agrees=agrees,
        note=f"losses within {_NEARLY} bits count as equal",
    )


def _histogram_worst(setting: str) -> Row:
    def agrees(evidence: Evidence) -> bool:
        return all(
            _loss(evidence, setting, "hbdp-printed", epsilon)
            >= max(_at(evidence, setting, epsilon).values()) - _NEARLY
            for epsilon in _DRAWN
        )

    return Row(
        item=_SETTINGS[setting],
        what=f"setting {setting}: who loses most",
        ours=_listed(setting, "1", "10"),
        paper="HBDP, throughout",
        agrees=agrees,
        differs=""
        if setting == "A"
        else "HBDP gives every user as many queries as anybody has; a few more random draws lose a little less, and at "
        "small epsilon all others are random draws too",
        note="" if setting == "A" else "at epsilon 10 it does",
    )


def _flat(evidence: Evidence, setting: str) -> list[float]:
    return [_loss(evidence, setting, "hbdp-printed", at) for at in _DRAWN]


def _times(
    what: str, item: str, paper: str, ours: Callable[[Evidence], float], low: float, high: float, **more: Any
) -> Row:
    """A ratio that the paper names."""
    return Row(
        item=item,
        what=what,
        ours=lambda evidence: f"{ours(evidence):.2g} times",
        paper=paper,
        agrees=lambda evidence: low <= ours(evidence) <= high,
        **more,
    )


def _focused(name: str) -> Callable[[Evidence], str]:
    """What a ratio is if every user has one interest (`lab/benchmarks/profile_interests.py`)."""

    def said(evidence: Evidence) -> str:
        found = evidence.part("profile-interests")["interests"]
        return f"{found['one'][name]:.2g} to {found['one, nothing else'][name]:.2g}"

    return said


def _explained(name: str, rest: str = "") -> Callable[[Evidence], str]:
    return lambda evidence: (
        "made-up users have three or four interests; of users with one, it is "
        f"{_focused(name)(evidence)} times{rest}"
    )


def _chosen(choice: str, name: str) -> Callable[[Evidence], str]:
    """What a ratio is by another choice than the study's (`lab/benchmarks/profile_choices.py`)."""
    return lambda evidence: f"{evidence.part('profile-choices')['choices'][choice][name]:.2g}"


_WORDNET, _OUTSIDE = "ancestors in all of WordNet", "outside is a topic"


def _equal_domains(evidence: Evidence) -> list[float]:
    losses = evidence.part("profiles")["losses"]["query"]["D=P"]
    return [value for one in list(_PRINTED)[:3] for value in losses[one].values()]


PAPER = Paper(
    name="Sánchez et al. 2018",
    key="sanchez-2018",
    page="Queries replaced by others close in meaning. Here: 1,000 made-up users of about 100 phrases, equation (2) "
    "for every criterion, the histogram at the same epsilon (`python benchmarks/evidence.py profiles`).",
    tables=(),
    figures=numbered("Figure", 4),
    studies=dict.fromkeys(("Figure 2", "Figure 3", "Figure 4"), "profiles"),
    drawn={"profiles-printed": ("Figure", "setting")},
    rows=(
        Row(
            item="Figure 1",
            what="part of the taxonomy, with topics and domains",
            paper="a drawing",
            left_out="it shows no measurement; topics and domains are listed on the page of the study",
        ),
        Row(
            item="Figure 2",
            what="D = P: largest loss by SQC1, SQC2, NSQC at any epsilon",
            ours=lambda evidence: f"{max(_equal_domains(evidence)):g}",
            paper="0",
            agrees=lambda evidence: max(_equal_domains(evidence)) == 0,
        ),
        *(_falls(setting) for setting in _SETTINGS),
        *(_semantic_best(setting) for setting in _SETTINGS),
        *(_histogram_worst(setting) for setting in _SETTINGS),
        *(
            Row(
                item=_SETTINGS[setting],
                what=f"setting {setting}: HBDP against epsilon",
                ours=lambda evidence, setting=setting: (
                    f"{min(_flat(evidence, setting)):.3f} to {max(_flat(evidence, setting)):.3f}"
                ),
                paper="hardly changes",
                agrees=lambda evidence, setting=setting: (
                    max(_flat(evidence, setting)) - min(_flat(evidence, setting)) <= 2 * _NEARLY
                ),
            )
            for setting in _SETTINGS
        ),
        _times(
            "loss by NSQC over that by SQC2 in A at epsilon 10",
            "Figure 2",
            "about 4 times",
            lambda evidence: _loss(evidence, "A", "nsqc-printed", "10") / _loss(evidence, "A", "sqc2", "10"),
            3,
            5,
            differs=lambda evidence: (
                "the paper says that ancestors are counted inside the domain, as here, and most likely counted all of "
                f"WordNet's: then it is {_chosen(_WORDNET, 'NSQC over SQC2 in A')(evidence)} times, and SQC1 loses as "
                "much as NSQC in A, as in the paper"
            ),
        ),
        _times(
            "loss by HBDP in D = P over that by NSQC in A, at epsilon 10",
            "Figure 2",
            "similar",
            lambda evidence: (
                _loss(evidence, "D=P", "hbdp-printed", "10") / _loss(evidence, "A", "nsqc-printed", "10")
            ),
            0.7,
            1.4,
            differs=_explained("HBDP in D = P over NSQC in A"),
        ),
        _times(
            "loss by HBDP in B over that in A",
            "Figure 3",
            "more than 2 times",
            lambda evidence: (
                _loss(evidence, "B", "hbdp-printed", "10") / _loss(evidence, "A", "hbdp-printed", "10")
            ),
            1.9,
            5,
            note="1.9 counts",
        ),
        _times(
            "loss by HBDP in C over that in B",
            "Figure 4",
            "roughly the same",
            lambda evidence: (
                _loss(evidence, "C", "hbdp-printed", "10") / _loss(evidence, "B", "hbdp-printed", "10")
            ),
            0.7,
            1.4,
            differs=lambda evidence: (
                "phrases outside the topics are no part of a profile here. If they are a topic of their own it is "
                f"{_chosen(_OUTSIDE, 'HBDP in C over B')(evidence)} times, and "
                f"{_chosen(_OUTSIDE, 'HBDP in B over A')(evidence)} times as much in B as in A"
            ),
        ),
        _times(
            "loss by HBDP over that by SQC2 in C at epsilon 10",
            "Figure 4",
            "an order of magnitude",
            lambda evidence: _loss(evidence, "C", "hbdp-printed", "10") / _loss(evidence, "C", "sqc2", "10"),
            7,
            20,
            note=lambda evidence: (
                f"tried: users with one interest, {_focused('HBDP over SQC2 in C')(evidence)} times; ancestors in all "
                f"of WordNet, {_chosen(_WORDNET, 'HBDP over SQC2 in C')(evidence)}, and with one interest "
                f"{_chosen(_WORDNET + ', one interest', 'HBDP over SQC2 in C')(evidence)}; phrases outside the topics "
                f"as a topic, which explains other rows, {_chosen(_OUTSIDE, 'HBDP over SQC2 in C')(evidence)}: further "
                "away"
            ),
        ),
        _times(
            "losses by SQC2 in A and C together, over that in B, at epsilon 10",
            "Figure 4",
            "roughly 1",
            lambda evidence: (
                (_loss(evidence, "A", "sqc2", "10") + _loss(evidence, "C", "sqc2", "10"))
                / _loss(evidence, "B", "sqc2", "10")
            ),
            0.7,
            1.4,
            differs=lambda evidence: (
                "phrases outside the topics are no part of a profile here. If they are a topic of their own it is "
                f"{_chosen(_OUTSIDE, 'SQC2 in A and C over B')(evidence)} times; of users with one interest it is "
                f"{_focused('SQC2 in A and C over B')(evidence)} times in any case"
            ),
        ),
    ),
)
