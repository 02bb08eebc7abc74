"""``twill bench simulator``: what it measures and how it says so."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import in_process
from twill.frontends.schedules import load_schedule
from twill.studies.bench.simulator import bench_simulator, measure, print_simulator_bench

SMALL = ("--iterations", "16,32", "--groups", "1,2", "--bundles", "1,4")


def bench(*options: str) -> str:
    done = in_process("twill", "bench", "simulator", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bench_as_json() -> None:
    measured = json.loads(bench("paper_example_by_hand", *SMALL, "--json"))
    speeds = measured["speeds"]
    assert [(s["iterations"], s["bundle"], s["groups"]) for s in speeds[:3]] == [
        (16, 1, speeds[0]["groups"]),
        (32, 1, speeds[0]["groups"]),
        (16, 4, speeds[0]["groups"]),
    ]
    assert [s["groups"] for s in speeds[3:]] == [1, 2]
    for speed in speeds:
        assert speed["times_a_timeout"] == pytest.approx(
            speed["timeouts_per_second"] / speed["events_per_second"]
        )
        assert speed["cycles_per_second"] == pytest.approx(speed["cycles"] / speed["seconds"])
    assert measured["peak_bytes"] > 1 << 20


def test_the_bench_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    schedule = load_schedule("paper_example_by_hand")
    measured = bench_simulator(schedule, iterations=(16,), groups=(1,), bundles=(1, 2), repeats=1)
    print_simulator_bench(measured)
    out = capsys.readouterr().out
    assert "crowd of 1" in out
    assert "bare SimPy timeouts" in out
    assert max(map(len, out.splitlines())) <= 85


def test_events_grow_with_iterations() -> None:
    schedule = load_schedule("paper_example_by_hand")
    few, many = measure(schedule, 50, repeats=1), measure(schedule, 100, repeats=1)
    assert many.events == pytest.approx(2 * few.events, rel=0.05)
    assert many.cycles == pytest.approx(2 * few.cycles, rel=0.05)
