"""What others measured on GPUs, beside what the simulator says: ``tests.validation.published``.

Compared are ratios and cycles. Published TFLOP/s hide the clock (1.05 to 1.98 GHz on an H100). No
constant of a machine file comes from a figure that is compared here. What may not be compared is
shown beside, with the reason.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from typer import Option

from tests.validation import AsJson, program, tell
from tests.validation.one_sm_gemm import SOURCE, measured, simulated
from twill.artifacts.hardware import CommandQueue, Count
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, paragraph, progress, run_app, say, silent
from twill.base.formats import cycles, signed_percent
from twill.base.tables import Column, Table
from twill.frontends.schedules import load_schedule
from twill.sim.engine import WARP_SCHEDULERS
from twill.sim.execute import run

FA3 = "fa3_forward_128x176_parts"
NEITHER = f"{FA3}_no_overlap_no_ping_pong"
AIM = 0.10  # relative distance from the published range that still counts as matched
ABLATION = "FlashAttention-3 paper, text: 570, 620-640, 640-661 TFLOP/s"
TABLE = "FlashAttention-3 paper, Table 2: 582 and 661 TFLOP/s"
USE = "TileSight, Table 4: FlashAttention-3 by Nsight Compute on an H100, which counts cycles"
FA4 = "FlashAttention-4: 1613 (paper) and 1535 TFLOP/s (PR 2280) at an assumed 1850 MHz"
FA4_NEWER = "flash-attention #2605: 1745 TFLOP/s, at 1850 and at 1755 MHz"
# Configurations of the one-SM GEMM that the machine file's constants are not from, and the one that
# is quoted most, whose factors take more than 48 MiB.
GEMM, LARGE_GEMM = (128, 64, 32), (128, 128, 64)
STAGES = {GEMM: range(2, 6), LARGE_GEMM: range(2, 8)}  # more make them no faster
TWO_CTAS = "its products are of two CTAs, which are not modelled"
UNKNOWN_PROGRAM = "its program is not published"
LARGE = "more than 48 MiB of factors: round trips are longer, and why is not known"
COLUMNS = (
    Column("published"),
    Column("range", form=str),
    Column("simulated", form=str),
    Column("error", form=signed_percent),
    Column(f"within {AIM:.0%}", form=str),
    Column("clock in it", form=str),
)
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no register slots of products": {"without": ("register-slots",)},
    "no shares of the port": {"without": ("memory-port",)},
    "no hand-overs": {"without": ("hand-overs",)},
    "oldest warp first": {"warp_scheduler": "oldest"},
    "loads take 600 to 2000 cycles": {"latency": "uniform:600,2000"},
    "no issue cost": {"without": ("issue-cost",)},
    "unlimited issue slots": {"without": ("issue-slots",)},
    "free synchronisation": {"without": ("synchronisation",)},
    "results at once": {"without": ("completion",)},
    "own ports": {"without": ("shared-ports",)},
    "products hold who issues, 1 queued": {"queued": 1},
    "products hold who issues, 4 queued": {"queued": 4},
    "products hold who issues, 16 queued": {"queued": 16},
}


@dataclass(frozen=True)
class Figure:
    """One published figure.

    Attributes
    ----------
    what : str
        What is compared.
    unit : str
        Of the figures; ``ratio`` where they have none.
    low, high : float
        Published range.
    simulated : float
        Ours.
    error : float
        Signed distance from the nearest end of the range, relative to it; 0 inside.
    matched : bool
        Whether that is at most `AIM`.
    source : str
        Where it is published.
    clock : bool
        Whether another clock, or power, can be in the published figure.
    shown_because : str
        Why it is shown only; empty where it is compared.
    note : str
        What to know about it.
    """

    what: str
    unit: str
    low: float
    high: float
    simulated: float
    error: float
    matched: bool
    source: str
    clock: bool = True
    shown_because: str = ""
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """Use of the tensor core with one mechanism switched, for the schedules compared.

    Attributes
    ----------
    what : str
        The switch.
    schedule : str
        Which packaged schedule.
    interval_cycles, tensor_core : float
        What it achieves.
    """

    what: str
    schedule: str
    interval_cycles: float
    tensor_core: float


def figures(report: Report = silent) -> list[Figure]:
    """Simulate the schedules of which measurements are published."""
    found = []
    for one in _every():
        found.append(one)
        report(one.what)
    return found


def experiments(report: Report = silent) -> list[Experiment]:
    """Switch one mechanism at a time in FlashAttention-3's schedules."""
    found = []
    for what, options in EXPERIMENTS.items():
        for name in (FA3, f"{FA3}_wait_hoisted", f"{FA3}_no_overlap", NEITHER):
            report(f"{what}: {name}")
            interval, use = _interval(load_schedule(name), **options)
            found.append(Experiment(what, name, interval, use))
    return found


