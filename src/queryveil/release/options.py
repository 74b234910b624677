"""What `publish` and `publish_series` take besides a log and a method, declared once for every front end."""

from __future__ import annotations

from dataclasses import dataclass

from queryveil.catalog import ENGLISH, languages, latest_version
from queryveil.parameters import OUTPUT, PROMISES, SERIES, Declared, param, validate
from queryveil.release.series.calendar import PERIODS
from queryveil.release.series.promise import UNITS, USER


@dataclass(frozen=True, kw_only=True)
class PublishOptions(Declared):
    """How a release is published, whatever its method."""

    users: int | None = param(
        "a public upper bound on the number of users", ge=1, default=None, group=PROMISES
    )
    ledger: str | None = param(
        "ledger to charge before noise is drawn", default=None, group=PROMISES, metavar="LEDGER"
    )
    source: str | None = param("name of this log in the ledger", default=None, group=PROMISES, metavar="NAME")
    i_understand: bool = param("publish even with no promise or a large delta", default=False, group=PROMISES)
    private: str | None = param(
        "the private folder; beside --out if left out", default=None, path=True, group=OUTPUT, metavar="DIR"
    )
    language: str = param(
        "of the documents",
        choices=tuple(languages(latest_version())),
        default=ENGLISH,
        group=OUTPUT,
        details="It is not the language of the searches, which `about` states",
    )
    allow_empty: bool = param("write a release even if nothing survives", default=False, group=OUTPUT)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, kw_only=True)
class SeriesOptions(Declared):
    """How the periods of a log are published, each as a release of its own."""

    name: str = param(
        "publish each period by itself, under this name", flag="--series", group=SERIES, metavar="NAME"
    )
    period: str = param("what a release is of", choices=PERIODS, group=SERIES)
    unit: str = param("a person over all periods, or in one", choices=UNITS, default=USER, group=SERIES)
    start: str = param("first day, in UTC", flag="--from", group=SERIES, metavar="DATE")
    end: str = param("last day, in UTC", flag="--to", group=SERIES, metavar="DATE")
    resume: bool = param("go on with a series that was cut short", default=False, group=SERIES)
    allow_incomplete_period: bool = param(
        "publish a period although the log ends before its last day", default=False, group=SERIES
    )
