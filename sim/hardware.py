"""Issue contexts, synchronous pipes and asynchronous units of one SM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from twill.artifacts.machine import Machine

PRUNE_AT = 4096


@dataclass(frozen=True)
class Demand:
    """What one command takes of a unit.

    Attributes
    ----------
    unit : str
        The unit.
    cycles : float
        Cycles from start to end.
    share : float
        Cycles for which nothing else starts on it.
    """

    unit: str
    cycles: float
    share: float


class Unit:
    """A functional unit, or one context's part of it: work follows in the order of its arrival."""

    __slots__ = ("free",)

    def __init__(self) -> None:
        self.free = 0.0

    def accept(self, now: float, duration: float, share: float) -> tuple[float, float]:
        """Take work that lasts `duration` and fills the unit for `share` of it.

        Parameters
        ----------
        now : float
            Cycle of arrival.
        duration : float
            Cycles from start to end.
        share : float
            Cycles for which nothing else starts.

        Returns
        -------
        tuple of (float, float)
            Start and end.
        """
        start = max(now, self.free)
        self.free = start + share
        return start, start + duration


class Context:
    """One of the SM's issue contexts: at most one warp-instruction a cycle.

    A warp takes the first free cycle at which the pipe accepts the instruction; whoever asks first
    comes first.

    Parameters
    ----------
    shared : dict
        Units that all contexts share, by name.
    limited : bool
        Whether issue slots are limited at all.
    """

    __slots__ = ("_limited", "_own", "_shared", "_taken", "slots_taken")

    def __init__(self, shared: dict[str, Unit], *, limited: bool) -> None:
        self._own: dict[str, Unit] = defaultdict(Unit)
        self._shared, self._limited = shared, limited
        self._taken: set[int] = set()
        self.slots_taken = int(limited)
        """Cycles for which a warp cannot issue again after an instruction."""

    def issue(self, unit: str, share: float, now: int) -> int:
        """Reserve an issue slot and the pipe; return the cycle, now or later.

        Parameters
        ----------
        unit : str
            The pipe that takes the instruction.
        share : float
            Cycles of the pipe that the instruction fills.
        now : int
            Current cycle; what lies before is forgotten.
        """
        pipe = self._shared.get(unit) or self._own[unit]
        cycle = max(now, int(pipe.free))
        if self._limited:
            while cycle in self._taken:
                cycle += 1
            self._taken.add(cycle)
            if len(self._taken) > PRUNE_AT:
                self._taken = {slot for slot in self._taken if slot >= now}
        pipe.free = max(pipe.free, cycle) + share
        return cycle


class Hardware:
    """The parts of an SM that warps share.

    Parameters
    ----------
    machine : Machine
        What it is built from; without an issue unit its issue slots are not limited.
    """

    def __init__(self, machine: Machine) -> None:
        self.units = {name: Unit() for name in machine.units}
        shared = {name: self.units[name] for name, u in machine.units.items() if u.scope == "sm"}
        limited = machine.issue_unit is not None
        self.contexts = [Context(shared, limited=limited) for _ in range(machine.contexts.value)]
        synchronisation = machine.synchronisation
        self.wait = synchronisation.wait.value
        self.arrive = synchronisation.arrive.value
        self.signal = max(0, synchronisation.hop.value - synchronisation.wait.value)
        """Cycles from the issue of an arrive until its barrier shows it."""

    def accept(self, now: float, demands: Sequence[Demand]) -> tuple[float, float]:
        """Let units work side by side on one command of an asynchronous operation.

        Parameters
        ----------
        now : float
            Cycle of arrival.
        demands : sequence of Demand
            What the command takes of each unit.

        Returns
        -------
        tuple of (float, float)
            Start, once all of them are free, and end.
        """
        start = max([now, *(self.units[demand.unit].free for demand in demands)])
        ends = [
            self.units[demand.unit].accept(start, demand.cycles, demand.share)[1]
            for demand in demands
        ]
        return start, max(ends, default=start)
