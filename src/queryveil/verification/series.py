"""A series as a whole: every release by itself, and an index that says what these say, and no more."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from queryveil.catalog import Sentence, to_data
from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import APPROXIMATE, PROBABILISTIC, Guarantee
from queryveil.release.series import index
from queryveil.release.series.calendar import Calendar
from queryveil.release.series.index import is_series
from queryveil.release.series.promise import UNITS, Promise, in_a_series, promise
from queryveil.release.series.publish import check_name
from queryveil.release.series.stated import of_release
from queryveil.verification import composed, page, rewrite
from queryveil.verification.outcome import Check, Verification, judge, quoted

__all__ = ["is_series", "verify"]

_ROUNDING = 1e-4
"""Epsilons of repeated releases are rounded up to six digits, from floats that differ a little between machines."""
_NOT_CHECKED = (
    Sentence("verify.series.unchecked.name"),
    Sentence("verify.series.unchecked.calendar"),
    Sentence("verify.series.unchecked.series"),
)


def verify(path: Path, release: Callable[[Path], Verification]) -> Verification:
    """Check a series; `release` checks one of its folders."""
    content = _read_index(path)
    periods = [str(one.get("folder")) for one in content.get("periods") or () if isinstance(one, dict)]
    made = [
        judge(
            "series-format",
            Sentence("verify.series.version", format=index.FORMAT, format_version=index.FORMAT_VERSION),
            lambda: _check_format(content),
        ),
        judge(
            "software",
            Sentence("verify.series.index-says-which-version-of-queryveil"),
            lambda: rewrite.software_problems(content, "series"),
        ),
        judge(
            "series-calendar",
            Sentence("verify.series.every-period-of-calendar-is-there"),
            lambda: _check_calendar(content),
        ),
        judge(
            "series-folder",
            Sentence("verify.series.folder-holds-index-releases-and-nothing"),
            lambda: _check_folder(path, content),
        ),
        judge(
            "series-digests",
            Sentence("verify.series.every-release-is-one-index-names"),
            lambda: _check_digests(path, content),
        ),
        judge(
            "series-alike",
            Sentence("verify.series.all-releases-have-method-parameters-and"),
            lambda: _check_alike(path, content),
        ),
        judge(
            "series-guarantee",
            Sentence("verify.series.guarantee-follows-from-of-one-period"),
            lambda: _check_guarantee(path, content),
        ),
        judge(
            "series-index",
            Sentence("verify.series.every-value-and-sentence-of-follows", series=index.SERIES),
            lambda: _check_index(path, content),
        ),
        judge(
            "series-page",
            Sentence("verify.series.is-what-index-says-and-refers", page=index.PAGE),
            lambda: _check_page(path, content),
        ),
    ]
    for name in periods:
        made.append(_check_period(path, name, release))
    return Verification(path, tuple(made), _NOT_CHECKED)


def _read_index(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads((path / index.SERIES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{index.SERIES} of '{path}' cannot be read ({type(error).__name__})", "fetch the series again"
        ) from None
    if not isinstance(found, dict):
        raise InputError(f"{index.SERIES} of '{path}' is not a JSON object", "fetch the series again")
    return found


def _check_period(path: Path, name: str, release: Callable[[Path], Verification]) -> Check:
    def problems() -> Iterator[str]:
        if not folder.is_plain_name(name) or (path / name).is_symlink():
            yield Sentence("verify.series.its-folder-has-no-plain-name")
            return
        if not (path / name).is_dir():
            yield Sentence("verify.series.its-folder-is-missing")
            return
        yield from (
            Sentence("verify.series.fails", name=check.name, detail=check.detail)
            for check in release(path / name).failed
        )

    return judge(
        f"release {name}" if folder.is_plain_name(name) else "release",
        Sentence("verify.series.passes-all-checks-of-release"),
        problems,
    )


def _check_format(content: Mapping[str, Any]) -> Iterator[str]:
    if (content.get("format"), content.get("format_version")) != (index.FORMAT, index.FORMAT_VERSION):
        yield Sentence(
            "verify.series.format-is-not-version", format=index.FORMAT, format_version=index.FORMAT_VERSION
        )


def _parse_calendar(content: Mapping[str, Any]) -> Calendar:
    given = content["calendar"]
    return Calendar.of(given["period"], given["from"], given["to"])


def _check_calendar(content: Mapping[str, Any]) -> Iterator[str]:
    planned = [one.name for one in _parse_calendar(content).periods()]
    there = [one["period"] for one in content["periods"]]
    if content["calendar"]["periods"] != len(planned) or content["calendar"]["time_zone"] != "UTC":
        yield Sentence("verify.series.calendar-does-not-say-how-many")
    missing = [name for name in planned if name not in there]
    if content["complete"] is not (not missing):
        yield Sentence("verify.series.says-is-complete-and-is-not")
    if missing:
        yield Sentence(
            "verify.series.of-periods-are-missing-was-cut", missing=len(missing), planned=len(planned)
        )
    if [name for name in planned if name in there] != there:
        yield Sentence("verify.series.its-periods-are-not-those-of")


def _check_folder(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    named = {index.SERIES, index.PAGE, *(one["folder"] for one in content["periods"])}
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() or entry.name not in named:
            yield Sentence("verify.series.is-link-or-is-not-named", name=quoted(entry.name))


def _check_digests(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    for one in content["periods"]:
        file = (
            folder.file_inside(path / one["folder"], folder.MANIFEST)
            if folder.is_plain_name(one["folder"])
            else None
        )
        if file is None or one["folder"] != one["period"]:
            yield Sentence("verify.series.has-no-release", period=quoted(one["period"]))
        elif folder.file_digest(file) != one["manifest_sha256"]:
            yield Sentence("verify.series.release-of-has-another-manifest", period=quoted(one["period"]))


def _period_manifests(path: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in content["periods"]:
        inside = folder.is_plain_name(one["folder"]) and not (path / one["folder"]).is_symlink()
        file = folder.file_inside(path / one["folder"], folder.MANIFEST) if inside else None
        if file is not None:
            yield one["period"], json.loads(file.read_text(encoding="utf-8"))


def _check_alike(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    for name, manifest in _period_manifests(path, content):
        for key in ("method", "parameters", "what"):
            if manifest[key] != content[key]:
                yield Sentence("verify.series.release-of-has-another", name=quoted(name), key=key)
        if manifest["documents"]["language"] != content["language"]:
            yield Sentence("verify.series.release-of-has-another", name=quoted(name), key="language")
        if manifest.get("about", {}) != _publisher_statements(content, name):
            yield Sentence("verify.series.release-of-says-something-else-of", name=quoted(name))
        if _composable_guarantee(manifest["guarantee"]) != content["guarantee"]["one_period"]:
            yield Sentence("verify.series.release-of-has-another-guarantee", name=quoted(name))


def _publisher_statements(content: Mapping[str, Any], period: str) -> dict[str, str]:
    """What a release says of its publisher, as follows from the index."""
    one = next(one for one in _parse_calendar(content).periods() if one.name == period)
    return of_release(content.get("about", {}), one).as_dict()


def _composable_guarantee(stated: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a series keeps of the guarantee of a release: of a probabilistic one, what it implies."""
    if stated["kind"] != PROBABILISTIC:
        return stated
    kept: dict[str, Any] = to_data(in_a_series(Guarantee.from_dict(stated)).as_dict())
    return kept


