"""A solution of a problem becomes the artifact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import zip_longest

from pydantic import ValidationError

from twill.artifacts.base import first_problem
from twill.artifacts.program import Program
from twill.artifacts.proof import Proof
from twill.artifacts.schedule import Group, Placement, Schedule
from twill.base.errors import RefusedError
from twill.bounds.infeasible import lack
from twill.lower.fences import with_fences
from twill.lower.layout import Layout, takeovers
from twill.lower.pipeline import Pipeline, Signal, pipeline
from twill.lower.programs import programs
from twill.lower.synchronization import Exchanges, Synchronization
from twill.lower.waits import delays_nobody, in_memory, releasing, results, streaming_late
from twill.memory import Allocation, Conflict, Ring, Tenant, allocate
from twill.problem import Problem
from twill.problem.lifetimes import memory_occupants
from twill.problem.solution import Assignment, peaks


def realize(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    proof: Proof | None = None,
    *,
    names: Mapping[int, str] | None = None,
    tight: Collection[str] = (),
) -> Schedule:
    """Turn a modulo schedule with warp assignment into the artifact.

    `names`: of groups, by their index in the assignment; without them they are called after what
    they do.
    `tight`: groups that wait for what reads their registers as soon as it has read them, since they
    have no room for it until they wait anyway.

    Raises
    ------
    RefusedError
        If a memory cannot hold its buffers.
    InputError
        If there are more slots or cycles than a schedule can say.
    """
    named = pipeline(problem, interval, assignment, names)
    layout = lay_out(named)
    synchronization = Synchronization(Exchanges(layout), tight)
    length = named.assignment.length(problem)
    return artifact(
        synchronization,
        lambda: programs(synchronization),
        problem.loop.file or problem.loop.name,
        start=named.start,
        live=peaks(problem, interval, named.assignment),
        name=problem.loop.name,
        description=f"{problem.loop.name} on {problem.machine.name}",
        rules=problem.rules,
        time=problem.scale,
        initiation_interval=interval,
        length=length,
        stages=-(-length // interval),
        proof=proof,
    )


def artifact(
    synchronization: Synchronization,
    bodies: Callable[[], tuple[Program, ...]],
    file: str,
    *,
    start: Sequence[int] = (),
    live: Sequence[int | None] = (),
    **more: object,
) -> Schedule:
    """Return a schedule with these programs.

    `file`: for errors.
    `start`, `live`: of operations, when they issue; of groups, most registers that are live. An
    order does not say either.

    Raises
    ------
    InputError
        If there are more slots or cycles than a schedule can say.
    """
    layout, pipeline = synchronization.layout, synchronization.pipeline
    loop, machine = pipeline.problem.loop, pipeline.problem.machine
    names = [o.name for o in loop.operations]
    try:
        document = {
            "groups": tuple(
                Group(
                    name=name,
                    warps=group.warps,
                    variable_latency=group.variable_latency,
                    registers=group.allocation or None,
                    registers_live=live[g] if live else None,
                )
                for g, (name, group) in zip(pipeline.names, pipeline.groups.items(), strict=True)
            ),
            "placements": tuple(
                Placement(operation=name, group=group, start=time)
                for name, group, time in zip_longest(names, pipeline.place, start)
            ),
            "pipeline_depths": {names[v]: depth for v, depth in layout.depths.items()},
            "hiding_depths": {names[v]: depth for v, depth in layout.hiding.items()},
            "storage": tuple(layout.storage),
            "fixed": tuple(layout.fixed),
            "barriers": synchronization.barriers,
            "programs": bodies(),
            "loop": loop,
            "machine": machine,
            "machine_hash": machine.digest,
        }
        return with_fences(Schedule.model_validate({**document, **more}))
    except ValidationError as error:
        raise first_problem(error, file) from None


# -- slots and addresses by the clock ---------------------------------------------------------


def lay_out(pipeline: Pipeline, *, exactly: bool = True) -> Layout:
    """Give every value its slots, and those in SMEM and TMEM addresses.

    Rings of streaming loads are as deep as hiding the nominal latency asks for, and share memory
    with nothing. Where that does not fit they are made shallower, the largest first, down to what
    the static schedule needs.

    `exactly`: whether addresses are searched for where they are not easily found.

    Raises
    ------
    RefusedError
        If a memory cannot hold what lives at once.
    """
    wanted = _wanted(pipeline)
    allocation = _allocated(pipeline, wanted, exactly=exactly)
    rings = allocation.rings
    slots = tuple(
        rings[place].count if (place := Tenant(v, staged=False)) in rings else least
        for v, least in enumerate(wanted)
    )
    streaming = [o.index for o in pipeline.problem.operations if o.streaming]
    return Layout(
        pipeline,
        slots,
        {v: _staging(pipeline, v, rings) for v in sorted(e.producer for e in pipeline.copies)},
        {v: slots[v] for v in streaming},
        {v: wanted[v] for v in streaming},
        rings,
        allocation.invariants,
        takeovers(pipeline, rings),
    )


def _allocated(pipeline: Pipeline, wanted: tuple[int, ...], *, exactly: bool) -> Allocation:
    """Return addresses with rings as near to the slots that are wanted as memory allows."""
    problem, interval, assignment = pipeline.problem, pipeline.interval, pipeline.assignment
    given_slots = partial(allocate, problem, interval, assignment, until_read=True, exactly=exactly)
    least = given_slots()
    if isinstance(least, Conflict):
        room = problem.memories[least.memory]
        about = lack(least.memory, None, least.needed, room) if least.needed else None
        raise RefusedError(_refusal(problem, least), about)
    given = {t.operation: ring.count for t, ring in least.rings.items() if not t.staged}
    slots = {v: max(wanted[v], given[v]) for v in given if problem.operations[v].streaming}
    while slots:
        found = given_slots(slots)
        if isinstance(found, Allocation):
            return found
        largest = min(
            (v for v in slots if problem.operations[v].memory == found.memory),
            key=lambda v: (slots[v] <= given[v], -slots[v] * problem.operations[v].footprint),
            default=None,
        )
        if largest is None:
            break
        slots[largest] -= 1
        if slots[largest] < given[largest]:
            del slots[largest]
    return least


def _refusal(problem: Problem, conflict: Conflict) -> str:
    occupants = memory_occupants(problem, conflict.memory)
    names = dict.fromkeys(occupants[i].name for fact in conflict.facts for i, _, _ in fact)
    room = problem.amount(conflict.memory, problem.memories[conflict.memory])
    needed = "find no addresses together"
    if conflict.needed:
        needed = f"take {problem.amount(conflict.memory, conflict.needed)} at once"
    return (
        f"{problem.loop.name}: {', '.join(names) or 'what lives through the loop'} {needed} in "
        f"{conflict.memory}; {problem.machine.name} has {room}"
    )


def _wanted(pipeline: Pipeline) -> tuple[int, ...]:
    """Return the slots that readers ask for, and of streaming loads hiding their latency."""
    problem, interval = pipeline.problem, pipeline.interval
    released: dict[int, list[int]] = defaultdict(list)
    for release in releasing(
        pipeline, in_memory(pipeline), results(pipeline), partial(delays_nobody, pipeline)
    ):
        if release.tells is Signal.EMPTY:
            released[release.operation].append(release.time + problem.hop)
    found = []
    for o in problem.operations:
        begin, edges = pipeline.start[o.index], problem.consumers[o.index]
        crossing = [edge for edge in edges if pipeline.crosses(edge)]
        ends = [pipeline.read_until(edge) for edge in edges if not pipeline.crosses(edge)]
        if o.memory is not None:
            ends += released[o.index]
        elif crossing:
            ends.append(begin + o.latency + o.transfer)
            if problem.rules == "paper":
                ends += [pipeline.read_until(edge) for edge in crossing]
        last = max(ends, default=begin + o.latency) - begin
        chosen = pipeline.choices.slots.get(o.index)
        late = streaming_late(problem, o.index) if o.streaming and chosen is None else 0
        found.append(max(chosen or 1, -(-last // interval), -(-(last + late) // interval)))
    return tuple(found)


def _staging(pipeline: Pipeline, v: int, rings: Mapping[Tenant, Ring]) -> int:
    """Return the slots of the staging of a register value, also where SMEM has no limit."""
    staged = rings.get(Tenant(v, staged=True))
    if staged is not None:
        return staged.count
    last = max(pipeline.issued(edge) for edge in pipeline.copies if edge.producer == v)
    ahead = last + pipeline.problem.hop - pipeline.start[v]
    return max(1, -(-ahead // pipeline.interval))
