"""The Croissant description: that it says of the files and columns what the manifest says, and of nothing else.

Hubs read this file and not the manifest, so a difference between the two would mislead them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from queryveil.files import folder
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted

_CONFORMS = "http://mlcommons.org/croissant/1.0"
_NEEDED = {"@context", "@type", "conformsTo", "name", "description", "distribution", "recordSet"}
_KNOWN = _NEEDED | {
    "license",
    "creator",
    "publisher",
    "citeAs",
    "version",
    "datePublished",
    "inLanguage",
    "isLiveDataset",
    "keywords",
    "rai:dataCollection",
    "rai:dataUseCases",
    "rai:dataManipulationProtocol",
    "rai:dataPreprocessingProtocol",
    "rai:personalSensitiveInformation",
    "rai:dataLimitations",
}
_FILE = {"@type", "@id", "name", "contentUrl", "contentSize", "encodingFormat", "sha256"}
_RECORDS = {"@type", "@id", "name", "description", "field"}
_FIELD = {"@type", "@id", "name", "description", "dataType", "repeated", "source"}


def checks(release: Path, manifest: Manifest) -> list[Check]:
    """One check, if the release has such a file; the first releases did not."""
    file = folder.file_inside(release, folder.CROISSANT)
    if folder.CROISSANT not in manifest.section("files") or file is None:
        return []
    good = f"{folder.CROISSANT} describes the files and columns that the manifest describes"
    return [judge("croissant", good, lambda: _problems(file, manifest))]


def _problems(file: Path, manifest: Manifest) -> Iterator[str]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        yield f"{folder.CROISSANT} is not JSON"
        return
    if not isinstance(content, dict) or not set(content) >= _NEEDED:
        yield f"{folder.CROISSANT} lacks one of {', '.join(sorted(_NEEDED))}"
        return
    yield from _strangers("the description", content, _KNOWN)
    if content["@type"] != "sc:Dataset" or _CONFORMS not in content["conformsTo"]:
        yield "it is not a data set of Croissant 1.0"
    if content.get("datePublished") != manifest.content.get("created"):
        yield "its date is not the manifest's date"
    said = manifest.section("about")
    if "title" in said and content["name"] not in (said["title"], manifest.content.get("what")):
        yield "its name is not the title that the manifest states"
    named = content.get("publisher", {}).get("name") if "publisher" in content else None
    if named is not None and named != said.get("publisher"):
        yield "its publisher is not the manifest's"
    tables = manifest.section("tables")
    yield from _files(content["distribution"], manifest.section("files"), tables)
    described = {one["@id"]: one for one in content["recordSet"]}
    if len(described) != len(content["recordSet"]) or list(described) != list(tables):
        yield "its record sets are not the manifest's tables"
        return
    for name, table in tables.items():
        yield from _strangers(f"record set {quoted(name)}", described[name], _RECORDS)
        yield from _fields(name, described[name]["field"], table)


def _files(listed: list[Any], files: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[str]:
    names = [one["@id"] for one in listed]
    if names != [folder.table_file(name) for name in tables]:
        yield "its files are not the files of the tables"
        return
    for one in listed:
        yield from _strangers(f"file {quoted(one['@id'])}", one, _FILE)
        stated = files.get(one["@id"], {})
        if one.get("sha256") != stated.get("sha256") or one.get("contentSize") != f"{stated.get('bytes')} B":
            yield f"file {quoted(one['@id'])} does not have the digest and size that the manifest states"
        if one.get("contentUrl") != one["@id"]:
            yield f"file {quoted(one['@id'])} would be fetched from elsewhere"


def _fields(name: str, fields: list[Any], table: Mapping[str, Any]) -> Iterator[str]:
    stated = [(one["name"], one["type"].startswith("list")) for one in table["columns"]]
    found = [(one["name"], one.get("repeated", False)) for one in fields]
    if found != stated:
        yield f"record set {quoted(name)} does not have the columns of the table"
        return
    for one in fields:
        yield from _strangers(f"a field of record set {quoted(name)}", one, _FIELD)
        source = {"fileObject": {"@id": folder.table_file(name)}, "extract": {"column": one["name"]}}
        if one["source"] != source or one["@id"] != f"{name}/{one['name']}":
            yield f"a field of record set {quoted(name)} belongs to another column"


def _strangers(where: str, entry: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    yield from (f"{where} has the unknown key {quoted(name)}" for name in entry if name not in known)
