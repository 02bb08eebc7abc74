"""What is asked of the static model where its schedules are to be polished."""

from __future__ import annotations

from dataclasses import replace

from twill.search.request import Request

MOST_SOLVED = 45  # operations of a loop that a solver is asked about
MOST_LEVELS = 20  # and of one for which all levels are solved, which takes seconds


def beginnings(request: Request) -> tuple[Request, ...]:
    """Return the questions whose answers polishing begins with, the one that is shown first.

    Fewer groups and transfers are no faster, and cost most of the time; small loops are asked with
    them too. Large ones are not solved.
    """
    operations = len(request.loop.operations)
    if operations > MOST_SOLVED:
        return (replace(request, search="written"),)
    first = replace(request, until="stages")
    return (request, first) if operations <= MOST_LEVELS else (first,)
