"""evaluate(): all measures that apply, on one or many releases of one log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted, number, percent
from queryveil.errors import InputError, Message, UsageError, argument, instead
from queryveil.measure import MEASURES, origin
from queryveil.measure.graph import missing_table
from queryveil.measure.keyword_generation import parse_domains
from queryveil.measure.measure import Figure, Measure, OfItems, Original, Released
from queryveil.measure.pattern_ranking import split_pattern
from queryveil.parameters import parameters
from queryveil.privacy.declarations import LABELS
from queryveil.reading.log import SearchLog, as_log
from queryveil.reading.pinning import unchanged_logs
from queryveil.release.publish import Release

if TYPE_CHECKING:
    from queryveil.display.pictures import Picture

_SHARES = ("share", "probability", "fraction")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What one release is still good for. Its figures come from the raw log: they are for the curator."""

    release: str
    figures: dict[str, Figure]
    left_out: dict[str, str] = field(default_factory=dict)
    """Measures that were not asked for by name and do not apply, each with the reason."""
    notes: dict[str, str] = field(default_factory=dict)
    """What one has to know beside the figures of a measure."""
    items: str | None = None
    """The kind of item that figures without a kind in their name are of; None if none are, or all have it there."""
    warnings: tuple[str, ...] = ()
    """What speaks against comparing this release with this log."""

    @property
    def measures(self) -> dict[str, float | None]:
        """Figures by name; None where there is nothing to compare."""
        return {name: figure.value for name, figure in self.figures.items()}

    def as_dict(self) -> dict[str, Any]:
        return {
            "release": self.release,
            "items": self.items,
            "measures": self.measures,
            "stated": {
                name: {"unit": figure.unit, "direction": figure.direction, "help": figure.help}
                for name, figure in self.figures.items()
            },
            "left_out": self.left_out,
            "notes": self.notes,
            "warnings": list(self.warnings),
        }

    def _card(self) -> Card:
        rows = [(name, number(one.value), one.unit, one.direction) for name, one in self.figures.items()]
        first = ", ".join(f"{name} {number(one.value)}" for name, one in list(self.figures.items())[:3])
        line = f"{self.release}; {counted(len(rows), 'figure')}{f': {first}' if first else ''}"
        more = [("left out", f"{name}: {why}") for name, why in self.left_out.items()]
        more += [("note", said) for said in (*self.notes.values(), *self.warnings)]
        tables = [CardTable("Figures", ("measure", "value", "unit", "direction"), iter(rows), len(rows))]
        return Card(f"Evaluation of {self.release}", line, more, (cards.CURATOR_ONLY,), tables)

    def plot(self) -> Picture:
        """The figures that are shares, as bars from 0 to 1."""
        from queryveil.display import pictures

        shares = [
            (name, one.value, percent(one.value))
            for name, one in self.figures.items()
            if one.value is not None and one.unit.startswith(_SHARES) and 0 <= one.value <= 1
        ]
        if not shares:
            raise UsageError("no figure of this evaluation is a share", "look at its measures instead")
        return pictures.bars(f"What {self.release} keeps of the log", shares, "share of 1")

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


@overload
def evaluate(
    log: SearchLog | Any,
    releases: Release | str | Path,
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
    **options: Any,
) -> Evaluation: ...
@overload
def evaluate(
    log: SearchLog | Any,
    releases: Sequence[Release | str | Path],
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
    **options: Any,
) -> list[Evaluation]: ...
@unchanged_logs
def evaluate(
    log: SearchLog | Any,
    releases: Release | str | Path | Sequence[Release | str | Path],
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
    **options: Any,
) -> Evaluation | list[Evaluation]:
    """Compare a release, or each of several, with the log that it was made from.

    `log` is a `SearchLog`, or what `read` takes; `releases` are releases or their folders.
    `metrics` are names such as 'coverage@100'; left out, all that apply. `seeds` are the domains of a concept, for
    keyword generation; `pattern` is one like 'fear of *'; `top` replaces the number after @ where none is given.
    `options` are those that measures declare: df, memory, frequent, min_ratio, ...
    """
    if isinstance(releases, (Release, str, Path)):
        return evaluate(log, [releases], metrics, seeds=seeds, pattern=pattern, top=top, **options)[0]
    chosen = measures(metrics, seeds=seeds, pattern=pattern, top=top, **options)
    sides = _align_item_kinds([Released.from_release(release) for release in releases])
    left_out: dict[str, str] = {}
    if metrics is None:
        used = {measure.name for measure in chosen}
        left_out = {
            name: Message(f"needs {argument(str(cls.option))}")
            for name, cls in MEASURES.items()
            if name not in used
        }
    original = Original(as_log(log))
    if metrics is not None:
        _check_requirements(chosen, original, sides)
    return [
        _evaluate_release(original.match_grouping(release), release, chosen, left_out) for release in sides
    ]


def _align_item_kinds(sides: list[Released]) -> list[Released]:
    """One main kind of item for all, or a kind in every name: no figure may stand beside one of other items."""
    counting = [side for side in sides if side.kinds]
    shared = [
        kind for kind in (counting[0].kinds if counting else ()) if all(kind in one.kinds for one in counting)
    ]
    mains = {side.main for side in counting}
    if len(mains) > 1:
        for side in counting:
            side.main = shared[0] if shared else None
    return sides


