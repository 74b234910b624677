"""Sentences about an audit, for its page and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from queryveil_lab.audits.trials import ENUMERATED, AuditFinding

if TYPE_CHECKING:
    from queryveil_lab.audits.audit import Audit


def sentence(audit: Audit) -> str:
    """The verdict with its numbers."""
    best = audit.strongest
    how = "a proof" if best is not None and best.how == ENUMERATED else f"{audit.confidence:.0%} confidence"
    bound = (
        f"{audit.claim.told()} is claimed; epsilon is at least {number(audit.epsilon_lower_bound)} ({how})"
    )
    if audit.mu_lower_bound is not None:
        bound += f", and mu at least {audit.mu_lower_bound:.3f}"
    if (point := audit.curve_point) is not None:
        bound += f"; {point.told()}"
    if audit.passes:
        return f"Nothing refutes the promise: {bound}."
    refuting = next((one for one in audit.findings if one.refutes), None)
    if refuting is not None:
        return f"The promise does not hold. {bound}. Refuted by: {refuting.shape} ({refuting.event})."
    return f"The promise does not hold: {' '.join(beside(audit))}"


def beside(audit: Audit) -> Iterator[str]:
    """What was looked at beside the tables, a sentence each."""
    if audit.left_out:
        yield (
            f"Left out: {audit.left_out:,} pairs of logs need so many users that runs on them would take too long; "
            "their bounds are those of proofs and of smaller pairs."
        )
    if (folders := audit.folders) is not None:
        found = "none depends on the log without noise"
        if folders.suspected:
            found = f"these may depend on it without noise: {', '.join(folders.suspected)}"
        if folders.leaking:
            found = f"these depend on the log without noise: {', '.join(folders.leaking)}"
        yield (
            f"Release folders: {folders.fields:,} fields of {folders.releases} releases of each of two neighbouring "
            f"logs were compared, and {found}."
        )
    if (odd := audit.odd_rows) is not None:
        found = (
            f"these change what others wrote: {', '.join(odd.swallowing)}"
            if odd.swallowing
            else ("none changes how rows of others are read")
        )
        yield f"Odd rows: {odd.tried} rows that parse oddly were put into files, and {found}."
    if (forked := audit.forked) is not None:
        found = "both drew the same noise" if forked.drawn_twice else "they drew noise of their own"
        yield f"Forks: two processes with one past published {forked.releases} times each, and {found}."
    elif audit.folders is not None and audit.series.periods == 1:
        yield "Forks: not tried, because processes that fork could not publish the log that was made for this method."


def row(one: AuditFinding) -> tuple[str, ...]:
    """A finding as cells of a table."""
    by = "proof" if one.how == ENUMERATED else one.runner
    runs = "" if one.how == ENUMERATED else f"{one.runs:,}"
    bound = number(one.epsilon) + (" refutes" if one.refutes else "")
    logs = f"{one.shape}: {one.words}"
    return (
        logs,
        one.of,
        by,
        runs,
        one.event,
        one.claim.told(),
        bound,
        f"{one.delta:.3g}" if one.delta > 1e-50 else "0",
    )


def number(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.3f}"
