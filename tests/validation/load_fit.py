"""The cost of TMA loads on a B200, fitted to a one-SM GEMM; and what it predicts.

With few stages nothing but a slot's round trip sets the pace: its group waits until it is free,
loads follow each other on the TMA unit row by row, the product is issued when the later tile is
there and frees the slot. Stages times the measured time is its length. With many stages the loads
of an iteration follow those of the one before on the unit, and time over rows is what a row costs.

The row cost is that of the fastest of the tiles, since anything else that takes time makes a tile
slower. Latency and cycles per KiB follow from the round trips by least squares of relative errors.
Only configurations with `FIT_DEPTHS` and at most `MOST_FOOTPRINT` bytes are used: those with
`FIT_STAGES` for their round trips, those that more stages would not make faster for the row cost.
All others are compared with the simulated SM, which has the machine file's constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

import numpy as np
import numpy.typing as npt
from typer import Argument

from tests.validation import AsJson, program, tell
from tests.validation.one_sm_gemm import SOURCE, Configuration, loop, measured, simulated
from twill.artifacts.base import Part
from twill.artifacts.loop import Operation
from twill.artifacts.machine import Machine
from twill.base.console import Report, paragraph, progress, run_app, silent
from twill.base.errors import InputError
from twill.base.formats import count, number, percent, signed_percent
from twill.base.tables import Column, Table

CONSTANTS = ("tma_latency", "tma_row", "tma_latency_per_kib")
FIT_STAGES = (2, 3)
FIT_DEPTHS = (16, 64)
MOST_FOOTPRINT = 48 << 20
BOX_BYTES = 128  # of a row that one box holds where it is swizzled
LEAST_ERROR = 0.15  # relative distance that still counts as close
PLATEAU = 0.02  # relative distance from the least time of a tile that still is its plateau
ROUNDS = 20  # of least squares
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Constant:
    """A constant of the machine file, fitted.

    Attributes
    ----------
    name, unit : str
        As in the machine file.
    fitted, error : float
        The fit and how certain it is, in that unit: a standard error; of the row cost, by how much
        half of the tiles exceed it.
    in_file : float
        What the machine file has.
    """

    name: str
    unit: str
    fitted: float
    error: float
    in_file: float


@dataclass(frozen=True)
class Compared:
    """A measured configuration beside the simulated one.

    Attributes
    ----------
    m, n, k, stages : int
        The tile in elements, and slots of the ring.
    automatic : bool
        Whether the benchmark left the number of stages to CUTLASS.
    footprint : int
        Bytes of both factors.
    measured_cycles, simulated_cycles : float
        From one k-tile to the next.
    level_error : float
        Signed, relative to what was measured.
    shape_error : float
        The same after both are divided by the times of the tile's fastest measured configuration.
    fitted, judged : bool
        Whether the constants are from it; whether the comparison counts.
    plateau : bool
        Whether more stages make it faster by less than `PLATEAU`, as measured.
    """

    m: int
    n: int
    k: int
    stages: int
    automatic: bool
    footprint: int
    measured_cycles: float
    simulated_cycles: float
    level_error: float
    shape_error: float
    fitted: bool
    judged: bool
    plateau: bool


class LoadFit(Part):
    """Constants and comparison.

    Attributes
    ----------
    machine, source : str
        Of which machine file; where the measurements are published.
    constants : tuple of Constant
        Fitted.
    round_trips : int
        How many they are fitted to.
    mean_error : float
        Mean relative distance of those from the fit.
    plateaus : int
        Configurations that the row cost is the least of.
    configurations : tuple of Compared
        All that were measured.
    """

    machine: str
    source: str
    constants: tuple[Constant, ...]
    round_trips: int
    mean_error: float
    plateaus: int
    configurations: tuple[Compared, ...]


@dataclass(frozen=True)
class Measured:
    """What was measured, and which part of it the constants are from."""

    every: tuple[Configuration, ...]

    def least(self, tile: tuple[int, int, int]) -> float:
        """Return the cycles of a tile's fastest configuration."""
        return min(one.cycles for one in self.every if one.tile == tile)

    def is_plateau(self, one: Configuration) -> bool:
        """Return whether more stages make a configuration hardly faster."""
        return one.cycles <= (1 + PLATEAU) * self.least(one.tile)

    @property
    def round_trips(self) -> list[Configuration]:
        """Those of which the round trip counts."""
        few = [one for one in self._usable if one.stages in FIT_STAGES and not one.automatic]
        return [one for one in few if not self.is_plateau(one)]

    @property
    def plateaus(self) -> list[Configuration]:
        """Those of which the time for each row counts."""
        return [one for one in self._usable if self.is_plateau(one)]

    @property
    def _usable(self) -> list[Configuration]:
        return [one for one in self.every if is_small(one) and one.k in FIT_DEPTHS]


