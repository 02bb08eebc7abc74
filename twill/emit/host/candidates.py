"""Candidate values of a kernel's integers: sizes from its constants, tables by their uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from twill.base.graphs import reached
from twill.emit.host.trial import LOADS, STORES, is_counted
from twill.emit.source import Source, SSAValue, Statement, constant, marks
from twill.frontends.ttgir.reader import integer, name_of

SCATTERED = 5  # tiles that indices name, in another order than their own
ROWS = 251  # rows that indices name; no multiple of it is a place in a table of whole tiles
UNIT = 16  # of numbers that bound tiles: what is copied in parts of 16 bytes needs it


@dataclass(frozen=True)
class Size:
    """``each`` for every ``of`` iterations, and ``more``.

    ``later`` is added but for one iteration, ``even`` for even numbers of them.
    """

    each: int = 0
    of: int = 1
    more: int = 0
    least: int | None = None
    most: int | None = None
    later: int = 0
    even: int = 0

    def __call__(self, iterations: int) -> int:
        """Return the number for a count of iterations."""
        number = self.each * -(-iterations // self.of) + self.more
        number += self.later * (iterations > 1) + self.even * (iterations % 2 == 0)
        number = number if self.least is None else max(number, self.least)
        return number if self.most is None else min(number, self.most)

    @property
    def text(self) -> str:
        """The number as Python computes it from `iterations`."""
        if not self.each:
            return str(self.more)
        rounds = "iterations" if self.of == 1 else f"-(-iterations // {self.of})"
        text = rounds if self.each == 1 else f"{self.each} * {rounds}"
        if self.more:
            text += f" {'+' if self.more > 0 else '-'} {abs(self.more)}"
        for number, when in ((self.later, "> 1"), (self.even, "% 2 == 0")):
            if number:
                text += f" + {f'{number} * ' * (number != 1)}(iterations {when})"
        if self.least is not None:
            text = f"max({text}, {self.least})"
        return text if self.most is None else f"min({text}, {self.most})"

    @property
    def aligned(self) -> bool:
        """Whether it is always a multiple of 16."""
        parts = (self.each, self.more, self.later, self.even, self.least or 0, self.most or 0)
        return not any(part % UNIT for part in parts)


@dataclass(frozen=True)
class Entries:
    """Integers in memory, by their place: scattered indices, lengths, or where parts begin.

    Attributes
    ----------
    kind : str
        ``tiles``, ``rows``, ``spread`` below a size, ``lengths`` of a size and fewer, ``begins`` of
        parts of a size.
    size : Size
        Of the last three.
    fewer : int
        By how much lengths at odd places are shorter.
    """

    kind: str
    size: Size = Size()
    fewer: int = 0

    def __call__(self, place: Any, iterations: int) -> Any:
        """Return the entries at places."""
        size = self.size(iterations)
        return {
            "tiles": lambda: (2 * place + 1) % SCATTERED,
            "rows": lambda: 37 * place % ROWS,
            "spread": lambda: 37 * place % max(size, 1),
            "lengths": lambda: size - place % 2 * self.fewer,
            "begins": lambda: place * size,
        }[self.kind]()

    @property
    def text(self) -> str:
        """The same as Python computes it from `place` and `iterations`."""
        size = self.size.text
        return {
            "tiles": f"(2 * place + 1) % {SCATTERED}",
            "rows": f"37 * place % {ROWS}",
            "spread": f"37 * place % ({size})",
            "lengths": f"{size} - place % 2 * {self.fewer}"
            if self.fewer
            else f"place * 0 + {size}",
            "begins": f"place * ({size})",
        }[self.kind]


Value = Size | Entries
USUAL = Size(more=512)  # of what bounds no loop: several tiles of every packaged loop
ROOMY = Size(256, more=256)  # the same where the grid grows with the iterations
FEW: list[Value] = [Size(more=2), Size(more=3)]  # of what another number is divided by
MULTIPLIES = ("arith.muli", "arith.shli")


class Candidates:
    """Candidate values of each integer, table and axis of the grid, the likeliest first."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements = list(source.function.walk())
        bounds = source.origins([source.lower, source.upper, source.step])
        self.bounds: dict[str, list[Value]] = {}
        self.others: dict[str, list[Value]] = {}
        # Programs first where they are free: those that meet are wrong whatever the rest is.
        axes = [f"program_id {axis}" for axis in range(grid_axes(source))]
        inside = {axis: axis in bounds and source.trips is None for axis in axes}
        for axis in axes:
            if not inside[axis]:
                self.others[axis[-1]] = self._programs(bounds=False)
        for parameter in source.parameters():
            name, limits = parameter.name, parameter.name in bounds
            if not parameter.dtype.startswith("i") or parameter.shape:
                continue
            if parameter.pointer and not self._loads_of(name):
                continue
            if parameter.pointer:
                values = self._lengths() if limits else self._indices(name)
            else:
                bounded = limits and not self._counts_tiles(name)
                values = self._limits(name) if bounded else self._sizes(name)
            (self.bounds if limits else self.others)[name] = list(dict.fromkeys(values))
        for axis in axes:
            if inside[axis]:
                self.bounds[axis[-1]] = self._programs(bounds=True)

    # -- where numbers come from -----------------------------------------------------------------

    @cached_property
    def slice(self) -> frozenset[Statement]:
        """Statements that compute the bounds of the loop, and the loops around it."""
        return self._computing([self.source.loop])

    @cached_property
    def places(self) -> frozenset[Statement]:
        """Statements that compute the places which the kernel writes, and the loops around."""
        return self._computing([s for s in self.statements if name_of(s) in STORES])

    def _computing(self, statements: list[Statement]) -> frozenset[Statement]:
        """Return statements with all that their integers are computed by."""

        def computing(statement: Statement) -> Iterator[Statement]:
            values = list(statement.operands)
            if name_of(statement) == "scf.for" and statement not in statements:
                *_, end = statement.regions[0].blocks[0].ops
                values += end.operands
            around = statement.parent_op()
            if around is not None and name_of(around) == "scf.for":
                yield around
            for value in values:
                owner = self.source.statement(value)
                if owner is not None and is_counted(self.source, value):
                    yield owner

        return frozenset(reached(statements, computing))

    @cached_property
    def tiles(self) -> list[int]:
        """The extents of ranges and loaded tiles in the kernel, the smallest first."""
        found = {64}
        for statement in self.statements:
            if name_of(statement) == "tt.make_range":
                found.add(integer(statement, "end") or 0)
            elif name_of(statement) in LOADS:
                found |= set(self.source.type_of(statement.results[0]).shape)
        return sorted(n for n in found if n >= UNIT)

    @cached_property
    def _constants(self) -> list[int]:
        """The integers that bounds are computed with."""
        found = set()
        for statement in self.slice:
            if name_of(statement) == "arith.constant":
                number = constant(statement, self.source.type_of(statement.results[0]).dtype)
                found |= {int(number)} if isinstance(number, int) and number > 1 else set()
        # Those of a division rounded up, less by one than a multiple, are no sizes.
        return sorted((n for n in found if n <= UNIT or n % UNIT == 0), reverse=True)

    def _loads_of(self, name: str) -> list[Statement]:
        """Return the statements that load from a table."""
        return [
            s
            for s in self.statements
            if name_of(s) == "tt.load" and name in self.source.origins(list(s.operands)[:1])
        ]

    # -- what they may be ------------------------------------------------------------------------

    def _is_divisor(self, name: str) -> bool:
        return any(
            name_of(s) in ("arith.divsi", "arith.remsi")
            and self.source.argument(s.operands[1]) == name
            for s in self.statements
        )

    def _counts_tiles(self, name: str) -> bool:
        """Whether a number bounds the loop over output tiles, and no tile's extent divides it."""
        outer = self.source.outer
        if outer is None or name not in self.source.origins(list(outer.operands)[:3]):
            return False
        divided = [s.operands[0] for s in self.statements if name_of(s) == "arith.divsi"]
        return name not in self.source.origins(divided)

    @cached_property
    def _leaving(self) -> set[str]:
        """Numbers that decide whether a program leaves."""
        return self.source.origins([mark.operands[0] for mark in marks(self.source)])

    def _limits(self, name: str) -> list[Value]:
        """Return candidates for a number that bounds the loop."""
        steps = self._constants or [1]
        found = FEW if self._is_divisor(name) else []
        found = [*found, Size(steps[0]), *(Size(n) for n in [*steps[1:], *self.tiles, 1])]
        for n in [*steps, *self.tiles]:
            found += [Size(n, b) for b in steps if 1 < b <= UNIT]
            found += [Size(n, n // b) for b in steps if b < n and n % b == 0]
            if n > UNIT:
                half = n // 2 // UNIT * UNIT or UNIT
                found += [Size(n, more=-UNIT), Size(n, more=-half), Size(n, more=UNIT)]
                found += [Size(n, more=-n - k, least=UNIT, even=k) for k in (UNIT, half)]
                found += [Size(n, more=-n - k, least=UNIT) for k in (UNIT, half, 0)]
                found += [Size(more=n), Size(more=n + UNIT)]
        return found

    def _sizes(self, name: str) -> list[Value]:
        """Return candidates for a number that bounds no loop."""
        if not any(v.uses for v in self.source.blocks[0].args if self.source.argument(v) == name):
            return [USUAL]
        few = self._is_divisor(name) or self._counts_tiles(name) or name in self._leaving
        found = FEW if few else [ROOMY if self.source.varies else USUAL]
        for n in self.tiles:
            half = n // 2 // UNIT * UNIT or UNIT
            found += [Size(more=k) for k in (half, n, n + half, 2 * n, 4 * n)]
            found += [Size(n), Size(n, more=n), Size(n, 2, more=-UNIT), Size(2 * n)]
        return [*found, USUAL, ROOMY]

    def _indices(self, name: str) -> list[Value]:
        """Return candidates for a table that bounds no loop."""
        through = self._after_load(name)
        if through & set(MULTIPLIES):
            return [Entries("tiles"), Entries("rows")]
        if "arith.cmpi" in through:
            spread = [Entries("spread", Size(n)) for n in [*self._constants, *self.tiles]]
            return [*spread, Entries("lengths", USUAL)]
        return [Entries("rows")]

    def _after_load(self, name: str) -> set[str]:
        """Return the kinds of statements that what is loaded from a table goes through."""

        def onward(value: SSAValue) -> Iterator[SSAValue]:
            for use in value.uses:
                if name_of(use.operation) not in LOADS:
                    yield from use.operation.results

        loaded: list[SSAValue] = [s.results[0] for s in self._loads_of(name)]
        return {name_of(use.operation) for value in reached(loaded, onward) for use in value.uses}

    def _lengths(self) -> list[Value]:
        """Return candidates for a table whose entries bound the loop."""
        found: list[Value] = []
        for n in [*self._constants, *self.tiles]:
            sizes = (Size(n), Size(n, more=-UNIT), Size(2 * n, more=-UNIT), Size(2 * n))
            for size in sizes:
                half = n // 2 // UNIT * UNIT or UNIT
                found += [Entries("lengths", size, fewer) for fewer in (half, 0)]
            found += [Entries("begins", Size(n)), Entries("begins", Size(n, more=-UNIT))]
        return found

    def _programs(self, *, bounds: bool) -> list[Value]:
        found: list[Value] = [Size(more=2), Size(more=3)]
        found += [Size(1, of, most=most) for of in (1, 2, 4) for most in (2, 3)]
        if bounds:
            found += [
                Size(1),
                Size(1, 2),
                Size(1, more=1),
                Size(1, later=1),
                Size(1, 4),
                Size(2, more=-1),
                Size(2),
            ]
        return [*found, Size(more=1)]


def grid_axes(source: Source) -> int:
    """Return how many axes of the grid the kernel looks at."""
    found = [
        integer(s, "axis") or 0 for s in source.function.walk() if name_of(s) == "tt.get_program_id"
    ]
    return max(found, default=0) + 1
