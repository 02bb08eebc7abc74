"""The simulated SM: exact cases, what it notices, what it measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import twill
from tests.support.programs import unsolved
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.program import Arrive, Await, Barrier, Instruction, Interleave, Issue, Wait
from twill.lower.baselines import multi_warp, sequential
from twill.sim.analysis import steady_state
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.show import print_run

Data = dict[str, Any]


# -- exact cases ------------------------------------------------------------------------------


def test_the_running_example_pipelined_does_half_an_iteration_a_cycle(
    paper_schedule: twill.Schedule,
) -> None:
    result = twill.sim.run(paper_schedule)
    assert (result.measured_interval_cycles, result.iterations_per_cycle) == (2, 0.5)
    assert (result.achieved, result.period) == (True, 1)
    assert result.utilization == {"TC": 1.0, "EXP": 0.5, "ADD": 0.0}


def test_the_running_example_as_written_does_a_third(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    result = twill.sim.run(sequential(paper_loop, paper_machine))
    assert result.measured_interval_cycles == 3
    assert result.iterations_per_cycle == pytest.approx(1 / 3, abs=0)
    assert result.achieved is None


@pytest.mark.parametrize("late", range(9))
def test_a_late_product_delays_the_exponential_on_one_warp_only(late: int) -> None:
    # The paper's blocking-synchronisation figure: an addition consumes the product while an
    # independent exponential is being issued. Nothing in the simulator knows about this case.
    operations = [
        op("gemm", "TC", 4 + late, asynchronous=True),
        op("exp", "EXP", 8),
        op("add", "ADD", 2),
    ]
    loop = small_loop(operations, [edge("gemm", "add")])
    machine = small_machine({"TC": 1, "EXP": 1, "ADD": 1}, groups=((4, 2),))
    gemm, add, wait = Issue(operation="gemm"), Issue(operation="add"), Await(operation="gemm")
    first = Issue(operation="exp", begin=0, end=4, of=8)
    beside = Issue(operation="exp", begin=4, end=6, of=8)
    rest = Issue(operation="exp", begin=6, end=8, of=8)
    one = unsolved(
        loop, machine,
        {"all": [gemm, first, wait, Interleave(parts=(beside, add)), rest]},
    )  # fmt: skip
    two = unsolved(loop, machine, {"left": [gemm, wait, add], "right": [Issue(operation="exp")]})
    assert done_at(one, "exp") == 8 + late
    assert done_at(two, "exp") == 8


def done_at(schedule: twill.Schedule, operation: str) -> float:
    recording = Recording()
    StreamingMultiprocessor(schedule, Conditions(iterations=1), [recording]).run()
    return recording.completions[operation, 0]


def test_attention_on_hopper_keeps_its_promise(attention_schedule: twill.Schedule) -> None:
    result = twill.sim.run(attention_schedule)
    assert result.static_interval_cycles == 2048
    assert result.measured_interval_cycles == 2048
    assert result.achieved is True
    assert result.utilization["tc"] == 1.0


def test_attention_beats_both_naive_loops(
    attention: twill.Loop, hopper: twill.Machine, attention_schedule: twill.Schedule
) -> None:
    def interval(schedule: twill.Schedule) -> float:
        measured = twill.sim.run(schedule).measured_interval_cycles
        assert measured is not None
        return measured

    written, tiles = (
        interval(sequential(attention, hopper)),
        interval(multi_warp(attention, hopper, attention_schedule.pipeline_depths)),
    )
    assert 2048 < tiles < written
    # As written every product, with its drain, and both softmaxes follow each other.
    assert written > 4 * (512 + 47) + 2 * 512


def test_an_operation_issued_in_parts_signals_with_its_last() -> None:
    # One command, which rounds into the first part; the signal is named by the last.
    machine = small_machine({"TC": 1, "ALU": 1}, groups=((4, 2),), smem=4096)
    loop = small_loop(
        [
            op("mma", "TC", 1, latency=9, asynchronous=True, issue=8, memory="smem", warps=1),
            op("use", "ALU", warps=1),
        ],
        [edge("mma", "use")],
    )
    made: list[Instruction] = [
        Wait(barrier="mma.empty", distance=1),
        Issue(operation="mma", begin=0, end=6, of=8),
        Issue(operation="mma", begin=6, end=8, of=8, signals=("mma.full",)),
    ]
    used: list[Instruction] = [
        Wait(barrier="mma.full"),
        Issue(operation="use"),
        Arrive(barrier="mma.empty"),
    ]
    barriers = tuple(Barrier(name=name, slots=1, arrivals=1) for name in ("mma.full", "mma.empty"))
    schedule = unsolved(loop, machine, {"first": made, "second": used}, barriers)
    assert twill.sim.run(schedule, iterations=4).total_cycles >= 4 * 9


# -- shared hardware --------------------------------------------------------------------------


def test_two_groups_share_a_pipe(hopper: twill.Machine) -> None:
    loop = small_loop([op("a", "fma", 64), op("b", "fma", 64)])
    schedule = unsolved(
        loop, hopper, {"left": [Issue(operation="a")], "right": [Issue(operation="b")]}
    )
    assert twill.sim.run(schedule).measured_interval_cycles == 128


def test_two_groups_share_issue_slots(hopper: twill.Machine) -> None:
    loop = small_loop([op("a", "fma", 64), op("b", "alu", 64)])
    schedule = unsolved(
        loop, hopper, {"left": [Issue(operation="a")], "right": [Issue(operation="b")]}
    )
    assert twill.sim.run(schedule).measured_interval_cycles == 128


def test_half_used_issue_slots_are_enough_for_two(hopper: twill.Machine) -> None:
    slow = op("a", "mufu", 64)
    cost = slow.cost
    assert cost is not None
    step = cost.steps[0].model_copy(update={"instructions": 8})
    slow = slow.model_copy(update={"cost": cost.model_copy(update={"steps": (step,)})})
    loop = small_loop([slow, op("b", "fma", 56)])
    schedule = unsolved(
        loop, hopper, {"left": [Issue(operation="a")], "right": [Issue(operation="b")]}
    )
    assert twill.sim.run(schedule).measured_interval_cycles == 64


# -- what it notices --------------------------------------------------------------------------


def changed(schedule: twill.Schedule, change: Callable[[Data], object]) -> twill.Schedule:
    data = json.loads(schedule.to_json())
    change(data)
    return twill.Schedule.from_json(json.dumps(data))


def without(group: int, **fields: object) -> Callable[[Data], object]:
    """Return a change that removes a program's first instruction with these fields."""

    def change(data: Data) -> None:
        body = data["programs"][group]["body"]
        body.remove(next(i for i in body if fields.items() <= i.items()))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            without(1, do="wait", barrier="k.full"),
            "value: s0 of iteration 0 reads k of iteration 0 at cycle 0; smem slot 0 holds nothing",
        ),
        (
            without(1, do="await", operation="s0"),
            "value: n0.reduce of iteration 0 reads s0 of iteration 0",
        ),
        (
            without(0, do="wait", barrier="k.empty"),
            "overwrite: k of iteration 2 overwrites smem slot 0 at cycle 1620 while",
        ),
        (
            without(1, do="arrive", barrier="k.empty"),
            "deadlock: at cycle",
        ),
        (
            lambda d: d["programs"][1]["body"].append(
                {"do": "arrive", "barrier": "k.empty", "stage": 0}
            ),
            "barrier: compute",
        ),
    ],
)
def test_a_damaged_program_is_noticed(
    attention_schedule: twill.Schedule, change: Callable[[Data], object], message: str
) -> None:
    with pytest.raises(SimulationError) as caught:
        twill.sim.run(changed(attention_schedule, change))
    assert str(caught.value).startswith(message)


