"""The release in a form that dataset hubs understand: Croissant 1.0 of MLCommons, which is JSON-LD.

Files with their digests, columns with their types and meaning, and the vocabulary of responsible use for what is
promised and what is not. Written from the manifest alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.catalog import Catalog, Sentence, count
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import stated
from queryveil.release.documents import assessment, citation, parameter_values, sentences

CROISSANT = "http://mlcommons.org/croissant/1.0"
RESPONSIBLE = "http://mlcommons.org/croissant/RAI/1.0"
NO_LICENCE = "http://rightsstatements.org/vocab/CNE/1.0/"
"""The standard statement that rights were not evaluated, and that the publisher is to be asked. Hubs show what stands
here as the licence, if the publisher names none."""

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""What the short names stand for; nothing is loaded from these addresses."""

_TYPES = (("int", "sc:Integer"), ("double", "sc:Float"), ("float", "sc:Float"), ("bool", "sc:Boolean"))


def describe(manifest: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The description as a JSON object; the manifest must know the digests of its tables."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [CROISSANT, RESPONSIBLE],
        "name": sentences.title(manifest),
        "description": Sentence(
            "croissant.description",
            what=sentences.what_it_is(manifest),
            headline=guarantee.headline,
            plain=guarantee.plain_words(),
        ),
        "license": _licence(stated(manifest, "licence")),
        **_publisher(manifest),
        "citeAs": citation.bibtex(manifest, catalog),
        "version": "1.0.0",
        "datePublished": manifest["created"],
        "inLanguage": stated(manifest, "language") or "und",
        "isLiveDataset": False,
        "keywords": [Sentence("keyword.search-logs"), manifest["method"], guarantee.kind],
        "distribution": [_file(table, manifest["files"]) for table in manifest["tables"].values()],
        "recordSet": [_records(name, table) for name, table in manifest["tables"].items()],
        "rai:dataCollection": _collection_period(stated(manifest, "period")),
        **({"rai:dataUseCases": [purpose]} if (purpose := stated(manifest, "purpose")) else {}),
        "rai:dataManipulationProtocol": sentences.how(manifest),
        "rai:dataPreprocessingProtocol": [
            Sentence(
                "croissant.made",
                software=software["name"],
                version=software["version"],
                method=manifest["method"],
            ),
            *(": ".join((*names, value)) for names, value in parameter_values.flat(manifest["parameters"])),
        ],
        "rai:personalSensitiveInformation": [
            guarantee.headline,
            *sentences.promises(guarantee),
            *map(assessment.in_a_line, assessment.answers(manifest)),
        ],
        "rai:dataLimitations": sentences.limits(manifest),
    }


def _licence(named: str) -> str:
    """A licence as hubs know it: by its address if it is a known one."""
    return f"https://spdx.org/licenses/{named}" if named in citation.SPDX else named or NO_LICENCE


def _publisher(manifest: Mapping[str, Any]) -> dict[str, Any]:
    name, contact = stated(manifest, "publisher"), stated(manifest, "contact")
    if not name:
        return {}
    reached = {"email": contact} if citation.is_mail(contact) else {}
    reached = {"url": contact} if citation.is_address(contact) else reached
    one = {"@type": "sc:Organization", "name": name, **reached}
    return {"creator": one, "publisher": one}


def _collection_period(period: str) -> Sentence:
    if period:
        return Sentence("croissant.collected-of", period=period)
    return Sentence("croissant.collected")


def _file(table: Mapping[str, Any], files: Mapping[str, Any]) -> dict[str, Any]:
    known = files[table["file"]]
    return {
        "@type": "cr:FileObject",
        "@id": table["file"],
        "name": table["file"],
        "contentUrl": table["file"],
        "contentSize": f"{known['bytes']} B",
        "encodingFormat": "application/x-parquet",
        "sha256": known["sha256"],
    }


def _records(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": Sentence("croissant.records", rows=count(table["rows"], "rows"), row=table["row"]),
        "field": [_field(name, table["file"], column) for column in table["columns"]],
    }


def _field(name: str, file: str, column: Mapping[str, str]) -> dict[str, Any]:
    kind = next((said for start, said in _TYPES if column["type"].startswith(start)), "sc:Text")
    repeated = {"repeated": True} if column["type"].startswith("list") else {}
    return {
        "@type": "cr:Field",
        "@id": f"{name}/{column['name']}",
        "name": column["name"],
        "description": column["help"] or column["name"],
        "dataType": kind,
        **repeated,
        "source": {"fileObject": {"@id": file}, "extract": {"column": column["name"]}},
    }
