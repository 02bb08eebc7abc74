"""The growth of time and memory with the loop, drawn."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from twill.figures import drawing
from twill.files import write_whole
from twill.studies.bench.bench import Bench, Growth, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")
MIB = 1 << 20


def plot_growth(bench: Bench, folder: Path) -> list[Path]:
    """Draw seconds and memory over operations as ``growth.png`` and ``growth.svg``.

    `bench`: its synthetic loops are drawn: points, medians as lines, and a triangle at the time
    after which a loop was stopped.
    """
    with drawing():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        for number, key in enumerate(_series(bench)):
            colour = f"C{number}"
            _draw_seconds(left, bench, key, colour)
            _draw_memory(right, bench, key, colour)
        left.set_yscale("log")
        left.yaxis.set_major_formatter("{x:g}")
        left.yaxis.set_minor_formatter("")
        _label(left, bench, "time until the schedule (s)")
        _label(right, bench, "peak memory (MiB)")
        right.set_ylim(bottom=0)
        files = [folder / f"growth.{kind}" for kind in FORMATS]
        for file in files:
            dated = {"Date": None} if file.suffix == ".svg" else None
            drawn = io.BytesIO()
            figure.savefig(drawn, format=file.suffix[1:], metadata=dated)
            write_whole(file, drawn.getvalue())
    return files


def _series(bench: Bench) -> list[tuple[str, str]]:
    return list(dict.fromkeys((g.machine, g.engine) for g in bench.growth))


def _of(bench: Bench, key: tuple[str, str]) -> tuple[list[Outcome], list[Growth]]:
    outcomes = [o for o in bench.synthetic if (o.machine, o.engine) == key]
    return outcomes, [g for g in bench.growth if (g.machine, g.engine) == key]


def _draw_seconds(axes: Axes, bench: Bench, key: tuple[str, str], colour: str) -> None:
    outcomes, medians = _of(bench, key)
    solved = [(o.operations, o.seconds) for o in outcomes if o.seconds is not None]
    stopped = [(o.operations, o.timeout) for o in outcomes if o.status == "stopped"]
    middle = [(g.operations, g.seconds) for g in medians if g.seconds is not None]
    axes.plot(*_columns(solved), "o", color=colour, markersize=4, alpha=0.5)
    axes.plot(*_columns(stopped), "^", color=colour, fillstyle="none")
    axes.plot(*_columns(middle), "-", color=colour, label=f"{key[0]}, {key[1]}")


def _draw_memory(axes: Axes, bench: Bench, key: tuple[str, str], colour: str) -> None:
    outcomes, medians = _of(bench, key)
    peaks = [(o.operations, o.peak_bytes / MIB) for o in outcomes if o.peak_bytes is not None]
    middle = [(g.operations, g.peak_bytes / MIB) for g in medians if g.peak_bytes is not None]
    axes.plot(*_columns(peaks), "o", color=colour, markersize=4, alpha=0.5)
    axes.plot(*_columns(middle), "-", color=colour, label=f"{key[0]}, {key[1]}")


def _columns(points: Iterable[tuple[int | None, float]]) -> tuple[list[float], list[float]]:
    known = [(x, y) for x, y in points if x is not None]
    return [float(x) for x, _ in known], [y for _, y in known]


def _label(axes: Axes, bench: Bench, what: str) -> None:
    sizes = sorted({g.operations for g in bench.growth})
    axes.set_xscale("log")
    axes.set_xticks(sizes, labels=[str(size) for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("operations")
    axes.set_ylabel(what)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
