"""The choice among optimal schedules under a latency distribution."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError, RefusedError
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.execute import run
from twill.studies.robust import Choice, robust


@pytest.fixture(scope="module")
def first() -> twill.Schedule:
    """A load of nominally 20 cycles that a product of 10 reads; SMEM has room for five tiles."""
    load = op(
        "load",
        "TMA",
        4,
        latency=20,
        asynchronous=True,
        issue=1,
        memory="smem",
        variable_latency=True,
        warps=1,
    )
    use = op("use", "TC", 10)
    machine = small_machine(
        {"TC": 1, "TMA": 1}, registers=64, groups=((1, 1), (4, 1)), smem=5 * 1024 + 100
    )
    return solve(Request(small_loop([load, use], [edge("load", "use")]), machine)).schedule


def test_the_deepest_ring_that_helps_is_taken(first: twill.Schedule) -> None:
    choice = robust(first, "fixed:35", iterations=48)
    assert first.initiation_interval == 10
    slots = [one.schedule.pipeline_depths["load"] for one in choice.candidates]
    assert slots == list(range(slots[0], 6))  # five fit
    assert all(twill.verify(one.schedule).valid for one in choice.candidates)
    intervals = [one.interval_cycles for one in choice.candidates]
    assert intervals == sorted(intervals, reverse=True)
    assert choice.chosen == intervals.index(10)
    assert choice.gain == pytest.approx(1 - 10 / intervals[0])
    alone = run(choice.schedule, iterations=48, latency="fixed:35")
    assert alone.measured_interval_cycles == 10
    assert "rings of" in choice.words
    assert f"{choice.gain:.1%} less" in choice.words


def test_nothing_is_better_than_the_first_where_latency_is_small(first: twill.Schedule) -> None:
    choice = robust(first, "fixed:20", iterations=48)
    assert choice.schedule is first
    assert choice.gain == 0
    assert "none is better than the first" in choice.words


def test_others_count_if_they_are_as_optimal(first: twill.Schedule) -> None:
    asked = []

    def again(request: Request) -> Schedule:
        asked.append(request)
        if request.engine == "cpsat":
            raise RefusedError("no")
        seed = request.seed
        return first.model_copy(
            update={"initiation_interval": 10 + (seed == 2), "name": f"s{seed}"}
        )

    request = Request(first.loop, first.machine)
    rivals = [
        replace(request, seed=1), replace(request, seed=2), replace(request, engine="cpsat"),
    ]  # fmt: skip
    choice = robust(first, "uniform:10,40", again, rivals, iterations=48)
    assert asked == rivals
    names = {one.schedule.name for one in choice.candidates}
    assert names == {first.name, "s1"}
    same: Choice = replace(choice, chosen=0)
    assert same.to_dict()["gain"] == 0


def test_a_latency_that_is_none(first: twill.Schedule) -> None:
    with pytest.raises(InputError, match="latency"):
        robust(first, "often")


def test_the_command(tmp_path: Path) -> None:
    command = ("twill", "schedule", "paper_example", "-m", "paper_example", "--robust", "fixed:9")
    done = in_process(*command, "-o", "s.json", folder=tmp_path)
    assert "robust: of " in done.stdout
    assert twill.verify(Schedule.load(tmp_path / "s.json")).valid
    done = in_process(*command, "--json", folder=tmp_path)
    found = json.loads(done.stdout)["robust"]
    assert found["gain"] == 0
    assert found["candidates"][0]["interval_cycles"] == 2
