"""Full-size evidence of the lab: runs what is missing and writes lab/docs/evidence, one JSON file a part.

    python lab/benchmarks/study_evidence.py [PART ...]
    python lab/benchmarks/study_evidence.py --reduced PART ...   at a reduced size, into lab/benchmarks/data/evidence

A part that has a file is not run again; remove the file to repeat it. Parts that are studies go on where they were
interrupted (lab/benchmarks/data/studies), and are made from lab/docs/evidence/findings if their study is kept there.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import study_runs

import queryveil as qv

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "benchmarks"))

import evidence  # noqa: E402 (found there)

EVIDENCE = HERE.parent / "docs" / "evidence"
REDUCED = HERE / "data" / "evidence"
_ERRORS = ("count-error", "count-error-top", "count-bias", "counts-useless")
script = functools.partial(evidence.script, folder=HERE)


def zealous() -> dict[str, Any]:
    """Published items against m on the three settings (delta 0.001, epsilon 2): the paper's table 3 in shape."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in evidence.SIZES:
            settings = qv.SETTINGS[f"{name}@1"]
            file = Path(folder) / f"{name}.parquet"
            qv.generate(file, settings)
            log = qv.read(file)
            for kind in qv.KINDS:
                for m in (1, 4, 8, 20, 40):
                    method = qv.Zealous(
                        epsilon=2, delta=1e-3, max_items=m, items=(kind,), guarantee="probabilistic"
                    )
                    released = qv.publish(log, method, allow_empty=True, i_understand=True)
                    found.setdefault(name, {}).setdefault(kind, {})[str(m)] = released.released["items"]
    return found


RESUMED = ("paper-zealous", "paper-clump")
INVERSION = ("hash-inversion", "expansion", "gap")
SHARES = ("release-d", "release-epsilon-delta", "release-span", "keyword-generation")
STUDIED = (*SHARES, *INVERSION, "profiles", "exposure", "clump-version-2")
"""Parts that can be run at a reduced size."""
UNTIMED = (*RESUMED, *STUDIED, "set-union")
"""Parts that go on where an earlier run stopped, so that their time says nothing."""

PARTS: dict[str, Callable[[], Any]] = {
    "zealous": zealous,
    **{name: study_runs.evidence(name) for name in SHARES},
    "release-versions": script(
        "versions.py",
        *("release-d", "--json", "--vary", "d=1,5,10,20,40,80,160", "--vary", "analysis=tight"),
        *("--set", "days=7", "--set", "users=170000"),
    ),
    "release-people": script(
        "versions.py",
        *(
            "release-d",
            "--json",
            "--versions",
            "2",
            "--rows",
            "62500,250000,1000000",
            "--rows-per-user",
            "5.88",
        ),
        *("--set", "days=7", "--vary", "d=20", "--vary", "analysis=tight"),
    ),
    "short-ids": script("short_ids.py", "--json"),
    "short-ids-large": script(
        "short_ids.py", "--json", *("--rows", "3000000", "--users", "15000", "--lifetimes", "3650")
    ),
    "profiles": study_runs.profiles,
    **{name: study_runs.inversion(name) for name in INVERSION},
    "hash-inversion-speed": script("hash_inversion.py"),
    "inversion-choices": script("inversion_choices.py"),
    "inversion-large": script("inversion_choices.py", "--largest", "64000"),
    "active-attack": script("active_attack.py"),
    "exposure": study_runs.exposure,
    "set-union": study_runs.set_union,
    **{
        part: script(
            "papers.py",
            part.removeprefix("paper-"),
            *("--json", "--out", str(HERE / "data" / part)),
            *(("--keep",) if part == "paper-clump" else ()),  # the docs' figures are of the same log
        )
        for part in RESUMED
    },
    "clump-version-2": study_runs.clump_version_2,
    "profile-interests": script("profile_interests.py", "--json"),
    "profile-choices": script("profile_choices.py", "--json"),
    "count-units": script("count_units.py", "--json", *("--rows", "2000000", "--users", "100000")),
    "hit-shares": script("hit_shares.py", "--json"),
    "clump-shapes": script("clump_shapes.py", "--json"),
    "drift-distances": script("drift_distances.py", "--json"),
    "heap-chance": script("heap_chance.py", "--json"),
    "heap-readings": script("heap_readings.py", "--json"),
    "audit": script("audit.py", "--runs", "200000"),
    "audit-power": script("audit_power.py"),
    "audit-peers": script("audit_peers.py"),
    "audit-planted": script("audit_planted.py"),
}

