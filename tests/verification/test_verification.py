"""A good release passes `release verify`, and each tampering fails exactly the checks that are about it.

The releases are made by hand, so that the verifier is not tested against the writer that it is to check.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.verification import Verification, verify
from queryveil.verification.recomputed import Setting

ROWS = "rows are parsed one by one: no row changes how another is read"
ACCOUNTS = "a user id is a person: someone with several accounts is protected per account"
USERS = "the number of users is public: at most 500000"
SESSIONS = "sessions are cut within each user's own rows"
LISTS = "the result lists are public: a function of the query alone"
REPLACE, ADD_REMOVE = "replace-one-user", "add-remove-one-user"

PAGE = (
    "<!doctype html><html><head><style>b {color: red; background: url(data:image/png;base64,AA==)}</style>"
    "</head><body><a href='#top'>up</a> <a href='DATASHEET.md'>data sheet</a> "
    "<p>https://example.org/ src=//x @import &lt;script src=x&gt;</p>"
    "<svg xmlns='http://www.w3.org/2000/svg'><use href='#a' fill='url(#b)'/></svg></body></html>"
)


class Draft:
    """A release to be written, digests last."""

    def __init__(self, manifest: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        self.manifest = copy.deepcopy(manifest)
        self.tables = dict(tables)
        self.documents = {"DATASHEET.md": b"# Data sheet\n", "report.html": PAGE.encode()}

    def describe(self) -> None:
        self.manifest["tables"] = {
            name: {
                "file": f"{name}.parquet",
                "rows": table.num_rows,
                "columns": [{"name": one.name, "type": str(one.type), "help": "x"} for one in table.schema],
            }
            for name, table in self.tables.items()
        }

    def write(self, out: Path) -> Path:
        out.mkdir()
        for name, table in self.tables.items():
            folder.write_table(table, out / f"{name}.parquet")
        for name, content in self.documents.items():
            (out / name).write_bytes(content)
        self.manifest["files"] = {}
        for file in sorted(out.iterdir()):
            content = file.read_bytes()
            entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            if file.stem in self.tables:
                entry["rows"] = self.tables[file.stem].num_rows
            self.manifest["files"][file.name] = entry
        save(out, self.manifest)
        return out


def save(release: Path, manifest: Any) -> None:
    (release / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def edit(release: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    save(release, manifest)


def table(counts: list[int], **columns: list[str]) -> pa.Table:
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return pa.table(arrays | {"count": pa.array(counts, pa.int64())})


def draft(
    parameters: dict[str, Any], calibration: Any, guarantee: dict[str, Any], tables: dict[str, pa.Table]
) -> Draft:
    common = {"keep": "random", "analysis": "tight", "then_clicks": False}
    made = Draft(
        {
            "format": "queryveil-release",
            "format_version": 1,
            "method": "zealous",
            "parameters": common | parameters,
            "calibration": calibration,
            "guarantee": guarantee,
            "tables": {},
            "software": {"name": "queryveil", "version": "0.1.0"},
            "created": "2025-01-31",
        },
        tables,
    )
    made.describe()
    return made


def promised(kind: str, epsilon: float, delta: float, neighbours: str, *assumed: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "epsilon": epsilon,
        "delta": delta,
        "unit": "user",
        "neighbours": neighbours,
        "assumptions": [ROWS, ACCOUNTS, *assumed],
        "caveats": ["counts are noisy"],
    }


def too_large(guarantee: dict[str, Any]) -> dict[str, Any]:
    """The paper's delta is not below one in the number of users, and a release has to say so."""
    said = (
        f"delta {guarantee['delta']:.3g} is too large: publishing the whole log would keep this promise too"
    )
    return guarantee | {"delta_too_large": True, "caveats": [*guarantee["caveats"], said]}


def implied(epsilon: float, delta: float) -> dict[str, Any]:
    return {
        "kind": "approximate-dp",
        "epsilon": epsilon,
        "delta": delta,
        "unit": "user",
        "neighbours": REPLACE,
    }


