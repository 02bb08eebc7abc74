"""Sections of the page: schedules side by side, and kernel files."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

import twill
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import InputError
from twill.base.figures import look
from twill.base.formats import cycles, signed_percent, teraflops
from twill.base.names import unused
from twill.base.tables import Column, Table
from twill.bounds.programs import program_bound
from twill.frontends.schedules import load_schedule
from twill.show import Looks, looks
from twill.show.code import code
from twill.show.differences import Comparison as Pair
from twill.show.placed import placed, positions
from twill.show.roles import entries, roles
from twill.show.schedule import held, placements
from twill.sim.show import pace_table, stalls_table
from twill.studies.annotated import annotate, source_table
from twill.studies.explore.clocks import clocks_section, is_trace
from twill.studies.explore.graph import graph
from twill.studies.explore.machine_code import kernel_section
from twill.studies.explore.page import Panel, Section
from twill.studies.explore.pictures import View, look_of, occupied, reservations, timeline
from twill.studies.explore.steady import INTERVALS, Steady, steady

DIFFERENCE = [Column("topic"), Column("what"), Column("first"), Column("second")]


def sections(
    places: Sequence[Path], report: Report = silent, source: Path | None = None
) -> list[Section]:
    """Read kernel files, traces of them on a GPU, and schedules, which are one section.

    `source`: of the schedules, as `annotate` takes it.

    Raises
    ------
    InputError
        If one is none of these.
    """
    found: list[Section] = []
    schedules: dict[str, Schedule] = {}
    for place in places:
        if place.suffix == ".py":
            found.append(kernel_section(place, report))
        elif place.is_dir():
            raise InputError("a folder; name the schedules in it", file=str(place))
        elif place.is_file() and is_trace(place):
            found.append(clocks_section(place))
        else:
            one = load_schedule(str(place))
            name = place.stem if one.name in schedules else one.name
            schedules[unused(name, schedules)] = one
    return [*([_of_schedules(schedules, report, source)] if schedules else []), *found]


# -- schedules ----------------------------------------------------------------------------------


def _of_schedules(named: dict[str, Schedule], report: Report, source: Path | None) -> Section:
    """Return schedules with their views side by side, on one scale of time."""
    first, *others = named
    pairs = [Pair(named[first], named[other]) for other in others]
    styles = [looks(named[first]), *(matched_looks(pair) for pair in pairs)]
    ran = []
    for name, schedule in named.items():
        report(f"steady state of {name}")
        ran.append(steady(name, schedule))
    longest = INTERVALS * max((one.interval or 0 for one in ran), default=0)
    views = [
        View(one, *one.window(longest / one.interval if one.interval else INTERVALS), style)
        for one, style in zip(ran, styles, strict=False)
    ]
    panels = [
        Panel(p.title, p.form, p.shown, p.note, view.found.name if others else "")
        for view in views
        for p in _panels(view, source)
    ]
    order = list(dict.fromkeys(panel.title for panel in panels))
    return Section(
        title=" and ".join(f"{one.name} on {one.schedule.machine.name}" for one in ran),
        summary=[words for one in ran for words in _told_of(one)],
        tables=[
            (
                f"What differs between {first} and {other}",
                Table(DIFFERENCE, [astuple(difference) for difference in pair.differences]),
            )
            for pair, other in zip(pairs, others, strict=True)
        ],
        panels=sorted(panels, key=lambda panel: order.index(panel.title)),
        legend=_legend(views),
        operations=_facts(views),
        provenance={"twill": twill.__version__}
        | {
            f"{what} of {one.name}" if others else what: said
            for one in ran
            for what, said in _provenance(one.schedule)
        },
    )


def matched_looks(pair: Pair) -> Looks:
    """Return the looks of the second schedule's groups; those that match look like the first's."""
    first = looks(pair.first)
    free = itertools.count(len(first))
    return {
        group.name: first[partner]
        if (partner := pair.groups.get(group.name)) is not None
        else look(next(free))
        for group in pair.second.groups
    }


def _told_of(one: Steady) -> Iterator[str]:
    if one.result is None:
        yield f"{one.name} cannot be run: {one.error}"
        return
    if one.interval is None:
        yield f"{one.name}: too few iterations for a steady state"
        return
    promised = one.result.static_interval_cycles
    kept = "" if promised is None else f"; promised were {cycles(promised)}"
    run, bound = one.result, program_bound(one.schedule.loop, one.schedule.machine)
    speed = f", {teraflops(run.tflops)} TFLOP/s at {run.clock_mhz:g} MHz" if run.tflops else ""
    yield f"{one.name} takes {cycles(one.interval)} cycles an iteration{speed}{kept}"
    least = f"{cycles(bound.cycles)} ({bound.reason}: {', '.join(bound.of)})"
    gap = signed_percent(one.interval / bound.cycles - 1)
    yield f"No program takes fewer than {least}; {one.name} is at {gap}"
    if one.result.profile and one.result.profile.critical:
        yield f"What sets the pace: {one.result.profile.critical.words}"


def _provenance(schedule: Schedule) -> Iterator[tuple[str, str]]:
    yield "machine", schedule.machine.digest
    for name, version in schedule.solver.items():
        yield f"solver {name}, not checked", version


def _panels(view: View, source: Path | None) -> Iterator[Panel]:
    """Yield all views of a schedule, as far as it has what they show."""
    one, schedule = view.found, view.schedule
    if one.result is not None:
        registers, memories = occupied(view)
        said = "simulated, nominal load latency; [n] is the iteration; grey is waiting"
        yield Panel("Timeline", "bars", timeline(view), said)
        if registers.bars:
            said = "registers per thread, of a group's first warp"
            yield Panel("Registers", "bars", registers, said)
        if memories.bars:
            yield Panel(
                "Memory map", "bars", memories, "addresses from below; [n] is the iteration"
            )
    with contextlib.suppress(InputError):  # without static times there is none
        table = reservations(placed(schedule), view.looks)
        yield Panel("Reservation table", "bars", table, "static, modulo the interval")
    yield Panel("Dependences", "graph", graph(schedule, view.looks), "dashed: carried, [distance]")
    if schedule.programs:
        yield Panel("Program", "code", code(schedule))
    yield _roles(view)
    if one.result is not None and any(o.location for o in schedule.loop.operations):
        found = annotate(schedule, source, result=one.result)
        lines = source_table(found)
        order = [0, len(lines.columns) - 1, *range(1, len(lines.columns) - 1)]  # the text first
        columns = [lines.columns[n] for n in order]
        beside = Table(columns, [[row[n] for n in order] for row in lines.rows], notes=lines.notes)
        yield Panel("Source", "source", beside, found.missing or "")
    yield Panel("Operations", "table", placements(schedule))
    if one.result is not None and one.result.profile is not None:
        profile = one.result.profile
        yield Panel("Stalls", "table", stalls_table(profile), "cycles of the groups' first warps")
        if profile.critical is not None and profile.critical.steps:
            yield Panel("What sets the pace", "table", pace_table(profile.critical))


def _roles(view: View) -> Panel:
    shown = [
        (
            f"{view.looks[role.group.name].letter}: {role.group.name}: {role.title}",
            look_of(view.looks, role.group.name),
            list(entries(role)),
        )
        for role in roles(view.schedule)
    ]
    return Panel("Roles", "roles", shown)


def _legend(views: Sequence[View]) -> dict[str, str]:
    return {
        f"{look.letter}: {group}{f' of {view.found.name}' if len(views) > 1 else ''}": look_of(
            view.looks, group
        )
        for view in views
        for group, look in view.looks.items()
    }


def _facts(views: Sequence[View]) -> dict[str, list[str]]:
    """Return what is known of each operation: group, stage, units, and what holds it."""
    found: dict[str, list[str]] = {}
    for view in views:
        schedule = view.schedule
        try:
            holds = {p.operation: held(p) for p in positions(schedule)}
        except InputError:
            holds = {}
        stages = {task.operation: task.stage for role in roles(schedule) for task in role.tasks}
        for operation in schedule.loop.operations:
            name, group = operation.name, schedule.assignment[operation.name]
            steps = schedule.machine.cost(operation).steps
            units = ", ".join(f"{step.unit} {step.cycles}" for step in steps)
            who = f"{view.looks[group].letter}: {group}, stage {stages.get(name, 0)}"
            of = f"In {view.found.name}: " if len(views) > 1 else f"{name}: "
            why = "".join(f". {text[0].upper()}{text[1:]}" for text in holds.get(name, ()))
            said = f"{of}{operation.kind} on {who}, {units} cycles{why}"
            found.setdefault(name, []).append(said)
    return found