PRINTED = {
    "release-versions": "Released shares of a week by both versions of the generator",
    "release-people": "Released shares by the number of people",
    "short-ids": "Released shares of a year whose ids do not last",
    "short-ids-large": "Released shares of a large year",
    "profile-interests": "Losses of user profiles by how many interests users have",
    "profile-choices": "Losses of user profiles by what counts as an ancestor and as a topic",
    "count-units": "ZEALOUS and k-query anonymity beside one histogram of the log",
    "hit-shares": "Hits of an index by shares of the log and of the release",
    "clump-shapes": "Clump and Partition on transactions of several shapes",
    "drift-distances": "Distances of words in logs of different times",
    "heap-chance": "The continuous update of hash inversion by chance and by size",
    "heap-readings": "The continuous update of hash inversion by how its step is read",
    "hash-inversion-speed": "Hash inversion",
    "inversion-choices": "Choices of hash inversion",
    "inversion-large": "Hash inversion of 64,000 words",
    "active-attack": "Fake accounts against every method, on a million rows",
    "clump-version-2": "Clump on a log of version 2",
    "audit": "Every private method audited",
    "audit-power": "What an audit sees, for noise scaled by 0.5 to 1.5",
    "audit-peers": "Thresholding of other libraries audited",
    "audit-planted": "Planted defects, and the runs that it takes to catch each",
}

READ_AS = {"ceiling": "all others known"}
"""What figures are called where people read them: matching one to one can exceed first choices among known others."""


def zealous_section(found: dict[str, Any]) -> list[str]:
    lines = ["## Published items against items per user", "", "Epsilon 2, delta 0.001, probabilistic."]
    rows = [
        f"| {name} | {kind} | {' | '.join(f'{number:,}' for number in counts.values())} |"
        for name, kinds in found.items()
        for kind, counts in kinds.items()
    ]
    return lines + evidence.table("| setting | items | m = 1 | 4 | 8 | 20 | 40 |", rows)


def profiles_section(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Study: profiles",
        "",
        f"{found['users']:,} users of about {found['phrases']} phrases, means of {found['repeats']} runs, "
        f"{found['seconds']:.0f} s. Losses in bits;",
        f"their standard error is {found['largest_standard_error']:.3f} at most. [What the paper found, and why it "
        "differs](../studies/profiles.md).",
    ]
    for per, settings in found["losses"].items():
        rows = [
            f"| {setting} | {criterion} | {' | '.join(f'{loss:.3f}' for loss in losses.values())} |"
            for setting, criteria in settings.items()
            for criterion, losses in criteria.items()
        ]
        epsilons = list(next(iter(next(iter(settings.values())).values())))
        lines += evidence.table(f"| setting | criterion | epsilon per {per} {' | '.join(epsilons)} |", rows)
    lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]]
    return [*lines, ""]


def inversion_section(name: str, found: dict[str, Any]) -> list[str]:
    """A study of hash inversion: what has one value a point in a table, the rest in the JSON file."""
    shown = (
        "accuracy",
        "matchable",
        "ceiling",
        "iterations",
        "seconds",
        "top-half",
        "bottom-half",
        "before-update",
    )
    columns = [*found["axes"], *(key for key in shown if any(key in point for point in found["points"]))]

    def cell(value: Any) -> str:
        shown = value.get("l1") if isinstance(value, dict) else value
        return _cell(int(shown) if isinstance(shown, float) and shown >= 100 else shown)

    rows = [
        f"| {' | '.join(cell(point.get(column)) for column in columns)} |"
        for point in found["points"]
        if "accuracy" in point
    ]
    return [
        f"## Study: {name}",
        "",
        f"[What the paper found, and why it differs](../studies/{name}.md). Further figures of each point are in "
        f"`{name}.json`.",
        *evidence.table(f"| {' | '.join(READ_AS.get(column, column) for column in columns)} |", rows),
        *(f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]),
        "",
    ]


def exposure_section(found: dict[str, Any]) -> list[str]:
    """Different queries by what they hold, a column for each method."""
    methods = list(found["queries"])
    rows = [
        f"| {category} | {' | '.join(_cell(found['queries'][method].get(category)) for method in methods)} |"
        for category in next(iter(found["queries"].values()))
    ]
    return [
        "## Study: exposure",
        "",
        f"{found['rows']:,} rows, {found['users']:,} users, generated with seed 1. Different queries; the most of "
        "several releases. Sessions and",
        "occurrences are in `exposure.json`. [What the paper found, and why it differs](../studies/exposure.md).",
        *evidence.table(f"| | {' | '.join(methods)} |", rows),
        *(f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]),
        "",
    ]


