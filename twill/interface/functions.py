"""The functions that `twill` names."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules, Schedule
from twill.base.console import Report, silent
from twill.base.errors import InputError, RefusedError, short
from twill.frontends import load_loop, subtiling
from twill.frontends.schedules import load_schedule
from twill.polish import DEFAULT_CONDITIONS, EFFORTS, Polished, programs_of
from twill.search.request import (
    EngineName,
    Request,
    SearchName,
    TimeMode,
    answers,
    beginnings,
    engine_factory,
)
from twill.search.scheduler import solve
from twill.sim import execute
from twill.sim.engine import Conditions
from twill.studies.choice import Polishing, polished
from twill.verification import Verdict
from twill.verification import verify as judged

if TYPE_CHECKING:
    from twill.explain import Explanation
    from twill.explain.programs import ProgramExplanation
    from twill.studies.annotated import Annotated
    from twill.studies.compare import Comparison

Effort = Literal["quick", "normal", "thorough"]
Judge = Literal["simulated", "compiled", "gpu"]
EXPLAINED = 20.0  # seconds of a static schedule's explanation
Place = str | os.PathLike[str]  # a packaged name, or a path


class Wishes(TypedDict, total=False):
    """Options that only the static model has, as `schedule` says."""

    rules: Rules
    time: TimeMode
    engine: EngineName
    search: SearchName
    budget: int
    most_stages: int | None
    limits: Mapping[str, int]
    pins: Mapping[str, str]
    orders: Sequence[tuple[str, str]]


def schedule(
    loop: Loop | Place,
    machine: Machine | Place,
    *,
    model: Literal["simulated", "paper"] | None = None,
    effort: Effort | None = None,
    seed: int = 0,
    conditions: Sequence[Conditions] = DEFAULT_CONDITIONS,
    timeout: float | None = None,
    jobs: int = 1,
    judge: Judge | None = None,
    report: Report = silent,
    **wishes: Unpack[Wishes],
) -> Schedule:
    """Find the fastest program, as ``twill schedule`` does.

    Parameters
    ----------
    loop : Loop, str or path
        The loop to schedule.
    machine : Machine, str or path
        The SM to schedule it for.
    model : str, optional
        ``simulated``: the best schedule is the one that the simulated SM executes fastest.
        ``paper``: the one that the static model proves; nothing is simulated. By default
        simulated, unless a wish needs ``paper``.
    effort : str, optional
        Number of programs to simulate: ``quick``, ``normal`` (the default) or ``thorough``.
    seed : int
        Seed of both searches.
    conditions : sequence of Conditions
        Conditions under which programs are simulated.
    timeout : float, optional
        Seconds for each static search.
    jobs : int
        Processes that simulate at a time; they do not change the answer.
    judge : str, optional
        ``simulated``, ``compiled``: of the fastest programs the one whose machine code takes the
        fewest cycles, or ``gpu``: the one that the GPU at hand executes fastest. Without it as
        `twill.studies.choice.judge_of` has it.
    report : callable, optional
        Receives a message for each attempt.
    **wishes
        Of the static model. ``rules``: ``issue`` (the default) or ``paper`` (Figures 4 to 6 as
        printed). ``time``: ``exact`` (clock cycles) or ``normalized`` (the paper's section 5.2,
        with a ``budget`` for the sum of the costs). ``engine``: ``both``, ``difference`` (Yices) or
        ``cpsat`` (OR-Tools); ``verbatim``, the printed figures, is slow and may find what
        `twill.verify` refuses. ``search``: ``complete``, ``paper`` (Algorithm 1, which may miss the
        least interval) or ``written`` (one operation after the other). ``most_stages``: bound on
        the stages. ``limits``: most ``registers`` per thread of a group, ``groups``, ``transfers``
        and ``stages``. ``pins``: operations with names of groups; two names are two groups.
        ``orders``: pairs of operations; the second issues no earlier than the first.

    Returns
    -------
    Schedule
        A valid schedule with its promise; from the static model, with its proof.

    Raises
    ------
    InputError
        If the loop cannot be costed for the machine, or a wish of the static model is polished.
    RefusedError
        If no schedule exists within the limits.
    """
    wishes["orders"] = tuple(wishes.get("orders", ()))
    request = Request(load_loop(loop), Machine.named(machine), seed=seed, **wishes)
    static = request != Request(request.loop, request.machine, seed=seed)
    if static and (effort is not None or model == "simulated"):
        raise InputError("wishes of the static model are not polished", path="model")
    found = partial(solve, timeout=timeout, report=report, intervals={})
    if static or model == "paper":
        return found(request).schedule
    asked = beginnings(request, effort or "normal")
    first, *others = (one.schedule for one in answers(asked, found))

    def restart(machine: Machine) -> list[Schedule]:
        again = (replace(question, machine=machine) for question in asked)
        return [one.schedule for one in answers(again, found)]

    how = _polishing(request.loop, effort or "normal", judge)
    how = replace(how, seed=seed, conditions=tuple(conditions), jobs=jobs, restart=restart)
    return polished((first, *others), how, report)[0].schedule


def polish(
    schedule: Schedule | Place,
    *,
    others: Sequence[Schedule] = (),
    effort: Effort = "normal",
    simulations: int | None = None,
    seed: int = 0,
    conditions: Sequence[Conditions] = DEFAULT_CONDITIONS,
    jobs: int = 1,
    judge: Judge | None = None,
    report: Report = silent,
) -> Polished:
    """Look for a program of the same loop that takes fewer cycles, as ``twill polish`` does.

    The answer's `schedule` is the best that was found. `effort`, or else `simulations`, sets the
    number of programs to simulate; the rest is as in `twill.polish.polish`.
    """
    given = load_schedule(schedule)
    how = _polishing(given.loop, effort, judge)
    how = replace(how, seed=seed, conditions=tuple(conditions), jobs=jobs)
    if simulations:
        how = replace(how, simulations=simulations)
    return polished((given, *others), how, report)[0]


def _polishing(loop: Loop, effort: Effort, judge: Judge | None) -> Polishing:
    if effort not in EFFORTS:
        raise InputError(f"one of {', '.join(EFFORTS)} (got {short(effort)})", path="effort")
    how = Polishing(programs_of(effort, loop), 0, DEFAULT_CONDITIONS, 1)
    return how.judged_by(judge, loop, effort)


def subtile(
    loop: Loop | Place,
    factor: int,
    *,
    along: str | None = None,
    machine: Machine | Place | None = None,
) -> Loop:
    """Split independent rows of a loop into sub-tiles; see `twill.frontends.subtiling.subtile`."""
    on = None if machine is None else Machine.named(machine)
    return subtiling.subtile(load_loop(loop), factor, along=along, machine=on)


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
        If the schedule breaks a rule, or a part of it has no template.
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
    """Explain why the interval of a program, or of a static schedule with proof, is not shorter.

    `timeout`: seconds for a static schedule.
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

    `machines`: machines for the loops; by default those that packaged loops are meant for.
    """
    from twill.studies import compare as study
    from twill.studies.subjects import subjects

    how = conditions or Conditions()
    return [
        study.compare(one, how, timeout=timeout, report=report) for one in subjects(items, machines)
    ]


def annotate(schedule: Schedule | Place, source: Place | None = None) -> Annotated:
    """Return a schedule's source with units, groups, stages, cycles and stalls.

    `source`: its file, or the folder that it is in; searched for by default.
    """
    from twill.studies import annotated

    return annotated.annotate(load_schedule(schedule), None if source is None else Path(source))
