"""The manifest on its own: that it is one, that it says what it must, and that it says nothing else."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.catalog import Sentence
from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.verification.outcome import Check, judge, quoted

_SECTIONS: dict[str, type] = {
    "format": str,
    "format_version": int,
    "documents": dict,
    "method": str,
    "parameters": dict,
    "calibration": dict,
    "guarantee": dict,
    "draws": list,
    "tables": dict,
    "software": dict,
    "created": str,
    "files": dict,
}
_TYPES = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
_SENTENCES = {"how", "what"}
_TEXTS = {"taxonomy"}
_OPTIONAL = {"about", "withheld", "plugins"}
"""What only some manifests have; it is checked with the files that repeat it."""
_LISTS = {"assessment"}
"""What a manifest may say in words."""
_STATEMENT = {"code", "sentence", "fields"}
_SENTENCE = {"id", "fields"}
_CODE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*|")
_ENTRIES: dict[str, tuple[set[str], set[str]]] = {
    # What each entry of a section must have, and what it may have besides.
    "tables": (
        {"file", "rows", "noun", "row", "counts", "noisy", "texts", "links", "unique", "order", "columns"},
        {"inside", "least", "rows_of", "items_of"},
    ),
    "files": ({"sha256", "bytes"}, {"rows"}),
}
_COLUMN = {"name", "type", "help"}
_GUARANTEE = {
    "kind",
    "epsilon",
    "mu",
    "p",
    "delta",
    "k",
    "shared",
    "unit",
    "neighbours",
    "assumptions",
    "caveats",
    "implies",
    "parts",
    "of",
    "delta_too_large",
}
_IMPLIES = {"kind", "epsilon", "delta", "unit", "neighbours"}
_SOFTWARE = {"name", "version"}
_PLUGIN = ["kind", "name", "package", "version"]
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,79}")
_PLUGGED_IN = "plugged-in-"
"""Begins the codes of caveats about plugins."""

_NEVER = frozenset(
    {
        "salt",
        "key",
        "secret",
        "token",
        "password",
        "seed",
        "path",
        "paths",
        "source",
        "sources",
        "input",
        "host",
        "hostname",
        "username",
        "cwd",
        "command",
        "argv",
        "seconds",
        "elapsed",
        "timings",
        "timestamp",
        "rejected",
        "reasons",
        "rows_read",
        "rows_rejected",
        "empty_queries",
        "distinct",
        "span",
        "raw",
        "raw_count",
        "raw_counts",
        "true_count",
        "true_counts",
        "private",
        "curator",
        "ledger",
        "results",
        "suggestions",
    }
)
"""Names that tell of the log, the machine or the randomness, wherever they stand."""

_KNOWN_NOISE = "known-noise"
_MOST_DELTA = 1e-3
"""From here on delta is too large where the number of users is not told."""
_TOO_LARGE = "delta-too-large"

_PATH_LIKE = re.compile(r"^[/~]|^\.\.?/|\\|://|^[A-Za-z]:/")


@dataclass(frozen=True)
class Manifest:
    """A manifest as it was read, with keys that its JSON repeats."""

    content: Mapping[str, Any]
    repeated: tuple[str, ...]
    declared: frozenset[str] = frozenset()
    """Parameters that the method declares, for checks of one method; they limit only those that they use."""

    def section(self, name: str) -> dict[str, Any]:
        """A section, or an empty one where it is missing or no object; check 'keys' says so."""
        found = self.content.get(name)
        return found if isinstance(found, dict) else {}


def load(release: Path) -> Manifest:
    """The manifest of a folder; without a readable one there is no release to check."""
    if not release.is_dir():
        raise InputError(f"there is no release folder '{release}'", "name a folder that `publish` wrote")
    file = folder.file_inside(release, folder.MANIFEST)
    if file is None:
        raise InputError(
            f"'{release}' is not a release: it has no {folder.MANIFEST}",
            "name a folder that `publish` wrote",
        )
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in content if names.count(name) > 1)
        return content

    def no_constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{folder.MANIFEST} of '{release}' cannot be read ({type(error).__name__})",
            "fetch the release again from its publisher",
        ) from None
    if not isinstance(content, dict):
        raise InputError(
            f"{folder.MANIFEST} of '{release}' is not a JSON object",
            "fetch the release again from its publisher",
        )
    return Manifest(content, tuple(repeated))


def known_noise(manifest: Manifest) -> bool:
    """Whether the release says that its noise was not the system's, and promises nothing for it."""
    guarantee = manifest.section("guarantee")
    return guarantee.get("kind") == "none" and _KNOWN_NOISE in codes(guarantee.get("caveats"))


def plugged_in_method(manifest: Manifest) -> str | None:
    """Return the package that provides the method, with its version, if the manifest says that it is a plugin."""
    found = [one for one in _plugins(manifest) if one["kind"] == "method"]
    return f"{found[0]['package']} {found[0]['version']}" if found else None


