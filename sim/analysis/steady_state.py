"""From completion times to an initiation interval, with its certainty."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from twill.artifacts.base import Part

LEAST_ITERATIONS = 8
LONGEST_PERIOD = 64
ROUNDING = Fraction(1, 10**9)
MSER_BATCH = 5
# Two-sided 95 % quantile of Student's t for that many batches (one less degree of freedom).
STUDENT = {20: 2.093, 10: 2.262, 5: 2.776}


class Batches(Part):
    """A 95 % confidence interval of the interval, by the method of batch means.

    `half_width_cycles`: cycles by which the true mean differs from the measured one at most, 19
    times of 20.
    `batches`, `batch_iterations`: batches, and iterations in each.
    `correlation`: lag-1 autocorrelation of the batch means.
    `believable`: whether they look independent; if not, more iterations are needed.
    """

    half_width_cycles: float
    batches: int
    batch_iterations: int
    correlation: float
    believable: bool


@dataclass(frozen=True)
class SteadyState:
    """The measured steady state."""

    interval: Fraction  # cycles from one iteration's completion to the next, on average
    period: int | None  # iterations after which the distances repeat; None if they do not
    # The iterations between whose completions it was measured; what lies before `first` is the
    # warm-up.
    first: int
    last: int
    # How far the interval is known where the distances do not repeat; None where they do, or where
    # there are too few of them.
    confidence: Batches | None = None


def steady_state(
    finished: Sequence[float], drain: int, *, fill: int = 0, least: float = 0.0
) -> SteadyState | None:
    """Find the warm-up and measure the interval behind it, before the run drains.

    Where the distances between completions repeat throughout the second half, the warm-up ends
    where they begin to, and the interval is exact. Otherwise the warm-up is cut off where that
    makes the mean of the rest most certain (`mser`), and a confidence interval shows how certain.

    `finished`: completion time of each iteration, in cycles.
    `drain`: iterations at the end that are left out.
    `fill`: iterations at the beginning that are left out at least: those that fill the rings.
    `least`: cycles that an iteration takes at least on some unit. Where the second half is faster,
    groups that nothing ties together ran ahead in the first, and the whole run counts.
    Returns: none if there are fewer than eight iterations to measure.
    """
    last = len(finished) - 1 - min(drain, len(finished) // 4)
    half = max(last // 2, fill)
    if last - half < LEAST_ITERATIONS // 2:
        return None
    times = [Fraction(time) for time in finished[: last + 1]]
    steady = _repeating(times, half) or _averaged(times, half, fill)
    if steady.interval >= Fraction(least) * (1 - ROUNDING):
        return steady
    return SteadyState(Fraction(finished[last]) / (last + 1), None, 0, last)


def mser(gaps: Sequence[float]) -> int:
    """Return how many gaps to cut off as warm-up, at most half of them.

    The rest's mean has the least marginal standard error (MSER-5: White 1997, "An effective
    truncation heuristic for bias reduction in simulation output", on means of five).

    `gaps`: distances between completions, in cycles.
    """
    means = [sum(b) / MSER_BATCH for b in _batches(gaps, MSER_BATCH)]
    best, cut = math.inf, 0
    total = squares = 0.0
    centre = sum(means) / max(1, len(means))
    for index in reversed(range(len(means))):
        total, squares = total + means[index] - centre, squares + (means[index] - centre) ** 2
        count = len(means) - index
        error = (squares - total * total / count) / (count * count)
        if index <= len(means) // 2 and error <= best:
            best, cut = error, index
    return cut * MSER_BATCH


def confidence(gaps: Sequence[float]) -> Batches | None:
    """Return the confidence interval of the gaps' mean, None if there are fewer than ten.

    The gaps are cut into 10 to 30 batches of equal length (Schmeiser 1982). Means of long batches
    are nearly independent and normal (Law and Kelton, Simulation Modeling and Analysis, section
    9.5.3). The lag-1 autocorrelation of independent means is above the limit once in 40 runs.

    `gaps`: distances between completions in the steady state, in cycles.
    """
    count = next((n for n in STUDENT if len(gaps) >= 2 * n), None)
    if count is None:
        return None
    size = len(gaps) // count
    means = [sum(batch) / size for batch in _batches(gaps[len(gaps) - count * size :], size)]
    middle = sum(means) / count
    off = [mean - middle for mean in means]
    squares = sum(x * x for x in off)
    products = sum(a * b for a, b in itertools.pairwise(off))
    deviation = math.sqrt(squares / (count - 1))
    correlation = products / squares if squares else 0.0
    return Batches(
        half_width_cycles=STUDENT[count] * deviation / math.sqrt(count),
        batches=count,
        batch_iterations=size,
        correlation=correlation,
        believable=bool(correlation <= 1.96 / math.sqrt(count)),
    )


def _batches(gaps: Sequence[float], size: int) -> list[Sequence[float]]:
    return [gaps[i : i + size] for i in range(0, len(gaps) - size + 1, size)]


def _repeating(times: Sequence[Fraction], half: int) -> SteadyState | None:
    """Return the state of distances that repeat from `half` on at the latest, None if none do."""
    gaps = [after - before for before, after in itertools.pairwise(times)]
    nearly = times[-1] * ROUNDING
    for period in range(1, min(LONGEST_PERIOD, (len(gaps) - half) // 2) + 1):
        first = len(gaps) - period
        while first > 0 and abs(gaps[first - 1] - gaps[first - 1 + period]) <= nearly:
            first -= 1
        if first <= half:
            interval = sum(gaps[-period:], Fraction(0)) / period
            return SteadyState(interval, period, first, len(gaps))
    return None


def _averaged(times: Sequence[Fraction], half: int, fill: int) -> SteadyState:
    gaps = [float(after - before) for before, after in itertools.pairwise(times)]
    first = min(half, max(fill, mser(gaps)))
    interval = (times[-1] - times[first]) / (len(gaps) - first)
    return SteadyState(interval, None, first, len(gaps), confidence(gaps[first:]))
