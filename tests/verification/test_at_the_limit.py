"""Each rule of the verifier exactly at its limit, which is accepted, and one beyond it, named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import twill
from tests.memory.test_addresses import tensor_machine
from tests.support.judged import violations
from tests.support.programs import unsolved
from tests.support.small import (
    edge,
    hand_made,
    number,
    op,
    small_loop,
    small_machine,
    smem_of,
    tmem_of,
)
from tests.support.tampering import Data
from twill.artifacts.hardware import TensorMemory
from twill.artifacts.loop import Invariant, Tile
from twill.artifacts.program import Await, Fence, Instruction, Issue
from twill.artifacts.schedule import Rules
from twill.problem import build_problem
from twill.problem.costs import Reservation
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment
from twill.verification.addresses import _overlap
from twill.verification.reading import halved, read_model
from twill.verification.registers import registers_along_programs

ONE = {"all": WarpGroup(4, False, 0, 1 << 20)}
TWO = {name: WarpGroup(4, False, 0, 1 << 20) for name in ("left", "right")}


def judged(schedule: twill.Schedule, change: Callable[[Data], object] | None = None) -> list[str]:
    """Return what is wrong with a schedule, perhaps after a change of its JSON."""
    data = json.loads(schedule.to_json())
    data.pop("machine_hash")
    if change is not None:
        change(data)
    verdict = twill.verify(twill.Schedule.from_json(json.dumps(data)))
    return [str(violation) for violation in verdict.violations]


def put(key: str, value: object, data: Data) -> None:
    data[key] = value


def on_one(
    operations: list[Any], start: Mapping[str, int], interval: int, **more: Any
) -> twill.Schedule:
    """Everything on one group."""
    edges, rules = more.pop("edges", ()), more.pop("rules", "issue")
    machine = more.pop("machine", None) or small_machine(**more)
    home = dict.fromkeys(start, "all")
    return hand_made(
        small_loop(operations, edges), machine, interval, start, home, ONE, rules=rules
    )


def on_two(
    operations: list[Any], start: Mapping[str, int], interval: int, **more: Any
) -> twill.Schedule:
    """The first operation on one group, all others on another."""
    edges, rules = more.pop("edges", ()), more.pop("rules", "issue")
    groups = more.pop("named", TWO)
    home = {name: "right" if i else "left" for i, name in enumerate(start)}
    loop, machine = small_loop(operations, edges), small_machine(**more)
    return hand_made(loop, machine, interval, start, home, groups, rules=rules)


# -- completeness and groups ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["initiation_interval", "length", "stages"])
def test_what_is_missing_is_named_and_nothing_else_is_checked(key: str) -> None:
    schedule = on_one([op("a", "ALU")], {"a": 0}, 1)
    assert judged(schedule, lambda d: d.pop(key)) == [f"completeness: the schedule has no {key}"]


def test_an_operation_without_a_start_is_named() -> None:
    schedule = on_one([op("a", "ALU"), op("b", "TC")], {"a": 0, "b": 0}, 1)
    told = judged(schedule, lambda d: d["placements"][1].pop("start"))
    assert told == ["completeness: b has no start"]


def groups_of_their_own(count: int, pool: int) -> twill.Schedule:
    names = [f"o{i}" for i in range(count)]
    loop = small_loop([op(name, "U") for name in names])
    groups = {name: WarpGroup(4, False, 0, 9) for name in names}
    machine = small_machine({"U": 32}, groups=((4, pool),))
    return hand_made(loop, machine, 1, dict.fromkeys(names, 0), {n: n for n in names}, groups)


def test_no_more_groups_than_the_machine_has() -> None:
    assert judged(groups_of_their_own(2, 2)) == []
    assert judged(groups_of_their_own(3, 2)) == ["groups: 3 groups of 4 warps, small allows 2"]
    wide = judged(groups_of_their_own(1, 2), lambda d: d["groups"][0].update(warps=8))
    assert wide == ["groups: 1 groups of 8 warps, small allows 0"]


def test_twenty_violations_of_a_rule_are_reported() -> None:
    def narrow(data: Data) -> None:
        for group in data["groups"]:
            group.update(warps=3)

    assert len([m for m in judged(groups_of_their_own(16, 32), narrow) if "needs 4" in m]) == 16
    assert len([m for m in judged(groups_of_their_own(21, 32), narrow) if "needs 4" in m]) == 20


def test_no_more_warps_than_the_machine_holds() -> None:
    assert judged(groups_of_their_own(16, 32)) == []
    assert judged(groups_of_their_own(17, 32)) == ["groups: 68 warps in all, small holds 64"]


@pytest.mark.parametrize("width", [4, 8])
def test_groups_are_as_wide_as_their_operations(width: int) -> None:
    loop = small_loop([op("a", "ALU", warps=width)])
    machine = small_machine(groups=((4, 1), (8, 1)))
    schedule = hand_made(
        loop, machine, 1, {"a": 0}, {"a": "g"}, {"g": WarpGroup(width, False, 0, 9)}
    )
    assert judged(schedule) == []
    narrower = judged(schedule, lambda d: d["groups"][0].update(warps=width // 2))
    assert f"groups: a needs {width} warps, its group g has {width // 2}" in narrower


def test_variable_latency_and_groups_for_it_go_together() -> None:
    load = op("k", "BUS", asynchronous=True, variable_latency=True)
    loop = small_loop([load, op("a", "ALU")])
    machine = small_machine({"ALU": 1, "BUS": 1})
    groups = {"load": WarpGroup(4, True, 0, 9), "rest": WarpGroup(4, False, 0, 9)}
    schedule = hand_made(loop, machine, 1, {"k": 0, "a": 0}, {"k": "load", "a": "rest"}, groups)
    assert judged(schedule) == []
    assert judged(schedule, lambda d: d["groups"][0].update(variable_latency=False)) == [
        "variable latency: k has variable latency, its group load is not for it"
    ]
    assert judged(schedule, lambda d: d["groups"][1].update(variable_latency=True)) == [
        "variable latency: a has a fixed latency, its group rest is for variable ones"
    ]


# -- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("distance", [0, 1, 2])
def test_a_dependence_takes_its_delay_less_the_iterations_between(distance: int, late: int) -> None:
    # b comes 5 after a, of `distance` iterations of 4 before.
    a, b = 4 * distance, 5 - late
    schedule = on_one(
        [op("a", "ALU", latency=5), op("b", "TC")], {"a": a, "b": b}, 4,
        edges=[edge("a", "b", distance)],
    )  # fmt: skip
    told = judged(schedule)
    message = f"dependence: a -> b (distance {distance}): issues {5 - late} after it, needs 5"
    assert told == [message] * late


@pytest.mark.parametrize("early", [0, 1])
def test_a_value_that_crosses_takes_its_signal_and_its_transfer(early: int) -> None:
    schedule = on_two(
        [op("a", "ALU", latency=3, registers=1, transfer=4), op("b", "TC")],
        {"a": 0, "b": 9 - early}, 20, edges=[edge("a", "b")], hop=2, smem=4096,
    )  # fmt: skip
    told = [message for message in judged(schedule) if message.startswith("dependence")]
    across = "dependence: a -> b (distance 0) across groups left and right"
    assert told == [f"{across}: issues 8 after it, needs 9"] * early


@pytest.mark.parametrize(
    ("starts", "told"),
    [
        ((0, 2), []),
        ((0, 1), ["capacity: unit U in slot 1: 2 in use by a, b, capacity 1"]),
        ((0, 3), ["capacity: unit U in slot 0: 2 in use by a, b, capacity 1"]),
        ((1, 3), []),
        ((4, 2), []),
        ((4, 1), ["capacity: unit U in slot 1: 2 in use by a, b, capacity 1"]),
    ],
)
def test_a_unit_does_no_more_than_it_can_in_any_slot(
    starts: tuple[int, int], told: list[str]
) -> None:
    operations = [op("first", "V"), op("a", "U", 2), op("b", "U", 2)]
    times = {"first": 0, **dict(zip("ab", starts, strict=True))}
    schedule = on_one(operations, times, 4, units={"U": 1, "V": 1})
    assert [message for message in judged(schedule) if "capacity" in message] == told


@pytest.mark.parametrize("capacity", [6, 5])
def test_a_reservation_longer_than_the_interval_meets_itself(capacity: int) -> None:
    # 5 cycles of 2 at an interval of 2: twice all the time, and once more in slot 1.
    operations = [op("first", "V"), op("a", "U", 5, count=2)]
    units = {"U": capacity, "V": 1}
    schedule = on_one(operations, {"first": 0, "a": 3}, 2, units=units)
    told = ["capacity: unit U in slot 1: 6 in use by a, capacity 5"]
    assert judged(schedule) == told * (capacity == 5)


def test_a_reservation_that_starts_later_is_taken_later() -> None:
    problem = build_problem(small_loop([op("u", "U"), op("v", "U")]), small_machine({"U": 1}))
    u, v = problem.operations
    delayed = replace(u, cycles=3, reservations=(Reservation("U", 2, 1, 1),))
    problem = replace(problem, operations=(delayed, v))
    group = WarpGroup(4, False, 0, 9)
    for start, told in ((2, []), (3, ["unit U in slot 3: 2 in use by u, v, capacity 1"]), (4, [])):
        assert violations(problem, 5, Assignment((1, start), (0, 0), (group,))) == told


TURN = "turns: {} follows {} on TC after 2, passing the turn takes 3"
A, B = "a of group left", "b of group right"


@pytest.mark.parametrize(("second", "told"), [
    (3, []), (4, []), (5, []),
    (2, [TURN.format(B, A)]), (6, [TURN.format(A, B)]),
])  # fmt: skip
def test_groups_that_take_turns_have_the_time_to(second: int, told: list[str]) -> None:
    pair = [op(name, "TC", 1, asynchronous=True, issue=1) for name in "ab"]
    assert judged(on_two(pair, {"a": 0, "b": second}, 8, hop=2)) == told
    assert judged(on_two(pair, {"a": 0, "b": second}, 8, hop=2, rules="paper")) == []
    assert judged(on_one(pair, {"a": 0, "b": second}, 8, hop=2)) == []


@pytest.mark.parametrize("beyond", [0, 1])
def test_everything_ends_within_the_length_and_stages_follow(beyond: int) -> None:
    schedule = on_one([op("a", "ALU", 2), op("b", "TC", 1)], {"a": 4, "b": 0}, 3)
    assert (schedule.length, schedule.stages) == (6, 2)
    told = judged(schedule, lambda d: d.update(length=6 - beyond))
    assert told == ["completion: a ends at 6, the length is 5"] * beyond
    told = judged(schedule, lambda d: d.update(stages=2 + beyond))
    assert told == ["completion: 3 stages, a length of 6 takes 2"] * beyond
    longer = judged(schedule, lambda d: d.update(length=6 + beyond))
    assert longer == ["completion: 2 stages, a length of 7 takes 3"] * beyond


@pytest.mark.parametrize(("start", "told"), [
    (5, []), (4, ["concurrency: b waits for a while group all is issuing c (cycle 2 of 3)"]),
    (10, ["concurrency: b waits for a while group all is issuing c (cycle 0 of 3)"]), (9, []),
    (13, []), (12, ["concurrency: b waits for a while group all is issuing c (cycle 2 of 3)"]),
])  # fmt: skip
def test_nothing_is_being_issued_when_a_wait_ends(start: int, told: list[str]) -> None:
    operations = [op("a", "TC", 1, asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    schedule = on_one(operations, {"a": 0, "b": start, "c": 2}, 8, edges=[edge("a", "b")],
                      units={"TC": 1, "BUS": 1, "ALU": 1})  # fmt: skip
    assert judged(schedule) == told


@pytest.mark.parametrize(("cycles", "told"), [
    (4, []), (5, ["concurrency: b waits for a while group all is issuing c (cycle 4 of 5)"]),
])  # fmt: skip
def test_what_is_always_being_issued_leaves_no_room(cycles: int, told: list[str]) -> None:
    operations = [op("a", "TC", 1, asynchronous=True), op("b", "BUS"), op("c", "ALU", cycles)]
    start = {"a": 0, "b": 4 + 4, "c": 4}
    schedule = on_one(operations, start, 8, edges=[edge("a", "b")],
                      units={"TC": 1, "BUS": 1, "ALU": 2})  # fmt: skip
    assert judged(schedule) == told
    tight = on_one(operations, {"a": 0, "b": 3, "c": 3}, 4, edges=[edge("a", "b")],
                   units={"TC": 1, "BUS": 1, "ALU": 2})  # fmt: skip
    assert any(m.startswith("concurrency: b waits") for m in judged(tight))


@pytest.mark.parametrize("issue", [3, 4])
def test_warps_issue_an_operation_within_an_interval(issue: int) -> None:
    schedule = on_one([op("a", "TC", 1, asynchronous=True, issue=issue)], {"a": 0}, 3)
    told = ["concurrency: issuing a takes its warps 4 of every 3"] * (issue == 4)
    assert [m for m in judged(schedule) if m.startswith("concurrency")] == told
    paper = on_one([op("a", "TC", 1, asynchronous=True, issue=issue)], {"a": 0}, 3, rules="paper")
    assert not [m for m in judged(paper) if m.startswith("concurrency")]


# -- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "told"), [
    (0, []), (1, []),
    (2, ["programs: group all issues some operations 2 iterations from where they are placed"]),
])  # fmt: skip
def test_a_program_is_at_most_a_round_from_its_placements(stage: int, told: list[str]) -> None:
    schedule = on_one([op("a", "ALU"), op("b", "TC")], {"a": 0, "b": 3}, 4)

    def later(data: Data) -> None:
        body = data["programs"][0]["body"]
        next(i for i in body if i.get("operation") == "a")["stage"] = stage

    assert judged(schedule, later) == told


def test_an_operation_that_is_not_issued_is_named() -> None:
    schedule = on_one([op("a", "ALU", 2), op("b", "TC")], {"a": 0, "b": 3}, 4)
    told = judged(schedule, lambda d: d["programs"][0]["body"].pop(0))
    assert told == ["programs: a is issued in parts [] of 2"]


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize(("do", "told"), [
    ("get", "the copy of a that b reads at distance 1 has {} gets, needs 1"),
    ("put", "a, which another group reads, is put {} times"),
])  # fmt: skip
def test_what_crosses_is_put_once_and_got_once(do: str, told: str, count: int) -> None:
    operations = [op("a", "ALU", registers=2), op("b", "TC")]
    schedule = on_two(operations, {"a": 0, "b": 5}, 4, edges=[edge("a", "b", 1)], smem=4096)

    def repeat(data: Data) -> None:
        for program in data["programs"]:
            times = [count if i["do"] == do else 1 for i in program["body"]]
            program["body"] = [
                i for i, n in zip(program["body"], times, strict=True) for _ in range(n)
            ]

    assert judged(schedule, repeat) == [f"programs: {told.format(count)}"] * (count != 1)


# -- registers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("registers", "possible"), [
    (16, True), (24, True), (64, True), (20, False), (8, False), (72, False),
])  # fmt: skip
def test_allocations_are_multiples_within_limits(registers: int, possible: bool) -> None:
    schedule = on_one([op("a", "ALU")], {"a": 0}, 1, registers=64, least=16, most=64)
    told = (
        f"register file: group all is allocated {registers} registers per thread; possible are "
        "multiples of 8 from 16 to 64"
    )
    found = judged(schedule, lambda d: d["groups"][0].update(registers=registers))
    assert found == [told] * (not possible)


@pytest.mark.parametrize("launch", [None, 1, 8])
def test_groups_share_what_their_launch_was_given(launch: int | None) -> None:
    operations, start = [op("a", "ALU"), op("b", "TC")], {"a": 0, "b": 0}
    schedule = on_two(operations, start, 1, registers=32, file=128 * 40, least=8, launch=launch)

    def share(data: Data) -> None:
        for group, registers in zip(data["groups"], (24, 16), strict=True):
            group.update(registers=registers)

    told = "the groups take 5120 registers, a launch of 256 threads gets 4096"
    assert judged(schedule, share) == [f"register file: {told}"] * (launch == 8)


def test_what_is_taken_over_at_once_takes_no_registers_of_its_own() -> None:
    operations = [op("a", "ALU", latency=0, registers=4),
                  op("b", "TC", registers=4, elementwise=True)]  # fmt: skip
    schedule = on_one(operations, {"a": 0, "b": 0}, 4, edges=[edge("a", "b")], registers=4)
    assert [group.registers_live for group in schedule.groups] == [4]
    assert judged(schedule) == []


def test_an_invariant_takes_registers_where_it_is_used() -> None:
    tile = Tile(shape=(128, 5), dtype="f32", memory="registers")
    loop = small_loop([op("a", "ALU"), op("b", "TC")]).model_copy(
        update={"invariants": (Invariant(name="q", tile=tile, used_by=("a",)),)}
    )
    home = {"a": "left", "b": "right"}
    machine = small_machine(registers=32)
    schedule = hand_made(loop, machine, 1, {"a": 0, "b": 0}, home, TWO)
    assert judged(schedule) == []
    assert judged(schedule, lambda d: d["groups"][1].update(registers_live=5)) == [
        "statistics: group right says 5 registers live, 0 are"
    ]


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("beyond", [0, 1])
def test_what_lives_fits_shared_memory_to_the_byte(beyond: int) -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem", elements=256)]
    schedule = on_one(operations, {"a": 0, "b": 0}, 1, smem=2048)
    assert judged(schedule) == []
    less = {"smem": smem_of(2048 - beyond)}
    told = judged(schedule, lambda d: d["machine"].update(memories=less))
    aside = {"smem": {**smem_of(4096), "set_aside": number(2048 + beyond, "bytes")}}
    assert judged(schedule, lambda d: d["machine"].update(memories=aside)) == told
    assert (
        told
        == [
            "memory: smem in slot 0: 2048 live, capacity 2047",
            "addresses: b ends at 2048 of smem, capacity 2047",
        ]
        * beyond
    )


@pytest.mark.parametrize(("address", "told"), [
    (1024, []),
    (1152, ["addresses: b at smem address 1152 is not aligned to 1024"]),
    (512, ["addresses: b at smem address 512 is not aligned to 1024",
           "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 512"]),
    (3072, []),
    (4096, ["addresses: b ends at 5120 of smem, capacity 4096"]),
])  # fmt: skip
def test_slots_are_aligned_inside_and_apart(address: int, told: list[str]) -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem")]
    schedule = on_one(operations, {"a": 0, "b": 0}, 1, smem=4096)
    assert judged(schedule, lambda d: d["storage"][1].update(addresses=[address])) == told


@pytest.mark.parametrize(("address", "told"), [
    (1024, []), (1152, []), (1088, ["addresses: b at smem address 1088 is not aligned to 128"]),
])  # fmt: skip
def test_small_slots_are_aligned_to_what_copies_ask_for(address: int, told: list[str]) -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem", elements=255)]
    schedule = on_one(operations, {"a": 0, "b": 0}, 1, smem=4096)
    assert judged(schedule, lambda d: d["storage"][1].update(addresses=[address])) == told


@pytest.mark.parametrize("late", [0, 1])
def test_addresses_are_free_once_the_last_reader_has_read(late: int) -> None:
    # a lives until 3, when its reader c has run; b takes its place, and nobody has to be told.
    operations = [op("a", "ALU", memory="smem"), op("c", "BUS", 2), op("b", "TC", memory="smem")]
    start = {"a": 0, "c": 1, "b": 3 - late}
    schedule = on_one(operations, start, 8, edges=[edge("a", "c")], smem=4096, hop=2,
                      units={"ALU": 1, "BUS": 1, "TC": 1})  # fmt: skip
    taken = next(s for s in schedule.storage if s.value == "a").addresses[0]
    told = judged(schedule, lambda d: [s.update(addresses=[taken]) for s in d["storage"]])
    message = "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 0"
    assert [m for m in told if m.startswith("addresses")] == [message] * late


@pytest.mark.parametrize("late", [0, 1])
def test_addresses_are_free_for_another_group_a_signal_later(late: int) -> None:
    operations = [op("a", "ALU", memory="smem"), op("c", "BUS", 2), op("b", "TC", memory="smem")]
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    loop = small_loop(operations, [edge("a", "c")])
    machine = small_machine({"ALU": 1, "BUS": 1, "TC": 1}, smem=4096, hop=2)
    start = {"a": 0, "c": 1, "b": 5 - late}
    home = {"a": "left", "c": "left", "b": "right"}
    schedule = hand_made(loop, machine, 8, start, home, groups)
    told = judged(schedule, lambda d: [s.update(addresses=[0]) for s in d["storage"]])
    message = "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 0"
    assert [m for m in told if m.startswith("addresses")] == [message] * late


@pytest.mark.parametrize("late", [0, 1])
def test_an_update_elsewhere_excuses_nobody(late: int) -> None:
    # b waits for c, which reads a, but is told only that c has been issued; s is updated in place.
    operations = [op("a", "ALU", memory="smem"), op("c", "TC", 2, asynchronous=True, latency=2),
                  op("b", "BUS", memory="smem"), op("s", "MUFU", memory="smem")]  # fmt: skip
    edges = [edge("a", "c"), edge("c", "b", kind="order", delay=0),
             edge("s", "s", 1, in_place=True)]  # fmt: skip
    machine = small_machine({"ALU": 1, "BUS": 1, "TC": 1, "MUFU": 1}, hop=2, smem=8192)
    home = {"a": "left", "c": "left", "b": "right", "s": "left"}
    start = {"a": 0, "c": 1, "b": 5 - late, "s": 0}
    schedule = hand_made(small_loop(operations, edges), machine, 16, start, home, TWO)

    def meet(data: Data) -> None:
        for entry in data["storage"]:
            entry.update(addresses=[4096 if entry["value"] == "s" else 0])

    message = "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 0"
    assert judged(schedule, meet) == [message] * late


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize(("distance", "delay"), [(0, 0), (1, 2)])
def test_an_update_in_place_waits_until_readers_have_read(
    late: int, distance: int, delay: int
) -> None:
    # b is told that c has been issued, or that it is over in the iteration before.
    operations = [op("a", "ALU", memory="smem"), op("b", "BUS", memory="smem"),
                  op("c", "TC", 2, asynchronous=True, latency=2)]  # fmt: skip
    told_of_c = edge("c", "b", distance, kind="order", delay=delay)
    edges = [edge("a", "b", in_place=True), edge("a", "c"), told_of_c]
    units = {"ALU": 1, "BUS": 1, "TC": 1}
    schedule = on_one(operations, {"a": 0, "b": 3 - late, "c": 1}, 8, edges=edges, units=units,
                      hop=2, smem=8192)  # fmt: skip
    told = judged(schedule, lambda d: [s.update(addresses=[0]) for s in d["storage"]])
    message = "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 0"
    assert told == [message] * late


def with_invariant(shape: tuple[int, ...] = (256,)) -> twill.Schedule:
    tile = Tile(shape=shape, dtype="f32", memory="smem")
    loop = small_loop([op("a", "ALU", memory="smem")])
    loop = loop.model_copy(update={"invariants": (Invariant(name="q", tile=tile, used_by=("a",)),)})
    machine = small_machine(smem=4096)
    return hand_made(loop, machine, 1, {"a": 0}, {"a": "all"}, ONE)


@pytest.mark.parametrize(("change", "told"), [
    ({}, []),
    ({"address": 3072}, []),
    ({"address": 3200}, ["q at smem address 3200 is not aligned",
                         "q ends at 4224 of smem, beyond its capacity"]),
    ({"address": 4096}, ["q ends at 5120 of smem, beyond its capacity"]),
    ({"size": 1023}, ["q needs 1024 of smem for the whole loop and has 1023"]),
    ({"size": 1025}, ["q needs 1024 of smem for the whole loop and has 1025"]),
    ({"half": 0}, ["q takes more than half the lanes of smem"]),
    ({"name": "r"}, ["q has 0 places in smem for the whole loop, not 1",
                     "r has 1 places in smem for the whole loop, not 0"]),
    ({"memory": "tmem"}, ["q has 0 places in smem for the whole loop, not 1",
                          "q has 1 places in tmem for the whole loop, not 0"]),
])  # fmt: skip
def test_an_invariant_has_its_place(change: dict[str, Any], told: list[str]) -> None:
    schedule = with_invariant()
    away = judged(schedule, lambda d: d["storage"][0].update(addresses=[2048]))
    assert away == []

    def both(data: Data) -> None:
        data["storage"][0].update(addresses=[2048])
        data["fixed"][0].update(change)

    assert judged(schedule, both) == [f"addresses: {message}" for message in told]


def test_only_tensor_memory_has_halves() -> None:
    told = judged(with_invariant((64, 4)), lambda d: d["fixed"][0].update(half=0))
    assert told == ["addresses: q takes more than half the lanes of smem"]


def test_an_invariant_without_an_address_or_under_a_value_is_named() -> None:
    schedule = with_invariant()
    own = schedule.fixed[0].address or 0
    told = judged(schedule, lambda d: d["fixed"][0].pop("address"))
    assert "addresses: q in smem has no address" in told
    over = judged(schedule, lambda d: d["storage"][0].update(addresses=[own]))
    assert over == [f"addresses: a lies over q in smem (from {own})"]
    twice = judged(schedule, lambda d: d["fixed"].append({**d["fixed"][0], "address": 3072}))
    assert "addresses: q has 2 places in smem for the whole loop, not 1" in twice


@pytest.mark.parametrize(("address", "told"), [
    (1024, ["addresses: q lies over r in smem"]), (2048, []),
])  # fmt: skip
def test_two_invariants_have_two_places(address: int, told: list[str]) -> None:
    schedule = with_invariant()

    def beside(data: Data) -> None:
        invariants = data["loop"]["invariants"]
        invariants.append({**invariants[0], "name": "r"})
        places = {"q": 1024, "r": address}
        data["fixed"] = [{**data["fixed"][0], "name": n, "address": a} for n, a in places.items()]
        data["storage"][0].update(addresses=[3072])

    assert judged(schedule, beside) == told


def test_two_slots_of_a_value_are_two_places() -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC")]
    schedule = on_one(operations, {"a": 0, "b": 2}, 2, edges=[edge("a", "b")], smem=4096)
    assert schedule.storage[0].slots == 2
    told = judged(schedule, lambda d: d["storage"][0].update(addresses=[1024, 1024]))
    assert told == ["addresses: two slots of a share smem address 1024"]
    assert judged(schedule, lambda d: d["storage"][0].update(addresses=[0, 3072])) == []
    fewer = judged(schedule, lambda d: d["storage"][0].update(addresses=[0], slots=1))
    assert fewer == ["slots: a in smem lives 3 and has 1 slots, needs 2"]


def test_slots_are_taken_in_turn() -> None:
    # Of the two slots of b only the second is where a is; b of the iteration before is in it.
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem"), op("c", "BUS")]
    schedule = on_one(operations, {"a": 0, "b": 0, "c": 4}, 4, edges=[edge("b", "c")], smem=4096,
                      units={"ALU": 1, "TC": 1, "BUS": 1})  # fmt: skip
    places = {"a": [0], "b": [1024, 0]}

    def meet(data: Data) -> None:
        for entry in data["storage"]:
            entry.update(addresses=places[entry["value"]])

    assert judged(schedule, meet) == [
        "addresses: a of iteration 0 and b of iteration -1 are both live at smem address 0"
    ]


@pytest.mark.parametrize(("slots", "told"), [
    ([1024], []), ([2048], ["addresses: a is updated in place by b and lies elsewhere"]),
])  # fmt: skip
def test_what_is_updated_in_place_stays_where_it_is(slots: list[int], told: list[str]) -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem")]
    edges = [edge("a", "b", in_place=True)]
    schedule = on_one(operations, {"a": 0, "b": 1}, 4, edges=edges, smem=4096)

    def lie(data: Data) -> None:
        data["storage"][0].update(addresses=[1024])
        data["storage"][1].update(addresses=slots)

    assert judged(schedule, lie) == told


def test_what_others_read_too_is_updated_where_it_is_or_not_in_place() -> None:
    """Its slot is free from the update on: elsewhere that would be read too late."""
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem"), op("c", "BUS")]
    edges = [edge("a", "b", in_place=True), edge("a", "c")]
    schedule = on_one(operations, {"a": 0, "b": 2, "c": 1}, 4, edges=edges, smem=4096,
                      units={"ALU": 1, "TC": 1, "BUS": 1})  # fmt: skip
    told = ["addresses: a is updated in place by b and lies elsewhere"]
    assert judged(schedule) == told
    with pytest.raises(twill.RefusedError, match="b updates a in place and cannot"):
        twill.schedule(schedule.loop, schedule.machine)
    ordered = on_one(operations, {"a": 0, "b": 2, "c": 1}, 4, smem=4096,
                     edges=[*edges, edge("c", "b", kind="anti")],
                     units={"ALU": 1, "TC": 1, "BUS": 1})  # fmt: skip
    assert judged(ordered) == []
    assert twill.schedule(ordered.loop, ordered.machine).initiation_interval == 1


def test_what_is_updated_by_its_own_next_instance_has_one_place() -> None:
    update = op("s", "TC", asynchronous=True, memory="smem")
    schedule = on_one([update], {"s": 0}, 4, edges=[edge("s", "s", 1, in_place=True)], smem=4096)
    assert judged(schedule) == []
    assert judged(schedule, lambda d: d["storage"][0].update(slots=2, addresses=[0, 1024])) == [
        "addresses: s is updated in place by s and lies elsewhere"
    ]


@pytest.mark.parametrize("told", [True, False])
def test_an_update_in_place_need_not_be_told_of_readers_before_it(told: bool) -> None:
    # k, on a group of its own, reads s two cycles long, and the next s waits for it.
    load = op("k", "BUS", 1, asynchronous=True, latency=2, memory="smem", variable_latency=True)
    update = op("s", "TC", 1, asynchronous=True, latency=2, memory="smem")
    edges = [edge("s", "s", 1, in_place=True), edge("s", "k", 1)]
    loop = small_loop([load, update], [*edges, *([edge("k", "s")] if told else [])])
    groups = {"load": WarpGroup(4, True, 0, 9), "rest": WarpGroup(4, False, 0, 9)}
    machine = small_machine({"BUS": 1, "TC": 1}, smem=8192, hop=1)
    schedule = hand_made(loop, machine, 4, {"k": 0, "s": 2}, {"k": "load", "s": "rest"}, groups)
    data: Data = json.loads(schedule.to_json())
    slots = {s["value"]: s["slots"] for s in data["storage"]}
    one = judged(schedule, lambda d: d["storage"][1].update(slots=1, addresses=[4096]))
    if told:
        assert (slots["s"], judged(schedule), one) == (1, [], [])
    else:
        assert [m for m in one if m.startswith("slots: s")] == [
            "slots: s in smem lives 5 and has 1 slots, needs 2"
        ]


@pytest.mark.parametrize(("start", "told"), [
    (3, []), (2, ["memory: smem in slot 2: 2048 live, capacity 1024"]),
])  # fmt: skip
def test_memory_counts_a_value_until_its_last_reader_has_read(start: int, told: list[str]) -> None:
    # c and d read a until 2 and 3; b takes its place in the interval of 8.
    operations = [op("a", "ALU", memory="smem"), op("b", "TC", memory="smem"), op("c", "BUS"),
                  op("d", "MUFU")]  # fmt: skip
    units = {"ALU": 1, "TC": 1, "BUS": 1, "MUFU": 1}
    times = {"a": 0, "b": start, "c": 1, "d": 2}
    edges = [edge("a", "c"), edge("a", "d")]
    schedule = on_one(operations, times, 8, edges=edges, smem=4096, units=units)
    room = {"smem": smem_of(1024)}
    found = judged(schedule, lambda d: d["machine"].update(memories=room))
    assert [message for message in found if message.startswith("memory")] == told


@pytest.mark.parametrize(("interval", "slots"), [(11, 1), (10, 2)])
def test_a_staging_is_free_a_signal_after_it_was_read(interval: int, slots: int) -> None:
    schedule = on_two(
        [op("a", "ALU", latency=3, registers=1, transfer=4), op("b", "TC")],
        {"a": 0, "b": 9}, interval, edges=[edge("a", "b")], hop=2, smem=4096,
    )  # fmt: skip
    staged = next(s for s in schedule.storage if s.transfer)
    assert (staged.slots, judged(schedule)) == (slots, [])
    one = {"slots": 1, "addresses": [0]}
    told = judged(schedule, lambda d: next(s for s in d["storage"] if s["transfer"]).update(one))
    expected = ["slots: a in smem lives 11 and has 1 slots, needs 2"] * (slots == 2)
    assert [message for message in told if message.startswith("slots")] == expected


@pytest.mark.parametrize("late", [0, 1])
def test_the_place_of_a_staging_is_free_a_signal_after_another_group_read_it(late: int) -> None:
    # b reads a too, before c, and on the group of a: from its registers.
    operations = [op("a", "ALU", registers=1), op("b", "BUS"), op("c", "TC"),
                  op("x", "MUFU", memory="smem")]  # fmt: skip
    loop = small_loop(operations, [edge("a", "b"), edge("a", "c")])
    machine = small_machine({"ALU": 1, "BUS": 1, "TC": 1, "MUFU": 1}, hop=2, smem=4096)
    start = {"a": 0, "b": 1, "c": 6, "x": 8 - late}
    home = {"a": "left", "b": "left", "c": "right", "x": "left"}
    schedule = hand_made(loop, machine, 16, start, home, TWO)
    in_memory = [n for n, s in enumerate(schedule.storage) if s.memory == "smem"]
    told = judged(schedule, lambda d: [d["storage"][n].update(addresses=[0]) for n in in_memory])
    message = "addresses: a of iteration 0 and x of iteration 0 are both live at smem address 0"
    assert told == [message] * late


def test_a_copy_lives_until_its_own_reader_has_read() -> None:
    slow = op("d", "TC", 4, asynchronous=True, latency=10, issue=1)
    operations = [op("a", "ALU", registers=1), op("b", "ALU", registers=1), op("c", "BUS"), slow]
    loop = small_loop(operations, [edge("a", "c"), edge("b", "d")])
    machine = small_machine({"ALU": 1, "BUS": 1, "TC": 1}, smem=8192)
    home = {"a": "left", "b": "left", "c": "right", "d": "right"}
    schedule = hand_made(loop, machine, 4, {"a": 0, "b": 1, "c": 2, "d": 3}, home, TWO)
    assert {s.reader: s.slots for s in schedule.storage if s.reader} == {"c": 1, "d": 3}
    assert judged(schedule) == []


@pytest.mark.parametrize("late", [0, 1])
def test_what_nobody_reads_is_there_until_it_is_written(late: int) -> None:
    # Another group may overwrite it after its latency of 3 and a signal of 2.
    first = op("a", "ALU", latency=3, memory="smem")
    schedule = on_two([first, op("b", "TC", memory="smem")], {"a": 0, "b": 5 - late}, 16,
                      hop=2, smem=4096)  # fmt: skip
    told = judged(schedule, lambda d: [s.update(addresses=[0]) for s in d["storage"]])
    message = "addresses: a of iteration 0 and b of iteration 0 are both live at smem address 0"
    assert [m for m in told if m.startswith("addresses")] == [message] * late


# -- slots and statistics -------------------------------------------------------------------------


@pytest.mark.parametrize(("slots", "told"), [
    (1, ["slots: a in registers lives 5 and has 1 slots, needs 2"]), (2, []),
    (3, ["slots: a in registers needs 2 slots and has 3"]),
])  # fmt: skip
def test_a_value_has_the_slots_that_it_needs(slots: int, told: list[str]) -> None:
    schedule = on_one([op("a", "ALU", registers=1), op("b", "TC", 2)], {"a": 0, "b": 3}, 4,
                      edges=[edge("a", "b")])  # fmt: skip
    assert judged(schedule, lambda d: d["storage"][0].update(slots=slots)) == told


@pytest.mark.parametrize(("size", "told"), [
    (2, ["storage: a in registers of all takes 3 a slot, not 2"]), (3, []),
    (4, ["storage: a in registers of all takes 3 a slot, not 4"]),
])  # fmt: skip
def test_a_slot_has_the_size_of_its_value(size: int, told: list[str]) -> None:
    schedule = on_one([op("a", "ALU", registers=3)], {"a": 0}, 4)
    assert judged(schedule, lambda d: d["storage"][0].update(size=size)) == told


def test_slots_that_are_missing_doubled_or_for_nothing_are_named() -> None:
    schedule = on_one([op("a", "ALU", registers=3), op("b", "TC", memory="smem")],
                      {"a": 0, "b": 0}, 4, smem=4096)  # fmt: skip
    assert judged(schedule, lambda d: d["storage"].pop(0)) == [
        "storage: a in registers of all has no slots"
    ]
    assert judged(schedule, lambda d: d["storage"].insert(0, d["storage"][0])) == [
        "storage: a in registers of all has slots 2 times"
    ]
    assert judged(schedule, lambda d: d["storage"][0].pop("group")) == [
        "storage: a in registers of all has no slots",
        "storage: a in registers has slots, and nothing needs them",
    ]
    assert judged(schedule, lambda d: d["storage"].pop(1)) == ["storage: b in smem has no slots"]


@pytest.mark.parametrize(("key", "where"), [
    ("reader", "for b at distance 1 in registers of right"), ("transfer", "staged in smem"),
])  # fmt: skip
def test_a_copy_has_slots_for_its_reader_and_its_staging_has_some(key: str, where: str) -> None:
    operations = [op("a", "ALU", registers=2), op("b", "TC")]
    schedule = on_two(operations, {"a": 0, "b": 5}, 4, edges=[edge("a", "b", 1)], smem=4096)
    entry = next(n for n, s in enumerate(schedule.storage) if getattr(s, key))
    told = judged(schedule, lambda d: d["storage"].pop(entry))
    assert told == [f"storage: a {where} has no slots"]


def test_what_is_read_in_memory_has_no_copy() -> None:
    operations = [op("a", "ALU", memory="smem"), op("b", "TC")]
    schedule = on_two(operations, {"a": 0, "b": 5}, 4, edges=[edge("a", "b")], smem=8192)
    copy = {"value": "a", "memory": "registers", "group": "right", "reader": "b", "distance": 0}
    assert judged(schedule) == []
    assert judged(schedule, lambda d: d["storage"].append({**copy, "slots": 1, "size": 2})) == [
        "storage: a for b at distance 0 in registers of right has slots, and nothing needs them"
    ]


def ring(distance: int = 0, **more: Any) -> twill.Schedule:
    load = op("k", "BUS", 1, asynchronous=True, latency=9, memory="smem", variable_latency=True)
    loop = small_loop([load, op("use", "ALU", 2)], [edge("k", "use", distance)])
    machine = small_machine({"BUS": 1, "ALU": 1}, smem=16384, groups=((4, 2),), **more)
    groups = {"load": WarpGroup(4, True, 0, 9), "rest": WarpGroup(4, False, 0, 9)}
    home = {"k": "load", "use": "rest"}
    return hand_made(loop, machine, 4, {"k": 0, "use": 0}, home, groups)


def test_rings_have_depths_and_nothing_else_has() -> None:
    schedule = ring()
    # Read until 2, and 9 for the latency, are 11 of 4.
    assert (schedule.pipeline_depths, schedule.hiding_depths) == ({"k": 3}, {"k": 3})
    assert judged(schedule) == []
    for depth in (2, 4):
        for key, told in (
            ("hiding_depths", f"statistics: hiding the latency of k takes 3 slots, not {depth}"),
            ("pipeline_depths", f"statistics: k has a pipeline depth of {depth} and 3 slots"),
        ):
            assert judged(schedule, partial(put, key, {"k": depth})) == [told]
    for key, what in (("pipeline_depths", "pipeline depth"), ("hiding_depths", "hiding depth")):
        assert f"statistics: k has no {what}" in judged(schedule, partial(put, key, {}))
        told = f"statistics: use is no ring and has a {what}"
        assert judged(schedule, partial(put, key, {"k": 3, "use": 1})) == [told]


@pytest.mark.parametrize(("hop", "depth"), [(1, 3), (2, 4)])
def test_a_ring_is_released_a_signal_after_it_was_read(hop: int, depth: int) -> None:
    schedule = ring(hop=hop)
    assert schedule.hiding_depths == {"k": depth}
    assert judged(schedule) == []


def test_what_is_in_registers_is_no_ring() -> None:
    schedule = on_one([op("a", "ALU", registers=1)], {"a": 0}, 4)
    told = judged(schedule, partial(put, "pipeline_depths", {"a": 7}))
    assert told == ["statistics: a is no ring and has a pipeline depth"]


@pytest.mark.parametrize(("distance", "depth"), [(0, 3), (1, 4), (2, 5)])
def test_a_ring_that_is_read_later_is_deeper(distance: int, depth: int) -> None:
    schedule = ring(distance)
    assert schedule.hiding_depths == {"k": depth}
    assert judged(schedule) == []


def test_the_unit_of_time_is_what_its_costs_say() -> None:
    schedule = on_one([op("a", "ALU", 2)], {"a": 0}, 2)
    assert judged(schedule, lambda d: d["time"].update(cycles_per_unit=2.0)) == [
        "statistics: a unit of time is 1 cycles, not 2"
    ]
    assert judged(schedule, lambda d: d["time"].update(distortion=2.0)) == [
        "statistics: ratios of costs changed by up to 1, not 2"
    ]
    halved: dict[str, Any] = {"mode": "normalized", "costs": [[2, 1]], "cycles_per_unit": 2.0}
    assert judged(schedule, lambda d: d["time"].update(halved)) == []
    assert judged(schedule, lambda d: d["time"].update(halved, cycles_per_unit=1.0)) == [
        "statistics: a unit of time is 2 cycles, not 1"
    ]
    with_costs: dict[str, Any] = {
        "mode": "normalized",
        "costs": [[2, 1], [4, 1]],
        "cycles_per_unit": 3.0,
        "distortion": 2.0,
    }
    assert judged(schedule, lambda d: d["time"].update(with_costs, budget=2)) == []
    assert judged(schedule, lambda d: d["time"].update(with_costs, budget=1)) == [
        "statistics: costs sum up to 2, the budget is 1"
    ]
    assert judged(
        schedule, lambda d: d["time"].update(with_costs, mode="exact", cycles_per_unit=1.0)
    ) == ["statistics: time is exact and has 2 other costs"]


@pytest.mark.parametrize(
    ("half", "other", "meets"),
    [
        (None, None, True),
        (None, 0, True),
        (1, None, True),
        (0, 0, True),
        (1, 1, True),
        (0, 1, False),
        (1, 0, False),
    ],
)
def test_a_half_meets_itself_and_the_whole(
    half: int | None, other: int | None, meets: bool
) -> None:
    assert _overlap((0, half), 2, (1, other), 2) is meets


@pytest.mark.parametrize(("shape", "half"), [((64, 128), True), ((2, 64, 128), False),
                                             ((65, 1), False), ((64,), False)])  # fmt: skip
def test_all_dimensions_but_the_last_are_rows(shape: tuple[int, ...], half: bool) -> None:
    tile = Tile(shape=shape, dtype="f32", memory="tmem")
    assert halved(tile, TensorMemory.model_validate(tmem_of(512))) == half


@pytest.mark.parametrize("stage", [0, 1])
@pytest.mark.parametrize(("unit", "most"), [("TC", 8), ("TMA", 16)])
def test_a_later_wait_on_one_in_order_unit_tells_of_what_came_before(
    unit: str, most: int, stage: int
) -> None:
    # The product reads 8 registers; what is awaited is issued behind it, on its unit or another,
    # for its own iteration or the one before.
    operations = [
        op("a", "ALU", registers=8),
        op("product", "TC", asynchronous=True, latency=4),
        op("later", unit, asynchronous=True, latency=4),
        op("b", "ALU", registers=8),
        op("end", "ALU"),
    ]
    loop = small_loop(operations, [edge("a", "product"), edge("b", "end")])
    machine = small_machine({"TC": 1, "TMA": 1, "ALU": 1}, groups=((4, 1),), in_order=("TC", "TMA"))
    a, product, _, b, end = (Issue(operation=o.name) for o in operations)
    later, wait = Issue(operation="later", stage=stage), Await(operation="later", stage=stage)
    program: dict[str, list[Instruction]] = {"all": [a, product, later, wait, b, end]}
    assert registers_along_programs(unsolved(loop, machine, program)) == {"all": most}


def test_working_sets_are_taken_while_operations_are_issued() -> None:
    loop = small_loop([op(name, "ALU", working_set=8) for name in "ab"])
    program: dict[str, list[Instruction]] = {
        "all": [Issue(operation="a"), Issue(operation="b"), Fence()]
    }
    assert registers_along_programs(unsolved(loop, small_machine(), program)) == {"all": 8}


@pytest.mark.parametrize(
    ("order", "most"), [(["cast", "sum"], 12), (["sum", "cast"], 8), (["cast", "cast", "sum"], 12)]
)
def test_what_an_operation_takes_over_and_others_read_later_counts_once(
    order: list[str], most: int
) -> None:
    """The result of 4 registers beside its operand of 8, which it only has once nobody reads it."""
    operations = [
        op("wide", "ALU", registers=8),
        op("cast", "ALU", registers=4, elementwise=True),
        op("sum", "ALU"),
        op("end", "ALU"),
    ]
    edges = [edge("wide", "cast"), edge("wide", "sum"), edge("cast", "end")]
    parts = order.count("cast")
    cut = iter(range(parts))
    body: list[Instruction] = [Issue(operation="wide")]
    for name in order:
        if name == "cast" and parts > 1:
            begin = next(cut)
            body.append(Issue(operation="cast", begin=begin, end=begin + 1, of=parts))
        else:
            body.append(Issue(operation=name))
    program = {"all": [*body, Issue(operation="end")]}
    loop = small_loop(operations, edges)
    assert registers_along_programs(unsolved(loop, small_machine(), program)) == {"all": most}


@pytest.mark.parametrize("rules", ["issue", "paper"])
def test_what_is_updated_in_place_is_not_taken_over(rules: Rules) -> None:
    """A conversion of an accumulator has registers of its own: it must not rewrite those."""
    operations = [
        op("sum", "ALU", registers=8),
        op("cast", "ALU", registers=4, elementwise=True),
        op("end", "ALU"),
    ]
    edges = [edge("sum", "sum", 1, in_place=True), edge("sum", "cast"), edge("cast", "end")]
    loop = small_loop(operations, edges)
    for model in (
        build_problem(loop, small_machine(), rules=rules),
        read_model(loop, small_machine(), rules=rules),
    ):
        assert [o.working_set for o in model.operations] == [0, 0, 0]
        (read,) = (e for e in model.edges if (e.producer, e.consumer) == (0, 1))
        assert bool(read.hold) == (rules == "issue")
    program: dict[str, list[Instruction]] = {
        "all": [Issue(operation=name) for name in ("sum", "cast", "end")]
    }
    assert registers_along_programs(unsolved(loop, small_machine(), program)) == {"all": 12}


@pytest.mark.parametrize(("rows", "told"), [
    (64, []), (65, ["addresses: a takes more than half the lanes of tmem"]),
])  # fmt: skip
def test_only_a_value_of_few_rows_takes_half_the_lanes(rows: int, told: list[str]) -> None:
    tile = Tile(shape=(rows, 32), dtype="f32", memory="tmem")
    a = op("a", "TC", memory="tmem").model_copy(update={"result": tile})
    schedule = hand_made(small_loop([a]), tensor_machine(32), 4, {"a": 0}, {"a": "all"}, ONE)
    assert judged(schedule, lambda d: d["storage"][0].update(halves=[1])) == told


@pytest.mark.parametrize(("half", "address", "told"), [
    (0, 0, []), (1, 32, []), (1, 31, [
        ("addresses: b takes the second half of the lanes of tmem column 31, of which a "
         "takes all"),
    ]),
])  # fmt: skip
def test_no_second_half_of_lanes_lies_in_a_tile_that_takes_them_all(
    half: int, address: int, told: list[str]
) -> None:
    operations = [
        op(name, "TC", memory="tmem").model_copy(
            update={"result": Tile(shape=(rows, 32), dtype="f32", memory="tmem")}
        )
        for name, rows in (("a", 128), ("b", 64))
    ]
    loop, groups = small_loop(operations), {"a": "all", "b": "all"}
    schedule = hand_made(loop, tensor_machine(64), 4, {"a": 0, "b": 2}, groups, ONE)
    place = {"halves": [half], "addresses": [address]}
    assert judged(schedule, lambda d: d["storage"][1].update(place)) == told
