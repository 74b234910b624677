"""The notebooks run from top to bottom, in an empty folder, and show cards and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def test_both_readers_have_one() -> None:
    assert [one.stem for one in NOTEBOOKS] == ["researcher", "steward"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_it_is_stored_without_outputs(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the kernel's own libraries
def test_it_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book: Any = nbformat.read(notebook, as_version=4)
    NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [one for cell in book.cells if cell.cell_type == "code" for one in cell.outputs]
    assert not [one for one in shown if one.output_type in ("error", "stream")]
    kinds = [set(one.data) for one in shown if "data" in one]
    assert sum("text/html" in one for one in kinds) >= 3 and any("image/svg+xml" in one for one in kinds)
    assert (tmp_path / "release" / "manifest.json").is_file()
