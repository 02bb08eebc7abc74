"""The clock of an execution: time in cycles, the queue of events, and observers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import simpy

from twill.sim.engine.events import Access, Event, Observer

Action = Callable[[], object]


class Clock:
    """Time in cycles, the queue of events, and the observers of the execution.

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
    horizon : float
        Cycle of the next event, infinite if there is none.
    tell : callable, optional
        Passes an event of the execution on to all observers; None while there are none.
    tell_access : callable, optional
        The same for accesses, the most frequent events: None while no observer handles them.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._environment = simpy.Environment()
        self._handlers: dict[type[Event], list[Callable[[Any], object]]] = defaultdict(list)
        for observer in observers:
            for kind, handle in observer.handlers.items():
                self._handlers[kind].append(handle)
        self.horizon = math.inf
        self.now = 0.0
        self.events = 0
        self.after_event: Action = lambda: None
        self.tell: Callable[[Event], None] | None = None
        self.tell_access: Callable[[Access], None] | None = None

    def listen(self) -> None:
        """Pass all events on to the observers from now on."""
        if self._handlers:
            self.tell = self._tell
        if any(issubclass(kind, Access) for kind in self._handlers):
            self.tell_access = self._tell

    def _tell(self, event: Event) -> None:
        for handle in self._handlers[type(event)]:
            handle(event)

    def at(self, when: float, action: Action) -> None:
        """Schedule an action.

        `when`: cycle; an action for a cycle in the past happens in the current one.
        """
        when = max(when, self.now)
        now = self._environment.now
        delay = when - now if when > now else 0.0
        timeout = simpy.Timeout(self._environment, delay, (when, action))
        timeout.callbacks.append(self._fire)
        self.horizon = min(self.horizon, now + delay)

    def _fire(self, event: Any) -> None:
        self.horizon = self._environment.peek()
        self.now, action = event.value
        self.events += 1
        action()
        self.after_event()

    def run(self) -> None:
        """Let everything happen until no event is left."""
        self._environment.run()
