"""What draws must declare, and what they must add up to: every wrong field fails the check that is about it.

The manifests are made by hand, so that the verifier is not tested against the writer that it is to check.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from queryveil.verification import draws, recomputed
from queryveil.verification.manifest import Manifest

REPLACE, ADD_REMOVE = "replace-one-user", "add-remove-one-user"
Content = dict[str, Any]
Change = Callable[[Content], object]


def up(number: Decimal | Fraction | float) -> float:
    """As a float that is not below."""
    value = float(number)
    return value if Fraction(value) >= Fraction(number) else math.nextafter(value, math.inf)


def drawn(of: str = "queries", *, neighbours: str = ADD_REMOVE, **given: Any) -> Content:
    """One draw on rows of a public list, unless told otherwise."""
    most = given.get("most", 3)
    made = {
        "of": of,
        "table": of,
        "bounded": "queries",
        "rule": "random",
        "most": most,
        "copies": 1,
        "sensitivity": most if neighbours == ADD_REMOVE else 2 * most,
        "norm": "l1",
        "distribution": "discrete-laplace",
        "scale": 3.0,
        "rows": "public",
        "neighbours": neighbours,
        "kind": "pure-dp",
        "epsilon": 1.0,
        "delta": 0.0,
    }
    return made | given


def thresholded(of: str = "queries", **given: Any) -> Content:
    """One draw on rows of the log: with m = 2, scale 2, threshold 29 the delta is 6.3e-7."""
    told: Content = {"rows": "log", "most": 2, "scale": 2.0, "at_least": 1, "above": 29}
    return drawn(of, **(told | {"kind": "approximate-dp", "delta": 1e-6} | given))


def probable(of: str = "queries", **given: Any) -> Content:
    """m = 5, epsilon 2, delta 1e-3, 500,000 users: the specification's worked example at tau = 5."""
    told: Content = {
        "neighbours": REPLACE,
        "most": 5,
        "scale": 5.0,
        "at_least": 5,
        "above": 102,
        "users": 500_000,
    }
    return thresholded(of, **(told | {"kind": "probabilistic-dp", "epsilon": 2.0, "delta": 1e-3} | given))


def promised(draw: Content, *, of: str | None = None) -> Content:
    made = {"kind": draw["kind"], **({"of": of} if of else {})}
    if draw["kind"] != "none":
        made |= {"epsilon": draw["epsilon"], "delta": draw["delta"]}
    made |= {"unit": "user", "neighbours": draw["neighbours"], "assumptions": [], "caveats": []}
    if "users" in draw:
        made["assumptions"] = [
            {"code": "users-are-public", "sentence": "x", "fields": {"users": draw["users"]}}
        ]
    if draw["kind"] == "probabilistic-dp":
        loose = up(recomputed.of_draw(draw, probabilistic=False).delta)
        made["implies"] = {"kind": "approximate-dp", "epsilon": draw["epsilon"], "delta": loose}
        made["implies"] |= {"unit": "user", "neighbours": draw["neighbours"]}
    return made


def manifest(*made: Content, kind: str | None = None) -> Content:
    """Draws, with the guarantee that they have."""
    tables: Content = {one["table"]: {} for one in made}
    if len(made) == 1:
        return {"guarantee": promised(made[0]), "draws": list(made), "tables": tables}
    parts = [promised(one, of=one["of"]) for one in made]
    total = copy.deepcopy(parts[-1]) | {"kind": kind or parts[-1]["kind"], "parts": parts}
    total.pop("of")
    for one in (total, *([total["implies"]] if "implies" in total else [])):
        listed = parts if one is total else [part["implies"] for part in parts]
        one |= {name: math.fsum(part[name] for part in listed) for name in ("epsilon", "delta")}
    return {"guarantee": total, "draws": list(made), "tables": tables}


def public() -> Content:
    return manifest(drawn())


def log() -> Content:
    return manifest(thresholded())


def probabilistic() -> Content:
    return manifest(probable())


