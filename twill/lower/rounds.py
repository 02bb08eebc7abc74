"""A group's program for a trip count, round by round, and the names of values in it.

A program is executed in rounds j; an instruction of stage s concerns iteration j - s of it. The
rounds in which every stage has an iteration are the steady state. Rounds before and after are
written out, without the instructions that have no iteration.

Memory is indexed by the iteration modulo its slots. Registers cannot be: a value of which two
instances live has two names, ``S`` and ``S_next``. The renaming ``S = S_next`` at the end of a
round stands for a compiler's unrolling (the paper's Figure 1f, modulo variable expansion).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from twill.artifacts.loop import Dependence, Loop, Operation
from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Wait,
    singles,
)
from twill.artifacts.schedule import Schedule
from twill.lower.iterations import Iteration, ring

MOST_ROTATING = 3  # slots in registers up to which each has a name
NEXT = "_next"


@dataclass(frozen=True)
class Step:
    """An instruction of one round, its iteration, and the condition under which it is executed.

    Interleaved blocks have only the parts that have an iteration, and the first one's iteration.
    The condition is in terms of i and n, and empty for always.
    """

    instruction: Instruction
    iteration: Iteration
    condition: str = ""


@dataclass(frozen=True)
class Round:
    """The steps of a round, in order, and its number."""

    number: Iteration
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Pipelined:
    """A program for a trip count.

    The steady round is that of i from `first` to before n; where there are fewer iterations than
    stages there is none, and all rounds are in the prologue.
    """

    prologue: tuple[Round, ...]
    steady: Round | None
    epilogue: tuple[Round, ...]
    first: int


def pipelined(
    program: Program,
    barriers: dict[str, Barrier],
    iterations: int | None,
    *,
    persistent: bool = False,
) -> Pipelined:
    """Write a program out for a trip count; left open, n is at least the last stage.

    `barriers`: the schedule's by name; waits that hardware answers at once need no condition.
    `persistent`: whether iterations of earlier output tiles may come before, which the first
    rounds wait for, too.
    """
    last = program.last_stage
    writer = _Writer(program, barriers, iterations, persistent)
    if iterations is not None and iterations <= last:
        rounds = tuple(writer.round(Iteration("", j)) for j in range(iterations + last))
        return Pipelined(rounds, None, (), last)
    after = Iteration("n", 0) if iterations is None else Iteration("", iterations)
    return Pipelined(
        tuple(writer.round(Iteration("", j)) for j in range(last)),
        writer.round(Iteration("i", 0)),
        tuple(writer.round(after.minus(-j)) for j in range(last)),
        last,
    )


@dataclass(frozen=True)
class _Writer:
    """Decides what of a program is executed in a round, and under which condition."""

    program: Program
    barriers: dict[str, Barrier]
    iterations: int | None
    persistent: bool

    def round(self, number: Iteration) -> Round:
        steps: list[Step] = []
        for step in self._steps(number):
            joined = _joined(steps[-1], step) if steps else None
            steps[len(steps) - (joined is not None) :] = [joined or step]
        return Round(number, tuple(steps))

    def _steps(self, number: Iteration) -> Iterator[Step]:
        for instruction in self.program.body:
            if isinstance(instruction, Interleave):
                parts = tuple(p for p in instruction.parts if self._exists(number.minus(p.stage)))
                if parts:
                    some = instruction.model_copy(update={"parts": parts})
                    taken = some if len(parts) > 1 else parts[0]
                    yield Step(taken, number.minus(parts[0].stage))
                continue
            own = number.minus(instruction.stage)
            of = own
            if isinstance(instruction, Await | Wait | Arrive):
                of = own.minus(instruction.distance)
            before = self.persistent and isinstance(instruction, Wait) and of.offset < 0
            if self._exists(own) and (self._exists(of) or before):
                condition = self._condition(instruction, of)
                least = of.offset + (self.program.last_stage if of.base else 0)
                if not condition and least < 0:
                    of = replace(of, early=True)
                yield Step(instruction, of, condition)

    def _exists(self, iteration: Iteration) -> bool:
        """Return whether the loop has an iteration, or may have it."""
        if iteration.base == "n":
            return iteration.offset < 0
        if iteration.base == "i":
            return True
        before_end = self.iterations is None or iteration.offset < self.iterations
        return iteration.offset >= 0 and before_end

    def _condition(self, instruction: Instruction, of: Iteration) -> str:
        """Return when an iteration that may be missing is there."""
        if of.base == "i" and of.offset > 0:
            return f"i + {of.offset} < {self.iterations or 'n'}"
        if of.base:
            least = self.program.last_stage + of.offset
            if least >= 0 or self._passes(instruction, least):
                return ""
            return f"{of.base} >= {-of.offset}"
        if self.iterations is None and of.offset >= max(self.program.last_stage, 1):
            return f"{of.offset} < n"
        return ""

    def _passes(self, instruction: Instruction, least: int) -> bool:
        """Return whether hardware lets a wait for a negative iteration pass by itself.

        Nothing is in flight that an await could wait for. A fresh mbarrier answers a wait for the
        phase before its first one at once (PTX ISA, mbarrier.test_wait with a parity).
        """
        if not isinstance(instruction, Wait):
            return isinstance(instruction, Await)
        barrier = self.barriers[instruction.barrier]
        return barrier.kind is None and least >= -barrier.slots


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


# -- where values lie -------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where the instances of a value lie, for its readers and writers.

    Attributes
    ----------
    slots : int or None
        Instances that fit; None for a value that occupies no memory, whose instances are all
        distinct.
    carried : int
        Iterations before the first from which the loop reads it.
    rotating : bool
        Whether the slots are names and not indices.
    stage, oldest : int
        For rotating names, of the operation that makes it, and rounds after which it is read last.
    """

    name: str
    slots: int | None
    carried: int = 0
    rotating: bool = False
    stage: int = 0
    oldest: int = 0

    def text(self, iteration: Iteration, number: Iteration) -> str:
        """Return how an instance is called in a round."""
        if not self.rotating:
            return f"{self.name}{ring(iteration, self.slots)}"
        # By how many rounds it is older than what the round makes. The first instance goes where
        # the next round looks for it, if nothing else is there.
        since = number.offset if number.base else max(number.offset, self.stage)
        age = since - self.stage - iteration.offset
        return self._rotated(age + self._first_round(number))

    def _first_round(self, number: Iteration) -> bool:
        """Return whether nothing is there before what the round makes."""
        return not number.base and not self.carried and number.offset == self.stage

    def rotations(
        self, number: Iteration, iterations: int | None, last: int
    ) -> Iterator[tuple[str, str]]:
        """Yield the renamings at the end of a round: new name, old name.

        `last`: the program's last stage; the round after the last one needs nothing.
        """
        begun = bool(number.base) or number.offset >= self.stage
        at_end = number.base == "n" and number.offset == last - 1
        if not self.rotating or not begun or at_end or self._first_round(number):
            return
        for age in reversed(range(self.oldest)):
            iteration = number.minus(self.stage + age)
            over = iteration.base == "n" and iteration.offset >= 0
            if not iteration.base:
                over = iterations is not None and iteration.offset >= iterations
                over |= iteration.offset < -self.carried
            if not over:
                yield self._rotated(age + 1), self._rotated(age)

    def _rotated(self, age: int) -> str:
        return self.name + NEXT * (self.oldest - age)


