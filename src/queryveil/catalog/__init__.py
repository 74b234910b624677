"""Holds the sentences and templates of documents, by version and language.

A version is a folder such as `v1`. It has one catalog of sentences per language (`en.yaml`) and the templates of all
documents. A published release names its version, so that its documents can be rendered again for as long as the
version stays. A published version never changes: new wording is a new folder, and new releases use the latest one.
A manifest has the ids and fields of sentences, never their text (`to_data`).

`messages.yaml` has the sentences that only front ends show, such as those of plans for curators and of `verify`. No
release depends on them, so they can be reworded at any time.

May import: errors.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.catalog import numbers
from queryveil.errors import InputError

FOLDER = Path(__file__).parent
"""The folder of the versions."""
_MESSAGES = FOLDER / "messages.yaml"
ENGLISH = "en"


class Sentence(str):
    """A sentence of the catalog: English text that keeps its id and fields, to be said in any version and language.

    Fields are numbers, texts that are the same in every language, other sentences, or sequences of these.
    """

    id: str
    fields: Mapping[str, Any]

    __slots__ = ("fields", "id")

    def __new__(cls, id: str, /, **fields: Any) -> Sentence:
        made = super().__new__(cls, open_catalog().say(id, fields))
        made.id, made.fields = id, fields
        return made

    def __reduce__(self) -> Any:
        return _again, (self.id, dict(self.fields))


def term(kind: str, name: str) -> str:
    """Return a word of the catalog, such as a unit or a noun; one that a plugin brings stays as it is."""
    id = f"{kind}.{name}"
    return Sentence(id) if id in open_catalog() else name


def count(number: int, noun: str) -> Sentence:
    """Return a number with its noun: '1 query', '2,000 queries'."""
    if f"count.{noun}" in open_catalog():
        return Sentence(f"count.{noun}", number=number)
    return Sentence("count.other", number=number, noun=noun)


def list_parts(parts: Sequence[str]) -> str:
    """Return parts of a sentence one after another: 'a', 'a and b', 'a, b, and c'."""
    return parts[0] if len(parts) == 1 else Sentence("list", parts=tuple(parts))


def paragraph(*sentences: str) -> str:
    """Return sentences one after another; empty ones are left out."""
    given = tuple(one for one in sentences if one)
    if len(given) < 2:
        return given[0] if given else ""
    return Sentence("paragraph", sentences=given)


def to_data(value: Any) -> Any:
    """Return JSON in which each sentence of the catalog is an object with its id and its fields."""
    if isinstance(value, Sentence):
        fields = {name: to_data(one) for name, one in value.fields.items()}
        return {"id": value.id, "fields": fields} if fields else {"id": value.id}
    if isinstance(value, Mapping):
        return {name: to_data(one) for name, one in value.items()}
    return [to_data(one) for one in value] if isinstance(value, (list, tuple)) else value


def from_data(value: Any) -> Any:
    """Return JSON in which each object that `to_data` wrote is a sentence again.

    Raises:
        ValueError: This queryveil does not have a sentence, or it has other fields.
    """
    if isinstance(value, list):
        return [from_data(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    made = {name: from_data(one) for name, one in value.items()}
    if set(made) not in ({"id"}, {"id", "fields"}):
        return made
    try:
        return Sentence(made["id"], **made.get("fields", {}))
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError("no such sentence, or with other fields") from error


def _again(id: str, fields: Mapping[str, Any]) -> Sentence:
    return Sentence(id, **fields)


@dataclass(frozen=True)
class Catalog:
    """The sentences of one version in one language, and how the language writes numbers."""

    version: int
    language: str
    entries: Mapping[str, Any]
    style: numbers.NumberStyle

    @property
    def templates(self) -> Path:
        """The folder of the templates of this version."""
        return version_folder(self.version)

    def __contains__(self, id: object) -> bool:
        return id in self.entries

    def text(self, sentence: str) -> str:
        """Return a sentence in this version and language. Text that is no sentence of the catalog stays as it is."""
        if not isinstance(sentence, Sentence):
            return sentence
        return self.say(sentence.id, sentence.fields)

    def localize(self, value: Any) -> Any:
        """Return JSON of objects, lists, and texts, with every sentence in this version and language."""
        if isinstance(value, Mapping):
            return {name: self.localize(one) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.localize(one) for one in value]
        return self.text(value)

    def say(self, id: str, fields: Mapping[str, Any] | None = None) -> str:
        """Return the sentence with an id, with its fields filled in."""
        fields = fields or {}
        entry = self.entries.get(id)
        if entry is None:  # an older version does not have every sentence of a newer one
            entry = messages()[id] if id in messages() else open_catalog().entries[id]
        if isinstance(entry, Mapping):
            # Which form a noun has depends on its number.
            entry = entry["one" if fields["number"] == 1 else "other"]
        return _Formatter(self).vformat(entry, (), fields)

    def list(self, parts: Sequence[str]) -> str:
        """Return parts of a sentence one after another: 'a', 'a and b', 'a, b, and c'."""
        texts = [self.text(one) for one in parts]
        if len(texts) < 2:
            return "".join(texts)
        joint = self.entries["list.two" if len(texts) == 2 else "list.last"]
        return f"{', '.join(texts[:-1])}{joint}{texts[-1]}"


class _Formatter(string.Formatter):
    """Fills fields in: `{k:count}`, `{day:date}`, `{share:percent}`, `{share:percent:20}`, `{delta:chance}`,
    `{epsilon:bound:6}`.

    `{what:cap}` begins with a capital letter, and `{what:uncap}` without one. `{sentences:join}` separates sentences by
    spaces.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        # Only whole fields: a catalog is data and must not reach into objects.
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: PLR0911 (one form each)
        style = self.catalog.style
        name, _, digits = format_spec.partition(":")
        if name == "count":
            return numbers.count(value, style)
        if name == "percent":
            return numbers.percent(value, int(digits or 100), style, self.catalog.entries["number.nearly"])
        if name == "percent-floor":
            return numbers.percent_at_least(value, style)
        if name == "chance":
            return numbers.chance(value, style, self.catalog.entries)
        if name == "bound":
            return numbers.round_up(value, int(digits or 3), style)
        if name == "date":
            return numbers.date(value, style)
        if name == "number":
            return style.localize(f"{value:,.6g}")
        if isinstance(value, (list, tuple)):
            text = " ".join(map(self.catalog.text, value)) if name == "join" else self.catalog.list(value)
        else:
            text = self.catalog.text(value if isinstance(value, str) else str(value))
        if name == "cap":
            return text[:1].upper() + text[1:]
        return text[:1].lower() + text[1:] if name == "uncap" else text


