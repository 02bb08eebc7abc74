"""Lower bounds on the interval of every program of a loop on the simulated SM.

docs/bound.md says why each holds, and on which rules of the simulator it rests. Nothing here knows
of groups, orders or waits: operations go to any groups, and nobody waits for more than data.
"""

from __future__ import annotations

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.promise import ProgramBound
from twill.bounds.dataflow import Dataflow
from twill.bounds.work import Argument, Executed, commands, works


def program_bound(loop: Loop, machine: Machine, *, latency: int | None = None) -> ProgramBound:
    """Return the largest interval that `program_bounds` can argue for.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    """
    return program_bounds(loop, machine, latency=latency)[0].bound


def program_bounds(
    loop: Loop, machine: Machine, *, latency: int | None = None
) -> tuple[Argument, ...]:
    """Return all arguments, that with the largest interval first.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    """
    executed = [Executed(o, machine.cost(o), machine, latency) for o in loop.operations]
    found = [*works(executed, machine), *commands(executed)]
    dataflow = Dataflow(loop, machine, {one.name: one for one in executed})
    if (recurrence := dataflow.recurrence) is not None:
        found.append(recurrence)
    found += dataflow.residences()
    return tuple(sorted(found, key=lambda argument: -argument.cycles))
