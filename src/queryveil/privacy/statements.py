"""What a method states about its releases: a code for programs, a sentence of the catalog for people, and figures.

Codes and figures are checked. A method states the id and the fields of a sentence; front ends and documents render it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queryveil.catalog import Sentence, from_data

YES: Final = "yes"
NO: Final = "no"
LIMITED: Final = "limited"
NOT_EXCLUDED: Final = "not-excluded"
VERDICTS: Final = (YES, NO, LIMITED, NOT_EXCLUDED)
"""The answers to the three questions of an assessment."""

SINGLING_OUT: Final = "singling-out"
LINKABILITY: Final = "linkability"
INFERENCE: Final = "inference"
QUESTIONS: Final = (SINGLING_OUT, LINKABILITY, INFERENCE)
"""Answered by a verdict and sentences; a method answers all three of them, or none."""
DISCLOSED: Final = "disclosed"
"""What of the log is given away, and what is kept back."""
LEARNT: Final = "learnt"
"""What a reader can find out."""
WITHHELD: Final = "withheld"
"""What a reader cannot find out."""
ON_PURPOSE: Final = "on-purpose"
"""What is published whatever it is."""
CHECKED: Final = "checked"
"""What can be checked of k-anonymity from a release alone, and what cannot; begins in mid-sentence."""


@dataclass(frozen=True)
class Statement:
    """One thing that is assumed, warned of or answered."""

    code: str
    sentence: str
    fields: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def field(self, name: str) -> Any:
        """A figure of the sentence by its name; None if it has no such figure."""
        return dict(self.fields).get(name)

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"code": self.code, "sentence": self.sentence}
        return shown | ({"fields": dict(self.fields)} if self.fields else {})

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Statement:
        """As `as_dict` writes it, perhaps in a manifest."""
        return cls(given["code"], from_data(given["sentence"]), tuple(given.get("fields", {}).items()))


def say(code: str, sentence: str = "", **fields: Any) -> Statement:
    """A statement, with its figures by name; without a sentence, it has that of the catalog under its code."""
    return Statement(code, sentence or Sentence(f"statement.{code}", **fields), tuple(fields.items()))


def assessment(
    *,
    singling_out: tuple[str, str],
    linkability: tuple[str, str],
    inference: tuple[str, str],
    disclosed: str,
    withheld: str = "",
    learnt: Sequence[str] = (),
    on_purpose: str = "",
    checked: str = "",
) -> tuple[Statement, ...]:
    """What a method says of itself: the three questions, each with a verdict and sentences, and what follows."""
    asked = zip(QUESTIONS, (singling_out, linkability, inference), strict=True)
    said = [say(code, sentence, verdict=verdict) for code, (verdict, sentence) in asked]
    others = [(DISCLOSED, disclosed), (WITHHELD, withheld), *((LEARNT, one) for one in learnt)]
    others += [(ON_PURPOSE, on_purpose), (CHECKED, checked)]
    return (*said, *(say(code, sentence) for code, sentence in others if sentence))


def codes(statements: Iterable[Statement]) -> list[str]:
    return [one.code for one in statements]


def coded(statements: Sequence[Statement], code: str) -> list[Statement]:
    """Those with a code."""
    return [one for one in statements if one.code == code]
