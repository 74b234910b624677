"""`queryveil ledger`: the privacy budget of source logs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.files import output
from queryveil.show.cli import console, options
from queryveil.show.cli.help import App

File = Annotated[
    str, typer.Argument(metavar="LEDGER", help="A SQLite file, or postgresql://user@host/database.")
]
OneSource = Annotated[str | None, typer.Option(help="Only this source.")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", help="Also epsilon and delta: what was spent, what is left, and of each release."
    ),
]
_MANY_MORE = 1024
"""An account counts no more releases that fit."""
_FORMAT = "queryveil-ledger-export"


def add_to(app: typer.Typer) -> None:
    commands = App(help="The privacy budget of source logs.", no_args_is_help=True)
    commands.command("open")(open_budget)
    commands.command("show")(show)
    commands.command("budget")(budget)
    commands.command("export")(export)
    commands.command("verify")(verify)
    app.add_typer(commands, name="ledger")


def open_budget(
    ledger: File,
    source: Annotated[str, typer.Option(help="Name of the source log.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss that all its releases may add up to.")],
    delta: Annotated[float, typer.Option(help="Delta that all its releases may add up to.")],
    neighbours: Annotated[str, typer.Option(help="replace or add-remove.")] = "replace",
    unit: Annotated[
        str,
        typer.Option(
            help="Whom the budget is for: user, or user-day, user-week, user-month for each user in each period."
        ),
    ] = "user",
    only_composable: Annotated[
        bool, typer.Option("--only-composable", help="Refuse releases that no budget can limit.")
    ] = False,
    repeated: Annotated[
        bool,
        typer.Option(
            "--repeated",
            help="Every release must be like the first one or give away less; more of them then fit.",
        ),
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
    units = ("user", "user-day", "user-week", "user-month")
    if unit not in units:
        raise qv.UsageError(f"there is no unit '{unit}'", instead(unit, units))
    book = qv.Ledger(ledger)
    book.open(
        source,
        epsilon=epsilon,
        delta=delta,
        neighbours=known[neighbours],
        only_composable=only_composable,
        repeated=repeated,
        unit=unit,
        gaussian=gaussian,
    )
    account = book.budget(source)
    if as_json:
        console.as_json(account.as_dict())
        return
    said = [f"'{source}' with {account.budget}, {account.compared}"]
    said += [f"for each {account.unit}"] if unit != "user" else []
    said += ["only releases that add up"] if only_composable else []
    said += ["only releases like the first one"] if repeated else []
    said += [_reserve_text(account)] if _reserve_text(account) else []
    console.labelled("opened", "; ".join(said))


def show(
    ledger: File,
    source: OneSource = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Also epsilon of everything together, at several deltas.")
    ] = False,
    verbose: Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Print budgets, how much of each is used, and every release that was charged."""
    accounts = qv.Ledger(ledger).show(source)
    if as_json:
        console.as_json([_account_document(account, curve) for account in accounts])
        return
    for account in accounts:
        console.line(f"{account.source}   (epsilon and delta {account.compared})")
        _show_totals(account, verbose or curve)
        for event in account.events:
            console.labelled(f"#{event.id}", _entry_text(event, account, verbose))
        for label, said in _note_lines(account):
            console.labelled(label, said)
        if curve:
            _show_curve(account)


def budget(
    ledger: File,
    source: Annotated[str, typer.Option(help="Name of the source log.")],
    verbose: Verbose = False,
    as_json: options.Json = False,
) -> None:
    """Print the budget of one source, and how much of it is used."""
    account = qv.Ledger(ledger).budget(source)
    if as_json:
        document = account.as_dict()
        document["events"] = len(account.events)
        console.as_json(document)
        return
    console.line(f"{account.source}   (epsilon and delta {account.compared})")
    _show_totals(account, verbose)
    console.labelled("releases", f"{len(account.events):,}; queryveil ledger show lists them")


def export(
    ledger: File,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="New JSON file.")],
    source: OneSource = None,
    as_json: options.Json = False,
) -> None:
    """Write every budget and every release that was charged to a file, for an audit or a backup of the figures."""
    output.new_file(out, "--out")
    book = qv.Ledger(ledger)
    accounts, found = book.show(source), book.verify()
    heads = {name: head for name, head in found.heads.items() if source in (None, name)}
    document = {
        "format": _FORMAT,
        "format_version": 1,
        "sources": heads,
        "accounts": [_account_document(account, True) for account in accounts],
    }
    with output.disk_errors(out):
        out.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        console.as_json({"file": str(out), "sources": heads})
        return
    for name, head in heads.items():
        console.labelled(
            "exported", f"'{name}': {_format_releases(head['events'])}, last digest {head['head'][:16]}"
        )
    console.labelled(
        "Next", f"keep the file where nobody can change it; later: ledger verify LEDGER --since {out}"
    )