def test_a_deadlock_names_the_arrival_that_nobody_makes(attention_schedule: twill.Schedule) -> None:
    with pytest.raises(SimulationError) as caught:
        twill.sim.run(changed(attention_schedule, without(1, do="arrive", barrier="k.empty")))
    assert str(caught.value) == (
        "deadlock: at cycle 5138 nothing can go on; compute0 waits for k.full of iteration 2 (from "
        "load); compute1 waits for s0.issued of iteration 2 (from compute0); load waits for "
        "k.empty of iteration 0 (from nobody: 1 of 2 arrivals came, from compute1)"
    )


def test_one_slot_too_few_is_noticed(attention_schedule: twill.Schedule) -> None:
    def change(data: Data) -> None:
        next(s for s in data["storage"] if s["value"] == "n0")["slots"] = 1

    with pytest.raises(SimulationError, match=r"value: a0\.sub of iteration 1 reads n0"):
        twill.sim.run(changed(attention_schedule, change))


def test_a_schedule_without_programs_is_bad_input(paper_schedule: twill.Schedule) -> None:
    with pytest.raises(twill.InputError, match="the schedule has no programs"):
        twill.sim.run(changed(paper_schedule, lambda d: d.pop("programs")))


# -- latency ----------------------------------------------------------------------------------