def occurrences() -> Content:
    """One user may count several times in one row: d = 20, e^epsilon = 10, delta = 1e-5 gives a threshold of 121."""
    epsilon = math.log(10)
    scale = up(Fraction(20) / Fraction(epsilon))
    return manifest(
        thresholded(most=20, copies=20, scale=scale, above=121, epsilon=epsilon, delta=1e-5, rule="first")
    )


def parts() -> Content:
    """Queries, fresh counts of those that were published, and public clicks."""
    fresh = drawn("counts", table="queries", rows="published", scale=6.0, epsilon=0.5)
    return manifest(drawn("clicks"), fresh | {"table": "clicks"}, thresholded())


def probable_parts() -> Content:
    return manifest(probable("keywords"), probable("queries"))


def uncovered() -> Content:
    none: Content = {"rows": "uncovered", "kind": "none", "most": 2, "scale": 2.0}
    draw = drawn("clicks", **none)
    del draw["epsilon"], draw["delta"]
    made = manifest(draw)
    return made | {"draws": [thresholded(), draw], "tables": {"queries": {}, "clicks": {}}}


def selected() -> Content:
    """Optimal selection at epsilon 1 and delta 1e-6, one user added, one item each: an even chance at 14 users."""
    noise: Content = {"distribution": "optimal-selection", "scale": 1.0, "item_delta": 1e-6, "above": 13}
    return manifest(thresholded(most=1, sensitivity=1, **noise))


def selected_replaced() -> Content:
    """The same for a replaced history: twice the scale, and half of delta for each of two counts."""
    noise: Content = {"distribution": "optimal-selection", "scale": 2.0, "item_delta": 5e-7, "above": 26}
    return manifest(thresholded(most=1, sensitivity=2, neighbours=REPLACE, **noise))


def chosen() -> Content:
    """A choice among candidates: what it is worth depends on the candidates, so that a method's own checks say it."""
    draw = drawn("phrases", norm="score", distribution="exponential", sensitivity=0.75)
    del draw["scale"]
    return manifest(draw)


def smallest() -> Content:
    """One item of each user, and no threshold but 0: as little as may be declared. Delta promises nothing."""
    return manifest(thresholded(most=1, scale=1.0, above=0, delta=1.0))


def steady() -> Content:
    """A choice that nobody changes: a sensitivity of 0 is allowed, and so is 1."""
    draw = drawn("phrases", norm="score", distribution="exponential", sensitivity=0)
    return manifest(draw | {"sensitivity": 0.0}, draw | {"of": "more", "sensitivity": 1.0})


def alone() -> Content:
    """The guarantee is for one user, as public a number as any. Delta promises nothing."""
    return manifest(probable(users=1, scale=5.0, at_least=1, above=102))


MAKERS = (
    steady,
    alone,
    public,
    log,
    probabilistic,
    occurrences,
    parts,
    probable_parts,
    uncovered,
    chosen,
    smallest,
    selected,
    selected_replaced,
)


def failed(content: Content) -> set[str]:
    """Checks that fail, each with a finding of its own: not because the code fell over what it did not foresee."""
    made = [check for check in draws.checks(Manifest(content, ())) if not check.passes]
    assert not [check for check in made if "cannot be checked" in check.detail], made
    return {check.name for check in made}


@pytest.mark.parametrize("make", MAKERS)
def test_what_fits_passes(make: Callable[[], Content]) -> None:
    made = draws.checks(Manifest(make(), ()))
    assert [check.name for check in made] == ["draws", "guarantee", "implied-guarantee", "users"]
    assert all(check.passes for check in made), made
    assert (getattr(made[1].detail, "id", "") == "verify.draws.part-of-release-comes-from-log") == (
        make is uncovered
    )


def test_a_guarantee_without_noise_needs_no_draws() -> None:
    assert draws.checks(Manifest({"guarantee": {"kind": "k-anonymity", "k": 5}, "draws": []}, ())) == []


