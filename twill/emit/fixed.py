"""Buffers that are filled before the loop: once, or again for each output tile."""

from __future__ import annotations

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.epilogue.plans import TILES
from twill.emit.expressions.gluon import Gluon
from twill.emit.memory.memories import Memories
from twill.emit.outside import Outside
from twill.emit.tree import Allocation, Barrier, Node, used_by
from twill.frontends.ttgir.reader import name_of

FULL = Barrier("before_full", slots=None)  # for the transfers that fill them
EMPTY = "before_empty"


class Fixed:
    """Buffers that are filled before the loop."""

    def __init__(self, memories: Memories, gluon: Gluon) -> None:
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.again = memories.slots.persistent

    # -- once ------------------------------------------------------------------------------------

    def entry(self) -> list[Node]:
        """Return what fills them before the partitions begin."""
        if self.again:
            return []
        outside = Outside(self.memories, self.gluon)
        loads, stores = self._filled(outside)
        nodes = [*outside.nodes]
        if loads:
            nodes += [FULL, *loads, statements.wait(FULL.slot(), "0")]
        if stores:
            nodes += [*stores, statements.FENCE]
        return nodes

    def allocations(self) -> list[Allocation | Barrier]:
        """Return the buffers, and the barriers of those that are filled again."""
        found: list[Allocation | Barrier] = []
        for root, name in self.memories.before.fixed_names.items():
            kind = self.source.type_of(root)
            layout = self.memories.layouts.of_memory(self.source.layout_text(root))
            what = statements.contents(kind.dtype, kind.shape, layout)
            found.append(statements.shared_memory(name, what))
        if self.again and found:
            if len(found) > len(self.memories.before.fixed_roots()):
                raise RefusedError("a buffer that only the epilogue reads has no template here")
            found += [FULL, self._empty]
        return found

    def _filled(self, outside: Outside) -> tuple[list[Node], list[Node]]:
        """Return announced transfers and stores that fill the buffers; `outside` gets the rest."""
        loads: list[Node] = []
        stores: list[Node] = []
        size = 0
        for root, name in self.memories.before.fixed_names.items():
            statement = self.source.statement(root)
            if statement is None or name_of(statement) != "ttg.local_alloc":
                raise RefusedError(f"what fills {name} before the loop has no template")
            value = statement.operands[0]
            made = self.source.statement(value)
            if made is not None and name_of(made) == "tt.descriptor_load":
                loads.append(statements.transfer(made, outside.value, FULL.slot(), name))
                size += self.source.type_of(root).checked_tile().bytes
            else:
                tile = self.gluon.tile(value, outside.value(value))
                stores.append(statements.write(name, tile.text))
        return [statements.expect(FULL.slot(), size), *loads] if loads else [], stores

    # -- for each output tile --------------------------------------------------------------------

    def begin(self, group: str, outside: Outside) -> list[Node]:
        """Return how a group fills, or awaits, the buffers of an output tile."""
        readers = self._readers if self.again else set()
        nodes: list[Node] = []
        if readers and group == self._loader:
            loads, stores = self._filled(outside)
            if stores:
                raise RefusedError(
                    "buffers that registers fill for each output tile have no template"
                )
            nodes += [statements.wait(self._empty.slot(), f"({TILES} + 1) & 1"), *loads]
        if group in readers:
            nodes.append(statements.wait(FULL.slot(), f"{TILES} & 1"))
        return nodes

    def end(self, group: str, after: list[Node]) -> list[Node]:
        """Return what follows a group's loop with the release of the buffers of an output tile.

        `after`: what follows it otherwise. The buffers may serve there, to store tiles.
        """
        if not self.again:
            return after
        names = {name for _, name in self.memories.before.fixed_roots()}
        used = names & used_by(after)
        if group not in self._readers:
            if used:
                raise RefusedError(f"{', '.join(sorted(used))}: {group} stores through it")
            return after
        schedule, slots = self.memories.schedule, self.memories.slots
        products = any(  # of tensor memory, whose end no statement awaits
            schedule.assignment[o] == group
            and slots.operations[o].kind.startswith("mma")
            and not slots.in_registers(o)
            for o in self._reading
        )
        free = statements.commit(self._empty) if products else statements.arrive(self._empty.slot())
        return [*after, free] if used else [free, *after]

    @property
    def _reading(self) -> set[str]:
        """The operations that read the buffers."""
        before = self.memories.before
        return {o for root, _ in before.fixed_roots() for o in before.readers(root)}

    @property
    def _readers(self) -> set[str]:
        """The groups that read the buffers in the loop."""
        return {self.memories.schedule.assignment[o] for o in self._reading}

    @property
    def _loader(self) -> str:
        """The group that fills the buffers: the one of the loop's first transfer."""
        schedule = self.memories.schedule
        loads = [
            o.name
            for o in schedule.loop.operations
            if o.kind == "load" and o.attributes.get("engine") != "pointer"
        ]
        return schedule.assignment[loads[0]] if loads else min(self._readers)

    @property
    def _empty(self) -> Barrier:
        """The barrier that says that the buffers have no readers left."""
        return Barrier(EMPTY, None, len(self._readers))
