"""Fixtures: engines that are started once, and small logs."""

from __future__ import annotations

import datetime as dt
import functools
import gc
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

import queryveil as qv
from queryveil.files import workspace
from queryveil.reading.engine.base import Engine
from queryveil.synthetic.generator import LogSettings, generate
from tests import servers

# A machine with much else to do is slow, which is no failure.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

TESTS = Path(__file__).parent
LAB = TESTS.parent / "lab" / "tests"

# Spark's tests are short: Java's second compiler would cost them more than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Nothing of what is collected is garbage, and half a million objects would be looked at again and again.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave out what is there by now from every later search for garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()


SLOW_PACKAGES = frozenset(
    {
        *("advice", "attack", "browser", "cluster", "docs", "faults", "fuzz", "measure", "show"),
        *("statistical", "supply", "synthetic"),
        # of the lab
        *("audits", "cli", "inversion", "studies"),
    }
)
SLOW_MODULES = {
    "contract": {"attacks", "declared_once", "one_file_one_line", "plugins", "shown_results", "threads"},
    "count": {"bottom_k", "memory", "sets_of_items", "tasks"},
    "language": {"groups", "other_languages", "taxonomy_words"},
    "mechanisms": {
        "ad_hoc_shares",
        "click_graph",
        "click_graph_groups",
        "click_graph_steered",
        "click_graph_theory",
        "k_keyword",
        "k_query",
        "k_session",
        "listed_sums",
        "noisy_histograms",
        "public_lists",
    },
    "reading/engine": {"engine_memory", "spark_lost"},
    "release": {"ledger_gaussian", "load_and_save", "series", "understanding"},
    "verification/methods": {"verification_semantic"},
    "verification": {"changed_releases", "forgeries", "published_verifies", "rewrite"},
}
"""Modules `test_NAME.py` that publish with every method, copy the repository, or start processes."""
SLOW_FIXTURES = frozenset({"spark", "browser", "postgres", "postgres_server", "generated", "generated_few"})
"""Fixtures that start a server or a browser, or make a large log."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the slow packages and modules in the fast tier."""
    return True if config.option.markexpr == "not slow" and _is_slow(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of slow packages, modules, and fixtures as slow, and start long groups first."""
    for item in items:
        if _is_slow(item.path) or SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):  # no worker then waits for another at the end
        items.sort(key=lambda item: (_group(item.path) not in ALONE, not _is_slow(item.path)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let a worker run whole files, and all files that start what is expensive in one worker.

    A fixture of a module is then made once, one Java machine starts for all tests of Spark, and one browser for all
    tests of pages.
    """
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc] # pytest-xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return _group(config.rootpath / nodeid.split("::", maxsplit=1)[0])

    return GroupScheduling(config, log)


def _is_slow(path: Path) -> bool:
    tests = LAB if path.is_relative_to(LAB) else TESTS
    if not path.is_relative_to(tests) or path == tests:
        return False
    where = path.relative_to(tests)
    return where.parts[0] in SLOW_PACKAGES or path.stem.removeprefix("test_") in SLOW_MODULES.get(
        where.parent.as_posix(), ()
    )


ALONE = ("spark", "browser")
"""Fixtures whose tests all run in one worker."""


@functools.cache
def _group(path: Path) -> str:
    """Return the name of the files that one worker runs."""
    text = path.read_text(encoding="utf-8")
    shared = (
        name for name in ALONE if re.search(rf"def \w+\([^)]*\b{name}:", text) or path.parent.name == name
    )
    return next(shared, str(path))


@pytest.fixture(scope="session", autouse=True)
def _temporary_files_of_this_worker() -> Iterator[None]:
    """Other workers kill processes, and every command tells of a folder that a killed one left."""
    with tempfile.TemporaryDirectory(prefix="qv-", ignore_cleanup_errors=True) as folder:
        # Servers that the tests start run as somebody else; and a socket's path must be short.
        Path(folder).chmod(0o711)
        with mock.patch.dict(os.environ, TMPDIR=folder), mock.patch("tempfile.tempdir", None):
            yield


@pytest.fixture(autouse=True)
def _nothing_left_by_earlier_tests(_temporary_files_of_this_worker: None) -> None:
    workspace.sweep_leftovers()


START = dt.datetime(2026, 1, 1)


def at(minutes: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minutes)


@pytest.fixture(scope="session")
def spark() -> Iterator[Engine]:
    engine = qv.connect("spark")
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 rows of the generator, as Parquet, with public result lists beside them."""
    from queryveil.synthetic.generator import write_results

    folder = tmp_path_factory.mktemp("generated")
    settings = LogSettings(version=1, rows=100_000, users=4_000, seed=7, pool_size=6_000)
    generate(folder / "log.parquet", settings)
    write_results(folder / "results.tsv", settings)
    return folder / "log.parquet"


@pytest.fixture(scope="session")
def generated_few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 rows like those, for sets of items, which are many times more than rows."""
    file = tmp_path_factory.mktemp("generated") / "log.parquet"
    generate(file, LogSettings(version=1, rows=20_000, users=800, seed=7, pool_size=300))
    return file


@pytest.fixture
def tiny() -> pa.Table:
    """Three users; messy text, a pause of 45 minutes, an empty query, clicks."""
    return pa.table(
        {
            "user": ["a", "a", "a", "b", "b", "c", "c"],
            "time": [at(0), at(5), at(50), at(0), at(1), at(0), at(3)],
            "query": [
                '"New  YORK" ',
                "new york hotels!",
                "CafÉ MÜNCHEN",
                "new york",
                "new york hotels",
                "",
                None,
            ],
            "url": ["u1", None, "", None, "u2", None, None],
        }
    )


def many(users: int, items: list[str], *, prefix: str = "u") -> pa.Table:
    """So many users who each pose the same queries, a minute apart."""
    rows = [
        (f"{prefix}{user}", at(minute), item) for user in range(users) for minute, item in enumerate(items)
    ]
    user, time, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query)})


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One PostgreSQL server for all tests."""
    with servers.postgres() as address:
        yield address


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """The address of a new, empty schema of its database."""
    name = f"ledger_{secrets.token_hex(6)}"
    servers.statement(postgres_server, f"CREATE SCHEMA {name}")
    return f"{postgres_server}&options=-csearch_path%3D{name}"
