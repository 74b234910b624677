"""One writer for an output, and nothing charged for what cannot be written."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.files import appearing, folder, output
from tests.command import command
from tests.conftest import many

METHOD = qv.Zealous(epsilon=4, delta=1e-3, max_items=3, tau=2, guarantee="probabilistic")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    qv.Ledger("ledger.db").open("web", epsilon=1e6, delta=0.9)
    return tmp_path


def charges() -> int:
    return len(qv.Ledger("ledger.db").budget("web").events)


PUBLISHER = """
import sys
import queryveil as qv
from tests.conftest import many
log = qv.read(many(300, ["apples", "pears"]))
log.users
print("ready", flush=True)
sys.stdin.readline()
try:
    qv.publish(log, qv.Zealous(epsilon=4, delta=9e-4, max_items=3), out="out", ledger="ledger.db", source="web")
except qv.UsageError as error:
    print(error)
else:
    print("published")
"""


def test_one_of_many_processes_is_charged(here: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[2])])}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PUBLISHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(4)
    ]
    for one in started:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    # All at once: whoever is first has the output for itself.
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = sorted(one.communicate(timeout=300)[0] for one in started)
    assert said[-1] == "published\n" and len(said) == 4
    assert all("is being written by another process" in one or "exists already" in one for one in said[:-1])
    assert charges() == 1
    assert qv.verify("out").passes


def test_one_of_sixteen_threads_is_charged(here: Path) -> None:
    log = qv.read(many(300, ["apples", "pears"]))
    log.users  # noqa: B018 (counted once, before they start)
    barrier, outcomes = threading.Barrier(16), []

    def publish() -> None:
        barrier.wait()
        try:
            qv.publish(log, METHOD, out="out", ledger="ledger.db", source="web")
            outcomes.append("published")
        except qv.UsageError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=publish) for _ in range(16)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(outcomes) == 16 and outcomes.count("published") == 1
    assert charges() == 1
    assert {one.name for one in here.iterdir()} == {"ledger.db", "out", "out.private"}


def test_a_claim_holds_until_it_is_left(here: Path) -> None:
    with appearing.claim_paths(Path("out")) as claims:
        told = pytest.raises(qv.UsageError, match="'out' is being written by another process; wait for it")
        with told, appearing.claim_paths(Path("out")):
            pass
        (claim,) = claims
        claim.content.write_text("whole")
        claims.publish_claims("'out' is complete")
    assert Path("out").read_text() == "whole"
    with appearing.claim_paths(Path("out")):  # the place is free; whether it may be used is asked elsewhere
        pass
    assert [one.name for one in here.iterdir() if one.name.startswith(".")] == []


@pytest.mark.parametrize(
    "place",
    ["s3://bucket/out", "http://host/out", "https:/x", "gs://b", "hdfs://n:1/x", "C:/x", "c:x", "C:\\x"],
)
@pytest.mark.parametrize(
    "line",
    [
        "publish missing.tsv --method k-query --k 2 --out {}",
        "publish missing.tsv --method k-query --k 2 --out https:",
        "advise missing.tsv --purpose coverage --out {}",
        "demo --users 500 --out {}",
        "generate {}.tsv --users 20",
        "generate log.tsv --users 20 --results-out {}.tsv",
    ],
)
def test_an_address_elsewhere_is_no_place_for_an_output(line: str, place: str, here: Path) -> None:
    done = command(*line.format(place).split())
    assert done.code == 2 and "looks like an address outside this machine" in done.err, done
    assert {one.name for one in here.iterdir()} == {"ledger.db"}


@pytest.mark.parametrize("name", ["log:2026", "2026-01-01T10:30", "a.b:c"])
def test_a_colon_in_a_name_is_no_address(name: str, here: Path) -> None:
    output.new_folder(Path(name))
    qv.publish(qv.read(many(300, ["apples"])), METHOD, out=name)
    assert qv.verify(here / name).passes


def test_python_too_refuses_an_address_before_the_charge(here: Path) -> None:
    log = qv.read(many(300, ["apples"]))
    with pytest.raises(qv.UsageError, match="outside this machine"):
        qv.publish(log, METHOD, out="s3://bucket/out", ledger="ledger.db", source="web")
    assert charges() == 0


def test_a_full_disk_is_told_before_the_charge(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    log = qv.read(many(300, ["apples"]))
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(qv.OutputError, match=r"cannot be written \(No space left on device\)$|; ") as told:
        qv.publish(log, METHOD, out="out", ledger="ledger.db", source="web")
    assert "charge" not in str(told.value) and charges() == 0
    assert {one.name for one in here.iterdir()} == {"ledger.db"}


def test_a_disk_that_is_full_after_the_charge_says_that_it_stands(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    log = qv.read(many(300, ["apples"]))
    monkeypatch.setattr(folder, "write_table", full)
    with pytest.raises(qv.OutputError) as told:
        qv.publish(log, METHOD, out="out", ledger="ledger.db", source="web")
    assert "(No space left on device) (the charge to the ledger stands); choose a place" in str(told.value)
    assert charges() == 1
    with pytest.raises(qv.OutputError) as told:
        qv.publish(log, METHOD, out="out")
    assert "charge" not in str(told.value)


def test_whatever_fails_after_the_charge_says_that_it_stands(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queryveil.release import publish as release

    lines = "".join(f"u{user}\tapples\n" for user in range(300))
    Path("log.tsv").write_text("user\tquery\n" + lines)
    line = "publish log.tsv --method zealous --epsilon 4 --delta 9e-4 --max-items 1 --out out"
    for error, code in ((RuntimeError("x"), 70), (MemoryError(), 5), (OSError(5, "x"), 6)):

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(release, "_private_figures", fail)
        done = command(*line.split(), "--ledger", "ledger.db", "--source", "web")
        assert done.code == code and "(the charge to the ledger stands)" in done.err, done
        done = command(*line.split())
        assert done.code == code and "charge" not in done.err, done


def test_a_claim_without_descriptors_leaves_nothing(here: Path) -> None:
    """From none to all that it needs: whatever fails, what was begun is gone."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(one.name) for one in Path("/proc/self/fd").iterdir())
    failed = 0
    for spare in range(12):
        taken: list[int] = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, limit[1]))
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(spare):
                os.close(taken.pop())
            try:
                with appearing.claim_paths(Path("out"), Path("out.private")):
                    pass
            except OSError:
                failed += 1
        finally:
            for one in taken:
                os.close(one)
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        assert [one.name for one in here.iterdir() if "ledger" not in one.name] == [], spare
    assert 0 < failed < 12
