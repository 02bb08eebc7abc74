"""What a user decides beforehand: limits, pins, orders; the same bytes again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import edge, op, small_loop, small_machine, tight_loop
from tests.support.static import static_schedule
from twill.base.errors import InputError, RefusedError
from twill.search.request import EngineName

UNITS = {"TC": 1, "ALU": 1, "BUS": 1}


def far_apart() -> tuple[twill.Loop, twill.Machine]:
    """Return a loop whose b waits for a, and reads c from another group or issues after it."""
    operations = [
        op("a", "TC", asynchronous=True, registers=1),
        op("b", "BUS"),
        op("c", "ALU", 3, registers=1),
    ]
    loop = small_loop(operations, [edge("a", "b"), edge("c", "b")])
    return loop, small_machine(UNITS, registers=8)


def long_lived() -> tuple[twill.Loop, twill.Machine]:
    """Return a loop in which a value of four registers lives for several intervals of two."""
    operations = [op("a", "TC", 2, latency=5, asynchronous=True, registers=4), op("b", "ALU")]
    return small_loop(operations, [edge("a", "b")]), small_machine(registers=64)


@pytest.mark.parametrize(
    ("limit", "most", "free", "limited"),
    [("groups", 1, 3, 4), ("transfers", 0, 3, 4), ("stages", 1, 3, 4)],
)
def test_a_limit_costs_time(limit: str, most: int, free: int, limited: int) -> None:
    loop, machine = far_apart()
    assert static_schedule(loop, machine).initiation_interval == free
    schedule = static_schedule(loop, machine, limits={limit: most})
    assert schedule.initiation_interval == limited
    assert twill.verify(schedule).violations == ()
    assert schedule.proof is not None
    assert schedule.proof.limits == {limit: most}
    levels: dict[str, int] = {x.level: x.value for x in schedule.proof.levels}
    assert levels.get(limit, 0) <= most
    enough = static_schedule(loop, machine, limits={limit: most + 1})
    assert enough.initiation_interval == free


@pytest.mark.parametrize(("registers", "interval"), [(64, 2), (16, 2), (8, 3), (4, 5)])
def test_a_limit_on_registers_costs_time(registers: int, interval: int) -> None:
    schedule = static_schedule(*long_lived(), limits={"registers": registers})
    assert schedule.initiation_interval == interval
    assert all((g.registers_live or 0) <= registers for g in schedule.groups)
    assert twill.verify(schedule).violations == ()


def test_a_limit_below_one_value_is_refused() -> None:
    with pytest.raises(RefusedError, match="a needs 4 registers per thread; small has 3 of which"):
        static_schedule(*long_lived(), limits={"registers": 3})


@pytest.mark.parametrize("engine", ["difference", "cpsat"])
def test_pinned_groups_keep_their_names(engine: EngineName) -> None:
    loop, machine = far_apart()
    pins = {"a": "products", "b": "products", "c": "rest"}
    schedule = static_schedule(loop, machine, pins=pins, engine=engine)
    assert schedule.assignment == pins
    assert {group.name for group in schedule.groups} == {"products", "rest"}
    assert schedule.initiation_interval == 3
    assert twill.verify(schedule).violations == ()
    assert schedule.proof is not None
    assert schedule.proof.pins == pins
    together = dict.fromkeys(pins, "only")
    schedule = static_schedule(loop, machine, pins=together, engine=engine)
    assert schedule.initiation_interval == 4
    assert [group.name for group in schedule.groups] == ["only"]


def test_some_pins_leave_the_rest_to_the_search() -> None:
    schedule = static_schedule(*far_apart(), pins={"c": "compute0"})
    place = schedule.assignment
    assert place["c"] == "compute0"
    assert place["b"] != "compute0"
    assert schedule.initiation_interval == 3


@pytest.mark.slow
@pytest.mark.sample
def test_a_hand_schedule_is_completed(
    attention: twill.Loop, hopper: twill.Machine, attention_schedule: twill.Schedule
) -> None:
    names = {"load": "producer", "compute0": "ping", "compute1": "pong"}
    pins = {o: names[group] for o, group in attention_schedule.assignment.items()}
    order = [("s0", "o0"), ("s1", "o1")]
    schedule = static_schedule(attention, hopper, pins=pins, orders=order)
    assert schedule.assignment == pins
    assert schedule.initiation_interval == 2048
    assert all(schedule.start[a] <= schedule.start[b] for a, b in order)
    assert twill.verify(schedule).violations == ()
    assert schedule.proof is not None
    assert schedule.proof.orders == tuple(order)


def test_an_order_binds() -> None:
    # Without it b issues first: a, which nobody waits for, goes into the gap before c.
    operations = [op("a", "TC", 2), op("b", "TC", 2, latency=4), op("c", "ALU")]
    loop, machine = small_loop(operations, [edge("b", "c")]), small_machine()
    free = static_schedule(loop, machine, limits={"stages": 2})
    assert free.start["b"] < free.start["a"]
    schedule = static_schedule(loop, machine, orders=[("a", "b")], limits={"stages": 2})
    assert schedule.start["a"] <= schedule.start["b"]
    assert (schedule.length or 0) > (free.length or 0)


@pytest.mark.parametrize("engine", ["difference", "cpsat"])
def test_contradictory_wishes_are_refused_with_their_name(engine: EngineName) -> None:
    loop, machine = far_apart()
    three = {"a": "x", "b": "y", "c": "z"}
    contradictions: tuple[dict[str, Any], ...] = ({"pins": three}, {"orders": [("b", "a")]})
    for wishes in contradictions:
        with pytest.raises(RefusedError) as caught:
            static_schedule(loop, machine, engine=engine, **wishes)
        if engine == "difference":
            assert "wishes" in str(caught.value)


def test_a_load_and_a_product_on_one_group_are_refused() -> None:
    load = op("load", "BUS", latency=9, asynchronous=True, variable_latency=True)
    loop = small_loop([load, op("a", "TC", asynchronous=True)], [edge("load", "a")])
    assert static_schedule(loop, small_machine(UNITS), pins={"load": "one", "a": "two"}).groups
    with pytest.raises(RefusedError, match="wishes"):
        static_schedule(loop, small_machine(UNITS), pins={"load": "one", "a": "one"})


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"pins": {"d": "x"}}, "pin: no operation named 'd'"),
        ({"orders": [("a", "bb")]}, "order: no operation named 'bb'; did you mean b"),
        ({"limits": {"warps": 1}}, "limit: one of registers, groups, transfers, stages"),
        ({"limits": {"groups": 0}}, r"limit groups: a whole number \(got 0\)"),
        ({"limits": {"stages": 1.5}}, r"limit stages: a whole number \(got 1.5\)"),
    ],
)
def test_bad_wishes_are_bad_input(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        static_schedule(*far_apart(), **wishes)


# -- on the command line ------------------------------------------------------------------------


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return in_process("twill", *arguments)


SCHEDULE = ("schedule", "paper_example", "-m", "paper_example")


def test_wishes_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    options = ("--limit", "stages=3", "--limit", "registers=168", "--pin", "S=x", "--pin", "O=y")
    done = call(*SCHEDULE, *options, "--order", "S,P", "-o", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    schedule = twill.Schedule.load(file)
    assert (schedule.assignment["S"], schedule.assignment["O"]) == ("x", "y")
    assert schedule.start["S"] <= schedule.start["P"]
    assert twill.verify(schedule).valid
    proof = json.loads(file.read_text())["proof"]
    assert proof["limits"] == {"registers": 168, "stages": 3}
    assert proof["pins"] == {"S": "x", "O": "y"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pin", "Q=a"), "twill: pin: no operation named 'Q'"),
        (("--pin", "S"), "twill: pin: two parts with '=' between (got 'S')"),
        (("--order", "S"), "twill: order: two parts with ',' between (got 'S')"),
        (("--order", "S,X"), "twill: order: no operation named 'X'"),
        (("--limit", "regs=3"), "twill: limit: one of registers, groups, transfers, stages"),
        (("--limit", "groups=two"), "twill: limit: a whole number (got 'two')"),
        (("--limit", "groups=0"), "twill: limit groups: a whole number (got 0)"),
    ],
)
def test_bad_wishes_end_in_status_2_and_one_line(options: tuple[str, ...], message: str) -> None:
    done = call(*SCHEDULE, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_contradictory_wishes_end_in_status_1() -> None:
    done = call(*SCHEDULE, "--order", "O,S", "--limit", "stages=2")
    assert done.returncode == 1
    assert "wishes" in done.stderr
    assert done.stderr.count("\n") == 1


# -- determinism --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_bytes_whatever_the_hash_seed() -> None:
    loop, machine = tight_loop(11)
    engines: tuple[EngineName, ...] = ("difference", "cpsat")
    here = [static_schedule(loop, machine, engine=engine).to_json() for engine in engines]
    code = (
        "import json, sys, twill\n"
        "from tests.support.small import tight_loop\n"
        "loop, machine = tight_loop(11)\n"
        "found = [twill.schedule(loop, machine, engine=e).to_json() for e in sys.argv[1:]]\n"
        "json.dump(found, sys.stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *engines],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
    )
    assert json.loads(done.stdout) == here
