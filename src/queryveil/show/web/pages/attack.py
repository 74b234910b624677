"""Attack: let one loose on a release, beside a control, and say what that means."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import queryveil as qv
from queryveil.show.web import forms, same, shelf
from queryveil.show.web.jobs import DONE
from queryveil.show.web.logs import LogSnapshot
from queryveil.show.web.pages.log import confirmed_log
from queryveil.show.web.rendering import page, query_string


def on_releases() -> dict[str, type[qv.Attack]]:
    """Attacks that need nothing but a release and its log."""
    found = {
        name: cls
        for name, cls in qv.ATTACKS.items()
        if any("release" in one.kind for one in cls.inputs)
        and not any(one.kind == "file" and one.needed for one in cls.inputs)
    }
    # What a log alone, or a release of any method, can be attacked by comes first.
    return dict(sorted(found.items(), key=lambda one: not any(each.kind == "log" for each in one[1].inputs)))


def shown(request: Request) -> Response:
    log, bench = confirmed_log(request), request.app.state.bench
    attacks, found = on_releases(), shelf.load_shelf(bench.settings.releases).releases
    name = request.query_params.get("attack", "")
    name = name if name in attacks else next(iter(attacks))
    asked = request.query_params.get("release", "")
    release = next((one for one in found if one.name == asked), found[0] if found else None)
    given, wrong = {}, None
    try:
        given = forms.given(attacks[name], request.query_params)
    except qv.QueryveilError as error:
        wrong = error
    job = bench.jobs.latest("attack", _job_target(log, release, name)) if release is not None else None
    return page(
        request,
        "attack.html",
        step="attack",
        log=log,
        attacks=attacks,
        name=name,
        cls=attacks[name],
        fields=forms.fields(attacks[name], given),
        releases=found,
        release=release,
        wrong=wrong,
        job=job,
        result=job.result if job is not None and job.state == DONE else None,
        same=_equivalent_command(log, name, given, str(release.path) if release is not None else "RELEASE"),
    )


def _equivalent_command(log: LogSnapshot, name: str, given: dict[str, Any], release: str) -> same.Same:
    inputs: list[tuple[Any, str]] = []
    reads = False
    for one in qv.ATTACKS[name].inputs:
        if "release" in one.kind:
            inputs.append((one, release))
        elif one.kind == "log" and one.needed:
            reads = True
            inputs.append((one, log.displayed_path))
    return same.attack(name, given, inputs, same.reading_words(log.options) if reads else [])


def _job_target(log: LogSnapshot, release: shelf.ShelvedRelease, name: str) -> str:
    """Return what a job attacks: a result with other columns is no result for these."""
    return f"{release.name}/{name}/{log.digest}"


def start(request: Request, form: FormData) -> Response:
    log, bench = confirmed_log(request), request.app.state.bench
    attacks, name = on_releases(), str(form.get("attack", ""))
    release = shelf.find_release(bench.settings.releases, str(form.get("release", "")))
    if name not in attacks or release is None:
        raise qv.UsageError("no attack or no release was chosen", "choose both")
    given = forms.given(attacks[name], form)
    forms.made(attacks[name], given)
    spec = {"log": log.as_dict(), "attack": name, "given": given, "release": str(release.path)}
    bench.jobs.start("attack", f"Attacking {release.name} by {name}", _job_target(log, release, name), spec)
    said = query_string(
        {"attack": name, "release": release.name} | {key: forms.typed(one) for key, one in given.items()}
    )
    return RedirectResponse(f"/attack/{log.id}?{said}", 303)


PAGES = {"/attack/{log}": shown}
FORMS = {"/attack/{log}": start}
