"""A schedule on a terminal: its table, one interval, its positions, and a polished one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from twill.artifacts.proof import Promise
from twill.artifacts.schedule import Schedule
from twill.base.console import WIDTH, paragraph, say
from twill.base.errors import InputError
from twill.base.formats import count, cycles, percent, plural, signed_percent
from twill.base.tables import Column, Table, output
from twill.show import Looks, looks, unit_of_time
from twill.show.differences import Comparison, differences_data, print_differences
from twill.show.placed import Placed, Position, Track, placed, positions, reservation_table
from twill.show.proof import MET, print_proof, why
from twill.show.roles import registers_text, roles

if TYPE_CHECKING:
    from rich.console import Console

    from twill.polish import Polished

NARROWEST = 24
# Differences that follow from others where one of two schedules has no static times.
OF_TIMES = ("time", "starts", "signals")
ROUNDING = 1e-6
NAMED_CELL = 6  # characters of a row from which operations are named in it
Styled = Iterator[tuple[str, str]]  # pieces of a line with their styles on a terminal


def schedule_data(schedule: Schedule) -> dict[str, Any]:
    """Return the main figures of a schedule as plain data."""
    proof, interval = schedule.proof, schedule.initiation_interval
    shown = {"name", "warps", "registers", "registers_live"}
    return {
        "name": schedule.name,
        "machine": schedule.machine.name,
        "rules": schedule.rules,
        "time": schedule.time.mode,
        "interval_units": interval,
        "interval_bounds": None if proof is None else [proof.bound.value, interval],
        "interval_cycles": None if interval is None else interval * schedule.time.cycles_per_unit,
        "length": schedule.length,
        "stages": schedule.stages,
        "groups": [group.model_dump(include=shown) for group in schedule.groups],
        "pipeline_depths": schedule.pipeline_depths,
        "hiding_depths": schedule.hiding_depths if interval is not None else {},
        "start": schedule.start,
        "assignment": schedule.assignment,
        "proved": {} if proof is None else {entry.level: entry.proved for entry in proof.levels},
        "levels": {} if proof is None else {entry.level: entry.value for entry in proof.levels},
        "bound": None if proof is None else proof.bound.model_dump(exclude_none=True),
    }


def interval_data(schedule: Schedule) -> dict[str, Any]:
    """Return what `print_interval` shows as plain data."""
    data = schedule_data(schedule)
    data["letters"] = {name: style.letter for name, style in looks(schedule).items()}
    data["roles"] = {role.group.name: role.title for role in roles(schedule)}
    try:
        found = placed(schedule)
    except InputError:
        return data
    data["units"] = {
        track.name: {
            "capacity": track.capacity,
            "slots": [
                {"operation": c.operation, "begin": c.begin, "end": c.end, "count": c.count}
                for c in reservation_table(track, found.interval)
            ],
        }
        for track in found.units
    }
    return data


def print_schedule(schedule: Schedule) -> None:
    """Print where every operation is, and what was proved if it has static times."""
    _print_placements(schedule)
    for load, depth in schedule.pipeline_depths.items():
        wanted = schedule.hiding_depths.get(load, depth)
        shallow = f" (warning: hiding its latency takes {wanted})" if wanted > depth else ""
        say(f"{load}: ring of {plural(depth, 'slot')}{shallow}")
    say()
    if schedule.initiation_interval is None:
        return
    say(
        f"initiation interval {schedule.initiation_interval} {unit_of_time(schedule)}, length "
        f"{schedule.length}, {plural(schedule.stages or 0, 'stage')} ({schedule.rules} rules)"
    )
    if schedule.time.mode != "exact":
        distortion = f"a factor of up to {schedule.time.distortion:.3g}"
        say(f"normalization changed ratios of costs by {distortion}")
    if schedule.proof is not None:
        print_proof(schedule.proof, schedule.initiation_interval or 1)


def print_interval(schedule: Schedule) -> None:
    """Print where every operation is, and an interval as letters of the groups."""
    _print_placements(schedule)
    say()
    try:
        found = placed(schedule)
    except InputError:
        say("nobody solved it, so that there are no times; to see some, run")
        say("python -m twill.sim run SCHEDULE --timeline FILE.svg")
        return
    _print_letters(found, output())


def placements(schedule: Schedule) -> Table:
    """Return where every operation is, group by group in the order of the interval."""
    styles, start, interval = looks(schedule), schedule.start, schedule.initiation_interval
    slot = {name: begin % interval for name, begin in start.items()} if interval else {}
    rows = []
    for role in roles(schedule):
        for task in sorted(role.tasks, key=lambda task: slot.get(task.operation, 0)):
            steps = schedule.machine.cost(schedule.loop.operation(task.operation)).steps
            unit = next((step.unit for step in steps if step.unit != "issue"), steps[0].unit)
            times = (time.get(task.operation, "") for time in (start, slot) if start)
            name = f"{styles[role.group.name].letter}: {task.operation}"
            rows.append([name, task.kind, unit, *times, task.stage])
    unit = "cycles" if schedule.time.mode != "normalized" else "units"
    columns = [Column("operation"), Column("kind"), Column("unit")]
    columns += [Column(name, unit, count) for name in ("start", "slot") if start]
    return Table([*columns, Column("stage", form=count)], rows)


def _print_placements(schedule: Schedule) -> None:
    styles = looks(schedule)
    placements(schedule).print()
    for group in schedule.groups:
        letter, warps = styles[group.name].letter, plural(group.warps, "warp")
        say(f"{letter}: {group.name}, {warps}, {registers_text(group)}")


def _print_letters(found: Placed, console: Console) -> None:
    """Draw the interval: a line for each group and each unit in use, a letter per operation."""
    from rich.text import Text

    styles, unit = looks(found.schedule), unit_of_time(found.schedule)
    tracks = [*found.groups, *(track for track in found.units if track.bars)]
    name = max(len(track.name) for track in tracks) + 2
    room = max(NARROWEST, min(console.width, WIDTH) - name - 1)
    cell = room // found.interval
    scale = f"{found.interval / room:.3g} {unit} a character"
    if cell:
        scale = f"{plural(cell, 'character')} a slot"
    say(f"steady state, slots 0 to {found.interval - 1} ({scale})")
    for track in tracks:
        shown = _named_cells(track, found.interval, styles, cell)
        if cell < NAMED_CELL:
            shown = _letters(track, found.interval, styles, found.interval * cell or room)
        line = Text.assemble(f"{track.name:{name}}", *shown, "|")
        console.print(line, no_wrap=True, crop=True)
    if not cell:
        say("capital: busy for half of a character's time and capacity or more; small: less")
    pace = f"one iteration every {found.interval} {unit}"
    say(f"{pace}, {plural(found.stages, 'stage')}, length {found.length}")


def _named_cells(track: Track, interval: int, styles: Looks, cell: int) -> Styled:
    pieces = reservation_table(track, interval)
    for row in range(interval):
        here = [p for p in pieces if p.begin <= row < p.end]
        name = "+".join(f"{styles[p.group].letter}:{p.operation}" for p in here)
        style = f"black on {styles[here[0].group].terminal}" if here else ""
        yield f"|{name[: cell - 1]:{cell - 1}}", style


def _letters(track: Track, interval: int, styles: Looks, width: int) -> Styled:
    pieces, share = reservation_table(track, interval), interval / width
    for column in range(width):
        begin, end = column * share, (column + 1) * share
        taken: dict[str, float] = {}
        for piece in pieces:
            overlap = min(end, piece.end) - max(begin, piece.begin)
            if overlap > 0:
                taken[piece.group] = taken.get(piece.group, 0) + overlap * piece.count
        if not taken:
            yield ".", ""
            continue
        style = styles[max(taken, key=lambda name: (taken[name], name))]
        half = sum(taken.values()) >= share * track.capacity / 2 - ROUNDING
        letter = style.letter[0] if half else style.letter[0].lower()
        yield letter, f"black on {style.terminal}"


def print_positions(schedule: Schedule) -> None:
    """Print what holds each operation where it is."""
    styles, width = looks(schedule), min(WIDTH, output().width)
    group = ""
    for position in positions(schedule):
        if position.group != group:
            group = position.group
            say(f"{styles[group].letter}: {group}")
        stage, row = divmod(position.start, schedule.initiation_interval or 1)
        say(f"  {position.operation}: slot {row}, stage {stage}")
        for text in held(position):
            lines = textwrap.fill(text, width, initial_indent=" " * 4, subsequent_indent=" " * 6)
            say(lines)
    say(f"times in {unit_of_time(schedule)}")


def held(position: Position) -> tuple[str, str]:
    """Return what keeps an operation from being earlier, and what from being later."""
    before, after = "needs nothing of this loop", "nothing of this loop needs it"
    if position.behind:
        before = f"not earlier: {'; '.join(position.behind)}"
    elif position.earlier is not None:
        before = f"could be {position.earlier} earlier, as far as what it needs goes"
    if position.before:
        after = f"not later: {'; '.join(position.before)}"
    elif position.later is not None:
        after = f"could be {position.later} later, as far as what needs it goes"
    return before, after


def polished_data(polished: Polished) -> dict[str, Any]:
    """Return a polished schedule's promise, and what changed, as plain data."""
    promise = polished.schedule.promise
    assert promise is not None
    return {
        "name": polished.schedule.name,
        "machine": polished.schedule.machine.name,
        "given_cycles": polished.given_cycles,
        "objection": polished.objection,
        "origin": polished.origin,
        "others": [asdict(other) for other in polished.others],
        "promise": promise.model_dump(exclude_none=True),
        "changes": differences_data(Comparison(polished.given, polished.schedule)),
    }