def single() -> Draft:
    """m = 5, epsilon 2, delta 1e-3, 500,000 users: the specification's worked example at tau = 5."""
    guarantee = too_large(promised("probabilistic-dp", 2.0, 1e-3, REPLACE, USERS))
    guarantee |= {"implies": implied(2.0, 8.5e-9)}
    calibration = {
        "noise_scale": 5.0,
        "threshold": 5,
        "second_threshold": 102,
        "epsilon": 2.0,
        "delta": 8.4534e-4,
        "delta_indistinguishable": 8.5e-9,
        "users_for_half": 103,
        "users_for_99_percent": 123,
        "pure_dp": {"users": 500000, "frequent": 5, "accuracy": 0.01, "domain_bound": 1.1e12},
        "paper": {"noise_scale": 5.0, "threshold": 5, "second_threshold": 101.68, "delta": 1e-3},
    }
    parameters = {
        "epsilon": 2.0,
        "delta": 1e-3,
        "max_items": 5,
        "items": ["queries"],
        "promise": "probabilistic",
        "neighbours": "replace",
        "users": 500000,
    }
    # Beyond the basic plane, byte order and UTF-16 order differ; capital letters precede small ones in bytes.
    rows = table([400, 150, 150, 150, 103], query=["weather", "Zoo", "ant", "ant\u00e9", "maps"])
    return draft(parameters, calibration, guarantee, {"items": rows})


def several() -> Draft:
    """Two kinds at a given noise scale, so that the guarantee is computed and added up."""
    one = Setting(m=5, scale=5.0, tau=1, top=100, replace=True)
    delta = math.nextafter(float(one.probabilistic(500000).delta), 1)
    loose = math.nextafter(float(one.approximate().delta), 1)
    part = promised("probabilistic-dp", 2.0, delta, REPLACE, USERS, SESSIONS) | {
        "implies": implied(2.0, loose)
    }
    guarantee = too_large(promised("probabilistic-dp", 4.0, 2 * delta, REPLACE, USERS, SESSIONS))
    parts = [copy.deepcopy(part) | {"of": of} for of in ("keywords", "query-pairs")]
    guarantee |= {"implies": implied(4.0, 2 * loose), "parts": parts}
    calibration = {
        "noise_scale": 5.0,
        "threshold": 1,
        "second_threshold": 100,
        "epsilon": 2.0,
        "delta": delta,
    }
    parameters = {
        "noise_scale": 5.0,
        "second_threshold": 100.5,
        "max_items": 5,
        "items": ["keywords", "query-pairs"],
        "promise": "probabilistic",
        "neighbours": "replace",
        "users": 500000,
    }
    tables = {
        "keywords": table([300, 101], keyword=["free", "music"]),
        "query-pairs": table([120, 120, 120], query=["a", "a", "b"], next_query=["b", "c", "a"]),
    }
    both = {"keywords": dict(calibration), "query-pairs": dict(calibration)}
    return draft(parameters, both, guarantee, tables)


def with_clicks() -> Draft:
    """Approximate, one user added or removed, queries and then clicks at a bound of their own."""
    guarantee = promised("approximate-dp", 2.0, 1e-6, ADD_REMOVE, LISTS)
    guarantee["parts"] = [
        promised("approximate-dp", 1.0, 1e-6, ADD_REMOVE, LISTS) | {"of": "queries"},
        promised("pure-dp", 1.0, 0.0, ADD_REMOVE, LISTS) | {"of": "clicks"},
    ]
    calibration: dict[str, Any] = {
        "noise_scale": 2.0,
        "threshold": 1,
        "second_threshold": 29,
        "clicks_noise_scale": 3.0,
    }
    # 2 + 2 ln(2 / 2e-6), the paper's threshold without any number of users.
    calibration |= {"paper": {"noise_scale": 2.0, "threshold": 1, "second_threshold": 29.631021115928547}}
    parameters = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "max_items": 2,
        "items": ["queries"],
        "promise": "approximate",
        "neighbours": "add-remove",
        "then_clicks": True,
        "max_clicks": 3,
    }
    tables = {
        "items": table([60, 30], query=["maps", "cats"]),
        "clicks": table([9, -2, 14, 14], query=["cats", "cats", "maps", "maps"], url=["u", "v", "s", "t"]),
    }
    return draft(parameters, calibration, guarantee, tables)


def empty() -> Draft:
    made = single()
    made.tables["items"] = made.tables["items"].slice(0, 0)
    made.describe()
    return made


def failed(result: Verification) -> set[str]:
    return {check.name for check in result.failed}


