"""Addresses: against enumeration, shared in time, judged by verifier and simulator."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import twill
from tests.support.placements import (
    UNIT,
    alive,
    fits,
    random_assignment,
    random_cases,
    random_problem,
    shares,
    slot_by_slot,
    with_memory,
)
from tests.support.small import edge, hand_made, op, small_loop, small_machine, smem_of, tmem_of
from twill.artifacts.loop import Invariant, Read, Tile
from twill.artifacts.program import Await, Wait
from twill.base.errors import RefusedError
from twill.bounds import bounds
from twill.engines import Limits, Question
from twill.engines.cpsat.sums import covers
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.memory import Allocation, Conflict, allocate
from twill.memory.packing import Buffer, Range, heaviest_clique, pack
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment, excess, sums_of
from twill.sim.engine.events import SimulationError

GROUPS = (
    WarpGroup(1, True, 24, 8),
    WarpGroup(1, False, 24, 8),
    *[WarpGroup(4, False, 152, 224)] * 3,
)


# -- packing ------------------------------------------------------------------------------------


def test_packing_is_right_about_every_small_case() -> None:
    generator = random.Random(0)
    answers = []
    for case in range(300):
        sizes = [generator.randint(1, 4) for _ in range(generator.randint(3, 6))]
        pairs = [
            p for p in itertools.combinations(range(len(sizes)), 2) if generator.random() < 0.6
        ]
        capacity = generator.randint(4, 8)
        buffers = [Buffer(size, 1, 1) for size in sizes]
        placed = pack(buffers, frozenset(pairs), capacity)
        assert (placed is not None) == fits(sizes, set(pairs), capacity), case
        answers.append(placed is not None)
        if placed is None:
            continue
        ranges = [ranges[0] for ranges in placed]
        assert all(r.address + r.size <= capacity for r in ranges)
        assert not any(ranges[a].overlaps(ranges[b]) for a, b in pairs)
    assert 50 < sum(answers) < 250


def test_what_shares_no_address_with_anything_leaves_the_others_their_room() -> None:
    """Rings and alignments are enumerated; half of the buffers are apart from all."""
    generator = random.Random(2)
    answers = []
    for case in range(100):
        buffers = [
            Buffer(generator.randint(1, 3), generator.randint(1, 2), generator.choice((1, 2)))
            for _ in range(generator.randint(3, 4))
        ]
        alone = {u for u in range(len(buffers)) if generator.random() < 0.5}
        pairs = [
            (u, v)
            for u, v in itertools.combinations(range(len(buffers)), 2)
            if alone & {u, v} or generator.random() < 0.5
        ]
        capacity = generator.randint(5, 9)
        expected = any(
            _allowed([r for ranges in placed for r in ranges], _slots_apart(buffers, pairs))
            for placed in itertools.product(*(_rings(b, capacity) for b in buffers))
        )
        placed = pack(buffers, frozenset(pairs), capacity)
        assert (placed is not None) == expected, case
        answers.append(expected)
        if placed is None:
            continue
        ranges = [r for ring in placed for r in ring]
        assert _allowed(ranges, _slots_apart(buffers, pairs))
        assert all(r.address + r.size <= capacity for r in ranges)
        assert all(
            r.address % b.alignment == 0
            for b, ring in zip(buffers, placed, strict=True)
            for r in ring
        )
    assert 25 < sum(answers) < 75


def _rings(buffer: Buffer, capacity: int) -> list[tuple[Range, ...]]:
    """Return the places of a buffer's slots, one behind the other."""
    addresses = range(0, capacity - buffer.size + 1, buffer.alignment)
    return [
        tuple(Range(address, buffer.size, None) for address in some)
        for some in itertools.combinations(addresses, buffer.count)
    ]


