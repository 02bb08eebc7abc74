"""Turns: which operations of different groups follow each other on a unit in static order.

Groups drift, and a unit takes work as it comes. Where its order matters programs keep it, as
FlashAttention-3's ping-pong does: an arrive behind one operation, a wait before the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from twill.lower.pipeline import Pipeline


@dataclass(frozen=True, order=True)
class Turn:
    """`after` waits until `before`, of that many iterations earlier, has been issued.

    Attributes
    ----------
    slots : int
        Of its barrier: with so many `before` is never two phases ahead of that wait. Usually it
        waits in turn, but in the first and the last iterations for what the loop does not have.
    """

    before: int
    after: int
    distance: int
    slots: int


def turns(named: Pipeline) -> list[Turn]:
    """Return the turns that a schedule's programs keep.

    On a unit that executes in order all neighbours of different groups take turns. Synchronous
    operations that fill a pipe share it where they meet, and the one that was to be first ends
    later by as much as the shorter one takes. Those that are longer than it costs to hand the pipe
    over and back take turns too.
    """
    return sorted({*_in_order(named), *_on_pipes(named)})


def _in_order(named: Pipeline) -> Iterator[Turn]:
    operations = named.problem.operations
    for unit in {o.in_order_unit for o in operations} - {None}:
        yield from _neighbours(named, {o.index for o in operations if o.in_order_unit == unit})


def _on_pipes(named: Pipeline) -> Iterator[Turn]:
    problem = named.problem
    costs = problem.machine.synchronisation
    least = 2 * (costs.hop.value + costs.wait.value + costs.arrive.value)
    long = least / problem.scale.cycles_per_unit
    for unit, capacity in problem.capacities.items():
        users = {
            o.index
            for o in problem.operations
            for r in o.reservations
            if not o.asynchronous and r.unit == unit and 2 * r.count > capacity and r.length > long
        }
        handed_on = list(_neighbours(named, users))
        # With a gap in the round a group could run ahead of others by more than one phase.
        if all(_in_order_of_time(named, turn) for turn in handed_on):
            yield from handed_on


def _neighbours(named: Pipeline, users: Iterable[int]) -> Iterator[Turn]:
    """Yield the users of a unit that follow each other there, on different groups."""
    order = sorted(users, key=lambda v: (named.start[v] % named.interval, v))
    pairs = list(pairwise([*order, *order[:1]]))
    distances = [-(-(named.start[u] - named.start[v]) // named.interval) for u, v in pairs]
    for place, (before, after) in enumerate(pairs):
        if named.place[before] != named.place[after]:
            # Before `before` comes what it follows, and so on around the unit back to `after`.
            around = [*distances[:place][::-1], *distances[place + 1 :][::-1]]
            missing = [0, *accumulate(around)]
            slots = max(1, *missing) - min(missing)
            yield Turn(before, after, distances[place], slots)


def _in_order_of_time(named: Pipeline, turn: Turn) -> bool:
    """Whether all of `before` ends before `after` starts; capacity asks it of the pipe's part."""
    end = named.start[turn.before] + named.problem.operations[turn.before].cycles
    return named.start[turn.after] + turn.distance * named.interval >= end
