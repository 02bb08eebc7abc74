"""Small machines and loops with costs of their own, made for one test each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import twill
from twill.artifacts.loop import Cost, Dependence, Operation, Step, Tile
from twill.artifacts.schedule import Rules
from twill.lower import realize
from twill.problem import build_problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment


def number(value: int, unit: str = "things") -> dict[str, Any]:
    return {"value": value, "unit": unit, "source": "TEST"}


def smem_of(capacity: int) -> dict[str, Any]:
    """Return SMEM of so many bytes."""
    facts = {"alignment": number(128, "bytes"), "swizzle": number(1024, "bytes")}
    return {"capacity": capacity, "unit": "bytes", **facts, "source": "TEST"}


def tmem_of(capacity: int) -> dict[str, Any]:
    """Return TMEM of so many columns."""
    facts = {"lanes": number(128, "lanes"), "half": number(64, "rows")}
    return {"capacity": capacity, "unit": "columns", **facts, "source": "TEST"}


def small_machine(
    units: Mapping[str, int] | None = None,
    *,
    registers: int | None = None,
    hop: int = 0,
    groups: Iterable[tuple[int, int]] = ((4, 2),),
    smem: int | None = None,
    in_order: Iterable[str] = ("TC",),
    proxies: Iterable[str] = (),
    file: int = 65536,
    step: int = 8,
    least: int = 24,
    most: int = 256,
    launch: int | None = None,
    reserve: int = 0,
) -> twill.Machine:
    """Return a machine; `registers` is what values may take on each of two groups.

    Units among `proxies` reach shared memory through one.

    `file` is in registers, 128 for each register per thread of four warps; allocations are
    multiples of `step` from `least` to `most`, a launch gives multiples of `launch`, and `reserve`
    of each thread's hold no values.
    """
    units = units or {"TC": 1, "ALU": 1}
    data: dict[str, Any] = {
        "name": "small",
        "clock": {"value": 1000.0, "unit": "MHz", "source": "TEST"},
        "multiprocessors": number(1),
        "contexts": number(4),
        "warps": number(64),
        "threads_per_warp": number(32),
        "units": {
            name: {
                "capacity": capacity,
                "unit": "units",
                "source": "TEST",
                "in_order": name in in_order,
                "proxy": {"name": "async", "source": "TEST"} if name in proxies else None,
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
            "transactions": number((1 << 20) - 1, "bytes"),
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
            "file": number(file),
            "limit": number(registers),
            "step": number(step),
            "least": number(least),
            "most": number(most),
            "warps": number(4),
            "reserve": {"value": float(reserve), "unit": "registers", "source": "TEST"},
            "launch": None if launch is None else number(launch),
        }
    if smem is not None:
        data["memories"] = {"smem": smem_of(smem)}
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
    elements: int = 256,
    variable_latency: bool = False,
    elementwise: bool = False,
    working_set: int = 0,
    warps: int = 4,
) -> Operation:
    """Return an operation with a cost of its own.

    Its result takes `registers` per thread of its warps, or `elements` of 4 bytes in `memory`.
    """
    result = None
    if registers:
        result = Tile(shape=(32 * warps, registers), dtype="f32", memory="registers")
    elif memory is not None:
        result = Tile.model_validate({"shape": (elements,), "dtype": "f32", "memory": memory})
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
    operations, names = [operation.name for operation in loop.operations], list(groups)
    assignment = Assignment(
        start=tuple(start[name] for name in operations),
        group=tuple(names.index(place[name]) for name in operations),
        groups=tuple(groups.values()),
    )
    return realize(problem, interval, assignment, names=dict(enumerate(names)))


# Two loops on which a search that keeps the first modulo schedule's stages skips a feasible
# interval (the paper's Algorithm 1, line 9).
def stages_lost(rules: Rules) -> tuple[twill.Loop, twill.Machine]:
    if rules == "paper":
        first = op("a", "TC", 2, asynchronous=True, registers=1, transfer=2)
        return small_loop([first, op("b", "ALU", 1)], [edge("a", "b")]), small_machine()
    first, second = op("a", "TC", 1, asynchronous=True), op("b", "TC", 2, asynchronous=True)
    loop = small_loop([first, second, op("c", "MUFU", 2)], [edge("a", "b", blocking=True)])
    return loop, small_machine({"TC": 1, "MUFU": 1}, groups=((4, 1),))


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


def crowded_loop(seed: int) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop of 2 to 5 operations whose results take half of a thread's registers or so.

    The file holds one to three groups of them.
    """
    generator = random.Random(seed)
    operations = []
    for index in range(generator.randint(2, 5)):
        unit, cycles = generator.choice(["TC", "ALU", "BUS"]), generator.randint(1, 6)
        operations.append(
            op(
                f"o{index}",
                unit,
                cycles,
                latency=cycles + generator.choice([0, 0, 3, 10]),
                asynchronous=unit == "TC",
                issue=int(unit == "TC"),
                registers=generator.choice([0, 1, 3, 5, 6, 6, 7]),
                transfer=generator.choice([0, 2, 8, 20]),
                elementwise=unit != "TC" and generator.random() < 0.7,
            )
        )

    def read(u: int, v: int, distance: int = 0) -> Dependence:
        first, second = operations[u].result, operations[v].result
        updated = {e.consumer for e in edges if e.in_place}
        alike = first is not None and first == second and f"o{v}" not in updated
        in_place = alike and generator.random() < 0.4
        return edge(f"o{u}", f"o{v}", distance, in_place=in_place)

    edges: list[Dependence] = []
    for v in range(1, len(operations)):
        makers = [u for u in range(v) if generator.random() < 0.5] or [v - 1]
        edges += [read(u, v) for u in makers]
    if generator.random() < 0.6:
        u, v = sorted(generator.choices(range(len(operations)), k=2))
        edges.append(read(v, u, generator.randint(1, 2)))
    limit = generator.choice([7, 8, 9, 10, 12])
    file = 128 * generator.choice([limit, limit + 3, 2 * limit, 3 * limit])
    machine = small_machine(
        {"TC": 1, "ALU": 1, "BUS": 2},
        hop=generator.choice([0, 2]),
        groups=((4, 4),),
        registers=limit,
        file=file,
        step=1,
        least=1,
        most=16,
    )
    return small_loop(operations, edges), machine


