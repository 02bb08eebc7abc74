"""Lower bounds on the interval of every program of a loop on the simulated SM.

docs/bounds.md says why each holds, and on which rules of the simulator it rests. Nothing here knows
of orders or waits: operations go to any groups, and waits are for data only.
"""

from __future__ import annotations

from collections.abc import Iterable

from twill.artifacts.bound import ProgramBound
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.bounds.arguments import Argument
from twill.bounds.dataflow import Dataflow
from twill.bounds.sharing import Sharing
from twill.bounds.work import Executed, commands, works


def program_bound(
    loop: Loop, machine: Machine, *, latency: int | None = None, without: Iterable[str] = ()
) -> ProgramBound:
    """Return the largest interval that `program_bounds` can argue for.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    `without`: mechanisms of the simulated SM that are switched off.
    """
    return program_bounds(loop, machine, latency=latency, without=without)[0].bound


def program_bounds(
    loop: Loop, machine: Machine, *, latency: int | None = None, without: Iterable[str] = ()
) -> tuple[Argument, ...]:
    """Return all arguments, that with the largest interval first.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    `without`: mechanisms of the simulated SM that are switched off.
    """
    if "register-slots" in without:
        machine = machine.model_copy(update={"mechanisms": None})
    executed = {o.name: Executed(o, machine.cost(o), machine, latency) for o in loop.operations}
    found = [*works(list(executed.values()), machine), *commands(executed.values())]
    dataflow = Dataflow(loop, machine, executed)
    if (recurrence := dataflow.recurrence) is not None:
        found.append(recurrence)
    found += dataflow.residences()
    if machine.registers is not None:
        least = max(argument.cycles for argument in found)
        shared = Sharing(loop, machine, executed, dataflow).argument(least)
        found += [] if shared is None else [shared]
    return tuple(sorted(found, key=lambda argument: -argument.cycles))
