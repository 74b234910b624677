"""The data sheet of a release: what it is, what is promised and what is not, for a lawyer and an engineer.

Written from the manifest alone, so that it cannot say more than is published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from queryveil.guarantee import K_ANONYMITY, NONE, PROBABILISTIC, Guarantee, rounded_up

_LIMITS_OF_PRIVACY = (
    "What many people searched for is published on purpose, whatever it is.",
    "Conclusions about a person from what is true of people in general are not prevented.",
    "Other releases of the same log add to the loss; a ledger keeps the sum.",
)
_LIMITS = {
    K_ANONYMITY: (
        "What enough people searched for is published on purpose, whatever it is.",
        "Another release of the same log, with another k, another method or a day more of searches, can undo this one "
        "by comparison: k-anonymity does not add up, and a ledger only lists it.",
        "This is not differential privacy: no bound holds on what someone with other knowledge learns.",
    ),
    NONE: ("It is meant for studies and attacks. Do not hand it to anyone who may not see the log itself.",),
}
"""What no release of a kind promises."""


def what_it_is(manifest: Mapping[str, Any]) -> str:
    """One sentence: what the release holds."""
    nouns = {"log": "rows"}
    sizes = ", ".join(
        f"{table['rows']:,} {nouns.get(name, name)}" for name, table in manifest["tables"].items()
    )
    return f"{manifest['what']} ({sizes})."


def promises(guarantee: Guarantee) -> list[str]:
    """What holds, in sentences."""
    listed = [guarantee.plain_words()]
    if guarantee.private:
        listed.append(_compared(guarantee))
    if guarantee.kind == PROBABILISTIC:
        listed.append(guarantee.after_processing())
    return listed


def _compared(guarantee: Guarantee) -> str:
    """Which two logs the promise is about."""
    if guarantee.unit != "user":
        return (
            f"Protected is one {guarantee.unit} at a time: the comparison is with the same log in which one "
            f"{guarantee.unit} of one user is another one."
        )
    change = "replaced by another history" if guarantee.replaces else "added to or taken out of the log"
    if guarantee.disclosed:
        return (
            "Protected is what one user searched for, not the form that it had: the comparison is with the same log "
            f"in which that user's whole history is {change} that agrees on {' and on '.join(guarantee.disclosed)}."
        )
    return (
        "Protected is everything that one user ever did in the log: the comparison is with the same log in which "
        f"that user's whole history is {change}."
    )


def limits(guarantee: Guarantee) -> list[str]:
    """What is assumed and what is not promised."""
    assumed = [f"Assumed: {one}." for one in guarantee.assumptions]
    return [*assumed, *_sentences(guarantee.caveats), *_LIMITS.get(guarantee.kind, _LIMITS_OF_PRIVACY)]


def _sentences(phrases: tuple[str, ...]) -> list[str]:
    return [phrase[0].upper() + phrase[1:] + "." for phrase in phrases]


def write(manifest: Mapping[str, Any]) -> str:
    """The data sheet as Markdown."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    lines = [
        "# Data sheet",
        "",
        what_it_is(manifest),
        f"Made on {manifest['created']} with {software['name']} {software['version']}, method `{manifest['method']}`.",
        "",
        "## What is promised",
        "",
        f"**{guarantee.headline}**",
        "",
        *(f"- {sentence}" for sentence in promises(guarantee)),
        "",
        "## What is assumed, and what is not promised",
        "",
        *(f"- {sentence}" for sentence in limits(guarantee)),
        "",
        "## How it was made",
        "",
        manifest["how"],
        "",
        "Queries were brought to normal form first: Unicode NFKC, case-folded, white space collapsed, surrounding "
        "quotes removed.",
        "",
        "| parameter | value |",
        "|---|---|",
        *(f"| {name} | {_plain(value)} |" for name, value in manifest["parameters"].items()),
        "",
        *_calibration(manifest["calibration"]),
        "## What is inside",
        "",
    ]
    for name, table in manifest["tables"].items():
        lines += [
            f"`{table['file']}` ({name}), {table['rows']:,} rows:",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
        ]
        lines += [f"| {one['name']} | {one['type']} | {one['help']} |" for one in table["columns"]]
        lines.append("")
    lines += [
        "## For an assessment under data-protection law",
        "",
        *(f"- {line}" for line in _assessment(manifest, guarantee)),
        "",
        "## Check it yourself",
        "",
        "`queryveil release verify DIR` re-reads the folder, its digests and thresholds, and recomputes the guarantee.",
        "",
    ]
    return "\n".join(lines)


def _calibration(calibration: Mapping[str, Any]) -> list[str]:
    rows = [f"| {name} | {_plain(value)} |" for name, value in _flat(calibration)]
    return ["| calibration | value |", "|---|---|", *rows, ""] if rows else []


def _assessment(manifest: Mapping[str, Any], guarantee: Guarantee) -> list[str]:
    if manifest.get("assessment"):
        return list(manifest["assessment"])
    if not guarantee.private:
        return ["Singling out, linkability and inference are not excluded by this method."]
    delta = rounded_up(guarantee.approximate().delta)
    said = " ".join(guarantee.assumptions)
    lists = (
        " Urls come from public result lists, clicked or not." if "result lists are public" in said else ""
    )
    if "suggestion lists are public" in said:
        lists += " Reformulations come from public suggestions, searched or not."
    return [
        f"Singling out: no row is about one person. For each user, that anything appears which that user alone has in "
        f"the log has a probability of at most {delta}; over many users such cases add up.{lists}",
        "Linkability: the release has no user, session or time by which rows could be joined.",
        f"Inference: bounded for each person by epsilon {rounded_up(guarantee.epsilon, 6)} and delta {delta}, in the "
        "sense said above.",
    ]


def _flat(calibration: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in calibration.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{name}: ")
        else:
            rows.append((prefix + name, value))
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if isinstance(value, (str, int)) else json.dumps(value)
