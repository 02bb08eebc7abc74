"""Events of an execution, its observers, and the error that ends it.

Cycles are clock cycles of the SM. A warp is the group's name and the warp's number in it. If the
warps of a group are in step, the engine executes the first of them for all, and only that warp has
events. Memory accesses of a whole group or a unit carry the warp that came first.

Each event follows those that it depends on: events of one warp in program order, a wait after the
arrivals that it waited for. Between parties that do not wait for each other the order need not be
that of cycles. An event's cycle may lie ahead, as when a starting unit reports when it will be
done.

Events are tuples: hundreds of thousands are made in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from twill.base.errors import RefusedError

Stall = Literal[
    "barrier", "completion", "scoreboard", "pipe", "issue slot", "synchronisation", "queue"
]


class Issued(NamedTuple):
    """A warp issues instructions back to back, or one.

    `begin`, `end`: cycle of the first, and from which the warp can issue the next of the operation.
    """

    group: str
    warp: int
    operation: str
    iteration: int
    unit: str
    begin: float
    end: float


class Stalled(NamedTuple):
    """A warp could not go on.

    `kind`: ``barrier``, ``completion`` (of an operation), ``scoreboard`` (an operand in registers),
    ``pipe`` (taken by others), ``issue slot``, ``synchronisation`` (cost of a wait or an arrive) or
    ``queue`` (of a unit, full).
    `iteration`: of the subject; of the stalled operation where it has none.
    """

    group: str
    warp: int
    kind: Stall
    subject: str
    iteration: int
    begin: float
    end: float


class Busy(NamedTuple):
    """A unit executes a command; between two cycles nothing else starts on it."""

    unit: str
    operation: str
    iteration: int
    begin: float
    end: float


class Started(NamedTuple):
    """An operation started: its first instruction, or its unit on it."""

    operation: str
    iteration: int
    cycle: float


class Completed(NamedTuple):
    """An operation is complete; its result can be read from `cycle` on."""

    operation: str
    iteration: int
    cycle: float


class Arrived(NamedTuple):
    """A warp, or by itself an asynchronous operation, arrived at a barrier's phase.

    `group`: empty where it was an operation, which is empty otherwise; its iteration is that of the
    phase.
    `visible`: cycle from which others see it. A group's arrival counts when the last of its warps
    has arrived.
    """

    barrier: str
    iteration: int
    group: str
    warp: int
    operation: str
    cycle: float
    visible: float


class Waited(NamedTuple):
    """A wait came to its end: on a ``barrier``, or for the ``completion`` of an operation."""

    group: str
    warp: int
    kind: Literal["barrier", "completion"]
    subject: str
    iteration: int
    cycle: float


class Met(NamedTuple):
    """All warps of a group have waited for each other."""

    group: str
    cycle: float


class Fenced(NamedTuple):
    """A warp executed a proxy fence."""

    group: str
    warp: int
    cycle: float


class Access(NamedTuple):
    """An access to a slot begins or ends.

    `place`: ``smem``, ``tmem``, ``registers of GROUP``, ``copy for OPERATION at distance N``,
    ``staging in smem`` or ``no memory``.
    `iteration`: of the instance that is meant; the slot may hold another one.
    `operation`, `of_iteration`: the accessing operation, ``put of VALUE`` or ``get of VALUE``.
    `end`: unknown when the access begins. For a read, the cycle from which the slot may be
    overwritten; for a write, the cycle from which the instance can be read.
    """

    value: str
    place: str
    slot: int
    iteration: int
    operation: str
    of_iteration: int
    group: str
    warp: int
    begin: float
    end: float


class ReadBegins(Access):
    """A read begins."""

    __slots__ = ()


class ReadEnds(Access):
    """A read is over."""

    __slots__ = ()


class WriteBegins(Access):
    """A write begins."""

    __slots__ = ()


class WriteEnds(Access):
    """A write is over."""

    __slots__ = ()


Event = Issued | Stalled | Busy | Started | Completed | Arrived | Waited | Met | Fenced | Access
# What is called with the events of each kind that is of interest.
Handlers = Mapping[type[Event], Callable[[Any], object]]


class Observer(Protocol):
    """Watches an execution."""

    @property
    def handlers(self) -> Handlers:
        """The observer's handlers, by type of event."""


class SimulationError(RefusedError):
    """The program broke a rule whose violation a GPU would not survive; `kind` names the rule.

    Attributes
    ----------
    kind : str
        ``value``: a read found another instance. ``overwrite``: a slot was overwritten while it
        was read. ``barrier``: an arrive at the wrong phase, or a wait two phases too late.
        ``race``: two accesses are unordered. ``visibility``: they are ordered, but the first is not
        visible to the second. ``fence``: no proxy fence stands between. Or ``deadlock``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.args = (kind, message)
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"
