"""`queryveil compare LOG --study NAME --out DIR`: an experiment on a log, one of the papers' or one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
import queryveil_lab as lab
from queryveil.show.cli import console, options

Log = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LOG]...",
        help="Files, folders or globs; release-probability, gap and profiles need none.",
        show_default=False,
    ),
]


def _complete_studies(incomplete: str) -> list[str]:
    return options.completed(lab.STUDIES)(incomplete)  # loaded only if asked for


StudyName = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME or FILE",
        autocompletion=_complete_studies,
        help="Which study (--list names them), or a YAML file of your own.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="Folder to write; it must not exist.", show_default=False)
]
Repeats = Annotated[
    int | None, typer.Option("--repeats", min=1, help="Independent runs of each cell.", show_default=False)
]
Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="NAME=V,V,...", help="Other values for what a study varies; repeatable."),
]
Results = Annotated[
    Path | None,
    typer.Option("--results", help="File of public result lists (query, url), for studies of clicks."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Number of processes; if left out, all cores for large logs.",
        show_default=False,
    ),
]


def _list_studies(wanted: bool) -> None:
    if not wanted:
        return
    if "--json" in sys.argv:
        console.as_json({name: _describe_study(study) for name, study in lab.STUDIES.items()})
    else:
        for name, study in lab.STUDIES.items():
            console.line(name)
            console.labelled("", study.question)
            console.labelled("paper", study.paper)
            for axis in study.axes:
                values = ", ".join(_format_value(one) for one in axis.values)
                console.labelled("varies", f"{axis.name}: {axis.help} ({values})")
    raise typer.Exit


Listing = Annotated[
    bool,
    typer.Option(
        "--list", callback=_list_studies, is_eager=True, help="Print the studies and what they vary."
    ),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("log", Log, None),
    ("study", StudyName, None),
    ("out", Out, None),
    ("repeats", Repeats, None),
    ("vary", Vary, None),
    ("results", Results, None),
    ("workers", Workers, None),
    ("listing", Listing, False),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = options.own_parameters(_OWN) + options.reading_parameters()
    app.command("compare")(options.with_signature(compare, made))


def compare(**given: Any) -> None:
    """Run a study on a log: a tidy table, figures, and whether the expected shapes are there."""
    how = options.reading(given)
    study, vary = _refuse_early(given)
    log = None
    if given["log"]:
        with console.progress("reading") as progress:
            log = qv.read(given["log"], progress=progress, **how)
    with console.progress("running") as progress:
        made = lab.compare(
            log,
            study,
            out=given["out"],
            repeats=given["repeats"],
            vary=vary,
            results=given["results"],
            workers=given["workers"],
            progress=progress,
        )
    if given["as_json"]:
        console.as_json(made.as_dict())
    else:
        show(made)


def _refuse_early(given: dict[str, Any]) -> tuple[lab.Study, dict[str, list[str]]]:
    """What can be refused is refused before a long log is read."""
    if given["study"] is None:
        raise qv.UsageError("no study is named", "pass --study NAME; --list names them")
    study = lab.find_study(given["study"])
    if given["out"] is None:
        raise qv.UsageError("no folder for the results is named", "pass --out DIR")
    study.check_out(given["out"])
    if study.needs_log and not given["log"]:
        raise qv.UsageError(
            f"study {study.name} needs a log", f"name one: queryveil compare LOG --study {study.name}"
        )
    if not (study.needs_log or study.takes_log) and given["log"]:
        raise qv.UsageError(f"study {study.name} reads no log", "leave LOG out")
    vary: dict[str, list[str]] = {}
    for text in given["vary"] or []:
        name, equals, values = text.partition("=")
        if not equals or name in vary:
            raise qv.UsageError(
                "--vary is not a name and values", "write it like --vary d=1,5,20, once a name"
            )
        vary[name] = [value.strip() for value in values.split(",")]
    study.grid(vary)
    return study, vary


def show(made: lab.Comparison) -> None:
    console.line(made.study.question)
    console.labelled("paper", made.study.paper)
    console.line()
    for check in made.checks:
        said = f"{check.name}: {check.detail}"
        if check.undecided:  # read across: too small to tell whether
            console.labelled("too small", f"to tell whether {said}")
        else:
            console.labelled(check.verdict, said)
    console.line()
    if made.resumed:
        console.labelled("resumed", f"{made.resumed:,} cells had been finished before")
    console.labelled("wrote", f"{made.path}: {len(made.findings):,} rows in table.csv and table.parquet")
    for file in made.figures:
        console.labelled("", f"{file} (and .svg, .html)")
    if made.left is not None:
        console.labelled("left", f"{made.left}: it holds more than the finished cells")
    if made.given.log is not None:
        console.labelled("For you", "These results come from the raw log: they are for its curator alone.")
    console.labelled("Next", f"open {made.path}/index.html")


def _describe_study(study: lab.Study) -> dict[str, Any]:
    return {
        "question": study.question,
        "paper": study.paper,
        "needs_log": study.needs_log,
        "takes_log": study.needs_log or study.takes_log,
        "varies": {axis.name: {"help": axis.help, "values": list(axis.values)} for axis in study.axes},
        "measures": {one.name: {"unit": one.unit, "help": one.help} for one in study.metrics},
        "repeats": study.repeats,
    }


def _format_value(one: object) -> str:
    return f"{one:.6g}" if isinstance(one, float) else str(one)
