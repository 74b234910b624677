"""Programs are told of arguments, people at a terminal of options; paths, names and values are taken as they come."""

from __future__ import annotations

import ast
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.errors import in_python
from tests.command import command

SOURCE = Path(qv.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
ROWS = [{"user": f"u{one}", "query": "weather"} for one in range(300)]


def sentences() -> list[str]:
    """Every text of the code that errors may be made of: those that speak of an option."""
    found = []
    for file in SOURCE.rglob("*.py"):
        if "cli" in file.parts or "documents" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and OPTION.search(node.value):
                found.append(node.value)
    return found


def test_no_sentence_for_programs_speaks_of_an_option() -> None:
    said = sentences()
    assert len(said) > 100
    assert [one for one in said if OPTION.search(in_python(one))] == []


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        ("pass --source NAME", "pass source=NAME"),
        ("pass --allow-empty", "pass allow_empty=True"),
        ("leave out --resume", "leave out resume"),
        ("give numbers from 1, as in --columns user=1,query=2", "as in columns={'user': 1, 'query': 2}"),
        (
            "name it with --columns time=..., or use --keep random",
            "columns={'time': ...}, or use keep='random'",
        ),
        ("check --format, --delimiter and --columns", "check format, delimiter and columns"),
        ("name a folder that `publish --out` wrote", "that `publish(..., out=...)` wrote"),
        ("pass --from 2026-01-01", "pass start='2026-01-01'"),
        ("write it like --vary k=2,3", "vary={'k': [2, 3]}"),
        ("raise epsilon, lower max-items", "raise epsilon, lower max_items"),
    ],
)
def test_options_become_arguments(typed: str, passed: str) -> None:
    assert passed in in_python(typed)


def test_the_same_error_names_an_option_on_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("user\tquery\n" + "".join(f"u{one}\tq{one}\n" for one in range(40)))
    with pytest.raises(qv.CannotBeMet) as caught:
        qv.publish(log, "zealous", epsilon=1, delta=1e-6, max_items=3, out=tmp_path / "out")
    assert "lower max_items" in str(caught.value) and "allow_empty=True" in str(caught.value)
    words = ["publish", "zealous", str(log), "--epsilon", "1", "--delta", "1e-6", "--max-items", "3"]
    done = command(*words, "--out", str(tmp_path / "out"))
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
        (42, {}, "a int is no mechanism"),
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
    import inspect

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
    with pytest.raises(qv.UsageError, match="a int cannot be checked"):
        qv.verify(42)  # type: ignore[arg-type]
    (tmp_path / "release" / "DATASHEET.md").write_text("changed")
    assert not qv.verify(saved).passes


def test_the_version_is_that_of_the_package() -> None:
    assert qv.__version__ == version("queryveil")
