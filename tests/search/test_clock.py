"""The clock ends a search where `--timeout` says so, and has no other say in what it finds."""

from __future__ import annotations

import ast
import functools
import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.sampled import sampled
from tests.support.small import random_loop
from tests.support.static import static_schedule
from twill.base import console, deadline
from twill.base.deadline import Deadline, OutOfTime, check
from twill.engines.tuning import TUNING, Budget
from twill.frontends import load_loop, packaged_loops
from twill.search import search
from twill.search.request import EngineName, Options, Request
from twill.search.scheduler import Interrupted, solve

PACKAGE = Path(twill.__file__).parent
READS_THE_CLOCK = {"deadline.py"}
APART = ("studies", "sim", "traces", "machines")
"""Folders of the package that measure how long something takes, or find no schedules."""

# -- deadlines -------------------------------------------------------------------------------------


def ticking(monkeypatch: pytest.MonkeyPatch, step: float = 1.0) -> None:
    """Let the clock go on by a step whenever it is read."""
    ticks = itertools.count()
    monkeypatch.setattr(deadline, "now", lambda: next(ticks) * step)


def test_a_deadline_ends_its_own_work_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    done = 0
    with Deadline(5.0) as mine:
        while True:
            check()
            done += 1
    assert 0 < done < 6
    assert mine.late
    check()  # nothing is around it any more


def test_of_several_deadlines_the_one_that_is_over_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ticking(monkeypatch)
    ended = []
    with Deadline(6.0) as outer:
        with Deadline(1000.0) as inner:
            while True:
                check()
        ended.append(inner)
    assert ended == []
    with Deadline() as outer:
        with Deadline(6.0) as inner:
            while True:
                check()
        ended.append(inner)
        check()
    assert ended == [inner]
    assert inner.late
    assert not outer.late


def test_one_deadline_may_be_around_several_works() -> None:
    limit = Deadline(0.0)
    for _ in range(2):
        with limit:
            check()
            pytest.fail("its time is over")
    with pytest.raises(OutOfTime), Deadline(100.0):
        raise OutOfTime(limit)


def test_only_one_module_reads_the_clock() -> None:
    """Whatever else did could let the speed of the machine decide."""
    clocks = {"monotonic", "perf_counter", "process_time", "time", "time_ns", "monotonic_ns"}
    readers = set()
    for file in PACKAGE.rglob("*.py"):
        if file.relative_to(PACKAGE).parts[0] in APART:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            module = node.value if isinstance(node, ast.Attribute) else None
            named = isinstance(module, ast.Name) and module.id == "time"
            if named and isinstance(node, ast.Attribute) and node.attr in clocks:
                readers.add(file.name)
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                readers.add(file.name)
    assert readers == READS_THE_CLOCK


# -- whatever was found ----------------------------------------------------------------------------


def rank(schedule: twill.Schedule) -> list[int]:
    """Return what a schedule has of each level, less being better, as its proof says."""
    assert schedule.proof is not None
    return [-x.value if x.level == "slack" else x.value for x in schedule.proof.levels]


engines = pytest.mark.parametrize("engine", ["both", "difference"])


@functools.cache
def solved() -> list[tuple[twill.Loop, twill.Machine, twill.Schedule]]:
    loops = [random_loop(seed) for seed in (17, 35, 48)]
    return [(loop, machine, static_schedule(loop, machine)) for loop, machine in loops]


def judge(found: twill.Schedule, best: twill.Schedule) -> None:
    """Check that a schedule is valid, and that nothing that is said about it is false."""
    assert twill.verify(found).violations == ()
    assert found.proof is not None
    assert best.proof is not None
    assert found.proof.bound.value <= (best.initiation_interval or 0)
    assert rank(found) >= rank(best)
    for level, truth in zip(found.proof.levels, best.proof.levels, strict=False):
        assert not level.proved or level.value == truth.value
    assert found.proof.levels[0].proved == (found.proof.bound.reason != "not proved")


@engines
@pytest.mark.parametrize(
    "limits",
    [(2, 8, 15, 26), pytest.param((5, 11, 20, 40), marks=pytest.mark.slow)],
    ids=["some", "more"],
)
def test_a_search_that_ends_early_keeps_its_best_schedule_and_claims_no_more(
    monkeypatch: pytest.MonkeyPatch, engine: EngineName, limits: tuple[int, ...]
) -> None:
    above = between = 0
    for loop, machine, best in solved():
        for ticks in limits:
            with monkeypatch.context() as patch:
                ticking(patch)
                patch.setattr(search, "TUNING", replace(TUNING, budget=Budget(last=1000.0)))
                found = static_schedule(
                    loop, machine, engine=engine, options=Options(timeout=ticks)
                )
            judge(found, best)
            above += rank(found) > rank(best)
            assert found.proof is not None
            proved = [level.proved for level in found.proof.levels]
            between += any(proved) and not all(proved)
    assert above >= 2
    assert between >= 2


def test_a_search_that_has_done_its_work_keeps_its_best_schedule_and_claims_no_more() -> None:
    above = 0
    for loop, machine, best in solved()[:2]:
        shared: dict[str, dict[str, Any]] = {}
        for work in (0.005, 0.03):
            asked = Request(loop, machine, work=work)
            found = solve(asked).schedule
            judge(found, best)
            above += rank(found) > rank(best)
            few = Request(loop, machine, work=work, until="stages")
            with_others = [solve(one, intervals=shared).schedule for one in (asked, few)]
            assert with_others == [found, solve(few).schedule]
        assert solve(Request(loop, machine, work=10.0)).schedule.to_json() == best.to_json()
    assert above >= 2


