"""Registers: what is live in every row and along programs, and what groups are allocated.

Rule 5 of docs/model.md. Along a program a compiler allocates registers so: between two
instructions, registers are taken if their value is read later. Registers that an asynchronous
operation may still read are taken until a wait for it ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from twill.artifacts.base import by_identity
from twill.artifacts.pieces import pieces
from twill.artifacts.program import Await, Get, Issue, Program, Put, Single, singles
from twill.artifacts.schedule import Group, Schedule
from twill.verification.reading import Edge, Model, RegisterFile, Work, read_model
from twill.verification.times import Placed, occupy

_model = by_identity(64)(read_model)


def registers(placed: Placed) -> Iterator[str]:
    """5. Registers: in no row, and nowhere along its program, has a group more live than it may."""
    file = placed.model.registers
    if file is None:
        return
    # Programs of the paper's rules keep to its clock.
    along = registers_along_programs(placed.schedule) if placed.model.rules == "issue" else {}
    for name, group in placed.groups.items():
        allocated = group.registers if group.registers is not None else file.most
        limit = min(allocated, file.limit) - file.reserve
        places = [("along its program", along.get(name, 0))]
        if placed.timed:
            used = live_registers(placed, name)
            places.insert(0, (f"in slot {int(used.argmax())}", int(used.max())))
        for where, most in places:
            if most > limit:
                yield (
                    f"group {name} {where}: {most} registers per thread live, {limit} of "
                    f"{allocated} allocated are for values"
                )


def register_file(placed: Placed) -> Iterator[str]:
    """5. Registers: allocations are possible ones, and fit what a launch gets of the file."""
    file = placed.model.registers
    if file is None:
        return
    blocks, launched = 0, 0
    narrow: list[tuple[int, int]] = []
    for group in placed.groups.values():
        allocated = _allocated(placed, group, file)
        if allocated % file.step or not file.least <= allocated <= file.most:
            yield (
                f"group {group.name} is allocated {allocated} registers per thread; "
                f"possible are multiples of {file.step} from {file.least} to {file.most}"
            )
        if group.warps < file.warps:
            narrow.append((group.warps, allocated))
        else:
            launched += group.warps // file.warps
            blocks += group.warps // file.warps * allocated
    filled = -(-sum(warps for warps, _ in narrow) // file.warps)
    blocks += filled * max((allocated for _, allocated in narrow), default=0)
    total, there = blocks * file.threads, file.file
    threads = (launched + filled) * file.threads
    if file.launch is not None and threads:
        there = min(file.most, file.file // threads // file.launch * file.launch) * threads
    if total > there:
        given = f"a launch of {threads} threads gets" if there < file.file else "the file has"
        yield f"the groups take {total} registers, {given} {there}"


def recorded_registers(placed: Placed) -> Iterator[str]:
    """Check the registers that are recorded as live on a group, in rows or along its program."""
    for name, group in placed.groups.items():
        live = int(live_registers(placed, name).max()) if placed.timed else _along(placed, group)
        if group.registers_live not in (None, live):
            yield f"group {name} says {group.registers_live} registers live, {live} are"


def _allocated(placed: Placed, group: Group, file: RegisterFile) -> int:
    """Registers per thread of a group; where it names none, the least that hold its values."""
    if group.registers is not None:
        return group.registers
    used = live_registers(placed, group.name).max() if placed.timed else _along(placed, group)
    live = int(used) + file.reserve
    return max(file.least, -(-live // file.step) * file.step)


def _along(placed: Placed, group: Group) -> int:
    return registers_along_programs(placed.schedule).get(group.name, 0)


# -- in every row ---------------------------------------------------------------------------------


def live_registers(placed: Placed, group: str) -> NDArray[np.int64]:
    """Return the registers per thread that are live on a group, by row (5 and 6)."""
    model, used = placed.model, placed.rows()
    for operation in model.operations:
        if placed.place[operation.name] == group:
            time, at_work = placed.at(operation.index), max(operation.cycles, operation.issue)
            occupy(used, time, released(placed, operation) - time, operation.registers)
            occupy(used, time, at_work, operation.working_set)
    copies: dict[tuple[int, int, int], int] = {}
    for edge in placed.moved() if model.rules == "issue" else ():
        if placed.group(edge.consumer) == group:
            copy = (edge.producer, edge.consumer, edge.distance)
            copies[copy] = max(copies.get(copy, 0), edge.copy_hold)
    for (producer, consumer, _), held in copies.items():
        made = model.operations[producer]
        fetched = made.transfer - made.transfer // 2
        occupy(used, placed.at(consumer) - fetched, fetched + held, made.registers)
    for pinned in model.pinned:
        if any(placed.group(user) == group for user in pinned.used_by):
            used += pinned.registers
    return used


def released(placed: Placed, operation: Work, *, until_read: bool = False) -> int:
    """When the registers of a result are free, or it is read, on the group that made it."""
    time, ends = placed.at(operation.index), []
    for edge in placed.reads(operation.index):
        if placed.model.rules == "issue" and placed.crosses(edge):
            ends.append(time + operation.latency + operation.transfer)
        else:
            ends.append(placed.read_at(edge) + (edge.reads if until_read else edge.hold))
    return max(ends, default=time + operation.latency)


# -- along programs -------------------------------------------------------------------------------


def registers_along_programs(schedule: Schedule) -> dict[str, int]:
    """Return the most registers per thread that are live at once along each group's program.

    Invariants are included, the reserve for addresses and counters is not.

    Raises
    ------
    InputError
        If its loop cannot be costed for its machine.
    """
    model = _model(schedule.loop, schedule.machine, rules=schedule.rules)
    return {p.group: _Along(model, schedule, p).most() for p in schedule.programs if p.body}


class _Along:
    """A group's program; places are instructions, counted on through the rounds of the loop."""

    def __init__(self, model: Model, schedule: Schedule, program: Program) -> None:
        self.model, self.length = model, len(program.body)
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.put: dict[str, int] = {}
        self.got: dict[tuple[str, str, int], int] = {}
        self.awaited: dict[str, list[int]] = {}
        for index, instruction in enumerate(program.body):
            for part in singles(instruction):
                self._note(part, part.stage * self.length + index)
        self.pieces = pieces(schedule.loop)
        self.slots = {
            (s.value, s.reader, s.distance): s.slots
            for s in schedule.storage
            if s.memory == "registers"
        }

    def _note(self, part: Single, place: int) -> None:
        if isinstance(part, Issue):
            self.first[part.operation] = min(place, self.first.get(part.operation, place))
            self.last[part.operation] = max(place, self.last.get(part.operation, place))
        elif isinstance(part, Put):
            self.put[part.value] = place
        elif isinstance(part, Get):
            self.got[part.value, part.reader, part.distance] = place
        elif isinstance(part, Await):
            after = place + part.distance * self.length
            self.awaited.setdefault(part.operation, []).append(after)

    def most(self) -> int:
        """Return the most that is live at one instruction."""
        used = np.zeros(self.length, dtype=np.int64)
        for begin, end, registers in self._lives():
            rounds, rest = divmod(max(0, end - begin), self.length)
            used += rounds * registers
            used[(begin + np.arange(rest)) % self.length] += registers
        pinned = sum(
            invariant.registers
            for invariant in self.model.pinned
            if any(self._name(user) in self.first for user in invariant.used_by)
        )
        return int(used.max()) + pinned

    def _lives(self) -> Iterator[tuple[int, int, int]]:
        """Yield where something begins to take registers, where it no longer does, how many."""
        for operation in self.model.operations:
            name = operation.name
            if name in self.first and operation.working_set:
                yield from self._working_set(operation)
            if name in self.first and operation.registers:
                yield from self._results(name, operation.registers)
        for (value, reader, distance), begin in self.got.items():
            slots = self.slots.get((value, reader, distance), 1)
            ends = [
                self._read(edge, edge.copy_hold, begin + slots * self.length)
                for edge in self._edges(value)
                if (self._name(edge.consumer), edge.distance) == (reader, distance)
                and reader in self.first
            ]
            registers = self.model.operations[self.model.index[value]].registers
            yield begin, max(ends, default=begin + 1), registers

    def _working_set(self, operation: Work) -> Iterator[tuple[int, int, int]]:
        """Yield its lives; what is of an operand counts once no other reader has that operand."""
        begin, end = self.first[operation.name], self.last[operation.name] + 1
        if operation.widening is None:
            yield begin, end, operation.working_set
            return
        producer, distance, wider = operation.widening
        name = self._name(producer)
        yield begin, end, operation.working_set - wider
        if name in self.first and name not in self.pieces:
            begin = max(begin, self._until(name) - distance * self.length)
        yield begin, end, wider

    def _results(self, name: str, registers: int) -> Iterator[tuple[int, int, int]]:
        """Yield the life of a result; of one that is read piece by piece, those of its pieces."""
        shared = self.pieces.get(name, {})
        readers = {self._name(edge.consumer) for edge in self._edges(name)}
        if not shared or name in self.put or not readers <= self.first.keys():
            yield self.first[name], self._until(name), registers
            return
        rewritten = self._rewritten(name)
        edges = {(self._name(e.consumer), e.distance): e for e in self._edges(name)}
        whole = [self._read(e, e.hold, rewritten) for by, e in edges.items() if by not in shared]
        for by, part in shared.items():
            piece, edge = math.ceil(registers * part), edges[by]
            taken_over = self.model.operations[edge.consumer].registers <= piece
            read = self._read(edge, 0 if taken_over else edge.hold, rewritten)
            yield self.first[name], max(read, *whole, 0), piece

    def _until(self, name: str) -> int:
        """Return the first instruction at which a result of this group is free again."""
        rewritten = self._rewritten(name)
        here = [e for e in self._edges(name) if self._name(e.consumer) in self.first]
        ends = [self._read(edge, edge.hold, rewritten) for edge in here]
        if name in self.put:
            ends.append(self.put[name] + 1)
        return max(ends) if ends else self._over(name, rewritten)

    def _rewritten(self, name: str) -> int:
        """Return where the slots of a result have all been used, and the first is used again."""
        return self.first[name] + self.slots.get((name, None, 0), 1) * self.length

    def _read(self, edge: Edge, hold: int, rewritten: int) -> int:
        """Return where a reader no longer holds a value; one that takes it over, at its issue."""
        reader = self._name(edge.consumer)
        if not hold:
            return self.first[reader] + edge.distance * self.length
        return self._over(reader, rewritten - edge.distance * self.length) + (
            edge.distance * self.length
        )

    def _over(self, name: str, otherwise: int) -> int:
        """Return the first instruction at which a group knows that an operation is over.

        At the latest it does where the slots that the operation reads are written again.
        """
        operation = self.model.operations[self.model.index[name]]
        if not operation.asynchronous:
            return self.last[name] + 1
        known = [otherwise]
        for other, places in self.awaited.items():
            unit = self.model.operations[self.model.index[other]].in_order_unit
            same_unit = unit is not None and unit == operation.in_order_unit
            if other not in self.first or not (other == name or same_unit):
                continue
            # The first instance of the other that its unit completes no earlier.
            later = -((self.first[other] - self.first[name]) // self.length)
            issued = self.first[other] + later * self.length
            moments = [place + later * self.length for place in places]
            known += [moment for moment in moments if moment > issued]
        return min(known)

    def _edges(self, value: str) -> list[Edge]:
        position = self.model.index[value]
        return [e for e in self.model.edges if e.producer == position and e.carries]

    def _name(self, position: int) -> str:
        return self.model.operations[position].name
