"""Registers along programs: as a compiler gives them out, kept to what groups are allocated."""

from __future__ import annotations

from typing import Any

import pytest

import twill
from tests.support.programs import unsolved
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule
from twill.artifacts.loop import ElementType, Invariant, Loop, Tile
from twill.artifacts.program import Await, Get, Instruction, Issue, Put, Storage
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.sim import run
from twill.sim.checks import check
from twill.verification.registers import registers_along_programs


def held() -> Schedule:
    """Return a schedule in which an asynchronous reader frees what another value then takes."""
    loop = small_loop(
        [
            op("a", "ALU", registers=8),
            op("b", "TC", latency=4, asynchronous=True),
            op("c", "ALU", registers=8),
            op("d", "ALU"),
        ],
        [edge("a", "b"), edge("c", "d"), edge("a", "c", 0)],
    )
    loop = loop.model_copy(
        update={
            "dependences": tuple(
                d.model_copy(update={"kind": "control", "delay": 6})
                if (d.producer, d.consumer) == ("a", "c")
                else d
                for d in loop.dependences
            )
        }
    )
    return static_schedule(loop, small_machine(registers=8, file=1024, least=8, groups=((4, 1),)))


def test_a_group_waits_for_what_frees_its_registers() -> None:
    schedule = held()
    (program,) = schedule.programs
    kinds = [(i.do, getattr(i, "operation", "")) for i in program.body]
    assert ("await", "b") in kinds
    assert registers_along_programs(schedule) == {program.group: 8}
    assert twill.verify(schedule).valid
    assert run(schedule, iterations=50).achieved


def test_the_verifier_refuses_registers_that_are_still_read() -> None:
    schedule = held()
    (program,) = schedule.programs
    body = tuple(i for i in program.body if not isinstance(i, Await))
    changed = schedule.model_copy(update={"programs": (program.model_copy(update={"body": body}),)})
    (violation,) = twill.verify(changed).violations
    assert str(violation) == (
        f"registers: group {program.group} along its program: 16 registers per thread live, "
        "8 of 8 allocated are for values"
    )


def test_a_copy_takes_registers_from_its_get_on() -> None:
    # The copy is fetched four cycles ahead of its reader, while the other value is still live.
    loop = small_loop(
        [
            op("a", "ALU", registers=8, transfer=8),
            op("b", "SFU", registers=8),
            op("c", "SFU"),
        ],
        [edge("a", "c"), edge("b", "c")],
    )
    units = {"TC": 1, "ALU": 1, "SFU": 1}
    loose, tight = (
        small_machine(units, registers=limit, file=128 * 2 * limit, least=8, groups=((4, 2),))
        for limit in (16, 8)
    )
    pins = {"a": "A", "b": "B", "c": "B"}
    schedule = static_schedule(loop, loose, pins=pins)
    assert registers_along_programs(schedule)["B"] == 16
    with pytest.raises(RefusedError):
        static_schedule(loop, tight, pins=pins)


