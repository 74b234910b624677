"""What the methods share that promise crowds: everything published is that of at least k users, without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import pyarrow as pa

from queryveil.mechanisms.base import (
    MOST_USERS,
    ROW_LOCAL,
    USER_IS_ACCOUNT,
    Mechanism,
    Plan,
    public_parameters,
)
from queryveil.parameters import PROMISES, param, validate
from queryveil.privacy.declarations import PublishedTable
from queryveil.privacy.guarantee import K_ANONYMITY, Guarantee
from queryveil.privacy.statements import Statement

TEXT_LISTS: Final = pa.list_(pa.field("element", pa.string()))
"""The type of lists of texts. Parquet names the members `element`, so the type is the same after writing."""


@dataclass(frozen=True, kw_only=True)
class Crowds(Mechanism):
    """The parameter k. What is promised does not depend on the number of users of a log."""

    needs_users: ClassVar[bool] = False

    k: int = param(
        "users who must share everything that is published",
        ge=2,
        le=MOST_USERS,
        group=PROMISES,
        details="If the log has fewer users, the exit code is 5",
    )

    def __post_init__(self) -> None:
        validate(self)


def crowd_plan(
    mechanism: Mechanism,
    k: int,
    shared: str,
    *,
    assumed: tuple[Statement, ...] = (),
    caveats: tuple[Statement, ...],
    table: PublishedTable,
    what: str,
    how: str,
    assessment: tuple[Statement, ...],
    taxonomy: str = "",
) -> Plan:
    """The plan of a method that publishes nothing but what k users share. `assumed` adds to what all of them assume."""
    return Plan(
        method=mechanism.name,
        parameters=public_parameters(mechanism),
        calibration={},
        guarantee=Guarantee(
            kind=K_ANONYMITY,
            k=k,
            shared=shared,
            assumptions=(ROW_LOCAL, USER_IS_ACCOUNT, *assumed),
            caveats=caveats,
        ),
        tables=(table,),
        what=what,
        how=how,
        taxonomy=taxonomy,
        assessment=assessment,
    )