def tight_loop(seed: int) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop of 3 to 12 operations and a machine on which it is a tight fit.

    There are loads that stream into SMEM, operations of variable latency that wait, recurrences,
    transfers and hops; the register file and SMEM hold little more than one operation needs.
    """
    return _TightLoop(random.Random(seed)).made()


class _TightLoop:
    """Draws one loop, and a machine from what its operations need."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        more = generator.sample([("ALU", 1), ("BUS", generator.randint(2, 3))], 2)
        self.units = dict([("TC", 1), *more[: generator.randint(0, 2)]])
        self.count = 3 + min(generator.randint(0, 9), generator.randint(0, 9))
        self.names = [f"o{index}" for index in range(self.count)]
        self.loads = generator.choice([0, 0, 1, 1, 2])
        self.operations = [self._operation(index) for index in range(self.count)]
        self.edges = self._edges()

    def made(self) -> tuple[twill.Loop, twill.Machine]:
        groups = [(1, self.random.randint(1, 2)), (4, self.random.randint(1, 3))]
        if self.random.random() < 0.25 or any(o.warps == 8 for o in self.operations):
            groups.append((8, 1))
        need = max(self._registers_at_once(o) for o in self.operations)
        limit = max(need + self.random.choice([0, 1, 2, 4]), 1)
        blocks = 2 if any(o.warps == 8 for o in self.operations) else 1
        spare = self.random.choice([1, 2, 3, limit, 2 * limit, 3 * limit])
        machine = small_machine(
            self.units,
            registers=limit,
            hop=self.random.choice([0, 1, 1, 2]),
            groups=groups,
            smem=1024 * (self._tiles_at_once() + self.random.randint(2, 6)),
            file=128 * (blocks * limit + spare + 1),
            step=1,
            least=1,
            most=limit,
        )
        return small_loop(self.operations, self.edges), machine

    def _operation(self, index: int) -> Operation:
        draw = self.random
        unit = draw.choice(list(self.units))
        loads = index < self.loads
        streams = loads and draw.random() < 0.75
        cycles = draw.choice([1, 1, 2, 3])
        asynchronous = loads or unit == "TC" or draw.random() < 0.1
        in_memory = streams or draw.random() < 0.15
        return op(
            self.names[index],
            unit,
            cycles,
            latency=cycles + (draw.randint(0, 4) if asynchronous else 0),
            asynchronous=asynchronous,
            issue=draw.randint(0, 1) if asynchronous else 0,
            registers=0 if in_memory else draw.choice([0, 1, 1, 2, 3]),
            memory="smem" if in_memory else None,
            transfer=draw.randint(0, 2),
            count=draw.randint(1, self.units[unit]),
            elementwise=not asynchronous and draw.random() < 0.5,
            working_set=draw.choice([0, 0, 0, 1]),
            variable_latency=loads,
            warps=1 if loads else draw.choice([1, 4, 4, 4, 4, 4, 4, 8]),
        )

    def _edges(self) -> list[Dependence]:
        """Return a tree, a few edges more, and a recurrence or two."""
        draw, found = self.random, dict[tuple[int, int, int], Dependence]()
        for v in range(max(1, self.loads), self.count):
            for u in {draw.randrange(v), max(0, v - draw.randint(1, 3))}:
                kind = "order" if draw.random() < 0.1 else "data"
                found[u, v, 0] = edge(self.names[u], self.names[v], kind=kind)
        for _ in range(draw.randint(0, 2)):
            u, v = sorted(draw.choices(range(self.loads, self.count), k=2))
            distance = draw.choice([1, 1, 2])
            in_place = u == v and draw.random() < 0.5
            found[v, u, distance] = edge(self.names[v], self.names[u], distance, in_place=in_place)
        if self.loads and draw.random() < 0.3:
            last, distance = self.count - 1, draw.randint(1, 2)
            found[last, 0, distance] = edge(self.names[last], self.names[0], distance)
        return list(found.values())

    def _registers_at_once(self, operation: Operation) -> int:
        """Return registers per thread of an operation's result, operands and working set."""
        own = {o.name: self._result(o) for o in self.operations}
        read = {d.producer for d in self.edges if d.consumer == operation.name}
        working_set = operation.cost.working_set if operation.cost else 0
        return working_set + sum(own[name] for name in {*read, operation.name})

    def _tiles_at_once(self) -> int:
        return sum(bool(o.result and o.result.memory == "smem") for o in self.operations)

    @staticmethod
    def _result(operation: Operation) -> int:
        result = operation.result
        return (
            result.registers_each(32 * operation.warps)
            if result and result.memory == "registers"
            else 0
        )


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
