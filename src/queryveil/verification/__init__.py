"""Verifies a release without the log.

Digests, thresholds, figures and the guarantee are computed anew, by code that shares only the schema of a release
folder (queryveil.files.folder) with the writer, so that an error of the writer's is caught and not repeated.
Sentences and documents have no second computation: they are written again by the writer's own code (planned, rebuilt)
and compared. Every field of every file is so either computed, or on the short list of what cannot be checked
(unchecked).

May import: errors, parameters, plugins, catalog, display, files, language, privacy, mechanisms, release.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from queryveil.catalog import Sentence
from queryveil.errors import InputError, UsageError, argument
from queryveil.mechanisms import MECHANISMS
from queryveil.parameters import parameters
from queryveil.release.publish import Release
from queryveil.release.series.publish import Series
from queryveil.verification import (
    draws,
    given,
    manifest,
    rewrite,
    rows,
    series,
    signature,
    sshsig,
    tables,
    unchecked,
)
from queryveil.verification import folder as folder_checks
from queryveil.verification.methods import ad_hoc, anonymity, k_session, semantic, transactions
from queryveil.verification.outcome import Check, Verification, judge, quoted

__all__ = ["Check", "Verification", "verify"]

_METHODS = {
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
"""Methods whose rows, or whose kind of draw, need checks of their own; for all others the declarations are enough."""


def verify(
    path: str | Path | Release | Series,
    *,
    key: str | Path | None = None,
    taxonomy: str | Path | None = None,
) -> Verification:
    """Check a release folder, or all of a series. Whatever is wrong is a failed check; InputError if it is no release.

    `path` is the folder, or a `Release` or `Series`: then its folder is checked as it is on disk. A release that was
    not saved is written to a temporary folder, without what is private, and checked there.
    `key` is a file with the publisher's public key: then the release must be signed by it.
    `taxonomy` is the file that a release was made with, where it is not WordNet: with it, its figures are computed too.
    """
    if not isinstance(path, str | Path):
        with given.folder_of(path) as found:
            return verify(found, key=key, taxonomy=taxonomy)
    release = Path(path)
    if taxonomy is not None and not Path(taxonomy).is_file():
        raise InputError(
            f"there is no taxonomy file '{taxonomy}'", f"check the path, or leave out {argument('taxonomy')}"
        )
    if key is not None:
        sshsig.public_keys(Path(key))  # a key that cannot be read is no fault of a release
    if series.is_series(release):
        return series.verify(release, lambda one: verify(one, key=key, taxonomy=taxonomy))
    signed = signature.Signed.of(release, None if key is None else Path(key))
    read = manifest.load(release)
    opened, broken = tables.read(release, read)
    made = [
        *manifest.checks(read),
        *folder_checks.checks(release, read),
        *tables.checks(read, opened, broken),
    ]
    method = read.content.get("method")
    known = isinstance(method, str) and method in MECHANISMS.built_in
    package = None if known else manifest.plugged_in_method(read)
    if taxonomy is not None and known and not _takes_taxonomy(str(method)):
        raise UsageError(
            f"'{release}' was made by {method}, which uses no taxonomy, so there is nothing to compare the file with",
            f"leave out {argument('taxonomy')}",
        )
    unknown = Sentence("verify.release.version-of-queryveil-does-not-know", method=quoted(method))
    good = (
        Sentence("verify.release.is-known-method", method=method)
        if package is None
        else Sentence("verify.release.is-method-of-package-its-proof", method=quoted(method), package=package)
    )
    made.append(judge("method", good, lambda: [] if known or package is not None else [unknown]))
    if manifest.known_noise(read):
        # Somebody may know the noise, so that no figure of the method says anything: nothing may be promised.
        made.append(
            judge("promise", Sentence("verify.release.nothing-is-promised"), lambda: manifest.promises(read))
        )
    elif known or package is not None:
        made += draws.checks(read)
        made += rows.checks(read, opened)
        if method in _METHODS:
            made += _METHODS[str(method)](
                dataclasses.replace(read, declared=_declared_parameters(str(method))), opened
            )
    made += rewrite.checks(release, read, opened, None if taxonomy is None else Path(taxonomy))
    made += signed.checks()
    others = unchecked.unchecked(
        read, taxonomy_given=taxonomy is not None, passes=all(check.passes for check in made)
    )
    return Verification(release, tuple(made), (*signed.unchecked(), *others))


def _declared_parameters(method: str) -> frozenset[str]:
    """Return the parameters of a method that a manifest may show."""
    return frozenset(one.name for one in parameters(MECHANISMS.built_in[method]) if not one.declaration.path)


def _takes_taxonomy(method: str) -> bool:
    return any(one.name == "taxonomy" for one in parameters(MECHANISMS.built_in[method]))
