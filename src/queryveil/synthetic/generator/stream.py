"""Batches of rows: one per chunk of users, each from a random stream of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from queryveil.synthetic.generator.histories import Popularity, make_clicks, make_events
from queryveil.synthetic.generator.planted import Secrets
from queryveil.synthetic.generator.result_lists import make_results
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.surface import Wording, add_untidy_forms
from queryveil.synthetic.generator.users import CHUNKS, Chunk, make_users

SCHEMA: Final = pa.schema(
    [
        ("user", pa.string()),
        ("time", pa.timestamp("us")),
        ("query", pa.string()),
        ("url", pa.string()),
        ("rank", pa.int32()),
    ]
)


@dataclass(frozen=True)
class PlantedSecret:
    """Where one secret is."""

    user: str
    time: datetime
    query: str
    kind: str


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one chunk of users, how many query events they hold, and the secrets among them."""

    batch: pa.RecordBatch
    users: int
    events: int
    secrets: tuple[PlantedSecret, ...]


class LogStream:
    """A log that is made while it is read; parts can be made in any order."""

    def __init__(self, settings: LogSettings) -> None:
        self.settings = settings
        self.users = make_users(settings)
        self._results = make_results(settings.total_pool, settings.world, settings.version)
        self._pool = self._results.pool
        self._popularity = Popularity(self._pool, settings)
        self._wording = Wording.for_pool(self._pool, settings.total_habits.one_off_kinds)
        self._secrets = Secrets(settings.seed, self._pool.names)

    def __len__(self) -> int:
        return self.users.chunks

    def __iter__(self) -> Iterator[Part]:
        return map(self.part, range(len(self)))

    def part(self, number: int) -> Part:
        chunk = self.users.chunk(number)
        rng = np.random.default_rng([self.settings.seed, CHUNKS, number])
        events = make_events(chunk, self.settings, self._popularity, rng)
        clicked, rank, url = make_clicks(events, self.settings, self._results, rng)

        made = np.flatnonzero(events.one_off == np.arange(len(events.place)))
        codes = events.place.copy()
        tail = events.one_off >= 0
        codes[tail] = len(self._pool) + np.searchsorted(made, events.one_off[tail])
        dictionary = pa.concat_arrays([self._pool.text, self._wording.one_offs(events.place[made], rng)])
        dictionary, codes = add_untidy_forms(dictionary, codes, self._wording.ascii[events.place], rng)
        secrets = [self._secrets[int(number)] for number in chunk.secrets]
        codes[events.secret_events] = len(dictionary) + np.arange(len(secrets))
        dictionary = pa.concat_arrays([dictionary, pa.array([text for _, text in secrets], pa.string())])

        ids = pa.array(chunk.ids).cast(pa.string())
        seconds = events.seconds + _seconds_at(self.settings.start)
        batch = pa.RecordBatch.from_arrays(
            [
                ids.take(pa.array(events.user[events.row])),
                pa.array(seconds[events.row] * 1_000_000, pa.timestamp("us")),
                dictionary.take(pa.array(codes[events.row])),
                self._results.urls.take(pa.array(url, mask=~clicked)),
                pa.array(rank.astype(np.int32), mask=~clicked),
            ],
            schema=SCHEMA,
        )
        times = seconds[events.secret_events].tolist()
        planted = _planted_secrets(chunk, times, secrets)
        return Part(batch, len(chunk.rows), len(events.place), planted)


def _planted_secrets(
    chunk: Chunk, times: list[int], secrets: list[tuple[str, str]]
) -> tuple[PlantedSecret, ...]:
    users = chunk.ids[chunk.secret_users].tolist()
    return tuple(
        PlantedSecret(str(user), datetime(1970, 1, 1) + timedelta(seconds=time), text, kind)
        for user, time, (kind, text) in zip(users, times, secrets, strict=True)
    )


def _seconds_at(day: date) -> int:
    return (day - date(1970, 1, 1)).days * 86_400


def generate_batches(settings: LogSettings) -> Iterator[pa.RecordBatch]:
    """The rows of a log as record batches: user by user, each in order of time."""
    return (part.batch for part in LogStream(settings))
