"""Declared parameters: one declaration gives validation, command-line option, web field and documentation.

    epsilon: float = param("privacy loss per user", gt=0)

A dataclass whose fields are declared so calls `validate(self)` in `__post_init__`; the message names the
parameter, what it must be and what it got.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from queryveil.errors import UsageError, argument, instead

_MISSING = dataclasses.MISSING
_KEY = "queryveil"

PROMISES = "What it promises"
COUNTED = "What is counted"
METHOD = "How it is done"
READING = "Reading the log"
OUTPUT = "Output"
SERIES = "A series of releases"
GROUPS = (PROMISES, COUNTED, METHOD, OUTPUT, SERIES, READING)
"""What a parameter is about, in the order in which help and forms show it."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What is known of one parameter beyond its Python type."""

    help: str
    details: str = ""
    """What the reference page adds, in Markdown; help and forms have `help` alone."""
    group: str = METHOD
    """What it is about, one of `GROUPS`: parameters of a group stand together in help."""
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    choices: tuple[str, ...] | None = None
    flag: str | None = None
    """Name of the command-line option where it is not the field's own."""
    short: str | None = None
    """A short form of the command-line option beside the long one, such as -n."""
    metavar: str | None = None
    """What stands for its value in help, where the type does not say enough, such as DIR."""
    path: bool = False
    """The value is a file of the curator's: its path never enters a release."""
    writes: bool = False
    """The value is a new file, to be written at the end of the work."""
    function: bool = False
    """In Python the value may be a function instead."""
    many: bool = False
    """Several values, separated by commas on the command line."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A declared field of a class, as command line, web form and documentation see it."""

    name: str
    type: type
    """The scalar type: bool, int, float or str (of each value, for parameters with several)."""
    optional: bool
    default: Any
    declaration: Declaration

    @property
    def required(self) -> bool:
        return self.default is _MISSING

    @property
    def flag(self) -> str:
        return self.declaration.flag or _flag(self.name)

    @property
    def reference(self) -> str:
        """The parameter as a message names it."""
        option = self.flag.removeprefix("--")
        return argument(self.name, option=None if option == self.name.replace("_", "-") else option)

    def bounds(self, *, below: float = math.inf) -> list[str]:
        """Return its limits below a number in words: above 0, at most 20."""
        rule = self.declaration
        words = (("above", rule.gt), ("at least", rule.ge), ("below", rule.lt), ("at most", rule.le))
        return [f"{word} {limit:,.10g}" for word, limit in words if limit is not None and limit < below]

    def limits(self, *, below: float = math.inf) -> str:
        """Which values it may have, in a few words; without limits that nobody comes near, from `below` on."""
        return _limits(self.declaration, below)

    @property
    def help(self) -> str:
        limits = _limits(self.declaration)
        return f"{self.declaration.help} ({limits})" if limits else self.declaration.help


def param(help: str, *, default: Any = _MISSING, **limits: Any) -> Any:
    """Declare a dataclass field: a sentence of help, limits, and optionally a default."""
    metadata = {_KEY: Declaration(help=help, **limits)}
    if default is _MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parameters(cls: type) -> tuple[Parameter, ...]:
    """The declared parameters of a dataclass, in order."""
    return _declared(cls)


@functools.lru_cache(maxsize=256)  # reading the hints of a class takes long
def _declared(cls: Hashable) -> tuple[Parameter, ...]:
    return tuple(_read_declarations(typing.cast("type", cls)))


def _read_declarations(cls: type) -> Iterator[Parameter]:
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        declaration = field.metadata.get(_KEY)
        if declaration is None:
            continue
        scalar, optional = _scalar(hints[field.name])
        yield Parameter(
            name=field.name, type=scalar, optional=optional, default=field.default, declaration=declaration
        )


def check_names(cls: type, positional: Sequence[Any], given: Iterable[str]) -> None:
    """Refuse arguments that a dataclass of declared parameters cannot take.

    Args:
        cls: The dataclass; `__new__` of its base calls this, before the generated `__init__`.
        positional: Arguments without a name.
        given: Names of the other arguments. Without any argument nothing is missing: values are copied like that.

    Raises:
        UsageError: If an argument has no name or an unknown one, or a required one is missing.
    """
    names = [one.name for one in dataclasses.fields(cls) if one.init]
    if positional:
        raise UsageError(
            f"{cls.__name__} takes its parameters by name", f"write {cls.__name__}({names[0]}=..., ...)"
        )
    known = set(given)
    for name in given:
        if name not in names:
            raise UsageError(f"{cls.__name__} has no parameter '{name[:40]}'", instead(name, names))
    missing = [one for one in parameters(cls) if one.required and one.name not in known]
    if missing and known:
        raise UsageError(
            f"parameter '{missing[0].name}' of {cls.__name__} is missing",
            f"pass {missing[0].reference}: {missing[0].help}",
        )


