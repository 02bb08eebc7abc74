"""Loop and machine in, optimal schedule out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.search.answer import Answering, lacking
from twill.search.cache import Cache, doubt, request_key
from twill.search.request import LEVELS, Log, Options, Request
from twill.search.search import Stopped


@dataclass(frozen=True)
class Solved:
    """A schedule with facts about its search that are not written into it."""

    schedule: Schedule
    # Wall-clock time of ``interval``, ``levels`` and ``total`` in this run.
    seconds: dict[str, float]
    # Whether an earlier run had solved it.
    cached: bool = False


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the best schedule until then."""

    def __init__(self, solved: Solved) -> None:
        super().__init__("this is the best schedule so far")
        self.solved = solved


def solve(
    request: Request,
    *,
    timeout: float | None = None,
    report: Report = silent,
    log: Log = silent,
    cache: Cache | None = None,
    intervals: dict[str, dict[str, Any]] | None = None,
    keep: Callable[[Schedule], None] | None = None,
) -> Solved:
    """Find an optimal schedule, and say how long that took.

    Least initiation interval first, then fewest stages, fewest warp groups, fewest transfers,
    least length, most slack.

    `timeout`: seconds for the whole search.
    `log`: called with every question to an engine, and its outcome.
    `cache`: where answers are looked up, and kept if every level was proved.
    `intervals`: what searches know of least intervals, for others that differ only in the levels
    below; each adds what it knows.
    `keep`: called with each better schedule while the best is looked for.
    Returns: the schedule with programs, storage and proof; times are in the chosen unit.

    Raises
    ------
    InputError
        If the loop cannot be costed for the machine.
    RefusedError
        If no schedule exists within the limits, or what the engine ``verbatim`` found breaks a rule
        of the model.
    DefectError
        If `twill.verify` refuses what was found, with a report; that is never returned.
    Interrupted
        A KeyboardInterrupt with the best schedule so far, if there is one.
    """
    options = request.options(timeout, report, log)
    if intervals is not None:
        same_but_levels = replace(request, until=LEVELS[-1]).text
        options = replace(options, known=intervals.setdefault(same_but_levels, {}))
    if cache is None:
        return _solve(request, options, keep)
    clock, key = Deadline(), request_key(request)
    known = cache.get(key, partial(doubt, request))
    if known is not None:
        log("kept answer: nothing is asked")
        return Solved(known, {"interval": 0.0, "levels": 0.0, "total": clock.spent}, cached=True)
    solved = _solve(request, options, keep)
    # At the limit of time the schedule depends on how fast the machine is, though it be optimal.
    in_time = timeout is None or solved.seconds["total"] < timeout
    if in_time and not doubt(request, solved.schedule):
        cache.put(key, solved.schedule)
    return solved


def _solve(
    request: Request, options: Options, keep: Callable[[Schedule], None] | None = None
) -> Solved:
    answering = Answering(request, options, keep)
    try:
        found, artifact = answering.found()
    except Stopped as stopped:
        artifact = answering.realized(stopped.found)
        if lacking(answering.problem, artifact) > 0:
            raise KeyboardInterrupt from None
        solved = Solved(answering.verified(artifact), dict(stopped.found.seconds))
        raise Interrupted(solved) from None
    return Solved(answering.verified(artifact), dict(found.seconds))
