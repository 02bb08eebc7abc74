"""How many programs a search simulates."""

from __future__ import annotations

from twill.artifacts.loop import Loop
from twill.polish.tuning import TUNING, Effort

EFFORTS: dict[str, Effort] = {
    "quick": TUNING.efforts.quick,
    "normal": TUNING.efforts.normal,
    "thorough": TUNING.efforts.thorough,
}


def programs_of(effort: str, loop: Loop) -> int:
    """Return how many programs of a loop are simulated: fewer of many operations."""
    asked = EFFORTS[effort]
    larger = max(1.0, len(loop.operations) / asked.operations)
    return int(asked.programs / larger**TUNING.efforts.fewer)
