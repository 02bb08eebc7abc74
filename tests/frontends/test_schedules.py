"""Schedules as IR: valid, pipelined as the loop says, and read back from their annotations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.parser import Parser

import twill
from tests.support.small import random_loop
from tests.support.static import static_schedule
from twill.artifacts.program import Issue
from twill.artifacts.schedule import Group
from twill.frontends import packaged_loops
from twill.frontends.schedules import (
    AS_JSON,
    load_schedule,
    packaged_schedules,
    parse_schedule_ir,
)
from twill.frontends.ttgir.reader import integer, name_of, string
from twill.polish import polish
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.show.ir import PLAIN, ir

ROOT = Path(__file__).parents[2]
READING = ("fa_fwd_hopper", "fa_fwd_blackwell")
FAST = ("fa4_forward", "paper_example_by_hand")
OPERATIONS = ("groups", "placements", "storage", "fixed", "barriers", "programs")
"""Keys that IR has as operations."""


def same(schedule: twill.Schedule) -> bool:
    text = ir(schedule)
    back = parse_schedule_ir(text)
    return back == schedule and ir(back) == text


@pytest.mark.parametrize("name", FAST)
def test_packaged_schedules_read_back(name: str) -> None:
    assert same(twill.load_schedule(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in packaged_schedules() if n not in FAST])
def test_the_other_packaged_schedules_read_back(name: str) -> None:
    assert same(twill.load_schedule(name))


@pytest.mark.parametrize("name", READING)
def test_solved_schedules_read_back(name: str) -> None:
    schedule = load_schedule(str(ROOT / "docs" / "reading" / f"{name}.mlir"))
    assert schedule.loop == twill.load_loop(name)
    assert same(schedule)


def test_the_running_example_reads_back(paper_schedule: twill.Schedule) -> None:
    assert same(paper_schedule)


def test_what_is_promised_reads_back(paper_schedule: twill.Schedule) -> None:
    polished = polish(paper_schedule, simulations=1).schedule
    assert polished.promise is not None
    assert same(polished)


def test_ir_has_every_key_of_a_schedule() -> None:
    elsewhere = {"schema", "schema_version"}  # version of IR is another
    read = {*AS_JSON, *PLAIN, *OPERATIONS}
    assert read == {f.alias or name for name, f in twill.Schedule.model_fields.items()} - elsewhere


def test_normalized_time_and_wishes_read_back(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    schedule = static_schedule(paper_loop, paper_machine, time="normalized", pins={"P": "second"},
                              limits={"groups": 2}, rules="paper")  # fmt: skip
    assert schedule.time.costs
    assert same(schedule)


@pytest.mark.slow
@pytest.mark.parametrize("name", packaged_loops())
def test_schedules_of_packaged_loops_read_back(name: str) -> None:
    machine = twill.Machine.named(packaged_loops()[name].machine)
    try:
        request = Request(twill.load_loop(name), machine)
        schedule = solve(request, timeout=120).schedule
    except twill.RefusedError as error:
        pytest.skip(str(error))
    assert same(schedule)


@pytest.mark.slow
def test_schedules_of_random_loops_read_back() -> None:
    tried = 0
    for seed in range(12):
        loop, machine = random_loop(seed)
        try:
            schedule = static_schedule(loop, machine)
        except twill.RefusedError:
            continue
        assert same(schedule), seed
        tried += 1
    assert tried >= 8


def test_everything_optional_reads_back(paper_schedule: twill.Schedule) -> None:
    """Placements out of order, a group without a program, names and texts that need quotes."""
    idle = Group(name='idle "\\ \u00e9', warps=1, variable_latency=True)
    schedule = paper_schedule.model_copy(
        update={
            "placements": paper_schedule.placements[::-1],
            "groups": (idle, *paper_schedule.groups),
            "description": 'tab\t, line\n, quotes " and \\ and \u4e2d\u6587',
            "proof": None,
            "seed": 7,
        }
    )
    assert same(schedule)


# -- the loop body ----------------------------------------------------------------------------


def loops_of(text: str) -> list[Operation]:
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    module = Parser(context, text).parse_module()
    module.verify()
    return [o for o in module.walk() if name_of(o) == "scf.for"]


def producers(value: SSAValue, age: int = 0) -> tuple[Operation, int]:
    """Return what made a value and how many rounds before."""
    if not isinstance(value, BlockArgument):
        assert isinstance(value.owner, Operation)
        return value.owner, age
    following = value.block.last_op
    assert following is not None
    return producers(following.operands[value.index - 1], age + 1)


@pytest.mark.parametrize("name", ["fa_fwd_hopper", "fa_fwd_blackwell"])
def test_operands_are_those_of_the_loop_as_written(name: str) -> None:
    """Each register operand leads, through the loop's carried values, to the right instance."""
    file = ROOT / "docs" / "reading" / f"{name}.mlir"
    schedule = load_schedule(str(file))
    registers = {s.value for s in schedule.storage if s.memory == "registers"}
    checked = 0
    for loop in loops_of(file.read_text()):
        for operation in loop.regions[0].blocks[0].ops:
            if not name_of(operation).startswith("tile."):
                continue
            reads = []
            for operand in operation.operands:
                if isinstance(operand, BlockArgument) or operand.owner.parent_op() is loop:
                    made, age = producers(operand)
                    value = string(made, "sched.name") or string(made, "sched.value")
                    stage = integer(made, "sched.stage")
                    own = integer(operation, "sched.stage")
                    assert stage is not None
                    assert own is not None
                    reads.append((value, age + stage - own))
            wanted = {
                (d.producer, d.distance)
                for d in schedule.loop.dependences
                if d.kind == "data"
                and d.consumer == string(operation, "sched.name")
                and d.producer in registers
            }
            assert set(reads) == wanted
            checked += len(wanted)
    assert checked > 40


