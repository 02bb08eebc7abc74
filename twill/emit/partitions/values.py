"""Values that a group's instructions read: registers of an iteration, numbers, buffers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from twill.artifacts.loop import Dependence, Operation
from twill.artifacts.program import Get, singles
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit.expressions.gluon import Gluon
from twill.emit.expressions.texts import CLOSED, LOOSE, PLUS, Text, joined
from twill.emit.memory.memories import Memories
from twill.emit.names import SEAM, number
from twill.emit.outside import Outside
from twill.emit.source import SSAValue, Statement
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS, is_selection
from twill.frontends.ttgir.reader import integer, integers, name_of
from twill.lower.iterations import Iteration
from twill.lower.rounds import Place, Places

PART = "part"  # the variable of some columns of a tile


@dataclass
class Where:
    """The position being emitted: an operation of a round, for an iteration."""

    iteration: Iteration
    round: Iteration
    operation: Operation | None = None


AXES = ("[None, :]", "[:, None]")  # new axes of what has one


@dataclass(frozen=True)
class Chunk:
    """Some columns of a tile of tensor memory that are in registers as `PART`, in a layout."""

    whole: SSAValue
    layout: str

    def expanded(self, statement: Statement, operand: Text) -> Text:
        """Return a `tt.expand_dims` to a row or column of the chunk."""
        axis = integer(statement, "axis") or 0
        layout = f"gl.SliceLayout({axis}, {self.layout})"
        return Text(f"gl.convert_layout({operand.text}, {layout}){AXES[axis]}")


class Variables(Places):
    """Places of values; whatever registers hold for several iterations is renamed each round."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        instructions = [one for program in schedule.programs for one in program.body]
        gets = [part for one in instructions for part in singles(one) if isinstance(part, Get)]
        self._got = {(get.value, get.reader, get.distance): get.stage for get in gets}

    def result(self, value: str) -> Place:
        """Return where an operation puts its result."""
        place = super().result(value)
        if self._memory(value) != "registers" or place.rotating:
            return place
        stages, oldest = self._ages(value)
        if not stages:
            return place
        return replace(place, slots=1, rotating=oldest > 0, stage=min(stages), oldest=oldest)

    def copy(self, value: str, reader: str, distance: int) -> Place:
        """Return where a reader has its copy of another group's value."""
        place = super().copy(value, reader, distance)
        got = self._got[value, reader, distance]
        oldest = min(self._stages[reader]) + distance - got  # by its first part
        return replace(place, slots=1, rotating=oldest > 0, stage=got, oldest=oldest)


