"""``twill schedule``: finding schedules, and faster programs of their loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from twill.base.console import Report, note, progress, silent, warn
from twill.base.deadline import Deadline
from twill.base.files import check_target
from twill.cli.command import Output, command, refusals
from twill.cli.options import (
    PROGRAMS,
    ConditionTexts,
    EffortName,
    Judge,
    LoopName,
    Workers,
    conditions_of,
    number,
    pairs,
    processes,
)
from twill.cli.polish import Kept, polished

if TYPE_CHECKING:
    from twill.artifacts.loop import Loop
    from twill.artifacts.machine import Machine
    from twill.artifacts.schedule import Schedule
    from twill.polish import Polished
    from twill.search.request import Request
    from twill.search.scheduler import Solved
    from twill.studies.choice import Polishing
    from twill.studies.suggest import Suggestions
    from twill.studies.trials import Trial

TimeMode = StrEnum("TimeMode", {"exact": "exact", "normalized": "normalized"})
RulesName = StrEnum("RulesName", {"issue": "issue", "paper": "paper"})
EngineName = StrEnum(
    "EngineName",
    {"both": "both", "difference": "difference", "cpsat": "cpsat", "verbatim": "verbatim"},
)
SearchName = StrEnum("SearchName", {"complete": "complete", "paper": "paper", "written": "written"})
ModelName = StrEnum("ModelName", ["simulated", "paper"])


@dataclass(frozen=True)
class Question:
    """The question to the search, without loop and machine."""

    time: Annotated[
        TimeMode, Option(help="Unit of time: clock cycles, or the paper's normalized costs.")
    ] = TimeMode.exact
    rules: Annotated[RulesName, Option(help="Reading of the constraints.")] = RulesName.issue
    engine: Annotated[
        EngineName,
        Option(
            help="both: Yices finds, CP-SAT refutes; difference: Yices; cpsat: CP-SAT; verbatim: "
            "the paper's figures as printed."
        ),
    ] = EngineName.both
    search: Annotated[
        SearchName,
        Option(
            help="complete: every interval and number of stages; paper: the paper's Algorithm 1; "
            "written: the loop as it is written."
        ),
    ] = SearchName.complete
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

    @property
    def static(self) -> list[str]:
        """Options that were given and that only the static model has."""
        usual = Question()
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return [
            f"--{name.replace('_', '-')}"
            for name, value in named.items()
            if value and name != "seed" and value != getattr(usual, name)
        ]

    @property
    def wishes(self) -> list[str]:
        """Options that were given and that leave fewer schedules."""
        restricting = ("most_stages", "limit", "pin", "order")
        return [f"--{n.replace('_', '-')}" for n in restricting if getattr(self, n)]

    def request(self, loop: Loop, machine: Machine) -> Request:
        """Return all that is asked; warn of a loop that is for another architecture."""
        from twill.search.request import Request

        made = "" if loop.origin is None else loop.origin.architecture or ""
        if made and machine.architecture.startswith("sm_") and made != machine.architecture:
            warn(
                f"{loop.name} was compiled for {made}, and {machine.name} is "
                f"{machine.architecture}: its operations are not what that would execute"
            )
        return Request(
            loop,
            machine,
            rules=self.rules.value,
            time=self.time.value,
            engine=self.engine.value,
            search=self.search.value,
            limits={n: number(value, "limit") for n, value in pairs(self.limit, "=", "limit")},
            pins=dict(pairs(self.pin, "=", "pin")),
            orders=pairs(self.order, ",", "order"),
            most_stages=self.most_stages,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Effort:
    """Limits of the search, which change no answer, and suggestions without one."""

    timeout: Annotated[
        float | None,
        Option(min=0.001, help="Seconds for the search; its best schedule by then is the result."),
    ] = None
    no_cache: Annotated[
        bool, Option("--no-cache", help="Solve it again even if the answer is known.")
    ] = False
    verbose: Annotated[
        bool,
        Option(
            "--verbose", "-v", help="Print each question to a solver, and its answer, on stderr."
        ),
    ] = False
    suggest: Annotated[
        bool | None,
        Option(
            help="If there is no schedule, try other warps, sub-tiles and smaller tiles.",
            show_default="suggest, without --timeout",
        ),
    ] = None

    def solver(
        self, report: Report, keep: Callable[[Schedule], None], clock: Deadline | None
    ) -> Callable[[Request], Solved]:
        """Return the function that answers requests, in the clock's time or each in its own."""
        from twill.search.cache import Cache
        from twill.search.scheduler import solve

        cache = None if self.no_cache else Cache()
        log = note if self.verbose else silent
        told = partial(solve, intervals={}, report=report, log=log, cache=cache, keep=keep)

        def solved(request: Request) -> Solved:
            left = None if clock is None else clock.left
            return told(request, timeout=self.timeout if left is None else left)

        return solved

    def suggestions(
        self, loop: str, machine: str, question: Question
    ) -> Callable[[], Suggestions] | None:
        """Return the search for changes that give a refused loop a schedule, None if not wanted."""
        if self.suggest is False or (self.suggest is None and self.timeout is not None):
            return None
        from twill.studies.suggest import suggested

        return partial(suggested, loop, machine, question.wishes)


