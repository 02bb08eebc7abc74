"""Every change of a line of synchronisation is caught, but for those that another line implies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit.mutants import Judge, mutants
from tests.emit.test_emit import written

IMPLIED = {
    "gemm_blackwell": [
        # One product hands back both slots, and the load waits for the other one first.
        ("wait left out", "mbarrier.wait(a_empty"),
    ],
    "gemm_two_tiles_hopper": [
        # The load waits for a1, then b, then a0: one of its waits implies what the next would tell.
        ("wait left out", "mbarrier.wait(a0_empty"),
        ("arrive before wait", "mbarrier.arrive(b_empty"),
        ("arrive before wait", "mbarrier.arrive(a0_empty"),
        # Both slots of b are handed back a load later, which comes before the one that needs it.
        ("slot shifted", "mbarrier.arrive(b_empty"),
        # compute0 waits for b before it lets compute1 issue its product.
        ("wait left out", "mbarrier.wait(b_full"),
        # Turns on the tensor core.
        ("arrive before access", "mbarrier.arrive(c1_issued"),
        ("arrive before access", "mbarrier.arrive(c0_issued"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IMPLIED)
def test_what_survives_is_implied_by_another_line(name: str, tmp_path: Path) -> None:
    judge = Judge(written(name, tmp_path), tmp_path)
    survived = [m for m in mutants(judge.text) if judge.judge(m).run is None]
    found = sorted((mutant.kind, mutant.was.partition(".index(")[0]) for mutant in survived)
    assert found == sorted(IMPLIED[name])


def test_no_mutant_is_the_kernel_and_no_two_are_the_same(tmp_path: Path) -> None:
    text = written("gemm_persistent_hopper", tmp_path).read_text()
    every = list(mutants(text))
    assert len({mutant.text for mutant in every} | {text}) == len(every) + 1
    assert {"product wait left out", "one product more in flight"} < {m.kind for m in every}
