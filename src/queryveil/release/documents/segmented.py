"""What a release says of a log that was read with `--segment`: by whose dictionaries its words were found."""

from __future__ import annotations

import dataclasses
from typing import Final

from queryveil.mechanisms import Plan

PARAMETER: Final = "segment"
"""Stands among the parameters of a release, if the log was read so; releases of other logs do not have it."""
_HOW: Final = (
    "Words of Chinese, Japanese, Thai and other scripts without blanks were found by ICU's dictionaries, in each query "
    "by itself."
)


def said(plan: Plan, segmented: bool) -> Plan:
    """The plan, which says so if words were found by dictionaries."""
    if not segmented:
        return plan
    return dataclasses.replace(
        plan, parameters={**plan.parameters, PARAMETER: True}, how=f"{plan.how} {_HOW}".strip()
    )
