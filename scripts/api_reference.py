"""Write docs/reference/api.md: every public name with every parameter, from signatures, declarations and docstrings.

    python scripts/api_reference.py            # says whether the page is current
    python scripts/api_reference.py --write    # makes it again

What a parameter is for comes from its declaration (`param`), from the text below its field, from the sentence of the
docstring that names it, or from MEANINGS, for what means the same wherever it stands.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import re
import sys
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil.parameters import Declaration
from queryveil.plugins import Registry

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
_DECLARED = "queryveil"
_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
_PROTOCOLS = {"mechanism": {"plan", "check", "protect"}, "attack": {"run"}}
"""What is called from outside; other methods of mechanisms and attacks are for their own room."""

MEANINGS = {
    "about": "what the publisher says of the release: an `About`",
    "allow_empty": "publish although nothing is frequent enough",
    "assumptions": "what must hold for the promise",
    "at": "what follows the @ of its name",
    "at_least": "rows with smaller counts are left out",
    "attack": "name of the attack, or the attack itself",
    "audits": "what `Audit.as_dict()` gives, by the name of the mechanism",
    "axes": "what varies",
    "bits": "where random bits come from; None: the system",
    "calibration": "thresholds and noise scales",
    "caveats": "what the promise leaves open",
    "cell": "one combination of values",
    "checks": "named checks, each with its verdict",
    "chosen": "numbers of rows",
    "citation": "how to cite the release",
    "claim": "what is promised",
    "classes": "names of classes, each with its domains; None: those that come with queryveil",
    "clicks": "table of query, url and count",
    "codes": "tokens of all queries, as numbers",
    "column": "name of a column",
    "columns": "which column of the source is which: user, query, time, url, rank, session",
    "columns_confirmed": "whether somebody has looked at the columns",
    "concept": "number of a concept",
    "concepts": "numbers of concepts",
    "confidence": "with which bounds hold, such as 0.95",
    "contact": "whom to ask",
    "count": "how many",
    "counts": "count of each item",
    "days": "length, in days",
    "delimiter": "one character between columns; None: found",
    "delta": "probability that the privacy loss is exceeded",
    "direction": "whether higher or lower is better",
    "draws": "how noise touches the data, as a plan declares it",
    "empty_queries": "rows without a query",
    "end": "where it ends: a character, or a moment",
    "engine": "`duckdb`, `spark`, the address of a Spark master, or what `connect` gives",
    "epsilon": "privacy loss per user",
    "event": "what was looked for in the tables",
    "facts": "figures of the pilot",
    "figure": "name of a figure",
    "figures": "figures by name",
    "file": "a file",
    "findings": "what was found, a row each",
    "first": "the first of two releases",
    "floor": "smaller probabilities count as 0",
    "folders": "what comparing the files of two releases found",
    "forked": "what drawing after a fork found",
    "format": "name of a format; None: by the file's name or content",
    "found": "rows of a study",
    "generalisation": "nodes that stand for the group",
    "given": "what `as_dict` gave, or the values to use",
    "graph": "a click graph: of a log or of a release",
    "graphs": "click graphs, one for each period",
    "group": "transactions, as numbers of nodes",
    "guarantee": "what is promised",
    "hashes": "hashes, the most frequent first",
    "header": "whether the first line names columns; None: found",
    "help": "what it is, in a few words",
    "hint": "the way out, in a sentence without its end",
    "home": "folder that paths of the recipe start from",
    "how": "`proof` or `runs`",
    "i_understand": "publish although nothing is promised",
    "items": "kinds of items, such as `queries`, or the items themselves",
    "items_per_user": "your guess of how many items a user has, from public knowledge",
    "k": "so many users share everything that is published; of shares, so many open them",
    "key": "file with a key of OpenSSH",
    "keywords": "the words of each document",
    "kind": "which kind it is",
    "kinds": "the kinds that are meant, by name",
    "known": "what the attacker knows beforehand",
    "label": "text of a concept",
    "language": "language of the queries",
    "last": "the last word",
    "leak": "probability that a walk ends at a step",
    "ledger": "a `Ledger`, or its file or URL",
    "lexicon": "words and the concepts that they name",
    "licence": "under which the release may be used",
    "limit": "the largest value",
    "limits": "the largest value of each",
    "log": "a `SearchLog`; functions that say so also take what `read` takes",
    "mapping": "hashes and the words that they are taken for: a file or a mapping",
    "marks": "which ones are drawn for",
    "master": "secret key of all shares",
    "max_click_through": "queries clicked more often are not misspelled",
    "max_edits": "letters in which a correction may differ",
    "max_rejected": "share of rows that may be rejected",
    "mechanism": "a mechanism, such as `Steered(epsilon=1, delta=1e-6)`",
    "message": "the cause, in a sentence without its end",
    "method": "name of the method",
    "metrics": "names of measures, such as `coverage@100`; None: all that apply",
    "min_clicks": "queries with fewer clicks are left out",
    "min_count": "rows with smaller counts are left out",
    "min_ratio": "smaller likelihood ratios do not count",
    "min_reformulated": "share of searches that must have been corrected",
    "min_share": "share of clicks that a class must have",
    "more": "names of further columns to keep",
    "most": "how many, at the most",
    "most_users": "users that the pilot looks at, at the most",
    "n": "how many rows to give",
    "name": "its name",
    "names": "names of the nodes",
    "needed": "whether it must be given",
    "needs_log": "whether it runs on a log",
    "neighbours": "which logs are compared: `replace-one-user` or `add-remove-one-user`",
    "node": "number of a node",
    "noise": "where randomness comes from; None: the system",
    "number": "how many topics there are",
    "odd_rows": "what reading odd rows found",
    "of": "the table or draw that it is about",
    "offsets": "where each list begins",
    "option": "a setting that was tried",
    "options": "further options, by name",
    "original": "of the log",
    "orphan_clicks": "clicks without a search",
    "other": "what it is compared with",
    "out": "a new file or folder",
    "owners": "the user of each phrase, numbered from 0",
    "parameters": "parameters by name",
    "parent_of": "parent of each item, by name",
    "parents": "the parent of each node",
    "path": "a file or folder",
    "pattern": "one like `fear of *`",
    "period": "`day`, `week` or `month`, or one of them by its name",
    "plan": "parameters, calibration and guarantee",
    "population": "file of queries and group sizes",
    "prepared": "what was made of the log, once",
    "prior": "the suspicion before, from 0 to 1",
    "private": "the private folder, if it is not beside the release",
    "progress": "called with what is done and what there is to do",
    "promise": "both guarantees of the series",
    "protected": "of the release",
    "publisher": "who publishes",
    "purpose": "name of a purpose, one of `PURPOSES`",
    "queries": "table of query and count",
    "query": "a query in normal form",
    "question": "what it answers",
    "rarity": "one in so many",
    "reading": "how the log is read, as for `read`",
    "reasons": "rejected rows by reason",
    "recipe": "name of the recipe, which the ledger keeps",
    "reference": "a raw log that the attacker has",
    "reformulations": "table of query, next_query and count",
    "regions": "countries whose phone numbers are looked for",
    "rejected": "rows that could not be read",
    "release": "a `Release`, or its folder",
    "releases": "releases, or their folders",
    "remaining": "what is left of the budget",
    "repeats": "how often each cell is measured; None: as the study says",
    "replace": "whether a signature that is there is replaced",
    "requested": "what the release needs of the budget",
    "result": "what the attack found",
    "results": "file of public result lists, in columns query and url",
    "rows": "how many rows; None: by the other settings",
    "rows_mean": "rows per user, on average",
    "rows_median": "rows per user, for a user in the middle",
    "rule": "which generalisation is taken: `exact` or the paper's",
    "run": "the publication in progress: its noise, its stages and its private facts",
    "runner": "what was run: the noise step or the whole path",
    "runs": "how often the mechanism is run; None: as many as the verdict needs",
    "samples": "some values of each column, for the curator's eyes",
    "scale": "scale of the noise",
    "second": "the second of two releases",
    "seconds": "how long it took, in seconds",
    "seed": "the same seed gives the same",
    "seeds": "domains of a concept",
    "session_gap_minutes": "a longer pause begins a session",
    "sessions": "sessions that were written",
    "settings": "size and habits of the log",
    "shape": "how the two logs differ",
    "shares": "what `popularity` gave",
    "short_by": "what is missing of the budget",
    "size": "how many are drawn",
    "sizes": "how many are matched at each stage",
    "source": "name of the log in the ledger, or where something comes from",
    "span": "first and last time",
    "spill": "folder for what does not fit into memory",
    "start": "the first day",
    "starts": "where each query begins",
    "study": "name of a study, a YAML file, or a `Study`",
    "success": "share of successes",
    "svg": "the figure, as SVG",
    "table": "a table, or its name",
    "tables": "tables by name",
    "target": "the hashed log, or its tokens",
    "target_copies": "how often the target typed it",
    "taxonomy": "file of child and parent; None: WordNet's nouns",
    "tests": "how many comparisons were made",
    "text": "a text as it was typed",
    "texts": "items, each as one text",
    "threshold": "what reaches it is taken",
    "thresholds": "likelihood ratios that a substitution must reach",
    "time_format": "how times are written, as for strptime; None: found",
    "title": "what the release is called",
    "tokens": "words, the most frequent first",
    "told": "called with the name of each stage and a sentence, for the curator's eyes",
    "top": "how many of the most frequent items are looked at",
    "topics": "the topic of each phrase, numbered from 0; -1: none",
    "transactions": "lists of items",
    "tree": "a `Tree` of items and what they are kinds of",
    "trials": "how often it was tried",
    "truth": "the true map of hashes to words: a file or a mapping",
    "uniqueness": "share of users who are unique by so many of their queries",
    "unit": "what it is counted in; of a guarantee, who is protected",
    "url": "`duckdb`, `spark`, `local[4]`, or `spark://host:port`",
    "url_or_path": "a file, or the URL of a database",
    "user": "name of a user",
    "users": "a public number of users, or an upper bound on it",
    "value": "the figure; None where there is nothing to divide by",
    "vary": "values to put in the place of an axis's own, by its name",
    "wait": "seconds to wait for others who write",
    "wanted": "what was asked",
    "warnings": "what the curator must know",
    "which": "which rows are kept",
    "why": "what needs it",
    "word": "a word",
    "words": "words of a query, in order",
    "workers": "processes to use; None: one for each core",
    "workspace": "temporary folder of the log",
    "writer": "who makes the change",
}
"""What parameters mean that mean the same wherever they stand."""


def page() -> str:
    """The whole page."""
    parts = [
        "# Every name and parameter\n",
        "`python scripts/api_reference.py --write` makes this page from the code. [Python](python.md) is a guide",
        "to these names.\n",
    ]
    for title, chosen in _groups():
        parts.append(f"\n## {title}\n")
        parts += [_entry(name, value) for name, value in chosen]
    return "\n".join(parts).rstrip("\n") + "\n"


def parameters_of(value: Any) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, default and meaning of everything that a function or a class is called with."""
    fields = _fields(value) if inspect.isclass(value) and dataclasses.is_dataclass(value) else {}
    if getattr(value, "_is_protocol", False):
        return
    signature = inspect.signature(value)
    for one in signature.parameters.values():
        if one.name in ("self", "cls") or one.name.startswith("_"):
            continue
        known = fields.get(one.name)
        stars = _STARS.get(one.kind.name, "")
        kind = known[0] if known else _annotation(one.annotation)
        default = "" if one.default is inspect.Parameter.empty else _default(one.default)
        meaning = (known[1] if known else "") or _said(value, one.name) or MEANINGS.get(one.name, "")
        yield stars + one.name, kind, default, meaning