@pytest.mark.parametrize("make", [single, several, with_clicks, empty])
def test_good_release_passes(make: Callable[[], Draft], tmp_path: Path) -> None:
    result = verify(make().write(tmp_path / "release"))
    assert result.failed == ()
    assert result.passed
    said = result.as_dict()
    assert said["release"] == str(tmp_path / "release")
    assert said["passes"] is True
    assert {tuple(check) for check in said["checks"]} == {("name", "passes", "detail")}
    assert {"digests", "thresholds", "guarantee", "order", "no-leak"} <= {c["name"] for c in said["checks"]}


# -- tampering before the digests are taken: the folder is consistent, its content is not


def put(*keys: Any, value: Any) -> Callable[[Draft], None]:
    def change(made: Draft) -> None:
        at = made.manifest
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    return change


def both(*changes: Callable[[Draft], object]) -> Callable[[Draft], None]:
    def change(made: Draft) -> None:
        for one in changes:
            one(made)

    return change


def tables(**replaced: pa.Table) -> Callable[[Draft], None]:
    def change(made: Draft) -> None:
        made.tables |= replaced
        made.describe()

    return change


def report(html: str) -> Callable[[Draft], None]:
    return lambda made: made.documents.update(
        {"report.html": PAGE.replace("<body>", f"<body>{html}").encode()}
    )


def metadata_in_table(made: Draft) -> None:
    made.tables["items"] = made.tables["items"].replace_schema_metadata({"pandas": "{}"})


def metadata_in_column(made: Draft) -> None:
    plain = made.tables["items"].schema
    schema = pa.schema([plain.field(0).with_metadata({"note": "x"}), plain.field(1)])
    made.tables["items"] = made.tables["items"].cast(schema)


def more_users(made: Draft) -> None:
    """Told alike everywhere, so that only the arithmetic can object."""
    made.manifest["parameters"]["users"] = 700000
    made.manifest["calibration"]["pure_dp"]["users"] = 700000
    made.manifest["calibration"].pop("delta")
    made.manifest["guarantee"]["assumptions"][2] = USERS.replace("500000", "700000")


SMALLER_DELTA = both(put("parameters", "delta", value=8e-4), put("guarantee", "delta", value=8e-4))
SMALLER_EPSILON = both(
    put("parameters", "epsilon", value=1.9),
    put("guarantee", "epsilon", value=1.9),
    put("guarantee", "implies", "epsilon", value=2.0),
)
HIGH_PROBABILITY = both(  # p = 0.31, so that one of five new items is published with probability 0.84
    put("parameters", "promise", value="approximate"),
    lambda made: [made.manifest["parameters"].pop(key) for key in ("epsilon", "delta", "users")] and None,
    put("parameters", "noise_scale", value=10.0),
    put("parameters", "second_threshold", value=5.0),
    put("calibration", value={"noise_scale": 10.0, "threshold": 1, "second_threshold": 5, "paper": {}}),
    put("guarantee", value=too_large(promised("approximate-dp", 1.0, 0.8, REPLACE))),
)

