"""The paper's bars, drawn: simulated intervals by variant, and errors against published figures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twill.figures import drawing
from twill.files import write_whole
from twill.studies.published import AIM
from twill.studies.reproduce.claims import CaseResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY, DARK = "0.72", "0.25"
KERNELS = {
    "hopper_forward": "attention forward, Hopper",
    "blackwell_forward": "attention forward, Blackwell",
    "hopper_backward": "attention backward, Hopper",
    "blackwell_backward": "attention backward, Blackwell",
}
BAR_INCHES, HEAD_INCHES, WIDTH_INCHES = 0.26, 0.62, 7.2


def draw(results: Sequence[CaseResult], stem: Path) -> list[Path]:
    """Draw what there is to draw as SVG; the same results give the same bytes.

    Returns: ``STEM_intervals.svg`` and ``STEM_published.svg``, as far as there are results for
    them.
    """
    drawn = [r for r in results if r.case in KERNELS and r.intervals]
    compared = [r for r in results if r.comparisons]
    files = []
    with drawing():
        if drawn:
            files.append(_save(_intervals(drawn), Path(f"{stem}_intervals.svg")))
        if compared:
            files.append(_save(_errors(compared[0]), Path(f"{stem}_published.svg")))
    return files


def _figure(heights: list[float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_facecolor("white")
    return figure


def _save(figure: Figure, file: Path) -> Path:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    write_whole(file, text.getvalue())
    return file


def _intervals(results: Sequence[CaseResult]) -> Figure:
    """Draw cycles an iteration, a panel for each kernel; ours are dark."""
    heights = [HEAD_INCHES + BAR_INCHES * len(result.intervals) for result in results]
    figure = _figure(heights)
    panels = figure.subplots(len(results), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, result in zip(panels, results, strict=True):
        ordered = sorted(result.intervals.items(), key=lambda item: item[1])
        names, cycles = [name for name, _ in ordered], [value for _, value in ordered]
        colours = [DARK if name.startswith("joint") else GREY for name in names]
        bars = axes.barh(names, cycles, color=colours)
        axes.bar_label(bars, fmt="{:.0f}", padding=3, fontsize=8)
        axes.set_xlim(right=1.12 * max(cycles))
        axes.set_title(KERNELS[result.case], fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("cycles an iteration on the simulated SM (less is better)", fontsize=8)
    return figure


def _errors(result: CaseResult) -> Figure:
    """Draw signed errors; what is matched is dark."""
    found = result.comparisons
    figure = _figure([HEAD_INCHES + BAR_INCHES * len(found)])
    axes = figure.subplots()
    axes.axvspan(-100 * AIM, 100 * AIM, color="0.92")
    axes.axvline(0, color="black", linewidth=0.8)
    names = [one.what for one in found]
    errors = [100 * one.error for one in found]
    bars = axes.barh(names, errors, color=[DARK if one.matched else GREY for one in found])
    axes.bar_label(bars, labels=[f"{e:+.1f} %" for e in errors], padding=3, fontsize=8)
    axes.set_xlim(min(errors) - 12, max(errors) + 12)
    axes.set_xlabel(
        f"signed error against the published range in %; band: within {AIM:.0%}", fontsize=8
    )
    axes.tick_params(labelsize=8)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    return figure
