"""What is asked of the static model where its schedules are to be polished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from twill.base.errors import RefusedError
from twill.engines.tuning import TUNING
from twill.search.request import Request

Answer = TypeVar("Answer")


def beginnings(request: Request, effort: str | None = None) -> tuple[Request, ...]:
    """Return the questions whose answers polishing begins with, the one that is shown first.

    Once with all levels, and once with least interval and fewest stages alone: either may be the
    better beginning. What levels cost most is their proof, for which there is less effort where a
    loop has more operations; the largest loops are not solved at all.

    `effort`: with which programs are searched for, which limits the work of all questions.
    """
    operations = len(request.loop.operations)
    if effort is not None:
        request = replace(request, work=getattr(TUNING.polishing, effort))
    if operations > TUNING.polishing.solved:
        return (replace(request, search="written"),)
    each = None if operations <= TUNING.polishing.levels else TUNING.polishing.effort
    return replace(request, effort=each), replace(request, until="stages", effort=each)


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
