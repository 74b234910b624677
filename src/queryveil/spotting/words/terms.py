"""Words that say much about whoever searched for them. Written for queryveil; matched as whole words.

Adult terms are common ones of web search, few on purpose. Revealing terms are those that Kumar, Novak, Pang and
Tomkins name in "On anonymizing query logs via token-based hashing" (2007).
"""

from __future__ import annotations

from typing import Final


def _listed(text: str) -> frozenset[str]:
    """What stands between commas."""
    return frozenset(part.strip() for part in text.split(","))


ADULT: Final = _listed(
    "sex, porn, porno, xxx, nude, nudes, naked, erotic, hentai, milf, hardcore, threesome, fetish, escorts"
)

REVEALING: Final = _listed(
    "career, surgery, cheats, lesbian, disease, hospital, jobs, pregnancy, medical, cheat, gay, cancer"
)
