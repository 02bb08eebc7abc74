"""The ways to execute one loop that studies compare: naive, pipelined, joint, by experts."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.schedule import Schedule
from twill.console import Report, silent
from twill.errors import InputError, RefusedError, short
from twill.lower.baselines import multi_warp, sequential
from twill.studies.comparison.modulo_loop import excess, software_pipelined

VARIANTS = ("sequential", "multi-warp", "swp", "joint")
"""The loop as written; its sub-tiles on groups of their own; a modulo schedule that knows nothing
of warps; the schedule itself."""
EXPERTS: dict[str, tuple[str, ...]] = {
    "fa_fwd_hopper": (
        "fa3_forward_128x128",
        "fa3_forward_128x128_parts",
        "fa3_forward_128x176",
        "fa3_forward_128x176_parts",
    ),
    "fa_fwd_blackwell": ("fa4_forward", "fa4_forward_rescaling"),
    "paper_example": ("paper_example_by_hand",),
}
"""Packaged hand-written schedules of the same kernel, by loop: FlashAttention-3 and -4 in the order
of their sources. Tiles may have other shapes (128 x 176), so that only work per time compares."""


@dataclass(frozen=True)
class Variant:
    """One way to execute a loop.

    Attributes
    ----------
    name : str
        One of `VARIANTS`, or the name of a hand-written schedule.
    schedule : Schedule or None
        What runs; None if there is none.
    note : str
        Why not, or why the SM could not execute it as it is; empty if it could.
    """

    name: str
    schedule: Schedule | None
    note: str = ""


def variant(name: str, schedule: Schedule, report: Report = silent) -> Variant:
    """Return one way to execute the loop of a schedule.

    `schedule`: the joint one; the others use its loop, machine and ring depths.

    Raises
    ------
    InputError
        If there is no such variant.
    """
    if name not in VARIANTS:
        raise InputError(f"one of {', '.join(VARIANTS)} (got {short(name)})", path="variant")
    try:
        made = _made(name, schedule, report)
    except (InputError, RefusedError) as error:
        return Variant(name, None, str(error))
    return Variant(name, made, excess(made) if name == "swp" else "")


def _made(name: str, schedule: Schedule, report: Report) -> Schedule:
    loop, machine = schedule.loop, schedule.machine
    match name:
        case "sequential":
            return sequential(loop, machine)
        case "multi-warp":
            return multi_warp(loop, machine, schedule.pipeline_depths)
        case "swp":
            return software_pipelined(loop, machine, report=report)
    return schedule


def experts(schedule: Schedule) -> list[Variant]:
    """Return the hand-written schedules of a loop's kernel for its machine."""
    found = (Schedule.named(name) for name in EXPERTS.get(schedule.loop.name, ()))
    return [
        Variant(one.name, one)
        for one in found
        if one.machine.name == schedule.machine.name and one.name != schedule.name
    ]
