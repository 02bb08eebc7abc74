"""Warm-up, period and confidence intervals, against NumPy and processes whose mean is known."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import twill
from tests.support.programs import through_slots
from tests.support.small import edge, op, small_loop, small_machine
from twill.sim.analysis import (
    clock_of,
    confidence,
    flop_per_iteration,
    mser,
    steady_state,
    tflops,
)
from twill.sim.engine import Conditions
from twill.sim.engine.sm import StreamingMultiprocessor
from twill.sim.execute import run


def completions(gaps: Sequence[float]) -> list[float]:
    return list(itertools.accumulate(gaps))


@pytest.mark.parametrize("warm_up", [0, 1, 13, 40])
@pytest.mark.parametrize("period", [(7,), (2, 2, 3), (5, 6, 5, 9, 4)])
def test_the_warm_up_ends_where_the_distances_begin_to_repeat(
    warm_up: int, period: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(warm_up)
    before = [float(gap) for gap in generator.integers(20, 90, warm_up)]
    found = steady_state(completions([*before, *(period * 60)]), drain=2)
    assert found is not None
    # The first completion has none before it, so that its distance is not seen.
    assert found.first == max(0, warm_up - 1)
    assert found.period == len(period)
    assert float(found.interval) == pytest.approx(sum(period) / len(period), abs=0)
    assert found.confidence is None


def test_rounding_does_not_hide_a_period() -> None:
    found = steady_state(completions([1 / 3] * 200), drain=1)
    assert found is not None
    assert found.period == 1


def mser_by_definition(gaps: Sequence[float]) -> int:
    means = np.array(gaps[: len(gaps) // 5 * 5]).reshape(-1, 5).mean(axis=1)
    errors = [means[d:].var() / (len(means) - d) for d in range(len(means) // 2 + 1)]
    return int(np.argmin(errors)) * 5


@pytest.mark.parametrize("seed", range(8))
def test_the_warm_up_of_a_noisy_run_is_the_one_of_least_standard_error(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gaps = generator.normal(100, 5, 200)
    gaps[:30] += 80
    assert mser(list(gaps)) == mser_by_definition(list(gaps))
    assert 30 <= mser(list(gaps)) <= 50


def autoregressive(generator: np.random.Generator, phi: float, count: int) -> list[float]:
    noise = generator.normal(0, 1, count)
    state, found = 0.0, []
    for shock in noise:
        state = phi * state + shock
        found.append(100 + state)
    return found


def test_the_confidence_interval_of_independent_batches_is_students() -> None:
    gaps = list(np.random.default_rng(3).normal(50, 4, 200))
    found = confidence(gaps)
    assert found is not None
    means = np.array(gaps).reshape(20, 10).mean(axis=1)
    # t(19, 0.975) = 2.093 in every table of Student's distribution.
    assert found.half_width_cycles == pytest.approx(2.093 * means.std(ddof=1) / np.sqrt(20))
    off = means - means.mean()
    assert found.correlation == pytest.approx((off[:-1] * off[1:]).sum() / (off**2).sum())


@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_nineteen_of_twenty_intervals_hold_the_true_mean(phi: float) -> None:
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        gaps = autoregressive(generator, phi, 600)
        found = confidence(gaps)
        assert found is not None
        held += int(abs(np.mean(gaps) - 100) <= found.half_width_cycles)
    assert 0.92 <= held / 400 <= 0.98


def test_batches_that_hang_together_are_not_believed() -> None:
    generator = np.random.default_rng(2)
    believed = [confidence(autoregressive(generator, 0.995, 400)) for _ in range(20)]
    assert sum(found is not None and not found.believable for found in believed) >= 15


def test_few_distances_have_no_confidence_interval() -> None:
    assert confidence([1.0, 2.0] * 4) is None


# -- throughput -------------------------------------------------------------------------------


def test_a_tensor_core_that_is_never_idle_gives_the_data_sheets_figure(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    # Two products of 64 x 128 x 128 for each of two sub-tiles.
    assert flop_per_iteration(attention) == 2 * 2 * 2 * 64 * 128 * 128
    clock, source = clock_of(hopper)
    assert source.startswith("hopper_h100: OXLA")
    # The data sheet of the H100 SXM5: 989 TFLOP/s in float16.
    assert tflops(flop_per_iteration(attention), 2048, 132, clock) == pytest.approx(989, rel=0.001)


@pytest.mark.parametrize("bad", [0.0, -1.0, 1e9, float("nan")])
def test_a_bad_clock_is_refused(hopper: twill.Machine, bad: float) -> None:
    with pytest.raises(twill.InputError, match=r"^clock: a clock in MHz"):
        clock_of(hopper, bad)


# -- iterations in flight ---------------------------------------------------------------------


def ahead(slots: int) -> twill.Schedule:
    """Return a group that runs `slots` iterations ahead of another on the same pipe.

    Both take turns on it, 40 and 60 cycles an iteration, until the first is at its end.
    """
    loop = small_loop([op("a", "ALU", 40, memory="smem"), op("b", "ALU", 60)], [edge("a", "b")])
    machine = small_machine({"ALU": 1}, groups=((4, 2),), smem=1 << 20)
    return through_slots(loop, machine, slots)


@pytest.mark.parametrize("slots", [1, 2, 4, 6])
def test_what_drains_is_left_out_where_no_stages_are_told(slots: int) -> None:
    schedule = ahead(slots)
    assert schedule.stages is None
    sm = StreamingMultiprocessor(schedule, Conditions(iterations=40))
    sm.run()
    gaps = [after - before for before, after in itertools.pairwise(sm.finished_at)]
    draining = sum(gap < 100 for gap in reversed(gaps[20:]))
    assert (draining, sm.in_flight) == (slots - 1, slots)
    result = run(schedule, iterations=40)
    assert result.measured_interval_cycles == 100
    assert result.period is not None
