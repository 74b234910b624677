"""Results of the lab are shown like those of queryveil."""

from __future__ import annotations

import queryveil as qv
import queryveil_lab as lab
from tests.contract.test_shown_results import check_card


def test_lines_are_short_and_cards_are_escaped() -> None:
    method = qv.Zealous(epsilon=1, delta=1e-6, max_items=1)
    audit = lab.audit(method, users=100, runs=2_000, workers=1, whole_path=False)
    check_card("Audit", audit)
    check_card("AuditTable", lab.AuditTable(audits={"zealous": audit.as_dict()}))
    check_card("Comparison", lab.compare(None, "release-probability"))
