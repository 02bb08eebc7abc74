"""The bench of the simulator: what it measures and how it says so."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import in_process
from tests.validation.simulator_bench import bench_simulator, measure
from twill.frontends.schedules import load_schedule

COMMAND = ("python", "-m", "tests.validation.simulator_bench")


def test_speeds_are_those_of_what_was_asked_for() -> None:
    schedule = load_schedule("paper_example_by_hand")
    measured = bench_simulator(schedule, iterations=(16, 32), groups=(1, 2), repeats=1)
    own = len(schedule.groups)
    asked = [(s.iterations, s.groups) for s in measured.speeds]
    assert asked == [(16, own), (32, own), (16, 1), (16, 2)]
    for speed in measured.speeds:
        assert speed.times_a_timeout == pytest.approx(
            speed.timeouts_per_second / speed.events_per_second
        )
        assert speed.cycles_per_second == pytest.approx(speed.cycles / speed.seconds)
    assert measured.peak_bytes > 1 << 20


def test_the_bench_as_a_table() -> None:
    done = in_process(*COMMAND, "paper_example_by_hand", "--iterations", "16", "--groups", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "crowd of 1" in done.stdout
    assert "bare SimPy timeouts" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 85


def test_the_bench_as_json() -> None:
    options = ("--iterations", "16", "--groups", "1", "--json")
    speeds = json.loads(in_process(*COMMAND, "paper_example_by_hand", *options).stdout)
    assert [speed["name"] for speed in speeds] == ["paper_example_by_hand", "crowd of 1"]


def test_counts_that_are_none_are_named() -> None:
    done = in_process(*COMMAND, "paper_example_by_hand", "--groups", "ten")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "twill: --groups: whole numbers (got 'ten')\n"


def test_events_grow_with_iterations() -> None:
    schedule = load_schedule("paper_example_by_hand")
    few, many = measure(schedule, 50, repeats=1), measure(schedule, 100, repeats=1)
    assert many.events == pytest.approx(2 * few.events, rel=0.05)
    assert many.cycles == pytest.approx(2 * few.cycles, rel=0.05)
