"""A study of one's own, from a YAML file: methods, what varies, which measures.

question: How many queries per user?
methods:
  - {method: zealous, epsilon: 1, delta: 1e-6, items: queries}
  - {method: k-query, k: 10, label: k-query of 10}
vary:
  max_items: [1, 2, 5, 10]
measures: [coverage@100]
repeats: 3
expect:
  - {measure: coverage@100, along: max_items, shape: rising}
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import NoneType
from typing import Any

from queryveil import KINDS, MECHANISMS, InputError, Measure, UsageError, measures
from queryveil.extension import Parameter, instead, parameters
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import grid
from queryveil_lab.studies.declaration import MOST_CELLS, MOST_REPEATS, Axis, Findings, Metric, Study
from queryveil_lab.studies.drawing import MEANS, Curves
from queryveil_lab.studies.expectations import Along, expected
from queryveil_lab.studies.grid import METHOD, Entry, Grid, method_axis
from queryveil_lab.studies.shapes import NAMED

_KEYS = ("name", "question", "methods", "vary", "measures", "repeats", "expect", "seeds", "pattern", "top")
_LARGEST = 1_000_000
_FURTHEST = 2**63
"""No whole number of a file is as large."""


def read_study(file: str | Path) -> Study:
    """The study that a file describes. What is wrong with it is said before any log is read."""
    path = Path(file)
    text, said = _load_file(path)
    about = _Reading(path.name)
    document = about.mapping(said, "the file")
    about.known(document, _KEYS, "the file")
    entries = tuple(
        _parse_entry(about, one) for one in about.sequence(document.get("methods"), "methods", needed=True)
    )
    if len({entry.label for entry in entries}) < len(entries):
        raise about.wrong("two methods have the same label", "give each a label of its own")
    vary = tuple(
        _parse_axis(about, entries, str(name), values)
        for name, values in about.mapping(document.get("vary") or {}, "vary").items()
    )
    _check_complete(about, entries, {axis.name for axis in vary})
    number = len(entries) * math.prod(len(axis.values) for axis in vary)
    if number > MOST_CELLS:
        raise about.wrong(
            f"its grid has {number:,} cells, and {MOST_CELLS:,} are the most", "give what varies fewer values"
        )
    chosen = _parse_measures(about, document)
    repeats = document.get("repeats", 1)
    if not _is_whole(repeats) or repeats > MOST_REPEATS:
        raise about.wrong(
            f"'repeats' must be a whole number from 1 to {MOST_REPEATS}", "write it like repeats: 3"
        )
    expects = [
        _parse_expectation(about, one, vary, chosen)
        for one in about.sequence(document.get("expect"), "expect")
    ]
    for entry in entries:
        # Wrong parameters are refused here, by the method's own words.
        for axis in vary or ():
            for value in axis.values:
                entry.made(
                    {axis.name: value} | {other.name: other.values[0] for other in vary if other != axis}
                )
        if not vary:
            entry.made({})
    return grid.study(
        Grid(entries, tuple(chosen)),
        name=about.text(document.get("name", path.stem), "name"),
        question=about.text(document.get("question", f"What comes out of {path.name}?"), "question"),
        paper="none: a study of your own",
        axes=(method_axis(entries), *vary),
        metrics=tuple(Metric(str(one), one.unit, one.help) for one in chosen),
        repeats=repeats,
        figures=(EveryMetric(tuple(axis.name for axis in vary)),),
        checks=expected(*expects),
        needs=(),
        version=hashlib.sha256(text).hexdigest(),
    )


def _load_file(path: Path) -> tuple[bytes, Any]:
    try:
        import yaml
    except ImportError:
        raise UsageError("a study from a file needs PyYAML", "install queryveil-lab again") from None
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"study '{path}' cannot be read ({error.strerror})", "name a study, or a YAML file"
        ) from None
    if len(text) > _LARGEST:
        raise InputError(f"study '{path}' is larger than a study can be", "name a YAML file")
    try:
        words = text.decode("utf-8")
        # An alias stands for all that its anchor holds: a few hundred bytes of them can stand for more than any memory.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(words, Loader=yaml.SafeLoader)):
            raise InputError(
                f"study '{path}' has an alias (*name), which is not read", "write out what it stands for"
            )
        return text, yaml.safe_load(words)
    # A value that is none of its kind, such as the 32nd of May, makes the parser fail in ways of its own.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        raise InputError(
            f"study '{path}' is not YAML{line}", "see docs/studies/index.md for an example"
        ) from None


class _Reading:
    """What is expected of the parts of a file, and how it is said that they are something else."""

    def __init__(self, name: str) -> None:
        self.name = name

    def wrong(self, what: str, way_out: str) -> InputError:
        return InputError(f"study '{self.name}': {what}", way_out)

    def mapping(self, value: Any, what: str) -> Mapping[Any, Any]:
        if not isinstance(value, Mapping):
            raise self.wrong(f"{what} is not a mapping of names to values", "write it like key: value")
        return value

    def sequence(self, value: Any, what: str, *, needed: bool = False) -> list[Any]:
        if value is None and not needed:
            return []
        if not isinstance(value, list) or (needed and not value):
            raise self.wrong(f"'{what}' is not a list", f"write it like {what}: [...]")
        return value

    def text(self, value: Any, what: str) -> str:
        """A word or a number, which a file need not put into quotes."""
        if not isinstance(value, (str, int, float)) or _too_long(value):
            raise self.wrong(f"'{what}' is not a text", f"write it like {what}: words")
        return str(value)

    def known(self, given: Iterable[Any], names: Iterable[str], what: str) -> None:
        """Refuse what has no such name. What was given is not repeated: the file may be a log by mistake."""
        allowed = list(names)
        for one in given:
            if one not in allowed:
                raise self.wrong(f"{what} has something that is not known", instead(one, allowed))


def _parse_entry(about: _Reading, said: Any) -> Entry:
    given = dict(about.mapping(said, "an entry of methods"))
    method, label = given.pop("method", None), given.pop("label", None)
    label = about.text(label, "label") if label is not None else None
    about.known([method], MECHANISMS, "the package")
    cls = MECHANISMS[str(method)]
    declared = {one.name: one for one in parameters(cls)}
    given = {str(name).replace("-", "_"): value for name, value in given.items()}
    about.known(given, declared, str(method))
    fixed = {name: _parse_value(about, declared[name], value) for name, value in given.items()}
    return Entry(str(label or method), str(method), fixed)


def _parse_axis(about: _Reading, entries: tuple[Entry, ...], name: str, values: Any) -> Axis:
    name = name.replace("-", "_")
    takers = [entry for entry in entries if entry.takes(name)]
    if not takers:
        raise about.wrong(
            f"'{name}' varies, and no method has it as a parameter that is left open",
            "name a parameter of a method; queryveil plan METHOD --help lists them",
        )
    declared = next(one for one in parameters(MECHANISMS[takers[0].method]) if one.name == name)
    if declared.declaration.many:
        raise about.wrong(f"'{name}' is a list itself and cannot vary", "give it a value under methods")
    if declared.type is bool:
        raise about.wrong(
            f"'{name}' is true or false and cannot vary",
            "name the method twice, each with a label of its own",
        )
    listed = about.sequence(values, name, needed=True)
    if any(value is None for value in listed):
        raise about.wrong(f"'{name}' has a value that is empty", f"write it like {name}: [...]")
    made = tuple(_parse_value(about, declared, value) for value in listed)
    if len(set(made)) < len(made):
        raise about.wrong(f"'{name}' has a value twice", "write each once")
    return Axis(name, made, declared.help)


def _check_complete(about: _Reading, entries: tuple[Entry, ...], varied: set[str]) -> None:
    """Refuse a method that has no value for something it cannot do without."""
    for entry in entries:
        for one in parameters(MECHANISMS[entry.method]):
            if one.required and one.name not in varied and one.name not in entry.fixed:
                raise about.wrong(
                    f"method {entry.method} needs '{one.name}'", "give it a value under methods or vary"
                )


def _parse_value(about: _Reading, declared: Parameter, value: Any) -> Any:
    """A value of the parameter's type: YAML takes 1e-6 for a text, and a list of one for what it is."""
    if declared.declaration.many:
        parts = value if isinstance(value, list) else str(_parse_single(about, declared, value)).split(",")
        return tuple(_parse_scalar(about, declared, part) for part in parts)
    return _parse_scalar(about, declared, value)