@pytest.mark.parametrize("kind", ["pure-dp", "approximate-dp", "probabilistic-dp"])
@pytest.mark.parametrize("declared", [[], None, 3, {"queries": {}}])
def test_a_guarantee_of_noise_needs_draws(kind: str, declared: Any) -> None:
    content = {"guarantee": {"kind": kind}, "draws": declared, "tables": {}}
    assert failed(content) == {"draws"}
    assert "no draw of noise is declared" in draws.checks(Manifest(content, ()))[0].detail


# -- each wrong field ----------------------------------------------------------------------------------------


def put(*keys: Any, value: Any) -> Change:
    def change(content: Content) -> None:
        inner: Any = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


def drop(*keys: Any) -> Change:
    def change(content: Content) -> None:
        inner: Any = content
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


def paid(number: int | None = None, **figures: float) -> Change:
    """Figures of a draw and of what pays for it, so that only the arithmetic can object."""

    def change(content: Content) -> None:
        guarantee = content["guarantee"]
        content["draws"][number or 0].update(figures)
        (guarantee if number is None else guarantee["parts"][number]).update(figures)

    return change


def all_of(*changes: Change) -> Change:
    return lambda content: [one(content) for one in changes]


Case = tuple[Callable[[], Content], Change]

FORM: dict[str, Case] = {
    "is not an object": (public, put("draws", 0, value="noise")),
    "has a key that is unknown": (public, put("draws", 0, "survivors", value=12)),
    **{
        f"{name} is no text": (public, put("draws", 0, name, value=1))
        for name in ("of", "bounded", "rule", "rows")
    },
    **{
        f"has no {name}": (public, drop("draws", 0, name))
        for name in ("of", "table", "bounded", "rule", "norm", "distribution", "rows", "kind")
    },
    "most is a fraction": (log, put("draws", 0, "most", value=2.0)),
    "copies is a fraction": (log, put("draws", 0, "copies", value=1.0)),
    "copies is true": (log, put("draws", 0, "copies", value=True)),
    "first threshold is a fraction": (log, put("draws", 0, "at_least", value=1.0)),
    "threshold is a fraction": (log, put("draws", 0, "above", value=29.0)),
    "users is a fraction": (probabilistic, put("draws", 0, "users", value=5e5)),
    "epsilon is true": (public, paid(epsilon=True)),
    "delta is true": (log, paid(delta=True)),
    "scale is text": (log, put("draws", 0, "scale", value="2")),
    "scale is negative": (log, put("draws", 0, "scale", value=-2.0)),
    "scale is nothing": (log, put("draws", 0, "scale", value=0.0)),
    "scale is beyond floats": (log, put("draws", 0, "scale", value=10**400)),
    "scale is missing": (public, drop("draws", 0, "scale")),
    "sensitivity is true": (public, put("draws", 0, "sensitivity", value=True)),
    "makes a table that the release does not have": (public, put("draws", 0, "table", value="others")),
    "is for rows that nothing published": (public, put("draws", 0, "rows", value="published")),
    "published only later": (parts, lambda made: made["draws"].insert(0, made["draws"].pop(1))),
    "public rows, and approximate": (public, put("draws", 0, "kind", value="approximate-dp")),
    "rows of the log, and pure": (log, put("draws", 0, "kind", value="pure-dp")),
    "rows of an unknown sort": (public, put("draws", 0, "rows", value="some")),
    "as it is, and pure": (uncovered, put("draws", 1, "kind", value="pure-dp")),
    "compares other logs": (public, put("draws", 0, "neighbours", value=REPLACE)),
    "compares no logs": (public, drop("draws", 0, "neighbours")),
    "costs no epsilon": (public, drop("draws", 0, "epsilon")),
    "costs an epsilon of nothing": (public, put("draws", 0, "epsilon", value=0.0)),
    "costs no delta": (public, drop("draws", 0, "delta")),
    "is of another distribution": (public, put("draws", 0, "distribution", value="gaussian")),
    "measures otherwise": (public, put("draws", 0, "norm", value="l2")),
    "measures a score": (public, put("draws", 0, "norm", value="score")),
    "chooses, and measures counts": (chosen, put("draws", 0, "norm", value="l1")),
    "chooses with a sensitivity above 1": (chosen, put("draws", 0, "sensitivity", value=1.5)),
    "chooses, and is approximate": (
        chosen,
        lambda made: made["draws"][0].update(rows="log", kind="approximate-dp"),
    ),
    "bounds nothing": (log, drop("draws", 0, "most")),
    "bounds to nothing": (public, lambda made: made["draws"][0].update(most=0, sensitivity=0)),
    "copies more than the bound": (log, put("draws", 0, "copies", value=3)),
    "copies between one and the bound": (occurrences, put("draws", 0, "copies", value=19)),
    "sensitivity below the bound": (public, put("draws", 0, "sensitivity", value=2)),
    "sensitivity above the bound": (public, put("draws", 0, "sensitivity", value=4)),
    "sensitivity of one user who is added, where one is replaced": (
        probabilistic,
        put("draws", 0, "sensitivity", value=5),
    ),
    "public rows with a threshold": (public, put("draws", 0, "above", value=5)),
    "public rows with a first threshold": (public, put("draws", 0, "at_least", value=5)),
    "public rows with a delta": (public, put("draws", 0, "delta", value=1e-6)),
    "rows of the log without a threshold": (log, drop("draws", 0, "above")),
    "rows of the log without a first threshold": (log, drop("draws", 0, "at_least")),
    "rows of the log with a first threshold of 0": (log, put("draws", 0, "at_least", value=0)),
    "several copies with a first threshold": (occurrences, put("draws", 0, "at_least", value=2)),
    "several copies, one user replaced": (
        lambda: manifest(
            thresholded(neighbours=REPLACE, most=2, copies=2, sensitivity=4, scale=4.0, above=60)
        ),
        lambda made: None,
    ),
    "probabilistic, one user added": (
        lambda: manifest(probable(neighbours=ADD_REMOVE, sensitivity=5)),
        lambda made: None,
    ),
    "probabilistic without users": (probabilistic, drop("draws", 0, "users")),
    "probabilistic for no user": (probabilistic, put("draws", 0, "users", value=0)),
    "optimal selection without a delta of one count": (selected, drop("draws", 0, "item_delta")),
    "delta of one count is true": (selected, put("draws", 0, "item_delta", value=True)),
    "delta of one count is 0": (selected, put("draws", 0, "item_delta", value=0)),
    "delta of one count is 1": (selected, put("draws", 0, "item_delta", value=1)),
    "noise above the threshold": (selected, put("draws", 0, "item_delta", value=1e-7)),
    "threshold below the noise": (selected, put("draws", 0, "above", value=12)),
    "threshold below the noise of a larger scale": (selected, put("draws", 0, "scale", value=1.1)),
    "optimal selection beyond every scale": (selected, put("draws", 0, "scale", value=1e300)),
    "optimal selection without a threshold": (selected, drop("draws", 0, "above")),
    "optimal selection with a first threshold": (selected, put("draws", 0, "at_least", value=2)),
    "optimal selection, a user counting twice": (
        selected,
        lambda made: made["draws"][0].update(most=2, copies=2, sensitivity=2),
    ),
    "optimal selection on public rows": (
        lambda: manifest(
            drawn(distribution="optimal-selection", item_delta=1e-6, most=1, sensitivity=1, scale=1.0)
        ),
        lambda made: None,
    ),
    "optimal selection, and probabilistic": (
        lambda: manifest(probable(distribution="optimal-selection", item_delta=1e-6, at_least=1)),
        lambda made: None,
    ),
    "optimal selection, measured otherwise": (selected, put("draws", 0, "norm", value="score")),
    "a limit of noise that has none": (log, put("draws", 0, "limit", value=14)),
    "a limit of a choice": (chosen, put("draws", 0, "limit", value=14)),
    "noise that ends, of one user who is added, where one is replaced": (
        selected_replaced,
        put("draws", 0, "sensitivity", value=1),
    ),
}


