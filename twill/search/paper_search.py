"""The paper's search (Algorithm 1), with any engine, to be compared with `twill.search.search`.

The search goes from I = 1 upwards. At each I it finds the shortest modulo schedule, without warps.
Then it asks the joint system at that I, with all warp groups, for lengths from that schedule's own
up to the last with as many stages. The search stops at the first answer. As it never tries more
stages than the modulo schedule has, it can miss the least I.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from twill.artifacts.proof import LevelProof, LowerBound
from twill.base.deadline import Deadline
from twill.base.errors import RefusedError
from twill.bounds import Bounds, bounds, longest_paths
from twill.bounds.infeasible import refuse_infeasible
from twill.engines import Answer, Engine, EngineFactory, Limits, Question
from twill.engines.cbc import modulo_schedule
from twill.engines.tuning import TUNING
from twill.problem import Problem
from twill.problem.groups import UNLIMITED, WarpGroup, available_groups
from twill.problem.solution import Assignment
from twill.search.known import bound_reached, measured, not_proved, proof_within
from twill.search.questions import DEFAULTS
from twill.search.request import Options
from twill.search.search import LEAST, Found, least_value

MODULO_FAMILIES = ("dependence", "capacity")


@dataclass(frozen=True)
class _Shortest:
    """The length of the shortest modulo schedule at one interval, None if there is none."""

    length: int | None
    proved: bool
    solver: str


def paper_search(
    problem: Problem,
    engine: EngineFactory,
    options: Options = DEFAULTS,
    *,
    modulo: EngineFactory | None = None,
) -> Found:
    """Find the schedule at which Algorithm 1 stops.

    CBC's integer program gives the modulo schedules up to `Paper.coarse` slots in an interval. The
    program is indexed by time, and exact cycles are too many for it. For attention forward on 124
    slots CBC needs half a minute to find a schedule, and minutes to find the shortest. With more
    slots a joint engine gives them, from a system of dependences and unit capacities only. They
    have at most `Paper.stages` stages, or two more than the longest chain needs.

    The lengths with one number of stages are not tried one by one: a schedule of length L solves
    the system for L + 1 as well. In the printed system it does too, where only values live at its
    end live one slot longer. So the last length decides, and the first feasible one is found by
    bisection.
    Intervals below ResMII or RecMII are skipped, since no modulo schedule exists. Intervals below
    the issue time of an operation are skipped, since the joint system leaves them to the bounds.
    Limits, pins and orders of the user bind the joint system; the modulo schedule knows nothing of
    them.

    `options`: limits; an interval whose modulo schedule has more than `most_stages` is passed over.
    Without an answer within `timeout` the search is refused.
    `modulo`: gives the modulo schedules that CBC does not; `engine` without it.
    Returns: the interval counts as proved only where it equals ResMII, RecMII or the issue time of
    an operation, or where no smaller one has a modulo schedule. No other level is proved.

    Raises
    ------
    RefusedError
        If the search fails although an iteration ends before the next one begins, or if its time is
        over.
    """
    return _PaperSearch(problem, engine, options, modulo or engine).run()


class _PaperSearch:
    def __init__(
        self, problem: Problem, engine: EngineFactory, options: Options, modulo: EngineFactory
    ) -> None:
        self._problem, self._engine, self._modulo_engine = problem, engine, modulo
        self._options, self._groups = options, available_groups(problem)
        wishes = problem.wishes
        self._limits = Limits(groups=wishes.limit("groups"), transfers=wishes.limit("transfers"))
        self._most_stages = wishes.limit("stages") or options.most_stages
        self._deadline = Deadline(options.timeout)
        self._interval, self._accepted = 1, 0.0

    def run(self) -> Found:
        refuse_infeasible(self._problem, self._groups)
        with self._deadline:
            return self._first()
        raise RefusedError(
            f"{self._problem.loop.name}: Algorithm 1 has found no schedule in "
            f"{self._options.timeout:g} s; it had come to an interval of {self._interval}"
        )

    def _first(self) -> Found:
        lower, missed = bounds(self._problem), False
        work = sum(o.cycles + o.latency + o.transfer for o in self._problem.operations)
        last = work + sum(e.cross_delay for e in self._problem.edges) + 1
        for interval in range(lower.interval, last + 1):
            self._interval = interval
            shortest = self._modulo(interval)
            if shortest.length is None and shortest.proved:
                continue
            stages = -(-(shortest.length or interval) // interval)
            few = self._most_stages is None or stages <= self._most_stages
            if shortest.length is not None and few:
                assignment = self._first_length(interval, shortest.length, stages * interval)
                if assignment is not None:
                    bound = _bound(lower, interval, stages, "" if missed else shortest.solver)
                    return self._found(interval, assignment, bound)
            missed = True
        raise RefusedError(
            f"{self._problem.loop.name}: Algorithm 1 finds no schedule up to an interval of "
            f"{last}, at which an iteration ends before the next one begins"
        )

    def _length(self, assignment: Assignment) -> int:
        return assignment.length(self._problem)

    def _log(self, question: str, solver: str, length: int | None) -> None:
        self._options.log(f"{question} - {solver}: {f'length {length}' if length else 'none'}")

    # -- the modulo schedule ------------------------------------------------------------------

    def _modulo(self, interval: int) -> _Shortest:
        question = f"modulo schedule: I = {interval}, the shortest"
        self._options.report(question)
        if interval <= TUNING.paper.coarse:
            status, schedule = modulo_schedule(self._problem, interval, shortest=True)
            length = None if schedule is None else schedule.length
            found = _Shortest(length, status != "unknown", "CBC")
        else:
            found = self._modulo_by_engine(interval)
        self._log(question, found.solver, found.length)
        return found

    def _modulo_by_engine(self, interval: int) -> _Shortest:
        """Find the first stage bound with a modulo schedule, then its least length."""
        paths = longest_paths(self._problem, interval)
        if paths is None:
            return _Shortest(None, proved=True, solver="longest paths")
        low = int((paths.max(axis=0) + [o.cycles for o in self._problem.operations]).max())
        least = max(1, -(-low // interval))
        widest = max(pool.warps for pool in self._problem.machine.groups)
        kinds = sorted(set(self._problem.variable), reverse=True)
        groups = tuple(WarpGroup(widest, kind, 0, UNLIMITED) for kind in kinds)
        proved, name = True, ""
        last = max(TUNING.paper.stages, least + TUNING.interval.more_stages)
        for stages in range(least, last + 1):
            asked = Question(self._problem, interval, stages * interval, groups, MODULO_FAMILIES)
            engine = self._modulo_engine(replace(asked, seed=self._options.seed))
            answer, name = engine.solve(), engine.name
            found = answer.assignment
            if found is not None:
                ask = partial(_within, engine)
                found = least_value(ask, self._length, found, low, halves=True).assignment
            engine.dispose()
            if found is not None:
                return _Shortest(self._length(found), proved, name)
            proved, low = proved and answer.status == "unsat", stages * interval + 1
        return _Shortest(None, proved, name)

    # -- the joint schedule -------------------------------------------------------------------

    def _first_length(self, interval: int, low: int, high: int) -> Assignment | None:
        """Return the answer of the least L of low..high that has one, or the best in time."""
        best = self._joint(interval, high).assignment
        if best is None:
            return None
        self._accepted = self._deadline.spent
        self._options.report(f"{LEAST}{interval}")
        found = [best]

        def ask(length: int) -> Answer:
            answer = self._joint(interval, length)
            found.extend([answer.assignment] if answer.assignment else [])
            return answer

        with self._deadline:
            least_value(ask, self._length, best, low, halves=True)
        return found[-1]

    def _joint(self, interval: int, most: int) -> Answer:
        """Ask for a schedule of at most this length."""
        question = f"joint schedule: I = {interval}, length <= {most}"
        self._options.report(question)
        asked = Question(self._problem, interval, most, self._groups, seed=self._options.seed)
        engine = self._engine(asked)
        answer = engine.solve(self._limits)
        engine.dispose()
        length = None if answer.assignment is None else self._length(answer.assignment)
        self._log(question, engine.name, length)
        return answer

    # -- what is claimed ----------------------------------------------------------------------

    def _found(self, interval: int, assignment: Assignment, bound: LowerBound) -> Found:
        levels = tuple(
            LevelProof(level=level, value=value, proved=False)
            for level, value in measured(self._problem, interval, assignment).items()
        )
        total = self._deadline.spent
        seconds = {"interval": self._accepted, "levels": total - self._accepted, "total": total}
        proof = proof_within(self._problem, interval, bound, levels)
        return Found(interval, assignment, proof, seconds)


def _within(engine: Engine, length: int) -> Answer:
    return engine.solve(Limits(length=length))


def _bound(lower: Bounds, interval: int, stages: int, solver: str) -> LowerBound:
    """Say why nothing smaller exists; `solver`, if any, refuted all smaller modulo schedules."""
    if interval == lower.interval:
        return bound_reached(lower)
    if solver:
        return LowerBound(
            value=interval, reason="no modulo schedule", solver=solver, most_stages=stages
        )
    return not_proved(lower, lower.interval, "", stages)
