"""The fixtures of the tests of queryveil, which the tests of the lab share."""

from __future__ import annotations

from tests.conftest import (
    _nothing_left_by_earlier_tests,
    _temporary_files_of_this_worker,
    generated,
    generated_few,
    spark,
    tiny,
)

__all__ = [
    "_nothing_left_by_earlier_tests",
    "_temporary_files_of_this_worker",
    "generated",
    "generated_few",
    "spark",
    "tiny",
]
