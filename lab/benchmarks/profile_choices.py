"""What ratios of the study `profiles` owe to two choices that the paper may have made otherwise.

    python lab/benchmarks/profile_choices.py [--users 60] [--runs 5] [--json]

The same study at epsilon 10 for each query, the criteria as printed, with similarity by a concept's ancestors in all of
WordNet, not only inside the domain; with profiles in which phrases outside the topics are a topic of their own; with
both; and with both for users of one interest (`profile_interests.py`). Losses are means over the runs, and ratios are
of these means: those of single runs differ by a fifth.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from profile_interests import USERS, measured, ratios

from queryveil.language.taxonomy.links import Links
from queryveil.language.taxonomy.similarity import Domain
from queryveil.measure.profiles import profile_counts
from queryveil_lab.studies import profiles


class OfAllWordNet(Domain):
    """Concepts to choose from whose ancestors above the domain count too."""

    @cached_property
    def _ancestors(self) -> Links:
        above = self.taxonomy.closure
        # Places of the domain come first, as callers expect; what is above them has numbers after these.
        number = np.full(len(self.taxonomy), -1, dtype=np.int64)
        number[self.concepts] = np.arange(len(self))
        others = np.flatnonzero(number < 0)
        number[others] = len(self) + np.arange(len(others))
        return Links.from_counts(above.counts[self.concepts], number[above.of_all(self.concepts)])

    @cached_property
    def least_code(self) -> int:
        """As in a domain, with what all of it has in common: without that, every concept would be looked at."""
        sizes = self._ancestors.counts
        common = int(sizes.min())  # the root's own
        least, most = 0, int(sizes.max())
        for place in np.argsort(-sizes, kind="stable").tolist():
            if self.fractions[least] <= Fraction(common, int(sizes[place]) + most - common):
                break
            least = max(least, int(self.similarity_codes(place).max()))
        return least


@dataclasses.dataclass(frozen=True)
class WordNets(profiles.Prepared):
    """Similarity by all ancestors."""

    @cached_property
    def domains(self) -> dict[bool, tuple[Domain, ...]]:
        return {
            whole: tuple(OfAllWordNet(self.taxonomy, one.concepts) for one in found)
            for whole, found in super().domains.items()
        }


@dataclasses.dataclass(frozen=True)
class Outside(profiles.Prepared):
    """Profiles with a topic more: what is in none of them."""

    def counts(self, setting: profiles.Setting, phrases: profiles.Phrases) -> profiles.Numbers:
        topics = self.topics(setting)
        found = topics.topic_of_concept[phrases.concepts]
        named = np.where(found < 0, len(topics), found)
        return profile_counts(phrases.owners, named, users=phrases.users, number=len(topics) + 1)


@dataclasses.dataclass(frozen=True)
class Both(WordNets, Outside):
    """Both choices."""


CHOICES: dict[str, tuple[str, type[profiles.Prepared]]] = {
    "as in the study": ("a few", profiles.Prepared),
    "ancestors in all of WordNet": ("a few", WordNets),
    "outside is a topic": ("a few", Outside),
    "both": ("a few", Both),
    "both, one interest": ("one", Both),
    "ancestors in all of WordNet, one interest": ("one", WordNets),
}
"""Whose users, and what is chosen."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--users", type=int, default=60)
    asked.add_argument("--runs", type=int, default=5)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"users": given.users, "runs": given.runs, "choices": {}}
    for name, (interests, chosen) in CHOICES.items():
        one = ratios(measured(given.users, *USERS[interests], chosen, given.runs))
        histogram = {setting: losses["hbdp-printed"] for setting, losses in one["losses"].items()}
        one["HBDP in B over A"] = round(histogram["B"] / histogram["A"], 2)
        found["choices"][name] = one
        if not given.json:
            print(name, json.dumps(one, indent=1), flush=True)
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
