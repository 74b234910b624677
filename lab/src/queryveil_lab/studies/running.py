"""compare(): run a study cell by cell, keep what is finished, and write the results all at once."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil import SearchLog, UsageError
from queryveil.extension import Card, CardTable, argument, cards, counted, instead, output
from queryveil.files import appearing
from queryveil_lab.charts import figures
from queryveil_lab.studies import processes, writing
from queryveil_lab.studies.declaration import MOST_REPEATS, Cell, Check, Findings, Given, Progress, Study
from queryveil_lab.studies.keeping import Kept
from queryveil_lab.studies.own import read_study
from queryveil_lab.studies.registry import STUDIES


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """What a study found. Results against a raw log are for its curator alone."""

    study: Study
    given: Given = field(repr=False)
    findings: Findings = field(repr=False)
    checks: tuple[Check, ...]
    seconds: float
    resumed: int = 0
    """Cells that an earlier, interrupted run had finished."""
    path: Path | None = None
    left: Path | None = None
    """The folder of finished cells, if something else was put into it, so that it could not be removed."""

    @property
    def table(self) -> pa.Table:
        """One row for each figure of each cell: study, mechanism, what varies, metric, unit, value, repeat."""
        return writing.arrow(self.study, self.findings)

    @property
    def passes(self) -> bool:
        """No check fails; some may be undecided, because there is too little to judge by."""
        return not any(check.fails for check in self.checks)

    @property
    def figures(self) -> list[Path]:
        return sorted((self.path / "figures").glob("*.png")) if self.path else []

    def _card(self) -> Card:
        rows = [(one.name, one.verdict, one.detail) for one in self.checks]
        table = CardTable("Checks", ("check", "verdict", "what was found"), iter(rows), len(rows))
        facts = [("rows", len(self.findings)), ("folder", str(self.path) if self.path else "not saved")]
        line = (
            f"{self.study.name}; {counted(len(self.findings), 'row')}, {'passes' if self.passes else 'FAILS'}"
        )
        return Card(f"Study {self.study.name}", line, facts, (self.study.question,), (table,))

    def as_dict(self) -> dict[str, Any]:
        return {
            "study": self.study.name,
            "out": str(self.path) if self.path else None,
            "rows": len(self.findings),
            "checks": [check.as_dict() for check in self.checks],
            "passes": self.passes,
            "figures": [str(file) for file in self.figures],
            "resumed": self.resumed,
            "left": str(self.left) if self.left else None,
            "seconds": self.seconds,
        }

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def compare(
    log: SearchLog | None,
    study: str | Path | Study,
    *,
    out: str | Path | None = None,
    repeats: int | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    results: str | Path | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Run a study on a log and, with `out`, write its table, figures and checks.

    `vary` puts other values in the place of an axis's own. Finished cells are kept in `OUT.partial` until all are
    done, so that the same call goes on after an interruption. `workers` processes share the cells; None takes as
    many as there are cores if the log is large (a script that asks for more than one needs the usual
    `if __name__ == "__main__"`).
    """
    chosen = find_study(study)
    processes.check(workers)
    _check_repeats(repeats)
    axes = chosen.grid(vary)
    chosen.check_log(log)
    if out is not None:
        figures.altair()  # missing libraries are told before the work, not after it
        chosen.check_out(Path(out))
    start = time.perf_counter()
    given = Given(
        log=log if chosen.needs_log or chosen.takes_log else None,
        axes=chosen.within(log, axes),
        repeats=chosen.repeats if repeats is None else repeats,
        results=Path(results) if results is not None else None,
    )
    cells = chosen.cells(given)
    # What would stop a cell is told before there is anything to go on with.
    chosen.ahead(given, cells)
    kept = Kept(Path(out), chosen, given, cells) if out is not None else None
    with log.unchanged() if log is not None else contextlib.nullcontext():
        findings, resumed = _run_cells(chosen, given, cells, kept, progress, workers)
    made = Comparison(
        study=chosen,
        given=given,
        findings=findings,
        checks=tuple(chosen.checks(findings)),
        seconds=round(time.perf_counter() - start, 1),
        resumed=resumed,
        path=Path(out) if out is not None else None,
    )
    if kept is not None:
        _write_comparison(made, kept)
        if not kept.remove():
            made = dataclasses.replace(made, left=kept.folder)
    return made


def find_study(name: str | Path | Study) -> Study:
    """The study of that name, or the one that a YAML file describes."""
    if isinstance(name, Study):
        return name
    if str(name) in STUDIES:
        return STUDIES[str(name)]
    if Path(name).suffix in (".yaml", ".yml") or Path(name).is_file():
        return read_study(name)
    raise UsageError(f"there is no study '{name}'", instead(name, STUDIES, ", or a YAML file"))


def _check_repeats(repeats: int | None) -> None:
    whole = isinstance(repeats, int) and not isinstance(repeats, bool)
    if repeats is not None and not (whole and 1 <= repeats <= MOST_REPEATS):
        raise UsageError(
            f"parameter 'repeats' must be an int from 1 to {MOST_REPEATS}; got {repeats!r}",
            f"pass {argument('repeats', 1)}",
        )


def _run_cells(
    study: Study,
    given: Given,
    cells: Sequence[Cell],
    kept: Kept | None,
    progress: Progress | None,
    wanted: int | None,
) -> tuple[Findings, int]:
    found = {cell.name: rows for cell in cells if kept and (rows := kept.read(cell)) is not None}
    resumed = len(found)
    if progress:
        progress(resumed, len(cells))
    if resumed < len(cells):
        left = [cell for cell in cells if cell.name not in found]
        number = processes.sensible(study, given, len(left), wanted)
        with contextlib.closing(processes.finished(study, given, left, number)) as done:
            for cell, rows in done:
                found[cell.name] = rows
                if kept:
                    kept.write(cell, rows)
                if progress:
                    progress(len(found), len(cells))
    return Findings(tuple(row for cell in cells for row in found[cell.name])), resumed


def _write_comparison(made: Comparison, kept: Kept) -> None:
    """The folder appears complete, or not at all."""
    out = kept.out
    private = made.given.log is not None
    with output.disk_errors(out), appearing.claim_paths(out) as claims:
        (claim,) = claims
        claim.content.mkdir(mode=0o700 if private else 0o777)
        writing.fill(claim.content, made.study, made.given, made.findings, made.checks)
        if private:
            for file in claim.content.rglob("*"):
                file.chmod(0o700 if file.is_dir() else 0o600)
        output.new_folder(out)
        claims.publish_claims(f"'{out}' is complete")
