"""ResMII and RecMII."""

from __future__ import annotations

import pytest

import twill
from tests.support.small import edge, op, small_loop, small_machine
from twill.bounds import bounds, lacks_registers
from twill.problem import build_problem
from twill.problem.groups import available_groups


def test_attention_is_bound_by_the_tensor_core(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    found = bounds(build_problem(attention, hopper))
    # Four products of 64 x 128 x 128 at 4096 FLOP a clock.
    assert found.by_unit["tc"] == 4 * 2 * 64 * 128 * 128 // 4096 == 2048
    # Two tiles of 64 x 128 exponentials, and two rows of 2 x 64, at 16 a clock.
    assert found.by_unit["mufu"] == 2 * 64 * 128 // 16 + 2 * 2 * 8
    assert (found.resource_unit, found.interval) == ("tc", 2048)
    assert set(found.recurrence_cycle) in ({"o0", "o0.mul"}, {"o1", "o1.mul"})


def test_the_named_recurrence_is_a_cycle_of_the_graph() -> None:
    loop = small_loop(
        [op("a", "ALU", 3), op("b", "ALU", 1), op("c", "ALU", 1)],
        [edge("a", "b"), edge("b", "a", 1), edge("b", "c")],
    )
    found = bounds(build_problem(loop, small_machine()))
    assert (found.recurrence, set(found.recurrence_cycle)) == (4, {"a", "b"})


@pytest.mark.parametrize(
    ("most", "file", "offered"),
    [
        (64, 512, 2 * (64 - 10)),  # what two groups may have live
        (248, 96, 96 - 10),  # what is in the file, less the reserve of one group
        (64, 100, 100 - 2 * 10),  # of two
    ],
)
def test_registers_lack_beyond_what_groups_and_the_file_have(
    monkeypatch: pytest.MonkeyPatch, most: int, file: int, offered: int
) -> None:
    machine = small_machine(registers=255, most=most, file=128 * file, reserve=10)
    monkeypatch.setattr("twill.bounds.registers.least_lifetimes", lambda *_: [1, 0])
    for size in (offered, offered + 1):
        loop = small_loop([op("a", "ALU", registers=size), op("b", "ALU")])
        problem = build_problem(loop, machine)
        lacking = lacks_registers(problem, 1, available_groups(problem))
        assert lacking == (size > offered), size
