"""Progress for people, and work that can be interrupted."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.05
GRACE_SECONDS = 0.5
QUIET_SECONDS = 2.0


class Report(Protocol):
    """Tells a person what is being done now."""

    def __call__(self, message: str) -> None:
        """Say `message`."""


def silent(message: str) -> None:
    """Say nothing.

    Parameters
    ----------
    message : str
        What would be said.
    """


@contextlib.contextmanager
def progress(title: str) -> Iterator[Report]:
    """Show a line on stderr for work that lasts over two seconds; nothing if it is not a terminal.

    Parameters
    ----------
    title : str
        What the work as a whole is.
    """
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.status import Status

    status = Status(title, console=Console(stderr=True))
    timer = threading.Timer(QUIET_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda message: status.update(f"{title}: {message}")
    finally:
        timer.cancel()
        status.stop()


def interruptible(work: Callable[[], T], cancel: Callable[[], object],
                  timeout: float | None = None) -> T:
    """Run `work` in another thread so that Ctrl-C and a time limit reach a solver in C.

    Parameters
    ----------
    work : callable
        Runs to its end unless cancelled; must release the interpreter lock.
    cancel : callable
        Asks it to stop; called on Ctrl-C and when the time is over.
    timeout : float, optional
        Seconds after which to cancel.

    Returns
    -------
    object
        What `work` returned, also after a cancellation for time.

    Raises
    ------
    KeyboardInterrupt
        Within a second of Ctrl-C.
    """
    outcome: list[T] = []
    problem: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            problem.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    waited = 0.0
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            waited += POLL_SECONDS
            if timeout is not None and waited >= timeout:
                cancel()
    except KeyboardInterrupt:
        cancel()
        thread.join(GRACE_SECONDS)
        raise
    if problem:
        raise problem[0]
    return outcome[0]
