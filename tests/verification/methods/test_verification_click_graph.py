"""A good click graph passes `release verify`, and each tampering fails exactly the checks that are about it.

Most releases here are made by hand, so that the verifier is not tested against the writer that it is to check;
those that `publish` writes are only expected to pass, and to fail once tampered with.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.verification import verify
from tests.click_graph_drafts import (
    LN10,
    SUGGESTIONS,
    above,
    chosen,
    clicked,
    empty,
    listed,
    paper,
    part,
    private,
    public,
    queries,
)
from tests.conftest import at
from tests.verification.test_verification import (
    ACCOUNTS,
    LISTS,
    REPLACE,
    ROWS,
    SESSIONS,
    USERS,
    Draft,
    both,
    failed,
    paths,
    put,
    save,
    table,
    tables,
)

Case = tuple[Callable[[], Draft], Callable[[Draft], object], set[str]]


MAKERS = (queries, paper, public, private, clicked, chosen, empty)


@pytest.mark.parametrize("make", MAKERS)
def test_good_release_passes(make: Callable[[], Draft], tmp_path: Path) -> None:
    result = verify(make().write(tmp_path / "release"))
    assert result.failed == ()
    made = {check.name for check in result.checks}
    assert {"guarantee", "promise", "calibration", "users", "thresholds", "order", "published"} <= made


# -- tampering before the digests are taken: the folder is consistent, its content is not


def drop(*keys: Any) -> Callable[[Draft], None]:
    def change(made: Draft) -> None:
        at = made.manifest
        for key in keys[:-1]:
            at = at[key]
        at.pop(keys[-1])

    return change


def figures(*where: str, most: int, scale: float, top: int, once: bool = False) -> Callable[[Draft], None]:
    """Other noise or threshold, with figures that fit it, so that only what was asked for can object."""

    def change(made: Draft) -> None:
        found = made.manifest["calibration"]
        for key in where:
            found = found[key]
        found |= above(most, scale, top, once=once)
        for name in ("paper", "count_for_half", "count_for_99_percent"):
            found.pop(name, None)

    return change


def everywhere(name: str, value: str) -> Callable[[Draft], None]:
    """One word of the guarantee and of all its parts."""

    def change(made: Draft) -> None:
        guarantee = made.manifest["guarantee"]
        for one in (guarantee, *guarantee.get("parts", ())):
            one[name] = value

    return change


def asked(epsilon: float, delta: float) -> Callable[[Draft], None]:
    """A guarantee that parameters and parts agree on, so that only the arithmetic can object."""

    def change(made: Draft) -> None:
        made.manifest["parameters"] |= {"epsilon": epsilon, "delta": delta}
        made.manifest["guarantee"] |= {"epsilon": epsilon, "delta": delta}
        made.manifest["calibration"].pop("paper")

    return change


def silent(word: str) -> Callable[[Draft], None]:
    """The guarantee without an assumption."""

    def change(made: Draft) -> None:
        assumed = made.manifest["guarantee"]["assumptions"]
        assumed.remove(word)

    return change


def renamed(name: str, old: str, new: str) -> Callable[[Draft], None]:
    return lambda made: tables(
        **{name: made.tables[name].rename_columns([new if c == old else c for c in table_names(made, name)])}
    )(made)


def table_names(made: Draft, name: str) -> list[str]:
    names: list[str] = made.tables[name].column_names
    return names


NUMBERS: dict[str, Case] = {
    "threshold lowered": (queries, figures(most=20, scale=8.685889638065037, top=120), {"guarantee"}),
    "threshold lowered, figures kept": (
        queries,
        put("calibration", "threshold", value=120),
        {"guarantee", "calibration"},
    ),
    "threshold raised": (
        queries,
        figures(most=20, scale=8.685889638065037, top=122),
        {"calibration", "thresholds"},
    ),
    "noise lowered": (queries, figures(most=20, scale=8.68, top=121), {"guarantee"}),
    "noise raised": (
        queries,
        figures(most=20, scale=8.7, top=122),
        {"calibration", "thresholds"},
    ),
    "epsilon understated": (queries, asked(2.3, 1e-5), {"guarantee"}),
    "delta understated": (queries, asked(LN10, 9e-6), {"guarantee"}),
    "more queries per user": (
        queries,
        both(put("parameters", "max_queries", value=21), drop("calibration", "paper")),
        {"guarantee", "calibration"},
    ),
    "users who count once, without saying so": (
        chosen,
        put("parameters", "count", value="occurrences"),
        {"guarantee", "calibration"},
    ),
    "guarantee beyond what was asked": (queries, put("guarantee", "epsilon", value=3.0), {"guarantee"}),
    "delta beyond what was asked": (queries, put("guarantee", "delta", value=2e-5), {"guarantee"}),
    "delta of the total understated": (private, put("guarantee", "delta", value=2e-5), {"guarantee"}),
    "epsilon of the total understated": (public, put("guarantee", "epsilon", value=3.5), {"guarantee"}),
    "private delta forgotten": (
        private,
        both(put("guarantee", "parts", 1, "delta", value=0.0), put("guarantee", "delta", value=1.1e-5)),
        {"guarantee"},
    ),
    "private delta understated": (
        private,
        both(
            put("guarantee", "parts", 1, "delta", value=1e-6),
            put("parameters", "delta_clicks", value=1e-6),
            put("guarantee", "delta", value=1.2e-5),
        ),
        {"guarantee"},
    ),
    "epsilon of pairs understated": (
        private,
        both(
            put("guarantee", "parts", 2, "epsilon", value=0.4),
            put("parameters", "epsilon_reformulations", value=0.4),
            put("guarantee", "epsilon", value=2.4),
        ),
        {"guarantee"},
    ),
    "clicks for free": (
        public,
        both(
            lambda made: made.manifest["guarantee"]["parts"].pop(2), put("guarantee", "epsilon", value=1.75)
        ),
        {"guarantee"},
    ),
    "less noise on clicks": (
        public,
        both(
            put("parameters", "clicks_noise_scale", value=4.9),
            put("calibration", "clicks", value=listed(10, 4.9)),
        ),
        {"guarantee", "calibration"},
    ),
    "less noise on fresh counts": (
        public,
        put("calibration", "counts_noise_scale", value=7.9),
        {"guarantee", "calibration"},
    ),
    "less noise on suggestions": (
        public,
        put("calibration", "reformulations", value=listed(3, 11.0)),
        {"guarantee", "calibration"},
    ),
    "more noise on suggestions": (
        public,
        both(put("calibration", "reformulations", value=listed(3, 13.0)), drop("calibration", "paper")),
        {"calibration"},
    ),
    "more clicks per user": (public, put("parameters", "max_clicks", value=11), {"guarantee", "calibration"}),
    "threshold of clicks lowered": (private, figures("clicks", most=3, scale=3.0, top=36), {"guarantee"}),
    "threshold of clicks raised": (
        private,
        figures("clicks", most=3, scale=3.0, top=38),
        {"calibration", "thresholds"},
    ),
    "threshold of pairs lowered": (
        private,
        figures("reformulations", most=2, scale=4.0, top=46),
        {"guarantee"},
    ),
    "total without a delta": (private, drop("guarantee", "delta"), {"guarantee"}),
    "total without an epsilon": (private, drop("guarantee", "epsilon"), {"guarantee"}),
    "part without a delta": (private, drop("guarantee", "parts", 0, "delta"), {"guarantee"}),
    "part without an epsilon": (private, drop("guarantee", "parts", 0, "epsilon"), {"guarantee"}),
    "flattering delta": (queries, put("calibration", "delta", value=1e-9), {"calibration"}),
    "flattering epsilon": (queries, put("calibration", "epsilon", value=2.0), {"calibration"}),
    "flattering delta of clicks": (
        private,
        put("calibration", "clicks", "delta", value=1e-9),
        {"calibration"},
    ),
    "delta that tells something": (queries, put("calibration", "delta", value=9.9e-6), {"calibration"}),
    "half the time, flattering": (queries, put("calibration", "count_for_half", value=121), {"calibration"}),
    "half the time, too high": (queries, put("calibration", "count_for_half", value=123), {"calibration"}),
    "nearly always, flattering": (
        queries,
        put("calibration", "count_for_99_percent", value=155),
        {"calibration"},
    ),
    "nearly always, too high": (
        queries,
        put("calibration", "count_for_99_percent", value=157),
        {"calibration"},
    ),
    "paper's threshold": (queries, put("calibration", "paper", "threshold", value=100.0), {"calibration"}),
    "paper's alpha": (queries, put("calibration", "paper", "alpha", value=1.0), {"calibration"}),
    "paper's epsilon without the rest": (
        public,
        put("calibration", "paper", "epsilon", value=1.0),
        {"calibration"},
    ),
    "paper's delta": (queries, put("calibration", "paper", "delta", value=1e-9), {"calibration"}),
    "not the paper's threshold": (paper, figures(most=20, scale=8.685889638065037, top=139), {"calibration"}),
    "above the paper's threshold": (
        paper,
        figures(most=20, scale=8.685889638065037, top=142),
        {"calibration", "thresholds"},
    ),
    "tight threshold called the paper's": (
        queries,
        put("parameters", "analysis", value="paper"),
        {"calibration"},
    ),
    "scale that was given": (chosen, put("calibration", "noise_scale", value=5.0), {"parameters"}),
    "threshold that was given": (chosen, put("calibration", "threshold", value=16), {"parameters"}),
    "click scale that was given": (
        public,
        put("calibration", "clicks", "noise_scale", value=6.0),
        {"parameters"},
    ),
}

WORDS: dict[str, Case] = {
    "other kind": (queries, put("guarantee", "kind", value="pure-dp"), {"promise", "guarantee"}),
    "other kind of all parts": (private, put("guarantee", "kind", value="probabilistic-dp"), {"promise"}),
    "other kind of a part": (private, put("guarantee", "parts", 1, "kind", value="pure-dp"), {"guarantee"}),
    "public clicks called approximate": (
        public,
        put("guarantee", "parts", 2, "kind", value="approximate-dp"),
        {"guarantee"},
    ),
    "other neighbours": (queries, everywhere("neighbours", REPLACE), {"promise"}),
    "other neighbours of a part": (
        public,
        put("guarantee", "parts", 1, "neighbours", value=REPLACE),
        {"promise"},
    ),
    "other unit": (queries, everywhere("unit", "session"), {"promise"}),
    "an implied guarantee": (
        queries,
        put("guarantee", "implies", value={"kind": "approximate-dp"}),
        {"promise"},
    ),
    "a part within a part": (
        private,
        lambda made: made.manifest["guarantee"]["parts"][0].update(parts=[part("pure-dp", 1.0, 0.0)]),
        {"promise"},
    ),
    "parts of a single draw": (
        queries,
        lambda made: made.manifest["guarantee"].update(parts=[part("approximate-dp", LN10, 1e-5)]),
        {"guarantee"},
    ),
    "how rows are parsed": (queries, silent(ROWS), {"promise"}),
    "what a user is": (queries, silent(ACCOUNTS), {"promise"}),
    "that result lists are public": (public, silent(LISTS), {"promise"}),
    "that suggestion lists are public": (public, silent(SUGGESTIONS), {"promise"}),
    "how sessions are cut": (private, silent(SESSIONS), {"promise"}),
    "no assumption at all": (queries, drop("guarantee", "assumptions"), {"promise"}),
    "clicked urls with a guarantee": (
        clicked,
        lambda made: made.manifest["guarantee"].update(kind="approximate-dp", epsilon=1.0, delta=1e-6),
        {"promise", "guarantee"},
    ),
    "clicked urls with a total": (
        clicked,
        lambda made: made.manifest["guarantee"].update(epsilon=1.0, delta=1e-6),
        {"guarantee"},
    ),
    "clicked urls with a delta": (clicked, put("guarantee", "delta", value=1e-6), {"guarantee"}),
    "clicked urls without a caveat": (
        clicked,
        put("guarantee", "caveats", value=["counts are noisy"]),
        {"promise"},
    ),
    "clicked urls called public": (
        clicked,
        put("parameters", "urls", value="public"),
        {"promise", "guarantee"},
    ),
    "clicked urls with a part that is promised": (
        clicked,
        lambda made: made.manifest["guarantee"].update(parts=[part("approximate-dp", 1.0, 1e-6)]),
        {"guarantee"},
    ),
    "no guarantee where one holds": (
        queries,
        put("guarantee", "kind", value="none"),
        {"promise", "guarantee"},
    ),
    "users in the parameters": (queries, put("parameters", "users", value=61020), {"parameters"}),
    "users in the calibration": (queries, put("calibration", "users", value=61020), {"parameters"}),
    "users in the paper's figures": (
        queries,
        put("calibration", "paper", "users", value=61020),
        {"parameters"},
    ),
    "users among the assumptions": (
        queries,
        lambda made: made.manifest["guarantee"]["assumptions"].append(USERS),
        {"users"},
    ),
    "users in a caveat of a part": (
        private,
        put("guarantee", "parts", 0, "caveats", value=["a log of 61,020 users"]),
        {"users"},
    ),
    "users in words": (queries, put("how", value="The log of 61020 people was counted."), {"users"}),
    "users in the meaning of a column": (
        queries,
        put("tables", "queries", "columns", 1, "help", value="out of 61020 users"),
        {"users"},
    ),
}

KEYS: dict[str, Case] = {
    "result lists named": (
        public,
        put("parameters", "results", value="lists.tsv"),
        {"parameters", "no-leak"},
    ),
    "suggestion lists named": (
        public,
        put("parameters", "suggestions", value="lists.tsv"),
        {"parameters", "no-leak"},
    ),
    "unknown parameter": (queries, put("parameters", "keep", value="first"), {"parameters"}),
    "unknown figure": (queries, put("calibration", "survivors", value=12), {"parameters"}),
    "unknown figure of clicks": (private, put("calibration", "clicks", "edges", value=12), {"parameters"}),
    "unknown figure of the paper": (queries, put("calibration", "paper", "true", value=12), {"parameters"}),
    "threshold of public clicks": (
        public,
        put("calibration", "clicks", "threshold", value=12),
        {"parameters"},
    ),
    "no threshold of private clicks": (private, drop("calibration", "clicks", "threshold"), {"parameters"}),
    "no bound on clicks": (public, drop("parameters", "max_clicks"), {"parameters"}),
    "no bound on pairs": (private, drop("parameters", "max_reformulations"), {"parameters"}),
    "no bound on queries": (queries, drop("parameters", "max_queries"), {"parameters"}),
    "no delta of private clicks": (private, drop("parameters", "delta_clicks"), {"parameters"}),
    "delta of public clicks": (public, put("parameters", "delta_clicks", value=1e-6), {"parameters"}),
    "pairs called suggestions": (private, drop("parameters", "delta_reformulations"), {"parameters"}),
    "private urls called public": (
        private,
        both(put("parameters", "urls", value="public"), drop("parameters", "delta_clicks")),
        {"parameters"},
    ),
    "clicks that were not bought": (public, drop("parameters", "clicks_noise_scale"), {"parameters"}),
    "reformulations that were not bought": (
        public,
        drop("parameters", "epsilon_reformulations"),
        {"parameters"},
    ),
    "clicks bought twice": (public, put("parameters", "epsilon_clicks", value=2.0), {"parameters"}),
    "clicks without figures": (public, drop("calibration", "clicks"), {"parameters"}),
    "fresh counts without noise": (public, drop("calibration", "counts_noise_scale"), {"parameters"}),
    "reused counts with noise": (public, put("parameters", "counts", value="reuse"), {"parameters"}),
    "reused counts with an epsilon": (
        queries,
        put("parameters", "epsilon_counts", value=1.0),
        {"parameters"},
    ),
    "reused counts with a scale": (
        queries,
        put("calibration", "counts_noise_scale", value=1.0),
        {"parameters"},
    ),
    "fresh counts bought twice": (public, put("parameters", "counts_noise_scale", value=8.0), {"parameters"}),
    "fresh counts that were not bought": (public, drop("parameters", "epsilon_counts"), {"parameters"}),
    "reformulations without figures": (private, drop("calibration", "reformulations"), {"parameters"}),
    "asked for and given": (queries, put("parameters", "noise_scale", value=9.0), {"parameters"}),
    "neither asked for nor given": (queries, drop("parameters", "delta"), {"parameters"}),
    "other choice": (queries, put("parameters", "count", value="sessions"), {"parameters"}),
    "choice of another type": (queries, put("parameters", "non_negative", value=0), {"parameters"}),
    "choice left out": (queries, drop("parameters", "analysis"), {"parameters"}),
    "delta above 1": (queries, put("parameters", "delta", value=1.5), {"parameters"}),
    "negative scale": (queries, put("calibration", "noise_scale", value=-5), {"parameters"}),
    "scale is text": (queries, put("calibration", "noise_scale", value="5"), {"parameters"}),
    "scale beyond floats": (queries, put("calibration", "noise_scale", value=10**400), {"parameters"}),
    "fractional threshold": (queries, put("calibration", "threshold", value=121.0), {"parameters"}),
    "what is no sentence": (queries, put("what", value={"rows": 12}), {"keys"}),
    "unknown section": (queries, put("notes", value="x"), {"keys"}),
}

ROWS_OF_TABLES: dict[str, Case] = {
    "count at the threshold": (queries, tables(queries=table([400, 121], query=["a", "b"])), {"thresholds"}),
    "click at its threshold": (
        private,
        tables(clicks=table([60, 37], query=["cats", "cats"], url=["u", "v"])),
        {"thresholds"},
    ),
    "pair at its threshold": (
        private,
        tables(reformulations=table([47], query=["cats"], next_query=["maps"])),
        {"thresholds"},
    ),
    "negative count": (
        chosen,
        tables(clicks=table([9, -1], query=["cats", "cats"], url=["u", "v"])),
        {"thresholds"},
    ),
    "queries unsorted by count": (queries, tables(queries=table([400, 500], query=["a", "b"])), {"order"}),
    "queries unsorted by text": (queries, tables(queries=table([400, 400], query=["b", "a"])), {"order"}),
    "not in byte order": (
        queries,
        tables(queries=table([400, 400], query=["\U0001f600", "\uff21"])),
        {"order"},
    ),
    "clicks unsorted by query": (
        public,
        tables(clicks=table([9, 9], query=["maps", "cats"], url=["u", "u"])),
        {"order"},
    ),
    "clicks unsorted by count": (
        public,
        tables(clicks=table([8, 9], query=["cats", "cats"], url=["u", "v"])),
        {"order"},
    ),
    "clicks unsorted by url": (
        public,
        tables(clicks=table([9, 9], query=["cats", "cats"], url=["v", "u"])),
        {"order"},
    ),
    "pairs unsorted by count": (
        private,
        tables(reformulations=table([48, 49], query=["cats", "cats"], next_query=["cats", "maps"])),
        {"order"},
    ),
    "query twice": (queries, tables(queries=table([400, 399], query=["a", "a"])), {"distinct"}),
    "click twice": (
        public,
        tables(clicks=table([9, 8], query=["cats", "cats"], url=["u", "u"])),
        {"distinct"},
    ),
    "pair twice": (
        private,
        tables(reformulations=table([49, 48], query=["cats", "cats"], next_query=["maps", "maps"])),
        {"distinct"},
    ),
    "click of a query that is not published": (
        private,
        tables(clicks=table([60], query=["dogs"], url=["u"])),
        {"published"},
    ),
    "public click of a query that is not published": (
        public,
        tables(clicks=table([60], query=["dogs"], url=["u"])),
        {"published"},
    ),
    "pair from a query that is not published": (
        private,
        tables(reformulations=table([49], query=["dogs"], next_query=["maps"])),
        {"published"},
    ),
    "pair to a query that is not published": (
        private,
        tables(reformulations=table([49], query=["cats"], next_query=["dogs"])),
        {"published"},
    ),
    "suggestion for a query that is not published": (
        public,
        tables(reformulations=table([49], query=["dogs"], next_query=["cats"])),
        {"published"},
    ),
    "extra column": (queries, tables(queries=table([400], query=["a"], users=["401"])), {"columns"}),
    "other column": (public, renamed("clicks", "url", "page"), {"columns"}),
    "fractional counts": (
        queries,
        tables(queries=pa.table({"query": ["a"], "count": pa.array([400.5])})),
        {"columns"},
    ),
    "table that was not bought": (
        queries,
        tables(clicks=table([9], query=["maps"], url=["u"])),
        {"columns"},
    ),
    "table that is missing": (
        public,
        both(lambda made: made.tables.pop("clicks"), lambda made: made.describe()),
        {"columns"},
    ),
    "table of another method": (queries, tables(items=table([400], query=["a"])), {"columns"}),
    "empty cell": (queries, tables(queries=table([400, 399], query=["a", None])), {"cells"}),  # type: ignore[list-item]
}

CASES = {
    f"{group}: {name}": case
    for group, cases in (("numbers", NUMBERS), ("words", WORDS), ("keys", KEYS), ("rows", ROWS_OF_TABLES))
    for name, case in cases.items()
}


@pytest.mark.parametrize("case", CASES)
def test_content_that_is_wrong(case: str, tmp_path: Path) -> None:
    make, change, expected = CASES[case]
    made = make()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    # The draft is not written as queryveil writes; what is looked at here is what its figures are found to be.
    assert failed(result) - {"sentences", "written-again"} == expected, result.failed


@pytest.mark.parametrize("make", [public, private, chosen])
def test_malformed_manifest_never_raises_and_never_quotes(make: Callable[[], Draft], tmp_path: Path) -> None:
    """Junk in each place of the manifest in turn: a failure or a pass, but no exception."""
    junk = [None, [], {"x": [1]}, -1, 1e308, "\u2028query text", [[None]], 5e-324, True]
    release = make().write(tmp_path / "release")
    whole = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    for number, path in enumerate(paths(whole)):
        manifest = copy.deepcopy(whole)
        at = manifest
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = junk[number % len(junk)]
        save(release, manifest)
        result = verify(release)
        if path[0] in {"parameters", "calibration"}:
            assert not result.passed, path
        assert not any("query text" in check.detail for check in result.checks if check.name != "method")


def test_details_do_not_quote_released_text(tmp_path: Path) -> None:
    made, person = public(), "john smith 5551234"
    tables(
        queries=table([90, 95, 95], query=[person, "cats", "cats"]),
        clicks=table([1, 2, 2], query=["x" + person] * 3, url=[person] * 3),
        reformulations=table([1, 2], query=["x" + person] * 2, next_query=[person] * 2),
    )(made)
    result = verify(made.write(tmp_path / "release"))
    assert failed(result) == {"order", "distinct", "published"}
    assert person not in json.dumps(result.as_dict())


# -- releases that publish() wrote ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    """120 users who search for apples, then pears, and click; one of them has a secret."""
    rows = [
        (f"u{user}", at(minute), query, f"https://{query}.example/{user % 2}")
        for user in range(120)
        for minute, query in enumerate(["apples", "pears", "apples"])
    ]
    rows.append(("u0", at(9), "her secret", "https://secret.example"))
    user, time, query, url = (list(column) for column in zip(*rows, strict=True))
    return qv.read(
        pa.table({"user": user, "time": pa.array(time, pa.timestamp("us")), "query": query, "url": url})
    )


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("lists")
    pages = [f"{q}\thttps://{q}.example/{n}\n" for q in ("apples", "pears", "plums") for n in range(3)]
    (folder / "results.tsv").write_text("query\turl\n" + "".join(pages), encoding="utf-8")
    (folder / "suggestions.tsv").write_text(
        "query\tsuggestion\napples\tpears\napples\tplums\npears\tapples\n", encoding="utf-8"
    )
    return {name: str(folder / f"{name}.tsv") for name in ("results", "suggestions")}


ASKED: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-3, "max_queries": 3}
METHODS: dict[str, dict[str, Any]] = {
    "queries": ASKED,
    "paper": ASKED | {"analysis": "paper"},
    "users": ASKED | {"count": "users", "non_negative": True},
    "given": {"noise_scale": 2.0, "threshold": 40.5, "max_queries": 3},
    "fresh": ASKED | {"counts": "fresh", "epsilon_counts": 1.0},
    "public": ASKED
    | {"results": True, "epsilon_clicks": 1.0, "suggestions": True, "epsilon_reformulations": 0.3},
    "public, noise given": ASKED
    | {"results": True, "clicks_noise_scale": 7.0, "max_clicks": 2, "non_negative": True}
    | {"counts": "fresh", "counts_noise_scale": 3.0},
    "private": ASKED
    | {"urls": "private", "epsilon_clicks": 1.7, "delta_clicks": 1e-3, "max_clicks": 2}
    | {"epsilon_reformulations": 0.9, "delta_reformulations": 1e-2, "max_reformulations": 1},
    "private, users": ASKED
    | {"count": "users", "urls": "private", "epsilon_clicks": 1.7, "delta_clicks": 1e-3}
    | {"epsilon_reformulations": 0.9, "delta_reformulations": 1e-2},
    "clicked": ASKED | {"urls": "clicked", "epsilon_clicks": 1.0},
    "clicked and pairs": ASKED
    | {"urls": "clicked", "epsilon_clicks": 1.0, "epsilon_reformulations": 0.9, "delta_reformulations": 1e-2},
}


def published(name: str, log: qv.SearchLog, lists: dict[str, str], out: Path) -> Path:
    method = qv.ClickGraph(**{key: lists.get(key, value) for key, value in METHODS[name].items()})
    qv.publish(log, method, out=out, allow_empty=True, i_understand=True)
    return out


@pytest.mark.parametrize("name", METHODS)
def test_published_releases_pass(name: str, log: qv.SearchLog, lists: dict[str, str], tmp_path: Path) -> None:
    """No statement here depends on the noise: whatever is drawn, the release must pass."""
    assert verify(published(name, log, lists, tmp_path / "release")).failed == ()


def last_count(name: str, top: Callable[[dict[str, Any]], int]) -> Callable[[Draft], None]:
    """The last row of a table falls to its threshold."""

    def change(made: Draft) -> None:
        rows = made.tables[name].to_pylist()
        rows[-1]["count"] = top(made.manifest["calibration"])
        tables(**{name: pa.Table.from_pylist(rows, made.tables[name].schema)})(made)

    return change


WRITTEN: dict[str, tuple[Callable[[Draft], object], set[str]]] = {
    "nothing": (lambda made: None, set()),
    "noise halved": (put("calibration", "noise_scale", value=0.375), {"guarantee", "calibration"}),
    "threshold lowered": (put("calibration", "threshold", value=3), {"guarantee", "calibration"}),
    "delta of clicks forgotten": (put("guarantee", "parts", 1, "delta", value=0.0), {"guarantee"}),
    "epsilon understated": (put("guarantee", "epsilon", value=4.0), {"guarantee"}),
    "accounts left out": (lambda made: made.manifest["guarantee"]["assumptions"].pop(1), {"promise"}),
    "users told": (put("parameters", "users", value=120), {"parameters"}),
    "query at the threshold": (last_count("queries", lambda found: found["threshold"]), {"thresholds"}),
    "click at its threshold": (
        last_count("clicks", lambda found: found["clicks"]["threshold"]),
        {"thresholds"},
    ),
    "queries withdrawn": (
        lambda made: tables(queries=made.tables["queries"].slice(0, 0))(made),
        {"published"},
    ),
    "upside down": (
        lambda made: tables(queries=made.tables["queries"].take(pa.array([1, 0])))(made),
        {"order"},
    ),
}


@pytest.fixture(scope="module")
def written(
    log: qv.SearchLog, lists: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Draft]:
    """A release that publish() wrote, to be tampered with and signed again."""
    folder = published("private", log, lists, tmp_path_factory.mktemp("written") / "release")
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows = {name: pq.read_table(folder / f"{name}.parquet") for name in content["tables"]}
    return lambda: Draft(content, rows)


@pytest.mark.parametrize("case", WRITTEN)
def test_published_release_that_was_tampered_with(
    case: str, written: Callable[[], Draft], tmp_path: Path
) -> None:
    """Counts of 60 and more under noise scales below 1.2: something is not published with a chance below e^-30."""
    change, expected = WRITTEN[case]
    made = written()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    # The draft is not written as queryveil writes; what is looked at here is what its figures are found to be.
    assert failed(result) - {"sentences", "written-again"} == expected, result.failed
