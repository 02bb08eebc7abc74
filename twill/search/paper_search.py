"""The paper's search (Algorithm 1), with any engine, to be compared with `twill.search.search`.

From I = 1 upwards: the shortest modulo schedule at I, without warps; then the joint system at the
same I with all warp groups, for lengths L from that schedule's own up to the last with as many
stages. It stops at the first answer. As it never tries more stages than the modulo schedule has,
it can miss the least I.
"""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.proof import LevelProof, LowerBound
from twill.bounds.infeasible import refuse_infeasible
from twill.bounds.least import Bounds, bounds, longest_paths
from twill.deadline import Deadline
from twill.engines.cbc import shortest_modulo_schedule
from twill.engines.protocol import Engine, EngineFactory, Limits, Question
from twill.errors import RefusedError
from twill.problem.groups import UNLIMITED, WarpGroup, available_groups
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import bound_reached, measured, not_proved, proof_within
from twill.search.questions import GIVEN
from twill.search.request import Options
from twill.search.search import LEAST, Found

COARSE_SLOTS = 64
MODULO_STAGES = 6
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
    options: Options = GIVEN,
    *,
    modulo: EngineFactory | None = None,
) -> Found:
    """Find the schedule at which Algorithm 1 stops.

    CBC's integer program gives the modulo schedules up to `COARSE_SLOTS` slots in an interval. It
    is indexed by time: attention forward on 124 slots takes it half a minute to find one and
    several to find the shortest, and exact cycles are too many. There a joint engine gives them,
    from a system of dependences and unit capacities only, of at most `MODULO_STAGES` stages or
    two more than the longest chain needs.

    The lengths with one number of stages are not tried one by one: a schedule of length L solves
    the system for L + 1 as well (the printed one too, where only what is live at its end lives one
    slot longer), so that the last of them decides and the first feasible one is bisected for.
    Intervals below ResMII or RecMII, where no modulo schedule exists, are skipped, and so are those
    below the issue time of an operation, where the joint system leaves it to the bounds to refuse.
    Limits, pins and orders of the user bind the joint system; the modulo schedule knows nothing of
    them.

    `options`: limits; an interval whose modulo schedule has more than `most_stages` is passed over.
    Without an answer within `timeout` the search is refused.
    `modulo`: gives the modulo schedules that CBC does not; `engine` without it.
    Returns: the interval counts as proved only where it equals ResMII, RecMII or the issue time of
    an operation, or where no smaller one has a modulo schedule; no other level is.

    Raises
    ------
    RefusedError
        If the search fails although an iteration ends before the next one begins, or if its time is
        over.
    """
    return _PaperSearch(problem, engine, options, modulo or engine).run()


