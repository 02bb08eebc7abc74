"""A claim of the paper with what was found, the case that it belongs to, and what cases ask.

Questions are whether a loop has a schedule at a given interval and number of stages, and if not,
why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.proof import Level
from twill.artifacts.schedule import Schedule, TimeScale
from twill.base.console import Report, silent
from twill.base.deadline import Deadline
from twill.base.errors import InputError, MissingLibraryError, RefusedError
from twill.base.files import write_whole
from twill.compiled import Finding, check
from twill.compiled import Limits as CompiledLimits
from twill.emit import emitted
from twill.engines import Limits
from twill.frontends import load_loop, packaged_loops
from twill.lower.prepare import prepared
from twill.polish import DEFAULT_CONDITIONS, polish, programs_of
from twill.problem import Problem
from twill.search.questions import Outcome, Query, Questions
from twill.search.request import Options, Request, answers, beginnings, engine_factory, range_prover
from twill.search.scheduler import solve
from twill.search.search import least_interval
from twill.sim.engine import UNMODELLED, Conditions
from twill.sim.execute import run
from twill.studies.choice import COMPILED, Polishing, polished
from twill.verification import verify

# Seconds for the families of an unsatisfiable core, once a question is answered with no.
CORE_SECONDS = 10.0
LOSS = re.compile(r": (\(C\d+\)).*", re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """A claim, judged."""

    case: str
    claim: str
    found: str
    passed: bool
    # Wall-clock time that it took to find out.
    seconds: float
    # What the paper reports for the same, on one core of a Xeon Platinum 8570.
    paper_seconds: float | None = None
    # Why it does not hold, found by experiment; empty if it does.
    reason: str = ""
    # What the polished program does, and whether the claim holds of it; of some claims only.
    polished: str = ""
    polished_passed: bool | None = None
    # What the compiler makes of the schedules' kernels; empty where that is not asked.
    compiled: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        data = {**asdict(self), "seconds": round(self.seconds, 2)}
        return {"pass" if name == "passed" else name: value for name, value in data.items()}


@dataclass(frozen=True)
class CaseResult:
    """All that a case found."""

    case: str
    claims: tuple[Claim, ...]
    # Simulated cycles from one iteration to the next by variant, for figures.
    intervals: Mapping[str, float] = field(default_factory=dict)
    # Figures that do not depend on how fast the machine at hand is.
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """How a case is worked on."""

    # Seconds for each search; what is not decided by then is a claim that fails.
    timeout: float = 120.0
    # Processes of a search.
    jobs: int = 2
    # How many programs polishing simulates.
    effort: str = "normal"


Judged = tuple[str, bool]  # what was found, and whether a claim holds


class Case:
    """Collects what a case finds.

    `texts`: the claims by key, in order; one that is never judged counts as failed.
    `solutions`: schedules solved in this run, for other cases that need them.
    """

    def __init__(
        self,
        name: str,
        texts: Mapping[str, str],
        settings: Settings,
        report: Report = silent,
        solutions: dict[Request, Schedule] | None = None,
    ) -> None:
        self._solutions = {} if solutions is None else solutions
        self.name, self.settings, self.report = name, settings, report
        self.intervals: dict[str, float] = {}
        self.metrics: dict[str, float] = {}
        self._texts, self._claims = texts, dict[str, Claim]()
        self._since = monotonic()

    def judge(
        self,
        key: str,
        found: str,
        *,
        passed: bool,
        reason: str | None = None,
        paper_seconds: float | None = None,
        polished: Judged | None = None,
    ) -> None:
        """Judge a claim; its seconds are those since the one before.

        `reason`: why it does not hold; what was found says it where there is none.
        `polished`: the same of the polished program.
        """
        seconds = monotonic() - self._since
        reason = "" if passed else found if reason is None else reason
        text, program = self._texts[key], polished or ("", None)
        self._claims[key] = Claim(
            self.name, text, found, passed, seconds, paper_seconds, reason, *program
        )
        self._since = monotonic()

    def judge_both(
        self, key: str, static: Judged, polished: Judged, reason: str | None = None
    ) -> None:
        """Judge a claim of the static schedule, and of the polished program."""
        found, passed = static
        self.judge(key, found, passed=passed, reason=reason, polished=polished)

    def compile(self, key: str, schedules: Mapping[str, Schedule]) -> None:
        """Add to a claim what the compiler makes of kernels; nothing where there is no Triton."""
        self.report("compiling kernels")
        with suppress(MissingLibraryError):
            said = "; ".join(f"{name}: {compiler_says(s)}" for name, s in schedules.items())
            self._claims[key] = replace(self._claims[key], compiled=said)
        self._since = monotonic()

    def judge_chosen(self, loop: str, judges: Mapping[str, Callable[[Schedule], Judged]]) -> None:
        """Judge claims, by key, of the program that machine code chooses, where there is Triton."""
        requests = beginnings(Request(*packaged(loop)))
        given, settings = requests[0], self.settings

        def begin(machine: Machine) -> list[Schedule]:
            return [*answers([replace(r, machine=machine) for r in requests], self._solved)]

        count = programs_of(settings.effort, given.loop)
        how = Polishing(count, 0, DEFAULT_CONDITIONS, settings.jobs, restart=begin)
        with suppress(MissingLibraryError):
            how = how.judged_by(COMPILED, given.loop, settings.effort)
            _, (best, *_) = polished(begin(given.machine), how, self.report)
            taken = "unknown" if best.code_cycles is None else f"{best.code_cycles:,.0f}"
            fault = "; ".join(best.faults) or "as it is written"
            for key, judge in judges.items():
                (told, passed), claim = judge(best.schedule), self._claims[key]
                said = f"chosen by machine code ({taken} cycles; {fault}): {told}: "
                said += "holds" if passed else "does not hold"
                both = "; ".join(filter(None, (claim.compiled, said)))
                self._claims[key] = replace(claim, compiled=both)
        self._since = monotonic()

    def work(self, body: Callable[[Case], None]) -> CaseResult:
        """Judge all claims; a refusal fails those that are left, and is what was found."""
        self._since = monotonic()
        left = "not judged"
        try:
            body(self)
        except RefusedError as error:
            left = str(error)
        for key in self._texts:
            if key not in self._claims:
                self.judge(key, left, passed=False, reason=f"Nothing to judge: {left}.")
        claims = tuple(self._claims[key] for key in self._texts)
        return CaseResult(self.name, claims, self.intervals, self.metrics)

    def solved(self, loop: str, until: Level = "slack", **wishes: Any) -> Schedule:
        """Solve a packaged loop, without any cache.

        Raises
        ------
        RefusedError
            If there is no schedule, or none was found in time.
        """
        return self._solved(Request(*packaged(loop), until=until, **wishes))

    def _solved(self, request: Request) -> Schedule:
        if request not in self._solutions:

            def report(message: str) -> None:
                self.report(f"{request.loop.name}: {message}")

            solved = solve(request, timeout=self.settings.timeout, report=report)
            self._solutions[request] = solved.schedule
        return self._solutions[request]

    def simulated(self, variant: str, schedule: Schedule, metric: str = "") -> float:
        """Run a schedule and return its interval in cycles; keep it for the figures.

        `metric`: what it is called among the metrics; it is none without it.
        """
        self.report(f"simulating {variant}")
        # Claims of the paper are about the static model's machine.
        interval = run(schedule, without=UNMODELLED).measured_interval_cycles
        assert interval is not None  # there are enough iterations
        self.intervals[variant] = interval
        if metric:
            self.metrics[f"{metric} (cycles)"] = interval
        return interval

    def polished(self, loop: str) -> tuple[Schedule, float]:
        """Return the program that ``twill schedule`` gives for a loop, and its interval in cycles.

        Raises
        ------
        RefusedError
            If there is none.
        """
        given, *others = answers(beginnings(Request(*packaged(loop))), self._solved)
        self.report(f"polishing {loop}")
        found = polish(
            given,
            others=others,
            simulations=programs_of(self.settings.effort, given.loop),
            jobs=self.settings.jobs,
            conditions=(Conditions(without=frozenset(UNMODELLED)),),
            report=lambda message: self.report(f"{loop}: {message}"),
        )
        assert found.schedule.promise is not None
        self._since = monotonic()
        return found.schedule, self.simulated("polished", found.schedule)

    def judge_solution(self, key: str, schedule: Schedule, paper_seconds: float) -> None:
        """Judge whether the least interval was proved and the verifier finds the schedule valid."""
        proof, valid = schedule.proof, verify(schedule).valid
        assert proof is not None
        proved = proof.levels[0].proved
        interval, bound = schedule.initiation_interval, proof.bound
        self.metrics[f"{schedule.name} interval (cycles)"] = float(interval or 0)
        why = bound.reason + (f" of {bound.unit}" if bound.unit else "")
        found = f"I = {interval} cycles, {schedule.stages} stages, "
        found += f"{len(schedule.groups)} warp groups; {why if proved else 'not proved'}"
        found += "; valid" if valid else "; NOT valid"
        reason = "The search ended at its limit of time; `--timeout` raises it."
        self.judge(key, found, passed=proved and valid, reason=reason, paper_seconds=paper_seconds)


def compiler_says(schedule: Schedule) -> str:
    """Return what `twill emit --check` finds in a schedule's kernel, in words.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    """
    with TemporaryDirectory() as folder:
        file, machine = Path(folder, "kernel.py"), schedule.machine
        try:
            write_whole(file, emitted(prepared(schedule)))
            found = check(file, limits=CompiledLimits.of(machine)).findings
        except (RefusedError, InputError) as error:
            return str(error).removeprefix(f"{file}: ")
    return said_of(found)