CONSISTENT = {
    "count at threshold": (single, tables(items=table([400, 102], query=["a", "b"])), {"thresholds"}),
    "unsorted counts": (single, tables(items=table([400, 500], query=["a", "b"])), {"order"}),
    "unsorted items": (single, tables(items=table([400, 400], query=["b", "a"])), {"order"}),
    "not in byte order": (
        single,
        tables(items=table([400, 400], query=["\U0001f600", "\uff21"])),
        {"order"},
    ),
    "duplicate item": (single, tables(items=table([400, 399], query=["a", "a"])), {"distinct"}),
    "null cell": (single, tables(items=table([400, 399], query=["a", None])), {"cells"}),  # type: ignore[list-item]
    "extra column": (
        single,
        tables(items=table([400], query=["a"], users=["401"])),
        {"columns"},
    ),
    "other column": (single, tables(items=table([400], keyword=["a"])), {"columns"}),
    "fractional counts": (
        single,
        tables(items=pa.table({"query": ["a"], "count": pa.array([400.5])})),
        {"columns"},
    ),
    "table of another method": (single, tables(log=table([400], query=["a"])), {"columns"}),
    "pandas metadata": (single, metadata_in_table, {"parquet-metadata"}),
    "metadata of a column": (single, metadata_in_column, {"parquet-metadata"}),
    "wrong row count": (single, put("tables", "items", "rows", value=6), {"tables"}),
    "wrong type stated": (
        single,
        put("tables", "items", "columns", 1, "type", value="int32"),
        {"tables"},
    ),
    "other file stated": (single, put("tables", "items", "file", value="x.parquet"), {"tables"}),
    "lower noise scale": (
        single,
        put("calibration", "noise_scale", value=4.9),
        {"guarantee", "implied-guarantee", "calibration"},
    ),
    "lower second threshold": (
        single,
        put("calibration", "second_threshold", value=101),
        {"guarantee", "implied-guarantee", "calibration"},
    ),
    "more users": (single, more_users, {"guarantee"}),
    "smaller delta": (single, SMALLER_DELTA, {"guarantee"}),
    "smaller epsilon": (single, SMALLER_EPSILON, {"guarantee"}),
    "guarantee beyond what was asked": (single, put("guarantee", "epsilon", value=3.0), {"guarantee"}),
    "implied delta too small": (
        single,
        put("guarantee", "implies", "delta", value=8.4e-9),
        {"implied-guarantee"},
    ),
    "implied guarantee gone": (
        single,
        lambda made: made.manifest["guarantee"].pop("implies"),
        {"implied-guarantee"},
    ),
    "flattering calibration": (single, put("calibration", "delta", value=1e-9), {"calibration"}),
    "other kind": (single, put("guarantee", "kind", value="pure-dp"), {"promise"}),
    "other neighbours": (single, put("guarantee", "neighbours", value=ADD_REMOVE), {"promise"}),
    "other unit": (single, put("guarantee", "unit", value="row"), {"promise"}),
    "users not among the assumptions": (
        single,
        lambda made: made.manifest["guarantee"]["assumptions"].pop(2),
        {"users"},
    ),
    "accounts not among the assumptions": (
        single,
        lambda made: made.manifest["guarantee"]["assumptions"].pop(1),
        {"promise"},
    ),
    "no number of users": (single, lambda made: made.manifest["parameters"].pop("users"), {"parameters"}),
    "other first threshold": (single, put("parameters", "tau", value=1), {"parameters"}),
    "negative scale": (single, put("calibration", "noise_scale", value=-5), {"parameters"}),
    "scale is text": (single, put("calibration", "noise_scale", value="5"), {"parameters"}),
    "scale beyond floats": (single, put("calibration", "noise_scale", value=10**400), {"parameters"}),
    "unknown parameter": (single, put("parameters", "raw_users", value=61020), {"parameters"}),
    "unknown calibration": (single, put("calibration", "survivors", value=12), {"parameters"}),
    "likely leak": (single, HIGH_PROBABILITY, {"guarantee"}),
    "part too strong": (several, put("guarantee", "parts", 1, "epsilon", value=1.9), {"guarantee"}),
    "sum too small": (several, put("guarantee", "epsilon", value=3.9), {"guarantee"}),
    "part without what it is for": (
        several,
        lambda made: made.manifest["guarantee"]["parts"][1].pop("of"),
        {"guarantee"},
    ),
    "part for another table": (several, put("guarantee", "parts", 1, "of", value="clicks"), {"guarantee"}),
    "large delta without a caveat": (single, put("guarantee", "caveats", value=["noisy"]), {"delta"}),
    "large delta without a mark": (
        single,
        lambda made: made.manifest["guarantee"].pop("delta_too_large"),
        {"delta"},
    ),
    "large delta without either": (
        single,
        lambda made: made.manifest["guarantee"].update(delta_too_large=False, caveats=["noisy"]),
        {"delta"},
    ),
    "part missing": (several, lambda made: made.manifest["guarantee"]["parts"].pop(), {"guarantee"}),
    "scale of one kind": (
        several,
        put("calibration", "keywords", "noise_scale", value=6.0),
        {"parameters"},
    ),
    "kind missing": (several, lambda made: made.manifest["calibration"].pop("keywords"), {"parameters"}),
    "pair order": (
        several,
        tables(**{"query-pairs": table([120, 120], query=["a", "a"], next_query=["c", "b"])}),
        {"order"},
    ),
    "lower scale of clicks": (
        with_clicks,
        put("calibration", "clicks_noise_scale", value=2.9),
        {"guarantee"},
    ),
    "more clicks per user": (with_clicks, put("parameters", "max_clicks", value=4), {"guarantee"}),
    "free clicks": (
        with_clicks,
        both(put("guarantee", "epsilon", value=1.0), put("parameters", "epsilon_clicks", value=1e-13)),
        {"guarantee"},
    ),
    "clicks of an unpublished query": (
        with_clicks,
        tables(clicks=table([9], query=["dogs"], url=["u"])),
        {"clicks"},
    ),
    "clicks twice": (
        with_clicks,
        tables(clicks=table([9, 8], query=["cats", "cats"], url=["u", "u"])),
        {"distinct"},
    ),
    "clicks unsorted": (
        with_clicks,
        tables(clicks=table([8, 9], query=["cats", "cats"], url=["u", "v"])),
        {"order"},
    ),
    "users told of added user": (with_clicks, put("parameters", "users", value=61020), {"users"}),
    "users told by pure bound": (
        with_clicks,
        put("calibration", "pure_dp", value={"users": 61020}),
        {"users"},
    ),
    "users told by the paper's delta": (
        with_clicks,
        put("calibration", "paper", "delta", value=1e-6),
        {"users"},
    ),
    "users told by the paper's other threshold": (
        with_clicks,
        put("calibration", "paper", "second_threshold", value=41.5),
        {"users"},
    ),
    "lists not declared public": (
        with_clicks,
        lambda made: made.manifest["guarantee"]["assumptions"].pop(),
        {"promise"},
    ),
    "salt in the manifest": (single, put("guarantee", "salt", value="ab12"), {"keys", "no-leak"}),
    "salt deep in the manifest": (
        single,
        put("calibration", "paper", "Salt", value="ab12"),
        {"parameters", "no-leak"},
    ),
    "path in the manifest": (single, put("parameters", "keep", value="/home/x/log.tsv"), {"no-leak"}),
    "address in the manifest": (
        single,
        put("software", "version", value="s3://bucket/log"),
        {"no-leak", "software"},
    ),
    "unknown section": (single, put("notes", value="x"), {"keys"}),
    "missing section": (single, lambda made: made.manifest.pop("software"), {"keys", "software"}),
    "time of day": (single, put("created", value="2025-01-31T10:20:30"), {"keys"}),
    "other format": (single, put("format", value="another"), {"format"}),
    "later version": (single, put("format_version", value=2), {"format"}),
    "later method": (single, put("method", value="later-method"), {"method"}),
    "method is no text": (single, put("method", value=["zealous"]), {"keys", "method"}),
    "empty data sheet": (single, lambda made: made.documents.update({"DATASHEET.md": b" \n"}), {"documents"}),
    "data sheet in another encoding": (
        single,
        lambda made: made.documents.update({"DATASHEET.md": b"caf\xe9"}),
        {"documents"},
    ),
    "no report": (single, lambda made: made.documents.pop("report.html"), {"documents", "roles"}),
    "named, but no part of a release": (
        single,
        lambda made: made.documents.update({"rejected.csv": b"x"}),
        {"roles"},
    ),
    "external script": (single, report("<script src='https://x.example/a.js'></script>"), {"report-offline"}),
    "local script": (single, report("<script src='a.js'></script>"), {"report-offline"}),
    "asking script": (single, report("<script>fetch('x')</script>"), {"report-offline"}),
    "image": (single, report("<img src=//x.example/a.png>"), {"report-offline"}),
    "link": (single, report("<a href='HTTPS://x.example'>x</a>"), {"report-offline"}),
    "form": (single, report("<form action='http://x.example'></form>"), {"report-offline"}),
    "style": (single, report("<p style='background: URL( \"http://x.example\")'>"), {"report-offline"}),
    "import": (single, report("<style>@import 'x.css';</style>"), {"report-offline"}),
    "refresh": (single, report("<meta http-equiv=Refresh content='0;url=http://x'>"), {"report-offline"}),
    "out of the folder": (single, report("<a href='../release.private/x'>x</a>"), {"report-offline"}),
}


