"""Programs that are held against the bound of their loop: how close they come, and random ones."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import twill
from tests.support.small import connected
from twill.artifacts.loop import Operation, Step
from twill.artifacts.machine import Machine
from twill.artifacts.order import Order, OrderedGroup
from twill.artifacts.program import Interleave, Issue
from twill.artifacts.schedule import Schedule
from twill.bounds.arguments import Argument
from twill.bounds.programs import program_bounds
from twill.lower.orders import schedule_of
from twill.sim.checks.races import Races
from twill.sim.engine import WARP_SCHEDULERS, Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import run
from twill.verification.reading import read_model
from twill.verification.registers import register_file, registers
from twill.verification.times import Placed, variable_latency

LATENCIES = {None: None, "fixed:1": 1}
"""Sources of the latencies of loads, and what each load takes at least; nominal without one."""
ITERATIONS, ITERATIONS_WITH_RACES = 64, 12
MOST_GROUPS = 4
LONGEST = 2
"""Iterations that dependences of random loops span: so many at the end wait for none."""


RESTS_ON = {
    "registers": (registers, register_file),
    "registers of groups": (registers, register_file, variable_latency),
}
"""Rules of the verifier, by the reason of an argument; others rest on the simulator alone."""


def distances(
    schedule: Schedule, iterations: int = ITERATIONS
) -> Iterator[tuple[str, Argument, float]]:
    """Yield conditions, the argument of the bound, and how many times it a program takes.

    The simulator executes programs with more registers than there are; of those registers are no
    argument. Groups that nothing ties together run ahead of each other, so that the whole run
    counts.
    """
    for latency, least in LATENCIES.items():
        arguments = program_bounds(schedule.loop, schedule.machine, latency=least)
        argument = next(a for a in arguments if accepted(schedule, a.reason))
        for scheduler in WARP_SCHEDULERS:
            found = run(schedule, iterations=iterations, latency=latency, warp_scheduler=scheduler)
            interval = found.measured_interval_cycles
            if interval is None or not connected(schedule.loop):
                interval = found.total_cycles / (iterations - LONGEST)
            yield (
                f"{latency or 'nominal'}, {scheduler}",
                argument,
                interval / float(argument.cycles),
            )


def accepted(schedule: Schedule, reason: str) -> bool:
    """Return whether the verifier accepts a program by the rules that an argument rests on."""
    model = read_model(schedule.loop, schedule.machine, rules=schedule.rules)
    placed = Placed(model, schedule)
    return not any(fault for rule in RESTS_ON.get(reason, ()) for fault in rule(placed))


def varied(loop: twill.Loop, machine: Machine, seed: int) -> tuple[twill.Loop, Machine]:
    """Return a loop and a machine with pipes of contexts, issue slots, waits, and a port, or not.

    Asynchronous operations use the port beside their unit, and others instead of theirs.
    """
    generator = random.Random(seed)
    data = machine.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name, unit in data["units"].items():
        if name != "TC" and generator.random() < 0.3:
            unit["scope"] = "context"
    port = {"capacity": 4, "unit": "bytes", "source": "TEST"}
    data["units"]["PORT"] = port
    if generator.random() < 0.5:
        data["units"]["issue"] = port | {"capacity": 8, "scope": "context"}
        data["issue_unit"] = "issue"
        data["mechanisms"] = {
            "registers": _register_slots(data["units"], random.Random(f"{seed} slots"))
        }
    for cost in ("wait", "arrive", "hop"):
        data["synchronisation"][cost]["value"] += generator.choice([0, 0, 1, 3])
    used = generator.random() < 0.5
    operations = [_varied(o, generator) if used else o for o in loop.operations]
    return (
        loop.model_copy(update={"operations": tuple(operations)}),
        Machine.model_validate_json(json.dumps(data)),
    )


def _register_slots(units: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """Return rules by which products on TC share register slots with the contexts' own pipes."""
    pipes = [
        n for n, u in units.items() if u.get("scope") == "context" and n not in ("TC", "issue")
    ]
    first = generator.sample(pipes, generator.randint(0, len(pipes)))
    figures: dict[str, list[float]] = {
        "free": [0.1, 0.25, 0.5],
        "kept": [1, 2, 4],
        "apart": [1, 1.4, 2],
    }
    return {
        "unit": "TC",
        "first": first,
        "waiting": [pipe for pipe in pipes if pipe not in first],
        **{
            key: {"value": generator.choice(v), "source": "TEST", "unit": "1"}
            for key, v in figures.items()
        },
    }


