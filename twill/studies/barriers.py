"""Fewer barriers: those that others imply are left out, and more if that saves cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.base.executors import local
from twill.base.formats import plural
from twill.polish import (
    Judge,
    fewer_barriers,
    optional_barriers,
    program_key,
    promised,
    without_barriers,
)
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
    for names in optional_barriers(schedule):
        right = (one for one in without_barriers(found, names) if not Judge.objection(one))
        found = next(right, found)
    return None if found is schedule else promised(found, conditions, like=schedule)


def with_fewer_barriers(
    trials: list[Trial],
    tries: int,
    compiled: Compile,
    conditions: Sequence[Conditions],
    clock: Deadline,
    *,
    jobs: int = 1,
    report: Report = silent,
) -> Iterator[list[Trial]]:
    """Yield the programs, the best first, as often as one with fewer barriers is compiled.

    Each program is compiled without the barriers that others imply. Then the best of `AT_ONCE`
    changes to the best program is made if the machine code takes no more cycles with it. The
    simulated SM checks each program for races first; see `fewer_barriers`. A program that takes no
    more than the bound is not changed.

    Parameters
    ----------
    trials : list of Trial
        The programs, the best first.
    tries : int
        Changed programs to compile, at most.
    compiled : callable
        Compiles programs and executes their machine code.
    conditions : sequence of Conditions
        Conditions of the promise.
    clock : Deadline
        No further program is compiled once it is late.
    jobs : int
        Processes that check programs at a time.
    report : callable, optional
        Receives a message for each change that is made.
    """
    promise = trials[0].schedule.promise
    bound = None if promise is None else promise.bound
    least = 0.0 if bound is None else bound.cycles

    def worthwhile() -> bool:
        return not clock.late and (trials[0].code_cycles or 0.0) > least

    if not (tries and worthwhile()):
        return
    fewer = partial(without_implied, conditions=conditions)
    with local(jobs) as pool:
        found = (map if pool is None else pool.map)(fewer, [one.schedule for one in trials])
        programs = [one for one in found if one is not None]
    if programs:
        report(f"{plural(len(programs), 'program')} without barriers that others imply")
        trials = sorted([*trials, *compiled(programs)], key=lambda one: one.worth)
        yield trials
    changes = _Changes()
    while tries > 0 and worthwhile():
        best = trials[0]
        programs = changes.of(best.schedule, min(tries, AT_ONCE))
        if not programs:
            return
        tries -= len(programs)
        better = compiled(programs)[0]
        if better.worth[:-1] > best.worth[:-1]:
            continue
        schedule = promised(better.schedule, conditions, like=best.schedule)
        if schedule is not None:
            trials = [replace(better, schedule=schedule), *trials]
            barriers = plural(len(schedule.barriers), "barrier")
            report(f"{better.code_cycles:,.0f} cycles with {barriers}")
            yield trials


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
