"""Ctrl-C, killed workers and killed commands at many moments: what was found is never lost.

``python -m tests.cli.interrupted [SEED]`` prints what came of 50, 20, 20 and 20 of them.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import psutil

import twill
from tests.support.small import random_loop
from twill.polish.judge import Judge
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.engine import Conditions

WAYS = ("--effort", "quick", "--jobs", "2", "-o", "out.json")
COMMANDS = {
    "polish": ("polish", "given.json", *WAYS),
    "schedule": ("schedule", "loop.json", "-m", "machine.json", "--no-cache", *WAYS),
}
# A schedule has to be lowered and verified before it is one, by a processor that others use too.
MADE_SECONDS = 5.0
NOT_YET_SECONDS = 0.4  # before the first line of the project is executed, on a busy machine
LAST_SECONDS = 60.0
IMPROVING = 17  # a random loop, of whose programs polishing finds better ones several times
FOUND = "found a schedule at"
COUNTS = {"once": 50, "worker": 20, "twice": 20, "group": 20}
TOLD = """
import contextlib, sys, time
from twill.base.interruptions import hear
hear()

def told(message):
    with open("told.txt", "a") as file:
        file.write(f"{time.time()} {message}\\n")

@contextlib.contextmanager
def progress(title):
    yield told

if __name__ == "__main__":
    from twill.cli import polish, schedule
    polish.progress = schedule.progress = progress
    from twill.cli.main import main
    main()
"""
"""The command, which writes what it says that it has found to a file."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; `wrong` says what should not be, empty if nothing."""

    way: str
    after: float
    status: int
    wrong: str


@dataclass(frozen=True)
class Whole:
    """What a command takes, and writes, if nobody interrupts it; and what it was given."""

    command: str
    seconds: float
    written: bytes
    given: twill.Schedule


def whole(command: str) -> Whole:
    """Run a command to its end."""
    loop, machine = random_loop(IMPROVING)
    given = solve(Request(loop, machine, search="written")).schedule
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.monotonic()
        process = _started(command, given, folder)
        assert process.wait() == 0, (folder / "stderr.txt").read_text()
        assert not [file.name for file in folder.glob("*.partial*")]
        written = (folder / "out.json").read_bytes()
        return Whole(command, time.monotonic() - began, written, given)


def ended(way: str, after: float, between: float, expected: Whole) -> Ended:
    """Start the command and end it after so many seconds.

    `way`: ``once`` or ``twice`` by Ctrl-C; a ``worker`` is killed, or the whole ``group``.
    `between`: seconds between the first and the second.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = _started(expected.command, expected.given, folder)
        try:
            _sleep(process, after)
            end = time.time()
            if way == "worker":
                _kill_worker(process)
            elif way == "group":
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.send_signal(signal.SIGINT)
            if way == "twice":
                _sleep(process, between)
                process.send_signal(signal.SIGINT)
            status = process.wait(LAST_SECONDS + 10 * expected.seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        wrong = _wrong(way, status, folder, end, expected)
        return Ended(way, after, status, wrong)


def _started(command: str, given: twill.Schedule, folder: Path) -> subprocess.Popen[bytes]:
    (folder / "told.py").write_text(TOLD)
    given.save(folder / "given.json")
    given.loop.save(folder / "loop.json")
    given.machine.save(folder / "machine.json")
    with (folder / "stderr.txt").open("wb") as told:
        return subprocess.Popen(
            [sys.executable, "told.py", *COMMANDS[command]],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=told,
            start_new_session=True,
            preexec_fn=_heard,  # noqa: PLW1509 - there is one thread
        )


def _heard() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _sleep(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _kill_worker(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker, once there is one, if the command does not end before."""
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children():
                if any("spawn_main" in word for word in child.cmdline()):
                    child.kill()
                    return
        time.sleep(0.02)


def _wrong(way: str, status: int, folder: Path, end: float, expected: Whole) -> str:
    """Return what should not be; empty if nothing."""
    said = (folder / "stderr.txt").read_text()
    files = list(folder.glob("out*.json"))
    answer = folder / "out.json"
    if "Traceback" in said or "Error" in said:
        return f"a traceback: {said[-300:]}"
    finished = status == 0 and answer.exists() and answer.read_bytes() == expected.written
    if way == "worker" or finished:
        left = [file.name for file in files if file != answer]
        return "" if finished and not left else f"another answer, status {status}, and {left}"
    allowed = -signal.SIGKILL if way == "group" else 130
    if status != allowed:
        return f"status {status}"
    return _lost(folder, files, end, expected)


def _lost(folder: Path, files: list[Path], end: float, expected: Whole) -> str:
    """Return what was told of, early enough to be written, and is in no file."""
    log = folder / "told.txt"
    lines = log.read_text().splitlines() if log.exists() else []
    told = [(float(line.split()[0]), line.split(" ", 1)[1]) for line in lines]
    kept = [twill.Schedule.load(file) for file in files]
    if any(twill.verify(one).violations for one in kept):
        return "a schedule that is not valid"
    cycles = [_number(m) for t, m in told if " cycles, " in m and t < end]
    given = [expected.given] if expected.command == "polish" else []
    if cycles and min(map(_cycles, kept + given), default=math.inf) > 1.003 * min(cycles):
        return f"{min(cycles)} cycles were found, and are in none of {len(kept)} files"
    interval = [int(m.split("I = ")[1]) for t, m in told if FOUND in m and t < end - MADE_SECONDS]
    if interval and not kept:
        return f"an interval of {min(interval)} was found, and nothing is kept"
    return ""


def _cycles(schedule: twill.Schedule) -> float:
    if schedule.promise is not None:
        return schedule.promise.interval_cycles
    return Judge((Conditions(),)).interval(schedule, 64) or math.inf


def _number(message: str) -> float:
    return float(message.split(" cycles, ", maxsplit=1)[0].rsplit(" ", 1)[-1].replace(",", ""))


def moments(count: int, seed: int, seconds: float) -> list[tuple[float, float]]:
    """Return moments all over a run, each with the time until a second signal."""
    random = Random(seed)
    width = (seconds - NOT_YET_SECONDS) / max(count, 1)
    at = (NOT_YET_SECONDS + (n + random.random()) * width for n in range(count))
    return [(moment, random.uniform(0.0, 1.0)) for moment in at]


def campaign(seed: int, counts: dict[str, int], say: Callable[[str], object]) -> list[Ended]:
    """Interrupt the commands in all ways; return what ended as it should not."""
    known, wrong = [whole(command) for command in COMMANDS], list[Ended]()
    for one in known:
        say(f"{one.command}: {one.seconds:.1f} s without interruption")
    for way, count in counts.items():
        found = list[Ended]()
        for expected, some in zip(known, (count - count // 2, count // 2), strict=True):
            for after, between in moments(some, seed, expected.seconds):
                found.append(ended(way, after, between, expected))
        wrong += [one for one in found if one.wrong]
        say(f"{way}: {count}, by status {dict(Counter(one.status for one in found))}")
    for bad in wrong:
        say(str(bad))
    return wrong


if __name__ == "__main__":
    campaign(int(sys.argv[1]) if len(sys.argv) > 1 else 0, COUNTS, print)
