"""Whether schedules keep their promise: packaged loops solved, executed, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.frontends import load_loop, packaged_loops
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.engine import UNMODELLED, Conditions
from twill.sim.execute import run, simulate

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class Promise:
    """A loop's schedule, and what the SM made of it; intervals in cycles."""

    loop: str
    machine: str
    promised: float | None = None  # None if no schedule was found in time
    proved: bool = False
    simulated: float | None = None  # under fixed, nominal latencies, see `modelled`
    mechanisms: float | None = None  # the same with mechanisms that the static model leaves out
    kept: bool | None = None  # whether `simulated` is at most 2 % above the promised interval
    note: str = ""  # why a figure is missing
    schedule: Schedule | None = field(default=None, repr=False)

    @property
    def excess(self) -> float | None:
        """Relative excess of the simulated over the promised interval."""
        if self.promised is None or self.simulated is None:
            return None
        return self.simulated / self.promised - 1


def promises(
    names: Iterable[str] | None = None, *, timeout: float | None = DEFAULT_TIMEOUT
) -> Iterator[Promise]:
    """Solve packaged loops and execute their schedules.

    `timeout`: seconds for each search; what it has found by then is executed.
    """
    for name in names or packaged_loops():
        yield _promise(name, timeout)


def modelled(schedule: Schedule, conditions: Conditions | None = None) -> float | None:
    """Return the interval on the simulated SM without mechanisms that the static model leaves out.

    `conditions`: of the run; the default ones without it.
    """
    conditions = conditions or Conditions()
    without = conditions.without | frozenset(UNMODELLED)
    return simulate(schedule, replace(conditions, without=without)).measured_interval_cycles


def _promise(name: str, timeout: float | None) -> Promise:
    machine = Machine.named(packaged_loops()[name].machine)
    known = Promise(name, machine.name)
    try:
        request = Request(load_loop(name), machine)
        schedule = solve(request, timeout=timeout, cache=Cache()).schedule
        assert schedule.proof is not None
        proved = schedule.proof.levels[0].proved
        known = Promise(name, machine.name, proved=proved, schedule=schedule)
        found = run(schedule)
    except RefusedError as error:
        return Promise(name, machine.name, proved=known.proved, note=str(error))
    return Promise(
        name,
        machine.name,
        found.static_interval_cycles,
        proved,
        modelled(schedule),
        None if machine.mechanisms is None else found.measured_interval_cycles,
        found.achieved,
        schedule=schedule,
    )
