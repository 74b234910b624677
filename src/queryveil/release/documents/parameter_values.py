"""Parameters and calibration of a release, as rows of names and values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from queryveil.catalog import Sentence, open_catalog
from queryveil.privacy.guarantee import PROBABILISTIC


def calibration(manifest: Mapping[str, Any]) -> list[tuple[list[str], str]]:
    """What follows from the parameters, with the meaning of names that do not say it."""
    of = "probabilistic" if manifest["guarantee"]["kind"] == PROBABILISTIC else "approximate"
    return flat(manifest["calibration"], {"delta": Sentence(f"figure.delta.{of}")}, explain=True)


def flat(
    values: Mapping[str, Any], meanings: Mapping[str, str] | None = None, *, explain: bool = False
) -> list[tuple[list[str], str]]:
    """Return each value with its name, and the names of the groups that it is in before that."""
    rows: list[tuple[list[str], str]] = []
    for name, value in values.items():
        meaning = (meanings or {}).get(name) or (
            Sentence(id) if (id := f"figure.{name}") in open_catalog() else ""
        )
        if isinstance(value, Mapping):
            inside = flat(value, meanings, explain=explain)
            rows += [([(meaning if explain else "") or name, *names], one) for names, one in inside]
        else:
            named = (
                Sentence("figure.with-meaning", name=name, meaning=meaning) if explain and meaning else name
            )
            rows.append(([named], plain(value)))
    return rows


def plain(value: Any) -> str:
    """A parameter as people write it."""
    if isinstance(value, bool):
        return Sentence("number.yes" if value else "number.no")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(plain(one) for one in value)
    return str(value) if isinstance(value, (str, int)) else json.dumps(value)
