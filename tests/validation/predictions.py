"""Predictions of machine code against an H200: ``python -m tests.validation.predictions``.

The kernels of ``traces/measured`` are compiled and their machine code is executed, without a GPU.
``traces/results/predictions.csv`` gets the rows; the errors by kind of kernel are printed.
"""

from __future__ import annotations

import csv
import itertools
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tests.validation.tables import ROOT, record
from twill.base.tables import Column, Table
from twill.studies.judged import judged_file, kind_of

FOLDER = ROOT / "traces" / "measured"
DEVICE = "one H200 (700 W, driver 580.159.04)"
APART = 0.05  # measured times from which the order of two programs of a loop counts


@dataclass(frozen=True)
class Row:
    """A kernel: cycles of an iteration, measured, predicted, and promised by its schedule."""

    kernel: str
    kind: str
    measured: float
    predicted: float
    promised: float

    @property
    def error(self) -> float:
        """Part of the measured cycles that the prediction is off by, above zero if too slow."""
        return self.predicted / self.measured - 1


def measured() -> Iterator[tuple[str, float, float]]:
    """Yield the kernels that repeat an interval, with measured and promised cycles."""
    with (FOLDER / "h200.csv").open() as file:
        for row in csv.DictReader(file):
            if row["cycles_per_iteration"]:
                promised = float(row["simulated"] or "nan")
                yield row["kernel"], float(row["cycles_per_iteration"]), promised


def predict(folder: str, kernel: str, cycles: float, promised: float) -> Row:
    """Compile a kernel and execute its machine code."""
    found = judged_file(Path(folder) / f"{kernel}.py")
    prediction = found.prediction
    assert prediction is not None, f"{kernel}: {found.unpredicted}"
    between = (prediction.lowest_cycles + prediction.highest_cycles) / 2
    predicted = prediction.interval_cycles or between
    return Row(kernel, kind_of(found.made), cycles, round(predicted, 1), promised)


def rows(wanted: str = "") -> list[Row]:
    """Return all measured kernels whose names contain a text, predicted."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        zipfile.ZipFile(FOLDER / "kernels.zip").extractall(folder)
        chosen = [one for one in measured() if wanted in one[0]]
        return list(pool.map(partial(predict, folder), *zip(*chosen, strict=True)))


def ordered(found: Sequence[Row]) -> tuple[int, int]:
    """Return the pairs of programs of a loop that differ, and those in the right order."""
    pairs = right = 0
    for one, other in itertools.combinations(found, 2):
        same = one.kernel.split("__")[0] == other.kernel.split("__")[0]
        if same and abs(one.measured / other.measured - 1) > APART:
            pairs += 1
            right += (one.measured < other.measured) == (one.predicted < other.predicted)
    return pairs, right


def errors(found: Sequence[Row]) -> Table:
    """Return the errors by kind."""
    kinds = [*dict.fromkeys(row.kind for row in found), "all"]
    cells = []
    for kind in kinds:
        off = [abs(row.error) for row in found if kind in (row.kind, "all")]
        within = sum(error <= 0.1 for error in off)
        cells.append([kind, len(off), statistics.median(off), max(off), within])
    percent = "{:.1%}".format
    columns = [
        Column("kind"),
        Column("kernels"),
        Column("median error", form=percent),
        Column("largest", form=percent),
        Column("within 10 %"),
    ]
    pairs, right = ordered(found)
    return Table(columns, cells, notes=[f"{right} of {pairs} pairs of programs in order"])


def main(wanted: str = "") -> None:
    """Print each kernel and the errors by kind; write the data file if all were predicted."""
    found = rows(wanted)
    for row in found:
        print(f"{row.kernel:50} {row.predicted:9,.1f} {row.measured:9,.1f} {row.error:+7.1%}")
    errors(found).print()
    if not wanted:
        record("predictions", DEVICE, [asdict(row) for row in found])


if __name__ == "__main__":
    main(*sys.argv[1:])
