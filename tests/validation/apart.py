"""One timed solve in a process of its own, stopped from outside when its time is over.

Its time counts from when loop, machine and solver are loaded.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from twill.artifacts.proof import Level
from twill.artifacts.schedule import Rules, Schedule
from twill.base.console import end_with_parent
from twill.base.executors import interrupts_later
from twill.frontends import load_loop
from twill.search.request import EngineName, TimeMode

STARTUP_SECONDS = 120.0
INTERVAL_KNOWN = re.compile(r"least I = (\d+)")  # what `twill.search.search.LEAST` says
Event = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What one process solves; rules, time and the like are as in `twill.schedule`."""

    # For people.
    name: str
    machine: str
    engine: EngineName
    time: TimeMode
    # A packaged loop.
    loop: str
    limits: dict[str, int] = field(default_factory=dict)
    # Seconds after which it is stopped.
    timeout: float = 120.0
    rules: Rules = "issue"
    until: Level = "slack"


def solve_apart(case: Case) -> Event:
    """Solve a case in a new process; return all that it told, the last of it first."""
    context = SpawnContext()
    events, told = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(case, told))
    with interrupts_later():
        process.start()
    told.close()
    merged: Event = {"status": "failed", "message": "the process ended without an answer"}
    assert process.pid is not None
    try:
        for event in _events(events, case.timeout, process.pid):
            merged |= event
    finally:
        if process.is_alive():
            # A solver may have started others.
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        events.close()
    return merged


def _events(events: Connection, timeout: float, process: int) -> Iterator[Event]:
    """Yield what the child says until it ends or its time, in seconds, is over."""
    deadline, started = time.monotonic() + STARTUP_SECONDS, False
    while events.poll(max(0.0, deadline - time.monotonic())):
        try:
            event: Event = events.recv()
        except EOFError:
            return
        if event.pop("started", False):
            deadline, started = time.monotonic() + timeout, True
        yield event
    if started:
        yield {"status": "stopped", "message": "", "peak_bytes": peak_bytes(process)}
    else:
        yield {"message": "the process did not start"}


def peak_bytes(process: int | None = None) -> int | None:
    """Return the most memory that a process has had resident at once.

    `process`: its number; this one and those that it has waited for, whichever had most, without
    it.
    Returns: bytes; None for another process where the system has no ``/proc``.
    """
    if process is not None:
        return _high_water(str(process))
    own = _high_water("self") or _most_resident(resource.RUSAGE_SELF)
    return max(own, _most_resident(resource.RUSAGE_CHILDREN))


def _high_water(process: str) -> int | None:
    """Read VmHWM, which unlike getrusage's figure is not inherited from whoever started it."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _most_resident(who: int) -> int:
    """Return what getrusage calls maxrss: bytes on macOS, KiB elsewhere."""
    return resource.getrusage(who).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# -- the child ------------------------------------------------------------------------------------


class _Clock:
    """Tells the parent when the interval and when all levels are known."""

    def __init__(self, told: Connection) -> None:
        self._told, self._begin = told, time.perf_counter()
        self._levels_known = False

    def __call__(self, message: str) -> None:
        from twill.search.answer import REALIZING

        known = INTERVAL_KNOWN.match(message)
        if known:
            self.tell(interval_units=int(known[1]), seconds_to_interval=self.seconds)
        if message == REALIZING and not self._levels_known:
            self._levels_known = True
            self.tell(seconds_to_all_levels=self.seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return round(time.perf_counter() - self._begin, 4)

    def tell(self, **event: object) -> None:
        """Send one event."""
        self._told.send(event)


def _child(case: Case, told: Connection) -> None:
    end_with_parent()
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)  # solvers in C write where they like
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    _solve(case, told)


def _solve(case: Case, told: Connection) -> None:
    from twill.artifacts.machine import Machine
    from twill.base.errors import RefusedError, TwillError
    from twill.search.request import Request, engine_factory
    from twill.search.scheduler import solve

    given = ("rules", "time", "engine", "limits", "until")
    try:
        loop, machine = load_loop(case.loop), Machine.named(case.machine)
        engine_factory("difference" if case.engine == "both" else case.engine)
        told.send({"started": True, "operations": len(loop.operations)})
        clock = _Clock(told)
        request = Request(loop, machine, **{name: getattr(case, name) for name in given})
        found = solve(request, report=clock).schedule
        clock.tell(seconds=clock.seconds, peak_bytes=peak_bytes())
        clock.tell(status="found", message="", **_facts(found))
    except TwillError as error:
        status = "refused" if isinstance(error, RefusedError) else "failed"
        told.send({"status": status, "message": str(error), "peak_bytes": peak_bytes()})
    except Exception as error:  # a crash is a result of the bench, not its end
        told.send({"status": "failed", "message": f"{type(error).__name__}: {error}"})


def _facts(schedule: Schedule) -> Event:
    """Return what a schedule says, without its times."""
    from twill.verification import verify

    proof, interval = schedule.proof, schedule.initiation_interval
    assert proof is not None
    assert interval is not None
    return {
        "interval_units": interval,
        "interval_cycles": interval * schedule.time.cycles_per_unit,
        "bound": proof.bound.reason,
        "levels": {level.level: level.value for level in proof.levels},
        "proved": {level.level: level.proved for level in proof.levels},
        "valid": verify(schedule).valid,
        "solver": schedule.solver,
    }
