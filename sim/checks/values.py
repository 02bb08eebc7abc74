"""Whether a pipelined program computes what the loop as written computes.

Values are followed through their slots, as expressions. A read finds the contents of the slot at
its first and at its last cycle; if they changed in between it gets half of each. While a slot is
being written a reader finds half of the old contents and half of the new. A write over the
addresses of other slots leaves nothing there. No read is refused, and no slot is assumed to hold a
value because a schedule says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

import numpy as np
from pydantic import NonNegativeInt

from twill.artifacts.base import Part
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.sim.checks.dataflow import NOTHING, Dataflow, Expressions
from twill.sim.checks.tiles import TOLERANCE, Array, Inputs, Kernel
from twill.sim.engine.events import Access, Handlers, ReadBegins, ReadEnds, WriteBegins, WriteEnds
from twill.sim.engine.memory import SHARED, Cell, Cells, Instance
from twill.sim.engine.slots import STAGING
from twill.sim.engine.work import works

# Order within a cycle; what begins does so in the order in which it is told.
END_READ, END_WRITE, BEGIN = range(3)


class WrongResult(Part):
    """A result that is not the one of the loop as written.

    `elements`, `different`: elements of the tile, and how many of them differ.
    """

    operation: str
    iteration: NonNegativeInt
    elements: NonNegativeInt
    different: NonNegativeInt


class Numbers(Part):
    """Comparison of a program's numbers with those of the loop as written.

    `results`: tiles that leave the loop: those stored, and the last instances of those carried.
    `wrong`: results that differ, in any element, from those of the loop as written.
    `silent`: the operation that does not say what it computes, so that all but loads computed
    stand-ins: arbitrary functions that only distinguish their operands.
    `formula_error`: largest error against the formula of a packaged kernel, relative to the largest
    element.
    `formula_tolerance`: the error that roundings to float16 account for.
    """

    results: NonNegativeInt
    wrong: tuple[WrongResult, ...]
    silent: str | None = None
    formula_error: float | None = None
    formula_tolerance: float | None = None

    @property
    def right(self) -> bool:
        """Whether all results are those of the loop as written, and of the formula if any."""
        error, tolerance = self.formula_error, self.formula_tolerance
        return not self.wrong and (error is None or tolerance is None or error <= tolerance)


class Values:
    """The results of one loop, computed on NumPy tiles.

    `inputs`: what the loop takes from outside; random tiles of seed 0 without it.

    Raises
    ------
    InputError
        If an operation does not say what it computes, or the results are no numbers.
    """

    def __init__(
        self,
        schedule: Schedule,
        iterations: int,
        inputs: Inputs | None = None,
        *,
        dataflow: Dataflow | None = None,
    ) -> None:
        dataflow = dataflow or Dataflow(schedule.loop)
        self._schedule, self._iterations = schedule, iterations
        self._expressions = Expressions(dataflow)
        self._inputs = inputs or Inputs(schedule.loop)
        written = self._expressions.written(iterations)
        self._wanted = {key: written[key] for key in dataflow.results(iterations)}
        self._last = dataflow.carried(iterations)
        self._tiles: dict[int, Array] = {}
        for (name, iteration), tile in self.as_written().items():
            if not np.isfinite(tile).all():
                raise InputError(
                    f"the loop as written makes {name} of iteration {iteration} infinite or no "
                    "number at all, which would hide differences; give it other inputs",
                    file=schedule.name,
                )

    def as_written(self) -> dict[Instance, Array]:
        """Return the results of the loop as written, by operation and iteration."""
        return self._evaluated(self._wanted)

    def watch(self, schedule: Schedule | None = None) -> Provenance:
        """Return an observer for an execution whose results are wanted.

        `schedule`: what is executed, if not the schedule at hand: one of the same loop.
        """
        return Provenance(schedule or self._schedule, self._expressions)

    def pipelined(self, watched: Provenance) -> dict[Instance, Array]:
        """Return the results of an execution, by operation and iteration."""
        return self._evaluated(watched.results(self._wanted, self._last))

    def differences(self, watched: Provenance) -> list[WrongResult]:
        """Return the results of an execution that are not those of the loop as written.

        Operations and their order are the same, so that equal results are equal in every bit.
        """
        made = watched.results(self._wanted, self._last)
        suspect = {key: number for key, number in made.items() if number != self._wanted[key]}
        right = self._evaluated({key: self._wanted[key] for key in suspect})
        wrong = self._evaluated(suspect)
        found = []
        for (operation, iteration), tile in right.items():
            wide = np.broadcast_to(wrong[operation, iteration], tile.shape)
            different = int(((tile != wide) & ~(np.isnan(tile) & np.isnan(wide))).sum())
            if different:
                found.append(
                    WrongResult(
                        operation=operation,
                        iteration=iteration,
                        elements=tile.size,
                        different=different,
                    )
                )
        return found

    def compared(self, watched: Provenance, kernel: Kernel | None = None) -> Numbers:
        """Return how the numbers of an execution compare, with a formula too if there is one."""
        made = self.pipelined(watched)
        return Numbers(
            results=len(made),
            wrong=tuple(self.differences(watched)),
            silent=self._expressions.dataflow.silent,
            formula_error=kernel.error(made) if kernel is not None else None,
            formula_tolerance=TOLERANCE if kernel is not None else None,
        )

    def _evaluated(self, numbers: Mapping[Instance, int]) -> dict[Instance, Array]:
        missing = [number for number in numbers.values() if number not in self._tiles]
        tiles = self._expressions.evaluate(missing, self._inputs)
        keep = set(self._wanted.values())
        self._tiles |= {number: tile for number, tile in tiles.items() if number in keep}
        return {
            key: tiles[number] if number in tiles else self._tiles[number]
            for key, number in numbers.items()
        }


# -- through slots ----------------------------------------------------------------------------


@dataclass
class _Slot:
    """Contents of a slot, the value being written to it, and the writer there or over it."""

    holds: int = NOTHING
    coming: int | None = None
    writer: Instance | None = None


# What was read, by operand (a value and its distance) and by warp.
_Operands = dict[tuple[str, int], dict[int, int]]


class Provenance:
    """An observer that follows what a program computes through its slots."""

    def __init__(self, schedule: Schedule, expressions: Expressions) -> None:
        self._expressions = expressions
        self._works = works(schedule.loop, schedule.machine)
        self._cells = Cells(schedule, self._works)
        self._events: list[tuple[float, int, int, Access]] = []
        self._slots: dict[Cell, _Slot] = defaultdict(_Slot)
        self._read: dict[tuple[str, int, int], _Operands] = defaultdict(lambda: defaultdict(dict))
        self._homes: dict[Instance, dict[Cell, int]] = defaultdict(dict)
        kinds = (ReadBegins, ReadEnds, WriteBegins, WriteEnds)
        self.handlers: Handlers = dict.fromkeys(kinds, self._keep)

    def _keep(self, event: Access) -> None:
        """Keep the first or the last cycle of an access."""
        cycle, order = event.begin, BEGIN
        if isinstance(event, ReadEnds):
            # A store has its registers once it is issued.
            stored = event.operation not in self._works and event.place != STAGING
            if event.end <= event.begin or stored:
                return
            cycle, order = event.end, END_READ
        if isinstance(event, WriteEnds):
            cycle, order = event.end, END_WRITE if event.end > event.begin else BEGIN
        self._events.append((cycle, order, len(self._events), event))

    def results(
        self, wanted: Iterable[Instance], last: Iterable[Instance] = ()
    ) -> dict[Instance, int]:
        """Return the expressions of results.

        `last`: those that must still be in their slots at the end; others are what was written.
        """
        for _, _, _, event in sorted(self._events, key=lambda entry: entry[:3]):
            self._follow(event, self._cells.of(event))
        self._events.clear()
        kept = set(last)
        return {instance: self._result(instance, kept) for instance in wanted}

    def _result(self, instance: Instance, kept: Set[Instance]) -> int:
        written = self._homes[instance]
        if not written:
            return NOTHING
        parts = [self._slots[c].holds if instance in kept else written[c] for c in sorted(written)]
        return self._expressions.of_warps(parts)

    def _follow(self, event: Access, cell: Cell) -> None:
        """Let an access begin or end, in the order of cycles."""
        who, slot = (event.operation, event.of_iteration), self._slots[cell]
        operand = (event.value, event.of_iteration - event.iteration)
        match event:
            case ReadBegins():
                self._execution(event)[operand][cell.warp] = self._found(event, slot)
            case ReadEnds():
                if slot.writer != who:  # it updates in place what it reads
                    read, now = self._execution(event)[operand], self._found(event, slot)
                    read[cell.warp] = self._expressions.mixed(read.get(cell.warp, now), now)
            case WriteBegins():
                slot.coming, slot.writer = self._made(event, cell.warp), who
                for lost in self._cells.beneath(cell):
                    self._slots[lost] = _Slot(writer=who)
            case WriteEnds():
                made = self._made(event, cell.warp)
                if slot.writer == who:
                    slot.holds, slot.coming, slot.writer = made, None, None
                if event.operation == event.value:
                    self._homes[who][cell] = made

    def _found(self, event: Access, slot: _Slot) -> int:
        if slot.coming is None:
            return slot.holds
        if self._cells.chained(event):
            return slot.coming
        return self._expressions.mixed(slot.holds, slot.coming)

    def _execution(self, event: Access) -> _Operands:
        """Return the operands that all warps of an operation have read, or those of one move."""
        warp = SHARED if event.operation in self._works else event.warp
        return self._read[event.operation, event.of_iteration, warp]

    def _made(self, event: Access, warp: int) -> int:
        """Return an operation's result on a warp, or as a whole, from the operands read."""
        operation, iteration = event.operation, event.of_iteration
        read = self._execution(event)
        if operation not in self._works:
            return next((n for warps in read.values() for n in warps.values()), NOTHING)
        of = []
        for source in self._expressions.dataflow.sources[operation]:
            if source.kind == "made" and iteration < source.distance:
                before = source.distance - iteration
                of.append(self._expressions.number("first", source.name, before))
            elif source.kind == "made":
                of.append(self._operand(read.get((source.name, source.distance), {}), warp))
        return self._expressions.made(operation, iteration, of)

    def _operand(self, warps: Mapping[int, int], warp: int) -> int:
        if not warps:
            return NOTHING
        if warp in warps:
            return warps[warp]
        if SHARED in warps:
            return warps[SHARED]
        if warp == SHARED:
            return self._expressions.of_warps([warps[k] for k in sorted(warps)])
        return warps[min(warps)]
