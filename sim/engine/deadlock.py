"""What to say of warps that wait for each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from twill.artifacts.schedule import Arrive, Program, Schedule, Wait
from twill.sim.engine.barriers import Barriers
from twill.sim.engine.warps import Warp


def deadlock(schedule: Schedule, barriers: Barriers, stuck: Iterable[Warp], now: float) -> str:
    """Describe who waits for whom, the cycle of groups first.

    `now`: cycle of the last event.
    """
    waits: dict[str, str] = {}
    behind: dict[str, list[str]] = {}
    for warp in stuck:
        name = warp.group.name
        if warp.blocked_on is None or name in waits:
            continue
        kind, target, iteration = warp.blocked_on
        barrier = kind == "barrier"
        sources = (
            _missing(schedule, barriers, target, iteration)
            if barrier
            else [schedule.assignment[target]]
        )
        came = "" if sources else _came(barriers, target, iteration)
        waits[name] = (
            f"{name} waits for {target if barrier else f'{kind} of {target}'} of iteration "
            f"{iteration} (from {', '.join(sources) or 'nobody'}{came})"
        )
        behind[name] = sources
    cycle = shortest_cycle(behind)
    order = [*cycle, *(name for name in waits if name not in cycle)]
    around = f"cycle {' -> '.join([*cycle, cycle[0]])}: " if cycle else ""
    return f"at cycle {now:.0f} nothing can go on; {around}" + "; ".join(
        waits[name] for name in order
    )


def _missing(schedule: Schedule, barriers: Barriers, barrier: str, iteration: int) -> list[str]:
    """Return the groups that have yet to arrive at a barrier's phase, or to issue what does."""
    home = schedule.assignment
    came = (*barriers.arrived(barrier, iteration), *barriers.delivered(barrier, iteration))
    arrived = Counter(home.get(who, who) for who in came)
    return [
        program.group
        for program in schedule.programs
        if _arrivals(program, barrier, named=barriers.is_named(barrier)) > arrived[program.group]
    ]


def _came(barriers: Barriers, barrier: str, iteration: int) -> str:
    """Say what a phase has, and to what nobody will add: arrivals, and bytes if it counts them."""
    arrived = barriers.arrived(barrier, iteration)
    missing = barriers.outstanding(barrier, iteration)
    said = []
    if arrived or missing:
        by = f", from {', '.join(sorted(arrived))}" if arrived else ""
        said.append(f"{len(arrived)} of {barriers.needed(barrier)} arrivals came{by}")
    if missing > 0:
        said.append(f"{missing} bytes that an arrive announced did not come")
    if missing < 0:
        said.append(f"{-missing} bytes came that no arrive announced")
    return f": {'; '.join(said)}" if said else ""


def _arrivals(program: Program, barrier: str, *, named: bool) -> int:
    """Return how often a program arrives at each phase of a barrier."""
    arrive = (Arrive, Wait) if named else (Arrive,)
    instructions = sum(isinstance(i, arrive) and i.barrier == barrier for i in program.body)
    return instructions + sum(barrier in issue.signals for issue in program.issues)


def shortest_cycle(behind: Mapping[str, Sequence[str]]) -> list[str]:
    """Return groups that wait for each other in a circle, as few as possible, or nothing."""
    found = [cycle for root in behind if (cycle := _cycle_through(root, behind))]
    return min(found, key=len, default=[])


def _cycle_through(root: str, behind: Mapping[str, Sequence[str]]) -> list[str]:
    """Search breadth first for the way back to a group."""
    paths = {root: [root]}
    names = [root]
    for name in names:
        for following in behind.get(name, ()):
            if following == root:
                return paths[name]
            if following not in paths:
                paths[following] = [*paths[name], following]
                names.append(following)
    return []
