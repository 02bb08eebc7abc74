"""Order and buffers -> waits, arrives, barriers and storage, by the shortest of arguments.

A result of an asynchronous unit is awaited before its first use on the group that issued it; what
crosses groups is announced by a barrier, or sent through SMEM where it lies in registers; a slot is
overwritten once its readers are done. A wait that an earlier one of the group implies is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from twill.artifacts.fences import with_fences
from twill.artifacts.loop import Cost, Dependence, Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.order import Buffer, Order, issues_of
from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Fixed,
    Get,
    Instruction,
    Issue,
    Program,
    Put,
    Storage,
    Wait,
)
from twill.artifacts.schedule import Group, Placement, Schedule
from twill.errors import InputError, short

RING = 2
"""Slots of a streaming load that the file says nothing about."""
FULL, EMPTY, DONE, SENT, TAKEN = "full", "empty", "done", "sent", "taken"

Moment = tuple[int, int, int]
"""A stage, a position in the body, and 0 before or 1 after the instruction there."""


@dataclass(frozen=True)
class _Place:
    """Where an operation is issued: `last` differs from `first` if it is issued in parts."""

    group: str
    stage: int
    first: int
    last: int


@dataclass
class _Body:
    """A group's body while instructions are put before and after its own."""

    instructions: tuple[Instruction, ...]
    before: dict[int, list[Instruction]] = field(default_factory=lambda: defaultdict(list))
    after: dict[int, list[Instruction]] = field(default_factory=lambda: defaultdict(list))
    signals: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def insert(self, moment: Moment, *added: Instruction) -> None:
        _, position, side = moment
        (self.after if side else self.before)[position].extend(added)

    def program(self, group: str) -> Program:
        body: list[Instruction] = []
        for position, instruction in enumerate(self.instructions):
            body.extend(self.before[position])
            body.append(self._signalling(instruction))
            body.extend(self.after[position])
        return Program(group=group, body=tuple(body))

    def _signalling(self, instruction: Instruction) -> Instruction:
        parts = tuple(self._with_signals(part) for part in issues_of(instruction))
        if isinstance(instruction, Issue):
            return parts[0]
        return instruction.model_copy(update={"parts": parts}) if parts else instruction

    def _with_signals(self, part: Issue) -> Issue:
        added = tuple(self.signals[part.operation]) if part.last else ()
        new = tuple(name for name in added if name not in part.signals)
        return part.model_copy(update={"signals": (*part.signals, *new)})


@dataclass(frozen=True)
class _Arrival:
    """When a group arrives, or issues the operation `by` whose completion arrives by itself."""

    moment: Moment
    by: str | None = None


def derive(order: Order, loop: Loop, machine: Machine) -> Schedule:
    """Return the schedule that an order describes.

    Raises
    ------
    InputError
        If an operation is not issued, is read before it is issued, or has too few slots.
    """
    return _Derivation(order, loop, machine).schedule()


