"""One timed solve in a process of its own, stopped from outside when its time is over.

The child, ``python -m twill.studies.bench.process``, reads one case as JSON from its standard
input and writes what happens as JSON lines; its time counts from when loop, machine and solver are
loaded.
"""

from __future__ import annotations

import json
import os
import queue
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from twill.children import end_with_parent

if TYPE_CHECKING:
    from twill.artifacts.loop import Loop
    from twill.artifacts.schedule import Schedule

STARTUP_SECONDS = 120.0
INTERVAL_KNOWN = re.compile(r"least I = (\d+)")
"""What `twill.search.search.LEAST` says."""
Event = dict[str, Any]


def solve_apart(case: Event, timeout: float) -> Event:
    """Solve one case in a new process and return its last event, with the earlier ones merged in.

    `case`: ``loop`` (a packaged name) or ``operations`` and ``seed`` (of a synthetic loop),
    ``machine``, ``engine``, ``time``, ``rules`` and ``limits``; ``until`` names the last level that
    matters, if not all do.
    `timeout`: seconds of solving after which the process is stopped.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "twill.studies.bench.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    merged: Event = {"status": "failed", "message": "the process ended without an answer"}
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps(case))
        process.stdin.close()
        for event in _events(process, timeout):
            merged.update(event)
    finally:
        _end(process)
    return merged


def _events(process: subprocess.Popen[str], timeout: float) -> Iterator[Event]:
    """Yield what the child says until it ends or its time is over."""
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_copy, args=(process.stdout, lines), daemon=True).start()
    deadline, started = time.monotonic() + STARTUP_SECONDS, False
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            yield _over(process) if started else {"message": "the process did not start"}
            return
        if line is None:
            return
        event = json.loads(line)
        if event.pop("started", False):
            deadline, started = time.monotonic() + timeout, True
        yield event


def _over(process: subprocess.Popen[str]) -> Event:
    return {"status": "stopped", "message": "", "peak_bytes": peak_bytes(process.pid)}


def _copy(stream: TextIO, lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """End the child with every solver that it may have started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def peak_bytes(process: int | None = None) -> int | None:
    """Return the most memory that a process has had resident at once.

    `process`: its number; this one and those that it has waited for, whichever had most, without
    it.
    Returns: bytes; None for another process where the system has no ``/proc``.
    """
    own = _high_water("self" if process is None else str(process))
    if process is not None:
        return own
    if own is None:
        own = _in_bytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return max(own, _in_bytes(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))


def _high_water(process: str) -> int | None:
    """Read VmHWM, which unlike getrusage's figure is not inherited from whoever started it."""
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _in_bytes(maximum: int) -> int:
    """Convert what getrusage calls maxrss: bytes on macOS, KiB elsewhere."""
    return maximum if sys.platform == "darwin" else maximum * 1024


# -- the child ------------------------------------------------------------------------------------


class _Clock:
    """Tells the parent when the interval and when all levels are known."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.levels_known = False
        self.begin = time.perf_counter()

    def __call__(self, message: str) -> None:
        from twill.search.scheduler import REALIZING

        known = INTERVAL_KNOWN.match(message)
        if known:  # in refined time first of the normalized search, then of the refined one
            self.tell(interval_units=int(known[1]), seconds_to_interval=self.seconds())
        if message == REALIZING and not self.levels_known:
            self.levels_known = True
            self.tell(seconds_to_all_levels=self.seconds())

    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return round(time.perf_counter() - self.begin, 4)

    def tell(self, **event: object) -> None:
        """Write one event."""
        self.out.write(json.dumps(event) + "\n")
        self.out.flush()


def _child() -> None:
    """Solve the case on standard input."""
    end_with_parent()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # solvers in C write where they like
    _solve(json.load(sys.stdin), out)


def _solve(case: Event, out: TextIO) -> None:
    from twill.artifacts.machine import Machine
    from twill.errors import RefusedError, TwillError
    from twill.search.request import Request
    from twill.search.scheduler import engine_factory, solve

    clock = _Clock(out)
    try:
        loop, machine = _loop(case), Machine.named(case["machine"])
        engine_factory("difference" if case["engine"] == "both" else case["engine"])
        clock.tell(started=True, operations=len(loop.operations))
        clock.begin = time.perf_counter()
        words = ("rules", "time", "engine", "limits", "until")
        asked = {word: case[word] for word in words if word in case}
        found = solve(Request(loop, machine, **asked), report=clock).schedule
        clock.tell(seconds=clock.seconds(), peak_bytes=peak_bytes())
        clock.tell(status="found", message="", **_facts(found))
    except RefusedError as error:
        clock.tell(status="refused", message=str(error), peak_bytes=peak_bytes())
    except TwillError as error:
        clock.tell(status="failed", message=str(error), peak_bytes=peak_bytes())
    except Exception as error:  # a crash is a result of the bench, not its end
        clock.tell(status="failed", message=f"{type(error).__name__}: {error}")


def _loop(case: Event) -> Loop:
    if case.get("loop"):
        from twill.frontends.loops import load_loop

        return load_loop(case["loop"])
    from twill.studies.bench.synthetic import synthetic_loop

    return synthetic_loop(case["operations"], case["seed"], case["machine"])


def _facts(schedule: Schedule) -> Event:
    """Return what a schedule says, without its times."""
    from twill.verification.verifier import verify

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


if __name__ == "__main__":
    _child()
