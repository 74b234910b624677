"""Installs small packages with entry points into a folder, without a build or a network."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "write-a-plugin.md"


def block(kind: str) -> str:
    """Return the block of a language in the guide to plugins."""
    found = re.search(rf"```{kind}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, f"the guide has no block of {kind}"
    return found[1]


def install(site: Path, project: str, **modules: str) -> Path:
    """Install a project into a folder, as pip would: its modules, and its metadata with entry points.

    Args:
        site: A folder for the path of Python.
        project: The text of pyproject.toml.
        modules: Names of modules, and their sources.

    Returns:
        The folder.
    """
    stated = tomllib.loads(project)["project"]
    site.mkdir(exist_ok=True)
    for name, source in modules.items():
        (site / f"{name}.py").write_text(source, encoding="utf-8")
    info = site / f"{stated['name'].replace('-', '_')}-{stated['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {stated['name']}\nVersion: {stated['version']}\n"
    )
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in listed.items())
        for group, listed in stated["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    return site
