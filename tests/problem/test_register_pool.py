"""What setmaxnreg shares out: the registers that the launch gave, in every part of the toolkit.

PTX ISA, ``setmaxnreg``: registers are released to and requested from a pool per CTA. CUDA gives all
threads of a launch the same number, a multiple of 8, so that 384 threads have 168 each.
"""

from __future__ import annotations

import pytest

import twill
from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.schedule import Group
from twill.engines import Question
from twill.engines.cpsat import CpSatEngine
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem, rules
from twill.problem.groups import allocated, available_groups
from twill.sim.engine.events import SimulationError
from twill.sim.engine.sm import pool, set_registers

# Warp groups of four warps: registers a lane of all of them, 65,536 / (128 n) rounded down to 8s.
POOLS = {1: 256, 2: 512, 3: 504, 4: 512, 5: 480, 6: 480, 7: 504, 8: 512}


def launched(schedule: twill.Schedule, widths: list[int]) -> twill.Schedule:
    """Return a schedule with groups of so many warps."""
    groups = tuple(Group(name=f"g{k}", warps=w, registers=24) for k, w in enumerate(widths))
    return schedule.model_copy(update={"groups": groups})


@pytest.mark.parametrize(("blocks", "registers"), POOLS.items())
def test_solver_and_simulator_know_the_pool(
    attention_schedule: twill.Schedule, blocks: int, registers: int
) -> None:
    file = build_problem(attention_schedule.loop, attention_schedule.machine).registers
    assert file is not None
    assert rules.pool(file, blocks) == registers
    assert pool(launched(attention_schedule, [4] * blocks)) == registers * 128


@pytest.mark.parametrize("narrow", [1, 2, 3, 4])
def test_one_warp_groups_are_filled_up_to_four_warps(
    attention_schedule: twill.Schedule, narrow: int
) -> None:
    # 16 warps and up to 4 more launch as 20 warps: 96 registers a thread, 480 a lane.
    assert pool(launched(attention_schedule, [4] * 4 + [1] * narrow)) == 480 * 128


@pytest.mark.parametrize(("least", "fits"), [(24, True), (32, False)])
def test_two_consumers_of_240_leave_24_and_not_32(
    attention_schedule: twill.Schedule, least: int, fits: bool
) -> None:
    asked = [least, 240, 240]
    groups = tuple(
        group.model_copy(update={"registers": registers})
        for group, registers in zip(
            sorted(attention_schedule.groups, key=lambda g: g.registers or 0), asked, strict=True
        )
    )
    changed = attention_schedule.model_copy(update={"groups": groups})
    broken = [str(v) for v in twill.verify(changed).violations if v.rule == "register file"]
    if fits:
        assert not broken
        set_registers(changed)
        return
    assert broken == [
        "register file: the groups take 65536 registers, a launch of 384 threads gets 64512"
    ]
    with pytest.raises(SimulationError, match="29696 of 64512 are left"):
        set_registers(changed)


def three_accumulators(registers: tuple[int, int, int], launch: int | None) -> Problem:
    """Return values that always live, on as many groups of four warps."""
    loop = small_loop(
        [
            op(f"o{k}", "TC", latency=8, asynchronous=True, registers=live)
            for k, live in enumerate(registers)
        ],
        [edge(f"o{k}", f"o{k}", 1, in_place=True) for k in range(3)],
    )
    machine = small_machine(registers=248, groups=((4, 3),), launch=launch)
    return build_problem(loop, machine)


@pytest.mark.parametrize(
    ("registers", "launch", "status"),
    [
        ((240, 240, 24), 8, "sat"),
        ((248, 240, 24), 8, "unsat"),
        ((248, 240, 24), None, "sat"),
    ],
)
def test_engines_share_out_what_the_launch_gave(
    registers: tuple[int, int, int], launch: int | None, status: str
) -> None:
    problem = three_accumulators(registers, launch)
    groups = available_groups(problem)
    assert (allocated(problem, groups, registers) is not None) == (status == "sat")
    assert CpSatEngine(Question(problem, 8, 16, groups)).solve().status == status
    assert DifferenceEngine(Question(problem, 8, 16, groups)).solve().status == status
