"""Mechanisms of the machine, each by itself, against closed forms."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import partial
from typing import Any

import pytest

import twill
from tests.support.programs import unsolved
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.loop import Step
from twill.artifacts.program import Arrive, Barrier, Instruction, Issue, Program, Storage, Wait
from twill.artifacts.schedule import Group, Schedule
from twill.sim.engine import MECHANISMS, Conditions
from twill.sim.engine.events import (
    Busy,
    Completed,
    Handlers,
    SimulationError,
    Stalled,
    Waited,
)
from twill.sim.engine.sm import StreamingMultiprocessor, set_registers
from twill.sim.engine.units import Port

Data = dict[str, Any]


class Seen:
    """Commands, operations and waits, with their cycles."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, float, float]] = []
        self.done: dict[tuple[str, int], float] = {}
        self.passed: list[float] = []
        self.stalls: dict[str, float] = defaultdict(float)
        self.handlers: Handlers = {
            Busy: lambda e: self.commands.append((e.operation, e.begin, e.end)),
            Completed: lambda e: self.done.update({(e.operation, e.iteration): e.cycle}),
            Waited: lambda e: self.passed.append(e.cycle),
            Stalled: self.stalled,
        }

    def stalled(self, event: Stalled) -> None:
        self.stalls[event.kind] += event.end - event.begin


by_hand = partial(unsolved, warps=1)


def machine_with(change: Data, **options: Any) -> twill.Machine:
    """Return a small machine with parts of its description replaced."""
    data = small_machine(**options).model_dump(by_alias=True, exclude_none=True)
    for path, value in change.items():
        place = data
        *parents, last = path.split(".")
        for key in parents:
            place = place[key]
        place[last] = value
    return twill.Machine.model_validate(data)


def watch(
    schedule: Schedule, iterations: int = 1, *, checks: bool = True, **conditions: Any
) -> Seen:
    seen = Seen()
    stated = Conditions.of(iterations=iterations, **conditions)
    StreamingMultiprocessor(schedule, stated, [seen], checks=checks).run()
    return seen


def product(name: str, commands: int, cycles: int, issue: int, unit: str = "TC") -> twill.Operation:
    """Return an operation of commands, each with its cycles on the unit and on the warp."""
    made = op(name, unit, commands * cycles, asynchronous=True, issue=commands * issue, warps=1)
    assert made.cost is not None
    step = made.cost.steps[0].model_copy(update={"instructions": commands})
    return made.model_copy(update={"cost": made.cost.model_copy(update={"steps": (step,)})})


# -- queues of asynchronous units ---------------------------------------------------------------


def queue(depth: int) -> Data:
    return {"depth": {"value": depth, "unit": "commands", "source": "TEST"}, "source": "TEST"}


def alone(machine: twill.Machine, commands: int = 8) -> Seen:
    """Issue commands a cycle apart to a unit that takes 10 for each, then an addition."""
    loop = small_loop([product("mma", commands, 10, 1), op("add", "ALU", 1, warps=1)])
    body: list[Instruction] = [Issue(operation="mma"), Issue(operation="add")]
    return watch(by_hand(loop, machine, {"g": body}))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_a_full_queue_blocks_who_issues(depth: int) -> None:
    seen = alone(machine_with({"units.TC.queue": queue(depth)}))
    # Command n is issued when command n - depth leaves the queue, and that is when it starts.
    assert [begin for _, begin, _ in seen.commands] == [10 * n for n in range(8)]
    last = max(7, 10 * (7 - depth))
    assert seen.done["add", 0] == last + 1 + 1
    assert seen.stalls.get("queue", 0) == last - 7


def test_a_queue_without_a_limit_takes_all_commands() -> None:
    assert alone(small_machine()).done["add", 0] == 9
    loop = small_loop([product("mma", 8, 10, 1), op("add", "ALU", 1, warps=1)])
    body: list[Instruction] = [Issue(operation="mma"), Issue(operation="add")]
    blocking = machine_with({"units.TC.queue": queue(1)})
    free = watch(by_hand(loop, blocking, {"g": body}), without=["queues"])
    assert free.done["add", 0] == 9