def called(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class that are its own or of a mixin of queryveil."""
    kind = (
        "attack"
        if cls in qv.ATTACKS.built_in.values()
        else "mechanism"
        if cls in qv.MECHANISMS.built_in.values()
        else ""
    )
    for name, raw in sorted(_members(cls).items()):
        method = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        shared = _PROTOCOLS.get(kind, {name})
        if inspect.isfunction(method) and not name.startswith("_") and name in shared:
            yield name, method


def _members(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        if one.__module__.startswith("queryveil"):
            found |= vars(one)
    return found


def _groups() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    every = {name: getattr(qv, name) for name in qv.__all__}
    functions = {name: one for name, one in every.items() if inspect.isfunction(one)}
    mechanisms = {cls.__name__: cls for cls in qv.MECHANISMS.built_in.values()}
    attacks = {cls.__name__: cls for cls in qv.ATTACKS.built_in.values()}
    errors = {
        n: one for n, one in every.items() if inspect.isclass(one) and issubclass(one, qv.QueryveilError)
    }
    classes = {name: one for name, one in every.items() if inspect.isclass(one)}
    others = {name: one for name, one in every.items() if name not in functions and name not in classes}
    apart = {*mechanisms, *attacks, *errors}
    yield "Functions", sorted(functions.items())
    yield "Mechanisms", sorted(mechanisms.items())
    yield "Attacks", sorted(attacks.items())
    yield "Values", sorted((name, one) for name, one in classes.items() if name not in apart)
    yield "Errors", sorted(errors.items())
    yield "Tables of names", sorted(others.items())


def _entry(name: str, value: Any) -> str:
    text = [f"### `{name}`\n"]
    if not inspect.isclass(value) and not inspect.isfunction(value):
        names = value.built_in if isinstance(value, Registry) else value
        return "\n".join([*text, f"By name: {', '.join(f'`{one}`' for one in names)}.\n"])
    text.append(_doc(value) + "\n")
    text += _table(value)
    if inspect.isfunction(value):
        gives = _annotation(inspect.signature(value).return_annotation)
        text.append(f"Gives `{gives}`.\n" if gives else "")
        return "\n".join(text)
    for method, function in called(value):
        described = inspect.getdoc(getattr(value, method)) or "As the protocol of its kind says."
        signature = ", ".join(one[0] for one in parameters_of(function))
        text.append(f"**`{method}({signature})`** {_plain(described)}\n")
        text += _table(function)
    properties = [
        (one, inspect.getdoc(raw) or "")
        for one, raw in sorted(_members(value).items())
        if not one.startswith("_") and (isinstance(raw, property) or type(raw).__name__ == "cached_property")
    ]
    if properties:
        said = "; ".join(
            f"`{one}`{f' ({_plain(doc).rstrip(chr(46))})' if doc else ''}" for one, doc in properties
        )
        text.append(f"Also: {said}.\n")
    return "\n".join(text)


def _table(value: Any) -> list[str]:
    rows = list(parameters_of(value))
    if not rows:
        return []
    lines = ["| parameter | type | default | meaning |", "|---|---|---|---|"]
    for row in rows:
        name, kind, default, meaning = (one.replace("|", "\\|") for one in row)
        lines.append(
            f"| `{name}` | {f'`{kind}`' if kind else ''} | {f'`{default}`' if default else ''} | {meaning} |"
        )
    return [*lines, ""]


def _fields(cls: type) -> dict[str, tuple[str, str]]:
    """Type and meaning of each field of a dataclass."""
    found: dict[str, tuple[str, str]] = {}
    below = _texts_below(cls)
    for one in dataclasses.fields(cls):
        declared: Declaration | None = one.metadata.get(_DECLARED)
        meaning = declared.help if declared else below.get(one.name, "")
        found[one.name] = (_annotation(one.type), _plain(meaning))
    return found


def _texts_below(cls: type) -> dict[str, str]:
    """The text below each field, of the class and of those that it is made from."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        if not one.__module__.startswith("queryveil"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        if not isinstance(body, ast.ClassDef):
            raise TypeError(f"{one.__name__} is no class")
        for field, text in zip(body.body, body.body[1:], strict=False):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[field.target.id] = inspect.cleandoc(str(text.value.value)).partition("\n\n")[0]
    return found


def _doc(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else text.replace("<", "&lt;")


def _said(value: Any, name: str) -> str:
    """Return what a docstring says of a parameter: in its section of arguments, or in a sentence that names it."""
    docstring = inspect.getdoc(value) or ""
    if section := re.search(r"^Args:\n((?:    .*\n?|\n)+)", docstring, re.MULTILINE):
        entries = re.split(r"^    (\w+): ", section[1], flags=re.MULTILINE)
        if name in entries[1::2]:
            return _plain(entries[entries.index(name) + 1]).rstrip(".")
    text = _plain(docstring)
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z`])", text):
        if f"`{name}`" in sentence:
            return sentence.rstrip(".").removeprefix(f"`{name}`: ")
    return ""


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    return typing.cast("str", getattr(annotation, "__name__", str(annotation)))


def _default(value: Any) -> str:
    text = repr(value)
    if "<factory>" in text or " at 0x" in text:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="write the page")
    made = page()
    if asked.parse_args().write:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == made
    sys.stdout.write("current\n" if current else "stale: run python scripts/api_reference.py --write\n")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main())
