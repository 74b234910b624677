"""Settings refuse what cannot be made, and say what can."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from queryveil.errors import UsageError
from queryveil.synthetic.generator import SETTINGS, LogSettings
from queryveil.synthetic.generator.habits import PUBLISHED


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"users": 0}, "parameter 'users' must be an int >= 1 and <= 100000000; got 0"),
        ({"users": 2.5}, "parameter 'users' must be an int >= 1 and <= 100000000; got 2.5"),
        ({"users": True}, "parameter 'users' must be an int >= 1 and <= 100000000; got True"),
        ({"rows": -1}, "parameter 'rows' must be an int >= 1 and <= 3100000000; got -1"),
        ({"seed": -1}, "parameter 'seed' must be an int >= 0 and <= 9223372036854775807; got -1"),
        ({"days": 0}, "parameter 'days' must be an int >= 1 and <= 3650; got 0"),
        ({"zipf": float("nan")}, "parameter 'zipf' must be a number from 0 to 3; got nan"),
        ({"one_off": 1.01}, "parameter 'one_off' must be a number from 0 to 1; got 1.01"),
        ({"drift": -0.1}, "parameter 'drift' must be a number from 0 to 5; got -0.1"),
        ({"click_rate": "half"}, "parameter 'click_rate' must be a number from 0 to 1; got 'half'"),
        ({"pool_size": 10}, "parameter 'pool_size' must be an int >= 100 and <= 1000000; got 10"),
        ({"users": 5, "secrets": 6}, "parameter 'secrets' must be an int >= 0 and <= 5; got 6"),
        ({"start": "2006-03-01"}, "parameter 'start' must be a date; got '2006-03-01'"),
        ({"users": 10, "rows": 9}, "9 rows are too few for 10 users"),
        ({"users": 1, "rows": 5_000, "days": 1}, "at most 2,160 rows fit users=1 and days=1; got 5,000"),
        ({"version": 3}, "there is no version 3 of the generator"),
        ({"version": 1, "habits": PUBLISHED}, "version 1 has fixed habits"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_and_value(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        LogSettings(**wrong)
    assert caught.value.message == message


def test_users_and_rows_follow_from_each_other() -> None:
    assert LogSettings(users=100).total_rows == 3_100
    assert LogSettings(rows=3_100).total_users == 100
    assert LogSettings(rows=5).total_users == 1
    assert (LogSettings().total_users, LogSettings().total_rows) == (1_000, 31_000)


def test_secrets_are_a_sprinkle() -> None:
    assert LogSettings(users=100_000).total_secrets == 200
    assert LogSettings(users=100).total_secrets == 8
    assert LogSettings(users=3).total_secrets == 3
    assert LogSettings(users=100, secrets=0).total_secrets == 0


def test_the_named_settings_are_fixed() -> None:
    sizes = {"small": 20_000, "medium": 65_000, "large": 200_000}
    for version in (1, 2):
        assert {name: SETTINGS[f"{name}@{version}"].users for name in sizes} == sizes
        of_it = [setting for name, setting in SETTINGS.items() if name.endswith(f"@{version}")]
        # One world: a small log is what a large one would be with fewer users.
        assert {(s.world, s.pool_size, s.version, s.days) for s in of_it} == {(0, 300_000, version, 30)}
    assert [SETTINGS[name] for name in sizes] == [SETTINGS[f"{name}@2"] for name in sizes]


def test_habits_are_those_of_the_version_but_for_what_is_given() -> None:
    assert LogSettings(version=1).total_habits.zipf == 0.7
    assert LogSettings().total_habits == PUBLISHED
    assert LogSettings(zipf=0.4).total_habits == dataclasses.replace(PUBLISHED, zipf=0.4)
    own = dataclasses.replace(PUBLISHED, head=7.0)
    assert LogSettings(habits=own, one_off=0.1).total_habits == dataclasses.replace(own, one_off=0.1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"head": -1.0}, "parameter 'head' must be a number from 0 to 10000; got -1.0"),
        ({"repeat": (0.2, 1.5)}, "parameter 'repeat' must be a number from 0 to 1; got 1.5"),
        ({"hours": (1.0,)}, "parameter 'hours' must be 24 shares that add up to 1"),
        ({"weekdays": (0.2,) * 7}, "parameter 'weekdays' must be 7 shares that add up to 1"),
    ],
)
def test_wrong_habits_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        dataclasses.replace(PUBLISHED, **wrong)
    assert caught.value.message == message


def test_a_long_log_drifts_in_longer_steps() -> None:
    """A step a day would need one weight per day and query, more than fits memory."""
    assert LogSettings(days=333, pool_size=300_000).days_per_drift == 1
    assert LogSettings(days=3_650, pool_size=300_000).days_per_drift == 11
