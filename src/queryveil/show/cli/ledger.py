"""`queryveil ledger`: the privacy budget of source logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.show.cli import console, options
from queryveil.show.cli.help import App

File = Annotated[str, typer.Argument(metavar="LEDGER", help="A SQLite file, or an SQLAlchemy URL.")]


def add_to(app: typer.Typer) -> None:
    commands = App(help="The privacy budget of source logs.", no_args_is_help=True)
    commands.command("open")(open_budget)
    commands.command("show")(show)
    app.add_typer(commands, name="ledger")


def open_budget(
    ledger: File,
    source: Annotated[str, typer.Option(help="Name of the source log.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss that all its releases may add up to.")],
    delta: Annotated[float, typer.Option(help="Delta that all its releases may add up to.")],
    neighbours: Annotated[str, typer.Option(help="replace or add-remove.")] = "replace",
    only_composable: Annotated[
        bool, typer.Option("--only-composable", help="Refuse releases that no budget can limit.")
    ] = False,
    gaussian: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the budget, 0 to 1, kept for Gaussian releases; if left out, all kinds share one pool.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Give a source log a budget."""
    known = {"replace": "replace-one-user", "add-remove": "add-remove-one-user"}
    if neighbours not in known:
        raise qv.UsageError(f"there is no neighbour relation '{neighbours}'", instead(neighbours, known))
    book = qv.Ledger(ledger)
    book.open(
        source,
        epsilon=epsilon,
        delta=delta,
        neighbours=known[neighbours],
        only_composable=only_composable,
        gaussian=gaussian,
    )
    if as_json:
        console.as_json(book.show(source)[0].as_dict())
    else:
        account = book.budget(source)
        only = "; only releases that add up" if only_composable else ""
        kept = f"; {_kept(account)}" if _kept(account) else ""
        console.labelled("opened", f"'{source}' with {account.budget}, {account.compared}{only}{kept}")


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
        console.line(f"{account.source}   (epsilon and delta {account.compared})")
        for label, said in _totals(account):
            console.labelled(label, said)
        for event in account.events:
            said = f"{event.time:%Y-%m-%d %H:%M} {event.method}: {event.headline}"
            console.labelled(f"#{event.id}", f"{said}{_cost(event, account)}")
        if account.not_composable:
            of = "1 release is" if account.not_composable == 1 else f"{account.not_composable} releases are"
            console.labelled(
                "Warning",
                f"{of} not limited by this budget. However much is left, there is no guarantee for everything that "
                "was published from this log together. A source opened with --only-composable refuses such releases.",
            )
        if _kept(account):
            console.labelled("Note", _kept(account))
        if account.only_composable:
            console.labelled("Note", "only releases that add up are taken")
        if not account.sealed:
            console.labelled(
                "Note",
                "an older ledger, in which nobody would notice changed rows; the next charge seals them",
            )


def _totals(account: Any) -> Iterator[tuple[str, str]]:
    """Budget, what was spent and what is left: by the rule of the source, and by plain sums where these differ."""
    yield "budget", str(account.budget)
    if not account.mu:
        yield "spent", str(account.spent)
        yield "left", str(account.left)
        return
    together = f"Gaussian releases together have mu {account.mu:.4g} and p {account.p:.4g}"
    yield "spent", f"{account.spent} ({together})"
    if account.rule.code != "sums":
        yield "by sums", f"{account.by_sums}, if every epsilon and every delta is added up"
    either = "or" if account.rule.code == "pooled" else "and"
    others = f"epsilon {account.left.epsilon:.6g} {either} delta {account.left.delta:.6g} for other kinds"
    more = f"mu {account.mu_left:.4g} for a Gaussian release with the same p as the last one"
    yield "left", f"{others}, or {more}"
    if account.if_looked is not None:
        only = ", as long as only Gaussian releases are charged" if account.kind == "gaussian-dp" else ""
        yield (
            "Condition",
            "This total and the budget hold if nobody looked at a release before choosing the parameters of a later "
            f"one. If somebody did, only {account.if_looked} is proven{only}. A source opened with --gaussian does "
            "not need this condition.",
        )


def _kept(account: Any) -> str:
    """What a source keeps for Gaussian releases, if it was opened so."""
    if account.gaussian_share is None:
        return ""
    if not account.gaussian_share:
        return "Gaussian releases add up like others"
    return f"{account.gaussian_share * 100:.4g} % of the budget is kept for Gaussian releases"


def _cost(event: Any, account: Any) -> str:
    """What an event took from the budget, where its own numbers do not say it."""
    if not event.composable:
        return " - not limited by the budget: it cannot be added up with other releases"
    shift = "" if event.mu is None else f"mu {event.mu:.4g}, p {event.p:.4g}"
    if account.compared in event.headline:
        return f" - {shift}" if shift else ""
    beside = f" ({shift})" if shift else ""
    return f" - here {event.cost}{beside}, {account.compared}"
