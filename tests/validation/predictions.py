"""Predictions against an H200: ``python -m tests.validation.predictions``.

The kernels of ``traces/measured`` are compiled and their machine code is executed, without a GPU;
the simulated SM runs their schedules. ``traces/results/predictions.csv`` gets the rows; the errors
by kind of kernel are printed.
"""

from __future__ import annotations

import csv
import itertools
import statistics
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tests.validation.tables import ROOT, record
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.tables import Column, Table
from twill.sim.execute import run
from twill.studies.judged import judged_file, kind_of

FOLDER = ROOT / "traces" / "measured"
DEVICE = "one H200 (700 W, driver 580.159.04)"
MACHINE = "hopper_h100"
# Iterations of the loop in one that was measured, where that is an output tile.
ITERATIONS = {"gemm_persistent_hopper": 8}
COLUMNS = ("predicted", "simulated")
APART = 0.05  # measured times from which the order of two programs of a loop counts


@dataclass(frozen=True)
class Row:
    """Cycles of an iteration of a kernel: measured, by its machine code, simulated, and static."""

    kernel: str
    kind: str
    measured: float
    predicted: float
    simulated: float
    promised: float

    def error(self, of: str) -> float:
        """Return the part of the measured cycles that is too much."""
        return float(getattr(self, of)) / self.measured - 1


def measured() -> Iterator[tuple[str, float, float]]:
    """Yield the kernels that repeat an interval, with measured and promised cycles."""
    with (FOLDER / "h200.csv").open() as file:
        for row in csv.DictReader(file):
            if row["cycles_per_iteration"]:
                promised = float(row["simulated"]) * iterations(row["kernel"])
                yield row["kernel"], float(row["cycles_per_iteration"]), promised


def iterations(kernel: str) -> int:
    """Return the iterations of the loop in a measured one."""
    return ITERATIONS.get(kernel.split("__", maxsplit=1)[0], 1)


def simulated(folder: str, kernel: str) -> float:
    """Return the interval that the simulated SM takes for the schedule of a kernel."""
    schedule = Schedule.load(Path(folder) / f"{kernel}.json")
    today = {"machine": Machine.named(MACHINE), "machine_hash": None}
    interval = run(schedule.model_copy(update=today)).measured_interval_cycles
    assert interval is not None, kernel
    return round(interval * iterations(kernel), 1)


def unpacked(folder: str) -> None:
    """Write the kernels and their schedules to a folder."""
    zipfile.ZipFile(FOLDER / "kernels.zip").extractall(folder)  # noqa: S202 - our own file
    with tarfile.open(FOLDER / "schedules.tar.xz") as archive:
        archive.extractall(folder, filter="data")


def predict(folder: str, kernel: str, cycles: float, promised: float) -> Row:
    """Compile a kernel and execute its machine code; simulate its schedule."""
    found = judged_file(Path(folder) / f"{kernel}.py")
    prediction = found.prediction
    assert prediction is not None, f"{kernel}: {found.unpredicted}"
    between = (prediction.lowest_cycles + prediction.highest_cycles) / 2
    predicted = prediction.interval_cycles or between
    kind, tile_level = kind_of(found.made), simulated(folder, kernel)
    return Row(kernel, kind, cycles, round(predicted, 1), tile_level, promised)


def rows(wanted: str = "") -> list[Row]:
    """Return all measured kernels whose names contain a text, predicted."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        unpacked(folder)
        chosen = [one for one in measured() if wanted in one[0]]
        return list(pool.map(partial(predict, folder), *zip(*chosen, strict=True)))


def ordered(found: Sequence[Row], of: str) -> tuple[int, int]:
    """Return the pairs of programs of a loop that differ, and those in the right order."""
    pairs = right = 0
    for one, other in itertools.combinations(found, 2):
        same = one.kernel.split("__")[0] == other.kernel.split("__")[0]
        if same and abs(one.measured / other.measured - 1) > APART:
            pairs += 1
            right += (one.measured < other.measured) == (getattr(one, of) < getattr(other, of))
    return pairs, right


def errors(found: Sequence[Row], of: str = "predicted") -> Table:
    """Return the errors by kind, of a column."""
    kinds = [*dict.fromkeys(row.kind for row in found), "all"]
    cells = []
    for kind in kinds:
        off = [abs(row.error(of)) for row in found if kind in (row.kind, "all")]
        within = sum(error <= 0.1 for error in off)
        cells.append([kind, len(off), statistics.median(off), max(off), within])
    percent = "{:.1%}".format
    columns = [
        Column(f"{of}, by kind"),
        Column("kernels"),
        Column("median error", form=percent),
        Column("largest", form=percent),
        Column("within 10 %"),
    ]
    pairs, right = ordered(found, of)
    return Table(columns, cells, notes=[f"{right} of {pairs} pairs of programs in order"])


def main(wanted: str = "") -> None:
    """Print each kernel and the errors by kind; write the data file if all were predicted."""
    found = rows(wanted)
    for row in found:
        cells = [f"{getattr(row, of):9,.1f} {row.error(of):+7.1%}" for of in COLUMNS]
        print(f"{row.kernel:50} {row.measured:9,.1f}", *cells)
    for of in COLUMNS:
        errors(found, of).print()
    if not wanted:
        record("predictions", DEVICE, [asdict(row) for row in found])


if __name__ == "__main__":
    main(*sys.argv[1:])
