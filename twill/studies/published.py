"""What others measured on GPUs, beside what the simulator says of the same schedules.

Compared are ratios and cycles. Published TFLOP/s hide the clock (1.05 to 1.98 GHz on an H100). No
constant of a machine file comes from a figure that is compared here. The level of the one-SM GEMM's
plateau is left out, because the rate of TMA loads is the bandwidth that it reaches.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.order import Buffer, Order, OrderedGroup
from twill.artifacts.program import Issue
from twill.artifacts.schedule import Schedule
from twill.console import Report, paragraph, say, silent
from twill.formats import cycles, signed_percent
from twill.frontends.builder import LoopBuilder
from twill.frontends.schedules import load_schedule, scheduled
from twill.sim.engine import WARP_SCHEDULERS
from twill.sim.execute import run
from twill.tables import Column, Table

FA3 = "fa3_forward_128x176_parts"
NEITHER = f"{FA3}_no_overlap_no_ping_pong"
AIM = 0.10  # relative distance from the published range that still counts as matched
ABLATION = "FlashAttention-3 paper, text: 570, 620-640, 640-661 TFLOP/s"
TABLE = "FlashAttention-3 paper, Table 2: 582 and 661 TFLOP/s; its program is not published"
USE = "0.67 at a stated 1830 MHz, 0.75 by Nsight Compute, at most 0.87 by D = 256"
GEMM = "SemiAnalysis microbench-blackwell 9a068d8, one-SM GEMM of 128 x 128 x 64 tiles, L2-resident"
# Microseconds a k-tile by stages.
STAGES = {2: 0.5685, 3: 0.384, 4: 0.293, 5: 0.240, 6: 0.2096, 7: 0.2063}
GEMM_MHZ = 1965.0  # clock of that benchmark: 1993 cycles are 1014.2 ns in its files
FA4 = "FlashAttention-4: 1613 (paper) and 1535 TFLOP/s (PR 2280) at an assumed 1850 MHz"
COLUMNS = (
    Column("published"),
    Column("range", form=str),
    Column("simulated", form=str),
    Column("error", form=signed_percent),
    Column(f"within {AIM:.0%}", form=lambda matched: "matched" if matched else "MISSED"),
)
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "units slow each other down": {"interference": True},
    "oldest warp first": {"warp_scheduler": "oldest"},
    "loads take 600 to 2000 cycles": {"latency": "uniform:600,2000"},
    "no issue cost": {"without": ("issue-cost",)},
    "unlimited issue slots": {"without": ("issue-slots",)},
    "free synchronisation": {"without": ("synchronisation",)},
    "results at once": {"without": ("completion",)},
    "own ports": {"without": ("shared-ports",)},
    "unbounded queues": {"without": ("queues",)},
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
    yield _compared("FA3 without overlap, over full", 1.03, 1.07, ping_pong / full, ABLATION)
    for scheduler in WARP_SCHEDULERS:
        neither, _ = _interval(load_schedule(NEITHER), warp_scheduler=scheduler)
        note = f"warp scheduler {scheduler}: which of two ready warps issues decides the phase"
        yield _compared(
            f"FA3 with neither, over full, {scheduler}", 1.13, 1.16, neither / full, ABLATION, note
        )
        yield _compared(
            f"FA3 ablated, over full, {scheduler}", 1.137, 1.137, neither / full, TABLE, note
        )
    yield _compared("FA3 use of the tensor core", 0.67, 0.87, use, USE, "a known miss")
    yield from _gemm_by_stages()
    cycles, _ = _interval(load_schedule("fa4_forward"))
    yield _compared("FA4 cycles an iteration", 2850, 2997, cycles, FA4, "clock assumed", "cycles")


def _gemm_by_stages() -> Iterator[Figure]:
    """Compare the shape, one over the stages and then a plateau, and the round trip of a slot."""
    times = {stages: _interval(gemm(stages))[0] for stages in STAGES}
    for few, more in itertools.pairwise(STAGES):
        ratio = STAGES[few] / STAGES[more]
        what = f"one-SM GEMM, {few} stages over {more}"
        yield _compared(what, ratio, ratio, times[few] / times[more], GEMM)
    least = min(STAGES)
    cycles = least * STAGES[least] * GEMM_MHZ
    yield _compared(
        "one-SM GEMM, round trip of a slot, cycles",
        cycles,
        cycles,
        least * times[least],
        GEMM,
        "no uncontended latency of TMA on a B200 is published; borrowed from the H100",
        "cycles",
    )


def gemm(stages: int) -> Schedule:
    """Return the one-SM matrix product of 128 x 128 x 64 tiles with rings of some stages."""
    order = Order(
        name=f"one_sm_gemm_{stages}_stages",
        groups=(
            OrderedGroup(name="load", warps=1, variable_latency=True, body=_issues("a", "b")),
            OrderedGroup(name="mma", warps=1, body=_issues("c")),
        ),
        buffers=(Buffer(value="a", slots=stages), Buffer(value="b", slots=stages)),
        loop=_gemm_loop(),
        machine="blackwell_b200",
    )
    return scheduled(order)


def _issues(*names: str) -> tuple[Issue, ...]:
    return tuple(Issue(operation=name) for name in names)


def _gemm_loop() -> Loop:
    with LoopBuilder("one_sm_gemm", products="tmem") as loop:
        a = loop.load("a", (128, 64), "f16")
        b = loop.load("b", (64, 128), "f16")
        c = loop.carried("c", (128, 128), memory="tmem")
        c += a @ b
    return loop.build()


def _interval(schedule: Schedule, **options: Any) -> tuple[float, float]:
    result = run(schedule, **options)
    assert result.measured_interval_cycles is not None  # 64 iterations are enough to see one
    return result.measured_interval_cycles, result.utilization["tc"]


def _compared(
    what: str,
    low: float,
    high: float,
    simulated: float,
    source: str,
    note: str = "",
    unit: str = "ratio",
) -> Figure:
    nearest = min(max(simulated, low), high)
    error = simulated / nearest - 1
    return Figure(what, unit, low, high, simulated, error, abs(error) <= AIM, source, note)


def print_figures(found: Sequence[Figure]) -> None:
    """Print what is matched, with signed errors and sources."""
    table(found).print()
    for source in dict.fromkeys(one.source for one in found):
        paragraph(source)


def table(found: Sequence[Figure]) -> Table:
    """Return a row for each figure, in its unit."""
    rows = [
        [
            one.what,
            " to ".join(dict.fromkeys(_text(end, one.unit) for end in (one.low, one.high))),
            _text(one.simulated, one.unit),
            one.error,
            one.matched,
        ]
        for one in found
    ]
    return Table(COLUMNS, rows)


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
