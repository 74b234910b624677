"""The frame of a page: one look for the public and the curator's report, no script, no network, fit for print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from queryveil.display import svg
from queryveil.display.escaping import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may do for a page: show it."""

_STYLE = """
:root { --ink: #17202b; --soft: #55606e; --line: #d3d9e1; --paper: #ffffff; --card: #f4f7fa; --accent: #1f5f8b;
  --first: #0072b2; --second: #b34700; --third: #00785a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e7ebf0; --soft: #a9b4c1; --line: #39434f; --paper: #14191f; --card: #1c232b; --accent: #8cc4ec;
    --first: #6cb6ea; --second: #f09a5b; --third: #4cc9a4; }
}
* { box-sizing: border-box; }
html { background: var(--paper); }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; margin: 0 0 .6rem; }
h1 { font-size: 1.75rem; letter-spacing: -.01em; margin-bottom: .5rem; } h2 { font-size: 1.3rem; }
h3 { font-size: 1.05rem; margin-top: 1.6rem; }
p, ul, ol { margin: 0 0 .8rem; } ul { padding-left: 1.2rem; } li { margin-bottom: .3rem; }
a { color: var(--accent); }
section { border-top: 1px solid var(--line); margin-top: 2.2rem; padding-top: 1.6rem; }
.kind { color: var(--soft); font-size: .85rem; letter-spacing: .06em; text-transform: uppercase; margin: 0 0 .4rem; }
.soft { color: var(--soft); font-size: .92rem; }
.card { background: var(--card); border: 1px solid var(--line); border-left: .35rem solid var(--accent);
  border-radius: .3rem; padding: 1.1rem 1.3rem .6rem; margin: 1.4rem 0; }
.card p:first-child { font-size: 1.12rem; }
.card.warn { border-left-color: var(--second); }
nav { margin-top: 1.4rem; } nav ul { list-style: none; padding: 0; margin: 0; }
nav li { display: inline-block; margin: 0 1.1rem .3rem 0; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); grid-gap: 0 2rem; }
.two h3 { margin-top: .6rem; }
.scroll { overflow-x: auto; margin: 0 0 1rem; } .scroll:focus-visible { outline: 2px solid var(--accent); }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { text-align: start; padding: .4rem .9rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: break-word; }
thead th { border-bottom: 2px solid var(--line); color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; }
td.n, th.n { text-align: end; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
table.keyed th { width: 13rem; }
table.measures td:last-child { min-width: 12rem; }
table.items { table-layout: fixed; } table.items th.n { width: 7.5rem; } table.items td { overflow-wrap: anywhere; }
bdi { overflow: hidden; display: inline-block; max-width: 100%; vertical-align: top; }
dt { font-weight: 600; margin-top: .8rem; } dd { margin: .1rem 0 .6rem; }
code, pre { font: .88em/1.5 ui-monospace, "Liberation Mono", Menlo, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .3rem;
  padding: .8rem 1rem; white-space: pre-wrap; }
code.digest { word-break: break-all; }
blockquote { margin: 0 0 1rem; padding: .2rem 0 .2rem 1.1rem; border-left: .2rem solid var(--line); }
footer { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
@media screen and (max-width: 49rem) {
  table.measures thead { display: none; } table.measures tr { display: block; border-bottom: 1px solid var(--line); }
  table.measures tr { padding: .5rem 0; } table.measures td { display: block; border: 0; padding: 0; }
  table.measures td:nth-child(2), table.measures td:nth-child(3) { display: inline; padding-right: .3rem; }
  table.measures td:nth-child(2) { font-weight: 600; }
}
@media (max-width: 34rem) {
  body { padding: 1.25rem 1rem 3rem; } h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; }
  .card { padding: .9rem 1rem .4rem; }
  table.keyed th, table.keyed td { display: block; width: 100%; border: 0; padding: 0; }
  table.keyed td { border-bottom: 1px solid var(--line); padding-bottom: .5rem; margin-bottom: .5rem; }
  table.items th.n { width: 5.5rem; }
}
@media print {
  :root { --ink: #000; --soft: #333; --line: #aaa; --paper: #fff; --card: #fff; --accent: #000; --first: #000;
    --second: #555; --third: #000; }
  @page { margin: 18mm; }
  html { font-size: 10pt; } body { max-width: none; padding: 0; } nav { display: none; }
  h2, h3 { break-after: avoid; } tr, .card, .two > div, blockquote p { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; }
}
"""


@dataclass(frozen=True)
class Section:
    """A part of a page; its name is what links lead to."""

    name: str
    title: str
    body: Sequence[str]


def document(
    *, kind: str, title: str, head: Sequence[str], sections: Sequence[Section], foot: str, style: str = ""
) -> str:
    """A whole page: what matters most in `head`, then sections with links to them."""
    kept = [one for one in sections if any(one.body)]
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in kept)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}{svg.STYLE}{style}</style>",
        "</head>",
        "<body>",
        "<header>",
        f'<p class="kind">{escape(kind)}</p>',
        f"<h1>{escape(title)}</h1>",
        "</header>",
        "<main>",
        # What is in the head has headings of its own, which must not follow the title at once.
        '<h2 class="unseen">In short</h2>',
        *head,
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>',
    ]
    for one in kept:
        lines += [f'<section id="{one.name}">', f"<h2>{escape(one.title)}</h2>", *one.body, "</section>"]
    lines += ["</main>", f'<footer><p class="soft">{foot}</p></footer>', "</body>", "</html>", ""]
    return "\n".join(lines)


def table(
    heading: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), kind: str = ""
) -> str:
    """A table whose cells are HTML already; `numbers` are the columns to set at the right.

    What may be wider than the page is scrolled, by the keyboard too, and has a name for those who do not see it.
    """
    place = dict.fromkeys(numbers, ' class="n"')
    head = "".join(f'<th scope="col"{place.get(at, "")}>{escape(one)}</th>' for at, one in enumerate(heading))
    lines = ("".join(f"<td{place.get(at, '')}>{one}</td>" for at, one in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    of_kind = f' class="{kind}"' if kind else ""
    name = escape(f"Table: {', '.join(one for one in heading if one)}")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table{of_kind}>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def folded(name: str, title: str, body: Sequence[str]) -> str:
    """A part that is closed until someone opens it; on paper it stays closed."""
    inside = "".join(body)
    return f'<details id="{name}"><summary>{escape(title)}</summary>{inside}</details>' if inside else ""


def keyed(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values, which go below each other on a phone; values are HTML already."""
    body = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{value}</td></tr>' for name, value in rows)
    return f'<table class="keyed"><tbody>{body}</tbody></table>' if rows else ""


def publisher(about: Sequence[tuple[str, str]]) -> list[str]:
    """What the publisher says, named as theirs."""
    rows = [(name.capitalize(), escape(said)) for name, said in about]
    return (
        [paragraphs(["In the publisher's own words; nothing here checks them."]), keyed(rows)] if rows else []
    )


def listed(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in sentences)}</ul>" if sentences else ""


def paragraphs(sentences: Sequence[str]) -> str:
    return "".join(f"<p>{escape(one)}</p>" for one in sentences if one)
