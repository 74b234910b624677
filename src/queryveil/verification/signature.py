"""Who published a release: that the manifest was signed, and by a key that the reader trusts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from queryveil.catalog import Sentence
from queryveil.errors import Message, argument
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
        if self.trusted is None and not self._is_signed:
            return []
        return [judge("signature", self._passing_text(), self._check_key)]

    def unchecked(self) -> Iterator[str]:
        if not self._is_signed:
            yield Sentence("verify.signature.publisher-nobody-signed-release-so-anyone")
        elif self.trusted is None:
            by = self._fingerprint()
            yield (
                Message(
                    Sentence(
                        "verify.signature.publisher-signed-by-to-compare-with",
                        by=by,
                        key=argument("key", "FILE"),
                    )
                )
                if by
                else Sentence("verify.signature.publisher-signature-cannot-be-read")
            )

    @property
    def _is_signed(self) -> bool:
        return (self.release / folder.SIGNATURE).exists()

    def _read_signature(self) -> Signature:
        file = folder.file_inside(self.release, folder.SIGNATURE)
        if file is None or file.stat().st_size > 1 << 16:
            raise ValueError("it is not a file")
        return Signature.parse(file.read_bytes())

    def _fingerprint(self) -> str:
        try:
            return self._read_signature().fingerprint
        except ValueError:
            return ""

    def _passing_text(self) -> str:
        whose = (
            Sentence("verify.signature.key-given")
            if self.trusted is not None
            else Sentence("verify.signature.key-you-have-not-confirmed")
        )
        return Sentence(
            "verify.signature.manifest-is-signed-by", fingerprint=self._fingerprint(), whose=whose
        )

    def _check_key(self) -> Iterator[str]:
        if not self._is_signed:
            yield Sentence("verify.signature.release-is-not-signed")
            return
        try:
            found = self._read_signature()
        except ValueError:
            yield Sentence("verify.signature.is-not-signature-of-release", signature=folder.SIGNATURE)
            return
        manifest = folder.file_inside(self.release, folder.MANIFEST)
        if manifest is None or not found.holds(manifest.read_bytes()):
            yield Sentence("verify.signature.signature-does-not-fit-manifest-which")
        elif self.trusted is not None and found.public not in self.trusted:
            yield Sentence("verify.signature.is-signed-by-which-is-not", fingerprint=found.fingerprint)
