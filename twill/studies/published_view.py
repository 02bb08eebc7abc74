"""Comparisons with published figures as text for people."""

from __future__ import annotations

from collections.abc import Sequence

from twill.console import paragraph, say, table
from twill.studies.published import AIM, Comparison, Experiment


def print_comparisons(found: Sequence[Comparison]) -> None:
    """Print what is matched, with signed errors and sources."""
    rows = [
        [
            one.what,
            _number(one.low, one.unit)
            if one.low == one.high
            else f"{one.low:.4g} to {one.high:.4g}",
            _number(one.simulated, one.unit),
            f"{one.error:+.1%}",
            "matched" if one.matched else "MISSED",
        ]
        for one in found
    ]
    table(
        ["published", "range", "simulated", "error", f"within {AIM:.0%}"],
        rows,
        right={"range", "simulated", "error"},
    )
    for source in dict.fromkeys(one.source for one in found):
        paragraph(source)


def _number(value: float, unit: str) -> str:
    """Return a ratio with three digits behind the point, or whole cycles."""
    return f"{value:.3f}" if unit == "ratio" else f"{value:.0f}"


def print_experiments(found: Sequence[Experiment]) -> None:
    """Print intervals and use of the tensor core, a line for each switch."""
    names = list(dict.fromkeys(one.schedule for one in found))
    rows = []
    for what in dict.fromkeys(one.what for one in found):
        by_name = {one.schedule: one for one in found if one.what == what}
        rows.append(
            [
                what,
                *(f"{by_name[n].interval_cycles:.0f} {by_name[n].tensor_core:.0%}" for n in names),
            ]
        )
    head = [chr(ord("A") + index) for index in range(len(names))]
    table(["switched", *head], rows, right=set(head))
    say("cycles an iteration, and use of the tensor core")
    for letter, name in zip(head, names, strict=True):
        say(f"{letter}: {name}")
