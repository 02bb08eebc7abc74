"""How many programs a search simulates."""

from __future__ import annotations

from twill.artifacts.loop import Loop

# Programs that are simulated, and of a loop of how many operations at most: of larger ones, each of
# which takes longer, fewer with the power FEWER of how many times as large they are.
EFFORTS = {"quick": (64, 20.0), "normal": (2000, 28.8), "thorough": (8000, 28.8)}
FEWER = 0.5
# Of a loop of more than USUAL operations fewer of these, with that power, are for the first search.
USUAL, FIRST = 20, 0.75


def programs_of(effort: str, loop: Loop) -> int:
    """Return how many programs of a loop are simulated: fewer of many operations."""
    programs, usual = EFFORTS[effort]
    return int(programs / max(1.0, len(loop.operations) / usual) ** FEWER)
