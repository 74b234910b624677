"""Draw docs/assets/home.svg, the picture of the home page, from a demo.

    queryveil demo --out demo
    python scripts/home_picture.py demo

Noise is random, so the counts differ between runs.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import queryveil as qv

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "home.svg"
SHOWN = 5
WIDTH, HEIGHT, GAP, LINE = 270, 190, 45, 24


def log_rows(demo: Path) -> list[tuple[str, str]]:
    """Return searches of one user with enough short queries, the last of which is a planted secret."""
    log = qv.read(demo / "log.tsv.gz")
    events = log.events()
    for line in (demo / "log.tsv.gz.secrets.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        user, _, secret, _ = line.split("\t")
        rows = log.engine.arrow(events.filter(events.user == user).order_by("time").select("query"))
        short = {
            one: None for one in rows["query"].to_pylist() if one != qv.normalise(secret) and len(one) < 24
        }
        if len(short) >= SHOWN and len(secret) < 24:
            return [(user, query) for query in [*list(short)[: SHOWN - 1], secret]]
    raise SystemExit("no user with a secret has enough short queries: make another demo")


def release_rows(demo: Path) -> list[tuple[str, str]]:
    """Return the first rows of the release."""
    table = qv.load(demo / "release").tables["items"].slice(0, SHOWN)
    return [(row["query"], f"{row['count']:,} ± {row['deviation']:,.0f}") for row in table.to_pylist()]


def certificate_lines(demo: Path) -> list[str]:
    """Return the guarantee, its meaning, and the outcome of its checks."""
    guarantee, verified = qv.load(demo / "release").guarantee, qv.verify(demo / "release")
    if not guarantee.delta:
        raise SystemExit("The release of the demo has no delta.")
    return [
        f"epsilon {guarantee.epsilon:g}, delta 1 in {1 / (guarantee.delta or 1):,.0f}",
        "A 1% suspicion about one user",
        f"rises to at most {100 * guarantee.believed(0.01):.1f}%,",
        "in at least 999 of 1,000 releases.",
        f"{'All' if verified.passes else 'Not all'} checks passed",
    ]


def draw_text(x: float, y: float, content: str, attributes: str = "") -> str:
    """Return an SVG text element."""
    return f'<text x="{x}" y="{y}" {attributes}>{escape(content)}</text>'


def draw_card(place: int, title: str, lines: list[str]) -> str:
    """Draw a card with a title; `lines` are relative to its corner."""
    x = place * (WIDTH + GAP) + 1
    frame = f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff" stroke="#9aa5b1"/>'
    heading = draw_text(16, 30, title, 'font-weight="700" font-size="16"')
    return f'<g transform="translate({x} 1)">{frame}{heading}{"".join(lines)}</g>'


def draw_picture(demo: Path) -> str:
    """Return the picture as SVG."""
    private, public = "#b42318", "#1d2939"
    log = [
        draw_text(16, 62 + LINE * at, user, 'fill="#667085"')
        + draw_text(82, 62 + LINE * at, query, f'fill="{private if at == SHOWN - 1 else public}"')
        for at, (user, query) in enumerate(log_rows(demo))
    ]
    release = [
        draw_text(16, 62 + LINE * at, query)
        + draw_text(WIDTH - 16, 62 + LINE * at, count, 'text-anchor="end" fill="#175cd3"')
        for at, (query, count) in enumerate(release_rows(demo))
    ]
    certificate = [
        draw_text(16, 62 + LINE * at, line, 'fill="#067647" font-weight="700"' if at in (0, 4) else "")
        for at, line in enumerate(certificate_lines(demo))
    ]
    arrows = [
        f'<path d="M{x + 8} {HEIGHT / 2}h22m-8 -7l8 7l-8 7" fill="none" stroke="#667085" stroke-width="2"/>'
        for x in (WIDTH, 2 * WIDTH + GAP)
    ]
    cards = [
        draw_card(0, "Raw log (private)", log),
        draw_card(1, "Release (public)", release),
        draw_card(2, "Certificate", certificate),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * WIDTH + 2 * GAP + 2} {HEIGHT + 2}" '
        'font-family="sans-serif" font-size="13.5" fill="#1d2939">' + "".join([*cards, *arrows]) + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw_picture(Path(sys.argv[1])), encoding="utf-8")
