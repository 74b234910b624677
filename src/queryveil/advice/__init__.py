"""Advises which method and parameters fit a purpose, from a pilot on some of a log's users.

A purpose is a frozen value, registered by one line in `registry.py`. It names the settings worth trying, tries them
on the pilot and says what it recommends. Looking at a log to choose parameters is covered by no guarantee; the advice
says so.

May import: errors, parameters, files, display, reading, count, privacy, mechanisms, release, measure.
"""

from __future__ import annotations

from queryveil.advice.asking import advice_request, advise, find_purpose
from queryveil.advice.beginning import init
from queryveil.advice.preview import PilotCounts, Preview
from queryveil.advice.proposal import Proposal, propose
from queryveil.advice.purpose import Advice, Option, Purpose, Wanted
from queryveil.advice.registry import PURPOSES

__all__ = [
    "PURPOSES",
    "Advice",
    "Option",
    "PilotCounts",
    "Preview",
    "Proposal",
    "Purpose",
    "Wanted",
    "advice_request",
    "advise",
    "find_purpose",
    "init",
    "propose",
]
