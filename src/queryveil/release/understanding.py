"""What is published only if its publisher says that it is understood: no guarantee, or one that means nothing."""

from __future__ import annotations

import dataclasses

from queryveil.errors import UsageError, argument
from queryveil.mechanisms import MECHANISMS, Mechanism, Plan
from queryveil.parameters import value_of
from queryveil.plugins import Plugin
from queryveil.privacy import strength
from queryveil.privacy.declarations import NOTHING
from queryveil.privacy.guarantee import NONE, Guarantee
from queryveil.privacy.noise import Noise
from queryveil.privacy.statements import Statement, codes, say
from queryveil.reading.formats import FORMATS
from queryveil.reading.log import SearchLog

REPEATABLE = say("known-noise")
"""The caveat of a release whose noise somebody may know."""


def refuse_unless_understood(
    mechanism: Mechanism, *, users: int | None = None, i_understand: bool = False
) -> None:
    """Refuse, before a log is read, what `publish` would refuse for want of `i_understand`.

    `users`: the public bound on users, if one will be declared. What depends on the log's own number is left to
    `publish`.
    """
    try:
        plan = mechanism.plan(users=users)
    except UsageError:
        if users is None and mechanism.needs_users and counts_users(mechanism):
            return  # its promise depends on the log's own number
        raise
    agree(plan, users, i_understand)


def counts_users(mechanism: Mechanism) -> bool:
    """Whether the log's own number of users may be used in public: not where a user more or less is to be hidden."""
    return bool(value_of(mechanism, "neighbours") != "add-remove")


def refuse_untold_users(mechanism: Mechanism, period: str) -> None:
    """Refuse a method that would make the log's own number of users public where only one period is published."""
    if mechanism.needs_users and counts_users(mechanism):
        raise UsageError(
            "a series must not tell how many users a period has: that changes with what one person did",
            f"pass {argument('users', 'N')}, a public upper bound on the users of any "
            f"{period}, or {argument('neighbours', 'add-remove')}",
        )


def refuse_rows_of_users(plan: Plan) -> None:
    """With a replaced history equally many users are compared, and rows for each of them tell how many there are.

    Over several periods that is not so: whoever is replaced may search in other periods than before.
    """
    told = [one.name for one in plan.tables if one.links != NOTHING or not (one.counts and one.noisy)]
    if told and plan.guarantee.replaces and plan.guarantee.composable:
        raise UsageError(
            f"the table '{told[0]}' of {plan.method} has rows for every user: it would tell how many people searched "
            "in each period, and so whether one person did",
            "choose a method that publishes noisy counts of items, such as steered",
        )


def judged(plan: Plan, users: int | None, noise: Noise) -> Plan:
    """The plan of a release with its promise as it really is: of so many public users, and with this noise."""
    promise = plan.guarantee.among(users, told="users" in plan.parameters)
    return dataclasses.replace(plan, guarantee=promise if noise.secret else with_known_noise(promise))


def name_plugins(plan: Plan, log: SearchLog) -> Plan:
    """Return the plan, which names the packages that provide its method or the format of the log, if others do."""
    format = FORMATS.plugin(log.staged.format) if log.staged is not None else None
    found = (MECHANISMS.plugin(plan.method), format)
    return with_plugins(plan, tuple(one for one in found if one is not None))


def with_plugins(plan: Plan, plugins: tuple[Plugin, ...]) -> Plan:
    """Return the plan with the packages that the guarantee depends on, and with a caveat for each."""
    if not plugins:
        return plan
    caveats = (*map(plugin_caveat, plugins), *plan.guarantee.caveats)
    return dataclasses.replace(
        plan, plugins=plugins, guarantee=dataclasses.replace(plan.guarantee, caveats=caveats)
    )


def plugin_caveat(plugin: Plugin) -> Statement:
    """Return the caveat that the proof of a method, or of a format, is not that of queryveil."""
    return say(f"plugged-in-{plugin.kind}", name=plugin.name, package=plugin.package, version=plugin.version)


def with_known_noise(promise: Guarantee) -> Guarantee:
    """What is left of a promise if somebody knows the noise: nothing."""
    if promise.kind == NONE:
        return promise
    return Guarantee(
        kind=NONE,
        unit=promise.unit,
        neighbours=promise.neighbours,
        assumptions=promise.assumptions,
        caveats=(REPEATABLE, *promise.caveats),
    )


def agree(plan: Plan, users: int | None, said: bool) -> None:
    """Refuse a plan that promises nothing, or as good as nothing, unless it was said that this is understood."""
    promise = plan.guarantee
    if said:
        return
    if promise.kind == NONE and REPEATABLE.code in codes(promise.caveats):
        raise UsageError(
            REPEATABLE.sentence, "leave out noise, or pass i_understand=True if it is meant for a test"
        )
    if promise.kind == NONE:
        raise UsageError(
            "this release has no guarantee: readers can recognise people in it",
            f"choose a method that promises something, or pass {argument('i_understand', True)} "
            "for a study or an attack",
        )
    if promise.delta_too_large:
        limit = strength.delta_limit(users, told="users" in plan.parameters)
        raise UsageError(
            promise.of_delta(users),
            f"pass a delta below {limit:.2g}, or {argument('i_understand', True)}: the release then says so",
        )
