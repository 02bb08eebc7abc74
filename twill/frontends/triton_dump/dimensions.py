"""Dimensions of the tiles of a kernel in Triton's IR that can only be split together, or not."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from twill.frontends.ttgir.kinds import DESCRIPTOR
from twill.frontends.ttgir.reader import integer, integers, name_of, string

Dimension = tuple[SSAValue, int]
SHAPE = re.compile(r"(?:!tt\.tensordesc<)?(?:tensor<)?((?:\d+x)+)")
# Values of any extent, of which every reader may have one of its own.
FREE = ("arith.constant", "tt.splat", "tt.make_range")
DESCRIBED = {"tt.descriptor_load": 1, "tt.descriptor_store": 2, "tt.descriptor_reduce": 2}
"""Accesses by descriptor, and which operand is the first index."""
WRITES = (
    "tt.store",
    "tt.descriptor_store",
    "tt.descriptor_reduce",
    "tt.atomic_rmw",
    "tt.atomic_cas",
)
LOADS = ("tt.load", "tt.descriptor_load")
# Each element of the result comes from, or goes to, the same place of the operands.
ALIKE = frozenset(
    {
        *("tt.addptr", "tt.bitcast", "tt.clampf", "tt.extern_elementwise", "tt.fp_to_fp"),
        *("tt.int_to_ptr", "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int"),
        *("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"),
    }
)
UNRELATED = (*FREE, "scf.yield", DESCRIPTOR, "tt.func", "builtin.module")


def shape(value: SSAValue) -> tuple[int, ...]:
    """Return the extents of a tile or of a descriptor's block, of a number none."""
    found = SHAPE.match(str(value.type))
    return () if found is None else tuple(map(int, found[1][:-1].split("x")))


def described(value: SSAValue) -> bool:
    """Return whether a value is a descriptor."""
    return str(value.type).startswith("!tt.tensordesc<")


def accessed(operation: Operation) -> SSAValue:
    """Return the tile of an access by descriptor."""
    return operation.results[0] if operation.results else operation.operands[1]


