"""The search: least interval, then stages, groups, transfers, length and slack, each with a proof.

The finder looks for schedules, the prover refutes the interval below the best one. Where
feasibility is monotone in I the interval is bisected, and refuting I - 1 refutes all below;
otherwise every interval from the lower bound on is asked about. The schedule that is returned is
solved for once more, by the finder with a fixed seed within all the levels that were reached, so
that it does not depend on the way there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from twill.artifacts.schedule import Level, LevelProof, LowerBound, Proof
from twill.bounds import Bounds, bounds, longest_paths
from twill.console import Report, silent
from twill.errors import InputError, Refusal, RefusedError, short
from twill.hopeless import refuse_hopeless
from twill.joint.answer import (
    Answer,
    Assignment,
    Engine,
    EngineFactory,
    Limits,
    RangeProver,
    Refutation,
)
from twill.joint.groups import available_groups
from twill.joint.race import race
from twill.joint.relaxation import FAMILIES as RELAXED
from twill.joint.relaxation import lacks_registers
from twill.modulo import modulo_schedule
from twill.problem import Problem

LEAST_STAGES_BOUND = 6
QUICK_STAGES = 2
COARSE_SLOTS = 400
MOST_PROBES = 60
NARROW = 32
"""Intervals that are asked about as a whole instead of being halved."""
FEW_OPERATIONS = 16
"""Up to so many operations the finder refutes by itself, and names the constraints it takes."""
ALONE = 1.0
"""Seconds for which the finder is asked alone."""
MOST_SEED = (1 << 31) - 1
LEAST = "least I = "
"""What a search reports, with the interval, once it turns to the levels below."""
FOUND = "found a schedule at I = {interval}"
"""What is reported once an interval has a schedule."""


@dataclass(frozen=True)
class Options:
    """How to search.

    Attributes
    ----------
    most_stages : int, optional
        Bound on the stages; by default 6, or two more than the longest chain of operations needs.
    seed : int
        Seed of the engines.
    timeout : float, optional
        Seconds for the whole search; what is not proved by then is said not to be.
    jobs : int
        Processes that run at a time where two engines work on one question.
    """

    most_stages: int | None = None
    seed: int = 0
    timeout: float | None = None
    jobs: int = 1

    def __post_init__(self) -> None:
        """Refuse what no engine can use."""
        stages = self.most_stages
        if stages is not None and (not isinstance(stages, int) or stages < 1):
            raise InputError(
                f"a whole number of at least 1 (got {short(stages)})", path="most_stages"
            )
        if not isinstance(self.seed, int) or not 0 <= self.seed <= MOST_SEED:
            raise InputError(
                f"a whole number up to {MOST_SEED} (got {short(self.seed)})", path="seed"
            )
        if not isinstance(self.jobs, int) or self.jobs < 1:
            raise InputError(f"a whole number of at least 1 (got {short(self.jobs)})", path="jobs")
        if self.timeout is not None and not self.timeout > 0:
            raise InputError(f"seconds above 0 (got {short(self.timeout)})", path="timeout")


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

    Parameters
    ----------
    problem : Problem
        The problem.
    engine : EngineFactory
        The finder: answers questions at one interval.
    options : Options, optional
        Limits of the search.
    report : Report, optional
        Told what is being tried.
    rival : EngineFactory, optional
        Who is asked beside the finder where the finder has no answer within a second.
    prover : RangeProver, optional
        Who refutes intervals of large problems; the finder without it.

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

    Parameters
    ----------
    problem, engine, options, report, rival, prover
        As for `search`.

    Returns
    -------
    tuple of (int, bool)
        An interval that has a schedule; whether every smaller one was refuted.

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
        self.problem, self.factory, self.rival = problem, engine, rival
        self.prover = prover if len(problem.operations) > FEW_OPERATIONS else None
        self.options, self.report = options, report
        self.groups = available_groups(problem)
        self.lower: Bounds = bounds(problem)
        self.limits = Limits(
            groups=problem.wishes.limit("groups"), transfers=problem.wishes.limit("transfers")
        )
        self._hints: dict[tuple[str, int], None] = {}
        self._engine: tuple[tuple[int, int], Engine] | None = None
        self._solver = ""
        self._began = time.monotonic()

    def least(self) -> tuple[int, bool]:
        refuse_hopeless(self.problem, self.groups)
        try:
            best, bound = self._at_the_bounds() or self._least_interval(self._first_interval())
        finally:
            self._close()
        return best.interval, bound.reason != "not proved"

    def run(self) -> Found:
        refuse_hopeless(self.problem, self.groups)
        try:
            best, bound = self._at_the_bounds() or self._least_interval(self._first_interval())
            interval_done = time.monotonic()
            proved = bound.reason != "not proved"
            self.report(f"{LEAST}{best.interval}")
            assignment, levels = self._levels(best, proved=proved)
        finally:
            self._close()
        proof = proof_within(self.problem, best.interval, bound, levels)
        ended = time.monotonic()
        seconds = {
            "interval": interval_done - self._began,
            "levels": ended - interval_done,
            "total": ended - self._began,
        }
        return Found(best.interval, assignment, proof, self._solver, seconds)

    # -- the interval -----------------------------------------------------------------------

    def _at_the_bounds(self) -> tuple[_Best, LowerBound] | None:
        """Look at the least interval that the bounds allow before CBC does, which takes longer."""
        interval = self.lower.interval
        if self.problem.scale.mode != "normalized" or lacks_registers(
            self.problem, interval, self.groups
        ):
            return None
        best = self._quickly(interval)
        return None if best is None else (best, self._bound_before(interval))

    def _first_interval(self) -> int:
        """Return the least interval that no relaxation refutes."""
        interval = self.lower.interval
        if self.problem.scale.mode == "normalized" and interval <= COARSE_SLOTS:
            while self._modulo(interval) == "unsat":
                interval += 1
        while lacks_registers(self.problem, interval, self.groups):
            if interval > self._hopeless_interval():
                raise self._hopeless(interval, RELAXED)
            interval += max(1, interval // 256) if self.problem.starts_at_issue else 1
        if interval > self.lower.interval and self.problem.starts_at_issue:
            while not lacks_registers(self.problem, interval - 1, self.groups) and (
                interval - 1 >= self.lower.interval and self._modulo(interval - 1) != "unsat"
            ):
                interval -= 1
        return interval

    def _modulo(self, interval: int) -> str:
        """Return whether a modulo schedule exists, as CBC sees it on a coarse grid."""
        if self.problem.scale.mode != "normalized" or interval > COARSE_SLOTS:
            return "unknown"
        self.report(f"modulo schedule at I = {interval}")
        status, _ = modulo_schedule(self.problem, interval, timeout=self._remaining())
        return status

    def _least_interval(self, first: int) -> tuple[_Best, LowerBound]:
        tried = self.problem.scale.mode == "normalized" and first == self.lower.interval
        best = (None if tried else self._quickly(first)) or self._thoroughly(first)
        if best is not None:
            self._tell(best)
            return best, self._bound_before(first)
        if self.prover is not None:
            return self._prove_ranges(first)
        best = self._upper_bound(first)
        self._tell(best)
        if not self.problem.starts_at_issue:
            return self._linear(first, best)
        while True:
            best = self._bisect(first, best)
            refutation, better = self._refute(best.interval - 1)
            if better is None:
                return best, self._bound_below(best.interval, refutation, first)
            best = better

    def _prove_ranges(self, first: int) -> tuple[_Best, LowerBound]:
        """Ask about ranges of intervals: ever wider ones up to a schedule, then halves."""
        low, best, step = first, None, max(1, first // 8)
        while best is None or low < best.interval:
            high = low + step - 1 if best is None else self._middle(low, best.interval - 1)
            answer = self._ask_range(low, high)
            if answer.status == "unknown" or (answer.status == "unsat" and self._is_hopeless(high)):
                break
            if answer.assignment is None or answer.interval is None:
                low, step = high + 1, 2 * step
                continue
            most, found = self._most_stages(answer.interval), answer.assignment
            best = _Best(answer.interval, found, most, found.used())
        if best is None:
            best = self._upper_bound(low)
        proved = low == best.interval
        if proved and low == first:
            return best, self._bound_before(first)
        refutation = _Refutation(refuted=proved, solver=self.prover.name if self.prover else "")
        return best, self._bound_below(best.interval, refutation, low)

    def _middle(self, low: int, high: int) -> int:
        """Return the end of the part of a range that is asked about next."""
        return high if high - low < NARROW else (low + high) // 2

    def _is_hopeless(self, interval: int) -> bool:
        return interval > self._hopeless_interval()

    def _ask_range(self, low: int, high: int) -> Refutation:
        """Ask the prover about a range, and the finder about its end; the first answer counts."""
        assert self.prover is not None
        prover, most, timeout = self.prover, self._most_stages(low), self._remaining()
        self.report(f"any I from {low} to {high}, up to {most} stages, any warp groups")

        def by_range() -> Refutation:
            return prover(
                self.problem,
                low,
                high,
                most,
                self.groups,
                limits=self.limits,
                seed=self.options.seed,
                timeout=timeout,
            )

        hints = tuple(self._hints)

        def at_its_end() -> Refutation:
            stages = self._least_stages(high) + 1
            engine = self.factory(
                self.problem,
                high,
                stages * high,
                self.groups,
                seed=self.options.seed,
                hints=hints,
            )
            found = engine.solve(self.limits, timeout=timeout).assignment
            return Refutation("unknown" if found is None else "sat", low, high, found)

        found = race([by_range, at_its_end], self.options.jobs, timeout)
        return found or Refutation("unknown", low)

    def _bisect(self, low: int, best: _Best) -> _Best:
        """Narrow the least interval down, asking only about few stages and few groups."""
        low += 1
        while low < best.interval and not self._late():
            middle = (low + best.interval) // 2
            better = self._quickly(middle, stages=best.stages, groups=best.groups)
            if better is None:
                low = middle + 1
            else:
                best = better
                self._tell(best)
        return best

    def _tell(self, best: _Best) -> None:
        self.report(FOUND.format(interval=best.interval))

    def _linear(self, first: int, best: _Best) -> tuple[_Best, LowerBound]:
        """Ask about every interval: with delayed reservations a larger one may be infeasible."""
        refutation: _Refutation | None = None
        for interval in range(first, best.interval):
            asked, better = self._refute(interval)
            if better is not None:
                best = better
                break
            refutation = asked
            if not asked.refuted:
                return best, self._bound_below(best.interval, asked, interval)
        if refutation is None:
            return best, self._bound_before(first)
        return best, self._bound_below(best.interval, refutation, first)

    def _upper_bound(self, first: int) -> _Best:
        """Return a schedule at some interval above `first`, in growing steps."""
        step, interval = max(1, first // 8), first
        for _ in range(MOST_PROBES):
            interval += step
            best = self._quickly(interval)
            if best is None and interval > self._hopeless_interval():
                best = self._thoroughly(interval)
                if best is None:
                    break
            if best is not None:
                return best
            if self._late():
                raise self._undecided(first)
            step *= 2
        refutation, best = self._refute(interval)
        if best is not None:
            return best
        raise (
            self._hopeless(interval, refutation.families)
            if refutation.refuted
            else self._undecided(first)
        )

    def _hopeless(self, interval: int, families: tuple[str, ...]) -> RefusedError:
        """Refuse because no interval helps."""
        stages = self._most_stages(interval)
        lack = self._widest_values() if "registers" in families else None
        return RefusedError(
            f"{self.problem.loop.name}: no schedule of at most {stages} "
            f"stages even at an interval of {interval}, whatever the order; in the way are "
            f"{', '.join(families) or 'constraints that the engine does not name'}"
            f"{self._too_wide(lack) if lack else ''}",
            replace(lack or Refusal(), families=families, interval=interval, stages=stages),
        )

    def _undecided(self, least: int) -> RefusedError:
        """Refuse because nothing was found in time, which is no proof that there is nothing."""
        seconds = self.options.timeout
        time_over = f" within {seconds:g} s" if seconds is not None and self._late() else ""
        unit = "units" if self.problem.scale.mode == "normalized" else "cycles"
        return RefusedError(
            f"{self.problem.loop.name}: no schedule was found{time_over}, which does not mean that "
            f"there is none; its interval would be {least} {unit} or more",
            Refusal(least_interval=least, seconds=seconds if time_over else None),
        )

    def _widest_values(self) -> Refusal:
        """Return what the values that take most registers need, and what there is."""
        widest = sorted(self.problem.operations, key=lambda o: -o.registers)[:2]
        return Refusal(
            value=" and ".join(f"{o.name} ({o.registers})" for o in widest if o.registers),
            needed=sum(o.registers for o in widest),
            limit=max(group.live_limit for group in self.groups),
            unit="registers per thread",
        )

    @staticmethod
    def _too_wide(lack: Refusal) -> str:
        return (
            f"; the widest values are {lack.value} {lack.unit}, a group has at most "
            f"{lack.limit:g} for values: smaller tiles need fewer (twill loop subtile)"
        )

    def _hopeless_interval(self) -> int:
        """An interval at which a whole iteration fits before the next one starts."""
        problem = self.problem
        every = range(len(problem.operations))
        turns = sum(max((problem.turn(u, v) for v in every), default=0) for u in every)
        work = sum(o.cycles + o.latency + o.transfer for o in problem.operations)
        return work + turns + sum(e.cross_delay for e in problem.edges)

    def _quickly(
        self, interval: int, *, stages: int | None = None, groups: int | None = None
    ) -> _Best | None:
        """Look for a schedule of few stages with few groups; None does not mean there is none."""
        least = self._least_stages(interval)
        most = min(max(least + QUICK_STAGES, (stages or 0) + 1), self._most_stages(interval) + 1)
        for count in range(least, most):
            for used in self._likely_groups(groups):
                self.report(f"I = {interval}, {count} stages, {used} warp groups")
                limits = replace(self.limits, groups=used)
                answer = self._ask(interval, count, limits)
                if answer.assignment is not None:
                    return _Best(interval, answer.assignment, count, used)
        return None

    def _thoroughly(self, interval: int) -> _Best | None:
        """Look for a schedule with as many stages and groups as there may be."""
        most = self._most_stages(interval)
        self.report(f"I = {interval}, up to {most} stages, any warp groups")
        answer = self._ask(interval, most, self.limits)
        if answer.assignment is None:
            return None
        return _Best(interval, answer.assignment, most, answer.assignment.used())

    def _refute(self, interval: int) -> tuple[_Refutation, _Best | None]:
        """Ask the prover about an interval; a schedule instead of a refutation is welcome too."""
        most = self._most_stages(interval)
        self.report(f"refuting I = {interval}, up to {most} stages, any warp groups")
        if lacks_registers(self.problem, interval, self.groups):
            return _Refutation(refuted=True, families=RELAXED, solver="relaxation"), None
        if self._late():
            return _Refutation(refuted=False), None
        engine = self.factory(
            self.problem,
            interval,
            most * interval,
            self.groups,
            explain=True,
            seed=self.options.seed,
            hints=tuple(self._hints),
        )
        answer = engine.solve(self.limits, timeout=self._remaining())
        name = engine.name
        engine.dispose()
        self._hints.update(dict.fromkeys(answer.hints))
        if answer.assignment is not None:
            found = answer.assignment
            return _Refutation(refuted=False), _Best(interval, found, most, found.used())
        refuted = answer.status == "unsat"
        return _Refutation(refuted=refuted, families=answer.families, solver=name), None

    def _ask(self, interval: int, stages: int, limits: Limits) -> Answer:
        """Ask the finder, with the engine of the last question if it is the same one."""
        if self._late():
            return Answer("unknown")
        key = (interval, stages)
        if self._engine is None or self._engine[0] != key:
            self._close()
            engine = self.factory(
                self.problem,
                interval,
                stages * interval,
                self.groups,
                seed=self.options.seed,
                hints=tuple(self._hints),
            )
            self._engine = (key, engine)
            self._solver = engine.name
        alone = self._remaining() if self.rival is None else self._at_most(ALONE)
        answer = self._engine[1].solve(limits, timeout=alone)
        self._hints.update(dict.fromkeys(answer.hints))
        if answer.status == "unknown":
            self._close()
            if self.rival is not None:
                return self._ask_both(interval, stages, limits, self.rival)
        return answer

    def _ask_both(self, interval: int, stages: int, limits: Limits, rival: EngineFactory) -> Answer:
        """Let both engines work on a question, each in a process; the first answer counts."""
        timeout, hints = self._remaining(), tuple(self._hints)

        def way(factory: EngineFactory) -> Callable[[], Answer]:
            def answer() -> Answer:
                engine = factory(
                    self.problem,
                    interval,
                    stages * interval,
                    self.groups,
                    seed=self.options.seed,
                    hints=hints,
                )
                return engine.solve(limits, timeout=timeout)

            return answer

        ways = [way(factory) for factory in (rival, self.factory)]
        found = race(ways, self.options.jobs, timeout)
        if found is None:
            return Answer("unknown")
        self._hints.update(dict.fromkeys(found.hints))
        return found

    def _at_most(self, seconds: float) -> float:
        remaining = self._remaining()
        return seconds if remaining is None else min(seconds, remaining)

    def _close(self) -> None:
        if self._engine is not None:
            self._engine[1].dispose()
            self._engine = None

    def _remaining(self) -> float | None:
        if self.options.timeout is None:
            return None
        return max(0.01, self._began + self.options.timeout - time.monotonic())

    def _late(self) -> bool:
        """Return whether the time is over."""
        timeout = self.options.timeout
        return timeout is not None and time.monotonic() >= self._began + timeout

    def _most_groups(self, groups: int | None = None) -> int:
        most = len(self.groups) if self.limits.groups is None else self.limits.groups
        return min(most, len(self.groups), groups or len(self.groups))

    def _likely_groups(self, groups: int | None) -> list[int]:
        """Return numbers of groups to look for schedules with: one more than there are kinds."""
        most = self._most_groups(groups)
        operations = self.problem.operations
        kinds = {0 if o.variable_latency else o.warps for o in operations}
        return sorted({min(most, len(kinds) + 1), most})

    def _fewest_groups(self) -> int:
        """Return how many groups every schedule needs."""
        kinds = {operation.variable_latency for operation in self.problem.operations}
        return len(kinds)

    def _most_stages(self, interval: int) -> int:
        wished = self.problem.wishes.limit("stages")
        if wished is not None:
            return wished
        if self.options.most_stages is not None:
            return self.options.most_stages
        return max(LEAST_STAGES_BOUND, self._least_stages(interval) + 2)

    def _least_stages(self, interval: int) -> int:
        return max(1, -(-self._least_length(interval) // interval))

    def _least_length(self, interval: int) -> int:
        paths = longest_paths(self.problem, interval)
        cycles = [o.cycles for o in self.problem.operations]
        return max(cycles) if paths is None else int((paths.max(axis=0) + cycles).max())

    # -- the proof --------------------------------------------------------------------------

    def _bound_before(self, first: int) -> LowerBound:
        """Say why nothing below the first interval tried can be feasible."""
        most = self._most_stages(first)
        if first == self.lower.interval:
            return bound_reached(self.lower, most)
        if lacks_registers(self.problem, first - 1, self.groups):
            refutation = _Refutation(refuted=True, families=RELAXED, solver="relaxation")
            return self._bound_below(first, refutation, first)
        return LowerBound(value=first, reason="no modulo schedule", solver="CBC", most_stages=most)

    def _bound_below(self, interval: int, refutation: _Refutation, known: int) -> LowerBound:
        """Say why nothing below `interval` is feasible, or that nothing below `known` is."""
        most = self._most_stages(interval - 1)
        if not refutation.refuted:
            return LowerBound(value=known, reason="not proved", most_stages=most)
        return LowerBound(
            value=interval,
            reason="no joint schedule",
            solver=refutation.solver,
            families=refutation.families,
            most_stages=most,
        )

    # -- the other levels -------------------------------------------------------------------

    def _levels(self, best: _Best, *, proved: bool) -> tuple[Assignment, list[LevelProof]]:
        """Improve level by level; the assignment is solved for once more at the end.

        A level is proved only if all above it are: it is best among schedules that are no worse
        in those.
        """
        problem, interval = self.problem, best.interval
        assignment, stages, levels = self._fewest_stages(best, proved=proved)
        limits, proved = self.limits, levels[0].proved

        def step(
            level: Level,
            measure: Callable[[Assignment], int],
            low: int,
            within: Callable[[int], Limits],
        ) -> None:
            nonlocal assignment, limits, proved
            self.report(f"I = {interval}, {stages} stages, fewest {level}")
            value, assignment, done = _smallest(
                lambda most: self._ask(interval, stages, within(most)), measure, assignment, low
            )
            limits, proved = within(value), proved and done
            levels.append(LevelProof(level=level, value=value, proved=proved))

        step("groups", Assignment.used, self._fewest_groups(), lambda n: replace(limits, groups=n))
        step(
            "transfers",
            lambda a: a.transfers(problem),
            0,
            lambda n: replace(limits, transfers=n),
        )
        step(
            "length",
            lambda a: a.length(problem),
            self._least_length(interval),
            lambda n: replace(limits, length=n),
        )
        slack = assignment.slack(problem, interval)
        if slack is not None:
            self.report(f"I = {interval}, {stages} stages, most slack")
            slack, assignment, done = _largest(
                lambda least: self._ask(interval, stages, replace(limits, slack=least)),
                lambda a: a.slack(problem, interval) or 0,
                assignment,
                (limits.length or 0) + interval * max(e.distance for e in problem.edges),
            )
            limits = replace(limits, slack=slack)
            levels.append(LevelProof(level="slack", value=slack, proved=done and proved))
        return self._settled(interval, limits, assignment), levels

    def _fewest_stages(
        self, best: _Best, *, proved: bool
    ) -> tuple[Assignment, int, list[LevelProof]]:
        """Return an assignment of the fewest stages and the level's proof."""
        interval, assignment = best.interval, best.assignment
        stages = -(-assignment.length(self.problem) // interval)
        for count in range(self._least_stages(interval), stages):
            self.report(f"I = {interval}, {count} stages")
            answer = self._ask(interval, count, self.limits)
            if answer.assignment is not None:
                assignment, stages = answer.assignment, count
                break
            proved = proved and answer.status == "unsat"
        return assignment, stages, [LevelProof(level="stages", value=stages, proved=proved)]

    def _settled(self, interval: int, limits: Limits, assignment: Assignment) -> Assignment:
        """Solve once more within all levels, so that the way there leaves no trace."""
        self._close()
        if self._late():
            return assignment
        engine = self.factory(
            self.problem,
            interval,
            limits.length or assignment.length(self.problem),
            self.groups,
            seed=self.options.seed,
        )
        self._solver = engine.name
        answer = engine.solve(limits, timeout=self._remaining())
        engine.dispose()
        return answer.assignment or assignment


def bound_reached(lower: Bounds, most_stages: int) -> LowerBound:
    """Return the bound of a schedule at the least interval that needs no solver.

    Parameters
    ----------
    lower : Bounds
        ResMII, RecMII and the longest issue.
    most_stages : int
        Most stages of the schedules that were looked for.
    """
    value = lower.interval
    if lower.issue > max(lower.resource, lower.recurrence):
        return LowerBound(
            value=value, reason="issue", cycle=(lower.issue_operation,), most_stages=most_stages
        )
    if lower.resource >= lower.recurrence:
        return LowerBound(
            value=value, reason="ResMII", unit=lower.resource_unit, most_stages=most_stages
        )
    return LowerBound(
        value=value, reason="RecMII", cycle=lower.recurrence_cycle, most_stages=most_stages
    )


def proof_within(
    problem: Problem, interval: int, bound: LowerBound, levels: Iterable[LevelProof]
) -> Proof:
    """Return what was proved, with what the user had decided beforehand.

    Parameters
    ----------
    problem : Problem
        The problem.
    interval : int
        The interval that was found.
    bound : LowerBound
        Why there is no smaller one, if that was proved.
    levels : iterable of LevelProof
        The levels after the interval.
    """
    wishes, names = problem.wishes, [o.name for o in problem.operations]
    proved = bound.reason != "not proved"
    return Proof(
        bound=bound,
        levels=(LevelProof(level="interval", value=interval, proved=proved), *levels),
        limits=dict(wishes.limits),
        pins={names[v]: group for v, group in wishes.pins},
        orders=tuple((names[u], names[v]) for u, v in wishes.orders),
    )


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
