"""What the bench of the solver measured, as tables, and its growth with the loop, drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from twill.base.console import say
from twill.base.figures import new_figure, save
from twill.base.files import inside
from twill.base.formats import MIB, count, cycles, mebibytes, number, seconds
from twill.base.tables import Column, Table
from twill.studies.bench import Bench, Growth, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOTAL, PEAK = Column("total", "s", seconds), Column("peak", "MiB", mebibytes)
OUTCOMES = (
    *map(Column, ("case", "machine", "engine", "time", "rules")),
    Column("operations", form=count),
    Column("interval", form=count),
    Column("interval", "cycles", cycles),
    Column("to the interval", "s", seconds),
    Column("to all levels", "s", seconds),
    *(TOTAL, PEAK),
    Column("proved"),
)
SPEEDUPS = (
    Column("case"),
    Column("default", "s", seconds),
    Column("verbatim", "s", seconds),
    Column("speed-up", form=number),
)
COUNTS = ("operations", "loops", "stopped", "no schedule")
GROWTH = (
    *map(Column, ("machine", "engine")),
    *(Column(heading, form=count) for heading in COUNTS),
    *(TOTAL, PEAK),
)
FORMATS = ("png", "svg")


def print_bench(bench: Bench) -> None:
    """Print the cases, the speed-ups and the growth with the size of the loop."""
    if bench.outcomes:
        Table(OUTCOMES, [_outcome_row(outcome) for outcome in bench.outcomes]).print()
    if bench.speedups:
        say("the default engine against the paper's formulation, in normalized time, paper rules")
        rows = [
            [s.name, s.seconds, f"{bound}{seconds(s.verbatim_seconds)}", f"{bound}{s.times:.3g}"]
            for s in bench.speedups
            for bound in ("> " if s.at_least else "",)
        ]
        Table(SPEEDUPS, rows).print()
    if bench.synthetic:
        say("synthetic loops: medians over the seeds")
        Table(GROWTH, [list(astuple(growth)) for growth in bench.growth]).print()
    for outcome in bench.outcomes:
        if outcome.message:
            say(
                f"{outcome.name}, {outcome.engine}, {outcome.time} time, {outcome.rules} rules: "
                f"{outcome.message}"
            )


def _outcome_row(o: Outcome) -> list[object]:
    return [
        *(o.name, o.machine, o.engine, o.time, o.rules),
        *(o.operations, o.interval_units, o.interval_cycles),
        *(o.seconds_to_interval, o.seconds_to_all_levels),
        f"> {o.timeout:g}" if o.status == "stopped" else o.seconds,
        *(o.peak_bytes, _proved(o)),
    ]


def _proved(o: Outcome) -> str:
    """Say which levels were proved, and what went wrong."""
    if o.status != "found":
        return o.status
    missing = [level for level, proved in o.proved.items() if not proved]
    levels = f"all but {', '.join(missing)}" if missing else "all levels"
    return levels if o.valid else f"{levels}; NOT VALID"


# -- the plot -------------------------------------------------------------------------------------


def plot_growth(bench: Bench, folder: Path) -> list[Path]:
    """Draw seconds and memory over operations as ``growth.png`` and ``growth.svg``.

    `bench`: its synthetic loops are drawn: points, medians as lines, and a triangle at the time
    after which a loop was stopped.
    """
    files = [inside(folder, f"growth.{kind}") for kind in FORMATS]
    with new_figure(10, 4) as figure:
        left, right = figure.subplots(1, 2)
        keys = dict.fromkeys((g.machine, g.engine) for g in bench.growth)
        for index, key in enumerate(keys):
            outcomes = [o for o in bench.synthetic if (o.machine, o.engine) == key]
            medians = [g for g in bench.growth if (g.machine, g.engine) == key]
            _draw(left, right, outcomes, medians, f"C{index}")
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
        left.yaxis.set_minor_formatter("")
        right.set_ylim(bottom=0)
        sizes = sorted({g.operations for g in bench.growth})
        _label(left, sizes, "time until the schedule (s)")
        _label(right, sizes, "peak memory (MiB)")
        for file in files:
            save(figure, file)
    return files


def _draw(
    left: Axes, right: Axes, outcomes: list[Outcome], medians: list[Growth], colour: str
) -> None:
    """Draw one machine and engine: seconds on the left, memory on the right."""
    label = f"{medians[0].machine}, {medians[0].engine}"
    solved = ((o.operations, o.seconds) for o in outcomes)
    stopped = ((o.operations, o.timeout) for o in outcomes if o.status == "stopped")
    left.plot(*_columns(solved), "o", color=colour, markersize=4, alpha=0.5)
    left.plot(*_columns(stopped), "^", color=colour, fillstyle="none")
    left.plot(*_columns((g.operations, g.seconds) for g in medians), color=colour, label=label)
    peaks = ((o.operations, o.peak_bytes and o.peak_bytes / MIB) for o in outcomes)
    middle = ((g.operations, g.peak_bytes and g.peak_bytes / MIB) for g in medians)
    right.plot(*_columns(peaks), "o", color=colour, markersize=4, alpha=0.5)
    right.plot(*_columns(middle), color=colour, label=label)


def _columns(points: Iterable[tuple[int | None, float | None]]) -> tuple[list[float], list[float]]:
    known = [(float(x), y) for x, y in points if x is not None and y is not None]
    return [x for x, _ in known], [y for _, y in known]


def _label(axes: Axes, sizes: list[int], what: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sizes, labels=[str(size) for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("operations")
    axes.set_ylabel(what)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
