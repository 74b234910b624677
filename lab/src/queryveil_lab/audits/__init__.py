"""Audits mechanisms: tries to refute what they promise, on neighbouring logs that are built to hurt them.

Three small protocols make an audit: a shape builds neighbouring worlds from what a mechanism declares (`shapes`), a
runner runs the mechanism on a world many times (`whole`, `steps`, `phrases`), and a trial judges what came out
(`trials`, with `events` and `statistics`). Each can be replaced by passing another object.

May import: queryveil, charts.
"""

from __future__ import annotations