def said_of(findings: Iterable[Finding]) -> str:
    """Return findings in a kernel in words."""
    # The numbers of ptxas' messages say enough.
    return "; ".join(LOSS.sub(r" \1", one.what) for one in findings) or "as it is written"


def packaged(name: str) -> tuple[Loop, Machine]:
    """Return a packaged loop and the machine that it is meant for."""
    return load_loop(name), Machine.named(packaged_loops()[name].machine)


# -- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An answer at a fixed interval and number of stages."""

    # None if it was not decided in time.
    feasible: bool | None
    # Constraint families in the unsatisfiable core, as far as an engine named them in time.
    core: tuple[str, ...]
    seconds: float

    @property
    def said(self) -> str:
        """The answer in words."""
        if self.feasible is None:
            return f"not decided in {self.seconds:.0f} s"
        if self.feasible:
            return "feasible"
        return "infeasible" + (f" ({', '.join(self.core)})" if self.core else "")


def wished(loop: str, /, **limits: int) -> Problem:
    """Return the problem of a packaged loop in clock cycles, within some limits."""
    return Request(*packaged(loop), limits=limits).problem(TimeScale())


def ask(problem: Problem, interval: int, stages: int, seconds: float) -> Asked:
    """Ask both engines about one interval, and for the core if there is no schedule."""
    return next(ask_in_turn(problem, interval, stages, [None], seconds))


