"""One tree of errors: each carries a sentence with the cause, one with the next step, and an exit code.

A message refers to parameters by `argument`, and every front end renders these references in its own vocabulary: an
option of the command line, an argument of Python, or the label of a field. No message quotes a query, nor a password or
token that is in the address of an engine or a database.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

_HARMLESS = re.compile(r"[\w.+-]+(\[[\w*, ]*\])?(://[\w.,:/+~-]*)?", re.ASCII)
"""A name, or an address of a scheme, a host, a port and a path: no user, no parameter, no fragment."""
_KIND = re.compile(r"[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_WORD = re.compile(r"[^\s'\"]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:/{0,2}", re.IGNORECASE)
_SETTING = re.compile(
    r"((?:password|passwd|pwd|token|secret|api_?key)\s{0,9}=\s{0,9})[^\s'\"]+", re.IGNORECASE
)

_START, _END = "\ue000", "\ue001"
"""What surrounds a reference in a message: characters of private use, which no text of ours has."""
_REFERENCE = re.compile(f"{_START}([^{_START}{_END}]*){_END}")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*|\.\.\.")
"""Stands for a value that the reader chooses, such as FILE."""


@dataclass(frozen=True)
class Argument:
    """A parameter that a message names, perhaps with a value to pass."""

    name: str
    """As Python calls it."""
    value: Any = None
    """A number, a text, True, or a list or texts by name; text in capitals stands for a value. None only names it."""
    option: str | None = None
    """The name of the option, where it is not the argument's own."""


@dataclass(frozen=True)
class Command:
    """A command that a message names, as the command line and as Python write it."""

    line: str
    call: str


Vocabulary = Callable[[Argument | Command], str]
"""How a front end names parameters and commands: as options, as arguments, or as labels of fields."""


def argument(name: str, value: Any = None, *, option: str | None = None) -> str:
    """Name a parameter in a message, so that every front end shows it in its own vocabulary.

    Args:
        name: The parameter, as Python calls it.
        value: What to pass: a number, a text, True, a list, or texts by name. Text in capitals, such as FILE, stands
            for a value. None only names the parameter.
        option: The option of the command line, where it does not have the name of the argument.
    """
    return f"{_START}{json.dumps([name, value, option])}{_END}"


def command(line: str, call: str) -> str:
    """Name a command in a message, as the command line and as Python write it."""
    return f"{_START}{json.dumps({'line': line, 'call': call})}{_END}"


class Message(str):
    """A message in the vocabulary of Python, which other front ends render in theirs."""

    __slots__ = ("template",)

    template: str
    """The message with references to parameters."""

    def __new__(cls, template: str) -> Message:
        made = super().__new__(cls, _fill(template, in_python))
        made.template = template
        return made

    def __reduce__(self) -> Any:
        return Message, (self.template,)


def render(text: str, vocabulary: Vocabulary) -> str:
    """Return a message in the vocabulary of a front end."""
    return _fill(text.template, vocabulary) if isinstance(text, Message) else text


def render_all(value: Any, vocabulary: Vocabulary) -> Any:
    """Return objects, lists, and texts with every message in the vocabulary of a front end."""
    if isinstance(value, dict):
        return {name: render_all(one, vocabulary) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [render_all(one, vocabulary) for one in value]
    return render(value, vocabulary) if isinstance(value, str) else value


def _fill(template: str, vocabulary: Vocabulary) -> str:
    return _REFERENCE.sub(lambda found: vocabulary(_reference(found[1])), template)


def _reference(text: str) -> Argument | Command:
    content = json.loads(text)
    return Command(**content) if isinstance(content, dict) else Argument(*content)


def is_placeholder(value: object) -> bool:
    """Whether a value of a reference stands for one that the reader chooses."""
    return isinstance(value, str) and bool(_PLACEHOLDER.fullmatch(value))


def in_python(reference: Argument | Command) -> str:
    """Name a parameter or a command as Python does."""
    if isinstance(reference, Command):
        return reference.call
    if reference.value is None:
        return reference.name
    return f"{reference.name}={_python_value(reference.value)}"


def _python_value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_python_value(one)}' for name, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_python_value, value))}]"
    return str(value) if is_placeholder(value) else repr(value)


