"""Kernels in Triton's IR, before layouts, with tiles split into parts that share what is streamed.

Triton gives the parts their layouts, as if the kernel was written so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    Builtin,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnregisteredOp,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from twill.base.errors import InputError, RefusedError, short
from twill.frontends.triton_dump.dimensions import (
    DESCRIBED,
    LOADS,
    SHAPE,
    WRITES,
    Classes,
    Dimension,
    described,
    shape,
    unshare,
)
from twill.frontends.triton_dump.listing import Listing, annotated
from twill.frontends.ttgir.reader import integer, name_of, parse_module, string

FACTORS = (2, 4)
NAME, PLACE = "sched.name", "sched.location"
# xdsl takes the bits of a float for an integer, so that numbers stay as they are written.
_NUMBER = re.compile(r'("arith\.constant"\(\) <\{value = )(.*?)(\}>)')
_QUOTED = re.compile(r'("arith\.constant"\(\) <\{value = )"(.*?)"(\}>)')
_ARGUMENT = re.compile(r'loc\("([^"]+)"\(')
_PLACE = re.compile(r"(.*):(\d+):(\d+)")
STRUCTURAL = ("builtin.", "scf.", "cf.", "tt.func", "tt.return")  # how names of statements begin


@dataclass(frozen=True)
class Split:
    """Parts of a kernel's tiles.

    `factor`: how many.
    `along`: a product and a dimension of its result, such as ``s:0``; the first possible without
    it.
    """

    factor: int
    along: str | None = None


def split_of(text: str) -> Split:
    """Return what ``2`` or ``2:s:0`` means.

    Raises
    ------
    InputError
        If the factor is none that divides tiles.
    """
    factor, _, along = text.partition(":")
    if factor not in map(str, FACTORS):
        known = " or ".join(map(str, FACTORS))
        raise InputError(f"{known} parts, as in 2 or 2:s:0 (got {short(text)})", path="--subtiles")
    return Split(int(factor), along or None)


def possible_splits(text: str, factor: int, least: int) -> list[Split]:
    """Return the ways to split a kernel into so many parts, those that split fewest loads first.

    `least`: rows that a product has to keep.
    """
    return [Split(factor, along) for along in Classes(_module(text)).possible(factor, least)[0]]


def with_parts(text: str, how: Split) -> str:
    """Return a kernel in Triton's IR, in generic form with locations, with its tiles split.

    Raises
    ------
    RefusedError
        If the elements along the dimension depend on each other.
    """
    module = _module(text)
    found, reasons = Classes(module).possible(how.factor)
    members = next(iter(found.values()), None) if how.along is None else found.get(how.along)
    if members is None:
        why = "; ".join(reasons) or "there is no product in a loop"
        can = f"; possible is {' or '.join(found)}" if found else ""
        wanted = "no dimension" if how.along is None else short(how.along)
        raise RefusedError(f"{wanted} can be split into {how.factor} parts: {why}{can}")
    names = _ARGUMENT.findall(next(line for line in text.splitlines() if "^bb0(" in line))
    module.attributes.clear()
    (made,) = _Parts(members, how.factor, names).operation(module)
    out = StringIO()
    _Located(out, print_generic_format=True).print_op(made)
    return _QUOTED.sub(r"\1\2\3", out.getvalue())


def _module(text: str) -> Operation:
    listing = Listing(text)
    found = _NUMBER.sub(r'\1"\2"\3', annotated(listing, listing)[0])
    module = parse_module(found, "", "a kernel in Triton's IR")
    if sum(name_of(one) == "tt.func" for one in module.walk()) > 1:
        raise RefusedError("functions that are called have no parts")
    unshare(module)
    return module


class _Located(Printer):
    """Writes the names and places of values as locations."""

    def print_op(self, op: Operation) -> None:
        name, place = (op.attributes.pop(key, None) for key in (NAME, PLACE))
        super().print_op(op)
        at = _PLACE.fullmatch(place.data) if isinstance(place, StringAttr) else None
        where = "unknown" if at is None else f'"{at[1]}":{at[2]}:{at[3]}'
        if name_of(op) == "scf.for":  # its counter has the name
            name = None
        self.print_string(
            f' loc("{name.data}"({where}))' if isinstance(name, StringAttr) else f" loc({where})"
        )

    def print_block_argument(self, arg: BlockArgument, *given: Any, **named: Any) -> None:
        super().print_block_argument(arg, *given, **named)
        if arg.name_hint:
            self.print_string(f' loc("{arg.name_hint}")')


class _Parts:
    """Rewrites operations; a value that is split has several in its place."""

    def __init__(self, members: frozenset[Dimension], factor: int, names: Sequence[str]) -> None:
        self.axes, self.factor, self.names = dict(members), factor, names
        self._values: dict[SSAValue, list[SSAValue]] = {}
        self._blocks: dict[Block, Block] = {}
        self._context = Context(allow_unregistered=True)
        self._context.load_dialect(Builtin)

    def operation(self, old: Operation) -> list[Operation]:
        """Return what becomes of an operation."""
        if name_of(old).startswith(STRUCTURAL):
            return [self._structural(old)]
        if not self._touched(old):
            return [self._made(old, 0)]
        if name_of(old) == "tt.dot" and old.results[0] not in self.axes:
            return self._chained(old)
        return [one for copy in range(self.factor) for one in self._copy(old, copy)]

    def _touched(self, old: Operation) -> bool:
        return any(value in self.axes for value in (*old.operands, *old.results))

    def _types(self, value: SSAValue) -> list[Attribute]:
        """Return the types of the values in the place of one."""
        axis = self.axes.get(value)
        if axis is None:
            return [value.type]
        text, found = str(value.type), SHAPE.match(str(value.type))
        assert found is not None
        extents = [n // self.factor if a == axis else n for a, n in enumerate(shape(value))]
        part = f"{text[: found.start(1)]}{'x'.join(map(str, extents))}x{text[found.end(1) :]}"
        return [Parser(self._context, part).parse_type()] * (1 if described(value) else self.factor)

    def _part(self, value: SSAValue, copy: int) -> SSAValue:
        found = self._values[value]
        return found[copy] if len(found) > 1 else found[0]

    # -- blocks ---------------------------------------------------------------------------------

    def _structural(self, old: Operation) -> Operation:
        """Return a statement with all parts of its operands, results and blocks."""
        operands = list(chain.from_iterable(self._values[value] for value in old.operands))
        self._blocks |= {block: Block() for region in old.regions for block in region.blocks}
        regions = [Region([self._block(one) for one in region.blocks]) for region in old.regions]
        types = [self._types(result) for result in old.results]
        properties = dict(old.properties)
        if name_of(old) == "tt.func":
            inputs = [argument.type for argument in regions[0].blocks[0].args]
            properties["function_type"] = FunctionType.from_lists(inputs, [])
            for argument, name in zip(regions[0].blocks[0].args, self.names, strict=True):
                argument.name_hint = name
        made = type(old).create(
            operands=operands,
            result_types=list(chain.from_iterable(types)),
            properties=properties,
            attributes=dict(old.attributes),
            successors=[self._blocks[block] for block in old.successors],
            regions=regions,
        )
        results = iter(made.results)
        for result, own in zip(old.results, types, strict=True):
            self._values[result] = [next(results) for _ in own]
        return made

    def _block(self, old: Block) -> Block:
        types = [self._types(argument) for argument in old.args]
        block = self._blocks[old]
        arguments = iter([block.insert_arg(one, len(block.args)) for own in types for one in own])
        for argument, own in zip(old.args, types, strict=True):
            found = [next(arguments) for _ in own]
            self._values[argument] = list(found)
            for copy, part in enumerate(found):
                part.name_hint = _numbered(argument.name_hint, copy if len(found) > 1 else None)
        for run in chain.from_iterable(map(_products_first, self._runs(old))):
            copied = len(run) > 1
            for copy in range(self.factor if copied else 1):
                for one in run:
                    block.add_ops(self._copy(one, copy) if copied else self.operation(one))
        return block

    def _runs(self, block: Block) -> Iterator[list[Operation]]:
        """Yield runs of statements that are copied part by part; any other statement alone."""
        run: list[Operation] = []
        for one in block.ops:
            copied = self._touched(one) and not name_of(one).startswith(STRUCTURAL)
            copied &= name_of(one) != "tt.dot" or one.results[0] in self.axes
            reads = {value.owner for value in one.operands}
            if run and ((not copied and (reads & {*run} or one.regions)) or _ordered(run, one)):
                yield run
                run = []
            if copied:
                run.append(one)
            elif one is block.last_op:
                yield from filter(None, (run, [one]))
                return
            else:
                yield [one]
        yield from filter(None, (run,))

    # -- statements -----------------------------------------------------------------------------

    def _copy(self, old: Operation, copy: int) -> list[Operation]:
        """Return the statements of one part."""
        name = name_of(old)
        if name == "tt.make_range":
            size = shape(old.results[0])[0] // self.factor
            begin = (integer(old, "start") or 0) + copy * size
            made = self._made(old, copy)
            made.properties |= {"start": _i32(begin), "end": _i32(begin + size)}
            return [made]
        first, axis = DESCRIBED.get(name), self.axes.get(old.operands[0]) if old.operands else None
        if first is None or axis is None or not copy:
            return [self._made(old, copy)]
        tile = old.operands[0]
        offset = _constant(copy * shape(tile)[axis] // self.factor)
        index = self._part(old.operands[first + axis], copy)
        moved = UnregisteredOp.with_name("arith.addi").create(
            operands=[index, offset.results[0]], result_types=[i32]
        )
        made = self._made(old, copy)
        made.operands[first + axis] = moved.results[0]
        return [offset, moved, made]

    def _chained(self, old: Operation) -> list[Operation]:
        """Return a product for each part of the depth, each adding to the one before."""
        found: list[Operation] = []
        for copy in range(self.factor):
            found.append(self._made(old, copy))
            if copy:
                found[-1].operands[2] = found[-2].results[0]
        self._values[old.results[0]] = [found[-1].results[0]]
        return found

    def _made(self, old: Operation, copy: int) -> Operation:
        """Return a statement of one part, or the only one."""
        types = [self._types(result) for result in old.results]
        made = type(old).create(
            operands=[self._part(value, copy) for value in old.operands],
            result_types=[own[0] for own in types],
            properties=dict(old.properties),
            attributes=dict(old.attributes),
            regions=[region.clone() for region in old.regions],
        )
        touched = self._touched(old)
        name = string(old, NAME)
        if name and touched:
            made.attributes[NAME] = StringAttr(str(_numbered(name, copy)))
        value = string(old, "value")
        if value and touched:
            head, _, _ = value.rpartition(" : ")
            made.properties["value"] = StringAttr(f"{head} : {types[0][0]}")
        for result, new in zip(old.results, made.results, strict=True):
            new.name_hint = result.name_hint
            parts = self._values.setdefault(result, []) if result in self.axes else []
            self._values[result] = [*parts[:copy], new]
        return made


def _numbered(name: str | None, copy: int | None) -> str | None:
    if not name or copy is None:
        return name
    return f"{name}{'_' * name[-1].isdigit()}{copy}"


def _products_first(run: list[Operation]) -> list[list[Operation]]:
    """Return a run as what is copied together: products first that wait for nothing in it."""
    waiting = {*run}
    first = [
        [one]
        for one in run
        if name_of(one) == "tt.dot" and waiting.isdisjoint(value.owner for value in one.operands)
    ]
    rest = [one for one in run if [one] not in first]
    return [*first, rest] if rest else first


def _ordered(run: list[Operation], one: Operation) -> bool:
    """Whether an access has to stay behind one of a run."""
    name, others = name_of(one), {name_of(other) for other in run}
    return bool(
        (name in WRITES and others & {*WRITES, *LOADS}) or (name in LOADS and others & {*WRITES})
    )


def _i32(number: int) -> Attribute:
    return IntegerAttr(number, i32)


def _constant(number: int) -> Operation:
    properties = {"value": StringAttr(f"{number} : i32")}
    made = UnregisteredOp.with_name("arith.constant")
    return made.create(result_types=[i32], properties=properties)
