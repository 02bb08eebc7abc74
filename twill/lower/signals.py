"""Which waits and arrives a schedule needs, before they are put in order.

A dependence on an asynchronous result, or across warp groups, takes a wait; a slot that another
group or an asynchronous unit still reads takes one before it is overwritten, by the next instance
or by another value that shares its addresses. A wait that an earlier one of the same group implies
is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from twill.lower.pipeline import Pipeline
from twill.lower.takeovers import Takeover, Tenant, distances, takeovers
from twill.lower.turns import Turn, turns
from twill.memory.addresses import Allocation
from twill.problem import rules
from twill.problem.lifetimes import least_distances
from twill.problem.operations import Edge

RELEASE, RECEIVE, SEND = -1, -2, -3
FULL, EMPTY, SENT, DONE, ISSUED = "full", "empty", "sent", "done", "issued"
TAKEN, FREED, HEARD = "taken", "freed", "heard"


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
        The operation before which it stands, or `RELEASE`, `RECEIVE` or `SEND`.
    sent : int or None
        With `SEND`, the register value before whose staging it stands.
    received : Edge or None
        With `RECEIVE`, the dependence before whose copy it makes room; None before a copy that
        overwrites what the operation waited for reads.
    """

    group: str
    target: tuple[str, int]
    distance: int
    time: int
    owner: int
    sent: int | None = None
    received: Edge | None = None


@dataclass(frozen=True)
class Release:
    """A group's last read of a value: after it, others may overwrite the slot.

    Attributes
    ----------
    kind : str
        ``empty`` by a group that did not make the value; ``freed`` by the one that did, where
        another value of another group takes over the slot; ``heard`` by a group that was told of
        an operation that leaves nothing to overwrite.
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
    later : int
        Iterations by which the first of the readers runs later.
    """

    kind: str
    value: int
    group: str
    time: int
    pending: tuple[tuple[int, int], ...]
    by_itself: int | None
    later: int


