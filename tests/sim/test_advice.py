"""Changes of a schedule and the gain that trying them shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import twill
from tests.support.programs import ring, unsolved
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.program import Arrive, Await, Barrier, Instruction, Issue, Wait
from twill.lower.baselines import sequential
from twill.sim.advised import with_advice
from twill.sim.analysis.advice import advise, split, twice_as_fast, without_each_wait
from twill.sim.analysis.problems import attention
from twill.sim.analysis.rings import Changed, deeper, rings
from twill.sim.analysis.whole_kernel import kernel
from twill.sim.checks import check
from twill.sim.checks.races import Races
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.record import Recording
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import Run, run, simulate
from twill.sim.show import print_checks, print_kernel, print_run


def interval(schedule: twill.Schedule, latency: str | None = None) -> float:
    found = run(schedule, iterations=32, latency=latency).measured_interval_cycles
    assert found is not None
    return found


def tried(schedule: twill.Schedule, **conditions: Any) -> Run:
    """Run a schedule and try changes of it."""
    stated = Conditions.of(**conditions)
    return with_advice(schedule, simulate(schedule, stated, Recording()), stated)


@pytest.mark.parametrize("by", [1, 2, 4])
def test_a_deeper_ring_turns_less_often(by: int) -> None:
    schedule = ring(2, 100, 20)
    assert interval(schedule) == (100 + 20 + 3) / 2
    changed = deeper(schedule, ["load"], by)
    assert interval(changed.schedule) == pytest.approx(max(20, (100 + 20 + 3) / (2 + by)))
    assert (changed.needs, changed.fits) == (f"{by * 1024} bytes of SMEM more", True)
    # It is the ring that somebody would have written.
    assert changed.schedule.barriers == ring(2 + by, 100, 20).barriers
    assert changed.schedule.programs == ring(2 + by, 100, 20).programs


def test_attentions_rings_get_addresses_of_their_own(attention_schedule: twill.Schedule) -> None:
    assert rings(attention_schedule) == ["k", "v"]
    assert interval(attention_schedule, "fixed:4500") > 3000
    changed = deeper(attention_schedule, ["k", "v"], 1)
    assert changed.fits
    # Two turns of 6153 cycles for two iterations become one turn for three.
    assert interval(changed.schedule, "fixed:4500") == pytest.approx(2051, abs=8)
    taken = [
        (address, address + storage.size)
        for storage in changed.schedule.storage
        if storage.memory == "smem"
        for address in storage.addresses
    ]
    assert len(taken) == 6
    assert all(a[1] <= b[0] for a, b in zip(sorted(taken), sorted(taken)[1:], strict=False))
    assert not deeper(attention_schedule, ["k", "v"], 2).fits
    twill.Schedule.from_json(changed.schedule.to_json())


def test_a_group_of_independent_operations_is_split() -> None:
    loop = small_loop([op("a", "TC", 5, warps=1), op("b", "ALU", 7, warps=1)])
    machine = small_machine(groups=((1, 2),))
    both = sequential(loop, machine)
    assert interval(both) >= 10
    (changed,) = split(both)
    assert changed.what == "one more group, for b of all"
    assert interval(changed.schedule) == 7
    twill.Schedule.from_json(changed.schedule.to_json())


def test_dependent_operations_are_not_split() -> None:
    loop = small_loop([op("a", "TC", 5), op("b", "ALU", 7)], [edge("a", "b")])
    assert list(split(sequential(loop, small_machine()))) == []


def test_attentions_loads_on_warps_of_their_own_run_without_alarm(
    attention_schedule: twill.Schedule,
) -> None:
    changed = {one.what: one for one in split(attention_schedule)}
    assert list(changed) == ["one more group, for v of load"]
    assert interval(changed["one more group, for v of load"].schedule) == 2048


def test_only_a_wait_that_nobody_needs_is_offered() -> None:
    mma = op("mma", "TC", 4, latency=30, asynchronous=True, issue=1, registers=4, warps=1)
    others = [op("use", "ALU", 2, warps=1), op("other", "ALU", 3, warps=1)]
    loop = small_loop([mma, *others], [edge("mma", "use")])
    first, second, last = (Issue(operation=name) for name in ("mma", "other", "use"))
    wait = Await(operation="mma")
    body: list[Instruction] = [first, wait, second, wait, last]
    schedule = unsolved(loop, small_machine(groups=((1, 1),)), {"all": body})
    one_warp = tuple(group.model_copy(update={"warps": 1}) for group in schedule.groups)
    schedule = schedule.model_copy(update={"groups": one_warp})
    result = tried(schedule, iterations=32)
    # Issue slots are not limited: a product is issued with the last instruction before it.
    assert result.measured_interval_cycles == 30 + 3 + 2 - 1
    assert result.advice is not None
    waits = [one for one in result.advice if one.kind == "wait"]
    # Without the first, the other operation runs beside the product; the second then protects.
    assert [one.interval_cycles for one in waits] == [30 + 2 - 1, 30 + 3 + 2 - 1]


def test_every_wait_of_attention_but_for_its_turns_is_needed(
    attention_schedule: twill.Schedule,
) -> None:
    needless = set()
    tried = list(without_each_wait(attention_schedule))
    for changed in tried:
        races = Races(changed.schedule)
        try:
            StreamingMultiprocessor(changed.schedule, Conditions(iterations=8), (races,)).run()
        except SimulationError:
            continue
        needless.add(changed.what)
    assert len(tried) == 2 + 5 + 5
    # Without that of compute1, compute1 may be two phases ahead of compute0's wait.
    turns = {"compute0 without its wait for s1.issued"}
    # The tensor core works in order: a product of the next iteration is complete after this one's.
    # compute0 has waited for K before it issues s0, and only then it is compute1's turn.
    implied = {"compute0 without its wait for o0", "compute1 without its wait for k.full"}
    assert turns <= needless <= turns | implied


def test_twice_as_fast_halves_a_busy_unit(attention_schedule: twill.Schedule) -> None:
    changed = twice_as_fast(attention_schedule, "tc")
    costs = {o.name: o.cost for o in changed.schedule.loop.operations}
    product = costs["s0"]
    assert product is not None
    assert product.steps[0].cycles == 256
    assert interval(changed.schedule) < 2048


def failing(kind: str) -> Callable[[Changed], float | None]:
    def measure(_: Changed) -> float | None:
        raise SimulationError(kind, "always")

    return measure


def test_what_goes_wrong_is_not_advised() -> None:
    assert advise(ring(2, 100, 20), 61.5, failing("race"), ("ALU",)) == ()


def test_the_report_fits_a_terminal(
    attention_schedule: twill.Schedule, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule = ring(2, 100, 20)
    print_run(tried(schedule))
    text = capsys.readouterr().out
    assert "ring of load deeper by 4 slots" in text
    result = run(attention_schedule, iterations=16, latency="fixed:4500", recording=Recording())
    print_run(result)
    text += capsys.readouterr().out
    assert max(map(len, text.splitlines()[2:])) <= 80
    assert "What sets the pace: A chain leads from one iteration to the next" in text
    read = type(result).from_json(result.to_json())
    assert json.loads(read.to_json()) == json.loads(result.to_json())


def test_checks_and_kernels_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = twill.load_schedule("fa4_forward")
    print_checks(check(schedule))
    schedule = twill.load_schedule("fa3_forward_128x176_parts_no_overlap_no_ping_pong")
    print_run(run(schedule, iterations=16))
    lengths = (512, 16384)
    print_kernel(kernel(schedule, [attention(schedule.loop, n, n, 16) for n in lengths]))
    text = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "EXCEEDED what there is: registers of softmax0" in text
    assert "kernel: tiles of 128 x 176, persistent blocks" in text


def test_a_split_keeps_what_barriers_are() -> None:
    operations = [op(name, "ALU", 4, warps=1) for name in ("a", "b", "c")]
    loop = small_loop([*operations, op("l", "TMA", 2, asynchronous=True, memory="smem", warps=1)])
    machine = small_machine({"ALU": 4, "TMA": 1}, groups=((1, 3),), smem=1 << 20)
    body: list[Instruction] = [
        Wait(barrier="turn"),
        Arrive(barrier="full", expect=512),
        Issue(operation="l", signals=("full",)),
        Issue(operation="a"),
        Issue(operation="b"),
    ]
    other: list[Instruction] = [
        Wait(barrier="turn"), Wait(barrier="full"), Issue(operation="c")
    ]  # fmt: skip
    barriers = (
        Barrier(name="turn", slots=1, arrivals=2, kind="named"),
        Barrier(name="full", slots=1, transactions=True),
    )
    made = unsolved(loop, machine, {"one": body, "two": other}, barriers)
    groups = tuple(group.model_copy(update={"warps": 1}) for group in made.groups)
    schedule = made.model_copy(update={"groups": groups})
    assert loop.operation("l").result is not None
    changed = next(iter(split(schedule)))
    turn, full = changed.schedule.barriers
    assert (turn.kind, turn.arrivals) == ("named", 3)
    assert (full.transactions, full.arrivals) == (True, 2)
    announced = [
        i.expect
        for program in changed.schedule.programs
        for i in program.body
        if isinstance(i, Arrive)
    ]
    assert sorted(announced, key=str) == [512, None]


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
    result = tried(schedule, iterations=32)
    assert result.measured_interval_cycles == 50 + 10 - 1
    assert result.advice is not None
    free = next(one for one in result.advice if one.what == "if waits and arrives took no time")
    assert free.interval_cycles == 50 - wait + 10 - 1


def test_free_signals_are_free_at_named_barriers_too() -> None:
    schedule = twill.load_schedule("fa3_forward_128x128_no_overlap")
    assert schedule.machine.synchronisation.named is not None
    result = tried(schedule, iterations=24)
    assert result.advice is not None
    free = next(one for one in result.advice if one.what == "if waits and arrives took no time")
    without = run(schedule, iterations=24, without=["synchronisation"])
    assert free.interval_cycles == without.measured_interval_cycles
