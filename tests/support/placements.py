"""Addresses by enumeration: every instance, every address, no solver."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import twill
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.loop import Tile
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup
from twill.problem.lifetimes import memory_occupants
from twill.problem.solution import Assignment

UNIT = 1024
GROUPS = (WarpGroup(4, False, 0, 1 << 30),) * 2


def fits(sizes: Sequence[int], clashes: set[tuple[int, int]], capacity: int) -> bool:
    """Whether ranges of these sizes fit so that those that clash are disjoint."""
    chosen: list[int] = []

    def place(k: int) -> bool:
        if k == len(sizes):
            return True
        for address in range(capacity - sizes[k] + 1):
            clear = all(
                (i, k) not in clashes
                or address + sizes[k] <= chosen[i]
                or chosen[i] + sizes[i] <= address
                for i in range(k)
            )
            if clear:
                chosen.append(address)
                if place(k + 1):
                    return True
                chosen.pop()
        return False

    return place(0)


def random_problem(generator: random.Random, hop: int) -> Problem:
    """Return two to four values in SMEM of one to four units, one perhaps in registers."""
    count = generator.randint(2, 4)
    operations = []
    for index in range(count):
        name = f"o{index}"
        if index and generator.random() < 0.2:
            operations.append(op(name, "ALU", registers=2, transfer=1))
            continue
        tile = Tile(shape=(generator.randint(1, 4) * 256,), dtype="f32", memory="smem")
        cycles, away = generator.randint(1, 3), generator.random() < 0.3
        made = op(name, "TC" if away else "ALU", cycles, asynchronous=away, memory="smem")
        operations.append(made.model_copy(update={"result": tile}))
    pairs = [(u, v) for v in range(1, count) for u in range(v)]
    edges = [edge(f"o{u}", f"o{v}") for u, v in pairs if generator.random() < 0.6]
    if generator.random() < 0.5:
        edges.append(edge(f"o{count - 1}", "o0", 7))
    capacity = generator.randint(4, 8) * UNIT
    machine = small_machine({"ALU": 4, "TC": 1}, hop=hop, smem=capacity)
    return build_problem(small_loop(operations, edges), machine)


def random_assignment(generator: random.Random, problem: Problem) -> Assignment:
    """Return issue times in the order of the operations, and groups."""
    time, start = 0, []
    for _ in problem.operations:
        start.append(time)
        time += generator.randint(1, 4)
    return Assignment(tuple(start), tuple(generator.choice([0, 1]) for _ in start), GROUPS)


def random_cases(seed: int, count: int) -> Iterator[tuple[Problem, int, Assignment]]:
    """Yield problems with an interval and an assignment, some with a hop."""
    generator = random.Random(seed)
    for _ in range(count):
        problem = random_problem(generator, generator.randint(0, 1))
        interval = generator.randint(2, 6)
        yield problem, interval, random_assignment(generator, problem)


def lives(
    problem: Problem, interval: int, assignment: Assignment, i: int, writer: int
) -> tuple[int, int] | None:
    """When instance 0 of occupant i is alive, for a writer on the group of `writer`."""
    occupant = memory_occupants(problem, "smem")[i]
    v = occupant.start
    staged = problem.operations[v].memory is None
    ends = []
    for e in problem.edges:
        crosses = assignment.group[e.producer] != assignment.group[e.consumer]
        if e.producer != v or (staged and not crosses):
            continue
        end = assignment.start[e.consumer] + e.distance * interval + (0 if staged else e.hold)
        away = assignment.group[e.consumer] != assignment.group[writer]
        ends.append(end + (problem.hop if away else 0))
    begin = assignment.start[v]
    if not ends and staged:
        return None
    away = assignment.group[v] != assignment.group[writer]
    own = begin + problem.operations[v].latency + (problem.hop if away else 0)
    return begin, max(ends, default=own)


def alive(problem: Problem, interval: int, assignment: Assignment, i: int, starting: int) -> int:
    """Count the instances of occupant i that are alive when one of `starting` begins."""
    occupants = memory_occupants(problem, "smem")
    span = lives(problem, interval, assignment, i, occupants[starting].start)
    other = lives(problem, interval, assignment, starting, occupants[starting].start)
    if span is None or other is None:
        return 0
    time = assignment.start[occupants[starting].start]
    begin, end = span
    return sum(begin + k * interval <= time < end + k * interval for k in range(-40, 41))


def slot_by_slot(problem: Problem, interval: int, assignment: Assignment) -> bool:
    """Whether slots fit that are disjoint only where instances in them live at once."""
    occupants = memory_occupants(problem, "smem")
    present = [
        i
        for i, occupant in enumerate(occupants)
        if lives(problem, interval, assignment, i, occupant.start) is not None
    ]
    count = {i: max(1, alive(problem, interval, assignment, i, i)) for i in present}
    slots = [(i, k) for i in present for k in range(count[i])]
    clashes = set()
    for (a, (i, k)), (b, (j, m)) in itertools.combinations(enumerate(slots), 2):
        if i == j or _meet(problem, interval, assignment, (i, k, count[i]), (j, m, count[j])):
            clashes.add((a, b))
    sizes = [occupants[i].weight // UNIT for i, _ in slots]
    return fits(sizes, clashes, problem.memories["smem"] // UNIT)


def _meet(
    problem: Problem,
    interval: int,
    assignment: Assignment,
    first: tuple[int, int, int],
    second: tuple[int, int, int],
) -> bool:
    occupants = memory_occupants(problem, "smem")
    (i, k, n), (j, m, o) = first, second
    a = lives(problem, interval, assignment, i, occupants[j].start)
    b = lives(problem, interval, assignment, j, occupants[i].start)
    assert a is not None
    assert b is not None
    for x in range(k, 48, n):
        for y in range(m, 48, o):
            begin, other = a[0] + x * interval, b[0] + y * interval
            if begin <= other < a[1] + x * interval or other <= begin < b[1] + y * interval:
                return True
    return False


def with_memory(problem: Problem, capacity: int) -> Problem:
    """Return the same loop on the same machine with less SMEM, or more."""
    machine = small_machine({"ALU": 4, "TC": 1}, hop=problem.hop, smem=capacity)
    return build_problem(problem.loop, machine, rules=problem.rules)


def shares(schedule: twill.Schedule) -> bool:
    """Whether some address in SMEM belongs to two values."""
    cells = [
        cell
        for s in schedule.storage
        for address in s.addresses
        for cell in range(address, address + s.size, 128)
    ]
    return len(cells) > len(set(cells))
