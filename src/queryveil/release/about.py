"""What only the publisher of a release knows: its title, who they are, and under which terms it may be used.

Nothing of it comes from a log. It stands in the manifest and in every document of a release; nobody can check it, but
all places must say the same.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.errors import UsageError, instead
from queryveil.parameters import Declared, param, parameters

NOT_STATED = "not stated"
"""What a publisher writes who does not want to say something: it is then no longer asked for."""
_LONGEST = {"purpose": 600, "citation": 800}
_LONGEST_OF_OTHERS = 160
"""Characters: a certificate has to fit on a sheet."""
_BLANK = re.compile(r"[\[<{].*[\]>}]|\.{3}|…|(?:to ?do|tbd|fixme|xxx)\b.*", re.IGNORECASE)
"""What stands in a form for something that is still to be written."""


@dataclass(frozen=True, kw_only=True)
class About(Declared):
    """What the publisher says of the release. What is left out is left out of its documents too."""

    title: str | None = param("what the release is called", default=None)
    publisher: str | None = param("the person or body that answers for it", default=None)
    contact: str | None = param("an e-mail address or a page", default=None)
    licence: str | None = param("such as CC-BY-4.0, an address, or words", default=None)
    purpose: str | None = param("what it is published for", default=None)
    period: str | None = param(
        "which time the searches are of, such as 2026-01-01/2026-03-31",
        default=None,
        details="Public knowledge, not measured on the log",
    )
    language: str | None = param("of the searches, such as en", default=None)
    citation: str | None = param("how to cite it; may stay empty", default=None)

    def __post_init__(self) -> None:
        for name in NAMES:
            given = getattr(self, name)
            text = " ".join(given.split()) if isinstance(given, str) else given
            object.__setattr__(self, name, text or None)
            if text:
                _check_text(name, text)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> About:
        """The inverse of `as_dict`. An unknown name is refused."""
        for name in given:
            if name not in NAMES:
                raise UsageError(f"'about' has no '{str(name)[:40]}'", instead(name, NAMES))
        return cls(**given)

    def as_dict(self) -> dict[str, str]:
        """What is said, in the order of the fields."""
        return {name: getattr(self, name) for name in NAMES if getattr(self, name)}

    @property
    def missing(self) -> tuple[str, ...]:
        """What a reader will ask for and is not said. How to cite follows from the rest."""
        return tuple(name for name in NAMES if name != "citation" and not getattr(self, name))


NAMES = tuple(one.name for one in dataclasses.fields(About))

ASKED = {one.name: one.declaration.help for one in parameters(About)}
"""What each of them asks for."""

# What only a release itself may state. A citation that is copied from an earlier release has its figures.
_CLAIMS = (
    (re.compile(r"[0-9a-f]{32,}", re.IGNORECASE), "a digest"),
    (
        re.compile(r"(?:\b(?:epsilon|delta|eps)|[εδ])\W{0,3}(?:of |is )?\d", re.IGNORECASE),
        "an epsilon or a delta",
    ),
    (re.compile(r"\bk\s{0,3}(?:=|-anonym)", re.IGNORECASE), "a guarantee"),
)


def refuse_claims(about: About) -> None:
    """Refuse texts that name figures which the release states itself, and which may be others."""
    for name, text in about.as_dict().items():
        for pattern, what in _CLAIMS:
            if pattern.search(text):
                raise UsageError(
                    f"'{name}' of 'about' names {what}, which the release states itself, for this release",
                    "leave it out: guarantee and digest stand in every document of the release",
                )


def _check_text(name: str, text: Any) -> None:
    if not isinstance(text, str):
        raise UsageError(f"'{name}' of 'about' is not a text", "write it between quotes")
    most = _LONGEST.get(name, _LONGEST_OF_OTHERS)
    if len(text) > most:
        raise UsageError(f"'{name}' of 'about' is longer than {most} characters", "say it shorter")
    if not text.isprintable():
        raise UsageError(f"'{name}' of 'about' has a character that cannot be printed", "write it anew")
    if _BLANK.fullmatch(text):
        raise UsageError(
            f"'{name}' of 'about' is a blank that is still to be filled in",
            f"write {ASKED[name]}, or '{NOT_STATED}'",
        )


def stated(manifest: Mapping[str, Any], name: str) -> str:
    """What a manifest's publisher says under a name; nothing if they do not."""
    said = str((manifest.get("about") or {}).get(name) or "")
    return "" if said.casefold() == NOT_STATED else said