def version_folder(version: int) -> Path:
    """Return the folder of a version."""
    return FOLDER / f"v{version}"


def versions() -> list[int]:
    """Return the versions that this queryveil can render, the oldest first."""
    return list(_versions(FOLDER))


def latest_version() -> int:
    """Return the version that new documents are rendered with."""
    return versions()[-1]


def languages(version: int) -> list[str]:
    """Return the languages of a version."""
    return list(_languages(version_folder(version)))


@functools.cache
def _versions(folder: Path) -> tuple[int, ...]:
    return tuple(sorted(int(one.name[1:]) for one in folder.glob("v*") if one.name[1:].isdecimal()))


@functools.cache
def _languages(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(one.stem for one in folder.glob("*.yaml")))


def open_catalog(version: int | None = None, language: str = ENGLISH) -> Catalog:
    """Return the catalog of a version in a language: of the latest version in English, unless told otherwise.

    Raises:
        InputError: This queryveil does not have the version or the language.
    """
    return _open(FOLDER, version, language)


def has_catalog(version: object, language: object) -> bool:
    """Whether this queryveil has a version in a language."""
    return type(version) is int and version in versions() and language in languages(version)


@functools.cache
def _open(folder: Path, version: int | None, language: str) -> Catalog:
    version = latest_version() if version is None else version
    if not has_catalog(version, language):
        raise InputError(
            "the release has documents in a version or a language that this queryveil does not have",
            "use a newer version of queryveil",
        )
    return _load(folder / f"v{version}" / f"{language}.yaml", version, language)


@functools.cache
def messages() -> Mapping[str, Any]:
    """Return the sentences that only front ends show, by id."""
    return _read(_MESSAGES)


@functools.cache
def _load(file: Path, version: int, language: str) -> Catalog:
    content = _read(file)
    style = numbers.NumberStyle(**content.pop("numbers"))
    return Catalog(version, language, content, style)


def _read(file: Path) -> dict[str, Any]:
    import yaml

    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 (a safe loader)
    return content
