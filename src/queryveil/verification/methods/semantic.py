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

from queryveil.language.taxonomy import Taxonomy
from queryveil.release import planned
from queryveil.verification.crowds import columns_check, one_of, whole
from queryveil.verification.manifest import Manifest, codes
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

_LOG = {"user": pa.int64(), "number": pa.int64(), "query": pa.string()}
_MOST = 10**6
_ASSUMPTIONS = {
    "rows-apart": "how rows are parsed",
    "user-is-account": "what a user is",
    "taxonomy-is-public": "where taxonomy and domain come from",
}

Rule = Callable[[Any], bool]


def _epsilon(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 < value <= _MOST


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_text, value))


_SEMANTIC: dict[str, Rule] = {
    "epsilon": _epsilon,
    "criterion": one_of("sqc1", "sqc2", "nsqc"),
    "domain": _text,
    "topics": _texts,
    "epsilon_per": one_of("user", "query"),
    "max_phrases": whole(1, _MOST),
    "reserve": whole(1, _MOST),
    "since": _text,
    "keep_words": one_of("none", "function", "modifiers"),
    "tight": lambda value: isinstance(value, bool),
    "pad": lambda value: isinstance(value, bool),
    "whole_queries": lambda value: isinstance(value, bool),
}
_HISTOGRAM: dict[str, Rule] = {"epsilon": _epsilon, "max_queries": whole(1, _MOST), "domain": _text}
_OPTIONAL = {"topics", "max_phrases", "reserve", "since"}


