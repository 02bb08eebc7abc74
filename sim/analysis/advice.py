"""What to change, with the gain found by trying it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twill.artifacts.base import Part
from twill.artifacts.schedule import Schedule
from twill.errors import TwillError
from twill.sim.analysis.changes import free_signals, split, twice_as_fast, without_each_wait
from twill.sim.analysis.rings import Changed, deeper, rings

WORTH = 0.001
"""Relative gain below which a change is not worth a line."""
MOST_SLOTS = 4

Measure = Callable[[Changed], float | None]
"""Runs a changed schedule; its interval in cycles, None if it has none. Raises if it is wrong."""


class Advice(Part):
    """A change that was tried.

    Attributes
    ----------
    kind : str
        ``ring`` (more slots), ``group`` (one more), ``wait`` (one less) or ``machine`` (not to be
        had: it tells what the hardware's part in the loss is).
    what : str
        The change in words.
    interval_cycles : float
        What it achieved.
    gain : float
        Part of the interval that it saves; negative if it costs.
    needs : str
        What it takes; empty if nothing.
    fits : bool
        Whether the machine has that.
    """

    kind: str
    what: str
    interval_cycles: float
    gain: float
    needs: str = ""
    fits: bool = True


def advise(
    schedule: Schedule, interval: float, measure: Measure, units: tuple[str, ...] = ()
) -> tuple[Advice, ...]:
    """Try changes of a schedule; those that go wrong are left out.

    `interval`: its measured interval, in cycles.
    `measure`: runs a changed schedule under the same conditions, with every check.
    """
    tried = [
        *_deepened(schedule, interval, measure),
        *((changed, _try(measure, changed)) for changed in _others(schedule, units)),
    ]
    found = [
        Advice(
            kind=changed.kind,
            what=changed.what,
            interval_cycles=achieved,
            gain=1 - achieved / interval,
            needs=changed.needs,
            fits=changed.fits,
        )
        for changed, achieved in tried
        if achieved is not None
    ]
    return tuple(sorted(found, key=lambda advice: (-advice.gain, advice.kind, advice.what)))


def _deepened(
    schedule: Schedule, interval: float, measure: Measure
) -> Iterator[tuple[Changed, float | None]]:
    """Yield deeper rings, each for as long as a slot more is worth it, then all at once."""
    ringed = rings(schedule)
    for values in [*([value] for value in ringed), *([ringed] if len(ringed) > 1 else [])]:
        before = interval
        for by in range(1, MOST_SLOTS + 1):
            changed = deeper(schedule, values, by)
            achieved = _try(measure, changed)
            yield changed, achieved
            if achieved is None or achieved >= before * (1 - WORTH):
                break
            before = achieved


def _others(schedule: Schedule, units: tuple[str, ...]) -> Iterator[Changed]:
    yield from split(schedule)
    yield from without_each_wait(schedule)
    yield free_signals(schedule)
    for unit in units:
        yield twice_as_fast(schedule, unit)


def _try(measure: Measure, changed: Changed) -> float | None:
    try:
        return measure(changed)
    except TwillError:
        return None
