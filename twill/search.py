"""The search: least interval, then stages, groups, transfers, length and slack, each with a proof.

The interval is tried from the lower bound upwards (by bisection where feasibility is monotone); at
one interval, from one stage up to a stated bound, and from few warp groups to many. An engine
answers single questions; whether nothing better exists is recorded for every level.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from twill.artifacts.schedule import Level, LevelProof, LowerBound, Proof
from twill.bounds import Bounds, bounds, longest_paths
from twill.console import Report, silent
from twill.errors import InputError, RefusedError, short
from twill.joint.answer import Answer, Assignment, Engine, EngineFactory
from twill.joint.groups import WarpGroup, configurations
from twill.joint.relaxation import FAMILIES as RELAXED
from twill.joint.relaxation import lacks_registers
from twill.modulo import modulo_schedule
from twill.problem import Problem

LEAST_STAGES_BOUND = 6
QUICK_STAGES = 2
COARSE_SLOTS = 400
MOST_PROBES = 60
MOST_SEED = (1 << 31) - 1


@dataclass
class Options:
    """Limits of a search.

    Attributes
    ----------
    most_stages : int, optional
        Bound on the stages; by default 6, or two more than the longest chain of operations needs.
    most_groups : int, optional
        Most warp groups beside those for operations of variable latency.
    seed : int
        Seed of the engine.
    timeout : float, optional
        Seconds for each single question to the engine.
    """

    most_stages: int | None = None
    most_groups: int | None = None
    seed: int = 0
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no engine can use."""
        for key in ("most_stages", "most_groups"):
            value = getattr(self, key)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InputError(f"a whole number of at least 1 (got {short(value)})", path=key)
        if not isinstance(self.seed, int) or not 0 <= self.seed <= MOST_SEED:
            raise InputError(
                f"a whole number up to {MOST_SEED} (got {short(self.seed)})", path="seed"
            )


@dataclass(frozen=True)
class Found:
    """An optimal schedule: interval, assignment and what was proved."""

    interval: int
    assignment: Assignment
    proof: Proof
    engine: str


@dataclass
class _Trial:
    """Outcome of one interval: the first feasible stage bound and groups, or why there is none."""

    found: Answer | None = None
    engine: Engine | None = None
    stages: int = 0
    groups: Sequence[WarpGroup] = ()
    refuted: bool = True
    fewer_refuted: bool = True


@dataclass(frozen=True)
class _Improved:
    """The best assignment with one set of groups; the smaller `key` is the better."""

    key: tuple[int, int, int]
    assignment: Assignment
    levels: tuple[LevelProof, ...]

    def __lt__(self, other: _Improved) -> bool:
        return self.key < other.key


def search(
    problem: Problem, engine: EngineFactory, options: Options | None = None, report: Report = silent
) -> Found:
    """Find a schedule that is optimal level by level.

    Parameters
    ----------
    problem : Problem
        The problem.
    engine : EngineFactory
        Answers questions at one interval.
    options : Options, optional
        Limits.
    report : Report, optional
        Told what is being tried.

    Raises
    ------
    RefusedError
        If no schedule exists within the limits, with the reason.
    """
    return _Search(problem, engine, options or Options(), report).run()


def refuse_hopeless(problem: Problem) -> None:
    """Refuse a problem that no interval can make feasible, before any solver starts.

    Parameters
    ----------
    problem : Problem
        The problem.

    Raises
    ------
    RefusedError
        Names the value, what it needs and the limit.
    """
    name = problem.machine.name
    file = problem.registers
    for operation in problem.operations:
        if file is not None and operation.registers > file.limit - file.reserve:
            raise RefusedError(
                f"{problem.loop.name}: the result of {operation.name} needs {operation.registers} "
                f"registers per thread; {name} has {file.limit} of which {file.reserve} are "
                "reserved"
            )
    for memory, capacity in problem.memories.items():
        room = capacity - problem.fixed[memory]
        unit = problem.machine.memories[memory].unit  # type: ignore[index]
        if room < 0:
            raise RefusedError(
                f"{problem.loop.name}: values that live through the whole loop "
                f"need {problem.fixed[memory]} {unit} of {memory}; {name} has "
                f"{capacity}"
            )
        for operation in problem.operations:
            if operation.memory == memory and operation.footprint > room:
                raise RefusedError(
                    f"{problem.loop.name}: the result of {operation.name} needs "
                    f"{operation.footprint} {unit} of {memory}; {name} has {room} left beside "
                    "what lives through the whole loop"
                )


