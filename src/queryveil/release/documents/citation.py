"""How to cite a release: a line, an entry for BibTeX, and CITATION.cff in the Citation File Format 1.2.0."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from queryveil.catalog import Catalog, Sentence
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import NAMES, stated
from queryveil.release.documents import sentences

_LICENCES = """
Apache-2.0 BSD-2-Clause BSD-3-Clause CC-BY-3.0 CC-BY-4.0 CC-BY-NC-3.0 CC-BY-NC-4.0 CC-BY-NC-ND-4.0 CC-BY-NC-SA-4.0
CC-BY-ND-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0 CDLA-Permissive-1.0 CDLA-Sharing-1.0 EUPL-1.2 GPL-3.0-only MIT
ODC-By-1.0 ODbL-1.0 OGL-UK-3.0 PDDL-1.0
"""
SPDX = frozenset(_LICENCES.split())
"""Names of licences that data is published under, as the Citation File Format 1.2.0 has them."""
_ADDRESS = re.compile(r"https?://\S+")


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def is_mail(text: str) -> bool:
    name, sign, host = text.partition("@")
    inside = "." in host[1:-1] and "@" not in host
    return bool(name and sign) and inside and not any(one.isspace() for one in text)


def about(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the publisher says of the release, by name, without its title and how to cite it."""
    names = (name for name in NAMES if name not in ("title", "citation"))
    return [(name, said) for name in names if (said := str((manifest.get("about") or {}).get(name, "")))]


def citation(manifest: Mapping[str, Any]) -> Sentence:
    """One line to refer to exactly this release, none of it by the publisher but name and title."""
    publisher = stated(manifest, "publisher")
    return Sentence(
        "cite.line",
        by=Sentence("cite.by", publisher=publisher) if publisher else "",
        title=sentences.title(manifest),
        note=Sentence("cite.note", day=manifest["created"], made=_software_note(manifest)),
    )


def bibtex(manifest: Mapping[str, Any], catalog: Catalog) -> str:
    """The same for BibTeX. What a release says of itself has no braces or backslashes to escape."""
    publisher = stated(manifest, "publisher")
    fields = {
        **({"author": f"{{{_plain_tex(publisher)}}}"} if publisher else {}),
        "title": f"{{{_plain_tex(catalog.text(sentences.title(manifest)))}}}",
        "year": manifest["created"][:4],
        "howpublished": catalog.say("cite.data-set"),
        "note": _plain_tex(catalog.text(_software_note(manifest))),
    }
    inside = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{queryveil-{manifest['method']}-{manifest['created']},\n{inside}\n}}"


def _software_note(manifest: Mapping[str, Any]) -> Sentence:
    software, guarantee = manifest["software"], Guarantee.from_dict(manifest["guarantee"])
    file, digest = first_digest(manifest)
    return Sentence(
        "cite.made",
        software=software["name"],
        version=software["version"],
        method=manifest["method"],
        headline=guarantee.headline,
        digest=Sentence("cite.digest", file=file, digest=digest) if digest else "",
    )


def first_digest(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The file and the digest of the first table: another digest is another release. Empty without tables."""
    for table in manifest["tables"].values():
        entry = manifest.get("files", {}).get(table["file"])
        if entry:
            return str(table["file"]), str(entry["sha256"])
    return "", ""


def _plain_tex(text: str) -> str:
    return "".join(f"\\{one}" if one in "&%$#_" else one for one in text if one not in "{}\\~^")


def describe(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The content of CITATION.cff. The format asks for authors, so the publisher must be named."""
    publisher = stated(manifest, "publisher")
    return {
        "cff-version": "1.2.0",
        "message": _message(manifest),
        "type": "dataset",
        "title": sentences.title(manifest),
        "authors": [{"name": publisher}],
        "date-released": manifest["created"],
        **_licence(stated(manifest, "licence")),
        **_contact(publisher, stated(manifest, "contact")),
        "abstract": sentences.what_it_is(manifest),
        "keywords": [Sentence("keyword.search-logs"), manifest["method"], manifest["guarantee"]["kind"]],
        "identifiers": [
            {
                "type": "other",
                "value": f"sha256:{manifest['files'][table['file']]['sha256']}",
                "description": Sentence("cite.digest-of", file=table["file"]),
            }
            for table in manifest["tables"].values()
        ],
    }


def _message(manifest: Mapping[str, Any]) -> Sentence:
    own = stated(manifest, "citation")
    line = citation(manifest)
    if own:
        return Sentence("cite.please-own", citation=line, own_words=Sentence("cite.own-words"), own=own)
    return Sentence("cite.please", citation=line)


def _licence(named: str) -> dict[str, str]:
    if named in SPDX:
        return {"license": named}
    return {"license-url": named} if is_address(named) else {}


def _contact(publisher: str, reached: str) -> dict[str, Any]:
    if is_mail(reached):
        return {"contact": [{"name": publisher, "email": reached}]}
    if is_address(reached):
        return {"contact": [{"name": publisher, "website": reached}]}
    return {"contact": [{"name": reached}]} if reached else {}