def semantic(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    given = manifest.section("parameters")
    made = [
        judge("parameters", _WITHIN, lambda: _semantic_parameters(manifest)),
        judge("calibration", "the figures follow from the parameters", lambda: _semantic_figures(manifest)),
        judge("promise", _PROMISED, lambda: _semantic_promise(given, manifest.section("guarantee"))),
        columns_check({"log": _LOG}, set(manifest.section("tables")), opened),
    ]
    padded = given.get("pad") is True
    return made + _row_checks(manifest, opened, made, given.get("max_phrases"), padded=padded)


def profile_histogram(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    given = manifest.section("parameters")
    made = [
        judge("parameters", _WITHIN, lambda: _parameters(manifest, _HISTOGRAM)),
        judge("calibration", "the noise follows from the parameters", lambda: _histogram_figures(manifest)),
        judge("promise", _PROMISED, lambda: _histogram_promise(given, manifest.section("guarantee"))),
        columns_check({"log": _LOG}, set(manifest.section("tables")), opened),
    ]
    return made + _row_checks(manifest, opened, made, given.get("max_queries"), padded=True)


_WITHIN = "the parameters belong to the method and are within their limits"
_PROMISED = "kind, numbers, neighbours and caveats of the guarantee follow from the parameters"


# -- parameters and figures ----------------------------------------------------------------------------------


def _parameters(manifest: Manifest, rules: Mapping[str, Rule]) -> Iterator[str]:
    given, known = manifest.section("parameters"), {*rules, *manifest.declared}
    yield from (f"the method has no parameter {quoted(name)}" for name in given if name not in known)
    for name, holds in rules.items():
        if name not in given:
            if name not in _OPTIONAL:
                yield f"'{name}' is missing"
        elif not holds(given[name]):
            yield f"'{name}' is outside its limits"


def _semantic_parameters(manifest: Manifest) -> Iterator[str]:
    given = manifest.section("parameters")
    yield from _parameters(manifest, _SEMANTIC)
    if given.get("pad") and (
        "max_phrases" not in given or given.get("domain") == "per-topic" or given.get("keep_words") != "none"
    ):
        yield "rows cannot be padded without max_phrases, with a domain per topic, or with kept words"
    if ("reserve" in given or "since" in given) and not given.get("pad"):
        yield "later releases add up only if rows are padded"
    if "reserve" in given and given.get("epsilon_per") != "user":
        yield "an epsilon per query has nothing to reserve"
    if given.get("domain") == "per-topic" and "topics" not in given:
        yield "a domain per topic has no topics"
    if given.get("criterion") == "sqc2" and "topics" not in given:
        yield "criterion sqc2 has no topics"
    if given.get("whole_queries") and given.get("keep_words") != "none":
        yield "whole queries have no words to keep"


def _semantic_figures(manifest: Manifest) -> Iterator[str]:
    given, figures = manifest.section("parameters"), manifest.section("calibration")
    domains = [figures[label] for label in given["topics"]] if given["domain"] == "per-topic" else [figures]
    for one in domains:
        if type(one["concepts"]) is not int or one["concepts"] < 1:
            yield "a domain has no concepts"
        spread = one["max_sim"] - one["min_sim"] if given["criterion"] == "sqc1" else 1.0
        if abs(one["sensitivity"] - spread) > 1e-12 or not 0 <= spread <= 1:
            yield "the sensitivity does not follow from the criterion"
    each = figures.get("epsilon_per_phrase")
    for one in domains:
        yield from _nearness(one, given["epsilon"] if each is None else each)
        yield from _certificate(one.get("certificate"), each if given["tight"] else None)
    if given["epsilon_per"] == "query" or "max_phrases" in given:
        most = given.get("max_phrases", 1)
        if type(each) is not float or Fraction(each) * most > _total(given) * (1 + Fraction(1, 10**12)):
            yield "the epsilon of a phrase is not its share of the whole epsilon"
    elif each is not None:
        yield "the epsilon of a phrase depends on the user and cannot be stated"


def _nearness(figures: Mapping[str, Any], epsilon: float) -> Iterator[str]:
    """That the shares of near draws are possible: no weight is above the true concept's, or below it by more than
    a factor of e to the epsilon."""
    shares = [figures[name] for name in planned.NEAR]
    others = figures["concepts"] - 1
    least, most = 1 / (1 + others), 1 / (1 + others * math.exp(-epsilon))
    if not (
        least * (1 - 1e-9) <= shares[0] <= most * (1 + 1e-9) and shares == sorted(shares) and shares[-1] <= 1
    ):
        yield "epsilon does not allow the stated shares of draws near the true concept"


def _certificate(stated: Any, epsilon: float | None) -> Iterator[str]:
    """Where the exponent was searched for: that the ratios stated are within epsilon. Sums are not added up anew."""
    if epsilon is None or stated is None:
        if epsilon is not None or stated is not None:
            yield "there is a certificate without a search, or a search without a certificate"
        return
    loss = math.log(stated["ratio_of_weights"]) + math.log(stated["ratio_of_sums"])
    if not (0 <= loss <= stated["log_ratio"] * (1 + 1e-9) <= epsilon * (1 + 2e-9)):
        yield "the certificate does not show that epsilon holds"
    if not math.log(stated["ratio_of_weights"]) <= stated["exponent"] * (1 + 1e-6) + 1e-9:
        yield "the exponent does not follow from the weights"


def _histogram_figures(manifest: Manifest) -> Iterator[str]:
    given, figures = manifest.section("parameters"), manifest.section("calibration")
    if type(figures["concepts"]) is not int or figures["concepts"] < 1:
        yield "the domain has no concepts"
    draw = manifest.content["draws"][0]
    if (figures["noise_scale"], given["max_queries"]) != (draw["scale"], draw["most"]):
        yield "the draw states another noise scale or another limit per user"


def _total(given: Mapping[str, Any]) -> Fraction:
    """The epsilon that must be stated."""
    many = given["epsilon_per"] == "query" and "max_phrases" in given
    spent = Fraction(1)
    if "reserve" in given:
        spent = Fraction(given["max_phrases"], given["max_phrases"] + given["reserve"])
    return Fraction(given["epsilon"]) * spent * (given["max_phrases"] if many else 1)


# -- the promise ---------------------------------------------------------------------------------------------


def _promise(guarantee: Mapping[str, Any], unit: str, neighbours: str) -> Iterator[str]:
    if guarantee.get("kind") != "pure-dp" or guarantee.get("delta") != 0:
        yield "the guarantee is not pure differential privacy"
    if guarantee.get("unit") != unit:
        yield f"the guarantee is not per {unit}"
    if guarantee.get("neighbours") != neighbours:
        yield f"the guarantee does not compare '{neighbours}'"
    yield from (
        f"the guarantee has '{name}', which this method does not promise"
        for name in ("k", "implies", "parts")
        if name in guarantee
    )
    yield from _said("assumptions", guarantee, _ASSUMPTIONS)


def _said(where: str, guarantee: Mapping[str, Any], needed: Mapping[str, str]) -> Iterator[str]:
    said = codes(guarantee.get(where))
    yield from (f"the {where} do not say {what}" for code, what in needed.items() if code not in said)


def _semantic_promise(given: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[str]:
    per_topic = given["domain"] == "per-topic"
    per_query = given["epsilon_per"] == "query"
    alone = per_query and "max_phrases" not in given
    words_kept = given["keep_words"] != "none"
    equal = [] if given["pad"] else ["shape"] + ["topics"] * per_topic + ["words"] * words_kept
    neighbours = "replace-one-user" + ("-equal-" + "-and-".join(equal) if equal else "")
    yield from _promise(guarantee, "phrase" if alone else "user", neighbours)
    if Fraction(guarantee["epsilon"]) < _total(given) * (1 - Fraction(1, 10**12)):
        yield "epsilon is below what the parameters cost"
    needed = {}
    if not given["pad"]:
        needed["shape-is-published"] = "that the number of queries is disclosed"
        needed["no-sum"] = "that it does not add up with other releases"
    if words_kept:
        needed["words-are-published"] = "that kept words are not protected"
    if per_topic:
        needed["topics-are-published"] = "that topics are disclosed"
    if "reserve" in given:
        needed["releases-go-on"] = "that later releases may have the same numbers"
    if per_query:
        needed["epsilon-per-phrase"] = "how little protects a user with many phrases"
    yield from _said("caveats", guarantee, needed)


def _histogram_promise(given: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[str]:
    yield from _promise(guarantee, "user", "replace-one-user")
    if Fraction(guarantee["epsilon"]) < Fraction(given["epsilon"]):
        yield "epsilon is below what the parameters cost"


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
        judge("numbers", "users and their queries are numbered from 0, in order", lambda: _numbered(table)),
        judge("labels", _labels_words(manifest), lambda: _labels(manifest, table)),
    ]
    # Words that were kept may have commas of their own.
    given = manifest.section("parameters")
    if given.get("keep_words", "none") == "none":
        single = padded or given.get("whole_queries") is True
        made.append(
            judge(
                "phrases",
                _phrases_words(most, padded=padded, single=single),
                lambda: _phrases(table, most, padded=padded, single=single),
            )
        )
    return made


def _numbered(table: pa.Table) -> Iterator[str]:
    """Gaps, or another order, would be a place to tell more than which rows are one user's."""
    users, numbers = (_integers(table[name]) for name in ("user", "number"))
    if not len(users):
        return
    if users[0] != 0 or numbers[0] != 0:
        yield "the first user or the first query is not 0"
    steps = np.diff(users)
    if ((steps != 0) & (steps != 1)).any():
        yield "rows are not in the order of their users, or a number is left out"
    if (numbers[1:] != np.where(steps == 0, numbers[:-1] + 1, 0)).any():
        yield "a user's queries are not numbered one after another"


def _labels_words(manifest: Manifest) -> str:
    if manifest.section("parameters").get("keep_words", "none") != "none":
        return "no text is empty; the publisher kept words of the log, so texts cannot be compared with the taxonomy"
    if _of_wordnet(manifest):
        return "texts are made of the domain's concepts and nothing else"
    return "no label is empty; the taxonomy's file is not here, so labels cannot be looked up in it"


def _of_wordnet(manifest: Manifest) -> bool:
    return str(manifest.content.get("taxonomy", "")).startswith("WordNet")


def _labels(manifest: Manifest, table: pa.Table) -> Iterator[str]:
    given = manifest.section("parameters")
    if given.get("keep_words", "none") != "none":
        if pc.any(pc.equal(table["query"], "")).as_py():
            yield "a text is empty"
        return
    found = pc.unique(pc.list_flatten(pc.split_pattern(table["query"], ", "))).to_pylist()
    if any(not label for label in found):
        yield "a text is empty, or has an empty label"
    if not _of_wordnet(manifest):
        return
    nouns = Taxonomy.wordnet()
    if manifest.content.get("taxonomy") != nouns.identity:
        yield "the release was made with another edition of WordNet"
        return
    roots = {
        nouns.named(label)
        for label in (given["topics"] if given["domain"] == "per-topic" else [given["domain"]])
    }
    known: dict[int, bool] = {}
    strange = sum(1 for label in found if label and not _below(nouns, nouns.named(label), roots, known))
    if strange:
        yield f"{strange} different texts are not made of the domain's concepts"


def _below(nouns: Taxonomy, node: int | None, roots: set[int | None], known: dict[int, bool]) -> bool:
    """Whether one of the roots is reached by going up from a node."""
    if node is None:
        return False
    if node not in known:
        above = nouns.hypernyms.of(node).tolist()
        known[node] = node in roots or any(_below(nouns, one, roots, known) for one in above)
    return known[node]


def _phrases_words(most: int | None, *, padded: bool, single: bool) -> str:
    if padded:
        return f"every user has exactly {most} queries of one phrase"
    if single:
        return "every query has one phrase" + (f", and no user has more than {most}" if most else "")
    return f"no user has more than {most} phrases" if most else "every query has a phrase"


def _phrases(table: pa.Table, most: int | None, *, padded: bool, single: bool) -> Iterator[str]:
    lengths = _integers(pc.add(pc.count_substring(table["query"], ", "), 1))
    per_user = np.bincount(_integers(table["user"]), weights=lengths)
    if single and (lengths != 1).any():
        yield "a query has several phrases"
    if padded and (per_user != most).any():
        yield f"a user does not have {most} phrases"
    elif most and (per_user > most).any():
        yield f"a user has more than {most} phrases"


def _integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return numbers
