"""The integers of a kernel, evaluated for one program: bounds, masks, coordinates, addresses.

Values that depend on data are unknown, here None. Integers in memory are read from tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from twill.emit.expressions.language import BINARY, CASTS, COMPARE_INTEGERS, LARGER, SMALLER
from twill.emit.source import Block, BlockArgument, Source, SSAValue, Statement, constant
from twill.frontends.ttgir.kinds import DESCRIPTOR, DESCRIPTOR_STORES
from twill.frontends.ttgir.reader import integer, integers, name_of
from twill.frontends.ttgir.rewriting import LEAVES, MARKS

Table = Callable[[Any], Any]
Outcome = tuple[Statement, str]
SAMPLED = 8  # of a range only the multiples of this, and the last, if all statements are looked at
MOST_TRIPS = 200  # of a loop: more are no small test

ALIGNED = 16  # elements of which strides of a descriptor are a multiple, of one byte or more
KEPT = ("tt.splat", "tt.broadcast", "ttg.convert_layout")
LOADS = ("tt.load", "tt.descriptor_load")
STORES = (*DESCRIPTOR_STORES, "tt.store")  # atomic updates of two programs may meet


class UnfitError(Exception):
    """Arguments that are of no use: a division by zero, a loop without end, a negative place."""


class Pointer(NamedTuple):
    """An address: a pointer of the kernel's arguments, and elements behind it."""

    argument: str
    offset: Any


class Described(NamedTuple):
    """A tensor behind an address, of which a descriptor is made."""

    begin: Pointer
    shape: Sequence[Any]
    strides: Sequence[Any]

    def places(self, at: Sequence[Any], box: Sequence[int]) -> Any:
        """Return the elements of a box that lie inside of it."""
        places = np.asarray(self.begin.offset)
        for first, extent, size, stride in zip(at, box, self.shape, self.strides, strict=True):
            index = first + np.arange(extent)
            places = places[..., None] + index[(index >= 0) & (index < size)] * stride
        return places


def _quotient(x: Any, y: Any) -> Any:
    return np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))


BY_SIGN: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": _quotient,
    "%": np.fmod,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _function(statement: Statement) -> Callable[..., Any] | None:
    """Return the function that a statement computes of its operands, None if it is unknown."""
    name, axis = name_of(statement), integer(statement, "axis") or 0
    if name in BINARY:
        return BY_SIGN[BINARY[name]]
    if name == "arith.cmpi":
        return BY_SIGN[COMPARE_INTEGERS[integer(statement, "predicate") or 0]]
    found: dict[str, Callable[..., Any]] = {
        **dict.fromkeys(LARGER, np.maximum),
        **dict.fromkeys(SMALLER, np.minimum),
        **dict.fromkeys((*KEPT, *CASTS), lambda x: x),
        "arith.select": np.where,
        "tt.expand_dims": lambda x: np.expand_dims(x, axis) if np.ndim(x) else x,
        "tt.trans": lambda x: np.transpose(x, integers(statement, "order")),
        "math.log2": np.log2,
        "math.log": np.log,
    }
    return found.get(name)


def _constant(source: Source, statement: Statement) -> Any:
    number = constant(statement, source.type_of(statement.results[0]).dtype)
    return np.float64(number) if isinstance(number, float) else np.int64(number)


def _range(statement: Statement) -> Any:
    return np.arange(integer(statement, "start") or 0, integer(statement, "end") or 0)


class Integers:
    """Integers and addresses of a kernel, looked up once."""

    def __init__(self, source: Source) -> None:
        self.source = source
        walked = list(source.function.walk())
        self.statements = frozenset(
            s
            for s in walked
            if name_of(s) in ("scf.for", *LOADS, *STORES, *MARKS)
            or (len(s.results) == 1 and is_counted(source, s.results[0]))
        )
        self.fixed = {
            s: _constant(source, s) if name_of(s) == "arith.constant" else _range(s)
            for s in walked
            if name_of(s) in ("arith.constant", "tt.make_range")
        }
        self._does = {s: _function(s) for s in walked if s.operands}
        self.by_arguments = {
            s
            for s in walked
            if name_of(s) in ("arith.divsi", "arith.remsi") and source.origins([s.operands[1]])
        }
        self._shapes: dict[SSAValue, tuple[int, ...]] = {}

    def computed(self, statement: Statement, operands: list[Any]) -> Any:
        """Return what a statement without effects computes, None if that is unknown."""
        if statement in self.fixed:
            return self.fixed[statement]
        if not operands or any(o is None for o in operands):
            return None
        function = self._does[statement]
        if function is None or not isinstance(operands[0], Pointer):
            return None if function is None else function(*operands)
        argument, offset = operands[0]
        return Pointer(argument, function(offset, *operands[1:]))

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """Return the extents of a tile."""
        if value not in self._shapes:
            self._shapes[value] = tuple(self.source.type_of(value).shape)
        return self._shapes[value]