def _plugins(manifest: Manifest) -> list[dict[str, str]]:
    listed = manifest.content.get("plugins")
    return [one for one in listed if _is_plugin(one)] if isinstance(listed, list) else []


def _is_plugin(one: Any) -> bool:
    return (
        isinstance(one, dict) and list(one) == _PLUGIN and all(isinstance(each, str) for each in one.values())
    )


def _plugin_problems(manifest: Manifest) -> Iterator[str]:
    """Require that plugins are a method or a format of other packages, and that the guarantee has their caveats."""
    content, found = manifest.content, _plugins(manifest)
    if "plugins" in content and (not found or found != content["plugins"]):
        yield Sentence("verify.manifest.plugins-is-not-list-of-methods")
        return
    kinds = [one["kind"] for one in found]
    if len(kinds) != len(set(kinds)) or not set(kinds) <= {"method", "format"}:
        yield Sentence("verify.manifest.plugins-has-something-else-than-one")
    for one in found:
        if any(not _PACKAGE.fullmatch(one[key]) for key in ("name", "package", "version")):
            yield Sentence("verify.manifest.name-package-or-version-of-plugins")
        if one["kind"] == "method" and one["name"] != content.get("method"):
            yield Sentence("verify.manifest.plugins-has-another-method-than-release")
    stated = [
        one for one in codes(manifest.section("guarantee").get("caveats")) if one.startswith(_PLUGGED_IN)
    ]
    if stated != [_PLUGGED_IN + kind for kind in kinds]:
        yield Sentence("verify.manifest.caveats-of-guarantee-do-not-name")


def codes(statements: Any) -> list[str]:
    """The codes of statements; what is none has no code."""
    listed = statements if isinstance(statements, list) else []
    return [str(one.get("code")) if isinstance(one, dict) else "" for one in listed]


def promises(manifest: Manifest) -> Iterator[str]:
    """What a guarantee of nothing states all the same."""
    for name in ("epsilon", "delta", "k", "implies", "parts"):
        if name in manifest.section("guarantee"):
            yield Sentence("verify.manifest.release-promises-nothing-but-states", name=name)


def checks(manifest: Manifest) -> list[Check]:
    return [
        judge(
            "format",
            Sentence("verify.manifest.version", format=folder.FORMAT, format_version=folder.FORMAT_VERSION),
            lambda: _check_format(manifest),
        ),
        judge(
            "keys",
            Sentence("verify.manifest.manifest-has-all-its-sections-and"),
            lambda: _check_keys(manifest),
        ),
        judge(
            "no-leak",
            Sentence("verify.manifest.manifest-names-no-salt-path-timing"),
            lambda: _check_leaks(manifest.content, ()),
        ),
        judge(
            "delta",
            Sentence("verify.manifest.delta-is-small-enough-for-guarantee"),
            lambda: _check_delta(manifest.section("parameters"), manifest.section("guarantee")),
        ),
    ]


def _check_format(manifest: Manifest) -> Iterator[str]:
    if manifest.content.get("format") != folder.FORMAT:
        yield Sentence("verify.manifest.format-is-not", format=folder.FORMAT)
    version = manifest.content.get("format_version")
    if type(version) is not int or version != folder.FORMAT_VERSION:
        yield Sentence("verify.manifest.format-version-is-not", format_version=folder.FORMAT_VERSION)


def _check_keys(manifest: Manifest) -> Iterator[str]:
    content = manifest.content
    for name in manifest.repeated:
        yield Sentence("verify.manifest.key-is-given-twice-in-one", name=quoted(name))
    for name, kind in _SECTIONS.items():
        if name not in content:
            yield Sentence("verify.manifest.is-missing", name=name)
        elif not isinstance(content[name], kind) or isinstance(content[name], bool):
            yield Sentence("verify.manifest.is-not", name=name, types=_TYPES[kind])
    yield from (
        Sentence("verify.manifest.is-not-text", name=name)
        for name in _TEXTS
        if not isinstance(content.get(name, ""), str)
    )
    yield from (
        Sentence("verify.manifest.is-not-sentence", name=name)
        for name in _SENTENCES
        if not _is_sentence(content.get(name, ""))
    )
    for name in _LISTS:
        yield from _check_statements(name, content.get(name, []))
    yield from _check_withheld(manifest)
    yield from _plugin_problems(manifest)
    yield from _check_unknown_keys(
        "the manifest", content, set(_SECTIONS) | _SENTENCES | _TEXTS | _LISTS | _OPTIONAL
    )
    for section, (needed, allowed) in _ENTRIES.items():
        for name, entry in manifest.section(section).items():
            where = Sentence("verify.manifest.entry", section=section, name=quoted(name))
            if not isinstance(entry, dict) or not needed <= set(entry):
                yield Sentence("verify.manifest.lacks-one-of", where=where, join=", ".join(sorted(needed)))
                continue
            yield from _check_unknown_keys(where, entry, needed | allowed)
            for column in entry.get("columns", ()):
                yield from _check_unknown_keys(
                    Sentence("verify.manifest.column-of", where=where), column, _COLUMN
                )
    yield from _check_unknown_keys("'software'", manifest.section("software"), _SOFTWARE)
    yield from _guarantee_keys(manifest.section("guarantee"))
    # A date, not a time of day: when exactly a curator worked is nobody's business.
    if isinstance(content.get("created"), str):
        yield from _check_date(content["created"])


