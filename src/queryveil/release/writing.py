"""A release folder and its private folder, written under temporary names and shown when they are whole."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.catalog import to_data
from queryveil.files import appearing, folder, output
from queryveil.release.documents import rendering


class Target:
    """A release folder being written under a temporary name."""

    def __init__(self, release: Path, public: Path, private: Path) -> None:
        self.release = release
        self.public = public
        self.private = private
        self.public.mkdir()
        self.private.mkdir(mode=0o700)
        self.filled = False

    def fill(
        self, manifest: dict[str, Any], tables: Mapping[str, pa.Table], private: Mapping[str, Any]
    ) -> None:
        with output.disk_errors(self.release):
            self._fill_public(manifest, tables)
            self._fill_private({folder.IMPACT: rendering.render_impact(manifest), **private})
        self.filled = True

    def _fill_public(self, manifest: dict[str, Any], tables: Mapping[str, pa.Table]) -> None:
        files: dict[str, dict[str, Any]] = {}
        for name, table in tables.items():
            file = self.public / folder.table_file(name)
            folder.write_table(table, file)
            files[file.name] = {"rows": table.num_rows}
        manifest["files"] = files
        self._digest(files, *files)
        for name, content in rendering.render_documents(manifest, tables):
            (self.public / name).write_bytes(content)
        (self.public / folder.MANIFEST).write_text(folder.as_json(to_data(manifest)), encoding="utf-8")

    def _digest(self, files: dict[str, dict[str, Any]], *names: str) -> None:
        for name in names:
            file = self.public / name
            files[name] = {"sha256": folder.file_digest(file), "bytes": file.stat().st_size} | files.get(
                name, {}
            )

    def _fill_private(self, private: Mapping[str, Any]) -> None:
        for name, content in private.items():
            if isinstance(content, pa.Table):
                pq.write_table(content, self.private / folder.table_file(name), compression="zstd")
            elif isinstance(content, Path):
                shutil.copyfile(content, self.private / folder.table_file(name))
            elif isinstance(content, str):
                (self.private / name).write_text(content, encoding="utf-8")
            else:
                (self.private / f"{name}.json").write_text(folder.as_json(content), encoding="utf-8")
        for file in self.private.iterdir():
            file.chmod(0o600)


@contextlib.contextmanager
def writing(release: Path, apart: Path | None = None) -> Iterator[Target]:
    """Claim an output folder; it appears complete at the end, or not at all."""
    output.new_release(release, apart)
    with contextlib.ExitStack() as stack:
        with output.disk_errors(release):
            # Private folder first: once the release is there, everything is.
            claims = stack.enter_context(
                appearing.claim_paths(apart or folder.private_folder(release), release)
            )
            output.new_release(release, apart)  # again, now that nobody else can make it
            private, public = claims
            target = Target(release, public.content, private.content)
        yield target
        if target.filled:
            with output.disk_errors(release):
                claims.publish_claims(f"the release stands complete in '{release}'")
