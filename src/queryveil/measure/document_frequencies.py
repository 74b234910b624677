"""In how many documents each word is: from a file, from what a search engine exports, or from the clicks of a log.

Formats are told apart by content. Terms are brought to the form of keywords; a line or entry that is no word with a
number is rejected, and counted by reason. No message quotes a term.
"""

from __future__ import annotations

import csv
import functools
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.count import item_kinds
from queryveil.errors import InputError
from queryveil.measure.histograms import Histogram
from queryveil.reading.log import SearchLog
from queryveil.reading.text import keywords, normalise

Entry = tuple[object, object]

_HINT = "give term and document frequency in two columns, or a term export of OpenSearch, Solr or Lucene"
_HIGH_FREQUENCY = re.compile(
    r"^[^:\s]+:(?P<term>\S+) (?:\s*totalTF = [\d,.]+\s+doc ?freq = )?(?P<df>\d[\d,.]*)\s*$", re.IGNORECASE
)
_CHECK_INDEX = re.compile(r"segments file=|test: terms, freq|checking index", re.IGNORECASE)
_DF_NAMES = frozenset({"df", "doc_freq", "docfreq", "doc_count", "document_frequency", "count"})
_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """Words with the number of documents that have them, and where that is from."""

    words: Histogram
    source: str

    def frequencies_of(self, keywords: Histogram) -> npt.NDArray[np.int64]:
        """For each keyword its document frequency; 1 where it is not known."""
        return np.maximum(keywords.counts_in(self.words), 1)

    @classmethod
    def of_table(cls, table: pa.Table, source: str = "a table") -> DocumentFrequencies:
        """A table of keyword and count, one row for each word."""
        return cls(Histogram.of(table), source)

    @classmethod
    def of_log(cls, log: SearchLog) -> DocumentFrequencies:
        """A word is in a document if a query that has the word led to a click on it."""
        log.need("url", "counting the documents of words")
        clicks = item_kinds.with_keywords(log.table.filter(log.table["url"].notnull()))
        pairs = clicks.filter(clicks["keyword"] != "").select("keyword", "url").distinct()
        counted = pairs.group_by("keyword").aggregate(count=pairs.count())
        return cls.of_table(log.engine.arrow(counted), "the log's clicked documents")

    @classmethod
    def of_file(cls, path: str | Path) -> DocumentFrequencies:
        """A file of term and df between tabs or commas, or a term export in JSON or text; .gz too."""
        file = Path(path)
        try:
            about = file.stat()
            return _load_frequencies(file, about.st_mtime_ns, about.st_size)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"the document frequencies in '{file}' cannot be read ({type(error).__name__})", _HINT
            ) from None
        except (UnicodeDecodeError, RecursionError):
            raise InputError(f"the document frequencies in '{file}' are not text in UTF-8", _HINT) from None


@functools.lru_cache(maxsize=4)
def _load_frequencies(file: Path, changed: int, size: int) -> DocumentFrequencies:
    """Read once for several releases and measures; a file that changed is read again."""
    with _open_file(file) as lines:
        kind, entries = _read_entries(lines, file)
        found, reasons = _validate_entries(entries)
    rejected = sum(reasons.values())
    if not found or rejected > len(found):
        why = (
            f" ({', '.join(f'{number:,} {reason}' for reason, number in reasons.items())})" if reasons else ""
        )
        raise InputError(f"'{file}' has no document frequencies that can be used{why}", _HINT)
    source = f"'{file.name}' ({kind}, {len(found):,} words"
    source += "".join(f"; {number:,} rejected: {reason}" for reason, number in reasons.items()) + ")"
    table = pa.table({"keyword": list(found), "count": pa.array(found.values(), pa.int64())})
    return DocumentFrequencies.of_table(table, source)


def _open_file(file: Path) -> IO[str]:
    return gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8")


def _validate_entries(entries: Iterable[Entry]) -> tuple[dict[str, int], Counter[str]]:
    """Document frequencies by keyword, and why entries were rejected.

    Spellings that are one keyword are added up: that is what their posting lists take together.
    """
    found: dict[str, int] = {}
    reasons: Counter[str] = Counter()
    for term, number in entries:
        df = _parse_number(number)
        word = _parse_keyword(term)
        if df is None:
            reasons["without a whole number from 1"] += 1
        elif word is None:
            reasons["whose term is not one word"] += 1
        else:
            found[word] = found.get(word, 0) + df
    return found, reasons


def _parse_number(value: object) -> int | None:
    if isinstance(value, str):
        # Some of what strip() takes off, int() does not pass over.
        digits = value.strip()
        value = int(digits) if digits.isdecimal() and len(digits) < 20 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST
    return value if fits else None  # type: ignore[return-value] # an int by the line above


def _parse_keyword(term: object) -> str | None:
    if not isinstance(term, str):
        return None
    if term.isascii() and term.isalnum() and term.islower():
        return term
    words = keywords(normalise(term))
    return words[0] if len(words) == 1 else None


# -- formats -------------------------------------------------------------------------------------------------


