"""The search: the least interval by one strategy after the other, then level by level below it.

`STRATEGIES` has the questions about the interval, in the order in which they are asked, until the
best schedule is at an interval below which all is refuted. `Levels` go on from there. The finder
solves once more, with a fixed seed, within all levels that were reached, so that the schedule that
is returned does not depend on the way there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from twill.artifacts.proof import Level, Proof
from twill.base.console import meanwhile
from twill.base.deadline import Deadline
from twill.base.errors import RefusedError
from twill.bounds import RELAXED, bounds, every_bound, lacks_registers, least_length, least_stages
from twill.bounds.infeasible import (
    as_written,
    infeasible_interval,
    no_schedule,
    refuse_infeasible,
    undecided,
)
from twill.engines import Answer, EngineFactory, Question
from twill.engines.cpsat import CpSatProver
from twill.engines.tuning import TUNING
from twill.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import Reached, measured, proof_within, proofs
from twill.search.questions import DEFAULTS, Outcome, OutOfWork, Questions
from twill.search.request import LEVELS, Options
from twill.search.strategies import STRATEGIES, Situation

RELAXATION = "relaxation"  # what stands in proofs for `lacks_registers`
LEAST = "least I = "  # what a search reports, with the interval, once it turns to the levels below


@dataclass(frozen=True)
class Found:
    """The result of a search: interval, assignment and proof."""

    interval: int
    assignment: Assignment
    proof: Proof
    # Wall-clock time by part of the search: ``interval``, ``levels``, ``total``.
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    # As `Options.work` counts it.
    work: float = field(default=0.0, compare=False)


class Stopped(KeyboardInterrupt):
    """Ctrl-C, with the best schedule until then."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


def search(
    problem: Problem,
    finder: EngineFactory,
    options: Options = DEFAULTS,
    prover: CpSatProver | None = None,
    *,
    written: bool = False,
) -> Found:
    """Find a schedule that is optimal level by level.

    `written`: any schedule instead, of the loop as it is written: one operation after the other.

    Raises
    ------
    RefusedError
        If no schedule exists within the limits, with the reason.
    """
    search = _Search(problem, finder, options, prover)
    return search.written() if written else search.run()


def least_interval(
    problem: Problem,
    finder: EngineFactory,
    options: Options = DEFAULTS,
    prover: CpSatProver | None = None,
) -> tuple[int, bool]:
    """Find the least interval only, and whether it was proved to be that.

    Returns: an interval that has a schedule; whether every smaller one was refuted.

    Raises
    ------
    RefusedError
        If no schedule exists within the limits, or none was found in time.
    """
    return _Search(problem, finder, options, prover).least()


