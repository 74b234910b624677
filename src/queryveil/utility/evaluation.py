"""evaluate(): all measures that apply, on one or many releases of one log."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from queryveil.errors import UsageError
from queryveil.graph import missing_table
from queryveil.log import SearchLog
from queryveil.release import Release
from queryveil.utility import MEASURES
from queryveil.utility.frame import Figure, Measure, Original, Released
from queryveil.utility.keyword_generation import domains
from queryveil.utility.pattern_ranking import ends


@dataclass(frozen=True)
class Evaluation:
    """What one release is still good for. Its figures come from the raw log: they are for the curator."""

    release: str
    figures: dict[str, Figure]
    left_out: dict[str, str] = field(default_factory=dict)
    """Measures that were not asked for by name and do not apply, each with the reason."""

    @property
    def measures(self) -> dict[str, float | None]:
        """Figures by name; None where there is nothing to compare."""
        return {name: figure.value for name, figure in self.figures.items()}

    def as_dict(self) -> dict[str, Any]:
        return {
            "release": self.release,
            "measures": self.measures,
            "stated": {
                name: {"unit": figure.unit, "direction": figure.direction, "help": figure.help}
                for name, figure in self.figures.items()
            },
            "left_out": self.left_out,
        }


@overload
def evaluate(  # type: ignore[overload-overlap] # a text is a sequence of texts too; it means one release
    log: SearchLog,
    releases: Release | str | Path,
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
) -> Evaluation: ...
@overload
def evaluate(
    log: SearchLog,
    releases: Sequence[Release | str | Path],
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
) -> list[Evaluation]: ...
def evaluate(
    log: SearchLog,
    releases: Release | str | Path | Sequence[Release | str | Path],
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
) -> Evaluation | list[Evaluation]:
    """Compare a release, or each of several, with the log that it was made from.

    `metrics` are names such as 'coverage@100'; left out, all that apply. `seeds` are the domains of a concept, for
    keyword generation; `pattern` is one like 'fear of *'; `top` replaces the number after @ where none is given.
    """
    if isinstance(releases, (Release, str, Path)):
        return evaluate(log, [releases], metrics, seeds=seeds, pattern=pattern, top=top)[0]
    chosen = measures(metrics, seeds=seeds, pattern=pattern, top=top)
    sides = [Released.of(release) for release in releases]
    left_out: dict[str, str] = {}
    if metrics is None:
        used = {measure.name for measure in chosen}
        left_out = {name: f"needs --{cls.option}" for name, cls in MEASURES.items() if name not in used}
    else:
        _refuse(chosen, sides)
    original = Original(log)
    return [_evaluation(original, release, chosen, left_out) for release in sides]


def measures(
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
) -> list[Measure]:
    """The measures that these names stand for; without names, all for which everything needed is given."""
    given: dict[str, Any] = {}
    if seeds is not None:
        given["seeds"] = domains(seeds)
    if pattern is not None:
        ends(pattern)
        given["pattern"] = pattern
    if isinstance(metrics, str):
        metrics = [metrics]
    elif metrics is None:
        metrics = [name for name, cls in MEASURES.items() if cls.option is None or cls.option in given]
    return [one for name in metrics for one in _named(name, given, top)]


def _refuse(chosen: list[Measure], releases: list[Released]) -> None:
    """What a release lacks is said before anything is counted."""
    for measure in chosen:
        for release in releases:
            lacking = measure.lacks(release)
            if lacking is not None:
                raise missing_table(lacking, f"in '{release.name}'", measure.name)


def _evaluation(
    original: Original, release: Released, chosen: list[Measure], left_out: dict[str, str]
) -> Evaluation:
    figures: dict[str, Figure] = {}
    for measure in chosen:
        lacking = measure.lacks(release)
        if lacking is not None:
            left_out = left_out | {measure.name: f"the release has no table of {lacking}"}
            continue
        for name, value in measure.figures(original, release).items():
            stated = measure.stated(name)
            figures[name] = Figure(stated.unit, stated.direction, stated.help, value)
    return Evaluation(release.name, figures, left_out)


def _named(name: str | Measure, given: dict[str, Any], top: int | None) -> list[Measure]:
    """The measures that a name stands for: one, or one for each default of what follows the @."""
    if isinstance(name, Measure):
        return [name]
    word, sign, number = name.strip().partition("@")
    if word not in MEASURES:
        near = difflib.get_close_matches(word, MEASURES, n=2, cutoff=0.5)
        raise UsageError(
            f"there is no measure '{word}'",
            f"did you mean {' or '.join(near)}" if near else f"use one of {', '.join(MEASURES)}",
        )
    cls = MEASURES[word]
    if cls.option is not None and cls.option not in given:
        raise UsageError(f"measure '{word}' needs --{cls.option}", _EXAMPLES[cls.option])
    at = None
    if sign:
        try:
            at = float(number)
        except ValueError:
            raise UsageError(
                f"what follows the @ of '{word}' is not a number", f"write it like {_example(cls)}"
            ) from None
    return _values(cls, at, given, top)


_EXAMPLES = {
    "seeds": "name domains of the concept, like --seeds shoes.com,boots.com",
    "pattern": "write it like --pattern 'fear of *'",
}


def _values(cls: type[Measure], at: float | None, given: dict[str, Any], top: int | None) -> list[Measure]:
    own = {cls.option: given[cls.option]} if cls.option is not None else {}
    if at is None and cls.defaults and cls.whole and top is not None:
        at = top
    if at is not None or not cls.defaults:
        return [cls(at=at, **own)]
    return [cls(at=default, **own) for default in cls.defaults]


def _example(cls: type[Measure]) -> str:
    return str(cls()) if cls.defaults else cls.name