def _read_entries(lines: IO[str], file: Path) -> tuple[str, Iterator[Entry]]:
    """What kind of file it is, and its entries."""
    start = lines.read(4096)
    if "\0" in start:
        raise InputError(f"the document frequencies in '{file}' are not text", _HINT)
    lines.seek(0)
    if start.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        try:
            document = json.loads(lines.read().lstrip("\ufeff"))
        except ValueError:
            raise InputError(f"'{file}' looks like JSON but is not", _HINT) from None
        return _of_json(document, file)
    if _CHECK_INDEX.search(start):
        raise InputError(
            f"'{file}' is the report of Lucene's CheckIndex, which has totals and no document frequencies",
            "export terms with Lucene's HighFreqTerms, or with a term API of OpenSearch or Solr",
        )
    first = next((line for line in start.splitlines() if line.strip()), "")
    if _HIGH_FREQUENCY.match(first):
        return "Lucene HighFreqTerms", _of_lucene(lines)
    return ("TSV", _of_rows(lines, "\t")) if "\t" in first else ("CSV", _of_rows(lines, ","))


def _of_lucene(lines: Iterable[str]) -> Iterator[Entry]:
    for line in lines:
        if line.strip():
            match = _HIGH_FREQUENCY.match(line)
            yield (match["term"], re.sub(r"[,.]", "", match["df"])) if match else ("", None)


def _of_rows(lines: Iterable[str], delimiter: str) -> Iterator[Entry]:
    # Between tabs a quote is a character like any other.
    rows = (
        csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        if delimiter == "\t"
        else csv.reader(lines, delimiter=delimiter)
    )
    term, number, width = 0, 1, 2
    try:
        for place, row in enumerate(rows):
            if place == 0 and len(row) >= 2 and not any(cell.strip().isdecimal() for cell in row):
                names = [cell.strip().lstrip("\ufeff").lower() for cell in row]
                named = next((at for at, name in enumerate(names) if name in _DF_NAMES), 1)
                term, number, width = names.index("term") if "term" in names else 0, named, len(row)
            elif any(cell.strip() for cell in row):
                yield (row[term].lstrip("\ufeff"), row[number]) if len(row) == width else ("", None)
    except csv.Error:  # a field beyond the module's limit
        yield "", None


def _of_json(document: Any, file: Path) -> tuple[str, Iterator[Entry]]:
    if isinstance(document, dict):
        if vectors := _term_vectors(document):
            return "OpenSearch term vectors", iter(_merge_duplicates(vectors).items())
        if isinstance(aggregations := document.get("aggregations", document.get("aggs")), dict):
            return "OpenSearch terms aggregation", _read_buckets(aggregations)
        if isinstance(fields := document.get("terms"), dict):
            return "Solr terms", (one for field in fields.values() for one in _named_list(field))
        if isinstance(fields := document.get("fields"), dict):
            tops = (one.get("topTerms") for one in fields.values() if isinstance(one, dict))
            return "Solr Luke", (one for top in tops for one in _named_list(top))
        if document and all(_parse_number(value) is not None for value in document.values()):
            return "JSON", iter(document.items())
    raise InputError(f"'{file}' is JSON, but not a known term export", _HINT)


def _term_vectors(document: dict[str, Any]) -> list[Entry]:
    """Terms of one document or of several; without term_statistics they have no document frequency."""
    found: list[Entry] = []
    for one in [document, *(document["docs"] if isinstance(document.get("docs"), list) else ())]:
        fields = one.get("term_vectors") if isinstance(one, dict) else None
        for field in fields.values() if isinstance(fields, dict) else ():
            terms = field.get("terms") if isinstance(field, dict) else None
            for term, about in terms.items() if isinstance(terms, dict) else ():
                found.append((term, about.get("doc_freq") if isinstance(about, dict) else None))
    return found


def _merge_duplicates(entries: Iterable[Entry]) -> dict[object, object]:
    """Several documents name the same term with the same number: once is enough."""
    found: dict[object, object] = {}
    for term, number in entries:
        df = _parse_number(number)
        before = _parse_number(found.get(term))
        if term not in found or (df is not None and (before is None or df > before)):
            found[term] = number
    return found


def _read_buckets(aggregations: dict[str, Any]) -> Iterator[Entry]:
    for one in aggregations.values():
        buckets = one.get("buckets") if isinstance(one, dict) else None
        for bucket in buckets if isinstance(buckets, list) else ():
            yield (bucket.get("key"), bucket.get("doc_count")) if isinstance(bucket, dict) else ("", None)


def _named_list(terms: Any) -> Iterator[Entry]:
    """Solr's named lists in each of its JSON forms: flat, a map, pairs, or objects."""
    if isinstance(terms, dict):
        for term, value in terms.items():
            yield term, value.get("df") if isinstance(value, dict) else value
    elif isinstance(terms, list) and any(isinstance(one, (list, dict)) for one in terms[:1]):
        for one in terms:
            if isinstance(one, list):
                yield (one[0], one[1]) if len(one) == 2 else ("", None)
            elif isinstance(one, dict) and "name" in one and "value" in one:
                yield one["name"], one["value"]
            else:
                yield from _named_list(one)
    elif isinstance(terms, list):
        yield from zip(terms[::2], [*terms[1::2], None][: len(terms[::2])], strict=True)