def _varied(operation: Operation, generator: random.Random) -> Operation:
    cost = operation.cost
    assert cost is not None
    if generator.random() < 0.3:
        return operation
    cycles, count = generator.randint(1, 4), generator.randint(1, 4)
    moved = Step(unit="PORT", cycles=cycles, count=count, instructions=generator.randint(1, cycles))
    kept = cost.steps if cost.asynchronous or generator.random() < 0.5 else ()
    busy = (max if cost.asynchronous else sum)(step.cycles for step in (*kept, moved))
    new = {"steps": (*kept, moved), "latency": max(cost.latency, busy) + generator.randint(0, 2)}
    return operation.model_copy(update={"cost": cost.model_copy(update=new)})


def random_program(loop: twill.Loop, machine: Machine, seed: int | str) -> Schedule | None:
    """Return a program in which the loop's dependences are kept, none if it is not correct.

    Operations are on up to four groups, in any order, each up to a few rounds after what it needs,
    some in two parts, and some interleaved with the following one.
    """
    generator = random.Random(seed)
    widths = [generator.choice([1, 4, 4, 8]) for _ in range(generator.randint(1, MOST_GROUPS))]
    bodies: list[list[Issue]] = [[] for _ in widths]
    for operation, stage in _in_some_order(loop, generator):
        if operation.warps > max(widths):
            widths[0] = operation.warps
        fitting = [body for body, warps in zip(bodies, widths, strict=True)
                   if warps >= operation.warps]  # fmt: skip
        generator.choice(fitting).append(Issue(operation=operation.name, stage=stage))
    groups = tuple(
        OrderedGroup(
            name=f"group{i}", warps=warps, variable_latency=False, body=_cut(body, generator)
        )
        for i, (warps, body) in enumerate(zip(widths, bodies, strict=True))
        if body
    )
    try:
        order = Order(name="random", groups=groups, loop=loop, machine=machine)
        schedule = schedule_of(order, loop, machine)
        few = Conditions(iterations=ITERATIONS_WITH_RACES)
        StreamingMultiprocessor(schedule, few, [Races(schedule)]).run()
    except (twill.InputError, SimulationError):
        return None
    return schedule


def _cut(body: list[Issue], generator: random.Random) -> tuple[Issue | Interleave, ...]:
    """Return a group's operations, perhaps one of them in parts, and two of them interleaved."""
    found: list[Issue | Interleave] = [*body]
    if generator.random() < 0.3:
        place = generator.randrange(len(body))
        parts = [
            body[place].model_copy(update={"begin": begin, "end": begin + 1, "of": 2})
            for begin in (0, 1)
        ]
        found[place] = parts[0]
        found.insert(generator.randint(place + 1, min(len(found), place + 2)), parts[1])
    place = generator.randrange(len(found))
    if generator.random() < 0.3 and place + 1 < len(found):
        one, other = found[place : place + 2]
        assert isinstance(one, Issue)
        assert isinstance(other, Issue)
        if one.operation != other.operation:
            found[place : place + 2] = [Interleave(parts=(one, other))]
    return tuple(found)


def _in_some_order(loop: twill.Loop, generator: random.Random) -> list[tuple[Operation, int]]:
    """Return operations and their stages, none before what it needs of its iteration."""
    needed = {
        o.name: [d.producer for d in loop.dependences if d.consumer == o.name and not d.distance]
        for o in loop.operations
    }
    stages: dict[str, int] = {}
    found = []
    left = list(loop.operations)
    while left:
        operation = generator.choice([o for o in left if stages.keys() >= set(needed[o.name])])
        left.remove(operation)
        before = max((stages[name] for name in needed[operation.name]), default=0)
        stages[operation.name] = before + (generator.random() < 0.25)
        found.append((operation, stages[operation.name]))
    if generator.random() < 0.5:
        found.sort(key=lambda one: -one[1])
    return found
