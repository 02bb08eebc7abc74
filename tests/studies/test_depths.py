"""Rings take the shared memory that is left, as far as loads from DRAM ask for it."""

from __future__ import annotations

import pytest

import twill
from tests.support.static import static_schedule
from twill.base.errors import RefusedError
from twill.emit import epilogue_parts
from twill.frontends import load_loop
from twill.polish import DEFAULT_CONDITIONS, polish
from twill.sim.analysis.rings import with_more_slots
from twill.studies.depths import deepened


@pytest.fixture(scope="module")
def gemm() -> twill.Schedule:
    loop, machine = load_loop("gemm_two_tiles_hopper"), twill.Machine.named("hopper_h100")
    return polish(static_schedule(loop, machine), simulations=1).schedule


def test_a_ring_has_the_slots_that_loads_from_dram_ask_for(gemm: twill.Schedule) -> None:
    """Measured on an H200: a third slot brings 12 to 16 %; a fourth, by hand, nothing."""
    deep = deepened(gemm, DEFAULT_CONDITIONS)
    assert set(gemm.pipeline_depths.values()) == {2}
    assert set(deep.pipeline_depths.values()) == {4}
    assert epilogue_parts(deep) == 1
    with pytest.raises(RefusedError, match="slots that do not follow each other"):
        epilogue_parts(with_more_slots(deep, 1).schedule)
    assert twill.verify(deep).valid
    assert (gemm.promise, deep.promise) != (None, None)
    before, after = (
        twill.sim.run(one, iterations=96, latency="trace:h200_bulk_cold", seed=2)
        for one in (gemm, deep)
    )
    assert after.measured_interval_cycles is not None
    assert before.measured_interval_cycles is not None
    assert after.measured_interval_cycles < 0.85 * before.measured_interval_cycles
    assert deepened(deep, DEFAULT_CONDITIONS) is deep  # no room is left


def test_rings_stay_where_nothing_is_known_of_kernel_or_memory(gemm: twill.Schedule) -> None:
    bare = gemm.model_copy(update={"loop": gemm.loop.model_copy(update={"source": None})})
    assert deepened(bare, DEFAULT_CONDITIONS) is bare
    machine = gemm.machine.model_copy(update={"cold_loads": None})
    silent = gemm.model_copy(update={"machine": machine, "machine_hash": None})
    assert deepened(silent, DEFAULT_CONDITIONS) is silent
