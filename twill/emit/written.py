"""Statements outside the scheduled loop, executed as they are written by one partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from twill.artifacts.loop import ELEMENT_BITS
from twill.artifacts.program import Storage
from twill.base.errors import RefusedError
from twill.emit.allocations import Kind, meets, plain_layout
from twill.emit.dress import Gluon, Text, accesses
from twill.emit.layouts import dtype
from twill.emit.memory import Memories
from twill.emit.names import INDENT, PHASE
from twill.emit.outside import TRIVIAL, Outside
from twill.emit.source import BlockArgument, SSAValue, Statement, loops
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS, product_operands
from twill.frontends.ttgir.reader import integers, name_of, string
from twill.lower.iterations import Iteration

FIRST = Iteration("", 0)
DONE_BEFORE = "before_done"  # barrier for transfers and products that are waited for at once
ENDS = ("scf.yield", "tt.return")


class Room:
    """Where buffers of the statements before the loop lie, or of those after it.

    `over`: of those after it, whether nobody reads an operation's result any more.

    Attributes
    ----------
    places : dict
        By the value that stands for a buffer: a slot of the loop's that is free, or one apart.
    made : list
        What allocates the latter.
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
        self.made: list[str] = []
        self.size = 0
        self._free = list(memories.rings()) if statements else []
        for statement in statements:
            for inner in statement.walk():
                for value, kind in self._needed(inner, top=inner is statement):
                    place = self._passed_on(value) or self.taken(kind, self.over, value)
                    self.places[value] = place or self._apart(kind, name)

    def _apart(self, kind: Kind, name: str) -> str:
        place = f"{name}{len(self.made) or ''}_{kind.memory}"
        what = f"gl.{dtype(kind.dtype)}, {list(kind.shape)}, {kind.layout}"
        call = "allocate_tensor_memory"
        if kind.memory == "smem":
            call = "gl.allocate_shared_memory"
            self.size += math.prod(kind.shape) * ELEMENT_BITS[kind.dtype] // 8
        self.made.append(f"{place} = {call}({what})")
        return place

    def _passed_on(self, value: SSAValue) -> str | None:
        """Return the buffer through which what a loop carries gets into the scheduled one."""
        loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
        if not isinstance(value, BlockArgument) or loop is None:
            return None
        result = loop.results[value.index - 1]
        return self.memories.begun(result) if result in self.memories.left_before else None

    def taken(self, kind: Kind, over: Callable[[str], bool] | None, value: SSAValue) -> str | None:
        """Return a slot of the loop's that nobody uses meanwhile, which is taken from now on."""
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
            fixed = self.memories.tensor_owner(statement.results[0]) is not None
        if (tensor or name == "ttg.local_alloc") and not fixed:
            yield statement.results[0], self.memories.kind_of(statement.results[0])
        elif name == "tt.descriptor_load" and not is_held(statement):
            tile = self.source.type_of(statement.results[0])
            layout = self.memories.kind_of(statement.operands[0]).layout
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
        owners = [self.memories.tensor_owner(v) for v in values]
        return any(o is not None and meets(self.memories.in_columns(o), storage) for o in owners)


