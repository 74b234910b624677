"""Figures are drawn, need no network, and show hostile queries as text."""

from __future__ import annotations

import html.parser
import json
import re
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.charts import figures, marks
from queryveil_lab.charts.figures import Scale, Words, wrapped
from queryveil_lab.studies.declaration import Findings
from queryveil_lab.studies.drawing import Bars, Curves, Printed

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & \"quoted\" 'query'"
D, SHARE = Scale("d", "queries (d)", log=True, ticks=(1, 10, 100)), Scale("share", "released (%)")


def png_size(file: Path) -> tuple[int, int]:
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


def is_blank(file: Path) -> bool:
    """A drawn figure has many different bytes of pixels, an empty one a few."""
    content, at, packed = file.read_bytes(), 8, b""
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            packed += content[at + 8 : at + 8 + size]
        at += 12 + size
    return len(set(zlib.decompress(packed))) < 20


def chart(name: str = "tight", words: Words = Words("Most at d = 10", "lines: expected")) -> object:  # noqa: B008
    rows = [{"d": d, "share": share, "by": name} for d, share in ((1, 2.0), (10, 5.0), (100, 1.0))]
    return figures.curves(rows, rows, x=D, y=SHARE, by="by", by_title="threshold", words=words)


class Page(html.parser.HTMLParser):
    """What a browser would see of a page: tags, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] += data


def test_a_figure_is_written_three_ways(tmp_path: Path) -> None:
    files = figures.save(chart(), tmp_path, "share")
    assert [file.name for file in files] == ["share.png", "share.svg", "share.html"]
    width, height = png_size(files[0])
    assert width > 800 and height > 600
    assert not is_blank(files[0])
    assert "Most at d = 10" in files[1].read_text()


def test_the_look_at_pixels_can_fail(tmp_path: Path) -> None:
    import vl_convert

    nothing = {"mark": {"type": "point", "opacity": 0}, "data": {"values": [{}]}, "width": 400, "height": 300}
    empty = tmp_path / "empty.png"
    empty.write_bytes(vl_convert.vegalite_to_png(nothing | {"config": {"view": {"stroke": None}}}, scale=2))
    assert is_blank(empty)


@pytest.mark.parametrize("place", ["series", "title", "item"])
def test_a_query_that_is_markup_stays_text(tmp_path: Path, place: str) -> None:
    if place == "item":
        rows = [{"match": HOSTILE, "side": side, "rank": 1} for side in ("log", "release")]
        drawn = figures.ranks(
            rows, item="match", side="side", rank="rank", words=Words("One"), y_title="rank"
        )
    elif place == "series":
        drawn = chart(name=HOSTILE)
    else:
        drawn = chart(words=Words(HOSTILE))
    png, svg, page = figures.save(drawn, tmp_path, "hostile")
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert text.count("</script") == 3, "the two programs and the chart end, and nothing else does"
    assert [tag for tag, _ in found.tags].count("script") == 3
    inside = found.scripts[1]
    assert "<" not in inside
    shown = json.dumps(json.loads(inside), ensure_ascii=False)
    assert "</script><script>alert(1)</script><!--" in shown, "JSON reads it as it was"
    assert "<script" not in svg.read_text(encoding="utf-8")
    assert not is_blank(png)


def test_a_page_asks_the_network_for_nothing(tmp_path: Path) -> None:
    page = Page(figures.save(chart(), tmp_path, "alone")[2].read_text(encoding="utf-8"))
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'")
    assert not re.search(r"https?:|unsafe-eval|\*", policy)
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "base", "object", "embed")
        assert not attrs.keys() & {"src", "href", "srcset", "action"}, tag
    spec = json.loads(page.scripts[1])
    assert not re.search(r'"url":', json.dumps(spec)), "the data is inside"


def test_series_differ_in_more_than_colour(tmp_path: Path) -> None:
    rows = [{"d": d, "share": d / 10, "by": by} for by in ("tight", "paper") for d in (1, 10, 100)]
    drawn = figures.curves(rows, rows, x=D, y=SHARE, by="by", by_title="threshold", words=Words("Two"))
    spec = json.dumps(drawn.to_dict())
    assert '"strokeDash"' in spec and '"shape"' in spec
    svg = figures.save(drawn, tmp_path, "two")[1].read_text()
    assert len(set(re.findall(r'stroke-dasharray="([\d,.]+)"', svg))) >= 2
    many = [{"d": 1, "share": 1.0, "by": str(number)} for number in range(marks.MOST_SERIES + 1)]
    with pytest.raises(qv.UsageError, match="series apart"):
        figures.curves(many, [], x=D, y=SHARE, by="by", by_title="", words=Words("Too many"))


def test_missing_libraries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(qv.UsageError) as refused:
        lab.compare(None, "release-probability", out=tmp_path / "out")
    assert "altair" in refused.value.message
    assert list(tmp_path.iterdir()) == [], "it was refused before any work"


PRINTED = Printed(
    source="A paper, table 1",
    lines=(({"by": "tight"}, {1: 3.0, 10: 9.0, 100: 2.0}), ({"by": "absent"}, {1: 1.0})),
    given={"epsilon": 0.6931471805599453},
)


def _drawn(epsilon: float = 0.693147, printed: Printed | None = PRINTED) -> list[dict[str, Any]]:
    """The rows of a figure of two lines, the second on the first."""
    rows = [
        {
            "how": "measured",
            "metric": "share",
            "repeat": 0,
            "epsilon": epsilon,
            "d": d,
            "by": by,
            "value": value,
        }
        for by in ("tight", "same")
        for d, value in ((1, 2.0), (10, 5.0), (100, 1.0))
    ]
    curves = Curves(
        name="one",
        title="Most at d = 10",
        metric="share",
        x=D,
        y=SHARE,
        by="by",
        printed=printed,
        under="under",
    )
    ((_, made),) = curves(Findings(tuple(rows)))
    spec = made.to_dict()
    assert "tight and same lie on each other" in " ".join(spec["title"]["subtitle"])
    return next(iter(spec["datasets"].values())) if spec.get("datasets") else spec["data"]["values"]


def test_what_a_paper_printed_stands_beside_the_line_it_belongs_to() -> None:
    """Only where the parameters are the paper's, and only for lines that are there; what is kept has six digits."""
    own = [row for row in _drawn() if row["queryveil_drawn"] == "printed"]
    assert [(row["series"], row["d"], row["value"]) for row in own] == [
        ("tight", 1, 3.0),
        ("tight", 10, 9.0),
        ("tight", 100, 2.0),
    ]
    assert {row["queryveil_printed"] for row in own} == {"filled: as printed (A paper, table 1)"}
    assert not [row for row in _drawn(epsilon=2.0) if row["queryveil_drawn"] == "printed"]
    assert not [row for row in _drawn(printed=None) if row["queryveil_drawn"] == "printed"]


