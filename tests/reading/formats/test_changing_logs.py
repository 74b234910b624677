"""A log that becomes another one while it is read: one sentence, nothing charged in vain, nothing published."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import InputError
from queryveil.reading import lines
from queryveil.reading.log_files import stage
from queryveil.reading.model import ReadOptions
from tests.conftest import many
from tests.reading.formats.logs import write

METHOD = qv.Zealous(epsilon=4, delta=1e-3, max_items=3, tau=2, guarantee="probabilistic")


def people(count: int, query: str = "apples") -> pa.Table:
    return many(count, [query, "pears"])


def replaced(file: Path) -> None:
    """Another log under the same name, as an export leaves it."""
    pq.write_table(people(5000), file.with_suffix(".new"))
    file.with_suffix(".new").replace(file)


def rewritten(file: Path) -> None:
    """Other rows in the same file, of the same size and with the same time: only the footer tells."""
    before = file.stat()
    pq.write_table(people(300, "grapes"), file.with_suffix(".new"))
    assert file.with_suffix(".new").stat().st_size == before.st_size
    with file.open("r+b") as content:
        content.write(file.with_suffix(".new").read_bytes())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_ino == before.st_ino


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "replaced": (replaced, "the log changed while it was read: 'log.parquet' is not the file that it was"),
    "rewritten": (rewritten, "the log changed while it was read"),
    "cut short": (lambda file: os.truncate(file, 100), "the log changed while it was read"),
    "touched": (lambda file: os.utime(file, (1, 1)), "the log changed while it was read"),
    "deleted": (Path.unlink, "'log.parquet' was deleted while it was read"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(people(300), tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


def ledger_of(folder: Path) -> qv.Ledger:
    ledger = qv.Ledger(str(folder / "ledger.db"))
    ledger.open("log", epsilon=100, delta=0.5)
    return ledger


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_changes_before_the_charge_is_not_charged(change: str, file: Path, tmp_path: Path) -> None:
    log, ledger = qv.read(file), ledger_of(tmp_path)
    assert log.staged is not None and log.staged.direct and log.users == 300
    CHANGES[change][0](file)
    with pytest.raises(InputError, match=CHANGES[change][1]) as caught:
        qv.publish(log, METHOD, items="queries", out=tmp_path / "out", ledger=ledger, source="log")
    assert caught.value.hint and "charge" not in str(caught.value)
    assert not ledger.budget("log").events
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.private").exists()


class Meanwhile(qv.Noise):
    """Noise that something happens after."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens = happens

    def discrete_laplace(self, scale: Any, size: int) -> Any:
        drawn = super().discrete_laplace(scale, size)
        self.happens()
        return drawn


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_that_changes_after_the_charge_is_not_published(
    change: str, file: Path, tmp_path: Path
) -> None:
    log, ledger = qv.read(file), ledger_of(tmp_path)
    noise = Meanwhile(lambda: CHANGES[change][0](file))
    with pytest.raises(InputError, match=CHANGES[change][1]) as caught:
        qv.publish(
            log,
            METHOD,
            items="queries",
            out=tmp_path / "out",
            ledger=ledger,
            source="log",
            noise=noise,
            i_understand=True,  # noise of a test's own promises nothing
        )
    assert "charge" in caught.value.message and "stands" in caught.value.message
    assert len(ledger.budget("log").events) == 1
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.private").exists()


def advised(log: qv.SearchLog, _: qv.Release, change: Callable[[], None]) -> object:
    return qv.advise(log, "coverage", progress=lambda *_: change())


def linked(log: qv.SearchLog, release: qv.Release, change: Callable[[], None]) -> object:
    return qv.LinkageAttack(trials=5).run(log, [release], progress=lambda *_: change())


def exposed(log: qv.SearchLog, _: qv.Release, change: Callable[[], None]) -> object:
    return qv.ExposureAttack().run([log], progress=lambda *_: change())


def evaluated(log: qv.SearchLog, release: qv.Release, change: Callable[[], None]) -> object:
    change()
    return qv.evaluate(log, release, "coverage@5")


JUDGES = (advised, linked, exposed, evaluated)


@pytest.mark.parametrize("judged", JUDGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("change", ["replaced", "rewritten", "deleted"])
def test_figures_of_a_log_that_changes_are_refused(
    judged: Callable[..., object], change: str, file: Path
) -> None:
    """They would be of neither log. Without a change they are there."""
    log = qv.read(file)
    release = qv.publish(log, METHOD, items="queries")
    assert judged(log, release, lambda: None) is not None
    changed: list[bool] = []

    def once() -> None:
        if not changed:
            changed.append(True)
            CHANGES[change][0](file)

    with pytest.raises(InputError, match=CHANGES[change][1]):
        judged(qv.read(file), release, once)


def test_a_text_is_copied_when_it_is_read_and_may_change_afterwards(tmp_path: Path) -> None:
    text = "user\tquery\n" + "".join(f"u{n}\tapples\n" for n in range(300))
    file = write(tmp_path / "log.tsv", text)
    log = qv.read(file)
    file.unlink()
    assert qv.publish(log, METHOD, items="queries").released == {"items": 1}


def changed_at_the_first_block(file: Path, change: Callable[[], object]) -> Callable[[int, int], None]:
    """A report of progress that changes a file once."""
    done: list[bool] = []

    def report(*_: int) -> None:
        if not done:
            done.append(True)
            change()

    return report


TEXTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut short": (lambda file: os.truncate(file, 5000), "the log changed while it was read"),
    "deleted": (Path.unlink, "'b.tsv' was deleted while it was read"),
    "longer": (lambda file: file.write_bytes(file.read_bytes() * 2), "the log changed while it was read"),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("change", TEXTS)
def test_a_text_that_changes_while_it_is_read_gives_no_rows(
    change: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4096)
    for name in ("a.tsv", "b.tsv"):
        rows = "".join(f"u{n * 7919 % 1000}\tq{n * 104729}\n" for n in range(3000))
        write(tmp_path / "log" / name, pack(("user\tquery\n" + rows).encode()))
    alter, says = TEXTS[change]
    progress = changed_at_the_first_block(tmp_path, lambda: alter(tmp_path / "log" / "b.tsv"))
    with pytest.raises(InputError, match=says) as caught:
        stage(tmp_path / "log", ReadOptions(), tmp_path / "into", progress)
    assert caught.value.hint
