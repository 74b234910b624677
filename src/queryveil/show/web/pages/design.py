"""Design: choose a method, move its parameters, and watch what is promised and what is left."""

from __future__ import annotations

import functools
import math
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

import queryveil as qv
from queryveil.show import charts
from queryveil.show.web import forms, same
from queryveil.show.web.jobs import DONE, Job
from queryveil.show.web.labels import worded
from queryveil.show.web.logs import LogSnapshot
from queryveil.show.web.pages.log import confirmed_log
from queryveil.show.web.pages.risk import inspection
from queryveil.show.web.rendering import page, query_string
from queryveil.show.web.sessions import Session

MOST_KEPT = 4
_FIRST = "steered"
_FIGURES = ("published", "coverage", "released_share", "hit_probability")
_EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


class Setting:
    """A method with what was typed for it; `error` says what is wrong with it, if anything is."""

    def __init__(self, typed: Any, delta: float, *, users: int | None = None) -> None:
        name = str(typed.get("method", "") or _FIRST)
        self.method = name if name in qv.MECHANISMS else _FIRST
        self.cls = qv.MECHANISMS[self.method]
        self.given: dict[str, Any] = {}
        self.plan: qv.Plan | None = None
        self.error: qv.QueryveilError | None = None
        try:
            self.given = forms.given(self.cls, typed)
            if not self.given:
                self.given = _initial_values(self.cls, delta)
            self.mechanism: Any = forms.made(self.cls, self.given)
            self.plan = self.mechanism.plan(users=users if self.cls.needs_users else None)
        except qv.QueryveilError as error:
            self.error = error
        except (OverflowError, ValueError, ZeroDivisionError):
            self.error = qv.UsageError(
                "nothing can be computed for these numbers", "choose less extreme ones"
            )

    @property
    def query(self) -> dict[str, str]:
        """The setting as an address carries it."""
        return {"method": self.method} | {
            one.name: one.value for one in self.fields if one.name in self.given
        }

    @property
    def fields(self) -> list[forms.Field]:
        return forms.fields(self.cls, self.given)

    @functools.cached_property
    def words(self) -> dict[str, Any]:
        """What is promised, for people."""
        if self.plan is None:
            error = self.error or qv.UsageError("this setting is not complete", "fill in the fields")
            said = worded(error)
            return {"error": said["message"], "hint": said["hint"]}
        guarantee = self.plan.guarantee
        return {
            "headline": guarantee.headline,
            "plain": guarantee.plain_words(),
            "caveats": [one.sentence for one in guarantee.caveats],
            "warnings": list(self.plan.warnings),
            "expected": list(self.plan.expected),
            "kind": guarantee.kind,
            "step": qv.strength_of(guarantee),
        }


def _initial_values(cls: type[qv.Mechanism], delta: float) -> dict[str, Any]:
    """What a method begins with: the strength that is usual; its example where more has to be said."""
    known = {"epsilon": 1.0, "delta": delta, "k": 20}
    wanted = {one.name: one for one in forms.fields(cls, {})}
    made = {name: value for name, value in known.items() if name in wanted}
    example = {name: list(one) if isinstance(one, tuple) else one for name, one in cls.example.items()}
    needed = {name: one for name, one in example.items() if name in wanted and wanted[name].required}
    try:
        forms.made(cls, needed | made)
    except qv.QueryveilError:
        return example
    return needed | made


def pilot_of(request: Request, log: LogSnapshot) -> Job | None:
    job: Job | None = request.app.state.bench.jobs.latest("pilot", log.digest)
    return job


def facts(request: Request, log: LogSnapshot) -> tuple[float, int | None]:
    """A delta that fits the log, and its users; what is known so far."""
    job = inspection(request, log)
    found = job.result if job is not None and job.state == DONE else None
    read = request.app.state.bench.jobs.latest("read", log.reading_key)
    users = read.result["users"] if read is not None and read.state == DONE else None
    if found is not None:
        return float(found["delta"]), int(found["users"])
    return (float(f"1e-{max(6, len(str(users)) + 1)}") if users else 1e-6), users


def _preview_price(session: Session, log: LogSnapshot) -> str:
    looked = len(session.looked.get(log.id, ()))
    if looked < 2:
        return "A choice that you make without looking at previews costs nothing."
    bits = math.ceil(10 * math.log2(looked)) / 10
    return (
        f"You have looked at {looked} settings. If you publish the one you like best, readers can learn from your "
        f"choice at most {bits:.1f} bits about the log. No guarantee covers that."
    )


async def _preview_figures(request: Request, log: LogSnapshot, setting: Setting) -> dict[str, Any] | None:
    """The figures of a setting; None without a pilot, or where the setting is wrong."""
    job = pilot_of(request, log)
    if setting.plan is None or job is None or job.state != DONE:
        return None
    session: Session = request.state.session
    file = job.result["file"]
    try:
        found: dict[str, Any] = await request.app.state.bench.previews.ask(
            file, setting.method, setting.given
        )
    except qv.QueryveilError as error:
        # The rest of the page is as good as ever.
        return dict.fromkeys(_FIGURES) | {
            "items": "items",
            "why_not": "; ".join((worded(error)["message"], worded(error)["hint"])),
        }
    session.looked.setdefault(log.id, set()).add(str(setting.query))
    return found


async def _make_setting(typed: Any, delta: float, users: int | None) -> Setting:
    """A setting, and its promise in words: both take some computing, and others must not wait for it."""

    def made() -> Setting:
        setting = Setting(typed, delta, users=users)
        _ = setting.words
        return setting

    return await run_in_threadpool(made)


