"""Sign a release: whoever has the publisher's public key can then tell it from one that was relabelled.

What is signed is the manifest, which has the digests of all other files. The signature is the one file of a release
that the manifest does not name.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from queryveil.errors import CheckFailed, InputError, UsageError, argument, command
from queryveil.files import folder, output
from queryveil.verification import sshsig, verify


def sign(release: str | Path, key: str | Path, *, replace: bool = False) -> sshsig.Signature:
    """Write `manifest.json.sig` into a release that passes its checks, with the Ed25519 key of OpenSSH in `key`.

    A signature that is there already is kept unless `replace` is given.
    """
    path = Path(release)
    file = path / folder.SIGNATURE
    if not replace and (file.exists() or file.is_symlink()):
        raise _exists_error(path)
    checked = verify(path)
    # A signature that does not fit the manifest any more is what a new one is for.
    failed = [check.name for check in checked.failed if not (replace and check.name == "signature")]
    if failed:
        raise CheckFailed(
            f"the release fails {len(failed)} of its checks ({', '.join(failed)}), and is not signed",
            "see what is wrong with "
            + command(f"queryveil release verify {release}", f"queryveil.verify({str(release)!r})"),
        )
    manifest = folder.file_inside(path, folder.MANIFEST)
    if manifest is None:
        raise InputError(f"'{path}' is not a release", "name a folder that `publish` wrote")
    made = sshsig.sign(manifest.read_bytes(), Path(key))
    with output.disk_errors(file, ""):
        _write_signature(path, file, made.text(), replace=replace)
    return made


def _write_signature(release: Path, file: Path, text: str, *, replace: bool) -> None:
    """At once, and without taking the place of another one unless asked to."""
    # Beside the folder: whatever is left inside by a power cut would be a stranger there.
    place = Path(os.path.abspath(release))  # noqa: PTH100 (a name also for '.')
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(8)}.sig")
    try:
        with temporary.open("x", encoding="ascii", newline="\n") as lines:
            lines.write(text)
            lines.flush()
            os.fsync(lines.fileno())
        if replace:
            temporary.replace(file)
        else:
            os.link(temporary, file)
    except FileExistsError:
        raise _exists_error(release) from None
    finally:
        temporary.unlink(missing_ok=True)
    handle = os.open(release, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _exists_error(release: Path) -> UsageError:
    return UsageError(
        f"the release '{release}' is signed already",
        f"pass {argument('replace', True)} to replace that signature with yours",
    )