def union_section(found: dict[str, Any]) -> list[str]:
    """Every method at its best number of items per user: queries with their interval, and the share of events."""
    lines = [
        "## Study: set-union",
        "",
        "Different queries published (95 % interval over the runs), the share of query events, and the items per user",
        "(d) that are best on that log; steered has its default. [What it means](../studies/set-union.md).",
    ]
    for setting, one in found.items():
        lines += ["", f"{setting}: {one['users']:,} users, {one['rows']:,} rows, delta {one['delta']:g}."]
        epsilons = list(dict.fromkeys(point["epsilon"] for point in one["points"]))
        head = " | ".join(f"epsilon {epsilon:.4g}" for epsilon in epsilons)
        rows = []
        for method in dict.fromkeys(point["method"] for point in one["points"]):
            own = {point["epsilon"]: point for point in one["points"] if point["method"] == method}
            rows.append(f"| {method} | {' | '.join(_union_cell(own.get(at)) for at in epsilons)} |")
        lines += evidence.table(f"| method | {head} |", rows)
        errors = [
            f"| {point['epsilon']:.4g} | {' | '.join(f'{point[key][0]:.1f}' for key in _ERRORS)} |"
            for point in one["points"]
            if _ERRORS[0] in point
        ]
        lines += ["Counts of steered, in percent:"]
        lines += evidence.table("| epsilon | median error | of the top 100 | bias | useless |", errors)
        lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in one["checks"]]
    return [*lines, ""]


def _union_cell(point: dict[str, Any] | None) -> str:
    if point is None:
        return ""
    mean, low, high = point["distinct"]
    return f"{mean:,.0f} ({low:,.0f} to {high:,.0f}), {point['events'][0]:.1f} %, d {point['d']}, {point['runs']} runs"


def paper_section(found: dict[str, Any]) -> list[str]:
    """All studies of one paper: whether the expected shapes are there. The figures are in the JSON file."""
    paper = found["paper"]
    lines = [
        f"## All studies of a paper: {paper}",
        "",
        f"`lab/benchmarks/papers.py {paper}`: {found['rows']:,} rows, {found['users']:,} users. Every figure is in "
        f"`paper-{paper}.json`.",
        "",
    ]
    for name, study in found["studies"].items():
        lines += [f"[{name}](../studies/{name}.md)", ""]
        lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in study["checks"]]
        lines += [""]
    return lines


def study_section(name: str, found: dict[str, Any]) -> list[str]:
    """A study: its figures point by point, and whether the expected shapes are there."""
    lines = [
        f"## Study: {name}",
        "",
        f"{found['rows']:,} rows, {found['users']:,} users, generated with seed 1.",
    ]
    lines += [
        f"[What the paper found, and why it differs](../studies/{name}.md).",
        "'expected' is exact, over the noise; 'released' is a mean of real releases.",
    ]
    columns = [*found["axes"], *(key for key in found["points"][0] if key not in found["axes"])]
    points = [" | ".join(_cell(point.get(column)) for column in columns) for point in found["points"]]
    lines += evidence.table(f"| {' | '.join(columns)} |", [f"| {point} |" for point in points])
    lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]]
    return [*lines, ""]


def _verdict(check: dict[str, Any]) -> str:
    return "too small to tell" if check.get("undecided") else "pass" if check["passes"] else "FAIL"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value.partition(":")[0]
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


HEAD = """# Evidence

Figures of full-size runs on a machine with 2 cores, written by `make evidence` from the JSON files here.
Generated logs are those of [version 1](../../../docs/reference/generator.md#versions), but for `release-d`,
`release-epsilon-delta` and `release-span`, whose logs are of version 2.
"""


def sections() -> dict[str, Callable[[Any], list[str]]]:
    """How each part is shown, in the order of the page."""
    return {
        "zealous": zealous_section,
        **{name: functools.partial(study_section, name) for name in SHARES},
        **{name: functools.partial(inversion_section, name) for name in INVERSION},
        "profiles": profiles_section,
        "exposure": exposure_section,
        "set-union": union_section,
        **dict.fromkeys(RESUMED, paper_section),
        **{part: functools.partial(evidence.printed_section, title) for part, title in PRINTED.items()},
    }


def main() -> int:
    reduced = "--reduced" in sys.argv[1:]
    known = STUDIED if reduced else tuple(PARTS)
    names = [name for name in sys.argv[1:] if name != "--reduced"] or list(known)
    if evidence.unknown(names, known):
        return 2
    for name in names:
        part = functools.partial(PARTS[name], reduced=True) if reduced else PARTS[name]
        evidence.write(name, REDUCED if reduced else EVIDENCE, part, timed=name not in UNTIMED)
    if not reduced:
        (EVIDENCE / "index.md").write_text(evidence.page(HEAD, sections(), EVIDENCE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