def test_commands_of_two_groups_are_taken_in_the_order_of_issue() -> None:
    machine = machine_with({"units.TC.queue": queue(100)})
    loop = small_loop([product("a", 4, 10, 1), product("b", 4, 10, 1)])
    programs: dict[str, list[Instruction]] = {
        "one": [Issue(operation="a")],
        "two": [Issue(operation="b")],
    }
    seen = watch(by_hand(loop, machine, programs))
    assert "".join(operation for operation, _, _ in seen.commands) == "abababab"


def test_bytes_in_flight_bound_the_rate_by_the_latency() -> None:
    # Little's law: loads of 1 KiB that take 100 cycles, with 2 KiB in flight at most.
    window = {"value": 2048, "unit": "bytes", "source": "TEST"}
    machine = machine_with({"units.TMA.in_flight": window}, units={"TMA": 1, "ALU": 1})
    loads = [
        op(f"l{n}", "TMA", 1, latency=100, asynchronous=True, memory="smem", variable_latency=True)
        for n in range(6)
    ]
    body: list[Instruction] = [Issue(operation=load.name) for load in loads]
    seen = watch(unsolved(small_loop(loads), machine, {"g": body}))
    begins = [begin for _, begin, _ in seen.commands]
    assert begins == [0, 1, 100, 101, 200, 201]


# -- what products leave to warps ----------------------------------------------------------------


def figure(value: float) -> Data:
    return {"value": value, "unit": "of it", "source": "TEST"}


def slots(first: str = "", waiting: str = "", kept: float = 0) -> Data:
    """Return rules of register slots of which products leave one in four."""
    rules = {"unit": "TC", "first": (first,) * bool(first), "waiting": (waiting,) * bool(waiting)}
    figures = {"free": figure(0.25), "kept": figure(kept), "apart": figure(1.5)}
    return {"registers": rules | figures}


def instructions(unit: str, number: int, cycles: int, **options: Any) -> twill.Operation:
    """Return an operation of so many instructions of a warp, each of so many cycles."""
    made = op("add", unit, number * cycles, warps=1, **options)
    assert made.cost is not None
    step = made.cost.steps[0].model_copy(update={"instructions": number})
    return made.model_copy(update={"cost": made.cost.model_copy(update={"steps": (step,)})})


def beside_products(
    mechanisms: Data, other: twill.Operation, mma: twill.Operation, **change: Any
) -> dict[str, Seen]:
    """Run an operation beside products, with mechanisms and without each of them."""
    units = {"TC": 1, "ALU": 1, "PORT": 4}
    machine = machine_with({"mechanisms": mechanisms, **change}, units=units)
    programs: dict[str, list[Instruction]] = {
        "one": [Issue(operation="mma")],
        "two": [Issue(operation=other.name)],
    }
    schedule = by_hand(small_loop([mma, other]), machine, programs)
    off = {"none": (), "slots": ("register-slots",), "port": ("memory-port",)}
    return {name: watch(schedule, without=without) for name, without in off.items()}


CONTEXTS = {"units.ALU.scope": "context"}


def test_instructions_that_go_first_delay_products() -> None:
    # Each of ten additions lacks a slot: it delays the product of its context by 1, all four
    # contexts together by a quarter, and the next addition follows after 1.5.
    seen = beside_products(
        slots("ALU"), instructions("ALU", 10, 1), product("mma", 9, 10, 0), **CONTEXTS
    )
    assert seen["none"].done["mma", 0] == 90 + 10 / 4
    assert seen["none"].done["add", 0] == pytest.approx(10 * 1.5, abs=1)
    assert seen["slots"].done["mma", 0] == 90
    assert seen["slots"].done["add", 0] == 10


def test_slots_that_products_left_delay_nothing() -> None:
    # Additions 4 cycles apart find the one slot in four that a product leaves.
    spaced = instructions("ALU", 20, 4)
    seen = beside_products(slots("ALU", kept=1), spaced, product("mma", 9, 10, 0), **CONTEXTS)
    assert (seen["none"].done["mma", 0], seen["none"].done["add", 0]) == (90, 80)


def test_instructions_that_wait_take_the_slots_that_products_leave() -> None:
    # One in four cycles, and each on its pipe for 2.
    waiting = instructions("ALU", 20, 2)
    seen = beside_products(
        slots(waiting="ALU", kept=1), waiting, product("mma", 9, 10, 0), **CONTEXTS
    )
    assert seen["none"].done["mma", 0] == 90
    assert seen["none"].done["add", 0] == pytest.approx(20 * 4, abs=6)
    assert seen["slots"].done["add", 0] == 40


