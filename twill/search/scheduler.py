"""Loop and machine in, optimal schedule out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, Schedule
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.problem.costs import BUDGET
from twill.search.answer import Answering, lacking
from twill.search.cache import Cache, doubt, request_key
from twill.search.request import LEVELS, EngineName, Log, Options, Request, SearchName, TimeMode
from twill.search.search import Stopped


def schedule(
    loop: Loop,
    machine: Machine,
    *,
    rules: Rules = "issue",
    time: TimeMode = "exact",
    engine: EngineName = "both",
    search: SearchName = "complete",
    budget: int = BUDGET,
    options: Options | None = None,
    limits: Mapping[str, int] | None = None,
    pins: Mapping[str, str] | None = None,
    orders: Iterable[tuple[str, str]] = (),
    report: Report = silent,
) -> Schedule:
    """Find an optimal software pipeline and warp specialization.

    Least initiation interval first, then fewest stages, fewest warp groups, fewest transfers,
    least length, most slack.

    Parameters
    ----------
    loop : Loop
        The loop to schedule.
    machine : Machine
        The SM to schedule it for.
    rules : str
        Reading of concurrency and release: ``issue`` (the default) or ``paper`` (Figures 4 to 6 as
        printed).
    time : str
        ``exact``: one unit is one clock cycle. ``normalized``: the paper's section 5.2.
        ``refined``: the order and the groups of a normalized solution, at the least interval and
        in clock cycles; what that loses against ``exact`` is what normalization costs.
    engine : str
        ``both``: Yices finds; OR-Tools refutes, and helps where finding takes long. Single engines:
        ``difference`` (Yices) or ``cpsat`` (OR-Tools). For comparison, ``verbatim``: the paper's
        figures as printed (Yices; rules ``paper`` only, slow, may accept what `twill.verify`
        refuses).
    search : str
        ``complete``, or ``paper``: the paper's Algorithm 1, for comparison. Its interval is the
        first that it accepts and may not be the least; only what bounds prove is called proved.
        Or ``written``: one operation after the other, in a moment, for polishing to begin with.
    budget : int
        In normalized time, the bound U on the sum of the normalized costs.
    options : Options, optional
        How to search.
    limits : mapping, optional
        At most so many ``registers`` per thread for a group, warp ``groups`` in all,
        ``transfers`` of register values between groups, and ``stages``.
    pins : mapping, optional
        Operations with names of groups: one name is one group, two names are two.
    orders : iterable of (str, str)
        Pairs of operations; the second issues no earlier in its iteration than the first.
    report : Report, optional
        Called with the current attempt.

    Returns
    -------
    Schedule
        With programs, storage and proof; times are in the chosen unit.

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
    how = options or Options()
    request = Request(
        loop,
        machine,
        rules=rules,
        time=time,
        engine=engine,
        search=search,
        budget=budget,
        limits=limits or {},
        pins=pins or {},
        orders=tuple(orders),
        most_stages=how.most_stages,
        seed=how.seed,
        until=how.until,
        effort=how.effort,
        work=how.work,
    )
    how = how if report is silent else replace(how, report=report)
    return _solve(request, how).schedule


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
    """Find an optimal schedule, and say how long that took; see `schedule`.

    `timeout`: seconds for the whole search.
    `log`: called with every question to an engine, and its outcome.
    `cache`: where answers are looked up, and kept if every level was proved.
    `intervals`: what searches know of least intervals, for others that differ only in the levels
    below; each adds what it knows.
    `keep`: called with each better schedule while the best is looked for.
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
        if request.time == "refined":
            raise KeyboardInterrupt from None
        artifact = answering.realized(stopped.found)
        if lacking(answering.problem, artifact) > 0:
            raise KeyboardInterrupt from None
        solved = Solved(answering.verified(artifact), dict(stopped.found.seconds))
        raise Interrupted(solved) from None
    return Solved(answering.verified(artifact), dict(found.seconds))
