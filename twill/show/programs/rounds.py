"""A group's program for a trip count: prologue, steady state, epilogue.

A program is executed in rounds j; an instruction of stage s concerns iteration j - s of it. The
rounds in which every stage has an iteration are the steady state; those before and after are
written out, with what has no iteration left out. This is what the simulator executes, in the same
order (`unrolled`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from twill.artifacts.schedule import (
    Arrive,
    Await,
    Barrier,
    Instruction,
    Interleave,
    Issue,
    Program,
    Wait,
)

Base = Literal["", "i", "n"]
ALL = "n"
"""A trip count that is left open."""


@dataclass(frozen=True)
class Iteration:
    """A number of an iteration: constant, or relative to the loop's counter i or trip count n.

    Attributes
    ----------
    base : str
        Empty for a constant.
    offset : int
        What is added.
    """

    base: Base
    offset: int

    def __str__(self) -> str:
        if not self.base:
            return str(self.offset)
        return f"{self.base}{self.offset:+d}" if self.offset else self.base

    def minus(self, distance: int) -> Iteration:
        """Return the iteration so many before.

        `distance`: iterations.
        """
        return Iteration(self.base, self.offset - distance)


@dataclass(frozen=True)
class Step:
    """An instruction of one round.

    Attributes
    ----------
    instruction : Instruction
        As in the program; of an interleaved block only the parts that have an iteration.
    iteration : Iteration
        The one it concerns; of an interleaved block that of its first part.
    condition : str
        When it is executed at all, in terms of i and n; empty for always.
    """

    instruction: Instruction
    iteration: Iteration
    condition: str = ""


@dataclass(frozen=True)
class Round:
    """One round: its number, and what is executed in it."""

    number: Iteration
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Pipelined:
    """A program for a trip count.

    Attributes
    ----------
    program : Program
        The group's program.
    iterations : int, optional
        The trip count n; without it any n of at least `stages` - 1.
    prologue, epilogue : tuple of Round
        Rounds that lack iterations; all of them if there are fewer than stages.
    steady : Round or None
        The round of the loop, for i from `first` to before n; None if there is no such round.
    first : int
        Where the loop begins.
    """

    program: Program
    iterations: int | None
    prologue: tuple[Round, ...]
    steady: Round | None
    epilogue: tuple[Round, ...]
    first: int


def pipelined(
    program: Program,
    barriers: dict[str, Barrier],
    iterations: int | None,
) -> Pipelined:
    """Write a program out for a trip count.

    `barriers`: the schedule's barriers by name; waits that hardware answers at once need no
    condition.
    """
    last = program.last_stage
    writer = _Writer(program, barriers, iterations)
    if iterations is not None and iterations <= last:
        rounds = tuple(writer.round(Iteration("", j)) for j in range(iterations + last))
        return Pipelined(program, iterations, rounds, None, (), last)
    prologue = tuple(writer.round(Iteration("", j)) for j in range(last))
    steady = writer.round(Iteration("i", 0))
    after = (Iteration("n", r) if iterations is None else Iteration("", iterations + r)
             for r in range(last))  # fmt: skip
    return Pipelined(
        program, iterations, prologue, steady, tuple(writer.round(j) for j in after), last
    )


class _Writer:
    """Decides what of a program is executed in a round, and under which condition."""

    def __init__(
        self,
        program: Program,
        barriers: dict[str, Barrier],
        iterations: int | None,
    ) -> None:
        self._program, self._barriers, self._iterations = program, barriers, iterations
        self._first = program.last_stage

    def round(self, number: Iteration) -> Round:
        steps: list[Step] = []
        for step in self._steps(number):
            joined = _joined(steps[-1], step) if steps else None
            if joined is None:
                steps.append(step)
            else:
                steps[-1] = joined
        return Round(number, tuple(steps))

    def _steps(self, number: Iteration) -> Iterator[Step]:
        for instruction in self._program.body:
            if isinstance(instruction, Interleave):
                parts = tuple(p for p in instruction.parts if self._exists(number.minus(p.stage)))
                if len(parts) > 1:
                    taken = instruction.model_copy(update={"parts": parts})
                    yield Step(taken, number.minus(parts[0].stage))
                elif parts:
                    yield Step(parts[0], number.minus(parts[0].stage))
                continue
            own = number.minus(instruction.stage)
            of = own.minus(_behind(instruction))
            if self._exists(own) and self._exists(of):
                yield Step(instruction, of, self._condition(instruction, of))

    def _exists(self, iteration: Iteration) -> bool:
        """Return whether the loop has an iteration, or may have it."""
        if iteration.base == "n":
            return iteration.offset < 0
        if iteration.base == "i":
            return True
        before_end = self._iterations is None or iteration.offset < self._iterations
        return iteration.offset >= 0 and before_end

    def _condition(self, instruction: Instruction, of: Iteration) -> str:
        """Return when an iteration that may be missing is there."""
        offset = of.offset
        if of.base == "i":
            if offset > 0:
                return f"i + {offset} < {self._iterations or ALL}"
            late = self._first + offset < 0 and not self._passes(instruction, self._first + offset)
            return f"i >= {-offset}" if late else ""
        if of.base == "n":
            least = self._first + offset
            return f"n >= {-offset}" if least < 0 and not self._passes(instruction, least) else ""
        if self._iterations is None and offset >= max(self._first, 1):
            return f"{offset} < n"
        return ""

    def _passes(self, instruction: Instruction, least: int) -> bool:
        """Return whether hardware lets a wait for a negative iteration pass by itself.

        Nothing is in flight that an await could wait for, and a fresh mbarrier answers a wait for
        the phase before its first one at once (PTX ISA, mbarrier.test_wait with a parity).
        """
        if instruction.do == "await":
            return True
        if not isinstance(instruction, Wait):
            return False
        barrier = self._barriers[instruction.barrier]
        return barrier.kind is None and least >= -barrier.slots


def _behind(instruction: Instruction) -> int:
    """Return how many iterations before its own a wait or an arrive concerns."""
    return instruction.distance if isinstance(instruction, Await | Wait | Arrive) else 0


def _joined(first: Step, second: Step) -> Step | None:
    """Return two parts of an operation as one, where what alternated with them has no iteration."""
    a, b = first.instruction, second.instruction
    if not isinstance(a, Issue) or not isinstance(b, Issue) or a.operation != b.operation:
        return None
    if first.iteration != second.iteration or a.end is None or a.end != b.begin:
        return None
    whole = a.first and b.last
    part = {"begin": None, "end": None, "of": None} if whole else {"begin": a.begin}
    return Step(b.model_copy(update=part), second.iteration)


def unrolled(program: Program, iterations: int) -> Iterator[tuple[Instruction, int]]:
    """Yield what a group executes for a trip count, in order, with the iterations concerned."""
    for number in range(iterations + program.last_stage):
        for instruction in program.body:
            parts = instruction.parts if isinstance(instruction, Interleave) else (instruction,)
            for part in parts:
                iteration = number - part.stage
                of = iteration - _behind(part)
                if 0 <= iteration < iterations and 0 <= of < iterations:
                    yield part, of