def is_small(one: Configuration) -> bool:
    """Return whether both factors stay where round trips are explained."""
    return one.footprint <= MOST_FOOTPRINT


def load_fit(machine: Machine, report: Report = silent) -> LoadFit:
    """Fit the constants of a machine's TMA loads anew, and compare the machine file's.

    Raises
    ------
    InputError
        If the machine is none of the kind that was measured, or has no such constants.
    """
    missing = [name for name in CONSTANTS if name not in machine.constants]
    if missing:
        raise InputError(f"{machine.name} has no constant named {', '.join(missing)}")
    found = Measured(measured(machine))
    fitted = fit(found, machine)
    stated = {name: machine.constants[name] for name in CONSTANTS}
    return LoadFit(
        machine=machine.name,
        source=SOURCE,
        constants=tuple(
            Constant(name, stated[name].unit, *fitted.constants[name], stated[name].value)
            for name in CONSTANTS
        ),
        round_trips=len(found.round_trips),
        mean_error=fitted.mean_error,
        plateaus=len(found.plateaus),
        configurations=tuple(_compared(found, machine, report)),
    )


# -- the fit --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """Constants by name, each with its error, and the mean relative error of the round trips."""

    constants: dict[str, tuple[float, float]]
    mean_error: float


def ways(one: Configuration, machine: Machine) -> Numbers:
    """Return what a slot's round trip is made of, a row for each way that can be the longest.

    A row is cycles that do not depend on the constants, then how often each of `CONSTANTS` counts
    in it. The tile of ``a`` may be the later one, or that of ``b``, which queues behind ``a`` or is
    issued when the TMA unit is done with it.
    """
    made, signals = loop(*one.tile), machine.synchronisation
    a, b, c = (made.operation(name) for name in "abc")
    product = machine.cost(c).latency
    first = signals.wait.value
    second = 2 * first + machine.cost(a).issue
    return np.array(
        [
            (first + product, 1, _box_rows(a), _kib(a)),
            (first + product, 1, _box_rows(a) + _box_rows(b), _kib(b)),
            (second + product, 1, _box_rows(b), _kib(b)),
        ]
    )


def round_trip(one: Configuration, machine: Machine) -> float:
    """Return the length of a slot's round trip by the machine file's constants, in cycles."""
    values = [machine.constants[name].value for name in CONSTANTS]
    return float((ways(one, machine) @ [1, *values]).max())


def fit(found: Measured, machine: Machine) -> Fitted:
    """Return the constants with their errors.

    The error of the row cost is by how much half of the tiles exceed it, that of the others their
    standard error.
    """
    by_tile: dict[tuple[int, int, int], float] = {}
    for one in found.plateaus:
        made = loop(*one.tile)
        rows = sum(_box_rows(made.operation(name)) for name in "ab")
        by_tile[one.tile] = min(one.cycles / rows, by_tile.get(one.tile, math.inf))
    row = min(by_tile.values())
    values, errors, distances = _least_squares(found.round_trips, machine, row)
    (latency, per_kib), (latency_error, per_kib_error) = values, errors
    constants = {
        "tma_latency": (float(latency), float(latency_error)),
        "tma_row": (row, median(by_tile.values()) - row),
        "tma_latency_per_kib": (float(per_kib), float(per_kib_error)),
    }
    return Fitted(constants, float(np.abs(distances).mean()))


