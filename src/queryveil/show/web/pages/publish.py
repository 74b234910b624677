"""Publish: what it costs, who answers for it, a last look, and the work itself."""

from __future__ import annotations

import dataclasses
import datetime
import re
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import queryveil as qv
from queryveil.parameters import parameters
from queryveil.show.web import forms, same, shelf
from queryveil.show.web.jobs import DONE, PUBLICATIONS, Job
from queryveil.show.web.logs import LogSnapshot
from queryveil.show.web.pages import series
from queryveil.show.web.pages.design import Setting, facts
from queryveil.show.web.pages.log import confirmed_log
from queryveil.show.web.rendering import page, query_string

ABOUT = [one for one in forms.fields(qv.About, {}) if one.name != "citation"]
NOT_STATED = "not stated"
_LANGUAGE = next(one for one in parameters(qv.PublishOptions) if one.name == "language")


@dataclasses.dataclass(frozen=True)
class Budget:
    """What a source has, and would have after this release."""

    before: Any = None
    after: Any = None
    error: qv.QueryveilError | None = None


def _default_name(log: LogSnapshot) -> str:
    last = re.split(r"[/\\]", log.name)[-1]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", last.split(".")[0]).strip("-")[:40] or "log"


def _budget_sources(ledger: str) -> list[str]:
    """Names of logs that have a budget; none where the ledger was not made yet."""
    if "://" not in ledger and not Path(ledger).exists():
        return []
    return [one.source for one in qv.Ledger(ledger).show()]


def _budget_outlook(ledger: str, source: str, setting: Setting) -> Budget:
    before = qv.Ledger(ledger).budget(source)
    if setting.plan is None:
        return Budget(before)
    plan = setting.plan
    try:
        return Budget(before, qv.Ledger(ledger).after(source, plan.method, plan.guarantee, draws=plan.draws))
    except qv.QueryveilError as error:
        return Budget(before, None, error)


def _free_name(request: Request, log: LogSnapshot) -> str:
    folder = request.app.state.bench.settings.releases
    first = f"{_default_name(log)}-{datetime.datetime.now(datetime.UTC).date().isoformat()}"
    names = [first, *(f"{first}-{number}" for number in range(2, 1000))]
    return next(one for one in names if not (folder / one).exists())


def _needs_understanding(setting: Setting) -> bool:
    """Whether a release promises nothing, or as good as nothing."""
    guarantee = setting.plan.guarantee if setting.plan is not None else None
    return guarantee is not None and (guarantee.kind == "none" or guarantee.exposing)


def publishing(request: Request, log: LogSnapshot) -> list[Job]:
    """Publications of this log in this start, of whoever began them."""
    jobs = request.app.state.bench.jobs
    return [one for kind in PUBLICATIONS for one in jobs.of_kind(kind) if one.spec["log"]["id"] == log.id]


def shown(request: Request) -> Response:
    log, settings = confirmed_log(request), request.app.state.bench.settings
    begun = publishing(request, log)
    job = next((one for one in begun if one.id == request.query_params.get("job")), None)
    if job is not None and job.state == DONE:
        return RedirectResponse(f"/{'series' if job.kind == 'series' else 'releases'}/{job.about}", 303)
    delta, users = facts(request, log)
    setting = Setting(request.query_params, delta, users=users)
    sources = _budget_sources(settings.ledger)
    source = request.query_params.get("source") or (
        _default_name(log) if _default_name(log) in sources or not sources else ""
    )
    asked = series.Asked.of(request.query_params)
    name = _free_name(request, log)
    budget, outlook, said = None, None, _equivalent_command(log, setting, settings, name, source)
    if asked.every:
        said = series.said(log, setting, asked, settings, name, source or "NAME")
        if asked.complete and setting.error is None:
            known = source if source in sources else None
            outlook = series.outlook(asked, setting.mechanism, settings.ledger, known)
            if known:
                before = qv.Ledger(settings.ledger).budget(known)
                budget = Budget(before, outlook.plan.after if outlook.plan else None, outlook.error)
    elif source in sources:
        budget = _budget_outlook(settings.ledger, source, setting)
    return page(
        request,
        "publish.html",
        step="publish",
        log=log,
        setting=setting,
        words=setting.words,
        address=query_string(setting.query | asked.query),
        job=job,
        others=[one for one in begun if not one.over and one is not job],
        sources=sources,
        source=source,
        budget=budget,
        name=name,
        about=ABOUT,
        languages=_LANGUAGE.declaration.choices,
        understand=outlook.understand if outlook else _needs_understanding(setting),
        asked=asked,
        outlook=outlook,
        periods=series.PERIODS,
        units=series.UNITS,
        signs=settings.key is not None,
        suggested={"epsilon": 4, "delta": delta * 10},
        same=said,
    )


