"""Writes docs/reference/methods.md from what the mechanisms declare, or checks that it is current.

python scripts/reference.py            prints the page
python scripts/reference.py --write    writes it
python scripts/reference.py --check    fails if it is not what the mechanisms declare
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil.parameters import Parameter, parameters

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "methods.md"
HEAD = """# Methods

What each method promises, takes and publishes, as it declares it itself. `python scripts/reference.py --write` makes
this page. [Commands](commands.md) has more about their options.
"""
_USERS = 1_000


def page() -> str:
    return "\n".join([HEAD, *(line for cls in qv.MECHANISMS.built_in.values() for line in section(cls))])


def section(cls: type[qv.Mechanism]) -> Iterator[str]:
    """One method: what it does, its options, its tables and its draws, the last two for its example."""
    plan = cls(**cls.example).plan(users=_USERS)
    yield from (f"## `{cls.name}`", "", f"{inspect.getdoc(cls)} [Proof](../proofs/{cls.name}.md).", "")
    yield from ("| option | default | what it is |", "|---|---|---|")
    for one in parameters(cls):
        yield f"| `{one.flag}` | {shown(one)} | {cell(described(one))} |"
    example = ", ".join(f"{name} {value}" for name, value in plan.parameters.items() if name in cls.example)
    yield from ("", f"With {example or 'no option'}: {plan.guarantee.headline}. {plan.what}.", "")
    for table in plan.tables:
        yield f"- Table `{table.name}`: {table.row} Columns: {', '.join(f'`{one}`' for one in table.names)}."
    for draw in plan.draws:
        most = (
            f"at most {draw.most:,} {draw.bounded} of each user"
            if draw.most
            else f"all {draw.bounded} of each user"
        )
        yield f"- Draw for {draw.of}: {draw.distribution}; {most}, sensitivity {draw.sensitivity:g} ({draw.norm})."
    yield ""


def shown(one: Parameter) -> str:
    if one.required:
        return "needed"
    value: Any = one.default
    if value is None or value is False:
        return ""
    return f"`{','.join(map(str, value)) if isinstance(value, tuple) else value}`"


def described(one: Parameter) -> str:
    """Return what an option is, which values it may have, and what its declaration adds for this page."""
    rule = one.declaration
    if rule.choices:
        limits = ", ".join(f"`{choice}`" for choice in rule.choices) + (", with commas" if rule.many else "")
    else:
        limits = ", ".join([*(["several, with commas"] if rule.many else []), *one.bounds(below=10**9)])
    return f"{rule.help}{f' ({limits})' if limits else ''}{f'. {rule.details}' if rule.details else ''}"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(words: list[str]) -> int:
    made = page()
    if "--write" in words:
        PAGE.write_text(made, encoding="utf-8")
    elif "--check" in words:
        current = PAGE.read_text(encoding="utf-8") == made
        sys.stdout.write(
            "current\n" if current else f"{PAGE.name} is not what the mechanisms declare: run --write\n"
        )
        return 0 if current else 1
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
