"""Who is in the log: rows per user, their ids, and the chunks that can be made independently."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from queryveil.synthetic.generator.pool import Floats, Ints
from queryveil.synthetic.generator.settings import LogSettings

# Part of what a seed means: another value gives another log.
CHUNK_ROWS: Final = 200_000
_ROWS, _SECRETS, CHUNKS = 1, 2, 3


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive users, made from a stream of random numbers of their own."""

    number: int
    ids: Ints
    rows: Ints
    secrets: Ints  # numbers of the secrets planted here
    secret_users: Ints  # who has them, counted within the chunk


@dataclass(frozen=True, eq=False)
class Users:
    """Every user of a log."""

    ids: Ints
    rows: Ints
    bounds: Ints  # first user of each chunk, and the end
    secret_users: Ints  # ascending

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def chunks(self) -> int:
        return len(self.bounds) - 1

    def chunk(self, number: int) -> Chunk:
        low, high = int(self.bounds[number]), int(self.bounds[number + 1])
        first, last = np.searchsorted(self.secret_users, [low, high]).tolist()
        return Chunk(
            number,
            self.ids[low:high],
            self.rows[low:high],
            np.arange(first, last),
            self.secret_users[first:last] - low,
        )


def make_users(settings: LogSettings) -> Users:
    rng = np.random.default_rng([settings.seed, _ROWS])
    # Log-normal activity: at 31 rows on average, half of the users have ten rows or fewer.
    weights = np.exp(settings.total_habits.activity * rng.standard_normal(settings.total_users))
    shared = share_out if settings.version == 1 else share_in_proportion
    rows = shared(weights, settings.total_rows, settings.most_rows_per_user)
    before = np.cumsum(rows) - rows
    chunk = before // CHUNK_ROWS
    starts = np.flatnonzero(np.concatenate(([True], chunk[1:] != chunk[:-1])))
    picker = np.random.default_rng([settings.seed, _SECRETS])
    secret_users = np.sort(picker.permutation(len(rows))[: settings.total_secrets])
    return Users(_draw_ids(settings, len(rows)), rows, np.append(starts, len(rows)), secret_users)


def share_out(weights: Floats, rows: int, most: int) -> Ints:
    """Whole rows in proportion to weights: at least one each, at most `most`, exactly `rows` in all."""
    given = np.ones(len(weights), dtype=np.int64)
    left = rows - len(weights)
    while left > 0:
        open_to = np.flatnonzero(given < most)
        # Rounding the running total, not each share, keeps the sum exact.
        running = np.cumsum(weights[open_to])
        targets = np.rint(running / running[-1] * left).astype(np.int64)
        given[open_to] += np.diff(targets, prepend=0)
        over = np.maximum(given - most, 0)
        given -= over
        left = int(over.sum())
    return given


def share_in_proportion(weights: Floats, rows: int, most: int) -> Ints:
    """The same without a row for everybody beforehand: who would have less than one row has just one.

    So many users have one row if the average is small, as in a log of one day, and few if it is large.
    """
    low, high = 1 / float(weights.max()), most / float(weights.min())
    while high - low > 1e-12 * high:
        scale = math.sqrt(low * high)
        if np.clip(scale * weights, 1, most).sum() < rows:
            low = scale
        else:
            high = scale
    wished = np.clip(low * weights, 1, most)
    given = np.floor(wished).astype(np.int64)
    left = rows - int(given.sum())
    # The parts of rows are added up, and whoever completes one gets it: at most one each, and the sum is exact.
    ends = np.minimum(np.floor(np.cumsum(wished - given)).astype(np.int64), left)
    ends[-1] = left
    return given + np.diff(ends, prepend=0)


def _draw_ids(settings: LogSettings, count: int) -> Ints:
    """Different numbers in no order, as a service hands them out."""
    bits = max(18, (count * 11).bit_length())
    mask = (1 << bits) - 1
    ids = np.arange(count, dtype=np.int64)
    # Shifts and odd factors permute the numbers below a power of two, so no id comes twice.
    for factor in (0x9E3779B1, 0x85EBCA6B):
        ids = (ids * factor + (settings.seed * 40_503) % mask) & mask
        ids ^= ids >> (bits // 2)
    return ids + 100_000
