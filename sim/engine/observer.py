"""What an execution tells those who watch it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

Stall = Literal[
    "barrier", "completion", "scoreboard", "pipe", "issue slot", "synchronisation", "queue"
]


class Observer:
    """Watches an execution; every method does nothing until a subclass says what.

    Cycles are clock cycles of the SM. `lane` is the number of a warp in its group; where the warps
    of a group are in step the engine executes the first of them for all, and only that lane is
    heard of. What a whole group or a unit does in memory has the lane of the warp that came first.

    Calls come in an order in which each follows what it depends on: those of one warp in program
    order, a wait after the arrivals that it waited for. Between parties that do not wait for each
    other the order of calls need not be that of cycles, and a cycle may lie ahead of the call, as
    when a unit says on starting when it will be done.
    """

    def issued(
        self,
        group: str,
        lane: int,
        operation: str,
        iteration: int,
        unit: str,
        begin: float,
        end: float,
    ) -> None:
        """Take instructions that a warp issues back to back, or one.

        `begin`, `end`: cycle at which the first is issued, and from which the warp can issue the
        next of the operation.
        """

    def stalled(
        self,
        group: str,
        lane: int,
        kind: Stall,
        subject: str,
        iteration: int,
        begin: float,
        end: float,
    ) -> None:
        """Take cycles in which a warp could not go on.

        `kind`: ``barrier``, ``completion`` (of an operation), ``scoreboard`` (an operand in
        registers), ``pipe`` (taken by others), ``issue slot``, ``synchronisation`` (the cost of a
        wait or an arrive itself) or ``queue`` (of a unit, full).
        `iteration`: of the subject; of the stalled operation where it has none.
        `begin`, `end`: cycles.
        """

    def busy(self, unit: str, operation: str, iteration: int, begin: float, end: float) -> None:
        """Take a command that an asynchronous unit executes.

        `begin`, `end`: cycles between which nothing else starts on the unit.
        """

    def started(self, operation: str, iteration: int, cycle: float) -> None:
        """Take the start of an operation: its first instruction, or its unit's start on it.

        `cycle`: cycle.
        """

    def completed(self, operation: str, iteration: int, cycle: float) -> None:
        """Take the completion of an operation.

        `cycle`: cycle from which its result can be read.
        """

    def arrived(
        self,
        barrier: str,
        iteration: int,
        group: str,
        lane: int,
        operation: str,
        cycle: float,
        visible: float,
    ) -> None:
        """Take an arrival at a barrier's phase.

        `group`, `lane`: the warp; an empty group where an asynchronous operation arrives by itself.
        `operation`: that operation, otherwise empty; its iteration is that of the phase.
        `cycle`, `visible`: cycle of the arrival, and from which others see it. A group's arrival
        counts when the last of its warps has arrived.
        """

    def waited(self, group: str, lane: int, barrier: str, iteration: int, cycle: float) -> None:
        """Take a wait on a barrier that came to its end.

        `cycle`: cycle.
        """

    def met(self, group: str, cycle: float) -> None:
        """Take that all warps of a group have waited for each other.

        `cycle`: cycle.
        """

    def awaited(self, group: str, lane: int, operation: str, iteration: int, cycle: float) -> None:
        """Take a wait for an operation that came to its end.

        `cycle`: cycle.
        """

    def fenced(self, group: str, lane: int, cycle: float) -> None:
        """Take a proxy fence.

        `cycle`: cycle.
        """

    def writing(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Take the begin of a write.

        `place`: ``smem``, ``tmem``, ``registers of GROUP``, ``copy for OPERATION at distance N``,
        ``staging in smem`` or ``no memory``.
        `operation`: who writes: the operation, ``put of VALUE`` or ``get of VALUE``.
        `begin`: cycle.
        """

    def wrote(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a write; the parameters are those of `writing`.

        `end`: cycle from which the instance can be read.
        """

    def reading(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
    ) -> None:
        """Take the begin of a read.

        `value`, `iteration`: the instance that the reader means; the slot may hold another one.
        `begin`: cycle.
        """

    def read(
        self,
        value: str,
        place: str,
        slot: int,
        iteration: int,
        operation: str,
        of_iteration: int,
        group: str,
        lane: int,
        begin: float,
        end: float,
    ) -> None:
        """Take the end of a read; the parameters are those of `reading`.

        `end`: cycle from which the slot may be overwritten.
        """


EVENTS = tuple(name for name in vars(Observer) if not name.startswith("_"))


class _Several(Observer):
    """Passes everything on to several observers, in their order."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        for name in EVENTS:
            setattr(self, name, _each([getattr(observer, name) for observer in observers]))


def _each(methods: list[Callable[..., None]]) -> Callable[..., None]:
    def call(*arguments: Any) -> None:
        for method in methods:
            method(*arguments)

    return call


def together(observers: Iterable[Observer]) -> Observer | None:
    """Return one observer that stands for several, or None if there are none."""
    observers = tuple(observers)
    if len(observers) < 2:
        return observers[0] if observers else None
    return _Several(observers)
