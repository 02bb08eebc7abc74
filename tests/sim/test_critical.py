"""What sets the pace: the chain of binding events, against closed forms."""

from __future__ import annotations

import itertools

import pytest

import twill
from tests.support.programs import ring, unsolved
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.program import Await, Instruction, Issue
from twill.lower.baselines import multi_warp, sequential
from twill.sim.analysis.critical import BindingEvents, critical_cycle
from twill.sim.analysis.profile import Critical
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run


def profiled(schedule: twill.Schedule, latency: str | None = None, iterations: int = 64) -> Run:
    return run(schedule, iterations=iterations, latency=latency, recording=Recording())


def critical(result: Run) -> Critical:
    assert result.profile is not None
    assert result.profile.critical is not None
    return result.profile.critical


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
@pytest.mark.parametrize(("latency", "work"), [(100, 20), (40, 30), (10, 30)])
def test_a_ring_is_paced_by_its_turn_or_by_its_reader(slots: int, latency: int, work: int) -> None:
    result = profiled(ring(slots, latency, work))
    # Once around the ring: the load, its use, and the three cycles until the release is seen.
    turn = (latency + work + 3) / slots
    assert result.measured_interval_cycles == pytest.approx(max(turn, work))
    found = critical(result)
    assert found.closed
    assert found.cycles / found.iterations == pytest.approx(max(turn, work))
    if turn > work:
        assert found.iterations % slots == 0
        assert found.shares["latency TMA"] == pytest.approx(latency / (latency + work + 3))
        rest = found.shares["signal left"] + found.shares["issue right"]
        assert rest == pytest.approx((3 + work) / (latency + work + 3))
    else:
        assert found.shares == {"issue right": 1.0}


def test_a_recurrence_is_named() -> None:
    loop = small_loop([op("a", "TC", 5), op("b", "ALU", 7)], [edge("a", "b"), edge("b", "a", 1)])
    schedule = unsolved(
        loop, small_machine(), {"all": [Issue(operation="a"), Issue(operation="b")]}
    )
    found = critical(profiled(schedule))
    assert (found.iterations, found.cycles) == (1, 12)
    cycles = {name: sum(s.cycles for s in found.steps if s.subject == name) for name in "ab"}
    assert cycles == {"a": 5, "b": 7}
    assert {step.kind for step in found.steps} <= {"issue", "scoreboard"}


def test_a_pipe_that_two_groups_share_is_named(hopper: twill.Machine) -> None:
    loop = small_loop([op("a", "fma", 64), op("b", "fma", 64)])
    schedule = unsolved(
        loop, hopper, {"left": [Issue(operation="a")], "right": [Issue(operation="b")]}
    )
    result = profiled(schedule)
    assert result.measured_interval_cycles == 128
    found = critical(result)
    assert found.cycles == 128 * found.iterations
    # Their instructions alternate: each waits for the other's.
    turns = [step for step in found.steps if step.kind in ("pipe", "issue slot")]
    assert {step.subject for step in turns} == {"left", "right"}
    assert sum(step.cycles for step in turns) > 120 * found.iterations


def test_a_late_asynchronous_result_is_named() -> None:
    loop = small_loop([op("mma", "TC", 4, latency=9, asynchronous=True, issue=1), op("use", "ALU")])
    loop = loop.model_copy(update={"dependences": (edge("mma", "use"),)})
    body: list[Instruction] = [
        Issue(operation="mma"),
        Await(operation="mma"),
        Issue(operation="use"),
    ]
    found = critical(profiled(unsolved(loop, small_machine(), {"all": body})))
    # The operation is issued in the cycle in which the wait for the last product ends.
    assert (found.iterations, found.cycles) == (1, 9)
    assert found.shares == {"latency TC": 5 / 9, "unit TC": 4 / 9}


def test_a_busy_tensor_core_is_said_to_be_the_limit(attention_schedule: twill.Schedule) -> None:
    found = critical(profiled(attention_schedule, iterations=24))
    assert found.words.startswith("tc is never idle: 2048 cycles of work every iteration.")
    assert [step.subject for step in found.steps][0:4] in [
        list(turn) for turn in _turns(["s0", "o1", "s1", "o0"])
    ]


