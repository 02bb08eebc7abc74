"""What warps know of each other after single events, told by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.test_races import ring
from twill.sim.checks.vector_clocks import HappenedBefore, OperationClock, knows
from twill.sim.engine.events import Arrived, Issued, Met, SimulationError, Waited
from twill.sim.engine.work import works

EMPTY, FULL = "load.empty", "load.full"


class Told:
    """Happened-before of a ring of a loader of one warp and a group of four."""

    def __init__(self) -> None:
        schedule = ring()
        self.order = HappenedBefore(schedule, works(schedule.loop, schedule.machine))

    def issue(self, iteration: int, warp: int = 0) -> OperationClock:
        """Let a warp of the group issue the sum."""
        handler = self.order.handlers[Issued]
        handler(Issued("compute", warp, "sum", iteration, "ALU", 0.0, 0.0))
        return self.order.execution("sum", iteration)

    def arrive(self, iteration: int, warp: int = 0) -> None:
        """Let a warp of the group arrive at the barrier of an empty slot."""
        event = Arrived(EMPTY, iteration, "compute", warp, "", 0.0, 0.0)
        self.order.handlers[Arrived](event)

    def wait(self, iteration: int) -> None:
        """Let the loader wait for it."""
        self.order.handlers[Waited](Waited("loader", 0, "barrier", EMPTY, iteration, 0.0))

    def known(self, execution: OperationClock, group: str = "loader", warp: int = 0) -> bool:
        """Return whether a warp knows that an operation was issued."""
        return knows(self.order.clocks[self.order.agents[group, warp]], execution.issued)


def test_all_epochs_have_to_be_known() -> None:
    clock = np.array([3, 1], np.int64)
    assert knows(clock, {})
    assert knows(clock, {0: 3, 1: 1})
    assert not knows(clock, {0: 3, 1: 2})
    assert not knows(clock, {0: 4, 1: 1})


def test_a_waiter_knows_what_came_before_the_arrival_and_nothing_after_it() -> None:
    told = Told()
    before = told.issue(0)
    assert not told.known(before)
    told.arrive(0)
    after = told.issue(1)
    assert not told.known(before)
    told.wait(0)
    assert told.known(before)
    assert not told.known(after)


def test_a_waiter_knows_of_the_warps_that_arrived_only() -> None:
    told = Told()
    first, second = told.issue(0, warp=0), told.issue(1, warp=1)
    told.arrive(0, warp=0)
    told.wait(0)
    assert told.known(first)
    assert not told.known(second)


def test_warps_that_met_know_of_each_other_up_to_there() -> None:
    told = Told()
    before = told.issue(0, warp=1)
    assert not told.known(before, "compute", 2)
    told.order.handlers[Met](Met("compute", 0.0))
    after = told.issue(1, warp=1)
    assert told.known(before, "compute", 2)
    assert not told.known(after, "compute", 2)


def test_an_arrival_for_the_next_phase_has_to_come_after_this_one() -> None:
    told = Told()
    load = Arrived(EMPTY, 2, "loader", 0, "", 0.0, 0.0)
    told.arrive(0)
    with pytest.raises(SimulationError, match="either may count for the other's phase"):
        told.order.handlers[Arrived](load)
    told = Told()
    told.arrive(0)
    told.wait(0)
    told.order.handlers[Arrived](load)


def test_a_phase_has_to_come_after_the_waits_for_the_one_before() -> None:
    told = Told()
    told.arrive(0)
    told.wait(0)
    told.arrive(2)  # which knows nothing of the wait
    with pytest.raises(SimulationError, match="one that is late finds the wrong phase"):
        told.wait(2)