class Declared:
    """A base for dataclasses of declared parameters, whose constructor suggests a name in place of an unknown one."""

    def __new__(cls, *args: Any, **given: Any) -> typing.Self:
        check_names(cls, args, given)
        return super().__new__(cls)


def value_of(instance: Any, name: str) -> Any:
    """Return the value of a declared parameter, or None if the class of `instance` does not declare it."""
    return getattr(instance, name) if any(one.name == name for one in parameters(type(instance))) else None


def validate(instance: Any) -> None:
    """Check every declared parameter of `instance`; NaN and infinities never pass."""
    for parameter in parameters(type(instance)):
        value = getattr(instance, parameter.name)
        if value is None and parameter.optional:
            continue
        if parameter.declaration.many:
            if isinstance(value, str) or not isinstance(value, Sequence) or not value:
                raise _wrong(parameter, value)
            # One canonical form whatever sequence was given, so that equal parameters are equal values.
            value = tuple(_checked(parameter, part) for part in value)
            object.__setattr__(instance, parameter.name, value)
        else:
            object.__setattr__(instance, parameter.name, _checked(parameter, value))


def fits(parameter: Parameter, value: Any) -> bool:
    """Whether a value is one that the parameter may have."""
    parts = value if parameter.declaration.many else [value]
    if isinstance(parts, str) or not isinstance(parts, Sequence) or not parts:
        return False
    try:
        for one in parts:
            _checked(parameter, one)
    except (UsageError, OverflowError):
        return False
    return True


def _checked(parameter: Parameter, value: Any) -> Any:
    if parameter.declaration.function and callable(value):
        return value
    if parameter.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, parameter.type) or (parameter.type is not bool and isinstance(value, bool)):
        raise _wrong(parameter, value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(parameter, value)
    rule = parameter.declaration
    number: Any = value
    inside = (
        (rule.gt is None or number > rule.gt)
        and (rule.ge is None or number >= rule.ge)
        and (rule.lt is None or number < rule.lt)
        and (rule.le is None or number <= rule.le)
        and (rule.choices is None or value in rule.choices)
    )
    if not inside:
        raise _wrong(parameter, value)
    return value


def _wrong(parameter: Parameter, value: object) -> UsageError:
    noun = {int: "an int", float: "a number", str: "a text", bool: "true or false"}[parameter.type]
    if parameter.declaration.many:
        noun = f"a list of {noun.split()[-1]}s"
    limits = _limits(parameter.declaration)
    shown = repr(value) if len(repr(value)) <= 40 else repr(value)[:37] + "..."
    return UsageError(
        f"parameter '{parameter.name}' must be {noun}{' ' + limits if limits else ''}; got {shown}",
        instead(value, parameter.declaration.choices)
        if parameter.declaration.choices
        else f"pass {parameter.reference} within these limits",
    )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _limits(rule: Declaration, below: float = math.inf) -> str:
    if rule.choices:
        return "out of " + ", ".join(rule.choices)
    signs = ((">", rule.gt), (">=", rule.ge), ("<", rule.lt), ("<=", rule.le))
    return " and ".join(
        f"{sign} {as_read(limit)}" for sign, limit in signs if limit is not None and limit < below
    )


def as_read(value: Any) -> str:
    """Return a limit or a default as people write it: 1,000,000 and not 1e+06."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if 1_000 <= value < 10**15 and value == int(value) else f"{value:g}"


def _scalar(hint: Any) -> tuple[type, bool]:
    """The scalar type of an annotation such as `float`, `int | None`, `tuple[str, ...] | None`."""
    optional = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        arms = [arm for arm in typing.get_args(hint) if arm is not type(None)]
        optional = len(arms) < len(typing.get_args(hint))
        hint = arms[0]
    if typing.get_origin(hint) is tuple:
        hint = typing.get_args(hint)[0]
    if hint not in (bool, int, float, str):
        raise TypeError(f"no rule for a parameter of type {hint!r}")
    return hint, optional
