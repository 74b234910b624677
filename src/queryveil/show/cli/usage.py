"""What is wrong with a command line, as one sentence that names the option and what was given for it."""

from __future__ import annotations

import re
from typing import Any

from queryveil.errors import instead, without_secrets

_HELP = "see --help"
_LONGEST = 40
_NOUNS = {
    "float_parsing": "a number",
    "int_parsing": "an int",
    "int_from_float": "an int",
    "int_parsing_size": "an int of fewer digits",
    "bool_parsing": "true or false",
}
_LIMITS = {
    "greater_than": ("gt", ">"),
    "greater_than_equal": ("ge", ">="),
    "less_than": ("lt", "<"),
    "less_than_equal": ("le", "<="),
}


def told(error: Any) -> tuple[str, str]:
    """Cause and way out of an error that the parser of the command line raised."""
    value = _wrong_value(error)
    if value is not None:
        return value
    cause, _, more = str(error.format_message()).rstrip(".?").partition(". ")
    names = getattr(error, "possibilities", None)
    if names:
        cause, more = f"No such option: {error.option_name}", instead(error.option_name, names)
    hint = f"{more[0].lower()}{more[1:]}, or {_HELP}" if more else _HELP
    return without_secrets(cause) or "no command was given", without_secrets(hint)


def shortened(value: object) -> str:
    """What was given, between quotes; of a long text its beginning."""
    shown = without_secrets(repr(value))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _wrong_value(error: Any) -> tuple[str, str] | None:
    """Said in our words where the value of an option could not be taken; None for other errors."""
    found = getattr(error.__cause__ or error.__context__, "errors", None)
    names = getattr(getattr(error, "param", None), "opts", None)
    if not callable(found) or not names:
        return None
    wrong = found()[0]
    flag, given = max(names, key=len), wrong.get("input")
    choices = re.search(r" is not one of (.+)", str(wrong.get("msg", "")))
    if choices:
        known = re.findall(r"'([^']*)'", choices[1])
        return f"{flag} must be one of {', '.join(known)}; got {shortened(given)}", _way(given, known)
    if wrong["type"] in _NOUNS:
        return f"{flag} must be {_NOUNS[wrong['type']]}; got {shortened(given)}", _HELP
    if wrong["type"] in _LIMITS:
        key, sign = _LIMITS[wrong["type"]]
        return f"{flag} must be {sign} {wrong['ctx'][key]:g}; got {shortened(given)}", _HELP
    return None


def _way(given: object, known: list[str]) -> str:
    hint = instead(given, known)
    return f"{hint}, or {_HELP}" if hint.startswith("did you mean") else _HELP
