"""Who published a release: that the manifest was signed, and by a key that the reader trusts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.files import folder
from queryveil.verification.outcome import Check, judge
from queryveil.verification.sshsig import Signature, public_keys


@dataclass(frozen=True)
class Signed:
    """The signature of a release, if there is one, and the keys that a reader trusts, if any were given."""

    release: Path
    trusted: tuple[bytes, ...] | None

    @classmethod
    def of(cls, release: Path, key: Path | None) -> Signed:
        return cls(release, None if key is None else tuple(public_keys(key)))

    def checks(self) -> list[Check]:
        """None, where a release is not signed and nobody asks whose it is."""
        if self.trusted is None and not self._there:
            return []
        return [judge("signature", self._good(), self._problems)]

    def unchecked(self) -> Iterator[str]:
        if not self._there:
            yield "publisher: nobody signed the release, so anyone may have made or relabelled it"
        elif self.trusted is None:
            by = self._fingerprint()
            yield (
                f"publisher: signed by {by}; to compare it with a key that you trust, pass --key FILE"
                if by
                else "publisher: the signature cannot be read"
            )

    @property
    def _there(self) -> bool:
        return (self.release / folder.SIGNATURE).exists()

    def _read(self) -> Signature:
        file = folder.file_inside(self.release, folder.SIGNATURE)
        if file is None or file.stat().st_size > 1 << 16:
            raise ValueError("it is not a file")
        return Signature.parse(file.read_bytes())

    def _fingerprint(self) -> str:
        try:
            return self._read().fingerprint
        except ValueError:
            return ""

    def _good(self) -> str:
        whose = "the key given" if self.trusted is not None else "a key that you have not confirmed"
        return f"the manifest is signed by {self._fingerprint()}, {whose}"

    def _problems(self) -> Iterator[str]:
        if not self._there:
            yield "the release is not signed"
            return
        try:
            found = self._read()
        except ValueError:
            yield f"{folder.SIGNATURE} is not a signature of a release"
            return
        manifest = folder.file_inside(self.release, folder.MANIFEST)
        if manifest is None or not found.holds(manifest.read_bytes()):
            yield "the signature does not fit this manifest, which was changed after it was signed"
        elif self.trusted is not None and found.public not in self.trusted:
            yield f"it is signed by {found.fingerprint}, which is not the key given"
