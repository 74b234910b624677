"""The text of query events: pool queries, one-off queries made from them, and untidy spellings of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.synthetic.generator import vocabulary
from queryveil.synthetic.generator.families import TOPIC_NAMES
from queryveil.synthetic.generator.habits import Shares
from queryveil.synthetic.generator.lexicon import model_number
from queryveil.synthetic.generator.pool import Floats, Ints, Pool
from queryveil.synthetic.generator.vocabulary import TOPICS

# Untidy forms of a query: upper case, title case, double spaces, quotes, space around it.
_FORMS: Final = np.cumsum([0.012, 0.006, 0.008, 0.008, 0.004])
_DECOMPOSED: Final = 0.1  # share of non-ASCII queries in decomposed Unicode
_TYPO_PLACES: Final = 7
_PREFIXES: Final = (
    "how do i find",
    "where can i get",
    "information about",
    "looking for",
    "help with",
    "why does my",
)


def _to_strings(words: list[str] | tuple[str, ...]) -> pa.StringArray:
    return pa.array(words, pa.string())


def _join_columns(*parts: pa.StringArray | str) -> pa.StringArray:
    return pc.binary_join_element_wise(*parts, " ")


@dataclass(frozen=True, eq=False)
class Wording:
    """Word arrays to draw from."""

    pool: Pool
    kinds: Floats  # of one-off queries: running shares, without the last
    topic_words: pa.StringArray
    starts: Ints
    counts: Ints
    first_names: pa.StringArray
    surnames: pa.StringArray
    towns: pa.StringArray
    states: pa.StringArray
    codes: pa.StringArray
    adjectives: pa.StringArray
    prefixes: pa.StringArray
    ascii: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def for_pool(cls, pool: Pool, one_off_kinds: Shares) -> Wording:
        lists = [
            TOPICS[TOPIC_NAMES[t]][1] if TOPIC_NAMES[t] in TOPICS else vocabulary.FACETS for t in pool.topics
        ]
        counts = np.array([len(words) for words in lists])
        return cls(
            pool=pool,
            kinds=np.cumsum(one_off_kinds[:-1]),
            topic_words=_to_strings([w for words in lists for w in words]),
            starts=np.cumsum(counts) - counts,
            counts=counts,
            first_names=_to_strings(vocabulary.FIRST_NAMES),
            surnames=_to_strings(pool.names.surnames),
            towns=_to_strings(pool.names.towns),
            states=_to_strings(vocabulary.STATES),
            codes=_to_strings(
                [model_number(i * 7_919) for i in range(6_000)] + [str(y) for y in range(1950, 2010)]
            ),
            adjectives=_to_strings(vocabulary.ADJECTIVES),
            prefixes=_to_strings(_PREFIXES),
            ascii=pc.string_is_ascii(pool.text).to_numpy(zero_copy_only=False),
        )

    def _topic_word(self, places: Ints, chance: Floats) -> pa.StringArray:
        topic = self.pool.topic[places]
        return self.topic_words.take(
            pa.array(self.starts[topic] + (chance * self.counts[topic]).astype(np.int64))
        )

    def one_offs(self, places: Ints, rng: np.random.Generator) -> pa.StringArray:
        """For each pool query, a query around it that hardly anyone else poses."""
        kind = np.searchsorted(self.kinds, rng.random(len(places)), side="right")
        order = np.argsort(kind, kind="stable")
        made = [self._of_kind(k, places[order[kind[order] == k]], rng) for k in range(len(self.kinds) + 1)]
        back = np.empty(len(places), dtype=np.int64)
        back[order] = np.arange(len(places))
        return pa.concat_arrays(made).take(pa.array(back))

    def _of_kind(self, kind: int, places: Ints, rng: np.random.Generator) -> pa.StringArray:
        base = self.pool.text.take(pa.array(places))
        a, b, c = rng.random((3, len(places)))
        if kind == 0:  # one more word of the topic
            return _join_columns(base, self._topic_word(places, a))
        if kind == 1:  # a person, rarely a famous one, and where
            return _join_columns(
                _pick_any(self.first_names, a), _pick_any(self.surnames, b), _pick_any(self.towns, c)
            )
        if kind == 2:  # somewhere
            return _join_columns(base, _pick_any(self.towns, a), _pick_any(self.states, b))
        if kind == 3:
            return _add_typo(base, a)
        if kind == 4:  # a model or a year
            return _join_columns(base, _pick_any(self.codes, a))
        return _join_columns(
            _pick_any(self.prefixes, a),
            _pick_any(self.adjectives, b),
            base,
            "for",
            self._topic_word(places, c),
        )


def _pick_any(words: pa.StringArray, chance: Floats) -> pa.StringArray:
    return words.take(pa.array((chance * len(words)).astype(np.int64)))


def _add_typo(text: pa.StringArray, chance: Floats) -> pa.StringArray:
    """One letter missing, or one letter twice."""
    place = (chance * _TYPO_PLACES * 2).astype(np.int64)
    result = text
    for p in range(_TYPO_PLACES):
        letter = pc.utf8_slice_codeunits(text, p + 1, p + 2)
        without = pc.utf8_replace_slice(text, p + 1, p + 2, "")
        doubled = pc.binary_join_element_wise(
            pc.utf8_slice_codeunits(text, 0, p + 1), letter, pc.utf8_slice_codeunits(text, p + 1), ""
        )
        result = pc.if_else(pa.array(place == 2 * p), without, result)
        result = pc.if_else(pa.array(place == 2 * p + 1), doubled, result)
    return pc.utf8_trim_whitespace(pc.replace_substring(result, "  ", " "))


def add_untidy_forms(
    dictionary: pa.StringArray,
    codes: Ints,
    ascii_only: np.ndarray[tuple[int], np.dtype[np.bool_]],
    rng: np.random.Generator,
) -> tuple[pa.StringArray, Ints]:
    """Spell some events untidily: the dictionary grows by the new forms, and codes point at them.

    Every form normalises to the query it came from.
    """
    chance = rng.random(len(codes))
    form = np.searchsorted(_FORMS, chance, side="right")
    form[~ascii_only & (rng.random(len(codes)) < _DECOMPOSED)] = len(_FORMS) + 1
    codes = codes.copy()
    parts = [dictionary]
    size = len(dictionary)
    for number, spell in enumerate(
        (pc.utf8_upper, pc.utf8_title, _double_spaced, _add_quotes, _add_padding, None, _decompose)
    ):
        if spell is None:  # tidy
            continue
        chosen = np.flatnonzero(form == number)
        parts.append(spell(dictionary.take(pa.array(codes[chosen]))))
        codes[chosen] = size + np.arange(len(chosen))
        size += len(chosen)
    return pa.concat_arrays(parts), codes


def _double_spaced(text: pa.StringArray) -> pa.StringArray:
    return pc.replace_substring(text, " ", "  ")


def _add_quotes(text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise('"', text, '"', "")


def _add_padding(text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(" ", text, "", "")


def _decompose(text: pa.StringArray) -> pa.StringArray:
    return pc.utf8_normalize(text, form="NFD")
