"""The bound of every program of a loop, against programs on the simulated SM."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any
from unittest import mock

import pytest

import twill
from tests.bounds.campaign import Campaign
from tests.support.bounded import accepted, distances, random_program, varied
from tests.support.sampled import sampled
from tests.support.small import (
    crowded_loop,
    edge,
    op,
    random_loop,
    small_loop,
    small_machine,
    tight_loop,
)
from tests.validation.tables import read
from twill.artifacts.machine import Machine
from twill.artifacts.mechanisms import Mechanisms
from twill.artifacts.order import Buffer, Order, OrderedGroup
from twill.artifacts.program import Interleave, Issue
from twill.artifacts.schedule import Schedule
from twill.bounds.arguments import Reason
from twill.bounds.programs import program_bound, program_bounds
from twill.bounds.sharing import Sharing
from twill.bounds.work import Executed, Instructions
from twill.frontends import load_loop, packaged_loops
from twill.frontends.schedules import load_schedule, packaged_schedules
from twill.lower.baselines import multi_warp, sequential
from twill.lower.orders import schedule_of
from twill.search.cache import Cache
from twill.sim.execute import run
from twill.verification.registers import registers_along_programs

ROUNDING = 1e-6
FEW = (
    *("paper_example", "gemm_two_tiles_hopper", "gemm_geglu_hopper"),
    *("gemm_persistent_blackwell", "block_scaled_gemm_blackwell", "skipped_interval_issue"),
)
"""Small loops, whose naive programs are tried by default."""


def not_below(schedule: Schedule, iterations: int = 64) -> Counter[str]:
    """Hold a program against its bounds; return in how many runs it was close to which argument."""
    close = Counter[str]()
    for conditions, argument, times in distances(schedule, iterations):
        assert times >= 1 - ROUNDING, (schedule.name, conditions, argument)
        close[argument.reason] += times < 1.05
    return close


def packaged(name: str) -> tuple[twill.Loop, Machine]:
    return load_loop(name), Machine.named(packaged_loops()[name].machine)


# -- programs that there are ----------------------------------------------------------------------


ORDERS = ("paper_example_by_hand", "fa3_forward_128x128", "fa4_forward")


@pytest.mark.parametrize("name", ORDERS)
def test_no_order_by_hand_is_below_the_bound(name: str) -> None:
    not_below(load_schedule(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(packaged_schedules()) - set(ORDERS)))
def test_no_order_by_hand_is_below_the_bound_at_length(name: str) -> None:
    not_below(load_schedule(name))


@pytest.mark.parametrize("name", FEW)
def test_no_naive_loop_is_below_the_bound(name: str) -> None:
    for naive in (sequential, multi_warp):
        not_below(naive(*packaged(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(packaged_loops()) - set(FEW)))
def test_no_naive_loop_is_below_the_bound_at_length(name: str) -> None:
    for naive in (sequential, multi_warp):
        not_below(naive(*packaged(name)))


def test_no_schedule_is_below_the_bound(
    paper_schedule: Schedule, attention_schedule: Schedule
) -> None:
    for schedule in (paper_schedule, attention_schedule):
        not_below(schedule)


def hold_random_programs(seeds: range) -> Counter[str]:
    """Hold random programs of small random loops against their bounds."""
    close = Counter[str]()
    for seed in seeds:
        loop, machine = varied(*(tight_loop if seed % 2 else random_loop)(seed // 4), seed)
        schedule = random_program(loop, machine, seed)
        if schedule is not None:
            close += not_below(schedule)
            close["programs"] += 1
    return close


def test_no_random_program_is_below_the_bound() -> None:
    close = hold_random_programs(range(24))
    assert close["programs"] > 12
    assert close["work"] > 4


@pytest.mark.slow
@pytest.mark.sample
def test_random_programs_reach_each_kind_of_bound() -> None:
    close = hold_random_programs(range(60))
    assert close["programs"] > 35
    assert close["work"] > 10
    assert close["recurrence"] + close["issue slots"] > 4


def hold_crowded_programs(seeds: range) -> Counter[str]:
    """Hold random programs of loops that lack registers against what groups' registers say."""
    close = Counter[str]()
    for seed in seeds:
        loop, machine = crowded_loop(seed)
        if program_bound(loop, machine).reason != "registers of groups":
            continue
        close["loops"] += 1
        for number in range(12):
            schedule = random_program(loop, machine, f"{seed} {number}")
            if schedule is not None and accepted(schedule, "registers of groups"):
                close += not_below(schedule)
                close["programs"] += 1
    return close


