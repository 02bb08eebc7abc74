"""The judge of schedules: every rule of docs/model.md checked from its definition.

Shares no code with the encoders and imports no solver; `reading` is its own statement of what loop
and machine ask for. It walks over slots and instances instead of reasoning about differences, so
that a mistake in one is unlikely to hide in the other. What the waits of a program guarantee it
does not judge: the simulator does, by executing them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.loop import Tile
from twill.artifacts.machine import SharedMemory, TensorMemory
from twill.artifacts.schedule import (
    Arrive,
    Fixed,
    Get,
    Group,
    Put,
    Schedule,
    Storage,
    Wait,
)
from twill.verification.fences import check_fences
from twill.verification.proof import ProofJudge, Trusted, conditions
from twill.verification.reading import (
    Edge,
    Model,
    RegisterFile,
    Work,
    columns,
    halved,
    read_model,
)
from twill.verification.registers import registers_along_programs

MOST_REPORTED = 20


@dataclass(frozen=True)
class Violation:
    """One broken rule: its name and a sentence with both numbers."""

    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True)
class Verdict:
    """Outcome of a verification.

    Attributes
    ----------
    violations : tuple of Violation
        At most 20 a rule; empty if the schedule is valid.
    rules : tuple of str
        What was checked.
    trusted : tuple of Trusted
        What the proof says and only an engine has shown.
    within : tuple of str
        What had been asked for: the proof is about schedules that keep it.
    """

    violations: tuple[Violation, ...]
    rules: tuple[str, ...]
    trusted: tuple[Trusted, ...] = ()
    within: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def verify(schedule: Schedule) -> Verdict:
    """Check a schedule against the model.

    Parameters
    ----------
    schedule : Schedule
        The schedule, with its loop and machine.

    Raises
    ------
    InputError
        If its loop cannot be costed for its machine.
    """
    problem = read_model(schedule.loop, schedule.machine, rules=schedule.rules, scale=schedule.time)
    case = _Case(problem, schedule)
    violations: list[Violation] = list(case.completeness())
    if violations:
        return Verdict(tuple(violations), ("completeness",))
    for rule, check in case.rules.items():
        for count, message in enumerate(check()):
            if count < MOST_REPORTED:
                violations.append(Violation(rule, message))
    trusted, within = tuple[Trusted, ...](), tuple[str, ...]()
    if schedule.proof is not None:
        trusted = tuple(ProofJudge(problem, schedule, schedule.proof).trusted())
        within = tuple(conditions(schedule.proof))
    return Verdict(tuple(violations), ("completeness", *case.rules), trusted, within)


class _Case:
    def __init__(self, problem: Model, schedule: Schedule) -> None:
        self.problem, self.schedule = problem, schedule
        self.groups = {group.name: group for group in schedule.groups}
        self.place = {p.operation: p.group for p in schedule.placements}
        self.memories = schedule.machine.memories.by_name
        self.rules: dict[str, Callable[[], Iterator[str]]] = {
            "groups": self.group_widths,
            "variable latency": self.variable_latency,
            "dependence": self.dependence,
            "capacity": self.capacity,
            "turns": self.turns,
            "completion": self.completion,
            "concurrency": self.concurrency,
            "registers": self.registers,
            "register file": self.register_file,
            "memory": self.memory,
            "addresses": self.addresses,
            "storage": self.storage,
            "slots": self.slots,
            "programs": self.programs,
            "fences": partial(check_fences, schedule),
            "statistics": self.statistics,
            "proof": self.proof,
        }

    def programs(self) -> Iterator[str]:
        """Every operation is issued once and whole, by its own group, as early as it is placed.

        What crosses groups in registers is put once, and got once for each reader and distance.
        Every barrier that is waited for gets as many arrivals a phase as it takes.
        """
        if not self.schedule.programs:
            return
        issued: dict[str, list[tuple[int, int]]] = {}
        for program in self.schedule.programs:
            for part in program.issues:
                if self.place[part.operation] != program.group:
                    yield (
                        f"{part.operation} is on group {self.place[part.operation]} and is issued "
                        f"by {program.group}"
                    )
                if part.of not in (
                    None,
                    self.problem.operations[self.problem.index[part.operation]].issue,
                ):
                    yield f"a part of {part.operation} is of {part.of} cycles of issue"
                span = (part.begin or 0, part.end or 0)
                issued.setdefault(part.operation, []).append(span)
        for operation in self.problem.operations:
            spans = sorted(issued.get(operation.name, []))
            whole = spans == [(0, 0)]
            joined = (
                spans
                and spans[0][0] == 0
                and spans[-1][1] == operation.issue
                and all(a[1] == b[0] for a, b in itertools.pairwise(spans))
            )
            if not (whole or joined):
                yield f"{operation.name} is issued in parts {spans} of {operation.issue}"
        yield from self._stages()
        yield from self._copies()
        yield from self._arrivals()

    def _stages(self) -> Iterator[str]:
        """Within a program iterations are as far apart as the placements say."""
        for program in self.schedule.programs:
            rounds = {
                (self.start[part.operation] + (part.begin or 0)) // self.interval - part.stage
                for part in program.issues
            }
            if rounds and max(rounds) - min(rounds) > 1:
                yield (
                    f"group {program.group} issues some operations {max(rounds) - min(rounds)} "
                    "iterations from where they are placed"
                )

    def _copies(self) -> Iterator[str]:
        """Every reader of another group's register value gets it once at each distance."""
        read = {
            (self.name(e.producer), self.name(e.consumer), e.distance)
            for e in self.problem.edges
            if e.transferable and self.crosses(e)
        }
        gets = Counter(
            (i.value, i.reader, i.distance)
            for program in self.schedule.programs
            for i in program.body
            if isinstance(i, Get) and self.place[i.reader] == program.group
        )
        for value, reader, distance in sorted({*read, *gets}):
            actual, needed = gets[value, reader, distance], (value, reader, distance) in read
            if actual != needed:
                yield (
                    f"the copy of {value} that {reader} reads at distance {distance} has "
                    f"{actual} gets, needs {int(needed)}"
                )
        puts = Counter(
            i.value
            for program in self.schedule.programs
            for i in program.body
            if isinstance(i, Put) and self.place[i.value] == program.group
        )
        for value in sorted({value for value, _, _ in read}):
            if puts[value] != 1:
                yield f"{value}, which another group reads, is put {puts[value]} times"

    def _arrivals(self) -> Iterator[str]:
        """Every phase that is waited for gets the arrivals, and the bytes, that it takes."""
        body = [i for program in self.schedule.programs for i in program.body]
        arrives = [i for i in body if isinstance(i, Arrive)]
        waits = [i for i in body if isinstance(i, Wait)]
        for entry in self.schedule.barriers:
            mine = [i for i in arrives if i.barrier == entry.name]
            waiting = sum(i.barrier == entry.name for i in waits)
            signalling = self._signalling(entry.name)
            arrivals = len(mine) + (waiting if entry.kind == "named" else 0)
            arrivals += 0 if entry.transactions else len(signalling)
            announced = sum(i.expect or 0 for i in mine)
            delivered = sum(signalling) if entry.transactions else 0
            if waiting and arrivals != entry.arrivals:
                yield f"barrier {entry.name} takes {entry.arrivals} arrivals and gets {arrivals}"
            if waiting and announced != delivered:
                yield f"barrier {entry.name} is told of {announced} bytes and {delivered} come"

    def _signalling(self, barrier: str) -> list[int]:
        """Return the bytes that each operation leaves which arrives at a barrier by itself."""
        issues = [part for program in self.schedule.programs for part in program.issues]
        results = [
            self.schedule.loop.operation(part.operation).result
            for part in issues
            for name in part.signals
            if name == barrier
        ]
        return [0 if result is None else result.bytes for result in results]

    def completeness(self) -> Iterator[Violation]:
        """Interval, length and every issue time are given."""
        for key in ("initiation_interval", "length", "stages"):
            if getattr(self.schedule, key) is None:
                yield Violation("completeness", f"the schedule has no {key}")
        start = self.schedule.start
        for operation in self.problem.operations:
            if operation.name not in start:
                yield Violation("completeness", f"{operation.name} has no start")

    # -- basics -------------------------------------------------------------------------------

    @cached_property
    def interval(self) -> int:
        return self.schedule.initiation_interval or 0

    @cached_property
    def start(self) -> dict[str, int]:
        return self.schedule.start

    def at(self, v: int) -> int:
        return self.start[self.problem.operations[v].name]

    def name(self, v: int) -> str:
        return self.problem.operations[v].name

    def group(self, v: int) -> str:
        return self.place[self.name(v)]

    def crosses(self, edge: Edge) -> bool:
        return self.group(edge.producer) != self.group(edge.consumer)

    # -- rules --------------------------------------------------------------------------------

    def group_widths(self) -> Iterator[str]:
        """Groups are wide enough, from the machine's pool, and few enough."""
        machine = self.schedule.machine
        for operation in self.problem.operations:
            group = self.groups[self.place[operation.name]]
            if group.warps < operation.warps:
                yield (
                    f"{operation.name} needs {operation.warps} warps, its group {group.name} "
                    f"has {group.warps}"
                )
        pool = {entry.warps: entry.count for entry in machine.groups}
        for width in sorted({group.warps for group in self.groups.values()}):
            count = sum(group.warps == width for group in self.groups.values())
            if count > pool.get(width, 0):
                yield (
                    f"{count} groups of {width} warps, {machine.name} allows {pool.get(width, 0)}"
                )
        total = sum(group.warps for group in self.groups.values())
        if total > machine.warps.value:
            yield f"{total} warps in all, {machine.name} holds {machine.warps.value}"

    def variable_latency(self) -> Iterator[str]:
        """Operations of variable latency, and only they, are on groups set aside for them."""
        for operation in self.problem.operations:
            group = self.groups[self.place[operation.name]]
            if operation.variable_latency and not group.variable_latency:
                yield f"{operation.name} has variable latency, its group {group.name} is not for it"
            if group.variable_latency and not operation.variable_latency:
                yield (
                    f"{operation.name} has a fixed latency, its group {group.name} is for "
                    "variable ones"
                )

    def dependence(self) -> Iterator[str]:
        """M(v) + delta I >= M(u) + d, with hop and transfer across groups."""
        for edge in self.problem.edges:
            crosses = self.crosses(edge)
            needed = edge.cross_delay if crosses else edge.delay
            given = self.at(edge.consumer) + edge.distance * self.interval - self.at(edge.producer)
            if given < needed:
                across = (
                    f" across groups {self.group(edge.producer)} and {self.group(edge.consumer)}"
                    if crosses
                    else ""
                )
                yield (
                    f"{self.name(edge.producer)} -> {self.name(edge.consumer)} (distance "
                    f"{edge.distance}){across}: issues {given} after it, needs {needed}"
                )

    def capacity(self) -> Iterator[str]:
        """In no slot modulo I are more instances of a unit in use than there are."""
        for unit, capacity in self.problem.capacities.items():
            used = np.zeros(self.interval, dtype=np.int64)
            for operation in self.problem.operations:
                for r in operation.reservations:
                    if r.unit == unit:
                        self._occupy(used, self.start[operation.name] + r.start, r.length, r.count)
            if used.max() > capacity:
                slot = int(used.argmax())
                holders = [
                    o.name
                    for o in self.problem.operations
                    for r in o.reservations
                    if r.unit == unit
                    and (slot - self.start[o.name] - r.start) % self.interval < r.length
                ]
                yield (
                    f"unit {unit} in slot {slot}: {int(used[slot])} in use by "
                    f"{', '.join(holders)}, capacity {capacity}"
                )

    def turns(self) -> Iterator[str]:
        """Groups that share an in-order unit leave time to pass the turn."""
        for first in self.problem.operations:
            for second in self.problem.operations:
                needed = self.problem.turn(first, second)
                if self.place[first.name] == self.place[second.name] or not needed:
                    continue
                given = (self.start[second.name] - self.start[first.name]) % self.interval
                if given < needed:
                    yield (
                        f"{second.name} of group {self.place[second.name]} follows {first.name} of "
                        f"group {self.place[first.name]} on {first.in_order_unit} after {given}, "
                        f"passing the turn takes {needed}"
                    )

    def completion(self) -> Iterator[str]:
        """Every operation ends within L, and the stages are ceil(L / I)."""
        length, stages = self.schedule.length or 0, self.schedule.stages
        for operation in self.problem.operations:
            end = self.start[operation.name] + operation.cycles
            if end > length:
                yield f"{operation.name} ends at {end}, the length is {length}"
        if stages != -(-length // self.interval):
            yield f"{stages} stages, a length of {length} takes {-(-length // self.interval)}"

    def concurrency(self) -> Iterator[str]:
        """When a blocking operation starts, its group is issuing nothing else."""
        for operation in self.problem.operations:
            in_order = self.problem.rules == "issue" and operation.asynchronous
            if in_order and operation.issue > self.interval:
                yield (
                    f"issuing {operation.name} takes its warps {operation.issue} of every "
                    f"{self.interval}"
                )
        for v, operation in enumerate(self.problem.operations):
            causes = [
                e for e in self.problem.edges if e.consumer == v and (e.blocking or self.crosses(e))
            ]
            if not causes:
                continue
            for other in self.problem.operations:
                if other.index == v or self.place[other.name] != self.group(v):
                    continue
                inside = (self.at(v) - self.start[other.name]) % self.interval
                if inside < other.blocked_span or other.blocked_span > self.interval:
                    yield (
                        f"{operation.name} waits for {self.name(causes[0].producer)} while "
                        f"group {self.group(v)} is issuing {other.name} (cycle {inside} of "
                        f"{other.blocked_span})"
                    )

    def registers(self) -> Iterator[str]:
        """On no group and in no slot do live values and working sets exceed the limit."""
        file = self.problem.registers
        if file is None:
            return
        for name, group in self.groups.items():
            used = self._registers_of(name)
            allocated = group.registers if group.registers is not None else file.most
            limit = min(allocated, file.limit) - file.reserve
            most = int(used.max())
            if most > limit:
                yield (
                    f"group {name} in slot {int(used.argmax())}: {most} registers per thread "
                    f"live, {limit} of {allocated} allocated are for values"
                )
            along = self._along_programs.get(name, 0)
            if along > limit:
                yield (
                    f"group {name} along its program: {along} registers per thread live, {limit} "
                    f"of {allocated} allocated are for values"
                )

    @cached_property
    def _along_programs(self) -> dict[str, int]:
        """Registers along each program; programs of the paper's rules keep to its clock."""
        return registers_along_programs(self.schedule) if self.problem.rules == "issue" else {}

    def _registers_of(self, group: str) -> NDArray[np.int64]:
        used = np.zeros(self.interval, dtype=np.int64)
        for operation in self.problem.operations:
            if self.place[operation.name] != group:
                continue
            time = self.start[operation.name]
            if operation.registers:
                self._occupy(
                    used, time, self._register_release(operation) - time, operation.registers
                )
            at_work = max(operation.cycles, operation.issue)
            self._occupy(used, time, at_work, operation.working_set)
        held: dict[tuple[int, int, int], int] = {}
        for edge in self.problem.edges:
            if (
                edge.transferable
                and self.crosses(edge)
                and self.group(edge.consumer) == group
                and self.problem.rules == "issue"
            ):
                copy = (edge.producer, edge.consumer, edge.distance)
                held[copy] = max(held.get(copy, 0), edge.copy_hold)
        for (producer, consumer, _), until in held.items():
            made = self.problem.operations[producer]
            received = made.transfer - made.transfer // 2
            time = self.at(consumer) - received
            self._occupy(used, time, received + until, made.registers)
        for pinned in self.problem.pinned:
            if any(self.group(user) == group for user in pinned.used_by):
                used += pinned.registers
        return used

    def _register_release(self, operation: Work, *, until_read: bool = False) -> int:
        """When the registers of a result are free, or it is read, on the group that made it."""
        v, time = operation.index, self.start[operation.name]
        ends = []
        for edge in self.problem.edges:
            if edge.producer != v or not edge.carries:
                continue
            if self.problem.rules == "issue" and self.crosses(edge):
                ends.append(time + operation.latency + operation.transfer)
            else:
                kept = edge.reads if until_read else edge.hold
                ends.append(self.at(edge.consumer) + edge.distance * self.interval + kept)
        return max(ends) if ends else time + operation.latency

    def register_file(self) -> Iterator[str]:
        """Allocations are possible ones and fit the register file together."""
        file = self.problem.registers
        if file is None:
            return
        blocks, launched = 0, 0
        small: list[Group] = []
        allocated = {name: self._allocated(group, file) for name, group in self.groups.items()}
        for group in self.groups.values():
            registers = allocated[group.name]
            if registers % file.step or not file.least <= registers <= file.most:
                yield (
                    f"group {group.name} is allocated {registers} registers per thread; "
                    f"possible are multiples of {file.step} from {file.least} to {file.most}"
                )
            if group.warps < file.warps:
                small.append(group)
            else:
                launched += group.warps // file.warps
                blocks += group.warps // file.warps * registers
        quads = -(-sum(group.warps for group in small) // file.warps)
        blocks += quads * max((allocated[group.name] for group in small), default=0)
        total, there = blocks * file.threads, file.file
        threads = (launched + quads) * file.threads
        if file.launch is not None and threads:
            there = min(file.most, file.file // threads // file.launch * file.launch) * threads
        if total > there:
            given = f"a launch of {threads} threads gets" if there < file.file else "the file has"
            yield f"the groups take {total} registers, {given} {there}"

    def _allocated(self, group: Group, file: RegisterFile) -> int:
        """Registers per thread of a group; where it names none, the least that hold its values."""
        if group.registers is not None:
            return group.registers
        live = int(self._registers_of(group.name).max()) + file.reserve
        return max(file.least, -(-live // file.step) * file.step)

    # -- memory -------------------------------------------------------------------------------

    def memory(self) -> Iterator[str]:
        """In no slot do live instances and invariants exceed a memory."""
        for memory, capacity in self.problem.memories.items():
            used = np.full(self.interval, self.problem.fixed[memory])
            for operation in self.problem.operations:
                time = self.start[operation.name]
                if operation.memory == memory:
                    self._occupy(
                        used, time, self._memory_release(operation) - time, operation.footprint
                    )
                staged = self._staged_until(operation)
                if memory == "smem" and staged is not None:
                    self._occupy(used, time, staged - time, operation.transfer_bytes)
            if used.max() > capacity:
                unit = 2 if memory == "tmem" else 1
                yield (
                    f"{memory} in slot {int(used.argmax())}: {int(used.max()) / unit:g} live, "
                    f"capacity {capacity / unit:g}"
                )

    def _memory_release(self, operation: Work) -> int:
        ends = [
            self.at(e.consumer) + e.distance * self.interval + e.hold
            for e in self.problem.edges
            if e.producer == operation.index and e.carries
        ]
        return max(ends) if ends else self.start[operation.name] + operation.latency

    def _staged_until(self, operation: Work) -> int | None:
        """When the SMEM staging of a register value has been read by other groups, if any."""
        ends = [
            self.at(e.consumer) + e.distance * self.interval
            for e in self.problem.edges
            if e.producer == operation.index and e.transferable and self.crosses(e)
        ]
        return max(ends, default=None)

    def _lives(self, storage: Storage) -> tuple[int, int]:
        """Time from which, and until which, an instance occupies its slot."""
        operation = self.problem.operations[self.problem.index[storage.value]]
        time = self.start[storage.value]
        if storage.transfer:
            return time, (self._staged_until(operation) or time) + self.problem.hop
        if storage.reader is not None:
            reader = self.problem.index[storage.reader]
            reads = [
                e.copy_reads
                for e in self.problem.edges
                if (e.producer, e.consumer, e.distance)
                == (operation.index, reader, storage.distance)
                and e.transferable
            ]
            return self.at(reader), self.at(reader) + max(reads, default=0)
        if storage.memory == "registers":
            return time, self._register_release(operation, until_read=True)
        return time, self._released(storage, storage.value)

    def _released(self, storage: Storage, by: str) -> int:
        """When operation `by` may overwrite what `storage` holds in memory.

        Every reader counts by itself: those on other groups than the writer's signal their end.
        An update in place need not be told of those that a dependence orders before it.
        """
        v, writer = self.problem.index[storage.value], self.place[by]
        ends = []
        for edge in self.problem.edges:
            if edge.producer != v or not edge.carries:
                continue
            if not storage.transfer and self._ordered_before_update(edge, self.problem.index[by]):
                continue
            if storage.transfer and not (edge.transferable and self.crosses(edge)):
                continue
            end = self.at(edge.consumer) + edge.distance * self.interval
            end += 0 if storage.transfer else edge.hold
            ends.append(end + (self.problem.hop if self.group(edge.consumer) != writer else 0))
        if ends:
            return max(ends)
        away = self.problem.hop if self.group(v) != writer else 0
        return self.at(v) + self.problem.operations[v].latency + away

    def _ordered_before_update(self, read: Edge, v: int) -> bool:
        """Whether operation v updates in place what is read, and a dependence has it wait."""
        updates = [
            edge.distance
            for edge, given in zip(self.problem.edges, self.schedule.loop.dependences, strict=True)
            if (edge.producer, edge.consumer) == (read.producer, v) and given.in_place
        ]
        return any(
            (order.producer, order.consumer) == (read.consumer, v)
            and read.distance + order.distance <= distance
            and (order.cross_delay if self.crosses(order) else order.delay) >= read.hold
            for order in self.problem.edges
            for distance in updates
        )

    def addresses(self) -> Iterator[str]:
        """Every instance in SMEM or TMEM has a range of its own while it lives."""
        placed = [s for s in self.schedule.storage if s.memory in self.problem.memories]
        for storage in placed:
            yield from self._inside(storage)
        placed = [storage for storage in placed if storage.addresses]
        yield from self._halves(placed)
        yield from self._updates(placed)
        yield from self._invariants()
        for fixed in self.schedule.fixed:
            for storage in placed:
                yield from self._over(storage, fixed)
        for index, first in enumerate(placed):
            yield from self._own_slots(first)
            for second in placed[index + 1 :]:
                if first.memory == second.memory:
                    yield from self._shared(first, second)

    def _slot_size(self, tile: Tile) -> int:
        """Bytes, or columns of TMEM, that a tile takes."""
        tmem = self.schedule.machine.memories.tmem
        return columns(tile, tmem) if tile.memory == "tmem" and tmem else tile.bytes

    def _inside(self, storage: Storage) -> Iterator[str]:
        """Every slot is aligned and inside its memory."""
        name, memory = storage.value, storage.memory
        if not storage.addresses:
            yield f"{name} in {memory} has no address"
            return
        end = max(storage.addresses) + storage.size
        capacity = self.memories[memory].capacity
        if end > capacity:
            yield f"{name} ends at {end} of {memory}, capacity {capacity}"
        step = _step(self.memories[memory], storage.size)
        for address in storage.addresses:
            if address % step:
                yield f"{name} at {memory} address {address} is not aligned to {step}"

    def _over(self, storage: Storage, fixed: Fixed) -> Iterator[str]:
        """Report a slot that lies over an invariant."""
        start = fixed.address or 0
        for address, half in _places(storage):
            if (
                storage.memory == fixed.memory
                and _overlap(start, fixed.size, address, storage.size)
                and _meet(fixed.half, half)
            ):
                yield (
                    f"{storage.value} lies over {fixed.name} in {fixed.memory} (from "
                    f"{max(start, address)})"
                )
                return

    def _own_slots(self, storage: Storage) -> Iterator[str]:
        """Two slots of one value are two places."""
        for (a, half), (b, other) in itertools.combinations(_places(storage), 2):
            if _overlap(a, storage.size, b, storage.size) and _meet(half, other):
                yield f"two slots of {storage.value} share {storage.memory} address {max(a, b)}"

    def _halves(self, placed: list[Storage]) -> Iterator[str]:
        """Only tiles of at most 64 rows take half the lanes; a product's two share one half."""
        tiles = {o.name: o.result for o in self.schedule.loop.operations}
        tmem = self.schedule.machine.memories.tmem
        halves: dict[str, set[int]] = {s.value: set(s.halves) for s in placed if not s.transfer}
        halves |= {f.name: {f.half} for f in self.schedule.fixed if f.half is not None}
        for storage in placed:
            tile = tiles[storage.value]
            if storage.halves and (tile is None or not halved(tile, tmem)):
                yield f"{storage.value} takes more than half the lanes of tmem"
        for factor, product in self._first_factors():
            both = (halves.get(factor), halves.get(product))
            if all(both) and len(set().union(*filter(None, both))) > 1:
                yield (
                    f"{factor} and {product} are first factor and accumulator of a product and lie "
                    "in different halves of tmem"
                )

    def _updates(self, placed: list[Storage]) -> Iterator[str]:
        """What is updated in place, and read by nobody else, stays where it is."""
        places = {s.value: (s.memory, _places(s)) for s in placed if not s.transfer}
        data = [d for d in self.schedule.loop.dependences if d.kind == "data"]
        for d in data:
            alone = sum(other.producer == d.producer for other in data) == 1
            old, new = places.get(d.producer), places.get(d.consumer)
            tiles = [
                self.problem.operations[self.problem.index[n]] for n in (d.producer, d.consumer)
            ]
            alike = tiles[0].footprint == tiles[1].footprint and tiles[0].halved == tiles[1].halved
            if not (d.in_place and alone and alike and old and new and old[0] == new[0]):
                continue
            for i in range(len(old[1]) * len(new[1])):
                before = old[1][(i - d.distance) % len(old[1])]
                if before != new[1][i % len(new[1])]:
                    yield f"{d.producer} is updated in place by {d.consumer} and lies elsewhere"
                    break

    def _first_factors(self) -> Iterator[tuple[str, str]]:
        """Yield the first factor of every product with the product, both by name."""
        loop = self.schedule.loop
        products = {o.name for o in loop.operations if o.kind.startswith("mma")}
        for d in loop.dependences:
            if d.consumer in products and d.operand == 0 and d.kind == "data":
                yield d.producer, d.consumer
        for invariant in loop.invariants:
            for read in invariant.reads:
                if read.operation in products and read.operand == 0:
                    yield invariant.name, read.operation

    def _invariants(self) -> Iterator[str]:
        """Every invariant in memory has one place, inside it and beside the others."""
        fixed = self.schedule.fixed
        tiles = {
            (i.name, i.tile.memory): i.tile
            for i in self.schedule.loop.invariants
            if i.tile.memory in ("smem", "tmem")
        }
        places = [(f.name, f.memory) for f in fixed]
        for name, memory in (*tiles, *places):
            needed, given = (name, memory) in tiles, places.count((name, memory))
            if given != needed:
                yield f"{name} has {given} places in {memory} for the whole loop, not {needed:d}"
        for index, first in enumerate(fixed):
            tile = tiles.get((first.name, first.memory))
            if tile is not None:
                yield from self._fixed(first, tile)
            for second in fixed[index + 1 :]:
                if (
                    first.memory == second.memory
                    and _overlap(first.address or 0, first.size, second.address or 0, second.size)
                    and _meet(first.half, second.half)
                ):
                    yield f"{first.name} lies over {second.name} in {first.memory}"

    def _fixed(self, fixed: Fixed, tile: Tile) -> Iterator[str]:
        """An invariant's place has its size, is aligned and inside its memory."""
        name, memory = fixed.name, fixed.memory
        size = self._slot_size(tile)
        if fixed.size != size:
            yield f"{name} needs {size} of {memory} for the whole loop and has {fixed.size}"
        if fixed.half is not None and not halved(tile, self.schedule.machine.memories.tmem):
            yield f"{name} takes more than half the lanes of {memory}"
        if fixed.address is None:
            yield f"{name} in {memory} has no address"
            return
        end, room = fixed.address + fixed.size, self.memories.get(memory)
        if room is not None and fixed.address % _step(room, size):
            yield f"{name} at {memory} address {fixed.address} is not aligned"
        if room is None or end > room.capacity:
            yield f"{name} ends at {end} of {memory}, beyond its capacity"

    def _shared(self, first: Storage, second: Storage) -> Iterator[str]:
        """Report instances of two values that share an address while both live."""
        places_a, places_b = _places(first), _places(second)
        touching = {
            (i, j): max(a, b)
            for i, (a, half) in enumerate(places_a)
            for j, (b, other) in enumerate(places_b)
            if _overlap(a, first.size, b, second.size) and _meet(half, other)
        }
        if not touching:
            return
        begin_a, begin_b = self.start[first.value], self.start[second.value]
        end_a = self._released(first, second.value)
        end_b = self._released(second, first.value)
        reach = -(-(max(end_a, end_b) - min(begin_a, begin_b)) // self.interval) + 1
        for i in range(first.slots * second.slots):
            for j in range(i - reach, i + reach + 1):
                address = touching.get((i % first.slots, j % second.slots))
                shift = (j - i) * self.interval
                overwritten = begin_a <= begin_b + shift < end_a
                overwrites = begin_b + shift <= begin_a < end_b + shift
                if address is not None and (overwritten or overwrites):
                    yield (
                        f"{first.value} of iteration {i} and {second.value} of iteration {j} "
                        f"are both live at {first.memory} address {address}"
                    )
                    return

    def storage(self) -> Iterator[str]:
        """Every result, copy and staging has its slots, once and of its size, and nothing else."""
        sizes, given = dict(self._kept()), Counter[_Kept]()
        for s in self.schedule.storage:
            key: _Kept = (s.value, s.memory, s.transfer, s.group, s.reader, s.distance)
            given[key] += 1
            if key in sizes and s.size != sizes[key]:
                yield f"{_what(key)} takes {sizes[key]} a slot, not {s.size}"
        for key in {**sizes, **given}:
            if not given[key]:
                yield f"{_what(key)} has no slots"
            elif key not in sizes:
                yield f"{_what(key)} has slots, and nothing needs them"
            elif given[key] > 1:
                yield f"{_what(key)} has slots {given[key]} times"

    def _kept(self) -> Iterator[tuple[_Kept, int]]:
        """Yield everything that needs slots, with the size of one."""
        for operation in self.problem.operations:
            name, home = operation.name, self.place[operation.name]
            result = self.schedule.loop.operation(name).result
            if operation.registers:
                yield (name, "registers", False, home, None, 0), operation.registers
            elif operation.memory and result:
                kept = (name, operation.memory, False, None, None, 0)
                yield kept, self._slot_size(result)
            if self._staged_until(operation) is not None:
                yield (name, "smem", True, None, None, 0), operation.transfer_bytes
        for e in self.problem.edges:
            if e.transferable and self.crosses(e):
                key = (self.name(e.producer), "registers", False, self.group(e.consumer))
                size = self.problem.operations[e.producer].registers
                yield (*key, self.name(e.consumer), e.distance), size

    def slots(self) -> Iterator[str]:
        """A slot is overwritten only after its last reader released it."""
        for storage in self.schedule.storage:
            begin, end = self._lives(storage)
            needed = max(1, -(-(end - begin) // self.interval))
            if storage.slots < needed:
                yield (
                    f"{storage.value} in {storage.memory} lives {end - begin} and has "
                    f"{storage.slots} slots, needs {needed}"
                )
            elif storage.slots > needed and not storage.addresses and storage.reader is None:
                yield (
                    f"{storage.value} in {storage.memory} needs {needed} slots and has "
                    f"{storage.slots}"
                )
        for operation in self.problem.operations:
            depth = self.schedule.pipeline_depths.get(operation.name)
            if operation.streaming and depth is None:
                yield f"streaming load {operation.name} has no pipeline depth"
            mine = [
                s.slots
                for s in self.schedule.storage
                if s.value == operation.name and s.memory != "registers" and not s.transfer
            ]
            if depth is not None and mine and mine[0] != depth:
                yield f"{operation.name} has a pipeline depth of {depth} and {mine[0]} slots"

    # -- what is recorded -------------------------------------------------------------------------

    def proof(self) -> Iterator[str]:
        """What the proof says follows from the schedule, or names who has shown it."""
        if self.schedule.proof is not None:
            yield from ProofJudge(self.problem, self.schedule, self.schedule.proof).check()

    def statistics(self) -> Iterator[str]:
        """Figures that follow from the schedule are right."""
        for name, group in self.groups.items():
            live = int(self._registers_of(name).max())
            if group.registers_live not in (None, live):
                yield f"group {name} says {group.registers_live} registers live, {live} are"
        rings = {o.name for o in self.problem.operations if o.streaming}
        for what, depths in (
            ("pipeline depth", self.schedule.pipeline_depths),
            ("hiding depth", self.schedule.hiding_depths),
        ):
            for name in sorted(rings ^ set(depths)):
                yield f"{name} {'has no' if name in rings else 'is no ring and has a'} {what}"
        for operation in self.problem.operations:
            depth, needed = self.schedule.hiding_depths.get(operation.name), self._hiding(operation)
            if operation.streaming and depth not in (None, needed):
                yield f"hiding the latency of {operation.name} takes {needed} slots, not {depth}"
        yield from self._time()

    def _hiding(self, operation: Work) -> int:
        """Slots of a ring whose loads, and those that are read with them, take their time."""
        read = [e for e in self.problem.edges if e.producer == operation.index and e.carries]
        readers = {edge.consumer for edge in read}
        beside = {e.producer for e in self.problem.edges if e.streaming and e.consumer in readers}
        late = max(self.problem.operations[v].nominal_latency for v in {operation.index, *beside})
        time = self.start[operation.name]
        ends = [
            self.at(e.consumer)
            + e.distance * self.interval
            + e.reads
            + (self.problem.hop if self.crosses(e) else 0)
            for e in read
        ]
        last = max(ends, default=time + operation.latency)
        return max(1, -(-(last - time + late) // self.interval))

    def _time(self) -> Iterator[str]:
        """The unit of time is what its costs say, within its budget."""
        scale = self.schedule.time
        before, after = sum(a for a, _ in scale.costs), sum(b for _, b in scale.costs)
        ratio = before / after if scale.mode == "normalized" and after else 1.0
        if scale.cycles_per_unit != ratio:
            yield f"a unit of time is {ratio:g} cycles, not {scale.cycles_per_unit:g}"
        changes = [b / a for a, b in scale.costs] or [1.0]
        distortion = max(changes) / min(changes)
        if not math.isclose(scale.distortion, distortion):
            yield f"ratios of costs changed by up to {distortion:g}, not {scale.distortion:g}"
        if (scale.mode == "exact") != (not scale.costs):
            yield f"time is {scale.mode} and has {len(scale.costs)} other costs"
        if scale.budget is not None and after > scale.budget:
            yield f"costs sum up to {after}, the budget is {scale.budget}"

    def _occupy(self, used: NDArray[np.int64], time: int, length: int, amount: int) -> None:
        """Add `amount` to every slot modulo I of [time, time + length)."""
        whole, rest = divmod(max(length, 0), self.interval)
        used += whole * amount
        first = time % self.interval
        used[first : first + rest] += amount
        used[: max(0, first + rest - self.interval)] += amount


_Kept = tuple[str, str, bool, str | None, str | None, int]
"""Value, memory, whether it is staged, group, reader and its distance, of what has slots."""


def _what(kept: _Kept) -> str:
    """Say what has slots."""
    value, memory, staged, group, reader, distance = kept
    where = f"registers of {group}" if memory == "registers" and group else memory
    for_whom = f" for {reader} at distance {distance}" if reader else " staged" if staged else ""
    return f"{value}{for_whom} in {where}"


def _step(memory: SharedMemory | TensorMemory, size: int) -> int:
    """What addresses of a slot are multiples of."""
    if isinstance(memory, TensorMemory):
        return 1
    return (memory.alignment if size < memory.swizzle.value else memory.swizzle).value


def _places(storage: Storage) -> list[tuple[int, int | None]]:
    """Address and half of every slot."""
    halves = storage.halves or (None,) * storage.slots
    return list(zip(storage.addresses, halves, strict=True))


def _meet(half: int | None, other: int | None) -> bool:
    """Whether two ranges of the same columns have lanes in common."""
    return half is None or other is None or half == other


def _overlap(a: int, size_a: int, b: int, size_b: int) -> bool:
    return a < b + size_b and b < a + size_a