class Signals:
    """All waits, releases and slot counts of a pipeline.

    `allocation`: addresses. Without them every value has as many slots as its readers, and hiding
    the nominal latency of streaming loads, ask for, and shares them with none.
    `tight`: groups that wait for what reads their registers as soon as it has read them, since they
    have no room for it until they wait anyway.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        allocation: Allocation | None = None,
        tight: Collection[str] = (),
    ) -> None:
        self.pipeline, self.tight = pipeline, tight
        self.allocation = allocation
        self.problem = pipeline.problem
        self.interval = pipeline.interval

    # -- releases and slots -------------------------------------------------------------------

    @cached_property
    def takeovers(self) -> tuple[Takeover, ...]:
        """Pairs of values that share addresses."""
        return () if self.allocation is None else takeovers(self.pipeline, self.allocation)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """Releases of values in addressed memory that another group waits for."""
        targets = {request.target for request in self.overwrites}
        every = (*self._last_reads, *self._hearings)
        return tuple(r for r in every if (r.kind, r.value) in targets)

    @cached_property
    def _told(self) -> dict[int, tuple[Edge, ...]]:
        """Edges whose producer tells another group of something that no slot holds back."""
        found: dict[int, list[Edge]] = defaultdict(list)
        for edge in self.problem.edges:
            held = edge.carries and self.problem.operations[edge.producer].memory is not None
            if self.pipeline.crosses(edge) and not edge.transferable and not held:
                found[edge.producer].append(edge)
        return {v: tuple(edges) for v, edges in found.items()}

    def _heard_at(self, edge: Edge) -> int:
        issue = self.problem.operations[edge.consumer].issue
        return self.pipeline.start[edge.consumer] + edge.distance * self.interval + max(1, issue)

    def told_slots(self, v: int) -> int:
        """Return the slots of the barriers at which v tells others of more than a slot's value."""
        ends = [self._heard_at(edge) + self.problem.hop for edge in self._told.get(v, ())]
        last = max(ends, default=0) - self.pipeline.start[v]
        return max(1, -(-last // self.interval))

    @cached_property
    def _hearings(self) -> tuple[Release, ...]:
        found = []
        for v, edges in self._told.items():
            for group in dict.fromkeys(self.pipeline.place[edge.consumer] for edge in edges):
                own = [e for e in edges if self.pipeline.place[e.consumer] == group]
                time = max(self._heard_at(edge) for edge in own)
                later = min(edge.distance for edge in own)
                found.append(Release(HEARD, v, group, time, (), None, later))
        return tuple(found)

    @cached_property
    def _last_reads(self) -> tuple[Release, ...]:
        """Last reads by groups that did not make the value, and by those that did."""
        found: list[Release] = []
        for v, operation in enumerate(self.problem.operations):
            if operation.memory is None:
                continue
            readers: dict[str, list[Edge]] = defaultdict(list)
            for edge in self.problem.consumers[v]:
                readers[self.pipeline.place[edge.consumer]].append(edge)
            home = readers.pop(self.pipeline.place[v], None)
            found.extend(self._release(EMPTY, v, group, e) for group, e in readers.items())
            if home:
                found.append(self._release(FREED, v, self.pipeline.place[v], home))
        return tuple(found)

    def _release(self, kind: str, v: int, group: str, edges: list[Edge]) -> Release:
        operations = self.problem.operations
        time = max(self.pipeline.read_until(edge) for edge in edges)
        pending = tuple(
            (edge.consumer, edge.distance)
            for edge in edges
            if operations[edge.consumer].asynchronous
        )
        by_itself = self._last_by_itself(edges)
        if pending and by_itself is None:
            time = self._at_next_wait(group, pending, time, v)
        later = min(edge.distance for edge in edges)
        return Release(kind, v, group, time, pending, by_itself, later)

    def _last_by_itself(self, edges: list[Edge]) -> int | None:
        """Return the reader whose completion says by itself that all of a group's are done."""
        operations = self.problem.operations
        last = max(edges, key=lambda e: (self.pipeline.read_until(e), self._issued(e), e.consumer))
        reader = operations[last.consumer]
        in_order = all(
            e is last
            or (
                operations[e.consumer].in_order_unit == reader.in_order_unit is not None
                and self._issued(e) <= self._issued(last)
            )
            for e in edges
        )
        by_itself = self.signals_itself(last.consumer) and in_order and last.distance == 0
        return last.consumer if by_itself else None

    def _issued(self, edge: Edge) -> int:
        """Return when a consumer issues, relative to its producer's iteration."""
        return self.pipeline.start[edge.consumer] + edge.distance * self.interval

    def _at_next_wait(
        self, group: str, pending: tuple[tuple[int, int], ...], time: int, v: int
    ) -> int:
        """Return when the group next waits for the readers anyway, if that delays nobody."""
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
        operation = self.problem.operations[v]
        nominal = self._late(v) if operation.streaming else operation.nominal_latency
        same_slots = -(-(later - origin + nominal + self.problem.hop) // self.interval) == -(
            -(time - origin + nominal + self.problem.hop) // self.interval
        )
        taken_over = [
            self.pipeline.start[t.new.operation] + t.distance * self.interval
            for t in self.takeovers
            if t.old == Tenant(v, staged=False)
        ]
        if self.allocation is not None and v in self.allocation.values:
            taken_over.append(origin + self.allocation.values[v].count * self.interval)
        in_time = all(later + self.problem.hop <= moment for moment in taken_over)
        return later if same_slots and in_time else time

    def signals_itself(self, v: int) -> bool:
        """Return whether the completion of v arrives at a barrier without its group's help."""
        operation = self.problem.operations[v]
        return operation.asynchronous and operation.memory is not None

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """For each operation, the slots that its result needs where it is made."""
        return tuple(self._slots(v) for v in range(len(self.problem.operations)))

    def _slots(self, v: int) -> int:
        operation = self.problem.operations[v]
        if self.allocation is not None and v in self.allocation.values:
            return self.allocation.values[v].count
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
            ends += [
                r.time + self.problem.hop
                for r in self._last_reads
                if (r.kind, r.value) == (EMPTY, v)
            ]
        last = max(ends, default=origin + operation.latency)
        least = max(1, -(-(last - origin) // self.interval))
        if not operation.streaming:
            return least
        return max(least, -(-(last - origin + self._late(v)) // self.interval))

    def _late(self, v: int) -> int:
        """Return by how much the readers of a streaming load may come after their static times.

        A reader waits for all loads that it reads, and holds the slots of the fastest meanwhile.
        """
        readers = {edge.consumer for edge in self.problem.consumers[v]}
        beside = {e.producer for e in self.problem.edges if e.streaming and e.consumer in readers}
        operations = self.problem.operations
        return max(operations[w].nominal_latency for w in {v, *beside})

    def staging_slots(self, v: int) -> int:
        """Return the slots of the SMEM staging of a register value that crosses groups."""
        if self.allocation is not None and v in self.allocation.transfers:
            return self.allocation.transfers[v].count
        last = max(
            self.pipeline.start[e.consumer] + e.distance * self.interval
            for e in self.problem.consumers[v]
            if self.pipeline.crosses(e)
        )
        return max(1, -(-(last + self.problem.hop - self.pipeline.start[v]) // self.interval))

    @cached_property
    def transferred(self) -> tuple[int, ...]:
        """Operations whose register result another group reads."""
        return tuple(sorted({edge.producer for edge in self.pipeline.copies}))

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

    def issued_slots(self, v: int) -> int:
        """Return the slots of the barrier at which v tells others that it has been issued."""
        return max((turn.slots for turn in self._turns if turn.before == v), default=1)

    @cached_property
    def _turns(self) -> list[Turn]:
        return turns(self.pipeline)

    @cached_property
    def turns(self) -> tuple[Request, ...]:
        """Waits that keep operations of different groups on one unit in static order."""
        found = []
        for turn in self._turns:
            time = self.pipeline.start[turn.after] + turn.distance * self.interval
            group = self.pipeline.place[turn.after]
            found.append(Request(group, (ISSUED, turn.before), turn.distance, time, turn.after))
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
            told = any(self.pipeline.crosses(edge) for edge in self.problem.consumers[v])
            if operation.asynchronous and operation.in_order_unit is None and not told:
                # Readers wait for it too, but not for instances that only later iterations read.
                found.append(Request(group, ("completion", v), slots, time, v))
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
                updates = edge.consumer == v and edge.distance == slots
                if same_unit or updates or self._ordered(edge, slots):
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
            if operation.memory is not None and any(
                self.pipeline.crosses(edge) and not self._ordered(edge, slots)
                for edge in self.problem.consumers[v]
            ):
                found.append(Request(group, (EMPTY, v), slots, time, v))
        return (*found, *self._keeping_step, *self._taking_over)

    @property
    def _keeping_step(self) -> Iterator[Request]:
        """Yield waits that keep a barrier from being two phases ahead of who waits at it."""
        for v, edges in self._told.items():
            slots = self.told_slots(v)
            if not all(self._ordered(edge, slots) for edge in edges):
                time = self.pipeline.start[v] + slots * self.interval
                yield Request(self.pipeline.place[v], (HEARD, v), slots, time, v)

    def _ordered(self, edge: Edge, distance: int) -> bool:
        """Whether dependences order a reader before what its value's maker does later.

        `distance`: iterations by which the maker is later.
        """
        behind = self._behind.get((edge.consumer, edge.producer))
        if edge.consumer == edge.producer:
            return False
        return behind is not None and behind <= distance - edge.distance

    @cached_property
    def _taking_over(self) -> tuple[Request, ...]:
        """Waits for the readers of what another value held before."""
        found = []
        for takeover in self.takeovers:
            v, staged = takeover.new.operation, takeover.new.staged
            group, moment = self.pipeline.place[v], self.pipeline.start[v]
            owner, sent = (SEND, v) if staged else (v, None)
            if staged:
                moment += self.problem.operations[v].latency
            for distance in distances(takeover):
                for target, later in self._ends_of(takeover.old, takeover.new, distance):
                    shift = distance - later
                    time = moment + shift * self.interval
                    found.append(Request(group, target, shift, time, owner, sent))
        return tuple(found)

    @cached_property
    def _behind(self) -> dict[tuple[int, int], int]:
        return least_distances(self.problem)

    def _ends_of(
        self, old: Tenant, new: Tenant, distance: int
    ) -> Iterator[tuple[tuple[str, int], int]]:
        """Yield what ends the life of `old` towards `new`, and the iterations by which it is later.

        Left out are readers on which `new` depends anyway, synchronous ones on its own group, which
        end before it in program order, and those that its unit executes in order before it.
        """
        u, group = old.operation, self.pipeline.place[new.operation]
        if old.staged:
            yield (TAKEN, u), 0
            return
        home = self.pipeline.place[u]
        if not self.problem.consumers[u]:
            if home != group:
                yield (DONE, u), 0
            elif self._to_await(u, new):
                yield ("completion", u), 0
        for edge in self.problem.consumers[u]:
            reader = self.pipeline.place[edge.consumer]
            behind = self._behind.get((edge.consumer, new.operation))
            if behind is not None and behind <= distance - edge.distance:
                continue
            if reader != group:
                yield (FREED if reader == home else EMPTY, u), 0
            elif self._to_await(edge.consumer, new):
                yield ("completion", edge.consumer), edge.distance

    def _to_await(self, reader: int, new: Tenant) -> bool:
        """Whether a group waits for its own operation before it overwrites what that reads."""
        operations = self.problem.operations
        unit = operations[reader].in_order_unit
        in_order = unit is not None and unit == operations[new.operation].in_order_unit
        return operations[reader].asynchronous and (new.staged or not in_order)

    @property
    def _freeing(self) -> Iterator[Request]:
        """Yield waits for asynchronous readers of registers, before what may need the room."""
        for group in self.tight:
            begins = self._begins(group)
            for v in self.pipeline.members(group):
                held = self._holds_registers(v)
                if held is None or not begins:
                    continue
                free = self.pipeline.start[v] + held
                later = {at: -((at.time - free) // self.interval) for at in begins}
                first = min(begins, key=lambda at: (at.time + later[at] * self.interval, at.owner))
                time = first.time + later[first] * self.interval
                target = ("completion", v)
                yield replace(first, target=target, distance=later[first], time=time)

    def _begins(self, group: str) -> list[Request]:
        """Return where something begins to take registers of a group."""
        asked = Request(group, ("completion", 0), 0, 0, RECEIVE)
        return [
            replace(asked, time=self.pipeline.start[v], owner=v)
            for v in self.pipeline.members(group)
            if self.problem.operations[v].registers or self.problem.operations[v].working_set
        ] + [
            replace(asked, time=self.received_at(edge), received=edge)
            for edge in self.pipeline.copies
            if self.pipeline.place[edge.consumer] == group
        ]

    def _holds_registers(self, v: int) -> int | None:
        """Return for how long an asynchronous operation holds registers that nobody else reads."""
        operation = self.problem.operations[v]
        held = [
            edge.copy_hold if self.pipeline.crosses(edge) else edge.hold
            for edge in self.problem.edges
            if edge.consumer == v and edge.transferable
        ]
        if operation.registers and not self.problem.consumers[v]:
            held.append(operation.latency)
        return max(held) if operation.asynchronous and any(held) else None

    def copy_overwrite(self, edge: Edge) -> Request:
        """Return the wait before the copy that an asynchronous consumer reads is overwritten."""
        slots = self.copy_slots(edge)
        time = self.received_at(edge) + slots * self.interval
        group = self.pipeline.place[edge.consumer]
        target = ("completion", edge.consumer)
        return Request(group, target, slots, time, RECEIVE, received=edge)

    def copy_slots(self, edge: Edge) -> int:
        """Return the slots of the copy that a consumer on another group reads."""
        end = self.pipeline.start[edge.consumer] + edge.copy_reads
        return max(1, -(-(end - self.received_at(edge)) // self.interval))

    def received_at(self, edge: Edge) -> int:
        """Return when the consumer's group reads the staging of a value, ahead of the consumer."""
        ahead = rules.fetched_ahead(self.problem.operations[edge.producer])
        return self.pipeline.start[edge.consumer] - ahead

    def release_waits(self, release: Release) -> list[Request]:
        """Return the waits for the asynchronous readers whose end a release announces."""
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

    def skipped(self, release: Release) -> int:
        """Return of how many last iterations a release is left out.

        Nobody waits for it, and its group does not read these instances, so that nothing keeps it
        behind the wait for the phase before. An mbarrier tells two phases apart by their parity: a
        release too many is one phase ahead of that wait, or two, and then the wait never ends.
        """
        target = (release.kind, release.value)
        awaited = min(request.distance for request in self.needed if request.target == target)
        return max(0, min(awaited, release.later))

    @cached_property
    def needed(self) -> frozenset[Request]:
        """Requests that no earlier wait of the same group implies."""
        releases = [request for r in self.releases for request in self.release_waits(r)]
        every = {*self.requests, *self.overwrites, *self.turns, *self._freeing, *releases}
        kept: list[Request] = []
        for request in sorted(sorted(every, key=repr), key=self._order):
            implied = any(
                other.group == request.group
                and other.target == request.target
                and _covers(_left_out(other), _left_out(request))
                for other in kept
            )
            if not implied:
                kept.append(request)
        return frozenset(kept)

    def _order(self, request: Request) -> tuple[int, ...]:
        """Order in which a program executes waits for one instance of something."""
        if request.owner < 0:
            return (request.time, 2 if request.owner == RELEASE else 0, request.distance)
        operation = self.problem.operations[request.owner]
        start = self.pipeline.start[operation.index]
        return (request.time, 1, not operation.asynchronous, -start, operation.index)


def _left_out(request: Request) -> int:
    """Return how many of the last instances a wait does not concern.

    One that comes with a copy belongs to the value's iteration, which its reader's is later than.
    """
    return request.distance - (request.received.distance if request.received else 0)


def _covers(first: int, second: int) -> bool:
    """Return whether waits at distance `first` concern every instance that `second` does.

    In a loop of N iterations a wait at distance d concerns all instances but the last d, and all
    where d is negative.
    """
    return max(0, first) <= max(0, second)
