"""Releases of semantic perturbation and of profile histograms: logs of (user, number, query) that hold labels only.

That every text is a label of the stated domain is looked up in WordNet anew, by walking up from each label. Where a
taxonomy came from a file, only the form of the rows can be checked. Whether the draws were made with the stated
probabilities cannot be seen from one release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.language.taxonomy import Taxonomy
from queryveil.release import planned
from queryveil.verification.crowds import columns_check, missing_statements, one_of, whole
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

_LOG = {"user": pa.int64(), "number": pa.int64(), "query": pa.string()}
_MOST = 10**6
_ASSUMPTIONS = ("rows-apart", "user-is-account", "taxonomy-is-public")

Rule = Callable[[Any], bool]


def _is_epsilon(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 < value <= _MOST


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


_SEMANTIC: dict[str, Rule] = {
    "epsilon": _is_epsilon,
    "criterion": one_of("sqc1", "sqc2", "nsqc"),
    "domain": _is_text,
    "topics": _are_texts,
    "epsilon_per": one_of("user", "query"),
    "max_phrases": whole(1, _MOST),
    "reserve": whole(1, _MOST),
    "since": _is_text,
    "keep_words": one_of("none", "function", "modifiers"),
    "tight": lambda value: isinstance(value, bool),
    "pad": lambda value: isinstance(value, bool),
    "whole_queries": lambda value: isinstance(value, bool),
}
_HISTOGRAM: dict[str, Rule] = {"epsilon": _is_epsilon, "max_queries": whole(1, _MOST), "domain": _is_text}
_OPTIONAL = {"topics", "max_phrases", "reserve", "since"}


def semantic(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    given = manifest.section("parameters")
    made = [
        judge("parameters", _WITHIN, lambda: _semantic_parameters(manifest)),
        judge(
            "calibration",
            Sentence("verify.semantic.figures-follow-from-parameters"),
            lambda: _semantic_figures(manifest),
        ),
        judge("promise", _PROMISED, lambda: _semantic_promise(given, manifest.section("guarantee"))),
        columns_check({"log": _LOG}, set(manifest.section("tables")), opened),
    ]
    padded = given.get("pad") is True
    return made + _row_checks(manifest, opened, made, given.get("max_phrases"), padded=padded)


def profile_histogram(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    given = manifest.section("parameters")
    made = [
        judge("parameters", _WITHIN, lambda: _check_parameters(manifest, _HISTOGRAM)),
        judge(
            "calibration",
            Sentence("verify.semantic.noise-follows-from-parameters"),
            lambda: _histogram_figures(manifest),
        ),
        judge("promise", _PROMISED, lambda: _histogram_promise(given, manifest.section("guarantee"))),
        columns_check({"log": _LOG}, set(manifest.section("tables")), opened),
    ]
    return made + _row_checks(manifest, opened, made, given.get("max_queries"), padded=True)


_WITHIN = Sentence("verify.semantic.within")
_PROMISED = Sentence("verify.semantic.promised")


# -- parameters and figures ----------------------------------------------------------------------------------


def _check_parameters(manifest: Manifest, rules: Mapping[str, Rule]) -> Iterator[str]:
    given, known = manifest.section("parameters"), {*rules, *manifest.declared}
    yield from (
        Sentence("verify.semantic.method-has-no-parameter", name=quoted(name))
        for name in given
        if name not in known
    )
    for name, holds in rules.items():
        if name not in given:
            if name not in _OPTIONAL:
                yield Sentence("verify.semantic.is-missing", name=name)
        elif not holds(given[name]):
            yield Sentence("verify.semantic.is-outside-its-limits", name=name)


def _semantic_parameters(manifest: Manifest) -> Iterator[str]:
    given = manifest.section("parameters")
    yield from _check_parameters(manifest, _SEMANTIC)
    if given.get("pad") and (
        "max_phrases" not in given or given.get("domain") == "per-topic" or given.get("keep_words") != "none"
    ):
        yield Sentence("verify.semantic.rows-cannot-be-padded-without-max")
    if ("reserve" in given or "since" in given) and not given.get("pad"):
        yield Sentence("verify.semantic.later-releases-add-up-only-if")
    if "reserve" in given and given.get("epsilon_per") != "user":
        yield Sentence("verify.semantic.epsilon-per-query-has-nothing-to")
    if given.get("domain") == "per-topic" and "topics" not in given:
        yield Sentence("verify.semantic.domain-per-topic-has-no-topics")
    if given.get("criterion") == "sqc2" and "topics" not in given:
        yield Sentence("verify.semantic.criterion-sqc2-has-no-topics")
    if given.get("whole_queries") and given.get("keep_words") != "none":
        yield Sentence("verify.semantic.whole-queries-have-no-words-to")


def _semantic_figures(manifest: Manifest) -> Iterator[str]:
    given, figures = manifest.section("parameters"), manifest.section("calibration")
    domains = [figures[label] for label in given["topics"]] if given["domain"] == "per-topic" else [figures]
    for one in domains:
        if type(one["concepts"]) is not int or one["concepts"] < 1:
            yield Sentence("verify.semantic.domain-has-no-concepts")
        spread = one["max_sim"] - one["min_sim"] if given["criterion"] == "sqc1" else 1.0
        if abs(one["sensitivity"] - spread) > 1e-12 or not 0 <= spread <= 1:
            yield Sentence("verify.semantic.sensitivity-does-not-follow-from-criterion")
    each = figures.get("epsilon_per_phrase")
    for one in domains:
        yield from _check_nearness(one, given["epsilon"] if each is None else each)
        yield from _check_certificate(one.get("certificate"), each if given["tight"] else None)
    if given["epsilon_per"] == "query" or "max_phrases" in given:
        most = given.get("max_phrases", 1)
        if type(each) is not float or Fraction(each) * most > _total_epsilon(given) * (
            1 + Fraction(1, 10**12)
        ):
            yield Sentence("verify.semantic.epsilon-of-phrase-is-not-its")
    elif each is not None:
        yield Sentence("verify.semantic.epsilon-of-phrase-depends-on-user")


def _check_nearness(figures: Mapping[str, Any], epsilon: float) -> Iterator[str]:
    """That the shares of near draws are possible: no weight is above the true concept's, or below it by more than
    a factor of e to the epsilon."""
    shares = [figures[name] for name in planned.NEAR]
    others = figures["concepts"] - 1
    least, most = 1 / (1 + others), 1 / (1 + others * math.exp(-epsilon))
    if not (
        least * (1 - 1e-9) <= shares[0] <= most * (1 + 1e-9) and shares == sorted(shares) and shares[-1] <= 1
    ):
        yield Sentence("verify.semantic.epsilon-does-not-allow-stated-shares")


def _check_certificate(stated: Any, epsilon: float | None) -> Iterator[str]:
    """Where the exponent was searched for: that the ratios stated are within epsilon. Sums are not added up anew."""
    if epsilon is None or stated is None:
        if epsilon is not None or stated is not None:
            yield Sentence("verify.semantic.there-is-certificate-without-search-or")
        return
    loss = math.log(stated["ratio_of_weights"]) + math.log(stated["ratio_of_sums"])
    if not (0 <= loss <= stated["log_ratio"] * (1 + 1e-9) <= epsilon * (1 + 2e-9)):
        yield Sentence("verify.semantic.certificate-does-not-show-epsilon-holds")
    if not math.log(stated["ratio_of_weights"]) <= stated["exponent"] * (1 + 1e-6) + 1e-9:
        yield Sentence("verify.semantic.exponent-does-not-follow-from-weights")


def _histogram_figures(manifest: Manifest) -> Iterator[str]:
    given, figures = manifest.section("parameters"), manifest.section("calibration")
    if type(figures["concepts"]) is not int or figures["concepts"] < 1:
        yield Sentence("verify.semantic.domain-has-no-concepts-2")
    draw = manifest.content["draws"][0]
    if (figures["noise_scale"], given["max_queries"]) != (draw["scale"], draw["most"]):
        yield Sentence("verify.semantic.draw-states-another-noise-scale-or")


def _total_epsilon(given: Mapping[str, Any]) -> Fraction:
    """The epsilon that must be stated."""
    many = given["epsilon_per"] == "query" and "max_phrases" in given
    spent = Fraction(1)
    if "reserve" in given:
        spent = Fraction(given["max_phrases"], given["max_phrases"] + given["reserve"])
    return Fraction(given["epsilon"]) * spent * (given["max_phrases"] if many else 1)


# -- the promise ---------------------------------------------------------------------------------------------


def _check_guarantee(guarantee: Mapping[str, Any], unit: str, neighbours: str) -> Iterator[str]:
    if guarantee.get("kind") != "pure-dp" or guarantee.get("delta") != 0:
        yield Sentence("verify.semantic.guarantee-is-not-pure-differential-privacy")
    if guarantee.get("unit") != unit:
        yield Sentence("verify.semantic.guarantee-is-not-per", unit=unit)
    if guarantee.get("neighbours") != neighbours:
        yield Sentence("verify.semantic.guarantee-does-not-compare", neighbours=neighbours)
    yield from (
        Sentence("verify.semantic.guarantee-has-which-method-does-not", name=name)
        for name in ("k", "implies", "parts")
        if name in guarantee
    )
    yield from missing_statements("assumptions", guarantee, _ASSUMPTIONS)


def _semantic_promise(given: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[str]:
    per_topic = given["domain"] == "per-topic"
    per_query = given["epsilon_per"] == "query"
    alone = per_query and "max_phrases" not in given
    words_kept = given["keep_words"] != "none"
    equal = [] if given["pad"] else ["shape"] + ["topics"] * per_topic + ["words"] * words_kept
    neighbours = "replace-one-user" + ("-equal-" + "-and-".join(equal) if equal else "")
    yield from _check_guarantee(guarantee, "phrase" if alone else "user", neighbours)
    if Fraction(guarantee["epsilon"]) < _total_epsilon(given) * (1 - Fraction(1, 10**12)):
        yield Sentence("verify.semantic.epsilon-is-below-what-parameters-cost")
    needed = [] if given["pad"] else ["shape-is-published", "no-sum"]
    needed += ["words-are-published"] * words_kept + ["topics-are-published"] * per_topic
    needed += ["releases-go-on"] * ("reserve" in given) + ["epsilon-per-phrase"] * per_query
    yield from missing_statements("caveats", guarantee, needed)


def _histogram_promise(given: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[str]:
    yield from _check_guarantee(guarantee, "user", "replace-one-user")
    if Fraction(guarantee["epsilon"]) < Fraction(given["epsilon"]):
        yield Sentence("verify.semantic.epsilon-is-below-what-parameters-cost")


# -- rows ----------------------------------------------------------------------------------------------------


def _row_checks(
    manifest: Manifest, opened: Mapping[str, Opened], before: list[Check], most: int | None, *, padded: bool
) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    judgeable = all(check.passes for check in before if check.name in {"parameters", "columns"})
    if not judgeable or "log" not in opened:
        return []
    table = opened["log"].table
    made = [
        judge(
            "numbers",
            Sentence("verify.semantic.users-and-their-queries-are-numbered"),
            lambda: _check_numbering(table),
        ),
        judge("labels", _labels_words(manifest), lambda: _check_labels(manifest, table)),
    ]
    # Words that were kept may have commas of their own.
    given = manifest.section("parameters")
    if given.get("keep_words", "none") == "none":
        single = padded or given.get("whole_queries") is True
        made.append(
            judge(
                "phrases",
                _phrases_words(most, padded=padded, single=single),
                lambda: _check_phrases(table, most, padded=padded, single=single),
            )
        )
    return made


def _check_numbering(table: pa.Table) -> Iterator[str]:
    """Gaps, or another order, would be a place to tell more than which rows are one user's."""
    users, numbers = (_to_integers(table[name]) for name in ("user", "number"))
    if not len(users):
        return
    if users[0] != 0 or numbers[0] != 0:
        yield Sentence("verify.semantic.first-user-or-first-query-is")
    steps = np.diff(users)
    if ((steps != 0) & (steps != 1)).any():
        yield Sentence("verify.semantic.rows-are-not-in-order-of")
    if (numbers[1:] != np.where(steps == 0, numbers[:-1] + 1, 0)).any():
        yield Sentence("verify.semantic.user-queries-are-not-numbered-one")


