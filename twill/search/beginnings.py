"""What is asked of the static model where its schedules are to be polished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from twill.base.errors import RefusedError
from twill.search.request import Request

MOST_SOLVED = 45  # operations of a loop that a solver is asked about
MOST_LEVELS = 20  # and of one for which all levels are solved, which takes seconds
# Of the search for the answers to all questions, by effort, see `Options.work`.
WORK = {"quick": 2.5, "normal": 25.0, "thorough": 250.0}
EFFORT = 0.5  # of each question about a level of a larger one, see `Options.effort`


Answer = TypeVar("Answer")


def beginnings(
    request: Request, *, few_groups: bool = False, work: float | None = None
) -> tuple[Request, ...]:
    """Return the questions whose answers polishing begins with, the one that is shown first.

    Once with all levels, and once with least interval and fewest stages alone: either may be the
    better beginning. What levels cost most is their proof, for which there is less effort where a
    loop has more operations; the largest loops are not solved at all.

    `few_groups`: whether only the schedule with all levels proved will do.
    `work`: of all that is solved, see `WORK`; there is no end to it without.
    """
    operations, request = len(request.loop.operations), replace(request, work=work)
    if operations > MOST_SOLVED:
        return (replace(request, search="written"),)
    if few_groups:
        return (request,)
    effort = None if operations <= MOST_LEVELS else EFFORT
    return replace(request, effort=effort), replace(request, until="stages", effort=effort)


def answers(asked: Iterable[Request], solve: Callable[[Request], Answer]) -> Iterator[Answer]:
    """Yield the answers to some questions, as they come; refusals only if there is no answer.

    Raises
    ------
    RefusedError
        The first one, if every question is refused.
    """
    refused, answered = list[RefusedError](), False
    for request in asked:
        try:
            answer = solve(request)
        except RefusedError as error:
            refused.append(error)
        else:
            answered = True
            yield answer
    if refused and not answered:
        raise refused[0]
