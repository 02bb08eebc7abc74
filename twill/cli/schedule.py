"""``twill schedule``, ``verify``, ``explain``: finding schedules, and judging them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from twill.cli import (
    Jobs,
    Json,
    LoopName,
    Output,
    ScheduleName,
    command,
    number,
    pairs,
    print_json,
    refusals,
)
from twill.console import WIDTH, Report, note, progress, say, silent
from twill.files import check_target

if TYPE_CHECKING:
    from twill.artifacts.loop import Loop
    from twill.artifacts.machine import Machine
    from twill.artifacts.schedule import Schedule
    from twill.polish import Polished
    from twill.search.request import Request
    from twill.search.scheduler import Solved
    from twill.studies.robust import Choice
    from twill.verification import Verdict

TimeMode = StrEnum("TimeMode", {"exact": "exact", "normalized": "normalized", "refined": "refined"})
RulesName = StrEnum("RulesName", {"issue": "issue", "paper": "paper"})
EngineName = StrEnum(
    "EngineName",
    {"both": "both", "difference": "difference", "cpsat": "cpsat", "verbatim": "verbatim"},
)
SearchName = StrEnum("SearchName", {"complete": "complete", "paper": "paper"})
EffortName = StrEnum("EffortName", {"quick": "quick", "normal": "normal", "thorough": "thorough"})


@dataclass(frozen=True)
class Question:
    """What a schedule is asked for, beside loop and machine."""

    time: Annotated[
        TimeMode, Option(help="Unit of time: clock cycles, or the paper's normalized costs.")
    ] = TimeMode.exact
    rules: Annotated[RulesName, Option(help="Reading of the constraints.")] = RulesName.issue
    engine: Annotated[
        EngineName,
        Option(
            help="Yices finds and CP-SAT refutes; one of them; or the paper's figures as printed."
        ),
    ] = EngineName.both
    search: Annotated[
        SearchName, Option(help="Every interval and number of stages, or the paper's Algorithm 1.")
    ] = SearchName.complete
    budget: Annotated[int, Option(min=1, help="Normalized time: bound on the sum of costs.")] = 300
    most_stages: Annotated[int | None, Option(min=1, help="Bound on the number of stages.")] = None
    limit: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=N", help="At most N: registers, groups, transfers or stages. Repeatable."
        ),
    ] = None
    pin: Annotated[
        list[str] | None,
        Option(metavar="OP=GROUP", help="Put an operation on a named group. Repeatable."),
    ] = None
    order: Annotated[
        list[str] | None, Option(metavar="A,B", help="B issues no earlier than A. Repeatable.")
    ] = None
    seed: Annotated[int, Option(min=0, help="Random seed of the solver.")] = 0

    def request(self, loop: Loop, machine: Machine) -> Request:
        """Return all that is asked."""
        from twill.search.request import Request

        return Request(
            loop,
            machine,
            rules=self.rules.value,
            time=self.time.value,
            engine=self.engine.value,
            search=self.search.value,
            budget=self.budget,
            limits={n: number(value, "limit") for n, value in pairs(self.limit, "=", "limit")},
            pins=dict(pairs(self.pin, "=", "pin")),
            orders=pairs(self.order, ",", "order"),
            most_stages=self.most_stages,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Effort:
    """What does not change an answer, but whether there is one in time."""

    timeout: Annotated[
        float | None,
        Option(min=0.001, help="Seconds; the best schedule by then, with honest bounds."),
    ] = None
    memory: Annotated[
        int | None,
        Option(min=1, metavar="MB", help="Most memory of the solving process (10^6 bytes)."),
    ] = None
    no_cache: Annotated[
        bool, Option("--no-cache", help="Solve it even if the answer is known.")
    ] = False
    verbose: Annotated[
        bool,
        Option(
            "--verbose", "-v", help="Print each question to a solver, and its answer, on stderr."
        ),
    ] = False

    def solver(self, report: Report) -> Callable[[Request], Solved]:
        """Return who answers requests."""
        from twill.search.cache import Cache
        from twill.search.scheduler import solve
        from twill.search.worker import solve_within

        within = solve if self.memory is None else partial(solve_within, self.memory)
        cache = None if self.no_cache else Cache()
        log = note if self.verbose else silent
        return partial(within, timeout=self.timeout, report=report, log=log, cache=cache)


@dataclass(frozen=True)
class Polishing:
    """How far a faster program than the static schedule's is looked for."""

    programs: Annotated[
        EffortName | None,
        Option(
            "--effort",
            help="Also look for a program that the simulated SM executes faster, among 40, 400 or "
            "4,000 of them.",
        ),
    ] = None
    jobs: Jobs = 1


@command
def schedule(
    loop: LoopName,
    machine: Annotated[str, Option("--machine", "-m", help="A packaged name or a file.")],
    question: Question,
    effort: Effort,
    polishing: Polishing,
    output: Output,
    robust: Annotated[
        str | None,
        Option(
            metavar="LATENCY",
            help="Among optimal schedules (other seeds, engines, ring depths that fit) take the "
            "one that is fastest in simulation, for example under uniform:400,4000.",
        ),
    ] = None,
) -> None:
    """Find an optimal schedule and prove it."""
    from twill.artifacts.machine import Machine
    from twill.frontends import load_loop
    from twill.search.scheduler import Interrupted

    choice, polished = None, None
    stopped: KeyboardInterrupt | None = None
    with refusals(as_json=output.as_json), progress(f"scheduling {loop}") as report:
        request = question.request(load_loop(loop), Machine.named(machine))
        check_target(output.output)
        solve = effort.solver(report)
        try:
            solved = solve(request)
        except Interrupted as interrupted:
            solved, stopped = interrupted.solved, interrupted
        if robust is not None and stopped is None:
            from twill.studies.robust import others
            from twill.studies.robust import robust as choose

            rivals = others(request)
            choice = choose(
                solved.schedule, robust, lambda one: solve(one).schedule, rivals, report
            )
        if polishing.programs is not None and stopped is None:
            from twill.polish import EFFORTS

            static = solved.schedule if choice is None else choice.schedule
            budget = EFFORTS[polishing.programs.value]
            polished, stopped = _polished(static, budget, question.seed, polishing.jobs, report)
    _tell(solved, choice, polished, output)
    if stopped is not None:
        raise stopped


