"""Ctrl-C: ends a process at once where nothing is at stake, else the work, which keeps its best.

Imports of a command take a second, so `hear` comes before them; little is imported here.
"""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STATUS = 130
_SHOW_CURSOR = "\r\x1b[?25h"
_heard = False
_kept = ""


def hear() -> None:
    """Let Ctrl-C end the process at once from now on, unless the parent process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def over() -> None:
    """Let Ctrl-C do nothing in what is left of a process that has done its work."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def keep(what: str) -> None:
    """Say what is kept if the process is ended at once."""
    global _kept  # noqa: PLW0603 - a signal handler has no other arguments
    _kept = what


def heard() -> bool:
    """Whether Ctrl-C came since the work began that it ends."""
    return _heard


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Let the first Ctrl-C raise KeyboardInterrupt within, and the second end the process."""
    global _heard  # noqa: PLW0603
    _heard = False
    before = signal.getsignal(signal.SIGINT)
    if not _in_charge() or before not in (_end, signal.default_int_handler):
        yield
        return
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def later() -> Iterator[None]:
    """Let Ctrl-C wait until the end of what must not be cut short."""
    before = signal.getsignal(signal.SIGINT)
    if not _in_charge() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def again() -> None:
    """Let the next Ctrl-C be the first one: the exception of the last got lost."""
    if _in_charge() and signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _raise)


def _in_charge() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _raise(_number: int, _frame: object) -> None:
    global _heard  # noqa: PLW0603
    _heard = True
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(_number: int, _frame: object) -> None:
    said = f"twill: interrupted{_kept}\n"
    with contextlib.suppress(OSError):
        os.write(2, f"{_SHOW_CURSOR if os.isatty(2) else ''}{said}".encode())
    os._exit(STATUS)
