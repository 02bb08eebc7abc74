"""What others measured on GPUs, held against what no program on the simulated SM is below.

A figure below its bound would show that the bound, and so a cost of the machine file, is wrong.
Cycles of a figure are its time at the clock that its source states, otherwise at the highest that
the GPU has: at a lower clock the same time is fewer cycles, which no source excludes, so that what
is below a bound even then is below it for certain. Of the arguments of a bound those of work
count: they also hold where several blocks share an SM, and for loops of few iterations.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import typer
from pydantic import Field

from tests.validation import AsJson, one_sm_gemm, program, tell
from twill.artifacts.base import Part, parse_toml
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.base.console import paragraph, run_app
from twill.base.formats import cycles
from twill.base.tables import Column, Table
from twill.bounds.arguments import Argument
from twill.bounds.programs import program_bounds
from twill.frontends import load_loop, packaged_loops
from twill.frontends.schedules import load_schedule
from twill.sim.analysis import flop_per_iteration

FILE = Path(__file__).with_name("published.toml")
LEAST_LATENCY = 1  # cycles of every load: bounds that hold wherever the data come from
COLUMNS = (
    Column("kernel"),
    Column("machine"),
    Column("what"),
    Column("figures", form=str),
    Column("clock", "MHz", form=str),
    Column("power"),
    Column("least", "cycles", form="{:.0f}".format),
    Column("bound", "cycles", form=cycles),
    Column("unit"),
    Column("least\nover bound", form="{:.3f}".format),
    Column("below", form=str),
    Column("left\nout"),
)


class _Clock(Part):
    mhz: float
    source: str


class Series(Part):
    """Figures of one kernel; tests/validation/published.toml says what its entries are."""

    kernel: str
    what: str
    source: str
    machine: str
    loop: str
    program: str | None = None
    units: tuple[str, ...] | None = Field(None, strict=False)
    because: str = ""
    clock: float | None = None
    heads: int | None = None
    batch: int | None = None
    tokens: int | None = None
    persistent: bool | None = None
    sharing: int = 1
    teraflops: dict[str, float]


class _Published(Part):
    clocks: dict[str, _Clock]
    series: tuple[Series, ...] = Field(strict=False)


@dataclass(frozen=True)
class Held:
    """A published figure and the bound that it is held against.

    Attributes
    ----------
    kernel, what : str
        What was measured.
    at : str
        Sequence length, or tile and stages of the one-SM GEMM.
    source : str
        Where it is published.
    machine, loop : str
        Whose bound: a machine file, and the loop that has the tile or the work of the kernel.
    published : float
        The figure.
    unit : str
        Its unit: ``TFLOP/s``, or ``us`` a k-tile.
    clock_mhz : float
        At which its cycles are counted.
    clock_stated : bool
        Whether its source states that clock; otherwise it is the highest that the GPU has.
    power : bool
        Whether all SMs were at work, so that power may have lowered the clock.
    cycles : float
        Published cycles an iteration of the loop.
    bound_cycles : float
        What no program takes less than.
    unit_of_bound : str
        Whose work it is.
    rounding_cycles : int
        Cycles by which whole cycles may make it too large: costs are rounded up, so that it is
        less than one for every operation that the unit has work of.
    below : bool
        Whether the figure is below the bound, by more than that.
    left_out : str
        Why the work of other units does not count, where it does not.
    """

    kernel: str
    what: str
    at: str
    source: str
    machine: str
    loop: str
    published: float
    unit: Literal["TFLOP/s", "us"]
    clock_mhz: float
    clock_stated: bool
    power: bool
    cycles: float
    bound_cycles: float
    unit_of_bound: str
    rounding_cycles: int
    below: bool
    left_out: str


def held(machine_of: Callable[[str], Machine] = Machine.named) -> list[Held]:
    """Return every published figure with its bound.

    Those are the figures of tests/validation/published.toml, and the one-SM GEMM's.

    `machine_of`: the machine of a name, to try others than the packaged ones.
    """
    published, machines = _published(), functools.cache(machine_of)
    found: list[Held] = []
    for series in published.series:
        clock = series.clock or published.clocks[series.machine].mhz
        found += _series(series, clock, machines(series.machine))
    return [*found, *_one_sm_gemms(machines("blackwell_b200"))]


def every_series() -> tuple[Series, ...]:
    """Return the series of tests/validation/published.toml."""
    return _published().series


def _published() -> _Published:
    return _Published.model_validate(parse_toml(FILE.read_bytes(), FILE.name))


def _series(series: Series, clock: float, machine: Machine) -> Iterator[Held]:
    loop = _loop(series.loop)
    argument = _largest(loop, machine, series.units)
    flop = flop_per_iteration(loop) * machine.multiprocessors.value
    for at, teraflops in series.teraflops.items():
        cycles = flop / teraflops / 1e6 * clock
        yield Held(
            kernel=series.kernel,
            what=series.what,
            at=at,
            source=series.source,
            machine=series.machine,
            loop=loop.name,
            published=teraflops,
            unit="TFLOP/s",
            clock_mhz=clock,
            clock_stated=series.clock is not None,
            power=True,
            **_against(argument, cycles),
            left_out=series.because,
        )


def _one_sm_gemms(machine: Machine) -> Iterator[Held]:
    largest = functools.cache(lambda tile: _largest(one_sm_gemm.loop(*tile), machine))
    for one in one_sm_gemm.measured(machine):
        tile = " x ".join(map(str, one.tile))
        yield Held(
            kernel="CUTLASS GEMM",
            what=f"one SM, {one.k} of depth",
            at=f"{tile}, {one.stages} stages",
            source=one_sm_gemm.SOURCE,
            machine=machine.name,
            loop="one_sm_gemm",
            published=one.cycles / one_sm_gemm.CLOCK_MHZ,
            unit="us",
            clock_mhz=one_sm_gemm.CLOCK_MHZ,
            clock_stated=True,
            power=False,
            **_against(largest(one.tile), one.cycles),
            left_out="",
        )


def _against(argument: Argument, cycles: float) -> dict[str, Any]:
    """Return the cycles of a figure, its bound, and whether it is below."""
    bound, rounding = float(argument.cycles), len(argument.figures)
    return {
        "cycles": cycles,
        "bound_cycles": bound,
        "unit_of_bound": argument.of[0],
        "rounding_cycles": rounding,
        "below": cycles <= bound - rounding,
    }


@functools.cache
def _loop(name: str) -> Loop:
    return load_loop(name) if name in packaged_loops() else load_schedule(name).loop


def _largest(loop: Loop, machine: Machine, units: tuple[str, ...] | None = None) -> Argument:
    """Return the largest argument of work that holds for a kernel, of all units or of some."""
    return next(
        one
        for one in program_bounds(loop, machine, latency=LEAST_LATENCY)
        if one.reason == "work" and (units is None or one.of[0] in units)
    )


def print_held(found: Sequence[Held]) -> None:
    """Print a line a series with its figure that is nearest to the bound, and the sources."""
    table(found).print()
    for source in dict.fromkeys(one.source for one in found):
        paragraph(source)


def table(found: Sequence[Held]) -> Table:
    """Return a row for each kernel, problem and source, and the counts of all."""
    reasons = dict.fromkeys(one.left_out for one in found if one.left_out)
    letters = {"": ""} | dict(zip(reasons, string.ascii_uppercase, strict=False))
    series: dict[tuple[str, ...], list[Held]] = {}
    for one in found:
        series.setdefault((one.kernel, one.machine, one.what, one.source), []).append(one)
    rows = [[*names[:3], len(some), *_nearest(some), letters[some[0].left_out]]
            for names, some in series.items()]  # fmt: skip
    nearest = _nearest(found)
    every = ["all", "", "", len(found), *[""] * 5, *nearest[-2:], ""]
    notes = [f"{letters[reason]}: {reason}" for reason in reasons]
    return Table(COLUMNS, rows, totals=[every], notes=notes)


def _nearest(some: Sequence[Held]) -> list[object]:
    """Return the cells of the figure that is nearest to its bound, and how many are below."""
    one = min(some, key=lambda one: one.cycles / one.bound_cycles)
    ratio, below = one.cycles / one.bound_cycles, sum(one.below for one in some)
    clock = f"{'' if one.clock_stated else 'up to '}{one.clock_mhz:.0f}"
    power = "yes" if one.power else "no"
    return [clock, power, one.cycles, one.bound_cycles, one.unit_of_bound, ratio, below]


def main(as_json: AsJson = False) -> None:
    """Hold all published figures against what no program is below; status 1 if one is below."""
    found = held()
    tell(found, lambda: print_held(found), as_json=as_json)
    if any(one.below for one in found):
        raise typer.Exit(1)


app = program(main)
if __name__ == "__main__":
    run_app(app)
