"""What is said of a release: a code that programs rely on, a sentence for people, and the figures in it.

Codes and figures are checked; sentences are only read, and may be reworded at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queryveil.catalog import Sentence, open_catalog

YES: Final = "yes"
NO: Final = "no"
LIMITED: Final = "limited"
NOT_EXCLUDED: Final = "not-excluded"
VERDICTS: Final = {YES: "Yes", NO: "No", LIMITED: "Limited", NOT_EXCLUDED: "Not excluded"}
"""The answers to the three questions of an assessment, and how they are said."""

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
        """As `as_dict` writes it. A sentence of the catalog becomes one again, to be said in other languages."""
        fields = given.get("fields", {})
        sentence = _of_catalog(given["code"], fields) or given["sentence"]
        return cls(given["code"], sentence, tuple(fields.items()))


def say(code: str, sentence: str = "", **fields: Any) -> Statement:
    """A statement, with its figures by name; without a sentence, it has that of the catalog under its code."""
    return Statement(code, sentence or Sentence(f"statement.{code}", **fields), tuple(fields.items()))


def _of_catalog(code: str, fields: Mapping[str, Any]) -> Sentence | None:
    id = f"statement.{code}"
    return Sentence(id, **fields) if id in open_catalog() else None


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
