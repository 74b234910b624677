"""Check a release on its own, as its reader would: without the log, and without the code that wrote it.

Only the schema of a release folder (queryveil.folder) is shared with the writer. Digests, thresholds and the
guarantee are computed anew, so that an error of the writer's is caught and not repeated. A release that
passes is what its manifest says; whether the noise was drawn as stated cannot be seen from one release.
"""

from __future__ import annotations

from pathlib import Path

from queryveil.verification import (
    ad_hoc,
    anonymity,
    click_graph,
    croissant,
    folder_checks,
    k_session,
    manifest,
    semantic,
    tables,
    transactions,
    zealous,
)
from queryveil.verification.outcome import Check, Verification, judge, quoted

__all__ = ["Check", "Verification", "verify"]

_METHODS = {
    "zealous": zealous.checks,
    "click-graph": click_graph.checks,
    "k-query": anonymity.k_query,
    "k-session": k_session.checks,
    "k-keyword": anonymity.k_keyword,
    "token-hash": anonymity.token_hash,
    "ad-hoc": ad_hoc.checks,
    "clump": transactions.clump,
    "partition": transactions.partition,
    "semantic": semantic.semantic,
    "profile-histogram": semantic.profile_histogram,
}
"""For each method the checks of its own figures and tables; the others get the general ones only."""


def verify(path: str | Path) -> Verification:
    """Check a release folder. Whatever is wrong with it is a failed check; InputError if it is no release."""
    release = Path(path)
    read = manifest.load(release)
    opened, broken = tables.read(release, read)
    made = [
        *manifest.checks(read),
        *folder_checks.checks(release, read),
        *croissant.checks(release, read),
        *tables.checks(read, opened, broken),
    ]
    method = read.content.get("method")
    of_method = _METHODS.get(method) if isinstance(method, str) else None
    unknown = f"this version cannot check the guarantee of {quoted(method)}, only the folder"
    made.append(judge("method", f"{method} is a known method", lambda: [] if of_method else [unknown]))
    if of_method:
        made += of_method(read, opened)
    return Verification(release, tuple(made))
