"""Files that are made to hurt: refused, or harmless. `benchmarks/hostile_input.py` makes them in their real sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import command
from tests.fuzz.traps import TRAPS, Trap, harm

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "hostile-input.md"


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_a_trap_does_no_harm(trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a" / "b" / "c"
    place.mkdir(parents=True)
    words = trap.make(place, 0.01)
    monkeypatch.chdir(place)
    done = command(*words.split(" "))
    assert harm(trap, place, int(done.code or 0), done.out + done.err) == "", done  # type: ignore[call-overload]


def test_the_page_has_every_trap() -> None:
    page = PAGE.read_text()
    assert [trap.name for trap in TRAPS if f"| {trap.name} |" not in page] == []
    assert "HARM" not in page


def test_harm_is_seen(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b" / "c"
    (place / "sheets").mkdir(parents=True)
    trap = TRAPS[0]
    assert harm(trap, place, 0, "fine") == ""
    assert "exit code 70" in harm(trap, place, 70, "")
    assert "escape" in harm(trap, place, 0, "\x1b[2J")
    (place / "sheets" / "a.csv").write_text("query\n=cmd()\n")
    assert "a formula" in harm(trap, place, 0, "")
