"""CITATION.cff: how to cite a release, in the Citation File Format 1.2.0, which hubs and reference managers read.

The format asks for authors: it is written for releases whose publisher is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from queryveil.release.about import stated
from queryveil.release.documents import words

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


def write(manifest: Mapping[str, Any]) -> str:
    """The file as YAML, of which every value is written as JSON: no text can become anything else."""
    publisher = stated(manifest, "publisher")
    entity = {"name": publisher}
    content: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": _message(manifest),
        "type": "dataset",
        "title": words.title(manifest),
        "authors": [entity],
        "date-released": manifest["created"],
        **_licence(stated(manifest, "licence")),
        **_contact(publisher, stated(manifest, "contact")),
        "abstract": words.what_it_is(manifest),
        "keywords": ["search logs", manifest["method"], manifest["guarantee"]["kind"]],
        "identifiers": [
            {
                "type": "other",
                "value": f"sha256:{manifest['files'][table['file']]['sha256']}",
                "description": f"SHA-256 of {table['file']}",
            }
            for table in manifest["tables"].values()
        ],
    }
    return "".join(f"{name}:{_value(value)}\n" for name, value in content.items())


def _message(manifest: Mapping[str, Any]) -> str:
    own = stated(manifest, "citation")
    asked = f"Please cite this data set: {words.citation(manifest)}"
    return f'{asked} {words.OWN_WORDS} "{own}"' if own else asked


def _value(value: Any) -> str:
    if not isinstance(value, list):
        return f" {json.dumps(value, ensure_ascii=False)}"
    return "".join(f"\n  - {json.dumps(one, ensure_ascii=False)}" for one in value)


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