class Written:
    """Statements as they are written, each transfer and product waited for at once.

    Values are computed where they are first needed.
    """

    def __init__(self, memories: Memories, gluon: Gluon, outside: Outside, room: Room) -> None:
        self.memories, self.gluon, self.source = memories, gluon, memories.source
        self.outside, self.room = outside, room
        self.barrier = ""
        self.own: set[Statement] = set()
        self.known: dict[SSAValue, Text] = {}
        self.lines: list[str] = []
        self.templates: dict[str, Callable[[Statement], None]] = {
            "scf.for": self._loop,
            "tt.descriptor_load": self._loaded,
            "tt.load": self._loaded_at,
            "ttg.local_alloc": self._filled,
            "ttng.warp_group_dot": self._wgmma,
            "ttng.tc_gen5_mma": self._tcgen05,
            "ttng.tmem_alloc": self._filled,
            "ttng.tmem_store": self._stored,
            "ttng.tmem_load": self._tensor_load,
        }

    def run(self, statements: Iterable[Statement]) -> None:
        """Add the lines of statements.

        Raises
        ------
        RefusedError
            If one has no template.
        """
        for statement in statements:
            name = name_of(statement)
            if name in self.templates:
                self.templates[name](statement)
            elif name not in ENDS and not any(list(r.uses) for r in statement.results):
                where = string(statement, "sched.location") or "outside the loop"
                raise RefusedError(f"{name} ({where}) has no template for kernels")

    # -- values ----------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value."""
        if value in self.known:
            return self.known[value]
        owner = self.source.statement(value)
        if owner is None or owner not in self.own:
            return self.outside.value(value)
        text = self.gluon.expression(owner, [self.value(o) for o in owner.operands])
        return self.shared(value, text)

    def shared(self, value: SSAValue, text: Text) -> Text:
        """Return a value as a variable, if it is used more than once."""
        owner = self.source.statement(value)
        if owner is None or name_of(owner) in TRIVIAL or len(list(value.uses)) < 2:
            return text
        return self.assigned(value, text.text)

    def assigned(self, value: SSAValue, text: str) -> Text:
        """Assign a value to a variable."""
        variable = self.memories.local(self.source.hint(value) or "value", value)
        self.lines.append(f"{variable} = {text}")
        self.known[value] = Text(variable)
        return self.known[value]

    def buffer(self, value: SSAValue) -> str:
        """Return a buffer."""
        statement = self.source.statement(value)
        if statement is not None and name_of(statement) == "ttg.memdesc_trans":
            order = tuple(integers(statement, "order") or (1, 0))
            return f"{self.buffer(statement.operands[0])}.permute({order})"
        if value in self.room.places:
            return self.room.places[value]
        owner = self.memories.tensor_owner(value)
        if owner is not None:
            return self.memories.tensor(owner, FIRST)
        if statement is None or name_of(statement) != "ttg.local_alloc" or statement in self.own:
            raise RefusedError("a buffer of a statement outside the loop has no template")
        return self.memories.fixed(value)

    def factor(self, value: SSAValue) -> str:
        """Return a factor of a product."""
        in_registers = self.source.type_of(value).kind == "tensor"
        return self.value(value).text if in_registers else self.buffer(value)

    # -- memory ----------------------------------------------------------------------------------

    def _loaded(self, statement: Statement) -> None:
        if not is_held(statement):
            result = statement.results[0]
            buffer = self.room.places[result]
            self._transferred(statement, buffer)
            self.assigned(result, f"{buffer}.load({self.gluon.layout(result)})")
            self.lines.append("fence_async_shared()")  # the next transfer writes there

    def _loaded_at(self, statement: Statement) -> None:
        text = accesses.loaded(statement, [self.value(o) for o in statement.operands])
        self.assigned(statement.results[0], text)

    def _filled(self, statement: Statement) -> None:
        """Fill a buffer with what it is made of, by TMA if that is a load."""
        result = statement.results[0]
        if result in self.memories.fixed_names or not statement.operands:
            return
        load = self.source.statement(statement.operands[0])
        if load is not None and name_of(load) == "tt.descriptor_load" and is_held(load):
            self._transferred(load, self.buffer(result))
            return
        self.lines.append(f"{self.buffer(result)}.store({self.value(statement.operands[0]).text})")
        if self.source.type_of(result).memory == "smem":
            self.lines.append("fence_async_shared()")

    def _transferred(self, load: Statement, to: str) -> None:
        descriptor, *at = load.operands
        coordinates = ", ".join(self.value(o).text for o in at)
        tile = self.source.type_of(load.results[0]).checked_tile()
        self.lines.append(f"mbarrier.expect({self.barrier}, {tile.bytes})")
        where = f"[{coordinates}], {self.barrier}, {to}"
        self.lines.append(f"tma.async_load({self.memories.argument(descriptor)}, {where})")
        self._waited()

    def _waited(self) -> None:
        self.lines += [f"mbarrier.wait({self.barrier}, {PHASE})", f"{PHASE} ^= 1"]

    def _stored(self, statement: Statement) -> None:
        tiles = [o for o in statement.operands if self.source.type_of(o).kind == "tensor"]
        text = self.value(tiles[0]).text
        self.lines.append(f"{self.buffer(statement.operands[0])}.store({text})")

    def _tensor_load(self, statement: Statement) -> None:
        result = statement.results[0]
        text = f"{self.buffer(statement.operands[0])}.load({self.gluon.layout(result)})"
        self.assigned(result, text)

    # -- products --------------------------------------------------------------------------------

    def _wgmma(self, statement: Statement) -> None:
        a, b, *others = statement.operands
        texts = [self.factor(a), self.factor(b), *(self.value(o).text for o in others)]
        self.assigned(
            statement.results[0], f"warpgroup_mma({accesses.wgmma(self.source, statement, texts)})"
        )

    def _tcgen05(self, statement: Statement) -> None:
        roles = product_operands(statement)
        a, b, d = (self.factor(statement.operands[roles[key] or 0]) for key in ("a", "b", "d"))
        use = roles["use_d"]
        used = "True" if use is None else self.value(statement.operands[use]).text
        self.lines.append(accesses.tcgen05(statement, [a, b, d], used, [self.barrier]))
        self._waited()

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, loop: Statement) -> None:
        block = loop.regions[0].blocks[0]
        counter, *arguments = block.args
        bounds = ", ".join(self.value(v).text for v in list(loop.operands)[:3])
        carried = [
            c
            for c in zip(arguments, list(loop.operands)[3:], loop.results, strict=True)
            if "token" not in str(c[0].type)
        ]
        for argument, first, result in carried:
            if argument in self.room.places:
                self._parked(argument, first)
            else:
                self.assigned(argument, self.value(first).text)
            self.known[result] = self.known[argument]
        for value in self._from_around(loop):
            text = self.value(value).text
            if value.owner in self.own and not text.isidentifier():
                self.assigned(value, text)
        self.known[counter] = Text(self.memories.local(counter.name_hint or "index", counter))
        before, self.lines = self.lines, []
        *_, end = block.ops
        self.run(block.ops)
        following = dict(zip(arguments, end.operands, strict=True))
        kept = [a for a, _, _ in carried if a not in self.room.places]
        texts = [self.value(following[a]).text for a in kept]
        for argument in (a for a, _, _ in carried if a in self.room.places):
            self._parked(argument, following[argument])
        if kept:
            left = ", ".join(self.known[a].text for a in kept)
            self.lines.append(f"{left} = {', '.join(texts)}")
        head = f"for {self.known[counter]} in range({bounds}):"
        self.lines = [*before, head, *(INDENT + line for line in self.lines)]

    def _parked(self, argument: SSAValue, value: SSAValue) -> None:
        """Put what a loop carries into shared memory."""
        place = self.room.places[argument]
        self.lines.append(f"{place}.store({self.value(value).text})")
        self.known[argument] = Text(f"{place}.load({self.gluon.layout(argument)})")

    def _from_around(self, loop: Statement) -> Iterator[SSAValue]:
        """Yield numbers and tiles that a loop reads and that are made outside of it."""
        _, *inside = loop.walk()
        for statement in inside:
            for value in statement.operands:
                owner = self.source.statement(value)
                kind = self.source.type_of(value).kind
                token = "token" in str(value.type)
                if owner is not None and owner not in inside and kind != "memdesc" and not token:
                    yield value


