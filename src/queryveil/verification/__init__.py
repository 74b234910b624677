"""Checks a release on its own, as its reader would: without the log.

Digests, thresholds, figures and the guarantee are computed anew, by code that shares only the schema of a release
folder (queryveil.files.folder) with the writer, so that an error of the writer's is caught and not repeated.
Sentences and documents have no second computation: they are written again by the writer's own code (planned, rebuilt)
and compared. Every field of every file is so either computed, or on the short list of what cannot be checked
(unchecked).

May import: errors, parameters, files, language, privacy, mechanisms, release.
"""

from __future__ import annotations

from pathlib import Path

from queryveil.verification import croissant, manifest, rebuilt, signature, tables, unchecked
from queryveil.verification import folder as folder_checks
from queryveil.verification.methods import ad_hoc, anonymity, k_session, semantic, transactions, zealous
from queryveil.verification.methods.click_graph import click_graph
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


def verify(
    path: str | Path, *, key: str | Path | None = None, taxonomy: str | Path | None = None
) -> Verification:
    """Check a release folder. Whatever is wrong with it is a failed check; InputError if it is no release.

    `key` is a file with the publisher's public key: then the release must be signed by it.
    `taxonomy` is the file that a release was made with, where it is not WordNet: with it, its figures are computed too.
    """
    release = Path(path)
    signed = signature.Signed.of(release, None if key is None else Path(key))
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
    if manifest.known_noise(read):
        # Somebody may know the noise, so that no figure of the method says anything: nothing may be promised.
        made.append(judge("promise", "nothing is promised", lambda: manifest.promises(read)))
    elif of_method:
        made += of_method(read, opened)
    made += rebuilt.checks(release, read, opened, None if taxonomy is None else Path(taxonomy))
    made += signed.checks()
    others = unchecked.unchecked(read, rebuilt.Software.of(read), taxonomy_given=taxonomy is not None)
    return Verification(release, tuple(made), (*signed.unchecked(), *others))
