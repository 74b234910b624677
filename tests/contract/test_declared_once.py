"""What it costs to add an option to a method, and a page to the workbench, each done in a copy of the repository."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.parameters import parameters
from tests.contract.test_one_file_one_line import ROOT, copy_repository, queryveil, run

METHOD = Path("src/queryveil/mechanisms/k_query.py")
PROOF = Path("docs/proofs/k-query.md")
EXAMPLE = 'example: ClassVar[Mapping[str, Any]] = {"k": 3}\n'
OPTION = """
    margin: int = param("users beyond k that a query needs", ge=0, le=1_000, default=0, group=PROMISES)
"""
BOUND = "count_users(log, kind, self.k, "
IMPORT = "from queryveil.mechanisms.crowds import Crowds, crowd_plan\n"

PAGES = Path("src/queryveil/show/web/pages")
PAGE = PAGES / "methods.py"
TEMPLATE = Path("src/queryveil/show/web/templates/methods.html")
REGISTRY = PAGES / "__init__.py"


def replace_once(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file.name} has {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new), encoding="utf-8")


def changed_files(copy: Path) -> set[Path]:
    """Return the files that the copy changed or added."""
    files = {
        file.relative_to(copy)
        for folder in ("src", "tests", "scripts", "benchmarks", "docs", "man")
        for file in (copy / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    return {
        name
        for name in files
        if not (ROOT / name).is_file() or (ROOT / name).read_bytes() != (copy / name).read_bytes()
    }


def run_python(copy: Path, code: str, within: Path) -> str:
    done = run(copy, "-c", code, within=within)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- an option of a method -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_option(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which k-query has another option."""
    copy = copy_repository(tmp_path_factory.mktemp("option"))
    module = copy / METHOD
    replace_once(module, EXAMPLE, EXAMPLE + OPTION)
    replace_once(module, BOUND, "count_users(log, kind, self.k + self.margin, ")
    replace_once(module, IMPORT, f"{IMPORT}from queryveil.parameters import PROMISES, param\n")
    with (copy / PROOF).open("a", encoding="utf-8") as page:
        page.write("\nWith `margin`, every published query has k + margin users, which is at least k.\n")
    assert changed_files(copy) == {METHOD, PROOF}
    for script in ("reference.py", "api_reference.py", "command_reference.py"):
        written = run(copy, f"scripts/{script}", "--write")
        assert written.returncode == 0, written.stderr
    return copy


def test_an_option_needs_its_module_and_the_generated_pages(with_option: Path) -> None:
    reference = Path("docs/reference")
    manuals = {Path("man") / f"queryveil-{command}.1" for command in ("plan", "publish", "audit")}
    changed = changed_files(with_option)
    assert changed - {reference / "methods.md", reference / "api.md"} - manuals == {METHOD, PROOF}
    assert "\n.B \\-\\-margin N\n" in (with_option / "man" / "queryveil-publish.1").read_text(
        encoding="utf-8"
    )
    section = (with_option / reference / "methods.md").read_text(encoding="utf-8")
    assert "| `--margin` |" in section.partition("## `k-query`")[2].partition("\n## ")[0]
    assert "margin" in (with_option / reference / "api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["plan", "publish"])
def test_help_has_the_option_of_its_method_alone(with_option: Path, command: str, tmp_path: Path) -> None:
    assert "--margin N" in queryveil(with_option, tmp_path, command, "k-query", "--help")
    assert "--margin" not in queryveil(with_option, tmp_path, command, "k-keyword", "--help")


def test_the_option_is_planned_published_and_verified(with_option: Path, tmp_path: Path) -> None:
    asked = ("--k", "3", "--margin", "4")
    plan = json.loads(queryveil(with_option, tmp_path, "plan", "k-query", *asked, "--json"))
    assert plan["parameters"]["margin"] == 4
    queryveil(with_option, tmp_path, "generate", "log.parquet", "--users", "300")
    queryveil(with_option, tmp_path, "publish", "k-query", "log.parquet", *asked, "--out", "out")
    queryveil(with_option, tmp_path, "release", "verify", "out")
    code = (
        "import pyarrow.parquet as pq;"
        "print(min(pq.read_table('out.private/queries-true-counts.parquet')['users'].to_pylist()))"
    )
    assert int(run_python(with_option, code, tmp_path)) >= 7
    refused = ("-c", "from queryveil.show.cli import run; run()", "plan", "k-query", "--k", "3")
    assert run(with_option, *refused, "--margin", "-1", within=tmp_path).returncode == 2


def test_python_and_the_browser_have_the_option(with_option: Path, tmp_path: Path) -> None:
    code = """
import inspect, queryveil as qv
from queryveil.show.web import forms
parameter = inspect.signature(qv.KQuery).parameters["margin"]
field = {one.name: one for one in forms.fields(qv.KQuery, {})}["margin"]
given = forms.given(qv.KQuery, {"k": "3", "margin": "4"})
print(parameter.default, field.kind, field.step, field.low, field.value, forms.made(qv.KQuery, given).margin)
"""
    assert run_python(with_option, code, tmp_path).split() == ["0", "number", "1", "0", "0", "4"]


def test_a_recipe_takes_the_option(with_option: Path, tmp_path: Path) -> None:
    queryveil(with_option, tmp_path, "generate", "log.parquet", "--users", "300")
    queryveil(with_option, tmp_path, "init", "log.parquet")
    code = """
import dataclasses, queryveil as qv
recipe = dataclasses.replace(qv.Recipe.read("release.yaml"), method="k-query", parameters={"k": 3, "margin": 4})
recipe.write("other.yaml")
print(qv.Recipe.read("other.yaml").mechanism().margin)
"""
    assert run_python(with_option, code, tmp_path).split() == ["4"]
    assert (
        json.loads(queryveil(with_option, tmp_path, "plan", "other.yaml", "--json"))["parameters"]["margin"]
        == 4
    )


def test_the_option_passes_the_tests_of_methods_and_pages(with_option: Path) -> None:
    tests = ("tests/contract/test_mechanisms.py", "tests/docs/test_command_reference.py")
    words = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *tests)
    done = run(
        with_option, *words, "-k", "(test_mechanisms and k-query) or reference_page or command_reference"
    )
    assert done.returncode == 0, done.stdout[-3000:]


