"""The files of a study: a tidy table twice, figures, checks, and a page that shows them together."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.files import spreadsheet
from queryveil_lab.charts import figures
from queryveil_lab.studies.declaration import Check, Findings, Given, Study

CURATOR = "Made from the raw log: for its curator alone, not for publication."

_STYLE = """
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; color: #1c2430; background: #fff;
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.curator { border: 2px solid #1c2430; padding: .5rem 1rem; font-weight: 600; }
img { width: 100%; height: auto; border: 1px solid #d5dbe3; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: start; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid #d5dbe3; vertical-align: top; }
td:first-child { white-space: nowrap; }
"""


def arrow(study: Study, findings: Findings) -> pa.Table:
    """The tidy table."""
    kinds: dict[str, pa.DataType] = dict.fromkeys(study.columns(), pa.string())
    kinds |= {"repeat": pa.int64(), "value": pa.float64()}
    for axis in study.axes:
        kinds[axis.name] = {int: pa.int64(), float: pa.float64(), str: pa.string()}[type(axis.values[0])]
    return pa.Table.from_pylist(list(findings), schema=pa.schema(list(kinds.items())))


def fill(out: Path, study: Study, given: Given, findings: Findings, checks: Sequence[Check]) -> None:
    """Write everything into an empty folder."""
    pq.write_table(arrow(study, findings), out / "table.parquet", compression="zstd")
    write_csv(out / "table.csv", study, findings)
    drawn = study.drawn(findings)
    (out / "figures").mkdir()
    for name, chart in drawn.items():
        figures.save(chart, out / "figures", name)
    facts = {**about(study, given), "checks": [check.as_dict() for check in checks]}
    (out / "checks.json").write_text(json.dumps(facts, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    (out / "index.html").write_text(page(study, given, drawn, checks), encoding="utf-8")


def about(study: Study, given: Given) -> dict[str, Any]:
    """How to run the same again."""
    return {
        "study": study.name,
        "axes": {name: list(values) for name, values in given.axes.items()},
        "repeats": given.repeats,
        "for": CURATOR if given.log is not None else "No log was read.",
        "software": f"queryveil {metadata.version('queryveil')}",
    }


def write_csv(file: Path, study: Study, findings: Findings) -> None:
    """The tidy table as text that a spreadsheet opens without running any of it."""
    columns = study.columns()
    spreadsheet.write_rows(file, columns, ([row[column] for column in columns] for row in findings))


def page(study: Study, given: Given, drawn: Mapping[str, Any], checks: Sequence[Check]) -> str:
    """The study at a glance."""
    body = [f"<h1>{_escape(study.question)}</h1>"]
    if given.log is not None:
        body.append(f'<p class="curator">{_escape(CURATOR)}</p>')
    body += [f"<p>The paper: {_escape(study.paper)}</p>"]
    for name, chart in drawn.items():
        title = figures.title_of(chart.to_dict())
        body += [
            f'<p><img src="figures/{_escape(name)}.svg" alt="{_escape(title)}"><br>',
            f'<a href="figures/{_escape(name)}.html">interactive</a>, <a href="figures/{_escape(name)}.png">PNG</a>, '
            f'<a href="figures/{_escape(name)}.svg">SVG</a></p>',
        ]
    values = {
        name: ", ".join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in of_axis)
        for name, of_axis in given.axes.items()
    }
    body += [
        *_render_table("Expected shapes", ((one.verdict, one.name, one.detail) for one in checks)),
        *_render_table("What varied", ((one.name, one.help, values[one.name]) for one in study.axes)),
        *_render_table("What was measured", ((one.name, one.help, one.unit) for one in study.metrics)),
        f"<p>Runs of each cell: {given.repeats}. All numbers: "
        '<a href="table.csv">table.csv</a>, <a href="table.parquet">table.parquet</a>. '
        f"Made with queryveil {_escape(metadata.version('queryveil'))}.</p>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' file:; "
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape(study.name)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _render_table(title: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = ("".join(f"<td>{_escape(one)}</td>" for one in row) for row in rows)
    return [
        f"<h2>{title}</h2>",
        "<table><tbody>",
        *(f"<tr>{line}</tr>" for line in lines),
        "</tbody></table>",
    ]


def _escape(text: Any) -> str:
    return html.escape(str(text))
