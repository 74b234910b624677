"""What can be read in a log or a release: persons, and what else stands beside their names.

Nothing is broken here: the attacker reads. A name that few people search for, beside a town, a company or an
illness, in one query or in one session, is somebody's secret. Success is a text that names a person; the
control is the same text read backwards: people type the first name first, and chance does not care. Texts without an
order of words have theirs shuffled between texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from queryveil.attack.exposure import exposed, exposure_tables
from queryveil.attack.exposure.exposed import Subject
from queryveil.attack.exposure.found import Exposure
from queryveil.attack.protocol import AttackInput, AttackResult, Progress, origins
from queryveil.language.spotting import Spotter, words_known
from queryveil.language.spotting.counting import (
    CATEGORIES,
    DANGEROUS,
    STAR,
    Collected,
    by_chance,
    collect_entities,
    tally_categories,
)
from queryveil.parameters import Declared, param, validate
from queryveil.reading.log import SearchLog
from queryveil.reading.pinning import unchanged_logs

if TYPE_CHECKING:
    from queryveil.release.publish import Release

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ExposureAttack(Declared):
    """Count the persons, places, companies, terms and identifiers that can be read in logs and releases."""

    name: ClassVar[str] = "exposure"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(
            name="log_or_release",
            kind="log-or-release",
            many=True,
            help="What to look at: a raw log first, then any number of its releases.",
        ),
        AttackInput(
            name="reference",
            kind="log",
            needed=False,
            option=True,
            help="Raw log that says who is a star; by default the first log that is named.",
        ),
        AttackInput(
            name="mapping",
            kind="file",
            needed=False,
            option=True,
            help="What hashes are taken for: a file with the columns hash and token.",
        ),
        AttackInput(
            name="truth",
            kind="file",
            needed=False,
            option=True,
            help="What hashes truly are: a file with the columns hash and token.",
        ),
    )

    star: int = param("a name that occurs this often or more is a star's", ge=1, le=10**9, default=STAR)
    rare_names: str = param(
        "whether two English words count as a name because one is rare",
        choices=("keep", "drop"),
        default="keep",
    )
    show_examples: int = param(
        "how many texts of each category to show; none if left out", ge=0, le=1000, default=0
    )
    seed: int = param("how the control shuffles words that have no order", ge=0, le=2**63 - 1, default=0)

    def __post_init__(self) -> None:
        validate(self)

    @unchanged_logs
    def run(
        self,
        given: SearchLog | Release | Sequence[SearchLog | Release],
        reference: SearchLog | None = None,
        mapping: Path | Mapping[str, str] | None = None,
        truth: Path | Mapping[str, str] | None = None,
        /,
        *,
        progress: Progress | None = None,
    ) -> AttackResult:
        """Look at logs and releases, and count. Maps of hashes to words are files, or are handed over."""
        many: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
        raw = [one for one in many if isinstance(one, SearchLog)]
        # A column beside a log's is read as what became of that log; with several of them nobody can tell.
        warnings = origins(raw[0], [one for one in many if one is not raw[0]]) if len(raw) == 1 else []
        looked_at = exposed.with_words(exposed.subjects(many), mapping, truth)
        spotter = Spotter(rare=self.rare_names == "keep")
        known_by = exposed.of_log(reference, "reference") if reference is not None else _first_log(looked_at)
        sources = [known_by, *looked_at] if reference is not None and known_by is not None else looked_at
        step = _progress_steps(progress, sum(len(one.texts) for one in sources))
        collected = {id(one): collect_entities(spotter, one.texts, step) for one in sources}
        stars = collected[id(known_by)].name_counts() if known_by is not None else None
        found = []
        examples: list[tuple[str, str]] = []
        for subject in looked_at:
            there = collected[id(subject)]
            names = stars if stars is not None else there.name_counts()
            masks = there.with_stars(names, self.star)
            found.append(self._measure_exposure(spotter, subject, there, masks))
            examples += self._example_rows(subject, masks, alone=len(looked_at) == 1)
        result = _attack_result(
            self, found, known_by.name if known_by is not None else None, spotter, examples
        )
        # A log has no path, nor has a release that was not saved.
        paths = (None if isinstance(one, SearchLog) else one.path for one in many)
        each = {path: one.headline for path, one in zip(paths, found, strict=True) if path is not None}
        said = (*result.words, *(("Warning", one) for one in warnings))
        return replace(result, each=each, words=said)

    def _measure_exposure(
        self, spotter: Spotter, subject: Subject, there: Collected, masks: Ints
    ) -> Exposure:
        texts = subject.texts
        units = subject.linked.masks(masks) if subject.linked else None
        generator = np.random.default_rng(self.seed)

        def count_categories(right: bool) -> dict[str, dict[str, int] | None]:
            return {
                "sessions": tally_categories(*units, right=right) if units else None,
                "queries": tally_categories(masks, right=right),
                "occurrences": tally_categories(masks, texts.times, right=right),
            }

        believed = count_categories(right=False)
        hashed = texts.reading is not None and texts.reading.truth is not None
        return Exposure(
            name=subject.name,
            what=subject.what,
            ordered=texts.ordered,
            linked_by=subject.linked.what if subject.linked else None,
            texts=len(texts),
            occurrences=int(texts.times.sum()),
            units=int(units[1].sum()) if units else None,
            queries=believed["queries"] or {},
            by_occurrence=believed["occurrences"] or {},
            within=believed["sessions"],
            names=len(np.unique(there.person_name)),
            by_chance=by_chance(spotter, texts, generator),
            words_known=words_known(spotter, texts.texts, texts.reading),
            correct=count_categories(right=True) if hashed else None,
        )

    def _example_rows(self, subject: Subject, masks: Ints, *, alone: bool) -> Iterator[tuple[str, str]]:
        if not self.show_examples:
            return
        before = "" if alone else f"{subject.name}: "
        order = np.argsort(-subject.texts.times, kind="stable")
        for category, bits in {**CATEGORIES, **DANGEROUS}.items():
            fit = order[(masks[order] & bits) == bits][: self.show_examples]
            for place in fit.tolist():
                text = subject.texts.texts[place].as_py()
                reading = subject.texts.reading
                if reading is not None:
                    text = " ".join(reading.tokens.get(part, "?") for part in text.split(" "))
                pair = "+" in category
                label = "pair" if pair else "id" if category == "identifier" else category
                yield label, f"{before}{category + ': ' if pair else ''}{text}"


def _first_log(given: Sequence[Subject]) -> Subject | None:
    return next((one for one in given if one.what == "log" and one.texts.reading is None), None)


def _progress_steps(progress: Progress | None, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(done, max(1, total))

    return step


# -- for people ----------------------------------------------------------------------------------------------


def _attack_result(
    attack: ExposureAttack,
    found: list[Exposure],
    reference: str | None,
    spotter: Spotter,
    examples: list[tuple[str, str]],
) -> AttackResult:
    # The figures beside `success` are those of the most exposed release, or of the log if there is none.
    ranked = exposure_tables.ranked([one for one in found if one.what != "log"] or found)
    worst = ranked[0]
    first, *others = exposure_tables.tables(found)
    return AttackResult(
        attack=attack.name,
        success=worst.success,
        control=worst.control,
        interval=worst.interval,
        trials=worst.texts,
        figures={
            "of": worst.name,
            "not_told_apart": [one.name for one in exposure_tables.near(ranked)],
            "star": attack.star,
            "reference": reference,
            "subjects": [one.as_dict() for one in found],
        },
        table=first[1],
        more=tuple(others),
        words=tuple(exposure_tables.said(attack.star, found, ranked, reference, spotter)),
        examples=tuple(examples),
    )
