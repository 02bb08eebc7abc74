"""Schedules as people write them: what is derived, and what is refused."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill
from tests.support.sampled import sampled
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from tests.validation.make_orders import documents
from twill.artifacts.order import Order
from twill.artifacts.program import Await, Instruction, Wait
from twill.artifacts.schedule import Schedule
from twill.cli.main import simulator as app
from twill.frontends.schedules import load_schedule, packaged_schedules, scheduled
from twill.sim.checks import check, enough_iterations
from twill.sim.checks.races import Races
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import run

ROOT = Path(__file__).parents[2]
MACHINE = small_machine(smem=1 << 16)
BY_HAND = sorted(name for name in packaged_schedules() if name.startswith("fa"))


def spelled(instruction: Instruction) -> str:
    """Return an instruction as ``wait K.full @0-2``."""
    data = instruction.model_dump()
    subject = data.get("operation") or data.get("barrier") or data.get("value") or "several"
    distance = f"-{data['distance']}" if data.get("distance") else ""
    return f"{data['do']} {subject}@{data.get('stage', 0)}{distance}"


def body(schedule: Schedule, group: str) -> list[str]:
    return [spelled(instruction) for instruction in schedule.program(group).body]


def written(groups: list[dict[str, Any]], loop: twill.Loop, **more: Any) -> Schedule:
    document = {
        "schema": "twill.order",
        "schema_version": 1,
        "name": "by hand",
        "groups": groups,
        "loop": json.loads(loop.to_json()),
        "machine": json.loads(MACHINE.to_json()),
        **more,
    }
    return scheduled(Order.from_json(json.dumps(document)))


# -- the packaged ones ------------------------------------------------------------------------


def test_the_packaged_orders_are_those_of_their_maker() -> None:
    assert len(documents()) > 20
    for name, text in documents().items():
        assert (ROOT / "traces" / name).read_text() == text, name


def test_flash_attention_3_waits_where_its_source_does() -> None:
    schedule = load_schedule("fa3_forward_128x128")
    assert (
        "; ".join(body(schedule, "load"))
        == "wait K.empty@0-2; issue K@0; wait V.empty@1-2; issue V@1"
    )
    softmax = [f"issue {name}0@0" for name in ("max", "m", "d", "b", "a", "n")]
    assert body(schedule, "tile0") == [
        "wait turn1@0-1",
        "wait K.full@0",
        "issue S0@0",
        "wait V.full@1",
        "issue O0@1",
        "arrive turn0@0",
        "await S0@0",
        "arrive K.empty@0",
        *softmax,
        "issue l0.mul@0",
        "issue E0@0",
        "issue P0@0",
        "issue l0@0",
        "await O0@1",
        "arrive V.empty@1",
        "issue C0@0",
        "issue X0@0",
    ]


def test_flash_attention_4_waits_for_parts_and_not_twice() -> None:
    schedule = load_schedule("fa4_forward")
    assert body(schedule, "mma") == [
        "wait T0_a.full@1",
        "wait X0.full@1",
        "wait V.full@1",
        "issue O0_a@1",
        "wait T0_b.full@1",
        "issue O0@1",
        "wait K.full@0",
        "issue S0@0",
        "wait T1_a.full@1",
        "wait X1.full@1",
        "issue O1_a@1",
        "wait T1_b.full@1",
        "issue O1@1",
        "issue S1@0",
    ]
    signals = {i.operation: i.signals for i in schedule.program("mma").issues}
    assert signals["S1"] == ("S1.full", "K.empty")


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("iterations", sampled([1, 2, 5], 3))
def test_short_loops_come_to_their_end(name: str, iterations: int) -> None:
    assert run(load_schedule(name), iterations=iterations).total_cycles > 0


@pytest.mark.parametrize("name", ["fa3_forward_128x176", "fa3_forward_128x128_no_overlap",
                                  "fa4_forward_rescaling"])  # fmt: skip
def test_there_are_no_races(name: str) -> None:
    check(load_schedule(name))


def test_no_derived_wait_can_be_left_out() -> None:
    """Without any wait that was derived a check complains, but for one that the source omits too.

    In the kernel only the first group waits for keys: the second one's turn comes after it.
    """
    schedule = load_schedule("fa3_forward_128x128")
    superfluous = []
    for index, program in enumerate(schedule.programs):
        for position, instruction in enumerate(program.body):
            if not isinstance(instruction, Wait | Await) or "turn" in spelled(instruction):
                continue
            without = program.body[:position] + program.body[position + 1 :]
            programs = list(schedule.programs)
            programs[index] = program.model_copy(update={"body": without})
            try:
                check(schedule.model_copy(update={"programs": tuple(programs)}))
            except SimulationError:
                continue
            superfluous.append((program.group, spelled(instruction)))
    assert superfluous == [("tile1", "wait K.full@0")]


# -- what is derived --------------------------------------------------------------------------


def test_a_chain_across_groups_is_announced_and_released() -> None:
    first = op("first", "TC", 4, asynchronous=True, memory="smem")
    second = op("second", "ALU", 2)
    loop = small_loop([first, second], [edge("first", "second")])
    groups = [
        {"name": "a", "warps": 4, "body": ["first"]},
        {"name": "b", "warps": 4, "body": ["second"]},
    ]
    schedule = written(groups, loop)
    assert body(schedule, "a") == ["wait first.empty@0-1", "issue first@0"]
    assert body(schedule, "b") == ["wait first.full@0", "issue second@0", "arrive first.empty@0"]
    assert schedule.machine == MACHINE
    assert run(schedule).measured_interval_cycles is not None


@pytest.mark.parametrize(("unit", "others"), [("TC", []), ("TMA", ["await first@1"])])
def test_who_awaits_a_younger_product_of_the_unit_knows_of_the_older(
    unit: str, others: list[str]
) -> None:
    loop = small_loop(
        [
            op("tile", "ALU", 1, memory="smem"),
            op("first", "TC", 4, asynchronous=True),
            op("second", unit, 4, asynchronous=True),
            op("use", "ALU", 1),
        ],
        [edge("tile", "first"), edge("second", "use")],
    )
    machine = small_machine({"TC": 1, "ALU": 1, "TMA": 1}, smem=1 << 16)
    own = {"name": "a", "warps": 4, "body": [o.name for o in loop.operations]}
    schedule = written([own], loop, machine=json.loads(machine.to_json()))
    waits = [one for one in body(schedule, "a") if one.startswith(("await", "wait"))]
    assert waits == [*others, "await second@0"]
    check(schedule)


def test_what_the_body_says_is_not_said_twice() -> None:
    loop = small_loop(
        [op("u", "TC", 4, asynchronous=True), op("w", "ALU", 1), op("v", "ALU", 2)],
        [edge("u", "v")],
    )
    groups = [{"name": "a", "warps": 4, "body": ["u", {"do": "await", "operation": "u"}, "w", "v"]}]
    schedule = written(groups, loop)
    assert body(schedule, "a") == ["issue u@0", "await u@0", "issue w@0", "issue v@0"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([{"name": "a", "warps": 4, "body": ["u"]}], "operation 'v' is issued by no group"),
        ([{"name": "a", "warps": 4, "body": ["u", "u", "v"]}], "'u' is issued a second time"),
        ([{"name": "a", "warps": 4, "body": ["v", "u"]}], "'v' stands before 'u'"),
        ([{"name": "a", "warps": 4, "body": ["u", "v", "x"]}], "no operation named 'x'"),
        (
            [{"name": "a", "warps": 4, "body": [{"do": "issue", "operation": "u", "stage": -1}]}],
            r"body\[0\]\S*stage: input should be greater than or equal to 0 \(got -1\)",
        ),
    ],
)
def test_bad_orders_are_refused(groups: list[dict[str, Any]], message: str) -> None:
    loop = small_loop([op("u", "TC", 4), op("v", "ALU", 2)], [edge("u", "v")])
    with pytest.raises(twill.InputError, match=message):
        written(groups, loop)


def test_too_few_slots_are_refused() -> None:
    loop = small_loop([op("u", "TC", 4, registers=8), op("v", "ALU", 2)], [edge("u", "v")])
    later = {"do": "issue", "operation": "v", "stage": 1}
    groups = [{"name": "a", "warps": 4, "body": ["u", later]}]
    assert written(groups, loop).storage[0].slots == 2
    with pytest.raises(twill.InputError, match=r"buffers\[0\]\.slots: 'u' needs 2 slots"):
        written(groups, loop, buffers=[{"value": "u", "slots": 1}])


def test_missing_loops_are_named(tmp_path: Path) -> None:
    text = json.loads((ROOT / "traces/schedules/fa4_forward.json").read_text())
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(text | {"loop": "fa5"}))
    with pytest.raises(twill.InputError, match=r"no loop named 'fa5'; there are .*fa4_forward"):
        load_schedule(str(file))
    file.write_text(json.dumps(text | {"loop": "beside.json"}))
    (tmp_path / "beside.json").write_text((ROOT / "traces/loops/fa4_forward.json").read_text())
    assert load_schedule(str(file)).loop.name == "fa4_forward"


def random_order(seed: int) -> Schedule:
    """Return any loop, spread over two groups in the order as written."""
    loop, machine = random_loop(seed)
    generator = random.Random(seed)
    bodies: dict[str, list[str]] = {"a": [], "b": []}
    for operation in loop.operations:
        bodies[generator.choice(list(bodies))].append(operation.name)
    document = {
        "schema": "twill.order",
        "schema_version": 1,
        "name": "random",
        "groups": [{"name": n, "warps": 4, "body": body} for n, body in bodies.items() if body],
        "loop": json.loads(loop.to_json()),
        "machine": json.loads(machine.to_json()),
    }
    return scheduled(Order.from_json(json.dumps(document)))


def crosses_nowhere(schedule: Schedule) -> bool:
    """Return whether a value that lies nowhere goes from group to group, which it cannot."""
    home = schedule.assignment
    return any(
        d.kind == "data"
        and schedule.loop.operation(d.producer).result is None
        and home[d.producer] != home[d.consumer]
        for d in schedule.loop.dependences
    )


def test_random_orders_run_without_complaint() -> None:
    tried = 0
    for seed in range(40):
        schedule = random_order(seed)
        if not crosses_nowhere(schedule):
            count = enough_iterations(schedule)
            StreamingMultiprocessor(
                schedule, Conditions(iterations=count, seed=seed), [Races(schedule)]
            ).run()
            tried += 1
    assert tried > 25


def test_the_smallest_order_of_the_docs() -> None:
    page = (ROOT / "docs" / "simulator.md").read_text()
    (text,) = [b for b in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if "twill.order" in b]
    schedule = scheduled(Order.from_json(text))
    assert schedule.pipeline_depths == {"K": 2, "V": 2}
    assert run(schedule).measured_interval_cycles is not None


# -- hoisted waits ------------------------------------------------------------------------------

HOISTED = "_wait_hoisted"
HOISTABLE = [name for name in BY_HAND if "hoisted" not in name]


@pytest.mark.parametrize("name", [n for n in BY_HAND if n.endswith(HOISTED)])
def test_waits_are_hoisted_to_where_they_are_by_hand(name: str) -> None:
    found = load_schedule(name.removesuffix(HOISTED), waits="hoisted")
    by_hand = load_schedule(name)
    for group in ("tile0", "tile1"):
        # Two that follow each other may stand in either order.
        assert Counter(body(found, group)) == Counter(body(by_hand, group))
        late = load_schedule(name.removesuffix(HOISTED), waits="late")
        assert body(found, group) != body(late, group)


@pytest.mark.parametrize("name", sampled(HOISTABLE, 3))
def test_hoisting_makes_no_program_wrong(name: str) -> None:
    late, hoisted = load_schedule(name, waits="late"), load_schedule(name, waits="hoisted")
    assert late == load_schedule(name)
    assert check(hoisted).iterations > 0
    for group in hoisted.groups:
        waits = [i for i in hoisted.program(group.name).body if isinstance(i, Await)]
        assert len(waits) == sum(isinstance(i, Await) for i in late.program(group.name).body)


def test_a_wait_moves_to_one_of_its_own_unit_only() -> None:
    operations = [
        op(name, unit, 4, latency=20, asynchronous=True, issue=1, registers=4)
        for name, unit in (("a", "TC"), ("b", "TC"), ("c", "ALU"))
    ]
    users = [op(f"use_{name}", "ALU", 4) for name in "abc"]
    loop = small_loop([*operations, *users], [edge(name, f"use_{name}") for name in "abc"])
    order = ["a", "b", "c", "use_a", "use_c", "use_b"]
    made = {
        waits: body(
            written([{"name": "all", "warps": 4, "body": order}], loop, waits=waits),
            "all",
        )
        for waits in ("late", "hoisted")
    }
    issues = [f"issue {name}@0" for name in order]
    assert made["late"] == [
        *issues[:3], "await a@0", issues[3], "await c@0", issues[4], "await b@0", issues[5],
    ]  # fmt: skip
    assert made["hoisted"] == [
        *issues[:3], "await a@0", "await b@0", issues[3], "await c@0", *issues[4:],
    ]  # fmt: skip


def test_a_wait_behind_the_last_moves_into_the_next_round() -> None:
    operations = [
        op(name, "TC", 4, latency=20, asynchronous=True, issue=1, registers=4) for name in "ab"
    ]
    loop = small_loop(
        [*operations, op("use_a", "ALU", 4), op("use_b", "ALU", 4)],
        [edge("a", "use_a"), edge("b", "use_b", 1)],
    )
    order = ["a", "use_a", "use_b", "b"]
    made = written([{"name": "all", "warps": 4, "body": order}], loop, waits="hoisted")
    assert body(made, "all") == [
        "issue a@0", "await a@0", "await b@1", "issue use_a@0", "issue use_b@0", "issue b@0",
    ]  # fmt: skip


def test_the_command_hoists_waits(attention_file: Path) -> None:
    told = CliRunner().invoke(
        app, ["run", "fa3_forward_128x128", "--waits", "hoisted", "--no-checks"]
    )
    assert told.exit_code == 0
    assert "measured interval 2695 cycles" in told.stdout
    with pytest.raises(twill.InputError, match=r"waits: one of late, hoisted \(got 'soon'\)"):
        load_schedule("fa3_forward_128x128", waits="soon")
    with pytest.raises(twill.InputError, match=r"a\.json: waits: its waits are written down"):
        load_schedule(str(attention_file), waits="hoisted")


@pytest.fixture
def attention_file(tmp_path: Path) -> Path:
    file = tmp_path / "a.json"
    file.write_text(load_schedule("paper_example_by_hand").to_json())
    return file
