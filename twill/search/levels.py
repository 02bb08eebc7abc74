"""The levels of the objective below the interval: stages, groups, transfers, length, slack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from twill.artifacts.schedule import Level, LevelProof
from twill.bounds.least import least_length, least_stages
from twill.engines.protocol import Answer, Limits
from twill.problem.groups import likely_groups
from twill.problem.problem import Problem
from twill.problem.solution import Assignment
from twill.search.known import Known, Reached
from twill.search.questions import QUICK_EFFORT, Questions
from twill.search.request import LEVELS


class Levels:
    """Improves a schedule at its interval."""

    def __init__(
        self,
        questions: Questions,
        problem: Problem,
        limits: Limits,
        known: Known,
        until: Level = LEVELS[-1],
    ) -> None:
        self._questions, self._problem = questions, problem
        self._limits, self._known = limits, known
        self._wanted = LEVELS[: LEVELS.index(until) + 1]

    @property
    def _fewest_groups(self) -> int:
        """How many groups every schedule needs."""
        return len({operation.variable_latency for operation in self._problem.operations})

    def improve(self, interval: int, found: Assignment) -> Assignment:
        """Improve level by level; the assignment is solved for once more at the end.

        A level is best among schedules that are no worse in those above it. Stages count in any
        case, since questions are about so many of them.
        """
        problem = self._problem
        reached = self._fewest_stages(interval, found)
        assignment, stages, limits = reached.assignment, reached.value, self._limits
        shown = self._known.reached
        shown["stages"] = reached

        def step(
            level: Level,
            measure: Callable[[Assignment], int],
            low: int,
            within: Callable[[int], Limits],
        ) -> None:
            nonlocal assignment, limits
            if level not in self._wanted:
                return
            self._known.say(f"{stages} stages, fewest {level}")

            def ask(most: int) -> Answer:
                return self._questions.ask(interval, stages, within(most))

            look = _from_below
            if level == "length":
                look = partial(self._shortest, interval, limits)
            shown[level] = look(ask, measure, assignment, low)
            assignment, limits = shown[level].assignment, within(shown[level].value)

        step("groups", Assignment.used, self._fewest_groups, lambda n: replace(limits, groups=n))
        step(
            "transfers",
            lambda a: a.transfers(problem),
            0,
            lambda n: replace(limits, transfers=n),
        )
        step(
            "length",
            lambda a: a.length(problem),
            least_length(problem, interval),
            lambda n: replace(limits, length=n),
        )
        if limits.length is None:
            limits = replace(limits, length=stages * interval)
        if "slack" in self._wanted and problem.edges:
            self._known.say(f"{stages} stages, most slack")
            shown["slack"] = self._most_slack(interval, stages, limits, assignment)
            assignment = shown["slack"].assignment
            limits = replace(limits, slack=shown["slack"].value)
        return self._questions.settle(interval, limits, assignment)

    def _shortest(
        self,
        interval: int,
        limits: Limits,
        ask: Callable[[int], Answer],
        measure: Callable[[Assignment], int],
        best: Assignment,
        low: int,
    ) -> Reached:
        """Let the prover minimize the length; bisect where there is none."""
        if self._questions.has_prover and measure(best) > low:
            answer = self._questions.best(interval, limits, best, "length")
            found = answer.assignment or best
            value, proved = measure(found), answer.status == "sat"
            solver = answer.solver if value > low else ""
            return Reached(value, found, proved, solver)
        return _bisected(ask, measure, best, low)

    def _most_slack(self, interval: int, stages: int, limits: Limits, best: Assignment) -> Reached:
        """Let the prover maximize the slack; bisect where there is none."""
        farthest = max(edge.distance for edge in self._problem.edges)
        most = (limits.length or 0) + interval * farthest

        def measure(a: Assignment) -> int:
            """Return the slack; where nothing is waited for, more than any."""
            slack = a.slack(self._problem, interval)
            return most if slack is None else slack

        def ask(least: int) -> Answer:
            return self._questions.ask(interval, stages, replace(limits, slack=least))

        if self._questions.has_prover and measure(best) < most:
            answer = self._questions.best(interval, limits, best, "slack")
            found = answer.assignment or best
            return Reached(measure(found), found, answer.status == "sat", answer.solver)
        return _largest(ask, measure, best, most)

    def _fewest_stages(self, interval: int, assignment: Assignment) -> Reached:
        """Return an assignment of the fewest stages."""
        stages = -(-assignment.length(self._problem) // interval)
        proved, solver = True, ""
        for count in range(least_stages(self._problem, interval), stages):
            self._known.say(f"{count} stages")
            answer = self._few_groups_first(interval, count)
            if answer.assignment is not None:
                assignment, stages = answer.assignment, count
                break
            proved, solver = proved and answer.status == "unsat", answer.solver
        return Reached(stages, assignment, proved, solver)

    def _few_groups_first(self, interval: int, stages: int) -> Answer:
        """Ask about as few groups as will do for most loops, which the next level asks for too."""
        few = likely_groups(self._problem)
        if few < (self._limits.groups or few + 1):
            within = replace(self._limits, groups=few)
            answer = self._questions.ask(interval, stages, within, QUICK_EFFORT)
            if answer.assignment is not None:
                return answer
        return self._questions.ask(interval, stages, self._limits)


def measured(problem: Problem, interval: int, assignment: Assignment) -> dict[Level, int]:
    """Return what a schedule has of each level but the interval, of slack if anything waits."""
    length = assignment.length(problem) - min(assignment.start)
    slack = assignment.slack(problem, interval)
    levels: dict[Level, int] = {
        "stages": -(-length // interval),
        "groups": assignment.used(),
        "transfers": assignment.transfers(problem),
        "length": length,
    }
    return levels if slack is None else {**levels, "slack": slack}


def proofs(
    values: Mapping[Level, int], reached: Mapping[Level, Reached], *, proved: bool
) -> list[LevelProof]:
    """Return every level of a schedule, with what is proved about it.

    A level is proved if the schedule has its best value, and those of all levels above.

    `reached`: the best value of each level, as far as that was looked for.
    """
    found = []
    for level, value in values.items():
        best = reached.get(level)
        proved = proved and best is not None and best.proved and best.value == value
        solver = best.solver if best is not None and proved else ""
        found.append(LevelProof(level=level, value=value, proved=proved, solver=solver or None))
    return found


def _from_below(
    ask: Callable[[int], Answer], measure: Callable[[Assignment], int], best: Assignment, low: int
) -> Reached:
    """Find the least feasible value in growing steps from below: small ones are soon refuted."""
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
    return Reached(high, best, proved, solver)


def _bisected(
    ask: Callable[[int], Answer], measure: Callable[[Assignment], int], best: Assignment, low: int
) -> Reached:
    """Bisect for the least feasible value; the bound itself is tried first."""
    high, proved, solver = measure(best), True, ""
    probe = low
    while low < high:
        answer = ask(probe)
        if answer.assignment is not None:
            best = answer.assignment
            high = min(probe, measure(best))
        else:
            proved, solver = proved and answer.status == "unsat", answer.solver
            low = probe + 1
        probe = (low + high) // 2
    return Reached(high, best, proved, solver)


def _largest(
    ask: Callable[[int], Answer], measure: Callable[[Assignment], int], best: Assignment, high: int
) -> Reached:
    """Bisect for the largest feasible value, in growing steps from what is known."""
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
