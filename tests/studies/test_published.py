"""Naive loops and published figures: closed forms, exact cases, ranges in print."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import twill
from tests.support.commands import SIM, in_process
from tests.support.small import random_loop
from twill.artifacts.schedule import Schedule
from twill.bounds import bounds
from twill.engines.cbc import modulo_schedule
from twill.frontends.schedules import load_schedule
from twill.problem import build_problem
from twill.sim.execute import run
from twill.studies.compare import comparison
from twill.studies.modulo_loop import excess, iterative_modulo_schedule, software_pipelined
from twill.studies.published import FA3, NEITHER, Experiment, figures, print_experiments

MEASURE = Path(__file__).parents[2] / "traces" / "measure"
QUICK = {"pipe_rates", "tma_latency"}


# -- modulo schedules and the loop made of one ------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_iterative_modulo_schedules_keep_dependences_and_capacities(seed: int) -> None:
    loop, machine = random_loop(seed)
    problem = build_problem(loop, machine)
    for interval in range(bounds(problem).interval, 40):
        found = iterative_modulo_schedule(problem, interval)
        if found is None:
            continue
        for position, edge in enumerate(problem.edges):
            apart = found.start[edge.consumer] - found.start[edge.producer]
            assert apart + edge.distance * interval >= problem.least_delay(position)
        for unit, capacity in problem.capacities.items():
            for row in range(interval):
                taken = sum(
                    r.count
                    for o in problem.operations
                    for r in o.reservations
                    if r.unit == unit
                    for cycle in range(r.length)
                    if (found.start[o.index] + r.start + cycle) % interval == row
                )
                assert taken <= capacity
        assert modulo_schedule(problem, interval)[0] == "sat"
        return
    pytest.fail("no interval below 40")


def test_swp_pipelines_the_running_example() -> None:
    loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
    assert run(software_pipelined(loop, machine)).measured_interval_cycles == 2


def test_swp_puts_loads_on_one_warp_and_each_sub_tile_on_a_group() -> None:
    loop, machine = twill.load_loop("fa_fwd_hopper"), twill.Machine.named("hopper_h100")
    schedule = software_pipelined(loop, machine)
    assert [(group.name, group.warps) for group in schedule.groups] == [
        ("load", 1),
        ("tile0", 4),
        ("tile1", 4),
    ]
    assert {schedule.assignment[name] for name in ("k", "v")} == {"load"}
    assert schedule.to_json() == software_pipelined(loop, machine).to_json()
    assert excess(schedule) == ""


def test_the_naive_loops_are_compared_in_order() -> None:
    variants = {
        v.variant: v.interval_cycles
        for v in comparison(load_schedule("fa3_forward_128x128")).variants
    }
    assert list(variants) == ["sequential", "multi-warp", "swp", "joint"]
    # The tensor core's work: eight products of 64 cycles, four times.
    assert variants["joint"] == 2048
    assert None not in variants.values()
    assert min(v for v in variants.values() if v is not None) == 2048


# -- published figures ------------------------------------------------------------------------


def interval(schedule: Schedule, **options: str) -> float:
    found = run(schedule, warp_scheduler=options.get("scheduler", "round-robin"))  # type: ignore[arg-type]
    assert found.measured_interval_cycles is not None
    return found.measured_interval_cycles


def test_flash_attention_3_ratios() -> None:
    """The paper: 570 TFLOP/s with neither, 620 to 640 with ping-pong, 640 to 661 with both."""
    full = interval(load_schedule(FA3))
    assert full == 2816  # 2 x (8 x 88 + 11 x 64) cycles of the tensor core
    ping_pong = interval(load_schedule(f"{FA3}_no_overlap")) / full
    neither = [
        interval(load_schedule(NEITHER), scheduler=scheduler) / full
        for scheduler in ("round-robin", "oldest")
    ]
    assert 0.9 * 640 / 640 <= ping_pong <= 1.1 * 661 / 620
    assert all(0.9 * 640 / 570 <= ratio <= 1.1 * 661 / 570 for ratio in neither)


def test_figures_are_compared_that_may_be() -> None:
    """Four of five within 10 %; nothing that constants are from, or whose program is not known."""
    found = figures()
    compared = [one for one in found if not one.shown_because]
    assert sum(one.matched for one in compared) >= 0.8 * len(compared)
    assert all(one.note for one in compared if not one.matched)
    assert {one.what for one in found if "GEMM" in one.what and not one.shown_because} == {
        f"one-SM GEMM 128 x 64 x 32, {stages} stages" for stages in range(2, 6)
    }
    shown = [one for one in found if one.shown_because]
    assert sum("FA4" in one.what for one in shown) == sum("ablated" in one.what for one in shown)


# -- micro-benchmarks -------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(file.stem, marks=[] if file.stem in QUICK else [pytest.mark.slow])
        for file in sorted(MEASURE.glob("*.cu"))
    ],
)
def test_micro_benchmarks_compile(name: str, tmp_path: Path) -> None:
    """For sm_90a, and without products that ptxas serialises: they would measure something else."""
    command = ["nvcc", "-arch=sm_90a", "-std=c++17", "-O3", "-cubin", "-o"]
    done = subprocess.run(
        [*command, str(tmp_path / "out.cubin"), str(MEASURE / f"{name}.cu")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "serialized" not in done.stdout + done.stderr


def test_the_command_prints_what_it_compares() -> None:
    done = in_process(*SIM, "published", "--json")
    done.check_returncode()
    found = json.loads(done.stdout)["figures"]
    assert {one["what"] for one in found} >= {"FA3 without overlap, over full"}
    assert all(one["source"] for one in found)


def test_tables_of_figures_name_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    print_experiments([Experiment("as it is", "full", 2816.0, 1.0)])
    assert "cycles an iteration, and use of the tensor core\nA: full\n" in capsys.readouterr().out
