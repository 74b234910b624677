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

_FLAG = re.compile(
    r"(?P<where>leave out |leave |drop |raise |lower |choose another |of |check |correct )?"
    r"(?<![\w-])--(?P<name>[a-z][a-z0-9-]*)(?P<value> (?:'[^']*'|\"[^\"]*\"|[^\s;)]+?(?=(?:[,;]|\)[,;.]?)?(?:\s|$))))?"
)
_PLACEHOLDER = re.compile(r"[A-Z_]+|\d[\w.+-]*")
_OF_VALUES = frozenset("=:|{%,/")
_OTHER_NAMES = {"from": "start", "to": "end", "metric": "metrics"}
_SWITCHES = re.compile(
    "allow_empty|allow_incomplete_period|i_understand|resume|replace|repeated|header|segment|pad|keep_words|whole_queries|then_clicks"
)
_WORDS = re.compile(
    "duckdb|spark|random|first|tsv|jsonl|utf-(?:16|32)-[bl]e|private|add-remove|replace|tight|approximate|queries|clicks|keywords|"
    r"windows-125\d|iso8859-\d+|koi8-r|cp\d+|gb18030|big5|euc_jp|mac-roman|"
    "steered|threshold|q|user|user-period|users|surest|per-topic"
)
"""What options take as they are typed; any other word after an option is one of the sentence."""
_COMMANDS = (
    (re.compile(r"`publish --([a-z]+)`"), r"`publish(..., \1=...)`"),
    (re.compile(r"queryveil release verify\b"), "queryveil.verify"),
    (
        re.compile(r"queryveil ledger open (\S+) --source (\S+) --epsilon E --delta D"),
        r"queryveil.Ledger('\1').open('\2', epsilon=E, delta=D)",
    ),
    (re.compile(r"(?<![\w-])max-(items|queries|phrases|clicks|reformulations)\b"), r"max_\1"),
    (re.compile(r"queryveil compare LOG --study (\S+)"), r'queryveil.compare(log, "\1")'),
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
        """The sentence for programs, which pass arguments; `message` and `hint` speak of the command line's options."""
        return in_python(f"{self.message}; {self.hint}" if self.hint else self.message)

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


def in_python(sentence: str) -> str:
    """A sentence that speaks of options, as it is said to programs: of arguments."""
    for command, call in _COMMANDS:
        sentence = command.sub(call, sentence)
    return _FLAG.sub(_argument, sentence)


def _stands_for_a_value(text: str) -> bool:
    """NAME, 0.5, 'this', a=b and the like."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return quoted or bool(_PLACEHOLDER.fullmatch(text)) or not _OF_VALUES.isdisjoint(text)


def _argument(found: re.Match[str]) -> str:
    before, name = found["where"] or "", found["name"].replace("-", "_")
    name, value = _OTHER_NAMES.get(name, name), (found["value"] or "")[1:]
    key, equals, rest = value.strip("'").partition("=")
    if name == "vary" and equals:
        return f"{before}vary={{{key!r}: [{rest.replace(',', ', ')}]}}"
    if name == "columns" and equals:
        return f"{before}columns={{{', '.join(map(_entry, value.strip(chr(39)).split(',')))}}}"
    if _WORDS.fullmatch(value) or _stands_for_a_value(value):
        return f"{before}{name}={_value(value)}"
    given = f"{name}=True" if _SWITCHES.fullmatch(name) and not before else name
    return f"{before}{given}{found['value'] or ''}"


def _entry(text: str) -> str:
    """`user=1` as an entry of a dict."""
    name, _, value = text.partition("=")
    return f"{name!r}: {'...' if value == '...' else _value(value)}"


def _value(text: str) -> str:
    """What is typed after an option, as it is written in Python: placeholders and numbers stay."""
    if text.isupper() or text.startswith(("'", '"')):
        return text
    try:
        float(text)
    except ValueError:
        return repr(text)
    return text
