"""``setmaxnreg`` at the start of a program."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.sim.engine.errors import SimulationError


def set_registers(schedule: Schedule) -> None:
    """Let every group take the registers it asks for; those that shrink go first.

    Nobody gives registers back later, so that a group that does not get them now never will.

    `schedule`: with registers per thread; where one group names none, none is set.

    Raises
    ------
    SimulationError
        If a group waits for registers for ever.
    """
    registers = schedule.machine.registers
    if registers is None or any(group.registers is None for group in schedule.groups):
        return
    threads = schedule.machine.threads(registers.warps.value)
    sets = sorted(_sets(schedule, registers.warps.value))
    launched = left = pool(schedule)
    for asked, names in sets:
        if asked * threads > left:
            raise SimulationError(
                "deadlock",
                f"at cycle 0 {' and '.join(names)} wait at setmaxnreg for {asked} registers per "
                f"thread, {asked * threads} in all; {left} of {launched} are left",
            )
        left -= asked * threads


def pool(schedule: Schedule) -> int:
    """Return the registers that a launch gives to all groups together.

    Every thread is launched with the same; groups of fewer warps than share an allocation are
    filled up with idle warps to whole sets of them.
    """
    registers = schedule.machine.registers
    assert registers is not None
    width = registers.warps.value
    threads = schedule.machine.threads(width) * len(_sets(schedule, width))
    if registers.launch is None or not threads:
        return registers.file.value
    step = registers.launch.value
    each = registers.file.value // threads // step * step
    return threads * min(each, registers.most.value)


def _sets(schedule: Schedule, width: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return registers per thread and groups of every set of warps with one allocation.

    Groups that are narrower than a set share one, with as much as the greediest of them asks for.
    """
    found: list[tuple[int, tuple[str, ...]]] = []
    narrow = sorted(
        (group for group in schedule.groups if group.warps % width),
        key=lambda group: -(group.registers or 0),
    )
    for group in schedule.groups:
        found += [(group.registers or 0, (group.name,))] * (group.warps // width)
    for first in range(0, len(narrow), width):
        shared = narrow[first : first + width]
        found.append((shared[0].registers or 0, tuple(group.name for group in shared)))
    return found
