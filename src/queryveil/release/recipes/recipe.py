"""A recipe: everything that a release is made of, as a value and as a file, release.yaml.

The same file gives the same plan anywhere. Paths in it are relative to its folder. It holds no row of the log, unless
samples of columns are asked for.
"""

from __future__ import annotations

import dataclasses
import json
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queryveil.catalog import ENGLISH
from queryveil.errors import UsageError, instead
from queryveil.files import folder, new_files
from queryveil.mechanisms import MECHANISMS, Mechanism, Plan
from queryveil.parameters import parameters
from queryveil.reading.log import SearchLog, read
from queryveil.reading.model import COLUMNS, Progress, ReadOptions
from queryveil.release.about import ASKED, NAMES, NOT_STATED, About, refuse_claims
from queryveil.release.options import PublishOptions
from queryveil.release.publish import Release, publish
from queryveil.release.recipes.reading import Document, content_of

FILE = "release.yaml"
VERSION = "1"
_OF_READ = {"engine": str, "session_gap_minutes": int}
_LOG = ("files", "columns", "columns_confirmed")
_SECTIONS = (
    "recipe",
    "log",
    "method",
    "items",
    "parameters",
    "users",
    "budget",
    "out",
    "private",
    "language",
    "about",
)
_PERSONAL = (
    "Samples of the log stand below as comments. They are personal data: take them out before anyone else sees "
    "this."
)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a release is made: from which log, by which method, charged to which budget, and what is said about it.

    log: files, folders or globs of the log, relative to the recipe's folder.
    columns: which column of the log holds what; None to find out when the log is read.
    columns_confirmed: whether somebody compared them with the log.
    reading: other options of `queryveil.read`, such as format or encoding.
    method: name of the method.
    parameters: its parameters; what is left out has its default.
    items: what is counted, if the method counts several things.
    users: a public upper bound on the number of users.
    ledger: the ledger to charge, and `source` the name of the log in it.
    out: the release folder to write; `private` is its private folder, if not beside it.
    language: the language of the documents: `en`, or `de` for German.
    about: what the publisher says of the release.
    home: the folder that paths are relative to.
    name: what the recipe is called in a ledger.
    samples: values of columns, written as comments. They are personal data, and are not read back.
    """

    log: tuple[str, ...]
    method: str
    columns: Mapping[str, str | int] | None = None
    columns_confirmed: bool = False
    reading: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    items: tuple[str, ...] | None = None
    users: int | None = None
    ledger: str | None = None
    source: str | None = None
    out: str = "release"
    private: str | None = None
    language: str = ENGLISH
    about: About = field(default_factory=About)
    home: Path = field(default=Path(), compare=False, repr=False)
    name: str = field(default=FILE, compare=False, repr=False)
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, given in (("log", self.log), ("items", self.items)):
            _check_texts(name, given)
        if not self.log:
            raise UsageError("a recipe names no log", "name its files under log: files:")
        if self.method not in MECHANISMS:
            raise UsageError(f"there is no method '{self.method[:40]}'", instead(self.method, MECHANISMS))
        PublishOptions(language=self.language)
        if (self.ledger is None) != (self.source is None):
            raise UsageError(
                "charging a ledger needs both the ledger and the name of the source log",
                "give budget: ledger: and source:, or neither",
            )
        if self.users is not None and self.users < 1:
            raise UsageError("the public number of users is below 1", "leave users: empty, or raise it")
        known = {one.name for one in parameters(MECHANISMS[self.method])}
        for one in self.parameters:
            if one not in known:
                raise UsageError(f"method {self.method} has no parameter '{one[:40]}'", instead(one, known))
        if self.items is not None and ("items" in self.parameters or "items" not in known):
            twice = "items" in self.parameters
            raise UsageError(
                "items are given twice" if twice else f"method {self.method} takes no items",
                "leave out one of them" if twice else "leave items: empty",
            )
        ReadOptions(columns=self.columns, **self._options())

    def _options(self) -> dict[str, Any]:
        return {name: value for name, value in self.reading.items() if name not in _OF_READ}

    # -- as a file -------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        """The recipe in a file. Whatever is wrong with it is said with the name of the file."""
        file = Path(path)
        return _parse_recipe(content_of(file), file)

    def text(self) -> str:
        """The file, with a comment for each part. Samples of columns stand in it only if the recipe has them."""
        return _text(self)

    def write(self, path: str | Path) -> Recipe:
        """Write the file, which must not exist; the recipe as it is read from there."""
        file = Path(path)
        moved = dataclasses.replace(self._relocate(file.parent), name=file.name)
        with new_files.new_files(file) as (new,):
            new.write_text(moved.text(), encoding="utf-8")
        return moved

    def _relocate(self, home: Path) -> Recipe:
        """The same recipe, with paths as they are seen from another folder."""
        if Path(os.path.realpath(home)) == Path(os.path.realpath(self.home)):
            return dataclasses.replace(self, home=home)

        def relocate_path(text: str | None) -> str | None:
            there = None if text is None else _resolve_from(self.home, text)
            return (
                text
                if there is None or (there == text and not _is_relative(there))
                else os.path.relpath(there, home)
            )

        files = _file_parameters(self.method)
        return dataclasses.replace(
            self,
            log=tuple(str(relocate_path(one)) for one in self.log),
            parameters={
                name: relocate_path(value) if name in files and isinstance(value, str) else value
                for name, value in self.parameters.items()
            },
            ledger=relocate_path(self.ledger),
            out=str(relocate_path(self.out)),
            private=relocate_path(self.private),
            home=home,
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain values, without what is left out."""
        return {
            "recipe": int(VERSION),
            "log": {
                "files": list(self.log),
                **({"columns": dict(self.columns)} if self.columns is not None else {}),
                "columns_confirmed": self.columns_confirmed,
                **{name: _to_lists(value) for name, value in self.reading.items()},
            },
            "method": self.method,
            **({"items": list(self.items)} if self.items is not None else {}),
            "parameters": {name: _to_lists(value) for name, value in self.parameters.items()},
            **({"users": self.users} if self.users is not None else {}),
            **({"budget": {"ledger": self.ledger, "source": self.source}} if self.ledger else {}),
            "out": self.out,
            **({"private": self.private} if self.private is not None else {}),
            **({"language": self.language} if self.language != ENGLISH else {}),
            "about": self.about.as_dict(),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of what the recipe says; comments, samples and order of the file do not change it."""
        return folder.digest_of(folder.as_json(_sort_keys(self.as_dict())).encode())

    @property
    def label(self) -> str:
        """What a ledger says that a release was made from."""
        name = self.name if self.name.isprintable() and len(self.name) <= 60 else FILE
        return f"{name.strip()} {self.digest[:16]}"

    # -- what it makes ---------------------------------------------------------------------------------------

    def placed(self, path: str) -> str:
        """A path of the recipe, as it is seen from here."""
        return _resolve_from(self.home, path)

    def mechanism(self) -> Mechanism:
        """The method with its parameters."""
        files = _file_parameters(self.method)
        given = {
            name: self.placed(value) if name in files and isinstance(value, str) else value
            for name, value in self.parameters.items()
        }
        given |= {"items": self.items} if self.items is not None else {}
        cls = MECHANISMS[self.method]
        for one in parameters(cls):
            if one.required and one.name not in given:
                raise UsageError(
                    f"parameter '{one.name}' is missing", f"write it under parameters: {one.help}"
                )
        return cls(**(given if self.users is None else cls.with_users(given)))

    def plan(self) -> Plan:
        """Parameters, thresholds and guarantee. No data is read: the same recipe gives the same plan anywhere."""
        return self.mechanism().plan(users=self.users)

    def read_log(self, *, progress: Progress | None = None) -> SearchLog:
        """The log, read as the recipe says; `progress` is called with bytes read and bytes in all."""
        files = [self.placed(one) for one in self.log]
        # Columns that a recipe does not name were never confirmed, so none of them is detected.
        columns: dict[str, str | int] | None = None
        if self.columns:
            columns = {name: "" for name in COLUMNS[1:] if name != "query"}
            columns.update(self.columns)
        return read(files if len(files) > 1 else files[0], columns=columns, progress=progress, **self.reading)

    def refuse_incomplete(self) -> None:
        """Ask by name for what the publisher has not said, and refuse what only the release can say."""
        refuse_claims(self.about)
        if self.about.missing:
            raise UsageError(
                f"{self.name} lacks {', '.join(self.about.missing)} under 'about'",
                f"fill in each, or write '{NOT_STATED}'",
            )


def publish_recipe(
    recipe: Recipe | str | Path,
    *,
    log: SearchLog | None = None,
    out: str | Path | None = None,
    private: str | Path | None = None,
    allow_empty: bool = False,
    i_understand: bool = False,
    told: Callable[[str, str], None] | None = None,
) -> Release:
    """Publish what a recipe says, given as a value or as its file.

    log: the log, if it was read already (see `Recipe.read_log`).
    out, private: other folders than those of the recipe.
    allow_empty, i_understand, told: as for `queryveil.publish`.

    A recipe that lacks what readers will ask for (see `About.missing`) is refused before anything is read or charged.
    """
    made = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    made.refuse_incomplete()
    apart = made.placed(made.private) if made.private is not None and out is None else None
    return publish(
        log or made.read_log(),
        made.mechanism(),
        users=made.users,
        out=out or made.placed(made.out),
        private=private or apart,
        ledger=made.placed(made.ledger) if made.ledger is not None else None,
        source=made.source,
        recipe=made.label,
        about=made.about,
        language=made.language,
        noted={"recipe": made.label, "columns_confirmed": made.columns_confirmed},
        allow_empty=allow_empty,
        i_understand=i_understand,
        told=told,
    )


# -- reading -------------------------------------------------------------------------------------------------


def _parse_recipe(content: Mapping[str, Any], file: Path) -> Recipe:
    document = Document(file.name)
    document.only(content, _SECTIONS, "a recipe")
    if content.get("recipe") != VERSION:
        document.wrong("it is not a recipe of version 1, which begins with 'recipe: 1'")
    log = document.section(content, "log", (*_LOG, *_reading_options()))
    method = document.text(content.get("method"), "method")
    if method not in MECHANISMS:
        document.wrong(f"there is no method '{method[:40]}'", instead(method, MECHANISMS))
    known = {one.name: one for one in parameters(MECHANISMS[method])}
    given = document.section(content, "parameters", tuple(known))
    budget = document.section(content, "budget", ("ledger", "source"))
    texts = {
        name: document.text(content[name], name)
        for name in ("out", "private", "language")
        if content.get(name) is not None
    }
    made: dict[str, Any] = {
        "log": document.texts(log.get("files", []), "files"),
        "columns": _read_columns(document, log),
        "columns_confirmed": document.typed(log.get("columns_confirmed", "false"), "columns_confirmed", bool),
        "reading": _read_options(document, log),
        "method": method,
        "parameters": {name: document.parameter(value, known[name]) for name, value in given.items()},
        "users": None if content.get("users") is None else document.typed(content["users"], "users", int),
        **{name: document.text(value, name) for name, value in budget.items()},
        **texts,
        "home": file.parent,
        "name": file.name,
    }
    if content.get("items") is not None:
        listed = content["items"]
        made["items"] = document.texts(listed.split(",") if isinstance(listed, str) else listed, "items")
    about = {
        name: document.text(value, name) for name, value in document.section(content, "about", NAMES).items()
    }
    return document.tried(lambda: Recipe(about=About(**about), **made))  # type: ignore[no-any-return]


def _reading_options() -> dict[str, type]:
    return {**_OF_READ, **{one.name: one.type for one in parameters(ReadOptions)}}


def _read_options(document: Document, log: Mapping[str, Any]) -> dict[str, Any]:
    declared = {one.name: one for one in parameters(ReadOptions)}
    return {
        name: document.typed(value, name, _OF_READ[name])
        if name in _OF_READ
        else document.parameter(value, declared[name])
        for name, value in log.items()
        if name not in _LOG
    }


def _read_columns(document: Document, log: Mapping[str, Any]) -> dict[str, str | int] | None:
    if "columns" not in log:
        return None
    found = document.section(log, "columns", COLUMNS)
    places = {name: document.text(value, name) for name, value in found.items()}
    return {name: int(at) if at.isascii() and at.isdigit() else at for name, at in places.items()}


def _check_texts(name: str, given: Any) -> None:
    if given is not None and not (isinstance(given, tuple) and all(isinstance(one, str) for one in given)):
        raise UsageError(f"'{name}' of a recipe is not a tuple of texts", f"write {name}=(...,)")


# -- paths and values ----------------------------------------------------------------------------------------


def _file_parameters(method: str) -> set[str]:
    return {one.name for one in parameters(MECHANISMS[method]) if one.declaration.path}


def _is_relative(text: str) -> bool:
    return text != "-" and "://" not in text and not Path(text).is_absolute()


def _resolve_from(home: Path, text: str) -> str:
    return str(home / text) if _is_relative(text) else text


def _to_lists(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sort_keys(value[name]) for name in sorted(value)}
    return value


# -- the text ------------------------------------------------------------------------------------------------


def _text(recipe: Recipe) -> str:
    """The whole file."""
    content = recipe.as_dict()
    lines = [
        *_comment("A recipe of queryveil: how a release is made. Check it, complete it, then run:"),
        f"#   queryveil plan {recipe.name}       what would be promised, without any data",
        f"#   queryveil publish {recipe.name}    make the release",
        *_comment("Paths are relative to the folder of this file."),
        *(_comment(_PERSONAL) if recipe.samples else ()),
        "recipe: 1",
        "",
        "log:",
        *_entry("files", content["log"]["files"], "  "),
        *_column_lines(recipe),
        *(line for name in recipe.reading for line in _entry(name, content["log"][name], "  ")),
        "",
        f"method: {_scalar(recipe.method)}",
        *(_entry("items", content["items"], "") if recipe.items is not None else ()),
        "parameters:",
        *_parameter_lines(recipe),
        "",
        *_comment("A public upper bound on the number of users; empty if there is none."),
        f"users:{_value(recipe.users)}",
        "",
        *_comment("Where the privacy spent on this log is added up; both empty: nowhere."),
        "budget:",
        f"  ledger:{_value(recipe.ledger)}",
        f"  source:{_value(recipe.source)}",
        "",
        f"out: {_scalar(recipe.out)}",
        *([f"private: {_scalar(recipe.private)}"] if recipe.private is not None else []),
        "",
        *_comment("The language of the documents: en, or de for German."),
        f"language: {_scalar(recipe.language)}",
        "",
        *_comment(
            f"Printed in every document of the release. Write '{NOT_STATED}' for what you do not want to say. None of "
            "it may be measured on the log."
        ),
        "about:",
        *(_about_line(name, getattr(recipe.about, name)) for name in ASKED),
        "",
    ]
    return "\n".join(lines)


def _column_lines(recipe: Recipe) -> Iterator[str]:
    if recipe.columns is None:
        yield from _comment("Columns are fixed by the format.", "  ")
        yield from (f"  #   {name}: {_samples(values)}" for name, values in recipe.samples.items())
    else:
        yield from _comment(
            "Which column of the log holds what, as it was guessed. A wrong user column breaks the promise.",
            "  ",
        )
        yield "  columns:"
        for name, at in recipe.columns.items():
            seen = recipe.samples.get(name)
            yield f"    {name}: {_scalar(at)}" + (f"  # {_samples(seen)}" if seen else "")
    yield from _comment("true once somebody has compared the columns with the log", "  ")
    yield f"  columns_confirmed: {_scalar(recipe.columns_confirmed)}"


def _samples(values: Sequence[str]) -> str:
    """Values of a column, as they may stand in a comment: in one line, and not at length."""
    return ", ".join(json.dumps(one[:40], ensure_ascii=True) for one in values)


def _parameter_lines(recipe: Recipe) -> Iterator[str]:
    if not recipe.parameters:
        yield "  {}"
    helps = {one.name: one.declaration.help for one in parameters(MECHANISMS[recipe.method])}
    given: Mapping[str, Any] = recipe.as_dict()["parameters"]
    width = max((len(f"{name}: {_scalar(value)}") for name, value in given.items()), default=0)
    for name, value in given.items():
        yield f"  {f'{name}: {_scalar(value)}':<{width}}  # {' '.join(helps[name].split())}"


def _about_line(name: str, value: str | None) -> str:
    return f"  {name}:{_value(value)}" if value else f"  {name}:  # {ASKED[name]}"


def _entry(name: str, value: Any, indent: str) -> Iterator[str]:
    yield f"{indent}{name}: {_scalar(value)}"


def _value(value: Any) -> str:
    return "" if value is None else f" {_scalar(value)}"


def _scalar(value: Any) -> str:
    """A value as JSON writes it, which is YAML: no text can end its line or become something else."""
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, float) and value == int(value) and abs(value) < 10**15:
        return str(int(value))
    plain = isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum() and value.isascii()
    if (
        plain
        and value[0].isalpha()
        and value.lower() not in {"true", "false", "null", "yes", "no", "on", "off"}
    ):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _comment(sentence: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(sentence, 96 - len(indent))]
