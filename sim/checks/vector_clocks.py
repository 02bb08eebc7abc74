"""Vector clocks: what every agent of an execution knows of every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Clock = list[int]
Epochs = dict[int, int]


def join(clock: Clock, other: Sequence[int]) -> None:
    """Let `clock` know what `other` knows.

    Parameters
    ----------
    clock : list of int
        For each agent the last of its epochs that is known to be over; changed in place.
    other : sequence of int
        Another clock of the same agents.
    """
    clock[:] = map(max, clock, other)


def knows(clock: Sequence[int], epochs: Mapping[int, int]) -> bool:
    """Return whether all that happened in some epochs happened before.

    Parameters
    ----------
    clock : sequence of int
        The clock of whoever asks.
    epochs : mapping
        Epochs by agent.
    """
    return all(clock[agent] >= epoch for agent, epoch in epochs.items())