@pytest.mark.slow
def test_no_program_of_a_loop_that_lacks_registers_is_below_the_bound() -> None:
    close = hold_crowded_programs(range(80))
    assert close["loops"] > 3
    assert close["programs"] > 12


@pytest.mark.slow
@pytest.mark.nightly
def test_no_program_of_a_loop_that_lacks_registers_is_below_the_bound_at_length() -> None:
    close = hold_crowded_programs(range(120, 3000))
    assert close["programs"] > 500
    assert close["registers of groups"] > 10


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(4))
def test_no_random_program_is_below_the_bound_at_length(chunk: int) -> None:
    assert hold_random_programs(range(1000 * chunk, 1000 * (chunk + 1)))["programs"] > 600


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["layer_norm_hopper", "online_softmax_blackwell", "gemm_geglu_hopper"]
)
def test_no_random_program_of_a_packaged_loop_is_below_the_bound(name: str) -> None:
    tried = 0
    for seed in range(30):
        schedule = random_program(*packaged(name), seed)
        if schedule is not None:
            not_below(schedule, iterations=32)
            tried += 1
    assert tried > 5


# -- programs that reach the bound ----------------------------------------------------------------


def machine_of(
    *,
    contexts: tuple[str, ...] = (),
    issue: bool = False,
    wait: int = 0,
    named: int | None = None,
    units: dict[str, int] | None = None,
    file: int = 128 * 300,
    **memories: Any,
) -> Machine:
    """Return a small machine, some of whose units are pipes of contexts."""
    machine = small_machine(units or {"TC": 1, "ALU": 1}, file=file, **memories)
    data = machine.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in contexts:
        data["units"][name]["scope"] = "context"
    if issue:
        eighths = {"capacity": 8, "unit": "eighths", "scope": "context", "source": "TEST"}
        data["units"]["issue"], data["issue_unit"] = eighths, "issue"
    costs = data["synchronisation"]
    costs["wait"]["value"] = wait
    if named is not None:
        costs["named"] = {key: costs[key] for key in ("arrive", "hop")}
        costs["named"]["wait"] = {"value": named, "source": "TEST"}
    return Machine.model_validate_json(json.dumps(data))


def program(
    loop: twill.Loop, machine: Machine, *bodies: Any, warps: int = 4, slots: int | None = None
) -> Schedule:
    """Return a program of groups that issue operations with their stages, or interleaved ones."""
    groups = tuple(
        OrderedGroup(
            name=f"group{number}",
            warps=warps,
            variable_latency=False,
            body=tuple(
                Issue(operation=own[0], stage=own[1]) if isinstance(own, tuple) else own
                for own in body
            ),
        )
        for number, body in enumerate(bodies)
    )
    first = loop.operations[0].name
    buffers = () if slots is None else (Buffer(value=first, slots=slots),)
    order = Order(name="tight", groups=groups, loop=loop, machine=machine, buffers=buffers)
    return schedule_of(order, loop, machine)


def of_a_pipe() -> Schedule:
    machine = machine_of(contexts=("ALU",))
    return program(small_loop([op("a", "ALU", 8)]), machine, [("a", 0)])


def of_narrow_operations() -> Schedule:
    """A context has the one warp of an operation beside its part of the other."""
    loop = small_loop([op("a", "ALU", 8, warps=1), op("b", "ALU", 8)])
    return program(loop, machine_of(contexts=("ALU",)), [("a", 0), ("b", 0)])


