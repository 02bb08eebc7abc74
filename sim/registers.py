"""``setmaxnreg`` at the start of a program."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.sim.errors import SimulationError


def set_registers(schedule: Schedule) -> None:
    """Let every group take the registers it asks for; those that shrink go first.

    Nobody gives registers back later, so that a group that does not get them now never will.

    Parameters
    ----------
    schedule : Schedule
        With registers per thread; where one group names none, none is set.

    Raises
    ------
    SimulationError
        If a group waits for registers for ever.
    """
    registers = schedule.machine.registers
    if registers is None or any(group.registers is None for group in schedule.groups):
        return
    left, threads = registers.file.value, 32 * registers.warps.value
    for asked, names in sorted(_sets(schedule, registers.warps.value)):
        if asked * threads > left:
            raise SimulationError(
                "deadlock",
                f"at cycle 0 {' and '.join(names)} wait at setmaxnreg for {asked} registers per "
                f"thread, {asked * threads} in all; {left} of {registers.file.value} are left",
            )
        left -= asked * threads


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