def _labels_words(manifest: Manifest) -> str:
    if manifest.section("parameters").get("keep_words", "none") != "none":
        return Sentence("verify.semantic.no-text-is-empty-publisher-kept")
    if _of_wordnet(manifest):
        return Sentence("verify.semantic.texts-are-made-of-domain-concepts")
    return Sentence("verify.semantic.no-label-is-empty-taxonomy-file")


def _of_wordnet(manifest: Manifest) -> bool:
    return str(manifest.content.get("taxonomy", "")).startswith("WordNet")


def _check_labels(manifest: Manifest, table: pa.Table) -> Iterator[str]:
    given = manifest.section("parameters")
    if given.get("keep_words", "none") != "none":
        if pc.any(pc.equal(table["query"], "")).as_py():
            yield Sentence("verify.semantic.text-is-empty")
        return
    found = pc.unique(pc.list_flatten(pc.split_pattern(table["query"], ", "))).to_pylist()
    if any(not label for label in found):
        yield Sentence("verify.semantic.text-is-empty-or-has-empty")
    if not _of_wordnet(manifest):
        return
    nouns = Taxonomy.wordnet()
    if manifest.content.get("taxonomy") != nouns.identity:
        yield Sentence("verify.semantic.release-was-made-with-another-edition")
        return
    roots = {
        nouns.find_label(label)
        for label in (given["topics"] if given["domain"] == "per-topic" else [given["domain"]])
    }
    known: dict[int, bool] = {}
    strange = sum(
        1 for label in found if label and not _is_below(nouns, nouns.find_label(label), roots, known)
    )
    if strange:
        yield Sentence("verify.semantic.different-texts-are-not-made-of", strange=strange)


