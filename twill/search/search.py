"""The search: least interval, then stages, groups, transfers, length and slack, each with a proof.

The finder looks for schedules, the prover refutes the interval below the best one. Where
feasibility is monotone in I the interval is bisected, and refuting I - 1 refutes all below;
otherwise every interval from the lower bound on is asked about. The schedule that is returned is
solved for once more, by the finder with a fixed seed within all the levels that were reached, so
that it does not depend on the way there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from twill.artifacts.schedule import Family, LowerBound, Proof
from twill.bounds.infeasible import (
    as_written,
    infeasible_interval,
    no_schedule,
    refuse_infeasible,
    undecided,
)
from twill.bounds.least import RELAXED, Bounds, bounds, every_bound, lacks_registers, least_stages
from twill.console import Report, silent
from twill.deadline import Deadline
from twill.engines.protocol import FEW_ROWS, EngineFactory, Limits, Question, RangeProver
from twill.errors import RefusedError
from twill.problem.groups import available_groups, likely_groups, most_used
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import Known
from twill.search.levels import Levels, measured, proofs
from twill.search.proofs import bound_reached, not_proved, proof_within
from twill.search.questions import QUICK_EFFORT, Engines, Questions
from twill.search.ranges import Ranges
from twill.search.request import Options

LEAST_STAGES_BOUND = 6
MORE_STAGES = 1
"""Stages beyond the fewest where schedules are looked for at once."""
MOMENT_EFFORT = 2.0
"""Effort for a first look at the bounds."""
FEWEST_EFFORT = 1.0
"""Effort for a question about the fewest stages, which one about a stage more covers, and for a
schedule somewhat above the bounds."""
LAST_SECONDS = 5.0
"""Seconds after the time limit in which some schedule may be found if there is none yet."""
MOST_PROBES = 60
FEW_OPERATIONS = 16
"""Up to so many operations the finder refutes by itself, and names the constraints it takes."""
RELAXATION = "relaxation"
"""What stands in proofs for `lacks_registers`."""
LEAST = "least I = "
"""What a search reports, with the interval, once it turns to the levels below."""


@dataclass(frozen=True)
class Found:
    """An optimal schedule: interval, assignment and what was proved.

    Attributes
    ----------
    seconds : dict
        Wall-clock time by part of the search: ``interval``, ``levels``, ``total``.
    """

    interval: int
    assignment: Assignment
    proof: Proof
    engine: str
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


class Stopped(KeyboardInterrupt):
    """Ctrl-C, with the best schedule until then."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found


@dataclass(frozen=True)
class _Best:
    """A schedule that was found: its interval, and stages and groups that it needs at most."""

    interval: int
    assignment: Assignment
    stages: int
    groups: int


@dataclass(frozen=True)
class _Refutation:
    """Whether an interval was refuted, by whom, and which constraint families it takes."""

    refuted: bool
    families: tuple[str, ...] = ()
    solver: str = ""


def search(
    problem: Problem,
    engine: EngineFactory,
    options: Options | None = None,
    report: Report = silent,
    rival: EngineFactory | None = None,
    prover: RangeProver | None = None,
) -> Found:
    """Find a schedule that is optimal level by level.

    `rival`: who is asked instead of the finder, which then refutes and solves for the last
    schedule.

    Raises
    ------
    RefusedError
        If no schedule exists within the limits, with the reason.
    """
    return _Search(problem, engine, rival, prover, options or Options(), report).run()


def least_interval(
    problem: Problem,
    engine: EngineFactory,
    options: Options | None = None,
    report: Report = silent,
    rival: EngineFactory | None = None,
    prover: RangeProver | None = None,
) -> tuple[int, bool]:
    """Find the least interval only, and whether it was proved to be that.

    Returns: an interval that has a schedule; whether every smaller one was refuted.

    Raises
    ------
    RefusedError
        If no schedule exists within the limits, or none was found in time.
    """
    return _Search(problem, engine, rival, prover, options or Options(), report).least()