class _Derivation:
    def __init__(self, order: Order, loop: Loop, machine: Machine) -> None:
        self.order, self.loop, self.machine = order, loop, machine
        self.operations = {o.name: o for o in loop.operations}
        self.costs: dict[str, Cost] = {o.name: machine.cost(o) for o in loop.operations}
        self.data = [d for d in loop.dependences if d.kind == "data"]
        self.bodies = {group.name: _Body(group.instructions) for group in order.groups}
        self.place = self._places()
        self.barriers: dict[str, Barrier] = {}

    def schedule(self) -> Schedule:
        self._check_program_order()
        self._waits_for_results()
        self._transfers()
        self._announcements()
        self._releases()
        self._explicit_barriers()
        order = self.order
        result = Schedule.model_validate(
            {
                "name": order.name,
                "description": order.description,
                "initiation_interval": order.initiation_interval,
                "groups": tuple(
                    Group(
                        name=group.name,
                        warps=group.warps,
                        variable_latency=group.variable_latency,
                        registers=group.registers,
                    )
                    for group in order.groups
                ),
                "placements": tuple(
                    Placement(operation=o.name, group=self.place[o.name].group)
                    for o in self.loop.operations
                ),
                "pipeline_depths": {
                    o.name: self.slots[o.name] for o in self.loop.operations if self._streams(o)
                },
                "storage": tuple(self._storage()),
                "fixed": tuple(self._fixed()),
                "barriers": tuple(self.barriers.values()),
                "programs": tuple(body.program(name) for name, body in self.bodies.items()),
                "loop": self.loop,
                "machine": self.machine,
                "machine_hash": self.machine.digest,
            }
        )
        result = with_fences(result)
        if order.file:
            result.read_from(order.file)
        return result

    # -- what the file says -------------------------------------------------------------------

    def _places(self) -> dict[str, _Place]:
        places: dict[str, _Place] = {}
        for index, (group, body) in enumerate(self.bodies.items()):
            for position, instruction in enumerate(body.instructions):
                for part in issues_of(instruction):
                    name = part.operation
                    if name not in self.operations:
                        raise self._error(
                            f"no operation named {short(name)}", f"groups[{index}].body[{position}]"
                        )
                    first = places[name].first if name in places else position
                    places[name] = _Place(group, part.stage, first, position)
        missing = [name for name in self.operations if name not in places]
        if missing:
            raise self._error(f"operation {short(missing[0])} is issued by no group", "groups")
        return places

    def _check_program_order(self) -> None:
        for d in self.loop.dependences:
            u, v = self.place[d.producer], self.place[d.consumer]
            made = (u.stage, u.last)
            apart = u.group != v.group or d.producer == d.consumer
            if not apart and made >= (v.stage + d.distance, v.first):
                raise self._error(
                    f"{short(d.consumer)} stands before {short(d.producer)}, which it needs of "
                    f"{d.distance} iterations before; move it behind, or to a later stage",
                    f"group {u.group}",
                )

    @cached_property
    def slots(self) -> dict[str, int]:
        """Slots of every result where it is made."""
        given = {b.value: (i, b) for i, b in enumerate(self.order.buffers) if not b.transfer}
        found = {}
        for o in self.loop.operations:
            least = max([1, *(self._least_slots(d) for d in self.data if d.producer == o.name)])
            found[o.name] = max(least, RING) if self._streams(o) else least
            if o.name in given:
                index, buffer = given[o.name]
                if buffer.slots < least:
                    raise self._error(
                        f"{short(o.name)} needs {least} slots in this order (got {buffer.slots})",
                        f"buffers[{index}].slots",
                    )
                found[o.name] = buffer.slots
        return found

    def _least_slots(self, d: Dependence) -> int:
        """Slots with which no instance is overwritten before its reader is issued."""
        u, v = self.place[d.producer], self.place[d.consumer]
        if u.group != v.group:
            return 1
        late = d.producer != d.consumer and v.last >= u.first
        return d.distance + v.stage - u.stage + late

    def _streams(self, operation: Operation) -> bool:
        fed = any(d.consumer == operation.name and d.kind == "data" for d in self.loop.dependences)
        return self.costs[operation.name].variable_latency and not fed

    def _buffer(self, value: str, *, transfer: bool) -> Buffer | None:
        for buffer in self.order.buffers:
            if (buffer.value, buffer.transfer) == (value, transfer):
                return buffer
        return None

    # -- facts --------------------------------------------------------------------------------

    def _asynchronous(self, name: str) -> bool:
        return self.costs[name].asynchronous

    def _memory(self, name: str) -> str:
        result = self.operations[name].result
        return result.memory if result is not None else "none"

    def _signals_itself(self, name: str) -> bool:
        """Whether a completion arrives at a barrier by itself, as those into SMEM and TMEM do."""
        return self._asynchronous(name) and self._memory(name) in ("smem", "tmem")

    def _in_order_unit(self, name: str) -> str | None:
        cost = self.costs[name]
        unit = cost.steps[0].unit
        return unit if cost.asynchronous and self.machine.units[unit].in_order else None

    def _one_unit(self, first: str, second: str) -> bool:
        unit = self._in_order_unit(first)
        return unit is not None and unit == self._in_order_unit(second)

    def _needs_no_wait(self, d: Dependence) -> bool:
        """Whether program order, the scoreboard or the unit's own order keeps a dependence."""
        if d.blocking is not None:
            return not d.blocking
        if not self._asynchronous(d.producer):
            return True
        return self._one_unit(d.producer, d.consumer) and (d.in_place or d.kind != "data")

    def _crosses(self, d: Dependence) -> bool:
        return self.place[d.producer].group != self.place[d.consumer].group

    def _is_transfer(self, d: Dependence) -> bool:
        return d.kind == "data" and self._crosses(d) and self._memory(d.producer) == "registers"

    @cached_property
    def _behind(self) -> dict[tuple[str, str], int]:
        """Least sum of distances along dependences from one operation to another."""
        least: dict[tuple[str, str], int] = {}
        for d in self.loop.dependences:
            key = (d.producer, d.consumer)
            least[key] = min(d.distance, least.get(key, d.distance))
        for middle in self.operations:
            into = [(a, n) for (a, b), n in least.items() if b == middle]
            out = [(b, n) for (a, b), n in least.items() if a == middle]
            for a, first in into:
                for b, second in out:
                    total = first + second
                    if total < least.get((a, b), total + 1):
                        least[a, b] = total
        return least

    # -- waits --------------------------------------------------------------------------------

    def _waits_for_results(self) -> None:
        """Put one wait for each awaited operation of a group before the first that needs it."""
        needs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for d in self.loop.dependences:
            v = self.place[d.consumer]
            if not self._crosses(d) and not self._needs_no_wait(d):
                needs[v.group, d.producer].append((v.stage + d.distance, v.first))
        for value, reader, distance in self._reads_to_outlast():
            v = self.place[value]
            needs[v.group, reader].append((v.stage + self.slots[value] - distance, v.first))
        first = {key: min(moments) for key, moments in needs.items()}
        for (group, operation), moment in first.items():
            stage, position = moment
            if self.order.waits == "hoisted":
                stage, position = min(moment, self._next_wait(group, operation, first))
            if not self._awaited_by_hand(group, operation, stage, position):
                awaited = Await(operation=operation, stage=stage)
                self.bodies[group].insert((stage, position, 0), awaited)

    def _next_wait(
        self, group: str, operation: str, waits: Mapping[tuple[str, str], tuple[int, int]]
    ) -> tuple[int, int]:
        """Return where a group awaits a result of its unit next after it issues an operation."""
        unit = self.costs[operation].steps[0].unit
        positions = {
            position
            for (where, other), (_, position) in waits.items()
            if where == group and self.costs[other].steps[0].unit == unit
        }
        place = self.place[operation]
        later = [position for position in positions if position > place.last]
        return (place.stage, min(later)) if later else (place.stage + 1, min(positions))

    def _reads_to_outlast(self) -> Iterator[tuple[str, str, int]]:
        """Yield values with what a rewrite waits for: asynchronous readers of their own group.

        A result that nobody reads is waited for itself.
        """
        read = {d.producer for d in self.data}
        for name in self.operations:
            unread = self._asynchronous(name) and name not in read
            if unread and self._memory(name) != "none" and self._in_order_unit(name) is None:
                yield name, name, 0
        for d in self.data:
            reader = d.consumer
            if self._crosses(d) or not self._asynchronous(reader) or reader == d.producer:
                continue
            if not self._one_unit(d.producer, reader) and self._memory(d.producer) != "none":
                yield d.producer, reader, d.distance

    def _awaited_by_hand(self, group: str, operation: str, stage: int, position: int) -> bool:
        return any(
            isinstance(i, Await)
            and i.operation == operation
            and i.distance <= 0
            and (i.stage + i.distance, at) <= (stage, position)
            for at, i in enumerate(self.bodies[group].instructions)
        )

    def _known_done(self, operation: str) -> Moment | None:
        """Return when an operation's group knows that it is complete, None if it never asks."""
        place = self.place[operation]
        if not self._asynchronous(operation):
            return place.stage, place.last, 1
        body = self.bodies[place.group]
        found: list[Moment] = []
        for position, own in enumerate(body.instructions):
            if isinstance(own, Await) and own.operation == operation and own.distance <= 0:
                found.append((own.stage + own.distance, position, 1))
            for side, added in ((0, body.before[position]), (1, body.after[position])):
                found += [
                    (i.stage, position, side)
                    for i in added
                    if isinstance(i, Await) and i.operation == operation
                ]
        return min((m for m in found if m >= (place.stage, place.last, 1)), default=None)

    def _done(self, operation: str, *, urgent: bool = False) -> Moment:
        """Return when an operation's group knows that it is complete; else let it wait.

        What another group waits for is urgent: unless the body itself says when to wait, that is as
        soon as it is issued, so that nothing that the group itself waits for comes between.
        """
        place = self.place[operation]
        body = self.bodies[place.group]
        known = self._known_done(operation)
        own = known is not None and isinstance(body.instructions[known[1]], Await)
        if known is not None and (own or not urgent or not self._asynchronous(operation)):
            return known
        moment = (place.stage, place.last, 1)
        if known != moment:
            for added in (*body.before.values(), *body.after.values()):
                added[:] = [
                    i for i in added if not (isinstance(i, Await) and i.operation == operation)
                ]
            body.insert(moment, Await(operation=operation, stage=place.stage))
        return moment

    # -- between groups -----------------------------------------------------------------------

    def _wait_once(self, barrier: str, group: str, stage: int, position: int) -> None:
        """Put a wait for all instances, or move the one there is to an earlier place."""
        body = self.bodies[group]
        for at, own in enumerate(body.instructions):
            if not isinstance(own, Wait) or own.barrier != barrier or own.distance > 0:
                continue
            if (own.stage + own.distance, at) <= (stage, position):
                return
        for at in range(len(body.instructions)):
            for index, i in enumerate(body.before[at]):
                if isinstance(i, Wait) and i.barrier == barrier:
                    if (i.stage, at) <= (stage, position):
                        return
                    del body.before[at][index]
                    break
        body.insert((stage, position, 0), Wait(barrier=barrier, stage=stage))

    def _announcements(self) -> None:
        """Let readers on other groups wait until a value in memory, or an order, is there."""
        announced: dict[str, str] = {}
        for d in self.loop.dependences:
            if not self._crosses(d) or self._is_transfer(d) or d.blocking is False:
                continue
            v = self.place[d.consumer]
            name = f"{d.producer}.{FULL if d.kind == 'data' else DONE}"
            announced[name] = d.producer
            self._wait_once(name, v.group, v.stage + d.distance, v.first)
        for name, producer in announced.items():
            self._declare(name, self.slots[producer])
            u = self.place[producer]
            if self._signals_itself(producer):
                self.bodies[u.group].signals[producer].append(name)
            else:
                moment = self._done(producer, urgent=True)
                self.bodies[u.group].insert(
                    moment,
                    *self._until_written(producer, moment[0]),
                    Arrive(barrier=name, stage=moment[0]),
                )

    def _until_written(self, operation: str, stage: int) -> tuple[Instruction, ...]:
        """Return the wait for a group's own result that others are told of."""
        if self._asynchronous(operation):
            return ()
        return (Await(operation=operation, stage=stage),)

    def _transfers(self) -> None:
        """Send register values through SMEM, once from their group, once to every reader."""
        for value in dict.fromkeys(d.producer for d in self.data if self._is_transfer(d)):
            edges = self._copied(value)
            sent, taken = f"{value}.{SENT}", f"{value}.{TAKEN}"
            staging = self._staging_slots(value)
            self._declare(sent, staging)
            self._declare(taken, staging, len(edges))
            moment = self._done(value, urgent=True)
            self.bodies[self.place[value].group].insert(
                moment,
                Wait(barrier=taken, stage=moment[0], distance=staging),
                Put(value=value, stage=moment[0]),
                Arrive(barrier=sent, stage=moment[0]),
            )
            for d in edges:
                self._receive(d, sent, taken)

    def _copied(self, value: str) -> list[Dependence]:
        """Return dependences through SMEM: one for each reader and distance."""
        edges = [d for d in self.data if d.producer == value and self._is_transfer(d)]
        return list({(d.consumer, d.distance): d for d in edges}.values())

    def _receive(self, d: Dependence, sent: str, taken: str) -> None:
        v = self.place[d.consumer]
        stage, added = v.stage + d.distance, []
        if self._asynchronous(d.consumer):
            added.append(Await(operation=d.consumer, stage=v.stage + 1))
        self.bodies[v.group].insert(
            (stage, v.first, 0),
            *added,
            Wait(barrier=sent, stage=stage),
            Get(value=d.producer, reader=d.consumer, stage=stage, distance=d.distance),
            Arrive(barrier=taken, stage=stage),
        )

    def _staging_slots(self, value: str) -> int:
        buffer = self._buffer(value, transfer=True)
        return buffer.slots if buffer is not None else 1

    def _releases(self) -> None:
        """Let the producer of a value in memory wait for its readers on other groups."""
        waits = []
        for value, u in self.place.items():
            if self._memory(value) not in ("smem", "tmem"):
                continue
            slots, name = self.slots[value], f"{value}.{EMPTY}"
            readers: dict[str, list[Dependence]] = defaultdict(list)
            for d in self.data:
                if d.producer == value and self._crosses(d) and not self._outlasted(d, slots):
                    readers[self.place[d.consumer].group].append(d)
            for group in list(readers):
                if self._waited_for(u, slots, group, readers[group]):
                    del readers[group]
            if not readers:
                continue
            self._declare(name, slots, len(readers))
            for group, edges in readers.items():
                self._release(name, group, edges)
            waits.append((u, Wait(barrier=name, stage=u.stage, distance=slots)))
        for u, wait in waits:  # behind every arrive at that place
            self.bodies[u.group].insert((u.stage, u.first, 0), wait)

    def _outlasted(self, d: Dependence, slots: int) -> bool:
        """Whether the next instance in a slot depends on the reader anyway."""
        behind = self._behind.get((d.consumer, d.producer))
        return behind is not None and behind <= slots - d.distance

    def _waited_for(self, u: _Place, slots: int, group: str, edges: list[Dependence]) -> bool:
        """Whether a wait before an overwrite is for an arrival that the readers precede."""
        body = self.bodies[u.group]
        waits = [i for at in range(u.first + 1) for i in body.before[at] if isinstance(i, Wait)]
        waits += [i for i in body.instructions[: u.first] if isinstance(i, Wait)]
        for wait in waits:
            behind = wait.stage + wait.distance
            if wait.distance > 0 or not 0 <= behind - u.stage <= slots:
                continue
            arrival = self._arrival(group, wait.barrier)
            if arrival is not None and all(
                self._precedes(d, arrival, behind - u.stage - slots) for d in edges
            ):
                return True
        return False

    def _precedes(self, d: Dependence, arrival: _Arrival, later: int) -> bool:
        """Whether a reader is through when its group arrives, `later` rounds after it at most."""
        stage, position, side = arrival.moment
        bound = (stage - later - d.distance, position, side)
        reader = self.place[d.consumer]
        if arrival.by is not None and self._one_unit(d.consumer, arrival.by):
            return (reader.stage, reader.last, 1) <= bound
        done = self._known_done(d.consumer)
        return done is not None and done <= bound

    def _arrival(self, group: str, barrier: str) -> _Arrival | None:
        """Return when a group, the only one to do so, arrives at a barrier."""
        declared = self.barriers.get(barrier)
        if declared is None or declared.arrivals != 1:
            return None
        body = self.bodies[group]
        for position, own in enumerate(body.instructions):
            for part in issues_of(own):
                if part.last and barrier in (*body.signals[part.operation], *part.signals):
                    return _Arrival((part.stage, position, 1), part.operation)
            for side, added in ((0, body.before[position]), (1, body.after[position])):
                for i in added:
                    if isinstance(i, Arrive) and i.barrier == barrier:
                        return _Arrival((i.stage + i.distance, position, side))
        return None

    def _release(self, name: str, group: str, edges: list[Dependence]) -> None:
        last = max(edges, key=self._issued_at)
        alone = all(
            d is last or self._one_unit(d.consumer, last.consumer) for d in edges
        ) and self._signals_itself(last.consumer)
        if alone and last.distance == 0:
            self.bodies[group].signals[last.consumer].append(name)
            return
        moments = []
        for d in edges:
            stage, position, side = self._done(d.consumer)
            moments.append((stage + d.distance, position, side))
        moment = max(moments)
        # Without a last iteration's reader nothing would keep the arrive behind the waits of
        # the phase before, and nobody waits for it.
        skipped = min(self.slots[edges[0].producer], *(d.distance for d in edges))
        arrive = Arrive(barrier=name, stage=moment[0] - skipped, distance=skipped)
        self.bodies[group].insert(moment, arrive)

    def _issued_at(self, d: Dependence) -> tuple[int, int]:
        v = self.place[d.consumer]
        return v.stage + d.distance, v.last

    # -- barriers and storage -----------------------------------------------------------------

    def _declare(self, name: str, slots: int, arrivals: int = 1) -> None:
        self.barriers[name] = Barrier(name=name, slots=slots, arrivals=arrivals)

    def _explicit_barriers(self) -> None:
        """Declare what bodies name: as the file says, else one slot and all who arrive."""
        declared = {barrier.name: barrier for barrier in self.order.barriers}
        arriving: dict[str, set[str]] = defaultdict(set)
        for group, body in self.bodies.items():
            for i in body.instructions:
                if isinstance(i, Arrive):
                    arriving[i.barrier].add(group)
                elif isinstance(i, Wait):
                    arriving.setdefault(i.barrier, set())
                for part in issues_of(i):
                    for name in part.signals:
                        arriving[name].add(group)
        for name, groups in arriving.items():
            if name not in self.barriers:
                self._declare(name, 1, max(1, len(groups)))
        self.barriers |= declared

    def _storage(self) -> Iterator[Storage]:
        for o in self.loop.operations:
            if o.result is None or o.result.memory == "none":
                continue
            tile, memory = o.result, o.result.memory
            registers = tile.registers_each(self.machine.threads(o.warps))
            buffer = self._buffer(o.name, transfer=False)
            yield Storage(
                value=o.name,
                memory=memory,
                group=self.place[o.name].group if memory == "registers" else None,
                slots=self.slots[o.name],
                size=registers if memory == "registers" else self.machine.slot_size(tile),
                addresses=buffer.addresses if buffer else (),
                halves=buffer.halves if buffer else (),
            )
            yield from self._copies(o)

    def _copies(self, o: Operation) -> Iterator[Storage]:
        """Yield the copies on other groups of a value in registers, and its staging."""
        edges = self._copied(o.name)
        assert o.result is not None
        for d in edges:
            yield Storage(
                value=o.name,
                memory="registers",
                group=self.place[d.consumer].group,
                reader=d.consumer,
                distance=d.distance,
                slots=1,
                size=o.result.registers_each(self.machine.threads(o.warps)),
            )
        if edges:
            buffer = self._buffer(o.name, transfer=True)
            yield Storage(
                value=o.name,
                memory="smem",
                transfer=True,
                slots=self._staging_slots(o.name),
                size=o.result.bytes,
                addresses=buffer.addresses if buffer else (),
            )

    def _fixed(self) -> Iterator[Fixed]:
        for invariant in self.loop.invariants:
            tile = invariant.tile
            if tile.memory in {"smem", "tmem"}:
                size = self.machine.slot_size(tile)
                yield Fixed(name=invariant.name, memory=tile.memory, size=size)

    def _error(self, message: str, path: str) -> InputError:
        return InputError(message, path=path, file=self.order.file or self.order.name)