@dataclass
class Trial:
    """A program of a grid.

    Attributes
    ----------
    numbers, tables
        The kernel's integers, and the contents of integer memory, by argument.
    needed : set
        The only statements to look at.
    sampled : bool
        Whether only a part of each range is evaluated.
    trips : list
        Iterations of the scheduled loop, each time that it is reached.
    outcomes : set
        Possible outcomes that occurred: both of a comparison, either side of a maximum, ...
    reach : dict
        Elements of each memory, by dimension.
    written : dict
        The places written, by output.
    """

    integers: Integers
    numbers: Mapping[str, int]
    tables: Mapping[str, Table]
    program: tuple[int, ...]
    grid: tuple[int, ...]
    needed: frozenset[Statement]
    sampled: bool = False
    trips: list[int] = field(default_factory=list)
    outcomes: set[Outcome] = field(default_factory=set)
    reach: dict[str, list[int]] = field(default_factory=dict)
    written: dict[str, list[Any]] = field(default_factory=dict)
    known: dict[SSAValue, Any] = field(default_factory=dict)

    def run(self) -> Trial:
        """Evaluate the kernel.

        Raises
        ------
        UnfitError
            If it cannot be executed so.
        """
        for value in self.integers.source.blocks[0].args:
            name = self._name(value)
            number = self.numbers.get(name)
            # What is no number is only looked at where it is a pointer.
            self.known[value] = Pointer(name, np.int64(0)) if number is None else np.int64(number)
        try:
            with np.errstate(divide="raise", over="ignore"):
                self._block(self.integers.source.blocks[0])
        except (FloatingPointError, ZeroDivisionError) as error:
            raise UnfitError from error
        return self

    def _block(self, block: Block) -> None:
        for statement in block.ops:
            if statement not in self.needed:
                continue
            name = name_of(statement)
            operands = [self.known.get(value) for value in statement.operands]
            if name == "scf.for":
                self._loop(statement, operands)
            elif name in STORES:
                self._stored(statement, operands)
            elif name in MARKS:
                if operands[0] is None:
                    raise UnfitError
                if bool(operands[0]) == (name == LEAVES):
                    return
            else:
                self.known[statement.results[0]] = self._value(statement, operands)

    def _value(self, statement: Statement, operands: list[Any]) -> Any:
        name, fixed = name_of(statement), self.integers.fixed.get(statement)
        if name in LOADS:
            return self._loaded(statement, operands)
        if fixed is not None:
            part = self.sampled and np.ndim(fixed)
            return fixed[(fixed % SAMPLED == 0) | (fixed == fixed[-1])] if part else fixed
        if name in ("tt.get_program_id", "tt.get_num_programs"):
            of = self.program if name == "tt.get_program_id" else self.grid
            result = np.int64(of[integer(statement, "axis") or 0])
        elif name == DESCRIPTOR:
            return self._described(operands)
        else:
            result = self.integers.computed(statement, operands)
        if result is not None:
            happened = seen(statement, operands, result)
            self.outcomes |= {(statement, one) for one in happened}
        return result

    def _loop(self, loop: Statement, operands: list[Any]) -> None:
        lower, upper, step, *carried = operands
        block = loop.regions[0].blocks[0]
        if lower is None or upper is None or step is None:
            raise UnfitError
        rounds = range(int(lower), int(upper), int(step))
        if len(rounds) > MOST_TRIPS:
            raise UnfitError
        if loop is self.integers.source.loop:
            self.trips.append(len(rounds))
        self.outcomes.add((loop, ("none", "one", "more")[min(len(rounds), 2)]))
        for counter in rounds if self._is_of_use(block) else ():
            self.known.update(zip(block.args, [np.int64(counter), *carried], strict=True))
            self._block(block)
            *_, terminator = block.ops
            carried = [self.known.get(value) for value in terminator.operands]
        self.known.update(zip(loop.results, carried, strict=True))

    def _is_of_use(self, block: Block) -> bool:
        return any(statement in self.needed for statement in block.ops)

    def _loaded(self, statement: Statement, operands: list[Any]) -> Any:
        if name_of(statement) == "tt.descriptor_load":
            self._note(statement.operands[0], operands[1:], statement.results[0])
            return None
        pointer = operands[0]
        if pointer is None:
            return None
        self._touched(pointer, operands[1] if len(operands) > 1 else None)
        table = self.tables.get(pointer.argument)
        return None if table is None else table(np.maximum(pointer.offset, 0))

    def _described(self, operands: list[Any]) -> Described | None:
        if any(one is None for one in operands):
            return None
        begin, *numbers = operands
        shape, strides = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        if any(stride % ALIGNED for stride in (begin.offset, *strides[:-1])):
            raise UnfitError
        return Described(begin, shape, strides)

    def _stored(self, statement: Statement, operands: list[Any]) -> None:
        if name_of(statement) != "tt.store":
            descriptor, value, *_ = statement.operands
            self._note(descriptor, operands[2:], value)
            if name_of(statement) == "tt.descriptor_store" and None not in operands[2:]:
                at = operands[2:]
                shape, made = self._block_of(value, len(at)), self.known.get(descriptor)
                if isinstance(made, Described):
                    places = made.places(at, shape)
                    self.written.setdefault(made.begin.argument, []).append(places)
                elif isinstance(descriptor, BlockArgument):
                    ends = [(int(b), int(b) + e) for b, e in zip(at, shape, strict=True)]
                    self.written.setdefault(self._name(descriptor), []).append(ends)
        elif (pointer := operands[0]) is not None:
            places = self._touched(pointer, operands[2] if len(operands) > 2 else None)
            self.written.setdefault(pointer.argument, []).append(places)

    def _touched(self, pointer: Pointer, mask: Any) -> Any:
        """Note how far an access reaches; return the places that its mask lets through."""
        places, top = pointer.offset, int(np.max(pointer.offset)) + 1
        if mask is not None:
            places, mask = np.broadcast_arrays(places, mask)
            places = places[mask.astype(bool)]
        self._far(pointer.argument, [top], np.min(places, initial=0))
        return places

    def _name(self, value: SSAValue) -> str:
        return self.integers.source.argument(value)

    def _note(self, descriptor: SSAValue, at: list[Any], tile: SSAValue) -> None:
        made = self.known.get(descriptor)
        if made is None or any(one is None for one in at):
            return
        shape = self._block_of(tile, len(at))
        if isinstance(made, Described):
            places = made.places(at, shape)
            far, least = np.max(places, initial=0), np.min(places, initial=0)
            self._far(made.begin.argument, [int(far) + 1], least)
            return
        ends = [int(b) + e for b, e in zip(at, shape, strict=True)]
        self._far(self._name(descriptor), ends, min(at))

    def _block_of(self, tile: SSAValue, rank: int) -> tuple[int, ...]:
        """Return the block that a tile is of, whose first axes of one element a tile leaves out."""
        shape = tuple(self.integers.shape(tile))
        return (1,) * (rank - len(shape)) + shape

    def _far(self, name: str, ends: list[int], least: Any) -> None:
        if least < 0:
            raise UnfitError
        self.reach[name] = [max(p) for p in zip(self.reach.get(name, ends), ends, strict=True)]


