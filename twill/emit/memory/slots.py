"""Where the values of a schedule lie: statements, registers, slots of rings, tensor memory."""

from __future__ import annotations

from twill.artifacts.loop import Tile
from twill.artifacts.program import Storage
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit.expressions.gluon import Gluon
from twill.emit.layouts import Layouts
from twill.emit.names import Names, slot_and_parity
from twill.emit.source import BlockArgument, Source, SSAValue, Statement
from twill.frontends.ttgir.kinds import DESCRIPTOR, kind_of
from twill.frontends.ttgir.reader import name_of
from twill.frontends.types import Layout
from twill.lower.iterations import Iteration


class Slots:
    """The values of one kernel and where they lie.

    Attributes
    ----------
    held, staged, tensors : dict
        Slots by the operation whose result they hold: in shared memory, there on the way to other
        groups, and in tensor memory.
    made : dict
        Names of the descriptors that the kernel makes.
    """

    def __init__(self, schedule: Schedule, source: Source, layouts: Layouts) -> None:
        self.schedule, self.source, self.layouts = schedule, source, layouts
        self.parameters = source.parameters()
        self.names: Names = Names({p.name for p in self.parameters})
        self.made: dict[SSAValue, str] = {}
        for statement in source.blocks[0].ops:
            if name_of(statement) == DESCRIPTOR:
                name = self.names(source.hint(statement.results[0]) or "descriptor")
                while name in self.names.taken:
                    name += "_"
                self.names.taken.add(name)
                self.made[statement.results[0]] = name
        self.operations = {o.name: o for o in schedule.loop.operations}
        self.persistent = source.outer is not None
        self.held = {s.value: s for s in schedule.storage if s.memory == "smem" and not s.transfer}
        self.staged = {s.value: s for s in schedule.storage if s.transfer}
        self.tensors = {s.value: s for s in schedule.storage if s.memory == "tmem"}
        self.shared = [*self.held.values(), *self.staged.values()]

    def statements(self, operation: str) -> list[Statement]:
        """Return the statements that an operation does, in order."""
        body = self.source.graph.operations
        loop = self.schedule.loop.source
        assert loop is not None
        return [body[position] for position in loop.statements.get(operation, ())]

    def first(self, operation: str, kind: str) -> Statement:
        """Return the first of its statements that is of a kind, or the last of all."""
        statements = self.statements(operation)
        if not statements:
            raise RefusedError(f"{operation} is no statement of the kernel")
        return next((s for s in statements if kind and kind_of(s) == kind), statements[-1])

    def results(self, operation: str) -> list[SSAValue]:
        """Return the tiles in registers, or numbers, that an operation's statements make."""
        return [
            result
            for statement in self.statements(operation)
            for result in statement.results
            if self.source.type_of(result).kind == "tensor" or self.is_number(operation)
        ]

    def register_layout(self, operation: str, gluon: Gluon) -> str:
        """Return the layout of what an operation leaves in registers."""
        layout = self.source.type_of(self.results(operation)[-1]).layout
        if layout is None:
            raise RefusedError(f"{operation} has no layout")
        return gluon.layouts.of_tile(layout)

    def chunk_layout(self, load: Statement, columns: int, gluon: Gluon) -> str:
        """Return the layout of so many columns of tensor memory, as the loaded tile has it.

        A thread has one of 128 rows, or half of one of 64 rows. The upper lanes of a warp then have
        the second halves of the rows of the lower.
        """
        kind = self.source.type_of(load.results[0])
        if kind.layout is None or kind.layout.name != "linear" or kind.shape[0] not in (64, 128):
            raise RefusedError("a tile of tensor memory of neither 64 nor 128 rows has no template")
        p = kind.layout.parameters
        own = columns * kind.shape[0] // 128
        bases = [b for b in p["register"] if b[1] < own]
        lanes = [[0, own] if b[1] else b for b in p["lane"]]
        return gluon.layouts.of_tile(Layout("linear", {**p, "register": bases, "lane": lanes}))

    def in_registers(self, operation: str) -> bool:
        """Return whether an operation's result lies in registers."""
        tile = self.operations[operation].result
        return tile is not None and tile.memory == "registers"

    def is_number(self, operation: str) -> bool:
        """Return whether an operation makes one number, which lies in memory as a tile of one."""
        tile = self.operations[operation].result
        return tile is not None and not tile.shape

    def is_flag(self, value: str) -> bool:
        """Return whether an operation makes truth values, each of which takes a byte of memory."""
        return self.tile(value).dtype == "i1"

    def turn(self, iteration: Iteration, slots: int) -> tuple[str, str]:
        """Return slot and parity of an iteration."""
        return slot_and_parity(iteration, slots, persistent=self.persistent)

    def buffer(self, storage: Storage) -> str:
        """Return the name of a buffer."""
        return self.names(storage.value) + ("_staging" if storage.transfer else "_smem")

    def slot(self, storage: Storage, iteration: Iteration) -> str:
        """Return the slot of an iteration."""
        return f"{self.buffer(storage)}.index({self.turn(iteration, storage.slots)[0]})"

    def tensor(self, operation: str, iteration: Iteration) -> str:
        """Return where in tensor memory an operation's result of an iteration lies."""
        storage = self.tensors[operation]
        name = self.columns(storage)
        if storage.slots == 1:
            return name
        return f"{name}.index({self.turn(iteration, storage.slots)[0]})"

    def columns(self, storage: Storage) -> str:
        """Return the name of a buffer in tensor memory."""
        return f"{self.names(self.same_place(storage))}_tmem"

    def same_place(self, storage: Storage) -> str:
        """Return the first value that lies at the same addresses and is of the same type.

        Without addresses, that is the first of those that update each other in place.
        """
        tile = self.tile(storage.value)
        if not storage.addresses:
            updates = [
                (d.producer, d.consumer) for d in self.schedule.loop.dependences if d.in_place
            ]
            place = reached([storage.value], lambda v: {n for u in updates if v in u for n in u})
            return next(value for value in self.tensors if value in place)
        return next(
            s.value
            for s in self.tensors.values()
            if (s.addresses, s.halves, s.slots)
            == (storage.addresses, storage.halves, storage.slots)
            and (self.tile(s.value).shape, self.tile(s.value).dtype) == (tile.shape, tile.dtype)
        )

    def tile(self, value: str) -> Tile:
        """Return what an operation makes."""
        tile = self.operations[value].result
        assert tile is not None
        return tile

    def argument(self, value: SSAValue) -> str:
        """Return a kernel argument, a descriptor it makes, or the number of the output tile."""
        if value in self.made:
            return self.made[value]
        if not isinstance(value, BlockArgument):
            name = self.source.hint(value) or "a descriptor"
            raise RefusedError(f"{name} is made in a loop; there is no template for that")
        if value.block is self.source.blocks[0]:
            name, dot, rest = self.source.argument(value).partition(".")
            if not dot:
                return name
            fact, _, axis = rest.partition(".")
            return f"{name}.{ {'shape': 'shape', 'stride': 'strides'}[fact] }[{axis}]"
        if value.index:
            raise RefusedError("what a loop over output tiles carries has no template")
        return self.names(value.name_hint or "output_tile")