@pytest.mark.parametrize("case", FORM)
def test_a_draw_that_is_not_declared_in_full(case: str) -> None:
    make, change = FORM[case]
    content = make()
    change(content)
    assert failed(content) == {"draws"}


NEXT = {name: math.nextafter(value, 0) for name, value in (("one", 1.0), ("two", 2.0))}

GUARANTEES: dict[str, Case] = {
    "epsilon of public rows too small": (public, paid(epsilon=NEXT["one"])),
    "noise of public rows too small": (public, put("draws", 0, "scale", value=math.nextafter(3.0, 0))),
    "more items from each user": (public, lambda made: made["draws"][0].update(most=4, sensitivity=4)),
    "epsilon of the log's rows too small": (log, paid(epsilon=0.99)),
    "delta of the log's rows too small": (log, paid(delta=6.2e-7)),
    "threshold too low": (log, put("draws", 0, "above", value=28)),
    "first threshold above what is proven for it": (log, put("draws", 0, "at_least", value=2)),
    "delta without the last row of one user": (occurrences, put("draws", 0, "above", value=120)),
    "epsilon of optimal selection too small": (selected, paid(epsilon=NEXT["one"])),
    "delta of optimal selection too small": (selected, paid(delta=math.nextafter(1e-6, 0))),
    "delta of one count above delta": (
        selected,
        put("draws", 0, "item_delta", value=math.nextafter(1e-6, 1)),
    ),
    "all of delta for each of two counts": (selected_replaced, put("draws", 0, "item_delta", value=1e-6)),
    "optimal selection with too little noise": (
        selected,
        put("draws", 0, "scale", value=math.nextafter(1.0, 0)),
    ),
    "epsilon of the draw alone": (public, put("draws", 0, "epsilon", value=2.0)),
    "epsilon of the guarantee alone": (public, put("guarantee", "epsilon", value=2.0)),
    "delta of the draw alone": (log, put("draws", 0, "delta", value=2e-6)),
    "delta of the guarantee alone": (log, put("guarantee", "delta", value=2e-6)),
    "no epsilon of the guarantee": (public, drop("guarantee", "epsilon")),
    "no delta of the guarantee": (public, drop("guarantee", "delta")),
    "delta above 1": (log, paid(delta=1.5)),
    "kind of the guarantee stronger": (log, put("guarantee", "kind", value="pure-dp")),
    "kind of the guarantee weaker": (public, put("guarantee", "kind", value="approximate-dp")),
    "a single draw with a part": (public, put("guarantee", "parts", value=[{"of": "queries"}])),
    "a guarantee that is for something": (public, put("guarantee", "of", value="queries")),
    "kind of several: the strongest": (parts, put("guarantee", "kind", value="pure-dp")),
    "kind of several: none": (parts, put("guarantee", "kind", value="none")),
    "kind of a part": (parts, put("guarantee", "parts", 0, "kind", value="approximate-dp")),
    "neighbours of a part": (parts, put("guarantee", "parts", 0, "neighbours", value=REPLACE)),
    "a part for something else": (parts, put("guarantee", "parts", 0, "of", value="counts")),
    "a part for nothing": (parts, drop("guarantee", "parts", 0, "of")),
    "a part without epsilon": (parts, drop("guarantee", "parts", 1, "epsilon")),
    "a part without delta": (parts, drop("guarantee", "parts", 2, "delta")),
    "a part too strong": (parts, paid(1, epsilon=0.4)),
    "delta of a part forgotten": (parts, all_of(paid(2, delta=0.0), put("guarantee", "delta", value=0.0))),
    "sum of epsilon too small": (parts, put("guarantee", "epsilon", value=2.4)),
    "sum of delta too small": (probable_parts, put("guarantee", "delta", value=1.9e-3)),
    "sum too small for what parts state, though not for their noise": (
        parts,
        paid(1, epsilon=5.0),
    ),
    "sum of delta too small for what parts state": (parts, paid(2, delta=1e-3)),
    "total without epsilon": (parts, drop("guarantee", "epsilon")),
    "total without delta": (parts, drop("guarantee", "delta")),
    "total delta above 1": (parts, put("guarantee", "delta", value=1.5)),
    "probabilistic epsilon too small": (probabilistic, paid(epsilon=NEXT["two"])),
    "probabilistic delta too small": (probabilistic, paid(delta=8.4e-4)),
    "taken as it is, and promised": (uncovered, put("guarantee", "kind", value="approximate-dp")),
    "taken as it is, with an epsilon": (uncovered, put("guarantee", "epsilon", value=1.0)),
    "taken as it is, with a delta": (uncovered, put("guarantee", "delta", value=1e-6)),
    "taken as it is, with a part that is promised": (
        uncovered,
        put("guarantee", "parts", value=[promised(thresholded(), of="queries")]),
    ),
}


