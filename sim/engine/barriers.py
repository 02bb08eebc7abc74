"""Barriers: one for each slot, each with phases that complete after enough arrivals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from twill.artifacts.schedule import Barrier
from twill.sim.engine.clock import Clock
from twill.sim.engine.errors import SimulationError


class Barriers:
    """All barriers of a program.

    `transactions`: bytes that a phase can count, if that is limited.
    `checks`: whether an arrival at another phase than it means is refused; if not, it counts.
    """

    def __init__(
        self,
        clock: Clock,
        declared: tuple[Barrier, ...],
        transactions: int | None,
        *,
        checks: bool = True,
    ) -> None:
        self._clock, self._checks, self._transactions = clock, checks, transactions
        self._declared = {barrier.name: barrier for barrier in declared}
        self._completed: dict[tuple[str, int], int] = defaultdict(int)
        self._arrived: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._delivered: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._expected: dict[tuple[str, int], int] = defaultdict(int)
        self._waiting: dict[tuple[str, int, int], list[Callable[[], None]]] = {}

    def is_named(self, name: str) -> bool:
        """Return whether a barrier is a named barrier, at which a wait arrives too."""
        return self._declared[name].kind == "named"

    def needed(self, name: str) -> int:
        """Return how many arrivals complete a phase."""
        return self._declared[name].arrivals

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

    def wait(self, name: str, iteration: int, who: str, resume: Callable[[], None]) -> bool:
        """Return whether a phase is complete; otherwise let something happen when it is.

        Raises
        ------
        SimulationError
            See `distinguish`.
        """
        phase, slot = divmod(iteration, self._declared[name].slots)
        if self._completed[name, slot] > phase:
            self.distinguish(name, iteration, who)
            return True
        self._waiting.setdefault((name, slot, phase), []).append(resume)
        return False

    def distinguish(self, name: str, iteration: int, who: str) -> None:
        """Refuse a wait that finds its phase complete, and the next one as well.

        An mbarrier is asked for a parity (PTX ISA, ``mbarrier.test_wait.parity``), and would answer
        as if neither were complete. Named barriers have no parity.

        Raises
        ------
        SimulationError
            If it does.
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

    def arrived(self, name: str, iteration: int) -> list[str]:
        """Return who has arrived at a phase that is not complete."""
        phase, slot = divmod(iteration, self._declared[name].slots)
        return list(self._arrived[name, slot]) if self._completed[name, slot] == phase else []

    def delivered(self, name: str, iteration: int) -> list[str]:
        """Return who has delivered bytes to a phase that is not complete."""
        phase, slot = divmod(iteration, self._declared[name].slots)
        return list(self._delivered[name, slot]) if self._completed[name, slot] == phase else []

    def outstanding(self, name: str, iteration: int) -> int:
        """Return the bytes that a phase still expects; negative are more than were announced."""
        phase, slot = divmod(iteration, self._declared[name].slots)
        return self._expected[name, slot] if self._completed[name, slot] == phase else 0

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
