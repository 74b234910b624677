"""Signed releases: a relabelled one does not pass as the publisher's, and OpenSSH agrees on what a signature is."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from unittest import mock

import pytest

import queryveil as qv
from queryveil.files import folder
from queryveil.verification import sshsig
from tests.command import command
from tests.conftest import many
from tests.mutations import copied, manifest_of, write_again

NAME = "manifest.json.sig"


def keygen(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh-keygen", *arguments], input=given, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, the publisher's key, somebody else's, one with a passphrase and one of another kind."""
    place = tmp_path_factory.mktemp("signed")
    qv.publish(qv.read(many(20, ["apples", "pears"])), qv.KQuery(k=5), out=place / "release")
    for name, kind, phrase in (
        ("mine", "ed25519", ""),
        ("other", "ed25519", ""),
        ("locked", "ed25519", "a phrase"),
        ("rsa", "rsa", ""),
    ):
        done = keygen("-q", "-t", kind, "-N", phrase, "-C", "publisher@example.org", "-f", str(place / name))
        assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    return copied(made / "release", tmp_path / "release")


def failed(release: Path, **given: Path) -> dict[str, str]:
    return {check.name: check.detail for check in qv.verify(release, **given).failed}


def publisher(release: Path, **given: Path) -> str:
    return " ".join(line for line in qv.verify(release, **given).not_checked if line.startswith("publisher"))


# -- sign and verify -----------------------------------------------------------------------------------------


def test_a_signed_release_passes_with_its_key_and_with_no_other(made: Path, release: Path) -> None:
    assert publisher(release)
    signature = qv.sign(release, made / "mine")
    assert sorted(file.name for file in release.iterdir()).count(NAME) == 1
    assert failed(release, key=made / "mine.pub") == {} and publisher(release, key=made / "mine.pub") == ""
    assert set(failed(release, key=made / "other.pub")) == {"signature"}
    # Without a key a signature is looked at, and nobody is told that it is the publisher's.
    assert failed(release) == {}
    assert f"signed by {signature.fingerprint}" in publisher(release) and "key=FILE" in publisher(release)


def test_an_unsigned_release_fails_where_a_key_is_given(made: Path, release: Path) -> None:
    done = command("release", "verify", str(release), "--key", str(made / "mine.pub"))
    assert done.code == 1 and "the release is not signed" in done.out


def test_a_relabelled_release_is_not_the_publishers(made: Path, release: Path) -> None:
    """Another day, with documents and digests that fit: all other checks pass."""
    qv.sign(release, made / "mine")
    content = manifest_of(release)
    content["created"] = "2001-01-01"
    write_again(release, content, with_documents=True)
    assert "changed after it was signed" in failed(release, key=made / "mine.pub")["signature"]
    assert set(failed(release)) == {"signature"}
    (release / NAME).unlink()
    assert failed(release) == {}
    assert set(failed(release, key=made / "mine.pub")) == {"signature"}
    qv.sign(release, made / "other")
    assert "is not the key given" in failed(release, key=made / "mine.pub")["signature"]
    assert command("release", "verify", str(release), "--key", str(made / "mine.pub")).code == 1


def test_the_commands_say_what_they_did(made: Path, release: Path) -> None:
    done = command("release", "sign", str(release), "--key", str(made / "mine"))
    assert done.code == 0 and "signed" in done.out and "SHA256:" in done.out
    again = command("release", "verify", str(release), "--key", str(made / "mine.pub"))
    assert again.code == 0 and "unchecked publisher" not in " ".join(again.out.split())
    document = command(
        "release", "sign", str(release), "--key", str(made / "mine"), "--replace", "--json"
    ).document
    listed = keygen("-l", "-f", str(made / "mine.pub")).stdout
    assert document["key"] in listed and document["signature"].endswith(NAME)


def test_a_signature_is_not_replaced_unless_asked(made: Path, release: Path) -> None:
    qv.sign(release, made / "mine")
    before = (release / NAME).read_bytes()
    done = command("release", "sign", str(release), "--key", str(made / "other"))
    assert done.code == 2 and (release / NAME).read_bytes() == before
    assert command("release", "sign", str(release), "--key", str(made / "other"), "--replace").code == 0
    assert failed(release, key=made / "other.pub") == {}


def test_what_fails_its_checks_is_not_signed(made: Path, release: Path) -> None:
    (release / "DATASHEET.md").write_text("All is well.")
    done = command("release", "sign", str(release), "--key", str(made / "mine"))
    assert done.code == 1 and "digests" in done.err and not (release / NAME).exists()


def test_a_failure_leaves_nothing_behind(made: Path, release: Path) -> None:
    for call in ("link", "fsync"):
        with (
            mock.patch.object(os, call, side_effect=OSError(28, "No space left on device")),
            pytest.raises(qv.OutputError),
        ):
            qv.sign(release, made / "mine")
        assert call == "fsync" or not (release / NAME).exists()
        assert [one.name for one in release.parent.iterdir() if one.name.startswith(".")] == []
        (release / NAME).unlink(missing_ok=True)


