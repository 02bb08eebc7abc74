"""Hand-overs between two groups of four warps: simulated against measured on a B200.

Measured by facebookexperimental/triton #1913 with third_party/tlx/tools/microbench/
cross_wg_handoff.py at 1f88f10: two groups play ping-pong, half of a round is one way.
"""

from __future__ import annotations

import pytest

import twill
from tests.sim.test_hardware import by_hand
from tests.support.small import op, small_loop
from twill.artifacts.program import Arrive, Barrier, Instruction, Issue, Wait
from twill.sim.execute import run

MBARRIER, NAMED = 92, 30  # cycles
# Of a round in the benchmark, by its author's words; ours has none.
LOOP_OVERHEAD = 6


def one_way(schedule: twill.Schedule) -> float:
    """Return cycles from one group to the other."""
    interval = run(schedule).measured_interval_cycles
    assert interval is not None
    return interval / 2


@pytest.mark.parametrize(("kind", "measured"), [(None, MBARRIER), ("named", NAMED)])
def test_a_signal_takes_as_long_as_measured(kind: str | None, measured: int) -> None:
    arrivals = 1 if kind is None else 2  # a wait at a named barrier arrives
    barriers = tuple(
        Barrier.model_validate({"name": name, "slots": 1, "arrivals": arrivals, "kind": kind})
        for name in ("there", "back")
    )
    # The operations are issued while their group waits.
    programs: dict[str, list[Instruction]] = {
        "one": [Arrive(barrier="there"), Issue(operation="a"), Wait(barrier="back")],
        "two": [Wait(barrier="there"), Arrive(barrier="back"), Issue(operation="b")],
    }
    loop = small_loop([op("a", "fma"), op("b", "fma")])
    machine = twill.Machine.named("blackwell_b200")
    schedule = by_hand(loop, machine, programs, barriers, warps=4)
    assert measured - LOOP_OVERHEAD / 2 <= one_way(schedule) <= measured