class _PaperSearch:
    def __init__(
        self,
        problem: Problem,
        engine: EngineFactory,
        options: Options,
        modulo: EngineFactory,
    ) -> None:
        self.problem, self.factory, self.modulo_factory = problem, engine, modulo
        self.options, self.report = options, options.report
        self.groups = available_groups(problem)
        wishes = problem.wishes
        self.limits = Limits(groups=wishes.limit("groups"), transfers=wishes.limit("transfers"))
        self.most_stages = wishes.limit("stages") or options.most_stages
        self.engine_name = ""
        self._deadline = Deadline(options.timeout)
        self._accepted, self._interval = 0.0, 1

    def run(self) -> Found:
        refuse_infeasible(self.problem, self.groups)
        with self._deadline:
            return self._first()
        raise RefusedError(
            f"{self.problem.loop.name}: Algorithm 1 has found no schedule in "
            f"{self.options.timeout:g} s; it had come to an interval of {self._interval}"
        )

    def _first(self) -> Found:
        lower = bounds(self.problem)
        missed = False
        for interval in range(lower.interval, self._last_interval() + 1):
            self._interval = interval
            self.report(f"modulo schedule at I = {interval}")
            shortest = self._modulo(interval)
            if shortest.length is None and shortest.proved:
                continue
            stages = -(-(shortest.length or interval) // interval)
            assignment = self._same_stages(interval, stages, shortest.length)
            if assignment is not None:
                bound = _bound(lower, interval, stages, "" if missed else shortest.solver)
                return self._found(interval, assignment, bound)
            missed = True
        raise RefusedError(
            f"{self.problem.loop.name}: Algorithm 1 finds no schedule up to an interval of "
            f"{self._last_interval()}, at which an iteration ends before the next one begins"
        )

    def _same_stages(self, interval: int, stages: int, shortest: int | None) -> Assignment | None:
        if shortest is None or (self.most_stages is not None and stages > self.most_stages):
            return None
        self.report(f"joint schedule at I = {interval}, {stages} stages")
        return self._first_length(interval, shortest, stages * interval)

    # -- the modulo schedule ------------------------------------------------------------------

    def _modulo(self, interval: int) -> _Shortest:
        if interval <= COARSE_SLOTS:
            status, schedule = shortest_modulo_schedule(self.problem, interval)
            length = None if schedule is None else schedule.length
            return _Shortest(length, status != "unknown", "CBC")
        return self._modulo_by_engine(interval)

    def _modulo_by_engine(self, interval: int) -> _Shortest:
        """Find the first stage bound with a modulo schedule, then its least length."""
        paths = longest_paths(self.problem, interval)
        if paths is None:
            return _Shortest(None, proved=True, solver="longest paths")
        cycles = [o.cycles for o in self.problem.operations]
        low = int((paths.max(axis=0) + cycles).max())
        least = max(1, -(-low // interval))
        proved, name = True, ""
        for stages in range(least, max(MODULO_STAGES, least + 2) + 1):
            engine = self.modulo_factory(
                Question(
                    self.problem,
                    interval,
                    stages * interval,
                    self._boundless_groups(),
                    families=MODULO_FAMILIES,
                    seed=self.options.seed,
                )
            )
            answer, name = engine.solve(), engine.name
            length = None
            if answer.assignment is not None:
                length = self._shortened(engine, low, answer.assignment.length(self.problem))
            engine.dispose()
            if length is not None:
                return _Shortest(length, proved, name)
            proved, low = proved and answer.status == "unsat", stages * interval + 1
        return _Shortest(None, proved, name)

    def _shortened(self, engine: Engine, low: int, high: int) -> int:
        """Bisect for the least length; the bound itself is tried first."""
        probe = low
        while low < high:
            answer = engine.solve(Limits(length=probe))
            if answer.assignment is not None:
                high = min(probe, answer.assignment.length(self.problem))
            else:
                low = probe + 1
            probe = (low + high) // 2
        return high

    def _boundless_groups(self) -> tuple[WarpGroup, ...]:
        widest = max(pool.warps for pool in self.problem.machine.groups)
        kinds = sorted(set(self.problem.variable), reverse=True)
        return tuple(WarpGroup(widest, kind, 0, UNLIMITED) for kind in kinds)

    # -- the joint schedule -------------------------------------------------------------------

    def _first_length(self, interval: int, low: int, high: int) -> Assignment | None:
        """Return the answer of the least L of low..high that has one."""
        best = self._joint(interval, high)
        if best is None:
            return None
        self._accepted = self._deadline.spent
        self.report(f"{LEAST}{interval}")
        high, probe = max(low, best.length(self.problem)), low
        with self._deadline:
            while low < high:
                answer = self._joint(interval, probe)
                if answer is None:
                    low = probe + 1
                else:
                    best, high = answer, max(low, min(probe, answer.length(self.problem)))
                probe = (low + high) // 2
        return best

    def _joint(self, interval: int, length: int) -> Assignment | None:
        """Ask for a schedule of at most this length."""
        seed = self.options.seed
        engine = self.factory(Question(self.problem, interval, length, self.groups, seed=seed))
        answer = engine.solve(self.limits)
        self.engine_name = engine.name
        engine.dispose()
        return answer.assignment

    def _last_interval(self) -> int:
        """Return an interval at which a whole iteration fits before the next one starts."""
        work = sum(o.cycles + o.latency + o.transfer for o in self.problem.operations)
        return work + sum(e.cross_delay for e in self.problem.edges) + 1

    # -- what is claimed ----------------------------------------------------------------------

    def _found(self, interval: int, assignment: Assignment, bound: LowerBound) -> Found:
        levels = tuple(
            LevelProof(level=level, value=value, proved=False)
            for level, value in measured(self.problem, interval, assignment).items()
        )
        total = self._deadline.spent
        seconds = {"interval": self._accepted, "levels": total - self._accepted, "total": total}
        proof = proof_within(self.problem, interval, bound, levels)
        return Found(interval, assignment, proof, self.engine_name, seconds)


def _bound(lower: Bounds, interval: int, stages: int, solver: str) -> LowerBound:
    """Say why nothing smaller exists; `solver`, if any, refuted all smaller modulo schedules."""
    if interval == lower.interval:
        return bound_reached(lower)
    if solver:
        return LowerBound(
            value=interval, reason="no modulo schedule", solver=solver, most_stages=stages
        )
    return not_proved(lower, lower.interval, "", stages)