# -- keys ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        ("nothing", 3, "no key file"),
        ("mine.pub", 3, "not a private key"),
        ("rsa", 3, "not an Ed25519 key"),
        ("locked", 2, "ssh-keygen -Y sign -n queryveil"),
    ],
)
def test_keys_that_cannot_sign(key: str, code: int, words: str, made: Path, release: Path) -> None:
    done = command("release", "sign", str(release), "--key", str(made / key))
    assert done.code == code and words in " ".join(done.err.split())
    assert not (release / NAME).exists()


def test_a_damaged_private_key_is_never_quoted(made: Path, release: Path, tmp_path: Path) -> None:
    lines = (made / "mine").read_text().splitlines()
    for number in range(1, len(lines) - 1):
        damaged = [*lines[:number], lines[number][::-1], *lines[number + 1 :]]
        (tmp_path / "damaged").write_text("\n".join(damaged) + "\n")
        done = command("release", "sign", str(release), "--key", str(tmp_path / "damaged"))
        assert done.code == 3
        assert not any(line[:20] in done.err for line in lines[1:-1])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 3),
        ("# nobody\n", 3),
        ("ssh-ed25519\n", 3),
        ("ssh-ed25519 AAAA x\n", 3),
        ("ssh-rsa AAAAB3NzaC1yc2E= x\n", 3),
        ('me@example.org namespaces="git" {key}\n', 3),
        ("me@example.org {key}\n", 0),
        ("# two\n{other}\n\n{key} comment with words\n", 0),
    ],
)
def test_files_of_public_keys(text: str, code: int, made: Path, release: Path, tmp_path: Path) -> None:
    qv.sign(release, made / "mine")
    given = {name: " ".join((made / f"{name}.pub").read_text().split()[:2]) for name in ("mine", "other")}
    (tmp_path / "keys").write_text(text.format(key=given["mine"], other=given["other"]))
    assert command("release", "verify", str(release), "--key", str(tmp_path / "keys")).code == code


def test_a_private_key_given_to_verify_is_refused(made: Path, release: Path) -> None:
    done = command("release", "verify", str(release), "--key", str(made / "mine"))
    assert done.code == 2 and "is a private key" in done.err


# -- the form of a signature ---------------------------------------------------------------------------------


def test_openssh_accepts_our_signature_and_we_accept_its(made: Path, release: Path, tmp_path: Path) -> None:
    qv.sign(release, made / "mine")
    manifest = (release / "manifest.json").read_text(encoding="utf-8")
    allowed = tmp_path / "allowed"
    allowed.write_text(f"me@example.org {(made / 'mine.pub').read_text()}")
    asked = ("-Y", "verify", "-n", "queryveil", "-I", "me@example.org", "-f", str(allowed), "-s")
    assert keygen(*asked, str(release / NAME), given=manifest).returncode == 0
    assert keygen(*asked, str(release / NAME), given=manifest + " ").returncode != 0
    ours = (release / NAME).read_bytes()
    (release / NAME).unlink()
    made_by_them = keygen(
        "-Y", "sign", "-n", "queryveil", "-f", str(made / "mine"), str(release / "manifest.json")
    )
    assert made_by_them.returncode == 0
    assert (release / NAME).read_bytes() == ours  # Ed25519 has no randomness
    assert failed(release, key=made / "mine.pub") == {}
    assert stat.S_ISREG((release / NAME).lstat().st_mode)


def test_a_signature_file_holds_a_signature_and_nothing_else(made: Path, release: Path) -> None:
    good = qv.sign(release, made / "mine").text().encode()
    elsewhere = sshsig.Signature.parse(good)
    assert elsewhere.holds((release / "manifest.json").read_bytes())
    lines = good.split(b"\n")
    other = keygen("-Y", "sign", "-n", "file", "-f", str(made / "mine"), given="x").stdout.encode()
    forms = {
        "rows behind": good + b"u17\tmy neighbour's illness\n",
        "rows before": b"u17\tillness\n" + good,
        "a blank": good + b" ",
        "other line ends": good.replace(b"\n", b"\r\n"),
        "one long line": b"\n".join([lines[0], b"".join(lines[1:-2]), *lines[-2:]]),
        "cut off": good[:100],
        "nothing": b"",
        "not text": b"\xff\xfe",
        "another namespace": other,
    }
    for name, content in forms.items():
        (release / NAME).write_bytes(content)
        assert set(failed(release)) == {"signature"}, name
        assert set(failed(release, key=made / "mine.pub")) == {"signature"}, name
    (release / NAME).unlink()
    (release / NAME).symlink_to(made / "mine.pub")
    assert set(failed(release)) == {"folder", "signature"}


def test_no_other_file_is_let_in(made: Path, release: Path) -> None:
    qv.sign(release, made / "mine")
    (release / "DATASHEET.md.sig").write_bytes((release / NAME).read_bytes())
    assert set(failed(release)) == {"folder"}
    assert folder.SIGNATURE == NAME


def test_every_bit_of_a_signature_counts(made: Path, release: Path) -> None:
    made_text = qv.sign(release, made / "mine").text().encode()
    manifest = (release / "manifest.json").read_bytes()
    for at in range(len(made_text)):
        for bit in range(7):
            changed = bytearray(made_text)
            changed[at] ^= 1 << bit
            try:
                found = sshsig.Signature.parse(bytes(changed))
            except ValueError:
                continue
            assert not found.holds(manifest) or bytes(changed) == made_text, (at, bit)
