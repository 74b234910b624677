"""Rewrites a release from its parameters and tables, and compares the result with the folder byte for byte.

This is the only part of the verifier that runs the writer's code, and it does so for text only: every number in the
guarantee is computed a second time, by code that shares no line with the writer. Documents are rendered from the
templates and sentences of the version that the manifest names, so that a release can be verified for as long as that
version stays in queryveil.catalog.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.catalog import Sentence, has_catalog, to_data
from queryveil.errors import QueryveilError
from queryveil.files import folder
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms import Plan
from queryveil.plugins import Plugin
from queryveil.release import planned
from queryveil.release.about import About
from queryveil.release.documents import rendering
from queryveil.release.publish import Release
from queryveil.release.understanding import REPEATABLE, with_known_noise, with_plugins
from queryveil.verification.manifest import Manifest, codes, plugged_in_method
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,2}[a-z0-9.+]{0,20}")
_MAX_PLACES = 5
"""Differing places of a manifest that are named."""
ALL_PEOPLE = 10**12
"""For so many users, any delta above one in a trillion is too large."""


def checks(
    release: Path, manifest: Manifest, opened: Mapping[str, Opened], taxonomy: Path | None
) -> list[Check]:
    """Compare manifest and documents with what this version writes; without all tables, nothing can be rewritten."""
    content = manifest.content
    stated = manifest.section("software").get("version")
    results = [
        judge(
            "software",
            Sentence("verify.rewrite.queryveil-wrote", stated=stated),
            lambda: software_problems(content, "release"),
        ),
        judge(
            "document-version",
            Sentence("verify.rewrite.queryveil-has-templates-and-sentences-of"),
            lambda: _version_problems(content),
        ),
    ]
    if taxonomy is not None:
        results.append(
            judge(
                "taxonomy",
                Sentence("verify.rewrite.release-was-made-with-taxonomy"),
                lambda: _taxonomy_problems(content, taxonomy),
            )
        )
    if not all(one.passes for one in results) or set(opened) != set(manifest.section("tables")):
        return results
    tables = {name: opened[name].table for name in manifest.section("tables")}
    return [
        *results,
        judge(
            "manifest",
            Sentence("verify.rewrite.manifest-is-formatted-as-queryveil-formats")
            if plugged_in_method(manifest)
            else Sentence("verify.rewrite.every-value-and-sentence-of-manifest"),
            lambda: _manifest_problems(release, manifest, tables, taxonomy),
        ),
        judge(
            "documents",
            Sentence("verify.rewrite.documents-follow-from-manifest-and-tables"),
            lambda: _document_problems(release, content, tables),
        ),
    ]


def software_problems(content: Mapping[str, Any], noun: str) -> Iterator[str]:
    """Require that a manifest or an index says which version of queryveil wrote it, and nothing else."""
    stated = content.get("software")
    version = stated.get("version") if isinstance(stated, dict) else None
    known = isinstance(version, str) and _VERSION.fullmatch(version)
    if not known or stated != folder.software_version() | {"version": version}:
        yield Sentence("verify.rewrite.does-not-say-which-version-of", noun=noun)


def _version_problems(content: Mapping[str, Any]) -> Iterator[str]:
    """Require that the documents have a version and a language that this queryveil has."""
    stated = content.get("documents")
    if not isinstance(stated, dict) or set(stated) != {"version", "language"}:
        yield Sentence("verify.rewrite.manifest-does-not-say-which-version")
    elif not has_catalog(stated["version"], stated["language"]):
        yield (Sentence("verify.rewrite.queryveil-does-not-have-version-or"))


# -- the manifest --------------------------------------------------------------------------------------------


def _manifest_problems(
    release: Path, manifest: Manifest, tables: Mapping[str, pa.Table], taxonomy: Path | None
) -> Iterator[str]:
    """Name the places that differ from the manifest of the closest plan with these parameters."""
    content = manifest.content
    if plugged_in_method(manifest):
        # A plugin is never loaded here, so what its plan says is compared with nothing.
        yield from _format_problems(release, content)
        return
    closest: list[str] | None = None
    for plan in planned.plans(content, taxonomy):
        found = list(differences(content, _expected_manifest(plan, content, tables), ""))
        if closest is None or len(found) < len(closest):
            closest = found
        if not found:
            break
    if closest is None:
        yield Sentence("verify.rewrite.method-does-not-take-these-parameters")
        return
    if closest and content["software"] != folder.software_version():
        yield (
            Sentence(
                "verify.rewrite.another-version-wrote-release-verify-with",
                version=content["software"]["version"],
            )
        )
    yield from (
        Sentence("verify.rewrite.does-not-follow-from-parameters-and", place=quoted(place))
        for place in closest[:_MAX_PLACES]
    )
    if not closest:
        yield from _format_problems(release, content)


def _format_problems(release: Path, content: Mapping[str, Any]) -> Iterator[str]:
    if _read_text(release) != folder.as_json(content):
        yield Sentence("verify.rewrite.manifest-is-not-formatted-as-queryveil")


def _expected_manifest(
    plan: Plan, content: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> dict[str, Any]:
    about = About.from_dict(content.get("about", {}))
    release = Release(
        plan=_admit_caveats(plan, content),
        tables=dict(tables),
        about=about,
        withheld=content.get("withheld", {}),
        created=content["created"],
        software=content["software"],
    )
    expected: dict[str, Any] = json.loads(folder.as_json(to_data(release.manifest())))
    return expected | {"documents": content["documents"], "files": _file_entries(content["files"])}


def _admit_caveats(plan: Plan, content: Mapping[str, Any]) -> Plan:
    """The plan with what a release may admit beyond it: a delta too large for users that are not told, known noise."""
    plan = with_plugins(plan, tuple(Plugin(**one) for one in content.get("plugins", ())))
    guarantee, stated = plan.guarantee, content["guarantee"]
    if stated.get("delta_too_large") is True and "users" not in plan.parameters:
        guarantee = guarantee.among(ALL_PEOPLE, told=False)
    if REPEATABLE.code in codes(stated["caveats"]):
        guarantee = with_known_noise(guarantee)
    return dataclasses.replace(plan, guarantee=guarantee)


def _file_entries(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The form of each entry; other checks compare digests and sizes with the files."""
    return {
        name: {key: entry[key] for key in ("sha256", "bytes", "rows") if key in entry}
        for name, entry in stated.items()
    }


