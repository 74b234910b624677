"""A series: one release for each day, week or month. What it promises and costs, the work, and its page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

import queryveil as qv
from queryveil.errors import argument
from queryveil.parameters import parameters
from queryveil.show import charts
from queryveil.show.web import same, shelf
from queryveil.show.web.guard import REPORT_POLICY, SERIES_POLICY
from queryveil.show.web.jobs import DONE
from queryveil.show.web.logs import LogSnapshot
from queryveil.show.web.pages.log import find_snapshot, require_confirmed
from queryveil.show.web.pages.releases import packed
from queryveil.show.web.rendering import page, query_string
from queryveil.show.web.settings import Settings

_DECLARED = {one.name: one for one in parameters(qv.SeriesOptions)}
PERIODS = {one: f"one for each {one}" for one in _DECLARED["period"].declaration.choices or ()}
UNITS = {
    "user": ("A person over the whole series", "stronger: all releases together keep this promise"),
    "user-period": ("What a person did in one period", "weaker: who searches in several periods loses more"),
}
_MOST_CHECKED = 40
"""Periods that are checked while a page is waited for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was said about a series; `every` is empty where one release is wanted."""

    every: str = ""
    first: str = ""
    last: str = ""
    unit: str = "user"
    most_users: str = ""

    @classmethod
    def of(cls, sent: Mapping[str, Any]) -> Asked:
        """From an address or a form."""
        found = {one.name: str(sent.get(one.name, "")).strip()[:40] for one in dataclasses.fields(cls)}
        every = found["every"] if found["every"] in PERIODS else ""
        return cls(**found | {"every": every, "unit": found["unit"] if found["unit"] in UNITS else "user"})

    @property
    def query(self) -> dict[str, str]:
        """As an address carries it; nothing where one release is wanted."""
        return (
            {name: value for name, value in dataclasses.asdict(self).items() if value} if self.every else {}
        )

    @property
    def complete(self) -> bool:
        return bool(self.first and self.last)

    @property
    def words(self) -> dict[str, Any]:
        """As `publish_series` takes it."""
        users = None
        if self.most_users:
            if not self.most_users.isdecimal():
                raise qv.UsageError(
                    "the most users of a period are not a number", "type figures, such as 50000"
                )
            users = int(self.most_users)
        return {
            "period": self.every,
            "start": self.first,
            "end": self.last,
            "unit": self.unit,
            "users": users,
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outlook:
    """What a series would promise and leave of a budget, or why it cannot be."""

    plan: qv.SeriesPlan | None = None
    understand: bool = False
    """Whether it is published only if somebody says that it promises as good as nothing."""
    error: qv.QueryveilError | None = None

    @property
    def step(self) -> str:
        """How much that is: strong, moderate, weak or none."""
        return qv.strength_of(self.plan.promise.stated) if self.plan is not None else ""


def outlook(asked: Asked, mechanism: qv.Mechanism, ledger: str, source: str | None) -> Outlook:
    """By parameters alone; a refusal is told and not raised."""
    refused: qv.QueryveilError | None = None
    for understood in (False, True):
        try:
            book: dict[str, Any] = {"ledger": ledger, "source": source} if source else {}
            plan = qv.plan_series(mechanism, i_understand=understood, **asked.words, **book)
        except qv.QueryveilError as error:
            refused = refused or error
            continue
        return Outlook(plan=plan, understand=understood)
    return Outlook(error=refused)


def said(
    log: LogSnapshot, setting: Any, asked: Asked, settings: Settings, name: str, source: str
) -> same.Same:
    """The same as a command and in Python."""
    words: dict[str, Any] = {"series": name, "period": asked.every, "from": asked.first, "to": asked.last}
    words |= {"unit": asked.unit} | ({"users": asked.most_users} if asked.most_users else {})
    words |= {"out": f"{settings.releases}/{name}", "ledger": settings.ledger, "source": source}
    return same.series(log, setting.method, setting.given, words)


def start(
    request: Request, log: LogSnapshot, setting: Any, name: str, source: str, form: FormData
) -> Response:
    """All is checked before anything is started; each period is charged by the job before its noise is drawn."""
    bench = request.app.state.bench
    settings, asked = bench.settings, Asked.of(form)
    if not asked.complete:
        raise qv.UsageError("a series needs its first and its last day", "choose both")
    understood = form.get("understood") == "yes"
    book = {"ledger": settings.ledger, "source": source}
    plan = qv.plan_series(setting.mechanism, i_understand=understood, **asked.words, **book)
    about = {key: str(form.get(key, "")).strip() or "not stated" for key in qv.About().missing}
    about["period"] = f"{asked.first}/{asked.last}"
    qv.About(**about)
    language = qv.PublishOptions(language=str(form.get("documents", "en"))).language
    spec = {
        "log": log.as_dict(),
        "name": name,
        "label": f"series {name}",
        "source": source,
        "about": about,
        "language": language,
        "i_understand": understood,
    }
    spec |= {
        "method": setting.method,
        "given": setting.given,
        "series": asked.words,
        "periods": len(plan.periods),
    }
    answer = begun(request, spec, resume=False, more=setting.query)
    # Only now: a series that is refused must not change how the one of that name is resumed.
    _write_series(settings.private, name, spec)
    return answer


def begun(request: Request, spec: dict[str, Any], *, resume: bool, more: Mapping[str, str]) -> Response:
    """Start the job of a series, or the one that goes on with it."""
    bench = request.app.state.bench
    settings, name = bench.settings, str(spec["name"])
    whole = spec | {
        "ledger": settings.ledger,
        "out": str(settings.releases / name),
        "key": str(settings.key) if settings.key else None,
        "resume": resume,
    }
    title = f"{'Going on with' if resume else 'Publishing'} the series {name}"
    job = bench.jobs.start("series", title, name, whole, who=request.state.session.who, noted=True)
    query = query_string(dict(more) | {"source": spec["source"], "job": job.id})
    return RedirectResponse(f"/publish/{spec['log']['id']}?{query}", 303)


def _series_file(private: Path, name: str) -> Path:
    return private / f"{name}.series.json"


def _write_series(private: Path, name: str, spec: Mapping[str, Any]) -> None:
    """What a series is made of, so that it can go on after a restart; no row of the log is in it."""
    private.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = _series_file(private, name)
    file.touch(mode=0o600)
    file.write_text(json.dumps(spec), encoding="utf-8")


def can_resume(settings: Settings, series: shelf.ShelvedSeries) -> bool:
    """Whether a series was interrupted, and was started in this workbench."""
    return not series.complete and _series_file(settings.private, series.name).is_file()


def go_on(request: Request, _: FormData) -> Response:
    """Publish the periods that are missing, as they were confirmed."""
    bench, name = request.app.state.bench, request.path_params["name"]
    series = shelf.find_series(bench.settings.releases, name)
    if series is None or not can_resume(bench.settings, series):
        raise HTTPException(404)
    spec = json.loads(_series_file(bench.settings.private, name).read_text(encoding="utf-8"))
    log = find_snapshot(request, spec["log"]["id"])
    if log is None:
        raise qv.UsageError(
            "the log of this series is not here any more",
            f"put it back, or go on at a terminal with queryveil publish and {argument('resume', True)}",
        )
    if require_confirmed(request, log).as_dict() != spec["log"]:
        raise qv.UsageError(
            "the log is not what it was when the series was begun",
            "put the file back and read it as then; what was published stays",
        )
    return begun(request, spec, resume=True, more={})


# -- the page of a series ------------------------------------------------------------------------------------


def _named_series(request: Request) -> shelf.ShelvedSeries:
    series = shelf.find_series(request.app.state.bench.settings.releases, request.path_params["name"])
    if series is None:
        raise HTTPException(404)
    return series


def _check_results(request: Request, series: shelf.ShelvedSeries) -> dict[str, Any] | None:
    """What the checks said, at the end of the job or now; None where that would take too long."""
    job = request.app.state.bench.jobs.latest("series", series.name)
    if job is not None and job.state == DONE:
        return {"passes": job.result["passes"], "checks": job.result["checks"]}
    if len(series.periods) > _MOST_CHECKED:
        return None
    found = qv.verify(series.path)
    return {"passes": found.passes, "checks": len(found.checks)}


def periods_of(series: shelf.ShelvedSeries) -> Markup:
    """Draw how many rows each period has."""
    rows = [one.rows for one in series.periods]
    return charts.draw_rows_of_periods(f"rows-of-{series.name}", series.unit, rows)


def shown(request: Request) -> Response:
    series = _named_series(request)
    bench = request.app.state.bench
    job = bench.jobs.latest("series", series.name)
    return page(
        request,
        "series.html",
        step="publish" if job is not None else "history",
        log=find_snapshot(request, job.spec["log"]["id"]) if job is not None else None,
        series=series,
        checked=_check_results(request, series),
        chart=periods_of(series),
        can_resume=can_resume(bench.settings, series),
        same=same.Same(
            f"queryveil release verify {series.path}",
            f"import queryveil as qv\n\nprint(qv.verify({str(series.path)!r}).passes)",
        ),
    )


def index(request: Request) -> Response:
    """The index that readers get; it runs nothing, and its links lead to the pages of its releases."""
    return _confined_page(_named_series(request).path / "index.html", SERIES_POLICY)


def report(request: Request) -> Response:
    series, period = _named_series(request), request.path_params["period"]
    if period not in [one.folder for one in series.periods]:
        raise HTTPException(404)
    return _confined_page(series.path / shelf.checked_name(period) / "report.html", REPORT_POLICY)


def _confined_page(file: Path, policy: str) -> Response:
    if file.is_symlink() or file.parent.is_symlink() or not file.is_file():
        raise HTTPException(404)
    return FileResponse(
        file, media_type="text/html; charset=utf-8", headers={"content-security-policy": policy}
    )


def download(request: Request) -> Response:
    series = _named_series(request)
    return packed(request, series.name, series.path)


PAGES = {
    "/series/{name}": shown,
    "/series/{name}/index.html": index,
    "/series/{name}/series.zip": download,
    "/series/{name}/{period}/report.html": report,
}
FORMS = {"/series/{name}/resume": go_on}
