"""A promise that means nothing is not made by accident, and never in silence."""

from __future__ import annotations

import html
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.catalog import Sentence
from queryveil.catalog.numbers import round_up
from queryveil.privacy.guarantee import ADD_REMOVE, REPLACE
from queryveil.privacy.statements import NOT_EXCLUDED
from queryveil.privacy.strength import guessed_right
from queryveil.release.documents import assessment, chances, sentences
from tests.command import command
from tests.conftest import many
from tests.seeded import NoiseOfUsers, SeededBits

SECRETS = pa.concat_tables([many(1, [f"secret {number}"], prefix=f"u{number}-") for number in range(40)])
SHARED = many(200, ["apples"])


def made(
    kind: str = "approximate-dp", epsilon: float = 0.1, delta: float = 1e-6, **more: Any
) -> qv.Guarantee:
    return qv.Guarantee(kind=kind, epsilon=epsilon, delta=delta, **({"neighbours": REPLACE} | more))


def documents(release: Path) -> str:
    """Everything that is said in public, on one line."""
    names = ("DATASHEET.md", "report.html", "croissant.json", "manifest.json")
    return " ".join(" ".join((release / name).read_text(encoding="utf-8").split()) for name in names)


# -- words come from epsilon and delta together --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["approximate-dp", "probabilistic-dp"])
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_REMOVE])
def test_a_large_delta_is_never_called_almost_nothing(kind: str, neighbours: str) -> None:
    for delta in (0.95, 0.5, 0.04, 0.01):
        said = made(kind, delta=delta, neighbours=neighbours).plain_words()
        assert "almost nothing" not in said and "little" not in said, (delta, said)
        assert "may learn everything" in said
    assert "almost nothing" in made("approximate-dp", delta=1e-6).plain_words()


def test_the_bands_are_those_of_the_guess_between_two_histories() -> None:
    """(e^epsilon - 1 + 2 delta)/(e^epsilon + 1) is attained, by randomised response that tells the truth with delta."""
    for epsilon, delta in ((0.1, 0.0), (1.0, 1e-3), (3.0, 0.2)):
        truth = (1 - delta) * math.exp(epsilon) / (math.exp(epsilon) + 1) + delta
        assert guessed_right(epsilon, delta) == pytest.approx(truth)
    assert guessed_right(800, 0.5) == 1


def test_verdicts_do_not_limit_what_a_large_delta_allows() -> None:
    promise = made(delta=0.95)
    assert chances.is_weak(promise) and not chances.is_weak(made())
    plan = qv.Zealous(epsilon=0.1, delta=0.95, guarantee="approximate").plan(users=1000)
    manifest = {
        **plan.as_dict(),
        "tables": {},
        "software": {"name": "q", "version": "0"},
        "created": "2026-01-01",
    }
    answers = assessment.answers(manifest)
    assert all(answer.verdict == NOT_EXCLUDED for answer in answers), answers
    said = " ".join(
        [*sentences.promises(plan.guarantee), *sentences.withheld(manifest), *sentences.limits(manifest)]
    )
    assert "almost nothing" not in said and "delta 0.95 is too large" in said


# -- a delta that is too large is refused, or said in public -------------------------------------------------


