"""How much k-anonymous transactions (Clump, Partition) keep of the log's.

All but one of the figures need no groups: the distortion is what published concepts lose, and how many fewer items are
published than the log has. Only NCP asks which transaction became which; that was noted in the private folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import InputError, argument
from queryveil.measure.measure import HIGHER, LOWER, NEITHER, Measure, Original, Released, Stated
from queryveil.measure.published import private_table
from queryveil.mechanisms.transactions.generalised import TRANSACTIONS, Coded, Vocabulary, code
from queryveil.parameters import param
from queryveil.privacy.declarations import QUERIES

_TABLE = "transactions"


@dataclass(frozen=True, kw_only=True)
class TransactionQuality(Measure):
    """transaction-quality: GGD per item, 0 if nothing is lost, 1 if everything is."""

    name: ClassVar[str] = "transaction-quality"
    help: ClassVar[str] = "what published concepts lose, and 1 for every suppressed item, per item (GGD)"
    unit: ClassVar[str] = "loss"
    direction: ClassVar[str] = LOWER
    parts: ClassVar[dict[str, Stated]] = {
        "ncp": Stated("loss", LOWER, "what the lowest published concept above an item loses, per item"),
        "floor": Stated("loss", NEITHER, "GGD per item if everything were published unchanged"),
        "suppressed": Stated("share", LOWER, "items of the log that no published item stands for"),
        "mean-length": Stated("items", HIGHER, "items of a published transaction"),
        "mean-level": Stated("level", HIGHER, "level of a published concept, the root being 1"),
        "density": Stated("share", NEITHER, "mean length over the leaves of the taxonomy"),
    }

    taxonomy: str | None = param(
        "file of child and parent that the release was made with; WordNet's nouns if left out",
        path=True,
        default=None,
    )

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        declared = (one.rows_of for one in release.release.plan.tables if one.name == _TABLE)
        if next(declared, "") in TRANSACTIONS and _TABLE in release.release.tables:
            return None
        return "the release has no transactions of concepts", "use publish clump or publish partition"

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        declared = release.release.plan.table(_TABLE)
        kind, whole = declared.rows_of, declared.items_of == QUERIES
        coded = original.compute_once(
            ("coded", kind, whole, self.taxonomy),
            lambda: code(original.log, Vocabulary.of(self.taxonomy, whole=whole), kind),
        )
        table = release.release.tables[_TABLE]
        shown = _published_concepts(table, coded, release.name)
        tree, items = coded.tree, max(1, len(coded.bags.items))
        lost = float(tree.weights[shown].sum()) / tree.scale
        length = len(shown) / max(1, table.num_rows)
        found = {
            "": (lost + items - len(shown)) / items,
            "ncp": _noted_ncp(release),
            "floor": float(tree.weights[coded.bags.items].sum()) / tree.scale / items,
            "suppressed": 1 - len(shown) / items,
            "mean-length": length,
            "mean-level": float((tree.depth[shown] + 1).mean()) if len(shown) else None,
            "density": length / tree.leaves,
        }
        return {f"{self}/{part}" if part else str(self): value for part, value in found.items()}


def _published_concepts(table: pa.Table, coded: Coded, name: str) -> np.ndarray:
    """The published items as concepts of the log's own part of the taxonomy."""
    labels = pc.list_flatten(table["items"]).combine_chunks().dictionary_encode()
    nodes = [coded.taxonomy.find_label(label) for label in labels.dictionary.to_pylist()]
    if None in nodes:
        raise InputError(
            f"'{name}' has concepts that no word of this log has in this taxonomy",
            f"name the log that it was made from, and its taxonomy with {argument('taxonomy')} if it was not WordNet",
        )
    return np.array(nodes, dtype=np.int64)[labels.indices.to_numpy()] if nodes else np.empty(0, np.int64)


def _noted_ncp(release: Released) -> float | None:
    noted = private_table(release.release, "quality", ["measure", "value"])
    if noted is None:
        return None
    value: float | None = dict(
        zip(noted["measure"].to_pylist(), noted["value"].to_pylist(), strict=True)
    ).get("ncp_per_item")
    return value
