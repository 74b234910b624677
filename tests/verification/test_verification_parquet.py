"""Table files hold their rows and nothing else: whatever is tucked away in one fails `release verify`."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import queryveil as qv
from queryveil.verification import parquet_bytes
from queryveil.verification.thrift import struct
from tests.conftest import many

SECRET = b"u17\tmy neighbour's illness\t2006-03-01"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    log = qv.read(many(12, ["apples", "pears", "plums"]))
    qv.publish(log, qv.KQuery(k=2), out=place / "release")
    return place / "release"


def failed(release: Path) -> dict[str, str]:
    return {check.name: check.detail for check in qv.verify(release).failed}


def with_table(made: Path, out: Path, content: bytes) -> Path:
    """A copy of a release with other bytes for its table, and digests that fit in the manifest."""
    release = shutil.copytree(made, out)
    (release / "log.parquet").write_bytes(content)
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["log.parquet"] |= {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    (release / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return release


def footer_at(content: bytes) -> int:
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def before_footer(content: bytes) -> bytes:
    at = footer_at(content)
    return content[:at] + SECRET + content[at:]


def behind_footer(content: bytes) -> bytes:
    """The footer made longer: readers stop where its structure ends."""
    size = int.from_bytes(content[-8:-4], "little") + len(SECRET)
    return content[:-8] + SECRET + size.to_bytes(4, "little") + content[-4:]


def before_pages(content: bytes) -> bytes:
    return content[:4] + SECRET + content[4:]


def in_front(content: bytes) -> bytes:
    return SECRET + content


def rewritten(**options: Any) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        table = pq.read_table(pa.BufferReader(content))
        out = pa.BufferOutputStream()
        pq.write_table(table, out, **({"compression": "zstd"} | options))
        return out.getvalue().to_pybytes()

    return change


def unused_word(content: bytes) -> bytes:
    """A dictionary page may list words that no row has: read as a dictionary, they come along."""
    table = pq.read_table(pa.BufferReader(content))
    column = table["query"].combine_chunks().dictionary_encode()
    longer = pa.DictionaryArray.from_arrays(
        column.indices, pa.concat_arrays([column.dictionary, pa.array([SECRET.decode()])])
    )
    out = pa.BufferOutputStream()
    written = pa.table({"session": table["session"], "query": longer})
    pq.write_table(written, out, compression="zstd", store_schema=False)
    return out.getvalue().to_pybytes()


HIDDEN = {
    "between pages and footer": before_footer,
    "behind the footer": behind_footer,
    "before the pages": before_pages,
    "in front of the file": in_front,
    "a word that no row has": unused_word,
    "other packing": rewritten(compression="gzip"),
    "other encoding": rewritten(use_dictionary=False),
    "smaller groups": rewritten(row_group_size=3),
    "smaller pages": rewritten(data_page_size=1, write_batch_size=2),
    "an index of pages": rewritten(write_page_index=True),
    "check sums": rewritten(write_page_checksum=True),
    "no statistics is less, but its schema is another": rewritten(version="1.0"),
}


@pytest.mark.parametrize("way", HIDDEN)
def test_what_is_tucked_away_in_a_table_file_is_found(way: str, made: Path, tmp_path: Path) -> None:
    content = HIDDEN[way]((made / "log.parquet").read_bytes())
    # Readers do not notice: that is what makes it a hiding place.
    found = failed(with_table(made, tmp_path / "changed", content))
    assert {"parquet-bytes", "tables"} & set(found), found
    assert "neighbour" not in "".join(found.values())


def test_statistics_that_the_rows_do_not_give_are_found(made: Path, tmp_path: Path) -> None:
    """The largest text of a column stands in the footer; another of the same length fits in its place."""
    content = (made / "log.parquet").read_bytes()
    at = content.rindex(b"plums")
    assert at > footer_at(content)
    changed = content[:at] + b"measl" + content[at + 5 :]
    assert pq.read_table(pa.BufferReader(changed)).equals(pq.read_table(pa.BufferReader(content)))
    assert "parquet-bytes" in failed(with_table(made, tmp_path / "changed", changed))


def test_bytes_behind_a_packed_page_are_found(made: Path) -> None:
    """A second frame of the packer: readers unpack the first and stop."""
    packed = zstandard.ZstdCompressor().compress(b"rows")
    skipped = (0x184D2A50).to_bytes(4, "little") + len(SECRET).to_bytes(4, "little") + SECRET
    assert parquet_bytes._decompress_page(memoryview(packed), 4) == b"rows"
    for longer in (packed + SECRET, packed + skipped, skipped + packed):
        with pytest.raises((ValueError, zstandard.ZstdError)):
            parquet_bytes._decompress_page(memoryview(longer), 4)


def test_a_small_page_does_not_unpack_into_all_memory() -> None:
    packed = zstandard.ZstdCompressor().compress(bytes(1 << 26))
    with pytest.raises(ValueError, match="stated size"):
        parquet_bytes._decompress_page(memoryview(packed), 100)


def test_the_same_rows_from_another_arrow_are_accepted(made: Path, tmp_path: Path) -> None:
    """Its name may differ, and pages may be packed otherwise; what they hold may not."""
    content = (made / "log.parquet").read_bytes()
    other = re.sub(rb"(parquet-cpp-arrow version )\d\d", rb"\g<1>20", content)
    assert other != content
    assert "parquet-bytes" not in failed(with_table(made, tmp_path / "other", other))
    packed = rewritten(compression_level=19)(content)
    assert "parquet-bytes" not in failed(with_table(made, tmp_path / "packed", packed))


def test_a_made_up_maker_is_refused(made: Path, tmp_path: Path) -> None:
    content = (made / "log.parquet").read_bytes()
    other = content.replace(b"parquet-cpp-arrow version", b"my neighbours illness was")
    assert len(other) == len(content) and other != content
    assert "parquet-bytes" in failed(with_table(made, tmp_path / "other", other))


def test_every_bit_counts(made: Path) -> None:
    """Flip each bit of a table file: it is another table, no table at all, or it is found."""
    content = (made / "log.parquet").read_bytes()
    rows = pq.read_table(pa.BufferReader(content))
    again = parquet_bytes.layout(memoryview(content))
    maker = content.index(b"parquet-cpp-arrow version")
    for at, bit in itertools.product(range(len(content)), range(8)):
        changed = bytearray(content)
        changed[at] ^= 1 << bit
        try:
            same = pq.read_table(pa.BufferReader(bytes(changed))).equals(rows)
        except (OSError, ValueError, pa.ArrowException):
            continue
        if not same:
            continue
        try:
            found = parquet_bytes.layout(memoryview(bytes(changed)))
            different = list(parquet_bytes.differences(found, again))
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, zstandard.ZstdError):
            continue
        # Which release of Arrow it was may differ.
        assert different or maker <= at < maker + 40, at


def test_structures_that_are_no_structures() -> None:
    for content in (
        b"\x8c",
        b"\x15",
        b"\x18\xff\xff\xff\xff\x0f",
        b"\x19\xfc\xff\xff\xff\xff\x0f",
        b"\x1b\x00\x00",
    ):
        with pytest.raises((ValueError, IndexError)):
            struct(content)
    with pytest.raises(ValueError, match="deep"):
        struct(b"\x1c" * 100)
    with pytest.raises(ValueError, match="more bytes than it needs"):
        struct(b"\x15\x82\x00\x00")
