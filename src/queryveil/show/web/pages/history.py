"""History: releases, what the ledger lists, and series over time."""

from __future__ import annotations

import dataclasses
import datetime
import math
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import queryveil as qv
from queryveil.show import charts
from queryveil.show.web import shelf
from queryveil.show.web.pages.log import interrupted_publications
from queryveil.show.web.pages.series import periods_of
from queryveil.show.web.rendering import page
from queryveil.show.web.same import Same

_MOST_DRAWN = 60
"""Marks of one source in a chart: what was spent is computed for each."""


def shown(request: Request) -> Response:
    bench = request.app.state.bench
    settings = bench.settings
    accounts: list[Any] = []
    wrong = None
    if "://" in settings.ledger or Path(settings.ledger).exists():
        try:
            accounts = qv.Ledger(settings.ledger).show()
        except qv.QueryveilError as error:
            wrong = error
    shelved = shelf.load_shelf(settings.releases)
    return page(
        request,
        "history.html",
        step="history",
        releases=shelved.releases,
        damaged=shelved.damaged,
        folder=settings.releases,
        accounts=accounts,
        wrong=wrong,
        spent=charts.draw_spent_over_time(_spending_rows(accounts))
        if sum(len(one.events) for one in accounts) > 1
        else None,
        series=[(one, periods_of(one)) for one in shelved.series],
        interrupted=interrupted_publications(request),
        same=Same(
            f"queryveil ledger show {settings.ledger}",
            f"import queryveil as qv\n\nledger = qv.Ledger({settings.ledger!r})\n"
            "for account in ledger.show():\n    print(account.as_dict())",
        ),
    )


def _spending_rows(accounts: list[Any]) -> dict[str, list[tuple[datetime.datetime, float]]]:
    """What was spent after each charge, by the rule of the ledger: Gaussian releases do not simply add up."""
    found: dict[str, list[tuple[datetime.datetime, float]]] = {}
    for account in accounts:
        step = max(1, math.ceil(len(account.events) / _MOST_DRAWN))
        for number, event in enumerate(account.events, 1):
            if number % step and number < len(account.events):
                continue
            then = dataclasses.replace(account, events=account.events[:number])
            found.setdefault(account.source, []).append((event.time, then.spent.epsilon))
    return found


PAGES = {"/history": shown}
FORMS: dict[str, Any] = {}
