"""The data sheet of a release: what it is, what is promised and what is not, for a lawyer and an engineer.

Written from the manifest alone, so that it cannot say more than is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import stated
from queryveil.release.documents import assessment, words
from queryveil.release.documents.chances import chances


def write(manifest: Mapping[str, Any]) -> str:
    """The data sheet as Markdown."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    odds = chances(guarantee)
    lines = [
        f"# Data sheet: {_plain(words.title(manifest))}",
        "",
        words.what_it_is(manifest),
        f"Made on {manifest['created']} with {software['name']} {software['version']}, method `{manifest['method']}`.",
        *_about(manifest),
        "",
        "## What is promised",
        "",
        f"**{guarantee.headline}**",
        "",
        *(f"- {sentence}" for sentence in words.promises(guarantee)),
        "",
        odds.says,
        "",
        *_table(odds.heading, odds.rows),
        "",
        odds.note,
        "",
        "A reader of the release cannot learn:",
        "",
        *(f"- {sentence}" for sentence in words.withheld(manifest)),
        "",
        "A reader of the release can learn:",
        "",
        *(f"- {sentence}" for sentence in words.learnt(manifest)),
        "",
        "## What is assumed, and what is not promised",
        "",
        *(f"- {sentence}" for sentence in words.limits(manifest)),
        "",
        "## How it was made",
        "",
        manifest["how"],
        "",
        words.NORMAL_FORM,
        "",
        *_table(("parameter", "value"), words.flat(manifest["parameters"])),
        "",
        *_calibration(manifest),
        "## What is inside",
        "",
    ]
    for name, table in manifest["tables"].items():
        lines += [f"`{table['file']}` ({name}), {words.counted(table['rows'], 'rows')}. {table['row']}", ""]
        columns = [(one["name"], one["type"], one["help"]) for one in table["columns"]]
        lines += [*_table(("column", "type", "meaning"), columns), ""]
    lines += ["## For an assessment under data-protection law", "", assessment.SOURCE, ""]
    lines += [f"- {name}: {answer}" for name, answer in assessment.answers(manifest)]
    lines += [
        "",
        "## How to cite",
        "",
        _plain(words.citation(manifest)),
        "",
        "```bibtex",
        words.bibtex(manifest),
        "```",
        "",
        *_own_citation(manifest),
        "## Check it yourself",
        "",
        f"`queryveil release verify DIR` {words.check(manifest)}",
        "",
    ]
    return "\n".join(lines)


def _about(manifest: Mapping[str, Any]) -> list[str]:
    """What the publisher says: a text of theirs must not become a mark of Markdown."""
    return (
        [
            "",
            "The publisher says, and nothing here checks it:",
            "",
            *(f"- {name.capitalize()}: {_plain(said)}" for name, said in words.about(manifest)),
        ]
        if words.about(manifest)
        else []
    )


def _own_citation(manifest: Mapping[str, Any]) -> list[str]:
    own = stated(manifest, "citation")
    return [words.OWN_WORDS, "", f"> {_plain(own)}", ""] if own else []


def _plain(text: str) -> str:
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|" else one for one in text)


def _calibration(manifest: Mapping[str, Any]) -> list[str]:
    rows = words.calibration(manifest)
    return [*_table(("calibration", "value"), rows), ""] if rows else []


def _table(heading: tuple[str, ...], rows: Any) -> list[str]:
    """A table of Markdown; a bar or a line break in a cell would end it."""

    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(' '.join(one.split()).replace('|', chr(92) + '|') for one in cells)} |"

    return [line(heading), "|" + "---|" * len(heading), *(line(row) for row in rows)]
