"""Free nodes out of a dependence graph, with nothing lost of what they delay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twill.artifacts.expressions import MOST_CYCLES
from twill.artifacts.loop import MOST_DISTANCE
from twill.errors import InputError

MOST_DELAYS = 20_000
MOST_WAYS = 1_000_000
"""Ways through free nodes that are looked at."""


@dataclass(frozen=True, order=True)
class Delay:
    """`consumer` issues at least `cycles` after `producer` of `distance` iterations before.

    Attributes
    ----------
    through : tuple of int
        Free nodes on the way.
    """

    producer: int
    consumer: int
    distance: int
    cycles: int
    through: tuple[int, ...] = ()


def contract(delays: Iterable[Delay], free: Iterable[int]) -> list[Delay]:
    """Replace every way through free nodes by one delay; of several keep the longest.

    Raises
    ------
    InputError
        If a recurrence has free nodes only, the graph becomes too large, or a delay does.
    """
    ways = 0
    longest: dict[tuple[int, int, int], Delay] = {}
    for delay in delays:
        _keep(longest, delay)
    for node in free:
        into = [d for d in longest.values() if d.consumer == node]
        out = [d for d in longest.values() if d.producer == node]
        for delay in {*into, *out}:
            del longest[delay.producer, delay.consumer, delay.distance]
        if any(d.consumer == node and d.cycles for d in out):
            raise InputError(f"a recurrence of nodes that occupy nothing (at node {node})")
        ways += len(into) * len(out)
        if ways > MOST_WAYS:
            raise InputError(f"more than {MOST_WAYS} ways through the free nodes")
        for first in into:
            for then in out:
                if node not in (first.producer, then.consumer):
                    _keep(longest, _joined(first, then, node))
        if len(longest) > MOST_DELAYS:
            raise InputError(f"more than {MOST_DELAYS} dependences without the free nodes")
    return sorted(longest.values())


def _keep(longest: dict[tuple[int, int, int], Delay], delay: Delay) -> None:
    key = (delay.producer, delay.consumer, delay.distance)
    known = longest.get(key)
    if known is None or known.cycles < delay.cycles:
        longest[key] = delay


def _joined(first: Delay, then: Delay, node: int) -> Delay:
    distance, cycles = first.distance + then.distance, first.cycles + then.cycles
    if cycles > MOST_CYCLES or distance > MOST_DISTANCE:
        raise InputError(
            f"delays of more than {MOST_CYCLES} cycles or {MOST_DISTANCE} iterations together "
            f"(at node {node})"
        )
    return Delay(
        first.producer,
        then.consumer,
        distance,
        cycles,
        (*first.through, node, *then.through),
    )
