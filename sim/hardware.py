"""Issue contexts, synchronous pipes and asynchronous units of one SM."""

from __future__ import annotations

from collections import defaultdict

from twill.artifacts.machine import Machine

PRUNE_AT = 4096


class Context:
    """One of the SM's issue contexts: at most one warp-instruction a cycle.

    A warp reserves the first free cycle at which its pipe takes the instruction; whoever asks first
    comes first.

    Parameters
    ----------
    shared : dict
        When the pipes that all contexts share are free again.
    """

    __slots__ = ("_own", "_shared", "_taken")

    def __init__(self, shared: dict[str, float]) -> None:
        self._taken: set[int] = set()
        self._own: dict[str, float] = defaultdict(float)
        self._shared = shared

    def issue(self, pipe: str, interval: float, earliest: int, now: float) -> int:
        """Reserve an issue slot and the pipe; return the cycle.

        Parameters
        ----------
        pipe : str
            The pipe that takes the instruction.
        interval : float
            Cycles of the pipe that the instruction takes.
        earliest : int
            First cycle at which the warp can issue.
        now : float
            Current cycle; what lies before is forgotten.
        """
        free = self._shared if pipe in self._shared else self._own
        cycle = max(earliest, int(free[pipe]))
        taken = self._taken
        while cycle in taken:
            cycle += 1
        taken.add(cycle)
        if len(taken) > PRUNE_AT:
            self._taken = {slot for slot in taken if slot >= now}
        free[pipe] = max(free[pipe], cycle) + interval
        return cycle


class Queue:
    """An asynchronous unit that works in the order in which work arrives."""

    __slots__ = ("_free",)

    def __init__(self) -> None:
        self._free = 0.0

    def accept(self, now: float, duration: float) -> tuple[float, float]:
        """Queue work; return the cycles at which it starts and ends.

        Parameters
        ----------
        now : float
            Cycle of arrival.
        duration : float
            Cycles of work.
        """
        start = max(now, self._free)
        self._free = start + duration
        return start, self._free


class Hardware:
    """The parts of an SM that warps share.

    Parameters
    ----------
    machine : Machine
        What it is built from.
    """

    def __init__(self, machine: Machine) -> None:
        shared = {name: 0.0 for name, unit in machine.units.items() if unit.scope == "sm"}
        self.contexts = [Context(shared) for _ in range(machine.contexts.value)]
        self.units = {name: Queue() for name in machine.units}
        synchronisation = machine.synchronisation
        self.wait = synchronisation.wait.value
        self.arrive = synchronisation.arrive.value
        self.signal = max(0, synchronisation.hop.value - synchronisation.wait.value)
        """Cycles from the issue of an arrive until its barrier shows it."""
