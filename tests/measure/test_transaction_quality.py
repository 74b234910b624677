"""What transactions keep: the paper's example by hand, against what grouping itself counts, and wrong inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.command import command
from tests.mechanisms.transactions.test_clump import FOOD, PAPER, log_of

NAME = "transaction-quality"


@pytest.fixture
def food(tmp_path: Path) -> str:
    file = tmp_path / "food.tsv"
    file.write_text(FOOD)
    return str(file)


def measured(log: pa.Table, method: qv.Mechanism, **options: Any) -> dict[str, float | None]:
    log_read = qv.read(log)
    return qv.evaluate(log_read, qv.publish(log_read, method), NAME, **options).measures


def test_by_hand_clump(food: str) -> None:
    """13 items; published are <fruit, beef, food> twice and <chicken, food> three times: GGD 46/7."""
    log = log_of(*PAPER.items())
    found = measured(log, qv.Clump(k=2, taxonomy=food, order="input", algorithm="paper"), taxonomy=food)
    assert found[NAME] == pytest.approx(46 / 7 / 13)
    assert found[f"{NAME}/suppressed"] == pytest.approx(1 / 13)
    assert found[f"{NAME}/mean-length"] == pytest.approx(12 / 5)
    assert found[f"{NAME}/mean-level"] == pytest.approx((2 * (2 + 3 + 1) + 3 * (3 + 1)) / 12)
    assert found[f"{NAME}/density"] == pytest.approx(12 / 5 / 8) and found[f"{NAME}/floor"] == 0


def test_by_hand_partition(food: str) -> None:
    found = measured(log_of(*PAPER.items()), qv.Partition(k=2, taxonomy=food), taxonomy=food)
    assert found[NAME] == pytest.approx(69 / 7 / 13)
    # {t1, t4} -> <fruit, meat>: fruit 2/7, meat 1/7; the others all stand under food, which loses everything.
    assert found[f"{NAME}/ncp"] == pytest.approx((2 * 2 / 7 + 3 * 1 / 7 + 8) / 13)


@pytest.mark.parametrize("transactions", ["users", "queries"])
@pytest.mark.parametrize("method", [qv.Clump, qv.Partition])
def test_it_agrees_with_the_grouping(method: Any, transactions: str, generated: Path) -> None:
    """Computed from log and release alone, it is what grouping counted with both in its hands."""
    log = qv.read(generated)
    release = qv.publish(log, method(k=5, transactions=transactions))
    noted = dict(zip(*release.private["quality"].to_pydict().values(), strict=True))
    found = qv.evaluate(log, release, NAME).measures
    assert found[NAME] == pytest.approx(noted["ggd_per_item"])
    assert found[f"{NAME}/ncp"] == noted["ncp_per_item"]
    assert found[f"{NAME}/floor"] == pytest.approx(noted["floor_ggd"] / noted["items"])
    assert found[f"{NAME}/suppressed"] == pytest.approx(noted["suppressed"] / noted["items"])
    for part in ("mean-length", "mean-level", "density"):
        assert found[f"{NAME}/{part}"] == pytest.approx(noted[part.replace("-", "_")])


def test_equal_users_lose_nothing(food: str) -> None:
    log = log_of(*((f"u{n}", "apple beef") for n in range(4)))
    found = measured(log, qv.Clump(k=2, taxonomy=food), taxonomy=food)
    assert (found[NAME], found[f"{NAME}/ncp"], found[f"{NAME}/suppressed"]) == (0, 0, 0)


def test_without_the_private_folder_only_ncp_is_missing(food: str, tmp_path: Path) -> None:
    log = qv.read(log_of(*PAPER.items()))
    qv.publish(log, qv.Clump(k=2, taxonomy=food), out=tmp_path / "made")
    (tmp_path / "made.private").rename(tmp_path / "elsewhere")
    found = qv.evaluate(log, tmp_path / "made", NAME, taxonomy=food).measures
    assert found[f"{NAME}/ncp"] is None and all(
        value is not None for name, value in found.items() if not name.endswith("/ncp")
    )


def test_another_taxonomy_is_told(food: str) -> None:
    log = qv.read(log_of(*PAPER.items()))
    release = qv.publish(log, qv.Clump(k=2, taxonomy=food))
    with pytest.raises(qv.InputError, match="concepts that no word of this log has") as told:
        qv.evaluate(log, release, NAME)
    assert "taxonomy" in str(told.value) and "orange" not in str(told.value)


def test_other_releases_have_no_transactions(generated: Path, tmp_path: Path) -> None:
    log, made = qv.read(generated), tmp_path / "made"
    qv.publish(log, qv.KQuery(k=5), out=made)
    done = command("evaluate", str(generated), str(made), "--metric", NAME)
    assert done.code == 3 and "the release has no transactions" in done.err
