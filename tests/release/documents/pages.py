"""Releases whose queries try everything: markup, formulas, other directions, endless accents, control characters."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import queryveil as qv
from tests.conftest import at

SCRIPT = "</script><script>window.hacked = 1; alert(1)</script>"
HOSTILE = [
    SCRIPT,
    '<img src="x:1" onerror="window.hacked = 1"> "quoted" & \'query\'',
    "</style><style>body { display: none }</style><!-- </svg> ]]>",
    "=1+cmd|' /c calc'!a0",
    "-2+3",
    "@sum(a1)",
    "שלום עולם، مرحبا بالعالم",
    "\u202egnp.exe\u2066 turned around",
    "😀 👩\u200d👩\u200d👧 flags 🇳🇱 skin 👍🏽",
    "a" + "\u0301\u0327\u0331" * 200 + " zalgo",
    "नमस्ते ไทย 日本語 ﷽",
    "bell\x07 null\x00 c1\x85\x9b nonchar\ufffe\U0001ffff tag\U000e0041",
    "x" * 10_000,
    "https://example.org/?q=1 javascript:alert(1)",
    "a plain query",
]
MOST = 300


def hostile_log() -> pa.Table:
    """The first query is posed by 300 users, each further one by 15 fewer; every user clicks."""
    rows = [
        (
            f"u{user}",
            at(minute),
            query,
            f'http://example.org/{minute}"><script>window.hacked = 1</script>\a\0\x9b',
        )
        for minute, query in enumerate(HOSTILE)
        for user in range(MOST - 15 * minute)
    ]
    user, time, query, url = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query), "url": list(url)})


METHODS: dict[str, qv.Mechanism] = {
    "probabilistic": qv.Zealous(epsilon=20, delta=1e-3, max_items=20, guarantee="probabilistic"),
    "approximate": qv.ClickGraph(
        epsilon=20, delta=4e-4, max_queries=20, epsilon_clicks=20, delta_clicks=4e-4, urls="private"
    ),
    "crowd": qv.KSession(k=3),
    "rows": qv.KQuery(k=3),
    "nothing": qv.TokenHash(),
}
"""One for each shape of page."""


def publish_all(folder: Path) -> dict[str, Path]:
    """A release of the hostile log by each of the methods."""
    log = qv.read(hostile_log())
    return {
        name: qv.publish(log, method, out=folder / name, i_understand=True).path or folder
        for name, method in METHODS.items()
    }
