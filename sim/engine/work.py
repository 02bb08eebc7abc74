"""Operations as the simulator executes them: instructions on pipes, or commands for a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.base import by_identity
from twill.artifacts.loop import Cost, Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.program import Issue
from twill.base.errors import InputError, short
from twill.sim.engine.conditions import Mechanism


@dataclass(frozen=True)
class Segment:
    """`count` instructions of a warp on one unit."""

    unit: str  # the pipe; empty for commands to an asynchronous unit
    count: int
    interval: float  # cycles from one to the next, as far as the pipe or the command decides
    # Cycles of the pipe that one instruction fills; less than `interval` where several contexts use
    # one pipe or the operation leaves a part of it free.
    share: float


@dataclass(frozen=True)
class Demand:
    """Use of a unit by one command: its cycles, and those in which nothing else can start."""

    unit: str
    cycles: float
    share: float


@dataclass(frozen=True)
class Read:
    """An operand: a value made `distance` iterations before.

    A read is `chained` if the reader accumulates on the same in-order unit that made the value. The
    reader may then be queued behind the producer without a wait.
    """

    value: str
    distance: int
    chained: bool


@dataclass(frozen=True)
class Work:
    """An operation with all that executing it takes."""

    name: str
    asynchronous: bool
    variable_latency: bool
    warps: int
    segments: tuple[Segment, ...]  # what its first warp issues
    demands: tuple[Demand, ...]  # what each command of an asynchronous operation takes of units
    tail: int  # cycles from the end of the work until the result can be read
    latency: int
    transfer: int
    reads: tuple[Read, ...]
    bytes: int  # of its result
    by_proxy: bool = False  # whether it accesses shared memory through a proxy of its unit
    # Where its work does not divide evenly among its warps, what those from some position in the
    # group on issue instead.
    others: tuple[tuple[int, tuple[Segment, ...]], ...] = ()

    def holder(self, warp: int) -> int:
        """Return which of its warps holds the part that a warp reads; wider ones read it twice."""
        return warp % self.warps

    def issued_by(self, warp: int) -> tuple[Segment, ...]:
        """Return the instructions that one of its warps issues."""
        found = self.segments
        for first, segments in self.others:
            if warp >= first:
                found = segments
        return found

    @cached_property
    def fetches(self) -> float:
        """Share of a port that a command needs for its operands while it is executed."""
        if len(self.demands) < 2:
            return 0.0
        own, other = self.demands[:2]
        return other.share / own.cycles if own.cycles else 0.0

    @cached_property
    def instructions(self) -> int:
        """Instructions that its first warp issues for it."""
        return sum(segment.count for segment in self.segments)

    def slots(self, warp: int) -> int:
        """Return the issue slots that a warp takes for it, one for each instruction."""
        return sum(segment.count for segment in self.issued_by(warp))

    def extent(self, part: Issue, warp: int) -> tuple[int, int]:
        """Return a warp's first instruction of a part and the one after its last."""
        total = self.slots(warp)
        if part.begin is None or part.end is None or part.of is None:
            return 0, total
        return -(-part.begin * total // part.of), -(-part.end * total // part.of)

    def stream(self, part: Issue, warp: int) -> Iterator[tuple[Segment, int, int]]:
        """Yield a warp's instructions of a part: segment, index of the first, and how many."""
        begin, end = self.extent(part, warp)
        before = 0
        for segment in self.issued_by(warp):
            first, last = max(begin, before), min(end, before + segment.count)
            if first < last:
                yield segment, first, last - first
            before += segment.count


@by_identity(64)
def works(
    loop: Loop, machine: Machine, *, without: frozenset[Mechanism] = frozenset()
) -> dict[str, Work]:
    """Prepare every operation of a loop, by name."""
    costs = {operation.name: _cost(operation, machine) for operation in loop.operations}
    reads: dict[str, dict[Read, None]] = {o.name: {} for o in loop.operations}
    for dependence in loop.dependences:
        if dependence.kind == "data":
            maker, reader = costs[dependence.producer], costs[dependence.consumer]
            unit = maker.steps[0].unit
            chained = (
                dependence.in_place
                and maker.asynchronous
                and reader.asynchronous
                and unit == reader.steps[0].unit
                and machine.units[unit].in_order
            )
            read = Read(dependence.producer, dependence.distance, chained)
            reads[dependence.consumer][read] = None
    return {
        operation.name: _simplified(
            _work(operation, costs[operation.name], machine, tuple(reads[operation.name])),
            without,
        )
        for operation in loop.operations
    }


def handed_on(works: Mapping[str, Work], home: Mapping[str, str]) -> dict[str, int]:
    """Return the results that more warps of a group read than make it, with how many those are."""
    found: dict[str, int] = {}
    for reader in works.values():
        for value in {read.value for read in reader.reads if home[read.value] == home[reader.name]}:
            if reader.warps > works[value].warps:
                found[value] = max(reader.warps, found.get(value, 0))
    return found


def _simplified(work: Work, without: frozenset[Mechanism]) -> Work:
    """Return an operation without what is switched off."""
    if not work.asynchronous:
        return work
    if "issue-cost" in without:
        work = replace(work, segments=tuple(replace(s, interval=0.0) for s in work.segments))
    if "shared-ports" in without:
        work = replace(work, demands=work.demands[:1])
    return replace(work, tail=0) if "completion" in without else work


def _cost(operation: Operation, machine: Machine) -> Cost:
    cost = machine.cost(operation)
    for position, step in enumerate(cost.steps):
        if step.unit not in machine.units:
            raise InputError(
                f"{machine.name} has no unit named {short(step.unit)}",
                path=f"operation {operation.name}.cost.steps[{position}].unit",
            )
    return cost


def _work(operation: Operation, cost: Cost, machine: Machine, reads: tuple[Read, ...]) -> Work:
    first = cost.steps[0]
    if cost.asynchronous:
        interval = cost.issue / first.instructions
        segments: tuple[Segment, ...] = (Segment("", first.instructions, interval, interval),)
        others: tuple[tuple[int, tuple[Segment, ...]], ...] = ()
        busy = max(step.cycles for step in cost.steps)
    else:
        (_, segments), *rest = _shares(operation, cost, machine)
        others = tuple(rest)
        busy = sum(step.cycles for step in cost.steps)
    return Work(
        name=operation.name,
        asynchronous=cost.asynchronous,
        variable_latency=cost.variable_latency,
        warps=operation.warps,
        segments=segments,
        demands=_demands(cost, machine) if cost.asynchronous else (),
        tail=max(0, cost.latency - busy),
        latency=cost.latency,
        transfer=cost.transfer,
        reads=reads,
        bytes=operation.result.bytes if operation.result is not None else 0,
        by_proxy=cost.asynchronous and machine.units[first.unit].proxy is not None,
        others=others,
    )


def _demands(cost: Cost, machine: Machine) -> tuple[Demand, ...]:
    """Divide the work among as many commands as the first step has instructions.

    Issue slots are not among it: the warps that issue the commands take those.
    """
    commands = cost.steps[0].instructions
    return tuple(
        Demand(
            unit=step.unit,
            cycles=step.cycles / commands,
            share=step.cycles / commands * step.count / machine.units[step.unit].capacity,
        )
        for step in cost.steps
        if step.unit != machine.issue_unit
    )


def _shares(
    operation: Operation, cost: Cost, machine: Machine
) -> Iterator[tuple[int, tuple[Segment, ...]]]:
    """Divide a synchronous operation's instructions among its warps.

    A step counts the instructions of one context. A remainder goes to the first warps, one more
    each. Yields the first warp of each range of equal warps, with its segments.
    """
    contexts = min(operation.warps, machine.contexts.value)
    totals = [step.instructions * contexts for step in cost.steps]
    edges = {0, *(total % operation.warps for total in totals)}
    for warp in sorted(edges):
        segments = []
        for step, total in zip(cost.steps, totals, strict=True):
            interval = step.cycles / step.instructions
            unit = machine.units[step.unit]
            shared = unit.scope == "sm"
            part = step.count / unit.capacity
            if shared:
                interval *= part
            count = total // operation.warps + (warp < total % operation.warps)
            segments.append(
                Segment(
                    unit=step.unit,
                    count=max(1, count),
                    interval=interval,
                    share=interval / contexts if shared else interval * part,
                )
            )
        yield warp, tuple(segments)
