"""What a workbench was started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MOST_UPLOAD = 2 * 10**9
"""Bytes of one uploaded log, unless it is said."""
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Where logs come from, where releases go, and who may come in."""

    home: Path
    """A folder for its owner alone, gone at the end: uploads, pilots, results of jobs."""
    folders: tuple[Path, ...] = ()
    """Logs below these may be chosen."""
    releases: Path = Path("releases")
    """Where releases and the journal of jobs go."""
    ledger: str = "releases/ledger.db"
    key: Path | None = None
    """The private key that signs releases, if there is one."""
    host: str = LOOPBACK
    port: int = 8765
    names: tuple[str, ...] = ()
    """Names by which others may call this machine; addresses in figures need none."""
    password: str | None = None
    """Whoever has it comes in; None on loopback, where the opening link lets one browser in."""
    most_upload: int = MOST_UPLOAD
    seconds_per_chunk: float = 20.0
    """A client that sends nothing for so long, or very little for longer, is cut off."""

    @property
    def remote(self) -> bool:
        return self.password is not None

    @property
    def uploads(self) -> Path:
        return self.home / "uploads"

    @property
    def jobs(self) -> Path:
        return self.home / "jobs"

    @property
    def pilots(self) -> Path:
        return self.home / "pilots"

    @property
    def private(self) -> Path:
        """What is kept from one start to the next: names and states of jobs, nothing of a log."""
        return self.releases / "workbench.private"
