"""Commands on releases that someone changed end with a sentence and the right exit code, whatever was changed."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.files import folder
from tests import mutations
from tests.command import command

COMMANDS = (
    "report changed --out page.html",
    "report changed --curator --log log.parquet",
    "evaluate log.parquet changed",
    "release export changed --out csv",
    "release verify changed",
    "attack exposure changed",
    "attack linkage log.parquet changed",
    "attack homogeneity changed --query tennis --size 10",
    "synthesize changed --out made.tsv --rows 50",
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**70, 1e308, -1.5, "", "x", "x" * 1000, "\0", "../x", "none", "\ud800"),
    *([], [[]], {}, {"x": 1}, ["x", 1, None]),
)
TEXTS = (["tennis lessons"] * 60, ["cheap measles cure"] * 60, ["tennis"] * 60)
CODES = {0, 1, 2, 3, 5}
"""How a command on a changed release may end."""


def write_log(place: Path) -> None:
    users = [f"u{number}" for number in range(60)]
    log = {"user": users * 3, "query": [text for texts in TEXTS for text in texts]}
    pq.write_table(pa.table(log), place / "log.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    write_log(place)
    mutations.published(place)
    return place


def change_manifest(content: dict[str, Any], rng: random.Random) -> None:
    """Another value, or none, somewhere."""
    at = rng.choice(list(mutations.leaves(content)))
    at = at[: rng.randint(1, len(at))]
    inner: Any = content
    for name in at[:-1]:
        inner = inner[name]
    last: Any = at[-1]
    if rng.random() < 0.25:
        del inner[last]
    else:
        inner[last] = rng.choice(VALUES)


def change_table(file: Path, rng: random.Random) -> None:
    """A column less, more, renamed, empty, or of another type."""
    table = pq.ParquetFile(file).read()  # also where a name stands twice
    names = table.column_names
    if not names:
        return
    one = rng.choice(names)
    at, rows = names.index(one), table.num_rows
    others = [
        pa.array([rng.choice([None, "", "x"]) for _ in range(rows)], pa.string()),
        pa.array([rng.choice([None, 0, -(2**63)]) for _ in range(rows)], pa.int64()),
        pa.array([rng.choice([float("nan"), 0.5]) for _ in range(rows)], pa.float64()),
        pa.array([rng.choice([b"\xff", b""]) for _ in range(rows)], pa.binary()),
        pa.array([rng.choice([[1], [], None]) for _ in range(rows)], pa.list_(pa.int64())),
        pa.nulls(rows),
    ]
    ways = [
        lambda: table.remove_column(at),
        lambda: table.rename_columns([name if name != one else "x" for name in names]),
        lambda: table.slice(0, 0),
        lambda: table.append_column(one, table.column(at)),
        *((lambda other=other: table.set_column(at, one, other)) for other in others),
    ]
    pq.write_table(rng.choice(ways)(), file)


def change_and_ask(release: Path, to: Path, rng: random.Random) -> str:
    """Change a copy of a release at random, and choose a command about it."""
    made = mutations.copied(release, to)
    content = mutations.manifest_of(made)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.5:
            change_manifest(content, rng)
        elif files := sorted(made.glob("*.parquet")):
            change_table(rng.choice(files), rng)
    if rng.random() < 0.5:
        state_files(made, content)
    (made / "manifest.json").write_text(json.dumps(content))
    clear()
    return rng.choice(COMMANDS)


def state_files(release: Path, content: dict[str, Any]) -> None:
    """Digests, sizes, columns and numbers of rows as they are now, where the manifest still has a place for them."""
    for file in release.glob("*.parquet"):
        table = pq.ParquetFile(file).read()
        columns = [{"name": one.name, "type": str(one.type)} for one in table.schema]
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            content["files"][file.name] |= {"sha256": folder.file_digest(file), "bytes": file.stat().st_size}
            content["files"][file.name] |= {"rows": table.num_rows}
            content["tables"][file.stem]["rows"] = table.num_rows
            for known, now in zip(content["tables"][file.stem]["columns"], columns, strict=False):
                known.update(now)


def clear() -> None:
    """Remove what an earlier command may have left."""
    for left in ("page.html", "made.tsv", "csv", "changed.private"):
        shutil.rmtree(left) if Path(left).is_dir() else Path(left).unlink(missing_ok=True)


@pytest.mark.parametrize("method", mutations.METHODS)
def test_no_change_of_a_release_is_a_fault_of_ours(
    method: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeded, so that the same changes are made each time; `benchmarks/fuzz.py` makes thousands."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(made / "log.parquet", "log.parquet")
    rng = random.Random(f"changed {method}")
    for number in range(20):
        asked = change_and_ask(made / method, tmp_path / "changed", rng)
        done = command(*asked.split())
        assert done.code in CODES, (number, asked, done.err)


@pytest.mark.parametrize("parameter", ["k", "x"])
def test_a_malformed_release_is_refused_with_a_sentence(parameter: str, made: Path, tmp_path: Path) -> None:
    release = mutations.copied(made / "k-query", tmp_path / "changed")
    content = mutations.manifest_of(release)
    content["parameters"] = {parameter: "many"}
    (release / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(qv.InputError, match="parameter 'k' is"):
        qv.load(release)


@pytest.mark.parametrize("method", mutations.METHODS)
def test_a_release_without_tables_is_refused_and_told_so(method: str, made: Path, tmp_path: Path) -> None:
    release = mutations.copied(made / method, tmp_path / "changed")
    content = mutations.manifest_of(release)
    for name in content["tables"]:
        (release / f"{name}.parquet").unlink()
        del content["files"][f"{name}.parquet"]
    content["tables"] = {}
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")
    with pytest.raises(qv.InputError, match="it has no table"):
        qv.load(release)
    assert "the manifest names no table" in " ".join(check.detail for check in qv.verify(release).failed)
    assert command("release", "verify", str(release)).code == 1


@pytest.mark.parametrize("asked", ["attack linkage", "evaluate"])
def test_sessions_are_not_counted_in_a_log_that_has_none(asked: str, made: Path, tmp_path: Path) -> None:
    release = mutations.copied(made / "k-session", tmp_path / "moved")  # without its private folder
    done = command(*asked.split(), str(made / "log.parquet"), str(release))
    assert done.code == 3 and "'time' column" in done.err


def test_the_calibration_of_an_item_kind_is_an_object(made: Path, tmp_path: Path) -> None:
    release = mutations.copied(made / "zealous-approximate", tmp_path / "changed")
    content = mutations.manifest_of(release)
    content["calibration"]["keywords"] = True
    (release / "manifest.json").write_text(json.dumps(content))
    assert command("evaluate", str(made / "log.parquet"), str(release)).code == 3
