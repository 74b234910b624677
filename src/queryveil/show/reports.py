"""Reports of releases that are there already, and what a curator keeps beside them.

A published folder is never changed: the public report is written elsewhere, and everything that needs the raw log goes
to the private folder beside the release, which must be readable by its owner alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import CheckFailed, InputError, OutputError, UsageError
from queryveil.files import appearing, folder, output, spreadsheet
from queryveil.privacy.declarations import USERS
from queryveil.reading.log import SearchLog
from queryveil.release import load as loading
from queryveil.release.documents import rendering
from queryveil.release.publish import Release, load, noted_facts
from queryveil.show import curator, ready
from queryveil.show.curator import Curated, Figured, Kind

if TYPE_CHECKING:
    from queryveil.attack.protocol import Attack, AttackResult
    from queryveil.measure.evaluation import Evaluation
    from queryveil.measure.measure import Original, Released

ATTACKS = "attacks"
READ_THROUGH = "read-through.json"
"""Says when somebody read what `release review` lists."""
_TOP = 25
_MOST_ROWS = 30
"""Rows of a private table that are few enough to be shown whole."""
_NOT_SHOWN = ("rejected", "token-map", "user-map")
_DRAWN = "count-distribution"
"""The measure that is a figure of its own."""


def write_report(release: str | Path, out: str | Path | None = None) -> Path:
    """Write the public report of a release again, as one page, and say where it is.

    Without `out` it goes beside the folder, as DIR-report.html. A release that does not pass its checks has none.
    """
    from queryveil.verification import verify

    source = _named(release)
    file = Path(out) if out is not None else source.with_name(f"{source.name}-report.html")
    output.new_file(file)
    loaded = load(source)
    checked = verify(source)
    if not checked.passes:
        raise CheckFailed(
            f"the release fails {len(checked.failed)} of its checks, so a report on it could not be trusted",
            f"see what is wrong with queryveil release verify {release}",
        )
    text = rendering.render_document(folder.REPORT, _manifest(source), loaded.tables)
    with output.disk_errors(file), appearing.claim_paths(file) as claims:
        (claim,) = claims
        claim.content.write_text(text, encoding="utf-8")
        claims.publish_claims(f"'{file}' is complete")
    return file


def write_curator_report(
    release: Release | str | Path,
    log: SearchLog | None = None,
    *,
    metrics: str | Iterable[str] | None = None,
) -> Path:
    """Write the curator's report of a release into its private folder, and say where it is.

    With the log that the release was made from it has coverage, released share, count distributions and the measures
    named by `metrics` (all that apply if left out); without, what the private folder holds.
    """
    loaded = release if isinstance(release, Release) else load(_named(release))
    private = private_folder(loaded)  # refuses a release that was not saved
    source = _named(loaded.path or "")
    curated = Curated(
        name=source.name,
        manifest=_manifest(source),
        facts=noted_facts(loaded),
        attacks=_kept_attacks(private),
        tables=_small_tables(private),
        without_log=log is None,
    )
    if log is not None:
        curated = _add_measures(curated, loaded, log, metrics)
    curated = _add_checks(curated, loaded, source, private)
    file = private / folder.REPORT
    _write_private(file, curator.write(curated))
    return file


def _add_checks(curated: Curated, release: Release, source: Path, private: Path) -> Curated:
    """With the five checks and the list to read; without its lists of names the page says how to get one."""
    from queryveil.release.review import can_review, review
    from queryveil.verification import verify

    listed = review(release) if can_review() else None
    done = _read_json(private / READ_THROUGH)
    found = ready.checks(
        curated.facts,
        failed=[one.name for one in verify(source).failed],
        attacks=len(curated.attacks),
        read=done if isinstance(done, dict) and "day" in done else None,
        listed=None if listed is None else len(listed),
    )
    return dataclasses.replace(curated, ready=found, to_read=listed)


def note_read_through(release: Release | str | Path, listed: int) -> Path:
    """Note in the private folder that the texts that `review` lists were read. `listed`: how many there were."""
    file = private_folder(release) / READ_THROUGH
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    _write_private(file, folder.as_json({"day": day, "listed": listed}))
    return file


def keep_attack(release: Release | str | Path, attack: Attack, result: AttackResult) -> Path:
    """Keep what an attack found in the private folder of the release it was run on, for the curator's report.

    Of an attack on several releases the headline is this one's. Examples are left out: they are the log's own words,
    for whoever asked to see them.
    """
    private = private_folder(release)
    path = release.path if isinstance(release, Release) else Path(release)
    found = result.about(path) if path is not None else result
    found = dataclasses.replace(found, examples=())
    document = {
        "attack": result.attack,
        "run": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "parameters": {
            one.name: getattr(attack, one.name)
            for one in dataclasses.fields(attack)  # type: ignore[arg-type] # every attack is a dataclass
            if getattr(attack, one.name) is not None
        },
        "result": found.as_dict(),
        "table": found.table,
        "more": found.more,
        "words": found.words,
    }
    with output.disk_errors(private, ""):
        (private / ATTACKS).mkdir(mode=0o700, exist_ok=True)
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
    numbers = (f"{result.attack}{'' if number == 1 else f'-{number}'}.json" for number in range(1, 10_000))
    file = next(one for one in ((private / ATTACKS / name) for name in numbers) if not one.exists())
    _write_private(file, text)
    return file


def export_csv(release: Release | str | Path, out: str | Path) -> list[Path]:
    """Write the tables of a release as CSV files, safe to open in a spreadsheet, into a new folder."""
    target = Path(out)
    output.new_folder(target)
    loaded = release if isinstance(release, Release) else load(release)
    with output.disk_errors(target), appearing.claim_paths(target) as claims:
        (claim,) = claims
        claim.content.mkdir()
        for name, table in loaded.tables.items():
            spreadsheet.write_table(claim.content / f"{name}.csv", table)
        claims.publish_claims(f"'{target}' is complete")
    return [target / f"{name}.csv" for name in loaded.tables]


# -- the private folder --------------------------------------------------------------------------------------


def private_folder(release: Release | str | Path) -> Path:
    """The curator's folder of a release: there, and open to its owner alone, who may write."""
    private = release.private_place if isinstance(release, Release) else folder.private_folder(Path(release))
    if private is None:
        raise UsageError("the release was not saved, so nothing can be saved beside it", "save it first")
    with output.disk_errors(private, ""):
        if not private.exists() and not private.is_symlink():
            private.mkdir(mode=0o700)
        known = private.lstat()
    if not stat.S_ISDIR(known.st_mode):
        raise OutputError(f"'{private}' is not a folder", "move it away")
    if os.name == "posix" and (stat.S_IMODE(known.st_mode) & 0o077 or known.st_uid != os.geteuid()):
        raise OutputError(
            f"the private folder '{private}' is not yours alone, and what is made from the raw log must not go there",
            f"close it with chmod 700 {private}",
        )
    if not os.access(private, os.W_OK | os.X_OK):
        raise OutputError(
            f"the private folder '{private}' cannot be written",
            f"open it for yourself with chmod 700 {private}",
        )
    return private


