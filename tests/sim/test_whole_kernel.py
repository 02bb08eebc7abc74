"""The kernel around the loop: tiles, their beginnings and ends, and what their time goes into."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import twill
from tests.support.commands import SIM, in_process
from tests.support.sampled import sampled
from twill.artifacts.schedule import Schedule
from twill.frontends.schedules import load_schedule
from twill.lower.baselines import sequential
from twill.sim.analysis import clock_of
from twill.sim.analysis.problems import Problem, attention, product
from twill.sim.analysis.whole_kernel import (
    WholeKernel,
    kernel,
    least_microseconds,
    parse_sequences,
)
from twill.sim.engine import Conditions
from twill.sim.engine.record import Recording
from twill.sim.execute import run, simulate

LAUNCH = 2.1  # us, of hopper_h100


def problems(schedule: Schedule, *lengths: int, tokens: int = 16384) -> list[Problem]:
    return [attention(schedule.loop, length, tokens, 16) for length in lengths]


def test_long_loops_continue_at_the_pace_of_the_steady_state() -> None:
    schedule = load_schedule("fa3_forward_128x128")
    (estimate,) = kernel(schedule, problems(schedule, 100 * 128)).estimates
    assert estimate.iterations == 100
    assert estimate.loop_cycles == run(schedule, iterations=100).total_cycles


def test_a_kernel_is_estimated_under_the_conditions_of_the_run() -> None:
    schedule = load_schedule("fa3_forward_128x128")
    short = problems(schedule, 8 * 128)
    (slow,) = kernel(schedule, short, Conditions(latency=("fixed:8000",))).estimates
    assert slow.loop_cycles == run(schedule, iterations=8, latency="fixed:8000").total_cycles
    (nominal,) = kernel(schedule, short).estimates
    assert slow.tflops < 0.7 * nominal.tflops


def test_tiles_and_time_of_a_kernel() -> None:
    """4 x 16 heads of 8448 rows: 66 tiles of 128 x 64 heads, 32 on each of 132 SMs, 48 rounds."""
    schedule = load_schedule("fa3_forward_128x176")
    every, conditions = problems(schedule, 8448, tokens=4 * 8448), Conditions(clock=1000.0)
    found = kernel(schedule, every, conditions, persistent=False)
    (estimate,) = found.estimates
    assert (found.tile, estimate.sizes["batch"]) == ((128, 176), 4)
    assert (estimate.tiles, estimate.tiles_per_multiprocessor, estimate.iterations) == (
        4224,
        32,
        48,
    )
    one = estimate.prologue_cycles + estimate.loop_cycles + estimate.epilogue_cycles
    assert estimate.microseconds == pytest.approx(32 * one / 1000 + LAUNCH)
    flop = 4 * 8448**2 * 128 * 64
    assert estimate.tflops == pytest.approx(flop / estimate.microseconds / 1e6)
    (persistent,) = kernel(schedule, every, conditions).estimates
    saved = 31 * persistent.overlapped_cycles / 1000
    assert persistent.microseconds == pytest.approx(estimate.microseconds - saved)
    assert 0 < saved < 0.1 * estimate.microseconds


def test_longer_sequences_are_faster_and_stay_below_the_peak() -> None:
    schedule = load_schedule("fa4_forward")
    rates = [e.tflops for e in kernel(schedule, problems(schedule, 512, 2048, 8192)).estimates]
    assert rates == sorted(rates)
    peak = 8192 * 148 * 1850 / 1e6
    steady = run(schedule).tflops
    assert steady is not None
    assert rates[-1] < steady < peak


@pytest.mark.parametrize("text", ["", "512,", "a", "1.5"])
def test_bad_lengths(text: str) -> None:
    with pytest.raises(twill.InputError, match="sequence: whole numbers with commas"):
        parse_sequences(text)
    with pytest.raises(twill.InputError, match="sequence: a whole number from 1"):
        problems(load_schedule("fa4_forward"), 0)


@pytest.fixture(scope="module")
def gemm() -> Schedule:
    machine = twill.Machine.named("hopper_h100")
    return sequential(twill.load_loop("gemm_persistent_hopper"), machine)


@pytest.mark.parametrize("sequence", [64, 1000, 1024, 4096])
@pytest.mark.parametrize("name", ["fa3_forward_128x128", "fa3_forward_128x176", "fa4_forward"])
def test_causal_tiles_have_the_iterations_up_to_their_last_row(name: str, sequence: int) -> None:
    loop = load_schedule(name).loop
    rows, step = {"fa3_forward_128x128": (128, 128), "fa4_forward": (256, 128)}.get(
        name, (128, 176)
    )
    found = attention(loop, sequence, sequence, 2, causal=True)
    needed = [
        len({column // step for column in range(sequence) if column <= min(last, sequence - 1)})
        for last in range(rows - 1, sequence + rows - 1, rows)
    ]
    assert sorted(n for n, tiles in found.trips for _ in range(tiles)) == sorted(2 * needed)
    full = attention(loop, sequence, sequence, 2)
    assert (found.tiles, found.flop) == (full.tiles, full.flop / 2)
    assert full.trips == ((max(needed), 2 * len(needed)),)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("sequence", "window"), [(1000, 300), (2048, 128), (512, 4096)])
def test_tiles_in_a_window_have_the_iterations_that_it_reaches(
    sequence: int, window: int, causal: bool
) -> None:
    """Every pair of rows counted, against blocks of both sequences of 128 rows."""
    loop = load_schedule("fa3_forward_128x128").loop
    found = attention(loop, sequence, sequence, 2, causal=causal, window=window)
    pairs = [
        (row, column)
        for row in range(sequence)
        for column in range(max(0, row - window), sequence)
        if column <= row + (0 if causal else window)
    ]
    blocks = {(row // 128, column // 128) for row, column in pairs}
    needed = Counter(row for row, _ in blocks)
    assert sorted(n for n, tiles in found.trips for _ in range(tiles)) == sorted(
        2 * list(needed.values())
    )
    full = attention(loop, sequence, sequence, 2)
    assert found.flop == pytest.approx(full.flop * len(pairs) / sequence**2)


def test_the_longest_tiles_come_first() -> None:
    """256 tiles of 1 to 16 iterations on 132 SMs."""
    schedule = load_schedule("fa3_forward_128x128")
    problem = attention(schedule.loop, 2048, 2048, 16, causal=True)
    (estimate,) = kernel(schedule, [problem]).estimates
    assert estimate.tiles == 256
    assert 0 < estimate.shares.last_wave < 0.05


@pytest.mark.parametrize(
    ("persistent", "causal"), sampled([(True, True), (True, False), (False, True)], 3)
)
@pytest.mark.parametrize(
    # SMs, FLOP of one in a clock, clock
    ("name", "peak"),
    [
        ("fa3_forward_128x176", 132 * 4096 * 1830 / 1e6),
        ("tlx_forward_pipelined", 148 * 8192 * 1850 / 1e6),
    ],
)
def test_shares_are_all_of_the_time(name: str, peak: float, persistent: bool, causal: bool) -> None:
    schedule = load_schedule(name)
    problems = [attention(schedule.loop, n, 4096, 16, causal=causal) for n in (512, 4096)]
    for estimate in kernel(schedule, problems, persistent=persistent).estimates:
        shares = estimate.shares.model_dump()
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares.values()) >= -1e-9
        assert shares["products"] == pytest.approx(estimate.tflops / peak)


@pytest.mark.parametrize(
    ("name", "rows", "first_use"),
    [
        ("fa3_forward_128x176", 128, None),
        pytest.param("tlx_forward", 256, "o0.tmem_store2", marks=pytest.mark.slow),
        ("tlx_forward_pipelined", 256, "o0.tmem_store2"),
    ],
)
def test_accumulators_in_tensor_memory_are_read_while_the_next_tile_begins(
    name: str, rows: int, first_use: str | None
) -> None:
    """Whoever rescales them has nothing else to do until then; registers are their group's own.

    A loop whose products are busy from the first on has no time for that.
    """
    schedule = load_schedule(name)
    (estimate,) = kernel(schedule, problems(schedule, 2048)).estimates
    recording = Recording()
    simulate(schedule, Conditions(iterations=16), recording)
    first = {operation: start for (operation, n), start in recording.starts.items() if n == 0}
    loads = {o.name for o in schedule.loop.operations if o.kind == "load"}
    begun = min(start for operation, start in first.items() if operation not in loads)
    read = 0 if first_use is None else first[first_use] - begun
    assert (read > 1000) == (first_use is not None)
    interval = run(schedule).measured_interval_cycles
    assert interval is not None
    read = min(read, estimate.loop_cycles - estimate.iterations * interval - begun)
    stored = rows * 128 * 2 / 64  # 128 columns in halves, 64 bytes a cycle
    assert estimate.overlapped_cycles == estimate.prologue_cycles + begun + read + stored


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize(
    "name",
    sampled(["fa3_forward_128x176", "tlx_forward", "triton_attention_forward", "fa4_forward"], 4),
)
def test_no_estimate_is_below_what_tuning_takes_for_the_least(name: str, persistent: bool) -> None:
    schedule = load_schedule(name)
    whole = WholeKernel(schedule, persistent=persistent)
    interval = run(schedule).measured_interval_cycles
    assert interval is not None
    for problem in problems(schedule, 1024, 4096):
        least = least_microseconds(
            schedule.loop, schedule.machine, problem, interval, persistent=persistent
        )
        assert least <= whole.time(problem).microseconds


def test_each_cause_is_seen_where_it_is(gemm: Schedule) -> None:
    """133 tiles of 128 x 128 on 132 SMs; a tile too much at each edge; a split that adds up f32."""
    whole = [
        kernel(gemm, [product(gemm.loop, 128, 128 * n + more, 4096)]).estimates[0]
        for n, more in ((132, 0), (133, 0), (131, 1))
    ]
    even, wave, edge = (estimate.shares for estimate in whole)
    assert (even.last_wave, even.edges) == pytest.approx((0, 0), abs=1e-9)
    assert wave.last_wave == pytest.approx(131 / 264, abs=0.02)
    assert edge.edges == pytest.approx(127 / 128 / 131 * edge.products, rel=0.01)
    problem = product(gemm.loop, 128, 128 * 33, 4096, splits=4)
    (split,) = kernel(gemm, [problem], splits=4).estimates
    assert split.epilogue_cycles > 1.2 * whole[0].epilogue_cycles
    assert split.shares.last_wave == pytest.approx(0, abs=1e-9)


def test_a_split_product_takes_less_time_where_sms_are_idle(gemm: Schedule) -> None:
    def taken(rows: int, splits: int) -> float:
        problem = product(gemm.loop, rows, 128, 16384, splits=splits)
        return kernel(gemm, [problem], splits=splits).estimates[0].microseconds

    assert taken(128, 8) < 0.3 * taken(128, 1)
    assert taken(128 * 1320, 8) > taken(128 * 1320, 1)
    with pytest.raises(twill.InputError, match="splits: at most 256, the iterations"):
        product(gemm.loop, 128, 128, 16384, splits=257)
    assert product(gemm.loop, 128, 256, 640, splits=4).trips == ((3, 4), (2, 4))


def test_a_clock_that_power_leaves_has_a_source() -> None:
    machine = twill.Machine.named("hopper_h200")
    clock, source = clock_of(machine, "capped")
    assert (clock, "TILEOPS" in source) == (1500, True)
    with pytest.raises(twill.InputError, match=r"clock: ddg has no \[capped_clock\]"):
        clock_of(twill.Machine.named("ddg"), "capped")


def test_the_command_estimates_products(gemm: Schedule, tmp_path: Path) -> None:
    file = tmp_path / "gemm.json"
    gemm.save(file)
    words = (*SIM, "run", str(file), "--no-checks", "--iterations", "16", "--clock", "capped")
    done = in_process(*words, "--size", "4096x4096x4096,1024x512x8192", "--splits", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["kernel"]
    assert (found["tile"], found["clock_mhz"]) == ([128, 128, 64], 1580)
    assert [one["tiles"] for one in found["estimates"]] == [2 * 32 * 32, 2 * 8 * 4]
    for more, message in (
        (("--size", "64x64"), "rows, columns and depth"),
        (("--size", "64x64x64", "--sequence", "64"), "either --size or --sequence"),
        (("--sequence", "512"), "sequence: gemm_persistent_hopper is a matrix product, which has"),
        (("--clock", "fast"), "MHz, or capped"),
    ):
        done = in_process(*words, *more)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