@dataclass(frozen=True)
class Dynamic:
    """The model by which a schedule is best, and the effort to find a better one."""

    model: Annotated[
        ModelName | None,
        Option(
            help="simulated: the fastest program on the simulated SM; paper: the schedule that "
            "the static model proves. By default simulated, unless an option needs paper.",
            show_default=False,
        ),
    ] = None
    effort: Annotated[
        EffortName | None,
        Option(help=f"Programs to simulate: {PROGRAMS}.", show_default="normal"),
    ] = None
    conditions: ConditionTexts = None
    jobs: Workers = None
    judge: Judge = None

    @property
    def named(self) -> EffortName:
        """The effort, normal by default."""
        return self.effort or EffortName.normal

    def simulations(self, question: Question, loop: Loop) -> int | None:
        """Return how many programs are simulated, None if the static model has the last word."""
        from twill.base.errors import InputError
        from twill.polish import programs_of

        static = [*question.static, *["--model paper"][: self.model is ModelName.paper]]
        polishes = {
            "--effort": self.effort is not None,
            "--conditions": bool(self.conditions),
            "--judge": self.judge is not None,
            "--model simulated": self.model is ModelName.simulated,
        }
        asked = next((name for name, given in polishes.items() if given), None)
        if asked is not None and static:
            raise InputError(f"{asked} polishes, and {static[0]} is of the static model only")
        return None if static else programs_of(self.named.value, loop)


@command
def schedule(
    loop: LoopName,
    machine: Annotated[str, Option("--machine", "-m", help="A packaged name or a file.")],
    question: Question,
    effort: Effort,
    dynamic: Dynamic,
    output: Output,
) -> None:
    """Find the fastest program, and the optimal static schedule with its proof."""
    from twill.artifacts.machine import Machine
    from twill.frontends import load_loop
    from twill.search.request import beginnings
    from twill.studies.choice import Polishing

    suggested = effort.suggestions(loop, machine, question)
    told = refusals(as_json=output.as_json, suggested=suggested)
    with Kept() as kept:
        with told, progress(f"scheduling {loop}") as report:
            conditions = conditions_of(dynamic.conditions)
            request = question.request(load_loop(loop), Machine.named(machine))
            simulations = dynamic.simulations(question, request.loop)
            asked: tuple[Request, ...] = (request,)
            how = None
            if simulations is not None:
                asked = beginnings(request, dynamic.named.value)
                how = Polishing(simulations, question.seed, conditions, processes(dynamic.jobs))
                how = how.judged_by(dynamic.judge, request.loop, dynamic.named)
            check_target(output.output)
            kept.beside(output.output)
            finding = _Finding(effort, report, kept)
            try:
                finding.statically(asked)
                if how is not None:
                    finding.polish(how)
            except KeyboardInterrupt as interrupted:
                finding.interrupted(interrupted)
        _tell(finding, output)
        kept.answered()
    if finding.stopped is not None:
        raise finding.stopped


class _Finding:
    """The schedules found so far, and the interruption that ended the search."""

    def __init__(self, effort: Effort, report: Report, kept: Kept) -> None:
        self._effort, self._report, self._kept = effort, report, kept
        self._clock = Deadline(effort.timeout)
        self._asked: Sequence[Request] = ()
        self.found: list[Solved] = []
        self.better: Polished | None = None
        self.trials: Sequence[Trial] = ()
        self.stopped: KeyboardInterrupt | None = None

    def statically(self, asked: Sequence[Request]) -> None:
        """Find schedules of the static model; the first one counts."""
        from twill.search.request import answers

        self._asked = asked
        half = None if self._effort.timeout is None else self._effort.timeout / 2
        clock = Deadline(half) if len(asked) > 1 or asked[0].work is not None else None
        solve = self._effort.solver(self._report, self._keep, clock)
        for solved in answers(asked, solve):
            self._keep(solved.schedule)
            self.found.append(solved)

    def _keep(self, schedule: Schedule) -> None:
        if not self.found:
            self._kept(schedule)

    def polish(self, how: Polishing) -> None:
        """Find a faster program in the time that is left."""
        given = [one.schedule for one in self.found]
        how = replace(how, timeout=self._clock.left, restart=self._restart)
        self.better, self.trials, self.stopped = polished(given, how, self._report, self._kept)

    def _restart(self, machine: Machine) -> list[Schedule]:
        """Find schedules of the static model for another machine."""
        from twill.search.request import answers

        asked = [replace(request, machine=machine) for request in self._asked]
        solve = self._effort.solver(self._report, lambda _: None, self._clock)
        return [solved.schedule for solved in answers(asked, solve)]

    def interrupted(self, stopped: KeyboardInterrupt) -> None:
        """Take what was found until Ctrl-C."""
        from twill.search.scheduler import Interrupted

        if isinstance(stopped, Interrupted):
            self.found.append(stopped.solved)
        elif not self.found:
            raise stopped
        else:
            stopped = KeyboardInterrupt("this is the best schedule so far")
        self.stopped = stopped


def _tell(finding: _Finding, output: Output) -> None:
    """Write and print a schedule, or the program that was made of it."""
    from twill.show.schedule import polished_data, print_answer, print_schedule, schedule_data
    from twill.studies.trials import print_trials

    solved, polished, trials = finding.found[0], finding.better, finding.trials
    static = solved.schedule

    def data() -> dict[str, object]:
        how = {"cached": solved.cached, "seconds": solved.seconds}
        if polished is None:
            return {**schedule_data(static), **how}
        tried = {"trials": [trial.data() for trial in trials]}
        both = {"static": schedule_data(static), "polished": {**polished_data(polished), **tried}}
        return {**schedule_data(written), **how, **both}

    def show() -> None:
        if polished is None:
            print_schedule(static)
        else:
            print_answer(polished, static)
            print_trials(trials)

    written = static if polished is None else polished.schedule
    output.keep(written, "schedule-summary", data, show)
