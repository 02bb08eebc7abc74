"""A reader on another group has a copy of a register value for each distance at which it reads."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

import twill
from tests.support.pseudocode import Interpreter
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.order import Order
from twill.artifacts.program import Get
from twill.frontends.schedules import parse_schedule_ir, scheduled
from twill.show.code import code
from twill.show.differences import Comparison
from twill.show.ir import ir
from twill.sim.checks import check
from twill.sim.checks.dataflow import Dataflow
from twill.sim.checks.values import Values
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor

DISTANCES = [(0, 1), (1, 0), (0, 0), (1, 2), (3, 0, 1, 3)]


def reading(distances: Sequence[int], *, asynchronous: bool = False) -> twill.Loop:
    """Return a loop in which b reads a at some distances."""
    operations = [
        op("a", "ALU", 2, registers=8, transfer=2),
        op("b", "TC", 2, asynchronous=asynchronous, latency=5, registers=8),
    ]
    edges = [edge("a", "b", distance, operand=n) for n, distance in enumerate(distances)]
    return small_loop(operations, edges)


def read_across(distances: Sequence[int], *, asynchronous: bool = False) -> twill.Schedule:
    """Return a proved schedule in which a and b are on groups of their own."""
    loop = reading(distances, asynchronous=asynchronous)
    return static_schedule(loop, small_machine(smem=1 << 16), pins={"a": "left", "b": "right"})


def check_execution(schedule: twill.Schedule, iterations: int) -> None:
    """Look for races and wrong values, on the simulated SM and in the program as code."""
    check(schedule, iterations=iterations)
    values = Values(schedule, iterations, dataflow=Dataflow(schedule.loop, stand_ins=True))
    watched = values.watch()
    StreamingMultiprocessor(schedule, Conditions(iterations=iterations), [watched]).run()
    assert values.differences(watched) == []
    Interpreter(code(schedule, iterations), schedule, iterations, seed=1).run()


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("distances", DISTANCES)
def test_every_distance_has_a_copy(distances: tuple[int, ...], asynchronous: bool) -> None:
    schedule = read_across(distances, asynchronous=asynchronous)
    assert twill.verify(schedule).violations == ()
    each = sorted(set(distances))
    gets = [i for i in schedule.program("right").body if isinstance(i, Get)]
    assert sorted(i.distance for i in gets) == each
    assert sorted(s.distance for s in schedule.storage if s.reader == "b") == each
    for iterations in (1, 2, 3, 40):
        check_execution(schedule, iterations)
    assert parse_schedule_ir(ir(schedule)) == schedule


@pytest.mark.parametrize("distances", DISTANCES)
def test_orders_derive_a_copy_of_each_distance(distances: tuple[int, ...]) -> None:
    groups = (
        {"name": "left", "warps": 4, "body": ("a",)},
        {"name": "right", "warps": 4, "body": ("b",)},
    )
    order = Order.model_validate(
        {
            "name": "order",
            "groups": groups,
            "loop": reading(distances),
            "machine": small_machine(smem=1 << 16),
            "buffers": ({"value": "a", "slots": 4, "transfer": True},),
        }
    )
    schedule = scheduled(order)
    gets = [i for i in schedule.program("right").body if isinstance(i, Get)]
    assert sorted(i.distance for i in gets) == sorted(set(distances))
    for iterations in (1, 2, 3, 40):
        check_execution(schedule, iterations)


def one_name_for_both() -> twill.Schedule:
    """Return a program as it was when copies did not say their distance."""
    data = json.loads(read_across((0, 1)).to_json())
    for entry in (*data["storage"], *(i for p in data["programs"] for i in p["body"])):
        if "reader" in entry:
            entry["distance"] = 0
    return twill.Schedule.from_json(json.dumps(data))


def test_one_copy_for_two_distances_is_not_valid() -> None:
    assert {str(v) for v in twill.verify(one_name_for_both()).violations} == {
        "programs: the copy of a that b reads at distance 0 has 2 gets, needs 1",
        "programs: the copy of a that b reads at distance 1 has 0 gets, needs 1",
        "programs: b is issued before right gets a for it",
        "storage: a for b at distance 0 in registers of right has slots 2 times",
        "storage: a for b at distance 1 in registers of right has no slots",
    }


def test_one_copy_for_two_distances_does_not_run() -> None:
    with pytest.raises(SimulationError, match="overwrites copy for b at distance 0"):
        twill.sim.run(one_name_for_both())


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("distance", 2, r"\.distance: 'b' reads 'a' at distance 0 and 1 \(got 2\)"),
        ("reader", "a", r"\.reader: 'a' does not read 'a'"),
    ],
)
def test_a_copy_of_what_is_not_read_is_refused(key: str, value: object, message: str) -> None:
    data = json.loads(read_across((0, 1)).to_json())
    body = next(p["body"] for p in data["programs"] if p["group"] == "right")
    place = next(n for n, i in enumerate(body) if i["do"] == "get")
    body[place][key] = value
    with pytest.raises(twill.InputError, match=rf"body\[{place}\]{message}"):
        twill.Schedule.from_json(json.dumps(data))


def test_only_a_copy_has_a_distance() -> None:
    data = json.loads(read_across((0, 1)).to_json())
    data["storage"][0]["distance"] = 1
    with pytest.raises(twill.InputError, match=r"storage\[0\].distance: of a copy with a reader"):
        twill.Schedule.from_json(json.dumps(data))


def test_differences_say_which_copy() -> None:
    schedule = read_across((0, 1))
    data = json.loads(schedule.to_json())
    later = next(s for s in data["storage"] if s.get("reader") and s["distance"] == 1)
    later["slots"] += 1
    (found,) = Comparison(schedule, twill.Schedule.from_json(json.dumps(data))).differences
    assert found.what == "copy of a for b 1 later in registers of right"


@pytest.mark.slow
@pytest.mark.parametrize(
    "pins",
    [
        {"n0": "A", "a0.sub": "B"},
        {"n0": "A", "n1": "B", "a0.sub": "C", "a1.sub": "C"},
        {"n1": "A", "a1.sub": "B", "p0": "B"},
    ],
)
def test_a_softmax_sends_its_maximum_for_two_iterations(pins: dict[str, str]) -> None:
    """The rescaling reads this iteration's row maximum and the one before."""
    loop, machine = twill.load_loop("fa_fwd_blackwell"), twill.Machine.named("blackwell_b200")
    schedule = static_schedule(loop, machine, pins=pins)
    assert twill.verify(schedule).violations == ()
    gets = {(i.reader, i.distance) for p in schedule.programs for i in p.body if isinstance(i, Get)}
    assert any({(reader, 0), (reader, 1)} <= gets for reader in ("a0.sub", "a1.sub"))
    for iterations in (1, 2, 3, 7, 12):
        numbers = check(schedule, iterations=iterations, values=True).numbers
        assert numbers is not None
        assert numbers.right


def test_equal_reads_take_the_registers_of_one_copy() -> None:
    # With a register file, so that registers are counted.
    machine = small_machine(smem=1 << 16, registers=24, file=128 * 2 * 24)
    live = [
        {g.name: g.registers_live for g in schedule.groups}
        for distances in ((0,), (0, 0))
        for schedule in (
            static_schedule(reading(distances), machine, pins={"a": "left", "b": "right"}),
        )
    ]
    assert live[0] == live[1]
