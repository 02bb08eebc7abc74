"""The printed system: the paper's Figures 4 to 6 over time-indexed Booleans, solved by Yices.

The system exists for comparison. K = ceil(L/I) copies of the schedule, I apart, make the
straight-line program Q of length T = (K - 1) I + L.

As printed it decides something else than the model (docs/model.md):

- Constraints that reach beyond Q are not stated. Instances from before Q are missing in the memory
  and register sums, and a dependence over K or more iterations is not there at all. So it accepts
  schedules which the verifier refuses.
- A loop-carried value of the last copy is live until T, even where its last reader would issue
  before; and a value that is read in the slot in which it is issued counts as live from the start
  of Q. So it refuses schedules which the verifier accepts.
- The figures know no working sets, no invariants in registers, no staging of transfers in SMEM and
  no value that nothing reads.
- Every group may hold as many registers as one group can be allocated at most; that all groups
  share one register file is not stated. Solutions get allocations of registers where the file holds
  them. Otherwise the solution has no allocation.

Beyond the figures, the invariants' share of SMEM and TMEM is taken off the capacity, and the signal
hop is part of a spill's cost. The warps of an SM, groups too narrow for an operation, and requests
of the user are stated too. So is the constraint for cross-warp spills that the paper elides for
brevity.
"""

from __future__ import annotations

from dataclasses import replace

from twill.base.errors import InputError
from twill.engines.paper.system import Program, System, copies
from twill.engines.questions import NO_LIMITS, Answer, Limits, Question
from twill.problem.solution import with_registers
from twill.solvers import import_yices

MOST_ENTRIES = 60_000  # about a gigabyte of memory


class VerbatimEngine:
    """The printed system at one interval (see `twill.engines.Engine`).

    Raises
    ------
    InputError
        If the problem is not read by the paper's rules, or time is too fine to be indexed.
    """

    def __init__(self, asked: Question) -> None:
        _refuse(asked)
        self._asked = asked
        self._system: System | None = None

    @property
    def name(self) -> str:
        """Solver and version."""
        return f"Yices {import_yices().Yices.version} (verbatim)"

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._system is not None:
            self._system.q.formulas.dispose()
            self._system = None

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.engines.Engine`).

        A smaller length is another straight-line program with a system of its own. Groups are
        allocated no registers where the file is too small.
        """
        asked = self._asked
        length = asked.length if limits.length is None else min(limits.length, asked.length)
        system = self._at(length)
        formulas, guards = system.q.formulas, system.q.guards
        status = formulas.check([*guards.values(), *_within(system.q, limits)])
        if status == "sat":
            found = system.q.read()
            return Answer(status, with_registers(asked.problem, asked.interval, found) or found)
        needed = formulas.core() if status == "unsat" and guards else ()
        families = tuple(family for family, guard in guards.items() if guard in needed)
        return Answer(status, families=families, solver=self.name)

    def _at(self, length: int) -> System:
        if self._system is None or self._system.q.length != length:
            self.dispose()
            self._system = System(replace(self._asked, length=length))
        return self._system


def _refuse(asked: Question) -> None:
    if asked.problem.rules != "paper":
        raise InputError(
            "the engine verbatim states the paper's figures and needs the rules paper "
            f"(got {asked.problem.rules})",
            path="rules",
        )
    interval, length = asked.interval, asked.length
    count = copies(interval, length)
    entries = len(asked.problem.operations) * count * ((count - 1) * interval + length)
    if entries > MOST_ENTRIES:
        raise InputError(
            f"the engine verbatim would need {entries} Booleans op[v, i, t] at an interval of "
            f"{interval} and a length of {length}, it takes at most {MOST_ENTRIES}; use normalized "
            "time or fewer stages",
            path="engine",
        )


def _within(q: Program, limits: Limits) -> list[int]:
    """Return terms that hold within limits; that of the length is the system's own."""
    formulas, found = q.formulas, []
    if limits.groups is not None and limits.groups < len(q.groups):
        used = formulas.total((1, q.used(w)) for w in range(len(q.groups)))
        found.append(formulas.at_most(used, limits.groups))
    if limits.transfers is not None:
        crossing = formulas.total(
            (1, q.crosses(edge.producer, edge.consumer))
            for edge in q.problem.edges
            if edge.transferable and edge.producer != edge.consumer
        )
        found.append(formulas.at_most(crossing, limits.transfers))
    if limits.slack is not None and limits.slack > 0:
        found.append(_slack(q, limits.slack))
    return found


def _slack(q: Program, least: int) -> int:
    """Return a term under which every blocking consumer is late by so many time units."""
    formulas, start, late = q.formulas, q.starts(), []
    for edge in q.problem.edges:
        if edge.streaming or edge.producer == edge.consumer:
            continue
        apart = q.crosses(edge.producer, edge.consumer)
        for delay, excuse in (
            (edge.cross_delay, formulas.no(apart)),
            *(((edge.delay, apart),) if edge.blocking else ()),
        ):
            amount = delay + least - edge.distance * q.interval
            after = formulas.after(start[edge.consumer], start[edge.producer], amount)
            late.append(formulas.some((excuse, after)))
    return formulas.both(*late)
