"""publish(): plan, check, charge, protect, and write all at once or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from queryveil.catalog import ENGLISH
from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted
from queryveil.errors import CannotBeMet, InputError, QueryveilError, UsageError, argument, command, instead
from queryveil.files import folder, interruptions, output
from queryveil.mechanisms import Mechanism, Plan, Run, build_mechanism
from queryveil.parameters import value_of
from queryveil.privacy.draws import DISCRETE_LAPLACE, ROUNDED_NORMAL
from queryveil.privacy.guarantee import Guarantee
from queryveil.privacy.noise import Noise, checked_scale, checked_whole_scale
from queryveil.privacy.selection_noise import noise_of
from queryveil.reading.log import SearchLog, as_log
from queryveil.release import ahead, clock
from queryveil.release import load as loading
from queryveil.release.about import About, refuse_claims
from queryveil.release.documents import rendering, segmented
from queryveil.release.ledger.ledger import Ledger
from queryveil.release.series import calendar
from queryveil.release.understanding import (
    agree,
    counts_users,
    judged,
    name_plugins,
    refuse_rows_of_users,
    refuse_untold_users,
)
from queryveil.release.writing import writing

if TYPE_CHECKING:
    import pandas as pd

    from queryveil.display.pictures import Picture

_COUNT = "count"
_VERIFY = command("queryveil release verify", "queryveil.verify")


@dataclass(frozen=True, kw_only=True, repr=False)
class Release:
    """What is published: tables, and the plan with its guarantee. `private` is for the curator alone."""

    plan: Plan
    tables: dict[str, pa.Table]
    private: dict[str, Any] = field(default_factory=dict, repr=False)
    seconds: dict[str, float] = field(default_factory=dict, repr=False)
    path: Path | None = None
    private_path: Path | None = field(default=None, repr=False)
    """Where the private folder is, if not beside the release. The release itself does not tell."""
    created: str | None = None
    """The day on which it was made; None until it is written."""
    software: Mapping[str, str] | None = field(default=None, repr=False)
    """What it was made with; None if it was made here."""
    about: About = field(default_factory=About, repr=False)
    """What its publisher says of it."""
    language: str = field(default=ENGLISH, repr=False)
    """The language of its documents."""
    withheld: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Rows that were taken out after a read-through, by table."""

    @property
    def private_place(self) -> Path | None:
        """Where the private folder is, or would be; None for a release that was not saved."""
        if self.private_path is not None or self.path is None:
            return self.private_path
        return folder.private_folder(self.path)

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the curator must know: of the parameters, and of the log. None of it is published."""
        noted = self.private.get(folder.CURATOR, {}).get("warnings")
        return self.plan.warnings if noted is None else tuple(noted)

    @property
    def released(self) -> dict[str, int]:
        """Published rows per table."""
        return {name: table.num_rows for name, table in self.tables.items()}

    def save(
        self, out: str | Path, *, private: str | Path | None = None, language: str | None = None
    ) -> Release:
        """Write the release folder, and the private folder beside it or where `private` says.

        `language` is that of the documents: `en`, or `de` for German; left out, that of the release.
        """
        apart = Path(private) if private is not None else None
        saved = dataclasses.replace(
            self, path=Path(out), private_path=apart, language=language or self.language
        )
        # The documents are this version's, whichever version published the release.
        manifest = saved.manifest() | {"software": folder.software_version()}
        with writing(Path(out), apart) as target:
            target.fill(manifest, self.tables, self.private)
        return saved

    def manifest(self) -> dict[str, Any]:
        """Everything a reader of the release needs to know; nothing that the guarantee does not cover."""
        stated = self.plan.as_dict()
        tables = {
            name: {"file": folder.table_file(name), "rows": table.num_rows, **stated["tables"][name]}
            for name, table in self.tables.items()
        }
        return {
            "format": folder.FORMAT,
            "format_version": folder.FORMAT_VERSION,
            "documents": rendering.document_version(self.language),
            **({"about": self.about.as_dict()} if self.about.as_dict() else {}),
            **{key: value for key, value in stated.items() if key not in {"warnings", "expected", "tables"}},
            "tables": tables,
            **({"withheld": dict(self.withheld)} if self.withheld else {}),
            "software": dict(self.software or folder.software_version()),
            "created": self.created or clock.utc_now().date().isoformat(),
        }

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """A published table as an Arrow table.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table.
        """
        return _plotted_table(self, table)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """A published table as a pandas data frame.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table.
        """
        frame: pd.DataFrame = _plotted_table(self, table).to_pandas()
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table of a release that has one, for polars, DuckDB and others that read Arrow."""
        return _plotted_table(self, None).__arrow_c_stream__(requested_schema)

    def plot(self, table: str | None = None) -> Picture:
        """The 20 largest published counts of a table, as bars.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table of counts.
        """
        return _largest_counts(self, table)

    def _card(self) -> Card:
        return _card(self)

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def publish(
    log: SearchLog | Any,
    mechanism: Mechanism | str,
    *,
    items: str | tuple[str, ...] | None = None,
    users: int | None = None,
    out: str | Path | None = None,
    private: str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    source: str | None = None,
    recipe: str | None = None,
    about: About | None = None,
    noted: Mapping[str, Any] | None = None,
    period: str | None = None,
    language: str = ENGLISH,
    allow_empty: bool = False,
    i_understand: bool = False,
    told: Callable[[str, str], None] | None = None,
    noise: Noise | None = None,
    **parameters: Any,
) -> Release:
    """Protect a log and, with `out`, write the release folder.

    `log` is a `SearchLog`, or what `read` takes. `mechanism` is one, or its name with its `parameters`. `items` are
    what is counted. `users` is a public upper bound on the number of users; left out, the log's own number is public.
    The private folder goes to `private`, or beside `out` as DIR.private.
    With a ledger the guarantee is charged to `source` before any noise is drawn, and never refunded; the entry keeps
    the name of a `recipe`, and the `period`. `about` is what the publisher says of the release, in all its documents,
    which are in `language`: `en`, or `de` for German. `noted` is what the private folder keeps besides. With a period
    (2026-01-31, 2026-W05, 2026-01) the rows of that day, week or month (UTC) are published and no others; there may be
    none. A release that promises nothing, or whose delta is so large that it promises as good as nothing, needs
    `i_understand`. Noise that is not the system's may be known to somebody: with it, nothing is promised. `told` is
    called with each stage and a sentence.
    An empty release is refused unless `allow_empty` is given.
    """
    _check_documents(about, language)
    mechanism = build_mechanism(mechanism, parameters, items)
    if isinstance(ledger, (str, Path)):
        ledger = Ledger(str(ledger))
    if ledger is not None and not source:
        raise UsageError(
            "charging a ledger needs the name of the source log", f"pass {argument('source', 'NAME')}"
        )
    if private is not None and out is None:
        raise UsageError("a private folder needs a release", f"pass {argument('out')} too")
    apart = Path(private) if private is not None else None
    with contextlib.ExitStack() as stack:
        whole = log = as_log(log)
        stack.enter_context(ahead.loading(mechanism))
        if period is not None:
            # Cut here, so that what a ledger counts for one period is never of another.
            _, cut = calendar.named(period)
            log = log.between(cut.start, cut.end)
        charge = stack.enter_context(_budget_charger(ledger, source, recipe=recipe, period=period))
        # The output is claimed first: a release that cannot be written must not be charged.
        target = stack.enter_context(writing(Path(out), apart)) if out is not None else None
        run = Run(noise=noise or Noise(), told=told)
        with run.stage("read") as say:
            run.users = _public_users(log, mechanism, users, part=period is not None)
            say(_read_sentence(log))
        made = mechanism.plan(users=run.users)
        # Warnings are for the curator, who knows the number of users even where the release must not tell it.
        known = made if run.users else mechanism.plan(users=log.users or None)
        plan = judged(name_plugins(segmented.said(made, log.segmented), log), run.users, run.noise)
        plan = dataclasses.replace(plan, warnings=known.warnings)
        run.draws = plan.draws
        if out is not None:
            uploaded = output.upload_warnings(apart or folder.private_folder(Path(out)))
            plan = dataclasses.replace(plan, warnings=(*plan.warnings, *uploaded))
        agree(plan, run.users, i_understand)
        if period is not None:
            refuse_rows_of_users(plan)
        mechanism.check(whole)  # of a series the whole log is asked: a quiet period is not to be refused
        _can_be_drawn(plan)
        # Asked before the charge, and again before the release appears.
        stack.enter_context(whole.unchanged())
        if ledger is not None and source:
            ledger.after(source, plan.method, plan.guarantee, draws=plan.draws, period=period)
        # Before the charge: a log that cannot be counted must not cost anything.
        mechanism.scan_log(log, run)
        charge(plan)
        noted = dict(noted or {}) | _budget_after(ledger, source)
        tables = _as_declared(plan, mechanism.protect(log, run))
        if not allow_empty and not any(table.num_rows for table in tables.values()):
            raise CannotBeMet(
                "nothing is frequent enough to be published with these parameters",
                f"{_less_strict(mechanism, plan)}, use a log with more users, or pass {argument('allow_empty', True)}",
            )
        release = Release(
            plan=plan,
            tables=tables,
            private=_private_figures(log, run, plan, target is not None, noted),
            seconds=run.seconds,
            about=about or About(),
            language=language,
        )
        if target is not None:
            with run.stage("write") as say:
                target.fill(release.manifest(), tables, release.private)
                rows = ", ".join(f"{table.num_rows:,} rows of {name}" for name, table in tables.items())
                say(f"{target.release}{os.sep}   {rows}")
    return dataclasses.replace(release, path=Path(out) if out is not None else None, private_path=apart)