@pytest.mark.parametrize("case", GUARANTEES)
def test_a_guarantee_that_draws_do_not_give(case: str) -> None:
    make, change = GUARANTEES[case]
    content = make()
    change(content)
    assert "guarantee" in failed(content) and "draws" not in failed(content), failed(content)


def test_what_is_wrong_is_said_once() -> None:
    content = public()
    paid(epsilon=0.5)(content)
    (found,) = (check for check in draws.checks(Manifest(content, ())) if not check.passes)
    assert found.detail.count("states epsilon 0.5, but noise and thresholds give 1") == 1
    assert ";" not in found.detail


def test_what_is_a_number() -> None:
    """JSON's, not below 0, and not beyond floats; true is none."""
    for value in (0, 1, 1.5, sys.float_info.max):
        assert draws.number(value) and draws.positive(value) == (value > 0)
    for other in (True, False, -1, -0.5, "1", None, [1], math.inf, math.nan, 10**400):
        assert not draws.number(other) and not draws.positive(other)


def test_assumptions_may_be_left_out_where_nothing_is_told() -> None:
    content = public()
    content["guarantee"]["assumptions"] = None
    assert failed(content) == set()
    replaced = manifest(drawn(neighbours=REPLACE, scale=6.0))
    assert failed(replaced) == set(), "no number of users is told, and none need be"


