"""Signatures in the form of OpenSSH (SSHSIG) with Ed25519 keys, so that `ssh-keygen` can check them too.

A signature file holds the key that signed, what the signature is for (the namespace) and the signature. It is over
"SSHSIG", namespace, name of a hash, and the hash of the content.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from queryveil.errors import InputError, UsageError

NAMESPACE = b"queryveil"
_ED25519 = b"ssh-ed25519"
_MAGIC = b"SSHSIG"
_HASHES = (b"sha512", b"sha256")
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_MOST_BYTES = 1 << 16
_PRIVATE = b"PRIVATE KEY-----"


@dataclass(frozen=True)
class Signature:
    """A signature and the public key that it was made with; whether it holds is to be asked."""

    public: bytes
    """The 32 bytes of an Ed25519 key."""
    hash: bytes
    signature: bytes

    @property
    def fingerprint(self) -> str:
        """The key as OpenSSH names it."""
        return fingerprint(self.public)

    def holds(self, content: bytes) -> bool:
        """Whether it is one of this content."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(
                self.signature, _signed_blob(content, self.hash)
            )
        except InvalidSignature:
            return False
        return True

    def text(self) -> str:
        """The signature file."""
        parts = (_key_blob(self.public), NAMESPACE, b"", self.hash, _encode_texts(_ED25519, self.signature))
        blob = _MAGIC + (1).to_bytes(4) + _encode_texts(*parts)
        return "\n".join([_BEGIN, *textwrap.wrap(base64.b64encode(blob).decode(), 70), _END]) + "\n"

    @classmethod
    def parse(cls, text: bytes) -> Signature:
        """The signature of a file that holds nothing else; ValueError if it does not."""
        lines = text.decode("ascii").split("\n")
        if len(text) > _MOST_BYTES or lines[0] != _BEGIN or lines[-2:] != [_END, ""]:
            raise ValueError("it is not a signature of OpenSSH")
        blob = base64.b64decode("".join(lines[1:-2]), validate=True)
        if blob[:10] != _MAGIC + (1).to_bytes(4):
            raise ValueError("it is not a signature of OpenSSH")
        key, namespace, reserved, hashed, signature = _decode_parts(blob[10:], 5)
        if namespace != NAMESPACE or reserved or hashed not in _HASHES:
            raise ValueError("it signs something other than a release")
        made = cls(_of_kind(key, 32), hashed, _of_kind(signature, 64))
        # One form only: a signature file is no place for anything else.
        if made.text().encode() != text:
            raise ValueError("it is not written as OpenSSH writes it")
        return made


def sign(content: bytes, key: Path) -> Signature:
    """Sign with the private key of a file, as `ssh-keygen -t ed25519` makes them."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    text = _read_key(key)
    if _PRIVATE not in text:
        raise InputError(
            f"'{key}' is not a private key of OpenSSH",
            "make one with ssh-keygen -t ed25519 -f FILE, and name FILE, not FILE.pub",
        )
    try:
        private = serialization.load_ssh_private_key(text, password=None)
    except (TypeError, ValueError) as error:
        if "password" in str(error).lower() or "passphrase" in str(error).lower():
            raise UsageError(
                f"the key '{key}' has a passphrase, which queryveil does not ask for",
                f"sign with ssh-keygen -Y sign -n {NAMESPACE.decode()} -f {key} DIR/manifest.json, which asks for it "
                "and writes the same file",
            ) from None
        private = None
    except Exception:  # noqa: BLE001 - a damaged key may raise anything; its content must not be told
        private = None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(
            f"the key '{key}' cannot be read, or is not an Ed25519 key",
            "make one with ssh-keygen -t ed25519 -f FILE",
        )
    public = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return Signature(public, _HASHES[0], private.sign(_signed_blob(content, _HASHES[0])))


def public_keys(file: Path) -> list[bytes]:
    """The Ed25519 keys of a `.pub` file, or of lines of a name and a key (allowed signers without options)."""
    text = _read_key(file)
    if _PRIVATE in text:
        raise UsageError(f"'{file}' is a private key", "name the public one, which ends in .pub")
    found = []
    for line in text.decode("utf-8", "replace").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            at = words[:2].index(_ED25519.decode())
            found.append(_of_kind(base64.b64decode(words[at + 1], validate=True), 32))
        except (ValueError, IndexError, binascii.Error):
            raise InputError(
                f"'{file}' has a line that is not an Ed25519 key, or has options, which are not understood here",
                "name a file such as id_ed25519.pub: 'ssh-ed25519 AAAA... comment', or 'NAME ssh-ed25519 AAAA...'",
            ) from None
    if not found:
        raise InputError(f"'{file}' holds no key", "name the .pub file that ssh-keygen -t ed25519 wrote")
    return found


def fingerprint(public: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(_key_blob(public)).digest()).decode().rstrip("=")


def _read_key(file: Path) -> bytes:
    try:
        if not file.is_file():
            raise InputError(
                f"there is no key file '{file}'", "make a key with ssh-keygen -t ed25519 -f FILE"
            )
        with file.open("rb") as content:
            return content.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(
            f"the key '{file}' cannot be read ({error.strerror})", "check its path and mode"
        ) from None


def _signed_blob(content: bytes, hashed: bytes) -> bytes:
    digest = hashlib.new(hashed.decode(), content).digest()
    return _MAGIC + _encode_texts(NAMESPACE, b"", hashed, digest)


def _key_blob(public: bytes) -> bytes:
    return _encode_texts(_ED25519, public)


def _of_kind(blob: bytes, size: int) -> bytes:
    """The bytes of an Ed25519 key or signature."""
    kind, value = _decode_parts(blob, 2)
    if kind != _ED25519 or len(value) != size:
        raise ValueError("it was not made with an Ed25519 key")
    return value


def _encode_texts(*parts: bytes) -> bytes:
    return b"".join(len(one).to_bytes(4) + one for one in parts)


def _decode_parts(blob: bytes, number: int) -> Sequence[bytes]:
    found, at = [], 0
    for _ in range(number):
        size = int.from_bytes(blob[at : at + 4])
        if at + 4 + size > len(blob):
            raise ValueError("it ends too early")
        found.append(blob[at + 4 : at + 4 + size])
        at += 4 + size
    if at != len(blob):
        raise ValueError("it holds more than it should")
    return found
