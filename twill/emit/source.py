"""The kernel that a loop is part of, as values and the operations of the loop that compute them."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.ir import Operation as Statement

from twill.artifacts.loop import Loop
from twill.base.errors import RefusedError
from twill.base.graphs import reached
from twill.emit.names import RESERVED, Names
from twill.frontends.ttgir.graph import BodyGraph
from twill.frontends.ttgir.joining import read_loop
from twill.frontends.ttgir.kinds import is_selection
from twill.frontends.ttgir.reader import attribute, integer, name_of, string
from twill.frontends.ttgir.rewriting import LEAVES, MARKS
from twill.frontends.types import ELEMENTS, Type

__all__ = ["Block", "BlockArgument", "Parameter", "SSAValue", "Source", "Statement", "constant"]

# Floats that MLIR writes as their bits, which are infinite or no numbers, and how to unpack them.
BITS = {"f16": ("H", "e", 0x7C00), "f32": ("I", "f", 0x7F800000)}
DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)(\w+)")


@dataclass(frozen=True)
class Parameter:
    """An argument of the kernel: a descriptor of tiles of a shape, a pointer, or a number."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    pointer: bool = False

    @property
    def is_memory(self) -> bool:
        """Whether it stands for a tensor in global memory."""
        return bool(self.shape) or self.pointer


def tile_of_descriptor(text: str) -> tuple[tuple[int, ...], str] | None:
    """Return shape and elements of a descriptor's tiles, None if the type is of something else."""
    tile = DESCRIPTOR.match(text)
    if tile is None:
        return None
    return tuple(int(extent) for extent in tile[1].split("x")[:-1]), element_of(tile[2])


def element_of(text: str) -> str:
    """Return the element type of a descriptor, whose integers have a sign: ``si8``, ``ui8``."""
    return ELEMENTS.get(text, text.removeprefix("s"))


