"""Cost normalization with SCIP against exhaustive enumeration."""

from __future__ import annotations

import itertools

import pytest

import twill
from twill.problem import build_problem
from twill.problem.costs import _solve, distortion, normalize


@pytest.mark.parametrize(
    ("costs", "budget"), [((1, 2, 4), 4), ((3, 5, 7), 8), ((10, 21, 40), 9), ((2, 9), 6)]
)
def test_least_change_and_resolution_are_those_of_enumeration(
    costs: tuple[int, ...], budget: int
) -> None:
    def change(new: tuple[int, ...]) -> int:
        return max(abs(a * y - b * x) for (a, x), (b, y) in
                   itertools.product(zip(costs, new, strict=True), repeat=2))  # fmt: skip

    ranges = [range(1, min(cost, budget) + 1) for cost in costs]
    candidates = [new for new in itertools.product(*ranges) if sum(new) <= budget]
    least = min(change(new) for new in candidates)
    finest = max(sum(new) for new in candidates if change(new) == least)

    found, _ = _solve(costs, budget, None)
    _, new = _solve(costs, budget, least)
    assert found == least
    assert (change(new), sum(new)) == (least, finest)


def test_the_running_example_is_already_normalized(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    scale = normalize(paper_loop, paper_machine)
    assert (scale.costs, scale.distortion, scale.cycles_per_unit) == (((1, 1),), 1.0, 1.0)


def test_normalized_costs_stay_between_one_and_the_original(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    scale = normalize(attention, hopper)
    assert all(1 <= new <= cost for cost, new in scale.costs)
    assert sum(new for _, new in scale.costs) <= 300
    assert dict(scale.costs)[512] == 32
    problem = build_problem(attention, hopper, scale=scale)
    assert {o.cycles for o in problem.operations if o.in_order_unit == "tc"} == {32}


def test_distortion_is_the_worst_change_of_a_ratio() -> None:
    assert distortion((10, 20, 40), (1, 2, 4)) == 1.0
    assert distortion((10, 20, 40), (1, 1, 4)) == 2.0


def test_a_schedule_with_a_cost_left_out_is_refused(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    from twill.artifacts.schedule import TimeScale

    with pytest.raises(twill.InputError, match=r"time\.costs: no normalized cost for 1 cycles"):
        build_problem(
            paper_loop, paper_machine, scale=TimeScale(mode="normalized", costs=((2, 1),))
        )