@pytest.mark.parametrize("case", CONSISTENT)
def test_content_that_is_wrong(case: str, tmp_path: Path) -> None:
    make, change, expected = CONSISTENT[case]
    made = make()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    assert failed(result) == expected, result.failed
    assert not result.passed
    assert result.as_dict()["passes"] is False


# -- tampering with a folder that was written ----------------------------------------------------


def count_changed(release: Path) -> None:
    changed = table([401, 150, 150, 150, 103], query=["weather", "Zoo", "ant", "ant\u00e9", "maps"])
    pq.write_table(changed, release / "items.parquet", compression="zstd")


def byte_flipped(release: Path) -> None:
    content = bytearray((release / "report.html").read_bytes())
    content[-3] ^= 1
    (release / "report.html").write_bytes(content)


def file_linked(release: Path) -> None:
    (release / "DATASHEET.md").rename(release.parent / "elsewhere.md")
    (release / "DATASHEET.md").symlink_to(release.parent / "elsewhere.md")


def named_out_of_folder(release: Path) -> None:
    edit(release, lambda manifest: manifest["files"].update({"../x.md": manifest["files"]["DATASHEET.md"]}))
    (release.parent / "x.md").write_bytes((release / "DATASHEET.md").read_bytes())


def key_given_twice(release: Path) -> None:
    text = (release / "manifest.json").read_text(encoding="utf-8")
    (release / "manifest.json").write_text(text.replace("{", '{"method": "none",', 1), encoding="utf-8")


