"""What is expected of user profiles, and their figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from queryveil.mechanisms.concept_profiles.draws import NSQC, SQC1, SQC2
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import shapes
from queryveil_lab.studies.declaration import Check, Findings, Row
from queryveil_lab.studies.drawing import MEANS, Curves, Said
from queryveil_lab.studies.expectations import Along, Beside, expected

LOSS, ERROR = "profile-divergence", "standard-error"
DRAWN = "drawn"
HBDP = "hbdp"
PER_QUERY, PER_USER = "query", "user"
NSQC_PRINTED, HBDP_PRINTED = "nsqc-printed", "hbdp-printed"
"""As the paper has them. NSQC by equation (2), which takes half of epsilon for every criterion. HBDP at the same
epsilon as one query of the others, with noise of scale most/epsilon."""
CRITERIA = (SQC1, SQC2, NSQC, HBDP, NSQC_PRINTED, HBDP_PRINTED)
PRINTED = (SQC1, SQC2, NSQC_PRINTED, HBDP_PRINTED)
"""The four lines of the paper's figures."""
_PERTURBED = (SQC1, SQC2, NSQC)
_ERRORS = 6
"""This many standard errors of a difference count as noise: a false alarm below 1e-6 over all checks together."""
_PRINTED_END = 10.0
"""The largest epsilon of the paper's figures."""
_CALLED = {
    SQC1: "SQC1",
    SQC2: "SQC2",
    NSQC: "NSQC",
    HBDP: "HBDP",
    NSQC_PRINTED: "NSQC as printed",
    HBDP_PRINTED: "HBDP as printed",
}
_FLAT_TO = 10.0
"""The largest epsilon per user at which 100 phrases leave nothing to see."""
_FLAT_PHRASES = 16
"""Users of a log may have fewer phrases. Below this number the epsilon is not spread thinly."""


def noise_of(found: Findings, at: Row) -> float:
    """A difference of two mean losses up to this one is noise; of two settings, B decides.

    The errors count how users differ too, who are the same in both, so it is on the safe side.
    """
    chosen = {"setting": "B", **{name: at[name] for name in ("setting", "criterion") if name in at}}
    errors = found.where(metric=ERROR, **chosen)
    runs = len(errors.values("repeat"))
    return _ERRORS * float(max(row["value"] for row in errors)) * math.sqrt(2 / runs)


def _perturbed_findings(found: Findings) -> Findings:
    """Phrases that are replaced by others near them, from domains that are not the topics."""
    return found.chosen(lambda row: row["criterion"] in _PERTURBED and row["setting"] in ("A", "B", "C"))


def _thinly_spread(found: Findings) -> Findings:
    """As far as an epsilon per user leaves nothing to see of a user's many phrases."""
    many = max(found.values("phrases"), default=0) >= _FLAT_PHRASES
    return _perturbed_findings(found).chosen(lambda row: many and row["epsilon"] <= _FLAT_TO)


def _nothing_lost(found: Findings) -> Iterator[Check]:
    """Exactly 0: what is drawn inside of a topic is of that topic."""
    runs = [row["value"] for row in found.where(metric=LOSS, setting="D=P") if row["criterion"] in _PERTURBED]
    if runs:
        wrong = sum(value != 0 for value in runs)
        yield Check(
            "nothing is lost where the topics are the domains (D = P)",
            wrong == 0,
            f"the loss is exactly 0 in {len(runs) - wrong} of {len(runs)} runs; the largest is {max(runs):.3g}",
        )


def _below_b(setting: str) -> Beside:
    return Beside(
        says=f"setting {setting} loses less than B ({{criterion}})",
        metric=LOSS,
        column="setting",
        ours=setting,
        theirs="B",
        at=("epsilon",),
        by=("criterion",),
        where={"epsilon_per": PER_QUERY},
        shape=shapes.below,
        noise=noise_of,
        told="by {pair.gaps.least:.3f} to {pair.gaps.most:.3f} at {of} epsilons per query",
    )


def _as_far_as_printed(found: Findings) -> Findings:
    return found.chosen(lambda row: row["epsilon"] <= _PRINTED_END)


def _as_printed(found: Findings) -> Iterator[Check]:
    """Who is best and who is worst at the right end of the paper's figures."""
    losses = found.where(metric=LOSS, epsilon_per=PER_QUERY, epsilon=_PRINTED_END)
    for setting in ("A", "B", "C"):
        here = losses.where(setting=setting)
        if not set(PRINTED) <= set(here.values("criterion")):
            continue
        loss = {one: here.where(criterion=one).value for one in PRINTED}
        noise = noise_of(found, {"setting": setting})
        told = ", ".join(f"{_CALLED[one]} {loss[one]:.3f}" for one in PRINTED)
        others = [loss[one] for one in PRINTED if one != SQC2]
        yield Check(
            f"as printed, SQC2 loses least at epsilon {_PRINTED_END:g} (setting {setting})",
            loss[SQC2] <= min(others),
            told,
        )
        others = [loss[one] for one in PRINTED if one != HBDP_PRINTED]
        yield Check(
            f"as printed, HBDP loses most at epsilon {_PRINTED_END:g} (setting {setting})",
            loss[HBDP_PRINTED] >= max(others) - noise,
            f"{told}; noise up to {noise:.3f}",
        )


