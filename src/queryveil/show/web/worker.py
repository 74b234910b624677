"""The process of one job: does what its folder asks for, and writes there how far it is and how it ended.

python -m queryveil.show.web.worker FOLDER
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from queryveil.errors import QueryveilError, render_all
from queryveil.files import interruptions, memory
from queryveil.show.web import tasks
from queryveil.show.web.labels import as_field

_OFTEN = 0.1


class Told:
    """How far a job is, for whoever asks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stages: list[dict[str, str]] = []
        self._share: float | None = None
        self._last = 0.0

    def stage(self, name: str, sentence: str = "") -> None:
        """A stage begins, or says what it found."""
        if self._stages and self._stages[-1]["name"] == name:
            self._stages[-1]["said"] = sentence or self._stages[-1]["said"]
        else:
            self._stages.append({"name": name, "said": sentence})
            self._share = None
        self._write()

    def progress(self, done: int, whole: int) -> None:
        self._share = done / whole if whole else None
        if time.monotonic() - self._last > _OFTEN:
            self._write()

    def _write(self) -> None:
        self._last = time.monotonic()
        write(self._folder, "progress", {"stages": self._stages, "share": self._share})


def write(folder: Path, name: str, document: Any) -> None:
    """At once: a reader sees the whole of it or nothing."""
    made = folder / f".{name}.new"
    made.write_text(json.dumps(document, default=str), encoding="utf-8")
    made.chmod(0o600)
    made.replace(folder / f"{name}.json")


def _request_stop(*_: object) -> None:
    raise KeyboardInterrupt


def _watch_parent() -> None:
    """End with the workbench: its end of our input is closed when it is gone, however that came."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


def main(folder: Path) -> int:
    """Do one job; the exit code is 0 if there is a result."""
    for one in interruptions.SIGNALS:
        signal.signal(one, _request_stop)
    _watch_parent()
    memory.limit_reservations()
    with interruptions.track_results() as stands:
        try:
            asked = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
            result = tasks.TASKS[asked.pop("kind")](asked, Told(folder), folder)
        except KeyboardInterrupt:
            write(
                folder,
                "error",
                {
                    "kind": "interrupted",
                    "message": "stopped",
                    "hint": stands.remaining_work(),
                    "charged": stands.charged,
                },
            )
            return 130
        except QueryveilError as error:
            write(folder, "error", error.as_dict(as_field) | {"charged": stands.charged})
            return error.exit_code
        except BaseException as error:
            if os.environ.get("QUERYVEIL_DEBUG"):
                raise
            scarce = memory.is_out_of_memory(error)
            said = (
                "there is not enough memory for this"
                if scarce
                else (f"queryveil failed in a way it should not ({type(error).__name__})")
            )
            hint = (
                "ask for less at a time"
                if scarce
                else "report it; QUERYVEIL_DEBUG=1 shows details on the terminal"
            )
            write(
                folder,
                "error",
                {"kind": "internal", "message": said, "hint": hint, "charged": stands.charged},
            )
            return 70
        for one in interruptions.SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        write(folder, "result", render_all(result, as_field))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