def _parse_single(about: _Reading, declared: Parameter, value: Any) -> Any:
    """What is one value, and not a list or a mapping of some."""
    if not isinstance(value, (str, int, float, date, NoneType)) or _too_long(value):
        raise about.wrong(
            f"'{declared.name}' has something that is not a single value",
            f"write a number or a word for {declared.name}",
        )
    return value


def _parse_scalar(about: _Reading, declared: Parameter, value: Any) -> Any:
    _parse_single(about, declared, value)
    try:
        if declared.type is float and not isinstance(value, bool):
            return float(value)
        if declared.type is str:
            return str(value).strip()
    except (TypeError, ValueError):
        raise about.wrong(
            f"'{declared.name}' is not a number", f"write it like {declared.name}: 1.5"
        ) from None
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < _FURTHEST


def _too_long(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= _FURTHEST


def _parse_measures(about: _Reading, document: Mapping[Any, Any]) -> list[Measure]:
    names = about.sequence(document.get("measures"), "measures", needed=True)
    seeds, pattern, top = (document.get(name) for name in ("seeds", "pattern", "top"))
    listed = isinstance(seeds, list) and all(isinstance(one, str) for one in seeds)
    if not (seeds is None or isinstance(seeds, str) or listed):
        raise about.wrong("'seeds' is not a list of domains", "write it like seeds: [shoes.com, boots.com]")
    if not (pattern is None or isinstance(pattern, str)):
        raise about.wrong("'pattern' is not a text", "write it like pattern: 'fear of *'")
    if not (top is None or _is_whole(top)):
        raise about.wrong("'top' must be a whole number from 1", "write it like top: 100")
    return measures([about.text(one, "measures") for one in names], seeds=seeds, pattern=pattern, top=top)


def _parse_expectation(about: _Reading, said: Any, vary: tuple[Axis, ...], chosen: list[Measure]) -> Along:
    given = about.mapping(said, "an entry of expect")
    about.known(given, ("measure", "along", "shape"), "an entry of expect")
    along, shape = str(given.get("along")).replace("-", "_"), str(given.get("shape"))
    about.known([along], sorted(axis.name for axis in vary), "vary")
    about.known([shape], NAMED, "the list of shapes")
    metric = _find_figure(about, about.text(given.get("measure"), "measure"), chosen)
    says = f"{metric} is {shape} along {along}"
    number = {axis.name: ":.4g" if isinstance(axis.values[0], float) else "" for axis in vary}
    others = {METHOD: ""} | {name: form for name, form in number.items() if name != along}
    return Along(
        says=f"{says} ({', '.join(f'{{{name}{form}}}' for name, form in others.items())})",
        metric=metric,
        along=along,
        by=tuple(others),
        shape=NAMED[shape],
        told=f"{{line.first:.4g}} at {{line.start{number[along]}}} to {{line.last:.4g}} at {{line.end{number[along]}}}",
        missing=says,
    )


@dataclass(frozen=True)
class EveryMetric:
    """Each metric against the first axis of numbers, one line for each setting of the others."""

    axes: tuple[str, ...]

    def __call__(self, found: Findings) -> Iterator[tuple[str, Any]]:
        axis = next((name for name in self.axes if _are_numbers(found.values(name))), None)
        if axis is None:
            return
        for metric in found.values("metric"):
            here = found.where(metric=metric)
            values = sorted(here.values(axis))
            noun = axis.replace("_", " ")
            yield from Curves(
                name="".join(one if one.isalnum() or one in "-." else "-" for one in metric),
                title=f"{metric} of {{method}}: {{line.first:.4g}} at {noun} {{line.start:.4g}}, {{line.last:.4g}} at "
                "{line.end:.4g}",
                under=MEANS,
                metric=metric,
                x=Scale(axis, noun, log=values[0] > 0 and values[-1] / values[0] >= 20),
                y=Scale("value", f"{metric} ({here.rows[0]['unit']})"),
                by=(METHOD, *(name for name in self.axes if name != axis)),
                by_title="setting",
                least=2,
            )(here)


def _are_numbers(values: list[Any]) -> bool:
    return len(values) > 1 and all(isinstance(value, (int, float)) for value in values)


def _find_figure(about: _Reading, said: str, chosen: list[Measure]) -> str:
    """The figure that is meant: a measure may be named without the number that it has by default."""
    name, *parts = said.strip().split("/")
    meant = [one for one in chosen if name in (str(one), one.name)]
    figures = list(dict.fromkeys("/".join((str(one), *parts)) for one in meant))
    if len(figures) > 1:
        raise about.wrong(
            "an entry of expect names a measure that is taken more than once",
            f"write one of {', '.join(figures)}",
        )
    if not meant or not all(part in {*meant[0].parts, *KINDS} for part in parts):
        taken = [str(one) for one in chosen]
        taken += [f"{one}/{part}" for one in chosen for part in one.parts]
        raise about.wrong("an entry of expect names a figure that is not measured", instead(said, taken))
    return figures[0]