def _every() -> Iterator[Figure]:
    full, use = _interval(load_schedule(FA3))
    ping_pong, _ = _interval(load_schedule(f"{FA3}_no_overlap"))
    yield _figure("FA3 without overlap, over full", (1.03, 1.07), ping_pong / full, ABLATION)
    for scheduler in WARP_SCHEDULERS:
        neither, _ = _interval(load_schedule(NEITHER), warp_scheduler=scheduler)
        note = f"warp scheduler {scheduler}: which of two ready warps issues decides the phase"
        what, ratio = f"over full, {scheduler}", neither / full
        yield _figure(f"FA3 with neither, {what}", (1.13, 1.16), ratio, ABLATION, note=note)
        ablated = _figure(f"FA3 ablated, {what}", (1.137, 1.137), ratio, TABLE, note=note)
        yield replace(ablated, shown_because=UNKNOWN_PROGRAM)
    note = "not met: 0.93 if units slow each other down, the rest is not known; docs/gpu.md"
    yield _figure("FA3 use of the tensor core", (0.75, 0.75), use, USE, note=note, clock=False)
    yield from _gemms()
    taken, _ = _interval(load_schedule("fa4_forward"))
    for ends, source in (((2850.0, 2997.0), FA4), ((2498.0, 2633.0), FA4_NEWER)):
        figure = _figure("FA4 cycles an iteration", ends, taken, source, unit="cycles")
        yield replace(figure, shown_because=TWO_CTAS)


def _gemms() -> Iterator[Figure]:
    """Compare cycles of a k-tile by stages: one over the stages, then the rows of the loads."""
    machine = Machine.named("blackwell_b200")
    for one in measured(machine):
        if one.stages not in STAGES.get(one.tile, ()) or one.automatic:
            continue
        ours, tile = simulated(one, machine).cycles, " x ".join(map(str, one.tile))
        what = f"one-SM GEMM {tile}, {one.stages} stages"
        figure = _figure(what, (one.cycles, one.cycles), ours, SOURCE, unit="cycles", clock=False)
        yield replace(figure, shown_because=LARGE if one.tile == LARGE_GEMM else "")


def _interval(
    schedule: Schedule, *, queued: int | None = None, **options: Any
) -> tuple[float, float]:
    """Return the interval and the use of the tensor core.

    `queued`: products that fit into its queue, beyond which they hold the warps that issue them.
    """
    if queued is not None:
        schedule = _with_queue(schedule, queued)
    result = run(schedule, **options)
    assert result.measured_interval_cycles is not None  # 64 iterations are enough to see one
    return result.measured_interval_cycles, result.utilization["tc"]


def _with_queue(schedule: Schedule, depth: int) -> Schedule:
    source = "MODEL: tried; no depth is published"
    count = Count(value=depth, unit="commands", source=source)
    queue = CommandQueue(depth=count, source=source)
    units = schedule.machine.units
    unit = units["tc"].model_copy(update={"queue": queue})
    machine = schedule.machine.model_copy(update={"units": {**units, "tc": unit}})
    return schedule.model_copy(update={"machine": machine})


def _figure(
    what: str,
    ends: tuple[float, float],
    ours: float,
    source: str,
    *,
    note: str = "",
    unit: str = "ratio",
    clock: bool = True,
) -> Figure:
    error = ours / min(max(ours, ends[0]), ends[1]) - 1
    matched = abs(error) <= AIM
    return Figure(what, unit, *ends, ours, error, matched, source, clock, note=note)


def print_figures(found: Sequence[Figure]) -> None:
    """Print what is matched, with signed errors and sources."""
    table(found).print()
    for source in dict.fromkeys(one.source for one in found):
        paragraph(source)


def table(found: Sequence[Figure]) -> Table:
    """Return a row for each figure, in its unit."""
    reasons = dict.fromkeys(one.shown_because for one in found if one.shown_because)
    letters = {"": ""} | dict(zip(reasons, string.ascii_uppercase, strict=False))
    rows = [
        [
            one.what,
            " to ".join(dict.fromkeys(_text(end, one.unit) for end in (one.low, one.high))),
            _text(one.simulated, one.unit),
            one.error,
            letters[one.shown_because] or ("matched" if one.matched else "MISSED"),
            "possible" if one.clock else "no",
        ]
        for one in found
    ]
    compared = [one.matched for one in found if not one.shown_because]
    notes = [f"{sum(compared)} of {len(compared)} that are compared are matched."]
    notes += [f"{letters[reason]}: shown only, {reason}." for reason in reasons]
    return Table(COLUMNS, rows, notes=notes)


def _text(value: float, unit: str) -> str:
    """Return a ratio with three digits behind the point, or whole cycles."""
    return f"{value:.3f}" if unit == "ratio" else cycles(round(value))


def print_experiments(found: Sequence[Experiment]) -> None:
    """Print intervals and use of the tensor core, a line for each switch."""
    names = dict.fromkeys(one.schedule for one in found)
    letters = string.ascii_uppercase[: len(names)]
    rows: dict[str, list[object]] = {}
    for one in found:
        text = f"{one.interval_cycles:.0f} {one.tensor_core:.0%}"
        rows.setdefault(one.what, [one.what]).append(text)
    columns = [Column("switched"), *(Column(letter, form=str) for letter in letters)]
    Table(columns, [*rows.values()]).print()
    say("cycles an iteration, and use of the tensor core")
    for letter, name in zip(letters, names, strict=True):
        say(f"{letter}: {name}")


def main(
    switches: Annotated[
        bool, Option("--switches", help="Switch one mechanism at a time instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare hand-written schedules of published kernels with what was measured."""
    with progress("published figures") as report:
        tried = experiments(report) if switches else []
        found = [] if switches else figures(report)
    if switches:
        tell(tried, lambda: print_experiments(tried), as_json=as_json)
    else:
        tell(found, lambda: print_figures(found), as_json=as_json)


app = program(main)
if __name__ == "__main__":
    run_app(app)
