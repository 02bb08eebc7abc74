"""Programs made from schedules: order, waits, and that they run for any trip count."""

from __future__ import annotations

import pytest

import twill
from tests.small import connected, edge, hand_made, op, random_loop, small_loop, small_machine
from twill.artifacts.schedule import (
    Arrive,
    Await,
    Get,
    Interleave,
    Issue,
    Program,
    Put,
    Rules,
    Wait,
)
from twill.joint.groups import WarpGroup


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
    assert words(paper_schedule.program("compute0")) == [
        "issue S 0",
        "await S 1 -0",
        "await O 1 -1",
        "issue P 1",
        "issue O 1",
    ]


def test_attention_loads_run_ahead_in_rings(attention_schedule: twill.Schedule) -> None:
    assert words(attention_schedule.program("load")) == [
        "wait k.empty 0 -2",
        "issue k 0",
        "wait v.empty 0 -2",
        "issue v 0",
    ]
    arrivals = {barrier.name: barrier.arrivals for barrier in attention_schedule.barriers}
    assert (arrivals["k.full"], arrivals["k.empty"]) == (1, 2)


def test_groups_take_turns_on_the_tensor_core(attention_schedule: twill.Schedule) -> None:
    first = words(attention_schedule.program("compute0"))
    second = words(attention_schedule.program("compute1"))
    assert "arrive s0.issued 0 -0" in first
    assert "wait s0.issued 0 --1" in second
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


@pytest.mark.parametrize("rules", ["issue", "paper"])
def test_programs_of_small_loops_run_without_an_alarm(rules: Rules) -> None:
    achieved = []
    for seed in range(100):
        loop, machine = random_loop(seed)
        try:
            schedule = twill.schedule(loop, machine, rules=rules)
        except twill.RefusedError:
            continue
        assert twill.verify(schedule).violations == (), seed
        for iterations in (1, 2, 3):
            twill.sim.run(schedule, iterations=iterations)
        if connected(loop):
            achieved.append(twill.sim.run(schedule, iterations=40).achieved)
    assert len(achieved) > 50
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
