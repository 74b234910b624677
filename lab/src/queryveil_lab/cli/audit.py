"""`queryveil audit METHOD`: try to refute what a method promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
import queryveil_lab as lab
from queryveil.extension import METHOD, OUTPUT
from queryveil.show.cli import console, help, options

Runs = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        rich_help_panel=METHOD,
        help="runs of the step that adds noise, on each log, and at most a 20th of that of whole publications "
        "(default: 100,000, or 20,000 for all)",
        show_default=False,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence", metavar="SHARE", rich_help_panel=METHOD, help="of the bounds that are reported"
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        rich_help_panel=METHOD,
        help="processes; as many as there are cores if left out",
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", rich_help_panel=METHOD, help="decides logs and events alone; noise has no seed"
    ),
]
StepsOnly = Annotated[
    bool,
    typer.Option(
        "--steps-only",
        rich_help_panel=METHOD,
        help="run the step that adds noise alone: no whole publications, folders, odd rows or forks",
    ),
]
Periods = Annotated[
    int,
    typer.Option(
        "--periods",
        metavar="N",
        rich_help_panel=METHOD,
        help="audit a series of so many releases, held against what the series promises",
    ),
]
Unit = Annotated[
    str,
    typer.Option(
        "--unit",
        metavar="UNIT",
        rich_help_panel=METHOD,
        help="what a series protects: user, or user-period (a user in one period)",
    ),
]
Synthetic = Annotated[
    bool,
    typer.Option(
        "--synthetic",
        rich_help_panel=METHOD,
        help="audit the rows of a synthetic log that is drawn from the released click graph",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        rich_help_panel=OUTPUT,
        help="a new folder for the page; an audit that was stopped goes on where it was",
        show_default=False,
    ),
]

_SHARED: list[tuple[str, Any, Any]] = [
    ("runs", Runs, None),
    ("confidence", Confidence, 0.95),
    ("workers", Workers, None),
    ("seed", Seed, 0),
]


_OF_MANY: list[tuple[str, Any, Any]] = [
    ("periods", Periods, 1),
    ("unit", Unit, "user"),
    ("synthetic", Synthetic, False),
]


class Methods(help.Lazy):
    """The methods, one of which is audited; or all of them."""

    listing = "Methods"

    def later(self) -> Mapping[str, Callable[[help.App], None]]:
        return {name: partial(_add_method, name) for name in qv.MECHANISMS}


def add_to(app: typer.Typer) -> None:
    methods = help.App(
        cls=Methods,
        help="Try to refute what a method promises, on neighbouring logs built to hurt it.",
        no_args_is_help=True,
        subcommand_metavar="METHOD [OPTIONS]",
        epilog="Each method has options of its own: queryveil audit METHOD --help",
    )
    own = [*_SHARED, ("out", Out, None), ("as_json", options.Json, False)]
    every = options.with_signature(_audit_all, options.own_parameters(own))
    methods.command("all", help="Every private method, with settings that show the most in minutes.")(every)
    app.add_typer(methods, name="audit")


def _add_method(name: str, app: help.App) -> None:
    cls = qv.MECHANISMS[name]
    own = [*_SHARED, ("steps_only", StepsOnly, False), *_OF_MANY]
    made = options.declared([cls], required=True)
    made += options.declared([qv.PublishOptions], required=False, only=("users",))
    made += options.own_parameters([*own, ("out", Out, None), ("as_json", options.Json, False)])
    command = options.with_signature(_audit_command(cls), made)
    app.command(name, help=cls.__doc__)(command)


def _audit_command(cls: type[qv.Mechanism]) -> Any:
    def audit(**given: Any) -> None:
        names = ("users", "runs", "confidence", "workers", "seed", "out", "periods", "unit", "synthetic")
        how = {name: given.pop(name) for name in names}
        as_json, steps_only = given.pop("as_json"), given.pop("steps_only")
        method = options.method(cls, given, how["users"])
        with console.progress("auditing") as progress:
            found = lab.audit(method, whole_path=not steps_only, progress=progress, **how)
        if as_json:
            console.as_json(found.as_dict())
        else:
            show(found)
            if how["out"] is not None:
                console.labelled("Page", str(how["out"] / "index.html"))
        if not found.passes:
            raise typer.Exit(1)

    return audit


def _audit_all(**given: Any) -> None:
    as_json = given.pop("as_json")
    with console.progress("auditing") as progress:
        found = lab.audit_all(progress=progress, **given)
    if as_json:
        console.as_json(found.as_dict())
    else:
        _show_all(found)
    if not found.passes:
        raise typer.Exit(1)


def show(audit: lab.Audit) -> None:
    """The strongest of each kind of pair, the verdict, and what to do next."""
    what = audit.plan.method
    if audit.series.periods > 1:
        what += f", {audit.series.periods} releases of a series"
    what += ", synthetic logs" if audit.synthetic else ""
    console.title(f"{what}: can its promise be refuted?")
    console.line()
    rows: list[tuple[str, ...]] = [("logs", "by", "runs", "epsilon at least", "delta at least")]
    rows += [(_pair_text(one, audit), *_finding_cells(one)) for one in _strongest_findings(audit)]
    console.table(rows, right=(2, 3, 4))
    console.line()
    for sentence in audit.beside:
        console.labelled("Beside", sentence)
    console.labelled("Claim", audit.claim.told())
    label = "pass" if audit.passes else "FAIL"
    console.labelled(label, audit.verdict)


def _strongest_findings(audit: lab.Audit) -> list[lab.AuditFinding]:
    """For each shape and way of running it, the finding that says most; parts of a promise by themselves."""
    best: dict[tuple[str, str, str], lab.AuditFinding] = {}
    for one in audit.findings:
        key = (_pair_text(one, audit), one.how, one.runner)
        if key not in best or (one.refutes, one.epsilon, one.delta) > (
            best[key].refutes,
            best[key].epsilon,
            best[key].delta,
        ):
            best[key] = one
    return list(best.values())


def _pair_text(one: lab.AuditFinding, audit: lab.Audit) -> str:
    """The shape, and the draw if the claim is of that draw alone."""
    return one.shape if one.claim.same_numbers(audit.claim) else f"{one.shape}, {one.of} alone"


def _finding_cells(one: lab.AuditFinding) -> tuple[str, ...]:
    by = "proof" if one.how == "proof" else one.runner
    runs = f"{one.runs:,}" if one.runs else ""
    mark = "  refutes" if one.refutes else ""
    return by, runs, f"{one.epsilon:.3f}", f"{one.delta:.3g}{mark}" if one.delta > 1e-50 else f"0{mark}"


def _show_all(found: lab.AuditTable) -> None:
    rows = [("method", "claimed epsilon", "delta", "epsilon at least", "by", "delta at least", "verdict")]
    for name, one in found.audits.items():
        by = "proof" if one["is_proof"] else f"{one['runs']:,} runs"
        rows.append(
            (
                name,
                f"{one['claimed_epsilon']:g}",
                f"{one['delta']:g}",
                f"{one['epsilon_lower_bound']:.3f}",
                by,
                f"{one['delta_lower_bound']:.3g}",
                "passes" if one["passes"] else "FAILS",
            )
        )
    console.table(rows, right=(1, 2, 3, 5))
    console.line()
    label = "pass" if found.passes else "FAIL"
    words = (
        "nothing refutes any of them"
        if found.passes
        else "not every promise holds: audit these methods alone"
    )
    console.labelled(label, words)
