"""Tight random loops, about which two engines and the verifier agree; `tests.oracle` has others."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial

import pytest

import twill
from tests.support.small import edge, op, small_loop, small_machine, tight_loop
from tests.support.static import static_schedule
from twill.base.errors import RefusedError
from twill.bounds import bounds
from twill.engines import EngineFactory
from twill.engines.cpsat import CpSatEngine
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.problem import Problem, build_problem
from twill.search.answer import within_registers
from twill.search.request import Options
from twill.search.search import Found, search

ALL = 500
FEW, FEW_OPERATIONS = 14, 7
CHUNKS = 2
SECONDS = 60.0
"""For each engine and loop; eleven operations that fill one unit completely take longer."""


@cache
def problem_of(seed: int) -> Problem:
    return build_problem(*tight_loop(seed))


class UndecidedError(Exception):
    """There was not enough time."""


def solved(problem: Problem, factory: EngineFactory) -> Found | None:
    """Return what a search finds, None if it refuses."""
    try:
        found = search(problem, factory, Options(timeout=SECONDS))
    except RefusedError as error:
        if "does not mean that there is none" in str(error):
            raise UndecidedError from None
        return None
    if not all(level.proved for level in found.proof.levels):
        raise UndecidedError
    return found


def check(seed: int, counts: Counter[str]) -> None:
    """Compare the engines on one loop, and have the verifier judge."""
    problem = problem_of(seed)
    try:
        first, second = (solved(problem, e) for e in (DifferenceEngine, CpSatEngine))
    except UndecidedError:
        counts["undecided"] += 1
        return
    if first is None or second is None:
        assert first is second, f"loop {seed}: only one engine refuses it"
        counts["refused"] += 1
        return
    assert first.interval == second.interval, seed
    levels = [[(x.level, x.value, x.proved) for x in f.proof.levels] for f in (first, second)]
    assert levels[0] == levels[1], seed
    for found in (first, second):
        made = partial(realize, problem, found.interval, found.assignment, found.proof)
        schedule = within_registers(problem, made)
        assert twill.verify(schedule).violations == (), seed
    if first.interval > bounds(problem).interval:
        counts["above"] += 1
        bound = first.proof.bound
        assert (bound.value, bound.reason) == (first.interval, "no joint schedule"), seed
        assert bound.families, seed


def few() -> list[int]:
    """Return the first loops that are not large."""
    small = (s for s in range(ALL) if len(problem_of(s).operations) <= FEW_OPERATIONS)
    return [seed for seed, _ in zip(small, range(FEW), strict=False)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_engines_and_verifier_agree_about_tight_loops(chunk: int) -> None:
    counts = Counter[str]()
    for seed in few()[chunk::CHUNKS]:
        check(seed, counts)
    assert counts["above"] > 0
    assert counts["undecided"] == 0


@pytest.mark.slow
@pytest.mark.nightly
def test_five_hundred_tight_loops(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter[str]()
    for seed in range(ALL):
        check(seed, counts)
    with capsys.disabled():
        print(counts)
    assert 0.25 * ALL <= counts["above"] <= 0.45 * ALL
    assert counts["refused"] <= 0.12 * ALL
    assert counts["undecided"] <= 0.01 * ALL


def test_a_slot_is_not_taken_twice_because_others_see_its_release_late() -> None:
    # `a`, and `b`, which updates it in place, live in one slot for the whole interval; the loads,
    # on another group, learn of each release a hop later. That slot and one for `load` do.
    operations = [
        op("a", "ALU", 4, memory="smem"),
        op("b", "BUS", memory="smem"),
        op("load", "TC", memory="smem", asynchronous=True, variable_latency=True),
        op("next", "TC", asynchronous=True, variable_latency=True),
    ]
    loop = small_loop(operations, [edge("a", "b", in_place=True), edge("load", "next")])
    machine = small_machine({"ALU": 1, "BUS": 1, "TC": 1}, hop=4, groups=((4, 2),), smem=2048)
    schedule = static_schedule(loop, machine)
    assert schedule.initiation_interval == 5
    assert twill.verify(schedule).violations == ()


def test_slack_counts_where_an_operation_waits_for_itself() -> None:
    operations = [op("a", "TC", 2, latency=5, asynchronous=True), op("b", "ALU", 9)]
    schedule = static_schedule(small_loop(operations, [edge("a", "a", 1)]), small_machine())
    assert schedule.initiation_interval == 9
    assert schedule.proof is not None
    assert {level.level: level.value for level in schedule.proof.levels}["slack"] == 9 - 5


def test_a_limit_on_registers_below_the_least_allocation_is_kept() -> None:
    loop = small_loop([op("a", "TC", 2, registers=4), op("b", "ALU")], [edge("a", "b")])
    schedule = static_schedule(loop, small_machine(registers=64), limits={"registers": 4})
    assert {group.registers for group in schedule.groups if group.registers_live} == {24}
    assert max(group.registers_live or 0 for group in schedule.groups) == 4
    assert twill.verify(schedule).violations == ()
