"""Releases of k-session: every set of keywords stands in at least k rows, and its number says nothing more.

Rows carry no user, so that they are of different users cannot be seen from the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.verification.crowds import MOST_USERS, Promised, columns_check, manifest_checks, whole
from queryveil.verification.manifest import Manifest
from queryveil.verification.methods.transactions import COLUMNS, USERS_NOT_SEEN, group_checks
from queryveil.verification.outcome import Check, judge
from queryveil.verification.tables import Opened

_PROMISED = Promised(
    parameters={"k": whole(2, MOST_USERS)},
    shared="set of keywords",
    assumptions=("rows-apart", "user-is-account", "sessions-apart"),
    caveats=("all-alike", "fake-accounts", "known-members", "sessions-are-exact"),
)


def checks(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    made = [
        *manifest_checks(manifest, _PROMISED),
        columns_check({"transactions": COLUMNS}, set(manifest.section("tables")), opened),
    ]
    judgeable = all(check.passes for check in made if check.name in {"parameters", "columns"})
    if not judgeable or "transactions" not in opened:
        return made
    table, k = opened["transactions"].table, manifest.section("parameters")["k"]
    made += group_checks(table, k, whose=USERS_NOT_SEEN, once=True, may_be_empty=True)
    made.append(
        judge(
            "one-number", Sentence("verify.k-session.equal-sets-have-same-number"), lambda: _one_number(table)
        )
    )
    return made


def _one_number(table: pa.Table) -> Iterator[str]:
    """Two numbers for one set would tell which of its sessions were together."""
    first = np.unique(table["group"].to_numpy(), return_index=True)[1]
    sets = table["items"].combine_chunks().take(pa.array(first))
    # A keyword has no space, which the check of texts requires, so joined sets are equal only if the sets are.
    joined = pc.binary_join(sets, " ")
    again = len(joined) - pc.count_distinct(joined).as_py()
    if again:
        yield Sentence("verify.k-session.sets-have-more-than-one-number", again=again)