class _Search:
    def __init__(
        self, problem: Problem, finder: EngineFactory, options: Options, prover: CpSatProver | None
    ) -> None:
        self._problem, self._finder, self._options = problem, finder, options
        self._questions = Questions(problem, finder, prover, options)
        self._known, self._groups = self._questions.known, self._questions.groups
        lower = bounds(problem)
        self._situation = Situation(problem, self._questions, lower, options.most_stages)
        self._known.refuted(lower.interval)
        self._seconds = dict[str, float]()
        self._told: tuple[int, Assignment] | None = None
        self._quiet = Deadline(0.0)

    def least(self) -> tuple[int, bool]:
        """Return what `least_interval` does."""
        refuse_infeasible(self._problem, self._groups)
        try:
            with Deadline(self._options.timeout):
                self._least_interval()
        finally:
            self._questions.close()
        if self._known.best is None:
            raise self._undecided()
        return self._known.best[0], self._known.proved

    def written(self) -> Found:
        """Return a schedule of the loop as it is written."""
        refuse_infeasible(self._problem, self._groups)
        deadline = Deadline(self._options.timeout)
        try:
            return self._found(*self._as_written(self._options.timeout), deadline)
        finally:
            self._questions.close()

    def run(self) -> Found:
        """Return what `search` does."""
        refuse_infeasible(self._problem, self._groups)
        deadline = Deadline(self._options.timeout)
        try:
            with deadline, meanwhile(partial(self._tell_better, deadline)):
                if not self._options.known:
                    self._least_interval()
                    self._name_families()
                interval, found = self._shared()
                self._seconds["interval"] = deadline.spent
                self._options.report(f"{LEAST}{interval}")
                levels = Levels(self._questions, self._situation, interval, self._options)
                return self._found(interval, levels.improve(found), deadline)
        except KeyboardInterrupt:
            if self._known.best is None:
                raise
            raise Stopped(self._found(*self._known.best, deadline)) from None
        except OutOfWork:
            self._share()
        finally:
            self._questions.close()
        last = None if self._options.timeout is None else TUNING.budget.last
        return self._found(*(self._known.best or self._as_written(last)), deadline)

    def _tell_better(self, deadline: Deadline) -> None:
        """Report the best schedule if it is new; reports take at most half of the time."""
        best, better = self._known.best, self._options.better
        if better is None or best is None or best is self._told or not self._quiet.late:
            return
        self._told, began = best, Deadline()
        better(self._found(*best, deadline))
        self._quiet = Deadline(began.spent)

    def _found(self, interval: int, assignment: Assignment, deadline: Deadline) -> Found:
        """Return a schedule, with no more than what was proved."""
        lower = self._situation.lower
        bound = self._known.bound(lower, self._situation.most_stages(max(1, self._known.low - 1)))
        values = measured(self._problem, interval, assignment)
        levels = proofs(values, self._known.reached, proved=bound.reason != "not proved")
        total = deadline.spent
        before = self._seconds.get("interval", total)
        seconds = {"interval": before, "levels": total - before, "total": total}
        proof = proof_within(self._problem, interval, bound, levels)
        return Found(interval, assignment, proof, seconds, self._questions.work)

    def _least_interval(self) -> tuple[int, Assignment]:
        """Ask what the strategies ask, until nothing is left below the best schedule."""
        situation, known = self._situation, self._known
        situation.lower = every_bound(self._problem)
        known.refuted(situation.lower.interval)
        situation.first = self._first_interval(situation.lower.interval)
        known.refuted(situation.first, RELAXATION, RELAXED)
        for strategy in STRATEGIES:
            if known.proved:
                break
            if strategy.applies(situation):
                for question in strategy.questions(situation):
                    situation.last = self._questions.ask(replace(question, why=strategy.name))
                    if known.proved:
                        break
        if known.best is None:
            raise self._undecided()
        return known.best

    def _shared(self) -> tuple[int, Assignment]:
        """Return the best schedule; begin with what other searches know, or share the knowledge."""
        situation, known = self._situation, self._options.known
        if known:
            situation.lower, situation.first = known["bounds"]
            self._questions.begin_with(known)
        self._share()
        if self._known.best is None:
            raise OutOfWork  # as it was for who told
        return self._known.best

    def _share(self) -> None:
        """Share what is known of the interval with other searches, unless an entry exists."""
        situation, known = self._situation, self._options.known
        if known is not None and not known:
            known |= {"bounds": (situation.lower, situation.first), **self._questions.answers}

    def _first_interval(self, bound: int) -> int:
        """Return the least interval that the relaxation does not refute."""
        interval, monotone = bound, self._situation.monotone
        while lacks_registers(self._problem, interval, self._groups):
            if interval > infeasible_interval(self._problem):
                most = self._situation.most_stages(interval)
                raise no_schedule(self._problem, self._groups, interval, most, RELAXED)
            interval += max(1, interval // TUNING.interval.relaxed_by) if monotone else 1
        while monotone and interval > bound:
            if lacks_registers(self._problem, interval - 1, self._groups):
                break
            interval -= 1
        return interval

    def _name_families(self) -> None:
        """Have the finder name what a refutation by the prover takes, where that is soon done."""
        last, few = self._known.low - 1, len(self._problem.operations) <= TUNING.interval.named
        if few and not self._situation.alone and last >= self._situation.first:
            question = self._situation.query(last, kind="families")
            self._questions.ask(replace(question, why="below the least interval"))

    def _as_written(self, seconds: float | None) -> tuple[int, Assignment]:
        """Look for a schedule of the loop as it is written, which takes a moment.

        `seconds`: after which it is given up.
        """
        problem, last = as_written(self._problem)
        limits = replace(self._situation.limits, groups=self._situation.few)
        with Deadline(seconds):
            for interval in (max(self._known.low, last), 2 * max(self._known.low, last)):
                length = least_stages(problem, interval) * interval
                asked = Question(problem, interval, length, self._groups)
                engine = self._finder(replace(asked, seed=self._options.seed))
                found = engine.solve(limits).assignment
                engine.dispose()
                if found is not None:
                    self._known.offer(interval, found)
                    return interval, found
        raise self._undecided()

    def _undecided(self) -> RefusedError:
        return undecided(self._problem, self._known.low, self._options.timeout)


# -- the levels below the interval ----------------------------------------------------------------

Ask = Callable[[int], Answer | Outcome]
Measure = Callable[[Assignment], int]
Look = Callable[[Ask, Measure, Assignment, int], Reached]


class Levels:
    """Improves a schedule at its interval."""

    def __init__(
        self, questions: Questions, situation: Situation, interval: int, options: Options
    ) -> None:
        self._questions, self._situation, self._interval = questions, situation, interval
        self._problem, self._limits = situation.problem, situation.limits
        self._wanted = LEVELS[: LEVELS.index(options.until) + 1]
        self._effort = options.effort if questions.prover is not None else None

    def improve(self, found: Assignment) -> Assignment:
        """Improve level by level; the assignment is solved for once more at the end.

        A level is best among schedules that are no worse in the levels above it. Stages count in
        any case, since every question limits them.
        """
        problem, interval, reached = self._problem, self._interval, self._situation.known.reached
        best = reached["stages"] = self._fewest_stages(found)
        self._best, self._stages = best.assignment, best.value
        fewest_groups = len({operation.variable_latency for operation in problem.operations})
        self._reach("groups", Assignment.used, fewest_groups, least_value)
        self._reach("transfers", lambda a: a.transfers(problem), 0, least_value)
        bisected = partial(least_value, halves=True)
        shortest = least_length(problem, interval)
        self._reach("length", lambda a: a.length(problem), shortest, bisected)
        if self._limits.length is None:
            self._limits = replace(self._limits, length=self._stages * interval)
        if problem.edges:
            farthest = max(edge.distance for edge in problem.edges)
            most = (self._limits.length or 0) + interval * farthest

            def slack(a: Assignment) -> int:
                """Return the slack; where nothing is waited for, more than any."""
                slack = a.slack(problem, interval)
                return most if slack is None else slack

            self._reach("slack", slack, most, _largest)
        if self._effort is not None:
            return self._best
        return self._questions.settle(interval, self._limits, self._best)

    def _fewest_stages(self, assignment: Assignment) -> Reached:
        """Look for fewer stages, first with no more groups than are enough for most loops."""
        stages = -(-assignment.length(self._problem) // self._interval)
        proved, solver, few = True, "", self._situation.few
        for count in range(least_stages(self._problem, self._interval), stages):
            query = partial(self._situation.query, self._interval, stages=count)
            first = query(groups=few, effort=TUNING.levels.stages)
            answer = self._questions.ask(replace(first, why="stages"))
            if answer.assignment is None:
                answer = self._questions.ask(replace(query(), why="stages"))
            if answer.assignment is not None:
                return Reached(count, answer.assignment, proved, solver)
            proved, solver = proved and answer.status == "unsat", answer.solver
        return Reached(stages, assignment, proved, solver)

    def _reach(self, level: Level, measure: Measure, bound: int, look: Look) -> None:
        """Look for the best value of a level; the prover finds the best length or slack at once."""
        if level not in self._wanted:
            return
        minimizes = self._questions.prover is not None and measure(self._best) != bound
        if minimizes and (level == "length" or level == "slack"):  # noqa: PLR1714 - for the types
            answer = self._questions.best(
                self._interval, self._limits, self._best, level, self._effort
            )
            found = answer.assignment or self._best
            solver = answer.solver if measure(found) != bound else ""
            best = Reached(measure(found), found, answer.status == "sat", solver)
        else:
            best = look(partial(self._ask, level), measure, self._best, bound)
        self._situation.known.reached[level] = best
        self._best = best.assignment
        self._limits = replace(self._limits, **{level: best.value})

    def _ask(self, level: Level, value: int) -> Outcome:
        """Ask whether a level can have a value."""
        query = self._situation.query(self._interval, stages=self._stages)
        within = replace(self._limits, **{level: value})
        asked = replace(query, limits=within, why=level)
        if self._effort is not None:
            asked = replace(asked, effort=self._effort, decide=False)
        return self._questions.ask(asked)


def least_value(
    ask: Ask, measure: Measure, best: Assignment, low: int, *, halves: bool = False
) -> Reached:
    """Find the least feasible value in growing steps from below: small ones are soon refuted.

    `halves`: bisect instead; the bound itself is tried first.
    """
    high, proved, step, solver = measure(best), True, 0, ""
    while low < high:
        probe = min(low + step, (low + high) // 2)
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            high, step = min(probe, measure(best)), 0
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            low, step = probe + 1, 2 * step + 1
        step = high if halves else step
    return Reached(high, best, proved, solver)


def _largest(ask: Ask, measure: Measure, best: Assignment, high: int) -> Reached:
    """Bisect for the largest feasible value, in growing steps from the known one."""
    low, proved, step, solver = measure(best), True, 1, ""
    while low < high:
        probe = min(high, low + step)
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            low = max(probe, measure(best))
            step *= 2
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            high, step = probe - 1, max(1, (probe - low) // 2)
    return Reached(low, best, proved, solver)
