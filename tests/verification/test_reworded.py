"""A sentence that is reworded makes no release fail that was published before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import queryveil as qv
from tests import mutations

HERE = Path(qv.__file__).parent
WORDED = {"k-query": "mechanisms/k_query.py", "zealous": "mechanisms/zealous/words.py"}
"""A module that says something in the release of each method."""


def verified(release: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """`release verify` by the queryveil of a folder."""
    script = "from queryveil.show.cli import run; run()"
    return subprocess.run(
        [sys.executable, "-c", script, "release", "verify", str(release)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def reworded(source: Path, release: Path, module: str) -> None:
    """One caveat that the release states, in other words, in the copy of a module."""
    file = source / "queryveil" / module
    text = file.read_text(encoding="utf-8")
    caveats = mutations.manifest_of(release)["guarantee"]["caveats"]
    said = [one["sentence"] for one in caveats]
    known = next(word for sentence in said for word in (sentence, sentence[:60]) if word in text)
    file.write_text(text.replace(known, "Put otherwise: " + known), encoding="utf-8")


@pytest.mark.parametrize("method", WORDED)
def test_a_release_passes_after_a_caveat_is_reworded(method: str, tmp_path: Path) -> None:
    release = tmp_path / "release"
    qv.publish(mutations.log(), mutations.METHODS[method], out=release, i_understand=True)
    source = tmp_path / "source"
    shutil.copytree(HERE, source / "queryveil", ignore=shutil.ignore_patterns("__pycache__"))
    before = verified(release, source)
    assert before.returncode == 0 and "reworded" not in before.stdout, before.stdout + before.stderr
    reworded(source, release, WORDED[method])
    after = verified(release, source)
    assert after.returncode == 0, after.stdout + after.stderr
    assert "their sentences were reworded since" in " ".join(after.stdout.split())
    content = mutations.manifest_of(release)
    content["guarantee"]["caveats"][0]["code"] = "another-code"
    mutations.write_again(release, content, with_documents=True)
    assert verified(release, source).returncode == 1


def test_words_of_modules_that_say_nothing_do_not_count(tmp_path: Path) -> None:
    """The digest is of the rooms that speak: what only computes may change without a release being called reworded."""
    release = tmp_path / "release"
    qv.publish(mutations.log(), mutations.METHODS["k-query"], out=release, i_understand=True)
    source = tmp_path / "source"
    shutil.copytree(HERE, source / "queryveil", ignore=shutil.ignore_patterns("__pycache__"))
    file = source / "queryveil" / "verification" / "rows.py"
    file.write_text(file.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    done = verified(release, source)
    assert done.returncode == 0 and "reworded" not in done.stdout
