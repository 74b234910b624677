"""Names parameters in messages by the labels of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.errors import Argument, Command, QueryveilError

_LABELS = {"start": "from", "end": "to"}
"""Labels of fields that are not called like their parameters."""


def as_field(reference: Argument | Command) -> str:
    """Name a parameter of a message as the label of its field, and a command as it is typed."""
    if isinstance(reference, Command):
        return reference.line
    label = _LABELS.get(reference.name, reference.name.replace("_", " "))
    value = reference.value
    if value is None or value is True:
        return label
    if isinstance(value, dict):
        value = ", ".join(f"{name}={one}" for name, one in value.items())
    return f"{label} {', '.join(map(str, value)) if isinstance(value, list) else value}"


def worded(error: QueryveilError | Mapping[str, Any]) -> Mapping[str, Any]:
    """Cause and next step of an error with the labels of fields; of a job, they have them already."""
    return error.as_dict(as_field) if isinstance(error, QueryveilError) else error
