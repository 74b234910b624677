"""The commands by name, each loaded when it is called: what one needs, others do without.

A list of commands needs a sentence of each. It stands here, so that `--help` loads none of them; a test keeps it equal
to the command's own.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Any

import typer

from queryveil.plugins import Registry
from queryveil.show.cli.help import App, Group, alone

SENTENCES = {
    "demo": "Generate a log, look at its risk, publish its queries privately, verify, attack and evaluate the release.",
    "generate": "Write a synthetic log that looks like a real one, and a file that says where its secrets are.",
    "inspect": "Count what a log holds and how few queries single a person out. Nothing is published.",
    "convert": "Write a log in another format: Parquet, AOL, OpenSearch UBI or TSV. It stays as personal as it is.",
    "init": "Write a recipe, release.yaml: columns as guessed, method, parameters, budget, and what is said about it.",
    "plan": "Show parameters, thresholds and guarantee of a method, without any data.",
    "publish": "Publish a log privately: a release folder with tables, manifest, data sheet and report.",
    "evaluate": "Compare releases with the log that they were made from. The figures are for the curator.",
    "attack": "Attack a release or a log, and compare with a control.",
    "advise": "Recommend a method and parameters for a purpose, from a pilot on some of a log's users.",
    "release": "Check, sign and compare releases.",
    "report": "Write the report of a release: one page that needs no network. The folder itself is never changed.",
    "synthesize": "Draw a made-up search log from a released click graph, in the shape of a real log.",
    "serve": "Open the workbench in a browser: from a raw log to a signed-off release, on this machine alone.",
    "ledger": "The privacy budget of source logs.",
}


COMMANDS: Registry[Callable[[App], None]] = Registry(
    "commands", "command", {name: f"queryveil.show.cli.{name}:add_to" for name in SENTENCES}
)
"""What adds each command to an application. That of another package has a docstring, which help lists."""


class Lazy(Group):
    """A group whose commands are names and sentences until one of them is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        for name in COMMANDS.plugins:
            self.commands.setdefault(name, _list_command(name, COMMANDS[name]))
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self.list_commands(ctx)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, loaded(str(name)) if found is not None else None, rest


def _list_command(name: str, add: Callable[[App], None]) -> Any:
    """Return a command that only shows its sentence."""
    return alone(name, lambda app: app.command(name, help=getdoc(add))(_placeholder))


def add_to(app: typer.Typer) -> None:
    for name, sentence in SENTENCES.items():
        app.command(name, help=sentence)(_placeholder)


def loaded(name: str) -> Any:
    """A command with all its options."""
    return alone(name, COMMANDS[name])


def _placeholder() -> None:
    """Stands for a command that is not loaded."""
