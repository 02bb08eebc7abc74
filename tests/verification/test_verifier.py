"""The judge: reference schedules made by hand, and one deliberate violation of every rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import twill
from tests.memory.test_addresses import tensor_machine
from tests.support.programs import unsolved
from tests.support.small import edge, hand_made, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.loop import Tile
from twill.artifacts.program import Issue, Storage
from twill.artifacts.proof import Promise
from twill.bounds.programs import program_bounds
from twill.frontends import load_loop
from twill.problem.groups import WarpGroup
from twill.verification import UNTIMED

Data = dict[str, Any]


def broken(schedule: twill.Schedule, change: Callable[[Data], object]) -> list[str]:
    """Return the violations of a schedule after a change of its JSON."""
    data = json.loads(schedule.to_json())
    data.pop("machine_hash")
    change(data)
    changed = twill.Schedule.from_json(json.dumps(data))
    return [str(violation) for violation in twill.verify(changed).violations]


def place(data: Data, operation: str, **values: object) -> None:
    next(p for p in data["placements"] if p["operation"] == operation).update(values)


def place_of(data: Data, operation: str) -> str:
    (found,) = [p["group"] for p in data["placements"] if p["operation"] == operation]
    return str(found)


# -- references -----------------------------------------------------------------------------------


def test_figure_1d_of_the_paper(paper_loop: twill.Loop, paper_machine: twill.Machine) -> None:
    schedule = hand_made(
        paper_loop, paper_machine, 2, {"S": 0, "P": 2, "O": 3}, dict.fromkeys("SPO", "all"),
        {"all": WarpGroup(4, False, 0, 1 << 30)},
    )  # fmt: skip
    assert twill.verify(schedule).violations == ()
    assert (schedule.length, schedule.stages) == (4, 2)


def ping_pong(attention: twill.Loop, hopper: twill.Machine) -> twill.Schedule:
    """FlashAttention-3's order by hand: S_j, then O of j - 1, in each group; groups alternate.

    Softmax of one group runs while the other's two products occupy the tensor core; the rescaling
    of the accumulator comes after the exponentials, when the group's own product is done.
    """
    tile = {
        "s": 0, "n.reduce": 608, "n.mul": 834, "n": 841, "a.sub": 849,
        "p.fma": 852, "p": 930, "a": 1442, "o.cast": 1460, "o.mul": 1527, "l.reduce": 1954,
        "l": 2210, "o": 2560,
    }  # fmt: skip
    start, home = {"k": 0, "v": 512}, {"k": "load", "v": "load"}
    for number, shift in ((0, 0), (1, 1024)):
        for name, time in tile.items():
            full = f"{name[0]}{number}{name[1:]}"
            start[full], home[full] = time + shift, f"consumer{number}"
    groups = {
        "load": WarpGroup(1, True, 24, 8),
        "consumer0": WarpGroup(4, False, 240, 224),
        "consumer1": WarpGroup(4, False, 240, 224),
    }
    return hand_made(attention, hopper, 2048, start, home, groups)


def test_flash_attention_3_forward(attention: twill.Loop, hopper: twill.Machine) -> None:
    schedule = ping_pong(attention, hopper)
    assert twill.verify(schedule).violations == ()
    assert schedule.stages == 2
    assert twill.sim.run(schedule).modelled_interval_cycles == 2048


def test_the_papers_concurrency_refuses_flash_attention_3(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    schedule = ping_pong(attention, hopper)
    assert any(
        message.startswith(
            "concurrency: n0.reduce waits for s0 while group consumer0 is issuing o0"
        )
        for message in broken(schedule, lambda data: data.update(rules="paper"))
    )


# -- one violation of every rule --------------------------------------------------------------


def promise_of(interval: float, bound: float) -> Data:
    """Return the promise of an interval, and that the tensor core has work for so many cycles."""
    loop, machine = load_loop("fa_fwd_hopper"), twill.Machine.named("hopper_h100")
    proved = next(
        a.bound for a in program_bounds(loop, machine) if (a.reason, a.of) == ("work", ("tc",))
    )
    least = proved.model_dump(mode="json", exclude_none=True) | {"cycles": bound}
    first = {"warp_scheduler": "oldest", "latency": "nominal", "interval_cycles": interval}
    return {"interval_cycles": interval, "iterations": 64, "conditions": [first], "bound": least}


CHANGES: dict[str, Callable[[Data], object]] = {
    "completeness": lambda d: d.pop("initiation_interval"),
    "groups": lambda d: d["groups"][1].update(warps=1),
    "variable latency": lambda d: d["groups"][0].update(variable_latency=False),
    "dependence": lambda d: place(d, "n0.reduce", start=500),
    "capacity": lambda d: place(d, "p1", start=1950 - 1024),
    "completion": lambda d: d.update(length=3000),
    "concurrency": lambda d: place(d, "l0.reduce", start=1530),
    "registers": lambda d: d["groups"][1].update(registers=208),
    "register file": lambda d: [group.update(registers=256) for group in d["groups"]],
    "memory": lambda d: d["machine"]["memories"]["smem"].update(capacity=90_000),
    "addresses": lambda d: [s.update(addresses=[0] * s["slots"]) for s in d["storage"]],
    "slots": lambda d: next(s for s in d["storage"] if s["value"] == "n0").update(slots=1),
    "storage": lambda d: next(s for s in d["storage"] if s["value"] == "n0").update(size=3),
    "statistics": lambda d: d["groups"][1].update(registers_live=248),
    "programs": lambda d: d["programs"][0]["body"].pop(1),
    "proof": lambda d: d["proof"]["bound"].update(unit="mufu"),
    "promise": lambda d: d.update(promise=promise_of(2048.0, 2049.0)),
}
"""By rule, a change that breaks it; `test_at_the_limit` and others have the words of each."""


@pytest.mark.parametrize("rule", CHANGES)
def test_a_broken_rule_of_a_kernel_is_named(attention_schedule: twill.Schedule, rule: str) -> None:
    told = broken(attention_schedule, CHANGES[rule])
    assert any(message.startswith(f"{rule}: ") for message in told)


def test_every_rule_has_a_violation(attention_schedule: twill.Schedule) -> None:
    promised = attention_schedule.model_copy(
        update={"promise": Promise.model_validate_json(json.dumps(promise_of(2048.0, 2048.0)))}
    )
    rules = {*CHANGES, "turns", "fences"}
    assert set(twill.verify(promised).rules) == rules
    assert set(twill.verify(attention_schedule).rules) == rules - {"promise"}


def test_no_promise_is_below_its_bound(attention_schedule: twill.Schedule) -> None:
    assert broken(attention_schedule, lambda d: d.update(promise=promise_of(2048.0, 2048.0))) == []
    assert broken(attention_schedule, lambda d: d.update(promise=promise_of(2047.0, 2048.0))) == [
        "promise: 2047 cycles an iteration are promised, and that no program takes less than 2048"
    ]


def test_a_copy_is_got_before_it_is_read() -> None:
    """The wait in front of it would be for nothing: the reader has the copy of the round before."""
    loop = small_loop([op("a", "TC", registers=1, transfer=3), op("b", "ALU", 2)], [edge("a", "b")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    machine = small_machine(hop=1, smem=4096)
    schedule = hand_made(loop, machine, 6, {"a": 0, "b": 5}, {"a": "left", "b": "right"}, groups)
    assert twill.verify(schedule).valid

    def late(data: Data) -> None:
        (body,) = [p["body"] for p in data["programs"] if p["group"] == "right"]
        body.sort(key=lambda instruction: instruction["do"] == "get")

    assert "programs: b is issued before right gets a for it" in broken(schedule, late)


def test_a_recurrence_claimed_too_long_is_noticed() -> None:
    loop = small_loop([op("a", "ALU", 3), op("b", "TC", 1)], [edge("a", "b"), edge("b", "a", 1)])
    schedule = static_schedule(loop, small_machine())
    assert schedule.proof is not None
    assert (schedule.proof.bound.reason, schedule.initiation_interval) == ("RecMII", 4)
    assert twill.verify(schedule).valid
    messages = broken(schedule, lambda d: d["proof"]["bound"].update(value=3))
    assert messages == [
        "proof: the proof says 3 is the least interval, it is 4 here",
        "proof: the proof says at least 3, units and recurrences need 4",
        "proof: the proof says the recurrence takes 3, it takes 4",
    ]


def test_programs_arrive_as_often_as_barriers_take(attention_schedule: twill.Schedule) -> None:
    def more(data: Data) -> None:
        next(b for b in data["barriers"] if b["name"] == "k.full")["arrivals"] = 7

    assert broken(attention_schedule, more) == [
        "programs: barrier k.full takes 7 arrivals and gets 1"
    ]


@pytest.mark.parametrize(
    ("announced", "said"),
    [
        (32768, []),
        (16384, ["programs: barrier k.full is told of 16384 bytes and 32768 come"]),
        (None, ["programs: barrier k.full is told of 0 bytes and 32768 come"]),
        (0, ["programs: barrier k.full takes 1 arrivals and gets 0",
             "programs: barrier k.full is told of 0 bytes and 32768 come"]),
    ],
)  # fmt: skip
def test_a_barrier_is_told_of_the_bytes_that_come(
    attention_schedule: twill.Schedule, announced: int | None, said: list[str]
) -> None:
    def count_bytes(data: Data) -> None:
        next(b for b in data["barriers"] if b["name"] == "k.full")["transactions"] = True
        body = next(p for p in data["programs"] if p["group"] == place_of(data, "k"))["body"]
        at = next(n for n, i in enumerate(body) if i.get("operation") == "k")
        arrive = {"do": "arrive", "barrier": "k.full", "stage": body[at]["stage"]}
        if announced != 0:
            body.insert(at, arrive | ({"expect": announced} if announced else {}))

    assert broken(attention_schedule, count_bytes) == said


def test_what_has_no_result_brings_no_bytes() -> None:
    operations = [op("a", "TC", 2, asynchronous=True, latency=2), op("b", "ALU")]
    loop = small_loop(operations, [edge("a", "b", kind="order")])
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    home = {"a": "left", "b": "right"}
    schedule = hand_made(loop, small_machine(), 8, {"a": 0, "b": 3}, home, groups)

    def signals(data: Data) -> None:
        data["barriers"][0]["transactions"] = True
        waits, issue, *_ = data["programs"][0]["body"]
        data["programs"][0]["body"] = [waits, {**issue, "signals": ["a.done"]}]

    assert broken(schedule, signals) == ["programs: barrier a.done takes 1 arrivals and gets 0"]


def test_a_wait_at_a_named_barrier_arrives_too(attention_schedule: twill.Schedule) -> None:
    def meet(data: Data, groups: int) -> None:
        data["barriers"].append({"name": "met", "slots": 1, "arrivals": 2, "kind": "named"})
        for program in data["programs"][:groups]:
            program["body"].append({"do": "wait", "barrier": "met"})

    assert broken(attention_schedule, lambda data: meet(data, 2)) == []
    assert broken(attention_schedule, lambda data: meet(data, 1)) == [
        "programs: barrier met takes 2 arrivals and gets 1"
    ]


def test_programs_issue_parts_one_after_the_other(attention_schedule: twill.Schedule) -> None:
    def swapped(data: Data) -> None:
        (body,) = [p["body"] for p in data["programs"] if p["group"] == place_of(data, "s0")]
        issue = {"do": "issue", "operation": "s0"}
        (at,) = [n for n, i in enumerate(body) if issue.items() <= i.items()]
        whole = {**body[at], "of": 144}
        body[at : at + 1] = [{**whole, "begin": 1, "end": 144}, {**whole, "begin": 0, "end": 1}]

    said = "programs: s0 is issued in parts [(1, 144), (0, 1)] of 144"
    assert said in broken(attention_schedule, swapped)


def test_programs_issue_what_is_placed_when_it_is(attention_schedule: twill.Schedule) -> None:
    def later(data: Data) -> None:
        issues = [i for p in data["programs"] for i in p["body"] if i.get("operation") == "s0"]
        issues[0]["stage"] += 4

    assert "programs: group compute0 issues some operations 4 iterations from where" in str(
        broken(attention_schedule, later)
    )


@pytest.mark.parametrize(("file", "refused"), [(256 * 8, False), (256 * 8 - 1, True)])
def test_a_group_that_names_no_registers_has_the_least_that_hold_its_values(
    file: int, refused: bool
) -> None:
    loop = small_loop([op("a", "ALU", memory="smem"), op("b", "TC", memory="smem")])
    machine = small_machine(registers=64, smem=4096, file=file, least=8, most=64)
    groups = {name: WarpGroup(4, False, 0, 64) for name in ("left", "right")}
    schedule = hand_made(loop, machine, 2, {"a": 0, "b": 0}, {"a": "left", "b": "right"}, groups)
    assert [group.registers for group in schedule.groups] == [None, None]
    messages = [f"register file: the groups take 2048 registers, the file has {file}"]
    assert [str(v) for v in twill.verify(schedule).violations] == messages * refused


@pytest.mark.parametrize(("file", "told"), [
    (1408, []), (1407, ["register file: the groups take 1408 registers, the file has 1407"]),
])  # fmt: skip
def test_a_group_that_names_no_registers_is_charged_for_its_values_and_the_reserve(
    file: int, told: list[str]
) -> None:
    loop = small_loop([op("a", "ALU", registers=9)])
    machine = small_machine(registers=64, file=file, step=1, least=1, most=64, reserve=2)
    groups = {"all": WarpGroup(4, False, 0, 64)}
    schedule = hand_made(loop, machine, 1, {"a": 0}, {"a": "all"}, groups)
    assert [str(v) for v in twill.verify(schedule).violations] == told


# -- what is verified -----------------------------------------------------------------------------


def test_of_programs_alone_the_rules_that_need_no_times_are_judged() -> None:
    loop = small_loop([op("a", "ALU", registers=40), op("b", "ALU")], [edge("a", "b")])
    issues = [Issue(operation=name, stage=0) for name in "ab"]
    slots = Storage(value="a", memory="registers", group="all", slots=1, size=40)

    def with_room(registers: int) -> twill.Schedule:
        made = unsolved(loop, small_machine(registers=registers), {"all": issues})
        return made.model_copy(update={"storage": (slots,)})

    verdict = twill.verify(with_room(40))
    assert verdict.violations == ()
    assert verdict.rules == tuple(rule for rule in UNTIMED if rule != "promise")
    assert [v.rule for v in twill.verify(with_room(39)).violations] == ["registers"]


@pytest.mark.parametrize("key", ["initiation_interval", "length"])
def test_a_schedule_with_some_times_lacks_the_others(key: str) -> None:
    loop = small_loop([op("a", "ALU")])
    schedule = hand_made(
        loop, small_machine(), 1, {"a": 0}, {"a": "all"}, {"all": WarpGroup(4, False, 0, 9)}
    )
    some = schedule.model_copy(update={"placements": (), key: None})
    verdict = twill.verify(some)
    assert verdict.rules == ("completeness",)
    assert f"the schedule has no {key}" in [v.message for v in verdict.violations]


def test_normalized_time_is_judged_in_its_own_unit() -> None:
    loop = small_loop([op("a", "ALU", 30), op("b", "TC", 70)], [edge("a", "b"), edge("b", "a", 2)])
    schedule = static_schedule(loop, small_machine(), time="normalized", budget=20)
    assert schedule.initiation_interval is not None
    assert schedule.initiation_interval < 70
    assert twill.verify(schedule).violations == ()
    costs = tuple((30, n) if cycles == 30 else (71, n) for cycles, n in schedule.time.costs)
    other = schedule.time.model_copy(update={"costs": costs})
    with pytest.raises(twill.InputError, match=r"^time\.costs: no normalized cost for 70 cycles$"):
        twill.verify(schedule.model_copy(update={"time": other}))


def test_a_result_in_a_memory_that_is_not_there_is_refused() -> None:
    loop = small_loop([op("a", "ALU", memory="tmem")])
    schedule = unsolved(loop, small_machine(), {"all": [Issue(operation="a", stage=0)]})
    told = r"^small: operations\[0\]\.result\.memory: small has no tmem for the result of 'a'$"
    with pytest.raises(twill.InputError, match=told):
        twill.verify(schedule)


def test_of_two_rings_each_hides_its_own_latency() -> None:
    loads = [
        op(name, "TMA", latency=latency, asynchronous=True, variable_latency=True, memory="smem")
        for name, latency in (("far", 90), ("near", 9))
    ]
    readers = [op("x", "ALU"), op("y", "ALU")]
    edges = [edge("far", "x"), edge("near", "y")]
    machine = small_machine({"TMA": 1, "ALU": 1}, smem=1 << 16)
    schedule = static_schedule(small_loop([*loads, *readers], edges), machine)
    assert schedule.hiding_depths["far"] > schedule.hiding_depths["near"]
    assert twill.verify(schedule).violations == ()


def test_slots_without_addresses_in_tensor_memory_are_told_in_columns() -> None:
    tile = Tile(shape=(128, 64), dtype="f32", memory="tmem")
    loop = small_loop([op("a", "ALU").model_copy(update={"result": tile}), op("b", "ALU")],
                      [edge("a", "b")])  # fmt: skip
    issues = [Issue(operation=name, stage=0) for name in "ab"]
    schedule = unsolved(loop, tensor_machine(96), {"all": issues}).model_copy(
        update={"storage": (Storage(value="a", memory="tmem", slots=2, size=64),)}
    )
    told = [v.message for v in twill.verify(schedule).violations]
    assert "all slots take 128 of tmem, capacity 96" in told
