"""What a release says of a log that was read with `--segment`: by whose dictionaries its words were found."""

from __future__ import annotations

import dataclasses
from typing import Final

from queryveil.catalog import Sentence, paragraph
from queryveil.mechanisms import Plan

PARAMETER: Final = "segment"
"""Stands among the parameters of a release, if the log was read so; releases of other logs do not have it."""


def said(plan: Plan, segmented: bool) -> Plan:
    """The plan, which says so if words were found by dictionaries."""
    if not segmented:
        return plan
    return dataclasses.replace(
        plan,
        parameters={**plan.parameters, PARAMETER: True},
        how=paragraph(plan.how, Sentence("how.segmented")),
    )
