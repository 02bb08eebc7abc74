"""The simulated clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy

Action = Callable[[], object]


def _nothing() -> None:
    """Be what happens after every event unless something else is named."""


class Clock:
    """Time in cycles, and what happens when.

    The issue contexts run ahead of the queue of events, as far as nothing in it can intervene, and
    set `now` as they go.

    Attributes
    ----------
    now : float
        Current cycle.
    events : int
        Events of the queue so far.
    after_event : callable
        Called after each of them.
    horizon : callable
        Returns the cycle of the next event, infinite if there is none.
    """

    __slots__ = ("_environment", "after_event", "events", "horizon", "now")

    def __init__(self) -> None:
        self._environment = simpy.Environment()
        self.horizon: Callable[[], float] = self._environment.peek
        self.now = 0.0
        self.events = 0
        self.after_event: Action = _nothing

    def at(self, when: float, action: Action) -> None:
        """Let something happen.

        `when`: cycle; what is named for a cycle in the past happens in the current one.
        """
        when = max(when, self.now)
        delay = when - self._environment.now
        timeout = simpy.Timeout(self._environment, delay if delay > 0 else 0.0, (when, action))
        timeout.callbacks.append(self._fire)

    def _fire(self, event: Any) -> None:
        self.now, action = event.value
        self.events += 1
        action()
        self.after_event()

    def run(self) -> None:
        """Let everything happen until no event is left."""
        self._environment.run()
