"""Local search over programs: what it makes, what it promises, and that it is the same again."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import random_loop
from tests.support.solved import solved_once
from tests.support.static import static_schedule
from tests.support.synthetic import synthetic_loop
from twill.base import deadline
from twill.base.errors import Refusal
from twill.cli.options import conditions_of
from twill.frontends.schedules import load_schedule
from twill.lower.pipeline import Choices
from twill.polish import EFFORTS, Interrupted, polish, polishing, search
from twill.polish.candidates import Programs
from twill.polish.judge import Judge
from twill.polish.moves import Moves
from twill.polish.roles import Roles
from twill.polish.search import Point, best_of, confirmed, looked_at
from twill.polish.tuning import TUNING
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.show.schedule import schedule_data
from twill.sim.checks import check
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import simulate

LAYER_NORM = ("layer_norm_hopper", "hopper_h100")
FEW = 32


@pytest.fixture(scope="module")
def layer_norm() -> twill.Schedule:
    """A loop whose static schedule books pipes that instructions of two groups could share."""
    loop, machine = LAYER_NORM
    return solved_once(twill.load_loop(loop), twill.Machine.named(machine))


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


def test_programs_of_a_kernel_use_groups_as_wide_as_its_tiles_lie_in(
    layer_norm: twill.Schedule,
) -> None:
    """Other ones have no kernel; a loop without one may use all."""
    programs, _ = of(layer_norm)
    assert {group.warps for group in programs.groups} == {4}
    loop = layer_norm.loop.model_copy(update={"source": None})
    free = Programs(layer_norm.model_copy(update={"loop": loop}))
    assert {group.warps for group in free.groups} == {4, 8}


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


@pytest.mark.slow
@pytest.mark.sample
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


@pytest.mark.parametrize(
    ("later", "kept"), [(1.002, True), (0.998, True), (1.003, False), (0.96, False)]
)
def test_what_takes_another_interval_later_is_not_promised(
    layer_norm: twill.Schedule, later: float, kept: bool
) -> None:
    class Drifting(Judge):
        @staticmethod
        def measured(schedule: twill.Schedule, conditions: Conditions, iterations: int) -> float:
            taken = Judge.measured(schedule, conditions, 64)
            return later * taken if iterations > 64 else taken

    found = confirmed(Drifting((Conditions(),)), layer_norm, math.inf)
    assert (found is not None) == kept


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
    assert judge.estimate(in_step) == pytest.approx(judge.interval(in_step, 16), rel=0.001)
    assert judge.estimate(layer_norm, 1.0) is None


@pytest.mark.slow
def test_whichever_turn_is_left_out_no_barrier_is_two_phases_ahead(
    solved_once: Callable[..., twill.Schedule],
) -> None:
    given = solved_once(twill.load_loop("fa_fwd_hopper"), twill.Machine.named("hopper_h100"))
    programs, interval = of(given)
    candidate = programs.candidate(interval, given.start)
    in_turn = issued(programs.schedule(candidate))
    assert len(in_turn) > 1
    operations = programs.problem.operations
    for pair in itertools.permutations((o.index for o in operations if o.in_order_unit), 2):
        left_out = replace(candidate, choices=Choices(dropped=frozenset({pair})))
        schedule = programs.schedule(left_out)
        assert issued(schedule) <= in_turn
        assert Judge.objection(schedule) == ""


def issued(schedule: twill.Schedule) -> set[str]:
    """Return the barriers at which groups take turns."""
    return {b.name for b in schedule.barriers if b.name.endswith(".issued")}


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
    """Also where they say an interval, but no times."""
    given = twill.load_schedule("paper_example_by_hand")
    given = given.model_copy(update={"initiation_interval": 2})
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


def test_no_program_has_more_groups_of_a_width_than_the_machine(
    layer_norm: twill.Schedule,
) -> None:
    """Loads and others may each use four of them, but not together more than four."""
    programs, interval = of(layer_norm)
    candidate = programs.candidate(interval, layer_norm.start)
    narrow = [g for g, group in enumerate(programs.groups) if group.warps == 4]
    names = [o.name for o in programs.problem.operations]
    computing = [g for g in narrow if not programs.groups[g].variable_latency]
    (loading,) = set(narrow) - set(computing)
    spread = tuple(
        loading if name == "x.load" else computing[k % len(computing)]
        for k, name in enumerate(names)
    )
    with pytest.raises(twill.RefusedError, match="5 groups of 4 warps, hopper_h100 has 4"):
        programs.with_lack(replace(candidate, group=spread))
    few = tuple(computing[0] if g == computing[1] else g for g in spread)
    programs.with_lack(replace(candidate, group=few))


def test_a_given_schedule_that_breaks_a_rule_is_no_answer(layer_norm: twill.Schedule) -> None:
    """What its groups do not take is done by others in what is found."""
    together = dict.fromkeys(layer_norm.assignment, layer_norm.assignment["x"])
    given = layer_norm.model_copy(
        update={
            "placements": tuple(
                one.model_copy(update={"group": together[one.operation]})
                for one in layer_norm.placements
            )
        }
    )
    found = polish(given, simulations=4)
    assert found.given_cycles is None
    assert found.objection.startswith("variable latency: x.load")
    assert twill.verify(found.schedule).valid


def test_why_nothing_runs_is_said(layer_norm: twill.Schedule) -> None:
    """Without static times there is nothing else to begin with than a run."""
    programs, interval = of(layer_norm)
    untimed = programs.schedule(programs.candidate(interval, layer_norm.start))
    bodies = tuple(
        one.model_copy(update={"body": tuple(i for i in one.body if i.do != "put")})
        for one in untimed.programs
    )
    with pytest.raises(twill.RefusedError, match=r"as it is given, programs: .* is put 0 times"):
        polish(untimed.model_copy(update={"programs": bodies}), simulations=4)


def test_a_given_proof_that_is_false_is_wrong_input(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    twill.schedule(loop, machine).save(file)
    document = json.loads(file.read_text())
    for unit, words in (("9**9**9", "the proof names unit 9**9**9"), ("EXP", "the proof says")):
        document["proof"]["bound"] |= {"unit": unit, "value": 2, "reason": "ResMII"}
        file.write_text(json.dumps(document))
        done = in_process("twill", "polish", str(file), "-o", "-")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"s.json: proof: {words}" in done.stderr


def test_what_is_given_and_what_is_found_run_as_long(layer_norm: twill.Schedule) -> None:
    """With drawn latencies the first iterations take another time than all together."""
    drawn = Conditions(latency=("uniform:400,2000",))
    found = polish(layer_norm, simulations=1, conditions=(drawn,))
    promise = found.schedule.promise
    assert promise is not None
    assert found.schedule.programs == layer_norm.programs
    assert found.given_cycles == promise.interval_cycles
    assert found.given_cycles != Judge((drawn,)).interval(layer_norm, 64)


def test_what_is_issued_before_what_it_reads_is_no_candidate(layer_norm: twill.Schedule) -> None:
    programs, interval = of(layer_norm)
    candidate = programs.candidate(interval, layer_norm.start)
    assert programs.ordered(candidate)
    first = max(candidate.start)
    assert not programs.ordered(replace(candidate, start=tuple(first - t for t in candidate.start)))


def test_a_large_loop_is_searched_again_from_the_best(
    layer_norm: twill.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[tuple[list[Point], int, list[Point]]] = []

    def noted(programs: Programs, judge: Judge, points: list[Point], **options: Any) -> list[Point]:
        found = search.anneal(programs, judge, points, **options)
        searches.append((points, options["simulations"], found))
        return found

    monkeypatch.setattr(polishing, "anneal", noted)
    usual, few = replace(TUNING.efforts, usual=2), replace(TUNING.beginnings, least=1)
    monkeypatch.setattr(polishing, "TUNING", replace(TUNING, efforts=usual, beginnings=few))
    polish(layer_norm, simulations=30)
    (_, first, found), (again, more, _) = searches
    assert (first, first + more) == (30 * 2**0.75 // 7**0.75 - 7, 23)
    assert again == sorted(found, key=lambda point: point.energy)[: TUNING.efforts.anew]


class Elsewhere(Executor):
    """Runs each call with copies of what is given to it, as if in a process that it is new to."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        there, given = _sent((fn, args))
        done.set_result(_sent(there(*given, **kwargs)))
        return done


