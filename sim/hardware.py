"""Issue contexts, synchronous pipes and asynchronous units of one SM."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from twill.artifacts.machine import Machine, Synchronisation
from twill.sim.switches import Mechanism


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


@dataclass(frozen=True)
class Signals:
    """Costs of signals, in cycles.

    Attributes
    ----------
    wait : int
        A wait, once it can go on.
    arrive : int
        Issuing an arrive.
    signal : int
        From the issue of an arrive until its barrier shows it.
    poll : int
        From one test of a polling wait to the next.
    """

    wait: int
    arrive: int
    signal: int
    poll: int


FREE = Signals(wait=0, arrive=0, signal=0, poll=1)


class Unit:
    """A functional unit, or one context's part of it: work follows in the order of its arrival.

    Parameters
    ----------
    name : str
        The unit.
    shared : bool
        Whether all contexts use it.

    Attributes
    ----------
    free : float
        Cycle from which it can start on something; filled part by part it may be a fraction.
    opens : int
        The whole cycle in which that is.
    """

    __slots__ = ("free", "name", "opens", "shared")

    def __init__(self, name: str, *, shared: bool = False) -> None:
        self.name, self.shared, self.free, self.opens = name, shared, 0.0, 0

    def fill(self, until: float) -> None:
        """Let nothing else start before a cycle.

        Parameters
        ----------
        until : float
            The cycle.
        """
        self.free = until
        self.opens = int(until)

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
        self.fill(start + share)
        return start, start + duration


class Context:
    """One of the SM's issue contexts: at most one warp-instruction a cycle.

    Parameters
    ----------
    shared : dict
        Units that all contexts share, by name.
    limited : bool
        Whether issue slots are limited at all.

    Attributes
    ----------
    free : float
        First cycle whose issue slot is not taken.
    slots : int
        Issue slots that an instruction takes: 1, or 0 where they are not limited.
    issued : int
        Instructions so far.
    last : int
        Age of the warp that issued last.
    """

    __slots__ = ("_pipes", "free", "issued", "last", "slots")

    def __init__(self, shared: dict[str, Unit], *, limited: bool) -> None:
        self._pipes = dict(shared)
        self.slots = int(limited)
        self.free = -math.inf
        self.issued = 0
        self.last = -1

    def pipe(self, unit: str) -> Unit:
        """Return the pipe that instructions for a unit go to.

        Parameters
        ----------
        unit : str
            The unit.
        """
        if unit not in self._pipes:
            self._pipes[unit] = Unit(unit)
        return self._pipes[unit]


class Hardware:
    """The parts of an SM that warps share.

    Parameters
    ----------
    machine : Machine
        What it is built from; without an issue unit its issue slots are not limited.
    without : frozenset of str
        Mechanisms that are switched off.
    interference : bool
        Whether units slow each other down as the machine file says.

    Attributes
    ----------
    signals, named : Signals
        Costs of mbarriers and of asynchronous results, and of named barriers.
    """

    def __init__(
        self,
        machine: Machine,
        without: frozenset[Mechanism] = frozenset(),
        *,
        interference: bool = False,
    ) -> None:
        self.units = {
            name: Unit(name, shared=unit.scope == "sm") for name, unit in machine.units.items()
        }
        shared = {name: unit for name, unit in self.units.items() if unit.shared}
        limited = machine.issue_unit is not None and "issue-slots" not in without
        self.contexts = [Context(shared, limited=limited) for _ in range(machine.contexts.value)]
        costs = machine.synchronisation
        self.included_wait = costs.wait.value
        """Cycles of the wait for it that the latency of an asynchronous operation includes."""
        free = "synchronisation" in without
        self.signals = FREE if free else _signals(costs)
        self.named = FREE if free else _signals(costs.named or costs)
        self._slowed: dict[str, list[tuple[Unit, float]]] = defaultdict(list)
        for pair in (machine.interference or ()) if interference else ():
            self._slowed[pair.unit].append((self.units[pair.beside], pair.factor.value))

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
        factors = [self._factor(demand.unit, start) for demand in demands]
        ends = [
            self.units[demand.unit].accept(start, demand.cycles * f, demand.share * f)[1]
            for demand, f in zip(demands, factors, strict=True)
        ]
        return start, max(ends, default=start)

    def _factor(self, unit: str, start: float) -> float:
        """Return by what a command takes longer because of what other units are doing."""
        slowed = self._slowed.get(unit)
        if slowed is None:
            return 1.0
        return math.prod(factor for beside, factor in slowed if beside.free > start)


def _signals(costs: Synchronisation) -> Signals:
    wait = costs.wait.value
    poll = wait if costs.poll is None else costs.poll.value
    return Signals(wait, costs.arrive.value, max(0, costs.hop.value - wait), max(1, poll))
