"""Programs made from schedules: order, waits, and that they run for any trip count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.small import (
    connected,
    edge,
    hand_made,
    op,
    random_loop,
    small_loop,
    small_machine,
    tight_loop,
)
from tests.support.static import static_schedule
from tests.support.unrolled import unrolled
from twill.artifacts.program import Arrive, Await, Get, Interleave, Issue, Program, Put, Wait
from twill.artifacts.schedule import Rules
from twill.frontends import load_loop
from twill.problem.groups import WarpGroup
from twill.sim.checks import check
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.values import Values
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor


def words(program: Program) -> list[str]:
    """Write a program down in short: what, of which stage."""
    found = []
    for i in program.body:
        match i:
            case Issue():
                found.append(f"issue {i.operation} {i.stage}")
            case Interleave():
                found.append("interleave " + " ".join(part.operation for part in i.parts))
            case Await():
                found.append(f"await {i.operation} {i.stage} -{i.distance}")
            case Wait() | Arrive():
                found.append(f"{i.do} {i.barrier} {i.stage} -{i.distance}")
            case Put() | Get():
                found.append(f"{i.do} {i.value} {i.stage}")
    return found


def test_the_running_example_is_figure_1f(paper_schedule: twill.Schedule) -> None:
    # Steady state: Sn = gemm(Q, K[i]); P = exp(S); O += gemm(P, V[i-1]). The second wait keeps the
    # registers of P until the product that reads them is done.
    assert (
        "; ".join(words(paper_schedule.program("compute0")))
        == "issue S 0; await S 1 -0; await O 1 -1; issue P 1; issue O 1"
    )


def test_attention_loads_run_ahead_in_rings(attention_schedule: twill.Schedule) -> None:
    assert (
        "; ".join(words(attention_schedule.program("load")))
        == "wait k.empty 0 -2; issue k 0; wait v.empty 0 -2; issue v 0"
    )
    arrivals = {barrier.name: barrier.arrivals for barrier in attention_schedule.barriers}
    assert (arrivals["k.full"], arrivals["k.empty"]) == (1, 2)


def test_groups_take_turns_on_the_tensor_core(attention_schedule: twill.Schedule) -> None:
    first = words(attention_schedule.program("compute0"))
    second = words(attention_schedule.program("compute1"))
    assert "arrive s0.issued 0 -0" in first
    assert "wait s0.issued 0 -0" in second
    assert first.index("wait s1.issued 0 -0") < next(
        i for i, word in enumerate(first) if word == "issue o0 0"
    )


def test_operations_that_overlap_on_one_group_are_split_where_a_wait_falls() -> None:
    # The exponential runs from 0 to 8; at 4 the addition waits for the product.
    operations = [
        op("gemm", "TC", 4, asynchronous=True),
        op("exp", "EXP", 8),
        op("add", "ADD", 2),
    ]
    machine = small_machine({"TC": 1, "EXP": 1, "ADD": 1})
    loop = small_loop(operations, [edge("gemm", "add")])
    start = {"gemm": 0, "exp": 0, "add": 4}
    groups = {"all": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, machine, 8, start, dict.fromkeys(start, "all"), groups)
    assert words(schedule.program("all")) == [
        "await gemm 1 -0",
        "interleave exp add",
        "issue exp 1",
        "issue gemm 0",
        "issue exp 0",
    ]
    parts = [part for part in schedule.program("all").issues if part.operation == "exp"]
    assert [(p.begin, p.end, p.stage) for p in parts] == [(4, 6, 1), (6, 8, 1), (0, 4, 0)]
    # The rules refuse it: a blocking wait interrupts the exponential.
    assert [v.rule for v in twill.verify(schedule).violations] == ["concurrency"]


@pytest.mark.parametrize("iterations", range(1, 7))
def test_every_trip_count_reads_only_its_own_values(
    attention_schedule: twill.Schedule, paper_schedule: twill.Schedule, iterations: int
) -> None:
    for schedule in (attention_schedule, paper_schedule):
        assert twill.sim.run(schedule, iterations=iterations).total_cycles > 0


@pytest.mark.parametrize(
    "seeds",
    [
        range(20),
        pytest.param(range(20, 100), marks=[pytest.mark.slow, pytest.mark.sample]),
    ],
    ids=["some", "more"],
)
@pytest.mark.parametrize("rules", ["issue", "paper"])
def test_programs_of_small_loops_run_without_an_alarm(rules: Rules, seeds: range) -> None:
    achieved = []
    for seed in seeds:
        loop, machine = random_loop(seed)
        try:
            schedule = static_schedule(loop, machine, rules=rules)
        except twill.RefusedError:
            continue
        assert twill.verify(schedule).violations == (), seed
        for iterations in (1, 2, 3):
            twill.sim.run(schedule, iterations=iterations)
        if connected(loop):
            achieved.append(twill.sim.run(schedule, iterations=40).achieved)
    assert len(achieved) > len(seeds) / 3
    # With two or three cycles an iteration, a wait that falls between two of them can cost one.
    assert sum(bool(a) for a in achieved) / len(achieved) > 0.93


def test_a_transfer_is_put_sent_and_taken() -> None:
    loop = small_loop([op("a", "TC", registers=1, transfer=4), op("b", "ALU", 2)], [edge("a", "b")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    schedule = hand_made(loop, small_machine(), 8, {"a": 0, "b": 5},
                         {"a": "left", "b": "right"}, groups)  # fmt: skip
    assert words(schedule.program("left")) == [
        "issue a 0",
        "wait a.taken 0 -1",
        "put a 0",
        "arrive a.sent 0 -0",
    ]
    assert words(schedule.program("right")) == [
        "wait a.sent 0 -0",
        "get a 0",
        "arrive a.taken 0 -0",
        "issue b 0",
    ]
    # The staging has one slot: two cycles to write it, two to read it.
    assert twill.sim.run(schedule).measured_interval_cycles == 4


@pytest.mark.parametrize(("left", "right"), [(8, 4), (4, 8), (8, 8)])
def test_warps_without_a_share_in_a_value_neither_put_nor_get_it(left: int, right: int) -> None:
    loop = small_loop([op("a", "TC", registers=1, transfer=4), op("b", "ALU", 2)], [edge("a", "b")])
    groups = {"left": WarpGroup(left, False, 0, 9), "right": WarpGroup(right, False, 0, 9)}
    schedule = hand_made(loop, small_machine(groups=[(4, 2), (8, 2)]), 8, {"a": 0, "b": 5},
                         {"a": "left", "b": "right"}, groups)  # fmt: skip
    assert twill.sim.run(schedule).measured_interval_cycles == 4


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("place", ["left", "right"])
@pytest.mark.parametrize(
    ("maker", "reader", "left", "right"),
    [(1, 4, 4, 4), (1, 4, 1, 8), (1, 8, 8, 8), (4, 8, 4, 8), (4, 8, 8, 8), (8, 4, 8, 8)],
)
def test_a_value_is_read_by_more_or_fewer_warps_than_make_it(
    maker: int, reader: int, left: int, right: int, place: str, asynchronous: bool
) -> None:
    """On another group through SMEM; on its own one the warps wait for each other."""
    operations = [
        op("a", "TC", 2, latency=6, registers=1, transfer=4, warps=maker,
           asynchronous=asynchronous),
        op("b", "ALU", 2, registers=1, warps=reader),
    ]  # fmt: skip
    loop = small_loop(operations, [edge("a", "b"), edge("a", "b", 1)])
    groups = {"left": WarpGroup(max(left, reader) if place == "left" else left, False, 0, 9)}
    if place == "right":
        groups["right"] = WarpGroup(right, False, 0, 9)
    machine = small_machine(groups=[(1, 2), (4, 2), (8, 2)], smem=1 << 16)
    schedule = hand_made(loop, machine, 16, {"a": 0, "b": 11}, {"a": "left", "b": place}, groups)
    for iterations in (1, 2, 9):
        check(schedule, iterations=iterations)
        values = Values(schedule, iterations, dataflow=Dataflow(loop, stand_ins=True))
        watched = values.watch()
        StreamingMultiprocessor(schedule, Conditions(iterations=iterations), [watched]).run()
        assert values.differences(watched) == []


def test_what_dependences_order_needs_no_barrier_for_an_empty_slot() -> None:
    # b reads a, and the next a reads b: when a is overwritten b is done.
    operations = [op("a", "ALU", 2, memory="smem"), op("b", "TC", 2, memory="smem")]
    machine = small_machine(smem=8192)
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    place = {"a": "left", "b": "right"}
    for edges, barriers in (
        ([edge("a", "b"), edge("b", "a", 1)], {"a.full", "b.full"}),
        ([edge("a", "b")], {"a.full", "a.empty"}),
    ):
        loop = small_loop(operations, edges)
        schedule = hand_made(loop, machine, 4, {"a": 0, "b": 2}, place, groups)
        assert {barrier.name for barrier in schedule.barriers} == barriers
        for iterations in (1, 2, 3, 20):
            twill.sim.run(schedule, iterations=iterations)


def test_the_last_of_several_products_empties_the_slot_by_itself() -> None:
    # Both are on the tensor core, which executes in order: nobody waits for the first one.
    operations = [
        op("k", "ALU", 2, memory="smem"),
        op("s", "TC", 2, asynchronous=True, memory="smem"),
        op("t", "TC", 2, asynchronous=True, memory="smem"),
    ]
    loop = small_loop(operations, [edge("k", "s"), edge("k", "t")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    place = {"k": "left", "s": "right", "t": "right"}
    schedule = hand_made(
        loop, small_machine(smem=16384), 4, {"k": 0, "s": 2, "t": 4}, place, groups
    )
    signals = {part.operation: part.signals for part in schedule.program("right").issues}
    assert signals == {"s": (), "t": ("k.empty",)}
    assert not any(isinstance(i, Await) for i in schedule.program("right").body)
    for iterations in (1, 2, 3, 20):
        twill.sim.run(schedule, iterations=iterations)


def test_a_release_that_nobody_waits_for_is_left_out() -> None:
    """A value that only the next iteration reads is not released after the last one.

    Nothing would keep that arrive behind the producer's wait for the one before.
    """
    loop = small_loop(
        [op("a", "TC", memory="smem"), op("b", "ALU", 2)], [edge("a", "b", distance=1)]
    )
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    schedule = hand_made(loop, small_machine(smem=1 << 14), 4, {"a": 0, "b": 0},
                         {"a": "left", "b": "right"}, groups)  # fmt: skip
    (released,) = (i for i in schedule.program("right").body if isinstance(i, Arrive))
    assert (released.barrier, released.distance) == ("a.empty", 1)
    for iterations in (1, 2, 5):
        arrivals = [i for i, _ in unrolled(schedule.program("right"), iterations) if i == released]
        assert len(arrivals) == iterations - 1
        twill.sim.run(schedule, iterations=iterations)


def test_who_tells_others_waits_until_they_have_heard() -> None:
    """An operation without a result has no slot that would hold its group back."""
    loop = small_loop([op("a", "TC"), op("b", "ALU", 9)], [edge("a", "b", kind="order")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    schedule = hand_made(loop, small_machine(), 10, {"a": 0, "b": 1},
                         {"a": "left", "b": "right"}, groups)  # fmt: skip
    slots = {barrier.name: barrier.slots for barrier in schedule.barriers}
    assert slots["a.done"] == slots["a.heard"]
    assert f"wait a.heard 0 -{slots['a.heard']}" in words(schedule.program("left"))
    twill.sim.run(schedule, iterations=20)
    deaf = tuple(
        program.model_copy(
            update={
                "body": tuple(i for i in program.body if getattr(i, "barrier", "") != "a.heard")
            }
        )
        for program in schedule.programs
    )
    with pytest.raises(SimulationError, match="barrier: right waits at a\\.done"):
        twill.sim.run(schedule.model_copy(update={"programs": deaf}), iterations=20)


def test_a_wait_for_the_next_iterations_value_begins_with_the_first_one() -> None:
    """P of one sub-tile takes over the columns of S of the other, one iteration ahead.

    The first S has no such wait in an iteration of its own; a second one for its sake would come
    behind the wait for the next S in every iteration, where an mbarrier's parity misleads it.
    """
    data = json.loads((Path(__file__).parents[1] / "data" / "early_wait.json").read_text())
    loop, machine = load_loop(data["loop"]), twill.Machine.named("blackwell_b200")
    groups = {
        name: WarpGroup(warps, loads, registers, 1 << 30)
        for name, (warps, loads, registers) in data["groups"].items()
    }
    start = {name: time for name, (_, time) in data["placements"].items()}
    place = {name: group for name, (group, _) in data["placements"].items()}
    schedule = hand_made(loop, machine, data["interval"], start, place, groups)
    assert twill.verify(schedule).violations == ()
    waits = [
        (i.stage, i.distance)
        for i in schedule.program("compute1").body
        if isinstance(i, Wait) and i.barrier == "s1.mma.freed"
    ]
    (only,) = [i for i in schedule.program("compute1").issues if i.operation == "o0.tmem_store"]
    assert waits == [(only.stage - 1, 0)]
    for iterations in (*range(1, 7), 40):
        twill.sim.run(schedule, iterations=iterations)


def test_no_wait_comes_between_the_commands_of_an_asynchronous_operation() -> None:
    """The wait for a free slot of one load would hold up the other one, whose reader comes first.

    The reader's group frees that slot only behind it.
    """
    load: dict[str, Any] = {
        "asynchronous": True,
        "issue": 2,
        "memory": "smem",
        "variable_latency": True,
    }
    operations = [
        op("a", "TMA", 1, latency=4, **load),
        op("b", "TMA", 1, latency=2, **load),
        op("product", "TC", latency=3, asynchronous=True),
        op("add", "ALU"),
    ]
    edges = [edge("a", "product"), edge("a", "product", 1), edge("b", "add")]
    edges.append(edge("product", "add", 1))
    machine = small_machine({"TMA": 1, "TC": 1, "ALU": 1}, smem=3072)
    groups = {"loads": WarpGroup(4, True, 0, 64), "all": WarpGroup(4, False, 0, 64)}
    place = {"a": "loads", "b": "loads", "product": "all", "add": "all"}
    start = {"a": 0, "b": 2, "product": 0, "add": 2}
    schedule = hand_made(small_loop(operations, edges), machine, 3, start, place, groups)
    assert words(schedule.program("loads")) == [
        "wait b.empty 1 -1",
        "issue b 1",
        "wait a.empty 0 -2",
        "issue a 0",
    ]
    for iterations in (1, 2, 3, 13):
        check(schedule, iterations=iterations)


@pytest.mark.parametrize("seed", [19, 35, 67], ids=["turns", "values", "what has no slot"])
def test_a_barrier_is_never_two_phases_ahead(seed: int) -> None:
    """An mbarrier tells two phases apart by their parity.

    The first turns wait for iterations that the loop does not have, and the last values have no
    reader whose wait would come before their release.
    """
    loop, machine = tight_loop(seed)
    schedule = static_schedule(loop, machine)
    for iterations in (1, 2, 3, 4, 13):
        check(schedule, iterations=iterations)


@pytest.mark.parametrize("seed", [60, 61, 80])
def test_groups_of_several_widths_compute_what_the_loop_does(seed: int) -> None:
    loop, machine = tight_loop(seed)
    schedule = static_schedule(loop, machine)
    for iterations in (1, 2, 3, 13):
        check(schedule, iterations=iterations)
        values = Values(schedule, iterations, dataflow=Dataflow(loop, stand_ins=True))
        watched = values.watch()
        StreamingMultiprocessor(schedule, Conditions(iterations=iterations), [watched]).run()
        assert values.differences(watched) == []
