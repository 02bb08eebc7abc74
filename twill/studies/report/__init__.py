"""The report: results of studies, read from their folders, as one page that needs nothing else."""

from __future__ import annotations

import importlib.resources
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import twill
from twill.artifacts.schedule import Schedule
from twill.console import Report, silent
from twill.errors import InputError
from twill.figures import STRONG
from twill.frontends.schedules import load_schedule
from twill.sim.execute import Run
from twill.studies.annotated import annotate, source_table
from twill.studies.compare import FILE, Comparison, Comparisons, plot_comparisons, table, title
from twill.studies.report.steady import (
    AXIS,
    LEFT,
    ROW,
    WIDTH,
    Steady,
    Timeline,
    plot_stalls,
    steady,
    timeline,
)
from twill.studies.sweep import NAME, load
from twill.studies.sweep.answers import answers
from twill.studies.sweep.journal import NAME as JOURNAL
from twill.studies.sweep.journal import read
from twill.studies.sweep.points import check_points, tasks
from twill.studies.sweep.table import frame, plot_sweep, points_table
from twill.tables import Table

MOST_ROWS = 400
MOST_STEADY = 24
Picture = tuple[str, str]  # what a figure shows, and the figure as SVG


@dataclass(frozen=True)
class Section:
    """The results of one study."""

    title: str
    # Its answers in words.
    summary: list[str]
    # Steady states, with timelines of the main schedules.
    steady: list[tuple[Steady, Timeline | None]]
    # Where all that comes from.
    provenance: dict[str, str]
    pictures: list[Picture] = field(default_factory=list)
    # Figures, each table after what it shows.
    tables: list[tuple[str, Table]] = field(default_factory=list)

    @property
    def stalls(self) -> Picture | None:
        """The stall breakdown of the steady states, None if nothing ran."""
        ran = [one for one, _ in self.steady if one.spent]
        return ("Where the cycles of the warp groups go", plot_stalls(ran)) if ran else None


def section(place: Path, report: Report = silent) -> Section:
    """Read one result.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if (place / NAME).exists():
        return _of_sweep(place, report)
    if (place / FILE).exists():
        return _of_comparison(place, report)
    if place.is_dir():
        raise InputError("neither sweep.json nor comparison.json is here", file=str(place))
    return _of_schedule(load_schedule(str(place)), report)


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
    ran = [one for one in runs if one.schedule]
    chosen = [one for one in ran if one.run.variant == "joint"] or ran
    shown = points_table(sweep, found, MOST_ROWS)
    some = f", {len(shown.rows)} of {len(found)}" if len(shown.rows) < len(found) else ""
    schedules = [(one.name, Schedule.from_json(one.schedule)) for one in chosen]
    return Section(
        title=sweep.description or sweep.name or f"Sweep of {', '.join(sorted(loops))}",
        summary=told,
        pictures=[
            ("Throughput", plot_sweep(sweep, found)),
            ("Cycles of an iteration", plot_sweep(sweep, found, interval=True)),
        ],
        tables=[(f"Points{some}", shown)],
        steady=_steady(schedules, "nominal", report),
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
    return Section(
        title="Ways to execute " + ", ".join(_place(one) for one in found),
        summary=[_told(one) for one in found],
        pictures=[(f"Throughput: {_place(one)}", plot_comparisons([one])) for one in found],
        tables=[(title(one), table(one)) for one in found],
        steady=_steady(named, found[0].latency, report, joint),
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


# -- schedules ----------------------------------------------------------------------------------


def _of_schedule(schedule: Schedule, report: Report) -> Section:
    found = _steady([(schedule.name, schedule)], "nominal", report)
    result = found[0][0].result
    told = [found[0][0].error] if result is None else [_achieved(schedule, result)]
    if result and result.profile and result.profile.critical:
        told.append(f"What sets the pace: {result.profile.critical.words}")
    return Section(
        title=f"{schedule.name} on {schedule.machine.name}",
        summary=told,
        tables=_source(schedule, result),
        steady=found,
        provenance={
            "twill": twill.__version__,
            "machine": schedule.machine.digest,
            **{f"solver {name}": version for name, version in schedule.solver.items()},
        },
    )


def _source(schedule: Schedule, result: Run | None) -> list[tuple[str, Table]]:
    """Return the annotated source, if there is one that ran."""
    if result is None or not any(operation.location for operation in schedule.loop.operations):
        return []
    found = annotate(schedule, result=result)
    return [
        (
            f"Source of {schedule.name}{f': {found.missing}' if found.missing else ''}",
            source_table(found),
        )
    ]


def _achieved(schedule: Schedule, result: Any) -> str:
    interval = result.measured_interval_cycles
    if interval is None:
        return f"{schedule.name}: too few iterations for a steady state"
    promised = result.static_interval_cycles
    kept = "" if promised is None else f"; promised were {promised:.6g}"
    return f"{schedule.name} takes {interval:.6g} cycles an iteration{kept}"


def _steady(
    named: Sequence[tuple[str, Schedule]],
    latency: str,
    report: Report,
    in_detail: set[str] | None = None,
) -> list[tuple[Steady, Timeline | None]]:
    """Run schedules; all, or those that are named, get a timeline."""
    found: list[tuple[Steady, Timeline | None]] = []
    for name, schedule in named[:MOST_STEADY]:
        report(f"steady state of {name}")
        one = steady(name, schedule, latency)
        found.append((one, timeline(one) if in_detail is None or name in in_detail else None))
    return found


def page(sections: Sequence[Section]) -> str:
    """Return the report as HTML; equal results give equal bytes."""
    import jinja2

    folder = importlib.resources.files("twill.studies.report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(folder.joinpath("report.html.j2").read_text("utf-8"))
    numbers = itertools.count(1)
    return template.render(
        sections=sections,
        inline=lambda text: inlined(text, f"f{next(numbers)}-"),
        colours=STRONG,
        style=folder.joinpath("report.css").read_text("utf-8"),
        script=folder.joinpath("report.js").read_text("utf-8"),
        version=twill.__version__,
        row=ROW,
        left=LEFT,
        width=WIDTH,
        axis=AXIS,
    )


def inlined(text: str, prefix: str) -> str:
    """Return an SVG document as an element of a page, in the page's colours.

    `prefix`: of its ids, which other figures of the page may have too.
    """
    text = text[text.index("<svg") :]
    for pattern, new in (
        (r"<metadata>(?s:.*?)</metadata>", ""),
        (r'\bid="', f'id="{prefix}'),
        (r"url\(#", f"url(#{prefix}"),
        (r'xlink:href="#', f'xlink:href="#{prefix}'),
        ("stroke: #000000", "stroke: currentColor"),
        ("fill: #ffffff", "fill: none"),
        (r'(<svg[^>]*?) height="[^"]*"', r"\1"),
        (r'(<svg[^>]*?) width="[^"]*"', r"\1"),
    ):
        text = re.sub(pattern, new, text)
    return text
