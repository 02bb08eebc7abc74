"""Costs of TMA loads: fitted to what was measured, and what they predict of the rest."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import median

import pytest

import twill
from tests.validation import load_fit, one_sm_gemm
from twill.base.errors import InputError


@cache
def blackwell() -> twill.Machine:
    return twill.Machine.named("blackwell_b200")


@cache
def found() -> load_fit.LoadFit:
    return load_fit.load_fit(blackwell())


@pytest.mark.slow
@pytest.mark.sample
def test_the_machine_file_has_what_is_fitted() -> None:
    for constant in found().constants:
        assert abs(constant.in_file - constant.fitted) <= constant.error
    (row,) = (c for c in found().constants if c.name == "tma_row")
    assert row.in_file <= row.fitted  # it is in bounds


@pytest.mark.slow
@pytest.mark.sample
def test_what_the_fit_did_not_use_is_predicted() -> None:
    judged = [one for one in found().configurations if one.judged]
    assert len(judged) > 100
    errors = [abs(one.level_error) for one in judged]
    assert median(errors) <= 0.05
    assert sum(error <= load_fit.LEAST_ERROR for error in errors) >= 0.8 * len(errors)
    assert not any(one.fitted for one in judged)


def test_constants_that_made_the_measurements_are_found_again() -> None:
    """Of times by other constants, the fit finds those, though it begins with these."""
    machine, real = blackwell(), one_sm_gemm.measured(blackwell())
    made = {"tma_latency": 900.0, "tma_row": 2.0, "tma_latency_per_kib": 5.0}
    constants = {
        name: value.model_copy(update={"value": made.get(name, value.value)})
        for name, value in machine.constants.items()
    }
    other = machine.model_copy(update={"constants": constants})

    def cycles(one: one_sm_gemm.Configuration) -> float:
        rows = sum(load_fit._box_rows(one_sm_gemm.loop(*one.tile).operation(v)) for v in "ab")
        return max(load_fit.round_trip(one, other) / one.stages, 2.0 * rows)

    measured = tuple(replace(one, cycles=cycles(one)) for one in real)
    fitted = load_fit.fit(load_fit.Measured(measured), machine)
    for name, value in made.items():
        assert fitted.constants[name][0] == pytest.approx(value, rel=0.02), name


@pytest.mark.parametrize(("tile", "stages"), [((128, 64, 32), 2), ((64, 16, 16), 3)])
def test_round_trips_are_those_of_the_simulated_sm(tile: tuple[int, int, int], stages: int) -> None:
    (one,) = (
        c
        for c in one_sm_gemm.measured(blackwell())
        if (c.tile, c.stages, c.automatic) == (tile, stages, False)
    )
    simulated = one_sm_gemm.simulated(one, blackwell()).cycles
    assert load_fit.round_trip(one, blackwell()) == pytest.approx(stages * simulated, rel=0.03)


def test_other_machines_are_refused() -> None:
    with pytest.raises(InputError, match="a B200"):
        load_fit.load_fit(twill.Machine.named("hopper_h100"))