def print_polished(polished: Polished) -> None:
    """Print what changed, and what is promised."""
    if polished.schedule.programs != polished.given.programs:
        changes = Comparison(polished.given, polished.schedule)
        print_differences(changes, without=OF_TIMES)
        say()
    _print_promise(polished)


def print_answer(polished: Polished, static: Schedule) -> None:
    """Print the program that was found, and in a line the static schedule that it came from."""
    written, proof = polished.schedule, static.proof
    print_schedule(written)
    if written.initiation_interval is None and static.initiation_interval is not None:
        stages = plural(static.stages or 0, "stage")
        told = f"static schedule: interval {static.initiation_interval}, {stages}"
        if proof is not None:
            told += f"; {why(proof.bound)}"
        paragraph(told)
    _print_promise(polished)


def _print_promise(polished: Polished) -> None:
    promise = polished.schedule.promise
    assert promise is not None
    paragraph(promise_words(promise))
    if polished.given_cycles is not None:
        change = signed_percent(promise.interval_cycles / polished.given_cycles - 1)
        faster = polished.schedule.programs != polished.given.programs
        origin = f", from it with {polished.origin}" if polished.origin else ""
        said = f"{change}{origin}" if faster else _nothing_faster(promise)
        paragraph(f"{cycles(polished.given_cycles)} cycles as it was given; {said}")
    elif polished.objection:
        paragraph(f"as it was given it is no answer: {polished.objection}")
    for other in polished.others:
        paragraph(f"{cycles(other.cycles)} cycles from it with {other.origin or 'the same roles'}")