def written_before(memories: Memories, gluon: Gluon) -> list[str]:
    """Return the loops before the scheduled one, and what passes on what they leave."""
    statements = memories.source.before()
    others = loops(statements)
    if not others:
        return []
    room = Room(memories, statements, "before")
    writer = Written(memories, gluon, Outside(memories, gluon), room)
    writer.own = {s for outer in statements[statements.index(others[0]) :] for s in outer.walk()}
    writer.barrier = DONE_BEFORE
    writer.run(statements)
    passed = {memories.begun(v): writer.value(v).text for v in memories.left_before}
    return [
        *room.made,
        *writer.outside.lines,
        f"{DONE_BEFORE} = mbarrier.allocate_mbarrier()",
        f"mbarrier.init({DONE_BEFORE}, count=1)",
        *begun(writer.lines),
        *(f"{to}.store({v})" for to, v in passed.items() if to not in room.places.values()),
    ]


def begun(lines: list[str]) -> list[str]:
    """Return lines with the parity that their waits begin with in front of them."""
    return [f"{PHASE} = 0", *lines] if any(PHASE in line for line in lines) else lines


def is_held(load: Statement) -> bool:
    """Return whether a tile is only loaded in order to lie in shared memory."""
    return all(name_of(use.operation) == "ttg.local_alloc" for use in load.results[0].uses)
