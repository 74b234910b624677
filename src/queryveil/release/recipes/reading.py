"""A recipe's YAML as plain values: every scalar is a text, so that `no` is a language and 1e-6 a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from queryveil.errors import InputError, QueryveilError, UsageError, instead
from queryveil.parameters import Parameter

_LARGEST = 1024 * 1024
_WAY_OUT = "write one with queryveil init LOG, and compare"
_NOTHING = {"", "~", "null"}
_TRUE, _FALSE = {"true", "yes", "on"}, {"false", "no", "off"}


class Document:
    """A recipe that is being read. Its errors name the file and the place, and repeat no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def wrong(self, what: str, way_out: str = _WAY_OUT) -> NoReturn:
        raise InputError(f"{self.name}: {what}", way_out)

    def section(self, content: Mapping[str, Any], name: str, known: tuple[str, ...] = ()) -> dict[str, Any]:
        """A part of it, without what is empty; names that are not known are refused."""
        found = content.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            self.wrong(f"'{name}' is not a list of names and values")
        if known:
            self.only(found, known, f"'{name}'")
        return {one: value for one, value in found.items() if value is not None}

    def only(self, found: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
        for one in found:
            if one not in known:
                self.wrong(f"{where} has no '{one[:40]}'", instead(one, known))

    def text(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            self.wrong(f"'{name}' is not one text")
        return str(value)

    def texts(self, value: Any, name: str) -> tuple[str, ...]:
        """One text or a list of them."""
        listed = value if isinstance(value, list) else [value]
        return tuple(self.text(one, name) for one in listed)

    def typed(self, value: Any, name: str, kind: type) -> Any:
        """A text as a number, a yes or no, or itself."""
        text = self.text(value, name)
        try:
            return as_type(text, kind)
        except ValueError:
            noun = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
            self.wrong(f"'{name}' is not {noun}")

    def parameter(self, value: Any, one: Parameter) -> Any:
        """A value of a declared parameter; its limits are checked by whoever declares it."""
        if not one.declaration.many:
            return self.typed(value, one.name, one.type)
        listed = value if isinstance(value, list) else str(value).split(",")
        return tuple(
            self.typed(part.strip() if isinstance(part, str) else part, one.name, one.type) for part in listed
        )

    def tried(self, made: Callable[[], Any]) -> Any:
        """What a function makes; its error names the file."""
        try:
            return made()
        except QueryveilError as error:
            message, hint = error.template
            raise UsageError(f"{self.name}: {message}", hint) from None


def as_type(text: str, kind: type) -> Any:
    """A text as a value of this type; ValueError if it is none."""
    if kind is bool:
        if text.lower() not in _TRUE | _FALSE:
            raise ValueError(kind)
        return text.lower() in _TRUE
    return kind(text.replace("_", "x")) if kind in (int, float) else text


def content_of(path: Path) -> dict[str, Any]:
    """The file as nested dicts, lists and texts; None where there is nothing."""
    document = Document(path.name)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"recipe '{path}' cannot be read ({error.strerror})", "write one with queryveil init LOG"
        ) from None
    if len(raw) > _LARGEST:
        document.wrong("it is larger than a recipe can be")
    try:
        words = raw.decode("utf-8-sig")
        # An alias stands for all that its anchor holds: few bytes can stand for more than any memory.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(words, Loader=yaml.BaseLoader)):
            document.wrong("it has an alias (*name), which is not read", "write out what it stands for")
        root = yaml.compose(words, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        document.wrong(f"it is not YAML{f' (line {mark.line + 1})' if mark is not None else ''}")
    if not isinstance(root, yaml.MappingNode):
        document.wrong("it is not a list of names and values")
    return dict(_to_plain_value(root, document))


def _to_plain_value(node: yaml.Node, document: Document) -> Any:
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = _to_plain_value(key, document)
            if not isinstance(name, str):
                document.wrong(f"a name is missing or not a text (line {key.start_mark.line + 1})")
            if name in found:
                document.wrong(f"a name is given twice (line {key.start_mark.line + 1})")
            found[name] = _to_plain_value(value, document)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_to_plain_value(one, document) for one in node.value]
    empty = getattr(node, "style", None) is None and node.value.lower() in _NOTHING
    return None if empty else str(node.value)