def _sent(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))  # noqa: S301 - pickled right here


@pytest.mark.slow
def test_whoever_goes_on_with_a_chain_the_answer_is_the_same(
    layer_norm: twill.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a chain knows in a round goes along with it."""
    programs, interval = of(layer_norm)
    candidate = programs.candidate(interval, layer_norm.start)
    judge = Judge((Conditions(),))
    points = looked_at(programs, judge, [Point(candidate, math.inf)], exact=True) * 2

    def found(part: int, pool: Executor | None) -> list[Point]:
        chains = replace(TUNING.chains, recorded=2, part=part)  # parts end between two looks
        monkeypatch.setattr(search, "TUNING", replace(TUNING, chains=chains))
        return search.anneal(
            programs,
            judge,
            points,
            known=math.inf,
            simulations=64,
            pool=pool,
            report=lambda *_: False,
            confirmed=lambda _: None,
        )

    whole = found(64, None)
    assert found(3, Elsewhere()) == whole
    assert len({point.energy for point in (*points, *whole)}) > 1


def test_a_limit_of_time_ends_in_the_best_program_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = solve(Request(*random_loop(36), search="written")).schedule
    ticks = itertools.count()
    few = replace(TUNING.beginnings, most=16)
    monkeypatch.setattr(polishing, "TUNING", replace(TUNING, beginnings=few))
    monkeypatch.setattr(deadline, "now", lambda: next(ticks))
    kept: list[twill.Schedule] = []
    found = polish(given, simulations=10**6, timeout=5, keep=kept.append)
    promise, best = found.schedule.promise, kept[-1].promise
    assert promise is not None
    assert best is not None
    assert promise.iterations == best.iterations == 64
    assert promise.interval_cycles == best.interval_cycles < (found.given_cycles or 0)
    assert next(ticks) < 20
    assert twill.verify(found.schedule).valid


@pytest.mark.slow
def test_an_interruption_keeps_the_best_program(layer_norm: twill.Schedule) -> None:
    told: list[str] = []

    def report(message: str) -> None:
        told.append(message)
        if message != told[0]:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the best program so far") as stopped:
        polish(layer_norm, simulations=100, report=report)
    found = stopped.value.polished
    promise = found.schedule.promise
    assert promise is not None
    assert found.given_cycles is not None
    assert promise.interval_cycles < found.given_cycles
    assert promise.iterations == 64
    assert 0 < promise.simulations < 100
    assert f"{promise.interval_cycles:g} cycles, " in told[-1]
    assert twill.verify(found.schedule).valid


@pytest.fixture(scope="module")
def attention(solved_once: Callable[..., twill.Schedule]) -> twill.Schedule:
    """Attention of two tiles, with recurrences."""
    loop, machine = twill.load_loop("fa_fwd_blackwell"), twill.Machine.named("blackwell_b200")
    return solved_once(loop, machine, until="stages", effort=0.5)


@pytest.mark.slow
def test_roles_are_those_of_experts(attention: twill.Schedule) -> None:
    programs, interval = of(attention)
    names = [o.name for o in programs.problem.operations]
    roles = Roles(programs)
    said = [{names[v] for v in members} for members in roles.members]
    for tile in "01":
        softmax = {f"s{tile}", f"n{tile}.reduce", f"p{tile}", f"a{tile}", f"o{tile}.cast"}
        assert any(softmax <= role for role in said), "FlashAttention-4's softmax of a tile"
        assert {f"o{tile}.tmem_store2"} in said, "its correction"
    assert {names[v] for v in roles.others} == {"s0.mma", "s1.mma", "o0", "o1"}
    assigned = dict(roles.assignments(programs.candidate(interval, attention.start).group))
    group = assigned[
        "the roles of s0 | o0.tmem_store2 and o1.tmem_store2 | s1 on groups of their own, "
        "products apart"
    ]
    assert len({group[v] for v in roles.others}) == 1
    assert len(set(group)) == 5
    for g, operation in zip(group, programs.problem.operations, strict=True):
        assert programs.groups[g].takes(operation)


def test_groups_further_apart_keep_values_in_more_slots(layer_norm: twill.Schedule) -> None:
    programs, interval = of(layer_norm)
    given = programs.candidate(interval, layer_norm.start)
    group = dict(Roles(programs, single=True).assignments(given.group))
    slots = []
    for apart in (0, interval):
        one = replace(given, group=next(iter(group.values())))
        settled = programs.settled(one, apart)
        assert settled is not None
        assert programs.ordered(settled)
        slots.append(sum(s.slots for s in programs.schedule(settled).storage))
    assert slots[0] < slots[1]


@pytest.mark.slow
def test_rounds_that_a_recurrence_does_not_fit_into_are_refused(attention: twill.Schedule) -> None:
    programs, interval = of(attention)
    given = programs.candidate(interval, attention.start)
    assert programs.settled(given) is not None
    assert programs.settled(replace(given, interval=interval // 4)) is None


def test_a_program_may_lack_registers_on_the_way_but_not_in_the_end(
    layer_norm: twill.Schedule,
) -> None:
    file = layer_norm.machine.registers
    assert file is not None
    few = file.model_copy(update={"most": file.most.model_copy(update={"value": 64})})
    machine = layer_norm.machine.model_copy(update={"registers": few})
    programs, interval = of(layer_norm.model_copy(update={"machine": machine}))
    candidate = programs.candidate(interval, layer_norm.start)
    _, lack = programs.with_lack(candidate)
    assert 0 < lack < 1
    with pytest.raises(twill.RefusedError, match="the register file has no room"):
        programs.schedule(candidate)
    point = Point(candidate, 0.0, lack)
    assert best_of(programs, Judge((Conditions(),)), [point]) is None
    (looked,) = looked_at(Programs(layer_norm), Judge((Conditions(),)), [point], exact=True)
    assert (looked.lack, looked.energy) == (0.0, Judge((Conditions(),)).interval(layer_norm, 16))


def test_conditions_are_taken_as_they_are_told() -> None:
    assert conditions_of(["oldest:nominal", "oldest", "oldest:fixed:9"]) == (
        Conditions(warp_scheduler="oldest"),
        Conditions(warp_scheduler="oldest", latency=("fixed:9",)),
    )


SCHEDULE = ("twill", "schedule", "layer_norm_hopper", "-m", "hopper_h100")


@pytest.mark.usefixtures("known_answers")
@pytest.mark.slow
@pytest.mark.sample
def test_what_is_scheduled_is_polished_unless_the_static_model_is_asked_for(
    tmp_path: Path,
) -> None:
    made = tmp_path / "made.json"
    done = in_process(*SCHEDULE, "--effort", "quick", "--json", "-o", str(made))
    polished = json.loads(done.stdout)["polished"]
    promise = twill.Schedule.load(str(made)).promise
    assert promise is not None
    assert polished["promise"]["interval_cycles"] == promise.interval_cycles
    assert promise.interval_cycles < polished["given_cycles"]
    others = [other["cycles"] for other in polished["others"]]
    assert others == sorted(others)
    assert all(other["origin"] != polished["origin"] for other in polished["others"])
    told = json.loads(done.stdout)
    written = twill.Schedule.load(str(made))
    assert told["groups"] == schedule_data(written)["groups"]
    assert (told["interval_units"], told["static"]["interval_units"]) == (None, 966)
    shown = in_process(*SCHEDULE, "--effort", "quick", "-o", str(made)).stdout
    assert f"{written.groups[-1].warps} warps, {written.groups[-1].registers} registers" in shown
    assert "static schedule: interval 966, 3 stages; " in shown
    assert "initiation interval" not in shown
    for static in (("--model", "paper"), ("--limit", "groups=3"), ("--rules", "paper")):
        done = in_process(*SCHEDULE, *static, "--json", "-o", str(made))
        assert "polished" not in json.loads(done.stdout)
        assert twill.Schedule.load(str(made)).promise is None


def test_help_says_how_many_programs_an_effort_simulates() -> None:
    done = in_process("twill", "polish", "--help")
    quick, *others, thorough = (f"{effort.programs:,}" for effort in EFFORTS.values())
    said = " ".join(done.stdout.replace("│", " ").split())
    assert f"{', '.join((quick, *others))} or {thorough}" in said


@pytest.mark.usefixtures("known_answers")
@pytest.mark.parametrize(
    ("said", "jobs"), [((), 2), (("--jobs", "1"), 1)], ids=["as many as cores", "--jobs 1"]
)
def test_commands_simulate_on_all_cores(
    said: tuple[str, ...], jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def noted(*_: object, jobs: int, **__: object) -> None:
        told.append(jobs)
        raise twill.RefusedError("seen", Refusal())

    monkeypatch.delenv("TWILL_JOBS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("twill.studies.choice.polish", noted)
    in_process("twill", "polish", "paper_example_by_hand", *said)
    in_process(*SCHEDULE, *said)
    assert told == [jobs, jobs]


def test_no_processes_begin_where_the_given_schedule_meets_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []

    @contextmanager
    def noted(jobs: int) -> Iterator[None]:
        begun.append(jobs)
        yield None

    monkeypatch.setattr(polishing, "local", noted)
    found = polish(load_schedule("paper_example_by_hand"), jobs=2)
    assert found.schedule.promise is not None
    assert found.schedule.promise.bound is not None
    assert found.given_cycles == found.schedule.promise.bound.cycles
    assert begun == [1]


@pytest.mark.parametrize("asked", [("--effort", "quick"), ("--model", "simulated")])
def test_the_static_model_cannot_be_polished_within_its_own_options(asked: tuple[str, ...]) -> None:
    done = in_process(*SCHEDULE, *asked, "--pin", "x=A", "--most-stages", "3")
    assert done.returncode == 2
    assert f"{asked[0]}" in done.stderr
    assert "polishes, and --most-stages is of the static model only" in done.stderr


@pytest.mark.slow
def test_a_large_loop_is_polished_from_the_loop_as_it_is_written(tmp_path: Path) -> None:
    file, made = tmp_path / "large.json", tmp_path / "made.json"
    synthetic_loop(48, 0, "hopper_h100").save(str(file))
    done = in_process(
        "twill", "schedule", str(file), "-m", "hopper_h100", "--effort", "quick", "-o", str(made)
    )
    assert done.returncode == 0, done.stderr
    promise = twill.Schedule.load(str(made)).promise
    assert promise is not None
    assert promise.bound is not None
    assert promise.static_interval is not None
    assert promise.bound.cycles < promise.interval_cycles < promise.static_interval
    interval = (
        f"static schedule: interval {promise.static_interval}, 1 stage; the least interval is"
    )
    assert interval in done.stdout  # and no more is proved


@pytest.mark.slow
@pytest.mark.sample
def test_verify_holds_a_promise_against_a_run(layer_norm: twill.Schedule, tmp_path: Path) -> None:
    file = tmp_path / "made.json"
    made = polish(layer_norm, simulations=8).schedule
    assert made.promise is not None
    made.save(str(file))
    done = in_process("twill", "verify", str(file), "--run")
    assert (done.returncode, " ".join(done.stdout.split()).count("as promised")) == (0, 2)
    first, other = made.promise.conditions
    less = first.model_copy(update={"interval_cycles": 0.99 * first.interval_cycles})
    promise = made.promise.model_copy(
        update={"interval_cycles": less.interval_cycles, "conditions": (less, other)}
    )
    made.model_copy(update={"promise": promise}).save(str(file))
    assert in_process("twill", "verify", str(file)).returncode == 0
    done = in_process("twill", "verify", str(file), "--run", "--json")
    runs = json.loads(done.stdout)["runs"]
    assert (done.returncode, [run["kept"] for run in runs]) == (1, [False, True])


def test_verify_holds_a_static_interval_against_a_run(tmp_path: Path) -> None:
    file = tmp_path / "made.json"
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    static_schedule(loop, machine).save(str(file))
    done = in_process("twill", "verify", str(file), "--run")
    said = " ".join(done.stdout.split())
    assert (done.returncode, said.count("2 cycles an iteration, as promised")) == (0, 1)


def test_the_command(layer_norm: twill.Schedule, tmp_path: Path) -> None:
    given, made = tmp_path / "given.json", tmp_path / "made.json"
    layer_norm.save(str(given))
    done = in_process("twill", "polish", str(given), "--simulations", "8", "-o", str(made))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    promise = twill.Schedule.load(str(made)).promise
    assert promise is not None
    taken = f"{promise.interval_cycles:g} cycles an iteration on the simulated SM"
    assert f"{taken}, measured over 200 iterations" in said
    document = json.loads(made.read_text())
    assert document["promise"]["static_interval"] == layer_norm.initiation_interval
    assert document.get("initiation_interval") is None