def test_a_sum_that_is_exact_is_enough() -> None:
    content = manifest(drawn("clicks", epsilon=1.0), drawn("queries", epsilon=1.0))
    assert content["guarantee"]["epsilon"] == 2.0 and failed(content) == set()


def test_parts_that_are_missing_or_too_many_are_found() -> None:
    for number in (0, 1, 2):
        content = parts()
        del content["guarantee"]["parts"][number]
        assert failed(content) == {"guarantee", "implied-guarantee"}
    content = parts()
    content["guarantee"]["parts"].append(copy.deepcopy(content["guarantee"]["parts"][0]))
    assert "guarantee" in failed(content)


def test_a_probabilistic_guarantee_is_for_its_number_of_users() -> None:
    """Told alike everywhere, so that only the arithmetic can object: delta is 8.45e-4 for 500,000 users."""
    for users, holds in ((590_000, True), (592_000, False)):
        assert (failed(manifest(probable(users=users))) == set()) == holds


def test_more_than_what_the_draws_give_is_a_promise_that_holds() -> None:
    """A guarantee may be weaker than its noise and thresholds: nobody is promised too much."""
    for content in (manifest(drawn(epsilon=1.5)), manifest(thresholded(delta=1e-3, epsilon=2.0))):
        assert failed(content) == set()


