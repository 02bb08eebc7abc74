"""What is asked of the static model where its schedules are to be polished."""

from __future__ import annotations

from dataclasses import replace

from twill.search.request import Request

MOST_SOLVED = 45  # operations of a loop that a solver is asked about
MOST_LEVELS = 20  # and of one for which all levels are solved, which takes seconds
EFFORT = 0.5  # of each question about a level of a larger one, see `Options.effort`


def beginnings(request: Request) -> tuple[Request, ...]:
    """Return the questions whose answers polishing begins with, the one that is shown first.

    Once with all levels, and once with least interval and fewest stages alone: either may be the
    better beginning. What levels cost most is their proof, for which there is less effort where a
    loop has more operations; the largest loops are not solved at all.
    """
    operations = len(request.loop.operations)
    if operations > MOST_SOLVED:
        return (replace(request, search="written"),)
    effort = None if operations <= MOST_LEVELS else EFFORT
    return replace(request, effort=effort), replace(request, until="stages", effort=effort)
