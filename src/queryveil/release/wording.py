"""Which words this queryveil writes: a digest of the modules that hold the sentences of a release.

A release states it. Where it is the same here, every sentence must be the one that would be written today, letter by
letter; where it is not, sentences were reworded since, and only codes and figures are compared.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable

_SPOKEN = ("privacy", "mechanisms", "release/documents")
"""Rooms whose modules say something in a manifest, or in a document of a release."""


@lru_cache(maxsize=1)
def digest() -> str:
    """The first 16 digits of the SHA-256 of these modules, in the order of their names."""
    home = resources.files("queryveil")
    named = sorted(
        f"{room}/{module}" for room in _SPOKEN for module in _modules(home.joinpath(*room.split("/")))
    )
    whole = hashlib.sha256()
    for name in named:
        content = home.joinpath(*name.split("/")).read_bytes()
        whole.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()[:16]


def _modules(place: Traversable) -> list[str]:
    found = []
    for entry in place.iterdir():
        if entry.name.endswith(".py"):
            found.append(entry.name)
        elif entry.name != "__pycache__" and entry.is_dir():
            found += [f"{entry.name}/{one}" for one in _modules(entry)]
    return found


@lru_cache(maxsize=1)
def version() -> str:
    """The installed version, looked up once."""
    return metadata.version("queryveil")


def software() -> dict[str, str]:
    """What a release says that it was made with."""
    return {"name": "queryveil", "version": version(), "words": digest()}