def of_a_unit() -> Schedule:
    """Two groups send commands to a unit."""
    loop = small_loop(
        [op(name, "TC", 6, asynchronous=True, issue=6, memory="smem") for name in "ab"],
        [edge("a", "b")],
    )
    machine = machine_of(smem=1 << 16)
    return program(loop, machine, [("a", 0)], [("b", 0)], slots=2)


def of_issue_slots() -> Schedule:
    """Three pipes that are busy two cycles an instruction leave no slot free."""
    units = dict.fromkeys("ABC", 1)
    operations = []
    for name in "abc":
        one = op(name, name.upper(), 100)
        assert one.cost is not None
        (step,) = one.cost.steps
        slow = {"steps": (step.model_copy(update={"cycles": 200}),), "latency": 200}
        operations.append(one.model_copy(update={"cost": one.cost.model_copy(update=slow)}))
    together = Interleave(parts=tuple(Issue(operation=name) for name in "abc"))
    machine = machine_of(contexts=tuple(units), issue=True, units=units)
    return program(small_loop(operations), machine, [together])


def of_register_slots(*, first: bool = True) -> Schedule:
    """Instructions delay products, which leave them a quarter of the slots, or wait for these."""
    product = op("s", "TC", 100, asynchronous=True, issue=1, memory="smem")
    loop = small_loop([product, op("a", "A", 100)], [edge("s", "a", 1)])
    pipes = {"first": ("A",), "waiting": ()} if first else {"first": (), "waiting": ("A",)}
    figures = {"free": 0.25, "kept": 4.0, "apart": 1.0}
    rules = {name: {"value": f, "unit": "1", "source": "TEST"} for name, f in figures.items()}
    machine = machine_of(contexts=("A",), issue=True, units={"TC": 1, "A": 1}, smem=1 << 16)
    slots = Mechanisms.model_validate({"registers": {"unit": "TC", **pipes, **rules}})
    machine = machine.model_copy(update={"mechanisms": slots})
    return program(loop, machine, [("s", 0), ("a", 0)], slots=2)


def of_commands() -> Schedule:
    loop = small_loop([op("a", "TC", 1, asynchronous=True, issue=50)])
    return program(loop, machine_of(), [("a", 0)])


def of_pipelines() -> Schedule:
    """Two operations that read each other's results."""
    operations = [op("a", "ALU", 5, latency=9), op("b", "ALU", 5, latency=11)]
    loop = small_loop(operations, [edge("a", "b"), edge("b", "a", 1)])
    return program(loop, machine_of(), [("a", 0), ("b", 0)])


def of_a_wait() -> Schedule:
    """One of them is asynchronous, so that the other one waits for it."""
    operations = [op("a", "TC", 1, latency=30, asynchronous=True), op("b", "ALU", 5, latency=9)]
    loop = small_loop(operations, [edge("a", "b"), edge("b", "a", 1)])
    return program(loop, machine_of(wait=4), [("a", 0), ("b", 0)])


def of_two_iterations() -> Schedule:
    """One of them reads what the other one made two iterations before."""
    operations = [op("a", "TC", 1, latency=31, asynchronous=True), op("b", "ALU", 5, latency=9)]
    loop = small_loop(operations, [edge("a", "b"), edge("b", "a", 2)])
    return program(loop, machine_of(), [("a", 0), ("b", 1)])


def of_memory() -> Schedule:
    """Two slots hide half of what a load and its reader take."""
    load = op("k", "TMA", 2, latency=100, asynchronous=True, issue=1, memory="smem",
              variable_latency=True, warps=1)  # fmt: skip
    loop = small_loop([load, op("use", "ALU", 10, warps=1)], [edge("k", "use")])
    machine = machine_of(smem=2048, units={"TMA": 1, "ALU": 1})
    return program(loop, machine, [("k", 0)], [("use", 0)], warps=1, slots=2)


