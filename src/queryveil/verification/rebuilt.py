"""The release written again from its parameters and tables, and compared with what is there, byte for byte.

This is the one place of the verifier that uses the writer's code, and for words only: numbers are computed anew by
code that shares no line with it. Only the version that wrote a release can write it again.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.errors import QueryveilError
from queryveil.files import folder
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms import Plan
from queryveil.release import planned, wording
from queryveil.release.about import About
from queryveil.release.documents import writing as documents
from queryveil.release.publish import Release
from queryveil.release.understanding import REPEATABLE, with_known_noise
from queryveil.verification.manifest import Manifest, codes
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){2}")
_DIGEST = re.compile(r"[0-9a-f]{16}|")
"""Of words; the first releases have none."""
_MOST_NAMED = 5
_ALL_PEOPLE = 10**12
"""For so many any delta above a trillionth is too large."""
_NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)"
_FIGURES = {
    "epsilon": re.compile(rf"\bepsilon {_NUMBER}"),
    "delta": re.compile(rf"\bdelta {_NUMBER}"),
    "k": re.compile(rf"\bk = {_NUMBER}"),
}


@dataclass(frozen=True)
class Software:
    """Which queryveil wrote a release, as its manifest says, and which is here."""

    name: Any
    stated: Any
    words: Any
    here: str

    @classmethod
    def of(cls, manifest: Manifest) -> Software:
        software = manifest.section("software")
        here = wording.software()["version"]
        return cls(software.get("name"), software.get("version"), software.get("words", ""), here)

    @property
    def same(self) -> bool:
        """Whether sentences are written here as they were there."""
        return bool(self.stated == self.here and self.words == wording.digest())

    @property
    def whose(self) -> str:
        """Whose the sentences are, if not ours: goes on after 'their sentences'."""
        if self.stated == self.here:
            return "were reworded since, or someone changed them"
        return f"are from queryveil {self.stated}, and this is {self.here}"

    def problems(self) -> Iterator[str]:
        """Anyone can state any version: one that this queryveil cannot know is no excuse for not being checked."""
        if self.name != "queryveil":
            yield "the software is not queryveil"
        if not isinstance(self.stated, str) or not _VERSION.fullmatch(self.stated):
            yield "the version of the software is not of the form 1.2.3"
        elif _numbers(self.stated) > _numbers(self.here):
            yield f"queryveil {self.stated} wrote it, and this is queryveil {self.here}: update queryveil to check it"
        if not isinstance(self.words, str) or not _DIGEST.fullmatch(self.words):
            yield "'words' of the software is not a digest of 16 digits"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version)[:3])


def checks(
    release: Path, manifest: Manifest, opened: Mapping[str, Opened], taxonomy: Path | None
) -> list[Check]:
    software = Software.of(manifest)
    made = [judge("software", f"written by queryveil {software.stated}", software.problems)]
    if taxonomy is not None:
        made.append(
            judge(
                "taxonomy",
                "the release was made with this taxonomy",
                lambda: _taxonomy(manifest.content, taxonomy),
            )
        )
    tables_read = set(opened) == set(manifest.section("tables"))
    if tables_read:
        made.append(
            judge(
                "declared",
                "every number, code, table and draw follows from the parameters",
                lambda: _declared(manifest, opened, taxonomy),
            )
        )
    if not software.same:
        figures = "where documents first name epsilon, delta or k, they agree with the manifest"
        return [*made, judge("figures", figures, lambda: _figures(release, manifest))]
    if not tables_read:
        return made
    return [
        *made,
        judge(
            "sentences",
            "every sentence and figure of the manifest follows from parameters and tables, letter by letter",
            lambda: _sentences(release, manifest, opened, taxonomy),
        ),
        judge(
            "written-again",
            f"{', '.join(documents.named(manifest.content))} follow from manifest and tables, byte by byte",
            lambda: _documents(release, manifest, opened),
        ),
    ]


# -- the manifest --------------------------------------------------------------------------------------------


_WORDS = frozenset({"what", "how", "sentence", "help", "row", "noun", "software"})
"""Parts of a manifest that are words for people, or say whose words these are."""


def _declared(manifest: Manifest, opened: Mapping[str, Opened], taxonomy: Path | None) -> Iterator[str]:
    """Numbers, codes, tables and draws against those that the mechanism declares for the same parameters."""
    stated, former = _wordless(manifest.content), manifest.written == folder.FORMER_VERSION

    def problems(plan: Plan) -> list[str]:
        again = _wordless(_expected(plan, manifest.content, opened))
        return list(_different(stated, _as_then(stated, again) if former else again, ""))

    yield from _closest(manifest.content, taxonomy, problems)


def _closest(
    content: Mapping[str, Any], taxonomy: Path | None, problems: Callable[[Plan], list[str]]
) -> Iterator[str]:
    """What is wrong by the plan that is nearest to a manifest, of those that can have given it."""
    closest: list[str] | None = None
    for plan in planned.plans(content, taxonomy):
        different = problems(plan)
        if closest is None or len(different) < len(closest):
            closest = different
        if not different:
            break
    if closest is None:
        yield "the method does not take these parameters"
        return
    yield from (
        f"{quoted(place)} does not follow from parameters and tables" for place in closest[:_MOST_NAMED]
    )


def _wordless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _wordless(inner) for name, inner in value.items() if name not in _WORDS}
    return [_wordless(inner) for inner in value] if isinstance(value, list) else value


def _as_then(stated: Any, again: Any) -> Any:
    """What an earlier version stated of all that is stated today; what was added since is left out."""
    if isinstance(stated, dict) and isinstance(again, dict):
        return {name: _as_then(stated[name], again[name]) for name in stated if name in again}
    if isinstance(stated, list) and isinstance(again, list) and len(stated) == len(again):
        return [_as_then(one, other) for one, other in zip(stated, again, strict=True)]
    return again


def _sentences(
    release: Path, manifest: Manifest, opened: Mapping[str, Opened], taxonomy: Path | None
) -> Iterator[str]:
    content = manifest.content
    found = list(
        _closest(
            content,
            taxonomy,
            lambda plan: list(_different(content, _expected(plan, content, opened), "")),
        )
    )
    yield from found
    if not found and _text(release) != folder.as_json(content):
        yield "the manifest is not written as queryveil writes it"


def _expected(plan: Plan, content: Mapping[str, Any], opened: Mapping[str, Opened]) -> dict[str, Any]:
    tables = {name: opened[name].table for name in content["tables"]}
    about = About.from_dict(content.get("about", {}))
    made = Release(
        plan=_admitted(plan, content), tables=tables, about=about, withheld=content.get("withheld", {})
    ).manifest()
    again: dict[str, Any] = json.loads(folder.as_json(made))
    taken = {"created": content["created"], "software": content["software"]}
    return again | taken | {"files": _files(content["files"])}


def _admitted(plan: Plan, content: Mapping[str, Any]) -> Plan:
    """The plan with what a release may admit beyond it: a delta too large for users that are not told, known noise."""
    promise, stated = plan.guarantee, content["guarantee"]
    if stated.get("delta_too_large") is True and "users" not in plan.parameters:
        promise = promise.among(_ALL_PEOPLE, told=False)
    if REPEATABLE.code in codes(stated["caveats"]):
        promise = with_known_noise(promise)
    return dataclasses.replace(plan, guarantee=promise)


def _files(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Digests are compared with the files elsewhere; here, that each entry has its form."""
    return {
        name: {key: entry[key] for key in ("sha256", "bytes", "rows") if key in entry}
        for name, entry in stated.items()
    }