async def shown(request: Request) -> Response:
    log = await run_in_threadpool(confirmed_log, request)
    delta, users = await run_in_threadpool(facts, request, log)
    setting = await _make_setting(request.query_params, delta, users)
    job, session = pilot_of(request, log), request.state.session
    figures = await _preview_figures(request, log, setting)
    kept = [(one, Setting(one["query"], delta, users=users)) for one in session.kept.get(log.id, [])]
    advice = request.app.state.bench.jobs.latest("advise", log.digest)
    return await run_in_threadpool(
        page,
        request,
        "design.html",
        step="design",
        log=log,
        setting=setting,
        words=setting.words,
        figures=figures,
        pilot=job,
        made=job.result if job is not None and job.state == DONE else None,
        methods=qv.MECHANISMS,
        purposes=qv.PURPOSES,
        advice=advice,
        advised=advice.result if advice is not None and advice.state == DONE else None,
        kept=kept,
        most=MOST_KEPT,
        price=_preview_price(session, log),
        same=_equivalent_command(log, setting),
        delta=delta,
    )


def _equivalent_command(log: LogSnapshot, setting: Setting) -> same.Same:
    return same.publish(log, setting.method, setting.given, {"out": "release"})


async def preview(request: Request) -> Response:
    """The same as JSON, for a page that follows what is typed."""
    log = await run_in_threadpool(confirmed_log, request)
    delta, users = await run_in_threadpool(facts, request, log)
    setting = await _make_setting(request.query_params, delta, users)
    figures = await _preview_figures(request, log, setting)
    said = _equivalent_command(log, setting)
    return JSONResponse(
        {
            "words": setting.words,
            "figures": figures,
            "price": _preview_price(request.state.session, log),
            "command": said.command,
            "python": said.python,
        }
    )


async def curve(request: Request) -> Response:
    """Figures over epsilon, for a chart; each is one more look."""
    log = await run_in_threadpool(confirmed_log, request)
    delta, users = await run_in_threadpool(facts, request, log)
    rows = []
    for epsilon in _EPSILONS:
        typed = dict(request.query_params) | {"epsilon": f"{epsilon:g}"}
        figures = await _preview_figures(request, log, await _make_setting(typed, delta, users))
        if figures is not None and figures["published"] is not None:
            rows.append({"epsilon": epsilon, "published": round(figures["published"], 1)})
    points = [(row["epsilon"], row["published"]) for row in rows]
    return JSONResponse(
        {
            "figure": charts.draw_items_over_epsilon(points),
            "rows": rows,
            "price": _preview_price(request.state.session, log),
        }
    )


def make_pilot(request: Request, form: FormData) -> Response:
    """Count once what previews need."""
    log, bench = confirmed_log(request), request.app.state.bench
    job = pilot_of(request, log)
    if job is None or job.state != DONE:
        spec = {"log": log.as_dict(), "file": str(bench.settings.pilots / f"{log.digest}.npz")}
        bench.jobs.start("pilot", f"Preparing previews of {log.name}", log.digest, spec)
        bench.previews.warm()
    return RedirectResponse(f"/design/{log.id}?{form.get('setting', '')}", 303)


def advise(request: Request, form: FormData) -> Response:
    log = confirmed_log(request)
    purpose = qv.find_purpose(str(form.get("purpose", "")))
    numbers = {}
    for name in ("epsilon", "delta"):
        try:
            numbers[name] = float(str(form.get(name, "")))
        except ValueError:
            raise qv.UsageError(f"{name} must be a number", "type figures") from None
    qv.advice_request(purpose, epsilon=numbers["epsilon"], delta=numbers["delta"])
    spec = {"log": log.as_dict(), "purpose": purpose.name, **numbers}
    request.app.state.bench.jobs.start("advise", f"Trying settings for {purpose.name}", log.digest, spec)
    return RedirectResponse(f"/design/{log.id}#purpose", 303)


def keep(request: Request, form: FormData) -> Response:
    """Put a setting beside others; four at most."""
    log, session = confirmed_log(request), request.state.session
    delta, users = facts(request, log)
    setting = Setting(form, delta, users=users)
    if setting.error is not None:
        raise setting.error
    job = pilot_of(request, log)
    kept = session.kept.setdefault(log.id, [])
    if all(one["query"] != setting.query for one in kept):
        if len(kept) >= MOST_KEPT:
            raise qv.UsageError(f"{MOST_KEPT} settings stand side by side already", "drop one of them first")
        figures = None
        if job is not None and job.state == DONE:
            figures = request.app.state.bench.previews.remembered(
                job.result["file"], setting.method, setting.given
            )
        kept.append({"query": setting.query, "figures": figures})
    return RedirectResponse(f"/design/{log.id}?{query_string(setting.query)}#compare", 303)


def drop(request: Request, form: FormData) -> Response:
    log, session = confirmed_log(request), request.state.session
    kept, at = session.kept.get(log.id, []), str(form.get("at", ""))
    if at.isdecimal() and int(at) < len(kept):
        kept.pop(int(at))
    return RedirectResponse(f"/design/{log.id}?{form.get('setting', '')}#compare", 303)


PAGES = {"/design/{log}": shown, "/design/{log}/preview": preview, "/design/{log}/curve": curve}
FORMS = {
    "/design/{log}/pilot": make_pilot,
    "/design/{log}/advise": advise,
    "/design/{log}/keep": keep,
    "/design/{log}/drop": drop,
}