def _equivalent_command(
    log: LogSnapshot, setting: Setting, settings: Any, name: str, source: str
) -> same.Same:
    words = {"out": f"{settings.releases}/{name}", "ledger": settings.ledger, "source": source or "NAME"}
    return same.publish(log, setting.method, setting.given, words)


def open_budget(request: Request, form: FormData) -> Response:
    """Give a source its budget, once and for all."""
    log, settings = confirmed_log(request), request.app.state.bench.settings
    delta, users = facts(request, log)
    setting = Setting(form, delta, users=users)
    numbers = {}
    for name in ("budget_epsilon", "budget_delta"):
        try:
            numbers[name.removeprefix("budget_")] = float(str(form.get(name, "")))
        except ValueError:
            raise qv.UsageError("a budget is two numbers", "type figures, such as 4 and 1e-6") from None
    source = str(form.get("source", "")).strip()
    neighbours = setting.plan.guarantee.neighbours if setting.plan is not None else None
    known = neighbours if neighbours in ("replace-one-user", "add-remove-one-user") else "replace-one-user"
    ledger = qv.Ledger(settings.ledger)
    unit = str(form.get("budget_unit", "")) or "user"
    ledger.open(source, epsilon=numbers["epsilon"], delta=numbers["delta"], neighbours=known, unit=unit)
    query = setting.query | series.Asked.of(form).query | {"source": source}
    return RedirectResponse(f"/publish/{log.id}?{query_string(query)}", 303)


def start(request: Request, form: FormData) -> Response:
    """Check everything before anything is started; the job charges the ledger. All of it uses one snapshot."""
    bench, log = request.app.state.bench, confirmed_log(request)
    settings = bench.settings
    delta, users = facts(request, log)
    setting = Setting(form, delta, users=users)
    if setting.error is not None:
        raise setting.error
    if form.get("confirmed") != "yes":
        raise qv.UsageError("the promise and the budget were not confirmed", "tick the box before the button")
    name, source = shelf.checked_name(str(form.get("name", "")).strip()), str(form.get("source", ""))
    if (settings.releases / name).exists():
        raise qv.UsageError(f"there is a release '{name}' already", "choose another name")
    if source not in _budget_sources(settings.ledger):
        raise qv.UsageError("this log has no budget yet", "give it one first")
    if series.Asked.of(form).every:
        return series.start(request, log, setting, name, source, form)
    budget = _budget_outlook(settings.ledger, source, setting)
    if budget.error is not None:
        raise budget.error
    understood = form.get("understood") == "yes"
    qv.refuse_unless_understood(setting.mechanism, users=None, i_understand=understood)
    recipe = _write_recipe(_make_recipe(log, setting, settings, name, source, form), settings.private, name)
    spec = {
        "log": log.as_dict(),
        "recipe": str(recipe),
        "label": qv.Recipe.read(recipe).label,
        "source": source,
        "kept": str(settings.private / f"{name}.yaml"),
        "i_understand": understood,
        "key": str(settings.key) if settings.key else None,
    }
    job = bench.jobs.start(
        "publish", f"Publishing {name}", name, spec, who=request.state.session.who, noted=True
    )
    return RedirectResponse(
        f"/publish/{log.id}?{query_string(setting.query | {'source': source, 'job': job.id})}", 303
    )


def _write_recipe(recipe: qv.Recipe, private: Path, name: str) -> Path:
    """The recipe in a file of its own content, so that no later request can change what was confirmed."""
    place = private / "confirmed" / recipe.digest[:16]
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = place / f"{name}.yaml"
    if not file.exists():
        recipe.write(file)
        file.chmod(0o600)
    return file


def _make_recipe(
    log: LogSnapshot, setting: Setting, settings: Any, name: str, source: str, form: FormData
) -> qv.Recipe:
    said = {one.name: str(form.get(one.name, "")).strip() or NOT_STATED for one in ABOUT}
    return qv.Recipe(
        log=(str(log.path),),
        columns=log.options.get("columns"),
        columns_confirmed=True,
        reading={key: value for key, value in log.options.items() if key != "columns"},
        method=setting.method,
        parameters=setting.given,
        ledger=settings.ledger,
        source=source,
        out=str(settings.releases / name),
        about=qv.About(**said),
        language=str(form.get("documents", "en")),
        name=f"{name}.yaml",
    )


PAGES = {"/publish/{log}": shown}
FORMS = {"/publish/{log}": start, "/publish/{log}/budget": open_budget}
