"""The machine: partitions of which one runs at a time, and events that happen at any later time.

A partition is a thread that hands over at every instruction that others can observe. The next
partition or event is drawn from a seeded generator, so that a run can be repeated. A *victim*, a
partition or a kind of event, goes on only when nothing else can.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from twill.sim.emulator.accesses import Access, Accesses, Actor, observers
from twill.sim.emulator.faults import FaultError, Place, assigned, place


@dataclass
class Session:
    """State that all blocks of a run share.

    `victim`: the partition or kind of event that is delayed.
    `seed`: seed of the order in which partitions and events go on.
    `capability`: the compute capability that the host finds.
    `candidates`: possible victims, as met so far; the values mean nothing.
    `shared`: arrays that kernels were given for the host's tensors.
    `written`: the memory of tensors that kernels wrote, by its address.
    """

    victim: str | None = None
    seed: int = 0
    capability: tuple[int, int] = (9, 0)
    candidates: dict[str, None] = field(default_factory=dict)
    shared: Any = None
    written: dict[int, object] = field(default_factory=dict)

    def write(self, numbers: Any) -> None:
        """Remember that a kernel wrote into an array, or the one that it is a view of."""
        owner = _owner(numbers)
        self.written[_address(owner)] = owner

    def has_written(self, numbers: Any) -> bool:
        """Return whether a kernel wrote into the memory of an array."""
        return _address(_owner(numbers)) in self.written


def _owner(numbers: Any) -> Any:
    """Return the array that a view is of, through all views between."""
    while isinstance(getattr(numbers, "base", None), np.ndarray):
        numbers = numbers.base
    return numbers


def _address(numbers: Any) -> int:
    return int(numbers.__array_interface__["data"][0])


@dataclass(eq=False)
class Event:
    """A later action of an asynchronous unit; events of one queue happen in order."""

    label: str
    run: Callable[[], None]
    place: Place
    queue: str | None = None
    done: bool = False


Pending = list[tuple[Event, Access]]
"""Events that are waited for together, and what they access."""


class _StoppedError(Exception):
    """Ends the thread of a partition whose block has failed."""


@dataclass(eq=False)
class Partition:
    """A function of a kernel that warps of their own execute."""

    name: str
    number: int
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ready: Callable[[], bool] = bool
    why: Callable[[], str] | None = None
    where: Place | None = None
    over: bool = False
    # What it issued and has not waited for: products of wgmma, TMA stores, groups of cp.async.
    products: list[Pending] = field(default_factory=list)
    stores: list[Pending] = field(default_factory=list)
    copies: list[Pending] = field(default_factory=list)
    staged: Pending = field(default_factory=list)  # copies that are in no group yet


class Machine:
    """The machine that executes a block of a kernel.

    `session`: state of the run.
    `program`, `programs`: the block's place in the grid, and the grid.
    """

    def __init__(self, session: Session, program: Sequence[int], programs: Sequence[int]) -> None:
        self.session, self.program, self.programs = session, program, programs
        self.accesses = Accesses()
        self.events: list[Event] = []
        self.partitions: list[Partition] = []
        self.at_end: list[Callable[[], None]] = []  # checks of what the block leaves
        self._happening: Event | None = None
        self._error: BaseException | None = None
        self._draw = np.random.default_rng(session.seed)

    def run(self, name: str, function: Callable[[], None]) -> None:
        """Execute the kernel `name`.

        Raises
        ------
        FaultError
            If it breaks a rule.
        """
        self.current = Partition(name, 0)
        self.partitions = [self.current]
        with np.errstate(all="ignore"):
            function()
            while self.events:
                self._happen(self.events[0])
            for check in self.at_end:
                check()
        if (access := self.accesses.unseen()) is not None:
            what = f"{access.what} of {access.memory}" if access.memory else access.what
            text = f"{what} is not waited for when the block ends"
            raise FaultError("in flight", text, access.place)

    # -- what kernels ask for ------------------------------------------------------------------

    def here(self) -> Place:
        """Return the line that is executed now, or that issued the event which happens now."""
        if self._happening is not None:
            return self._happening.place
        return place(self.current.name)

    def fault(self, kind: str, text: str) -> FaultError:
        """Return a fault of the line that is executed now."""
        return FaultError(kind, text, self.here())

    def named(self) -> str:
        """Return the name of the variable that is being assigned to."""
        return assigned(_RUN)

    def access(self, what: str, unit: str = "threads", *, shared: bool = True) -> Access:
        """Return an access by a unit on behalf of the current partition."""
        actor = Actor(self.current.number, unit)
        return Access(what, self.here(), actor, shared, actor.shows)

    def later(self, label: str, run: Callable[[], None], queue: str | None = None) -> Event:
        """Let something happen at any later time, behind what is in the same queue."""
        self.session.candidates.setdefault(label)
        event = Event(label, run, self.here(), queue)
        self.events.append(event)
        return event

    def step(self) -> None:
        """Let others go on, or not."""
        self.wait(lambda: True, None)

    def wait(self, ready: Callable[[], bool], why: Callable[[], str] | None) -> None:
        """Let others go on until `ready`; `why` says what is waited for."""
        me = self.current
        me.ready, me.why, me.where = ready, why, self.here() if why else None
        while (chosen := self._choose()) is not me:
            if isinstance(chosen, Event):
                self._happen(chosen)
                continue
            self._hand_over(chosen)
            me.turn.acquire()
            if self._error is not None:
                raise _StoppedError if me.number else self._error
            break

    def settle(self, pending: list[Pending], outstanding: int, what: str) -> None:
        """Let the current partition wait for all of its `pending` but the last `outstanding`."""
        over = [one for group in pending[: max(0, len(pending) - outstanding)] for one in group]
        self.wait(
            lambda: all(event.done for event, _ in over),
            lambda: f"at most {outstanding} {what} in flight",
        )
        for _, access in over:
            access.seen |= observers(self.current.number)
        del pending[: max(0, len(pending) - outstanding)]

    def specialize(self, parts: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]]) -> Any:
        """Execute functions at the same time, the first one in the current partition."""
        main, kernel = self.current, self.current.name
        if len(self.partitions) > 1:
            raise self.fault("shape", "warp_specialize inside of a partition")
        names: list[str] = []
        for function, _ in parts:
            name = getattr(function, "__name__", "partition")
            names.append(name if name not in names else f"{name}#{len(names)}")
        workers = [Partition(name, n) for n, name in enumerate(names)][1:]
        main.name, self.partitions = names[0], [main, *workers]
        for name in names:
            self.session.candidates.setdefault(name)
        self._shared_among(self.partitions)
        threads = []
        for worker, (function, arguments) in zip(workers, parts[1:], strict=True):
            worker.ready = lambda: True
            threads.append(
                threading.Thread(target=self._work, args=(worker, function, arguments), daemon=True)
            )
            threads[-1].start()
        try:
            result = parts[0][0](*parts[0][1])
            self.wait(lambda: all(worker.over for worker in workers), None)
        except BaseException as error:
            self._error = self._error or error
            raise
        finally:
            for worker, thread in zip(workers, threads, strict=True):
                worker.turn.release()
                thread.join()
        self._shared_among([main])
        main.name, self.partitions = kernel, [main]
        return result

    # -- how it goes on ------------------------------------------------------------------------

    def _work(
        self, me: Partition, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        """Execute a partition that is not the first, in its own thread."""
        me.turn.acquire()
        try:
            with np.errstate(all="ignore"):
                if self._error is None:
                    function(*arguments)
            me.over = True
            chosen = self._choose() if self._error is None else me
            while isinstance(chosen, Event):
                self._happen(chosen)
                chosen = self._choose()
            if chosen is not me:
                self._hand_over(chosen)
        except _StoppedError:
            pass
        except BaseException as error:
            self._error = error
            self._hand_over(self.partitions[0])

    def _hand_over(self, partition: Partition) -> None:
        self.current = partition
        partition.turn.release()

    def _happen(self, event: Event) -> None:
        self.events.remove(event)
        self._happening = event
        event.run()
        self._happening = None
        event.done = True

    def _choose(self) -> Partition | Event:
        """Return the partition or event that goes on."""
        waiting = [one for one in self.partitions if not one.over]
        able: list[Partition | Event] = [one for one in waiting if one.ready()]
        queues: set[str] = set()
        for event in self.events:
            if event.queue is None or event.queue not in queues:
                able.append(event)
            if event.queue is not None:
                queues.add(event.queue)
        if not able:
            who = [f"{one.where} waits for {one.why()}" for one in waiting if one.why is not None]
            raise FaultError("deadlock", "; ".join(who))
        victim = self.session.victim
        others = [one for one in able if victim not in (_name(one),)]
        able = others or able
        return able[int(self._draw.integers(len(able)))] if len(able) > 1 else able[0]

    def _shared_among(self, partitions: Sequence[Partition]) -> None:
        """Let partitions see what any partition sees."""
        everyone = sum(1 << 2 * n for n in range(64))
        bits = sum(observers(partition.number) for partition in partitions)
        for access in self.accesses.remembered:
            if access.seen & everyone:
                access.seen |= bits
            if access.fenced:
                access.fenced |= bits


_RUN: CodeType = Machine.run.__code__


def _name(one: Partition | Event) -> str:
    return one.name if isinstance(one, Partition) else one.label


@dataclass
class _Running:
    """The session that is emulated now, and the machine of its block."""

    session: Session | None = None
    machine: Machine | None = None
    constant: bool = False  # a function of constants is called


running = _Running()


def machine() -> Machine:
    """Return the block that is executed now.

    Raises
    ------
    RuntimeError
        Outside of a kernel.
    """
    if running.machine is None:
        raise RuntimeError("Gluon functions are called in kernels only")
    return running.machine
