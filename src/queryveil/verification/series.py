"""A series as a whole: every release by itself, and an index that says what these say, and no more."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from queryveil.catalog import to_data
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
    "name: the publisher chose it",
    "calendar: whether the first and the last day were chosen without looking at the log",
    "series: whether other releases of the same log exist; a ledger adds them up",
)


def verify(path: Path, release: Callable[[Path], Verification]) -> Verification:
    """Check a series; `release` checks one of its folders."""
    content = _read(path)
    periods = [str(one.get("folder")) for one in content.get("periods") or () if isinstance(one, dict)]
    made = [
        judge("series-format", f"{index.FORMAT}, version {index.FORMAT_VERSION}", lambda: _format(content)),
        judge(
            "software",
            "the index says which version of queryveil wrote it",
            lambda: rewrite.software_problems(content, "series"),
        ),
        judge(
            "series-calendar",
            "every period of the calendar is there, and no other",
            lambda: _calendar(content),
        ),
        judge(
            "series-folder",
            "the folder holds the index, the releases and nothing else",
            lambda: _folder(path, content),
        ),
        judge(
            "series-digests", "every release is the one that the index names", lambda: _digests(path, content)
        ),
        judge(
            "series-alike",
            "all releases have the method, parameters and guarantee of the series",
            lambda: _alike(path, content),
        ),
        judge(
            "series-guarantee",
            "the guarantee follows from that of one period",
            lambda: _guarantee(path, content),
        ),
        judge(
            "series-index",
            f"every value and sentence of {index.SERIES} follows from the releases, byte by byte",
            lambda: _index(path, content),
        ),
        judge(
            "series-page",
            f"{index.PAGE} is what the index says, and refers to nothing outside",
            lambda: _page(path, content),
        ),
    ]
    for name in periods:
        made.append(_one(path, name, release))
    return Verification(path, tuple(made), _NOT_CHECKED)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads((path / index.SERIES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{index.SERIES} of '{path}' cannot be read ({type(error).__name__})", "fetch the series again"
        ) from None
    if not isinstance(found, dict):
        raise InputError(f"{index.SERIES} of '{path}' is not a JSON object", "fetch the series again")
    return found


def _one(path: Path, name: str, release: Callable[[Path], Verification]) -> Check:
    def problems() -> Iterator[str]:
        if not folder.plain(name) or (path / name).is_symlink():
            yield "its folder has no plain name"
            return
        if not (path / name).is_dir():
            yield "its folder is missing"
            return
        yield from (f"it fails {check.name}: {check.detail}" for check in release(path / name).failed)

    return judge(
        f"release {name}" if folder.plain(name) else "release", "it passes all checks of a release", problems
    )


def _format(content: Mapping[str, Any]) -> Iterator[str]:
    if (content.get("format"), content.get("format_version")) != (index.FORMAT, index.FORMAT_VERSION):
        yield f"the format is not {index.FORMAT}, version {index.FORMAT_VERSION}"


def _of(content: Mapping[str, Any]) -> Calendar:
    given = content["calendar"]
    return Calendar.of(given["period"], given["from"], given["to"])


def _calendar(content: Mapping[str, Any]) -> Iterator[str]:
    planned = [one.name for one in _of(content).periods()]
    there = [one["period"] for one in content["periods"]]
    if content["calendar"]["periods"] != len(planned) or content["calendar"]["time_zone"] != "UTC":
        yield "the calendar does not say how many periods it has, or is not in UTC"
    missing = [name for name in planned if name not in there]
    if content["complete"] is not (not missing):
        yield "it says that it is complete and is not, or the other way round"
    if missing:
        yield f"{len(missing)} of {len(planned)} periods are missing: it was cut short; publish --resume goes on"
    if [name for name in planned if name in there] != there:
        yield "its periods are not those of the calendar, in their order"


def _folder(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    named = {index.SERIES, index.PAGE, *(one["folder"] for one in content["periods"])}
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() or entry.name not in named:
            yield f"{quoted(entry.name)} is a link, or is not named by the index"


def _digests(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    for one in content["periods"]:
        file = (
            folder.file_inside(path / one["folder"], folder.MANIFEST) if folder.plain(one["folder"]) else None
        )
        if file is None or one["folder"] != one["period"]:
            yield f"{quoted(one['period'])} has no release"
        elif folder.digest(file) != one["manifest_sha256"]:
            yield f"the release of {quoted(one['period'])} has another manifest"


def _manifests(path: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in content["periods"]:
        inside = folder.plain(one["folder"]) and not (path / one["folder"]).is_symlink()
        file = folder.file_inside(path / one["folder"], folder.MANIFEST) if inside else None
        if file is not None:
            yield one["period"], json.loads(file.read_text(encoding="utf-8"))


def _alike(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    for name, manifest in _manifests(path, content):
        for key in ("method", "parameters", "what"):
            if manifest[key] != content[key]:
                yield f"the release of {quoted(name)} has another {key}"
        if manifest.get("about", {}) != _said(content, name):
            yield f"the release of {quoted(name)} says something else of its publisher"
        if _kept(manifest["guarantee"]) != content["guarantee"]["one_period"]:
            yield f"the release of {quoted(name)} has another guarantee"


def _said(content: Mapping[str, Any], period: str) -> dict[str, str]:
    """What a release says of its publisher, as follows from the index."""
    one = next(one for one in _of(content).periods() if one.name == period)
    return of_release(content.get("about", {}), one).as_dict()


def _kept(stated: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a series keeps of the guarantee of a release: of a probabilistic one, what it implies."""
    if stated["kind"] != PROBABILISTIC:
        return stated
    kept: dict[str, Any] = to_data(in_a_series(Guarantee.from_dict(stated)).as_dict())
    return kept


