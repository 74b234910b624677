"""Which forgeries of a release pass: exactly those that a release alone cannot show.

`benchmarks/forge_releases.py` tries all of them, for more methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forgeries, mutations, sizes
from tests.forgeries import COUNT_CHANGES, Forgery

EVERYWHERE = ("", ", everywhere")
ALWAYS = {
    *("earlier day", "day before the format existed", "manifest key withheld", "manifest key about"),
    *("rows of a text added", "row removed", "all rows removed"),
    *("table file: no statistics, as by older Arrow", "other parameter"),
}
PASSING = {
    "steered": ALWAYS
    | {f"text: {change}{where}" for change in ("another text", "very long text") for where in EVERYWHERE}
    | {f"count: {change}{where}" for change in COUNT_CHANGES for where in EVERYWHERE}
    | {
        f"deviation: {change}{where}"
        for change in ("one more", "one less", "ten times")
        for where in EVERYWHERE
    }
    | {"row added", "other method", "invented log"},
    "k-query": ALWAYS | {"text: another text, everywhere", "text: very long text, everywhere", "row twice"},
}
SHARE = 20
"""Of the changes of single values and documents, one in this many is tried here."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("published")
    mutations.published(place / "invented", {name: forgeries.METHODS[name] for name in PASSING})
    return mutations.published(place / "genuine", forgeries.METHODS)


def tried(release: Path, published: dict[str, Path]) -> Iterator[Forgery]:
    others = {name: other for name, other in published.items() if other != release}
    invented = release.parent.parent / "invented" / release.name
    for number, forgery in enumerate(forgeries.forgeries(release, others, invented)):
        many = forgery.change.startswith(("manifest value", "document sentence", "document number"))
        if not many or sizes.FULL or number % SHARE == 0:
            yield forgery


@pytest.mark.parametrize("method", PASSING)
def test_only_forgeries_that_a_release_cannot_show_pass(
    method: str, published: dict[str, Path], tmp_path: Path
) -> None:
    release = published[method]
    results = [
        (forgery, forgeries.passes(release, forgery, tmp_path / "forged"))
        for forgery in tried(release, published)
    ]
    assert len(results) > 80
    passing = [forgery for forgery, passes in results if passes]
    assert [(forgery.change, forgery.place) for forgery in passing if forgery.reason is None] == []
    assert {forgery.change for forgery in passing} == PASSING[method]


def test_the_page_lists_every_class_that_passes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "evidence" / "forgeries.md").read_text(encoding="utf-8")
    assert "the verifier is wrong" not in page
    for method, changes in PASSING.items():
        for change in changes:
            assert f"| {method} | {change} | " in page