def reads(loop: Loop, operation: Operation) -> list[Dependence | str]:
    """Return the values that an operation reads, in the order of its operands.

    Values of the loop are dependences; those from outside are names, in which ``[i]`` is the
    iteration.
    """
    count = len(operation.operands)
    found: list[tuple[int, Dependence | str]] = [
        (count if d.operand is None else d.operand, d)
        for d in loop.dependences
        if d.kind == "data" and d.consumer == operation.name
    ]
    found += [
        (read.operand, invariant.name)
        for invariant in loop.invariants
        for read in invariant.reads
        if read.operation == operation.name
    ]
    for number in range(count):
        name = operation.attributes.get(f"operand{number}")
        if isinstance(name, str):
            found.append((number, name))
    return [read for _, read in sorted(found, key=lambda entry: entry[0])]


class Places:
    """All places of a schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._group = schedule.assignment
        self._kinds = {operation.name: operation.kind for operation in schedule.loop.operations}
        self._data = [d for d in schedule.loop.dependences if d.kind == "data"]
        self._storage = {(s.value, s.transfer, s.reader, s.distance): s for s in schedule.storage}
        self._stages: dict[str, set[int]] = defaultdict(set)
        self._sent: dict[str, int] = {}
        for program in schedule.programs:
            for part in program.issues:
                self._stages[part.operation].add(part.stage)
            parts = [part for instruction in program.body for part in singles(instruction)]
            self._sent |= {part.value: part.stage for part in parts if isinstance(part, Put)}

    def result(self, value: str) -> Place:
        """Return where an operation puts its result."""
        storage = self._storage.get((value, False, None, 0))
        carried = max((d.distance for d in self._data if d.producer == value), default=0)
        if storage is None:
            return Place(value, None, carried)
        stages, oldest = self._ages(value)
        made = min(stages, default=0)
        rotating = storage.memory == "registers" and 1 < storage.slots <= MOST_ROTATING
        if rotating and len(stages) == 1 and storage.slots == oldest + 1:
            return Place(value, storage.slots, carried, rotating=True, stage=made, oldest=oldest)
        return Place(value, storage.slots, carried)

    def _ages(self, value: str) -> tuple[set[int], int]:
        """Return the stages in which a value is made, and rounds after which it is read last.

        By its own group, which also sends it; others read copies.
        """
        stages = self._stages[value]
        made = min(stages, default=0)
        sent = self._sent.get(value, made) - made
        read = [stage + d.distance - made for d in self._data if d.producer == value
                and self._group[d.consumer] == self._group[value]
                for stage in self._stages[d.consumer]]  # fmt: skip
        oldest = max(sent, *read, 0)
        return stages, oldest

    def staging(self, value: str) -> Place:
        """Return where a register value is staged for other groups."""
        storage = self._storage.get((value, True, None, 0))
        return Place(f"{value}.staging", storage.slots if storage else None)

    def copy(self, value: str, reader: str, distance: int) -> Place:
        """Return where another group's reader has its copy of a register value.

        `distance`: iterations by which it is later than the value.
        """
        storage = self._storage.get((value, False, reader, distance))
        later = f".{distance}_later" if distance else ""
        slots = storage.slots if storage else None
        return Place(f"{value}.for.{reader}{later}", slots, carried=distance)

    def read(self, dependence: Dependence) -> Place:
        """Return where the consumer of a dependence finds the value."""
        value, reader = dependence.producer, dependence.consumer
        if self._memory(value) == "registers" and self._group[value] != self._group[reader]:
            return self.copy(value, reader, dependence.distance)
        return self.result(value)

    def accumulates(self, operation: Operation) -> bool:
        """Return whether an operation adds to its own result of the iteration before."""
        return any(
            d.producer == d.consumer == operation.name and d.in_place and d.distance == 1
            for d in self._data
        )

    def initial(self, group: str | None) -> list[tuple[str, str]]:
        """Return names and kinds of the values that the loop reads from before its first iteration.

        `group`: the group whose registers hold them; None for values in memory.
        """
        found: dict[str, str] = {}
        for d in self._data:
            place = self.read(d)
            kept: str | None = self._group[d.consumer]
            if place.name == d.producer:
                in_memory = self._memory(d.producer) not in (None, "registers")
                kept = None if in_memory else self._group[d.producer]
            if kept == group:
                for before in range(d.distance, 0, -1):
                    name = place.text(Iteration("", -before), Iteration("", 0))
                    found[name] = self._kinds[d.producer]
        return list(found.items())

    def _memory(self, value: str) -> str | None:
        storage = self._storage.get((value, False, None, 0))
        return None if storage is None else storage.memory
