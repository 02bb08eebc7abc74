"""Local search over programs: what it makes, what it promises, and that it is the same again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import twill
from tests.support.commands import in_process
from twill.polish import Interrupted, polish
from twill.polish.candidates import Programs
from twill.polish.judge import Judge
from twill.polish.moves import Moves
from twill.sim.checks import check
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import simulate

LAYER_NORM = ("layer_norm_hopper", "hopper_h100")
FEW = 48


@pytest.fixture(scope="module")
def layer_norm() -> twill.Schedule:
    """A loop whose static schedule books pipes that instructions of two groups could share."""
    loop, machine = LAYER_NORM
    return twill.schedule(twill.load_loop(loop), twill.Machine.named(machine))


def of(schedule: twill.Schedule) -> tuple[Programs, int]:
    assert schedule.initiation_interval is not None
    return Programs(schedule), schedule.initiation_interval


def test_a_static_schedule_is_a_candidate_with_the_same_programs(
    layer_norm: twill.Schedule,
) -> None:
    programs, interval = of(layer_norm)
    again = programs.schedule(programs.candidate(interval, layer_norm.start))
    assert (again.programs, again.storage) == (layer_norm.programs, layer_norm.storage)
    assert again.barriers == layer_norm.barriers
    assert (again.start, again.initiation_interval) == ({}, None)


def test_moves_keep_order_and_groups_that_take_operations(layer_norm: twill.Schedule) -> None:
    programs, interval = of(layer_norm)
    candidate = programs.candidate(interval, layer_norm.start)
    moves, seen = Moves(programs, Random(0)), set[str]()
    for _ in range(300):
        moved = moves.propose(candidate)
        if moved is not None:
            assert programs.ordered(moved)
            for operation, group in zip(programs.problem.operations, moved.group, strict=True):
                assert programs.groups[group].takes(operation)
            seen.add(repr(moved))
            candidate = moved
    assert len(seen) > 100


def test_what_is_polished_is_faster_valid_and_the_same_with_two_jobs(
    layer_norm: twill.Schedule,
) -> None:
    found = polish(layer_norm, simulations=FEW)
    promise = found.schedule.promise
    assert promise is not None
    assert found.given_cycles is not None
    assert promise.bound is not None
    assert promise.bound.cycles <= promise.interval_cycles < found.given_cycles
    assert twill.verify(found.schedule).valid
    assert check(found.schedule).exceeded == []
    assert polish(layer_norm, simulations=FEW, jobs=2).schedule == found.schedule


def test_the_promise_is_what_is_measured(layer_norm: twill.Schedule) -> None:
    promise = polish(layer_norm, simulations=8).schedule
    assert promise.promise is not None
    for said in promise.promise.conditions:
        conditions = Conditions.of(warp_scheduler=said.warp_scheduler, iterations=1000)
        measured = simulate(promise, conditions).measured_interval_cycles
        assert measured == pytest.approx(said.interval_cycles, rel=0.005)


def test_a_run_that_cannot_win_is_given_up(layer_norm: twill.Schedule) -> None:
    judge = Judge((Conditions(),))
    whole = judge.interval(layer_norm, 16)
    assert whole is not None
    assert judge.interval(layer_norm, 16, limit=whole) == whole
    assert judge.interval(layer_norm, 16, limit=0.5 * whole) is None


def test_other_conditions_count_a_little_where_they_are_much_slower(
    layer_norm: twill.Schedule,
) -> None:
    conditions = (Conditions(), Conditions(warp_scheduler="oldest"))
    times = [Judge.measured(layer_norm, c, 16) for c in conditions]
    first = times[0]
    assert Judge(conditions[:1]).cost(layer_norm, first, 16) == first
    assert Judge(conditions).cost(layer_norm, first, 16) == max(
        first, first + 0.1 * (times[1] / 1.03 - first)
    )
    strict = Judge(conditions, tolerance=-0.5).cost(layer_norm, first, 16)
    assert strict == pytest.approx(first + 0.1 * (2 * times[1] - first))


def test_a_program_whose_contexts_are_in_step_is_estimated_exactly(
    layer_norm: twill.Schedule,
) -> None:
    in_step = twill.load_schedule("fa3_forward_128x128_no_ping_pong")
    judge = Judge((Conditions(),))
    assert StreamingMultiprocessor(in_step, Conditions()).in_step
    assert judge.estimate(in_step) == judge.interval(in_step, 16)
    assert judge.estimate(layer_norm, 1.0) is None


def test_a_program_with_a_race_is_objected_to(layer_norm: twill.Schedule) -> None:
    body = layer_norm.programs[-1].body
    waits = [i for i in body if i.do == "wait"]
    left = tuple(i for i in body if i is not waits[0])
    programs = (
        *layer_norm.programs[:-1],
        layer_norm.programs[-1].model_copy(update={"body": left}),
    )
    assert Judge.objection(layer_norm) == ""
    assert Judge.objection(layer_norm.model_copy(update={"programs": programs})) != ""


def test_orders_as_people_write_them_are_polished_too() -> None:
    given = twill.load_schedule("paper_example_by_hand")
    found = polish(given, simulations=8)
    assert found.given_cycles == 2
    assert found.schedule.programs == given.programs
    assert found.origin == ""
    assert found.schedule.promise is not None
    assert (found.schedule.promise.gap, found.schedule.promise.simulations) == (0, 0)


def test_a_group_that_no_program_may_use_is_refused(layer_norm: twill.Schedule) -> None:
    interval = of(layer_norm)[1]
    wide = tuple(group.model_copy(update={"warps": 2}) for group in layer_norm.groups)
    with pytest.raises(twill.RefusedError, match="no program may use one more group like"):
        Programs(layer_norm.model_copy(update={"groups": wide})).candidate(
            interval, layer_norm.start
        )


def test_what_is_issued_before_what_it_reads_is_no_candidate(layer_norm: twill.Schedule) -> None:
    programs, interval = of(layer_norm)
    candidate = programs.candidate(interval, layer_norm.start)
    assert programs.ordered(candidate)
    first = max(candidate.start)
    assert not programs.ordered(replace(candidate, start=tuple(first - t for t in candidate.start)))


def test_an_interruption_keeps_the_best_program(layer_norm: twill.Schedule) -> None:
    told: list[str] = []

    def report(message: str) -> None:
        told.append(message)
        if message != told[0]:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the best program so far") as stopped:
        polish(layer_norm, simulations=FEW, report=report)
    found = stopped.value.polished
    promise = found.schedule.promise
    assert promise is not None
    assert found.given_cycles is not None
    assert promise.interval_cycles < found.given_cycles
    assert promise.iterations == 64
    assert f"{promise.interval_cycles:g} cycles, " in told[-1]
    assert twill.verify(found.schedule).valid


def test_the_command(layer_norm: twill.Schedule, tmp_path: Path) -> None:
    given, made = tmp_path / "given.json", tmp_path / "made.json"
    layer_norm.save(str(given))
    done = in_process("twill", "polish", str(given), "--simulations", str(FEW), "-o", str(made))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    promise = twill.Schedule.load(str(made)).promise
    assert promise is not None
    assert f"{promise.interval_cycles:g} cycles an iteration, measured over 200 iterations" in said
    document = json.loads(made.read_text())
    assert document["promise"]["static_interval"] == layer_norm.initiation_interval
    assert document.get("initiation_interval") is None
