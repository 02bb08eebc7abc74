"""Barriers: one for each slot, each with phases that complete after enough arrivals.

Deadlocks of warps that wait for each other at barriers are described here too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from twill.artifacts.program import Arrive, Program, Wait
from twill.artifacts.schedule import Schedule
from twill.sim.engine.clock import Clock
from twill.sim.engine.events import Arrived, Met, SimulationError
from twill.sim.engine.hardware import Hardware, Signals
from twill.sim.engine.warps import Warp


class Barriers:
    """All barriers of a program, and where the warps of its groups wait for each other.

    `checks`: whether an arrival at another phase than it means is refused; if not, it counts.
    """

    def __init__(
        self, schedule: Schedule, clock: Clock, hardware: Hardware, *, checks: bool = True
    ) -> None:
        self._clock, self._hardware = clock, hardware
        self._checks, self._transactions = checks, schedule.machine.synchronisation.most_expected
        self._declared = {barrier.name: barrier for barrier in schedule.barriers}
        self._completed: dict[tuple[str, int], int] = defaultdict(int)
        self._arrived: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._delivered: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._expected: dict[tuple[str, int], int] = defaultdict(int)
        self._waiting: dict[tuple[str, int, int], list[Callable[[], object]]] = defaultdict(list)
        self._partly_arrived: dict[tuple[str, int, str], tuple[int, float]] = {}
        self._meeting: dict[str, list[Warp]] = defaultdict(list)

    def is_named(self, name: str) -> bool:
        """Return whether a barrier is a named barrier, at which a wait arrives too."""
        return self._declared[name].kind == "named"

    def costs(self, name: str) -> Signals:
        """Return the costs of waits and arrives at a barrier."""
        return self._hardware.named if self.is_named(name) else self._hardware.signals

    # -- warps of a group ---------------------------------------------------------------------

    def meet(self, warp: Warp) -> bool:
        """Return whether all warps of a group are here; the others go on with the last one."""
        waiting = self._meeting[warp.group.name]
        waiting.append(warp)
        if sum(one.stands_for for one in waiting) < warp.group.warps:
            return False
        if (tell := self._clock.tell) is not None:
            tell(Met(warp.group.name, self._clock.now))
        for other in waiting[:-1]:
            self._clock.at(self._clock.now, other.resume)
        waiting.clear()
        return True

    def arrive_with(
        self, warp: Warp, name: str, iteration: int, staged: float, expect: int = 0
    ) -> None:
        """Arrive for a group once its last warp does.

        `staged`: cycle at which what the warp stored before is there for others to see.
        `expect`: bytes that the phase has to wait for.
        """
        group, now = warp.group, self._clock.now
        seen = max(now, staged) + self.costs(name).signal
        arrived, others = self._partly_arrived.pop((name, iteration, group.name), (0, 0.0))
        arrived, last = arrived + warp.stands_for, max(seen, others)
        if (tell := self._clock.tell) is not None:
            tell(Arrived(name, iteration, group.name, warp.number, "", now, seen))
        if arrived < group.warps:
            self._partly_arrived[name, iteration, group.name] = arrived, last
        else:
            self.arrive(name, iteration, last, group.name, expect)

    # -- phases -------------------------------------------------------------------------------

    def deliver(self, name: str, iteration: int, visible: float, who: str, size: int) -> None:
        """Let an asynchronous operation arrive, or deliver its bytes where a barrier counts them.

        `size`: bytes.
        """
        if self._declared[name].transactions:
            self._clock.at(visible, lambda: self._count(name, iteration, who, -size, arrives=False))
        else:
            self.arrive(name, iteration, visible, who)

    def arrive(self, name: str, iteration: int, visible: float, who: str, expect: int = 0) -> None:
        """Arrive at the phase of `iteration`; the arrival is seen at cycle `visible`.

        `visible`: cycle, now or later.
        `expect`: bytes that the phase has to wait for.

        Raises
        ------
        SimulationError
            If the slot is not in that phase.
        """
        if visible > self._clock.now:
            self._clock.at(visible, lambda: self._count(name, iteration, who, expect, arrives=True))
        else:
            self._count(name, iteration, who, expect, arrives=True)

    def wait(self, name: str, iteration: int, who: str, resume: Callable[[], object]) -> bool:
        """Return whether a phase is complete; otherwise let something happen when it is.

        Raises
        ------
        SimulationError
            See `refuse_ambiguous`.
        """
        phase, slot = divmod(iteration, self._declared[name].slots)
        if self._completed[name, slot] > phase:
            self.refuse_ambiguous(name, iteration, who)
            return True
        self._waiting[name, slot, phase].append(resume)
        return False

    def refuse_ambiguous(self, name: str, iteration: int, who: str) -> None:
        """Refuse a wait that finds its phase complete, and the next one as well.

        A wait tests the parity of an mbarrier (PTX ISA, ``mbarrier.test_wait.parity``), which would
        look as if neither phase were complete. Named barriers have no parity.

        Raises
        ------
        SimulationError
            If both phases are complete.
        """
        phase, slot = divmod(iteration, self._declared[name].slots)
        completed = self._completed[name, slot]
        if self._checks and not self.is_named(name) and completed > phase + 1:
            raise SimulationError(
                "barrier",
                f"{who} waits at {name} slot {slot} for iteration {iteration} (phase {phase}), "
                f"which is already in phase {completed}; an mbarrier tells two phases apart by "
                "their parity, so that this wait would miss its own: let the later arrives come "
                "behind it",
            )

    def _count(self, name: str, iteration: int, who: str, size: int, *, arrives: bool) -> None:
        """Count an arrival, and bytes that are expected or, if negative, delivered."""
        barrier = self._declared[name]
        phase, slot = divmod(iteration, barrier.slots)
        current = self._completed[name, slot]
        if self._checks and current != phase:
            verb = "arrives at" if arrives else f"delivers {-size} bytes to"
            raise SimulationError(
                "barrier",
                f"{who} {verb} {name} slot {slot} for iteration {iteration} (phase "
                f"{phase}), which is in phase {current}",
            )
        if self._checks and arrives and len(self._arrived[name, slot]) == barrier.arrivals:
            raise SimulationError(
                "barrier",
                f"{who} arrives at {name} slot {slot} for iteration {iteration} (phase {phase}), "
                f"which has its {barrier.arrivals} arrivals and waits for "
                f"{self._expected[name, slot]} bytes",
            )
        (self._arrived if arrives else self._delivered)[name, slot].append(who)
        self._expected[name, slot] += size
        most = self._transactions
        if self._checks and most is not None and abs(self._expected[name, slot]) > most:
            raise SimulationError(
                "barrier",
                f"{name} slot {slot} counts {self._expected[name, slot]} bytes in phase {phase}; "
                f"an mbarrier counts from {-most} to {most}",
            )
        if len(self._arrived[name, slot]) == barrier.arrivals and not self._expected[name, slot]:
            self._arrived[name, slot].clear()
            self._delivered[name, slot].clear()
            self._completed[name, slot] += 1
            for resume in self._waiting.pop((name, slot, current), ()):
                self._clock.at(self._clock.now, resume)

    def under_way(self, name: str, iteration: int) -> tuple[list[str], list[str], int]:
        """Return the arrivals at an incomplete phase, its byte deliveries, and missing bytes.

        A negative number of missing bytes means that more came than were announced.
        """
        phase, slot = divmod(iteration, self._declared[name].slots)
        if self._completed[name, slot] != phase:
            return [], [], 0
        return self._arrived[name, slot], self._delivered[name, slot], self._expected[name, slot]


# -- deadlocks --------------------------------------------------------------------------------


def deadlock(schedule: Schedule, barriers: Barriers, stuck: Iterable[Warp], now: float) -> str:
    """Describe the waits between groups, those of the cycle first.

    `now`: cycle of the last event.
    """
    waits: dict[str, str] = {}
    behind: dict[str, list[str]] = {}
    for warp in stuck:
        name = warp.group.name
        if warp.blocked_on is None or name in waits:
            continue
        kind, target, iteration = warp.blocked_on
        if kind == "barrier":
            what, sources = target, _missing(schedule, barriers, target, iteration)
            came = "" if sources else _came(schedule, barriers, target, iteration)
        else:
            what, sources, came = f"{kind} of {target}", [schedule.assignment[target]], ""
        waits[name] = (
            f"{name} waits for {what} of iteration {iteration} "
            f"(from {', '.join(sources) or 'nobody'}{came})"
        )
        behind[name] = sources
    cycle = shortest_cycle(behind)
    order = [*cycle, *(name for name in waits if name not in cycle)]
    around = f"cycle {' -> '.join([*cycle, cycle[0]])}: " if cycle else ""
    return f"at cycle {now:.0f} nothing can go on; {around}" + "; ".join(
        waits[name] for name in order
    )


def _missing(schedule: Schedule, barriers: Barriers, barrier: str, iteration: int) -> list[str]:
    """Return the groups that have yet to arrive at a barrier's phase, or to issue what does."""
    home = schedule.assignment
    arrived, delivered, _ = barriers.under_way(barrier, iteration)
    came = Counter(home.get(who, who) for who in (*arrived, *delivered))
    return [
        program.group
        for program in schedule.programs
        if _arrivals(program, barrier, named=barriers.is_named(barrier)) > came[program.group]
    ]


