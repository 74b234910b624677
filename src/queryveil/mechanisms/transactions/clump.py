"""Clump: k-anonymous transactions by clustering and least common generalisation.

After Milani Fard and Wang, An effective clustering approach to web query log anonymization. The rules that differ
from the paper's, and why, are in docs/decisions/0007-least-common-generalization.md; what is promised is in
docs/proofs/clump.md.
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

_RULES = ("r", "algorithm", "criterion", "order", "lcg", "distinct")
"""Parameters that say how groups are found."""


@dataclass(frozen=True, kw_only=True)
class Clump(Crowds):
    """Words as concepts that k users share, in clusters.

    Publish each user's words as concepts that at least k users share, in clusters that lose little.
    """

    name: ClassVar[str] = "clump"
    example: ClassVar[Mapping[str, Any]] = {"k": 5}

    r: int = param("open clusters that a transaction may choose from", ge=1, le=10**6, default=10)
    transactions: str = generalised.whose_transactions()
    taxonomy: str | None = generalised.taxonomy_file()
    whole_queries: bool = param(
        "treat a query as one item, not as words",
        default=False,
        group=COUNTED,
        details="For logs in which a query is a product or a tag, with a taxonomy of these",
    )
    algorithm: str = param(
        "equal transactions of k users first, then the better of two groupings; or only the paper's clusters",
        choices=("better", "paper"),
        default="better",
        details="`better` leaves transactions that k users share item for item as they are, and clusters the "
        "others all together or inside the groups of Partition, whichever loses less",
    )
    criterion: str = param(
        "join the cluster whose distortion rises least, or whose total is least (the paper's)",
        choices=("increase", "total"),
        default="increase",
    )
    order: str = param(
        "order of equally long transactions: by taxonomy, or by user and time",
        choices=("signature", "input"),
        default="signature",
    )
    lcg: str = param(
        "exact least common generalisation, or the paper's, which drops leftovers",
        choices=("exact", "paper"),
        default="exact",
        details="[Why the paper's drops leftovers](../decisions/0007-least-common-generalization.md)",
    )
    distinct: bool = param("remove duplicates from what is published", default=False)

    def vocabulary(self) -> generalised.Vocabulary:
        return generalised.Vocabulary.of(self.taxonomy, whole=self.whole_queries)

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised; it does not depend on the number of users."""
        return generalised.plan(self, self.algorithm, {name: getattr(self, name) for name in _RULES})

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        def group_bags(tree: Tree, bags: Bags, users: generalised.Codes) -> Grouping:
            from queryveil.mechanisms.transactions.algorithms import clump, crowds_first

            chosen = crowds_first if self.algorithm == "better" else clump
            rules: dict[str, Any] = {"criterion": self.criterion, "order": self.order, "lcg": self.lcg}
            return chosen(tree, bags, self.k, self.r, users=users, distinct=self.distinct, **rules)

        return generalised.publish(log, run, self.vocabulary(), self.transactions, group_bags)
