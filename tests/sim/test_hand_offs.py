"""Hand-overs between two groups of four warps: simulated against measured on a B200.

Measured by facebookexperimental/triton #1913 with third_party/tlx/tools/microbench/
cross_wg_handoff.py at 1f88f10: two groups play ping-pong, half of a round is one way.
"""

from __future__ import annotations

import json

import pytest

import twill
from tests.sim.test_hardware import by_hand
from tests.support.small import op, small_loop
from twill.artifacts.loop import Dependence, Loop, Operation, Tile
from twill.artifacts.order import Order
from twill.artifacts.program import Arrive, Barrier, Instruction, Issue, Wait
from twill.frontends.schedules import scheduled
from twill.sim.execute import run

MBARRIER, NAMED = 92, 30  # cycles
# On an H200: a group's barrier and an arrive take 29 more than the arrive, which is seen after 75.
HOPPER = 29 + 75
VALUE, VALUE_PER_KIB = 61, 16.1  # cycles, signal included; tiles of 128 x 4 to 128 x 128 f32
# Of a round in the benchmark, by its author's words; ours has none.
LOOP_OVERHEAD = 6


def one_way(schedule: twill.Schedule) -> float:
    """Return cycles from one group to the other."""
    interval = run(schedule).measured_interval_cycles
    assert interval is not None
    return interval / 2


@pytest.mark.parametrize(
    ("machine", "kind", "measured"),
    [
        ("blackwell_b200", None, MBARRIER),
        ("blackwell_b200", "named", NAMED),
        ("hopper_h100", None, HOPPER),
    ],
)
def test_a_signal_takes_as_long_as_measured(machine: str, kind: str | None, measured: int) -> None:
    arrivals = 1 if kind is None else 2  # a wait at a named barrier arrives
    barriers = tuple(
        Barrier.model_validate({"name": name, "slots": 1, "arrivals": arrivals, "kind": kind})
        for name in ("there", "back")
    )
    # The operations are issued while their group waits.
    programs: dict[str, list[Instruction]] = {
        "one": [Arrive(barrier="there"), Issue(operation="a"), Wait(barrier="back")],
        "two": [Wait(barrier="there"), Arrive(barrier="back"), Issue(operation="b")],
    }
    loop = small_loop([op("a", "fma"), op("b", "fma")])
    schedule = by_hand(loop, twill.Machine.named(machine), programs, barriers, warps=4)
    assert measured - LOOP_OVERHEAD / 2 <= one_way(schedule) <= measured


@pytest.mark.parametrize("columns", [4, 16, 32, 64, 128])
def test_a_value_takes_as_long_as_measured(columns: int) -> None:
    """The fit's line at the sizes that were measured."""
    machine = twill.Machine.named("blackwell_b200")
    tile = Tile.model_validate(
        {"shape": (128, columns), "dtype": "f32", "memory": "registers"}
    ).model_copy(update={"elements_per_thread": columns})
    sums = tuple(
        Operation(name=name, kind="add", warps=4, operands=(tile, tile), result=tile)
        for name in ("a", "b")
    )
    loop = Loop(
        name="ping_pong",
        operations=sums,
        dependences=(
            Dependence(producer="a", consumer="b", operand=0),
            Dependence(producer="b", consumer="a", operand=0, distance=1),
        ),
    )
    order = {
        "schema": "twill.order",
        "schema_version": 1,
        "name": "ping_pong",
        "machine": json.loads(machine.to_json()),
        "loop": json.loads(loop.to_json()),
        "groups": [{"name": name.upper(), "warps": 4, "body": [name]} for name in ("a", "b")],
    }
    found = one_way(scheduled(Order.from_json(json.dumps(order))))
    added = machine.cost(sums[0]).latency
    measured = VALUE + VALUE_PER_KIB * 128 * columns * 4 / 1024
    # Our groups also tell that what they read may be overwritten, and wait to be told.
    told = machine.synchronisation.wait.value + machine.synchronisation.arrive.value
    assert 0 <= found - added - measured <= told
