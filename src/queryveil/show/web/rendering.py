"""From values to pages: templates, numbers as people read them, and errors as sentences."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from queryveil.errors import QueryveilError
from queryveil.show.web.labels import as_field, worded
from queryveil.show.web.pages import LINKS

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
STEPS = (
    ("log", "Log", "Choose a log and confirm its columns"),
    ("risk", "Risk", "See how exposed people are"),
    ("design", "Design", "Choose what to promise"),
    ("publish", "Publish", "Spend budget and write the release"),
    ("attack", "Attack", "Try to break it"),
)
_STATUS = {
    "usage": 400,
    "input": 422,
    "budget": 409,
    "cannot-be-met": 422,
    "output": 507,
    "cannot-compose": 400,
}


_OPTION = re.compile(r"(?<![\w-])--(?!key\b|folder\b|resume\b)([a-z][a-z-]*)")
"""An option of the command line, but for those that the workbench itself is started with."""


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "percent": percent, "size": size, "day": day, "sentence": sentence}
    made.filters |= {"urlencode_lists": query_string, "worded": worded}
    return made


def page(request: Request, template: str, *, status: int = 200, step: str = "", **given: Any) -> HTMLResponse:
    """One page with what every page has around it."""
    bench = request.app.state.bench
    session = request.state.session
    given.setdefault("log", None)
    text = (
        _environment()
        .get_template(template)
        .render(
            steps=STEPS,
            links=LINKS,
            step=step,
            csrf=session.csrf if session else "",
            who=session.who if session else None,
            inside=session is not None,
            further=given["log"] is not None and session is not None and session.has_confirmed(given["log"]),
            remote=bench.settings.remote,
            **given,
        )
    )
    # Names that are not UTF-8 reach pages as lone surrogates, which no encoding of a page has.
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)


def refused(request: Request, error: QueryveilError) -> HTMLResponse:
    """An error that somebody can do something about."""
    said = error.as_dict(as_field)
    return page(
        request,
        "problem.html",
        status=_STATUS.get(error.kind, 400),
        message=said["message"],
        hint=said["hint"],
        back=True,
    )


def query_string(given: Mapping[str, Any]) -> str:
    """A setting behind the question mark of an address; lists are written with commas."""
    return urlencode(
        {name: ",".join(map(str, one)) if isinstance(one, list) else one for name, one in given.items()}
    )


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if value == 0 or value >= 100:
        return f"{value:,.0f}"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"


def percent(share: float | None) -> str:
    """Never 0 % of something that is there."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "under 0.1 %"
    return f"{100 * share:.0f} %" if share in (0, 1) or share >= 0.1 else f"{100 * share:.1f} %"


def size(number_of_bytes: int) -> str:
    value = float(number_of_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "B" or value >= 100 else f"{value:,.1f} {unit}"
        value /= 1000
    return ""


def day(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def sentence(text: str) -> str:
    """A phrase as a sentence: a capital, and a full stop. Options of the command line become the names of fields."""
    text = _OPTION.sub(lambda found: found[1].replace("-", " "), text.strip())
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?:" else f"{text}."