def test_a_ring_hides_latency_up_to_its_depth(attention_schedule: twill.Schedule) -> None:
    def interval(latency: int) -> float:
        result = twill.sim.run(attention_schedule, latency=f"fixed:{latency}")
        assert result.measured_interval_cycles is not None
        return result.measured_interval_cycles

    assert interval(0) == interval(633) == interval(2000) == 2048
    assert interval(6000) > 2500
    # Two slots a period: the interval grows by half of what the latency does.
    assert interval(8000) - interval(6000) == pytest.approx(1000, rel=0.02)


def test_random_latencies_depend_on_the_seed_only(attention_schedule: twill.Schedule) -> None:
    def text(seed: int) -> str:
        return twill.sim.run(attention_schedule, latency="uniform:400,6000", seed=seed).to_json()

    assert text(1) == text(1)
    assert text(1) != text(2)


# -- measurement ------------------------------------------------------------------------------


def test_a_steady_interval_is_found_behind_the_warm_up() -> None:
    times = [100.0, 150.0, 210.0, *(210.0 + 7 * i for i in range(1, 30))]
    found = steady_state(times, drain=1)
    assert found is not None
    assert float(found.interval) == 7
    assert found.period == 1


def test_a_period_of_three_is_averaged_exactly() -> None:
    times, now = [], 0.0
    for i in range(60):
        now += (2, 2, 3)[i % 3]
        times.append(now)
    found = steady_state(times, drain=2)
    assert found is not None
    assert found.interval == Fraction(7, 3)
    assert found.period == 3


def test_too_few_iterations_have_no_steady_state(paper_schedule: twill.Schedule) -> None:
    result = twill.sim.run(paper_schedule, iterations=3)
    assert (result.measured_interval_cycles, result.achieved) == (None, None)
    assert 6 <= result.total_cycles <= 2 * 2 + 4


@pytest.mark.parametrize(("key", "value"), [("iterations", 0), ("tolerance", -1.0)])
def test_arguments_out_of_range(paper_schedule: twill.Schedule, key: str, value: float) -> None:
    with pytest.raises(twill.InputError, match=f"^{key}: "):
        twill.sim.run(paper_schedule, **{key: value})


# -- baselines --------------------------------------------------------------------------------


def test_multi_warp_puts_each_sub_tile_on_its_own_group(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    schedule = multi_warp(attention, hopper)
    place = schedule.assignment
    assert {place["k"], place["v"]} == {"load"}
    assert {place[name] for name in ("s0", "p0", "o0", "l0")} == {"tile0"}
    assert {place[name] for name in ("s1", "p1", "o1", "l1")} == {"tile1"}


def test_what_differs_from_the_static_interval_is_explained(
    paper_schedule: twill.Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    result = twill.sim.run(paper_schedule)
    print_run(result)
    assert "static interval 2 cycles: achieved" in capsys.readouterr().out
    for measured, why in ((3.0, "+50.0%: waits, arrives"), (1.0, "-50.0%: a program goes on")):
        print_run(result.model_copy(update={"measured_interval_cycles": measured}))
        assert why in capsys.readouterr().out


@pytest.mark.parametrize("wait", [0, 8, 20])
def test_free_signals_take_the_wait_out_of_latencies(wait: int) -> None:
    # The product's latency includes the wait for it, as in every machine file; who waits pays it.
    product = op("mma", "TC", 4, latency=50, asynchronous=True, issue=1, registers=4)
    loop = small_loop([product, op("use", "ALU", 10)], [edge("mma", "use")])
    body: list[Instruction] = [
        Issue(operation="mma"),
        Await(operation="mma"),
        Issue(operation="use"),
    ]
    machine = small_machine(groups=((4, 1),))
    costs = machine.synchronisation
    costs = costs.model_copy(update={"wait": costs.wait.model_copy(update={"value": wait})})
    machine = machine.model_copy(update={"synchronisation": costs})
    schedule = unsolved(loop, machine, {"all": body})
    result = twill.sim.run(schedule, iterations=32)
    assert result.measured_interval_cycles == 50 + 10 - 1
    free = twill.sim.run(schedule, iterations=32, without=["synchronisation"])
    assert free.measured_interval_cycles == 50 - wait + 10 - 1