def test_two_printed_points_are_not_joined() -> None:
    """Nothing is known of what is between them."""
    two = Printed(source="A paper", lines=(({"by": "tight"}, {1: 3.0, 100: 2.0}),))
    assert not any(
        row["queryveil_joined"] for row in _drawn(printed=two) if row["queryveil_drawn"] == "printed"
    )
    assert all(row["queryveil_joined"] for row in _drawn() if row["queryveil_drawn"] == "printed")


def test_bars_of_a_paper_are_a_panel_of_their_own() -> None:
    rows = [
        {"metric": "n", "what": what, "method": "here", "value": value}
        for what, value in (("a", 1), ("b", 2))
    ]
    bars = Bars(
        name="one",
        title="Two",
        metric="n",
        item="what",
        panel="method",
        x_title="n",
        printed=Printed(source="A paper", lines=(({}, {"a": 7, "c": 9}),)),
    )
    ((_, made),) = bars(Findings(tuple(rows)))
    spec = made.to_dict()
    drawn = next(iter(spec["datasets"].values())) if spec.get("datasets") else spec["data"]["values"]
    assert [row for row in drawn if row["method"] != "here"] == [
        {"what": "a", "value": 7, "method": "as printed: A paper"}
    ]


def test_a_line_without_points_has_a_stroke_in_the_legend_and_others_keep_their_marks() -> None:
    rows = [{"d": d, "share": 1.0 + d, "by": name} for name in ("bound", "measured") for d in (1, 10)]
    made = figures.curves(
        rows, rows[2:], x=D, y=SHARE, by="by", by_title="method", words=Words("One"), printed=()
    )
    scales = [layer["encoding"].get("shape", {}).get("scale") for layer in made.to_dict()["layer"]]
    assert {"domain": ["bound", "measured"], "range": ["stroke", "square"]} in scales


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a log teaches 41 % of what it does", ["a log teaches", "41 % of what it", "does"]),
        ("in logs of an hour or of 168 h, apart", ["in logs of an", "hour or of", "168 h, apart"]),
        ("entropy of all at m = 1, and here", ["entropy of all", "at m = 1, and", "here"]),
        ("delta = 1e-05, or 2.5e+06, not 1e-10", ["delta = 1e-5, or", "2.5e+6, not", "1e-10"]),
    ],
)
def test_no_line_ends_between_a_number_and_its_unit(text: str, lines: list[str]) -> None:
    assert wrapped(text, 16) == lines
