"""Solving in a process of its own that is ended once it takes more than so much memory.

A solver in C that gets no more memory ends, or slows down, its whole process. Here that process is
a child, which reports its progress, so that the parent can name what was lost if the child ends.
"""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import NoReturn

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, end_with_parent, silent
from twill.base.deadline import Deadline, check
from twill.base.errors import Refusal, RefusedError, SolverError, TwillError
from twill.base.executors import MOST_DEATHS, interrupts_later
from twill.search.cache import Cache
from twill.search.known import FOUND
from twill.search.request import Log, Request
from twill.search.scheduler import Interrupted, Solved, solve

MEGABYTE = 1_000_000
LOOK_SECONDS = 0.05
LAST_SECONDS = 1.5  # seconds in which an interrupted child may still say what it has found


@dataclass(frozen=True)
class Asked:
    """The request that the process is to solve, and whether it sends each better schedule."""

    request: Request
    timeout: float | None
    cache: Cache | None
    keeps: bool = False


def solve_within(
    megabytes: int,
    request: Request,
    *,
    timeout: float | None = None,
    report: Report = silent,
    log: Log = silent,
    cache: Cache | None = None,
    keep: Callable[[Schedule], None] | None = None,
) -> Solved:
    """Solve in a process of its own that may take so much memory; if it is killed, in another one.

    `megabytes`: most resident memory of that process, in units of 10^6 bytes, looked at 20 times a
    second: Python, the libraries and the solver together.

    Raises
    ------
    RefusedError
        If that was not enough, with the best interval found so far; as from `solve` otherwise.
    SolverError
        If the process ended for another reason, or was killed `MOST_DEATHS` times.
    """
    listeners: dict[str, Callable[..., object]] = {
        "report": report,
        "log": log,
        "stderr": partial(print, end="", file=sys.stderr),
        "keep": keep or silent,
    }
    clock = Deadline(timeout)
    for _ in range(MOST_DEATHS):
        asked = Asked(request, clock.left, cache, keeps=keep is not None)
        solved, status = _solved_within(megabytes, asked, listeners)
        if solved is not None:
            return solved
        if status != -signal.SIGKILL:
            break
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    raise SolverError(f"the solving process ended with {how}")


def _solved_within(
    megabytes: int, asked: Asked, listeners: Mapping[str, Callable[..., object]]
) -> tuple[Solved | None, int]:
    """Return the answer of one process, if it has given one, and its exit status."""
    context = SpawnContext()
    heard, told = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(told, asked))
    with interrupts_later():
        process.start()
    told.close()
    assert process.pid is not None
    listener = _Listener(heard, process.pid, listeners)
    try:
        try:
            exceeded = listener.listen(megabytes)
            process.join(0 if exceeded else LAST_SECONDS)
        except KeyboardInterrupt:
            os.kill(process.pid, signal.SIGINT)
            with Deadline(LAST_SECONDS):
                listener.listen(megabytes)
            if listener.solved is None:
                raise
            raise Interrupted(listener.solved) from None
        status = process.exitcode or 0
    finally:
        process.kill()
        process.join()
        heard.close()
    if listener.solved is None and exceeded:
        raise _too_little(asked.request.loop.name, megabytes, listener.best)
    return listener.solved, status


class _Listener:
    """Receives the child's messages: the answer, and the best interval until then."""

    def __init__(
        self, heard: Connection, process: int, listeners: Mapping[str, Callable[..., object]]
    ) -> None:
        self._heard, self._process, self._listeners = heard, process, listeners
        self.solved: Solved | None = None
        self.best: int | None = None

    def listen(self, megabytes: int) -> bool:
        """Listen until the child ends; return whether it takes more memory than that."""
        while resident(self._process) <= megabytes * MEGABYTE:
            check()
            if self._heard.poll(LOOK_SECONDS) and not self._hear():
                return False
        return True

    def _hear(self) -> bool:
        """Receive a message; return whether there may be more."""
        try:
            kind, what = self._heard.recv()
        except (EOFError, OSError):  # at the end, or within what a killed child said
            return False
        if kind == "solved":
            self.solved = what
        elif kind == "stopped":
            raise Interrupted(what)
        elif kind == "error":
            raise what
        else:
            found = re.fullmatch(FOUND.format(interval=r"(\d+)"), str(what) * (kind == "report"))
            self.best = self.best if found is None else int(found[1])
            self._listeners[kind](what)
        return True


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


def answer(told: Connection, asked: Asked) -> None:
    """Answer a request and say so; the body of the child."""
    signal.signal(signal.SIGINT, _interrupt_once)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    end_with_parent()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # solvers in C write where they like

    def tell(kind: str, what: object) -> None:
        told.send((kind, what))

    report, log, keep = (partial(tell, kind) for kind in ("report", "log", "keep"))
    sys.stderr = _Told(told)
    try:
        solved = solve(
            asked.request,
            timeout=asked.timeout,
            report=report,
            log=log,
            cache=asked.cache,
            keep=keep if asked.keeps else None,
        )
        tell("solved", solved)
    except Interrupted as stopped:
        tell("stopped", stopped.solved)
    except KeyboardInterrupt:
        return
    except TwillError as error:
        tell("error", error)


class _Told(io.TextIOBase):
    """Writes to the parent's standard error."""

    def __init__(self, told: Connection) -> None:
        super().__init__()
        self._told = told

    def write(self, text: str) -> int:
        self._told.send(("stderr", text))
        return len(text)


def _interrupt_once(_number: int, _frame: object) -> NoReturn:
    """Take the first of the signals that a terminal and the parent send."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
