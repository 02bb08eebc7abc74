"""The choice of integers, tables and grids with which a small run covers the whole kernel.

Every requested number of iterations shall be the largest of the grid's programs. Every mask, window
and clamp shall act and not act, and no two programs write the same place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from twill.emit.expressions.language import LARGER, SMALLER
from twill.emit.host.candidates import Candidates, Entries, Size, Value
from twill.emit.host.trial import STORES, Integers, Outcome, Trial, UnfitError, conflict
from twill.emit.source import Source, SSAValue, Statement
from twill.frontends.ttgir.reader import name_of

MANY = 8  # iterations of a longer run
BEAM = 4  # sets of arguments that are changed further
ROUNDS = 2
MOST_WORK = 4000  # iterations of programs of which all is tried
MOST_PROGRAMS = 128
FAR = 20  # iterations for which trips are right, too, and no two programs write the same
NEVER = 1000  # what a loop that does not run counts as, in iterations apart
EXPECTED = {
    "arith.cmpi": ("true", "false"),
    **dict.fromkeys(("arith.andi", "arith.ori"), ("only the first true", "only the second true")),
    **dict.fromkeys((*LARGER, *SMALLER), ("first", "second")),
    "tt.get_program_id": ("first", "later"),
    **dict.fromkeys(("arith.divsi", "arith.remsi"), ("whole", "rest")),  # "rest" by an argument
}
"""Outcomes that shall occur in statements which are computed from arguments."""


@dataclass(frozen=True)
class Arguments:
    """Integers and tables by their arguments, and the axes of the grid by their numbers."""

    values: tuple[tuple[str, Value], ...] = ()

    def having(self, name: str, value: Value) -> Arguments:
        """Return these with one changed."""
        return Arguments(tuple((dict(self.values) | {name: value}).items()))

    @property
    def numbers(self) -> dict[str, Size]:
        """The integers."""
        return {n: v for n, v in self.values if isinstance(v, Size) and not n.isdigit()}

    @property
    def tables(self) -> dict[str, Entries]:
        """The contents of tables."""
        return {n: v for n, v in self.values if isinstance(v, Entries)}

    @property
    def grid(self) -> tuple[Size, ...]:
        """The number of programs along each axis."""
        given: dict[str, Any] = dict(self.values)
        return tuple(given.get(axis, Size(more=1)) for axis in "012")


@dataclass(frozen=True)
class Found:
    """Behavior of a grid's programs for given arguments, at several numbers of iterations."""

    trips: tuple[int, ...] = ()  # for each number the most of a program
    apart: int = 0  # from those that are asked for
    faults: int = 0  # programs that write the same, or have nothing to write
    outcomes: frozenset[Outcome] = frozenset()
    programs: int = 1  # at the longer run

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key that puts the best first."""
        return self.faults, self.apart, -len(self.outcomes), self.programs


UNFIT = Found(apart=10 * NEVER, faults=10 * NEVER)
_FOUND: dict[tuple[str, int], Arguments] = {}  # by the source, and its fewest iterations


class Choice:
    """The arguments of a kernel.

    Parameters
    ----------
    source : Source
        The kernel.
    least : int
        The fewest iterations that it may run.
    """

    def __init__(self, source: Source, least: int) -> None:
        self.source = source
        self.counts = sorted({least, least + 1, least + 2, max(MANY, least), FAR})
        self.integers, self.candidates = Integers(source), Candidates(source)
        self._known: dict[tuple[bool, Arguments], Found] = {}
        self._work, self._last = 0, UNFIT

    @cached_property
    def arguments(self) -> Arguments:
        """The best arguments found, once for all programs of a loop."""
        key = self.source.identity, self.counts[0]
        if key not in _FOUND:
            _FOUND[key] = self._searched()
        return _FOUND[key]

    def _searched(self) -> Arguments:
        """Return the best arguments found: those that bound the loop first, then the rest."""
        bounds, others = self.candidates.bounds, self.candidates.others
        first = Arguments()
        for name, values in (bounds | others).items():
            first = first.having(name, values[0])
        best = [first]
        if self.source.trips is None:
            best = self._better(best, bounds, self._trips)
            nearest = self._trips(best[0]).apart
            best = [one for one in best if self._trips(one).apart == nearest]
        best = sorted(best, key=lambda one: self._whole(one).rank)
        for some in (others, bounds, others):
            best = self._better(best, some, self._whole)
        found = best[0]
        for axis in "210":  # the last resort: fewer programs
            if self._whole(found).faults:
                found = found.having(axis, Size(more=1))
        return found

    @cached_property
    def found(self) -> Found:
        """Behavior of the programs with these arguments."""
        return self._whole(self.arguments)

    def _better(
        self,
        beam: list[Arguments],
        values: dict[str, list[Value]],
        judge: Callable[[Arguments], Found],
    ) -> list[Arguments]:
        """Return the best that successive single changes make of some, the best first."""
        for _, (name, candidates) in itertools.product(range(ROUNDS), values.items()):
            if judge == self._whole and not self._matters(name, judge(beam[0])):
                continue
            every = dict.fromkeys(beam)
            for changed in (a.having(name, value) for a in beam for value in candidates):
                if judge == self._whole and self._is_done():
                    break
                every[changed] = None
                judge(changed)
            beam = sorted(every, key=lambda one: judge(one).rank)[:BEAM]
        return beam

    def _matters(self, name: str, found: Found) -> bool:
        """Whether an argument influences trip counts, faults or outcomes that are not yet right."""
        known = f"program_id {name}" if name.isdigit() else name
        missing: list[SSAValue] = [s.results[0] for s, _ in self.missing(found)]
        if found.faults:
            stores = [s for s in self.integers.statements if name_of(s) in STORES]
            missing = [value for s in stores for value in s.operands]
        return found.apart > self._nearest or known in self.source.origins(missing)

    @property
    def _nearest(self) -> int:
        """The least distance of trip counts, so far, from the requested ones."""
        return min((one.apart for one in self._known.values() if not one.faults), default=NEVER)

    def _is_done(self) -> bool:
        """Whether the last whole trial found all that is looked for, or there were too many."""
        return self._work > MOST_WORK or self._is_complete(self._last)

    def _is_complete(self, found: Found) -> bool:
        runs = found.apart == self._nearest < NEVER
        return runs and not found.faults and not self.missing(found)

    def missing(self, found: Found) -> list[Outcome]:
        """Return the outcomes, decided by arguments, that do not occur, in the kernel's order."""
        seen = {statement for statement, _ in found.outcomes}
        return [
            (statement, outcome)
            for statement in self.source.function.walk()
            if statement in seen and name_of(statement) in EXPECTED
            for outcome in self._expected(statement)
            if (statement, outcome) not in found.outcomes
        ]

    def _expected(self, statement: Statement) -> tuple[str, ...]:
        by_number = statement not in self.integers.by_arguments
        division = name_of(statement) in ("arith.divsi", "arith.remsi")
        return ("whole",) if division and by_number else EXPECTED[name_of(statement)]

    # -- what programs do ------------------------------------------------------------------------

    def _trips(self, arguments: Arguments) -> Found:
        return self._judged(arguments, self.candidates.slice)

    def _whole(self, arguments: Arguments) -> Found:
        return self._judged(arguments, self.integers.statements)

    def _judged(self, arguments: Arguments, needed: frozenset[Statement]) -> Found:
        key = (needed is self.integers.statements, arguments)
        if key not in self._known:
            try:
                self._known[key] = self._tried(arguments, needed)
            except UnfitError:
                self._known[key] = UNFIT
        if key[0]:
            self._last = self._known[key]
        return self._known[key]

    def _tried(self, arguments: Arguments, needed: frozenset[Statement]) -> Found:
        whole = needed is self.integers.statements
        trips: list[int] = []
        outcomes: set[Outcome] = set()
        faults, programs = 0, 1
        for count in self.counts:
            part = self.candidates.slice if count >= MANY else needed
            programs = prod(size(count) for size in arguments.grid)
            self._work += programs * count * (part is self.integers.statements)
            runs = self.runs(arguments, count, part)
            self._work += sum(sum(run.trips) for run in runs) * (part is self.integers.statements)
            trips.append(max((n for run in runs for n in run.trips), default=0))
            if self.source.varies and not self._ends_without:
                faults += sum(not any(run.trips) for run in runs)
            if part is self.integers.statements:
                faults += conflict(runs)
            outcomes.update(*(run.outcomes for run in runs))
        if whole:
            runs = self.runs(arguments, FAR, self.candidates.places)
            faults += conflict(runs)
            outcomes.update(*(run.outcomes for run in runs))
        wanted = self.counts if self.source.trips is None else trips
        apart = sum(abs(a - b) + NEVER * (a == 0) for a, b in zip(trips, wanted, strict=True))
        return Found(tuple(trips), apart, faults, frozenset(outcomes), programs)

    def runs(self, arguments: Arguments, count: int, needed: frozenset[Statement]) -> list[Trial]:
        """Return the run of every program of the grid.

        Raises
        ------
        UnfitError
            If one cannot be executed so.
        """
        numbers = {name: size(count) for name, size in arguments.numbers.items()}
        tables = {
            name: partial(_entries, entries, count) for name, entries in arguments.tables.items()
        }
        grid = tuple(size(count) for size in arguments.grid)
        if min(*grid, *numbers.values(), 1) < 0 or not 1 <= prod(grid) <= MOST_PROGRAMS:
            raise UnfitError
        programs: Sequence[tuple[int, ...]] = list(np.ndindex(*grid))
        if needed is self.candidates.slice and not self._differ:
            programs = programs[:1]
        sampled = needed is self.integers.statements
        return [
            Trial(self.integers, numbers, tables, program, grid, needed, sampled).run()
            for program in programs
        ]

    @cached_property
    def _differ(self) -> bool:
        """Whether programs differ in what bounds the loop."""
        return any(name_of(s) == "tt.get_program_id" for s in self.candidates.slice)

    @cached_property
    def _ends_without(self) -> bool:
        """Whether the kernel writes only finite numbers if the loop has no iteration."""
        known: dict[SSAValue, Any] = {}

        def value(one: SSAValue) -> Any:
            if one not in known:
                known[one] = None
                owner = self.source.statement(one)
                if owner is self.source.loop:
                    known[one] = value(self.source.start(one))
                elif owner is not None:
                    known[one] = self.integers.computed(owner, [value(o) for o in owner.operands])
            return known[one]

        with np.errstate(all="ignore"):
            for statement in self.source.after():
                for operand in statement.operands:
                    found = value(operand)
                    by_zero = (
                        name_of(statement) == "arith.divf" and operand is statement.operands[1]
                    )
                    if found is None or isinstance(found, tuple):
                        continue
                    if (by_zero and np.any(found == 0)) or (
                        "store" in name_of(statement) and not np.all(np.isfinite(found))
                    ):
                        return False
        return True


def _entries(entries: Entries, count: int, place: Any) -> Any:
    return entries(place, count)