def ask_in_turn(
    problem: Problem, interval: int, stages: int, groups: Iterable[int | None], seconds: float
) -> Iterator[Asked]:
    """Ask about one interval with several numbers of warp groups.

    Each question begins with what those before it learnt.

    `interval`: I in cycles.
    `groups`: most warp groups; None leaves the wish, or the machine's own limit.
    """
    questions = Questions(problem, engine_factory("difference"), range_prover())
    try:
        for most in groups:
            limits = Limits(
                groups=problem.wishes.limit("groups") if most is None else most,
                transfers=problem.wishes.limit("transfers"),
            )
            query = Query(interval, interval, stages, limits, why="feasible")
            outcome, deadline = Outcome("unknown", interval), Deadline(seconds)
            with deadline:
                outcome = questions.ask(query)
            core: tuple[str, ...] = ()
            if outcome.status == "unsat":
                core = outcome.families or _core(questions, query)
            feasible = None if outcome.status == "unknown" else outcome.status == "sat"
            yield Asked(feasible, core, deadline.spent)
    finally:
        questions.close()


def _core(questions: Questions, query: Query) -> tuple[str, ...]:
    with Deadline(CORE_SECONDS):
        return questions.ask(replace(query, kind="families")).families
    return ()


def least(problem: Problem, seconds: float) -> tuple[int, bool]:
    """Return the least interval in cycles, and whether it was proved to be that.

    Raises
    ------
    RefusedError
        If there is no schedule, or none was found in time.
    """
    finder, options = engine_factory("difference"), Options(timeout=seconds)
    return least_interval(problem, finder, options, range_prover())
