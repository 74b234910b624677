"""Whether a release can have been made from a log: by what was noted when it was published, and by what it holds.

What was noted is in the private folder alone. Without that folder, what is published as it stood must stand in the log.
"""

from __future__ import annotations

from queryveil.errors import InputError
from queryveil.measure.measure import Original, Released
from queryveil.release.publish import facts_of, noted_facts

_WAY_OUT = "name the log that it was made from, and read it with the same options"


def check_origin(original: Original, release: Released) -> tuple[str, ...]:
    """Refuse a release of another log; what speaks against this one and is no proof is said."""
    _as_noted(original, release)
    return _as_published(original, release)


def _as_noted(original: Original, release: Released) -> None:
    noted = noted_facts(release.release)
    if not noted:
        return
    found = original.compute_once("facts", lambda: facts_of(original.log))
    for name in ("rows", "users"):
        if name in noted and noted[name] != found[name]:
            raise InputError(
                f"'{release.name}' is a release of another log: this log has another number of {name}",
                _WAY_OUT,
            )
    ours, theirs = found["fingerprint"], noted.get("fingerprint")
    if isinstance(theirs, dict) and theirs.get("engine") == ours["engine"] and theirs != ours:
        raise InputError(
            f"'{release.name}' is a release of another log: in this log, users have other queries",
            _WAY_OUT,
        )


def _as_published(original: Original, release: Released) -> tuple[str, ...]:
    """What is published as it stood must stand there."""
    if not release.kinds or not release.is_verbatim or not original.has(release.kinds[0]):
        return ()
    kind = release.kinds[0]
    number = len(release.histogram(kind))
    unknown = number - original.shared_totals(kind, release.unit, release.items(kind))[0] if number else 0
    if unknown == 0:
        return ()
    noun = kind.replace("-", " ")
    if unknown == number:
        raise InputError(
            f"none of the {number:,} {noun} in '{release.name}' is in the log: it is a release of another log",
            _WAY_OUT,
        )
    return (
        f"{unknown:,} of the {number:,} published {noun} are not in this log: the release was made from another log,"
        " or the log was read with other options",
    )
