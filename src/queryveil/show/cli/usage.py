"""What is wrong with a command line, as one sentence that names the option and what was given for it."""

from __future__ import annotations

import re
from typing import Any

from queryveil.errors import nearest, without_secrets
from queryveil.plugins import OTHER_PACKAGES

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
    message = str(error.format_message())
    context = getattr(error, "ctx", None)
    if is_help(error):
        return f"no {_group_noun(context)} was given", _HELP
    if hasattr(error, "option_name") and message.startswith("No such option"):
        return _no_such_option(error.option_name, context)
    unknown = re.match(r"No such command '(.*?)'\.", message)
    if unknown:
        return _no_such_command(unknown[1], context)
    missing = re.match(r"Missing option '(--[\w-]+)", message)
    if missing:
        return f"{missing[1]} is missing", f"pass {missing[1]}, or {_HELP}"
    cause, _, more = message.rstrip(".?").partition(". ")
    hint = f"{more[0].lower()}{more[1:]}, or {_HELP}" if more else _HELP
    if context is not None and message.startswith("Missing argument"):
        hint = f"write {_command_usage(context)}, or {_HELP}"
    return without_secrets(cause), without_secrets(hint)


def is_help(error: Any) -> bool:
    """Whether nothing was typed behind the name of a group: the message is then its help."""
    return str(error.format_message()).startswith("Usage: ")


def _no_such_option(flag: str, context: Any) -> tuple[str, str]:
    known = [name for one in context.command.params if not one.hidden for name in one.opts]
    parent = context.parent
    of_method = parent is not None and _group_noun(parent) == "method"
    cause = f"method {context.info_name} takes no {flag}" if of_method else f"there is no option {flag}"
    return without_secrets(cause), nearest(flag, known) or f"see {context.command_path} --help"


def _no_such_command(name: str, context: Any) -> tuple[str, str]:
    noun = _group_noun(context)
    if package := OTHER_PACKAGES.get(noun, {}).get(name):
        return (
            f"the {noun} '{name}' is in the package {package}, which is not installed",
            f"install {package}",
        )
    return f"there is no {noun} {shortened(name)}", nearest(name, _subcommand_names(context)) or _HELP


def _command_usage(context: Any) -> str:
    """A command with all its arguments, as its help begins."""
    names = [
        str(one.metavar or one.name) for one in context.command.params if one.param_type_name == "argument"
    ]
    return " ".join((context.command_path, *names))


def _group_noun(context: Any) -> str:
    """What a group is a group of: commands or methods."""
    return str(getattr(context.command, "listing", "Commands")).lower().removesuffix("s")


def _subcommand_names(context: Any) -> list[str]:
    return list(getattr(context.command, "commands", ()))


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
        return f"{flag} must be one of {', '.join(known)}; got {shortened(given)}", nearest(
            given, known
        ) or _HELP
    if wrong["type"] in _NOUNS:
        return f"{flag} must be {_NOUNS[wrong['type']]}; got {shortened(given)}", _HELP
    if wrong["type"] in _LIMITS:
        key, sign = _LIMITS[wrong["type"]]
        return f"{flag} must be {sign} {wrong['ctx'][key]:g}; got {shortened(given)}", _HELP
    return None