def test_the_running_examples_loop_carries_as_figure_1f(paper_schedule: twill.Schedule) -> None:
    (loop,) = loops_of(ir(paper_schedule))
    body = loop.regions[0].blocks[0]
    tiles = {string(o, "sched.name"): o for o in body.ops if name_of(o).startswith("tile.")}
    assert list(tiles) == ["S", "P", "O"]
    assert [integer(o, "sched.stage") for o in tiles.values()] == [0, 1, 1]
    assert producers(tiles["P"].operands[0]) == (tiles["S"], 1)
    assert producers(tiles["O"].operands[0]) == (tiles["P"], 0)
    assert producers(tiles["O"].operands[1]) == (tiles["O"], 1)


# -- annotations are what is read ---------------------------------------------------------------


def edited(schedule: twill.Schedule, old: str, new: str) -> twill.Schedule:
    text = ir(schedule)
    assert len(re.findall(old, text)) >= 1
    return parse_schedule_ir(re.sub(old, new, text, count=1))


def test_an_edited_start_stage_and_barrier_is_read(paper_schedule: twill.Schedule) -> None:
    assert edited(paper_schedule, "sched.start = 3", "sched.start = 5").start["O"] == 5
    moved = edited(paper_schedule, '("P", sched.stage = )1', r"\g<1>4").programs[0].body
    assert isinstance(moved[3], Issue)
    assert moved[3].stage == 4
    with pytest.raises(twill.InputError, match=r"placements\[0\].group: no group named"):
        edited(paper_schedule, 'sched.name = "compute0"', 'sched.name = "all"')


def test_edited_signals_and_groups_are_read() -> None:
    schedule = twill.load_schedule("fa4_forward")
    assert edited(schedule, r'sched.signals = \["K.full"\]', "sched.signals = []") != schedule
    assert edited(schedule, r'sched.barrier = "K.full"', 'sched.barrier = "V.full"') != schedule
    # A place that no group of the schedule has is refused by the schedule's own checks.
    with pytest.raises(twill.InputError, match="no group named"):
        edited(schedule, r'(sched.name = "K".*?sched.group = )"load"', r'\1"nowhere"')


def test_moved_operations_follow_their_clusters(paper_schedule: twill.Schedule) -> None:
    text = ir(paper_schedule)
    lines = text.splitlines()
    first = next(n for n, line in enumerate(lines) if '"twill.await"' in line)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    assert parse_schedule_ir("\n".join(lines)) == paper_schedule


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("twill.schedule = 2", "other = 1", "no attribute twill.schedule"),
        ("twill.schedule = 2", "twill.schedule = 9", "twill.schedule: version 1 or 2 is read here"),
        ("sched.cluster = 3 : i64, ", "", "tile.exp2 sched.cluster: a whole number is required"),
        ("sched.cluster = 3 ", "sched.cluster = 2 ", "cluster 2 has several instructions"),
        ('"twill.await"', '"twill.sleep"', "twill.sleep: no operation of a schedule"),
        ('sched.name = "P"', 'sched.name = "X"', "no operation named 'X'"),
        ('twill.loop = "{', 'twill.loop = "', "twill.loop: not JSON"),
        ('sched.start = 3', 'sched.start = -3', "placements\\[2\\].start"),
        ('"scf.for"', '"scf.while"', "twill.group 'compute0': one scf.for"),
        ("}) {twill", "}) {{twill", "not a schedule as IR"),
        ("sched.slots = 2 : i64, ", "", "storage\\[0\\]"),
    ],
)  # fmt: skip
def test_errors_name_the_place(
    paper_schedule: twill.Schedule, old: str, new: str, message: str
) -> None:
    text = ir(paper_schedule)
    assert old in text
    with pytest.raises(twill.InputError, match=message):
        parse_schedule_ir(text.replace(old, new, 1))


def test_a_ttgir_dump_is_no_schedule() -> None:
    file = ROOT / "traces" / "ttgir" / "gemm.sm90.mlir"
    with pytest.raises(twill.InputError, match=r"gemm\.sm90\.mlir: not a schedule as IR"):
        load_schedule(str(file))


def test_what_is_not_issued_cannot_be_written(paper_schedule: twill.Schedule) -> None:
    program = paper_schedule.programs[0]
    short = program.model_copy(update={"body": program.body[:-1]})
    with pytest.raises(twill.InputError, match="programs: O is issued by no group"):
        ir(paper_schedule.model_copy(update={"programs": (short,)}))
