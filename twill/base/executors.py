"""Executors of concurrent work: this process, child processes, a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import logging
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from concurrent.futures import wait as wait_for
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from twill.base.errors import InputError, MissingLibraryError, WorkerError
from twill.base.interruptions import later

Argument = TypeVar("Argument")
Result = TypeVar("Result")
START_METHOD = "spawn"  # workers share nothing with a process that has threads
MOST_DEATHS = 5  # of workers that were doing the same
COLLECTED_AFTER = 50_000  # objects more than were freed, after which cycles are looked for


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Executor | None]:
    """Give an executor on processes of this machine; none where one job is enough.

    Workers end with the process that started them, also if that is killed; Ctrl-C is for that one
    alone. Another worker repeats the call of a worker that died.
    """
    if jobs == 1:
        yield None
        return
    processes = None
    try:
        with later():
            processes = _Processes(jobs)
        yield processes
    except BaseException:
        if processes is not None:
            processes.kill()
        raise
    finally:
        if processes is not None:
            with later():  # a shutdown that is interrupted may wait for ever
                processes.shutdown(wait=True, cancel_futures=True)


class _Processes(ThreadPoolExecutor):
    """An executor each thread of which waits for a worker process."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs)
        self._workers = [_Worker() for _ in range(jobs)]
        self._idle = queue.SimpleQueue[_Worker]()
        for worker in self._workers:
            self._idle.put(worker)

    def submit(
        self, function: Callable[..., Result], /, *arguments: Any, **keywords: Any
    ) -> Future[Result]:
        """Return the future of a call, which fails with `BrokenExecutor` if workers die of it."""
        return super().submit(self._made, functools.partial(function, *arguments, **keywords))

    def _made(self, call: Callable[[], Result]) -> Result:
        worker = self._idle.get()
        try:
            made: Result = worker(pickle.dumps(call))
        finally:
            self._idle.put(worker)
        return made

    def kill(self) -> None:
        """End all workers at once; what they are doing fails."""
        for worker in self._workers:
            worker.end(signal.SIGKILL)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as it is overridden
        """End all workers once they have done what they are doing."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.end(signal.SIGTERM)


class _Worker:
    """A process that makes calls, one after the other; one that dies is replaced."""

    def __init__(self) -> None:
        self._ended = False
        self._lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._ended:
                raise BrokenExecutor
            context = multiprocessing.get_context(START_METHOD)
            self._told, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,))  # type: ignore[attr-defined]  # of every context
            with interrupts_later():
                self._process.start()
            theirs.close()

    def __call__(self, call: bytes) -> Any:
        """Return what a pickled call returns, or raise what it raises."""
        for _ in range(MOST_DEATHS):
            try:
                self._told.send_bytes(call)
                succeeded, made = pickle.loads(self._told.recv_bytes())  # noqa: S301 - of `_serve`
            except (EOFError, OSError):
                self._told.close()
                self._process.join()
                self._start()
            else:
                if succeeded:
                    return made
                raise made
        raise BrokenExecutor

    def end(self, how: signal.Signals) -> None:
        """End the process."""
        with self._lock:
            self._ended = True
            if self._process.is_alive():
                os.kill(self._process.pid or 0, how)
            self._process.join()


def _serve(told: Connection) -> None:
    """Make the calls that arrive, the body of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _collect_rarely()
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with contextlib.suppress(EOFError):
        while True:
            told.send_bytes(_answer(told.recv_bytes()))


def _answer(call: bytes) -> bytes:
    try:
        return pickle.dumps((True, pickle.loads(call)()))  # noqa: S301 - of `_Processes`
    except Exception as error:
        error.add_note(traceback.format_exc())
        return pickle.dumps((False, error))


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait: a worker that is still starting would answer it with a traceback.

    The tracker of `multiprocessing`, whose start would let it through, starts before.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def collected_rarely() -> Iterator[None]:
    """Look for unreachable cycles seldom: simulations make many objects, and hardly any cycles."""
    before = gc.get_threshold()
    _collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _collect_rarely() -> None:
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Give an executor on a Dask cluster.

    `address`: of its scheduler, for example ``tcp://10.0.0.1:8786``, or the name of a file that the
    scheduler wrote (``--scheduler-file``).

    Raises
    ------
    MissingLibraryError
        If Dask is not installed.
    InputError
        If no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingLibraryError.of_extra("Dask", "cluster") from None
    named = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = Client(**named, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"no Dask scheduler answers: {error}", path="cluster") from None
    # What goes wrong is an error of ours; theirs are tracebacks of each attempt.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        # Points are not to be taken for equal because their arguments are.
        yield client.get_executor(pure=False)
    finally:
        client.close()
        logging.disable(before)


def keeping(function: Callable[..., Result], *first: object) -> Callable[..., Result]:
    """Return a function of the other arguments; a process that runs it unpickles `first` once."""
    return functools.partial(_with_kept, function, pickle.dumps(first))


def _with_kept(function: Callable[..., Result], kept: bytes, *arguments: object) -> Result:
    return function(*_unpickled(kept), *arguments)


@functools.lru_cache(maxsize=1)
def _unpickled(kept: bytes) -> tuple[Any, ...]:
    found: tuple[Any, ...] = pickle.loads(kept)  # noqa: S301 - pickled by `keeping`
    return found


def completed(
    function: Callable[[Argument], Result],
    arguments: Iterable[Argument],
    executor: Executor | None,
    most: int,
) -> Iterator[Result]:
    """Yield the results of a function for its arguments, in the order in which they are finished.

    `executor`: runs the function; this process without one.
    `most`: arguments given to the executor at once. They are taken one by one as it has room for
    them, so that the next ones may depend on the results so far.

    Raises
    ------
    WorkerError
        If workers die of an argument again and again, or no worker is left.
    """
    if executor is None:
        yield from map(function, arguments)
        return
    waiting = iter(arguments)
    pending: set[Future[Result]] = set()
    try:
        while True:
            for argument in itertools.islice(waiting, most - len(pending)):
                pending.add(executor.submit(function, argument))
            if not pending:
                return
            done, pending = wait_for(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    except BrokenExecutor:
        raise WorkerError(
            f"{MOST_DEATHS} worker processes died of the same point, perhaps for want of memory; "
            "finished points are kept: run the same command again to go on, with fewer --jobs if "
            "need be"
        ) from None
    except (CancelledError, OSError) as error:
        raise WorkerError(
            f"nobody runs the points any more ({type(error).__name__}); finished points are kept: "
            "run the same command again to go on"
        ) from None
    finally:
        for future in pending:
            future.cancel()
