"""Solving in a process of its own that is ended once it takes more than so much memory.

A solver in C that gets no more memory ends, or slows down, its whole process. Here that process is
a child, which says what it is doing while it lives, so that the parent can tell what is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from twill.artifacts.schedule import Schedule
from twill.children import end_with_parent
from twill.console import WARNING, Report, silent, warn
from twill.errors import Refusal, RefusedError, SolverError, TwillError
from twill.search.cache import Cache
from twill.search.known import FOUND
from twill.search.request import Request
from twill.search.scheduler import Interrupted, Solved, solve

MEGABYTE = 1_000_000
LOOK_SECONDS = 0.05
LAST_SECONDS = 1.5
"""Seconds in which an interrupted child may still say what it has found."""
CHILD = "from twill.search.worker import main; main()"


def solve_within(
    megabytes: int,
    request: Request,
    *,
    timeout: float | None = None,
    report: Report = silent,
    cache: Cache | None = None,
) -> Solved:
    """Solve in a process of its own that may take so much memory.

    `megabytes`: most resident memory of that process, in units of 10^6 bytes, looked at 20 times a
    second: Python, the libraries and the solver together.

    Raises
    ------
    RefusedError
        If that was not enough, with the best interval found so far; as from `solve` otherwise.
    SolverError
        If the process ended for another reason.
    """
    with tempfile.TemporaryFile() as errors:
        run = _Run(pickle.dumps((request, timeout, cache)), errors, megabytes * MEGABYTE, report)
        errors.seek(0)
        told = errors.read().decode(errors="replace").strip().splitlines()
    for line in told:
        if line.startswith(WARNING):
            warn(line.removeprefix(WARNING))
    if run.answer is not None:
        return _read(run.answer)
    if run.interrupted:
        raise KeyboardInterrupt
    if run.exceeded:
        raise _too_little(request.loop.name, megabytes, run.best)
    how = signal.Signals(-run.status).name if run.status < 0 else f"status {run.status}"
    raise SolverError(f"the solving process ended with {how}: {' '.join(told[-1:])}".rstrip(": "))


class _Run:
    """One run of the child: its answer, the best interval it told of, and how it ended."""

    def __init__(self, request: bytes, errors: IO[bytes], most: int, report: Report) -> None:
        self.answer: dict[str, Any] | None = None
        self.best: int | None = None
        self.exceeded = self.interrupted = False
        self._child = subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert self._child.stdout is not None
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(most, ended), daemon=True)
        watcher.start()
        try:
            self._send(request)
            try:
                self._listen(report)
            except KeyboardInterrupt:
                self.interrupted = True
                self._last_words(report)
        finally:
            ended.set()
            watcher.join()
            self._child.kill()
            self._child.wait()
            self._child.stdout.close()
        self.status = self._child.returncode

    def _send(self, request: bytes) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._child.stdin as stream:
            stream.write(request)

    def _listen(self, report: Report) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if not line.endswith(b"\n"):
                return
            told = json.loads(line)
            if "report" not in told:
                self.answer = told
                continue
            match = re.fullmatch(FOUND.format(interval=r"(\d+)"), told["report"])
            if match is not None:
                self.best = int(match[1])
            report(told["report"])
        self._child.wait()

    def _last_words(self, report: Report) -> None:
        """Let the child say what it has found, for as long as a person may wait."""
        self._child.send_signal(signal.SIGINT)
        timer = threading.Timer(LAST_SECONDS, self._child.kill)
        timer.start()
        try:
            self._listen(report)
        finally:
            timer.cancel()

    def _watch(self, most: int, ended: threading.Event) -> None:
        while not ended.wait(LOOK_SECONDS):
            if resident(self._child.pid) > most:
                self.exceeded = True
                self._child.kill()
                return


def resident(process: int) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _too_little(name: str, megabytes: int, best: int | None) -> RefusedError:
    so_far = (
        "no schedule was found so far"
        if best is None
        else f"the best so far was a schedule of interval {best}, not known to be least"
    )
    return RefusedError(
        f"{name}: more than {megabytes} MB were needed; {so_far}",
        Refusal(interval=best, limit=megabytes, unit="MB"),
    )


def _read(answer: Mapping[str, Any]) -> Solved:
    if "schedule" in answer:
        schedule = Schedule.from_json(answer["schedule"])
        solved = Solved(schedule, answer["seconds"], cached=answer["cached"])
        if answer["interrupted"]:
            raise Interrupted(solved)
        return solved
    error: TwillError = pickle.loads(bytes.fromhex(answer["error"]))  # noqa: S301 - our own child
    raise error


def main() -> None:
    """Answer the request on stdin; the body of the child."""
    signal.signal(signal.SIGINT, _interrupt_once)
    end_with_parent()
    request, timeout, cache = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent
    try:
        solved = solve(request, timeout=timeout, report=_report, cache=cache)
        interrupted = False
    except Interrupted as stopped:
        solved, interrupted = stopped.solved, True
    except KeyboardInterrupt:
        return
    except TwillError as error:
        _tell(error=pickle.dumps(error).hex())
        return
    _tell(
        schedule=solved.schedule.to_json(),
        seconds=solved.seconds,
        cached=solved.cached,
        interrupted=interrupted,
    )


def _interrupt_once(_number: int, _frame: object) -> NoReturn:
    """Take the first of the signals that a terminal and the parent send."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _report(message: str) -> None:
    _tell(report=message)


def _tell(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
