"""One issue context executed for all of them, as an estimate."""

from __future__ import annotations

import pytest

import twill
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import steady_state_of


def interval(name: str, *, estimate: bool) -> tuple[float, StreamingMultiprocessor]:
    sm = StreamingMultiprocessor(twill.load_schedule(name), Conditions(), estimate=estimate)
    sm.run()
    steady = steady_state_of(sm)
    assert steady is not None
    return float(steady.interval), sm


@pytest.mark.parametrize("name", ["fa3_forward_128x128", "fa4_forward", "fa4_forward_rescaling"])
def test_an_estimate_executes_a_quarter_of_the_warps_and_is_near(name: str) -> None:
    exact, whole = interval(name, estimate=False)
    near, part = interval(name, estimate=True)
    assert len(part.warps) <= len(whole.warps)
    assert near == pytest.approx(exact, rel=0 if whole.in_step else 0.08)
    assert whole.in_step or part.instructions < 0.5 * whole.instructions