def _least_squares(
    chosen: Sequence[Configuration], machine: Machine, row: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Return latency and cycles per KiB, their standard errors, and the relative distances.

    A round trip is as long as the longest of several sums. Which one that is follows from the
    constants of the round of least squares before, until it does not change.
    """
    every = np.stack([ways(one, machine) for one in chosen])
    lengths = np.array([one.stages * one.cycles for one in chosen])
    longest = every[:, :, 2].argmax(axis=1)
    for _ in range(ROUNDS):
        taken = every[np.arange(len(chosen)), longest] / lengths[:, None]
        design, target = taken[:, [1, 3]], 1 - taken[:, 0] - row * taken[:, 2]
        values: Numbers = np.linalg.lstsq(design, target)[0]
        before, longest = longest, (every @ [1, values[0], row, values[1]]).argmax(axis=1)
        if (before == longest).all():
            break
    distances = design @ values - target
    variance = (distances**2).sum() / (len(chosen) - len(values))
    return values, np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * variance), distances


def _box_rows(load: Operation) -> int:
    tile = load.result
    assert tile is not None
    return tile.rows * math.ceil(tile.row_bytes / BOX_BYTES)


def _kib(load: Operation) -> float:
    assert load.result is not None
    return load.result.bytes / 1024


# -- the comparison -------------------------------------------------------------------------------


def _compared(found: Measured, machine: Machine, report: Report) -> Iterator[Compared]:
    """Run every configuration on the simulated SM."""
    ours = {}
    for one in found.every:
        report(f"{one.m} x {one.n} x {one.k}, {one.stages} stages")
        ours[one] = simulated(one, machine).cycles
    used = {*found.round_trips, *found.plateaus}
    for one, cycles in ours.items():
        least = found.least(one.tile)
        fastest = next(o for o in found.every if (o.tile, o.cycles) == (one.tile, least))
        yield Compared(
            *one.tile,
            stages=one.stages,
            automatic=one.automatic,
            footprint=one.footprint,
            measured_cycles=one.cycles,
            simulated_cycles=cycles,
            level_error=cycles / one.cycles - 1,
            shape_error=(cycles / ours[fastest]) / (one.cycles / least) - 1,
            fitted=one in used,
            judged=is_small(one) and one not in used,
            plateau=found.is_plateau(one),
        )


# -- for people -----------------------------------------------------------------------------------

GROUPS: dict[str, Callable[[Compared], bool]] = {
    "not in the fit": lambda one: one.judged,
    "of these, waiting for loads": lambda one: one.judged and not one.plateau,
    "of these, on the plateau": lambda one: one.judged and one.plateau,
    "in the fit": lambda one: one.fitted,
    "above 48 MiB, not judged": lambda one: not (one.judged or one.fitted),
}


def print_load_fit(found: LoadFit) -> None:
    """Print the constants with their errors, and how far configurations are from them."""
    columns = (
        Column("constant"),
        Column("unit"),
        *(Column(title, form=number) for title in ("fitted", "error", "machine file")),
    )
    rows = [
        [c.name, c.unit, round(c.fitted, 2), round(c.error, 2), c.in_file] for c in found.constants
    ]
    note = (
        f"From {found.round_trips} round trips (2 and 3 stages, mean distance "
        f"{percent(found.mean_error)}) and {found.plateaus} plateaus, all of TILE_K 16 and 64 and "
        f"at most 48 MiB of operands. {found.source}."
    )
    Table(columns, rows, notes=[note]).print()
    _table("configurations", [(title, _those(found, test)) for title, test in GROUPS.items()])
    judged = [one for one in found.configurations if one.judged]
    tiles = dict.fromkeys((one.m, one.n) for one in judged)
    named = [(f"{m} x {n}", [one for one in judged if (one.m, one.n) == (m, n)]) for m, n in tiles]
    _table("tile, not in the fit", named)
    paragraph(
        "Level: simulated over measured cycles a k-tile. Shape: the same with each tile's time "
        "over that of its fastest configuration. Errors are medians of their size."
    )


def _those(found: LoadFit, test: Callable[[Compared], bool]) -> list[Compared]:
    return [one for one in found.configurations if test(one)]


def _table(title: str, groups: Sequence[tuple[str, Sequence[Compared]]]) -> None:
    columns = (
        Column(title),
        Column("number", form=count),
        Column("level\nerror", form=percent),
        Column(f"within\n{LEAST_ERROR:.0%}", form=percent),
        Column("worst", form=signed_percent),
        Column("shape\nerror", form=percent),
    )
    rows = []
    for name, members in groups:
        levels = [one.level_error for one in members]
        close = sum(abs(error) <= LEAST_ERROR for error in levels) / len(levels)
        shape = median(abs(one.shape_error) for one in members)
        level, worst = median(map(abs, levels)), max(levels, key=abs)
        rows.append([name, len(members), level, close, worst, shape])
    Table(columns, rows).print()


def main(
    machine: Annotated[str, Argument(help="A packaged name or a file.")] = "blackwell_b200",
    as_json: AsJson = False,
) -> None:
    """Fit the constants of TMA loads to the benchmark, and compare all its configurations."""
    with progress("simulating") as report:
        found = load_fit(Machine.named(machine), report)
    tell(found.configurations, lambda: print_load_fit(found), as_json=as_json)


app = program(main)
if __name__ == "__main__":
    run_app(app)
