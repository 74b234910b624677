"""Partition: k-anonymous transactions by drilling a cut through the taxonomy from the root.

After He and Naughton, Anonymization of set-valued data via top-down, local generalization; the peer that Clump is
compared with. What is promised is in docs/proofs/partition.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.mechanisms.base import Plan, Run, need_users
from queryveil.mechanisms.crowds import Crowds
from queryveil.mechanisms.transactions import generalised
from queryveil.parameters import COUNTED, param

if TYPE_CHECKING:
    from queryveil.mechanisms.transactions.algorithms import Bags, Grouping, Tree
    from queryveil.reading.log import SearchLog


@dataclass(frozen=True, kw_only=True)
class Partition(Crowds):
    """Words as concepts that k users share, cut from the top.

    Publish each user's words as concepts that at least k users share, cut from the top of the taxonomy.
    """

    name: ClassVar[str] = "partition"
    example: ClassVar[Mapping[str, Any]] = {"k": 5}

    transactions: str = generalised.whose_transactions()
    taxonomy: str | None = generalised.taxonomy_file()
    whole_queries: bool = param(
        "treat a query as one item, not as words",
        default=False,
        group=COUNTED,
        details="For logs in which a query is a product or a tag, with a taxonomy of these",
    )

    def vocabulary(self) -> generalised.Vocabulary:
        return generalised.Vocabulary.of(self.taxonomy, whole=self.whole_queries)

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised; it does not depend on the number of users."""
        return generalised.plan(self, "partition", {})

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        def group_bags(tree: Tree, bags: Bags, users: generalised.Codes) -> Grouping:
            from queryveil.mechanisms.transactions.algorithms import partition

            return partition(tree, bags, self.k, users=users)

        return generalised.publish(log, run, self.vocabulary(), self.transactions, group_bags)