def _guarantee(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    stated, calendar = content["guarantee"], _of(content)
    if stated["unit"] not in UNITS:
        yield "the unit is neither a user nor a user in a period"
        return
    count = len(calendar.periods())
    found = Promise.from_dict(stated, calendar.period, count)
    draws = next((manifest["draws"] for _, manifest in _manifests(path, content)), None)
    if draws is None:
        return
    if found.one.kind == PROBABILISTIC:
        yield "a probabilistic guarantee of each release does not hold for a series: it becomes approximate"
    elif found.one.private:
        yield from composed.findings(stated["one_period"], draws, stated["whole_series"], count)
    elif stated["one_period"] != stated["whole_series"]:
        yield "nothing is promised for a period, and something for the series"


def _index(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    manifest = next((one for _, one in _manifests(path, content)), None)
    if manifest is None:
        yield "the series has no release to compute it from"
        return
    try:
        expected = _expected(path, content, manifest)
    except InputError:
        yield "a release is missing or cannot be read"
        return
    places = list(rewrite.differences(content, expected, ""))
    yield from (f"{quoted(place)} does not follow from the releases" for place in places)
    file = folder.file_inside(path, index.SERIES)
    if not places and (file is None or file.read_bytes() != folder.as_json(expected).encode()):
        yield f"{index.SERIES} is not formatted as queryveil formats it"


def _expected(path: Path, content: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The index as the writer writes it, with what only the publisher decides: name, words, calendar and unit."""
    check_name(content["name"])
    head = {"name": content["name"]}
    head |= {name: manifest[name] for name in ("what", "method", "parameters")}
    head |= {"about": content["about"]} if content.get("about") else {}
    head |= {"software": folder.software()}
    document = index.document(path, head, _of(content), _promise(content, manifest))
    expected: dict[str, Any] = json.loads(folder.as_json(to_data(document)))
    return expected | {"files": content["files"]}


def _promise(content: Mapping[str, Any], manifest: Mapping[str, Any]) -> Promise:
    calendar, stated = _of(content), content["guarantee"]
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


def _page(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    file = folder.file_inside(path, index.PAGE)
    if file is None:
        yield f"{index.PAGE} is missing"
        return
    text = file.read_bytes()
    if content["files"] != {index.PAGE: {"sha256": folder.digest_of(text), "bytes": len(text)}}:
        yield f"{index.PAGE} does not have the stated size and SHA-256"
    if text != index.html(content).encode():
        yield f"{index.PAGE} is not the page of this index"
    inside = {f"{one['folder']}/{folder.REPORT}" for one in content["periods"]}
    yield from page.outside_references(text.decode("utf-8", errors="replace"), inside)