EXCEEDED = [
    pytest.param("online_softmax_blackwell", marks=[pytest.mark.slow, pytest.mark.sample]),
    pytest.param("attention_forward_blackwell", marks=pytest.mark.slow),
    pytest.param("attention_backward_d64_hopper", marks=pytest.mark.slow),
    pytest.param("attention_forward_diagonal_blackwell", marks=pytest.mark.slow),
    pytest.param("fa_bwd_blackwell", marks=pytest.mark.slow),
    pytest.param("fa_bwd_hopper", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("name", EXCEEDED)
def test_packaged_programs_that_took_more_than_their_allocation(name: str) -> None:
    machine = "hopper_h100" if name.endswith("hopper") else "blackwell_b200"
    schedule = static_schedule(twill.load_loop(name), twill.Machine.named(machine))
    assert twill.verify(schedule).valid
    assert check(schedule, live=registers_along_programs(schedule)).exceeded == []


def in_pieces(*whole: str, dtype: ElementType = "f32") -> Loop:
    """Return a value of 32 registers, two readers of a half each, and what reads all of it."""
    value = Tile(shape=(128, 32 if dtype == "f32" else 64), dtype=dtype, memory="registers")
    half = Tile(shape=(128, value.shape[1] // 2), dtype="f32", memory="registers")
    operations = [
        op("a", "ALU").model_copy(update={"result": value}),
        *(op(n, "ALU").model_copy(update={"kind": "exp2", "result": half}) for n in ("b", "c")),
        *(op(name, "TC", asynchronous=True, latency=4) for name in whole),
    ]
    return small_loop(operations, [edge("a", name) for name in ("b", "c", *whole)])


A, B, C, ALL = (Issue(operation=name) for name in ("a", "b", "c", "all"))
PUT, GET = Put(value="a"), Get(value="a", reader="all")


@pytest.mark.parametrize(
    ("loop", "body", "slots", "most"),
    [
        (in_pieces(), [A, B, C], 1, 32),  # each half becomes the result of who reads it
        (in_pieces(dtype="f16"), [A, B, C], 1, 16 + 16 + 32),  # results of 32 take over no half
        (in_pieces(), [A, B, C, PUT], 1, 32 + 16),  # the copy is made of the whole
        (in_pieces("all"), [A, ALL, B, C], 1, 32 + 16),  # whose end nobody waits for
        (in_pieces("all"), [A, ALL, B, C], 2, 2 * 32 + 16),
    ],
)
def test_a_value_that_is_read_piece_by_piece_is_free_piece_by_piece(
    loop: Loop, body: list[Instruction], slots: int, most: int
) -> None:
    schedule = unsolved(loop, small_machine(), {"home": body})
    kept = Storage(value="a", memory="registers", group="home", slots=slots, size=32)
    schedule = schedule.model_copy(update={"storage": (kept,)})
    assert registers_along_programs(schedule) == {"home": most}


def test_a_value_that_another_group_reads_too_is_kept_whole() -> None:
    programs: dict[str, list[Instruction]] = {"here": [A, B, C], "there": [ALL]}
    schedule = unsolved(in_pieces("all"), small_machine(), programs)
    assert registers_along_programs(schedule)["here"] == 32 + 16


@pytest.mark.parametrize(("rules", "most"), [("issue", 32 + 16), ("paper", 32)])
def test_under_the_rules_of_the_paper_a_value_is_free_where_its_reader_is_issued(
    rules: Any, most: int
) -> None:
    schedule = unsolved(in_pieces("all"), small_machine(), {"home": [A, ALL, B, C]})
    schedule = schedule.model_copy(update={"rules": rules})
    assert registers_along_programs(schedule) == {"home": most}


@pytest.mark.parametrize("slots", [None, 1, 2])
def test_a_copy_is_held_until_its_slots_are_used_again_if_nobody_waits_for_its_reader(
    slots: int | None,
) -> None:
    programs: dict[str, list[Instruction]] = {"here": [A, B, C, PUT], "there": [GET, ALL]}
    schedule = unsolved(in_pieces("all"), small_machine(), programs)
    if slots is not None:
        kept = Storage(
            value="a", memory="registers", group="there", reader="all", slots=slots, size=32
        )
        schedule = schedule.model_copy(update={"storage": (kept,)})
    assert registers_along_programs(schedule)["there"] == 32 * (slots or 1)


def test_invariants_take_registers_of_the_groups_that_use_them() -> None:
    tile = Tile(shape=(128, 5), dtype="f32", memory="registers")
    loop = in_pieces("all").model_copy(
        update={"invariants": (Invariant(name="q", tile=tile, used_by=("b",)),)}
    )
    programs: dict[str, list[Instruction]] = {"here": [A, B, C], "there": [ALL]}
    schedule = unsolved(loop, small_machine(), programs)
    assert registers_along_programs(schedule) == {"here": 32 + 16 + 5, "there": 0}
