"""Several ways to one answer, side by side in processes: the first that is definite counts."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Generic, Protocol, TypeVar

from twill.children import end_with_parent

SLICE = 0.25
"""Seconds for which a process runs before the next one's turn, where there are more than cores."""
FAVOUR = 3
"""Slices that the first way gets for one of each other."""


class Definite(Protocol):
    """An answer that may be undecided."""

    @property
    def status(self) -> str:
        """``sat``, ``unsat`` or ``unknown``."""


T = TypeVar("T", bound=Definite)


def race(
    ways: Sequence[Callable[[], T]],
    jobs: int,
    timeout: float | None = None,
    favour: int = FAVOUR,
) -> T | None:
    """Return the first definite answer, else the last undecided one, None if there is none in time.

    Each way runs in a process of its own; with more ways than `jobs` they take turns, of which
    those of the first are longer.

    Parameters
    ----------
    ways : sequence of callable
        Each returns an answer; they agree if all are definite.
    jobs : int
        Processes that run at a time.
    timeout : float, optional
        Seconds.
    favour : int
        Slices that the first way gets for one of each other.
    """
    if len(ways) == 1 or "fork" not in multiprocessing.get_all_start_methods():
        for way in ways:
            answer = way()
            if answer.status != "unknown":
                break
        return answer
    ends = None if timeout is None else time.monotonic() + timeout
    with _running(ways) as runners:
        return _first(runners, jobs, ends, favour)


class _Runner(Generic[T]):
    """A process that works out one answer."""

    def __init__(self, way: Callable[[], T]) -> None:
        context = multiprocessing.get_context("fork")
        self.answers, sending = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(way, sending), daemon=True)
        self.process.start()
        sending.close()
        # Whoever is stopped before it is bound to its parent would outlive it.
        with contextlib.suppress(EOFError):
            self.answers.recv()

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, number)

    def end(self) -> None:
        self.send(signal.SIGKILL)
        self.process.join()
        self.answers.close()


@contextlib.contextmanager
def _running(ways: Sequence[Callable[[], T]]) -> Iterator[list[_Runner[T]]]:
    runners: list[_Runner[T]] = []
    try:
        runners.extend(_Runner(way) for way in ways)
        yield runners
    finally:
        for runner in runners:
            runner.end()


def _first(runners: list[_Runner[T]], jobs: int, ends: float | None, favour: int) -> T | None:
    waiting, undecided = list(runners), None
    while waiting and (ends is None or time.monotonic() < ends):
        crowded = len(waiting) > jobs
        for position, runner in enumerate(waiting):
            runner.send(signal.SIGCONT if position < jobs else signal.SIGSTOP)
        left = None if ends is None else max(0.0, ends - time.monotonic())
        turn = SLICE * (favour if waiting[0] is runners[0] else 1)
        pause = min(turn, turn if left is None else left) if crowded else left
        for ready in wait([runner.answers for runner in waiting], pause):
            runner = next(r for r in waiting if r.answers is ready)
            waiting.remove(runner)
            answer = _received(runner)
            if answer is not None and answer.status != "unknown":
                return answer
            undecided = answer or undecided
        if crowded:
            waiting = [*waiting[jobs:], *waiting[:jobs]]
    return undecided


def _received(runner: _Runner[T]) -> T | None:
    """Return what a process sent, None if it ended without an answer."""
    try:
        answer: T | BaseException = runner.answers.recv()
    except EOFError:
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _work(way: Callable[[], Definite], sending: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()
    sending.send(None)
    try:
        sending.send(way())
    except Exception as error:
        sending.send(error)
    finally:
        sending.close()
        os._exit(0)