LATER: dict[str, Case] = {
    "is missing": (probabilistic, drop("guarantee", "implies")),
    "is of another kind": (probabilistic, put("guarantee", "implies", "kind", value="pure-dp")),
    "has no epsilon": (probabilistic, drop("guarantee", "implies", "epsilon")),
    "has an epsilon of nothing": (probabilistic, put("guarantee", "implies", "epsilon", value=0)),
    "has no delta": (probabilistic, drop("guarantee", "implies", "delta")),
    "has too small an epsilon": (probabilistic, put("guarantee", "implies", "epsilon", value=NEXT["two"])),
    "has too small a delta": (probabilistic, put("guarantee", "implies", "delta", value=8.4e-9)),
    "is for another unit": (probabilistic, put("guarantee", "implies", "unit", value="row")),
    "compares other logs": (probabilistic, put("guarantee", "implies", "neighbours", value=ADD_REMOVE)),
    "of a part is missing": (probable_parts, drop("guarantee", "parts", 1, "implies")),
    "of a part is too strong": (
        probable_parts,
        put("guarantee", "parts", 1, "implies", "delta", value=8.4e-9),
    ),
    "of the sum is too strong": (probable_parts, put("guarantee", "implies", "delta", value=1.6e-8)),
    "of the sum has too small an epsilon": (
        probable_parts,
        put("guarantee", "implies", "epsilon", value=3.9),
    ),
    "follows from pure privacy": (public, put("guarantee", "implies", value={"kind": "approximate-dp"})),
    "follows from approximate privacy": (log, put("guarantee", "implies", value={"kind": "approximate-dp"})),
    "follows from nothing": (uncovered, put("guarantee", "implies", value={"kind": "approximate-dp"})),
    "of a part follows from nothing": (parts, put("guarantee", "parts", 0, "implies", value={})),
}


@pytest.mark.parametrize("case", LATER)
def test_an_implied_guarantee_that(case: str) -> None:
    make, change = LATER[case]
    content = make()
    change(content)
    assert failed(content) == {"implied-guarantee"}


USERS: dict[str, Case] = {
    "told in a parameter, one being added": (log, put("parameters", value={"users": 61_020})),
    "told deep inside, one being added": (log, put("calibration", value={"pure_dp": [{"users": 61_020}]})),
    "told as a fraction, one being added": (log, put("calibration", value={"users": 61_020.5})),
    "told in the draw, one being added": (log, put("draws", 0, "users", value=61_020)),
    "told differently": (probabilistic, put("parameters", value={"users": 61_020})),
    "told in an assumption, one being added": (
        log,
        put("guarantee", "assumptions", value=[{"code": "x", "sentence": "x", "fields": {"users": 61_020}}]),
    ),
    "not among the assumptions": (probabilistic, put("guarantee", "assumptions", value=[])),
    "not in any of the assumptions": (
        probabilistic,
        put("guarantee", "assumptions", value=[{"code": "x", "sentence": "x"}]),
    ),
}


@pytest.mark.parametrize("case", USERS)
def test_a_number_of_users(case: str) -> None:
    make, change = USERS[case]
    content = make()
    change(content)
    assert failed(content) == {"users"}


# -- public lists --------------------------------------------------------------------------------------------

LISTED: Content = {"items": 7, "lines": 9, "sha256": "ab" * 32, "above": 12}


def repeated(**given: Any) -> Content:
    """A user may count several times, as in the click graph."""
    return occurrences()["draws"][0] | given


def optimal(**given: Any) -> Content:
    return selected()["draws"][0] | given


@pytest.mark.parametrize("made", [thresholded, probable, repeated, optimal])
def test_a_public_list_is_paid_for_by_its_draw_once(made: Callable[..., Content]) -> None:
    """The same epsilon and delta, neither twice nor less: what is short of them fails with a list as without."""
    draw = made(public=LISTED)
    assert failed(manifest(draw)) == set()
    for name in ("epsilon", "delta"):
        short = dict(draw) | {name: draw[name] / 3}
        assert "guarantee" in failed(manifest(short))


@pytest.mark.parametrize(
    "draw",
    [
        drawn(public=LISTED),
        thresholded(public={**LISTED, "items": 0}),
        thresholded(public={**LISTED, "lines": 1.5}),
        thresholded(public={**LISTED, "above": -1}),
        thresholded(public={**LISTED, "sha256": "AB" * 32}),
        thresholded(public={**LISTED, "path": "x"}),
        thresholded(public=[LISTED]),
        thresholded(public=None),
    ],
)
def test_a_public_list_where_it_is_not_proven_or_not_stated_fails(draw: Content) -> None:
    assert failed(manifest(draw)) == {"draws"}
