"""Loops on machines: naive loops, pipelining alone, joint schedules and experts' side by side."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from twill.artifacts.base import Artifact, Part
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import SCHEDULES
from twill.base.console import WIDTH, Report, say, silent
from twill.base.errors import RefusedError
from twill.base.figures import HATCHES, STRONG, new_figure, svg_text
from twill.base.files import inside, make_folder, write_whole
from twill.base.formats import cycles, percent, ratio, signed_percent, teraflops
from twill.base.names import file_name
from twill.base.tables import Column, Table
from twill.bounds import bounds
from twill.problem import build_problem
from twill.sim.analysis import clock_of, flop_per_iteration
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError
from twill.sim.execute import Run, simulate
from twill.studies.subjects import Subject, experts, variant, variants_of
from twill.studies.subjects import Variant as Way

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

FILE = "comparison.json"
COLUMNS = {
    "variant": Column("variant"),
    "interval_cycles": Column("interval", "cycles", cycles),
    "iterations_per_kilocycle": Column("iter. per kilocycle", form="{:.4g}".format),
    "tflops": Column("TFLOP/s", form=teraflops),
    "tensor_core_utilization": Column("tensor core", form=percent),
    "speedup_over_sequential": Column("speed-up", form=ratio),
    "over_bound": Column("over the bound", form=signed_percent),
}
BAR_INCHES, FRAME_INCHES, HEIGHT_INCHES = 0.52, 1.6, 4.2
BARS = 0.86  # of the distance between groups of bars


class Variant(Part):
    """A way to execute the loop, with its results.

    `variant`: ``sequential``, ``multi-warp``, ``swp``, ``triton`` (of loops from Triton's dumps),
    ``joint`` (the schedule), or the name of a hand-written schedule of the same kernel.
    `interval_cycles`: measured cycles from one iteration to the next.
    `iterations_per_cycle`, `iterations_per_kilocycle`: its inverse.
    `flop_per_iteration`: floating-point operations of one iteration's matrix products on one SM: an
    expert's iteration may do more or less than ours.
    `tflops`: TFLOP/s of the chip at the stated clock; None where there is no product.
    `tensor_core_utilization`: share of the steady state for which the tensor core works.
    `utilization`: the same for every unit.
    `speedup_over_sequential`: how many times as fast as the loop as written: work per time over
    work per time.
    `bound_cycles`: no interval is smaller: the work of the busiest unit, or the slowest recurrence.
    `over_bound`: by what part of the bound the interval exceeds it.
    `note`: why the SM could not execute it (as it is), or why there is none; empty if it could.
    """

    variant: str
    interval_cycles: float | None
    iterations_per_cycle: float | None
    iterations_per_kilocycle: float | None
    flop_per_iteration: int
    tflops: float | None
    tensor_core_utilization: float | None
    utilization: dict[str, float]
    speedup_over_sequential: float | None
    bound_cycles: int
    over_bound: float | None
    note: str = ""


class Comparison(Part):
    """A loop on a machine.

    `iterations`, `seed`: of every run.
    `latency`: sources of the variable latencies; ``nominal`` for those in the machine file.
    `clock_mhz`: clock at which TFLOP/s are stated.
    `clock_source`: where the clock comes from.
    `variants`: in the order of `twill.studies.subjects.VARIANTS`, then experts.
    `files`: where `-o` puts what ran, by variant.
    `schedules`: the schedules themselves, by variant; not in the document.
    """

    loop: str
    machine: str
    iterations: int
    seed: int
    latency: str
    clock_mhz: float
    clock_source: str
    variants: tuple[Variant, ...]
    files: dict[str, str] = {}
    schedules: SkipJsonSchema[dict[str, Schedule]] = Field({}, exclude=True, repr=False)


class Comparisons(Artifact):
    """Loops on machines, compared (``comparison.json``).

    `comparisons`: in the order in which they were named.
    """

    schema_name: Literal["twill.comparison"] = Field("twill.comparison", alias="schema")
    schema_version: Literal[3] = 3
    comparisons: Annotated[tuple[Comparison, ...], Field(min_length=1)]


def document(comparisons: Iterable[Comparison]) -> Comparisons:
    """Return comparisons as the document that ``compare --json`` prints.

    Schedules of one name get files of different names.
    """
    taken: set[str] = set()
    found = []
    for one in comparisons:
        files = {}
        for name in one.schedules:
            files[name] = _free(f"{one.loop}.{one.machine}.{name}", taken)
            taken.add(files[name])
        found.append(one.model_copy(update={"files": files}))
    return Comparisons(comparisons=tuple(found))


def _free(name: str, taken: Container[str]) -> str:
    """Return a file's name that is not taken yet."""
    numbered = itertools.chain([name], (f"{name}#{count}" for count in itertools.count(2)))
    return next(file for n in numbered if (file := f"{file_name(n)}.json") not in taken)


def compare(
    subject: Subject, conditions: Conditions, *, timeout: float | None, report: Report
) -> Comparison:
    """Compare a subject's variants; a loop without a schedule is scheduled first.

    If it has none on its machine, that is the note of a row. `timeout`: seconds to schedule it.
    """
    place = f"{subject.name} on {subject.machine.name}"
    report(place)

    def within(message: str) -> None:
        report(f"{place}: {message}")

    try:
        schedule = subject.solved(timeout=timeout, report=within)
        subject = replace(subject, loop=schedule.loop, schedule=schedule)
    except RefusedError as error:
        subject = replace(subject, refusal=str(error))
    return comparison(subject, conditions, within)


def comparison(
    subject: Subject | Schedule, conditions: Conditions | None = None, report: Report = silent
) -> Comparison:
    """Simulate a schedule, other ways to execute its loop on its machine, and experts' schedules.

    `subject`: the naive loops use its loop, machine and ring depths.
    `conditions`: a latency source for a single load concerns hand-written schedules only where they
    have a load of that name.
    """
    conditions = conditions or Conditions()
    one = Subject.of(subject) if isinstance(subject, Schedule) else subject
    runs: list[tuple[Way, Run | None]] = []
    ways = [variant(name, one, report) for name in variants_of(one.loop)]
    for way in ways + experts(one):
        report(way.name)
        runs.append(_run(way, conditions))
    clock_mhz, clock_source = clock_of(one.machine, conditions.clock)
    base = _pace(runs[0][1])
    return Comparison(
        loop=one.loop.name,
        machine=one.machine.name,
        iterations=conditions.iterations,
        seed=conditions.seed,
        latency=conditions.latency_text,
        clock_mhz=clock_mhz,
        clock_source=clock_source,
        variants=tuple(_variant(way, result, base, one) for way, result in runs),
        schedules={way.name: way.schedule for way, _ in runs if way.schedule is not None},
    )


def _run(way: Way, conditions: Conditions) -> tuple[Way, Run | None]:
    """Return what a variant achieved; nothing, and a note that says why, if it cannot run."""
    if way.schedule is None:
        return way, None
    names = {operation.name for operation in way.schedule.loop.operations}
    own = tuple(t for t in conditions.latency if "=" not in t or t.partition("=")[0] in names)
    try:
        return way, simulate(way.schedule, replace(conditions, latency=own))
    except SimulationError as error:
        return replace(way, note=str(error)), None


def _pace(result: Run | None) -> float | None:
    """Return work per cycle: FLOP where there are products, else iterations."""
    if result is None or not result.measured_interval_cycles:
        return None
    return (result.flop_per_iteration or 1) / result.measured_interval_cycles


def _variant(way: Way, result: Run | None, base: float | None, subject: Subject) -> Variant:
    ran = way.schedule or subject
    interval = result.measured_interval_cycles if result else None
    bound = bounds(build_problem(ran.loop, ran.machine)).interval
    pace = _pace(result)
    units = [unit for unit, u in ran.machine.units.items() if u.in_order]
    utilization = result.utilization if result else {}
    return Variant(
        variant=way.name,
        interval_cycles=interval,
        iterations_per_cycle=1 / interval if interval else None,
        iterations_per_kilocycle=1000 / interval if interval else None,
        flop_per_iteration=flop_per_iteration(ran.loop),
        tflops=result.tflops if result else None,
        tensor_core_utilization=utilization.get(units[0]) if units else None,
        utilization=utilization,
        speedup_over_sequential=pace / base if pace and base else None,
        bound_cycles=bound,
        over_bound=interval / bound - 1 if interval else None,
        note=way.note,
    )


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print a table for each loop and machine."""
    for one in comparisons:
        say(textwrap.fill(title(one), WIDTH))
        table(one).print()


def title(one: Comparison) -> str:
    """Return what was compared under which conditions, in a line."""
    return (
        f"{one.loop} on {one.machine}: {one.iterations} iterations, {one.latency} load latency, "
        f"seed {one.seed}, {one.clock_mhz:g} MHz"
    )


def table(one: Comparison) -> Table:
    """Return a row for each variant, with notes below."""
    notes = [f"{v.variant}: {v.note}" for v in one.variants if v.note]
    rows = [[getattr(v, name) for name in COLUMNS] for v in one.variants]
    return Table([*COLUMNS.values()], rows, notes=notes)


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the tables in Markdown."""
    return "\n".join(f"### {title(one)}\n\n{table(one).markdown()}" for one in comparisons)


def frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return a tidy frame: a row for each variant of each loop and machine."""
    import pandas as pd

    return pd.DataFrame(
        {
            "loop": one.loop,
            "machine": one.machine,
            "iterations": one.iterations,
            "seed": one.seed,
            "latency": one.latency,
            "clock_mhz": one.clock_mhz,
            **{key: value for key, value in variant.model_dump().items() if key != "utilization"},
            **{f"utilization_{unit}": share for unit, share in variant.utilization.items()},
        }
        for one in comparisons
        for variant in one.variants
    )


def write_comparisons(comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Write JSON, CSV, Markdown, the plot and the schedules; return the files.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    make_folder(folder / SCHEDULES)
    found = document(comparisons)
    texts = {
        FILE: found.to_json(),
        "comparison.csv": frame(comparisons).to_csv(index=False, lineterminator="\n"),
        "comparison.md": markdown(comparisons),
        "comparison.svg": plot_comparisons(comparisons),
    }
    written = {inside(folder, name): text for name, text in texts.items()}
    kept = {
        inside(folder, SCHEDULES, file): one.schedules[name].to_json()
        for one in found.comparisons
        for name, file in one.files.items()
    }
    for file, text in (written | kept).items():
        write_whole(file, text)
    return [*written]


def plot_comparisons(comparisons: Sequence[Comparison]) -> str:
    """Return the chart as SVG: TFLOP/s, or iterations per kilocycle where nothing is multiplied.

    Each loop and machine is a panel with a bar for each variant; a line shows the bound.
    """
    widths = [len(one.variants) for one in comparisons]
    width = BAR_INCHES * sum(widths) + FRAME_INCHES * len(widths)
    with new_figure(max(5.0, width), HEIGHT_INCHES, font_size=9, hatch_color="white") as figure:
        panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
        for axes, one in zip(panels, comparisons, strict=True):
            _panel(axes, one)
        return svg_text(figure)


def _panel(axes: Axes, one: Comparison) -> None:
    products = all(v.tflops is not None for v in one.variants if v.interval_cycles)
    for place, v in enumerate(one.variants):
        height = v.tflops if products else v.iterations_per_kilocycle
        axes.bar(
            place,
            height or 0.0,
            width=BARS,
            color=STRONG[place % len(STRONG)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
        )
        label = "none" if height is None else f"{height:.0f}" if products else f"{height:.3g}"
        axes.annotate(
            label, (place, height or 0.0), (0, 2), textcoords="offset points", ha="center"
        )
        if height is not None and v.interval_cycles is not None:
            # What the variant's own loop would reach at its bound.
            bound = height * v.interval_cycles / v.bound_cycles
            axes.hlines(bound, place - BARS / 2, place + BARS / 2, color="black", linewidth=1.2)
    names = [v.variant for v in one.variants]
    labels = [n if len(n) <= 16 else n.replace("_forward", "").replace("_", " ") for n in names]
    axes.set_xticks(range(len(names)), labels=labels)
    axes.tick_params(axis="x", labelrotation=40, length=0)
    for tick in axes.get_xticklabels():
        tick.set(horizontalalignment="right", rotation_mode="anchor")
    clock = f"TFLOP/s of the chip at {one.clock_mhz:g} MHz"
    axes.set_ylabel(clock if products else "iterations per kilocycle")
    axes.set_title(f"{one.loop}\n{one.machine}; line: bound", fontsize=9)
    axes.margins(y=0.12)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.set_axisbelow(True)
