"""`queryveil ledger`: the privacy budget of source logs."""

from __future__ import annotations

from typing import Annotated

import typer

import queryveil as qv
from queryveil.cli import console, options
from queryveil.errors import instead

File = Annotated[str, typer.Argument(metavar="LEDGER", help="A SQLite file, or an SQLAlchemy URL.")]


def add_to(app: typer.Typer) -> None:
    commands = typer.Typer(help="The privacy budget of source logs.", no_args_is_help=True)
    commands.command("open")(open_budget)
    commands.command("show")(show)
    app.add_typer(commands, name="ledger")


def open_budget(
    ledger: File,
    source: Annotated[str, typer.Option(help="Name of the source log.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss that all its releases may add up to.")],
    delta: Annotated[float, typer.Option(help="Failure probability that they may add up to.")],
    neighbours: Annotated[str, typer.Option(help="replace or add-remove.")] = "replace",
    as_json: options.Json = False,
) -> None:
    """Give a source log a budget."""
    known = {"replace": "replace-one-user", "add-remove": "add-remove-one-user"}
    if neighbours not in known:
        raise qv.UsageError(f"there is no neighbour relation '{neighbours}'", instead(neighbours, known))
    book = qv.Ledger(ledger)
    book.open(source, epsilon=epsilon, delta=delta, neighbours=known[neighbours])
    if as_json:
        console.as_json(book.show(source)[0].as_dict())
    else:
        console.labelled(
            "opened", f"'{source}' with epsilon {epsilon:g} and delta {delta:g}, {neighbours} one user"
        )


def show(
    ledger: File,
    source: Annotated[str | None, typer.Option(help="Only this source.")] = None,
    as_json: options.Json = False,
) -> None:
    """Budgets, what was spent and what is left."""
    accounts = qv.Ledger(ledger).show(source)
    if as_json:
        console.as_json([account.as_dict() for account in accounts])
        return
    for account in accounts:
        console.line(f"{account.source}   ({account.neighbours})")
        for label, amount in (("budget", account.budget), ("spent", account.spent), ("left", account.left)):
            console.labelled(label, f"epsilon {amount.epsilon:g}, delta {amount.delta:g}")
        for event in account.events:
            note = "" if event.composable else " (not composable)"
            console.labelled(
                f"#{event.id}", f"{event.time:%Y-%m-%d %H:%M} {event.method}: {event.headline}{note}"
            )