FOLDERS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "changed count": (count_changed, {"digests"}),
    "flipped byte": (byte_flipped, {"digests"}),
    "table cut short": (
        lambda release: (release / "items.parquet").write_bytes(b"PAR1"),
        {"digests", "tables"},
    ),
    "missing table": (lambda release: (release / "items.parquet").unlink(), {"digests", "tables"}),
    "missing data sheet": (lambda release: (release / "DATASHEET.md").unlink(), {"digests"}),
    "extra file": (lambda release: (release / "notes.txt").write_text("x"), {"folder"}),
    "hidden file": (lambda release: (release / ".notes").write_text("x"), {"folder"}),
    "sub-folder": (lambda release: (release / "private").mkdir(), {"folder"}),
    "symlink": (lambda release: (release / "log").symlink_to("/nowhere"), {"folder"}),
    "file replaced by a symlink": (file_linked, {"digests", "folder"}),
    "file outside": (named_out_of_folder, {"digests", "roles"}),
    "no digest": (
        lambda release: edit(release, lambda m: m["files"]["report.html"].pop("sha256")),
        {"keys", "digests"},
    ),
    "other size": (
        lambda release: edit(release, lambda m: m["files"]["report.html"].update(bytes=1)),
        {"digests"},
    ),
    "key given twice": (key_given_twice, {"keys"}),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder_that_was_tampered_with(case: str, tmp_path: Path) -> None:
    change, expected = FOLDERS[case]
    release = single().write(tmp_path / "release")
    change(release)
    result = verify(release)
    assert failed(result) == expected, result.failed


# -- no release at all, and anything else ----------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff{}", b'{"x": NaN}', b"[" * 100_000])
def test_unreadable_manifest_is_an_input_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError) as raised:
        verify(tmp_path)
    assert raised.value.exit_code == 3
    assert raised.value.hint


def test_no_release_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no release folder"):
        verify(tmp_path / "nothing")
    with pytest.raises(InputError, match="not a release"):
        verify(str(tmp_path))


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [at, *(path for key, one in inner for path in paths(one, (*at, key)))]
        if at
        else [path for key, one in inner for path in paths(one, (key,))]
    )


@pytest.mark.parametrize("make", [single, several, with_clicks])
def test_malformed_manifest_never_raises_and_never_quotes(make: Callable[[], Draft], tmp_path: Path) -> None:
    """Junk in each place of the manifest in turn: a failure or a pass, but no exception."""
    junk = [None, [], {"x": [1]}, -1, 1e308, "\u2028query text", [[None]]]
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
        if len(path) == 1:
            assert not result.passed, path
        assert not any("query text" in check.detail for check in result.checks if check.name != "method")


def test_details_do_not_quote_released_text(tmp_path: Path) -> None:
    made = single()
    text_of_a_person = "john smith 5551234"
    tables(items=table([90, 400, 400], query=[text_of_a_person, text_of_a_person, None]))(made)  # type: ignore[list-item]
    report(f"<a href='https://{text_of_a_person}'>{text_of_a_person}</a>")(made)
    result = verify(made.write(tmp_path / "release"))
    assert failed(result) == {"thresholds", "order", "distinct", "cells", "report-offline"}
    assert text_of_a_person not in json.dumps(result.as_dict())


