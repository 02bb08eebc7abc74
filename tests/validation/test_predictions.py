"""Simulated intervals against kernels that were measured on an H200."""

from __future__ import annotations

import statistics
from pathlib import Path

from tests.validation import predictions
from tests.validation.tables import read

ROWS = {row["kernel"]: row for row in read("predictions")}
SPILLED = "spills or serialized products"


def errors(*kinds: str) -> list[float]:
    """Return the errors of simulated intervals, without kernels of some kinds."""
    return [
        abs(float(row["simulated"]) / float(row["measured"]) - 1)
        for row in ROWS.values()
        if row["kind"] not in kinds
    ]


def test_the_simulated_sm_is_as_exact_as_it_says() -> None:
    assert len(ROWS) == 37
    assert statistics.median(errors()) <= 0.1
    assert statistics.median(errors("products alone")) <= 0.15
    # What a compiler spills or serializes, no schedule shows.
    assert max(errors(SPILLED)) <= 0.3


def test_machine_code_is_as_exact_as_it_says() -> None:
    off = [abs(float(row["predicted"]) / float(row["measured"]) - 1) for row in ROWS.values()]
    assert statistics.median(off) <= 0.04
    assert sum(error <= 0.1 for error in off) >= 0.9 * len(off)


def test_the_recorded_intervals_are_those_of_today(tmp_path: Path) -> None:
    predictions.unpacked(str(tmp_path))
    for kernel in ("fa_fwd_hopper__static", "paged_decode__quick0", "gemm_geglu_hopper__quick0"):
        found = predictions.simulated(str(tmp_path), kernel)
        assert found == float(ROWS[kernel]["simulated"])
