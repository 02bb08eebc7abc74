"""Strategies of the search for the interval: questions, their order and their effort.

Each strategy is asked until nothing is left below the best schedule, one after the other. Effort is
work of the prover (`twill.search.questions.Query`); a finder alone works to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from twill.bounds import Bounds, least_stages
from twill.bounds.infeasible import infeasible_interval, no_schedule
from twill.engines import Limits
from twill.engines.tuning import TUNING
from twill.problem import Problem
from twill.problem.groups import likely_groups, most_used
from twill.search.known import Known
from twill.search.questions import Kind, Outcome, Query, Questions


class Situation:
    """The state of a search that strategies read."""

    def __init__(
        self, problem: Problem, questions: Questions, lower: Bounds, most_stages: int | None
    ) -> None:
        self.problem, self.groups = problem, questions.groups
        self.known: Known = questions.known
        # Whether no prover can be asked about a range of intervals.
        self.alone = questions.prover is None
        # Whether an interval that is refuted refutes all below.
        self.monotone = problem.starts_at_issue
        wishes = problem.wishes
        self.limits = Limits(groups=wishes.limit("groups"), transfers=wishes.limit("transfers"))
        # How many warp groups there may be, and are enough for most loops.
        self.most = min(most_used(self.groups), self.limits.groups or len(self.groups))
        self.few = min(self.most, likely_groups(problem))
        self._most_stages = wishes.limit("stages") or most_stages
        # The least interval that no bound and no relaxation refutes.
        self.lower, self.first = lower, lower.interval
        # What the question that was asked last has brought.
        self.last = Outcome("unknown", self.first)

    def query(
        self,
        low: int,
        high: int | None = None,
        *,
        stages: int | None = None,
        groups: int | None = None,
        kind: Kind = "any",
        effort: float | None = None,
    ) -> Query:
        """Return a question, about as many stages and groups as there may be if none are given.

        `effort`: after which it is given up; without it the question is decided.
        """
        whole = stages is None and groups is None
        return Query(
            low,
            high or low,
            self.most_stages(low) if stages is None else stages,
            self.limits if groups is None else replace(self.limits, groups=groups),
            kind,
            effort or (TUNING.interval.row_by_row if self.row_by_row else TUNING.interval.decided),
            decide=effort is None,
            whole=whole,
        )

    @property
    def best(self) -> int:
        """The interval of the best schedule so far, if there is one."""
        assert self.known.best is not None
        return self.known.best[0]

    @property
    def nothing(self) -> bool:
        """Whether there is no schedule so far."""
        return self.known.best is None

    @property
    def below(self) -> bool:
        """Whether there is a schedule, and smaller intervals that are not refuted."""
        return not self.nothing and self.known.low < self.best

    def stages(self, interval: int) -> int:
        """Return one stage more than the fewest, which is often easier and covers them."""
        return min(least_stages(self.problem, interval) + 1, self.most_stages(interval))

    def most_stages(self, interval: int) -> int:
        """Return how many stages a schedule may have."""
        least = least_stages(self.problem, interval)
        return self._most_stages or max(TUNING.interval.stages, least + TUNING.interval.more_stages)

    @property
    def ranges(self) -> bool:
        """Whether the prover is asked about ranges of intervals."""
        return not (self.alone or self.row_by_row)

    @property
    def row_by_row(self) -> bool:
        """Whether the prover states units row by row, which it does for single intervals only."""
        together = self.lower.configurations
        few = not self.alone and self.monotone and self.first <= TUNING.engines.few_rows
        return few and together is not None and together.most > 1


Asked = Iterator[Query]


@dataclass(frozen=True)
class Strategy:
    """Questions about the interval."""

    # Why they are asked.
    name: str
    # Yields them; each may follow from what the one before has brought.
    questions: Callable[[Situation], Asked]
    # Whether there is anything to ask.
    applies: Callable[[Situation], bool]


def at_the_bound(s: Situation) -> Asked:
    """Ask with limited stages and groups where bounds would be the proof."""
    fewest = min(least_stages(s.problem, s.first), s.most_stages(s.first))
    yield s.query(s.first, stages=fewest, groups=s.few, effort=TUNING.interval.fewest)
    effort, stages = TUNING.interval.one_more, s.stages(s.first)
    yield s.query(s.first, stages=stages, groups=s.few, effort=effort)


def above_the_bound(s: Situation) -> Asked:
    """Ask where schedules are soon found, also if the bound is out of reach."""
    effort, step = TUNING.interval.above, max(1, s.first // TUNING.interval.above_by)
    while s.nothing and step <= s.first:
        interval = s.first + step
        yield s.query(interval, stages=s.stages(interval), groups=s.few, effort=effort)
        step *= 2


def at_the_bound_again(s: Situation) -> Asked:
    """Ask with more effort; if no schedule is known, ask also with as many groups as allowed.

    If a schedule is known, the proof of the least interval below it covers those groups.
    """
    effort, stages = TUNING.interval.again, s.stages(s.first)
    yield s.query(s.first, stages=stages, groups=s.few, effort=effort)
    if s.nothing:
        yield s.query(s.first, stages=stages, groups=s.most, effort=effort)


def row_by_row(s: Situation) -> Asked:
    """Decide single intervals in growing steps from the bound upwards."""
    interval, step = s.first, 1
    while s.nothing and interval <= infeasible_interval(s.problem):
        yield s.query(interval)
        interval, step = interval + step, 2 * step


def at_any_interval(s: Situation) -> Asked:
    """Ask where an iteration ends before the next begins; a loop infeasible there is infeasible."""
    interval = max(s.first, infeasible_interval(s.problem)) + 1
    yield s.query(interval)
    if not s.alone and s.last.status == "unsat":
        yield s.query(interval, kind="families")
    if s.nothing and s.last.status == "unsat":
        most = s.most_stages(interval)
        raise no_schedule(s.problem, s.groups, interval, most, s.last.families)


def same_groups(s: Situation) -> Asked:
    """Minimize the interval with each operation where it is in the best schedule so far."""
    yield s.query(s.known.low, s.best - 1, kind="near", effort=TUNING.interval.same_groups)


def range_below(s: Situation) -> Asked:
    """Minimize the interval; refuting a range mostly takes little longer than its last one."""
    effort = TUNING.interval.range if s.monotone else None
    yield s.query(s.known.low, s.best - 1, kind="least", effort=effort)


def few_groups_below(s: Situation) -> Asked:
    """Bisect intervals with limited stages and groups; then decide the one below the best."""
    low = s.known.low
    while low < s.best:
        middle = (low + s.best) // 2
        yield s.query(middle, stages=s.stages(middle), groups=s.few)
        low = low if s.best <= middle else middle + 1
    yield s.query(s.best - 1)


def halves(s: Situation) -> Asked:
    """Decide single intervals; each is easier to refute than a range, and refutes all below."""
    while s.below and s.last.status != "unknown":
        yield s.query((s.known.low + s.best) // 2)


def one_by_one(s: Situation) -> Asked:
    """Decide every interval from the bound on, since a larger one may be infeasible."""
    interval = s.known.low
    while s.known.low == interval < s.best:
        yield s.query(interval)
        interval += 1


# In the order in which they are asked.
STRATEGIES = (
    Strategy("at the bound", at_the_bound, lambda s: not s.row_by_row),
    Strategy("above the bound", above_the_bound, lambda s: not s.row_by_row),
    Strategy("at the bound again", at_the_bound_again, lambda s: not s.row_by_row),
    Strategy("row by row", row_by_row, lambda s: s.row_by_row),
    Strategy("at any interval", at_any_interval, lambda s: s.nothing),
    Strategy("same groups", same_groups, lambda s: s.below and s.ranges),
    Strategy("range below", range_below, lambda s: s.below and s.ranges),
    Strategy("few groups below", few_groups_below, lambda s: s.below and s.alone and s.monotone),
    Strategy("halves", halves, lambda s: s.below and s.monotone),
    Strategy("one by one", one_by_one, lambda s: s.below and s.alone),
)
