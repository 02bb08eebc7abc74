"""Schedules as people write them: what is derived, and what is refused."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from twill.artifacts.order import Order
from twill.artifacts.program import Await, Instruction, Wait
from twill.artifacts.schedule import Schedule, packaged_schedules
from twill.sim.checks.check import check, enough_iterations
from twill.sim.checks.races import Races
from twill.sim.engine.conditions import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import run
from twill.traces.make_orders import documents

ROOT = Path(__file__).parents[2]
BY_HAND = sorted(name for name in packaged_schedules() if name.startswith("fa"))


def spelled(instruction: Instruction) -> str:
    """Return an instruction as ``wait K.full @0-2``."""
    data = instruction.model_dump()
    subject = data.get("operation") or data.get("barrier") or data.get("value") or "several"
    distance = f"-{data['distance']}" if data.get("distance") else ""
    return f"{data['do']} {subject}@{data.get('stage', 0)}{distance}"


def body(schedule: Schedule, group: str) -> list[str]:
    return [spelled(instruction) for instruction in schedule.program(group).body]


def written(groups: list[dict[str, Any]], loop: twill.Loop, **more: Any) -> Order:
    document = {
        "schema": "twill.order",
        "schema_version": 1,
        "name": "by hand",
        "groups": groups,
        "loop": json.loads(loop.to_json()),
        "machine": json.loads(small_machine().to_json()),
        **more,
    }
    return Order.from_json(json.dumps(document))


# -- the packaged ones ------------------------------------------------------------------------


def test_the_packaged_orders_are_those_of_their_maker() -> None:
    assert len(documents()) > 20
    for name, text in documents().items():
        assert (ROOT / "traces" / name).read_text() == text, name


def test_flash_attention_3_waits_where_its_source_does() -> None:
    schedule = Schedule.named("fa3_forward_128x128")
    assert body(schedule, "load") == [
        "wait K.empty@0-2",
        "issue K@0",
        "wait V.empty@1-2",
        "issue V@1",
    ]
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
    schedule = Schedule.named("fa4_forward")
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
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_short_loops_come_to_their_end(name: str, iterations: int) -> None:
    assert run(Schedule.named(name), iterations=iterations).total_cycles > 0


@pytest.mark.parametrize("name", ["fa3_forward_128x176", "fa3_forward_128x128_no_overlap",
                                  "fa4_forward_rescaling"])  # fmt: skip
def test_there_are_no_races(name: str) -> None:
    check(Schedule.named(name))


def test_no_derived_wait_can_be_left_out() -> None:
    """Without any wait that was derived a check complains, but for one that the source omits too.

    In the kernel only the first group waits for keys: the second one's turn comes after it.
    """
    schedule = Schedule.named("fa3_forward_128x128")
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
    machine = small_machine()
    first = op("first", "TC", 4, asynchronous=True, memory="smem")
    second = op("second", "ALU", 2)
    loop = small_loop([first, second], [edge("first", "second")])
    groups = [
        {"name": "a", "warps": 4, "body": ["first"]},
        {"name": "b", "warps": 4, "body": ["second"]},
    ]
    schedule = written(groups, loop).schedule()
    assert body(schedule, "a") == ["wait first.empty@0-1", "issue first@0"]
    assert body(schedule, "b") == ["wait first.full@0", "issue second@0", "arrive first.empty@0"]
    assert schedule.machine == machine
    assert run(schedule).measured_interval_cycles is not None


def test_what_the_body_says_is_not_said_twice() -> None:
    loop = small_loop(
        [op("u", "TC", 4, asynchronous=True), op("w", "ALU", 1), op("v", "ALU", 2)],
        [edge("u", "v")],
    )
    groups = [{"name": "a", "warps": 4, "body": ["u", {"do": "await", "operation": "u"}, "w", "v"]}]
    schedule = written(groups, loop).schedule()
    assert body(schedule, "a") == ["issue u@0", "await u@0", "issue w@0", "issue v@0"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([{"name": "a", "warps": 4, "body": ["u"]}], "operation 'v' is issued by no group"),
        ([{"name": "a", "warps": 4, "body": ["u", "u", "v"]}], "'u' is issued a second time"),
        ([{"name": "a", "warps": 4, "body": ["v", "u"]}], "'v' stands before 'u'"),
        ([{"name": "a", "warps": 4, "body": ["u", "v", "x"]}], "no operation named 'x'"),
    ],
)
def test_bad_orders_are_refused(groups: list[dict[str, Any]], message: str) -> None:
    loop = small_loop([op("u", "TC", 4), op("v", "ALU", 2)], [edge("u", "v")])
    with pytest.raises(twill.InputError, match=message):
        written(groups, loop).schedule()


def test_too_few_slots_are_refused() -> None:
    loop = small_loop([op("u", "TC", 4, registers=8), op("v", "ALU", 2)], [edge("u", "v")])
    later = {"do": "issue", "operation": "v", "stage": 1}
    groups = [{"name": "a", "warps": 4, "body": ["u", later]}]
    assert written(groups, loop).schedule().storage[0].slots == 2
    with pytest.raises(twill.InputError, match=r"buffers\[0\]\.slots: 'u' needs 2 slots"):
        written(groups, loop, buffers=[{"value": "u", "slots": 1}]).schedule()


def test_missing_loops_are_named(tmp_path: Path) -> None:
    text = json.loads((ROOT / "traces/schedules/fa4_forward.json").read_text())
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(text | {"loop": "fa5"}))
    with pytest.raises(twill.InputError, match=r"no loop named 'fa5'; there are .*fa4_forward"):
        Schedule.load(file)
    file.write_text(json.dumps(text | {"loop": "beside.json"}))
    (tmp_path / "beside.json").write_text((ROOT / "traces/loops/fa4_forward.json").read_text())
    assert Schedule.load(file).loop.name == "fa4_forward"


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
    return Order.from_json(json.dumps(document)).schedule()


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
    schedule = Schedule.from_json(text)
    assert schedule.pipeline_depths == {"K": 2, "V": 2}
    assert run(schedule).measured_interval_cycles is not None