def _slots_apart(buffers: Sequence[Buffer], pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of slots, of all buffers in a row, that share no address."""
    owner = [u for u, buffer in enumerate(buffers) for _ in range(buffer.count)]
    return [
        (i, j)
        for i, j in itertools.combinations(range(len(owner)), 2)
        if owner[i] == owner[j] or (owner[i], owner[j]) in pairs
    ]


def test_a_ring_of_five_takes_more_than_any_moment_of_it() -> None:
    # Each lives with the next, at most two at once; an odd ring of them needs room for three.
    pairs = frozenset({(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)})
    buffers = [Buffer(1, 1, 1)] * 5
    assert heaviest_clique(buffers, pairs)[0] == 2 * 2
    for capacity in (2, 3):
        assert (pack(buffers, pairs, capacity) is not None) == fits([1] * 5, set(pairs), capacity)
    assert pack(buffers, pairs, 2) is None


def test_halves_stand_side_by_side_and_those_of_one_side_do_not() -> None:
    apart = frozenset({(0, 1)})
    free = [Buffer(128, 1, 1, halved=True)] * 2
    placed = pack(free, apart, 128)
    assert placed is not None
    assert {ranges[0] for ranges in placed} == {Range(0, 128, 0), Range(0, 128, 1)}
    tied = [Buffer(128, 1, 1, halved=True, side=0)] * 2
    assert pack(tied, apart, 255) is None
    assert pack(tied, apart, 256) is not None


def test_packing_of_halves_is_right_about_every_small_case() -> None:
    """Columns are enumerated; a second half of lanes is none of a tile that takes them all."""
    generator = random.Random(1)
    answers = []
    for case in range(200):
        buffers = [
            Buffer(generator.randint(1, 3), 1, 1, halved=generator.random() < 0.6)
            for _ in range(generator.randint(3, 4))
        ]
        pairs = [
            p for p in itertools.combinations(range(len(buffers)), 2) if generator.random() < 0.5
        ]
        capacity = generator.randint(3, 5)
        places = [
            [
                Range(address, buffer.size, half)
                for address in range(capacity - buffer.size + 1)
                for half in ((0, 1) if buffer.halved else (None,))
            ]
            for buffer in buffers
        ]
        expected = any(_allowed(ranges, pairs) for ranges in itertools.product(*places))
        placed = pack(buffers, frozenset(pairs), capacity)
        assert (placed is not None) == expected, case
        assert placed is None or _allowed([ranges[0] for ranges in placed], pairs)
        answers.append(expected)
    assert 50 < sum(answers) < 150


def _allowed(ranges: Sequence[Range], pairs: list[tuple[int, int]]) -> bool:
    """Whether ranges that meet share no cell, and no second half lies in a tile of all lanes."""
    cells = [
        {
            (column, lanes)
            for column in range(r.address, r.address + r.size)
            for lanes in ((0, 1) if r.half is None else (r.half,))
        }
        for r in ranges
    ]
    each = [(r.half, cell) for r, taken in zip(ranges, cells, strict=True) for cell in taken]
    whole = {cell for half, cell in each if half is None}
    second = {cell for half, cell in each if half == 1}
    return not whole & second and not any(cells[a] & cells[b] for a, b in pairs)


# -- allocation against enumeration ---------------------------------------------------------------


@pytest.mark.parametrize("hop", [0, 1])
def test_allocation_agrees_with_enumeration_of_instances(hop: int) -> None:
    generator = random.Random(hop)
    found: list[bool] = []
    for case in range(150):
        problem = random_problem(generator, hop)
        interval = generator.randint(2, 6)
        assignment = random_assignment(generator, problem)
        answer = allocate(problem, interval, assignment)
        possible = slot_by_slot(problem, interval, assignment)
        if isinstance(answer, Allocation):
            assert possible, case
        elif hop == 0:
            assert not possible, case
        found.append(isinstance(answer, Allocation))
    assert 20 < sum(found) < 140


def all_seen(problem: Problem, interval: int, assignment: Assignment, conflict: Conflict) -> bool:
    """Return whether of every fact something is seen."""
    return all(
        any(alive(problem, interval, assignment, i, j) >= count for i, j, count in fact)
        for fact in conflict.facts
    )


def test_facts_of_a_conflict_rule_out_every_assignment_that_has_them() -> None:
    generator = random.Random(7)
    ruled_out = 0
    for _ in range(120):
        problem = random_problem(generator, generator.randint(0, 1))
        interval = generator.randint(2, 6)
        answer = allocate(problem, interval, random_assignment(generator, problem))
        if isinstance(answer, Allocation):
            continue
        for _ in range(20):
            other = random_assignment(generator, problem)
            if all_seen(problem, interval, other, answer):
                ruled_out += 1
                assert isinstance(allocate(problem, interval, other), Conflict)
                if problem.hop == 0:
                    assert not slot_by_slot(problem, interval, other)
    assert ruled_out > 100


def test_facts_hold_for_the_assignment_that_they_come_from() -> None:
    generator = random.Random(3)
    conflicts = 0
    for _ in range(100):
        problem = random_problem(generator, 1)
        assignment = random_assignment(generator, problem)
        answer = allocate(problem, 3, assignment)
        if isinstance(answer, Conflict):
            conflicts += 1
            assert answer.facts
            assert all_seen(problem, 3, assignment, answer)
    assert conflicts > 20


def test_loops_that_share_memory_are_valid_and_run_without_an_alarm() -> None:
    generator = random.Random(11)
    sharing = 0
    for case in range(120):
        problem = random_problem(generator, generator.randint(0, 2))
        interval = bounds(problem).interval + generator.randint(2, 16)
        groups = (WarpGroup(4, False, 0, 1 << 30),) * generator.randint(1, 2)
        engine = DifferenceEngine(Question(problem, interval, 2 * interval + 8, groups, seed=case))
        assignment = engine.solve().assignment
        engine.dispose()
        if assignment is None or isinstance(allocate(problem, interval, assignment), Conflict):
            continue
        for units in range(1, 9):  # the least memory that will do
            problem = with_memory(problem, units * UNIT)
            if isinstance(allocate(problem, interval, assignment), Allocation):
                break
        schedule = realize(problem, interval, assignment)
        assert twill.verify(schedule).violations == (), case
        sharing += shares(schedule)
        # With fewer iterations than the farthest dependence reaches nothing is read.
        for iterations in (8, 9, 20) if shares(schedule) else ():
            assert twill.sim.run(schedule, iterations=iterations).total_cycles > 0
    assert sharing > 10


def test_a_hop_passes_between_a_reader_and_a_writer_of_another_group() -> None:
    tile = {"shape": (256,), "dtype": "f32", "memory": "smem"}
    operations = [op("a", "ALU", memory="smem"), op("b", "ALU", 2), op("c", "ALU", memory="smem"),
                  op("d", "ALU")]  # fmt: skip
    assert Tile.model_validate(tile) == operations[0].result
    loop = small_loop(operations, [edge("a", "b"), edge("c", "d")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    machine = small_machine({"ALU": 4}, hop=3, smem=1024)

    def schedule(place: dict[str, str], c: int) -> twill.Schedule:
        used = {name: group for name, group in groups.items() if name in place.values()}
        return hand_made(loop, machine, 16, {"a": 0, "b": 1, "c": c, "d": c + 4}, place, used)

    one = dict.fromkeys("abcd", "left")
    two = {"a": "left", "b": "left", "c": "right", "d": "right"}
    for place, earliest in ((one, 3), (two, 6)):
        found = schedule(place, earliest)
        assert twill.verify(found).violations == ()
        assert twill.sim.run(found).total_cycles > 0
        with pytest.raises(RefusedError, match="a, c take 2048 bytes at once in smem"):
            schedule(place, earliest - 1)
    # The judge knows the hop by itself.
    placements = tuple(
        p.model_copy(update={"start": 5}) if p.operation == "c" else p for p in found.placements
    )
    early = found.model_copy(update={"placements": placements})
    assert [str(v) for v in twill.verify(early).violations if v.rule == "addresses"] == [
        "addresses: a of iteration 0 and c of iteration 0 are both live at smem address 0"
    ]


# -- attention forward on Blackwell ----------------------------------------------------------------


@pytest.fixture(scope="module")
def forward() -> tuple[Problem, Assignment]:
    problem = build_problem(
        twill.load_loop("fa_fwd_blackwell"), twill.Machine.named("blackwell_b200")
    )
    engine = DifferenceEngine(Question(problem, 3000, 6000, GROUPS))
    try:
        for slack in (0, 50, 20, 100, 80, 150):
            for transfers in (0, 1):
                assignment = engine.solve(Limits(transfers=transfers, slack=slack)).assignment
                if assignment and isinstance(allocate(problem, 3000, assignment), Allocation):
                    return problem, assignment
    finally:
        engine.dispose()
    pytest.fail("no assignment with addresses among those tried")


@pytest.fixture(scope="module")
def laid_out(forward: tuple[Problem, Assignment]) -> twill.Schedule:
    return realize(forward[0], 3000, forward[1])


def columns(schedule: twill.Schedule, value: str) -> set[int]:
    entry = next(s for s in schedule.storage if s.value == value and s.memory == "tmem")
    return {a + k for a in entry.addresses for k in range(entry.size)}


def test_attention_forward_fits_tensor_memory(laid_out: twill.Schedule) -> None:
    big = [columns(laid_out, v) for v in ("s0.mma", "s1.mma", "o0", "o1")]
    assert len(set().union(*big)) <= 512
    for tile in ("0", "1"):
        # What is updated in place stays where it is.
        assert columns(laid_out, f"o{tile}") == columns(laid_out, f"o{tile}.tmem_store2")
    taken = sum(len(c) for c in big) + sum(
        len(columns(laid_out, f"o{tile}.tmem_store")) for tile in "01"
    )
    assert taken > 512
    # These groups have too few registers for what is live on them; everything else is in order.
    assert {v.rule for v in twill.verify(laid_out).violations} <= {"registers"}


@pytest.mark.parametrize("latency", [None, "uniform:300,4000"])
def test_attention_forward_runs_without_an_alarm(
    laid_out: twill.Schedule, latency: str | None
) -> None:
    for iterations in (1, 2, 3, 24):
        assert twill.sim.run(laid_out, iterations=iterations, latency=latency).total_cycles > 0


def test_without_the_new_waits_the_simulator_objects(laid_out: twill.Schedule) -> None:
    # Waits for the readers of another value are those whose barrier is not the operation's own.
    dropped = 0
    programs = []
    for program in laid_out.programs:
        body = []
        for position, instruction in enumerate(program.body):
            if isinstance(instruction, Wait) and instruction.barrier.endswith(("empty", "freed")):
                mine = instruction.barrier.rpartition(".")[0]
                following = (i for i in program.body[position:] if not isinstance(i, Wait | Await))
                starts = next(following)
                issued = [part.operation for part in getattr(starts, "parts", [starts])]
                if mine not in issued:
                    dropped += 1
                    continue
            body.append(instruction)
        programs.append(program.model_copy(update={"body": tuple(body)}))
    assert dropped >= 1
    without = laid_out.model_copy(update={"programs": tuple(programs)})
    with pytest.raises(SimulationError, match=r"written over|overwrites"):
        twill.sim.run(without, latency="uniform:300,4000")


def moved(schedule: twill.Schedule, value: str, **update: Any) -> twill.Schedule:
    storage = tuple(
        s.model_copy(update=update) if s.value == value and s.memory == "tmem" else s
        for s in schedule.storage
    )
    return schedule.model_copy(update={"storage": storage})


def test_two_live_values_at_one_address_are_noticed_by_both(laid_out: twill.Schedule) -> None:
    o0 = next(s for s in laid_out.storage if s.value == "o0")
    over = moved(laid_out, "s0.mma", addresses=o0.addresses)
    assert any(
        v.rule == "addresses" and "s0.mma" in v.message and "both live" in v.message
        for v in twill.verify(over).violations
    )
    with pytest.raises(SimulationError, match=r"written over|overwrites tmem"):
        twill.sim.run(over)


def test_the_same_input_gives_the_same_addresses(
    forward: tuple[Problem, Assignment], laid_out: twill.Schedule
) -> None:
    again = realize(forward[0], 3000, forward[1])
    assert again.to_json() == laid_out.to_json()


# -- halves of tensor memory -----------------------------------------------------------------


def test_products_of_64_rows_share_columns() -> None:
    problem = build_problem(
        twill.load_loop("fa_bwd_blackwell"), twill.Machine.named("blackwell_b200")
    )
    footprints = {o.name: o.footprint for o in problem.operations if o.memory == "tmem"}
    assert problem.memories["tmem"] == 2 * 512
    assert sum(footprints[f"{name}{tile}"] for name in ("dv", "dk") for tile in "01") == 2 * 256
    assert footprints["dq.mma"] == 2 * 128


def product(name: str, start: Tile | None = None) -> Any:
    made = op(name, "TC", 2, asynchronous=True, latency=3, memory="tmem")
    tile = Tile(shape=(64, 128), dtype="f32", memory="tmem")
    return made.model_copy(update={"result": tile, "kind": "mma" if start else "test"})


def tensor_machine(columns: int) -> twill.Machine:
    machine = json.loads(small_machine().to_json())
    machine["memories"] = {"tmem": tmem_of(columns)}
    return twill.Machine.from_json(json.dumps(machine))


def halved(columns: int, operand: int | None = None) -> twill.Schedule:
    """Two accumulators of 64 rows; perhaps the first is an operand of the other."""
    tile = Tile(shape=(64, 128), dtype="f32", memory="tmem")
    edges = [edge("a", "a", 1, in_place=True), edge("b", "b", 1, in_place=True)]
    if operand is not None:
        edges.append(edge("a", "b", operand=operand))
    second = product("b", tile)
    loop = small_loop([product("a"), second], edges)
    groups = {"all": WarpGroup(4, False, 0, 9)}
    return hand_made(loop, tensor_machine(columns), 8, {"a": 0, "b": 4},
                     {"a": "all", "b": "all"}, groups)  # fmt: skip


@pytest.mark.parametrize("operand", [None, 1])
def test_two_accumulators_of_64_rows_take_the_two_halves(operand: int | None) -> None:
    schedule = halved(128, operand)
    assert twill.verify(schedule).violations == ()
    assert {(s.addresses, s.halves) for s in schedule.storage} == {((0,), (0,)), ((0,), (1,))}
    same = schedule.model_copy(
        update={"storage": tuple(s.model_copy(update={"halves": (0,)}) for s in schedule.storage)}
    )
    assert "both live at tmem address 0" in str(twill.verify(same).violations[0])
    with pytest.raises(SimulationError, match=r"written over|overwrites tmem"):
        twill.sim.run(same)
    whole = schedule.model_copy(
        update={"storage": tuple(s.model_copy(update={"halves": ()}) for s in schedule.storage)}
    )
    assert "both live at tmem address 0" in str(twill.verify(whole).violations[0])


def test_tensor_memory_that_is_exceeded_is_told_in_columns() -> None:
    smaller = halved(128).model_copy(update={"machine": tensor_machine(127)})
    told = [str(v) for v in twill.verify(smaller).violations if v.rule == "memory"]
    assert told == ["memory: tmem in slot 0: 128 live, capacity 127"]


def test_first_factor_and_accumulator_lie_in_the_same_half() -> None:
    with pytest.raises(RefusedError, match="find no addresses together in tmem"):
        halved(128, operand=0)
    schedule = halved(256, operand=0)
    assert twill.verify(schedule).violations == ()
    assert len({s.halves for s in schedule.storage}) == 1
    split = moved(schedule, "a", halves=(1 - schedule.storage[0].halves[0],))
    (violation,) = twill.verify(split).violations
    assert str(violation) == (
        "addresses: a and b are first factor and accumulator of a product and lie in different "
        "halves of tmem"
    )


def test_two_invariants_of_64_rows_take_the_two_halves() -> None:
    tile = Tile(shape=(64, 128), dtype="f32", memory="tmem")
    pair = tuple(Invariant(name=name, tile=tile, used_by=("a",)) for name in "qr")
    loop = small_loop([op("a", "ALU")]).model_copy(update={"invariants": pair})
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, tensor_machine(128), 8, {"a": 0}, {"a": "all"}, groups)
    assert {fixed.half for fixed in schedule.fixed} == {0, 1}
    assert twill.verify(schedule).violations == ()


@pytest.mark.parametrize("rows", [64, 65])
def test_halves_are_of_at_most_64_rows(rows: int) -> None:
    tile = Tile(shape=(rows, 128), dtype="f32", memory="tmem")
    loop = small_loop([op("a", "ALU")]).model_copy(
        update={"invariants": (Invariant(name="q", tile=tile, used_by=("a",)),)}
    )
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, tensor_machine(128), 8, {"a": 0}, {"a": "all"}, groups)
    half = schedule.model_copy(
        update={"fixed": (schedule.fixed[0].model_copy(update={"half": 0}),)}
    )
    told = ["addresses: q takes more than half the lanes of tmem"] * (rows > 64)
    assert [str(violation) for violation in twill.verify(half).violations] == told


def test_an_update_of_other_lanes_is_none() -> None:
    # 64 rows of 128 columns take as much as 128 rows of 64.
    other = Tile(shape=(128, 64), dtype="f32", memory="tmem")
    operations = [product("a"), product("b").model_copy(update={"result": other})]
    loop = small_loop(operations, [edge("a", "b", in_place=True)])
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, tensor_machine(512), 8, {"a": 0, "b": 4},
                         {"a": "all", "b": "all"}, groups)  # fmt: skip
    apart = moved(schedule, "b", addresses=(256,))
    assert schedule.storage[0].addresses != (256,)
    told = ["addresses: a is updated in place by b and lies elsewhere"]
    assert [str(violation) for violation in twill.verify(apart).violations] == told


def test_an_invariant_of_64_rows_leaves_the_other_half_of_its_columns() -> None:
    tile = Tile(shape=(64, 128), dtype="f32", memory="tmem")
    loop = small_loop([product("a")]).model_copy(
        update={"invariants": (Invariant(name="q", tile=tile, used_by=("a",)),)}
    )
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, tensor_machine(128), 8, {"a": 0}, {"a": "all"}, groups)
    (fixed,), (stored,) = schedule.fixed, schedule.storage
    assert {fixed.half, *stored.halves} == {0, 1}
    assert twill.verify(schedule).violations == ()
    same = moved(schedule, "a", halves=(fixed.half,))
    assert [str(violation) for violation in twill.verify(same).violations] == [
        "addresses: a lies over q in tmem (from 0)"
    ]


def test_an_invariant_that_is_a_first_factor_lies_in_the_half_of_the_accumulator() -> None:
    tile = Tile(shape=(64, 128), dtype="f32", memory="tmem")
    factor = Invariant(name="q", tile=tile, used_by=("b",), reads=(Read(operation="b", operand=0),))
    loop = small_loop([product("b", tile)]).model_copy(update={"invariants": (factor,)})
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, tensor_machine(256), 8, {"b": 0}, {"b": "all"}, groups)
    assert {schedule.fixed[0].half} == set(schedule.storage[0].halves)
    assert twill.verify(schedule).violations == ()
    split = moved(schedule, "b", halves=(1 - schedule.storage[0].halves[0],))
    (violation,) = twill.verify(split).violations
    assert str(violation).startswith("addresses: q and b are first factor and accumulator")


@pytest.mark.parametrize(("half", "told"), [
    (0, []), (1, ["addresses: slots of b lie in different halves of tmem"]),
])  # fmt: skip
def test_all_slots_of_a_value_lie_in_the_same_half(half: int, told: list[str]) -> None:
    accumulator = product("b", Tile(shape=(64, 128), dtype="f32", memory="tmem"))
    factor = op("a", "TC", 2, asynchronous=True, latency=3, memory="smem")
    reader = op("c", "ALU", 2)
    loop = small_loop([factor, accumulator, reader], [edge("a", "b", operand=0), edge("b", "c")])

    def scheduled(columns: int) -> twill.Schedule:
        data = json.loads(tensor_machine(columns).to_json())
        data["memories"]["smem"] = smem_of(4096)
        machine = twill.Machine.from_json(json.dumps(data))
        return hand_made(loop, machine, 6, {"a": 0, "b": 3, "c": 10}, dict.fromkeys("abc", "all"),
                         {"all": WarpGroup(4, False, 0, 9)})  # fmt: skip

    with pytest.raises(RefusedError, match="find no addresses together in tmem"):
        scheduled(255)
    schedule = scheduled(256)
    assert next(s for s in schedule.storage if s.value == "b").halves == (0, 0)
    apart = moved(schedule, "b", halves=(0, half))
    assert [str(violation) for violation in twill.verify(apart).violations] == told


# -- rings and messages -----------------------------------------------------------------------


def streaming(capacity: int) -> Callable[[], twill.Schedule]:
    load = op("k", "BUS", 1, asynchronous=True, latency=9, memory="smem", variable_latency=True)
    loop = small_loop([load, op("use", "ALU", 2)], [edge("k", "use")])
    machine = small_machine({"BUS": 1, "ALU": 1}, smem=capacity, groups=((4, 2),))
    groups = {"load": WarpGroup(4, True, 0, 9), "rest": WarpGroup(4, False, 0, 9)}
    return lambda: hand_made(
        loop, machine, 4, {"k": 0, "use": 0}, {"k": "load", "use": "rest"}, groups
    )


@pytest.mark.parametrize(("capacity", "depth"), [(8192, 3), (2048, 2), (1024, 1)])
def test_a_ring_is_as_deep_as_memory_allows_and_says_what_it_lacks(
    capacity: int, depth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from twill.show.schedule import print_schedule

    schedule = streaming(capacity)()
    assert twill.verify(schedule).violations == ()
    assert (schedule.pipeline_depths, schedule.hiding_depths) == ({"k": depth}, {"k": 3})
    print_schedule(schedule)
    warned = "warning: hiding its latency takes 3" in capsys.readouterr().out
    assert warned == (depth < 3)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(RefusedError, match=r"small: k take 1024 bytes at once in smem; small has"):
        streaming(512)()


# -- what is known of memories before and beside allocation ---------------------------------------


def test_what_has_addresses_exceeds_no_sum_with_whole_rings() -> None:
    tight = 0
    for case, (problem, interval, assignment) in enumerate(random_cases(21, 300)):
        (entry,) = sums_of(problem, ["memory"])
        plain = replace(entry, rings={})
        exceeded = bool(excess(problem, interval, entry, assignment))
        if isinstance(allocate(problem, interval, assignment), Allocation):
            assert not exceeded, case
        elif exceeded and not excess(problem, interval, plain, assignment):
            tight += 1
    assert tight > 3


def test_a_crowd_of_which_every_two_meet_has_no_addresses() -> None:
    met = 0
    for case, (problem, interval, assignment) in enumerate(random_cases(22, 400)):
        for cover in covers(problem, "smem"):
            if all_seen(problem, interval, assignment, cover):
                met += 1
                assert isinstance(allocate(problem, interval, assignment), Conflict), case
    assert met > 30


def test_a_crowd_is_named_only_if_it_does_not_fit() -> None:
    tile = Tile(shape=(UNIT // 4,), dtype="f32", memory="smem")
    names = ("a", "b", "c", "d")
    made = [op(name, "ALU", memory="smem").model_copy(update={"result": tile}) for name in names]
    found = {}
    for room in (2, 3, 4):
        problem = build_problem(small_loop(made), small_machine({"ALU": 4}, smem=room * UNIT))
        found[room] = [
            {i for fact in cover.facts for seen in fact for i in seen[:2]}
            for cover in covers(problem, "smem")
        ]
    assert found[2] == [{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}]
    assert found[3] == [{0, 1, 2, 3}]
    assert found[4] == []