class Values:
    """Texts of values inside the loop of one group.

    `past`: the stage whose iteration is the second loop's in the round being emitted, of joined
    loops; -1 if no iteration is, and None if only a run can tell.
    """

    def __init__(self, memories: Memories, gluon: Gluon, group: Group) -> None:
        self.memories, self.gluon, self.group = memories, gluon, group
        self.schedule, self.source = memories.schedule, memories.source
        self.slots, self.names = memories.slots, memories.slots.names
        self.operations = memories.slots.operations
        self.places = Variables(self.schedule)
        self.outside = Outside(memories, gluon, begun=True)
        self.where = Where(Iteration("", 0), Iteration("", 0))
        self.chunk: Chunk | None = None
        self.past: int | None = None

    def reads(self, operation: Operation) -> list[Dependence]:
        """Return the dependences by which an operation reads values."""
        return [
            d
            for d in self.schedule.loop.dependences
            if d.kind == "data" and d.consumer == operation.name
        ]

    def result(self, operation: Operation) -> str:
        """Return the variable of an operation's result in the current iteration."""
        place = self.places.result(operation.name)
        return self.names(place.text(self.where.iteration, self.where.round))

    def value(self, value: SSAValue) -> Text:
        """Return the text of a tile in registers, or of a number, for the current instruction."""
        return self._value(value, self.where.iteration)

    def _value(self, value: SSAValue, at: Iteration) -> Text:
        if self.chunk is not None and value is self.chunk.whole:
            return Text(PART)
        if not self.source.inside(value):
            return self._from_outside(value)
        if value is self.source.counter:
            return self._counter(at)
        if value in self.source.graph.carried:
            return self._carried(value, at)
        statement = self.source.statement(value)
        assert statement is not None
        owners = self.source.owners_of(value)
        own = self.where.operation is not None and self.where.operation.name in owners
        here = own and at == self.where.iteration
        loads = name_of(statement) in ("tt.descriptor_load", "tt.load")
        if (owners and not here) or loads:
            return self._read_of(owners, value, at)
        return self.expression(statement, at)

    def _from_outside(self, value: SSAValue) -> Text:
        """Return a value from before the loop, a row or column in the layout of the chunk."""
        owner = self.source.statement(value)
        while owner is not None and name_of(owner) == "tt.broadcast":
            owner = self.source.statement(owner.operands[0])
        if self.chunk is None or owner is None or name_of(owner) != "tt.expand_dims":
            return self.outside.value(value)
        return self.chunk.expanded(owner, self.outside.value(owner.operands[0]))

    def expression(self, statement: Statement, at: Iteration | None = None) -> Text:
        """Return a statement's expression in an iteration, by default the instruction's own."""
        at = at or self.where.iteration
        if is_selection(statement):
            return self._past(statement, at)
        operands = [self._value(o, at) for o in statement.operands]
        if name_of(statement) == "arith.select":
            pairs = zip(statement.operands, operands, strict=True)
            operands = [self._selected(value, text) for value, text in pairs]
        if self.chunk is not None and len(operands) == 1:
            name = name_of(statement)
            if name in ("ttg.convert_layout", "tt.broadcast"):
                return operands[0]
            if name == "tt.expand_dims":
                return self.chunk.expanded(statement, operands[0])
        return self.gluon.expression(statement, operands)

    def _past(self, selection: Statement, at: Iteration) -> Text:
        """Return what the second of joined loops makes, or in other iterations the first."""
        _, later, value = selection.operands
        stage = self.where.round.offset - at.offset
        if self.past in (stage, -1):
            return self._value(later if self.past == stage else value, at)
        texts = (self.gluon.tile(v, self._selected(v, self._value(v, at))) for v in (later, value))
        return self.gluon.call("where", f"{number(at)} >= {SEAM}", *(t.text for t in texts))

    def depends_on_seam(self, operation: str) -> bool:
        """Return whether an operation reads something else in the second of joined loops."""

        def read(value: SSAValue) -> Iterable[SSAValue]:
            owner, names = self.source.statement(value), self.source.owners_of(value)
            here = self.source.inside(value) and (not names or operation in names)
            return owner.operands if here and owner is not None else ()

        own = [o for s in self.slots.statements(operation) for o in s.operands]
        made = (self.source.statement(value) for value in reached(own, read))
        return any(is_selection(statement) for statement in made if statement is not None)

    def _selected(self, value: SSAValue, text: Text) -> Text:
        """Return an operand of a selection; one that is an accumulator with zero added to it.

        ptxas moves bare selections to before the wait for the product, and then serializes all
        products (C7514).
        """
        made = [self.operations[name] for name in self.source.owners_of(value)]
        product = any(o.kind == "mma" and self.slots.in_registers(o.name) for o in made)
        return joined(text, "+", Text("0.0")) if product else text

    def _counter(self, at: Iteration) -> Text:
        lower, step = (self.outside.value(v) for v in (self.source.lower, self.source.step))
        if not at.base and step.text.isdigit():
            product = Text(str(at.offset * int(step.text)))
        else:
            product = counted(at) if step.text == "1" else joined(counted(at), "*", step)
        if lower.text == "0":
            return product
        return lower if product.text == "0" else joined(lower, "+", product)

    def _carried(self, value: SSAValue, at: Iteration) -> Text:
        following = self.source.graph.carried[value]
        if not self.source.inside(following) or following is value:
            return self._flag(value, following, at)
        owner = self.source.statement(following)
        if owner is not None and name_of(owner) in ("arith.addi", "tt.addptr"):
            base, more = owner.operands
            if base is value and not self.source.inside(more):
                start = self.outside.value(self.source.graph.initial[value])
                if not at.base and not at.offset:
                    return start
                step = self.gluon.plain(owner, [Text(""), self.outside.value(more)])[1]
                return joined(start, "+", joined(counted(at), "*", step))
        return self._value(following, at.minus(1))

    def _flag(self, value: SSAValue, following: SSAValue, at: Iteration) -> Text:
        """Return a value that is one thing in the first iteration and another one after it."""
        initial = self.source.graph.initial[value]
        if following is value or (not at.base and not at.offset):
            return self.outside.value(initial)
        begun, then = self.outside.value(initial), self.outside.value(following)
        if not at.base or begun.text == then.text:
            return then
        if (begun.text, then.text) == ("False", "True"):
            return Text(f"{number(at)} > 0", LOOSE)
        raise RefusedError("what only the first iteration finds is no flag; it has no template")

    def _read_of(self, owners: list[str], value: SSAValue, at: Iteration) -> Text:
        """Return where the current operation finds what another one made."""
        operation = self.where.operation
        assert operation is not None
        distance = self.where.iteration.offset - at.offset
        for d in self.reads(operation):
            register = self.slots.in_registers(d.producer)
            if d.producer in owners and d.distance == distance and register:
                text = self.places.read(d).text(at, self.where.round)
                if "[" in text:
                    raise RefusedError(f"{d.producer}: a ring of registers has no template")
                return Text(self.names(text))
        hint = self.source.hint(value) or owners[0]
        raise RefusedError(f"{operation.name} reads {hint}, which the loop does not tell it")

    def factor(self, value: SSAValue) -> str:
        """Return a factor of a product: a tile in registers, or a buffer, perhaps reshaped."""
        if self.source.type_of(value).kind == "tensor":
            return self.value(value).text
        statement = self.source.statement(value)
        if statement is not None and name_of(statement) == "ttg.memdesc_trans":
            order = tuple(integers(statement, "order") or (1, 0))
            return f"{self.factor(statement.operands[0])}.permute({order})"
        if statement is not None and name_of(statement) == "ttg.memdesc_reshape":
            shape = self.source.type_of(value).shape
            return f"{self.factor(statement.operands[0])}.reshape({shape})"
        if not self.source.inside(value):
            return self.memories.before.fixed(root_of(value, VIEWS))
        return self._buffer(value)

    def _buffer(self, value: SSAValue) -> str:
        """Return the slot of a buffer that another operation fills."""
        operation = self.where.operation
        assert operation is not None
        owners = self.source.owners_of(value)
        for d in self.reads(operation):
            if d.producer in owners:
                at = self.where.iteration.minus(d.distance)
                if d.producer in self.slots.tensors:
                    return self.slots.tensor(d.producer, at)
                held = self.slots.held.get(d.producer)
                if held is not None:
                    return self.slots.slot(held, at)
        raise RefusedError(f"{operation.name} reads a buffer that has no template for kernels")


def counted(at: Iteration) -> Text:
    """Return an iteration as an operand."""
    return Text(number(at), PLUS if at.offset and at.base else CLOSED)
