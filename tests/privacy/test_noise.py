"""Noise: exact tables, exact decisions on boundaries, refused parameters, no other source of randomness."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import queryveil
from queryveil.errors import UsageError
from queryveil.privacy.noise import MAX_SCALE, GeometricTable, LaplaceSampler, Noise, SystemBits
from tests.seeded import SeededBits

SCALES = [Fraction(1, 10), Fraction(0.43), Fraction(1), Fraction(7.3), Fraction(64), Fraction(10**9)]


def boundary(scale: Fraction, limit: int | None, t: int, bits: int) -> int:
    """floor(2^bits P[V < t]), from the definition and with digits to spare."""
    with localcontext() as context:
        context.prec = 400
        tail = (-t * Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        rest = 0 if limit is None else (-limit * Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
        return int(2**bits * (1 - tail) / (1 - rest))


class ScriptedBits:
    """The given words, once: asking for more is an error."""

    def __init__(self, *batches: list[int]) -> None:
        self.batches = list(batches)

    def words(self, n: int) -> NDArray[np.uint64]:
        batch = self.batches.pop(0)
        assert len(batch) == n
        return np.array(batch, dtype=np.uint64)


@pytest.mark.parametrize("limit", [None, 2, 256])
@pytest.mark.parametrize("scale", SCALES[:-1])
def test_table_entries_are_exact_floors(scale: Fraction, limit: int | None) -> None:
    floors = GeometricTable(scale, limit).floors
    assert [int(f) for f in floors] == [boundary(scale, limit, t + 1, 32) for t in range(floors.size)]
    assert floors.size == (limit or 0) - 1 or floors[-1] == 2**32 - 1


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.fractions(min_value=Fraction(1, 10), max_value=1000), st.integers(2, 40))
def test_table_entries_are_exact_floors_for_any_scale(scale: Fraction, limit: int) -> None:
    floors = GeometricTable(scale, limit, width=16).floors
    assert [int(f) for f in floors] == [boundary(scale, limit, t + 1, 16) for t in range(floors.size)]


@pytest.mark.parametrize("limit", [None, 2, 256])
@pytest.mark.parametrize("scale", SCALES)
def test_uniform_reals_next_to_a_boundary_fall_on_the_right_side(scale: Fraction, limit: int | None) -> None:
    # 224 bits agree with the boundary except in the last place: the draw must read all of them to decide.
    if limit is None and scale > 64:
        limit = 16  # large scales are split into digits: an unlimited table of this scale is never built
    table = GeometricTable(scale, limit)
    for t in {1, table.floors.size // 2 or 1, table.floors.size}:
        nearest = boundary(scale, limit, t, 224)
        for prefix, value in ((nearest - 1, t - 1), (nearest + 1, t)):
            word, *more = (prefix >> shift & mask for shift, mask in _layout(224))
            first = int(np.array([word, 0], dtype=np.uint32).view(np.uint64)[0])
            bits = ScriptedBits([first], *([w] for w in more))
            assert table.draw(bits, 1).tolist() == [value]
            assert not bits.batches


def _layout(bits: int) -> Iterator[tuple[int, int]]:
    """Shift and mask of the first 32 bits, then of 64 at a time."""
    yield bits - 32, 2**32 - 1
    for shift in range(bits - 96, -1, -64):
        yield shift, 2**64 - 1


def test_far_tail_is_reached() -> None:
    # The first 32 bits are ones, then 1/2: 1 - U = 2^-33, so V = floor(33 ln 2).
    table = GeometricTable(Fraction(1), None)
    assert table.draw(ScriptedBits([2**32 - 1], [2**63]), 1).tolist() == [22]


def test_decimal_context_of_the_caller_changes_nothing() -> None:
    expected = LaplaceSampler(Fraction(10), width=8).draw(SeededBits(1), 500)
    with localcontext() as context:
        context.prec = 2
        assert np.array_equal(LaplaceSampler(Fraction(10), width=8).draw(SeededBits(1), 500), expected)


@pytest.mark.parametrize(
    "scale", [0, 0.0, -1, -0.5, float("nan"), float("inf"), -float("inf"), 1e13, 10**400, True, "1", None]
)
def test_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(UsageError, match="noise scale"):
        Noise().discrete_laplace(scale, 3)


@pytest.mark.parametrize("size", [-1, 2.0, "3", None, True])
def test_size_that_is_no_count_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="number of draws"):
        Noise().discrete_laplace(1.0, size)
    with pytest.raises(UsageError, match="number of draws"):
        Noise().permutation(size)


def test_no_draws() -> None:
    draws = Noise().discrete_laplace(1.0, 0)
    assert draws.size == 0
    assert draws.dtype == np.int64


@pytest.mark.parametrize("scale", [1e9, MAX_SCALE, Fraction(10**30, 10**20 + 1)])
def test_large_scales_have_the_right_size(scale: float | Fraction) -> None:
    draws = Noise(SeededBits(3)).discrete_laplace(scale, 100_000)
    magnitude = float(np.abs(draws).mean()) / float(scale)
    assert magnitude == pytest.approx(1, abs=0.02)  # six standard errors
    assert abs(float(draws.mean())) / float(scale) < 0.03


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-3])
def test_tiny_scales_give_zeros(scale: float) -> None:
    assert not Noise(SeededBits(4)).discrete_laplace(scale, 1000).any()


def test_fraction_int_and_float_of_equal_value_agree() -> None:
    values = [Noise(SeededBits(5)).discrete_laplace(scale, 100) for scale in (3, 3.0, Fraction(3))]
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[0], values[2])


def test_production_draws_differ() -> None:
    noise, other = Noise(), Noise()
    assert not np.array_equal(noise.discrete_laplace(100.0, 200), noise.discrete_laplace(100.0, 200))
    assert not np.array_equal(noise.discrete_laplace(100.0, 200), other.discrete_laplace(100.0, 200))
    assert len({noise.key(), noise.key(), other.key()}) == 3
    assert len(noise.key()) == 32
    assert SystemBits().words(5).dtype == np.uint64


def test_noise_goes_to_other_processes_without_a_state() -> None:
    here = Noise()
    there, other = pickle.loads(pickle.dumps(here)), copy.deepcopy(here)  # noqa: S301 (our own)
    assert len({here.key(), there.key(), other.key()}) == 3
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="two copies of a bit source"):
            copied(Noise(SeededBits(1)))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_permutation_holds_every_index_once(n: int) -> None:
    assert sorted(Noise().permutation(n).tolist()) == list(range(n))


def test_permutation_starts_over_on_a_tie() -> None:
    bits = ScriptedBits([7, 7, 1], [9, 8, 1])
    assert Noise(bits).permutation(3).tolist() == [2, 1, 0]


# -- uniform and weighted draws --------------------------------------------------------------------------------


def test_words_beyond_the_last_whole_multiple_are_drawn_again() -> None:
    # 2^63 = 3 k + 2: the two last 63-bit words would favour the small values.
    last = 2**64 - 1
    bits = ScriptedBits([last, 5 << 1], [last - 2], [7 << 1])
    assert Noise(bits).below(np.array([3, 3])).tolist() == [1, 2]
    assert not bits.batches


@pytest.mark.parametrize("limit", [1, 2, 10, 2**62])
def test_uniform_draws_stay_below_their_limit(limit: int) -> None:
    found = Noise(SeededBits(6)).below(np.full(1000, limit))
    assert found.min() >= 0 and found.max() < limit
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    "limits", [np.array([0]), np.array([3, -1]), np.array([2**62 + 1]), np.array([1.5]), np.array([[1]])]
)
def test_limits_that_cannot_be_are_refused(limits: NDArray[np.int64]) -> None:
    with pytest.raises(UsageError, match="limits of uniform draws"):
        Noise().below(limits)


def test_weights_decide_by_their_running_sums() -> None:
    # 63-bit words are taken modulo the total, 10: 0 1 2 | nothing | 3 ... 9.
    words = [word << 1 for word in (0, 2, 3, 9, 13)]
    for cumulative in ([[3, 3, 10]], [[3, 3, 10], [1, 2, 3]]):
        chosen = Noise(ScriptedBits(words)).weighted(np.array(cumulative), np.zeros(5, dtype=np.int64))
        assert chosen.tolist() == [0, 0, 2, 2, 2]


# Packages that never touch a release: they invent logs, attack, audit, or simulate.
NOT_FOR_PRIVACY = (
    "advice/preview.py",
    "synthetic/",
    "study/profiles.py",
    "study/union/",
    "attack/exposure/exposure.py",
    "attack/linkage.py",
    "attack/inversion/",
    "attack/relinking/",
    "auditing/shapes.py",
    "study/clump_runs.py",
    "language/spotting/counting.py",
)


def test_no_other_source_of_randomness() -> None:
    root = Path(queryveil.__file__).parent
    found = []
    for path in root.rglob("*.py"):
        if path.relative_to(root).as_posix().startswith(NOT_FOR_PRIVACY):
            continue
        found += [f"{path.name}:{name}" for name in _random_names(ast.parse(path.read_text()))]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import choice",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng(1)",
    ],
)
def test_other_sources_of_randomness_are_noticed(source: str) -> None:
    assert _random_names(ast.parse(source))


def _random_names(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name in ("random", "numpy.random")]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            found += [name for name in names if name in ("random", "numpy.random")]
        elif isinstance(node, ast.Attribute) and node.attr == "random":
            found += ["np.random"] if isinstance(node.value, ast.Name) and node.value.id == "np" else []
    return found