def verify(
    ledger: File,
    since: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier export: everything in it must still be there."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compute every digest of a ledger anew: a changed, added or missing row shows."""
    found = qv.Ledger(ledger).verify()
    if since is not None:
        found = found.since(_read_export(since))
    if as_json:
        console.as_json(found.as_dict())
    else:
        _show_findings(found, since)
    if not found.passes:
        raise qv.CheckFailed(
            f"the ledger fails: {'; '.join(found.problems)}",
            "restore it from a backup that passes, and charge again whatever was published since",
        )


# -- what is shown -------------------------------------------------------------------------------------------


def _account_document(account: Any, curve: bool) -> dict[str, Any]:
    found: dict[str, Any] = account.as_dict()
    if curve:
        found["curve"] = [{"delta": one.delta, "epsilon": one.epsilon} for one in account.curve()]
    return found


def _read_export(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        sources: dict[str, Any] = found["sources"]
        good = found["format"] == _FORMAT and all(
            isinstance(one["events"], int) and isinstance(one["head"], str) for one in sources.values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise qv.InputError(
            f"'{file}' cannot be read as an export of a ledger ({type(error).__name__})",
            "pass a file that `ledger export` wrote",
        ) from None
    if not good:
        raise qv.InputError(f"'{file}' is no export of a ledger", "pass a file that `ledger export` wrote")
    return sources


def _show_findings(found: Any, since: Path | None) -> None:
    for name, head in found.heads.items():
        if not any(problem.startswith(f"'{name}'") for problem in found.problems):
            console.labelled(
                "ok", f"'{name}': {_format_releases(head['events'])}, last digest {head['head'][:16]}"
            )
    for problem in found.problems:
        console.labelled("FAILED", problem)
    if since is None:
        console.labelled(
            "unchecked",
            "whoever rewrites rows and digests together, or puts back an older copy, shows only beside an export "
            "that was kept elsewhere (--since)",
        )


def _show_totals(account: Any, verbose: bool) -> None:
    each = f" for each {account.unit}" if account.unit != "user" else ""
    console.labelled("budget", f"{account.budget}{each}")
    console.labelled("used", f"{_used_share(account)}{_of_period(account)}")
    for label, said in (*_total_lines(account), *_person_lines(account)) if verbose else ():
        console.labelled(label, said)
    for label, said in _condition_lines(account):
        console.labelled(label, said)


def _used_share(account: Any) -> str:
    """Return the share of the budget that is used, rounded up, and how many releases like the last one still fit."""
    share = f"{math.ceil(1000 * account.used) / 10:g}%"
    more = account.more_like_last
    if more is None:
        return share
    if not more:
        return f"{share}; no more release like the last one fits"
    many = (
        "1 more release like the last one fits"
        if more == 1
        else f"{more:,} more releases like the last one fit"
    )
    return f"{share}; {'at least ' if more >= _MANY_MORE else ''}{many}"


def _total_lines(account: Any) -> Iterator[tuple[str, str]]:
    """What was spent and what is left: by the rule of the source, and by plain sums where these differ."""
    if account.repeated:
        yield from _of_repeated(account)
        return
    of = _of_period(account)
    if not account.mu:
        yield "spent", f"{account.spent}{_added_up(account)}{of}"
        yield "left", f"{account.left}{of}"
        return
    together = f"Gaussian releases together have mu {account.mu:.4g} and p {account.p:.4g}"
    yield "spent", f"{account.spent} ({together}){of}"
    if account.rule.code != "sums":
        yield "by sums", f"{account.by_sums}, if every epsilon and every delta is added up"
    either = "or" if account.rule.code == "pooled" else "and"
    others = f"epsilon {account.left.epsilon:.6g} {either} delta {account.left.delta:.6g} for other kinds"
    more = f"mu {account.mu_left:.4g} for a Gaussian release with the same p as the last one"
    yield "left", f"{others}, or {more}"


def _condition_lines(account: Any) -> Iterator[tuple[str, str]]:
    """What the total and the budget rest on, where Gaussian releases share a pool."""
    if account.if_looked is not None:
        yield (
            "Condition",
            "This total and the budget hold if nobody looked at a release before choosing the parameters of a later "
            f"one. If somebody did, only {account.if_looked} is proven. A source opened with --gaussian does "
            "not need this condition.",
        )


def _of_repeated(account: Any) -> Iterator[tuple[str, str]]:
    of, first = _of_period(account), next(iter(account.sums.costs), None)
    yield "spent", f"{account.spent}{of}"
    if first is None:
        yield "left", "everything; the first release decides how many like it there may be"
        return
    done, times = len(account.sums.costs), account.rule.times(first)
    yield "by sums", f"{account.by_sums}, if every epsilon and every delta is added up"
    yield (
        "left",
        f"{max(0, times - done):,} more releases like the first one; the budget is enough for {times:,}{of}",
    )


def _of_period(account: Any) -> str:
    if not account.periods:
        return ""
    return f" (in {account.fullest.events[0].period}, the period with most)"


def _added_up(account: Any) -> str:
    """Why the total is what it is: entries count by what they cost here, which may be more than they state."""
    events = [event for event in account.fullest.events if event.composable]
    if len(events) < 2 and all(account.compared in event.headline for event in events):
        return ""
    return ", the sum of what each entry below counts as" if len(events) > 1 else ""


def _person_lines(account: Any) -> Iterator[tuple[str, str]]:
    """What all releases say of one person together, where that is less than the sum, or more than the budget."""
    together = account.together
    if account.periods:
        yield (
            "a person",
            f"{together} for one person over all {len(account.periods):,} periods: the budget is for each period",
        )
    elif together.epsilon < account.spent.epsilon * (1 - 1e-6):
        yield (
            "together",
            f"{together} by privacy loss distributions, if nobody looked at a release before choosing the parameters "
            "of a later one. The budget is charged by the sum, which needs no such condition.",
        )


def _note_lines(account: Any) -> Iterator[tuple[str, str]]:
    if account.not_composable:
        of = "1 release is" if account.not_composable == 1 else f"{account.not_composable} releases are"
        yield (
            "Warning",
            f"{of} not limited by this budget. However much is left, there is no guarantee for everything that "
            "was published from this log together. A source opened with --only-composable refuses such releases.",
        )
    if _reserve_text(account):
        yield "Note", _reserve_text(account)
    if account.only_composable:
        yield "Note", "only releases that add up are taken"
    if account.repeated:
        yield "Note", "only releases like the first one are taken, or such that give away less"


def _show_curve(account: Any) -> None:
    points = account.curve()
    console.labelled(
        "curve", "epsilon of all private releases together, for one person, if parameters were planned"
    )
    if points:
        console.table(
            [("", "delta", "epsilon"), *(("", f"{one.delta:g}", f"{one.epsilon:.6g}") for one in points)],
            right=(1, 2),
        )


def _reserve_text(account: Any) -> str:
    """What a source keeps for Gaussian releases, if it was opened so."""
    if account.gaussian_share is None:
        return ""
    if not account.gaussian_share:
        return "Gaussian releases add up like others"
    return f"{account.gaussian_share * 100:.4g} % of the budget is kept for Gaussian releases"


def _entry_text(event: Any, account: Any, verbose: bool) -> str:
    """Return when, who, how, and the guarantee of a release; if asked for, also what it counts as in the total."""
    by = f" by {event.who}" if event.who else ""
    recipe = f" from recipe {event.recipe}" if event.recipe else ""
    period = f" for {event.period}" if event.period else ""
    said = f"{event.time:%Y-%m-%d %H:%M} UTC{by}: {event.method}{period}{recipe} - {event.headline}"
    return f"{said} - {_counts_as(event, account)}" if verbose or not event.composable else said


def _counts_as(event: Any, account: Any) -> str:
    """What an event takes from the budget; where its neighbours are not the ledger's, why that is more."""
    if not event.composable:
        return "not limited by the budget: it cannot be added up with other releases"
    counted = str(event.cost)
    if event.mu is not None and account.rule.code in ("pooled", "reserved"):
        counted = f"mu {event.mu:.4g}, p {event.p:.4g} (alone {event.cost})"
    return f"counts as {counted}" + ("" if account.compared in event.headline else f", {account.compared}")


def _format_releases(many: int) -> str:
    return "1 release" if many == 1 else f"{many:,} releases"
