"""All private mechanisms, one after another: what `audit all` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from queryveil import MECHANISMS, Mechanism
from queryveil.extension import Card, CardTable, cards, counted
from queryveil_lab.audits import running
from queryveil_lab.audits.audit import audit
from queryveil_lab.audits.page import DOCUMENT
from queryveil_lab.audits.planning import public_users

RUNS = 20_000
_DELTA = 1e-3
_USUAL = {"epsilon": 1.0, "delta": _DELTA}
SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "steered": {"": {**_USUAL, "max_items": 3}},
    "weighted-gaussian": {"": {**_USUAL, "max_items": 3}},
    "zealous": {
        "": {**_USUAL, "max_items": 2},
        "add-remove": {**_USUAL, "max_items": 2, "neighbours": "add-remove"},
        "probabilistic": {"epsilon": 1.0, "delta": 0.01, "max_items": 1, "guarantee": "probabilistic"},
    },
    "click-graph": {
        "": {**_USUAL, "max_queries": 2},
        "all tables": {
            **_USUAL,
            "max_queries": 2,
            "counts": "fresh",
            "epsilon_counts": 0.5,
            "urls": "private",
            "epsilon_clicks": 0.5,
            "delta_clicks": _DELTA,
            "epsilon_reformulations": 0.5,
            "delta_reformulations": _DELTA,
        },
        "steered": {"epsilon": 2.0, "delta": 0.01, "max_queries": 2, "selection": "steered"},
    },
    "truncated-geometric": {"": {**_USUAL, "max_items": 1}},
    "semantic": {"": {"epsilon": 1.0, "domain": "citrus"}},
    "profile-histogram": {"": {"epsilon": 1.0, "max_queries": 2, "domain": "citrus"}},
}
"""How each private mechanism is audited: with a delta that can be seen in a few thousand runs, and few items."""


_ONE = {"epsilon": 0.5, "delta": _DELTA, "max_items": 1}
SEVERAL: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "series, by user": ("zealous", {**_ONE, "neighbours": "add-remove"}, {"periods": 3}),
    "series, by user and period": (
        "zealous",
        {**_ONE, "neighbours": "add-remove"},
        {"periods": 3, "unit": "user-period"},
    ),
    "series of steered": ("steered", _ONE, {"periods": 3}),
    "synthetic logs": (
        "click-graph",
        {**_USUAL, "max_queries": 1, "epsilon_clicks": 0.5, "urls": "private", "delta_clicks": _DELTA},
        {"synthetic": True},
    ),
}
"""What is made of several releases or of one release: a method, its settings, and how it is audited."""


def subjects() -> Iterator[tuple[str, Mechanism, Mapping[str, Any]]]:
    """Every private mechanism by name; one that has no settings here is audited by its own example. Then series, and
    synthetic logs.
    """
    for name, cls in MECHANISMS.items():
        for variant, given in SETTINGS.get(name, {"": cls.example}).items():
            made = cls(**given)
            if made.plan(users=1_000).guarantee.private:
                yield f"{name}, {variant}" if variant else name, made, {}
    for name, (method, given, how) in SEVERAL.items():
        yield name, MECHANISMS[method](**given), how


@dataclass(frozen=True, kw_only=True, repr=False)
class AuditTable:
    """Audits of several mechanisms, each as the document that `audit --json` prints."""

    audits: Mapping[str, Mapping[str, Any]]

    @property
    def passes(self) -> bool:
        return all(one["passes"] for one in self.audits.values())

    def _card(self) -> Card:
        failed = [name for name, one in self.audits.items() if not one["passes"]]
        said = f"{', '.join(failed)} fail" if failed else "all pass"
        rows = [
            (name, one["claimed_epsilon"], one["epsilon_lower_bound"], "pass" if one["passes"] else "FAIL")
            for name, one in self.audits.items()
        ]
        heading = ("mechanism", "claimed epsilon", "proven at least", "verdict")
        table = CardTable("Audits", heading, iter(rows), len(rows))
        return Card("Audits", f"{counted(len(self.audits), 'audit')}; {said}", tables=(table,))

    def as_dict(self) -> dict[str, Any]:
        return {"passes": self.passes, "audits": {name: dict(one) for name, one in self.audits.items()}}

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def audit_all(
    *,
    runs: int | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    told: Callable[[str, Mapping[str, Any]], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AuditTable:
    """Audit every private mechanism, series and synthetic logs, with settings that show the most in a few minutes.

    Parameters are those of `audit`; 20,000 runs if left out. `told` is called with each name and its document, as they
    come. With `out`, each has a page in a folder of its own there, and one that is complete is not run again.
    """
    place = Path(out) if out is not None else None
    asked: dict[str, Any] = {"runs": RUNS if runs is None else runs, "confidence": confidence, "seed": seed}
    found: dict[str, Mapping[str, Any]] = {}
    every = list(subjects())
    with running.shared_processes(workers or running.cores()):
        for number, (name, mechanism, how) in enumerate(every):
            if progress:
                progress(number, len(every))
            same = {**asked, "periods": 1, "unit": "user", "synthetic": False, **how}
            own = place / name.replace(", ", "-").replace(" ", "-") if place else None
            made = _finished_audit(own, mechanism, same) if own is not None and own.exists() else None
            if made is None:
                made = audit(
                    mechanism,
                    runs=asked["runs"],
                    confidence=confidence,
                    workers=workers,
                    seed=seed,
                    out=own,
                    **how,
                ).as_dict()
            found[name] = made
            if told:
                told(name, made)
    return AuditTable(audits=found)


def _finished_audit(own: Path, mechanism: Mechanism, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What an earlier run found with the same settings; None if there is nothing of the kind."""
    try:
        known = json.loads((own / DOCUMENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    plan = mechanism.plan(users=public_users(mechanism, None))
    same = {"method": plan.method, "parameters": json.loads(json.dumps(dict(plan.parameters)))}
    same |= {"version": metadata.version("queryveil"), **asked}
    fits = isinstance(known, dict) and all(known.get(key) == value for key, value in same.items())
    return known if fits else None