class Source:
    """The kernel around a loop.

    `as_written`: whether loops that are joined are still two.

    Raises
    ------
    RefusedError
        If the loop does not know its kernel.
    """

    def __init__(self, loop: Loop, *, as_written: bool = False) -> None:
        if loop.source is None:
            raise RefusedError(
                f"{loop.name}: only loops that are read from TTGIR know the kernel around them, "
                "until they are cut or resized (loop dump --subtiles splits the kernel itself)"
            )
        given = loop.source.model_copy(update={"joined": None}) if as_written else loop.source
        said = given.model_dump_json().encode()
        self.identity = hashlib.blake2b(said, digest_size=16).hexdigest()
        self.dump, self.loop = read_loop(given)
        self.parts = [self.loop]  # the loops as they are written
        if as_written and loop.source.joined:
            self.parts.append(self.dump.loops()[loop.source.loop + 1])
        self.graph = BodyGraph(self.loop)
        self.owners: dict[int, list[str]] = {}
        for name, positions in loop.source.statements.items():
            for position in positions:
                self.owners.setdefault(position, []).append(name)
        block = self.loop.regions[0].blocks[0]
        self.counter = block.args[0]
        self.lower, self.upper, self.step = list(self.loop.operands)[:3]
        self.blocks = list(reversed(list(_around(self.loop))))
        self.apart: dict[str, str] = {}  # arguments that are called as something emitted
        names = Names({self.argument(a).partition(".")[0] for a in self.blocks[0].args})
        self.apart |= {name: names(name) for name in names.taken & RESERVED}
        if len(self.function.regions[0].blocks) > 1:
            raise RefusedError(
                f"{self.dump.kernel}: a return before the end, after statements of its own, has no "
                "template for kernels"
            )

    @cached_property
    def function(self) -> Statement:
        """The kernel's function."""
        owner = self.blocks[0].parent_op()
        assert owner is not None
        return owner

    @property
    def outer(self) -> Statement | None:
        """The loop over output tiles of a persistent kernel."""
        if len(self.blocks) > 2:
            raise RefusedError(f"{self.dump.kernel}: the loop is inside more than one other")
        return self.blocks[1].parent_op() if len(self.blocks) == 2 else None

    def parameters(self) -> list[Parameter]:
        """Return the kernel's arguments as its source has them."""
        found = []
        for argument in self.blocks[0].args:
            name, text = self.argument(argument), str(argument.type)
            if (tile := tile_of_descriptor(text)) is not None:
                found.append(Parameter(name, tile[1], tile[0]))
            elif text.startswith("!tt.ptr<"):
                element = element_of(text.removeprefix("!tt.ptr<")[:-1])
                found.append(Parameter(name, element, pointer=True))
            elif "." not in name:
                found.append(Parameter(name, self.dump.type_of(argument).dtype))
        return found

    def argument(self, value: SSAValue) -> str:
        """Return the name of an argument of the kernel, or of a loop."""
        name = self.dump.arguments.get(value) or value.name_hint or ""
        first, dot, rest = name.partition(".")
        apart = self.apart if value.owner is self.blocks[0] else {}
        return apart.get(first, first) + dot + rest

    def type_of(self, value: SSAValue) -> Type:
        """Return the type of a value."""
        return self.dump.type_of(value)

    def layout_text(self, value: SSAValue) -> str:
        """Return the type of a value with its layout written out."""
        return self.dump.expanded(str(value.type))

    def statement(self, value: SSAValue) -> Statement | None:
        """Return the statement that makes a value, None for an argument."""
        return value.owner if isinstance(value.owner, Statement) else None

    def inside(self, value: SSAValue) -> bool:
        """Return whether a value is made, or carried, by the loop's body."""
        block = self.loop.regions[0].blocks[0]
        if isinstance(value, BlockArgument):
            return value.block is block
        return self.graph.node_of(value) is not None

    def owners_of(self, value: SSAValue) -> list[str]:
        """Return the loop's operations that compute a value of the body."""
        node = self.graph.node_of(value)
        return [] if node is None else self.owners.get(node, [])

    def after(self) -> list[Statement]:
        """Return the statements that follow the loop, within the loop over output tiles if any."""
        statements = list(self.blocks[-1].ops)
        return statements[statements.index(self.loop) + 1 :]

    def before(self) -> list[Statement]:
        """Return the statements before the loop, those of the function first."""
        found: list[Statement] = []
        for block, inner in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            end = self.loop if inner is None else inner.parent_op()
            for statement in block.ops:
                if statement is end:
                    break
                if name_of(statement) not in MARKS:
                    found.append(statement)
        return found

    def yielded(self, result: SSAValue) -> SSAValue:
        """Return the value of the last iteration that is a result of the loop."""
        return list(self.graph.carried.values())[self.position(result)]

    def start(self, result: SSAValue) -> SSAValue:
        """Return what a result of the loop is if the loop has no iteration."""
        return list(self.graph.initial.values())[self.position(result)]

    def position(self, result: SSAValue) -> int:
        """Return the position of a result of the loop."""
        return list(self.loop.results).index(result)  # type: ignore[arg-type]

    def is_zero(self, value: SSAValue) -> bool:
        """Return whether a value is a constant, or a tile, of zeros."""
        made = self.statement(value)
        if made is None or name_of(made) != "arith.constant":
            return False
        return constant(made, self.type_of(value).dtype) == 0

    def origins(self, values: Iterable[SSAValue]) -> set[str]:
        """Return the arguments, and ``program_id`` of an axis, that values are computed from."""
        found: set[str] = set()

        def following(value: SSAValue) -> Iterable[SSAValue]:
            owner = self.statement(value)
            if owner is not None and name_of(owner) != "tt.get_program_id":
                return owner.operands
            axis = integer(owner, "axis") or 0 if owner is not None else None
            found.add(self.argument(value) if axis is None else f"program_id {axis}")
            return ()

        reached(values, following)
        return found

    @cached_property
    def trips(self) -> int | None:
        """The number of iterations, if it is the same for all programs and arguments."""
        step, span = _number(self, self.step), _number(self, self.upper)
        lower, above = _number(self, self.lower), self.statement(self.upper)
        if span is not None and lower is not None:
            span -= lower
        elif above is not None and name_of(above) == "arith.addi":
            span = sum(_number(self, o) or 0 for o in above.operands if o is not self.lower)
            span = span if self.lower in above.operands else 0
        return -(-span // step) if span and step else None

    @cached_property
    def varies(self) -> bool:
        """Whether programs, or output tiles, differ in their iterations, so that some have none."""
        tile = self.outer.regions[0].blocks[0].args if self.outer else ()
        of_tile = {self.argument(value) for value in tile}
        bounds = self.origins([self.lower, self.upper])
        differing = (name in of_tile or name.startswith("program_id") for name in bounds)
        return self.trips is None and any(differing)

    def hint(self, value: SSAValue) -> str | None:
        """Return what a value is called in the user's kernel."""
        owner = self.statement(value)
        name = string(owner, "sched.name") if owner is not None else None
        return name or value.name_hint


def _around(statement: Statement) -> Iterator[Block]:
    """Yield the blocks around a statement from the inside out, up to the function's."""
    while statement.parent is not None and name_of(statement) != "tt.func":
        yield statement.parent
        parent = statement.parent_op()
        if parent is None or name_of(parent) == "tt.func":
            return
        statement = parent


def marks(source: Source) -> list[Statement]:
    """Return the marks at which some programs leave, in order."""
    return [s for s in source.blocks[0].ops if name_of(s) in MARKS]


def leaving(mark: Statement, condition: str) -> str:
    """Return the condition under which a program leaves at a mark."""
    return condition if name_of(mark) == LEAVES else f"not ({condition})"


def seam_of(source: Source) -> SSAValue | None:
    """Return the counter from which on iterations are the second loop's, if it has its own work."""
    selection = next(filter(is_selection, source.graph.operations), None)
    past = None if selection is None else source.statement(selection.operands[0])
    return None if past is None else past.operands[1]


def tile_of(source: Source, statement: Statement) -> SSAValue:
    """Return the first tile in registers that a statement reads."""
    return next(o for o in statement.operands if source.type_of(o).kind == "tensor")


def loops(statements: list[Statement]) -> list[Statement]:
    """Return the loops among statements."""
    return [s for s in statements if name_of(s) == "scf.for"]


def constant(statement: Statement, dtype: str) -> int | float | bool:
    """Return the number that an `arith.constant` is, of a tile the one that fills it.

    Raises
    ------
    RefusedError
        If it is a tile of different numbers.
    """
    found = attribute(statement, "value")
    if isinstance(found, DenseIntOrFPElementsAttr):
        values = set(found.get_values())
        if len(values) != 1:
            raise RefusedError("a constant tile of different numbers has no template")
        number = values.pop()
    else:
        number = found.value.data
    if dtype == "i1":
        return bool(number)
    if dtype in BITS and number > 0 and number == int(number):
        whole, real, exponent = BITS[dtype]
        if int(number) & exponent == exponent and int(number) < 4 * exponent:
            return float(struct.unpack(real, struct.pack(whole, int(number)))[0])
    return number if isinstance(number, int) else float(number)


def _number(source: Source, value: SSAValue) -> int | None:
    made = source.statement(value)
    if made is None or name_of(made) != "arith.constant":
        return None
    return int(constant(made, source.type_of(value).dtype))