# -- options of publishing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "records"),
    [
        (qv.publish, [qv.PublishOptions]),
        (qv.publish_series, [qv.PublishOptions, qv.SeriesOptions]),
        (qv.advise, [qv.Wanted]),
    ],
    ids=["publish", "publish_series", "advise"],
)
def test_signatures_take_what_the_records_declare(function: Any, records: list[type]) -> None:
    """The command line has these options from the records; Python has them from the signature."""
    signature = inspect.signature(function).parameters
    for record in records:
        for one in parameters(record):
            default = inspect.Parameter.empty if one.required else one.default
            # None leaves the choice to the purpose.
            assert signature[one.name].default in (default, *([None] if one.name == "top" else [])), one.name


def test_the_page_of_a_series_has_the_units_and_periods_that_are_declared() -> None:
    from queryveil.show.web.pages import series

    declared = {one.name: one.declaration.choices for one in parameters(qv.SeriesOptions)}
    assert (tuple(series.PERIODS), tuple(series.UNITS)) == (declared["period"], declared["unit"])


# -- a page of the workbench ---------------------------------------------------------------------------------

HANDLER = '''"""Methods: what can be published, in one list."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import queryveil as qv
from queryveil.show.web.rendering import page


def list_methods(request: Request) -> Response:
    return page(request, "methods.html", step="methods", methods=list(qv.MECHANISMS))


PAGES = {"/methods": list_methods}
FORMS: dict[str, Any] = {}
'''
LISTING = """{% extends "base.html" %}
{% block title %}Methods{% endblock %}
{% block body %}
<h1>Methods</h1>
<ul>{% for name in methods %}<li>{{ name }}</li>{% endfor %}</ul>
{% endblock %}
"""


@pytest.fixture(scope="module")
def with_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which the workbench has another page."""
    copy = copy_repository(tmp_path_factory.mktemp("page"))
    (copy / PAGE).write_text(HANDLER, encoding="utf-8")
    (copy / TEMPLATE).write_text(LISTING, encoding="utf-8")
    last = '    "jobs": "",\n'
    replace_once(copy / REGISTRY, last, f'{last}    "methods": "Methods",\n')
    return copy


def test_a_page_touches_three_files(with_page: Path) -> None:
    assert changed_files(with_page) == {PAGE, TEMPLATE, REGISTRY}


def test_a_page_is_linked_from_others_and_needs_a_session(with_page: Path, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from tests.show.web.conftest import opened_benches
place = Path({str(tmp_path)!r})
with opened_benches(place, place) as start:
    visitor = start()
    print('href="/methods"' in visitor.get("/log").text)
    answer = visitor.get("/methods")
    print(answer.status_code, 'aria-current="page">Methods' in answer.text, "truncated-geometric" in answer.text)
    print(start(inside=False).get("/methods", follow_redirects=False).headers["location"])
"""
    assert run_python(with_page, code, with_page).split() == ["True", "200", "True", "True", "/enter"]
