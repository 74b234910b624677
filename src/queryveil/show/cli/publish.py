"""`queryveil publish LOG --method METHOD --out DIR`: the main job."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.files import output
from queryveil.show.cli import console, options, plan

Method = Annotated[str, typer.Option("--method", help="How to protect the log: " + ", ".join(qv.MECHANISMS))]
Out = Annotated[Path, typer.Option("--out", help="Folder to write; it must not exist.", show_default=False)]
Private = Annotated[
    Path | None,
    typer.Option("--private", metavar="DIR", help="Where the private folder goes; beside --out if left out."),
]
LedgerFile = Annotated[
    str | None, typer.Option("--ledger", help="Ledger to charge before anything is drawn.")
]
Source = Annotated[str | None, typer.Option("--source", help="Name of this log in the ledger.")]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Write a release even if nothing survives.")]
IUnderstand = Annotated[
    bool, typer.Option("--i-understand", help="Publish although nothing is promised, or delta is too large.")
]
OrderKey = Annotated[
    Literal["engine", "portable"],
    typer.Option("--order-key", help="engine (fast) or portable (SHA-256: equal counts on every engine)."),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("method", Method, inspect.Parameter.empty),
    ("out", Out, inspect.Parameter.empty),
    ("private", Private, None),
    ("users", plan.Users, None),
    ("ledger", LedgerFile, None),
    ("source", Source, None),
    ("allow_empty", AllowEmpty, False),
    ("i_understand", IUnderstand, False),
    ("order_key", OrderKey, "engine"),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = [inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, annotation=options.Log)]
    made += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in _OWN
    ]
    made += options.declared(qv.MECHANISMS.values(), required=False, seen=[one.name for one in made])
    made += options.reading_parameters()
    app.command("publish")(options.with_signature(publish, made))


def publish(**given: Any) -> None:
    """Publish a log privately: a release folder with tables, manifest, data sheet and report."""
    own = {name: given.pop(name) for name, _, _ in _OWN}
    cls = qv.MECHANISMS.get(own["method"])
    if cls is None:
        raise qv.UsageError(f"there is no method '{own['method']}'", instead(own["method"], qv.MECHANISMS))
    strangers = options.foreign(cls, qv.MECHANISMS.values(), given)
    if strangers:
        raise qv.UsageError(
            f"method {cls.name} takes no {strangers[0]}", f"see queryveil plan {cls.name} --help"
        )
    method = cls(**options.given(cls, given))
    how = options.reading(given)
    _refuse_early(own, method)
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    told = None if own["as_json"] else console.labelled
    with console.waiting("counting"):
        release = qv.publish(
            log,
            method,
            users=own["users"],
            out=own["out"],
            private=own["private"],
            ledger=own["ledger"],
            source=own["source"],
            allow_empty=own["allow_empty"],
            i_understand=own["i_understand"],
            order_key=own["order_key"],
            told=told,
        )
    if own["as_json"]:
        console.as_json(
            {
                "release": str(release.path),
                "guarantee": release.guarantee.as_dict(),
                "released": release.released,
                "seconds": release.seconds,
                "warnings": list(release.warnings),
                **({"expected": list(release.plan.expected)} if release.plan.expected else {}),
            }
        )
        return
    show(release)


def _refuse_early(own: dict[str, Any], method: qv.Mechanism) -> None:
    """What would be refused after the log is read is refused before."""
    qv.refuse_unless_understood(method, users=own["users"], i_understand=own["i_understand"])
    output.new_release(own["out"], own["private"])
    if (own["ledger"] is None) != (own["source"] is None):
        raise qv.UsageError(
            "charging a ledger needs both the ledger and the name of the source log",
            "pass --ledger FILE and --source NAME",
        )
    if own["ledger"] is not None:
        qv.Ledger(own["ledger"]).budget(own["source"])


def show(release: qv.Release) -> None:
    console.line()
    plan.guarantee(release.guarantee)
    for sentence in release.plan.expected:
        console.labelled("Expect", sentence)
    for warning in release.warnings:
        console.labelled("Warning", warning)
    console.labelled("Next", f"queryveil release verify {release.path}")
    console.labelled("", f"open {release.path}/report.html; {release.private_place} is for you alone")
    apart = f" --private {release.private_path}" if release.private_path is not None else ""
    console.labelled("", f"queryveil report {release.path} --curator --log LOG{apart}")