def of_registers() -> Schedule:
    """Three instances of a load of 100 registers are in the 300 that there are."""
    load = op("k", "TMA", 2, latency=1000, asynchronous=True, issue=1, registers=100,
              variable_latency=True)  # fmt: skip
    loop = small_loop([load, op("use", "ALU", 10)], [edge("k", "use")])
    machine = machine_of(registers=300, most=304, units={"TMA": 1, "ALU": 1})
    schedule = program(loop, machine, [("k", 0), ("use", 2)])
    assert registers_along_programs(schedule) == {"group0": 300}
    return schedule


def of_one_group(registers: int = 6, later: int = 0) -> Schedule:
    """Scores and exponentials take the same registers, so that no product runs beside these."""
    operations = [
        op("s", "TC", 40, asynchronous=True, issue=1, registers=registers, transfer=300),
        op("p", "ALU", 30, registers=registers, elementwise=True, transfer=300),
        op("sum", "ALU", 20, registers=1),
    ]
    loop = small_loop(operations, [edge("s", "p"), edge("p", "sum")])
    machine = machine_of(registers=11, most=16, step=1, least=1, file=128 * 11)
    return program(loop, machine, [("s", 0), ("p", later), ("sum", later)])


@dataclass(frozen=True)
class Tight:
    """A program that reaches an argument, and how close."""

    schedule: Callable[[], Schedule]
    reason: Reason
    cycles: float
    within: float = 1e-6


TIGHT = (
    Tight(of_a_pipe, "work", 8),
    Tight(of_narrow_operations, "work", 16),
    Tight(of_a_unit, "work", 12),
    Tight(of_issue_slots, "issue slots", 300),
    Tight(of_register_slots, "register slots", 175, within=0.12),
    Tight(partial(of_register_slots, first=False), "register slots", 175, within=0.03),
    Tight(of_commands, "commands", 50),
    Tight(of_pipelines, "recurrence", 20),
    Tight(of_a_wait, "recurrence", 39),
    Tight(of_two_iterations, "recurrence", 20),
    Tight(of_memory, "memory", 55),
    Tight(of_registers, "registers", 1000 / 3, within=0.02),
    Tight(of_one_group, "registers of groups", 88, within=0.03),
)


def measured(schedule: Schedule) -> float:
    interval = run(schedule, iterations=64).measured_interval_cycles
    assert interval is not None
    return interval


@pytest.mark.parametrize("tight", TIGHT, ids=lambda tight: tight.reason)
def test_a_program_reaches_each_argument(tight: Tight) -> None:
    schedule = tight.schedule()
    found = program_bound(schedule.loop, schedule.machine)
    assert found.reason == tight.reason
    assert found.cycles == pytest.approx(tight.cycles)
    assert measured(schedule) == pytest.approx(tight.cycles, rel=tight.within)
    not_below(schedule)


def larger(name: str, change: Callable[[Fraction], Fraction]) -> Any:
    """Return a mutant of what an operation executes, in which one number is larger."""
    original = getattr(Executed, name)
    get = original.func if hasattr(original, "func") else None
    if get is None:
        return mock.patch.object(Executed, name, lambda *words: change(original(*words)))
    return mock.patch.object(Executed, name, property(lambda self: change(get(self))))


def twice(warps: tuple[tuple[Instructions, ...], ...]) -> tuple[tuple[Instructions, ...], ...]:
    return tuple(tuple(replace(i, count=2 * i.count) for i in warp) for warp in warps)