def _is_sentence(value: Any) -> bool:
    """Whether a value is a text, or a sentence of the catalog by its id and fields."""
    if not isinstance(value, dict):
        return isinstance(value, str)
    return (
        isinstance(value.get("id"), str)
        and isinstance(value.get("fields", {}), dict)
        and set(value) <= _SENTENCE
    )


def _check_date(created: str) -> Iterator[str]:
    """Require the one spelling of a date, which cannot carry anything else."""
    try:
        day = datetime.date.fromisoformat(created)
    except ValueError:
        day = None
    if day is None or day.isoformat() != created:
        yield Sentence("verify.manifest.created-is-not-date-such-as")
    elif day > datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=1):  # clocks may differ
        yield Sentence("verify.manifest.created-is-in-future")


def _check_withheld(manifest: Manifest) -> Iterator[str]:
    """Rows that were taken out by hand, by table; left out if there are none."""
    if "withheld" not in manifest.content:
        return
    gone = manifest.content["withheld"]
    whole = isinstance(gone, dict) and all(type(one) is int and one > 0 for one in gone.values())
    if not whole or not gone:
        yield Sentence("verify.manifest.withheld-is-not-number-of-rows")
    elif not set(gone) <= set(manifest.section("tables")):
        yield Sentence("verify.manifest.withheld-names-table-is-not-there")
    elif manifest.section("guarantee").get("kind") == "probabilistic-dp":
        yield Sentence("verify.manifest.rows-were-withheld-which-probabilistic-guarantee")


def _guarantee_keys(guarantee: Mapping[str, Any]) -> Iterator[str]:
    yield from _check_unknown_keys("the guarantee", guarantee, _GUARANTEE)
    for name in ("assumptions", "caveats"):
        yield from _check_statements(name, guarantee.get(name, []))
    if isinstance(guarantee.get("implies"), dict):
        yield from _check_unknown_keys(
            Sentence("verify.draws.implied-guarantee"), guarantee["implies"], _IMPLIES
        )
    for part in guarantee.get("parts") or ():
        yield from _guarantee_keys(part)


def _check_delta(parameters: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[str]:
    """A delta of one in the number of users would be met by publishing somebody's history as it is."""
    delta, users = guarantee.get("delta") or 0, parameters.get("users")
    if not isinstance(delta, (int, float)):
        yield Sentence("verify.manifest.delta-of-guarantee-is-not-number")
        return
    flag = guarantee.get("delta_too_large", False)
    said = _TOO_LARGE in codes(guarantee.get("caveats"))
    if delta >= (1 / users if users else _MOST_DELTA) and not (flag is True and said):
        yield Sentence("verify.manifest.delta-is-which-is-too-large", delta=f"{delta:.3g}")
    if flag is not said or not isinstance(flag, bool):
        yield Sentence("verify.manifest.guarantee-says-delta-is-too-large")


def _check_statements(name: str, listed: Any) -> Iterator[str]:
    for one in listed if isinstance(listed, list) else [listed]:
        good = isinstance(one, dict) and "sentence" in one and _is_sentence(one["sentence"])
        if (
            not good
            or not _CODE.fullmatch(str(one.get("code")))
            or not isinstance(one.get("fields", {}), dict)
        ):
            yield Sentence("verify.manifest.is-not-list-of-statements-each", name=name)
            return
        yield from _check_unknown_keys(Sentence("verify.manifest.statement-of", name=name), one, _STATEMENT)


def _check_unknown_keys(where: str, entry: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    for name in entry:
        if name not in known:
            yield Sentence("verify.manifest.has-unknown-key", where=where, name=quoted(name))


def _check_leaks(value: Any, at: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            never = name.lower().replace("-", "_") in _NEVER and at not in {("tables",), ("files",)}
            if never and not isinstance(inner, bool):  # yes or no tells nothing of a log
                yield Sentence("verify.manifest.key-does-not-belong-in-release", name=quoted(name))
            if (*at, name) != ("about",):  # the publisher's own words, which may be addresses
                yield from _check_leaks(inner, (*at, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _check_leaks(inner, at)
    elif isinstance(value, str) and _PATH_LIKE.search(value):
        yield Sentence("verify.manifest.value-of-looks-like-path-or", join=quoted(".".join(at)))
