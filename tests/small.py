"""Small machines and loops with costs of their own, made for one test each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import twill
from twill.artifacts.loop import Cost, Dependence, Operation, Step, Tile
from twill.joint.groups import WarpGroup
from twill.pipeline import Pipeline
from twill.problem import build_problem
from twill.scheduler import realize


def number(value: int, unit: str = "things") -> dict[str, Any]:
    return {"value": value, "unit": unit, "source": "TEST"}


def small_machine(
    units: Mapping[str, int] | None = None,
    *,
    registers: int | None = None,
    hop: int = 0,
    groups: Iterable[tuple[int, int]] = ((4, 2),),
    smem: int | None = None,
    in_order: Iterable[str] = ("TC",),
) -> twill.Machine:
    """Return a machine; `registers` is what values may take on each of two groups."""
    units = units or {"TC": 1, "ALU": 1}
    data: dict[str, Any] = {
        "name": "small",
        "clock": {"value": 1000.0, "unit": "MHz", "source": "TEST"},
        "multiprocessors": number(1),
        "contexts": number(4),
        "warps": number(64),
        "units": {
            name: {
                "capacity": capacity,
                "unit": "units",
                "source": "TEST",
                "in_order": name in in_order,
            }
            for name, capacity in units.items()
        },
        "groups": tuple(
            {"warps": width, "count": count, "source": "TEST"} for width, count in groups
        ),
        "synchronisation": {
            "wait": {"value": 0, "source": "TEST"},
            "arrive": {"value": 0, "source": "TEST"},
            "hop": {"value": hop, "source": "TEST"},
        },
        "transfer": {"cycles": "0", "source": "TEST"},
        "sources": {"TEST": "made up for a test"},
        "rules": (
            {
                "kind": ("never",),
                "steps": ({"unit": next(iter(units)), "cycles": "1"},),
                "latency": "1",
                "source": "TEST",
            },
        ),
    }
    if registers is not None:
        data["registers"] = {
            "file": number(65536),
            "limit": number(registers),
            "step": number(8),
            "least": number(24),
            "most": number(256),
            "warps": number(4),
            "reserve": {"value": 0.0, "unit": "registers", "source": "TEST"},
        }
    if smem is not None:
        data["memories"] = {"smem": {"capacity": smem, "unit": "bytes", "source": "TEST"}}
    return twill.Machine.model_validate(data)


def op(
    name: str,
    unit: str,
    cycles: int = 1,
    *,
    latency: int | None = None,
    asynchronous: bool = False,
    issue: int = 0,
    registers: int = 0,
    transfer: int = 0,
    count: int = 1,
    memory: str | None = None,
    variable_latency: bool = False,
    elementwise: bool = False,
    working_set: int = 0,
    warps: int = 4,
) -> Operation:
    """Return an operation with a cost of its own; `registers` per thread for its result."""
    result = None
    if registers:
        result = Tile(shape=(128, registers), dtype="f32", memory="registers")
    elif memory is not None:
        result = Tile.model_validate({"shape": (256,), "dtype": "f32", "memory": memory})
    return Operation(
        name=name,
        kind="test",
        warps=warps,
        result=result,
        elementwise=elementwise,
        cost=Cost(
            steps=(Step(unit=unit, cycles=cycles, instructions=cycles, count=count),),
            asynchronous=asynchronous,
            issue=issue,
            latency=cycles if latency is None else latency,
            transfer=transfer,
            working_set=working_set,
            variable_latency=variable_latency,
        ),
    )


def edge(producer: str, consumer: str, distance: int = 0, **more: Any) -> Dependence:
    return Dependence(producer=producer, consumer=consumer, distance=distance, **more)


def small_loop(operations: Iterable[Operation], edges: Iterable[Dependence] = ()) -> twill.Loop:
    return twill.Loop(name="small", operations=tuple(operations), dependences=tuple(edges))


def hand_made(
    loop: twill.Loop,
    machine: twill.Machine,
    interval: int,
    start: Mapping[str, int],
    place: Mapping[str, str],
    groups: Mapping[str, WarpGroup],
    **options: Any,
) -> twill.Schedule:
    """Return the schedule in which everything was placed by hand."""
    problem = build_problem(loop, machine, **options)
    names = [operation.name for operation in loop.operations]
    return realize(
        Pipeline(
            problem=problem,
            interval=interval,
            start=tuple(start[name] for name in names),
            place=tuple(place[name] for name in names),
            groups=dict(groups),
        )
    )


def random_loop(seed: int) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop of 2 to 4 operations with recurrences, tight registers and a machine for it."""
    generator = random.Random(seed)
    units = {"TC": 1, "ALU": 1, "BUS": 2}
    count = generator.randint(2, 4)
    operations = []
    for index in range(count):
        unit = generator.choice(list(units))
        cycles = generator.randint(1, 2)
        asynchronous = unit == "TC" or generator.random() < 0.2
        operations.append(
            op(
                f"o{index}",
                unit,
                cycles,
                latency=cycles + generator.randint(0, 1),
                asynchronous=asynchronous,
                issue=generator.randint(0, 1) if asynchronous else 0,
                registers=generator.choice([0, 1, 1, 2]),
                transfer=generator.randint(0, 2),
                count=generator.randint(1, 2) if unit == "BUS" else 1,
                elementwise=not asynchronous and generator.random() < 0.5,
            )
        )
    pairs = [(u, v) for v in range(1, count) for u in range(v)]
    edges = [edge(f"o{u}", f"o{v}") for u, v in pairs if generator.random() < 0.6]
    if generator.random() < 0.6:
        u, v = generator.randrange(count), generator.randrange(count)
        edges.append(edge(f"o{max(u, v)}", f"o{min(u, v)}", generator.randint(1, 2)))
    machine = small_machine(
        units, registers=generator.choice([2, 3, 4]), hop=generator.randint(0, 1)
    )
    return small_loop(operations, edges), machine


def connected(loop: twill.Loop) -> bool:
    """Whether dependences tie all operations together, so that no group can run away."""
    reached, pending = set(), [loop.operations[0].name]
    while pending:
        name = pending.pop()
        reached.add(name)
        ends = [(d.producer, d.consumer) for d in loop.dependences]
        near = {b for a, b in ends if a == name} | {a for a, b in ends if b == name}
        pending.extend(near - reached)
    return len(reached) == len(loop.operations)