def _turns(names: list[str]) -> list[list[str]]:
    return [names[k:] + names[:k] for k in range(len(names))]


@pytest.mark.parametrize("kind", ["joint", "sequential", "multi-warp"])
@pytest.mark.parametrize("latency", [None, "fixed:3000"])
def test_the_critical_cycle_has_the_measured_ratio(
    attention_schedule: twill.Schedule, kind: str, latency: str | None
) -> None:
    loop, machine = attention_schedule.loop, attention_schedule.machine
    schedule = {
        "joint": lambda: attention_schedule,
        "sequential": lambda: sequential(loop, machine),
        "multi-warp": lambda: multi_warp(loop, machine, attention_schedule.pipeline_depths),
    }[kind]()
    result = profiled(schedule, latency, iterations=24)
    found = critical(result)
    assert found.closed
    assert found.cycles / found.iterations == pytest.approx(result.measured_interval_cycles)
    assert sum(step.cycles for step in found.steps) == pytest.approx(found.cycles)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_random_latencies_have_an_open_chain(attention_schedule: twill.Schedule) -> None:
    result = profiled(attention_schedule, "uniform:400,6000")
    found = critical(result)
    assert result.confidence is not None
    assert not found.closed
    assert found.shares["latency tma"] > 0.3
    assert "never repeats exactly" in found.words


# -- profile ----------------------------------------------------------------------------------


def test_every_cycle_of_a_group_is_accounted_for(attention_schedule: twill.Schedule) -> None:
    result = profiled(attention_schedule, iterations=24)
    assert result.profile is not None
    groups = itertools.groupby(result.profile.groups, key=lambda spent: spent.group)
    for _, spent in groups:
        cycles = list(spent)
        assert sum(s.cycles for s in cycles) == pytest.approx(2048)
        assert sum(s.share for s in cycles) == pytest.approx(1)


def test_stalls_name_the_value_that_is_waited_for(attention_schedule: twill.Schedule) -> None:
    result = profiled(attention_schedule, "fixed:6000", iterations=24)
    assert result.profile is not None
    waits = {(s.group, s.subject): s.value for s in result.profile.groups if s.cause == "barrier"}
    assert waits["compute0", "v.full"] == "v"
    assert waits["load", "k.empty"] == "k"
    products = {s.value for s in result.profile.groups if s.cause == "completion"}
    assert products <= {"s0", "s1", "o0", "o1"}


def test_issue_slots_are_counted_by_context(hopper: twill.Machine) -> None:
    loop = small_loop([op("a", "fma", 64), op("b", "fma", 32, warps=1)])
    schedule = unsolved(
        loop, hopper, {"left": [Issue(operation="a")], "right": [Issue(operation="b")]}
    )
    result = profiled(schedule)
    assert result.measured_interval_cycles is not None
    assert result.profile is not None
    slots = [share * result.measured_interval_cycles for share in result.profile.issue_slots]
    assert slots == pytest.approx([64 + 32, 64, 64, 64])


def test_a_chain_that_random_latencies_make_does_not_close() -> None:
    schedule = twill.load_schedule("fa3_forward_128x128")
    recording = Recording()
    result = run(schedule, iterations=256, latency="uniform:600,3000", recording=recording)
    assert result.period is None
    found = critical(result)
    assert not found.closed
    assert "never repeats exactly" in found.words
    # However near an interval comes to the length of some chain.
    events = BindingEvents(recording, {"K", "V"})
    steps = list(events.back_from(250))
    last = next(step for step in steps if step.kind == "latency")
    near = next(step for step in steps if step.subject == last.subject and step.iteration < 240)
    ratio = (last.end - near.end) / (last.iteration - near.iteration)
    closed = critical_cycle(events, 250, 100, ratio)
    opened = critical_cycle(events, 250, 100, None)
    assert closed is not None
    assert opened is not None
    assert (closed.closed, opened.closed) == (True, False)