def differences(found: Any, expected: Any, at: str) -> Iterator[str]:
    """Yield the places where two JSON values differ; 1, 1.0 and true are three values."""
    if isinstance(found, dict) and isinstance(expected, dict):
        if list(found) != list(expected):
            names = [name for name in {**found, **expected} if name not in found or name not in expected]
            yield from [_join_path(at, name) for name in names] or [at or "the order of the keys"]
            return
        for name in found:
            yield from differences(found[name], expected[name], _join_path(at, name))
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, _join_path(at, str(number)))
    elif type(found) is not type(expected) or found != expected:
        yield at


def _join_path(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _read_text(release: Path) -> str:
    file = folder.file_inside(release, folder.MANIFEST)
    return file.read_bytes().decode() if file is not None else ""


def _taxonomy_problems(content: Mapping[str, Any], file: Path) -> Iterator[str]:
    named = planned.foreign(content)
    if named is None:
        yield Sentence("verify.rewrite.release-was-not-made-with-taxonomy")
        return
    try:
        identity = Taxonomy.from_file(file).identity
    except QueryveilError:
        yield Sentence("verify.rewrite.given-taxonomy-cannot-be-read")
        return
    if identity != named:
        yield Sentence("verify.rewrite.release-was-made-with-another-taxonomy")


# -- documents -----------------------------------------------------------------------------------------------


def _document_problems(
    release: Path, content: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> Iterator[str]:
    manifest = copy.deepcopy(dict(content))
    stated = manifest["files"]
    manifest["files"] = {name: stated[name] for name in stated if name not in rendering.NAMES}
    for name, expected in rendering.render_documents(manifest, tables):
        file = folder.file_inside(release, name)
        if file is None or file.read_bytes() != expected:
            yield Sentence("verify.rewrite.does-not-follow-from-manifest-and", name=name)
    if list(manifest["files"]) != list(stated):
        yield Sentence("verify.rewrite.files-are-not-listed-in-order")