def _different(found: Any, again: Any, at: str) -> Iterator[str]:
    """Places of the manifest that are not as they should be; 1 and 1.0 and true are three things."""
    if isinstance(found, dict) and isinstance(again, dict):
        if list(found) != list(again):
            names = [name for name in {**found, **again} if name not in found or name not in again]
            yield from [_below(at, name) for name in names] or [at or "the order of the keys"]
            return
        for name in found:
            yield from _different(found[name], again[name], _below(at, name))
    elif isinstance(found, list) and isinstance(again, list) and len(found) == len(again):
        for number, (one, other) in enumerate(zip(found, again, strict=True)):
            yield from _different(one, other, _below(at, str(number)))
    elif type(found) is not type(again) or found != again:
        yield at


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _text(release: Path) -> str:
    file = folder.file_inside(release, folder.MANIFEST)
    return file.read_bytes().decode() if file is not None else ""


def _taxonomy(content: Mapping[str, Any], file: Path) -> Iterator[str]:
    named = planned.foreign(content)
    if named is None:
        yield "the release was not made with a taxonomy from a file"
        return
    try:
        identity = Taxonomy.from_file(file).identity
    except QueryveilError:
        yield "the given taxonomy cannot be read"
        return
    if identity != named:
        yield "the release was made with another taxonomy"


# -- documents -----------------------------------------------------------------------------------------------


def _figures(release: Path, manifest: Manifest) -> Iterator[str]:
    """Of a version that is not here: the least that its documents must agree on with the manifest."""
    guarantee = manifest.section("guarantee")
    for name in documents.NAMES:
        file = folder.file_inside(release, name)
        text = file.read_text(encoding="utf-8", errors="replace") if file is not None else ""
        for figure, pattern in _FIGURES.items():
            found = pattern.search(text)
            stated = guarantee.get(figure)
            if found and not (isinstance(stated, int | float) and _rounded(float(found[1]), stated)):
                yield f"{name} names another {figure} than the manifest"


def _rounded(shown: float, stated: float) -> bool:
    """Documents show three digits or more, rounded up."""
    return stated * (1 - 1e-9) <= shown <= stated * 1.01


def _documents(release: Path, manifest: Manifest, opened: Mapping[str, Opened]) -> Iterator[str]:
    content = copy.deepcopy(dict(manifest.content))
    tables = {name: opened[name].table for name in content["tables"]}
    stated = content["files"]
    content["files"] = {name: stated[name] for name in stated if name not in documents.NAMES}
    for name, text in documents.written(content, tables):
        file = folder.file_inside(release, name)
        if file is None or file.read_bytes() != text:
            yield f"{name} does not follow from manifest and tables"
    if list(content["files"]) != list(stated):
        yield "the files are not listed in the order in which they are written"
