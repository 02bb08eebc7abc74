"""The time that work may take, and the only place where the clock is read for it.

Work is put into the ``with`` statement of a deadline. Whatever waits inside, for a solver or for
another process, looks at the clock through `check`, which ends the statement once its time is over.
(The library `trio` calls this ``move_on_after``, with an event loop.)
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from types import TracebackType

MOMENT = 0.001  # seconds that work may take at least


def now() -> float:
    """Return the seconds of a clock that only runs forwards."""
    return time.monotonic()


class OutOfTime(Exception):  # noqa: N818 - it ends work, and is no error
    """Ends the ``with`` statement of a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__("the time is over")
        self.deadline = deadline


class Deadline:
    """Ends the work of its ``with`` statement when time is over; the program goes on after it."""

    def __init__(self, seconds: float | None = None) -> None:
        self._began = now()
        self._ends = None if seconds is None else self._began + seconds

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return now() - self._began

    @property
    def left(self) -> float | None:
        """Seconds until the time is over, a moment at least; None without a limit."""
        return None if self._ends is None else max(MOMENT, round(self._ends - now(), 2))

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self._ends is not None and now() >= self._ends

    def __enter__(self) -> Deadline:
        _RUNNING.set((*_RUNNING.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        _RUNNING.set(_RUNNING.get()[:-1])
        return isinstance(error, OutOfTime) and error.deadline is self


_RUNNING: ContextVar[tuple[Deadline, ...]] = ContextVar("deadlines", default=())


def check() -> None:
    """Look at the clock for all deadlines around.

    Raises
    ------
    OutOfTime
        If the time of one is over; of several the outermost.
    """
    for deadline in _RUNNING.get():
        if deadline.late:
            raise OutOfTime(deadline)
