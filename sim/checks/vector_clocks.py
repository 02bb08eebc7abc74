"""Vector clocks: what every agent of an execution knows of every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Clock = list[int]
Epochs = dict[int, int]


def join(clock: Clock, other: Sequence[int]) -> None:
    """Let `clock` know what `other` knows.

    `clock`: for each agent the last of its epochs that is known to be over; changed in place.
    """
    clock[:] = map(max, clock, other)


def knows(clock: Sequence[int], epochs: Mapping[int, int]) -> bool:
    """Return whether all that happened in some epochs happened before."""
    return all(clock[agent] >= epoch for agent, epoch in epochs.items())
