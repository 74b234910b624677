"""`queryveil report DIR`: the public report again, or the curator's own."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.show.cli import console, options, releases

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.", show_default=False)]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Page to write; DIR-report.html beside the folder if left out."
    ),
]
Curator = Annotated[
    bool,
    typer.Option(
        "--curator", help="Write the curator's report, into DIR.private, instead of the public one."
    ),
]
Log = Annotated[
    str | None, typer.Option("--log", metavar="LOG", help="The log that the release was made from.")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", help="A measure for the curator's report; repeatable. All that apply if left out."
    ),
]

Private = Annotated[
    Path | None,
    typer.Option("--private", metavar="DIR", help="The private folder of the release, if not beside it."),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("release", Folder, inspect.Parameter.empty),
    ("out", Out, None),
    ("curator", Curator, False),
    ("log", Log, None),
    ("metrics", Metrics, None),
    ("private", Private, None),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = options.own_parameters(_OWN) + options.reading_parameters()
    app.command("report")(options.with_signature(report, made))


def report(**given: Any) -> None:
    """Write the report of a release: one page that needs no network. The folder itself is never changed."""
    how = options.reading(given)
    _refuse_options(given)
    if not given["curator"]:
        file = qv.write_report(given["release"], given["out"])
    else:
        log = None
        # What can be refused is refused before a long log is read.
        release = releases.load(given["release"], given["private"])
        qv.private_folder(release)
        if given["log"] is not None:
            qv.measures(given["metrics"] or None)
            with console.progress("reading") as progress:
                log = qv.read(given["log"], progress=progress, **how)
        with console.waiting("measuring"):
            file = qv.write_curator_report(release, log, metrics=given["metrics"] or None)
    if given["as_json"]:
        kind = "curator" if given["curator"] else "public"
        console.as_json({"report": str(file), "for": kind, "release": str(given["release"])})
        return
    console.labelled("report", str(file))
    said = (
        "it is made from the raw log: for you alone"
        if given["curator"]
        else "it says nothing beyond the release"
    )
    console.labelled("", said)


def _refuse_options(given: dict[str, Any]) -> None:
    if given["curator"] and given["out"] is not None:
        raise qv.UsageError(
            "the curator's report goes to the private folder of the release", "leave out --out"
        )
    if not given["curator"] and (given["log"] is not None or given["metrics"] or given["private"]):
        raise qv.UsageError(
            "the public report shows nothing of the log", "pass --curator for the report that shows it"
        )
    if given["metrics"] and given["log"] is None:
        raise qv.UsageError("measures need the log that the release was made from", "pass --log LOG")