def _is_below(nouns: Taxonomy, node: int | None, roots: set[int | None], known: dict[int, bool]) -> bool:
    """Whether one of the roots is reached by going up from a node."""
    if node is None:
        return False
    if node not in known:
        above = nouns.hypernyms.targets(node).tolist()
        known[node] = node in roots or any(_is_below(nouns, one, roots, known) for one in above)
    return known[node]


def _phrases_words(most: int | None, *, padded: bool, single: bool) -> str:
    if padded:
        return Sentence("verify.semantic.every-user-has-exactly-queries-of", most=most)
    if single:
        return (
            Sentence("verify.semantic.one-phrase-and-no-user-has-more-than", most=most)
            if most
            else Sentence("verify.semantic.one-phrase")
        )
    return (
        Sentence("verify.semantic.no-user-has-more-than-phrases", most=most)
        if most
        else Sentence("verify.semantic.every-query-has-phrase")
    )


def _check_phrases(table: pa.Table, most: int | None, *, padded: bool, single: bool) -> Iterator[str]:
    lengths = _to_integers(pc.add(pc.count_substring(table["query"], ", "), 1))
    per_user = np.bincount(_to_integers(table["user"]), weights=lengths)
    if single and (lengths != 1).any():
        yield Sentence("verify.semantic.query-has-several-phrases")
    if padded and (per_user != most).any():
        yield Sentence("verify.semantic.user-does-not-have-phrases", most=most)
    elif most and (per_user > most).any():
        yield Sentence("verify.semantic.user-has-more-than-phrases", most=most)


def _to_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return numbers
