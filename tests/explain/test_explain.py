"""Explanations name what is in the way; every lever moves a loop that it alone holds back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from tests.support.static import static_schedule
from twill.bounds import resource_argument, resource_bound
from twill.engines.yices import DifferenceEngine
from twill.explain import Explanation, Role, explain
from twill.explain.levers import Lever, levers
from twill.problem import build_problem


def solved(operations: Any, edges: Any, machine: twill.Machine, **options: Any) -> twill.Schedule:
    return static_schedule(small_loop(operations, edges), machine, **options)


def explained(schedule: twill.Schedule) -> Explanation:
    return explain(schedule, DifferenceEngine)


def role(found: Explanation, family: str) -> Role:
    return next(r for r in found.roles if r.family == family)


def pulled(schedule: twill.Schedule) -> dict[str, Lever]:
    return {lever.name: lever for lever in levers(schedule, DifferenceEngine)}


def intervals(schedule: twill.Schedule) -> dict[str, float | None]:
    found = pulled(schedule)
    assert all(lever.proved for lever in found.values())
    return {name: lever.interval_cycles for name, lever in found.items()}


# -- explanations ----------------------------------------------------------------------------------


def test_a_busy_unit_is_a_sum() -> None:
    schedule = solved([op("a", "TC", 3), op("b", "TC", 2), op("c", "ALU")], [], small_machine())
    argument = explained(schedule).resource
    assert argument is not None
    assert (argument.unit, argument.value, argument.whole) == ("TC", 5, ())
    assert argument.parts == (("a", 3, 1), ("b", 2, 1))


def test_reservations_of_more_than_half_count_as_the_whole_unit() -> None:
    operations = [op("a", "BUS", 3, count=5), op("b", "BUS", 2, count=6), op("c", "BUS", count=1)]
    machine = small_machine({"BUS": 8}, groups=((4, 3),))
    argument = explained(solved(operations, [], machine)).resource
    assert argument is not None
    assert argument.value == 5
    assert argument.whole == (("a", 3, 5), ("b", 2, 6))


def test_one_long_reservation_is_told_alone() -> None:
    machine = small_machine({"BUS": 3}, groups=((4, 3),))
    argument = explained(solved([op("a", "BUS", 4, count=2)], [], machine)).resource
    assert argument is not None
    assert (argument.alone, argument.value, argument.parts) == (True, 4, (("a", 4, 2),))


@pytest.mark.parametrize("seed", range(40))
def test_the_argument_gives_the_bound(seed: int) -> None:
    problem = build_problem(*random_loop(seed))
    for unit, capacity in problem.capacities.items():
        argument = resource_argument(problem, unit)
        work = sum(length * count for _, length, count in argument.parts)
        whole = sum(length for _, length, _ in argument.whole)
        if argument.alone:
            ((_, length, count),) = argument.parts
            assert argument.value == -(-length // (capacity // count))
        else:
            assert argument.value == whole + -(-work // capacity)
        assert argument.value == resource_bound(problem, unit)


def test_a_recurrence_is_told_with_delays_and_distance() -> None:
    edges = [edge("a", "b"), edge("b", "a", 2)]
    operations = [op("a", "TC", 3, latency=3), op("b", "ALU", 3, latency=5)]
    found = explained(solved(operations, edges, small_machine()))
    assert found.bound.reason == "RecMII"
    assert found.recurrence is not None
    assert {(s.consumer, s.delay, s.distance) for s in found.recurrence.steps} == {
        ("b", 3, 0),
        ("a", 5, 2),
    }
    assert found.recurrence.bound == found.interval == 4


def one_group(**more: Any) -> tuple[Any, Any, twill.Machine]:
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, groups=((4, 1),), **more)
    return operations, [edge("a", "b")], machine


def test_a_refutation_names_the_family_and_the_operation_it_needs() -> None:
    found = explained(solved(*one_group()))
    assert (found.bound.reason, found.interval) == ("no joint schedule", 4)
    concurrency = role(found, "concurrency")
    assert concurrency.needed is True
    # b waits for a; it is c that keeps it waiting. b itself blocks only c, which waits for nothing.
    assert [(p.operation, p.needed) for p in concurrency.parts] == [("c", True), ("b", False)]
    assert "b" in concurrency.what


def test_no_time_makes_no_claims() -> None:
    found = explain(solved(*one_group()), DifferenceEngine, seconds=0.0)
    assert {r.needed for r in found.roles} == {None}
    assert {p.needed for r in found.roles for p in r.parts} == {None}


def test_a_schedule_that_nobody_solved_has_nothing_to_explain() -> None:
    with pytest.raises(twill.InputError, match="it has no proof: nobody solved it"):
        explained(twill.load_schedule("paper_example_by_hand"))


# -- levers: each moves one loop, and the others leave it where it is ------------------------------


def test_one_more_group() -> None:
    found = pulled(solved(*one_group()))
    group = found["one more warp group"]
    assert (group.interval_cycles, group.proved) == (3, True)
    assert group.gain == pytest.approx(1 / 3)
    assert found["ALU twice as fast"].interval_cycles == 3


def test_one_more_group_also_where_fewer_were_asked_for() -> None:
    operations, edges, _ = one_group()
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, groups=((4, 2),))
    schedule = solved(operations, edges, machine, limits={"groups": 1})
    assert schedule.initiation_interval == 4
    assert intervals(schedule)["one more warp group"] == 3


def test_one_more_group_comes_with_its_warps() -> None:
    operations, edges, machine = one_group()
    full = machine.warps.model_copy(update={"value": 4})
    schedule = solved(operations, edges, machine.model_copy(update={"warps": full}))
    assert intervals(schedule)["one more warp group"] == 3


def test_no_limit_of_registers() -> None:
    # Two instances of a's value are alive at I = 2, and one group holds one only.
    operations = [op("a", "TC", 1, latency=3, asynchronous=True, registers=2), op("b", "ALU", 2)]
    machine = small_machine(registers=2, groups=((4, 1),))
    schedule = solved(operations, [edge("a", "b")], machine)
    found = intervals(schedule)
    assert schedule.initiation_interval is not None
    assert schedule.initiation_interval > 2
    without = found["no limit of registers"]
    assert without is not None
    assert without < schedule.initiation_interval
    assert found["TC twice as fast"] == schedule.initiation_interval


def test_no_limit_of_memory() -> None:
    operations = [op("a", "TC", latency=4, asynchronous=True, memory="smem"), op("b", "ALU")]
    schedule = solved(operations, [edge("a", "b")], small_machine(smem=1024))
    assert schedule.initiation_interval == 5
    found = intervals(schedule)
    assert found["no limit of memory"] == 1
    assert found["one more warp group"] == 5


def test_signals_and_transfers_that_take_no_time() -> None:
    # a and b need a group each, since a keeps its group busy; the way back costs two signals.
    operations = [op("a", "TC", 2, variable_latency=True), op("b", "ALU", 2)]
    edges = [edge("a", "b"), edge("b", "a", 1)]
    schedule = solved(operations, edges, small_machine(hop=3))
    assert schedule.initiation_interval == 10
    found = intervals(schedule)
    assert found["signals and transfers that take no time"] == 4
    assert found["TC twice as fast"] == 9
    assert found["one more warp group"] == 10


def test_a_transfer_that_takes_no_time() -> None:
    operations = [op("a", "TC", 2, variable_latency=True, registers=1, transfer=5), op("b", "ALU")]
    edges = [edge("a", "b"), edge("b", "a", 1)]
    schedule = solved(operations, edges, small_machine(hop=1))
    assert schedule.initiation_interval == 2 + 5 + 1 + 1 + 1
    assert intervals(schedule)["signals and transfers that take no time"] == 3


def test_a_busy_unit_twice_as_fast() -> None:
    schedule = solved([op("a", "TC", 5), op("b", "TC", 2), op("c", "ALU", 3)], [], small_machine())
    assert schedule.initiation_interval == 7
    found = intervals(schedule)
    assert found["TC twice as fast"] == 4
    assert found["ALU twice as fast"] == 7


def test_a_lever_without_time_is_not_known() -> None:
    (first, *_) = levers(solved(*one_group()), DifferenceEngine, seconds=1e-9)
    assert (first.interval_cycles, first.proved, first.gain) == (None, False, None)


# -- the command -----------------------------------------------------------------------------------


def call(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return in_process("twill", *command, folder=folder)


def test_the_command(tmp_path: Path) -> None:
    solved(*one_group()).save(tmp_path / "s.json")
    done = call("explain", "s.json", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 cycles is the least interval: there is no joint schedule at 3" in done.stdout
    assert "concurrency (needed: without it there is a schedule at 3)" in done.stdout
    assert "without any of these alone there is a schedule: c (3)" in done.stdout
    assert "one more warp group" in done.stdout
    done = call("explain", "s.json", "--json", "--no-levers", folder=tmp_path)
    data = json.loads(done.stdout)
    assert data["levers"] is None
    assert {f["family"] for f in data["families"]} == set(data["bound"]["families"])
    data = json.loads(call("explain", "s.json", "--json", folder=tmp_path).stdout)
    lever = next(x for x in data["levers"] if x["name"] == "one more warp group")
    assert (lever["interval_cycles"], lever["proved"]) == (3.0, True)
