"""Who runs what can run side by side: this process, processes beside it, a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.connection import wait

from twill.errors import InputError, MissingLibraryError

START_METHOD = "spawn"  # workers share nothing with a process that has threads


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
        executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait: a worker that is still starting would answer it with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begun() -> None:
    """Do nothing: the pool starts a worker for it."""


def _begin() -> None:
    """End at once on Ctrl-C, and when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
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
        raise MissingLibraryError(
            "Dask is not installed; install it with: pip install 'twill-gpu[cluster]'"
        ) from None
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
