"""What to say of warps that wait for each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twill.artifacts.schedule import Arrive, Schedule
from twill.sim.warps import Warp


def deadlock(schedule: Schedule, stuck: Iterable[Warp], now: float) -> str:
    """Describe who waits for whom, the cycle of groups first.

    Parameters
    ----------
    schedule : Schedule
        What was executed.
    stuck : iterable of Warp
        Warps that are not at their end.
    now : float
        Cycle of the last event.
    """
    waits: dict[str, str] = {}
    behind: dict[str, list[str]] = {}
    for warp in stuck:
        name = warp.group.name
        if warp.blocked_on is None or name in waits:
            continue
        kind, target, iteration = warp.blocked_on
        barrier = kind == "barrier"
        sources = _arrivers(schedule, target) if barrier else [schedule.assignment[target]]
        waits[name] = (
            f"{name} waits for {target if barrier else f'{kind} of {target}'} of iteration "
            f"{iteration} (from {', '.join(sources) or 'nobody'})"
        )
        behind[name] = sources
    cycle = _cycle(behind)
    order = [*cycle, *(name for name in waits if name not in cycle)]
    around = f"cycle {' -> '.join([*cycle, cycle[0]])}: " if cycle else ""
    return f"at cycle {now:.0f} nothing can go on; {around}" + "; ".join(
        waits[name] for name in order
    )


def _arrivers(schedule: Schedule, barrier: str) -> list[str]:
    """Return the groups whose programs arrive at a barrier, or issue what does."""
    return [
        program.group
        for program in schedule.programs
        if any(isinstance(i, Arrive) and i.barrier == barrier for i in program.body)
        or any(barrier in issue.signals for issue in program.issues)
    ]


def _cycle(behind: Mapping[str, list[str]]) -> list[str]:
    """Return groups that wait for each other in a circle, or nothing."""
    for root in behind:
        path, name = [root], root
        while True:
            following = next((n for n in behind.get(name, []) if n in behind), None)
            if following is None:
                break
            if following in path:
                return path[path.index(following) :]
            path.append(following)
            name = following
    return []
