"""The configuration of hosted services, which cannot run here: it matches its schemas and names what exists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner
from pre_commit import clientlib

ROOT = Path(__file__).parent.parent.parent
HOSTED = ROOT / ".github"
WORKFLOWS = sorted((HOSTED / "workflows").iterdir())
SCHEMAS = {
    **dict.fromkeys(WORKFLOWS, "vendor.github-workflows"),
    **dict.fromkeys((HOSTED / "ISSUE_TEMPLATE").iterdir(), "vendor.github-issue-forms"),
    HOSTED / "ISSUE_TEMPLATE" / "config.yml": "vendor.github-issue-config",
    HOSTED / "dependabot.yml": "vendor.dependabot",
    ROOT / "CITATION.cff": "vendor.citation-file-format",
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


def matches(schema: str, file: Path) -> bool:
    arguments = ["--builtin-schema", schema, "--force-filetype", "yaml", str(file)]
    return CliRunner().invoke(check_jsonschema.main, arguments).exit_code == 0


def steps(file: Path) -> Iterator[dict[str, Any]]:
    for job in read(file)["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.name)
def test_file_matches_its_schema(file: Path) -> None:
    assert matches(SCHEMAS[file], file)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_job_has_a_time_limit(file: Path) -> None:
    assert matches("custom.github-workflows-require-timeout", file)


def test_file_with_a_misspelled_key_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "test.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    assert not matches("vendor.github-workflows", broken)


def test_every_hosted_yaml_file_has_a_schema() -> None:
    assert set(HOSTED.rglob("*.yml")) | set(HOSTED.rglob("*.yaml")) <= set(SCHEMAS)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflow_pins_actions_and_can_only_read_by_default(file: Path) -> None:
    assert read(file)["permissions"] == {"contents": "read"}
    for reference in (step["uses"] for step in steps(file) if "uses" in step):
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})", reference), reference


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflow_calls_targets_that_exist(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {name for step in steps(file) for name in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert called and called <= targets


def test_every_python_from_the_oldest_supported_on_is_tested() -> None:
    versions = read(HOSTED / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    oldest = int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1])
    assert versions == [f"3.{minor}" for minor in range(oldest, oldest + len(versions))]
    assert len(versions) == 4


def test_only_the_publishing_job_obtains_an_identity_for_the_index() -> None:
    jobs = read(HOSTED / "workflows" / "release.yml")["jobs"]
    publishing = [name for name, job in jobs.items() if "environment" in job]
    assert publishing == ["publish"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (HOSTED / "workflows" / "release.yml").read_text()


def test_hooks_are_valid_and_run_the_pinned_tools() -> None:
    # A hook from another repository would bring its own version of the tool, and the address of its host.
    hooks = clientlib.load_config(str(ROOT / ".pre-commit-config.yaml"))
    assert {repository["repo"] for repository in hooks["repos"]} == {"local"}


def test_citation_has_the_version_and_license_of_the_package() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])


def test_no_host_is_named() -> None:
    for file in [*SCHEMAS, ROOT / ".pre-commit-config.yaml", ROOT / ".editorconfig"]:
        assert not re.search(r"https?://", file.read_text()), file
