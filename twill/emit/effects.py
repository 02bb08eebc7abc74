"""What follows the loop, in one partition: what it reads of the loop, and how tiles are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.base.errors import RefusedError
from twill.emit.dress import PLUS, Text, accesses
from twill.emit.dress.atomics import updated
from twill.emit.names import INDENT, STORES
from twill.emit.outside import Outside
from twill.emit.roles import Role
from twill.emit.source import SSAValue, Statement
from twill.emit.written import Written
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.types import Layout

if TYPE_CHECKING:
    from twill.emit.after import Epilogue

DONE_AFTER = "after_done"  # barrier for transfers and products that are waited for at once


class Effects(Written):
    """The statements after the loop, in one partition."""

    def __init__(self, epilogue: Epilogue, role: Role | None, outside: Outside) -> None:
        super().__init__(epilogue.memories, epilogue.gluon, outside, epilogue.room)
        self.epilogue, self.role = epilogue, role
        self.barrier = f"{DONE_AFTER}.index(0)"
        self.own = epilogue.own
        self.columns: int | None = None
        self.templates |= {"tt.store": self._stored_at, "tt.atomic_rmw": self._updated}
        self.templates |= dict.fromkeys(STORES, self._transfer)

    def receive(self, value: SSAValue) -> None:
        """Add the lines by which a value of another group comes here."""
        name = self.epilogue.moved_name(value)
        variable = name.removesuffix("_smem")
        self.known[value] = Text(variable)
        self.lines += [
            f"mbarrier.wait({name.replace('_smem', '_full')}.index(0), 0)",
            f"{variable} = {name}.load({self.gluon.layout(value)})",
        ]

    def _stored_at(self, statement: Statement) -> None:
        operands = [self.value(o) for o in statement.operands]
        self.lines.append(accesses.stored(statement, operands))

    def _updated(self, statement: Statement) -> None:
        operands = [self.value(o) for o in statement.operands]
        self.lines.append(updated(self.source, statement, operands))

    def _transfer(self, statement: Statement) -> None:
        descriptor, value, *at = statement.operands
        parts, buffer = self.epilogue.parts, self.epilogue.buffer(statement)
        call = "async_atomic_add" if name_of(statement) == "tt.descriptor_reduce" else "async_store"
        coordinates = [self.value(o).text for o in at]
        before, self.lines, known = self.lines, [], dict(self.known)
        if parts > 1:
            self.columns = self.source.type_of(value).shape[-1] // parts
            coordinates[-1] = f"{coordinates[-1]} + begin".removeprefix("0 + ")
        text, to = self.stored(value), self.memories.argument(descriptor)
        stored = [
            *self.lines,
            f"{buffer}.store({text.text})",
            "fence_async_shared()",
            f"tma.{call}({to}, [{', '.join(coordinates)}], {buffer})",
            "tma.store_wait(pendings=0)",
        ]
        width, self.columns = self.columns, None
        if width is not None:
            whole = self.source.type_of(value).shape[-1]
            loop = f"for begin in gl.static_range(0, {whole}, {width}):"
            stored = [loop, *(INDENT + line for line in stored)]
            self.known = known
        self.lines = [*before, *stored]

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
            assert self.role is not None
            return self.role.final(value)
        if owner is None or owner not in self.own:
            return self.outside.value(value)
        match name_of(owner):
            case "ttng.tmem_load":
                found = self._tensor(owner)
            case "tt.load":
                self.run([owner])
                found = self.known[value]
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
        """Return a column or a row beside some columns of a tile, in the layout of that tile."""
        operand = self.source.statement(statement.operands[0])
        if operand is not None and operand in self.own and name_of(operand) == "tt.expand_dims":
            return self._beside(operand, statement)
        return self.value(statement.operands[0])

    def _is_expanded(self, conversion: Statement) -> bool:
        """Whether a layout is changed of a column or a row, beside some columns of a tile."""
        owner = self.source.statement(conversion.operands[0])
        expanded = owner is not None and name_of(owner) == "tt.expand_dims"
        return expanded and self.columns is not None

    def _beside(self, expansion: Statement, seen: Statement) -> Text:
        """Return a column of numbers, or a part of a row, beside some columns of a tile.

        `seen`: whose layout it is to have.
        """
        if integer(expansion, "axis") != 1:
            layout = f"gl.SliceLayout(0, {self._chunk(seen)})"
            return Text(f"{self._row(expansion.operands[0], layout)}[None, :]")
        layout = f"gl.SliceLayout(1, {self._chunk(seen)})"
        operand = self.value(expansion.operands[0])
        return Text(f"gl.convert_layout({operand.text}, {layout})[:, None]")

    def _row(self, value: SSAValue, layout: str) -> Text:
        """Return the part of a row that is beside some columns, computed for these alone."""
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
            return self.assigned(value, accesses.loaded(owner, operands))
        return self.gluon.expression(owner, operands)

    def _tensor(self, load: Statement) -> Text:
        if self.columns is None:
            self.run([load])
            return self.known[load.results[0]]
        owner, value = self.buffer(root_of(load.operands[0], VIEWS)), load.results[0]
        variable = self.memories.local(self.memories.names(self.source.hint(value) or owner), value)
        cut = f"{owner}.slice(begin, {self.columns}).load({self._chunk(load)})"
        if f"{variable} = {cut}" not in self.lines:
            self.lines.append(f"{variable} = {cut}")
        return Text(variable)

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
