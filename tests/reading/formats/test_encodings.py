"""Text in other encodings: found where a mark says it for certain, asked for where not."""

from __future__ import annotations

import bz2
import codecs
import json
import lzma
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.reading import lines
from queryveil.reading.encodings import ENCODINGS, extends_ascii
from tests.command import command
from tests.reading.formats.logs import read, rejections, rows_of, write

TEXT = "user\tquery\nann\tcrème brûlée\nbob\tété\n"
ROWS = [("ann", "crème brûlée"), ("bob", "été")]
CHINESE = "user\tquery\nann\t汶川地震\nbob\t哄抢救灾物资\n"


@pytest.mark.parametrize("mark", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_is_enough(mark: str, tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", TEXT.encode(mark))
    assert rows_of(read(log, tmp_path / "into"), "user", "query") == ROWS
    packed = write(tmp_path / "y.tsv.bz2", bz2.compress(TEXT.encode(mark)))
    assert rows_of(read(packed, tmp_path / "packed"), "user", "query") == ROWS


@pytest.mark.parametrize("big", [False, True])
def test_utf_16_of_either_order(big: bool, tmp_path: Path) -> None:
    mark, name = (b"\xfe\xff", "utf-16-be") if big else (b"\xff\xfe", "utf-16-le")
    data = TEXT.encode(name)
    assert rows_of(read(write(tmp_path / "a", mark + data), tmp_path / "1"), "user", "query") == ROWS
    told = read(write(tmp_path / "b", data), tmp_path / "2", encoding=name)
    assert rows_of(told, "user", "query") == ROWS


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1000])
def test_blocks_may_cut_characters(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    log = write(tmp_path / "x.tsv", CHINESE.encode("gb18030"))
    staged = read(log, tmp_path / "into", encoding="GBK")
    assert rows_of(staged, "query") == [("汶川地震",), ("哄抢救灾物资",)]


@pytest.mark.parametrize("name", ["latin-1", "cp1252"])
def test_an_encoding_that_nothing_tells_is_asked_for(name: str, tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", TEXT.encode(name))
    with pytest.raises(qv.InputError, match="encoding"):
        read(log, tmp_path / "into")
    assert rows_of(read(log, tmp_path / "told", encoding=name), "user", "query") == ROWS


def test_a_wrong_byte_spoils_its_line_only(tmp_path: Path) -> None:
    data = CHINESE.encode("gb18030").replace("汶".encode("gb18030"), b"\xff\xff")
    staged = read(write(tmp_path / "x.tsv", data), tmp_path / "into", encoding="gb18030", max_rejected=1)
    assert rows_of(staged, "query") == [("哄抢救灾物资",)]
    assert rejections(staged) == [("x.tsv", 2, "not UTF-8")]


WRITTEN = {
    "cp1252": ("bücher über gärten", "straße fußball", "l’été à nîmes", "niño pequeño"),
    "cp1250": ("książka żółw", "łódź pogoda", "příliš žluťoučký kůň"),
    "iso8859-2": ("książka żółw", "łódź pogoda", "škoda řidič"),
    "cp1251": ("погода в москве", "рецепты борща", "Купить билет"),
    "koi8-r": ("погода в москве", "рецепты борща", "Купить билет"),
    "cp1253": ("αθήνα καιρός", "συνταγές μαγειρικής", "Ελλάδα"),
    "cp1255": ("מזג אוויר", "מתכונים לארוחת ערב"),
    "gb18030": ("天气预报", "如何学习中文", "手机壳 iphone手机"),
    "big5": ("天氣預報", "如何學習中文", "手機殼"),
    "cp932": ("東京の天気", "安いホテル", "レシピ 簡単"),
    "euc_jp": ("東京の天気", "安いホテル", "レシピ 簡単"),
    "cp949": ("서울 날씨", "맛집 추천", "한국어 공부"),
    "cp850": ("bücher über gärten", "straße fußball"),
}


def proposed_encodings(text: str) -> list[str]:
    return [codecs.lookup(name).name for name in re.findall(r"encoding='([\w-]+)'", text)]


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("share", [0.02, 1])
def test_the_encodings_that_fit_rejected_rows_are_proposed(name: str, share: float, tmp_path: Path) -> None:
    """Below the limit of rejected rows in a note, and above it in the error."""
    many = round(150 / share)
    rows = [
        f"u{at % 9}\t{WRITTEN[name][at % len(WRITTEN[name])] if at < 150 else 'tea'}\n" for at in range(many)
    ]
    file = write(tmp_path / "x.tsv", ("user\tquery\n" + "".join(rows)).encode(name))
    if share == 1:
        with pytest.raises(qv.InputError) as refused:
            qv.read(file)
        proposed = proposed_encodings(refused.value.hint)
    else:
        log = qv.read(file)
        assert log.staged is not None and log.staged.rejected == 150
        (note,) = log.notes
        assert "150" in note and qv.inspect(log).notes == log.notes
        assert all(one in log._repr_html_() for one in re.findall(r"encoding='([\w-]+)'", note))
        proposed = proposed_encodings(note)
    assert name in proposed and len(proposed) <= 3
    again = qv.read(file, encoding=name)
    assert again.rows == many and not proposed_encodings(" ".join(again.notes))


def test_an_encoding_that_would_garble_other_rows_is_not_proposed(tmp_path: Path) -> None:
    rows = [f"u{at % 9}\tbücher\n".encode("cp1252" if at % 40 == 0 else "utf-8") for at in range(400)]
    log = qv.read(write(tmp_path / "x.tsv", b"user\tquery\n" + b"".join(rows)))
    (note,) = log.notes
    assert re.findall(r"\d+", note)[:3] == ["10", "8", "390"]
    assert "convert" in note


def test_rows_that_are_not_in_the_named_encoding_are_noted(tmp_path: Path) -> None:
    rows = [b"u1\ttea \xfc\n" if at == 7 else b"u2\ttea\n" for at in range(100)]
    log = qv.read(write(tmp_path / "x.tsv", b"user\tquery\n" + b"".join(rows)), encoding="ascii")
    (note,) = log.notes
    assert "ascii" in note and not proposed_encodings(note)


def test_a_header_in_another_encoding_is_told_from_a_missing_column(tmp_path: Path) -> None:
    text = "Benutzer;Häufigkeit;Begriff\nann;3;tea\nbob;4;bücher\n"
    file = write(tmp_path / "x.csv", text.encode("cp1252"))
    columns = {"user": "Benutzer", "query": "Begriff", "rank": "Häufigkeit"}
    with pytest.raises(qv.InputError) as refused:
        qv.read(file, columns=columns)
    assert proposed_encodings(refused.value.hint) == ["cp1252"]
    assert qv.read(file, columns=columns, encoding="cp1252").rows == 2


def test_queries_of_addresses_have_proposed_encodings(tmp_path: Path) -> None:
    line = '10.0.0.{} - - [10/Dec/2024:10:00:00 +0100] "GET /s?q={} HTTP/1.1" 200 1 "-" "curl/8.1"\n'
    lines_of_log = [line.format(at % 9, "b%FCcher" if at % 40 == 0 else "tea") for at in range(400)]
    file = write(tmp_path / "access.log", "".join(lines_of_log))
    found = [note for note in qv.read(file, query_parameter=("q",)).notes if "10 rows" in note]
    assert [proposed_encodings(note) for note in found] == [["cp1252"]]
    assert qv.read(file, query_parameter=("q",), encoding="cp1252").rows == 400


STATEFUL = ("hz", "utf-7", "iso2022_jp", "iso2022_kr", "unicode_escape", "raw_unicode_escape")
NOT_TEXT = ("klingon", "rot13", "hex", "zlib", "idna", "punycode", "undefined", "cp037", "a\0b")


@pytest.mark.parametrize("name", STATEFUL + NOT_TEXT)
def test_other_encodings_are_refused(name: str) -> None:
    with pytest.raises(qv.InputError) as refused:
        qv.ReadOptions(encoding=name)
    assert "gb18030" in refused.value.hint


@pytest.mark.parametrize("name", ["hz", "idna", "punycode", "utf-16", "utf-32"])
def test_a_log_that_cannot_be_decoded_is_exit_code_3(name: str, tmp_path: Path) -> None:
    outcome = command("inspect", str(write(tmp_path / "x.tsv", TEXT)), "--encoding", name, "--json")
    assert outcome.code == 3
    assert json.loads(outcome.err)["error"]["kind"] == "input"
    assert "utf-16-le" in outcome.err or "utf-32-le" in outcome.err


@pytest.mark.parametrize("name", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_required_in_every_file(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    write(folder / "a.tsv", TEXT.encode(name))
    write(folder / "empty.tsv", "")
    assert rows_of(read(folder, tmp_path / "1", encoding=name), "user", "query") == ROWS
    assert rows_of(read(folder, tmp_path / "2"), "user", "query") == ROWS
    write(folder / "b.tsv", TEXT.encode(f"{name}-le"))
    with pytest.raises(qv.InputError, match=r"b\.tsv"):
        read(folder, tmp_path / "3", encoding=name)


def test_the_hint_names_every_encoding() -> None:
    with pytest.raises(qv.InputError) as refused:
        qv.ReadOptions(encoding="hz")
    hint = refused.value.hint.replace("euc-", "euc_")
    ranges = "iso8859-([2-9]|1[0-5])|cp125[1-7]|utf-8-sig"
    assert [one for one in ENCODINGS if one not in hint and not re.fullmatch(ranges, one)] == []


@pytest.mark.parametrize("name", ENCODINGS)
def test_names_are_canonical_and_line_feeds_stand_alone(name: str) -> None:
    assert codecs.lookup(name).name == name
    if not extends_ascii(name):
        return
    ascii_text = bytes(range(128))
    assert ascii_text.decode(name) == ascii_text.decode()
    # Every character that can be encoded: none but the line feed has its byte.
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x30000))))
    assert everything.encode(name, "ignore").count(b"\n") == 1


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_bzip2_and_xz(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole = pack(TEXT.encode())
    assert rows_of(read(write(tmp_path / "x.tsv.z", whole), tmp_path / "into"), "user", "query") == ROWS
    with pytest.raises(qv.InputError, match="damaged or cut short"):
        read(write(tmp_path / "y.tsv.z", whole[:-9]), tmp_path / "cut")


def test_a_zip_archive_is_the_files_inside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name in ("b.tsv", "a/c.tsv", "__MACOSX/b.tsv", ".hidden"):
            archive.writestr(name, TEXT.encode("utf-16"))
    staged = read(tmp_path / "x.zip", tmp_path / "into")
    assert rows_of(staged, "user", "query") == ROWS * 2
    with zipfile.ZipFile(tmp_path / "office.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    with pytest.raises(qv.InputError, match="save its table as CSV"):
        read(tmp_path / "office.xlsx", tmp_path / "office")


@pytest.mark.parametrize(
    ("at", "byte"),
    [(6, 99), (8, 99), (47, 0xFF), (46, 0)],
    ids=["a version to come", "compressed in a way to come", "a name in no encoding", "no name"],
)
def test_a_damaged_directory_of_an_archive_is_said(at: int, byte: int, tmp_path: Path) -> None:
    """As a fuzzer found it: zipfile has an error of its own for each."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("\u00e9.tsv", TEXT)
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[data.index(b"PK\x01\x02") + at] = byte
    with pytest.raises(qv.InputError, match="damaged or cut short: its zip data"):
        read(write(tmp_path / "y.zip", bytes(data)), tmp_path / "into")


@pytest.mark.parametrize("address", ["s3://bucket/log.tsv", "https://example.org/log.tsv", "hdfs://a/b"])
def test_addresses_are_refused_by_name(address: str, tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match=address.split("//", maxsplit=1)[0] + "//"):
        read(address, tmp_path / "into")


@pytest.mark.parametrize("pack", [bytes, bz2.compress])
def test_standard_input_is_a_log(pack: Callable[[bytes], bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import queryveil as qv; log = qv.read('-'); print(log.rows, log.users)"],
        input=pack(TEXT.encode()),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"2", b"2"]
