"""Statements outside the scheduled loop, executed as they are written by one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.expressions.gluon import Gluon
from twill.emit.expressions.texts import Text
from twill.emit.memory.free import FreeBuffers, is_held
from twill.emit.memory.memories import Memories
from twill.emit.names import FIRST, PHASE
from twill.emit.outside import TRIVIAL, Outside
from twill.emit.source import SSAValue, Statement, loops, tile_of
from twill.emit.tree import Assignment, Barrier, Loop, Node, used_by
from twill.frontends.ttgir.kinds import product_operands
from twill.frontends.ttgir.reader import integers, name_of, string

NEXT = Assignment(PHASE, "1", "^=")
BEFORE = Barrier("before_done", slots=None)  # for what is waited for at once before the loop
ENDS = ("scf.yield", "tt.return")


class Body:
    """Statements that are being written: those of the innermost block that is open."""

    def __init__(self) -> None:
        self._open: list[list[Node]] = [[]]

    @property
    def nodes(self) -> list[Node]:
        """The statements of the innermost block."""
        return self._open[-1]

    def add(self, *nodes: Node) -> None:
        """Add statements to the innermost block."""
        self._open[-1] += nodes

    @contextmanager
    def nested(self) -> Iterator[list[Node]]:
        """Open a block inside, which the caller makes a node of."""
        self._open.append([])
        yield self._open[-1]
        self._open.pop()


class DirectValues:
    """Values of statements that are executed as they are written, computed where first needed.

    `own`: the statements whose results are computed there, and not before all of them.
    """

    def __init__(self, outside: Outside, buffers: FreeBuffers, own: set[Statement]) -> None:
        self.outside, self.buffers, self.own = outside, buffers, own
        self.memories, self.gluon, self.source = outside.memories, outside.gluon, outside.source
        self.body = Body()
        self.known: dict[SSAValue, Text] = {}

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value."""
        if value in self.known:
            return self.known[value]
        owner = self.source.statement(value)
        if owner is None or owner not in self.own or value in self.memories.slots.made:
            return self.outside.value(value)
        text = self.gluon.expression(owner, [self.value(o) for o in owner.operands])
        if name_of(owner) in TRIVIAL or len(list(value.uses)) < 2:
            return text
        return self.assigned(value, text.text)

    def tile(self, value: SSAValue) -> str:
        """Return the text of a value, of a tile as a tile."""
        return self.gluon.tile(value, self.value(value)).text

    def assigned(self, value: SSAValue, text: str) -> Text:
        """Assign a value to a variable."""
        variable = self.memories.before.local(self.source.hint(value) or "value", value)
        self.body.add(Assignment(variable, text))
        self.known[value] = Text(variable, is_variable=True)
        return self.known[value]

    def loaded(self, load: Statement) -> Text:
        """Load a tile through pointers."""
        operands = [self.value(o) for o in load.operands]
        return self.assigned(load.results[0], statements.loaded(load, operands))

    def read(self, load: Statement) -> Text:
        """Read a tile from tensor memory."""
        result = load.results[0]
        text = f"{self.buffer(load.operands[0])}.load({self.gluon.layout(result)})"
        return self.assigned(result, text)

    def buffer(self, value: SSAValue) -> str:
        """Return a buffer."""
        statement = self.source.statement(value)
        if statement is not None and name_of(statement) == "ttg.memdesc_trans":
            order = tuple(integers(statement, "order") or (1, 0))
            return f"{self.buffer(statement.operands[0])}.permute({order})"
        if value in self.buffers.places:
            return self.buffers.places[value]
        owner = self.memories.before.tensor_owner(value)
        if owner is not None:
            return self.memories.slots.tensor(owner, FIRST)
        if statement is None or name_of(statement) != "ttg.local_alloc" or statement in self.own:
            raise RefusedError("a buffer of a statement outside the loop has no template")
        return self.memories.before.fixed(value)

    def factor(self, value: SSAValue) -> str:
        """Return a factor of a product."""
        in_registers = self.source.type_of(value).kind == "tensor"
        return self.value(value).text if in_registers else self.buffer(value)