@contextlib.contextmanager
def _budget_charger(
    ledger: Ledger | None, source: str | None, **noted: str | None
) -> Iterator[Callable[[Plan], None]]:
    """How to charge the ledger, if there is one; whatever fails after that says that the charge stands."""
    made = False

    def charge(plan: Plan) -> None:
        nonlocal made
        if ledger is not None and source:
            # Held: between a charge and the note of it nobody could say whether it stands.
            with interruptions.hold_signals():
                ledger.charge(source, plan.method, plan.guarantee, draws=plan.draws, **noted)
                made = True
                interruptions.note_charge()

    try:
        yield charge
    except QueryveilError as error:
        if made:
            error.add(interruptions.CHARGED)
        raise


def _budget_after(ledger: Ledger | None, source: str | None) -> dict[str, Any]:
    """How the account stands after the charge, for the private folder."""
    if ledger is None or not source:
        return {}
    account = ledger.show(source)[0].fullest
    events = [
        {"day": one.time.date().isoformat(), "method": one.method, "epsilon": one.epsilon}
        for one in account.events
    ]
    whole, spent = account.budget, account.spent.epsilon
    stands = {
        "source": source,
        "epsilon": whole.epsilon,
        "delta": whole.delta,
        "spent": spent,
        "events": events,
    }
    return {"budget": stands}