def port(*shares: tuple[float, float], shuffles: str | None = None) -> Data:
    entries = tuple({"needed": needed, "left": figure(left)} for needed, left in shares)
    rules = {"unit": "PORT", "products": "TC", "latency": {"value": 7, "source": "TEST"}}
    return {"port": rules | {"shares": entries, "shuffles": shuffles}}


@pytest.mark.parametrize(("count", "left"), [(4, 0.25), (2, 0.5)])
def test_warps_get_the_share_of_the_port_that_products_leave(count: int, left: float) -> None:
    # Products of 8 cycles for 160 that need `count` of 4; alone the store takes 16 cycles.
    mma = beside(product("mma", 20, 8, 0), 160, count)
    store = instructions("PORT", 4, 4, count=4)
    seen = beside_products(port((1.0, 0.25), (0.5, 0.5)), store, mma)
    # An access that finds operands on their way waits for those too, at most 8 cycles.
    assert 16 / left <= seen["none"].done["add", 0] <= 16 / left + 4 * 8
    # Products get the rest: all of them take as much longer as the store takes of what they need.
    more = max(0, count / 4 - (1 - left)) / (1 - left) * 16 / left
    assert seen["none"].done["mma", 0] == pytest.approx(160 + more, abs=8)


def test_shuffles_wait_for_the_port() -> None:
    mma = beside(product("mma", 20, 8, 0), 160, 4)
    shuffles = instructions("ALU", 4, 1)
    seen = beside_products(port((1.0, 0.25), shuffles="ALU"), shuffles, mma, **CONTEXTS)
    assert seen["port"].done["add", 0] == 4
    # Each waits for the factors of the one or two products that come next, 8 cycles each.
    assert 4 * 8 <= seen["none"].done["add", 0] <= 4 * 16


@pytest.mark.parametrize(
    ("mechanisms", "message"),
    [
        (slots("XYZ"), "registers.first[0]: no unit named 'XYZ'"),
        (port((1.0, 0.5), shuffles="XYZ"), "port.shuffles: no unit named 'XYZ'"),
    ],
)
def test_mechanisms_name_units_of_the_machine(mechanisms: Data, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message.split(": ")[1])):
        machine_with({"mechanisms": mechanisms}, units={"TC": 1, "PORT": 4})


def test_a_port_has_a_bandwidth_and_leaves_a_part_of_it() -> None:
    with pytest.raises(ValueError, match="'PORT' is no port with a bandwidth"):
        machine_with({"mechanisms": port((1.0, 0.5))}, units={"TC": 1, "PORT": 1})
    with pytest.raises(ValueError, match="shares above 0, and at most 1"):
        machine_with({"mechanisms": port((1.0, 0.0))}, units={"TC": 1, "PORT": 4})


def test_stores_use_the_shared_memory_port_between_the_commands_of_a_product() -> None:
    # Products are queued far ahead; each fills half of the port. A store does not wait for all.
    machine = small_machine({"TC": 1, "PORT": 2})
    mma = product("mma", 100, 10, 1)
    assert mma.cost is not None
    port = mma.cost.steps[0].model_copy(update={"unit": "PORT", "count": 1})
    mma = mma.model_copy(
        update={"cost": mma.cost.model_copy(update={"steps": (*mma.cost.steps, port)})}
    )
    loop = small_loop([mma, op("store", "PORT", 10, warps=1)])
    programs: dict[str, list[Instruction]] = {
        "one": [Issue(operation="mma")],
        "two": [Issue(operation="store")],
    }
    assert watch(by_hand(loop, machine, programs)).done["store", 0] <= 30


def beside(operation: twill.Operation, cycles: int, count: int) -> twill.Operation:
    """Return an operation that also takes `count` of the port for so many cycles."""
    assert operation.cost is not None
    step = Step(unit="PORT", cycles=cycles, count=count)
    steps = (*operation.cost.steps, step)
    return operation.model_copy(update={"cost": operation.cost.model_copy(update={"steps": steps})})


def at_once(*operations: twill.Operation) -> Seen:
    """Let every operation be issued by a group of its own; the port gives four a cycle."""
    machine = small_machine({"TC": 1, "TMA": 1, "PORT": 4})
    programs: dict[str, list[Instruction]] = {
        f"g{n}": [Issue(operation=o.name)] for n, o in enumerate(operations)
    }
    return watch(by_hand(small_loop(operations), machine, programs))


