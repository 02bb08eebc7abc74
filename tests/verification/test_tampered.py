"""What is recorded in a schedule is checked, named as taken on trust, or claims nothing."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from functools import cache
from typing import Any

import pytest

import twill
from tests.support.sampled import sampled
from tests.support.small import edge, op, small_loop, small_machine, tight_loop
from tests.support.static import static_schedule
from tests.support.tampering import changes
from twill.artifacts.loop import Cost, Invariant, Operation, Step, Tile
from twill.artifacts.proof import Measured, Promise
from twill.bounds.programs import program_bound
from twill.frontends.schedules import load_schedule
from twill.polish.judge import _without_times
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.verification.registers import registers_along_programs

RECORDED = (
    "name", "description", "rules", "time", "initiation_interval", "length", "stages", "groups",
    "placements", "pipeline_depths", "hiding_depths", "storage", "fixed", "barriers", "programs",
    "proof", "promise", "solver", "seed", "machine_hash",
)  # fmt: skip
"""Everything but the question, which is the loop and the machine."""

NOT_A_CLAIM = {
    ("name", "renamed"): "a name",
    ("description", "*"): "a comment",
    ("solver.*", "*"): "what is installed elsewhere nobody can check",
    ("solver", "left out"): "the same",
    ("seed", "*"): "another seed finds as good a schedule",
    ("machine_hash", "left out"): "the machine is there itself",
    ("proof", "left out"): "without a proof nothing is said to be best",
    ("programs", "left out"): "without programs nothing is said about them",
    ("barriers", "*"): "what waits guarantee the simulator judges, by executing them",
    ("barriers.*", "*"): "the same",
    ("programs.body", "*"): "the same",
    ("programs.body.*", "*"): "the same",
    ("groups.registers_live", "left out"): "without the figure nothing is said about it",
    ("groups.registers", "*"): "more registers than are needed, or the least that are",
    ("placements.start", "*"): "another schedule as good in every level",
    ("storage.addresses", "*"): "another place that nothing else takes",
    ("storage.slots", "*"): "how many copies its program keeps of a value is a group's choice",
    ("groups", "swapped"): "lists of what has names have no order",
    ("placements", "swapped"): "the same",
    ("storage", "swapped"): "the same",
    ("fixed", "swapped"): "the same",
    ("programs", "swapped"): "the same",
    ("barriers", "swapped"): "the same",
    ("time.costs", "swapped"): "the same",
    ("proof.bound.weights", "swapped"): "the same",
    ("time.budget", "*"): "a budget that the costs keep as well",
    ("proof.levels.proved", "turned over"): "less is said",
    ("promise.conditions*", "*"): "how long it takes a run shows, see tests/sim/test_promises.py",
    ("promise.iterations", "*"): "the same",
    ("promise.bound", "left out"): "without a bound nothing is said to be faster",
    ("promise.bound.certificate", "left out"): "without a certificate no bound is read",
    ("promise.bound.certificate.cases", "doubled"): "a case twice is the same case",
}
"""Changes that may pass, by where and how, with the reason."""


def engine_refuted() -> twill.Schedule:
    """On the only group b cannot wait for a beside c, which only an engine says."""
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, groups=((4, 1),))
    return made(small_loop(operations, [edge("a", "b")]), machine)


def streaming() -> twill.Schedule:
    """A ring, a transfer, an invariant and what was asked for beforehand."""
    load = op("k", "BUS", 1, asynchronous=True, latency=9, memory="smem", variable_latency=True)
    loop = small_loop(
        [
            load.model_copy(update={"warps": 1}),
            op("s", "TC", 2, asynchronous=True, issue=1, latency=3, registers=2, transfer=1),
            op("p", "ALU", 3, registers=1),
        ],
        [edge("k", "s"), edge("s", "p"), edge("p", "p", 1)],
    )
    tile = Tile(shape=(256,), dtype="f32", memory="smem")
    kept = tuple(Invariant(name=name, tile=tile, used_by=("s",)) for name in ("q", "r"))
    loop = loop.model_copy(update={"invariants": kept})
    machine = small_machine(
        {"TC": 1, "ALU": 1, "BUS": 1},
        registers=16, hop=1, smem=16384, groups=((1, 1), (4, 2)),
    )  # fmt: skip
    return made(loop, machine, pins={"s": "A", "p": "B"}, orders=[("k", "s")],
                limits={"stages": 4, "groups": 3, "transfers": 2})  # fmt: skip


def normalized() -> twill.Schedule:
    loop = small_loop([op("a", "ALU", 30), op("b", "TC", 70)], [edge("a", "b"), edge("b", "a", 2)])
    return made(loop, small_machine(), time="normalized", budget=20)


def made(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
    return solve(Request(loop, machine, **options)).schedule


def all_units_together() -> twill.Schedule:
    """Three operations of which any two share a unit: each unit has time for them, all have not."""
    operations = []
    for name, units in (("a", "XY"), ("b", "YZ"), ("c", "ZX")):
        steps = tuple(Step(unit=unit, cycles=2, instructions=2) for unit in units)
        operations.append(Operation(name=name, kind="test", cost=Cost(steps=steps, latency=2)))
    return made(small_loop(operations), small_machine(dict.fromkeys("XYZ", 1), in_order=()))


def loosely_bound() -> twill.Schedule:
    return made(twill.load_loop("skipped_interval_issue"), twill.Machine.named("paper_example"))


def polished() -> twill.Schedule:
    """What `polish` writes of a program: no static times, and a promise."""
    given = streaming()
    bare = _without_times(given.model_copy(update={"proof": None}))
    bound = program_bound(given.loop, given.machine)
    said = Measured(warp_scheduler="oldest", latency="nominal", interval_cycles=2 * bound.cycles)
    promise = Promise(
        interval_cycles=said.interval_cycles,
        iterations=200,
        conditions=(said,),
        bound=bound,
        static_interval=given.initiation_interval,
        simulations=64,
        seed=1,
    )
    live = registers_along_programs(bare)
    groups = tuple(g.model_copy(update={"registers_live": live[g.name]}) for g in bare.groups)
    return bare.model_copy(update={"promise": promise, "groups": groups})


SCHEDULES = {
    f.__name__: f
    for f in (engine_refuted, streaming, normalized, loosely_bound, all_units_together, polished)
}
PACKAGED = ("layer_norm_hopper", "gemm_two_tiles_hopper", "gemm_persistent_blackwell")


def packaged(name: str) -> twill.Schedule:
    machine = "hopper_h100" if name.endswith("hopper") else "blackwell_b200"
    return made(twill.load_loop(name), twill.Machine.named(machine))


@cache
def passing(name: str) -> frozenset[tuple[str, str]]:
    """Where and how a schedule may be changed and is still called valid, nothing else being said.

    Whatever is refused, is refused with a reason and not by an accident.
    """
    schedule = SCHEDULES[name]() if name in SCHEDULES else packaged(name)
    verdict = twill.verify(schedule)
    assert verdict.valid, verdict.violations
    found = set()
    for where, how, changed in changes(json.loads(schedule.to_json()), RECORDED):
        try:
            again = twill.Schedule.from_json(json.dumps(changed))
            other = twill.verify(again)
        except twill.TwillError:
            continue
        said_otherwise = _said(other) != _said(verdict)
        if again != schedule and other.valid and not said_otherwise:
            found.add((where, how))
    return frozenset(found)


def _said(verdict: twill.verification.Verdict) -> object:
    return verdict.trusted, verdict.within, verdict.unchecked


def allowed(where: str, how: str) -> set[tuple[str, str]]:
    return {key for key in NOT_A_CLAIM if fnmatch(where, key[0]) and fnmatch(how, key[1])}


@pytest.mark.parametrize(
    "name",
    [*sampled(SCHEDULES, 2), *(pytest.param(name, marks=pytest.mark.slow) for name in PACKAGED)],
)
def test_every_change_is_refused_or_said_or_claims_nothing(name: str) -> None:
    assert [change for change in sorted(passing(name)) if not allowed(*change)] == []


@pytest.mark.slow
@pytest.mark.sample
def test_nothing_is_excused_that_is_refused_anyway() -> None:
    used = {key for name in SCHEDULES for change in passing(name) for key in allowed(*change)}
    assert set(NOT_A_CLAIM) - used == set()


def test_refutations_are_taken_on_trust_from_who_made_them() -> None:
    schedule = engine_refuted()
    assert schedule.proof is not None
    claims = {entry.level: (entry.claim, entry.solver) for entry in twill.verify(schedule).trusted}
    bound = schedule.proof.bound
    assert bound.reason == "no joint schedule"
    claim, solver = claims["interval"]
    assert claim.startswith(f"no schedule of at most 6 stages at an interval below {bound.value}")
    assert solver == bound.solver
    shown = {entry.level for entry in schedule.proof.levels if entry.solver is None}
    assert set(claims) - {"interval"} == {e.level for e in schedule.proof.levels} - shown


def test_slots_that_hide_a_latency_do_not_depend_on_the_wait_that_frees_them() -> None:
    schedule = static_schedule(*tight_loop(111), rules="paper")
    assert schedule.hiding_depths == {"o0": 2, "o1": 2}
    assert twill.verify(schedule).valid


@pytest.mark.parametrize("name", sampled(["tlx_forward", "fa3_forward_128x128", "fa4_forward"], 3))
def test_an_operation_that_another_group_issues_is_named(name: str) -> None:
    """Its program issues it where it is not placed; every rule says what it can, and none stops."""
    schedule = load_schedule(name)
    for moved in schedule.placements:
        group = next(g.name for g in schedule.groups if g.name != moved.group)
        placements = tuple(
            p.model_copy(update={"group": group}) if p == moved else p for p in schedule.placements
        )
        verdict = twill.verify(schedule.model_copy(update={"placements": placements}))
        said = f"{moved.operation} is on group {group} and is issued by {moved.group}"
        assert said in [v.message for v in verdict.violations if v.rule == "programs"]