def seen(statement: Statement, operands: list[Any], result: Any) -> list[str]:
    """Return the outcomes that occurred in a statement, of those that arguments decide."""
    name = name_of(statement)
    if name == "tt.get_program_id":
        return ["later" if result else "first"]
    if name in ("arith.andi", "arith.ori") and np.asarray(result).dtype == bool:
        a, b = np.broadcast_arrays(*(np.asarray(o, bool) for o in operands))
        pairs = (a & b, a & ~b, ~a & b, ~a & ~b)
        unlike = ("only the first true", "only the second true")
        words = ("both true", *unlike, "neither true")
        return [word for word, pair in zip(words, pairs, strict=True) if pair.any()]
    if name == "arith.cmpi":
        return ["true"] * bool(np.any(result)) + ["false"] * (not np.all(result))
    if name in LARGER or name in SMALLER:
        first, second = operands
        return ["first"] * bool(np.any(first < second)) + ["second"] * bool(np.any(first > second))
    if name in ("arith.divsi", "arith.remsi"):
        rest, whole = operands[0] % operands[1] != 0, np.abs(operands[0]) >= operands[1]
        kinds = {"rest": rest, "whole": whole, "multiple": whole & ~rest}
        return [kind for kind, happens in kinds.items() if np.any(happens)]
    return []


def is_counted(source: Source, value: SSAValue) -> bool:
    """Return whether a value is an integer, an address, a descriptor, or a tile of them."""
    if any(kind in str(value.type) for kind in ("!tt.ptr", "!tt.tensordesc")):
        return True
    kind = source.type_of(value)
    return kind.kind in ("tensor", "scalar") and not kind.dtype.startswith(("f", "bf"))


def conflict(runs: Sequence[Trial]) -> bool:
    """Return whether two programs write the same place."""
    for name in {name for run in runs for name in run.written}:
        written = [run.written.get(name, []) for run in runs]
        if any(isinstance(place, list) for places in written for place in places):
            ends = np.array([place for places in written for place in places])
            owner = np.repeat(range(len(runs)), [len(places) for places in written])
            before, after = ends[..., 0], ends[..., 1]
            meet = (before[:, None] < after[None]) & (before[None] < after[:, None])
            if (meet.all(axis=2) & (owner[:, None] != owner[None])).any():
                return True
        else:
            owned = [np.unique(np.concatenate([p.ravel() for p in one])) for one in written if one]
            if len(np.unique(np.concatenate(owned))) < sum(map(len, owned)):
                return True
    return False
