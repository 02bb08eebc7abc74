"""Plans of the epilogue: the partition of each effect, and values that others leave for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit.memory.free import is_held
from twill.emit.memory.memories import Memories
from twill.emit.names import FIRST
from twill.emit.source import SSAValue, Statement, loops
from twill.emit.tree import Barrier
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import DESCRIPTOR_STORES, POINTER_STORES, VIEWS
from twill.frontends.ttgir.reader import name_of

EPILOGUE = "epilogue"
ACROSS = ("tt.reduce", "tt.scan", "tt.reshape", "tt.trans", "tt.split")
DRAINING_WARPS = 4  # to which a tile of tensor memory belongs
FEWEST_COLUMNS = 32
TILES = "tiles"  # output tiles that a persistent kernel has begun before


@dataclass(frozen=True)
class Moved:
    """A result of the loop that goes from the group that makes it to another one."""

    variable: str
    maker: str
    reader: str

    @property
    def buffer(self) -> str:
        """The buffer through which it goes."""
        return f"{self.variable}_smem"

    @property
    def full(self) -> Barrier:
        """The barrier that says that it is there."""
        return Barrier(f"{self.variable}_full")


@dataclass
class Plan:
    """The effects of each partition after the loop, and the values that others leave for it."""

    effects: dict[str, list[Statement]] = field(default_factory=dict)
    left: dict[SSAValue, str] = field(default_factory=dict)  # results of the loop: by whom
    tensors: dict[str, str] = field(default_factory=dict)  # buffer's operation: who writes it last
    moved: dict[SSAValue, Moved] = field(default_factory=dict)


class Plans:
    """Plans of the statements after the loop."""

    def __init__(self, memories: Memories) -> None:
        self.memories, self.slots, self.source = memories, memories.slots, memories.source
        self.assignment = memories.schedule.assignment
        self.statements = self.source.after()
        self.own = {inner for s in self.statements for inner in s.walk()}
        loads = [s for s in self.statements if name_of(s) == "tt.descriptor_load"]
        self.together = bool(loops(self.statements)) or not all(map(is_held, loads))
        self.plan = self._planned()

    def _planned(self) -> Plan:
        """Plan each effect by itself; statements with a loop, or a transfer, go together."""
        plan = Plan()
        effects = [
            [s] for s in self.statements if name_of(s) in (*DESCRIPTOR_STORES, *POINTER_STORES)
        ]
        for statements in [self.statements] if self.together else effects:
            left = list(dict.fromkeys(f for s in statements for f in self._left(s)))
            group = self._group_for(left)
            plan.effects.setdefault(group, []).extend(statements)
            plan.left |= dict(left)
            for value, maker in left:
                if maker != group:
                    variable = f"left{self.source.position(value)}"
                    plan.moved[value] = Moved(variable, maker, group)
            for owner in (o for s in statements for o in self.tensors(s)):
                plan.tensors[owner] = self.writers(owner)[-1]
        return plan

    def left(self, group: str) -> list[SSAValue]:
        """Return the loop's results that a group makes and that are needed after it."""
        return [value for value, maker in self.plan.left.items() if maker == group]

    def _left(self, statement: Statement) -> Iterator[tuple[SSAValue, str]]:
        """Yield the register tiles of the loop that a statement needs, with their groups."""
        for inner in statement.walk():
            for operand in inner.operands:
                yield from self._left_of(operand)

    def _left_of(self, value: SSAValue) -> Iterator[tuple[SSAValue, str]]:
        owner = self.source.statement(value)
        if owner is self.source.loop:
            following = self.source.yielded(value)
            if self.source.type_of(value).kind == "tensor":
                made = self.source.graph.before_arguments(following)[0]
                names = [n for n in self.source.owners_of(made) if self.slots.in_registers(n)]
                if not names:
                    raise RefusedError("what the loop leaves has no template for kernels")
                yield value, self.assignment[names[-1]]
        elif owner is not None and owner.parent is self.source.loop.parent:
            yield from self._left(owner)

    def _group_for(self, left: list[tuple[SSAValue, str]]) -> str:
        sizes: dict[str, int] = {}
        for value, group in left:
            size = math.prod(self.source.type_of(value).shape)
            sizes[group] = sizes.get(group, 0) + size
        registers = {g.name: g.registers or 0 for g in self.memories.schedule.groups}
        most = max(sizes, key=lambda g: (sizes[g], registers[g]), default="")
        return most or self._drainer()

    def _drainer(self) -> str:
        """Return the group that stores tiles which only tensor memory holds.

        A group of four warps is idle after the loop and needs no further registers to store. In a
        persistent kernel it goes on with the next output tile instead.
        """
        groups = [g for g in self.memories.schedule.groups if g.warps == DRAINING_WARPS]
        if not groups or self.memories.slots.persistent:
            return EPILOGUE
        return max(groups, key=lambda g: g.registers or 0).name

    def tensors(self, statement: Statement) -> Iterator[str]:
        """Yield operations whose tensor memory a statement reads."""
        for operand in (o for inner in statement.walk() for o in inner.operands):
            owner = self.source.statement(operand)
            if self.source.type_of(operand).memory == "tmem":
                root = root_of(operand, VIEWS)
                found = self.memories.before.tensor_owner(root)
                if found is not None:
                    yield found
                elif root.owner not in self.own:
                    raise RefusedError(
                        "tensor memory that the loop does not write is read after it"
                    )
            elif owner in self.statements:
                yield from self.tensors(owner)

    def writers(self, owner: str) -> list[str]:
        """Return the operations that write where one does, in the order of the source."""
        source = self.memories.schedule.loop.source
        assert source is not None
        place = self.slots.tensor(owner, FIRST)
        alike = [
            o
            for o in source.statements
            if o in self.slots.tensors and self.slots.tensor(o, FIRST) == place
        ]
        return sorted(alike, key=lambda o: source.statements[o][-1])

    def stores(self) -> list[tuple[str, Statement]]:
        """Return the stores by TMA after the loop, with the groups that do them."""
        return [
            (group, s)
            for group, statements in self.plan.effects.items()
            for outer in statements
            for s in outer.walk()
            if name_of(s) in DESCRIPTOR_STORES
        ]

    def whole(self, statement: Statement) -> bool:
        """Return whether a store needs a whole tile: of registers, or across its columns."""

        def makers(made: Statement) -> list[Statement]:
            owners = map(self.source.statement, made.operands)
            return [owner for owner in owners if owner in self.own and owner is not None]

        if any(name_of(made) in ACROSS for made in reached([statement], makers)):
            return True
        return any(len(self.source.type_of(v).shape) > 1 for v, _ in self._left(statement))

    def undrained(self) -> list[str]:
        """Return the groups whose last tensor core products have no waiter.

        No block may end while a product is in flight.
        """
        made = {
            self.assignment[o.name]
            for o in self.memories.schedule.loop.operations
            if o.kind.startswith("mma") and o.name in self.slots.tensors
        }
        signalled = {
            self.assignment[writer]
            for owner, writer in self.plan.tensors.items()
            if self.crosses(owner, writer)
        }
        return sorted(made - signalled)

    def crosses(self, owner: str, writer: str) -> bool:
        """Return whether a partition needs a signal that the tile it reads is complete."""
        kind = self.slots.operations[writer].kind
        reader = next(
            g for g, ss in self.plan.effects.items() if any(owner in self.tensors(s) for s in ss)
        )
        return kind.startswith("mma") or self.assignment[writer] != reader