class _Search:
    def __init__(
        self,
        problem: Problem,
        engine: EngineFactory,
        rival: EngineFactory | None,
        prover: RangeProver | None,
        options: Options,
        report: Report,
    ) -> None:
        self.problem = problem
        self.prover = prover if len(problem.operations) > FEW_OPERATIONS else None
        self.options, self.report = options, report
        self._refuted = set[tuple[int, int, int]]()
        self.groups = available_groups(problem)
        self.limits = Limits(
            groups=problem.wishes.limit("groups"), transfers=problem.wishes.limit("transfers")
        )
        self.known = Known(problem, report)
        self.lower: Bounds = bounds(problem)
        self.known.refuted(self.lower.interval)
        self.engines = Engines(engine, rival, self.prover)
        self.questions = Questions(problem, self.groups, self.engines, self.known, options.seed)
        self._seconds = dict[str, float]()

    def least(self) -> tuple[int, bool]:
        refuse_infeasible(self.problem, self.groups)
        try:
            with Deadline(self.options.timeout):
                best, bound = self._least_interval()
                return best.interval, bound.reason != "not proved"
        finally:
            self.questions.close()
        if self.known.best is None:
            raise self._undecided()
        return self.known.best[0], False

    def run(self) -> Found:
        refuse_infeasible(self.problem, self.groups)
        deadline = Deadline(self.options.timeout)
        try:
            with deadline:
                return self._solved(deadline)
        except KeyboardInterrupt:
            if self.known.best is None:
                raise
            raise Stopped(self._so_far(deadline)) from None
        finally:
            self.questions.close()
        if self.known.best is None:
            self._as_written()
        return self._so_far(deadline)

    def _solved(self, deadline: Deadline) -> Found:
        best, bound = self._least_interval()
        self.known.bound = bound
        self._seconds["interval"] = deadline.spent
        self.report(f"{LEAST}{best.interval}")
        levels = Levels(self.questions, self.problem, self.limits, self.known, self.options.until)
        assignment = levels.improve(best.interval, best.assignment)
        return self._found(best.interval, assignment, bound, deadline)

    def _so_far(self, deadline: Deadline) -> Found:
        """Return the best schedule so far, with no more than what was proved."""
        assert self.known.best is not None
        interval, assignment = self.known.best
        bound = self.known.bound
        if bound is None:
            most = self._most_stages(self.known.low)
            bound = not_proved(self.lower, self.known.low, self.known.solver, most)
        return self._found(interval, assignment, bound, deadline)

    def _found(
        self, interval: int, assignment: Assignment, bound: LowerBound, deadline: Deadline
    ) -> Found:
        values = measured(self.problem, interval, assignment)
        levels = proofs(values, self.known.reached, proved=bound.reason != "not proved")
        total = deadline.spent
        before = self._seconds.get("interval", total)
        seconds = {"interval": before, "levels": total - before, "total": total}
        proof = proof_within(self.problem, interval, bound, levels)
        return Found(interval, assignment, proof, self.questions.solver, seconds)

    # -- the interval -----------------------------------------------------------------------

    def _first_interval(self) -> int:
        """Return the least interval that the relaxation does not refute."""
        interval = self.lower.interval
        while lacks_registers(self.problem, interval, self.groups):
            if interval > infeasible_interval(self.problem):
                raise no_schedule(
                    self.problem, self.groups, interval, self._most_stages(interval), RELAXED
                )
            interval += max(1, interval // 256) if self.problem.starts_at_issue else 1
        if interval > self.lower.interval and self.problem.starts_at_issue:
            while not lacks_registers(self.problem, interval - 1, self.groups) and (
                interval - 1 >= self.lower.interval
            ):
                interval -= 1
        return interval

    def _least_interval(self) -> tuple[_Best, LowerBound]:
        self.lower = every_bound(self.problem)
        self.known.refuted(self.lower.interval)
        first = self._first_interval()
        self.known.refuted(first, RELAXATION)
        if self.prover is not None:
            return self._with_prover(first)
        best = self._quickly(first) or self._thoroughly(first)
        if best is not None:
            return best, self._bound_before(first)
        best = self._upper_bound(first)
        if not self.problem.starts_at_issue:
            return self._linear(first, best)
        while True:
            best = self._bisect(first, best)
            refutation, better = self._refute(best.interval - 1)
            if better is None:
                return best, self._bound_below(best.interval, refutation, first)
            best = better

    def _with_prover(self, first: int) -> tuple[_Best, LowerBound]:
        """Look at the first interval for a moment, somewhat above it, and then with patience."""
        if self._row_by_row(first):
            return self._prove_ranges(first, None)
        best = self._in_a_moment(first)
        known = None if best else self._somewhat_above(first)
        best = best or self._patiently(first, known)
        if best is None:
            return self._prove_ranges(first, known)
        return best, self._bound_before(first)

    def _prove_ranges(self, first: int, known: _Best | None) -> tuple[_Best, LowerBound]:
        """Let the prover refute ranges of intervals, all below that of a known schedule."""
        ranges = Ranges(
            self.problem,
            self.questions,
            self.limits,
            self._few_groups,
            self._most_stages,
            self.known,
            row_by_row=self._row_by_row(first),
        )
        low, found = ranges.least(first, (known.interval, known.assignment) if known else None)
        if found is None:
            best = self._upper_bound(low)
        else:
            interval, assignment = found
            best = _Best(interval, assignment, self._most_stages(interval), assignment.used())
        proved = low == best.interval
        if proved and low == first:
            return best, self._bound_before(first)
        refuted_by = self.prover.name if self.prover is not None and low > first else ""
        refutation = _Refutation(refuted=proved, solver=refuted_by)
        return best, self._bound_below(best.interval, refutation, low)

    def _somewhat_above(self, first: int) -> _Best | None:
        """Return a schedule near the bounds, soon found where the bounds are out of reach."""
        best, step = None, max(1, first // 16)
        while best is None and step <= first:
            stages, used = self._some_stages(first + step), self._few_groups
            best = self._ask(first + step, stages, used, FEWEST_EFFORT)
            step *= 2
        return best

    def _as_written(self) -> None:
        """Look for a schedule of the loop as it is written, which takes a moment."""
        problem, last = as_written(self.problem)
        limits = replace(self.limits, groups=self._few_groups)
        with Deadline(LAST_SECONDS):
            for interval in (max(self.known.low, last), 2 * max(self.known.low, last)):
                length = least_stages(problem, interval) * interval
                seed = self.options.seed
                asked = Question(problem, interval, length, self.groups, seed=seed)
                engine = self.engines.finder(asked)
                found = engine.solve(limits).assignment
                engine.dispose()
                if found is not None:
                    self.known.offer(interval, found)
                    break
        if self.known.best is None:
            raise self._undecided()

    def _bisect(self, low: int, best: _Best) -> _Best:
        """Narrow the least interval down, asking only about few stages and few groups."""
        low += 1
        while low < best.interval:
            middle = (low + best.interval) // 2
            better = self._quickly(middle, stages=best.stages, groups=best.groups)
            if better is None:
                low = middle + 1
            else:
                best = better
        return best

    def _linear(self, first: int, best: _Best) -> tuple[_Best, LowerBound]:
        """Ask about every interval: with delayed reservations a larger one may be infeasible."""
        refutation: _Refutation | None = None
        for interval in range(first, best.interval):
            asked, better = self._refute(interval)
            if better is not None:
                best = better
                break
            if not asked.refuted:
                before = refutation.solver if refutation is not None else ""
                asked = _Refutation(refuted=False, solver=before)
                return best, self._bound_below(best.interval, asked, interval)
            refutation = asked
        if refutation is None:
            return best, self._bound_before(first)
        return best, self._bound_below(best.interval, refutation, first)

    def _upper_bound(self, first: int) -> _Best:
        """Return a schedule at some interval above `first`, in growing steps."""
        step, interval = max(1, first // 8), first
        for _ in range(MOST_PROBES):
            interval += step
            best = self._quickly(interval)
            if best is None and interval > infeasible_interval(self.problem):
                best = self._thoroughly(interval)
                if best is None:
                    break
            if best is not None:
                return best
            step *= 2
        refutation, best = self._refute(interval)
        if best is not None:
            return best
        if not refutation.refuted:
            raise self._undecided()
        most = self._most_stages(interval)
        raise no_schedule(self.problem, self.groups, interval, most, refutation.families)

    def _undecided(self) -> RefusedError:
        return undecided(self.problem, self.known.low, self.options.timeout)

    def _quickly(
        self, interval: int, *, stages: int | None = None, groups: int | None = None
    ) -> _Best | None:
        """Look for a schedule of few stages with few groups; None does not mean there is none."""
        for count, used, effort in self._quick_questions(interval, stages, groups):
            best = self._ask(interval, count, used, effort)
            if best is not None:
                return best
        return None

    def _in_a_moment(self, interval: int) -> _Best | None:
        """Look for a schedule of few stages and groups, which there often is."""
        for count, used, effort in self._quick_questions(interval, None, self._few_groups):
            best = self._ask(interval, count, used, min(effort, MOMENT_EFFORT))
            if best is not None:
                return best
        return None

    def _patiently(self, interval: int, known: _Best | None) -> _Best | None:
        """Look for a schedule of a stage more.

        With all groups only if no other schedule is known: what proves the least interval below
        one that is known covers them.
        """
        for used in self._likely_groups(None)[: None if known is None else 1]:
            best = self._ask(interval, self._some_stages(interval), used, QUICK_EFFORT)
            if best is not None:
                return best
        return None

    def _ask(self, interval: int, stages: int, used: int, effort: float) -> _Best | None:
        """Ask one question of a search for schedules, unless the answer is known."""
        if (interval, stages, used) in self._refuted:
            return None
        self.known.say(f"I = {interval}, {stages} stages, {used} warp groups")
        limits = replace(self.limits, groups=used)
        answer = self.questions.ask(interval, stages, limits, effort)
        if answer.status == "unsat":
            self._refuted.add((interval, stages, used))
        if answer.assignment is None:
            return None
        return _Best(interval, answer.assignment, stages, used)

    @property
    def _few_groups(self) -> int:
        return self._likely_groups(None)[0]

    def _some_stages(self, interval: int) -> int:
        return min(least_stages(self.problem, interval) + MORE_STAGES, self._most_stages(interval))

    def _quick_questions(
        self, interval: int, stages: int | None, groups: int | None
    ) -> Iterator[tuple[int, int, float]]:
        """Give stages, groups and effort of what to ask: the fewest stages, then some more.

        A question of more stages covers that of fewer, and is often easier where few are tight.
        """
        least, most = least_stages(self.problem, interval), self._some_stages(interval)
        most = min(max(most, stages or 0), self._most_stages(interval))
        few = self._likely_groups(groups)
        if least < most:
            yield least, few[0], FEWEST_EFFORT
        for used in few:
            yield most, used, QUICK_EFFORT

    def _row_by_row(self, interval: int) -> bool:
        """Return whether single intervals are decided row by row, and refute all below."""
        together = self.lower.configurations
        return (
            self.prover is not None
            and self.problem.starts_at_issue
            and together is not None
            and together.most > 1
            and interval <= FEW_ROWS
        )

    def _thoroughly(self, interval: int) -> _Best | None:
        """Look for a schedule with as many stages and groups as there may be."""
        most = self._most_stages(interval)
        self.known.say(f"I = {interval}, up to {most} stages, any warp groups")
        answer = self.questions.ask(interval, most, self.limits)
        if answer.assignment is None:
            return None
        return _Best(interval, answer.assignment, most, answer.assignment.used())

    def _refute(self, interval: int) -> tuple[_Refutation, _Best | None]:
        """Ask the prover about an interval; a schedule instead of a refutation is welcome too."""
        most = self._most_stages(interval)
        self.known.say(f"refuting I = {interval}, up to {most} stages, any warp groups")
        if lacks_registers(self.problem, interval, self.groups):
            return _Refutation(refuted=True, families=RELAXED, solver=RELAXATION), None
        answer, name = self.questions.refute(interval, most, self.limits)
        if answer.assignment is not None:
            found = answer.assignment
            return _Refutation(refuted=False), _Best(interval, found, most, found.used())
        refuted = answer.status == "unsat"
        who = name if refuted else ""
        return _Refutation(refuted=refuted, families=answer.families, solver=who), None

    def _most_groups(self, groups: int | None = None) -> int:
        most = most_used(self.groups)
        return min(most, self.limits.groups or most, groups or most)

    def _likely_groups(self, groups: int | None) -> list[int]:
        """Return numbers of groups to look for schedules with."""
        most = self._most_groups(groups)
        return sorted({min(most, likely_groups(self.problem)), most})

    def _most_stages(self, interval: int) -> int:
        wished = self.problem.wishes.limit("stages")
        if wished is not None:
            return wished
        if self.options.most_stages is not None:
            return self.options.most_stages
        return max(LEAST_STAGES_BOUND, least_stages(self.problem, interval) + 2)

    # -- the proof --------------------------------------------------------------------------

    def _bound_before(self, first: int) -> LowerBound:
        """Say why nothing below the first interval tried can be feasible."""
        if first == self.lower.interval:
            return bound_reached(self.lower)
        refutation = _Refutation(refuted=True, families=RELAXED, solver=RELAXATION)
        return self._bound_below(first, refutation, first)

    def _bound_below(self, interval: int, refutation: _Refutation, known: int) -> LowerBound:
        """Say why nothing below `interval` is feasible, or that nothing below `known` is."""
        most = self._most_stages(interval - 1)
        if not refutation.refuted:
            return not_proved(self.lower, known, refutation.solver or RELAXATION, most)
        return LowerBound(
            value=interval,
            reason="no joint schedule",
            solver=refutation.solver,
            families=cast("tuple[Family, ...]", refutation.families),
            most_stages=most,
        )
