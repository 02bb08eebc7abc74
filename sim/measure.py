"""From completion times to an initiation interval."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

LEAST_ITERATIONS = 8
LONGEST_PERIOD = 16
ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class SteadyState:
    """The measured steady state.

    Attributes
    ----------
    interval : Fraction
        Cycles from one iteration's completion to the next, on average.
    period : int or None
        Iterations after which the distances repeat; None if they do not.
    first, last : int
        The iterations between which it was measured.
    """

    interval: Fraction
    period: int | None
    first: int
    last: int


def steady_state(
    finished: Sequence[float], drain: int, *, fill: int = 0, least: float = 0.0
) -> SteadyState | None:
    """Measure the interval in the second half of a run, before it drains.

    Parameters
    ----------
    finished : sequence of float
        Completion time of each iteration, in cycles.
    drain : int
        Iterations at the end that are left out.
    fill : int
        Iterations at the beginning that are left out at least: those that fill the rings.
    least : float
        Cycles that an iteration takes at least on some unit. Where the second half is faster,
        groups that nothing ties together ran ahead in the first, and the whole run counts.

    Returns
    -------
    SteadyState or None
        None if there are fewer than eight iterations to measure.
    """
    last = len(finished) - 1 - min(drain, len(finished) // 4)
    first = max(last // 2, fill)
    if last - first < LEAST_ITERATIONS // 2:
        return None
    steady = _measured(finished, first, last)
    if steady.interval >= Fraction(least) * (1 - ROUNDING):
        return steady
    return SteadyState(Fraction(finished[last]) / (last + 1), None, 0, last)


def _measured(finished: Sequence[float], first: int, last: int) -> SteadyState:
    times = [Fraction(time) for time in finished[first : last + 1]]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    for period in range(1, min(LONGEST_PERIOD, len(gaps) // 2) + 1):
        if all(a == b for a, b in zip(gaps, gaps[period:], strict=False)):
            return SteadyState(sum(gaps[-period:], Fraction(0)) / period, period, first, last)
    return SteadyState((times[-1] - times[0]) / len(gaps), None, first, last)