@pytest.mark.parametrize(("count", "end"), [(1, 80), (2, 80), (3, 92.5), (4, 100)])
def test_a_long_store_leaves_products_the_rest_of_the_port(count: int, end: float) -> None:
    # Eight products of 10 cycles, each with `count` of the port; the store takes 2 of 4 for 40
    # cycles. Where both fit nobody waits. Where not, operands take twice as long beside the store:
    # with 3 of 4 two products take 15, one takes 12.5, five take 10; with all two take 20.
    store = beside(product("store", 1, 40, 0, "TMA"), 40, 2)
    mma = beside(product("mma", 8, 10, 0), 80, count)
    seen = at_once(store, mma)
    assert seen.done["store", 0] == 40
    assert seen.done["mma", 0] == end


def test_a_product_is_not_held_up_by_stores_that_fit_beside_it() -> None:
    # Its operands take half of each 10 cycles, and are fetched one command ahead.
    mma = beside(product("mma", 100, 10, 0), 1000, 2)
    store = op("store", "PORT", 200, warps=1, count=4)
    alone, together = at_once(mma), at_once(mma, store)
    assert alone.done["mma", 0] == together.done["mma", 0] == 1000
    # The store gets every cycle that the fetches leave: half of them.
    assert together.done["store", 0] == pytest.approx(400, abs=10)


def test_a_store_that_is_booked_at_half_the_port_takes_all_that_is_free() -> None:
    # Half of the port for twice the time is how the static model books it beside a product.
    seen = at_once(op("store", "PORT", 40, warps=1, count=2))
    assert seen.done["store", 0] == pytest.approx(20, abs=0.5)


def test_streams_that_do_not_fit_into_a_port_together_follow_each_other() -> None:
    port = Port("PORT")
    assert port.stream(0, 40, 0.5) == (0, 40)
    assert port.stream(10, 40, 0.75) == (40, 80)
    assert port.stream(10, 8, 0.25) == (10, 18)


def test_work_fills_what_streams_leave() -> None:
    port = Port("PORT")
    port.stream(0, 40, 0.75)
    # A quarter of 40 cycles, then all.
    assert port.accept(0, 0, 10) == (0, 40)
    assert port.accept(0, 0, 5) == (40, 45)


# -- barriers ------------------------------------------------------------------------------------


def costs(wait: int, arrive: int, hop: int, **more: Any) -> Data:
    values = {"wait": wait, "arrive": arrive, "hop": hop}
    return {key: {"value": value, "source": "TEST"} for key, value in values.items()} | more


def handed_over(
    barrier: Barrier, wait: Wait, arrive: Arrive, machine: twill.Machine, late: int = 40
) -> float:
    """Return when a warp passes a barrier at which another one arrives `late` cycles later."""
    loop = small_loop([op("work", "ALU", late, warps=1), op("use", "TC", warps=1)])
    programs: dict[str, list[Instruction]] = {
        "one": [Issue(operation="work"), arrive],
        "two": [wait, Issue(operation="use")],
    }
    return watch(by_hand(loop, machine, programs, (barrier,))).passed[0]


def test_an_mbarrier_is_seen_a_hop_after_the_arrive() -> None:
    machine = machine_with({"synchronisation": costs(8, 6, 50)})
    barrier, wait, arrive = Barrier(name="b", slots=1), Wait(barrier="b"), Arrive(barrier="b")
    # The hop includes the wait, which follows.
    assert handed_over(barrier, wait, arrive, machine) == 40 + 50 - 8


def test_a_named_barrier_has_costs_of_its_own_and_a_wait_arrives() -> None:
    named = costs(12, 6, 30)
    machine = machine_with({"synchronisation": costs(8, 6, 50, named=named)})
    barrier = Barrier(name="b", slots=1, arrivals=2, kind="named")
    wait, arrive = Wait(barrier="b"), Arrive(barrier="b")
    assert handed_over(barrier, wait, arrive, machine) == 40 + 30 - 12


