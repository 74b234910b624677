"""Programs are told of arguments, people at a terminal of options; paths, names and values are taken as they come."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil import errors
from queryveil.errors import argument, command
from queryveil.parameters import parameters
from queryveil.show.cli.console import as_option
from queryveil.show.web.labels import as_field
from tests import command as shell

SOURCE = Path(qv.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
ROWS = [{"user": f"u{one}", "query": "weather"} for one in range(300)]


ERRORS = {name for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, Exception)}


def texts_of_errors(file: Path) -> Iterator[str]:
    """Every text of the code that stands in the call of an error, but not in that of a command."""
    calls = [
        one for one in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(one, ast.Call)
    ]
    named = {one: getattr(one.func, "id", getattr(one.func, "attr", "")) for one in calls}
    lines = {node for one, name in named.items() if name == "command" for node in ast.walk(one)}
    for one in (one for one, name in named.items() if name in ERRORS):
        for node in ast.walk(one):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in lines:
                yield node.value


def test_no_error_spells_an_option_outside_of_the_command_line() -> None:
    found = {file: list(texts_of_errors(file)) for file in SOURCE.rglob("*.py") if "cli" not in file.parts}
    assert sum(map(len, found.values())) > 1_000
    assert [text for texts in found.values() for text in texts if OPTION.search(text)] == []


@pytest.mark.parametrize(
    ("named", "in_python", "option", "field"),
    [
        (argument("max_items"), "max_items", "--max-items", "max items"),
        (argument("source", "NAME"), "source=NAME", "--source NAME", "source NAME"),
        (argument("delta", 0.5), "delta=0.5", "--delta 0.5", "delta 0.5"),
        (argument("keep", "random"), "keep='random'", "--keep random", "keep random"),
        (argument("allow_empty", True), "allow_empty=True", "--allow-empty", "allow empty"),
        (argument("delimiter", "\t"), r"delimiter='\t'", r"--delimiter '\t'", "delimiter \t"),
        (argument("delimiter", ";"), "delimiter=';'", "--delimiter ';'", "delimiter ;"),
        (
            argument("start", "2026-01-31", option="from"),
            "start='2026-01-31'",
            "--from 2026-01-31",
            "from 2026-01-31",
        ),
        (
            argument("columns", {"user": 1, "time": "..."}),
            "columns={'user': 1, 'time': ...}",
            "--columns user=1,time=...",
            "columns user=1, time=...",
        ),
        (argument("vary", {"k": [2, 3]}), "vary={'k': [2, 3]}", "--vary k=2,3", "vary k=[2, 3]"),
        (command("queryveil x y", "qv.x('y')"), "qv.x('y')", "queryveil x y", "queryveil x y"),
    ],
    ids=ascii,
)
def test_each_front_end_names_parameters_in_its_own_vocabulary(
    named: str, in_python: str, option: str, field: str
) -> None:
    error = qv.UsageError(f"before {named}", f"{named} after")
    assert str(error) == f"before {in_python}; {in_python} after"
    assert (error.message, error.hint) == (f"before {in_python}", f"{in_python} after")
    for vocabulary, shown in ((as_option, option), (as_field, field)):
        assert error.as_dict(vocabulary)["message"] == f"before {shown}"
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    assert again.as_dict(as_option) == error.as_dict(as_option)


def test_a_reference_keeps_no_secret_of_an_address() -> None:
    error = qv.InputError("no log", f"pass {argument('engine', 'spark://u:secret@host?token=x')}")
    assert "secret" not in f"{error} {error.as_dict(as_option)}" and "token" not in str(error)


def test_the_same_error_names_an_option_on_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("user\tquery\n" + "".join(f"u{one}\tq{one}\n" for one in range(40)))
    with pytest.raises(qv.CannotBeMet) as caught:
        qv.publish(log, "zealous", epsilon=1, delta=1e-6, max_items=3, out=tmp_path / "out")
    assert "lower max_items" in str(caught.value) and "allow_empty=True" in str(caught.value)
    words = ["publish", "zealous", str(log), "--epsilon", "1", "--delta", "1e-6", "--max-items", "3"]
    done = shell.command(*words, "--out", str(tmp_path / "out"))
    assert done.code == 5 and "--allow-empty" in done.err


@pytest.mark.parametrize(
    ("given", "parameters", "said"),
    [
        ("steered", {}, "method 'steered' needs epsilon and delta; pass epsilon="),
        ("steerd", {"epsilon": 1}, "there is no method 'steerd'"),
        (
            "steered",
            {"epsilon": 1, "delta": 1e-6, "outt": "x"},
            "neither publish nor 'steered' has an argument 'outt'",
        ),
        (qv.Steered, {}, "Steered is a class"),
        (qv.Steered(epsilon=1, delta=1e-6), {"outt": "x"}, "there is no argument 'outt'"),
        (42, {}, "'mechanism' must be of type Mechanism or str, not int"),
    ],
)
def test_a_wrong_mechanism_is_a_sentence(given: object, parameters: dict[str, object], said: str) -> None:
    with pytest.raises(qv.UsageError, match=re.escape(said)):
        qv.publish(ROWS, given, **parameters)  # type: ignore[arg-type]


def test_a_name_gives_what_a_value_gives() -> None:
    named = qv.publish(ROWS, "zealous", epsilon=2, delta=1e-6, max_items=1, items="queries")
    value = qv.publish(qv.read(ROWS), qv.Zealous(epsilon=2, delta=1e-6, max_items=1), items="queries")
    assert named.plan.as_dict() == value.plan.as_dict()


def test_no_parameter_of_a_mechanism_hides_behind_one_of_publish() -> None:
    own = set(inspect.signature(qv.publish).parameters) - {"items", "parameters"}
    for cls in qv.MECHANISMS.values():
        assert not own & set(getattr(cls, "__dataclass_fields__", {})), cls.__name__


def test_a_path_is_read_and_a_release_is_checked(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("user\tquery\n" + "".join(f"u{one}\tweather\n" for one in range(300)))
    made = qv.publish(log, "zealous", epsilon=2, delta=1e-6, max_items=1, items="queries")
    assert made.path is None and qv.verify(made).passes
    assert not [one for one in tmp_path.iterdir() if one.name != "log.tsv"]
    saved = made.save(tmp_path / "release")
    assert qv.verify(saved).passes and qv.verify(saved).path == tmp_path / "release"
    assert qv.inspect(log).users == 300
    assert qv.evaluate(log, saved, "coverage@1").measures == {"coverage@1": 1.0}
    with pytest.raises(qv.UsageError, match="'path' must be of type"):
        qv.verify(42)  # type: ignore[arg-type]
    (tmp_path / "release" / "DATASHEET.md").write_text("changed")
    assert not qv.verify(saved).passes


def test_the_version_is_that_of_the_package() -> None:
    assert qv.__version__ == version("queryveil")


VALUES = ["nope", 42, 0.5, None, b"x", [object()], {"a": 1}, object(), qv.KQuery(k=2)]
"""Values that are no log, release, path that exists, graph, or taxonomy."""
FUNCTIONS = sorted(name for name in qv.__all__ if inspect.isfunction(getattr(qv, name)))
READS_ANY_TEXT = {"find_identifiers", "group_form", "keywords", "normalise", "scrub", "spot", "wanted"}
"""Functions that some of the values are good for."""


def required(function: Any) -> dict[str, inspect.Parameter]:
    every = inspect.signature(function).parameters
    return {
        name: one for name, one in every.items() if one.default is one.empty and one.kind < one.VAR_KEYWORD
    }


def call(function: Any, values: Sequence[Any]) -> None:
    """Call a function with a value for each parameter that it needs, by position where that is allowed."""
    given = list(zip(required(function).values(), values, strict=True))
    positional = [value for one, value in given if one.kind < one.KEYWORD_ONLY]
    function(*positional, **{one.name: value for one, value in given if one.kind is one.KEYWORD_ONLY})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_of_wrong_types_are_refused_at_the_call(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either in a sentence, or as Python refuses them; never by an error from deep inside."""
    monkeypatch.chdir(tmp_path)
    function = getattr(qv, name)
    refused = 0
    for value in VALUES if required(function) else []:
        try:
            call(function, [value] * len(required(function)))
        except qv.QueryveilError as error:
            refused += isinstance(error, qv.UsageError)
    assert refused or not required(function) or name in READS_ANY_TEXT


