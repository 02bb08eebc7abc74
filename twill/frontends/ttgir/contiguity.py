"""Contiguity and alignment of addresses, from the index arithmetic of a dump.

These are the rules of Triton's axis analysis (`lib/Analysis/AxisInfo.cpp`), of which what its
loads and their masks are made of is stated here; of anything else nothing is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Block, Operation, SSAValue

from twill.artifacts.loop import ELEMENT_BITS
from twill.frontends.ttgir.reader import Dump, attribute, integer, integers, name_of
from twill.frontends.types import ELEMENTS, elements_per_thread, vector_of

ALWAYS = 1 << 30  # a power of two that divides nothing but zero
WIDEST, SECTOR = 16, 32
"""Bytes that a thread accesses at once at most, and of a sector: less is worth saying."""
# Predicates of `arith.cmpi` (slt, sge, ult, uge and sle, sgt, ule, ugt) whose outcome changes only
# where the first, or the second, of the two reaches a multiple of what divides both.
FIRST_REACHES, SECOND_REACHES = (2, 5, 6, 9), (3, 4, 7, 8)
_POINTEE = re.compile(r"!tt\.ptr<(\w+)")
Counts = tuple[int, ...]


@dataclass(frozen=True)
class Fact:
    """Facts about integers or addresses along each dimension; a scalar has one.

    So many in a row count up by one (`contiguity`) or are the same (`constancy`); `divisibility`
    divides the first of those that count up, in bytes where they are addresses.
    """

    contiguity: Counts
    divisibility: Counts
    constancy: Counts
    constant: int | None = None

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return len(self.contiguity)

    def joined(self, other: Fact) -> Fact:
        """Return what is known of a value that is either of two."""
        same = self.constant if self.constant == other.constant else None
        return Fact(
            _each(math.gcd, self.contiguity, other.contiguity),
            _each(math.gcd, self.divisibility, other.divisibility),
            _each(math.gcd, self.constancy, other.constancy),
            same,
        )


def _each(function: Callable[..., int], *counts: Counts) -> Counts:
    return tuple(map(function, *counts))


def _unknown(rank: int) -> Fact:
    ones = (1,) * max(rank, 1)
    return Fact(ones, ones, ones)


def _power(number: int) -> int:
    """Return the largest power of two that divides a number."""
    return number & -number or ALWAYS


# -- arithmetic -----------------------------------------------------------------------------------


def _sum(a: Fact, b: Fact, size: int = 1) -> Fact:
    both = None not in (a.constant, b.constant)
    return Fact(
        _each(
            lambda ac, bc, ak, bk: max(math.gcd(ak, bc), math.gcd(ac, bk)),
            *(a.contiguity, b.contiguity, a.constancy, b.constancy),
        ),
        _each(lambda x, y: math.gcd(x, y * size), a.divisibility, b.divisibility),
        _each(math.gcd, a.constancy, b.constancy),
        (a.constant or 0) + (b.constant or 0) if both else None,
    )


def _difference(a: Fact, b: Fact) -> Fact:
    found = replace(_sum(a, b), contiguity=_each(math.gcd, a.contiguity, b.constancy))
    both = a.constant is not None and b.constant is not None
    return replace(found, constant=(a.constant or 0) - (b.constant or 0) if both else None)


def _product(a: Fact, b: Fact) -> Fact:
    if 1 in (a.constant, b.constant):
        return a if b.constant == 1 else b
    both = None not in (a.constant, b.constant)
    # What counts up is a multiple of nothing, whatever its first number is.
    first, second = (
        _each(lambda c, d: 1 if c > 1 else d, x.contiguity, x.divisibility) for x in (a, b)
    )
    return Fact(
        (1,) * a.rank,
        _each(lambda x, y: min(x * y, ALWAYS), first, second),
        _each(math.gcd, a.constancy, b.constancy),
        (a.constant or 0) * (b.constant or 0) if both else None,
    )


def _blocks(a: Fact, b: Fact) -> Counts:
    """Return how many in a row lie between two multiples of a constant."""
    return _each(
        lambda contiguity, d, e: math.gcd(contiguity, math.gcd(d, e)),
        *(a.contiguity, a.divisibility, b.divisibility),
    )


def _quotient(a: Fact, b: Fact) -> Fact:
    if b.constant == 1:
        return a
    same = _each(math.gcd, a.constancy, b.constancy)
    return replace(_unknown(a.rank), constancy=_each(max, same, _blocks(a, b)))


def _remainder(a: Fact, b: Fact) -> Fact:
    return Fact(
        _blocks(a, b),
        _each(math.gcd, a.divisibility, b.divisibility),
        _each(math.gcd, a.constancy, b.constancy),
    )


def _compared(a: Fact, b: Fact, predicate: int | None = None) -> Fact:
    same = _each(math.gcd, a.constancy, b.constancy)
    if predicate in FIRST_REACHES:
        same = _each(max, same, _each(math.gcd, _blocks(a, b), b.constancy))
    elif predicate in SECOND_REACHES:
        same = _each(max, same, _each(math.gcd, _blocks(b, a), a.constancy))
    return replace(_unknown(a.rank), constancy=same)


ARITHMETIC: dict[str, Callable[[Fact, Fact], Fact]] = {
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _product,
    **dict.fromkeys(("arith.divsi", "arith.divui"), _quotient),
    **dict.fromkeys(("arith.remsi", "arith.remui"), _remainder),
    **dict.fromkeys(("arith.andi", "arith.ori"), _compared),
}
RENAMED = ("arith.extsi", "arith.extui", "arith.trunci", "ttg.convert_layout", "tt.bitcast")


# -- shapes ---------------------------------------------------------------------------------------


def _expanded(a: Fact, axis: int) -> Fact:
    own = math.gcd(*_each(lambda c, d: 1 if c > 1 else d, a.contiguity, a.divisibility))
    contiguity, divisibility, constancy = (
        (*counts[:axis], new, *counts[axis:])
        for counts, new in ((a.contiguity, 1), (a.divisibility, own), (a.constancy, 1))
    )
    return Fact(contiguity, divisibility, constancy, a.constant)


def _broadcast(a: Fact, before: Counts, shape: Counts) -> Fact:
    stretched = _each(lambda old, new: old != new, before, shape)
    return Fact(
        _each(lambda s, c: 1 if s else c, stretched, a.contiguity),
        a.divisibility,
        _each(lambda s, c, n: n if s else c, stretched, a.constancy, shape),
        a.constant,
    )


def _splat(a: Fact, shape: Counts) -> Fact:
    return Fact((1,) * len(shape), a.divisibility * len(shape), shape, a.constant)


class Contiguity:
    """Widths of a dump's accesses, from its index arithmetic."""

    def __init__(self, dump: Dump) -> None:
        self._dump, self._gone_through = dump, False
        self._facts: dict[SSAValue, Fact] = {}

    def accesses(self, operation: Operation) -> dict[str, int]:
        """Return how a load or a store through pointers falls short of 16 bytes a thread at once.

        ``access_bytes`` are what a thread accesses at once where it has more, ``contiguous_bytes``
        what lies side by side where that is less than a sector of 32. Of an unknown stride no two
        elements do. Layouts that are not for loads (those of products, which
        hold what is the same for many threads) are taken to hold what lies side by side.
        """
        pointer, kind = operation.operands[0], self._dump.type_of(operation.operands[0])
        size, fact = self._pointee(pointer), self._of(pointer)
        if not kind.shape or size is None:
            return {}
        run = size * max(*fact.contiguity, *fact.constancy)
        found = {"contiguous_bytes": run} if run < SECTOR else {}
        if (told := vector_of(kind.layout)) is None or kind.layout is None:
            return found
        dimension, vector = told
        aligned = max(fact.divisibility[dimension] // size, 1)
        vector = min(vector, aligned, fact.contiguity[dimension])
        for mask in _masks(operation):
            vector = min(vector, self._of(mask).constancy[dimension])
        held = elements_per_thread(kind.layout, kind.shape) or 1
        return found | (
            {"access_bytes": vector * size} if vector * size < min(WIDEST, held * size) else {}
        )

    def divisor(self, value: SSAValue) -> int:
        """Return a number, as large as is known, that divides an integer."""
        return self._of(value).divisibility[0]

    def _of(self, value: SSAValue) -> Fact:
        if not self._gone_through:
            self._gone_through = True
            for block in self._dump.blocks():
                self._block(block)
        return self._facts.get(value) or _unknown(len(self._dump.type_of(value).shape))

    def _pointee(self, value: SSAValue) -> int | None:
        """Return the bytes of what pointers point to."""
        match = _POINTEE.search(str(value.type))
        bits = ELEMENT_BITS.get(ELEMENTS.get(match[1], match[1])) if match else None
        return None if bits is None else max(bits // 8, 1)

    # -- one pass over a dump ---------------------------------------------------------------------

    def _function(self, operation: Operation) -> None:
        """Record the attributes of a kernel's arguments."""
        given = operation.properties.get("arg_attrs")
        entries = given.data if isinstance(given, ArrayAttr) else ()
        for value, entry in zip(operation.regions[0].blocks[0].args, entries, strict=False):
            by = entry.data.get("tt.divisibility") if isinstance(entry, DictionaryAttr) else None
            if isinstance(by, IntegerAttr):
                self._facts[value] = Fact((1,), (by.value.data,), (1,))

    def _block(self, block: Block) -> None:
        for operation in block.ops:
            if name_of(operation) == "scf.for":
                self._loop(operation)
                continue
            if name_of(operation) == "tt.func":
                self._function(operation)
            for inner in (inner for region in operation.regions for inner in region.blocks):
                self._block(inner)
            if len(operation.results) == 1 and (fact := self._computed(operation)) is not None:
                self._facts[operation.results[0]] = fact

    def _loop(self, operation: Operation) -> None:
        """Go through a loop until what is known of its arguments holds in every iteration."""
        begin, _, step, *initial = operation.operands
        block = operation.regions[0].blocks[0]
        counter, *carried = block.args
        divisor = math.gcd(*(self._of(value).divisibility[0] for value in (begin, step)))
        self._facts[counter] = Fact((1,), (divisor,), (1,))
        known = [self._of(value) for value in initial]
        while True:
            self._facts.update(zip(carried, known, strict=True))
            self._block(block)
            following = [self._of(value) for value in list(block.ops)[-1].operands]
            joined = [a.joined(b) for a, b in zip(known, following, strict=True)]
            if joined == known:
                break
            known = joined
        self._facts.update(zip(operation.results, known, strict=True))

    def _computed(self, operation: Operation) -> Fact | None:
        """Return what is known of an operation's result, None if that is nothing."""
        name, shape = name_of(operation), self._dump.type_of(operation.results[0]).shape
        facts = [self._of(value) for value in operation.operands]
        match name:
            case "arith.constant":
                found = _constant(attribute(operation, "value"), shape)
            case "tt.make_range":
                first, end = (integer(operation, key) or 0 for key in ("start", "end"))
                found = Fact((end - first,), (_power(first),), (1,))
            case "tt.splat":
                found = _splat(facts[0], shape)
            case "tt.expand_dims":
                found = _expanded(facts[0], integer(operation, "axis") or 0)
            case "tt.broadcast":
                before = self._dump.type_of(operation.operands[0]).shape
                found = _broadcast(facts[0], before, shape)
            case "tt.addptr":
                found = _sum(facts[0], facts[1], self._pointee(operation.results[0]) or 1)
            case "arith.cmpi":
                found = _compared(facts[0], facts[1], integer(operation, "predicate"))
            case _ if name in ARITHMETIC:
                found = ARITHMETIC[name](*facts)
            case _ if name in RENAMED:
                found = facts[0]
            case _:
                found = None
        return _told(operation, found, max(len(shape), 1))


def _constant(value: object, shape: Counts) -> Fact | None:
    """Return what is known of a number, or of a tile of the same one."""
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        kind = value.get_element_type()
        if not isinstance(kind, IntegerType):
            return None
        first = value.data.data[: kind.compile_time_size]  # of many elements, all alike
        number = int(kind.unpack(first, 1)[0])
    elif isinstance(value, IntegerAttr):
        number = int(value.value.data)
    else:
        return None
    return _splat(Fact((1,), (_power(number),), (1,), number), shape or (1,))


def _told(operation: Operation, found: Fact | None, rank: int) -> Fact | None:
    """Return what is known with what the kernel says itself (`tl.multiple_of` and its kind)."""
    told: dict[str, Any] = {}
    for key in ("contiguity", "divisibility", "constancy"):
        counts = operation.attributes.get(f"tt.{key}")
        if isinstance(counts, DenseIntOrFPElementsAttr):
            numbers = tuple(int(number) for number in counts.get_values())
            told[key] = numbers * (rank if len(numbers) == 1 else 1)
    return replace(found or _unknown(rank), **told) if told else found


def _masks(operation: Operation) -> Sequence[SSAValue]:
    """Return what says which elements of a tile a load or a store accesses."""
    if name_of(operation) == "tt.store":
        return operation.operands[2:3]
    given = integers(operation, "operandSegmentSizes") or [1, len(operation.operands) - 1]
    return operation.operands[1 : 1 + given[1]]
