"""Letters and colours of warp groups, and the unit of time, for all views of a schedule."""

from __future__ import annotations

from twill.artifacts.schedule import Schedule
from twill.base.figures import Look, look

Looks = dict[str, Look]  # how each warp group looks, by name


def looks(schedule: Schedule) -> Looks:
    """Return how each warp group looks: A, B, ... in the order of the schedule's groups."""
    return {group.name: look(number) for number, group in enumerate(schedule.groups)}


def unit_of_time(schedule: Schedule) -> str:
    """Return the unit of a schedule's times: cycles, or several of them."""
    if schedule.time.mode != "normalized":
        return "cycles"
    return f"units of {schedule.time.cycles_per_unit:.3g} cycles"