CHECKS = expected(
    _nothing_lost,
    Along(
        says="with epsilon per query the loss falls (setting {setting}, {criterion})",
        metric=LOSS,
        along="epsilon",
        by=("setting", "criterion"),
        where={"epsilon_per": PER_QUERY},
        among=_perturbed_findings,
        shape=shapes.falls_clearly,
        noise=noise_of,
        told="from {line.first:.3f} at {line.start:g} to {line.last:.3f} at {line.end:g}",
    ),
    _below_b("A"),
    _below_b("C"),
    _as_printed,
    Along(
        says="as printed, the loss of HBDP hardly changes (setting {setting})",
        metric=LOSS,
        along="epsilon",
        by=("setting",),
        where={"epsilon_per": PER_QUERY, "criterion": HBDP_PRINTED},
        among=_as_far_as_printed,
        shape=shapes.stays,
        noise=noise_of,
        told="between {line.lowest:.3f} and {line.highest:.3f}; noise up to {noise:.3f}",
    ),
    Along(
        says=f"with epsilon per user the loss hardly changes up to {_FLAT_TO:g} (setting {{setting}}, {{criterion}})",
        metric=LOSS,
        along="epsilon",
        by=("setting", "criterion"),
        where={"epsilon_per": PER_USER},
        among=_thinly_spread,
        shape=shapes.stays,
        noise=noise_of,
        told="between {line.lowest:.3f} and {line.highest:.3f}; noise up to {noise:.3f}",
    ),
)


# -- figures -------------------------------------------------------------------------------------------------

_SAID = {
    "D=P": "D = P",
    "A": "A: 4 domains, 19 topics",
    "B": "B: abstraction, 19 topics",
    "C": "C: abstraction, 4 topics",
}


def _hardest_title(per: str, found: Findings) -> str:
    """What becomes of the hardest setting that was measured."""
    chosen = found.where(metric=LOSS, epsilon_per=per)
    setting = "B" if "B" in chosen.values("setting") else chosen.values("setting")[-1]
    criterion = SQC2 if SQC2 in chosen.values("criterion") else chosen.values("criterion")[0]
    line = chosen.where(setting=setting, criterion=criterion).along("epsilon")
    return (
        f"Epsilon {_WHOSE[per]}: the loss goes from {line.first:.2f} at {line.start:g} to {line.last:.2f} at "
        f"{line.end:g} ({_CALLED[criterion]}, setting {setting})"
    )


def _sizes_text(per: str, found: Findings) -> str:
    users, phrases = (found.values(name)[0] for name in ("users", "phrases"))
    return f"epsilon {_WHOSE[per]}; {users:,} users with about {phrases:,} phrases each; {MEANS}"


def _criterion_findings(found: Findings) -> Findings:
    """With what each criterion may use of epsilon."""
    return found.chosen(lambda row: row["criterion"] not in (NSQC_PRINTED, HBDP_PRINTED))


def _paper_findings(found: Findings) -> Findings:
    """The lines of the paper's figures 2 to 4, as far as they go."""
    return _as_far_as_printed(found).chosen(lambda row: row["criterion"] in PRINTED)


def _printed_title(found: Findings) -> str:
    chosen = _paper_findings(found).where(metric=LOSS, epsilon_per=PER_QUERY)
    setting = "A" if "A" in chosen.values("setting") else chosen.values("setting")[-1]
    end = max(chosen.values("epsilon"))
    here = chosen.where(setting=setting, epsilon=end)
    told = (f"{_CALLED[one]} {here.where(criterion=one).value:.3f}" for one in here.values("criterion"))
    return f"Loss at epsilon {end:g} in setting {setting}: {', '.join(told)}"


def _loss_curves(name: str, title: Said, per: str, among: Callable[[Findings], Findings]) -> Curves:
    return Curves(
        name=name,
        title=title,
        under=partial(_sizes_text, per),
        metric=LOSS,
        where={"epsilon_per": per},
        among=among,
        shown={"setting": _SAID, "criterion": _CALLED},
        x=Scale("epsilon", "epsilon", log=True, ticks=(0.1, 1, 10)),
        y=Scale("value", "loss (Jensen-Shannon divergence, bits)", top=1.0),
        by="criterion",
        panel="setting",
        least=1,
    )


_WHOSE = {PER_QUERY: "for each query", PER_USER: "for a whole user"}
FIGURES = (
    _loss_curves("printed", _printed_title, PER_QUERY, _paper_findings),
    *(_loss_curves(f"per-{per}", partial(_hardest_title, per), per, _criterion_findings) for per in _WHOSE),
)
