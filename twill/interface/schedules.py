"""Schedules checked, run, emitted, explained, compared and shown in their source."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.console import Report, silent
from twill.base.errors import RefusedError
from twill.frontends.schedules import load_schedule
from twill.interface.solving import Place
from twill.search.request import engine_factory
from twill.sim import execute
from twill.sim.engine import Conditions
from twill.verification import Verdict
from twill.verification import verify as judged

if TYPE_CHECKING:
    from twill.explain import Explanation
    from twill.explain.programs import ProgramExplanation
    from twill.studies.annotated import Annotated
    from twill.studies.compare import Comparison

EXPLAINED = 20.0  # seconds of a static schedule's explanation


def verify(schedule: Schedule | Place) -> Verdict:
    """Check a schedule against every rule of the model; see `twill.verification.verify`."""
    return judged(load_schedule(schedule))


@functools.wraps(execute.run)
def run(schedule: Schedule | Place, *given: Any, **named: Any) -> execute.Run:
    """Execute a schedule on the simulated SM."""
    return execute.run(load_schedule(schedule), *given, **named)


def emit(schedule: Schedule | Place, *, unverified: bool = False) -> str:
    """Return a schedule as a Python file with its kernel in Triton's Gluon, as ``twill emit``.

    `unverified`: whether a schedule that breaks a rule is written, too.

    Raises
    ------
    RefusedError
        If it breaks a rule, or something of it has no template.
    """
    from twill.emit import emitted

    given = load_schedule(schedule)
    broken = () if unverified else judged(given).violations
    if broken:
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise RefusedError(f"{given.name} breaks a rule, and is no kernel: {broken[0]}{more}")
    return emitted(given)


def explain(
    schedule: Schedule | Place, *, timeout: float = EXPLAINED, report: Report = silent
) -> Explanation | ProgramExplanation:
    """Say what holds the interval up: of a program, or of a static schedule with its proof.

    `timeout`: seconds for the latter.
    """
    from twill.explain import explain as of_proof
    from twill.explain.programs import explain_program

    given = load_schedule(schedule)
    if given.promise is not None or given.proof is None:
        return explain_program(given)
    return of_proof(given, engine_factory("difference"), timeout, report)


def compare(
    *items: Loop | Schedule | Place,
    machines: Sequence[Machine | Place] = (),
    conditions: Conditions | None = None,
    timeout: float | None = None,
    report: Report = silent,
) -> list[Comparison]:
    """Run loops as written, pipelined and jointly scheduled, as ``twill compare`` does.

    `machines`: for the loops; the ones that packaged loops are meant for without them.
    """
    from twill.studies import compare as study
    from twill.studies.subjects import subjects

    how = conditions or Conditions()
    return [
        study.compare(one, how, timeout=timeout, report=report) for one in subjects(items, machines)
    ]


def annotate(schedule: Schedule | Place, source: Place | None = None) -> Annotated:
    """Return a schedule's source with units, groups, stages, cycles and stalls.

    `source`: its file, or the folder that it is in; looked for without it.
    """
    from twill.studies import annotated

    return annotated.annotate(load_schedule(schedule), None if source is None else Path(source))
