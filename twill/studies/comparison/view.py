"""Comparisons as text: a table for people, Markdown, CSV, and a folder with everything."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from twill.artifacts.results import SCHEDULES
from twill.console import say
from twill.files import make_folder, write_whole
from twill.show.tables.grid import Column, grid
from twill.studies.comparison.compare import FILE, Comparison, Variant, document

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80
HEADINGS = (
    "variant",
    "interval\n(cycles)",
    "iter. per\nkilocycle",
    "TFLOP/s",
    "tensor\ncore",
    "speed-up",
    "over the\nbound",
)


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print a table for each comparison."""
    for one in comparisons:
        say(textwrap.fill(title(one), WIDTH))
        rows = [cells(variant) for variant in one.variants]
        grid([Column(h, right=i > 0) for i, h in enumerate(HEADINGS)], rows)
        for variant in one.variants:
            if variant.note:
                say(f"{variant.variant}: {variant.note}")


def title(one: Comparison) -> str:
    """Return what was compared under which conditions, in a line."""
    return (
        f"{one.loop} on {one.machine}: {one.iterations} iterations, {one.latency} load latency, "
        f"seed {one.seed}, {one.clock_mhz:g} MHz"
    )


def cells(variant: Variant) -> list[str]:
    """Return a variant's line of the table, in the order of `HEADINGS`."""
    return [
        variant.variant,
        _number(variant.interval_cycles, ".6g"),
        _number(variant.iterations_per_kilocycle, ".4g"),
        _number(variant.tflops, ".1f"),
        _number(variant.tensor_core_utilization, ".1%"),
        _number(variant.speedup_over_sequential, ".2f"),
        _number(variant.over_bound, "+.1%"),
    ]


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return the tables in Markdown."""
    lines = []
    for one in comparisons:
        lines += [f"### {title(one)}", ""]
        lines.append(
            "| variant | interval (cycles) | iterations per kilocycle | TFLOP/s | tensor core | "
            "speed-up | over the bound |"
        )
        lines.append("|---|--:|--:|--:|--:|--:|--:|")
        lines += ["| " + " | ".join(cells(variant)) + " |" for variant in one.variants]
        notes = [f"{v.variant}: {v.note}" for v in one.variants if v.note]
        lines += ["", *(f"{note}  " for note in notes), *([""] if notes else [])]
    return "\n".join(lines)


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
    from twill.studies.comparison.plot import plot_comparisons

    schedules = folder / SCHEDULES
    make_folder(schedules)
    found = document(comparisons)
    texts = {
        FILE: found.to_json(),
        "comparison.csv": frame(comparisons).to_csv(index=False, lineterminator="\n"),
        "comparison.md": markdown(comparisons),
        "comparison.svg": plot_comparisons(comparisons),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)
    for one in found.comparisons:
        for name, kept in one.files.items():
            one.schedules[name].save(schedules / kept.file)
    return [folder / name for name in texts]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