def test_at_a_delta_that_lets_secrets_through_nothing_is_called_harmless(tmp_path: Path) -> None:
    log = qv.read(SECRETS)
    method = qv.Zealous(epsilon=0.1, delta=0.95, max_items=1, guarantee="approximate")
    with pytest.raises(
        qv.UsageError, match=r"delta 0.95 is too large.*about 38 of 40 users.*i_understand=True"
    ):
        qv.publish(log, method, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    release = qv.publish(log, method, out=tmp_path / "out", i_understand=True)
    assert release.released["items"] > 10, "these are secrets of one user each"
    said = documents(tmp_path / "out")
    assert "almost nothing" not in said and said.count("delta 0.95 is too large") >= 4
    assert qv.verify(tmp_path / "out").passes, qv.verify(tmp_path / "out").failed


@pytest.mark.parametrize(
    ("method", "users", "fine"),
    [
        (qv.Zealous(epsilon=9, delta=1 / 240, max_items=1, guarantee="probabilistic"), None, False),
        (qv.Zealous(epsilon=9, delta=1 / 241, max_items=1, guarantee="probabilistic"), None, True),
        (qv.Zealous(epsilon=9, delta=1 / 241, max_items=1, guarantee="probabilistic"), 241, False),
        (qv.Zealous(epsilon=9, delta=1e-3, max_items=1, guarantee="approximate"), None, False),
        (qv.Zealous(epsilon=9, delta=9e-4, max_items=1, guarantee="approximate"), None, True),
        (qv.Zealous(epsilon=9, delta=9e-4, max_items=1, guarantee="approximate"), 2_000, False),
        (qv.ClickGraph(epsilon=2, delta=1e-3, max_queries=1), None, False),
        (qv.ClickGraph(epsilon=2, delta=9e-4, max_queries=1), None, True),
        (qv.ClickGraph(epsilon=2, delta=9e-4, max_queries=1), 2_000, False),
    ],
    ids=str,
)
def test_the_limit_is_one_in_the_number_of_users_or_a_thousandth(
    method: qv.Mechanism, users: int | None, fine: bool, tmp_path: Path
) -> None:
    log = qv.read(pa.concat_tables([SECRETS, SHARED]))
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=50, delta=0.5)
    asked: dict[str, Any] = {
        "users": users,
        "out": tmp_path / "out",
        "ledger": ledger,
        "source": "log",
        "allow_empty": True,
    }
    if not fine:
        with pytest.raises(qv.UsageError, match="too large"):
            qv.publish(log, method, **asked)
        assert ledger.budget("log").events == (), "refused before the charge"
    release = qv.publish(log, method, **asked, i_understand=True)
    assert release.guarantee.delta_too_large is not fine
    assert qv.verify(tmp_path / "out").passes, qv.verify(tmp_path / "out").failed


def test_a_private_number_of_users_decides_nothing_in_public(tmp_path: Path) -> None:
    """Neighbours by adding a user differ in that number: whatever depends on it would tell."""
    method = qv.Zealous(epsilon=9, delta=9e-4, max_items=1, guarantee="approximate", neighbours="add-remove")
    found = [qv.publish(qv.read(many(users, ["apples"])), method) for users in (1_000, 1_200)]
    assert found[0].guarantee == found[1].guarantee
    assert any("1/users" in one for one in found[1].plan.warnings), "the curator is warned"


def test_what_is_not_understood_is_refused_before_the_log_is_read() -> None:
    for asked in (
        "--method token-hash",
        "--method zealous --epsilon 0.1 --delta 0.95",
        "--method click-graph --epsilon 1 --delta 0.01",
        "--method zealous --guarantee probabilistic --epsilon 1 --delta 1e-4 --users 10000",
        "--method zealous --epsilon 1 --delta 1e-3 --guarantee approximate --neighbours add-remove",
    ):
        done = command("publish", "nowhere.tsv", *asked.split(), "--out", "out")
        assert done.code == 2 and "--i-understand" in done.err, (asked, done.err)
        again = command("publish", "nowhere.tsv", *asked.split(), "--out", "out", "--i-understand")
        assert again.code == 3, (asked, again.err)


def test_plan_warns_and_does_not_refuse() -> None:
    asked = ("plan", "zealous", "--epsilon", "0.1", "--delta", "0.95", "--guarantee", "approximate")
    done, (warning,) = (
        command(*asked),
        qv.Zealous(epsilon=0.1, delta=0.95, guarantee="approximate").plan().warnings,
    )
    assert isinstance(warning, Sentence) and warning.id == "plan.warning.delta"
    assert done.code == 0 and warning in " ".join(done.out.split())
    document = command(*asked, "--json").document
    assert document["warnings"] == [warning] and document["guarantee"]["delta_too_large"]


