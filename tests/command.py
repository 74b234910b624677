"""Run the command line inside the test's process: what it returned and printed."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest

from queryveil.show import cli

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Outcome:
    code: object
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document of standard output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)


def command(*arguments: str) -> Outcome:
    """`queryveil ARGUMENTS`."""
    before = [signal.getsignal(one) for one in _HANDLED]
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            mock.patch.object(sys, "argv", ["queryveil", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            cli.run()
    finally:
        for one, handler in zip(_HANDLED, before, strict=True):
            signal.signal(one, handler)
    return Outcome(ended.value.code, out.getvalue(), err.getvalue())
