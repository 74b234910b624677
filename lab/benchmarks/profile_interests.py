"""What ratios of the study `profiles` depend on: how many interests a made-up user has.

    python lab/benchmarks/profile_interests.py [--users 100] [--json]

The same study at epsilon 10 for each query, the criteria as printed, with users of many interests, of a few (those of
the study), of one, and of one without any phrase outside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

import queryveil_lab as lab
from queryveil.language.taxonomy import Taxonomy
from queryveil_lab.studies import profiles
from queryveil_lab.studies.declaration import Findings, Given

USERS = {"many": (3.0, 0.1), "a few": (0.3, 0.1), "one": (0.01, 0.1), "one, nothing else": (0.01, 0.0)}
"""How even interests are (of the Dirichlet distribution), and the share of phrases from anywhere."""
CRITERIA = ["sqc1", "sqc2", "nsqc-printed", "hbdp-printed"]


def measured(
    users: int,
    focus: float,
    anywhere: float,
    chosen: type[profiles.Prepared] = profiles.Prepared,
    runs: int = 1,
) -> Findings:
    """The study with users of such interests, by the study's own choices or by others."""

    def prepare(given: Given) -> profiles.Prepared:
        taxonomy = Taxonomy.wordnet()
        made = profiles.generated(users, 100, 1, taxonomy, focus=focus, anywhere_share=anywhere)
        return chosen(taxonomy, made)

    study = dataclasses.replace(lab.STUDIES["profiles"], prepare=prepare)
    vary = {"criterion": CRITERIA, "epsilon_per": ["query"], "epsilon": [10.0], "users": [users]}
    return lab.compare(None, study, vary=vary, repeats=runs).findings


def ratios(found: Findings) -> dict[str, Any]:
    """The losses, and the ratios that the paper names."""
    losses = {
        setting: {
            criterion: round(
                found.where(metric="profile-divergence", setting=setting, criterion=criterion).value, 4
            )
            for criterion in CRITERIA
        }
        for setting in ("D=P", "A", "B", "C")
    }
    least = {setting: one["sqc2"] for setting, one in losses.items()}
    histogram = {setting: one["hbdp-printed"] for setting, one in losses.items()}
    return {
        "losses": losses,
        "NSQC over SQC2 in A": round(losses["A"]["nsqc-printed"] / least["A"], 2),
        "NSQC over SQC2 in C": round(losses["C"]["nsqc-printed"] / least["C"], 2),
        "HBDP in D = P over NSQC in A": round(histogram["D=P"] / losses["A"]["nsqc-printed"], 2),
        "HBDP in C over B": round(histogram["C"] / histogram["B"], 2),
        "SQC2 in A and C over B": round((least["A"] + least["C"]) / least["B"], 2),
        "HBDP over SQC2 in C": round(histogram["C"] / least["C"], 2),
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--users", type=int, default=100)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"users": given.users, "interests": {}}
    for name, (focus, anywhere) in USERS.items():
        found["interests"][name] = ratios(measured(given.users, focus, anywhere))
        if not given.json:
            print(name, json.dumps(found["interests"][name], indent=1))
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