def _can_be_drawn(plan: Plan) -> None:
    """Ask for the noise of every draw: a ledger must not be charged for one that is then refused."""
    for draw in plan.draws:
        if draw.distribution == DISCRETE_LAPLACE and draw.scale is not None:
            checked_scale(draw.scale)
        if draw.distribution == ROUNDED_NORMAL and draw.scale is not None:
            checked_whole_scale(draw.scale)  # type: ignore[arg-type]  # refused if it is not whole
        noise_of(draw)


def _check_documents(about: About | None, language: str) -> None:
    """Refuse what documents cannot say: figures of the publisher, and a language without a catalog."""
    refuse_claims(about or About())
    rendering.document_version(language)


def _as_declared(plan: Plan, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables, if they are those that the plan declared: readers rely on nothing else."""
    made = {name: [(one.name, str(one.type)) for one in table.schema] for name, table in tables.items()}
    declared = {one.name: [(column.name, column.type) for column in one.columns] for one in plan.tables}
    if made != declared:
        raise TypeError(f"{plan.method} made other tables or columns than its plan declares")
    return tables


def _less_strict(mechanism: Mechanism, plan: Plan) -> str:
    """Which parameters keep most back; delta is not one that should be raised."""
    if not plan.guarantee.private:
        return "lower k if there is one"
    names = ("max_items", "max_queries", "max_phrases")
    bounds = [name for name in names if (value_of(mechanism, name) or 0) > 1]
    return "".join([f"raise {argument('epsilon')}", *(f", lower {argument(name)}" for name in bounds)])


def load(path: str | Path, *, private: str | Path | None = None) -> Release:
    """A release folder as a value: its tables, and the plan that its manifest states.

    `private` is its private folder, if that is not beside it.
    Nothing is checked beyond what is needed to read it; `verify` does that.
    """
    release = Path(path)
    apart = Path(private) if private is not None else None
    if apart is not None and not apart.is_dir():
        raise UsageError(f"there is no private folder '{apart}'", "name the one that `publish` made")
    file = folder.file_inside(release, folder.MANIFEST)
    if file is None:
        raise _no_release(release)
    try:
        manifest = loading.manifest(json.loads(file.read_text(encoding="utf-8")))
        plan = loading.plan(manifest)
        tables = {name: loading.table(release, plan.table(name), manifest) for name in manifest["tables"]}
    except loading.Malformed as error:
        raise InputError(
            f"the release in '{release}' was changed, or is not one: {error}",
            f"see what is wrong with {_VERIFY}, or fetch it again",
        ) from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise InputError(
            f"the release in '{release}' cannot be read ({type(error).__name__})",
            f"see what is wrong with {_VERIFY}, or fetch it again",
        ) from None
    made: dict[str, Any] = {"created": manifest["created"], "software": manifest["software"]}
    made["about"] = About.from_dict(manifest.get("about", {}))
    made["language"] = manifest["documents"]["language"]
    made["withheld"] = manifest.get("withheld", {})
    return Release(plan=plan, tables=tables, path=release, private_path=apart, **made)


def _public_users(log: SearchLog, mechanism: Mechanism, bound: int | None, *, part: bool) -> int | None:
    """The public number of users: the bound that was given, or the log's own number."""
    if bound is not None and log.users > bound:
        raise CannotBeMet(
            f"the log has more than the {bound:,} users that you declared",
            f"declare a larger public upper bound with {argument('users')}, or leave it out",
        )
    if log.users == 0 and not part:
        raise CannotBeMet("the log has no accepted row", f"check the file and {argument('columns')}")
    if bound is not None:
        return bound
    if part:
        refuse_untold_users(mechanism, "period")
    return log.users if mechanism.needs_users and counts_users(mechanism) else None


def _read_sentence(log: SearchLog) -> str:
    rejected = f", {log.staged.rejected:,} rejected" if log.staged else ""
    people = "1 user" if log.users == 1 else f"{log.users:,} users"
    return f"{log.rows:,} rows, {people}{rejected}"


def facts_of(log: SearchLog) -> dict[str, Any]:
    """What tells a log from others; for the private folder alone."""
    return {"users": log.users, "rows": log.rows, "fingerprint": log.fingerprint("user", "query")}


def noted_facts(release: Release) -> dict[str, Any]:
    """What the private folder says of the log; nothing where it is gone, or not for us to read."""
    if release.private_place is None:
        return {}
    file = release.private_place / f"{folder.CURATOR}.json"
    try:
        facts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except OSError:
        return {}
    except ValueError as error:
        raise InputError(
            f"'{file.name}' of the private folder cannot be read ({type(error).__name__})", "move it away"
        ) from None
    return facts if isinstance(facts, dict) else {}


def _private_figures(
    log: SearchLog, run: Run, plan: Plan, written: bool, noted: Mapping[str, Any]
) -> dict[str, Any]:
    known = facts_of(log) if written else {"users": log.users, "rows": log.rows}
    facts: dict[str, Any] = {**known, "seconds": run.seconds}
    if log.staged is not None:
        facts |= {"rejected": log.staged.rejected, "reasons": dict(log.staged.reasons)}
        facts |= {"columns": dict(log.staged.mapping)} if log.staged.mapping else {}
    facts["warnings"] = [*plan.warnings, *run.warnings]
    facts |= dict(noted)
    private: dict[str, Any] = {folder.CURATOR: facts, **run.private}
    if log.staged is not None and log.staged.rejected_file is not None:
        private["rejected"] = log.staged.rejected_file
    return private


def _no_release(place: Path) -> InputError:
    """What is there in place of a release, and what to name instead."""
    way_out = "name a folder that `publish` wrote"
    if not place.is_dir():
        return InputError(f"'{place}' is not a release: there is no such folder", way_out)
    if folder.file_inside(place, folder.SERIES) is not None:
        return InputError(
            f"'{place}' is a series of releases", f"name one of the folders in it: ls {place} lists them"
        )
    return InputError(f"'{place}' is not a release: it has no {folder.MANIFEST}", way_out)


def _plotted_table(release: Release, name: str | None) -> pa.Table:
    names = list(release.tables)
    if name is None and len(names) == 1:
        return release.tables[names[0]]
    if name is None:
        raise UsageError(
            f"the release has {len(names)} tables: {', '.join(names)}",
            f"name one, for example table='{names[0]}'",
        )
    if name not in release.tables:
        raise UsageError(f"the release has no table '{name}'", instead(name, names))
    return release.tables[name]


def _largest_counts(release: Release, name: str | None) -> Picture:
    from queryveil.display import pictures

    counted_tables = [one for one, table in release.tables.items() if _COUNT in table.column_names]
    if name is None and len(counted_tables) == 1:
        name = counted_tables[0]
    table = _plotted_table(release, name)
    if _COUNT not in table.column_names:
        raise UsageError("the table has no counts to draw", "look at its rows with to_pandas()")
    kept = table.sort_by([(_COUNT, "descending")]).slice(0, 20)
    texts = [column for column in table.column_names if pa.types.is_string(table.schema.field(column).type)]
    rows = [
        (" | ".join(str(row[column]) for column in texts), float(row[_COUNT]), f"{row[_COUNT]:,}")
        for row in kept.to_pylist()
    ]
    noun = next(one.noun for one in release.plan.tables if one.name == (name or next(iter(release.tables))))
    title = f"{counted(table.num_rows, 'row')} published; the {len(rows)} largest counts"
    noisy = release.plan.table(name or next(iter(release.tables))).noisy
    return pictures.bars(title, rows, f"count of {noun}{', with noise' if noisy else ''}")


def _card(release: Release) -> Card:
    sizes = ", ".join(f"{counted(many, 'row')} of {name}" for name, many in release.released.items())
    facts: list[tuple[str, object]] = [
        ("guarantee", release.guarantee.headline),
        ("published", sizes),
        ("folder", str(release.path) if release.path else "not saved yet: release.save(out)"),
    ]
    tables = [
        CardTable(
            f"{name}: the first rows",
            table.column_names,
            (list(row.values()) for row in table.slice(0, 5).to_pylist()),
            table.num_rows,
        )
        for name, table in release.tables.items()
    ]
    return Card(
        f"Release of {release.plan.method}",
        f"{release.plan.method}, {sizes}; {release.guarantee.headline}",
        facts,
        (release.guarantee.plain_words(),),
        tables,
    )