def test_a_named_barrier_of_the_whole_block_lets_nobody_pass_before_all_came() -> None:
    machine = machine_with({"synchronisation": costs(0, 0, 0)})
    loop = small_loop([op(f"w{n}", "ALU", 10 * n, warps=1) for n in (1, 2, 3)])
    programs: dict[str, list[Instruction]] = {
        f"g{n}": [Issue(operation=f"w{n}"), Wait(barrier="all")] for n in (1, 2, 3)
    }
    barrier = Barrier(name="all", slots=1, arrivals=3, kind="named")
    assert len(set(watch(by_hand(loop, machine, programs, (barrier,))).passed)) == 1


def test_a_polling_wait_goes_on_at_its_next_test() -> None:
    poll = {"value": 7, "source": "TEST"}
    machine = machine_with({"synchronisation": costs(0, 0, 0, poll=poll)})
    barrier, arrive = Barrier(name="b", slots=1), Arrive(barrier="b")
    sleeping = handed_over(barrier, Wait(barrier="b"), arrive, machine)
    testing = handed_over(barrier, Wait(barrier="b", polling=True), arrive, machine)
    assert (sleeping, testing) == (40, 42)


@pytest.mark.parametrize("expected", [1024, 2048])
def test_a_phase_waits_for_the_bytes_that_were_announced(expected: int) -> None:
    machine = machine_with({"synchronisation": costs(0, 0, 0)}, units={"TMA": 1, "ALU": 1})
    loads = [
        op(f"l{n}", "TMA", 1, latency=at, asynchronous=True, memory="smem", warps=1)
        for n, at in enumerate((50, 90))
    ]
    loop = small_loop([*loads, op("use", "ALU", warps=1)], [edge("l0", "use")])
    body: list[Instruction] = [Arrive(barrier="full", expect=expected)]
    body += [Issue(operation=load.name, signals=("full",)) for load in loads]
    programs: dict[str, list[Instruction]] = {
        "load": body,
        "use": [Wait(barrier="full"), Issue(operation="use")],
    }
    barrier = Barrier(name="full", slots=1, transactions=True)
    schedule = by_hand(loop, machine, programs, (barrier,))
    if expected == 1024:
        # One load is enough for the phase; the other one's bytes nobody waits for.
        assert watch(schedule, checks=False).passed == [50]
    else:
        assert watch(schedule).passed == [1 + 90]


# -- registers -----------------------------------------------------------------------------------


def allocated(hopper: twill.Machine, registers: dict[str, tuple[int, int]]) -> Schedule:
    loop = small_loop([op("a", "fma")])
    schedule = unsolved(loop, hopper, {"g": [Issue(operation="a")]})
    groups = tuple(
        Group(name=name, warps=warps, registers=asked) for name, (warps, asked) in registers.items()
    )
    return schedule.model_copy(update={"groups": groups})


def test_flash_attention_3_takes_all_registers(hopper: twill.Machine) -> None:
    consumers = {"left": (4, 240), "right": (4, 240)}
    set_registers(allocated(hopper, {"load": (4, 24), **consumers}))
    set_registers(allocated(hopper, {"load": (1, 24), "store": (1, 24), **consumers}))
    set_registers(allocated(hopper, {"load": (4, 32), "a": (4, 160), "b": (4, 160), "c": (4, 160)}))


def test_who_gets_no_registers_waits_for_ever(hopper: twill.Machine) -> None:
    greedy = allocated(hopper, {"load": (4, 40), "left": (4, 240), "right": (4, 240)})
    with pytest.raises(SimulationError) as caught:
        set_registers(greedy)
    assert str(caught.value) == (
        "deadlock: at cycle 0 right wait at setmaxnreg for 240 registers per thread, 30720 in all; "
        "28672 of 64512 are left"
    )


# -- switches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_takes_longer_without_a_mechanism(
    attention_schedule: Schedule, mechanism: str
) -> None:
    def total(*without: str) -> float:
        sm = StreamingMultiprocessor(
            attention_schedule, Conditions.of(iterations=12, without=without)
        )
        sm.run()
        return max(sm.finished_at)

    assert total(mechanism) <= total()


def test_switches_add_up_to_what_they_name(attention_schedule: Schedule) -> None:
    result = twill.sim.run(attention_schedule, iterations=12, without=["completion", "queues"])
    assert result.without == ("completion", "queues")
    with pytest.raises(twill.InputError, match="without: one of issue-slots"):
        twill.sim.run(attention_schedule, without=["gravity"])


