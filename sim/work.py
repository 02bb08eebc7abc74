"""Operations as the simulator executes them: instructions on pipes, or commands for a unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from twill.artifacts.loop import Cost, Loop, Operation
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Issue
from twill.errors import InputError, short
from twill.sim.hardware import Demand
from twill.sim.switches import Mechanism


@dataclass(frozen=True)
class Segment:
    """`count` instructions of a warp on one unit.

    Attributes
    ----------
    unit : str
        The pipe; empty for commands to an asynchronous unit.
    interval : float
        Cycles from one instruction to the next, as far as the pipe or the command decides.
    share : float
        Cycles of the pipe that one instruction fills; less than `interval` where several contexts
        use one pipe or the operation leaves a part of it free.
    size : int
        Instructions that are executed as one, in a bundle; `count` counts bundles, and `interval`
        and `share` are of a bundle.
    """

    unit: str
    count: int
    interval: float
    share: float
    size: int = 1


@dataclass(frozen=True)
class Read:
    """An operand.

    Attributes
    ----------
    value, distance : str, int
        The operation that made it, that many iterations before.
    chained : bool
        Whether the reader accumulates on the same in-order unit that made the value, so that it
        may be queued behind it without a wait.
    """

    value: str
    distance: int
    chained: bool


@dataclass(frozen=True)
class Work:
    """An operation with all that executing it takes.

    Attributes
    ----------
    segments : tuple of Segment
        What each of its warps issues.
    demands : tuple of Demand
        What each command of an asynchronous operation takes of units.
    tail : int
        Cycles from the end of the work until the result can be read.
    reads : tuple of Read
        Values that it reads.
    bytes : int
        Bytes of its result.
    """

    name: str
    asynchronous: bool
    variable_latency: bool
    warps: int
    segments: tuple[Segment, ...]
    demands: tuple[Demand, ...]
    tail: int
    latency: int
    transfer: int
    reads: tuple[Read, ...]
    bytes: int

    @cached_property
    def instructions(self) -> int:
        """Instructions that one warp issues for it; bundles count as one."""
        return sum(segment.count for segment in self.segments)

    @cached_property
    def slots(self) -> int:
        """Issue slots that one warp takes for it, each instruction of a bundle one."""
        return sum(segment.count * segment.size for segment in self.segments)

    def extent(self, part: Issue) -> tuple[int, int]:
        """Return the first instruction of a part and the one after its last.

        Parameters
        ----------
        part : Issue
            A part of this operation.
        """
        if part.begin is None or part.end is None or part.of is None:
            return 0, self.instructions
        total = self.instructions
        return -(-part.begin * total // part.of), -(-part.end * total // part.of)

    def stream(self, part: Issue) -> Iterator[tuple[Segment, int]]:
        """Yield the instructions of a part, each with its index.

        Parameters
        ----------
        part : Issue
            A part of this operation.
        """
        begin, end = self.extent(part)
        before = 0
        for segment in self.segments:
            first, last = max(begin, before), min(end, before + segment.count)
            for index in range(first, last):
                yield segment, index
            before += segment.count


def works(
    loop: Loop,
    machine: Machine,
    *,
    bundle: int = 1,
    without: frozenset[Mechanism] = frozenset(),
) -> dict[str, Work]:
    """Prepare every operation of a loop, by name.

    Parameters
    ----------
    loop : Loop
        The loop.
    machine : Machine
        The machine that executes it.
    bundle : int
        Instructions of a warp on one pipe that are executed as one, at most.
    without : frozenset of str
        Mechanisms that are switched off.
    """
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
            bundle,
            without,
        )
        for operation in loop.operations
    }


def _simplified(work: Work, bundle: int, without: frozenset[Mechanism]) -> Work:
    """Return an operation in bundles, and without what is switched off."""
    if not work.asynchronous:
        segments = (part for segment in work.segments for part in _bundled(segment, bundle))
        return replace(work, segments=tuple(segments))
    if "issue-cost" in without:
        work = replace(work, segments=tuple(replace(s, interval=0.0) for s in work.segments))
    if "shared-ports" in without:
        work = replace(work, demands=work.demands[:1])
    return replace(work, tail=0) if "completion" in without else work


def _bundled(segment: Segment, bundle: int) -> Iterator[Segment]:
    """Yield bundles of instructions, and what is left over."""
    for size, count in ((bundle, segment.count // bundle), (segment.count % bundle, 1)):
        if size and count:
            interval, share = segment.interval * size, segment.share * size
            yield Segment(segment.unit, count, interval, share, size)


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
        busy = max(step.cycles for step in cost.steps)
    else:
        segments = _segments(operation, cost, machine)
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


def _segments(operation: Operation, cost: Cost, machine: Machine) -> tuple[Segment, ...]:
    """Split a synchronous operation's instructions among its warps."""
    contexts = machine.contexts.value
    warps_on_context = -(-operation.warps // contexts)
    found = []
    for step in cost.steps:
        interval = step.cycles / step.instructions
        unit = machine.units[step.unit]
        sharers = min(operation.warps, contexts) if unit.scope == "sm" else 1
        found.append(
            Segment(
                unit=step.unit,
                count=max(1, step.instructions // warps_on_context),
                interval=interval,
                share=interval * step.count / unit.capacity / sharers,
            )
        )
    return tuple(found)
