"""On which step of the band a guarantee stands, and that no public file has a blank to fill in."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.catalog import open_catalog
from queryveil.display import slopes
from queryveil.release.documents import certificate, rendering
from tests.conftest import many

BLANK = re.compile(r"\[[A-Za-z][^\]\n]{2,}\]")
WORDS = slopes.Words(described="", before="", after="", before_reading="", without="", no_release="")
STEPS: dict[str, qv.Mechanism] = {
    "strong": qv.Steered(epsilon=1, delta=1e-6),
    "moderate": qv.Zealous(epsilon=2, delta=1e-7, max_items=3, guarantee="approximate"),
    "weak": qv.Zealous(epsilon=5, delta=1e-9, max_items=3, guarantee="approximate"),
    "none": qv.TokenHash(),
}


@pytest.mark.parametrize("step", list(STEPS))
def test_each_step_has_its_limit(step: str) -> None:
    promise = STEPS[step].plan(users=10_000).guarantee
    assert certificate.strength_of(promise) == step
    right = promise.guessed_right if promise.private else 1.0
    assert {"strong": right <= 0.751, "moderate": 0.751 < right <= 0.901}.get(step, right > 0.901)


def test_a_crowd_a_part_of_a_person_and_a_large_delta_are_not_strong() -> None:
    assert certificate.strength_of(qv.KQuery(k=1000).plan().guarantee) == "weak"
    assert certificate.strength_of(qv.Semantic(epsilon=0.1, epsilon_per="query").plan().guarantee) == "weak"
    loose = qv.Zealous(epsilon=0.1, delta=0.1, max_items=3, guarantee="approximate").plan(users=10_000)
    assert certificate.strength_of(loose.guarantee) == "none"


def test_the_picture_says_what_the_guarantee_says() -> None:
    promise = STEPS["strong"].plan().guarantee
    drawn = certificate.picture("x", promise, open_catalog())
    for prior in (0.01, 0.1, 0.5):
        assert f"from {100 * prior:g}% to {100 * promise.believed(prior):.0f}"[:13] in drawn
    assert drawn.count("<svg") == 2 and "100%, certainty" not in drawn


def test_labels_of_a_picture_never_cover_each_other() -> None:
    rises = [slopes.Rise(b, a, f"{b}", f"{a}") for b, a in ((0.01, 0.97), (0.1, 0.98), (0.5, 0.99))]
    drawn = slopes.figure("x", "t", rises, WORDS)
    places = sorted(float(one) for one in re.findall(r'class="big" x="227" y="([\d.]+)"', drawn)[:3])
    assert len(places) == 3 and min(b - a for a, b in pairwise(places)) >= 16.9


@pytest.mark.parametrize("name", list(qv.MECHANISMS))
@pytest.mark.parametrize("said", [True, False])
def test_no_public_file_has_a_blank(name: str, said: bool, tmp_path: Path) -> None:
    """Over every method, with and without a publisher's words: only the private text has blanks."""
    method = qv.MECHANISMS[name](**qv.MECHANISMS[name].example)
    about = qv.About(publisher="Example Ltd", title="Title") if said else None
    log = qv.read(many(60, ["new york", "apple pie", "flu symptoms", "dog", "cancer"]))
    qv.publish(log, method, out=tmp_path / "out", about=about, allow_empty=True, i_understand=True)
    named = {file.name for file in (tmp_path / "out").iterdir()}
    assert ("CITATION.cff" in named) is said and named >= set(rendering.NAMES[1:])
    for file in named - {"manifest.json"}:
        if not file.endswith(".parquet"):
            text = (tmp_path / "out" / file).read_text(encoding="utf-8")
            assert BLANK.findall(re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)) == [], file
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert ("about" in manifest) is said
    assert BLANK.search((tmp_path / "out.private" / "DPIA.md").read_text()), "the search finds blanks"
