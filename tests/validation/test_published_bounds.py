"""Published figures against the bounds: none is below, and a bound that is too large is noticed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.support.commands import in_process
from tests.support.pages import ROOT
from tests.validation import published_bounds
from tests.validation.published_bounds import Held, held
from twill.artifacts.machine import Machine
from twill.bounds.work import Executed

WRONG_COSTS = {
    "tensor core at half its rate": (
        '"max(n / 2, (factor_rows + n) / 4)"',
        '"max(n, (factor_rows + n) / 4)"',
    ),
    "TMA loads at half their rate": ("max(bytes / tma_rate", "max(2 * bytes / tma_rate"),
}


@pytest.fixture(scope="module")
def found() -> list[Held]:
    return held()


def test_no_published_figure_is_below_its_bound(found: list[Held]) -> None:
    assert len(found) >= 100
    assert [one for one in found if one.below] == []
    assert all(one.source and one.cycles > 0 for one in found)


def test_cycles_are_those_of_other_published_figures(found: list[Held]) -> None:
    """Table 2 of FlashAttention-3 has milliseconds, the GEMM's files TFLOP/s of one SM beside."""
    of = {(one.source.partition(",")[0], one.what, one.at): one for one in found}
    tiles, iterations = 4 * 16 * 8448 // 128 // 132, 8448 // 176
    table = next(one for one in found if "Table 2" in one.source and one.published == 661)
    assert table.cycles == pytest.approx(3.538e-3 * 1980e6 / (tiles * iterations), rel=1e-3)
    gemm = of["SemiAnalysis", "one SM, 64 of depth", "128 x 128 x 64, 7 stages"]
    assert gemm.cycles == pytest.approx(2 * 128 * 128 * 64 / 10.17e12 * 1965e6, rel=1e-3)


def test_the_nearest_figure_is_less_than_a_rounded_cycle_an_operation_away(
    found: list[Held],
) -> None:
    assert all(one.cycles > one.bound_cycles - one.rounding_cycles for one in found)
    assert {one.rounding_cycles for one in found if "GEMM" in one.kernel} == {1, 2}


@pytest.mark.slow
@pytest.mark.sample
def test_work_that_is_counted_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    filling = Executed.filling

    def twice(self: Executed, unit: str, *, streams: bool) -> Fraction:
        return 2 * filling(self, unit, streams=streams)

    monkeypatch.setattr(Executed, "filling", twice)
    kernels = {one.kernel for one in held() if one.below}
    assert {"FlashAttention-3", "FlashAttention-4", "CUTLASS GEMM"} <= kernels


@pytest.mark.parametrize("wrong", WRONG_COSTS)
@pytest.mark.slow
def test_a_rate_that_is_halved_is_noticed(wrong: str) -> None:
    right, changed = WRONG_COSTS[wrong]

    def machine(name: str) -> Machine:
        text = (ROOT / "machines" / f"{name}.toml").read_text()
        return Machine.from_toml(text.replace(right, changed).encode())

    assert any(one.below for one in held(machine))


def test_a_figure_below_its_bound_ends_the_command_with_status_1(
    found: list[Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("python", "-m", "tests.validation.published_bounds")
    monkeypatch.setattr(published_bounds, "held", lambda: found)
    done = in_process(*command)
    assert done.returncode == 0
    assert " 528 " in done.stdout
    found = [*found, replace(found[0], below=True)]
    assert in_process(*command).returncode == 1
