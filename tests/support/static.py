"""Static schedules, in a call."""

from __future__ import annotations

from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.search.request import Options, Request
from twill.search.scheduler import solve

DEFAULTS = Options()


def static_schedule(
    loop: Loop,
    machine: Machine,
    *,
    options: Options = DEFAULTS,
    report: Report = silent,
    **wishes: Any,
) -> Schedule:
    """Return the best schedule of the static model; `wishes` are those of `twill.schedule`."""
    asked = ("most_stages", "seed", "until", "effort", "work")
    request = Request(loop, machine, **{name: getattr(options, name) for name in asked}, **wishes)
    told = options.report if report is silent else report
    return solve(request, timeout=options.timeout, report=told, log=options.log).schedule
