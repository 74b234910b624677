"""The Dockerfile, as far as it can be checked without a daemon: its shape, its files, and its commands."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_it_builds_the_wheel_and_installs_nothing_else() -> None:
    made = instructions()
    assert [name for name, _ in made if name == "FROM"] == ["FROM", "FROM"]
    assert {name for name, _ in made} <= {
        *("FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"),
    }
    copied = [shlex.split(rest)[:-1] for name, rest in made if name == "COPY" and "--from" not in rest]
    for source in (one for some in copied for one in some):
        assert (ROOT / source).exists(), source
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = {one for some in copied for one in some}
    assert {"pyproject.toml", "src", needed["readme"], "constraints.txt", "LICENSE"} <= sources


def test_it_needs_no_rights_and_runs_our_command() -> None:
    made = instructions()
    users = [rest for name, rest in made if name == "USER"]
    assert users and users[-1] != "root"
    assert ("ENTRYPOINT", '["queryveil"]') in made
    after = [name for name, _ in made][[name for name, _ in made].index("USER") :]
    assert "RUN" not in after  # nothing is installed as somebody else


def test_python_of_the_image_is_one_that_the_package_takes() -> None:
    images = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(set(images)) == 1
    version = re.fullmatch(r"python:3\.(\d+)-slim", images[0])
    assert version and int(version[1]) >= 11
    assert {".git", ".venv", "*.private"} <= set((ROOT / ".dockerignore").read_text().split())
