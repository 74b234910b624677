"""The same as a command and as Python, for every action."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import queryveil as qv
from queryveil.parameters import parameters
from queryveil.show.web.logs import LogSnapshot


@dataclass(frozen=True)
class Same:
    """What to type instead."""

    command: str
    python: str


def reading_words(reading: Mapping[str, Any]) -> list[str]:
    """How a log is read, as words of a command."""
    words: list[str] = []
    for name, value in reading.items():
        flag = "--" + name.replace("_", "-")
        if name == "columns":
            words += [flag, ",".join(f"{one}={at}" for one, at in value.items())]
        elif isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        else:
            words += [flag, "\\t" if value == "\t" else _command_line_value(value)]
    return words


def _read_call(log: LogSnapshot) -> str:
    said = "".join(
        f", {name}={dict(value) if isinstance(value, Mapping) else value!r}"
        for name, value in log.options.items()
    )
    return f"log = qv.read({log.displayed_path!r}{said})"


def of_log(log: LogSnapshot, verb: str, python: str, *more: str) -> Same:
    """A command about a log, and the same in Python."""
    command = shlex.join(["queryveil", verb, log.displayed_path, *reading_words(log.options), *more])
    return Same(command, f"import queryveil as qv\n\n{_read_call(log)}\n{python}")


def given_words(cls: type, given: Mapping[str, Any]) -> Iterator[str]:
    """Declared parameters, as words of a command."""
    for one in parameters(cls):
        if one.name not in given:
            continue
        value = given[one.name]
        if value is True:
            yield one.flag
        elif value is not False:
            yield one.flag
            yield _command_line_value(value)


def _command_line_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_command_line_value, value))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def called(cls: type, given: Mapping[str, Any]) -> str:
    """A declared value as it is written in Python."""
    said = ", ".join(
        f"{name}={tuple(value) if isinstance(value, list) else value!r}" for name, value in given.items()
    )
    return f"qv.{cls.__name__}({said})"


def publish(log: LogSnapshot, method: str, given: Mapping[str, Any], more: Mapping[str, Any]) -> Same:
    """Publishing, with its own options such as `out`, `ledger` and `source`."""
    cls = qv.MECHANISMS[method]
    words = [
        "queryveil",
        "publish",
        method,
        log.displayed_path,
        *reading_words(log.options),
        *given_words(cls, given),
    ]
    for name, value in more.items():
        flag = "--" + name.replace("_", "-")
        words += [flag] if value is True else [flag, str(value)]
    said = "".join(f",\n    {name}={value!r}" for name, value in more.items())
    call = f"release = qv.publish(\n    log,\n    {called(cls, given)}{said},\n)"
    return Same(shlex.join(words), f"import queryveil as qv\n\n{_read_call(log)}\n{call}")


def series(log: LogSnapshot, method: str, given: Mapping[str, Any], words: Mapping[str, Any]) -> Same:
    """Publishing a series; `words` are its options by the names of the command line."""
    typed = publish(log, method, given, words).command
    names = {"series": "name", "from": "start", "to": "end"}
    said = "".join(
        f",\n    {names.get(name, name)}={value!r}" for name, value in words.items() if name != "users"
    )
    said += f",\n    users={words['users']}" if "users" in words else ""
    call = f"series = qv.publish_series(\n    log,\n    {called(qv.MECHANISMS[method], given)}{said},\n)"
    return Same(typed, f"import queryveil as qv\n\n{_read_call(log)}\n{call}")


def attack(name: str, given: Mapping[str, Any], inputs: list[tuple[Any, str]], reading: list[str]) -> Same:
    """An attack: what it is let loose on, by place or by option."""
    cls = qv.ATTACKS[name]
    words = ["queryveil", "attack", name]
    for one, path in inputs:
        words += [f"--{one.name.replace('_', '-')}", path] if one.option else [path]
    words += [*given_words(cls, given), *reading, "--save"]
    loaded = ", ".join(
        f"[{_load_call(one.kind, path)}]" if one.many else _load_call(one.kind, path) for one, path in inputs
    )
    return Same(
        shlex.join(words),
        f"import queryveil as qv\n\nfound = {called(cls, given)}.run({loaded})\nprint(found.words)",
    )


def _load_call(kind: str, path: str) -> str:
    return (
        f"qv.load({path!r})" if kind == "release" else f"qv.read({path!r})" if "log" in kind else repr(path)
    )