@engines
def test_an_interruption_keeps_the_best_schedule_and_claims_no_more(
    monkeypatch: pytest.MonkeyPatch, engine: EngineName
) -> None:
    kept = lost = 0
    for loop, machine, best in solved():
        for calls in (0, 3, 6, 9, 12, 15):
            with monkeypatch.context() as patch:
                left = itertools.count(calls, -1)

                def interrupt(left: Iterator[int] = left) -> None:
                    if next(left) == 0:
                        raise KeyboardInterrupt

                patch.setattr(console, "check", interrupt)
                try:
                    solve(Request(loop, machine, engine=engine))
                except Interrupted as stopped:
                    judge(stopped.solved.schedule, best)
                    kept += 1
                except KeyboardInterrupt:
                    lost += 1
    assert kept >= 3
    assert lost >= 1


@pytest.mark.slow
@pytest.mark.sample
def test_progress_shows_the_best_interval_and_the_bound_below_it() -> None:
    said: list[str] = []
    loop = load_loop("attention_forward_hopper")
    machine = twill.Machine.named("hopper_h100")

    def report(message: str) -> None:
        said.append(message)

    found = static_schedule(loop, machine, report=report)
    between = [re.match(r"(\d+) \.\. (\d+): ", line) for line in said]
    pairs = [(int(m[1]), int(m[2])) for m in between if m is not None]
    assert pairs
    assert all(low < high for low, high in pairs)
    assert [low for low, _ in pairs] == sorted(low for low, _ in pairs)
    assert [high for _, high in pairs] == sorted((high for _, high in pairs), reverse=True)
    assert pairs[-1][0] <= (found.initiation_interval or 0) <= pairs[-1][1]
    assert said[-2].startswith(f"{found.initiation_interval}: ")


def test_a_limit_of_time_is_kept() -> None:
    """A schedule of the loop as it is written, if there is no other, takes five seconds at most."""
    loop = load_loop("attention_forward_diagonal_blackwell")
    machine = twill.Machine.named("blackwell_b200")
    spent = time.process_time()
    found = solve(Request(loop, machine), timeout=0.5)
    assert time.process_time() - spent < 0.5 + TUNING.budget.last
    assert twill.verify(found.schedule).violations == ()


def test_a_loop_as_it_is_written_has_the_time_that_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, machine = load_loop("layer_norm_hopper"), twill.Machine.named("hopper_h100")
    ticking(monkeypatch, 10 * TUNING.budget.last)
    asked = Request(loop, machine, search="written")
    assert solve(asked).schedule.programs
    with pytest.raises(twill.RefusedError, match="no schedule was found"):
        solve(asked, timeout=TUNING.budget.last)


# -- the same bytes --------------------------------------------------------------------------------

SAME = """
import json, sys, threading, time
way, loops = sys.argv[1], sys.argv[2:]
if way == "fast":
    for name in ("monotonic", "perf_counter", "time", "process_time"):
        real = getattr(time, name)
        setattr(time, name, lambda real=real, begun=real(): begun + 50 * (real() - begun))
import twill
from twill.artifacts.machine import Machine
from twill.base.console import interruptible
from twill.frontends import load_loop, packaged_loops
from twill.engines import cpsat
from twill.memory import packing
from twill.search.request import beginnings
from twill.search.request import Request
from twill.search.scheduler import solve
from twill import solvers
from twill.solvers import scip

def late(work, cancel):
    def later():
        time.sleep(0.02)
        return work()
    return interruptible(later, cancel)

delayed = {"cpsat": cpsat, "yices": solvers, "addresses": packing, "scip": scip}.get(way)
if delayed is not None:
    delayed.interruptible = late
for name in loops:
    machine = Machine.named(packaged_loops()[name].machine)
    asked, found = Request(load_loop(name), machine), []
    for request in dict.fromkeys([asked, *beginnings(asked)]):
        try:
            found.append(solve(request).schedule.to_json())
        except twill.RefusedError as error:
            found.append(str(error))
    print(json.dumps(found), flush=True)
"""
"""Solves loops, and what polishing begins with, in a fast time or with one of the solvers late."""
WAYS = ("fast", "cpsat", "yices", "addresses", "scip")
TINY = ("paper_example", "gemm_geglu_hopper")
SAMPLE = ("layer_norm_hopper",)


@functools.cache
def answers(way: str, loops: tuple[str, ...]) -> list[list[str]]:
    """Solve in a process of its own, which also has its own order of hashes."""
    done = subprocess.run(
        [sys.executable, "-c", SAME, way, *loops], capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(loops)
    return found


@pytest.fixture(scope="module")
def plain() -> list[list[str]]:
    return answers("plain", TINY)


@pytest.mark.parametrize("way", sampled(["fast", "cpsat"], 2))
def test_small_loops_are_the_same_bytes(way: str, plain: list[list[str]]) -> None:
    assert answers(way, TINY) == plain


@pytest.fixture(scope="module")
def plainly() -> Callable[[str], list[str]]:
    known: dict[str, list[str]] = {}

    def solved(name: str) -> list[str]:
        if name not in known:
            (known[name],) = answers("plain", (name,))
        return known[name]

    return solved


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.sample] if n in SAMPLE else []) for n in packaged_loops()],
)
def test_every_packaged_loop_is_the_same_bytes(
    name: str, way: str, plainly: Callable[[str], list[str]]
) -> None:
    assert answers(way, (name,)) == [plainly(name)]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", packaged_loops())
def test_other_load_leaves_the_same_bytes(name: str, plainly: Callable[[str], list[str]]) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(busy) for _ in range(4)]
    try:
        assert answers("plain", (name,)) == [plainly(name)]
    finally:
        for other in others:
            other.kill()
            other.wait()
