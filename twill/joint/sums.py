"""Sums that must fit when something starts, and where a solution exceeds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.joint.answer import Assignment
from twill.joint.lifetimes import Moment, Occupant
from twill.problem import Problem


@dataclass(frozen=True)
class Sum:
    """Occupants that share a capacity.

    Attributes
    ----------
    family : str
        The constraint family it belongs to.
    name : str
        The memory, the unit, or ``registers``.
    occupants : sequence of Occupant
        Who takes from it.
    capacity : int or None
        None for registers, which every warp group limits for itself.
    """

    family: str
    name: str
    occupants: Sequence[Occupant]
    capacity: int | None


def excess(problem: Problem, interval: int, entry: Sum, assignment: Assignment) -> list[int]:
    """Return the occupants at whose start the sum is exceeded, the worst first.

    Parameters
    ----------
    problem : Problem
        The problem.
    interval : int
        I.
    entry : Sum
        The sum.
    assignment : Assignment
        A solution of the other constraints.
    """
    found = []
    for index, starting in enumerate(entry.occupants):
        span = lifetime(starting, interval, assignment)
        if span is None:
            continue
        total, limit = _demand(problem, interval, entry, starting, span[0], assignment)
        if total > limit:
            found.append((limit - total, index))
    return [index for _, index in sorted(found)]


def lifetime(occupant: Occupant, interval: int, assignment: Assignment) -> tuple[int, int] | None:
    """Return the half-open time for which `occupant` of iteration 0 exists, or None.

    Parameters
    ----------
    occupant : Occupant
        The occupant.
    interval : int
        I.
    assignment : Assignment
        The solution.
    """
    group = assignment.group
    if occupant.apart is not None and group[occupant.apart[0]] == group[occupant.apart[1]]:
        return None
    start = assignment.start[occupant.start] + occupant.delay
    ends = [
        assignment.start[end.operation] + end.offset + end.iterations * interval
        for end in occupant.ends
        if _counts(end, assignment)
    ]
    end = max(ends, default=start)
    return (start, end) if end > start else None


def alive(span: tuple[int, int], time: int, interval: int) -> int:
    """Return how many instances of a lifetime, one every I, contain `time`.

    Parameters
    ----------
    span : (int, int)
        Half-open lifetime of one instance.
    time : int
        The moment.
    interval : int
        I.
    """
    return (time - span[0]) // interval - (time - span[1]) // interval


def _counts(end: Moment, assignment: Assignment) -> bool:
    group = assignment.group
    if end.same is not None:
        return group[end.same[0]] == group[end.same[1]]
    if end.apart is not None:
        return group[end.apart[0]] != group[end.apart[1]]
    return True


def _demand(
    problem: Problem,
    interval: int,
    entry: Sum,
    starting: Occupant,
    time: int,
    assignment: Assignment,
) -> tuple[int, int]:
    place = assignment.group[starting.start]
    total = 0
    for occupant in entry.occupants:
        if occupant.group_of is not None and assignment.group[occupant.group_of] != place:
            continue
        span = lifetime(occupant, interval, assignment)
        if span is not None:
            total += occupant.weight * alive(span, time, interval)
    if entry.capacity is not None:
        return total, entry.capacity
    for pinned in problem.pinned:
        if any(assignment.group[user] == place for user in pinned.used_by):
            total += pinned.registers
    return total, assignment.groups[place].live_limit
