"""Which waits and arrives a schedule needs, before they are put in order.

A dependence on an asynchronous result, or across warp groups, takes a wait; a slot that another
group or an asynchronous unit still reads takes one before it is overwritten. A wait that an earlier
one of the same group implies is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from twill.pipeline import Pipeline
from twill.problem import Edge

RELEASE, RECEIVE = -1, -2
FULL, EMPTY, SENT, DONE, ISSUED = "full", "empty", "sent", "done", "issued"


@dataclass(frozen=True)
class Request:
    """A wait that some point of a group's program asks for.

    Attributes
    ----------
    group : str
        The group that waits.
    target : tuple of (str, int)
        What for: ``completion`` of an operation, or the barrier of that kind of an operation.
    distance : int
        The instance waited for is that many iterations before the one at hand.
    time : int
        When it is asked for, relative to the iteration of the instance waited for.
    owner : int
        The operation before which it stands, or `RELEASE` or `RECEIVE`.
    """

    group: str
    target: tuple[str, int]
    distance: int
    time: int
    owner: int


@dataclass(frozen=True)
class Release:
    """A group's last read of a value made elsewhere: after it, the slot may be overwritten.

    Attributes
    ----------
    value : int
        The producer.
    group : str
        The reading group.
    time : int
        When, relative to the value's iteration.
    pending : tuple of (int, int)
        Asynchronous readers and the iterations by which they run later.
    by_itself : int or None
        The reader whose completion arrives at the barrier by itself.
    """

    value: int
    group: str
    time: int
    pending: tuple[tuple[int, int], ...]
    by_itself: int | None


class Signals:
    """All waits, releases and slot counts of a pipeline.

    Parameters
    ----------
    pipeline : Pipeline
        The schedule.
    depths : mapping, optional
        Ring slots of streaming loads by position, where they are not to hide the whole nominal
        latency.
    """

    def __init__(self, pipeline: Pipeline, depths: Mapping[int, int] | None = None) -> None:
        self.pipeline = pipeline
        self._depths = dict(depths or {})
        self.problem = pipeline.problem
        self.interval = pipeline.interval

    # -- releases and slots -------------------------------------------------------------------

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """Releases of values in addressed memory, by groups that did not make them."""
        found: list[Release] = []
        for v, operation in enumerate(self.problem.operations):
            if operation.memory is None:
                continue
            readers: dict[str, list[Edge]] = defaultdict(list)
            for edge in self.problem.consumers[v]:
                if self.pipeline.crosses(edge):
                    readers[self.pipeline.place[edge.consumer]].append(edge)
            found.extend(self._release(v, group, edges) for group, edges in readers.items())
        return tuple(found)

    def _release(self, v: int, group: str, edges: list[Edge]) -> Release:
        operations = self.problem.operations
        time = max(self.pipeline.read_until(edge) for edge in edges)
        pending = tuple(
            (edge.consumer, edge.distance)
            for edge in edges
            if operations[edge.consumer].asynchronous
        )
        alone = len(edges) == 1 and edges[0].distance == 0 and len(pending) == 1
        by_itself = edges[0].consumer if alone and self.signals_itself(edges[0].consumer) else None
        if pending and by_itself is None:
            time = self._at_next_wait(group, pending, time, v)
        return Release(v, group, time, pending, by_itself)

    def _at_next_wait(
        self, group: str, pending: tuple[tuple[int, int], ...], time: int, v: int
    ) -> int:
        """Return when the group next waits for the readers anyway, if that costs no slot."""
        waits = [
            request.time + shift * self.interval
            for c, shift in pending
            for request in self.requests
            if request.group == group
            and request.target == ("completion", c)
            and request.distance == 0
        ]
        later = min((wait for wait in waits if wait >= time), default=time)
        origin = self.pipeline.start[v]
        nominal = self.problem.operations[v].nominal_latency
        same_slots = -(-(later - origin + nominal + self.problem.hop) // self.interval) == -(
            -(time - origin + nominal + self.problem.hop) // self.interval
        )
        return later if same_slots else time

    def signals_itself(self, v: int) -> bool:
        """Return whether the completion of v arrives at a barrier without its group's help.

        Parameters
        ----------
        v : int
            An operation.
        """
        operation = self.problem.operations[v]
        return operation.asynchronous and operation.memory is not None

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """For each operation, the slots that its result needs where it is made."""
        return tuple(self._slots(v) for v in range(len(self.problem.operations)))

    def _slots(self, v: int) -> int:
        operation = self.problem.operations[v]
        origin = self.pipeline.start[v]
        ends = [
            self.pipeline.read_until(edge)
            for edge in self.problem.consumers[v]
            if not self.pipeline.crosses(edge)
        ]
        if operation.memory is None:
            crossing = [e for e in self.problem.consumers[v] if self.pipeline.crosses(e)]
            if crossing:
                ends.append(origin + operation.latency + operation.transfer)
            if self.problem.rules == "paper":
                ends += [self.pipeline.read_until(edge) for edge in crossing]
        else:
            ends += [r.time + self.problem.hop for r in self.releases if r.value == v]
        last = max(ends, default=origin + operation.latency)
        least = max(1, -(-(last - origin) // self.interval))
        if not operation.streaming:
            return least
        hiding = max(1, -(-(last - origin + operation.nominal_latency) // self.interval))
        return max(least, self._depths.get(v, hiding))

    def staging_slots(self, v: int) -> int:
        """Return the slots of the SMEM staging of a register value that crosses groups.

        Parameters
        ----------
        v : int
            The producer.
        """
        last = max(
            self.pipeline.start[e.consumer] + e.distance * self.interval
            for e in self.problem.consumers[v]
            if self.pipeline.crosses(e)
        )
        return max(1, -(-(last + self.problem.hop - self.pipeline.start[v]) // self.interval))

    @cached_property
    def transferred(self) -> tuple[int, ...]:
        """Operations whose register result another group reads."""
        return tuple(sorted({e.producer for e in self.pipeline.crossing if e.transferable}))

    # -- waits --------------------------------------------------------------------------------

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """Waits that dependences ask for, before any is left out; transfers have their own."""
        found = []
        for edge in self.problem.edges:
            group = self.pipeline.place[edge.consumer]
            time = self.pipeline.start[edge.consumer] + edge.distance * self.interval
            target: tuple[str, int] | None = None
            if self.pipeline.crosses(edge):
                if edge.transferable:
                    continue
                target = (FULL if edge.carries else DONE, edge.producer)
            elif edge.blocking:
                target = ("completion", edge.producer)
            if target is not None:
                found.append(Request(group, target, edge.distance, time, edge.consumer))
        return tuple(found)

    @cached_property
    def turns(self) -> tuple[Request, ...]:
        """Waits that keep operations of different groups on one in-order unit in static order.

        Such a unit takes work in the order of its arrival, and groups drift; FlashAttention-3's
        ping-pong barriers keep them in turn.
        """
        found = []
        for unit in {o.in_order_unit for o in self.problem.operations} - {None}:
            users = sorted(
                (self.pipeline.start[o.index] % self.interval, o.index)
                for o in self.problem.operations
                if o.in_order_unit == unit
            )
            for (_, before), (_, after) in zip(users, [*users[1:], *users[:1]], strict=True):
                if self.pipeline.place[before] == self.pipeline.place[after]:
                    continue
                behind = self.pipeline.start[before] - self.pipeline.start[after]
                distance = -(-behind // self.interval)
                time = self.pipeline.start[after] + distance * self.interval
                found.append(
                    Request(self.pipeline.place[after], (ISSUED, before), distance, time, after)
                )
        return tuple(sorted(found, key=lambda r: (r.group, r.time, r.owner)))

    @cached_property
    def overwrites(self) -> tuple[Request, ...]:
        """Waits that a producer needs before it overwrites a slot."""
        found = []
        for v, operation in enumerate(self.problem.operations):
            if not operation.registers and operation.memory is None:
                continue
            group, slots = self.pipeline.place[v], self.slots[v]
            time = self.pipeline.start[v] + slots * self.interval
            for edge in self.problem.consumers[v]:
                consumer = self.problem.operations[edge.consumer]
                same_unit = (
                    consumer.in_order_unit is not None
                    and consumer.in_order_unit == operation.in_order_unit
                )
                if not consumer.asynchronous:
                    continue
                if self.pipeline.crosses(edge):
                    if edge.transferable:
                        found.append(self.copy_overwrite(edge))
                    continue
                if same_unit:
                    continue
                found.append(
                    Request(
                        group,
                        ("completion", edge.consumer),
                        slots - edge.distance,
                        time - edge.distance * self.interval,
                        v,
                    )
                )
            if any(release.value == v for release in self.releases):
                found.append(Request(group, (EMPTY, v), slots, time, v))
        return tuple(found)

    def copy_overwrite(self, edge: Edge) -> Request:
        """Return the wait before the copy that an asynchronous consumer reads is overwritten.

        Parameters
        ----------
        edge : Edge
            A transferable edge between groups.
        """
        slots = self.copy_slots(edge)
        time = self.received_at(edge) + slots * self.interval
        group = self.pipeline.place[edge.consumer]
        return Request(group, ("completion", edge.consumer), slots, time, RECEIVE)

    def copy_slots(self, edge: Edge) -> int:
        """Return the slots of the copy that a consumer on another group reads.

        Parameters
        ----------
        edge : Edge
            A transferable edge between groups.
        """
        end = self.pipeline.start[edge.consumer] + edge.copy_reads
        return max(1, -(-(end - self.received_at(edge)) // self.interval))

    def received_at(self, edge: Edge) -> int:
        """Return when the consumer's group reads the staging of a value, ahead of the consumer.

        Parameters
        ----------
        edge : Edge
            A transferable edge between groups.
        """
        transfer = self.problem.operations[edge.producer].transfer
        return self.pipeline.start[edge.consumer] - (transfer - transfer // 2)

    def release_waits(self, release: Release) -> list[Request]:
        """Return the waits for the asynchronous readers whose end a release announces.

        Parameters
        ----------
        release : Release
            One of `releases`.
        """
        if release.by_itself is not None:
            return []
        return [
            Request(
                release.group,
                ("completion", c),
                -shift,
                release.time - shift * self.interval,
                RELEASE,
            )
            for c, shift in release.pending
        ]

    @cached_property
    def needed(self) -> frozenset[Request]:
        """Requests that no earlier wait of the same group implies."""
        releases = [request for r in self.releases for request in self.release_waits(r)]
        every = {*self.requests, *self.overwrites, *self.turns, *releases}
        kept: list[Request] = []
        for request in sorted(every, key=self._order):
            implied = any(
                other.group == request.group
                and other.target == request.target
                and _covers(other.distance, request.distance)
                for other in kept
            )
            if not implied:
                kept.append(request)
        return frozenset(kept)

    def _order(self, request: Request) -> tuple[int, ...]:
        """Order in which a program executes waits for one instance of something."""
        if request.owner < 0:
            return (request.time, 0 if request.owner == RECEIVE else 2, request.distance)
        operation = self.problem.operations[request.owner]
        start = self.pipeline.start[operation.index]
        return (request.time, 1, not operation.asynchronous, -start, operation.index)


def _covers(first: int, second: int) -> bool:
    """Return whether waits at distance `first` concern every instance that `second` does.

    In a loop of N iterations a wait at distance d concerns instances from max(0, -d) to before
    min(N, N - d).
    """
    return max(0, -first) <= max(0, -second) and max(0, first) <= max(0, second)
