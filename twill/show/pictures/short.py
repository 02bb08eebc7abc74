"""Schedules with names that fit into pictures."""

from __future__ import annotations

import json

from twill.artifacts.schedule import Schedule
from twill.names import MOST_SHOWN, elided


def with_short_names(schedule: Schedule) -> Schedule:
    """Return a schedule in which long names lack their middle; itself if there are none."""
    names = [schedule.name, schedule.loop.name, *(group.name for group in schedule.groups)]
    names += [operation.name for operation in schedule.loop.operations]
    long = sorted({name for name in names if len(name) > MOST_SHOWN}, key=len, reverse=True)
    if not long:
        return schedule
    text = schedule.model_copy(update={"machine_hash": None}).to_json()
    taken = set(names)
    for name in long:
        short = _free(elided(name.replace(" ", "_")), taken)
        text = text.replace(_quoted(name), _quoted(short))
    return Schedule.from_json(text)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}#{count}"
    taken.add(found)
    return found


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)[1:-1]