def _check_guarantee(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    stated, calendar = content["guarantee"], _parse_calendar(content)
    if stated["unit"] not in UNITS:
        yield Sentence("verify.series.unit-is-neither-user-nor-user")
        return
    count = len(calendar.periods())
    found = Promise.from_dict(stated, calendar.period, count)
    draws = next((manifest["draws"] for _, manifest in _period_manifests(path, content)), None)
    if draws is None:
        return
    if found.one.kind == PROBABILISTIC:
        yield Sentence("verify.series.probabilistic-guarantee-of-each-release-does")
    elif found.one.private:
        yield from composed.findings(stated["one_period"], draws, stated["whole_series"], count)
    elif stated["one_period"] != stated["whole_series"]:
        yield Sentence("verify.series.nothing-is-promised-for-period-and")


def _check_index(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    manifest = next((one for _, one in _period_manifests(path, content)), None)
    if manifest is None:
        yield Sentence("verify.series.series-has-no-release-to-compute")
        return
    try:
        expected = _expected_index(path, content, manifest)
    except InputError:
        yield Sentence("verify.series.release-is-missing-or-cannot-be")
        return
    places = list(rewrite.differences(content, expected, ""))
    yield from (
        Sentence("verify.series.does-not-follow-from-releases", place=quoted(place)) for place in places
    )
    file = folder.file_inside(path, index.SERIES)
    if not places and (file is None or file.read_bytes() != folder.as_json(expected).encode()):
        yield Sentence("verify.series.is-not-formatted-as-queryveil-formats", series=index.SERIES)


def _expected_index(path: Path, content: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The index as the writer writes it, with what only the publisher decides: name, words, calendar and unit."""
    check_name(content["name"])
    head = {"name": content["name"]}
    head |= {name: manifest[name] for name in ("what", "method", "parameters")}
    head |= {"language": manifest["documents"]["language"]}
    head |= {"about": content["about"]} if content.get("about") else {}
    head |= {"software": folder.software_version()}
    document = index.document(path, head, _parse_calendar(content), _parse_guarantee(content, manifest))
    expected: dict[str, Any] = json.loads(folder.as_json(to_data(document)))
    return expected | {"files": content["files"]}


def _parse_guarantee(content: Mapping[str, Any], manifest: Mapping[str, Any]) -> Promise:
    calendar, stated = _parse_calendar(content), content["guarantee"]
    periods = len(calendar.periods())
    one = Guarantee.from_dict(manifest["guarantee"])
    if not one.private:
        return Promise(unit=stated["unit"], period=calendar.period, periods=periods, one=one, whole=one)
    draws = [Draw.from_dict(draw) for draw in manifest["draws"]]
    found = promise(one, draws, unit=stated["unit"], period=calendar.period, periods=periods)
    whole, epsilon = found.whole, stated["whole_series"]["epsilon"]
    near = math.isclose(epsilon, float(whole.epsilon or 0), rel_tol=_ROUNDING)
    if periods > 1 and whole.kind == APPROXIMATE and near and float(f"{epsilon:.6g}") == epsilon:
        whole = dataclasses.replace(whole, epsilon=epsilon)
    if stated["whole_series"].get("delta_too_large") is True:
        whole = whole.among(rewrite.ALL_PEOPLE, told=False)
    return dataclasses.replace(found, whole=whole)


def _check_page(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    file = folder.file_inside(path, index.PAGE)
    if file is None:
        yield Sentence("verify.series.is-missing", page=index.PAGE)
        return
    text = file.read_bytes()
    if content["files"] != {index.PAGE: {"sha256": folder.digest_of(text), "bytes": len(text)}}:
        yield Sentence("verify.series.does-not-have-stated-size-and", page=index.PAGE)
    if text != index.html(content).encode():
        yield Sentence("verify.series.is-not-page-of-index", page=index.PAGE)
    inside = {f"{one['folder']}/{folder.REPORT}" for one in content["periods"]}
    yield from page.outside_references(text.decode("utf-8", errors="replace"), inside)
