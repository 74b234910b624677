"""One release: what it promises, what it holds, what to take away, and who is told what."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

import queryveil as qv
from queryveil.errors import argument
from queryveil.show.web import shelf
from queryveil.show.web.guard import REPORT_POLICY
from queryveil.show.web.pages.log import find_snapshot
from queryveil.show.web.rendering import page
from queryveil.show.web.same import Same


def named(request: Request) -> shelf.ShelvedRelease:
    found = shelf.find_release(request.app.state.bench.settings.releases, request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    return found


def _recipe_file(request: Request, release: shelf.ShelvedRelease) -> Path | None:
    file: Path = request.app.state.bench.settings.private / f"{release.name}.yaml"
    return file if file.is_file() and not file.is_symlink() else None


def shown(request: Request) -> Response:
    release, bench = named(request), request.app.state.bench
    loaded = qv.load(release.path)
    checked = qv.verify(release.path)
    first = next(iter(loaded.tables.values()))
    job = bench.jobs.latest("publish", release.name)
    return page(
        request,
        "release.html",
        step="publish" if job is not None else "history",
        log=find_snapshot(request, job.spec["log"]["id"]) if job is not None else None,
        release=release,
        guarantee=loaded.guarantee,
        strength=qv.strength_of(loaded.guarantee),
        what=loaded.plan.what,
        released=loaded.released,
        top=first.slice(0, 10).to_pylist() if first.num_rows else [],
        columns=first.column_names,
        checked=checked,
        recipe=_recipe_file(request, release),
        key=bench.settings.key,
        warnings=(job.result or {}).get("warnings", []) if job is not None else [],
        same=Same(
            f"queryveil release verify {release.path}",
            f"import queryveil as qv\n\nprint(qv.verify({str(release.path)!r}).passes)",
        ),
    )


def report(request: Request) -> Response:
    """The page of the release itself, in a room of its own: it may run nothing and ask for nothing."""
    shown = named(request).path / "report.html"
    if (
        shown.is_symlink() or not shown.is_file()
    ):  # a folder from elsewhere may point to any file of this machine
        raise HTTPException(404)
    return FileResponse(
        shown,
        media_type="text/html; charset=utf-8",
        headers={"content-security-policy": REPORT_POLICY},
    )


def download(request: Request) -> Response:
    release = named(request)
    return packed(request, release.name, release.path)


def packed(request: Request, name: str, path: Path) -> Response:
    """A release or a series as one file: what everybody may see, and nothing of the private folder."""
    handle, place = tempfile.mkstemp(suffix=".zip", dir=request.app.state.bench.settings.home)
    with os.fdopen(handle, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*")):
            inner = file.relative_to(path)
            # Hidden folders hold what an interrupted job has not finished.
            if (
                file.is_file()
                and not file.is_symlink()
                and not any(part.startswith(".") for part in inner.parts)
            ):
                archive.write(file, f"{name}/{inner.as_posix()}")
    return FileResponse(
        place,
        media_type="application/zip",
        filename=f"{name}.zip",
        background=BackgroundTask(Path(place).unlink),
    )


def recipe(request: Request) -> Response:
    found = _recipe_file(request, named(request))
    if found is None:
        raise HTTPException(404)
    return FileResponse(found, media_type="application/yaml", filename=found.name)


def sign(request: Request, _: FormData) -> Response:
    release, key = named(request), request.app.state.bench.settings.key
    if key is None:
        raise qv.UsageError(
            "the workbench was started without a key",
            f"start it with {argument('key', 'FILE')}; ssh-keygen -t ed25519 makes one",
        )
    qv.sign(release.path, key)
    return RedirectResponse(f"/releases/{release.name}", 303)


PAGES = {
    "/releases/{name}": shown,
    "/releases/{name}/report.html": report,
    "/releases/{name}/release.zip": download,
    "/releases/{name}/recipe.yaml": recipe,
}
FORMS = {"/releases/{name}/sign": sign}
