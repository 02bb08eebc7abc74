"""Values after the loop, or those of some of a tile's columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from twill.base.errors import RefusedError
from twill.emit import statements
from twill.emit.epilogue.buffers import EpilogueBuffers
from twill.emit.epilogue.plans import Moved
from twill.emit.expressions.texts import PLUS, Text
from twill.emit.outside import Outside
from twill.emit.partitions.partition import Partition
from twill.emit.source import SSAValue, Statement
from twill.emit.tree import Node
from twill.emit.unpipelined import DirectValues
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.types import Layout


class PartValues(DirectValues):
    """Values after the loop; `columns` are those of a part, if tiles are stored in parts."""

    def __init__(
        self, buffers: EpilogueBuffers, partition: Partition | None, outside: Outside
    ) -> None:
        super().__init__(outside, buffers.free, buffers.plans.own)
        self.partition = partition
        self.columns: int | None = None

    def receive(self, value: SSAValue, moved: Moved) -> None:
        """Add the statements by which a value of another group comes here."""
        self.known[value] = Text(moved.variable, is_variable=True)
        self.body.add(
            statements.wait(moved.full.slot(), "0"),
            statements.read(moved.variable, moved.buffer, self.gluon.layout(value)),
        )

    @contextmanager
    def in_parts(self, columns: int | None) -> Iterator[list[Node]]:
        """Open a block whose values are parts of tiles, `columns` wide, or whole tiles."""
        self.columns, known = columns, dict(self.known)
        with self.body.nested() as nodes:
            yield nodes
        if columns is not None:
            self.known = known
        self.columns = None

    def stored(self, value: SSAValue) -> Text:
        """Return a tile to be stored, in whatever layout it is."""
        owner = self.source.statement(value)
        if owner is not None and name_of(owner) == "ttg.convert_layout":
            return self.stored(owner.operands[0])
        return self.value(value)

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value after the loop, or of some columns of it."""
        if value in self.known:
            return self.known[value]
        owner = self.source.statement(value)
        if owner is self.source.loop:
            assert self.partition is not None
            return self.partition.final(value)
        if owner is None or owner not in self.own:
            return self.outside.value(value)
        match name_of(owner):
            case "ttng.tmem_load":
                found = self._tensor(owner)
            case "tt.load":
                found = self.loaded(owner)
            case "tt.expand_dims" if self.columns is not None:
                found = self._beside(owner, owner)
            case "tt.broadcast" if self.columns is not None:
                found = self._broadcast(owner)
            case "ttg.convert_layout" if self._is_expanded(owner):
                expansion = self.source.statement(owner.operands[0])
                assert expansion is not None
                found = self._beside(expansion, owner)
            case _:
                found = super().value(value)
        return found

    def _broadcast(self, statement: Statement) -> Text:
        """Return a column or a row, broadcast to some columns of a tile, in that tile's layout."""
        operand = self.source.statement(statement.operands[0])
        if operand is not None and operand in self.own and name_of(operand) == "tt.expand_dims":
            return self._beside(operand, statement)
        return self.value(statement.operands[0])

    def _is_expanded(self, conversion: Statement) -> bool:
        """Whether a conversion changes the layout of a column or a row, for a part of a tile."""
        owner = self.source.statement(conversion.operands[0])
        expanded = owner is not None and name_of(owner) == "tt.expand_dims"
        return expanded and self.columns is not None

    def _beside(self, expansion: Statement, seen: Statement) -> Text:
        """Return a column of numbers, or a part of a row, to combine with columns of a tile.

        `seen`: the statement whose layout it is to have.
        """
        if integer(expansion, "axis") != 1:
            layout = f"gl.SliceLayout(0, {self._chunk(seen)})"
            return Text(f"{self._row(expansion.operands[0], layout)}[None, :]")
        layout = f"gl.SliceLayout(1, {self._chunk(seen)})"
        operand = self.value(expansion.operands[0])
        return Text(f"gl.convert_layout({operand.text}, {layout})[:, None]")

    def _row(self, value: SSAValue, layout: str) -> Text:
        """Return the part of a row that belongs to some columns, computed for these alone."""
        owner = self.source.statement(value)
        if owner is None or not self.source.type_of(value).shape:
            return self.value(value)
        match name_of(owner):
            case "tt.make_range":
                begin, width = integer(owner, "start") or 0, self.columns or 0
                return Text(f"begin + gl.arange({begin}, {begin + width}, {layout})", PLUS)
            case "ttg.convert_layout":
                return self._row(owner.operands[0], layout)
            case "arith.constant":
                return self.value(value)
            case "scf.for":
                raise RefusedError(
                    "a row that a loop leaves has no template beside parts of a tile"
                )
        operands = [self._row(o, layout) for o in owner.operands]
        if name_of(owner) == "tt.load":
            return self.assigned(value, statements.loaded(owner, operands))
        return self.gluon.expression(owner, operands)

    def _tensor(self, load: Statement) -> Text:
        if self.columns is None:
            return self.read(load)
        owner, value = self.buffer(root_of(load.operands[0], VIEWS)), load.results[0]
        variable = self.memories.before.local(
            self.memories.slots.names(self.source.hint(value) or owner), value
        )
        part = f"{owner}.slice(begin, {self.columns})"
        cut = statements.read(variable, part, self._chunk(load))
        if cut not in self.body.nodes:
            self.body.add(cut)
        return Text(variable, is_variable=True)

    def _chunk(self, statement: Statement) -> str:
        value = statement.results[0]
        layout = self.source.type_of(value).layout
        assert layout is not None
        assert self.columns is not None
        if layout.name != "linear":
            raise RefusedError(
                f"{self.source.hint(value) or 'a tile'} has no template in parts of its columns, "
                "and memory has no room for all of them; narrower tiles have it"
            )
        bases = [b for b in layout.parameters["register"] if b[1] < self.columns]
        return self.gluon.layouts.of_tile(
            Layout("linear", {**layout.parameters, "register": bases})
        )
