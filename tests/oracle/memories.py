"""SMEM and TMEM: slots of every value, which of them meet, and addresses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model_helper import Literal

from tests.oracle.facts import Facts, Op
from tests.oracle.packing import HALVES, Block, available, packed
from tests.oracle.registers import Linear
from twill.artifacts.hardware import SharedMemory, TensorMemory
from twill.artifacts.loop import Tile

if TYPE_CHECKING:
    from tests.oracle.system import System


@dataclass(frozen=True)
class Stored:
    """A value in a memory, or one in registers on its way to another group."""

    owner: Op
    block: Block
    present: tuple[Literal, ...]
    slots: cp_model.IntVar
    read: cp_model.IntVar
    """Cycles until it was read, whoever knows."""
    released: dict[int, cp_model.IntVar]
    """Cycles until the group of an operation knows that it was read, by operation."""


@dataclass(frozen=True)
class Cut:
    """These values with so many slots each have no addresses if all these pairs meet."""

    meet: tuple[Literal, ...]
    slots: tuple[tuple[cp_model.IntVar, int], ...]

    def add_to(self, model: cp_model.CpModel) -> None:
        fewer = []
        for variable, value in self.slots:
            if value > 1:
                literal = model.new_bool_var("")
                model.add(variable <= value - 1).only_enforce_if(literal)
                fewer.append(literal)
        model.add_bool_or([*(m.Not() for m in self.meet), *fewer])


def updated_in_place(given: Facts, u: Op) -> bool:
    """Whether an operation's next instance lies where this one does.

    That is so if it updates itself and dependences order all other readers before the update.
    """
    updates = [e.distance for e in given.edges if e.u == e.v == u.index and e.in_place]
    readers = [e for e in given.edges if e.u == u.index and e.carries and e.v != u.index]
    return bool(updates) and all(
        given.nearest(e.v, u.index) <= min(updates) - e.distance for e in readers
    )


class Memory:
    """One memory: states what fits, and tells what has no addresses."""

    def __init__(self, system: System, name: str, facts: SharedMemory | TensorMemory) -> None:
        self.system, self.name, self.facts = system, name, facts
        self.stored = [*self._values(), *self._staged()]
        tiles = [i.tile for i in system.given.loop.invariants if i.tile.memory == name]
        self.fixed = [self._block(tile) for tile in tiles]
        self.meet: dict[tuple[int, int], cp_model.IntVar] = {}
        for b, other in enumerate(self.stored):
            self._state(b, other)

    def _block(self, tile: Tile) -> Block:
        """Return what a tile takes: bytes, or half columns."""
        if isinstance(self.facts, SharedMemory):
            return Block(tile.bytes)
        rows, width = math.prod(tile.shape[:-1]), tile.shape[-1]
        columns = -(-rows // self.facts.lanes.value) * -(-width * tile.bits // 32)
        halved = len(tile.shape) > 1 and rows <= self.facts.half.value
        return Block(columns * (1 if halved else HALVES), halved)

    def _state(self, b: int, other: Stored) -> None:
        """State what fits when an instance of `other` begins."""
        model = self.system.model
        total: Linear = other.slots * other.block.size + sum(block.size for block in self.fixed)
        for a, one in enumerate(self.stored):
            if a == b:
                continue
            key = (min(a, b), max(a, b))
            if key not in self.meet:
                self.meet[key] = model.new_bool_var(f"{key} meet")
            known = one.released[other.owner.index]
            model.add_implication(self._alive(one, other, known), self.meet[key])
            taken = model.new_int_var(0, self._most(), "")
            alive = self._alive(one, other, one.read)
            model.add(taken >= one.slots).only_enforce_if(alive)
            total += taken * one.block.size
        room = available(self.facts) * (HALVES if self.name == "tmem" else 1)
        model.add(total <= room).only_enforce_if(*other.present)

    def _most(self) -> int:
        return self.system.far // self.system.interval + 1

    def _alive(self, one: Stored, other: Stored, until: cp_model.IntVar) -> cp_model.IntVar:
        """Return whether an instance of `one` is not yet over when one of `other` begins."""
        alive = self.system.model.new_bool_var("")
        begins = self.system.later[one.owner.index, other.owner.index]
        over = self.system.model.add(until <= begins)
        over.only_enforce_if(alive.Not(), *one.present, *other.present)
        return alive

    def _values(self) -> Iterator[Stored]:
        for u in self.system.given.ops:
            if u.memory == self.name and u.result is not None:
                edges = [e for e in self.system.given.edges if e.u == u.index and e.carries]
                reads = [(e.v, self.system.issued(e) + e.hold) for e in edges]
                yield self._one(u, self._block(u.result), reads, staged=False)

    def _staged(self) -> Iterator[Stored]:
        for u in self.system.given.ops:
            if self.name == "smem" and u.memory == "registers" and u.result is not None:
                edges = [e for e in self.system.given.edges if e.u == u.index and e.carries]
                reads = [(e.v, self.system.issued(e)) for e in edges if e.v != u.index]
                if reads:
                    yield self._one(u, Block(u.result.bytes), reads, staged=True)

    def _one(
        self, u: Op, block: Block, reads: Sequence[tuple[int, Linear]], *, staged: bool
    ) -> Stored:
        system, model = self.system, self.system.model
        slots = model.new_int_var(1, self._most(), f"slots of {u.name}")
        read = model.new_int_var(0, system.far, f"{u.name} is read")
        released = {b.index: model.new_int_var(0, system.far, "") for b in system.given.ops}
        if not reads:
            model.add(read >= u.latency)
        for v, time in reads or [(u.index, u.latency)]:
            when = (system.same[u.index, v].Not(),) if staged else ()
            model.add(read >= time).only_enforce_if(*when)
            for b, known in released.items():
                told = system.given.hop * (1 - system.same[v, b])
                model.add(known >= time + told).only_enforce_if(*when)
        if staged or not updated_in_place(system.given, u):
            model.add(system.interval * slots >= released[u.index])
        present = (system.crosses[u.index],) if staged else ()
        return Stored(u, block, present, slots, read, released)

    def cut(self, solver: cp_model.CpSolver, effort: float) -> Cut | None:
        """Return what of a solution has no addresses together, None if all have some."""
        there = [n for n, s in enumerate(self.stored) if all(map(solver.value, s.present))]
        slots = [solver.value(self.stored[n].slots) for n in there]
        blocks = [self.stored[n].block for n in there]
        pairs = [(a, b) for b in range(len(there)) for a in range(b)]
        met = [p for p in pairs if solver.value(self.meet[there[p[0]], there[p[1]]])]
        values = list(zip(blocks, slots, strict=True))
        if packed(self.facts, values, self.fixed, met, effort):
            return None
        return Cut(
            tuple(self.meet[there[a], there[b]] for a, b in met),
            tuple((self.stored[n].slots, count) for n, count in zip(there, slots, strict=True)),
        )
