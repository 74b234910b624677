"""`queryveil serve`: the workbench in a browser."""

from __future__ import annotations

import importlib.util
import os
import socket
from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.files import output, workspace
from queryveil.show.cli import console, options

PASSWORD = "QUERYVEIL_PASSWORD"  # noqa: S105 (the name of a variable)
"""The environment variable with the password, where no file holds it."""
_SHORTEST = 12
_NEEDED = ("starlette", "uvicorn", "multipart")

Folder = Annotated[
    list[Path] | None,
    typer.Option("--folder", metavar="DIR", help="Logs below this folder may be chosen; repeat for more."),
]
Releases = Annotated[
    Path, typer.Option("--releases", metavar="DIR", help="Folder that releases go to; made if it is missing.")
]
LedgerFile = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        help="Ledger to charge (default: ledger.db among the releases).",
        show_default=False,
    ),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Private key that signs releases, as for release sign."),
]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes any that is free.")
]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Open no browser: print the opening link alone.")
]
MostUpload = Annotated[
    float,
    typer.Option("--max-upload", metavar="GB", min=0.001, max=1000, help="Largest log that may be uploaded."),
]
AllowRemote = Annotated[
    bool, typer.Option("--allow-remote", help="Listen to other machines too; needs a password.")
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on, with --allow-remote.", show_default=False
    ),
]
Name = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="NAME", help="A name by which others call this machine; repeat for more."),
]
PasswordFile = Annotated[
    Path | None,
    typer.Option("--password-file", metavar="FILE", help=f"File with the password (or set {PASSWORD})."),
]


def add_to(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    folder: Folder = None,
    releases: Releases = Path("releases"),
    ledger: LedgerFile = None,
    key: Key = None,
    port: Port = 8765,
    no_browser: NoBrowser = False,
    max_upload: MostUpload = 2.0,
    allow_remote: AllowRemote = False,
    host: Host = None,
    name: Name = None,
    password_file: PasswordFile = None,
    as_json: options.Json = False,
) -> None:
    """Open the workbench in a browser: from a raw log to a signed-off release, on this machine alone."""
    _require_installed()
    password = _read_password(allow_remote, host, password_file)
    folders = [_allowed_folder(one) for one in folder or ()]
    if key is not None and not key.is_file():
        raise qv.UsageError(
            f"there is no key '{key}'", "make one with ssh-keygen -t ed25519, and name its file"
        )
    with output.disk_errors(releases, ""):
        releases.mkdir(parents=True, exist_ok=True)

    from queryveil.show.web import serving
    from queryveil.show.web.settings import LOOPBACK, Settings

    with workspace.temporary_folder() as home:
        settings = Settings(
            home=home,
            folders=tuple(folders),
            releases=releases.resolve(),
            ledger=ledger or str(releases.resolve() / "ledger.db"),
            key=key.resolve() if key else None,
            host=host or ("0.0.0.0" if allow_remote else LOOPBACK),  # noqa: S104 (asked for, with a password)
            port=port,
            names=tuple(one.lower() for one in name or ())
            or ((socket.gethostname().lower(),) if allow_remote else ()),
            password=password,
            most_upload=round(max_upload * 10**9),
        )
        if allow_remote:
            console.warn(
                "passwords and logs travel to other machines as they are, because the workbench speaks no TLS",
                "put a proxy with a certificate in front of it, or a tunnel such as ssh -L",
            )
        ready = (lambda link: console.as_json({"link": link})) if as_json else console.line
        serving.serve(settings, ready=ready, tell=_print_link, browser=not (no_browser or as_json))


def _print_link(link: str) -> None:
    """A new link, for whoever lost the first one."""
    console.warn("somebody used the opening link again", "if it was you, open this one")
    typer.echo(link, err=True)


def _require_installed() -> None:
    missing = [one for one in _NEEDED if importlib.util.find_spec(one) is None]
    if missing:
        raise qv.UsageError(
            "the workbench needs packages that are not installed",
            "run pip install 'queryveil[web]', then again",
        )


def _allowed_folder(given: Path) -> Path:
    if not given.is_dir():
        raise qv.UsageError(f"there is no folder '{given}'", "name a folder that has logs in it")
    return given.resolve()


def _read_password(remote: bool, host: str | None, file: Path | None) -> str | None:
    """The password that remote use needs; None on loopback."""
    if not remote:
        if host is not None or file is not None:
            raise qv.UsageError(
                f"{'--host' if host is not None else '--password-file'} is for use from other machines",
                "pass --allow-remote too, or leave it out",
            )
        return None
    found = os.environ.get(PASSWORD, "")
    if file is not None:
        try:
            found = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise qv.UsageError(
                f"the file of the password cannot be read ({type(error).__name__})", "check --password-file"
            ) from None
    if len(found) < _SHORTEST:
        raise qv.UsageError(
            f"use from other machines needs a password of {_SHORTEST} characters or more",
            f"write one into a file and pass --password-file FILE, or set {PASSWORD}",
        )
    return found
