"""Buffers of statements outside the scheduled loop: slots of the loop's that are free meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from twill.artifacts.loop import ELEMENT_BITS
from twill.artifacts.program import Storage
from twill.emit import statements
from twill.emit.memory.allocations import Kind, meets, plain_layout
from twill.emit.memory.memories import Memories
from twill.emit.source import BlockArgument, SSAValue, Statement
from twill.emit.tree import Allocation
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import name_of


class FreeBuffers:
    """Where buffers of the statements before the loop lie, or of those after it.

    `over`: for those after it, whether an operation's result has no readers left.

    Attributes
    ----------
    places : dict
        By the value that stands for a buffer: a free slot of the loop, or a buffer of its own.
    made : list
        Allocations of the buffers of their own.
    size : int
        Bytes of shared memory that those take.
    """

    def __init__(
        self,
        memories: Memories,
        statements: list[Statement],
        name: str,
        over: Callable[[str], bool] | None = None,
    ) -> None:
        self.memories, self.source = memories, memories.source
        self.statements, self.over = statements, over
        self.places: dict[SSAValue, str] = {}
        self.made: list[Allocation] = []
        self.size = 0
        unused = statements and not memories.slots.persistent  # by a further output tile
        self._free = list(memories.allocations.rings()) if unused else []
        for statement in statements:
            for inner in statement.walk():
                for value, kind in self._needed(inner, top=inner is statement):
                    place = self._passed_on(value) or self.taken(kind, self.over, value)
                    self.places[value] = place or self._apart(kind, name)

    def _apart(self, kind: Kind, name: str) -> str:
        place = f"{name}{len(self.made) or ''}_{kind.memory}"
        what, allocated = kind.contents, statements.tensor_memory
        if kind.memory == "smem":
            allocated = statements.shared_memory
            self.size += math.prod(kind.shape) * ELEMENT_BITS[kind.dtype] // 8
        self.made.append(allocated(place, what))
        return place

    def _passed_on(self, value: SSAValue) -> str | None:
        """Return the buffer through which what a loop carries gets into the scheduled one."""
        loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
        if not isinstance(value, BlockArgument) or loop is None:
            return None
        result = loop.results[value.index - 1]
        return (
            self.memories.allocations.begun(result)
            if result in self.memories.allocations.left_before
            else None
        )

    def taken(self, kind: Kind, over: Callable[[str], bool] | None, value: SSAValue) -> str | None:
        """Return a slot of the loop that is unused meanwhile; it is taken from now on."""
        for storage, own, place in self._free:
            tensor = storage.memory == "tmem"
            if own != kind or (over is not None and not over(storage.value)):
                continue
            if not (tensor and self._is_busy(storage, value)):
                self._free = [
                    (s, k, p)
                    for s, k, p in self._free
                    if p != place and not (tensor and meets(s, storage))
                ]
                return place
        return None

    def _needed(self, statement: Statement, *, top: bool) -> Iterator[tuple[SSAValue, Kind]]:
        """Yield the buffers that a statement needs; those filled before the loop have some.

        Registers do not hold the results of two products, so that a tile that a loop carries
        from one iteration to the next lies in shared memory meanwhile.
        """
        name, fixed = name_of(statement), top and self.over is None
        tensor = name == "ttng.tmem_alloc"
        if tensor:
            fixed = self.memories.before.tensor_owner(statement.results[0]) is not None
        if (tensor or name == "ttg.local_alloc") and not fixed:
            yield statement.results[0], self.memories.allocations.kind_of(statement.results[0])
        elif name == "tt.descriptor_load" and not is_held(statement):
            tile = self.source.type_of(statement.results[0])
            layout = self.memories.allocations.kind_of(statement.operands[0]).layout
            yield statement.results[0], Kind("smem", tile.shape, tile.dtype, layout)
        elif sum(name_of(s) == "ttng.warp_group_dot" for s in statement.walk()) > 1:
            for argument in statement.regions[0].blocks[0].args:
                tile = self.source.type_of(argument)
                if len(tile.shape) > 1:
                    layout = plain_layout(tile.shape)
                    yield argument, Kind("smem", tile.shape, tile.dtype, layout)

    def _buffers(self, statement: Statement) -> set[SSAValue]:
        values = [v for s in statement.walk() for v in (*s.results, *s.operands)]
        return {root_of(v, VIEWS) for v in values if self.source.type_of(v).kind == "memdesc"}

    def _is_busy(self, storage: Storage, value: SSAValue) -> bool:
        """Whether tensor memory has what the loop begins with, or leaves, while a value is used."""
        used = [k for k, s in enumerate(self.statements) if value in self._buffers(s)]
        meanwhile = slice(0, max(used) + 1) if self.over is None else slice(min(used), None)
        values = {v for s in self.statements[meanwhile] for v in self._buffers(s)}
        owners = [self.memories.before.tensor_owner(v) for v in values]
        return any(o is not None and meets(self.memories.slots.tensors[o], storage) for o in owners)


def is_held(load: Statement) -> bool:
    """Return whether a tile is only loaded in order to lie in shared memory."""
    return all(name_of(use.operation) == "ttg.local_alloc" for use in load.results[0].uses)
