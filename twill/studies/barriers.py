"""Fewer barriers: those that others imply are left out, and more if that saves cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.base.formats import plural
from twill.polish import Judge, fewer_barriers, optional, program_key, promised, without
from twill.sim.engine import Conditions
from twill.studies.trials import Trial

AT_ONCE = 4
"""Changes that are compiled before the best of them is made."""
Compile = Callable[[Sequence[Schedule]], list[Trial]]
"""Compiles programs, the best first."""


def without_implied(schedule: Schedule, conditions: Sequence[Conditions]) -> Schedule | None:
    """Return a program without the barriers that others imply, None if there are none.

    Parameters
    ----------
    schedule : Schedule
        A program with its promise.
    conditions : sequence of Conditions
        Conditions of the promise, which is measured again.
    """
    found = schedule
    for names in optional(schedule):
        right = (one for one in without(found, names) if not Judge.objection(one))
        found = next(right, found)
    return None if found is schedule else promised(found, conditions, like=schedule)


def with_fewer_barriers(
    best: Trial,
    tries: int,
    compiled: Compile,
    conditions: Sequence[Conditions],
    clock: Deadline,
    report: Report = silent,
) -> Iterator[Trial]:
    """Yield better and better programs that differ in their barriers.

    The best of `AT_ONCE` changes is made if the machine code takes no more cycles with it.
    The simulated SM checks each program for races first; see `fewer_barriers`. A program that takes
    no more than the bound is not changed.

    Parameters
    ----------
    best : Trial
        The program to begin with.
    tries : int
        Programs to compile, at most.
    compiled : callable
        Compiles programs and executes their machine code.
    conditions : sequence of Conditions
        Conditions of the promise.
    clock : Deadline
        No further program is compiled once it is late.
    report : callable, optional
        Receives a message for each change that is made.
    """
    changes, promise = _Changes(), best.schedule.promise
    bound = None if promise is None else promise.bound
    least = 0.0 if bound is None else bound.cycles
    while tries > 0 and not clock.late and (best.code_cycles or 0.0) > least:
        programs = changes.of(best.schedule, min(tries, AT_ONCE))
        if not programs:
            return
        tries -= len(programs)
        found = compiled(programs)[0]
        if found.worth[:-1] > best.worth[:-1]:
            continue
        schedule = promised(found.schedule, conditions, like=best.schedule)
        if schedule is not None:
            best = replace(found, schedule=schedule)
            barriers = plural(len(schedule.barriers), "barrier")
            report(f"{best.code_cycles:,.0f} cycles with {barriers}")
            yield best


class _Changes:
    """Changes to programs, those that were tried least first."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._tried = Counter[frozenset[str]]()

    def of(self, schedule: Schedule, most: int) -> list[Schedule]:
        """Return changed programs that no check objects to and that were not returned before."""
        names = {barrier.name for barrier in schedule.barriers}
        found = list[Schedule]()
        changed = [
            (names.difference(barrier.name for barrier in program.barriers), program)
            for program in fewer_barriers(schedule)
        ]
        for gone, program in sorted(changed, key=lambda one: self._tried[frozenset(one[0])]):
            key = program_key(program)
            if key in self._seen:
                continue
            self._seen.add(key)
            self._tried[frozenset(gone)] += 1
            if not Judge.objection(program):
                found.append(program)
            if len(found) == most:
                break
        return found