# -- noise that somebody may know ----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [qv.Noise(SeededBits(1)), NoiseOfUsers(1)], ids=["bits", "draws"])
@pytest.mark.parametrize(
    "method",
    [
        qv.Zealous(epsilon=9, delta=1e-6, max_items=1, guarantee="probabilistic"),
        qv.ClickGraph(epsilon=9, delta=1e-6, max_queries=1),
        qv.Semantic(epsilon=9, domain="entity"),
        qv.KQuery(k=5),
    ],
    ids=lambda one: one.name,
)
def test_seeded_noise_promises_nothing(noise: qv.Noise, method: qv.Mechanism, tmp_path: Path) -> None:
    log = qv.read(SHARED)
    with pytest.raises(qv.UsageError, match="can draw it again"):
        qv.publish(log, method, out=tmp_path / "out", noise=noise)
    release = qv.publish(log, method, out=tmp_path / "out", noise=noise, i_understand=True)
    assert release.guarantee.kind == "none"
    (caveat,) = (one for one in release.guarantee.caveats if one.code == "known-noise")
    for document in ("DATASHEET.md", "report.html", "croissant.json"):
        text = " ".join(html.unescape((tmp_path / "out" / document).read_text(encoding="utf-8")).split())
        assert caveat.sentence.lower() in text.lower(), document
    assert qv.verify(tmp_path / "out").passes, qv.verify(tmp_path / "out").failed
    # The broken twin: the same folder with the promise that secret noise would have had.
    manifest = tmp_path / "out" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["guarantee"] |= {"epsilon": 9.0, "delta": 1e-6}
    manifest.write_text(json.dumps(content))
    assert not qv.verify(tmp_path / "out").passes


def test_the_noise_of_the_system_is_secret() -> None:
    assert qv.Noise().secret and not qv.Noise(SeededBits(1)).secret and not NoiseOfUsers(1).secret


# -- headlines -----------------------------------------------------------------------------------------------


def test_every_headline_says_what_is_compared() -> None:
    assert made(epsilon=1).headline == (
        "epsilon 1, delta 1e-06, if one user's history is replaced (approximate differential privacy)"
    )
    assert "if one user is added or removed" in made(neighbours=ADD_REMOVE).headline
    assert "if one phrase of one user is replaced" in made(unit="phrase").headline
    assert "if one user's history is replaced" in made("probabilistic-dp").after_processing()
    for method in (
        qv.Zealous(epsilon=1, delta=1e-6, guarantee="probabilistic"),
        qv.ClickGraph(epsilon=1, delta=1e-6),
        qv.Semantic(epsilon=1),
    ):
        assert "if one user" in method.plan(users=1000).guarantee.headline


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1000, "1,000"), (1e3 + 0.4, "1,010"), (123456, "124,000"), (1e6, "1,000,000"), (0.0012345, "0.00124")],
)
def test_no_promised_number_is_written_with_an_exponent_where_people_would_not(
    number: float, shown: str
) -> None:
    assert round_up(number) == shown and "e+" not in round_up(number, 6)


def test_parts_say_what_they_are_for() -> None:
    asked = [
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--items",
        "keywords,queries,clicks",
        "--guarantee",
        "approximate",
    ]
    said = " ".join(command("plan", "zealous", *asked).out.split())
    for kind in ("keywords", "queries", "clicks"):
        assert f"- for {kind}: epsilon 0.333334" in said


def test_the_way_out_names_only_what_can_be_lowered() -> None:
    for most, named in ((1, False), (3, True)):
        method = qv.Zealous(epsilon=0.01, delta=1e-9, max_items=most, guarantee="probabilistic")
        with pytest.raises(qv.CannotBeMet) as refused:
            qv.publish(qv.read(SHARED), method)
        assert ("lower max_items" in str(refused.value)) is named