@pytest.mark.parametrize(
    ("name", "change", "noticed"),
    [
        ("warps", twice, {of_a_pipe, of_narrow_operations, of_issue_slots, of_pipelines}),
        ("share", lambda share: 2 * share, {of_a_unit}),
        ("completing", lambda cycles: cycles + 8, {of_pipelines, of_a_wait, of_memory}),
        ("completing", lambda cycles: cycles * 11 / 10, {of_registers, of_two_iterations}),
        ("reading", lambda cycles: cycles + 1, {of_memory, of_pipelines, of_one_group}),
    ],
)
def test_an_argument_that_counts_too_much_is_noticed(
    name: str, change: Any, noticed: set[Callable[[], Schedule]]
) -> None:
    for make in noticed:
        schedule = make()
        interval = measured(schedule)
        with larger(name, change):
            bound = program_bound(schedule.loop, schedule.machine).cycles
        assert interval < bound * (1 - ROUNDING), make.__name__


def test_fewer_registers_than_there_are_are_noticed() -> None:
    """Two results of five registers are there at once, so that products run beside."""
    schedule = of_one_group(registers=5, later=1)
    assert registers_along_programs(schedule) == {"group0": 11}
    assert measured(schedule) < 60
    not_below(schedule)
    with mock.patch.object(Sharing, "limit", property(lambda _: 9)):
        assert program_bound(schedule.loop, schedule.machine).cycles == 88


# -- what it says ---------------------------------------------------------------------------------


def test_figures_add_up_to_the_interval() -> None:
    arguments = program_bounds(*packaged("attention_forward_blackwell"))
    found = next(a for a in arguments if a.reason == "recurrence")
    assert found.figures == {"o": 608, "o.tmem_store2": 977}
    assert found.cycles == 1585
    assert arguments[0] is found
    assert [a.cycles for a in arguments] == sorted((a.cycles for a in arguments), reverse=True)


def test_a_wait_takes_as_much_as_the_cheaper_barrier_at_least() -> None:
    schedule = of_a_wait()
    cheap = machine_of(wait=4, named=1)
    assert program_bound(schedule.loop, schedule.machine).cycles == 39
    assert program_bound(schedule.loop, cheap).cycles == 36


def test_no_wait_counts_where_that_for_another_operation_will_do() -> None:
    schedule = of_a_wait()
    other = op("c", "TC", 1, asynchronous=True)
    more = schedule.loop.model_copy(update={"operations": (*schedule.loop.operations, other)})
    assert program_bound(more, schedule.machine).cycles == 39 - 4


def test_the_latency_of_loads_counts_where_it_is_given() -> None:
    schedule = of_memory()
    memory = [
        next(a for a in program_bounds(schedule.loop, schedule.machine, latency=latency)
             if a.reason == "memory").cycles
        for latency in (None, 100, 1, 200)
    ]  # fmt: skip
    assert memory == [55, 55, 6, 105]


def test_an_accumulator_takes_its_memory_all_the_time() -> None:
    loop, machine = packaged("fa_fwd_blackwell")
    (tensor_memory,) = (a for a in program_bounds(loop, machine) if a.of == ("tmem",))
    # Of 512 columns by two halves two accumulators of 128 columns leave half.
    assert tensor_memory.over == 512
    assert not {"o0", "o1"} & tensor_memory.figures.keys()


@pytest.mark.parametrize("part", sampled(range(3), 3))
def test_the_data_has_the_bounds_of_all_packaged_loops(part: int) -> None:
    rows = [(row["loop"], row["cycles"], row["reason"]) for row in read("bounds")]
    assert rows[part::3] == [
        (name, f"{bound.cycles:.10g}", f"{bound.reason}: {', '.join(bound.of)}")
        for name in list(packaged_loops())[part::3]
        for bound in [program_bound(*packaged(name))]
    ]


@pytest.mark.parametrize("name", ["gemm_blackwell", "layer_norm_blackwell"])
def test_no_program_of_a_campaign_is_below_its_bound(name: str, answers: Cache) -> None:
    """The slow way, with 20,000 programs of all loops: ``python -m tests.bounds 20000``."""
    found = Campaign(name, cache=answers).go_on(6)
    assert found.programs == 6
    assert found.below == []
    assert min(found.nearest.values()) < 3