def measures(
    metrics: str | Iterable[str | Measure] | None = None,
    *,
    seeds: str | Path | Iterable[str] | None = None,
    pattern: str | None = None,
    top: int | None = None,
    **options: Any,
) -> list[Measure]:
    """The measures that these names stand for; without names, all for which everything needed is given."""
    given: dict[str, Any] = {}
    if seeds is not None:
        given["seeds"] = parse_domains(seeds)
    if pattern is not None:
        split_pattern(pattern)
        given["pattern"] = pattern
    given |= _declared_options(options)
    if isinstance(metrics, str):
        metrics = [metrics]
    elif metrics is None:
        metrics = [name for name, cls in MEASURES.items() if cls.option is None or cls.option in given]
    chosen = [one for name in metrics for one in _measures_by_name(name, given, top)]
    used = {one.name for measure in chosen for one in parameters(type(measure))}
    for name, value in options.items():
        if value is not None and name not in used:
            raise UsageError(
                f"none of the chosen measures takes the option '{name}'",
                "leave it out, or name its measure too",
            )
    return chosen


def _declared_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, each of them one that some measure declares."""
    known = {one.name for cls in MEASURES.values() for one in parameters(cls)}
    for name in options:
        if name not in known:
            raise UsageError(f"no measure takes an option '{name}'", instead(name, sorted(known)))
    chosen = {name: value for name, value in options.items() if value is not None}
    return {name: str(value) if isinstance(value, Path) else value for name, value in chosen.items()}


_CONCEPTS = "drawn concepts are read as words, without their senses, and counted like what was typed"
_INSTALL = "install queryveil[language]"


def _check_requirements(chosen: list[Measure], original: Original, releases: list[Released]) -> None:
    """What a release lacks is said before anything is counted."""
    for measure in chosen:
        for release in releases:
            lacking = measure.missing_table(release)
            if lacking is not None:
                raise missing_table(lacking, f"in '{release.name}'", measure.name)
            unmet = measure.unmet_requirement(original, release)
            if unmet is not None:
                raise InputError(
                    f"{measure.name} cannot be measured on '{release.name}': {unmet[0]}", unmet[1]
                )
            if measure.is_uninstalled:
                raise UsageError(f"measure '{measure.name}' needs the package {measure.package}", _INSTALL)


def _evaluate_release(
    original: Original, release: Released, chosen: list[Measure], left_out: dict[str, str]
) -> Evaluation:
    figures: dict[str, Figure] = {}
    notes: dict[str, str] = {}
    warnings = origin.check_origin(original, release)
    for measure in chosen:
        lacking = measure.missing_table(release)
        if lacking is not None:
            left_out = left_out | {measure.name: Message(f"the release has no table of {lacking}")}
            continue
        unmet = measure.unmet_requirement(original, release)
        if unmet is not None:
            left_out = left_out | {measure.name: Message(f"{unmet[0]}; {unmet[1]}")}
            continue
        if measure.is_uninstalled:
            left_out = left_out | {measure.name: Message(f"needs the package {measure.package}; {_INSTALL}")}
            continue
        for name, value in measure.figures(original, release).items():
            stated = measure.describe_figure(name)
            figures[name] = Figure(stated.unit, stated.direction, stated.help, value)
        if release.texts == LABELS and (isinstance(measure, OfItems) or measure.table is not None):
            notes["concepts"] = _CONCEPTS
        plugin = MEASURES.plugin(measure.name)
        if plugin is not None:
            notes[f"{measure.name}, package"] = (
                f"a measure of the package {plugin.package} {plugin.version}, not of queryveil"
            )
        note = measure.note(original, release)
        if note is not None:
            notes[measure.name] = note
    counted = any(isinstance(measure, OfItems) for measure in chosen)
    return Evaluation(release.name, figures, left_out, notes, release.main if counted else None, warnings)


def _measures_by_name(name: str | Measure, given: dict[str, Any], top: int | None) -> list[Measure]:
    """The measures that a name stands for: one, or one for each default of what follows the @."""
    if isinstance(name, Measure):
        return [name]
    word, sign, number = name.strip().partition("@")
    if word not in MEASURES:
        raise UsageError(f"there is no measure '{word}'", instead(word, MEASURES, most=2))
    cls = MEASURES[word]
    if cls.option is not None and cls.option not in given:
        raise UsageError(f"measure '{word}' needs {argument(str(cls.option))}", _EXAMPLES[cls.option])
    at = None
    if sign:
        try:
            at = float(number)
        except ValueError:
            raise UsageError(
                f"what follows the @ of '{word}' is not a number", f"write it like {_example_name(cls)}"
            ) from None
    return _measures_at(cls, at, given, top)


_EXAMPLES = {
    "seeds": f"name domains of the concept, like {argument('seeds', 'shoes.com,boots.com')}",
    "pattern": f"write it like {argument('pattern', 'fear of *')}",
}


def _measures_at(
    cls: type[Measure], at: float | None, given: dict[str, Any], top: int | None
) -> list[Measure]:
    own = {one.name: given[one.name] for one in parameters(cls) if one.name in given}
    if cls.option is not None:
        own[cls.option] = given[cls.option]
    if at is None and cls.defaults and cls.whole and cls.topped and top is not None:
        at = top
    if at is not None or not cls.defaults:
        return [cls(at=at, **own)]
    return [cls(at=default, **own) for default in cls.defaults]


def _example_name(cls: type[Measure]) -> str:
    return str(cls()) if cls.defaults else cls.name
