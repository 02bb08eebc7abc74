"""Rounds begin where no product is in flight and registers hold the least."""

from __future__ import annotations

import pytest

import twill
from tests.support.solved import stored
from twill.artifacts.loop import Loop
from twill.artifacts.program import Arrive, Await, Issue, Program, Wait
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.lower.prepare import cut_rounds, light_rounds, prepared


@pytest.fixture(scope="module")
def attention() -> Schedule:
    return stored("fa_fwd_hopper")


def flying_at_the_edge(program: Program, loop: Loop) -> list[str]:
    """Return the products in registers that are in flight where a round begins, in the third."""
    products = {o.name for o in loop.operations if o.kind == "mma"}
    flying: list[str] = []
    for turn in range(3):
        if turn == 2:
            return flying
        for instruction in program.body:
            if isinstance(instruction, Await) and instruction.operation in flying:
                del flying[: flying.index(instruction.operation) + 1]
            parts = getattr(instruction, "parts", (instruction,))
            flying += [
                p.operation
                for p in parts
                if isinstance(p, Issue) and p.first and p.operation in products
            ]
    return flying


def test_rounds_begin_where_no_product_is_in_flight(attention: Schedule) -> None:
    before = [flying_at_the_edge(p, attention.loop) for p in attention.programs]
    after = [flying_at_the_edge(p, attention.loop) for p in prepared(attention).programs]
    assert any(before)
    assert not any(after)


def carried(schedule: Schedule, program: Program) -> int:
    """Return the registers that hold values where the fifth round begins, by executing rounds."""
    sizes = {s.value: s.size for s in schedule.storage if s.memory == "registers" and not s.reader}
    made: dict[tuple[str, int], int] = {}
    read: dict[tuple[str, int], int] = {}
    for turn in range(10):
        for instruction in program.body:
            for part in getattr(instruction, "parts", (instruction,)):
                if isinstance(part, Issue):
                    at = turn - part.stage
                    made.setdefault((part.operation, at), turn)
                    for d in schedule.loop.dependences:
                        if d.kind == "data" and d.consumer == part.operation:
                            read[d.producer, at - d.distance] = turn
    return sum(
        sizes[value]
        for (value, at), turn in made.items()
        if value in sizes and turn < 5 <= read.get((value, at), turn)
    )


def test_rounds_begin_where_registers_hold_the_least(attention: Schedule) -> None:
    cut = cut_rounds(attention)
    before = [carried(attention, p) for p in cut.programs]
    after = [carried(attention, p) for p in light_rounds(cut).programs]
    assert all(a <= b for a, b in zip(after, before, strict=True))
    assert sum(after) < sum(before)


def test_light_rounds_add_no_stages(attention: Schedule) -> None:
    cut = cut_rounds(attention)
    stages = [[p.last_stage for p in s.programs] for s in (light_rounds(cut), cut)]
    assert all(a <= b for a, b in zip(*stages, strict=True))


def test_all_turns_are_on_the_tensor_core(attention: Schedule) -> None:
    made = prepared(attention)
    products = {o.name for o in attention.loop.operations if o.kind == "mma"}
    turns = {b.name.removesuffix(".issued") for b in made.barriers if b.name.endswith(".issued")}
    assert turns
    assert turns <= products
    named = {i.barrier for p in made.programs for i in p.body if isinstance(i, Wait | Arrive)}
    assert named <= {b.name for b in made.barriers}


def test_what_is_prepared_is_valid_and_as_fast(attention: Schedule) -> None:
    made = prepared(attention)
    assert twill.verify(made).violations == ()
    runs = [twill.sim.run(s, iterations=64).iterations_per_cycle for s in (attention, made)]
    assert runs[0] == pytest.approx(runs[1], rel=0.005)


def test_a_product_that_is_always_in_flight_is_refused(attention: Schedule) -> None:
    never = tuple(
        p.model_copy(update={"body": tuple(i for i in p.body if not isinstance(i, Await))})
        for p in attention.programs
    )
    with pytest.raises(RefusedError, match="always in flight"):
        prepared(attention.model_copy(update={"programs": never}))


def test_a_product_whose_next_one_is_issued_before_it_is_awaited_is_refused(
    attention: Schedule,
) -> None:
    """Each await is for the iteration before, so that one of two is in flight everywhere."""
    program = attention.programs[-1]
    name = next(i.operation for i in program.issues if i.operation.startswith("s"))
    body = (
        Issue(do="issue", operation=name, stage=0),
        Await(do="await", operation=name, stage=1),
    )
    always = program.model_copy(update={"body": body})
    with pytest.raises(RefusedError, match=f"one of {name} is always in flight"):
        cut_rounds(attention.model_copy(update={"programs": (always,)}))
    once = (body[0], body[1].model_copy(update={"stage": 0}))
    quiet = program.model_copy(update={"body": once})
    assert cut_rounds(attention.model_copy(update={"programs": (quiet,)})).programs == (quiet,)
