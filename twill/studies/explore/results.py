"""Sections of the page: schedules side by side, a sweep, a comparison."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

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
from twill.studies.compare import FILE, Comparison, Comparisons, plot_comparisons, table, title
from twill.studies.explore.graph import graph
from twill.studies.explore.machine_code import kernel_section
from twill.studies.explore.page import Panel, Picture, Section
from twill.studies.explore.pictures import (
    View,
    look_of,
    occupied,
    one_interval,
    reservations,
    timeline,
)
from twill.studies.explore.steady import INTERVALS, Steady, plot_stalls, steady
from twill.studies.sweep.answers import answers
from twill.studies.sweep.journal import NAME as JOURNAL
from twill.studies.sweep.journal import read
from twill.studies.sweep.points import check_points, tasks
from twill.studies.sweep.runs import NAME, load
from twill.studies.sweep.table import frame, plot_sweep, points_table

MOST_ROWS = 400
MOST_STEADY = 24


def sections(
    places: Sequence[Path], report: Report = silent, source: Path | None = None
) -> list[Section]:
    """Read results: sweeps, comparisons, kernel files, and schedules, which are one section.

    `source`: of the schedules, as `annotate` takes it.

    Raises
    ------
    InputError
        If one is none of these.
    """
    found: list[Section] = []
    schedules: dict[str, Schedule] = {}
    for place in places:
        if (place / NAME).exists():
            found.append(_of_sweep(place, report))
        elif (place / FILE).exists():
            found.append(_of_comparison(place, report))
        elif place.suffix == ".py":
            found.append(kernel_section(place, report))
        elif place.is_dir():
            raise InputError("neither sweep.json nor comparison.json is here", file=str(place))
        else:
            one = load_schedule(str(place))
            name = place.stem if one.name in schedules else one.name
            schedules[unused(name, schedules)] = one
    return [*([_of_schedules(schedules, report, source)] if schedules else []), *found]


# -- sweeps -------------------------------------------------------------------------------------


def _of_sweep(folder: Path, report: Report) -> Section:
    swept, runs = load(folder)
    sweep = swept.sweep
    rows, _ = read(folder / JOURNAL, swept.hash)
    if not rows:
        raise InputError("no point is finished yet", file=str(folder))
    every = tasks(sweep, runs)
    check_points(rows, every, str(folder / JOURNAL))
    found = frame(sweep, rows.values())
    loops = {f"{one.run.item} on {one.run.machine}" for one in runs}
    told = [answer.words for answer in answers(sweep, found)]
    if len(rows) < len(every):
        told.insert(0, f"{len(rows)} of {len(every)} points are finished")
    scheduled = [one for one in runs if one.schedule]
    chosen = [one for one in scheduled if one.run.variant == "joint"] or scheduled
    shown = points_table(sweep, found, MOST_ROWS)
    some = f", {len(shown.rows)} of {len(found)}" if len(shown.rows) < len(found) else ""
    schedules = [(one.name, Schedule.from_json(one.schedule)) for one in chosen]
    ran = _steady(schedules, "nominal", report)
    return Section(
        title=sweep.description or sweep.name or f"Sweep of {', '.join(sorted(loops))}",
        summary=told,
        pictures=[
            ("Throughput", plot_sweep(sweep, found)),
            ("Cycles of an iteration", plot_sweep(sweep, found, interval=True)),
            *_stalls(ran),
        ],
        tables=[(f"Points{some}", shown)],
        **_steady_states(ran),
        provenance={
            "twill": str(found["twill_version"].iloc[0]),
            "code": str(found["code_hash"].iloc[0]),
            "simpy": str(found["simpy_version"].iloc[0]),
            "seed": str(sweep.seed),
            "schedules": ", ".join(f"{one.name} {one.digest[:16]}" for one in runs),
            "sweep": json.dumps(
                sweep.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False
            ),
        },
    )


# -- comparisons --------------------------------------------------------------------------------


def _of_comparison(folder: Path, report: Report) -> Section:
    found = Comparisons.read(folder)
    named = [(f"{_place(one)}, {v}", s) for one in found for v, s in one.schedules.items()]
    joint = {f"{_place(one)}, joint" for one in found}
    ran = _steady(named, found[0].latency, report)
    return Section(
        title="Ways to execute " + ", ".join(_place(one) for one in found),
        summary=[_told(one) for one in found],
        pictures=[
            *((f"Throughput: {_place(one)}", plot_comparisons([one])) for one in found),
            *_stalls(ran),
        ],
        tables=[(title(one), table(one)) for one in found],
        **_steady_states([one for one in ran if one.name in joint]),
        provenance={
            "twill": twill.__version__,
            "iterations": str(found[0].iterations),
            "seed": str(found[0].seed),
            "latency": found[0].latency,
            **{f"clock of {one.machine}": one.clock_source for one in found},
        },
    )


def _place(one: Comparison) -> str:
    return f"{one.loop} on {one.machine}"


def _told(one: Comparison) -> str:
    intervals = {v.variant: v.interval_cycles for v in one.variants if v.interval_cycles}
    gains = {v.variant: v.speedup_over_sequential for v in one.variants}
    if "joint" not in intervals or gains["joint"] is None:
        return f"{_place(one)}: no joint schedule was measured"
    words = (
        f"{_place(one)}: the joint schedule takes {intervals['joint']:.6g} cycles "
        f"an iteration, {gains['joint']:.2f} times as fast as the loop as written"
    )
    if "swp" in intervals:
        ratio = intervals["swp"] / intervals["joint"]
        words += f" and {ratio:.2f} times as fast as software pipelining alone"
    return words


def _steady(named: Iterable[tuple[str, Schedule]], latency: str, report: Report) -> list[Steady]:
    found = []
    for name, schedule in itertools.islice(named, MOST_STEADY):
        report(f"steady state of {name}")
        found.append(steady(name, schedule, latency))
    return found


def _stalls(ran: Sequence[Steady]) -> list[Picture]:
    """Return the stall breakdown of steady states, nothing if nothing ran."""
    spent = [one for one in ran if one.spent]
    return [("Where the cycles of the warp groups go", plot_stalls(spent))] if spent else []


def _steady_states(ran: Sequence[Steady]) -> dict[str, Any]:
    """Return panels of a section with timelines and roles, their legend and operations."""
    views = [View(one, *one.window(), looks(one.schedule)) for one in ran if one.result]
    failed = [Panel(f"{one.name} cannot be run", "note", one.error) for one in ran if one.error]
    panels = [
        Panel(p.title, p.form, p.shown, p.note, view.found.name)
        for view in views
        for p in (_timeline(view), _roles(view))
    ]
    return {"panels": [*failed, *panels], "legend": _legend(views), "operations": _facts(views)}


# -- schedules ----------------------------------------------------------------------------------


def _of_schedules(named: dict[str, Schedule], report: Report, source: Path | None) -> Section:
    """Return schedules with their views side by side, on one scale of time."""
    first, *others = named
    pairs = [Pair(named[first], named[other]) for other in others]
    styles = [looks(named[first]), *(matched_looks(pair) for pair in pairs)]
    ran = _steady(named.items(), "nominal", report)
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
            (f"What differs between {first} and {other}", _differences(pair))
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


def _differences(pair: Pair) -> Table:
    columns = [Column("topic"), Column("what"), Column("first"), Column("second")]
    return Table(columns, [(d.topic, d.what, d.first, d.second) for d in pair.differences])


def _panels(view: View, source: Path | None) -> Iterator[Panel]:
    """Yield all views of a schedule, as far as it has what they show."""
    one, schedule = view.found, view.schedule
    if one.result is not None:
        registers, memories = occupied(view)
        yield _timeline(view)
        if registers.bars:
            said = "registers per thread, of a group's first warp"
            yield Panel("Registers", "bars", registers, said)
        if memories.bars:
            yield Panel(
                "Memory map", "bars", memories, "addresses from below; [n] is the iteration"
            )
    yield from _reservations(view)
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


def _timeline(view: View) -> Panel:
    said = f"simulated, {view.found.latency} load latency; [n] is the iteration; grey is waiting"
    return Panel("Timeline", "bars", timeline(view), said)


def _reservations(view: View) -> Iterator[Panel]:
    """Yield the modular reservation table; without static times, a simulated interval."""
    name = "Reservation table"
    try:
        found = placed(view.schedule)
    except InputError:
        if view.found.interval is not None:
            said = "simulated: its programs have an order and no static times"
            yield Panel(name, "bars", one_interval(view), said)
        return
    yield Panel(name, "bars", reservations(found, view.looks), "static, modulo the interval")


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