class Unpipelined:
    """Statements as they are written, each transfer and product waited for at once.

    `done`: the barrier by which they are waited for. `effects`: templates of further statements.
    """

    def __init__(
        self,
        values: DirectValues,
        done: Barrier,
        effects: Mapping[str, Callable[[Statement], object]] | None = None,
    ) -> None:
        self.values, self.body, self.buffers = values, values.body, values.buffers
        self.memories, self.source = values.memories, values.source
        self.done = done.slot()
        self._templates: dict[str, Callable[[Statement], object]] = {
            "scf.for": self._loop,
            "tt.descriptor_load": self._loaded,
            "tt.load": values.loaded,
            "ttg.local_alloc": self._filled,
            "ttng.warp_group_dot": self._wgmma,
            "ttng.tc_gen5_mma": self._tcgen05,
            "ttng.tmem_alloc": self._filled,
            "ttng.tmem_store": self._stored,
            "ttng.tmem_load": values.read,
            **(effects or {}),
        }

    def run(self, statements: Iterable[Statement]) -> None:
        """Add the nodes of statements.

        Raises
        ------
        RefusedError
            If one has no template.
        """
        for statement in statements:
            name = name_of(statement)
            if name in self._templates:
                self._templates[name](statement)
            elif name not in ENDS and not any(list(r.uses) for r in statement.results):
                where = string(statement, "sched.location") or "outside the loop"
                raise RefusedError(f"{name} ({where}) has no template for kernels")

    # -- memory ----------------------------------------------------------------------------------

    def _loaded(self, statement: Statement) -> None:
        if not is_held(statement):
            result = statement.results[0]
            buffer = self.buffers.places[result]
            self._transferred(statement, buffer)
            self.values.assigned(result, f"{buffer}.load({self.values.gluon.layout(result)})")
            self.body.add(statements.FENCE)  # the next transfer writes there

    def _filled(self, statement: Statement) -> None:
        """Fill a buffer with what it is made of, by TMA if that is a load."""
        result = statement.results[0]
        if result in self.memories.before.fixed_names or not statement.operands:
            return
        load, to = self.source.statement(statement.operands[0]), self.values.buffer(result)
        if load is not None and name_of(load) == "tt.descriptor_load" and is_held(load):
            self._transferred(load, to)
            return
        self.body.add(statements.write(to, self.values.value(statement.operands[0]).text))
        if self.source.type_of(result).memory == "smem":
            self.body.add(statements.FENCE)

    def _transferred(self, load: Statement, to: str) -> None:
        transfer = statements.transfer(load, self.values.value, self.done, to)
        tile = self.source.type_of(load.results[0]).checked_tile()
        self.body.add(statements.expect(self.done, tile.bytes), transfer)
        self._waited()

    def _waited(self) -> None:
        self.body.add(statements.wait(self.done, PHASE), NEXT)

    def _stored(self, statement: Statement) -> None:
        text = self.values.value(tile_of(self.source, statement)).text
        self.body.add(statements.write(self.values.buffer(statement.operands[0]), text))

    # -- products --------------------------------------------------------------------------------

    def _wgmma(self, statement: Statement) -> None:
        product = statements.wgmma(self.source, statement, self.values)
        self.values.assigned(statement.results[0], product)

    def _tcgen05(self, statement: Statement) -> None:
        to = self.values.buffer(statement.operands[product_operands(statement)["d"] or 0])
        self.body.add(statements.tcgen05(statement, self.values, to, [self.done]))
        self._waited()

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, loop: Statement) -> None:
        values, block = self.values, loop.regions[0].blocks[0]
        counter, *arguments = block.args
        bounds = ", ".join(values.value(v).text for v in list(loop.operands)[:3])
        carried = [
            c
            for c in zip(arguments, list(loop.operands)[3:], loop.results, strict=True)
            if "token" not in str(c[0].type)
        ]
        for argument, first, result in carried:
            if argument in self.buffers.places:
                self._parked(argument, first)
            else:
                values.assigned(argument, values.tile(first))
            values.known[result] = values.known[argument]
        for value in self._from_around(loop):
            text = values.value(value)
            if value.owner in values.own and not text.is_variable:
                values.assigned(value, text.text)
        index = self.memories.before.local(counter.name_hint or "index", counter)
        values.known[counter] = Text(index, is_variable=True)
        with self.body.nested() as nodes:
            *_, end = block.ops
            self.run(block.ops)
            following = dict(zip(arguments, end.operands, strict=True))
            kept = [a for a, _, _ in carried if a not in self.buffers.places]
            texts = [values.tile(following[a]) for a in kept]
            for argument in (a for a, _, _ in carried if a in self.buffers.places):
                self._parked(argument, following[argument])
            if kept:
                left = ", ".join(values.known[a].text for a in kept)
                self.body.add(Assignment(left, ", ".join(texts)))
        self.body.add(Loop(index, f"range({bounds})", tuple(nodes)))

    def _parked(self, argument: SSAValue, value: SSAValue) -> None:
        """Put what a loop carries into shared memory."""
        place = self.buffers.places[argument]
        self.body.add(statements.write(place, self.values.tile(value)))
        layout = self.values.gluon.layout(argument)
        self.values.known[argument] = Text(f"{place}.load({layout})")

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


def before_loop(memories: Memories, gluon: Gluon) -> list[Node]:
    """Return the loops before the scheduled one, and what passes on what they leave."""
    others = loops(memories.source.before())
    if not others:
        return []
    written = memories.source.before()
    buffers = FreeBuffers(memories, written, "before")
    own = {s for outer in written[written.index(others[0]) :] for s in outer.walk()}
    values = DirectValues(Outside(memories, gluon), buffers, own)
    Unpipelined(values, BEFORE).run(written)
    allocations = memories.allocations
    passed = {allocations.begun(v): values.value(v).text for v in allocations.left_before}
    left = [statements.write(to, v) for to, v in passed.items()]
    return [
        *buffers.made,
        *values.outside.nodes,
        BEFORE,
        *begun(values.body.nodes),
        *(s for to, s in zip(passed, left, strict=True) if to not in buffers.places.values()),
    ]


def begun(nodes: list[Node], parity: str = "0") -> list[Node]:
    """Return statements with the parity that their waits begin with in front of them."""
    return [Assignment(PHASE, parity), *nodes] if PHASE in used_by(nodes) else nodes