def _nothing_faster(promise: Promise) -> str:
    if promise.simulations:
        return f"nothing faster was found among {promise.simulations} programs"
    met = promise.gap is not None and promise.gap <= MET
    return "nothing is faster" if met else "no other was looked at"


def promise_words(promise: Promise) -> str:
    """Return what is promised, in a sentence or two."""
    first, *others = promise.conditions
    over = plural(promise.iterations, "iteration")
    taken = f"{cycles(promise.interval_cycles)} cycles an iteration on the simulated SM"
    said = [f"{taken}, measured over {over}"]
    for other in others:
        change = other.interval_cycles / first.interval_cycles - 1
        how = [f"warps {other.warp_scheduler}"] * (other.warp_scheduler != first.warp_scheduler)
        how += [f"latency {other.latency}"] * (other.latency != first.latency)
        said.append(f"{' and '.join(how)}: {signed_percent(change)}")
    if promise.bound is not None:
        about = f"{promise.bound.reason}: {', '.join(promise.bound.of)}"
        least = f"no program takes fewer than {cycles(promise.bound.cycles)} ({about})"
        met = promise.gap is not None and promise.gap <= MET
        said.append(f"optimal: {least}" if met else least)
        if promise.gap is not None and not met:
            said.append(f"{percent(promise.gap)} is not known")
    if (code := promise.machine_code) is not None:
        told = f"{code.interval_cycles:,.0f} cycles in the machine code of {code.compiler}"
        told += "" if code.compared else ", which were compared with no measurement"
        said.insert(0, told)
    if (found := promise.on_gpu) is not None:
        said.insert(0, f"{found.interval_cycles:,.0f} cycles measured on {found.device}")
    return "; ".join(said)