def _tell(solved: Solved, choice: Choice | None, polished: Polished | None, output: Output) -> None:
    """Write and print a schedule, or the one that was chosen among several or made of it."""
    from twill.show.polished import polished_data, print_polished
    from twill.show.schedule import print_schedule, schedule_data

    static = solved.schedule if choice is None else choice.schedule

    def data() -> dict[str, object]:
        how = {"cached": solved.cached, "seconds": solved.seconds}
        chosen = {} if choice is None else {"robust": choice.to_dict()}
        faster = {} if polished is None else {"polished": polished_data(polished)}
        return {**schedule_data(static), **how, **chosen, **faster}

    def show() -> None:
        print_schedule(static)
        if choice is not None:
            say(textwrap.fill(choice.words, WIDTH))
        if polished is not None:
            print_polished(polished)

    output.keep(static if polished is None else polished.schedule, "schedule-summary", data, show)


@command
def verify(
    schedule_file: ScheduleName,
    reprove: Annotated[
        bool, Option("--reprove", help="Refute again, by the other engine, what one has refuted.")
    ] = False,
    timeout: Annotated[float | None, Option(min=0.001, help="Seconds for each refutation.")] = None,
    as_json: Json = False,
) -> None:
    """Check a schedule against every rule of the model; exit status 1 if one is broken.

    With --reprove also if a refutation turns out to be false, or is not made again in time.
    """
    from twill.explain import reprove as again
    from twill.frontends.schedules import load_schedule
    from twill.show.proof import print_reproof, print_verdict
    from twill.verification import verify as check

    schedule = load_schedule(schedule_file)
    verdict = check(schedule)
    reproofs = []
    if not as_json:
        print_verdict(verdict)
    if reprove and verdict.valid:
        with progress(f"reproving {schedule.name}") as report:
            for reproof in again(schedule, timeout, report):
                reproofs.append(reproof)
                if not as_json:
                    print_reproof(reproof)
    if as_json:
        again_told = [asdict(reproof) for reproof in reproofs] if reprove else None
        print_json("verdict", {**_verdict(verdict), "reproved": again_told})
    if not verdict.valid or any(reproof.outcome != "refuted" for reproof in reproofs):
        raise typer.Exit(1)


def _verdict(verdict: Verdict) -> dict[str, object]:
    return {
        "valid": verdict.valid,
        "rules": list(verdict.rules),
        "violations": [{"rule": v.rule, "message": v.message} for v in verdict.violations],
        "trusted": [asdict(claim) for claim in verdict.trusted],
        "within": list(verdict.within),
    }


@command
def explain(
    schedule_file: ScheduleName,
    levers: Annotated[bool, Option(help="Also solve what would bring the interval down.")] = True,
    timeout: Annotated[
        float, Option(min=0.001, help="Seconds for the explanation and for each lever.")
    ] = 20.0,
    as_json: Json = False,
) -> None:
    """Say why the interval below fails, and what would bring the interval down."""
    from twill.explain import explain as explained
    from twill.explain.levers import levers as pulled
    from twill.frontends.schedules import load_schedule
    from twill.search.request import engine_factory
    from twill.show.proof import explanation_data, print_explanation, print_levers

    schedule, engine = load_schedule(schedule_file), engine_factory("difference")
    with progress(f"explaining {schedule_file}") as report:
        found = explained(schedule, engine, timeout, report)
        if not as_json:
            print_explanation(found)
        found_levers = pulled(schedule, engine, timeout, report) if levers else None
    if as_json:
        print_json("explanation", explanation_data(found, found_levers))
    elif found_levers:
        print_levers(found_levers)


@command
def polish(
    schedule: ScheduleName,
    output: Output,
    effort: Annotated[
        EffortName, Option(help="Programs that are simulated: 40, 400 or 4,000.")
    ] = EffortName.normal,
    simulations: Annotated[
        int | None, Option(min=1, help="Programs that are simulated, instead of an effort.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the search.")] = 0,
    jobs: Jobs = 1,
) -> None:
    """Look for programs that the simulated SM executes faster, from a schedule or an order."""
    from twill.frontends.schedules import load_schedule
    from twill.polish import EFFORTS
    from twill.show.polished import polished_data, print_polished

    budget = simulations or EFFORTS[effort.value]
    with refusals(as_json=output.as_json), progress(f"polishing {schedule}") as report:
        given = load_schedule(schedule)
        check_target(output.output)
        found, stopped = _polished(given, budget, seed, jobs, report)
    output.keep(
        found.schedule, "polished", lambda: polished_data(found), lambda: print_polished(found)
    )
    if stopped is not None:
        raise stopped


def _polished(
    given: Schedule, simulations: int, seed: int, jobs: int, report: Report
) -> tuple[Polished, KeyboardInterrupt | None]:
    """Return the best program, and the interruption if there was one."""
    from twill.polish import Interrupted
    from twill.polish import polish as search

    try:
        found = search(given, simulations=simulations, seed=seed, jobs=jobs, report=report)
    except Interrupted as interrupted:
        return interrupted.polished, interrupted
    return found, None