def _write_private(file: Path, text: str) -> None:
    """Replace a file of the private folder at once; nobody else can read it at any time."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with output.disk_errors(file, ""):
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as lines:
                lines.write(text)
            temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _kept_attacks(private: Path) -> list[Mapping[str, Any]]:
    kept = private / ATTACKS
    files = sorted(kept.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
    return [found for found in map(_read_json, files) if isinstance(found, dict) and "result" in found]


def _read_json(file: Path) -> Any:
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"'{file.name}' of the private folder cannot be read ({type(error).__name__})", "move it away"
        ) from None


def _small_tables(private: Path) -> dict[str, list[dict[str, Any]]]:
    """Tables that say something at a glance; long ones are for queries of one's own."""
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(private.glob("*.parquet")):
        if file.stem in _NOT_SHOWN or file.stem.endswith("-true-counts"):
            continue
        with contextlib.suppress(OSError, pa.ArrowException):
            if pq.read_metadata(file).num_rows <= _MOST_ROWS:
                found[file.stem] = pq.read_table(file).to_pylist()
    return found


# -- what the log says ---------------------------------------------------------------------------------------


def _add_measures(
    curated: Curated, release: Release, log: SearchLog, metrics: str | Iterable[str] | None
) -> Curated:
    from queryveil.measure.evaluation import evaluate
    from queryveil.measure.inspection import inspect
    from queryveil.measure.measure import Original, Released

    found = evaluate(log, release, metrics)  # first: it refuses another log
    released = Released.from_release(release)
    original = Original(log).match_grouping(released)
    kinds = [_compare_kind(original, released, kind) for kind in released.kinds if original.has(kind)]
    return dataclasses.replace(
        curated,
        kinds=kinds,
        figures=_measured_figures(found),
        remarks=_remarks(found, bool(kinds)),
        uniqueness=inspect(log).uniqueness,
    )


def _compare_kind(original: Original, released: Released, kind: str) -> Kind:
    ours, theirs = original.histogram(kind, released.unit), released.histogram(kind)
    top = original.top(kind, released.unit, _TOP)
    found, held = ours.found_in(theirs), ours.counts_in(theirs)
    by_users = ours if released.unit == USERS else original.histogram(kind, USERS)
    texts = top.drop_columns(["count"]).to_pylist()
    first = zip(texts, ours.counts[:_TOP], held[:_TOP], found[:_TOP], strict=True)
    return Kind(
        name=kind.replace("-", " "),
        unit=released.unit,
        original=ours.counts,
        released=theirs.counts,
        found=found,
        held=held,
        covered=by_users.found_in(theirs),
        top=[
            (list(text.values()), int(count), int(there) if has else None)
            for text, count, there, has in first
        ],
    )


def _measured_figures(found: Evaluation) -> list[Figured]:
    return [
        Figured(name, _value(one.value), one.unit, one.direction, one.help)
        for name, one in found.figures.items()
        if not name.startswith(_DRAWN)
    ]


def _value(value: float | None) -> str:
    if value is None:
        return "none"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.2e}" if abs(value) < 5e-4 else f"{value:,.4f}"


def _remarks(found: Evaluation, counted: bool) -> list[str]:
    said = [*found.warnings, *(f"{name}: {note}" for name, note in found.notes.items())]
    said += [f"{name}: left out, {reason}." for name, reason in found.left_out.items()]
    if not counted:
        said.append("The release has nothing to compare with the log item by item.")
    return said


# -- paths ---------------------------------------------------------------------------------------------------


def _named(release: str | Path) -> Path:
    """A folder by its name, also if it was given as '.': what lies beside it is named after it."""
    path = Path(release)
    return path if path.name not in ("", "..") else Path(os.path.abspath(path))  # noqa: PTH100 (resolves '..')


def _manifest(release: Path) -> dict[str, Any]:
    """In the format of today, whichever it was written in."""
    return loading.manifest(json.loads((release / folder.MANIFEST).read_text(encoding="utf-8")))
