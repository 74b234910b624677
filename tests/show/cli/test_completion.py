"""What the tab key gives: commands, methods, options and their values, and no old spelling."""

from __future__ import annotations

import pytest

import queryveil as qv
from queryveil.show.cli.commands import COMMANDS
from tests.command import command


def completed(typed: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = ["queryveil", *typed.split(" ")]
    monkeypatch.setenv("_QUERYVEIL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    outcome = command()
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split()


CASES = {
    "": list(COMMANDS),
    "publ": ["publish"],
    "publish ": list(qv.MECHANISMS),
    "plan k-": ["k-query", "k-session", "k-keyword"],
    "publish log.tsv --method clu": ["clump"],
    "publish zealous --items ": list(qv.KINDS),
    "publish zealous --items queries,k": ["queries,keywords"],
    "publish zealous --keep f": ["first", "frequent"],
    "publish zealous --max-": ["--max-items", "--max-clicks", "--max-rejected"],
    "publish zealous log.tsv --format t": ["tsv"],
    "publish zealous lo": [],  # a file, which the shell completes itself
    "attack l": ["linkage"],
    "release ": ["verify", "sign", "diff", "review", "withhold", "export"],
    "advise log.tsv --purpose ca": ["caching"],
    "compare log.tsv --study gap": ["gap"],
    "evaluate log.tsv out --metric coverag": ["coverage"],
    "generate out.tsv --setting s": ["small", "small@1", "small@2"],
}


@pytest.mark.parametrize("typed", CASES)
def test_the_tab_key_gives_what_fits(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed(typed, monkeypatch) == CASES[typed]


def test_the_script_for_a_shell_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_QUERYVEIL_COMPLETE", "source_bash")
    outcome = command()
    assert outcome.code == 0 and "complete -o default -F _queryveil_completion queryveil" in outcome.out
