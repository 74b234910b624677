"""Hash inversion: turn a token-hashed log back into words with another log of the same kind.

Words keep their company under a hash. Hashes are matched with the words of a raw reference log by what they come
together with, as far as it is known already, and better matches make more of it known. The control is the same attack
with a reference in which every word is as frequent as before but stands in random company: what it finds, frequencies
alone tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from queryveil import AttackInput, AttackResult, CannotBeMet, InputError, SearchLog, UsageError
from queryveil.attack.token_map import read_map
from queryveil.extension import Progress, Table, argument, difference, output, param, unchanged_logs
from queryveil.files import appearing
from queryveil_lab.inversion import Inversion, Inverted, Stage, Statistics, TokenCounts
from queryveil_lab.inversion.judging import (
    Score,
    bands,
    ceiling,
    check_matchable,
    migration,
    near_misses,
    score,
    shape,
    truth_of,
)
from queryveil_lab.inversion.kinds import I32

if TYPE_CHECKING:
    from queryveil import Release

_CONTROL = 500
"""Hashes that the control is let loose on, given ones aside: without company of their own, more only take longer."""
_LITTLE = 0.2
"""A control that finds up to this share of what is found tells little."""


@dataclass(frozen=True, kw_only=True)
class HashInversionAttack(Inversion):
    """Turn hashed words back into words, by the company that they keep in another log."""

    name: ClassVar[str] = "hash-inversion"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(name="reference", kind="log", help="A raw log of the same kind.", option=True),
        AttackInput(
            name="target",
            kind="log-or-release",
            help="The hashed log: a release of token-hash, or a log whose words are hashes.",
            option=True,
        ),
        AttackInput(
            name="truth",
            kind="file",
            help="The true map, to judge the result: a file with the columns hash and token.",
            option=True,
        ),
    )

    out: str | None = param(
        "file for the word that each hash is taken for: .parquet or .tsv",
        path=True,
        writes=True,
        default=None,
    )
    show_examples: int = param(
        "how many of the most frequent pairs to show; none if left out", ge=0, le=10_000, default=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.out is not None and Path(self.out).suffix not in (".parquet", ".tsv"):
            raise UsageError(
                f"output '{self.out}' is neither .parquet nor .tsv", f"choose another {argument('out')}"
            )

    @unchanged_logs
    def run(
        self,
        reference: SearchLog,
        target: SearchLog | Release,
        truth: Path | Mapping[str, str],
        /,
        *,
        progress: Progress | None = None,
    ) -> AttackResult:
        """Attack the target, and judge by the truth, which the attack itself does not see."""
        if self.out is not None:
            output.new_file(Path(self.out))
        words = truth if isinstance(truth, Mapping) else read_map(Path(truth))
        raw, hashed = TokenCounts.of(reference), TokenCounts.of(target)
        _check_logs(raw, hashed)
        # Reading a log folds case; so is the map's.
        true = truth_of(hashed, raw, {one.lower(): token for one, token in words.items()})
        sizes = self.sizes(hashed, raw)
        check_matchable(true, sizes[0], self.bootstrap)
        reach = self.reach(hashed, raw)
        both = hashed.at(reach), raw.at(reach)
        stages = tuple(self.stages(*both, sizes, known=true, progress=progress))
        inverted = Inverted(hashed.tokens, raw.tokens, stages)
        if self.out is not None:
            _write_mapping(inverted.mapping, Path(self.out))
        control = self._control_score(hashed, raw, self._control_size(sizes[0]), true)
        return self._attack_result(inverted, true, both, control, {"target": hashed, "reference": raw})

    def _control_size(self, n: int) -> int:
        return min(self.bootstrap + _CONTROL, n)

    def _control_score(self, hashed: TokenCounts, raw: TokenCounts, n: int, truth: I32) -> Score:
        alone = replace(self, n=n, expand_to=None, out=None)
        reach = alone.reach(hashed, raw)
        (stage,) = alone.stages(hashed.at(reach), raw.shuffled(reach, self.seed), [n], known=truth)
        return score(stage.last, truth, self.bootstrap)

    def _attack_result(
        self,
        inverted: Inverted,
        truth: I32,
        both: tuple[Statistics, Statistics],
        control: Score,
        logs: Mapping[str, TokenCounts],
    ) -> AttackResult:
        # What was given is not found: hashes are judged from there on, here and in the control.
        last, first = inverted.stages[-1].last, self.bootstrap
        found, n = score(last, truth, first), len(last)
        near, wrong = near_misses(both[1], last, truth, first)
        stages = [
            self._stage_figures(inverted, number, truth, both) for number in range(len(inverted.stages))
        ]
        figures: dict[str, Any] = {
            **found.as_dict(),
            "n": n,
            "given": score(last, truth, 0, first).matchable,
            "iterations": inverted.iterations,
            "seconds": round(inverted.seconds, 3),
            "ceiling": stages[-1]["ceiling"],
            "stages": stages,
            "by_iteration": [
                {"iteration": number, **score(one, truth, first).as_dict(), "changed": changed}
                for number, (one, changed) in enumerate(_with_changes(inverted.stages[0]))
            ],
            "company": len(both[0]),
            "bands": [
                {"first": a + 1, "last": b, **one.as_dict()} for a, b, one in bands(last, truth, first=first)
            ],
            "rank_migration": [
                {"first": a + 1, "last": b, "ranks": round(moved, 1)} for a, b, moved in migration(truth, n)
            ],
            "near_misses": {"near": near, "wrong": wrong},
            "control_is": {
                **control.as_dict(),
                "n": self._control_size(len(inverted.stages[0])),
                "words": "the same attack with a reference whose words are shuffled between queries",
            },
            "logs": {side: {"queries": one.queries, "vocabulary": len(one)} for side, one in logs.items()},
        }
        accuracy, chance = found.accuracy or 0.0, control.accuracy or 0.0
        interval = difference((found.correct, found.matchable), (control.correct, max(1, control.matchable)))
        return AttackResult(
            attack=self.name,
            success=accuracy,
            control=chance,
            interval=interval,
            trials=found.matchable,
            figures=figures,
            table=_stage_table(stages),
            more=(
                ("after each update", _iteration_table(figures["by_iteration"])),
                ("by how frequent the hashes are", _band_table(figures["bands"])),
            ),
            words=_summary_sentences(figures, accuracy, chance, interval),
            examples=tuple(self._example_rows(inverted, truth)),
        )

    def _stage_figures(
        self, inverted: Inverted, number: int, truth: I32, both: tuple[Statistics, Statistics]
    ) -> dict[str, Any]:
        from queryveil_lab.inversion.matching import Sides

        stage, first = inverted.stages[number], self.bootstrap
        n, half = len(stage), len(stage) // 2
        hashes, tokens = (one.top(n) for one in both)
        sides = Sides(hashes, tokens, features=self.features, distance=self.distance, beta=self.beta)
        return {
            "n": n,
            **score(stage.last, truth, first).as_dict(),
            "top_half": score(stage.last, truth, first, max(first, half)).accuracy,
            "bottom_half": score(stage.last, truth, max(first, half), n).accuracy,
            "ceiling": ceiling(sides, truth, first).accuracy,
            "before_update": score(stage.mappings[0], truth, first).accuracy,
            "seconds": round(stage.seconds, 3),
            "target": shape(hashes),
            "reference": shape(tokens),
        }

    def _example_rows(self, inverted: Inverted, truth: I32) -> list[tuple[str, str]]:
        """The most frequent of those that were not given."""
        chosen = slice(self.bootstrap, self.bootstrap + self.show_examples)
        last = inverted.stages[-1].last[chosen]
        pairs = inverted.mapping.slice(self.bootstrap, len(last)).to_pylist()
        return [
            ("right" if true == one else "wrong", f"{pair['hash']} is taken for {pair['token']}")
            for pair, one, true in zip(pairs, last.tolist(), truth[chosen][: len(last)].tolist(), strict=True)
        ]


def _check_logs(raw: TokenCounts, hashed: TokenCounts) -> None:
    """Refuse logs that are not what they were said to be."""
    for side, one in (("reference", raw), ("target", hashed)):
        if len(one) < 2:
            raise CannotBeMet(f"the {side} has fewer than two different words", "give a longer log")
    if raw.hashed:
        swapped = not hashed.hashed
        raise InputError(
            "the reference is made of hashes"
            + (" and the target of words: they are swapped" if swapped else ""),
            f"swap {argument('reference')} and {argument('target')}"
            if swapped
            else f"give a raw log as {argument('reference')}",
        )
    if not hashed.hashed:
        raise InputError(
            "the target is not hashed: its words are not hexadecimal numbers of one length",
            "give a release of token-hash, or a log whose words are all such hashes",
        )


def _with_changes(stage: Stage) -> list[tuple[I32, int | None]]:
    """Each mapping of a stage, and how many pairs are others than before; the last is that of further company."""
    mappings = stage.mappings if stage.closer is None else (*stage.mappings, stage.closer)
    return [(mappings[0], None), *((new, int((new != old).sum())) for old, new in pairwise(mappings))]


# -- the mapping ---------------------------------------------------------------------------------------------


def _write_mapping(mapping: pa.Table, file: Path) -> None:
    """Words of a raw log are in it: nobody else may read it."""
    with output.disk_errors(file), appearing.claim_paths(file) as claims:
        (claim,) = claims
        claim.content.touch(mode=0o600)
        with claim.content.open("wb") as content:
            if file.suffix == ".parquet":
                pq.write_table(mapping, content)
            else:
                options = pyarrow.csv.WriteOptions(
                    delimiter="\t", quoting_style="none", quoting_header="none"
                )
                pyarrow.csv.write_csv(mapping, content, options)
        claims.publish_claims(f"'{file}' is complete")


# -- what people read ----------------------------------------------------------------------------------------


def _format_share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _stage_table(stages: list[dict[str, Any]]) -> Table:
    head = ("hashes", "matchable", "found", "top half", "bottom half", "others known", "seconds")
    return (
        head,
        *(
            (
                f"{one['n']:,}",
                f"{one['matchable']:,}",
                *(_format_share(one[key]) for key in ("accuracy", "top_half", "bottom_half", "ceiling")),
                f"{one['seconds']:.1f}",
            )
            for one in stages
        ),
    )


def _iteration_table(iterations: list[dict[str, Any]]) -> Table:
    return (
        ("update", "found", "pairs changed"),
        *(
            (
                str(one["iteration"]) if one["iteration"] else "start",
                _format_share(one["accuracy"]),
                "" if one["changed"] is None else f"{one['changed']:,}",
            )
            for one in iterations
        ),
    )


def _band_table(found: list[dict[str, Any]]) -> Table:
    return (
        ("ranks", "matchable", "found"),
        *(
            (f"{one['first']:,} to {one['last']:,}", f"{one['matchable']:,}", _format_share(one["accuracy"]))
            for one in found
        ),
    )


def _summary_sentences(
    figures: Mapping[str, Any], accuracy: float, chance: float, interval: tuple[float, float]
) -> tuple[tuple[str, str], ...]:
    near, wrong = figures["near_misses"]["near"], figures["near_misses"]["wrong"]
    low, high = (100 * one for one in interval)
    given = (
        f" The words of {figures['given']:,} more hashes were given, and do not count."
        if figures["given"]
        else ""
    )
    asked = f"its {figures['control_is']['n']:,} most frequent hashes" + (
        ", not counting given ones" if given else ""
    )
    return (
        (
            "Found",
            f"The attack turns {figures['correct']:,} of {figures['matchable']:,} hashes back into their words "
            f"({_format_share(accuracy)}), in {figures['seconds']:.1f} seconds. The rest of the {figures['n']:,} "
            f"hashes could not be found: their words are not among the reference's {figures['n']:,} most "
            f"frequent.{given}",
        ),
        (
            "Control",
            f"The control keeps how frequent the reference's words are, but shuffles them between queries. The same "
            f"attack then finds {_format_share(chance)} of {asked}: "
            f"{_told_by_frequencies(accuracy, chance, interval)}. The advantage is "
            f"{100 * (accuracy - chance):.1f} percentage points, with a 95 % interval of {low:.1f} to {high:.1f}.",
        ),
        (
            "Context",
            f"If all other words were known, {_format_share(figures['ceiling'])} of the hashes would be closest to "
            "their own word. Matching one to one can find more, because each word is used only once.",
        ),
        *(
            (
                (
                    "Missed",
                    f"Of {wrong:,} wrong words, {near:,} are near misses: they are among the 10 words that appear in "
                    "the most similar company.",
                ),
            )
            if wrong
            else ()
        ),
        ("Means", _interpretation(accuracy, interval)),
    )


def _told_by_frequencies(accuracy: float, chance: float, interval: tuple[float, float]) -> str:
    if interval[0] <= 0:
        return "frequencies alone seem to give away as much"
    if chance <= _LITTLE * accuracy:
        return "frequencies alone give away little"
    return f"frequencies alone give away {100 * chance / accuracy:.0f} % as much"


def _interpretation(accuracy: float, interval: tuple[float, float]) -> str:
    if accuracy > 0.5:
        means = "Hashing words protects nobody: someone with a similar log can read most queries."
    elif interval[0] > 0:
        means = "Hashing words does not hide them: a similar log gives some away, and a longer one more."
    else:
        means = "These logs did not give the words away. That is no protection: longer or other logs may."
    return f"{means} To count what becomes readable about people, run queryveil attack exposure."