def test_arguments_in_the_wrong_order_are_refused_with_the_right_order(tmp_path: Path) -> None:
    log = qv.read(ROWS)
    release = qv.publish(log, "zealous", epsilon=2, delta=1e-6, max_items=1, items="queries")
    with pytest.raises(qv.UsageError, match=r"'releases'.*SearchLog.*evaluate\(log, releases, metrics"):
        qv.evaluate(release, log)  # type: ignore[call-overload]
    with pytest.raises(qv.UsageError, match="'mechanism'"):
        qv.publish(qv.KQuery(k=2), log)  # type: ignore[arg-type]
    with pytest.raises(qv.UsageError, match="'release'"):
        qv.withhold(["weather"], release, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(qv.UsageError, match="'shares'"):
        qv.trending_queries(10, release.tables["items"])  # type: ignore[arg-type]


def test_a_function_is_pickled_by_its_public_name() -> None:
    assert pickle.loads(pickle.dumps(qv.publish)) is qv.publish  # noqa: S301 (our own)


@pytest.mark.parametrize(("typed", "meant"), [("Steeered", "Steered"), ("publsh", "publish")])
def test_a_mistyped_name_gets_a_suggestion(typed: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"{typed}.*{meant}"):
        getattr(qv, typed)
    assert not hasattr(qv, "__wrapped__")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("time_format", 3),
        ("delimiter", 3),
        ("header", "yes"),
        ("max_rejected", "a"),
        ("format", 3),
        ("encoding", 3),
    ],
)
def test_options_of_read_have_types(option: str, value: Any) -> None:
    with pytest.raises(qv.UsageError, match=option):
        qv.read(ROWS, **{option: value})


def test_an_unknown_option_of_read_gets_a_suggestion() -> None:
    with pytest.raises(qv.UsageError, match="did you mean columns"):
        qv.read(ROWS, colums={"user": "user"})


# -- constructors --------------------------------------------------------------------------------------------

DECLARED = [
    *qv.MECHANISMS.values(),
    *qv.ATTACKS.values(),
    qv.ReadOptions,
    qv.PublishOptions,
    qv.SeriesOptions,
]


@pytest.mark.parametrize("cls", [one for one in DECLARED if parameters(one)], ids=lambda cls: cls.__name__)
def test_a_constructor_refuses_unknown_and_unnamed_parameters(cls: Any) -> None:
    name = parameters(cls)[0].name
    with pytest.raises(qv.UsageError) as refused:
        cls(**{f"{name}x": 1})
    assert name in str(refused.value.hint)
    with pytest.raises(qv.UsageError):
        cls(1)


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(qv.UsageError) as refused:
        qv.Steered(delta=1e-6)  # type: ignore[call-arg]
    assert "epsilon" in str(refused.value)


@pytest.mark.parametrize("given", [3, None, 1.5, ["ledger.db"]])
def test_a_ledger_is_named_by_a_path_or_an_address(given: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(qv.UsageError):
        qv.Ledger(given)
    qv.Ledger(tmp_path / "ledger.db").open("log", epsilon=1, delta=0)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]