class _Search:
    def __init__(
        self, problem: Problem, engine: EngineFactory, options: Options, report: Report
    ) -> None:
        self.problem, self.factory, self.options, self.report = problem, engine, options, report
        self.configurations = list(configurations(problem, options.most_groups))
        self.lower: Bounds = bounds(problem)

    def run(self) -> Found:
        refuse_hopeless(self.problem)
        if not self.configurations:
            raise RefusedError(
                f"{self.problem.loop.name}: {self.problem.machine.name} has no set "
                "of warp groups that fits these operations"
            )
        first = self._first_interval()
        interval, trial, bound = self._least_interval(first)
        assert trial.found is not None
        assert trial.engine is not None
        assert trial.found.assignment is not None
        assignment, levels = self._levels(interval, trial, trial.found.assignment)
        proof = Proof(
            bound=bound,
            levels=(
                LevelProof(level="interval", value=interval, proved=bound.reason != "not proved"),
                *levels,
            ),
        )
        name = trial.engine.name
        trial.engine.dispose()
        return Found(interval, assignment, proof, name)

    # -- the interval -----------------------------------------------------------------------

    def _first_interval(self) -> int:
        """Return the least interval with a modulo schedule, as CBC sees it on a coarse grid."""
        interval = self.lower.interval
        if self.problem.scale.mode != "normalized" or interval > COARSE_SLOTS:
            return interval
        for candidate in itertools.count(interval):
            self.report(f"modulo schedule at I = {candidate}")
            status, _ = modulo_schedule(self.problem, candidate, timeout=self.options.timeout)
            if status != "unsat":
                return candidate
        raise AssertionError("unreachable")

    def _least_interval(self, first: int) -> tuple[int, _Trial, LowerBound]:
        trial = self._try(first)
        if trial.found:
            return first, trial, self._bound_before(first)
        upper, trial_above, refuted = self._upper_bound(first, refuted=trial.refuted)
        low, high = first + 1, upper
        best, proved = trial_above, refuted
        while low < high and self.problem.starts_at_issue:
            middle = (low + high) // 2
            attempt = self._try(middle)
            if attempt.found:
                self._drop(best)
                best, high = attempt, middle
            else:
                low, proved = middle + 1, attempt.refuted
        if not self.problem.starts_at_issue:
            best, high, proved = self._linear(first + 1, upper, best, proved=proved)
        return high, best, self._refuted_below(high, proved=proved)

    def _upper_bound(self, first: int, *, refuted: bool) -> tuple[int, _Trial, bool]:
        """Return a feasible interval above `first`, in growing steps."""
        step, candidate = max(1, first // 16), first
        for _ in range(MOST_PROBES):
            candidate += step
            attempt = self._try(candidate)
            if attempt.found:
                return candidate, attempt, refuted
            refuted = attempt.refuted
            step *= 2
            if candidate > self._hopeless_interval():
                break
        families, _, _ = self._core(candidate)
        raise RefusedError(
            f"{self.problem.loop.name}: no schedule of at most {self._stage_bound(candidate)} "
            f"stages even at an interval of {candidate}, whatever the order; in the way are "
            f"{', '.join(families) or 'limits of time'}"
            f"{self._widest_values() if 'registers' in families else ''}"
        )

    def _widest_values(self) -> str:
        """Name the values that take most registers, what there is, and what would help."""
        widest = sorted(self.problem.operations, key=lambda o: -o.registers)[:2]
        values = " and ".join(f"{o.name} ({o.registers})" for o in widest if o.registers)
        most = max(group.live_limit for groups in self.configurations for group in groups)
        return (
            f"; the widest values are {values} registers per thread, a group has at most {most} "
            "for values: smaller tiles need fewer (twill loop subtile)"
        )

    def _hopeless_interval(self) -> int:
        """An interval at which a whole iteration fits before the next one starts."""
        problem = self.problem
        every = range(len(problem.operations))
        turns = sum(max((problem.turn(u, v) for v in every), default=0) for u in every)
        work = sum(o.cycles + o.latency + o.transfer for o in problem.operations)
        return work + turns + sum(e.cross_delay for e in problem.edges)

    def _linear(
        self, low: int, high: int, best: _Trial, *, proved: bool
    ) -> tuple[_Trial, int, bool]:
        for candidate in range(low, high):
            attempt = self._try(candidate)
            if attempt.found:
                self._drop(best)
                return attempt, candidate, proved
            proved = proved and attempt.refuted
        return best, high, proved

    def _try(self, interval: int) -> _Trial:
        """Try one interval: few stages and few groups first."""
        self.report(f"joint schedule at I = {interval}")
        most = self._stage_bound(interval)
        trial = _Trial()
        least = self._least_stages(interval)
        quick = range(least, min(least + QUICK_STAGES, most))
        if any(self._try_stages(trial, interval, stages) for stages in quick):
            return trial
        if self._try_stages(trial, interval, most):
            between = range(least + QUICK_STAGES, most)
            any(self._try_stages(trial, interval, stages) for stages in between)
        return trial

    def _try_stages(self, trial: _Trial, interval: int, stages: int) -> bool:
        refuted = True
        for groups in self.configurations:
            if lacks_registers(self.problem, interval, groups):
                continue
            engine = self.factory(
                self.problem, interval, stages * interval, groups, seed=self.options.seed
            )
            answer = engine.solve(timeout=self.options.timeout)
            if answer.status == "sat":
                self._drop(trial)
                trial.found, trial.engine = answer, engine
                trial.stages, trial.groups, trial.fewer_refuted = stages, groups, refuted
                return True
            engine.dispose()
            refuted = refuted and answer.status == "unsat"
        trial.refuted = refuted
        return False

    def _stage_bound(self, interval: int) -> int:
        if self.options.most_stages is not None:
            return self.options.most_stages
        return max(LEAST_STAGES_BOUND, self._least_stages(interval) + 2)

    def _least_stages(self, interval: int) -> int:
        length = self._least_length(interval)
        return max(1, -(-length // interval))

    def _least_length(self, interval: int) -> int:
        paths = longest_paths(self.problem, interval)
        cycles = [o.cycles for o in self.problem.operations]
        return max(cycles) if paths is None else int((paths.max(axis=0) + cycles).max())

    # -- the proof --------------------------------------------------------------------------

    def _bound_before(self, first: int) -> LowerBound:
        """Say why nothing below the first interval tried can be feasible."""
        most = self._stage_bound(first)
        if first > self.lower.interval:
            return LowerBound(
                value=first, reason="no modulo schedule", solver="CBC", most_stages=most
            )
        lower = self.lower
        if lower.issue > max(lower.resource, lower.recurrence):
            return LowerBound(
                value=first, reason="issue", cycle=(lower.issue_operation,), most_stages=most
            )
        if self.lower.resource >= self.lower.recurrence:
            return LowerBound(
                value=first, reason="ResMII", unit=self.lower.resource_unit, most_stages=most
            )
        return LowerBound(
            value=first, reason="RecMII", cycle=self.lower.recurrence_cycle, most_stages=most
        )

    def _refuted_below(self, interval: int, *, proved: bool) -> LowerBound:
        """Ask once more why one less is infeasible: which families of constraints it takes."""
        families, solver, refuted = self._core(interval - 1)
        most = self._stage_bound(interval - 1)
        if not (proved and refuted):
            return LowerBound(value=self.lower.interval, reason="not proved", most_stages=most)
        return LowerBound(
            value=interval,
            reason="no joint schedule",
            solver=solver,
            families=tuple(families),
            most_stages=most,
        )

    def _core(self, interval: int) -> tuple[list[str], str, bool]:
        """Return the constraint families that refute an interval, the solver, and whether so."""
        length = self._stage_bound(interval) * interval
        families: list[str] = []
        solver, refuted = "relaxation", True
        for groups in self.configurations:
            if lacks_registers(self.problem, interval, groups):
                families += [family for family in RELAXED if family not in families]
                continue
            engine = self.factory(
                self.problem, interval, length, groups, explain=True, seed=self.options.seed
            )
            answer = engine.solve(timeout=self.options.timeout)
            solver = engine.name
            engine.dispose()
            refuted = refuted and answer.status == "unsat"
            families += [family for family in answer.families if family not in families]
        return families, solver, refuted

    # -- the other levels -------------------------------------------------------------------

    def _levels(
        self, interval: int, trial: _Trial, assignment: Assignment
    ) -> tuple[Assignment, list[LevelProof]]:
        """Improve level by level, over all sets of groups that are as few."""
        assert trial.engine is not None
        best = self._improved(trial.engine, interval, assignment)
        tried = self.configurations.index(tuple(trial.groups))
        proved = True
        for groups in self.configurations[tried + 1 :]:
            if len(groups) > len(trial.groups):
                break
            length = trial.stages * interval
            engine = self.factory(self.problem, interval, length, groups, seed=self.options.seed)
            answer = engine.solve(timeout=self.options.timeout)
            proved = proved and answer.status != "unknown"
            if answer.assignment is not None:
                best = min(best, self._improved(engine, interval, answer.assignment))
            engine.dispose()
        values = {level.level: level for level in best.levels}
        levels = [
            _level("stages", trial.stages, proved=trial.refuted),
            _level("groups", len(trial.groups), proved=trial.fewer_refuted),
            *(_level(k, v.value, proved=v.proved and proved) for k, v in values.items()),
        ]
        return best.assignment, levels

    def _improved(self, engine: Engine, interval: int, assignment: Assignment) -> _Improved:
        """Find fewest transfers, then least length, then most slack with one set of groups."""
        problem, timeout = self.problem, self.options.timeout
        self.report(f"I = {interval}, fewest transfers")
        transfers, assignment, proved = _smallest(
            lambda most: engine.solve(transfers=most, timeout=timeout),
            lambda a: a.transfers(problem),
            assignment,
            0,
        )
        levels = [_level("transfers", transfers, proved=proved)]

        self.report(f"I = {interval}, least length")
        length, assignment, proved = _smallest(
            lambda most: engine.solve(transfers=transfers, length=most, timeout=timeout),
            lambda a: a.length(problem),
            assignment,
            self._least_length(interval),
        )
        levels.append(_level("length", length, proved=proved))

        slack = assignment.slack(problem, interval)
        if slack is not None:
            self.report(f"I = {interval}, most slack")
            slack, assignment, proved = _largest(
                lambda least: engine.solve(
                    transfers=transfers, length=length, slack=least, timeout=timeout
                ),
                lambda a: a.slack(problem, interval) or 0,
                assignment,
                length + interval * max(e.distance for e in problem.edges),
            )
            levels.append(_level("slack", slack, proved=proved))
        return _Improved((transfers, length, -(slack or 0)), assignment, tuple(levels))

    def _drop(self, trial: _Trial) -> None:
        if trial.engine is not None:
            trial.engine.dispose()


def _level(level: Level, value: int, *, proved: bool) -> LevelProof:
    return LevelProof(level=level, value=value, proved=proved)


def _smallest(
    ask: Callable[[int], Answer], measure: Callable[[Assignment], int], best: Assignment, low: int
) -> tuple[int, Assignment, bool]:
    """Bisect for the least feasible value; the bound itself is tried first."""
    high, proved = measure(best), True
    probe = low
    while low < high:
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            high = min(probe, measure(best))
        else:
            proved = proved and answer.status == "unsat"
            low = probe + 1
        probe = (low + high) // 2
    return high, best, proved


def _largest(
    ask: Callable[[int], Answer], measure: Callable[[Assignment], int], best: Assignment, high: int
) -> tuple[int, Assignment, bool]:
    """Bisect for the largest feasible value, in growing steps from what is known."""
    low, proved, step = measure(best), True, 1
    while low < high:
        probe = min(high, low + step)
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            low = max(probe, measure(best))
            step *= 2
        else:
            proved = proved and answer.status == "unsat"
            high, step = probe - 1, max(1, (probe - low) // 2)
    return low, best, proved
