"""A schedule in a terminal: a table, and one interval of the steady state as lines of letters."""

from __future__ import annotations

import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text

from twill.artifacts.schedule import Schedule
from twill.console import say
from twill.errors import InputError
from twill.show.pictures.look import looks
from twill.show.pictures.placed import Placed, Row, placed, table
from twill.show.positions import Position, positions
from twill.show.roles import registers_text, roles
from twill.show.tables.grid import Column, grid, output
from twill.show.tables.words import plural
from twill.show.text import summary

NARROWEST = 24
WIDEST = 80
ROUNDING = 1e-6
NAMED_CELL = 6
"""Characters of a slot from which operations are named in it."""


def show_data(schedule: Schedule) -> dict[str, Any]:
    """Return what the table and the lines show as plain data."""
    data = summary(schedule)
    data["letters"] = {name: look.letter for name, look in looks(schedule).items()}
    data["roles"] = {role.group.name: role.title for role in roles(schedule)}
    try:
        found = placed(schedule)
    except InputError:
        return data
    data["units"] = {
        row.name: {
            "capacity": row.capacity,
            "slots": [
                {"operation": c.operation, "begin": c.begin, "end": c.end, "count": c.count}
                for c in table(row, found.interval)
            ],
        }
        for row in found.units
    }
    return data


def show(schedule: Schedule) -> None:
    """Print a schedule as a table and lines."""
    console = output()
    _table(schedule, console)
    styles = looks(schedule)
    for role in roles(schedule):
        group = role.group
        say(
            f"{styles[group.name].letter}: {group.name}, {plural(group.warps, 'warp')}, "
            f"{registers_text(group)}"
        )
    say()
    try:
        found = placed(schedule)
    except InputError:
        say("nobody solved it, so that there are no times; to see some, run")
        say("python -m twill.sim run SCHEDULE --timeline FILE.svg")
        return
    _lines(found, console)


def show_positions(schedule: Schedule) -> None:
    """Print what holds each operation where it is."""
    styles, width = looks(schedule), min(WIDEST, output().width)
    held = positions(schedule)
    interval = schedule.initiation_interval or 1
    group = ""
    for position in held:
        if position.group != group:
            group = position.group
            say(f"{styles[group].letter}: {group}")
        stage, slot = divmod(position.start, interval)
        say(f"  {position.operation}: slot {slot}, stage {stage}")
        for text in (_behind(position), _before(position)):
            for line in textwrap.wrap(
                text, width, initial_indent=" " * 4, subsequent_indent=" " * 6
            ):
                say(line)
    say(f"times in {placed(schedule).unit_of_time}")


def _behind(position: Position) -> str:
    if position.behind:
        return f"not earlier: {'; '.join(position.behind)}"
    if position.earlier is None:
        return "needs nothing of this loop"
    return f"could be {position.earlier} earlier, as far as what it needs goes"


def _before(position: Position) -> str:
    if position.before:
        return f"not later: {'; '.join(position.before)}"
    if position.later is None:
        return "nothing of this loop needs it"
    return f"could be {position.later} later, as far as what needs it goes"


def _table(schedule: Schedule, console: Console) -> None:
    styles, start = looks(schedule), schedule.start
    interval = schedule.initiation_interval
    rows = []
    for role in roles(schedule):
        tasks = role.tasks
        if interval is not None:
            tasks = tuple(sorted(tasks, key=lambda t: start.get(t.operation, 0) % interval))
        for task in tasks:
            begin = start.get(task.operation)
            slot = "" if begin is None or interval is None else str(begin % interval)
            steps = schedule.machine.cost(schedule.loop.operation(task.operation)).steps
            unit = next((s.unit for s in steps if s.unit != "issue"), steps[0].unit)
            rows.append(
                [
                    styles[role.group.name].letter,
                    task.operation,
                    task.kind,
                    unit,
                    "" if begin is None else str(begin),
                    slot,
                    str(task.stage),
                ]
            )
    unit_of_time = "cycles" if schedule.time.mode != "normalized" else "units"
    columns = [Column(name, right=False) for name in ("", "operation", "kind", "unit")]
    columns += [Column(f"{name}\n({unit_of_time})") for name in ("start", "slot")]
    grid([*columns, Column("stage")], rows, console=console)


def _lines(found: Placed, console: Console) -> None:
    """Draw the interval: a line for each group and each unit in use, a letter for who is on it."""
    rows = [*found.groups, *(row for row in found.units if row.bars)]
    label = max(len(row.name) for row in rows) + 2
    room = max(NARROWEST, min(console.width, WIDEST) - label - 1)
    cell = room // found.interval
    width = found.interval * cell if cell else room
    if cell:
        scale = f"{plural(cell, 'character')} a slot"
    else:
        scale = f"{found.interval / width:.3g} {found.unit_of_time} a character"
    say(f"steady state, slots 0 to {found.interval - 1} ({scale})")
    for row in rows:
        line = Text(f"{row.name:{label}}")
        cells = _cells(found, row, width, cell)
        line.append_text(cells)
        line.append("|")
        console.print(line, no_wrap=True, crop=True)
    if not cell:
        say("capital: busy for half of a character's time and capacity or more; small: less")
    pace = f"one iteration every {found.interval} {found.unit_of_time}"
    say(f"{pace}, {plural(found.stages, 'stage')}, length {found.length}")


def _cells(found: Placed, row: Row, width: int, cell: int) -> Text:
    styles = looks(found.schedule)
    pieces = table(row, found.interval)
    text = Text()
    if cell >= NAMED_CELL:
        for slot in range(found.interval):
            here = [p for p in pieces if p.begin <= slot < p.end]
            name = "+".join(f"{styles[p.group].letter}:{p.operation}" for p in here)
            style = f"black on {styles[here[0].group].terminal}" if here else ""
            text.append(f"|{name[: cell - 1]:{cell - 1}}", style=style)
        return text
    share = found.interval / width
    for column in range(width):
        begin, end = column * share, (column + 1) * share
        taken: dict[str, float] = {}
        for piece in pieces:
            overlap = min(end, piece.end) - max(begin, piece.begin)
            if overlap > 0:
                taken[piece.group] = taken.get(piece.group, 0) + overlap * piece.count
        if not taken:
            text.append(".")
            continue
        group = max(taken, key=lambda name: (taken[name], name))
        letter = styles[group].letter[0]
        half = sum(taken.values()) >= share * row.capacity / 2 - ROUNDING
        text.append(letter if half else letter.lower(), style=f"black on {styles[group].terminal}")
    return text
