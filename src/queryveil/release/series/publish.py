"""publish_series(): one release for each period of a calendar, charged one by one; a run that was cut short goes on."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queryveil.catalog import ENGLISH, to_data
from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted
from queryveil.errors import CannotBeMet, UsageError, argument
from queryveil.files import appearing, folder, output
from queryveil.mechanisms import Mechanism, Plan, build_mechanism
from queryveil.privacy.noise import Noise
from queryveil.reading.log import SearchLog, as_log
from queryveil.release.about import About, refuse_claims
from queryveil.release.documents import rendering, segmented
from queryveil.release.ledger.ledger import Ledger
from queryveil.release.publish import Release, publish
from queryveil.release.series import index, planning, stated
from queryveil.release.series.calendar import Calendar, Period
from queryveil.release.series.promise import USER, Promise

_LONGEST_NAME = 100


@dataclass(frozen=True, kw_only=True, repr=False)
class Series:
    """Releases of the periods of a log, in one folder with an index."""

    name: str
    path: Path
    promise: Promise
    content: Mapping[str, Any]
    """What series.json holds."""
    warnings: tuple[str, ...] = ()
    """Warnings for the curator, such as a period that the log does not cover to its end."""

    @property
    def releases(self) -> dict[str, Path]:
        """The folder of each period that is published, by its name."""
        return {one["period"]: self.path / one["folder"] for one in self.content["periods"]}

    @property
    def complete(self) -> bool:
        return bool(self.content["complete"])

    def _card(self) -> Card:
        rows = [(period, str(folder)) for period, folder in self.releases.items()]
        table = CardTable("Releases", ("period", "folder"), iter(rows), len(rows))
        line = f"{self.name}, {counted(len(rows), 'release')}; {self.promise.headline}"
        facts = [("folder", str(self.path)), ("complete", "yes" if self.complete else "NO")]
        return Card(f"Series {self.name}", line, facts, (*self.promise.sentences(), *self.warnings), (table,))

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def publish_series(
    log: SearchLog | Callable[[], SearchLog] | Any,
    mechanism: Mechanism | str,
    *,
    name: str,
    period: str,
    start: str | datetime.date,
    end: str | datetime.date,
    out: str | Path,
    unit: str = USER,
    items: str | tuple[str, ...] | None = None,
    users: int | None = None,
    private: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    source: str | None = None,
    recipe: str | None = None,
    about: About | None = None,
    language: str = ENGLISH,
    allow_empty: bool = False,
    allow_incomplete_period: bool = False,
    i_understand: bool = False,
    resume: bool = False,
    told: Callable[[str, str], None] | None = None,
    noise: Noise | None = None,
    **parameters: Any,
) -> Series:
    """Publish the rows of each day, week or month from `start` to `end` (UTC, both included) as a release of its own.

    `log` is a `SearchLog`, or what `read` takes; `mechanism` is one, or its name with its `parameters`.
    `unit` says what is promised: `user` protects a person over all periods together, `user-period` what a person
    did in one of them, which is weaker. `users` is a public upper bound on the users of any period. A period
    without a row is published, empty; a log without a row in any of them is refused, unless `allow_empty` is given.
    Every period must have ended by the system clock. A log whose last row is before the last day of a period is
    refused before anything is charged, unless `allow_incomplete_period` is given.
    `about` is what the publisher says, in the index and in every release; each release adds its period to the title.
    `language` is that of the index and of all documents: `en`, or `de` for German.
    `log` may be a function that reads it: dates, promise, output and budget are then checked before it is called.
    With a ledger each period is charged before its noise is drawn. `resume` goes on with a series that was cut
    short: periods that are there stay, and one that was charged and not published is charged again.
    """
    check_name(name)
    rendering.document_version(language)
    unit = planning.known_unit(unit, period)
    if ledger is not None and not source:
        raise UsageError(
            "charging a ledger needs the name of the source log", f"pass {argument('source', 'NAME')}"
        )
    mechanism = build_mechanism(mechanism, parameters, items)
    book = Ledger(str(ledger)) if isinstance(ledger, (str, Path)) else ledger
    calendar, place = Calendar.of(period, start, end), Path(out)
    calendar.refuse_future()
    periods = calendar.periods()
    refuse_claims(about or About())
    said = stated.of_series(about, calendar)
    own = {one.name: stated.of_release(said, one) for one in periods}
    plan, promised = planning.planned(mechanism, users, unit, calendar, noise or Noise(), i_understand)
    apart = Path(private) if private is not None else folder.private_folder(place)
    _refuse_place(place, apart, resume=resume)
    if book is not None and source:
        planning.refuse_unaffordable(book, source, plan, promised, _pending_periods(place, periods))
    log = as_log(log() if callable(log) else log)
    plan = segmented.said(plan, log.segmented)
    log.need("time", "a series")
    mechanism.check(log)
    _refuse_too_many(log, periods, users)
    inside = log.between(periods[0].start, periods[-1].end).rows
    if not inside and not allow_empty:
        raise CannotBeMet(
            f"the log has no row from {calendar.first} to {calendar.last}",
            f"check {argument('start', option='from')} and {argument('end', option='to')}, or pass "
            f"{argument('allow_empty', True)} to publish empty releases",
        )
    warnings = _check_complete(log, _pending_periods(place, periods), allow=allow_incomplete_period)
    head = _index_head(name, plan, said, language)
    with _claim_series(place, apart, resume=resume):
        _same_series(place, head, calendar, promised)
        left = _pending_periods(place, periods)
        if book is not None and source:  # again: others may have charged it while the log was read
            planning.refuse_unaffordable(book, source, plan, promised, left)
        made = _write_index(place, head, calendar, promised)
        common: dict[str, Any] = {"ledger": book, "source": source, "recipe": recipe, "noise": noise}
        common |= {"users": users, "i_understand": i_understand, "allow_empty": True}
        common |= {"language": language}
        with log.unchanged():
            _note_privately(log, log.rows - inside, apart, told)
            for one in left:
                _publish_one(log, mechanism, one, place, apart, told, {**common, "about": own[one.name]})
                made = _write_index(place, head, calendar, promised)
    return Series(name=name, path=place, promise=promised, content=made, warnings=warnings)


def _publish_one(
    log: SearchLog,
    mechanism: Mechanism,
    period: Period,
    place: Path,
    apart: Path,
    told: Callable[[str, str], None] | None,
    common: Mapping[str, Any],
) -> Release:
    made = publish(
        log, mechanism, out=place / period.name, private=apart / period.name, period=period.name, **common
    )
    if told is not None:
        rows = ", ".join(
            f"{rows:,} {'row' if rows == 1 else 'rows'} of {name}" for name, rows in made.released.items()
        )
        told("write", f"{place / period.name}{os.sep}   {rows}")
    return made


# -- before anything is published ----------------------------------------------------------------------------


def check_name(name: str) -> None:
    if not name or name != name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise UsageError(
            f"the name of a series must be 1 to {_LONGEST_NAME} printable characters without spaces at its ends",
            "choose a short name such as searches-by-day",
        )


def _refuse_too_many(log: SearchLog, periods: list[Period], users: int | None) -> None:
    """All periods are asked before the first is published: a series that stops in the middle would tell where."""
    if users is None:
        return
    if any(log.between(one.start, one.end).users > users for one in periods):
        raise CannotBeMet(
            f"a period has more than the {users:,} users that you declared",
            f"declare a larger public upper bound with {argument('users')}",
        )


def _check_complete(log: SearchLog, periods: list[Period], *, allow: bool) -> tuple[str, ...]:
    """Return a warning if the log ends before the last day of a period; raise CannotBeMet unless that is allowed.

    The whole series is refused, not the period alone: which periods a series has must not depend on the log.
    """
    times = log.source["time"]
    last = log.engine.arrow(log.source.aggregate(last=times.max()))["last"][0].as_py()
    late = [one for one in periods if last is None or one.last > last.date()]
    if not late:
        return ()
    names = late[0].name if len(late) == 1 else f"{late[0].name} and {len(late) - 1:,} later periods"
    end = f"the last row of the log is of {last:%Y-%m-%d}" if last is not None else "the log has no row"
    message = f"{end} (UTC), so it does not cover {names} to the end"
    if allow:
        return (f"{message[0].upper()}{message[1:]}.",)
    before = late[0].first - datetime.timedelta(days=1)
    shorter = (
        f"pass {argument('end', str(before), option='to')}, read a log that covers it"
        if late[0] != periods[0]
        else "read a log that does"
    )
    raise CannotBeMet(
        message, f"{shorter}, or pass {argument('allow_incomplete_period', True)} to publish it as it is"
    )


# -- the folder ----------------------------------------------------------------------------------------------


def _refuse_place(place: Path, apart: Path, *, resume: bool) -> None:
    """Refuse a place that is taken, or that has no series to go on with."""
    if resume and not index.is_series(place):
        raise UsageError(f"there is no series in '{place}' to go on with", f"leave out {argument('resume')}")
    if not resume:
        if index.is_series(place):
            raise UsageError(
                f"output '{place}' holds a series already",
                f"go on with it by {argument('resume', True)}, or choose another {argument('out')}",
            )
        output.new_release(place, None if apart == folder.private_folder(place) else apart)


@contextlib.contextmanager
def _claim_series(place: Path, apart: Path, *, resume: bool) -> Any:
    """One process at a time; a new place, or one that holds a series."""
    _refuse_place(place, apart, resume=resume)
    with output.disk_errors(place), appearing.claim_paths(place):
        apart.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(parents=True, exist_ok=True)
        try:
            yield
        except BaseException:
            # Refused before anything was written: the same place is free for the next try.
            for made in (place, apart):
                with contextlib.suppress(OSError):
                    made.rmdir()
            raise


def _note_privately(
    log: SearchLog, outside: int, apart: Path, told: Callable[[str, str], None] | None
) -> None:
    """For the curator alone: what was read, what was rejected, and how many rows are outside the calendar."""
    rejected = log.staged.rejected if log.staged is not None else 0
    if told is not None:
        of_other_days = f"; {outside:,} of the rows are of other days and left out" if outside else ""
        told("read", f"{log.rows:,} rows, {log.users:,} users, {rejected:,} rejected{of_other_days}")
    facts: dict[str, Any] = {"users": log.users, "rows": log.rows, "rows_outside": outside}
    if log.staged is not None:
        facts |= {"rejected": log.staged.rejected, "reasons": dict(log.staged.reasons)}
        if log.staged.rejected_file is not None:
            shutil.copyfile(log.staged.rejected_file, apart / folder.table_file("rejected"))
    (apart / f"{folder.CURATOR}.json").write_text(folder.as_json(facts), encoding="utf-8")
    for file in apart.iterdir():
        if file.is_file():
            file.chmod(0o600)


def _pending_periods(place: Path, periods: list[Period]) -> list[Period]:
    """The periods that are not published yet."""
    return [one for one in periods if not _is_there(place, one)]


def _is_there(place: Path, period: Period) -> bool:
    appearing.finish_interrupted(
        place / period.name
    )  # completed by a run that was killed before it could say so
    return folder.is_release(place / period.name)


def _index_head(name: str, plan: Plan, said: Mapping[str, str], language: str) -> dict[str, Any]:
    planned = plan.as_dict()
    return {
        "name": name,
        "what": planned["what"],
        "method": planned["method"],
        "parameters": planned["parameters"],
        "language": language,
        **({"about": dict(said)} if said else {}),
        "software": folder.software_version(),
    }


def _same_series(place: Path, head: Mapping[str, Any], calendar: Calendar, promised: Promise) -> None:
    """A series that was begun goes on as it began: what it promises was fixed then."""
    file = folder.file_inside(place, index.SERIES)
    if file is None:
        return
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        there = {name: found[name] for name in ("name", "method", "parameters", "language")}
        there |= {"about": found.get("about", {})}
        there |= {"from": found["calendar"]["from"], "to": found["calendar"]["to"]}
        there |= {"period": found["calendar"]["period"], "unit": found["guarantee"]["unit"]}
        there |= {"guarantee": _guarantee_figures(found["guarantee"])}
        published = {str(one["period"]): str(one["manifest_sha256"]) for one in found["periods"]}
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"the series in '{place}' cannot be read", f"choose another {argument('out')}"
        ) from None
    wanted = {name: head[name] for name in ("name", "method", "parameters", "language")}
    wanted |= {"about": head.get("about", {})}
    wanted |= {"from": calendar.first.isoformat(), "to": calendar.last.isoformat()}
    wanted |= {
        "period": calendar.period,
        "unit": promised.unit,
        "guarantee": _guarantee_figures(promised.as_dict()),
    }
    other = [name for name, value in json.loads(json.dumps(wanted)).items() if there[name] != value]
    if other:
        raise UsageError(
            f"the series in '{place}' was begun with another {other[0]}",
            f"go on with the options that it was begun with, or choose another {argument('out')}",
        )
    _refuse_gone(place, published)


def _guarantee_figures(stated: Mapping[str, Any]) -> list[Any]:
    """Kind and numbers of both guarantees; words may be those of another version."""
    names = ("kind", "epsilon", "delta", "mu", "p")
    return [[stated[which].get(name) for name in names] for which in ("one_period", "whole_series")]


def _refuse_gone(place: Path, published: Mapping[str, str]) -> None:
    """A period that was published is never drawn again: whoever kept the first has two releases of it."""
    for name, digest in published.items():
        manifest = folder.file_inside(place / name, folder.MANIFEST) if folder.is_plain_name(name) else None
        if manifest is None or folder.file_digest(manifest) != digest:
            raise UsageError(
                f"the series in '{place}' has published {name if folder.is_plain_name(name) else 'a period'} already, "
                "and that release is gone or changed: drawn again it would be a second release of the same period",
                f"put it back, or choose another {argument('out')} and count both series",
            )


def _write_index(
    place: Path, head: Mapping[str, Any], calendar: Calendar, promised: Promise
) -> Mapping[str, Any]:
    """Write the index of what is there; each of its files is whole at any time, and series.json comes last."""
    content = index.document(place, head, calendar, promised)
    html = index.html(content).encode()
    content["files"] = {index.PAGE: {"sha256": folder.digest_of(html), "bytes": len(html)}}
    for name, data in ((index.PAGE, html), (index.SERIES, folder.as_json(to_data(content)).encode())):
        draft = place / f".{name}.writing"
        draft.write_bytes(data)
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(place / name)
    return content
