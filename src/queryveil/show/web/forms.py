"""Fields made from declared parameters, and parameters read back from what was typed into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.errors import UsageError
from queryveil.parameters import COUNTED, PROMISES, Parameter, parameters

_FIRST = ("epsilon", "delta", "k", "max_items", "items", "max_queries")
"""What most people move; other fields stand behind one click."""
_UNITS = {"epsilon": "0.01", "delta": "any"}


@dataclass(frozen=True, kw_only=True)
class Field:
    """One parameter as a form shows it."""

    name: str
    label: str
    help: str
    kind: str
    """number, choice, choices, switch or text."""
    value: str = ""
    choices: tuple[str, ...] = ()
    step: str = "any"
    low: float | None = None
    high: float | None = None
    required: bool = False
    first: bool = False

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(self.value.split(",")) if self.value else ()


def fields(cls: type, given: Mapping[str, Any]) -> list[Field]:
    """The fields of a method or an attack, with what was given or else the defaults."""
    return [_make_field(one, given) for one in _form_parameters(cls)]


def _form_parameters(cls: type) -> Iterator[Parameter]:
    """All but those that name files: a page must not be a way to any file of this machine."""
    for one in parameters(cls):
        if not (one.declaration.path or one.declaration.writes or one.declaration.function):
            yield one


def _make_field(one: Parameter, given: Mapping[str, Any]) -> Field:
    rule = one.declaration
    value = given.get(one.name, None if one.required else one.default)
    kind = "switch" if one.type is bool else "text" if one.type is str else "number"
    choices = rule.choices or ()
    if one.type is bool and one.optional:  # left open, it is neither
        kind, choices = "choice", ("yes", "no")
        value = value if value is None else "yes" if value else "no"
    elif rule.choices:
        kind = "choices" if rule.many else "choice"
    elif rule.many:
        kind = "text"
    low = rule.ge if rule.ge is not None else rule.gt
    return Field(
        name=one.name,
        label=one.name.replace("_", " "),
        help=_help_text(one),
        kind=kind,
        value=typed(value),
        choices=choices,
        step="1" if one.type is int else "any",
        low=low,
        high=rule.le if rule.le is not None else rule.lt,
        required=one.required,
        first=one.name in _FIRST or (one.required and rule.group in (PROMISES, COUNTED)),
    )


def _help_text(one: Parameter) -> str:
    """What a parameter is, and what it may be, in words."""
    rule = one.declaration
    limits = [] if rule.choices else one.bounds(below=10**6)
    return f"{rule.help} ({', '.join(limits)})" if limits else rule.help


def typed(value: Any) -> str:
    """A value as it stands in a field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list | tuple):
        return ",".join(map(typed, value))
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def given(cls: type, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that were typed and are not the defaults; what is no value of its kind is refused."""
    found: dict[str, Any] = {}
    for one in _form_parameters(cls):
        if hasattr(sent, "getlist"):
            text = ",".join(part for part in map(str, sent.getlist(one.name)) if part)
        else:
            text = typed(sent.get(one.name))
        if not text.strip():
            continue
        value = _parse_value(one, text.strip())
        default = list(one.default) if isinstance(one.default, tuple) else one.default
        if one.required or value != default:
            found[one.name] = value
    return found


def _parse_value(one: Parameter, text: str) -> Any:
    if one.type is bool:
        return text in ("yes", "on", "true", "True", "1")
    if one.declaration.many:
        return [_parse_scalar(one, part.strip()) for part in text.split(",") if part.strip()]
    return _parse_scalar(one, text)


def _parse_scalar(one: Parameter, text: str) -> Any:
    if one.type is str:
        return text
    try:
        number = float(text)
        return int(text) if one.type is int and text.lstrip("+-").isdecimal() else _parse_number(one, number)
    except (ValueError, OverflowError):
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise UsageError(
            f"{one.name.replace('_', ' ')} must be a number; got '{shown}'", "type figures"
        ) from None


def _parse_number(one: Parameter, number: float) -> float | int:
    return int(number) if one.type is int and number.is_integer() else number


def made(cls: type, values: Mapping[str, Any]) -> Any:
    """The declared value; lists become what it keeps."""
    return cls(**{name: tuple(one) if isinstance(one, list) else one for name, one in values.items()})
