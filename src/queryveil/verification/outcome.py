"""What a verification answers: named checks that passed or did not, each with a sentence."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted
from queryveil.errors import OutputError
from queryveil.files import memory

_MOST_PROBLEMS = 5
_MOST_CHARACTERS = 80


@dataclass(frozen=True)
class Check:
    """One question about a release or about results, and its answer."""

    name: str
    passes: bool
    detail: str
    undecided: bool = False
    """There is too little to judge by, so that it neither passes nor fails. Checks of releases are never undecided."""

    @property
    def fails(self) -> bool:
        return not self.passes and not self.undecided

    @property
    def verdict(self) -> str:
        """In words: pass, FAIL, or too small to tell."""
        return "too small to tell" if self.undecided else "pass" if self.passes else "FAIL"

    def as_dict(self) -> dict[str, Any]:
        undecided = {"undecided": True} if self.undecided else {}
        return {"name": self.name, "passes": self.passes, "detail": self.detail, **undecided}


def too_small(name: str, detail: str) -> Check:
    """A question that a log is too small to answer."""
    return Check(name, False, detail, undecided=True)


@dataclass(frozen=True, repr=False)
class Verification:
    """Every check that was made of one release folder."""

    path: Path
    checks: tuple[Check, ...]
    not_checked: tuple[str, ...] = ()
    """What no check can see, and why: a name, a colon and a sentence."""

    @property
    def passes(self) -> bool:
        return bool(self.checks) and all(check.passes for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passes)

    def _card(self) -> Card:
        good = len(self.checks) - len(self.failed)
        line = f"{self.path}; {'passes' if self.passes else 'FAILS'}, {good:,} of {counted(len(self.checks), 'check')}"
        rows = [(one.name, one.verdict, one.detail) for one in (*self.failed, *self.checks)[:8]]
        table = CardTable(
            "Checks, failed ones first", ("check", "verdict", "what was found"), rows, len(self.checks)
        )
        facts = [
            ("passes", "yes" if self.passes else "NO"),
            ("checks that pass", f"{good:,} of {len(self.checks):,}"),
        ]
        facts += [("not checked", one) for one in self.not_checked]
        return Card(f"Verification of {self.path}", line, facts, tables=(table,))

    def as_dict(self) -> dict[str, Any]:
        return {
            "release": str(self.path),
            "passes": self.passes,
            "checks": [check.as_dict() for check in self.checks],
            "not_checked": list(self.not_checked),
        }

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def judge(name: str, good: str, problems: Callable[[], Iterable[str]]) -> Check:
    """A check that passes, with the sentence `good`, unless there are problems.

    A manifest may be malformed in ways that nobody foresaw. What cannot be checked has not passed, so any
    exception is a failure; its message is left out because it may quote what the release holds.
    """
    try:
        found = list(islice(problems(), _MOST_PROBLEMS + 1))
    except Exception as error:
        if is_local(error):
            raise
        return Check(name, False, f"cannot be checked ({type(error).__name__})")
    if not found:
        return Check(name, True, good)
    more = "; and more" if len(found) > _MOST_PROBLEMS else ""
    return Check(name, False, "; ".join(found[:_MOST_PROBLEMS]) + more)


def is_local(error: Exception) -> bool:
    """Whether this machine lacks memory, room, or descriptors, which is no fault of the release."""
    lacking = isinstance(error, OSError) and error.errno in (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EMFILE,
        errno.ENFILE,
    )
    return lacking or isinstance(error, OutputError) or memory.is_limit_exceeded(error)


def quoted(name: object) -> str:
    """A file, column or key name, safe to print on a terminal."""
    text = ascii(str(name))
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "..."
