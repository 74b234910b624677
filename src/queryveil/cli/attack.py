"""`queryveil attack NAME ...`: break a release, beside a control."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.cli import console, options


def add_to(app: typer.Typer) -> None:
    attacks = typer.Typer(help="Attack a release, beside a control.", no_args_is_help=True)

    @attacks.callback()
    def group() -> None:
        """Attack a release, beside a control, and say what that means."""

    for name, cls in qv.ATTACKS.items():
        made = [_argument(cls), *options.declared([cls], required=True)]
        made.append(
            inspect.Parameter(
                "as_json", inspect.Parameter.KEYWORD_ONLY, annotation=options.Json, default=False
            )
        )
        attacks.command(name, help=cls.__doc__)(options.with_signature(_attacker(cls), made))
    app.add_typer(attacks, name="attack")


def _argument(cls: type[qv.Attack]) -> inspect.Parameter:
    subject = cls.subject
    kind = Path if subject.needed else Path | None
    return inspect.Parameter(
        "subject",
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[
            kind, typer.Argument(metavar=subject.kind.upper(), help=subject.help, show_default=False)
        ],
        default=inspect.Parameter.empty if subject.needed else None,
    )


def _attacker(cls: type[qv.Attack]) -> Any:
    def attack(**given: Any) -> None:
        as_json, path = given.pop("as_json"), given.pop("subject")
        made = cls(**options.given(cls, given))
        with console.waiting("attacking"):
            found = made.run(None if path is None else qv.load(path))
        if as_json:
            console.as_json(found.as_dict())
        else:
            show(cls, found)

    return attack


def show(cls: type[qv.Attack], found: qv.AttackResult) -> None:
    console.line(f"{found.attack}: {cls.__doc__}")
    console.line()
    if found.table:
        console.table(found.table, right=tuple(range(len(found.table[0]))))
        console.line()
    for label, sentence in found.words:
        console.labelled(label, sentence)