class QueryveilError(Exception):
    """Base of everything queryveil raises on purpose."""

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.template = (without_secrets(message), without_secrets(hint))
        """Cause and next step, in which references to parameters are still to be rendered."""
        super().__init__(*self.template)

    @property
    def message(self) -> Message:
        """The cause, in the vocabulary of Python."""
        return Message(self.template[0])

    @property
    def hint(self) -> Message:
        """The next step, in the vocabulary of Python."""
        return Message(self.template[1])

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def add(self, remark: str) -> None:
        """Add a remark to the cause, in parentheses.

        `remark`: part of a sentence.
        """
        message, hint = self.template
        self.template = (f"{message} ({remark})", hint)

    def as_dict(self, vocabulary: Vocabulary = in_python) -> dict[str, Any]:
        """Return kind, cause, and next step.

        `vocabulary`: how to name parameters, which a front end may do in its own way.
        """
        said = {"kind": self.kind, "message": self.message, "hint": self.hint}
        return {name: render(one, vocabulary) for name, one in said.items()}


class CheckFailed(QueryveilError):
    """A check that was asked for did not pass (`release verify`, `audit`)."""

    kind = "check-failed"
    exit_code = 1


class UsageError(QueryveilError):
    """The request itself is wrong: a parameter out of range, an output that exists."""

    kind = "usage"
    exit_code = 2


class CannotCompose(UsageError):
    """Two guarantees have no sum."""

    kind = "cannot-compose"


class InputError(QueryveilError):
    """The log cannot be read, or is not what it was said to be."""

    kind = "input"
    exit_code = 3


class BudgetError(QueryveilError):
    """The ledger refuses the charge."""

    kind = "budget"
    exit_code = 4

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        requested: Mapping[str, float] | None = None,
        remaining: Mapping[str, float] | None = None,
        short_by: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.requested, self.remaining, self.short_by = requested, remaining, short_by

    def as_dict(self, vocabulary: Vocabulary = in_python) -> dict[str, Any]:
        """With epsilon and delta that were asked for, that are left and that are missing, where these are numbers.

        `vocabulary`: how to name parameters, which a front end may do in its own way.
        """
        found = {"requested": self.requested, "remaining": self.remaining, "short_by": self.short_by}
        return super().as_dict(vocabulary) | {
            name: dict(one) for name, one in found.items() if one is not None
        }


class CannotBeMet(QueryveilError):
    """The request is well-formed, but this log cannot meet it."""

    kind = "cannot-be-met"
    exit_code = 5


class OutputError(QueryveilError):
    """The result cannot be written."""

    kind = "output"
    exit_code = 6


def instead(given: object, known: Iterable[str], more: str = "", *, most: int = 1) -> str:
    """The way out of a name that does not exist: the nearest that do, `most` of them, or else all names."""
    names = list(known)
    return nearest(given, names, most=most) or f"use one of {', '.join(names)}{more}"


def nearest(given: object, known: Iterable[str], *, most: int = 1) -> str:
    """A question that names the nearest of the known names, nothing if none is near."""
    by_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(given).strip().lower(), list(by_case), n=most)
    return f"did you mean {' or '.join(by_case[one] for one in near)}?" if near else ""


def shown_address(address: str) -> str:
    """What may be said of the address of an engine or a database: all of it, or its kind if it may hold a secret."""
    if _HARMLESS.fullmatch(address):
        return address
    kind = _KIND.match(address)
    return f"{kind[0]}..." if kind else "..."


def without_secrets(text: str) -> str:
    """A sentence without the passwords and tokens of addresses in it, wherever they were typed."""
    return _SETTING.sub(r"\1...", _WORD.sub(_without_parameters, text))


def _without_parameters(word: re.Match[str]) -> str:
    """A word; of an address with a user's password, parameters or a fragment only its kind."""
    text = word.group()
    scheme = _SCHEME.search(text)
    if scheme is None:
        return text
    rest = text[scheme.end() :]
    telling = any(mark in rest for mark in "?;#=") or ":" in rest.rpartition("@")[0]
    return f"{text[: scheme.end()]}..." if telling else text
