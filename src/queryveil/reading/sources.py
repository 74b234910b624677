"""From what the user named (file, folder, glob, several) to files that can be read."""

from __future__ import annotations

import contextlib
import errno
import glob
import lzma
import os
import re
import shutil
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.errors import InputError, OutputError, UsageError
from queryveil.files.folder import is_release
from queryveil.reading.encodings import UTF_8, convert_to_utf8, resolve_byte_order
from queryveil.reading.model import Head, SourceFile
from queryveil.reading.pinning import Pin, pin

HEAD_BYTES = 256 * 1024
_LONGEST_KEPT_FIRST_LINE = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
_ZIP = b"PK\x03\x04"
_BAD_ARCHIVE = (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error)
"""What zipfile raises for a damaged archive: also for a version that it does not know, or a name in no encoding."""
_UNREADABLE = {
    b"7z\xbc\xaf": "a 7z archive",
}
_ADDRESS = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]+)://")
_COPIED_BY = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "copy it to a file (aws s3 cp)"),
    **dict.fromkeys(("http", "https", "ftp"), "load it into a file (curl -O)"),
    **dict.fromkeys(("gs", "gcs"), "copy it to a file (gcloud storage cp)"),
    **dict.fromkeys(
        ("hdfs", "viewfs"), "copy it to a file (hdfs dfs -get), or read it as a Spark DataFrame in Python"
    ),
}


