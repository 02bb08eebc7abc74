"""Who runs what can run side by side: this process, processes beside it, a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from concurrent.futures import wait as wait_for
from multiprocessing.connection import wait
from typing import Any, TypeVar

from twill.errors import InputError, MissingLibraryError, WorkerError

Argument = TypeVar("Argument")
Result = TypeVar("Result")
START_METHOD = "spawn"  # workers share nothing with a process that has threads
COLLECTED_AFTER = 50_000  # objects more than were freed, after which cycles are looked for


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Executor | None]:
    """Give an executor on processes of this machine; none where one job is enough.

    Workers end with the process that started them, also if that is killed.
    """
    if jobs == 1:
        yield None
        return
    context = multiprocessing.get_context(START_METHOD)
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    try:
        with interrupts_later():
            for _ in range(jobs):
                executor.submit(_begun)
        yield executor
    finally:
        with _interrupts_ignored():  # a shutdown that is interrupted may wait for ever
            executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait: a worker that is still starting would answer it with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let further Ctrl-C do nothing, whichever thread hears it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def collected_rarely() -> Iterator[None]:
    """Look for unreachable cycles seldom: simulations make many objects, and few of them."""
    before = gc.get_threshold()
    _collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _collect_rarely() -> None:
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])


def _begun() -> None:
    """Do nothing: the pool starts a worker for it."""


def _begin() -> None:
    """End at once on Ctrl-C, and when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _collect_rarely()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


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
        If nobody answers.
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
    """Yield what a function makes of its arguments, in whatever order that is finished.

    `executor`: who runs it; this process without one.
    `most`: arguments given to the executor at once. They are taken one by one as it has room for
    them, so that which come next may depend on what was yielded.

    Raises
    ------
    WorkerError
        If a worker process died, or nobody runs them any more.
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
            "a worker process died, perhaps for want of memory; finished points are kept: run the "
            "same command again to go on, with fewer --jobs if need be"
        ) from None
    except (CancelledError, OSError) as error:
        raise WorkerError(
            f"nobody runs the points any more ({type(error).__name__}); finished points are kept: "
            "run the same command again to go on"
        ) from None
    finally:
        for future in pending:
            future.cancel()
