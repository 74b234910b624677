"""What jobs do, each by public names alone: read, inspect, make a pilot, advise, publish once or often, attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import queryveil as qv
from queryveil.show.web import forms
from queryveil.show.web.logs import LogSnapshot

SHOWN_ROWS = 5
_LONGEST_SHOWN = 200


class Telling(Protocol):
    """How a task says how far it is."""

    def stage(self, name: str, sentence: str = "") -> None: ...

    def progress(self, done: int, whole: int) -> None: ...


Task = Callable[[dict[str, Any], Telling, Path], Any]


def _read_log(asked: Mapping[str, Any], told: Telling, folder: Path) -> qv.SearchLog:
    """Read the log of a job; refuse another file than that of its snapshot, and other columns than those confirmed."""
    told.stage("read")
    return LogSnapshot.from_dict(asked["log"]).read(folder, told.progress)


def read(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Which column is what, how many rows there are, and which were rejected and why."""
    log = _read_log(asked, told, folder)
    told.stage("count", "users and columns")
    staged = log.staged
    rows = log.engine.arrow(log.source.limit(SHOWN_ROWS)).to_pylist()
    return {
        "rows": log.rows,
        "users": log.users,
        "has": list(log.columns),
        "format": staged.format if staged else None,
        "columns": dict(staged.mapping) if staged else {},
        "ignored": list(staged.ignored) if staged else [],
        "empty": staged.empty_queries if staged else None,
        "rejected": staged.rejected if staged else 0,
        "reasons": dict(staged.reasons) if staged else {},
        "examples": [
            {"file": one.file, "line": one.line, "reason": one.reason}
            for one in (staged.examples if staged else ())
        ],
        "notes": list(log.notes),
        "skipped": dict(staged.skipped) if staged else {},
        "samples": [{name: _shorten(row.get(name)) for name in log.columns} for row in rows],
    }


def _shorten(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def inspect(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """The risk at a glance, and a first release that is worth a try."""
    log = _read_log(asked, told, folder)
    told.stage("inspect", "who is unique, what queries give away")
    found = qv.inspect(log)
    told.stage("propose", "a first release that is worth a try")
    proposal = qv.propose(log)
    option = proposal.option
    proposed = None
    if option is not None:
        proposed = {"method": option.method, "given": _given_parameters(option.mechanism)}
    return found.as_dict() | {"verdict": proposal.verdict, "proposed": proposed, "delta": proposal.delta}


def _given_parameters(method: qv.Mechanism) -> dict[str, Any]:
    from queryveil.parameters import parameters

    found = {}
    for one in parameters(type(method)):
        value = getattr(method, one.name)
        if value is not None and value != one.default:
            found[one.name] = list(value) if isinstance(value, tuple) else value
    return found


def pilot(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Count what previews need, once: numbers alone, no text and no id."""
    log = _read_log(asked, told, folder)
    told.stage("count", "items of some users")
    made = qv.PilotCounts.count_pilot(log, progress=told.progress)
    Path(asked["file"]).unlink(missing_ok=True)  # of a job that was cancelled
    made.save(asked["file"])
    return {"file": asked["file"], "users": made.users, "all_users": made.all_users}


def advise(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Which method and parameters fit a purpose."""
    log = _read_log(asked, told, folder)
    told.stage("try", "settings, one after the other")
    found = qv.advise(
        log, asked["purpose"], epsilon=asked["epsilon"], delta=asked["delta"], progress=told.progress
    )
    options = [
        {
            "method": one.method,
            "setting": one.label or f"{one.varied.replace('_', ' ')} {one.varied_value}",
            "figures": dict(one.figures),
            "weaker": one.weaker,
            "best": one is found.best,
            "query": {"method": one.method, **_given_parameters(one.mechanism)},
        }
        for one in found.options
    ]
    return found.as_dict() | {"tried": options}


def publish(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Read the log of the snapshot, charge the ledger, protect, and write; sign if there is a key."""
    recipe = qv.Recipe.read(asked["recipe"])
    log = _read_log(asked, told, folder)
    release = qv.publish_recipe(recipe, log=log, i_understand=asked["i_understand"], told=told.stage)
    kept = Path(asked["kept"])
    kept.unlink(missing_ok=True)  # of a release that was taken away
    recipe.write(kept)
    kept.chmod(0o600)
    if asked["key"]:
        told.stage("sign", "with the key that the workbench was started with")
        qv.sign(str(release.path), asked["key"])
    told.stage("verify", "as a reader would, without the log")
    checked = qv.verify(str(release.path))
    return {
        "released": release.released,
        "warnings": list(release.warnings),
        "seconds": release.seconds,
        "checks": len(checked.checks),
        "passes": checked.passes,
    }


def series(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Charge and publish one period after the other; those of an earlier try stay."""
    out = Path(asked["out"])
    there = len(list(out.glob("*/manifest.json"))) if asked["resume"] else 0
    written = [0]

    def heard(name: str, sentence: str) -> None:
        told.stage(name, sentence.replace(f"{out}/", ""))
        if name == "write":
            written[0] += 1
            told.progress(written[0], max(1, asked["periods"] - there))

    made = qv.publish_series(
        lambda: _read_log(asked, told, folder),
        forms.made(qv.MECHANISMS[asked["method"]], asked["given"]),
        name=asked["name"],
        out=out,
        ledger=asked["ledger"],
        source=asked["source"],
        recipe=asked["label"],
        about=qv.About(**asked["about"]),
        language=asked["language"],
        i_understand=asked["i_understand"],
        resume=asked["resume"],
        told=heard,
        **asked["series"],
    )
    if asked["key"]:
        told.stage("sign", "with the key that the workbench was started with")
        for one in made.releases.values():
            if not (one / "manifest.json.sig").exists():
                qv.sign(str(one), asked["key"])
    told.stage("verify", "as a reader would, without the log")
    checked = qv.verify(str(out))
    return {"complete": made.complete, "checks": len(checked.checks), "passes": checked.passes}


def attack(asked: dict[str, Any], told: Telling, folder: Path) -> dict[str, Any]:
    """Attack a release, beside a control, and keep the result in its private folder."""
    made = forms.made(qv.ATTACKS[asked["attack"]], asked["given"])
    release = qv.load(asked["release"])
    inputs: list[Any] = []
    for one in made.inputs:
        found: Any = release if "release" in one.kind else None
        if one.kind == "log" and one.needed:
            found = _read_log(asked, told, folder)
        inputs.append([found] if one.many and found is not None else found)
    told.stage("attack")
    result = made.run(*inputs, progress=told.progress)
    kept = qv.keep_attack(release, made, result)

    def named(text: str) -> str:
        """A release by its name: where it lies is not what a person wants to read."""
        return text.replace(asked["release"], Path(asked["release"]).name)

    return {
        "success": result.success,
        "control": result.control,
        "advantage": result.advantage,
        "interval": list(result.interval),
        "trials": result.trials,
        "words": [[label, named(said)] for label, said in result.words],
        "tables": [
            [title, [list(map(named, row)) for row in rows]]
            for title, rows in (("", result.table), *result.more)
            if rows
        ],
        "kept": str(kept),
    }


TASKS: dict[str, Task] = {
    "read": read,
    "inspect": inspect,
    "pilot": pilot,
    "advise": advise,
    "publish": publish,
    "series": series,
    "attack": attack,
}