class Classes:
    """Classes of dimensions of a function's tiles, and why some of them cannot be split."""

    def __init__(self, function: Operation) -> None:
        self.function = function
        self._members: dict[Dimension, set[Dimension]] = {}
        self._couplings: dict[Dimension, str] = {}
        for operation in function.walk():
            self._relate(operation)

    def possible(
        self, factor: int, least: int = 1
    ) -> tuple[dict[str, frozenset[Dimension]], list[str]]:
        """Return the classes with rows of a product in a loop that can be split, by name.

        A name is ``product:dimension`` of the first such product. Classes that split fewer loads of
        a loop come first. The second list has the reasons for those that cannot be split.

        `least`: rows that a product has to keep.
        """
        found: dict[str, frozenset[Dimension]] = {}
        reasons = []
        for product in (o for o in self.function.walk() if name_of(o) == "tt.dot" and in_loop(o)):
            made, axis = product.results[0], len(shape(product.results[0])) - 2
            members = frozenset(self._class((made, axis)))
            if members in found.values():
                continue
            name = f"{string(product, 'sched.name') or 'product'}:{axis}"
            reason = self._obstacle(members, factor)
            rows = shape(made)[axis] // factor
            if reason is None and rows < least:
                reason = f"{rows} rows are fewer than {least}"
            if reason is None:
                found.setdefault(name, members)
            else:
                reasons.append(f"{name} ({reason})")
        return dict(sorted(found.items(), key=lambda entry: _split_loads(entry[1]))), reasons

    def _obstacle(self, members: frozenset[Dimension], factor: int) -> str | None:
        """Return why a class cannot be split into so many parts, None if it can."""
        coupled = (reason for one, reason in self._couplings.items() if one in members)
        reason = next(coupled, None)
        if reason is not None:
            return reason
        if max(Counter(value for value, _ in members).values()) > 1:
            return "a tile has it along two dimensions"
        extents = {shape(value)[axis] for value, axis in members}
        uneven = next((n for n in sorted(extents) if n % factor), None)
        return None if uneven is None else f"{uneven} elements are not {factor} equal parts"

    # -- relations ------------------------------------------------------------------------------

    def _class(self, one: Dimension) -> set[Dimension]:
        return self._members.setdefault(one, {one})

    def _tie(self, one: Dimension, other: Dimension, operation: Operation) -> None:
        """Put two dimensions into one class; those of different extents cannot be split."""
        if shape(one[0])[one[1]] != shape(other[0])[other[1]]:
            self._couple((one, other), operation, "changes the extent of")
            return
        fewer, more = sorted((self._class(one), self._class(other)), key=len)
        if fewer is not more:
            more |= fewer
            self._members.update(dict.fromkeys(fewer, more))

    def _tie_all(self, values: Iterable[SSAValue], operation: Operation) -> None:
        tiles = [value for value in values if shape(value)]
        for first, other in itertools.pairwise(tiles):
            if len(shape(first)) != len(shape(other)):
                self._couple_all(operation)
                return
            for axis in range(len(shape(first))):
                self._tie((first, axis), (other, axis), operation)

    def _couple(self, found: Iterable[Dimension], operation: Operation, how: str) -> None:
        place = string(operation, "sched.location")
        reason = f"{name_of(operation)}{f' at {place}' if place else ''} {how} it"
        self._couplings |= dict.fromkeys(found, reason)

    def _couple_all(self, operation: Operation) -> None:
        blocks = [block for region in operation.regions for block in region.blocks]
        inside = [argument for block in blocks for argument in block.args]
        every = (*operation.operands, *operation.results, *inside)
        found = [(value, axis) for value in every for axis in range(len(shape(value)))]
        self._couple(found, operation, "may mix elements of")

    def _relate(self, operation: Operation) -> None:
        """Relate the dimensions of what an operation reads and makes."""
        name = name_of(operation)
        relate = getattr(self, f"_relate_{name.partition('.')[2]}", None)
        values = (*operation.operands, *operation.results)
        if any("tensor<" in str(value.type) and not shape(value) for value in values):
            self._couple_all(operation)  # a pointer to a tile
        elif relate is not None:
            relate(operation)
        elif name in DESCRIBED:
            self._tie_all((operation.operands[0], accessed(operation)), operation)
        elif name in ALIKE or (name.startswith(("arith.", "math.")) and name not in FREE):
            self._tie_all((*operation.operands, *operation.results), operation)
        elif name not in UNRELATED:
            self._couple_all(operation)

    def _relate_expand_dims(self, operation: Operation) -> None:
        (before,), (after,) = operation.operands, operation.results
        new = integer(operation, "axis") or 0
        for axis in range(len(shape(before))):
            self._tie((before, axis), (after, axis + (axis >= new)), operation)

    def _relate_broadcast(self, operation: Operation) -> None:
        (before,), (after,) = operation.operands, operation.results
        for axis, extent in enumerate(shape(before)):
            if extent == shape(after)[axis]:
                self._tie((before, axis), (after, axis), operation)

    def _relate_trans(self, operation: Operation) -> None:
        (before,), (after,) = operation.operands, operation.results
        for axis, old in enumerate(integers(operation, "order") or ()):
            self._tie((before, old), (after, axis), operation)

    def _relate_dot(self, operation: Operation) -> None:
        a, b, c = operation.operands
        made = operation.results[0]
        *batch, rows, columns = range(len(shape(made)))
        self._tie_all((c, made), operation)
        for axis in batch:
            self._tie((a, axis), (made, axis), operation)
            self._tie((b, axis), (made, axis), operation)
        self._tie((a, rows), (made, rows), operation)
        self._tie((b, columns), (made, columns), operation)
        self._tie((a, columns), (b, rows), operation)

    def _relate_reduce(self, operation: Operation) -> None:
        axis = integer(operation, "axis") or 0
        self._tie_all(operation.operands, operation)
        self._tie_all(operation.results, operation)
        before, after = operation.operands[0], operation.results[0]
        self._couple([(before, axis)], operation, "reduces along")
        for place in range(len(shape(after))):
            self._tie((before, place + (place >= axis)), (after, place), operation)

    def _relate_scan(self, operation: Operation) -> None:
        self._tie_all((*operation.operands, *operation.results), operation)
        along = integer(operation, "axis") or 0
        self._couple([(operation.operands[0], along)], operation, "scans along")

    def _relate_for(self, operation: Operation) -> None:
        block = operation.regions[0].blocks[0]
        last = block.last_op
        assert last is not None
        for every in zip(
            list(operation.operands)[3:], list(block.args)[1:], operation.results, last.operands,
            strict=True,
        ):  # fmt: skip
            self._tie_all(every, operation)

    def _relate_if(self, operation: Operation) -> None:
        ends = [region.blocks[0].last_op for region in operation.regions if region.blocks]
        for made, *found in zip(
            operation.results, *(end.operands for end in ends if end is not None), strict=True
        ):
            self._tie_all((made, *found), operation)


def in_loop(operation: Operation) -> bool:
    """Return whether an operation is inside a loop."""
    parent = operation.parent_op()
    return parent is not None and (name_of(parent) == "scf.for" or in_loop(parent))


def _split_loads(members: frozenset[Dimension]) -> int:
    owners = {value.owner for value, _ in members}
    operations = (owner for owner in owners if isinstance(owner, Operation))
    return sum(name_of(one) in LOADS and in_loop(one) for one in operations)


def unshare(function: Operation) -> None:
    """Give each reader of a free value one of its own: equal ones need not be split together."""
    for operation in list(function.walk()):
        if name_of(operation) in FREE and shape(operation.results[0]):
            for use in list(operation.results[0].uses)[1:]:
                own = operation.clone()
                own.results[0].name_hint = operation.results[0].name_hint
                block = operation.parent
                assert block is not None
                block.insert_ops_before([own], operation)
                use.operation.operands[use.index] = own.results[0]