# -- programs that are none ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([Issue(operation="a")], "b is not issued exactly once"),
        ([Issue(operation="a"), Issue(operation="b"), Issue(operation="b")], "b is not issued"),
        ([Issue(operation="a"), Issue(operation="b", begin=0, end=2, of=3)], "b is not issued"),
        ([Issue(operation="a"), *(Issue(operation="b", begin=n, end=n + 1, of=2) for n in (1, 0))],
         "b is not issued"),
        ([Issue(operation="a"), *(Issue(operation="b", begin=n, end=n + 1, of=2, stage=1 - n)
         for n in (0, 1))], "b is not issued"),
        ([Issue(operation="a", signals=("x",)), Issue(operation="b")], "put an arrive behind it"),
    ],
)  # fmt: skip
def test_a_program_that_leaves_out_work_is_refused(body: list[Instruction], message: str) -> None:
    loop = small_loop([op("a", "ALU", 3, warps=1), op("b", "ALU", 3, warps=1)])
    whole: list[Instruction] = [Issue(operation="a"), Issue(operation="b")]
    schedule = by_hand(loop, machine_with({}), {"g": whole}, (Barrier(name="x", slots=1),))
    programs = (Program(group="g", body=tuple(body)),)
    with pytest.raises(twill.InputError, match=message):
        StreamingMultiprocessor(
            schedule.model_copy(update={"programs": programs}), Conditions(iterations=4)
        )


def test_a_program_issues_only_what_is_placed_on_its_group() -> None:
    loop = small_loop([op("a", "ALU", 3, warps=1), op("b", "ALU", 3, warps=1)])
    schedule = by_hand(
        loop, machine_with({}), {"g": [Issue(operation="a")], "h": [Issue(operation="b")]}
    )
    swapped = tuple(
        p.model_copy(update={"group": {"g": "h", "h": "g"}[p.group]}) for p in schedule.programs
    )
    with pytest.raises(twill.InputError, match="h issues a, which is placed on g"):
        StreamingMultiprocessor(
            schedule.model_copy(update={"programs": swapped}), Conditions(iterations=4)
        )


def test_warps_wait_for_all_that_read_a_slot_before_they_overwrite_it(
    paper_machine: twill.Machine,
) -> None:
    # Each warp's one instruction takes 4 cycles and a quarter of the pipe: the first warp is done
    # 3 cycles before the last.
    step = Step(unit="EXP", cycles=4, instructions=1)
    operations = [op("a", "EXP", 4, memory="smem"), op("b", "EXP", 4, registers=8)]
    operations = [
        o.model_copy(update={"cost": o.cost.model_copy(update={"steps": (step,)})})
        for o in operations
        if o.cost is not None
    ]
    body: list[Instruction] = [Issue(operation="a"), Issue(operation="b")]
    made = unsolved(small_loop(operations, [edge("a", "b")]), paper_machine, {"g": body})
    storage = (
        Storage(value="a", memory="smem", slots=1, size=1024),
        Storage(value="b", memory="registers", group="g", slots=1, size=8),
    )
    sm = StreamingMultiprocessor(
        made.model_copy(update={"storage": storage}), Conditions(iterations=8)
    )
    sm.run()
    # Every warp waits for the last one after each operation.
    assert sm.finished_at == [14 * (i + 1) for i in range(8)]


def test_a_wait_does_not_find_its_barrier_two_phases_ahead() -> None:
    """Parity tells neighbouring phases apart and no others: the third looks like the first."""
    machine = machine_with({"synchronisation": costs(0, 0, 0)})
    loop = small_loop([op("quick", "ALU", 1, warps=1), op("slow", "ALU", 3, warps=1)])

    def ahead(arrive: Arrive, barrier: Barrier) -> Schedule:
        programs: dict[str, list[Instruction]] = {
            "ahead": [Issue(operation="quick"), arrive],
            "behind": [Issue(operation="slow"), Wait(barrier="b")],
        }
        return by_hand(loop, machine, programs, (barrier,))

    arrive = Arrive(barrier="b")
    assert watch(ahead(arrive, Barrier(name="b", slots=1)), iterations=1)
    with pytest.raises(
        SimulationError, match=r"behind waits at b slot 0 for iteration 0 \(phase 0"
    ):
        watch(ahead(arrive, Barrier(name="b", slots=1)), iterations=3)
    assert watch(ahead(arrive, Barrier(name="b", slots=3)), iterations=3)