def test_many_rows_are_checked(tmp_path: Path) -> None:
    made = single()
    rows = 200_000
    counts = [10**6 - i // 3 for i in range(rows)]
    tables(items=table(counts, query=[f"q{i:07}" for i in range(rows)]))(made)
    assert verify(made.write(tmp_path / "release")).passed


# -- the second computation itself ----------------------------------------------------


def test_worked_examples_of_the_specification() -> None:
    """U = 500,000, delta = 1e-3: T = 106, 102 and 79 meet the promise, one less does not."""
    for m, tau, top, scale in ((5, 1, 106, 5.0), (5, 5, 102, 5.0), (2, 4, 79, 4.0)):
        at = Setting(m=m, scale=scale, tau=tau, top=top, replace=True).probabilistic(500_000)
        below = Setting(m=m, scale=scale, tau=tau, top=top - 1, replace=True).probabilistic(500_000)
        assert at.epsilon == Decimal(2 * m) / Decimal(scale)
        assert at.delta <= Decimal("0.001") < below.delta


def test_a_promise_met_exactly_is_met() -> None:
    """2m/7 = 2 for m = 7, though 1/7 is no finite decimal."""
    setting = Setting(m=7, scale=7.0, tau=1, top=300, replace=True)
    assert setting.probabilistic(500_000).epsilon == setting.approximate().epsilon == 2


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 20),
    scale=st.floats(0.3, 60),
    tau=st.integers(1, 40),
    excess=st.integers(-5, 400),
    users=st.integers(1, 10**9),
)
def test_figures_agree_with_summed_noise(m: int, scale: float, tau: int, excess: int, users: int) -> None:
    """The tail is summed term by term here, in floats: P[X = i] = (1 - q)/(1 + q) q^|i|."""
    top = max(0, tau + excess)
    q = math.exp(-1 / scale)
    start = top + 1 - tau
    p = math.fsum(
        (1 - q) / (1 + q) * q ** abs(i) for i in range(start, max(start, 0) + math.ceil(45 * scale))
    )
    setting = Setting(m=m, scale=scale, tau=tau, top=top, replace=True)
    probabilistic, approximate = setting.probabilistic(users), setting.approximate()
    loss = -math.log1p(-p)
    assert float(probabilistic.delta) == pytest.approx(min(1, users * m * p / tau), rel=1e-6)
    assert float(approximate.delta) == pytest.approx(-math.expm1(-m * loss), rel=1e-6)
    assert float(probabilistic.epsilon) == pytest.approx(2 * m * max(1 / scale, loss), rel=1e-6)
    assert float(approximate.epsilon) == pytest.approx(2 * m / scale, rel=1e-6)
    added = Setting(m=m, scale=scale, tau=tau, top=top, replace=False).approximate()
    assert float(added.epsilon) == pytest.approx(m / scale)


@pytest.mark.parametrize(
    ("scale", "top"), [(1e-300, 0), (1e-300, 2**53), (1e300, 5), (5.0, 2**53), (1e300, 2**53)]
)
def test_extreme_settings_have_figures(scale: float, top: int) -> None:
    for replace in (True, False):
        worth = Setting(m=10**9, scale=scale, tau=1, top=top, replace=replace).approximate()
        assert worth.epsilon > 0
        assert 0 <= worth.delta <= 1


def test_verifier_shares_only_the_schema_with_the_writer() -> None:
    # WordNet is public data that anyone can look labels up in; nothing that writes a release is imported, except where
    # sentences and documents are written again to be compared to the letter, and where the publisher signs.
    allowed = (
        "queryveil.files.folder",
        "queryveil.errors",
        "queryveil.verification",
        "queryveil.language.taxonomy.Taxonomy",
    )
    for file in Path(sys.modules[verify.__module__].__file__ or "").parent.rglob("*.py"):
        if file.stem in {"planned", "rebuilt", "signing"}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "queryveil":
                names = [f"{node.module}.{one.name}" for one in node.names]
                assert all(name.startswith(allowed) for name in names), (file.name, names)
            assert not (isinstance(node, ast.ImportFrom) and node.level), file.name
