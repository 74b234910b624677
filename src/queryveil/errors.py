"""One tree of errors: each carries a sentence with the cause, a way out, and the exit code of the command line.

Command line and browser render the same fields, so nothing is said twice. No message quotes a query, nor a password
or token that is in the address of an engine or a database.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

_HARMLESS = re.compile(r"[\w.+-]+(\[[\w*, ]*\])?(://[\w.,:/+~-]*)?", re.ASCII)
"""A name, or an address of a scheme, a host, a port and a path: no user, no parameter, no fragment."""
_KIND = re.compile(r"[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_WORD = re.compile(r"[^\s'\"]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:/{0,2}", re.IGNORECASE)
_SETTING = re.compile(
    r"((?:password|passwd|pwd|token|secret|api_?key)\s{0,9}=\s{0,9})[^\s'\"]+", re.IGNORECASE
)


class QueryveilError(Exception):
    """Base of everything queryveil raises on purpose."""

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        message = without_secrets(message)
        super().__init__(message)
        self.message = message
        self.hint = without_secrets(hint)

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message, "hint": self.hint}


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

    def as_dict(self) -> dict[str, Any]:
        """With epsilon and delta that were asked for, that are left and that are missing, where these are numbers."""
        found = {"requested": self.requested, "remaining": self.remaining, "short_by": self.short_by}
        return super().as_dict() | {name: dict(one) for name, one in found.items() if one is not None}


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
