"""mbarriers: one for each slot, each with phases that complete after enough arrivals."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import simpy

from twill.artifacts.schedule import Barrier
from twill.sim.errors import SimulationError


class Barriers:
    """All barriers of a program.

    Parameters
    ----------
    environment : simpy.Environment
        The clock.
    declared : iterable of Barrier
        The schedule's barriers.
    """

    def __init__(self, environment: simpy.Environment, declared: tuple[Barrier, ...]) -> None:
        self._environment = environment
        self._declared = {barrier.name: barrier for barrier in declared}
        self._completed: dict[tuple[str, int], int] = defaultdict(int)
        self._arrived: dict[tuple[str, int], int] = defaultdict(int)
        self._waiting: dict[tuple[str, int], Any] = {}

    def arrive(self, name: str, iteration: int, visible: float, who: str) -> None:
        """Arrive at the phase of `iteration`; the arrival is seen at cycle `visible`.

        Parameters
        ----------
        name : str
            The barrier.
        iteration : int
            Iteration whose phase it is.
        visible : float
            Cycle, now or later.
        who : str
            Who arrives, for messages.

        Raises
        ------
        SimulationError
            If the slot is not in that phase.
        """
        delay = visible - self._environment.now
        if delay > 0:
            event = self._environment.timeout(delay)
            event.callbacks.append(lambda _: self._count(name, iteration, who))
        else:
            self._count(name, iteration, who)

    def wait(self, name: str, iteration: int) -> Any | None:
        """Return an event for the completion of a phase, or None if it is complete.

        Parameters
        ----------
        name : str
            The barrier.
        iteration : int
            Iteration whose phase it is.
        """
        slots = self._declared[name].slots
        if self._completed[name, iteration % slots] > iteration // slots:
            return None
        key = (name, iteration)
        if key not in self._waiting:
            self._waiting[key] = self._environment.event()
        return self._waiting[key]

    def _count(self, name: str, iteration: int, who: str) -> None:
        barrier = self._declared[name]
        slot, phase = iteration % barrier.slots, iteration // barrier.slots
        if self._completed[name, slot] != phase:
            raise SimulationError(
                "barrier",
                f"{who} arrives at {name} slot {slot} for iteration {iteration} (phase "
                f"{phase}), which is in phase {self._completed[name, slot]}",
            )
        self._arrived[name, slot] += 1
        if self._arrived[name, slot] == barrier.arrivals:
            self._arrived[name, slot] = 0
            self._completed[name, slot] += 1
            event = self._waiting.pop((name, iteration), None)
            if event is not None:
                event.succeed()
