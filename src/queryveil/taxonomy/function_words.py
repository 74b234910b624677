"""English words that carry grammar and no concept, though WordNet knows many as nouns (in: indium; a: angstrom)."""

from __future__ import annotations

_LISTED = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each either else few for from further had has
    have having he her here hers herself him himself his how i if in into is it its itself just least less like
    may me might mine more most much must my myself near neither no nor not now of off on once one only onto or
    other our ours out over own per same shall she should since so some such than that the their theirs them
    then there these they this those through to too under until up upon us very via was we were what when where
    whether which while who whom whose why will with within without would yet you your yours yourself
"""

FUNCTION_WORDS = frozenset(_LISTED.split())