def expand(log: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files behind a path, folder, glob or a list of them, in a fixed order, each once."""
    wanted = [log] if isinstance(log, str | Path) else list(log)
    if not wanted:
        raise InputError("no log was named", "give a file, a folder or a glob")
    found: dict[Path, Path] = {}
    for one in wanted:
        for path in _expand_one(one):
            found.setdefault(path.resolve(), path)
    return list(found.values())


def _expand_one(one: str | Path) -> list[Path]:
    if not isinstance(one, str | os.PathLike):
        raise UsageError(
            f"a {type(one).__name__} among the files of a log is no path", "pass paths, or one table"
        )
    one = str(one).removeprefix("file://") if str(one).startswith("file:///") else one
    path = Path(one)
    if not str(one).strip():
        # An unset variable in a script must not mean the current folder.
        raise InputError("no log was named", "give a file, a folder or a glob")
    if found := _ADDRESS.match(str(one)):
        # As a path it would lose a slash, and the message would name something that nobody typed.
        copied = _COPIED_BY.get(found[1].lower(), "copy it to a file")
        raise InputError(
            f"a log is read from files, and {found[0]}... is an address: no engine here reaches into the network",
            f"{copied}, and give that",
        )
    try:
        if path.is_dir():
            return _files_below(path)
        if path.exists():
            _require_regular(path)
            return [path]
    except OSError as error:
        raise _unreadable_error(path, error) from None
    if not glob.has_magic(str(path)):
        raise InputError(f"there is no file or folder {str(path)!r}", "check the path")
    files = []
    for match in sorted(Path(found) for found in glob.glob(str(path), recursive=True)):  # noqa: PTH207 (absolute)
        # A wildcard no more reaches hidden names than a folder does; written out, they are read.
        if not any(_is_hidden(part) for part in set(match.parts) - set(path.parts)):
            files += _files_below(match) if match.is_dir() else [match]
    if not files:
        raise InputError(f"no file matches {str(path)!r}", "check the pattern, or quote it for the shell")
    return files


def _files_below(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        # os.walk would otherwise leave the folder out without a word.
        raise _unreadable_error(Path(error.filename or folder), error)

    files: list[Path] = []
    for here, folders, names in os.walk(folder, onerror=refuse):
        if is_release(Path(here)):
            raise InputError(
                f"{str(here)!r} is a release, and a raw log is needed there",
                "name the log, or swap what was swapped; a release is for queryveil release verify, report, evaluate "
                "LOG RELEASE and attack",
            )
        folders[:] = [name for name in folders if not _is_hidden(name)]
        files += [Path(here, name) for name in names if not _is_hidden(name)]
    for path in files:
        _require_regular(path)
    if not files:
        raise InputError(f"the folder {str(folder)!r} holds no data files", "check the path")
    return sorted(files)


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _require_regular(path: Path) -> None:
    # A pipe cannot be read twice, and the first lines are needed before the rest.
    if not path.is_file():
        raise InputError(f"{str(path)!r} is not a regular file", "write it to a file first")


def _unreadable_error(path: Path, error: OSError) -> InputError:
    if isinstance(error, PermissionError):
        return InputError(f"no permission to read {str(path)!r}", "ask its owner, or copy it")
    few = error.errno in (errno.EMFILE, errno.ENFILE)
    way_out = "raise the limit of open files (ulimit -n)" if few else "check the path"
    return InputError(f"cannot read {str(path)!r}: {error.strerror or 'unknown cause'}", way_out)


def labels(paths: Sequence[Path]) -> list[str]:
    """Short names for messages: the file's own name unless two files share it."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def pinned_now(path: Path, label: str) -> Pin:
    """The file as it is now, before anything is read of it."""
    try:
        return pin(path, label)
    except OSError as error:
        raise _unreadable_error(path, error) from None


def standard_input(into: Path) -> Path:
    """What is piped in, as a file in the working folder: the first lines are needed before the rest."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("nothing is piped into standard input", "pipe a log into it, or name a file")
    path = into / "standard-input"
    try:
        with path.open("xb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    except OSError as error:
        raise OutputError(
            f"standard input cannot be kept in {str(into)!r} ({error.strerror or 'unknown cause'})",
            "free some space, or name another folder in TMPDIR",
        ) from None
    return path


def opened_archives(paths: Sequence[Path]) -> list[tuple[Path, str | None, str]]:
    """The files, with those inside zip archives in the place of these: path, name inside and label of each."""
    named = zip(paths, labels(paths), strict=True)
    return [one for path, label in named for one in _archive_members(path, label)]


def _archive_members(path: Path, label: str) -> list[tuple[Path, str | None, str]]:
    try:
        with path.open("rb") as raw:
            if raw.read(len(_ZIP)) != _ZIP:
                return [(path, None, label)]
        with zipfile.ZipFile(path) as archive:
            names = [one.filename for one in archive.infolist() if not one.filename.endswith("/")]
        if "" in names:
            raise zipfile.BadZipFile
    except _BAD_ARCHIVE:
        raise _damaged_error(label, "zip") from None
    except OSError as error:
        raise _unreadable_error(path, error) from None
    if any(name.startswith("xl/workbook") for name in names) or {"content.xml", "mimetype"} <= set(names):
        return [(path, None, label)]
    if "[Content_Types].xml" in names:
        raise InputError(
            f"{label!r} is a document of an office program, and no workbook", "save its table as CSV in UTF-8"
        )
    names = sorted(name for name in names if not any(_is_hidden(part) for part in name.split("/")))
    if not names:
        raise InputError(f"{label!r} holds no data files", "check the archive")
    return [(path, name, f"{label}/{name}") for name in names]


def read_head(path: Path, member: str | None = None, encoding: str | None = None) -> Head:
    """The first bytes of a file, decompressed, as UTF-8 without a byte order mark.

    Without an encoding, it is UTF-8 or what a byte order mark says.
    """
    file = SourceFile(path, member or path.name, "zip" if member else None, "", member=member)
    magic = b""
    for block, _ in blocks(file, 8):
        magic = block
        break
    inner = next((name for mark, name in _COMPRESSIONS.items() if magic.startswith(mark)), None)
    if member is not None and (inner or magic.startswith(_ZIP)):
        raise InputError(f"{member!r} is compressed again inside {path.name!r}", "unpack the archive first")
    compression = inner or file.compression
    for mark, what in _UNREADABLE.items():
        if magic.startswith(mark):
            raise InputError(
                f"{path.name!r} is {what}, which is not read",
                "unpack it first",
            )
    file = replace(file, compression=compression)
    encoding = resolve_byte_order(encoding, next(blocks(file, HEAD_BYTES), (b"", 0))[0], file.label)
    data = b""
    ended = True
    for block, _ in blocks(replace(file, encoding=encoding), HEAD_BYTES):
        data += block
        if len(data) >= HEAD_BYTES - len(_BOM):
            ended = False
            break
    return Head(path, data, compression, whole=ended, member=member, encoding=encoding)


def as_source_file(head: Head, label: str, *, text: bool = True) -> SourceFile:
    """A file that is to be read; only a text has a first line."""
    first = head.first_line if text else ""
    return SourceFile(
        head.path,
        label,
        head.compression,
        first if len(first) <= _LONGEST_KEPT_FIRST_LINE else "",
        _declared_size(head),
        head.member,
        head.encoding,
    )


def _declared_size(head: Head) -> int:
    if head.member is None:
        return head.path.stat().st_size
    with zipfile.ZipFile(head.path) as archive:
        return archive.getinfo(head.member).compress_size


def blocks(file: SourceFile, size: int) -> Iterator[tuple[bytes, int]]:
    """The decompressed content block by block, in UTF-8, with the bytes of the file itself consumed so far."""
    raw = _raw_blocks(file, size)
    yield from raw if file.encoding in {None, UTF_8} else convert_to_utf8(raw, file.encoding)


def _raw_blocks(file: SourceFile, size: int) -> Iterator[tuple[bytes, int]]:
    """The decompressed content as it stands but for a byte order mark of UTF-8."""
    try:
        with _open_stream(file) as (stream, consumed):
            first = True
            while block := stream.read(max(size, len(_BOM)) if first else size):
                yield (block.removeprefix(_BOM) if first else block), consumed()
                first = False
    except PermissionError as error:
        raise _unreadable_error(file.path, error) from None
    except (lzma.LZMAError, zlib.error, EOFError, *_BAD_ARCHIVE):
        raise _damaged_error(file.label, str(file.compression)) from None
    except RuntimeError:
        # What zipfile says of a password; nothing else here raises it.
        raise InputError(f"{file.label!r} is encrypted", "unpack the archive first") from None
    except OSError as error:
        if file.compression and error.errno is None:
            raise _damaged_error(file.label, file.compression) from None
        raise _unreadable_error(file.path, error) from None


@contextlib.contextmanager
def _open_stream(file: SourceFile) -> Iterator[tuple[Any, Callable[[], int]]]:
    """The decompressed stream, and what tells how many bytes of the file were consumed."""
    with contextlib.ExitStack() as stack:
        if file.member is not None:
            archive = stack.enter_context(zipfile.ZipFile(file.path))
            member: Any = stack.enter_context(archive.open(file.member))
            start = archive.getinfo(file.member).header_offset
            # zipfile has no other way to say how far it is in the archive.
            yield member, lambda: min(max(0, member._fileobj.tell() - start), file.size)
            return
        raw = stack.enter_context(pa.OSFile(str(file.path), "rb"))
        if file.compression == "xz":
            yield stack.enter_context(lzma.open(raw)), raw.tell
        elif file.compression is not None:
            # Arrow's streams, unlike some others, raise when compressed data ends early.
            yield pa.CompressedInputStream(raw, file.compression), raw.tell
        else:
            yield raw, raw.tell


def _damaged_error(label: str, compression: str) -> InputError:
    return InputError(
        f"{label!r} is damaged or cut short: its {compression} data cannot be decompressed",
        "copy it again from where it came",
    )