def _arrivals(program: Program, barrier: str, *, named: bool) -> int:
    """Return how often a program arrives at each phase of a barrier."""
    arrive = (Arrive, Wait) if named else (Arrive,)
    instructions = sum(isinstance(i, arrive) and i.barrier == barrier for i in program.body)
    return instructions + sum(barrier in issue.signals for issue in program.issues)


def _came(schedule: Schedule, barriers: Barriers, barrier: str, iteration: int) -> str:
    """Describe a phase that will not complete: its arrivals, and its bytes if it counts them."""
    arrived, _, missing = barriers.under_way(barrier, iteration)
    said = []
    if arrived or missing:
        by = f", from {', '.join(sorted(arrived))}" if arrived else ""
        needed = next(b.arrivals for b in schedule.barriers if b.name == barrier)
        said.append(f"{len(arrived)} of {needed} arrivals came{by}")
    if missing > 0:
        said.append(f"{missing} bytes that an arrive announced did not come")
    if missing < 0:
        said.append(f"{-missing} bytes came that no arrive announced")
    return f": {'; '.join(said)}" if said else ""


def shortest_cycle(behind: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the smallest cycle of groups that wait for each other, or nothing."""
    found = [cycle for root in behind if (cycle := _cycle_through(root, behind))]
    return min(found, key=len, default=[])


def _cycle_through(root: str, behind: Mapping[str, Sequence[str]]) -> list[str]:
    """Search breadth first for the way back to a group."""
    paths = {root: [root]}
    names = [root]
    for name in names:
        for following in behind.get(name, ()):
            if following == root:
                return paths[name]
            if following not in paths:
                paths[following] = [*paths[name], following]
                names.append(following)
    return []
