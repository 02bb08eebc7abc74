"""Constants of the static search and its engines, each with its reason or measurement.

Work is CP-SAT's deterministic time, a unit of which is five to ten seconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engines:
    """Constraints that engines state at the outset, and how CP-SAT searches."""

    # Intervals up to which units are stated row by row, where they bound it only together.
    # Normalized times are that short, exact cycles are not; not measured.
    few_rows: int = 128
    # Operations in a memory up to which all its sums are stated before the first answer, instead
    # of only those that an answer exceeds: with 0 online_softmax_hopper takes 0.291 units of
    # work instead of 0.297, with 100 the same.
    few_occupants: int = 12
    # Chains of values up to which all their subsets are looked at: 2**8 of them.
    few_chains: int = 8
    # Part of the interval that a clique of operations takes before it is stated: with 0
    # online_softmax_hopper takes the same work, with 0.9 it takes 0.282 units instead of 0.297.
    least_clique: float = 1 / 2
    # Conflicts for which a best value is looked for by halves of what is left. Where schedules are
    # many, each a cycle better than the last, they would be found one after the other. The number
    # is not measured.
    halving_conflicts: int = 100


@dataclass(frozen=True)
class Interval:
    """Questions about the interval."""

    # Stages that a schedule may have, unless the longest chain needs more; a proof states the
    # bound, and `--most-stages` raises it. Not measured.
    stages: int = 6
    more_stages: int = 2  # beyond those of the longest chain; not measured
    # Work of each question that only saves time, in the order of the strategies; not measured.
    fewest: float = 1.0
    one_more: float = 2.0
    above: float = 1.0
    again: float = 6.0
    same_groups: float = 1.0
    range: float = 3.0
    # First round of a question that has to be decided, and where units are stated row by row,
    # which needs longer until the prover gets anywhere; not measured.
    decided: float = 1.0
    row_by_row: float = 4.0
    # Times the work of the round before that each round has, so that the last round takes about
    # half of all.
    growth: int = 2
    # Parts of the bound by one of which the first interval above it is higher; not measured.
    above_by: int = 16
    # Parts of an interval by one of which the relaxation goes on upwards, before it steps back one
    # by one; not measured.
    relaxed_by: int = 256
    # Operations up to which the finder names the families of what the prover has refuted. Only
    # what is printed depends on it, and Yices alone is slow for larger loops; not measured.
    named: int = 16


@dataclass(frozen=True)
class Levels:
    """Questions about the levels below the interval, and the programs of a schedule."""

    # Work of a question about fewer stages with few groups, before it is asked about all groups;
    # not measured.
    stages: float = 6.0
    # Seeds that are tried where a program needs more registers than its group has; not measured.
    seeds: int = 8


@dataclass(frozen=True)
class Budget:
    """When a search ends."""

    # Work that every question counts, since stating it takes time too; not measured.
    asked: float = 0.01
    # Seconds after the time limit in which some schedule of the loop as written may be found if
    # there is none yet; documented in docs/solver.md.
    last: float = 5.0
    least: float = 0.001  # seconds of a search, whatever was spent before it: a limit is above 0


@dataclass(frozen=True)
class Polishing:
    """Static schedules from which polishing begins."""

    solved: int = 45  # operations up to which a loop is solved: larger ones can take hours
    levels: int = 20  # operations up to which all levels are proved, which takes seconds
    effort: float = 0.5  # work of each question about a level of a larger loop; not measured
    # Work of the search by `--effort`: up to half a minute, a few minutes, half an hour.
    quick: float = 2.5
    normal: float = 25.0
    thorough: float = 250.0


@dataclass(frozen=True)
class Paper:
    """The paper's search."""

    # Slots of an interval up to which CBC gives modulo schedules: attention forward on 124 slots
    # takes it half a minute to find one, and several to find the shortest.
    coarse: int = 64
    stages: int = 6  # as `Interval.stages`


@dataclass(frozen=True)
class Tuning:
    """Every constant of the search."""

    engines: Engines = Engines()
    interval: Interval = Interval()
    levels: Levels = Levels()
    budget: Budget = Budget()
    polishing: Polishing = Polishing()
    paper: Paper = Paper()


TUNING = Tuning()
