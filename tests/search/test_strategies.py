"""In which order the search asks, of whom, with how much effort, and what it concludes from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import twill
from tests.support.commands import in_process
from tests.support.small import edge, op, small_loop, small_machine, tight_loop
from twill.bounds import bounds
from twill.engines import (
    FREELY,
    NO_LIMITS,
    Answer,
    Conditions,
    Limits,
    Question,
    Range,
    Refutation,
    Status,
)
from twill.engines.cpsat import CpSatProver
from twill.engines.yices import DifferenceEngine
from twill.problem import Problem, build_problem
from twill.problem.costs import Reservation
from twill.problem.solution import Assignment
from twill.search.questions import Questions
from twill.search.request import Options, Request, range_prover
from twill.search.scheduler import solve
from twill.search.search import least_interval, search
from twill.search.strategies import STRATEGIES, Situation

SOME = Assignment((0, 0), (0, 0), ())


@dataclass(frozen=True)
class Truth:
    """Which schedules there are, and what it takes to know."""

    least: int  # from this interval on
    stages: int = 1  # with fewer of these there are none
    groups: int = 1
    # Effort for a single interval with few groups, for one with all groups, and for a range.
    few: float = 0.0
    all: float = 0.0
    range: float = 0.0
    near: int = 0  # the least interval with the groups of another schedule; 0: none is smaller

    def status(self, interval: int, stages: int, limits: Limits, effort: float) -> Status:
        if effort < (self.all if limits.groups is None else self.few):
            return "unknown"
        enough = stages >= self.stages and (limits.groups or self.groups) >= self.groups
        return "sat" if enough and interval >= self.least else "unsat"


@dataclass
class Prover(CpSatProver):
    """Answers about ranges of intervals."""

    truth: Truth
    name: str = "prover"

    def __call__(self, asked: Range, under: Conditions = FREELY) -> Refutation:
        status = self.truth.status(asked.high, asked.most_stages, under.limits, under.effort or 0.0)
        if status == "sat":
            return Refutation("sat", asked.low, max(asked.low, self.truth.least), SOME)
        return Refutation(status, asked.high + 1 if status == "unsat" else asked.low)

    def least(
        self,
        asked: Range,
        found: Refutation,
        under: Conditions = FREELY,
        *,
        keep_groups: bool = False,
    ) -> Refutation:
        interval = found.interval or 0
        if keep_groups:
            return replace(found, interval=min(interval, self.truth.near or interval))
        if (under.effort or 0.0) < self.truth.range:
            return found
        interval = min(interval, max(asked.low, self.truth.least))
        return replace(found, bound=interval, interval=interval)

    def best(self, *_: object, **__: object) -> Answer:
        raise AssertionError("only the interval is looked for")


@dataclass(frozen=True)
class Finder:
    """Answers about one interval, whatever that takes."""

    truth: Truth
    asked: Question
    name: str = "finder"

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        stages = self.asked.length // self.asked.interval
        status = self.truth.status(self.asked.interval, stages, limits, 1e9)
        named = ("capacity",) if self.asked.explain and status == "unsat" else ()
        return Answer(status, SOME if status == "sat" else None, families=named)

    def dispose(self) -> None:
        """Keep nothing."""


def finder(truth: Truth) -> Callable[[Question], Finder]:
    return lambda asked: Finder(truth, asked)


@pytest.fixture
def problem() -> Problem:
    """Its bound is 60 cycles; above 200 an iteration ends before the next one begins."""
    loop = small_loop([op("a", "TC", 60), op("b", "ALU", 10)], [edge("a", "b")])
    return build_problem(loop, small_machine())


def delayed(problem: Problem) -> Problem:
    """Return a problem whose larger intervals may be infeasible."""
    first, *others = problem.operations
    later = replace(first, reservations=(Reservation("TC", 1, 60, 1),))
    return replace(problem, operations=(later, *others))


def told(problem: Problem, truth: Truth, *, alone: bool = False) -> list[str]:
    """Return every question with its answer, and the conclusion."""
    lines: list[str] = []
    prover = None if alone else Prover(truth)
    found = least_interval(problem, finder(truth), Options(log=lines.append), prover)
    return [*lines, f"{found[0]} {'proved' if found[1] else 'not proved'}"]


FEW = ", groups <= 2"
HARD = [
    f"at the bound: I = 60, stages <= 2{FEW}, effort 1 - prover: not decided",
    f"at the bound: I = 60, stages <= 3{FEW}, effort 2 - prover: not decided",
]
NONE = [
    f"at the bound: I = 60, stages <= 2{FEW}, effort 1 - prover: none",
    f"at the bound: I = 60, stages <= 3{FEW}, effort 2 - prover: none",
]
ABOVE = [
    f"above the bound: I = 63, stages <= 3{FEW}, effort 1 - prover: none",
    f"above the bound: I = 66, stages <= 3{FEW}, effort 1 - prover: none",
    f"above the bound: I = 72, stages <= 2{FEW}, effort 1 - prover: I = 72",
]
FAR = [
    f"above the bound: I = {n}, stages <= {s}{FEW}, effort 1 - prover: not decided"
    for n, s in ((63, 3), (66, 3), (72, 2), (84, 2), (108, 2))
]
KEPT = "; the least with the groups of the best so far"
LEAST = "; the least - prover:"
ORDERS: dict[str, tuple[Truth, list[str]]] = {
    "the fewest stages at the bound": (
        Truth(60),
        [f"at the bound: I = 60, stages <= 2{FEW}, effort 1 - prover: I = 60", "60 proved"],
    ),
    "a stage more at the bound": (
        Truth(60, stages=3),
        [
            NONE[0],
            f"at the bound: I = 60, stages <= 3{FEW}, effort 2 - prover: I = 60",
            "60 proved",
        ],
    ),
    "more effort at the bound": (
        Truth(60, few=6),
        [
            *HARD,
            *FAR,
            f"at the bound again: I = 60, stages <= 3{FEW}, effort 6 - prover: I = 60",
            "60 proved",
        ],
    ),
    "a smaller interval with the same groups, and the least of all": (
        Truth(70, near=71, range=3),
        [
            *NONE,
            *ABOVE,
            f"same groups: I = 60 .. 71, stages <= 6, effort 1{KEPT} - prover: I = 71",
            f"range below: I = 60 .. 70, stages <= 6, effort 3{LEAST} I = 70, none better",
            "70 proved",
        ],
    ),
    "a range that is not decided": (
        Truth(70, near=71, range=4, all=2),
        [
            *NONE,
            *ABOVE,
            f"same groups: I = 60 .. 71, stages <= 6, effort 1{KEPT} - prover: I = 71",
            "range below: I = 60 .. 70, stages <= 6, effort 3; the least - prover: I = 71",
            "halves: I = 65, stages <= 6 - prover: none",
            "halves: I = 68, stages <= 6 - prover: none",
            "halves: I = 70, stages <= 6 - prover: I = 70",
            "halves: I = 69, stages <= 6 - prover: none",
            "70 proved",
        ],
    ),
    "no schedule of few groups": (
        Truth(60, few=100),
        [
            *HARD,
            *FAR,
            f"at the bound again: I = 60, stages <= 3{FEW}, effort 6 - prover: not decided",
            f"at the bound again: I = 60, stages <= 3{FEW}, effort 6 - prover: not decided",
            "at any interval: I = 201, stages <= 6 - prover: I = 201",
            f"same groups: I = 60 .. 200, stages <= 6, effort 1{KEPT} - prover: I = 201",
            f"range below: I = 60 .. 200, stages <= 6, effort 3{LEAST} I = 60, none better",
            "60 proved",
        ],
    ),
}


@pytest.mark.parametrize("case", ORDERS)
def test_a_prover_is_asked_in_this_order(problem: Problem, case: str) -> None:
    truth, expected = ORDERS[case]
    assert told(problem, truth) == expected


def test_a_finder_alone_is_asked_about_single_intervals(problem: Problem) -> None:
    none = "finder: none"
    assert told(problem, Truth(70), alone=True) == [
        f"at the bound: I = 60, stages <= 2{FEW} - {none}",
        f"at the bound: I = 60, stages <= 3{FEW} - {none}",
        f"above the bound: I = 63, stages <= 3{FEW} - {none}",
        f"above the bound: I = 66, stages <= 3{FEW} - {none}",
        f"above the bound: I = 72, stages <= 2{FEW} - finder: I = 72",
        f"few groups below: I = 69, stages <= 3{FEW} - {none}",
        f"few groups below: I = 71, stages <= 2{FEW} - finder: I = 71",
        f"few groups below: I = 70, stages <= 2{FEW} - finder: I = 70",
        f"few groups below: I = 69, stages <= 6 - {none} (capacity)",
        "70 proved",
    ]
    many = told(problem, Truth(70, groups=3), alone=True)
    assert [line for line in many if line.startswith("halves")] == [
        "halves: I = 130, stages <= 6 - finder: I = 130",
        "halves: I = 95, stages <= 6 - finder: I = 95",
        "halves: I = 77, stages <= 6 - finder: I = 77",
        f"halves: I = 68, stages <= 6 - {none} (capacity)",
        "halves: I = 73, stages <= 6 - finder: I = 73",
        "halves: I = 71, stages <= 6 - finder: I = 71",
        "halves: I = 70, stages <= 6 - finder: I = 70",
        f"halves: I = 69, stages <= 6 - {none} (capacity)",
    ]
    assert many[-1] == "70 proved"


@pytest.mark.parametrize("least", [60, 61, 79, 199, 200, 201])
@pytest.mark.parametrize("more", [{}, {"all": 2.0, "range": 9.0}, {"few": 99.0}, {"groups": 3}])
@pytest.mark.parametrize("alone", [False, True])
def test_whatever_is_asked_the_least_interval_is_found_and_proved(
    problem: Problem, least: int, more: dict[str, Any], alone: bool
) -> None:
    truth = replace(Truth(least), **more)
    *lines, last = told(problem, truth, alone=alone)
    assert last == f"{least} proved"
    assert len(lines) == len(set(lines)) or "again" in "".join(lines)


def test_where_a_larger_interval_may_be_infeasible_every_one_is_refuted(problem: Problem) -> None:
    later = delayed(problem)
    assert not later.starts_at_issue
    lines = told(later, Truth(64), alone=True)
    assert [line for line in lines if line.startswith("one by one")] == [
        "one by one: I = 60, stages <= 6 - finder: none (capacity)",
        "one by one: I = 61, stages <= 6 - finder: none (capacity)",
        "one by one: I = 62, stages <= 6 - finder: none (capacity)",
        "one by one: I = 63, stages <= 6 - finder: none (capacity)",
        "one by one: I = 64, stages <= 6 - finder: I = 64",
    ]
    assert lines[-1] == "64 proved"
    *lines, last = told(later, Truth(64, range=50))
    assert lines[-1] == (
        "range below: I = 60 .. 65, stages <= 6; the least - prover: I = 64, none better"
    )
    assert last == "64 proved"
    assert not any(line.startswith("halves") for line in lines)


def test_a_refutation_above_says_nothing_where_larger_intervals_may_be_infeasible(
    problem: Problem,
) -> None:
    for asked, low in ((problem, 66), (delayed(problem), 60)):
        questions = Questions(asked, finder(Truth(70)))
        questions.known.refuted(60)
        situation = Situation(asked, questions, bounds(asked), None)
        questions.ask(situation.query(65))
        assert questions.known.low == low


def test_what_few_groups_or_stages_lack_refutes_no_interval(problem: Problem) -> None:
    """All that is known of a whole interval is that it takes more than there is effort for."""
    truth = Truth(72, stages=2, few=0, all=1e9, range=1e9, near=0)
    lines: list[str] = []

    class EnoughError(Exception):
        """Ends what would go on for ever."""

    def log(line: str) -> None:
        lines.append(line)
        if line.startswith("range below"):
            raise EnoughError

    with pytest.raises(EnoughError):
        least_interval(problem, finder(truth), Options(log=log), Prover(truth))
    assert sum("none" in line for line in lines) == 4
    assert lines[-1].endswith("I = 72")


def test_every_strategy_is_needed(problem: Problem) -> None:
    """Each is the one that ends the search of some problem, or brings its interval down."""
    whys = set[str]()
    for truth, _ in ORDERS.values():
        whys |= {line.partition(":")[0] for line in told(problem, truth)}
    for truth in (Truth(70), Truth(70, groups=3)):
        whys |= {line.partition(":")[0] for line in told(problem, truth, alone=True)}
    whys |= {line.partition(":")[0] for line in told(delayed(problem), Truth(64), alone=True)}
    assert {s.name for s in STRATEGIES} - whys == {"row by row"}  # which test_search.py is about


# -- what is told ----------------------------------------------------------------------------------

CPSAT, YICES = "OR-Tools V (cpsat)", "Yices V (difference)"
EXAMPLE = f"""\
at the bound: I = 2, stages <= 2, groups <= 2, effort 1 - {CPSAT}: I = 2
groups: I = 2, stages <= 2, groups <= 1 - {CPSAT}: I = 2
length: I = 2; the best - {CPSAT}: 4, none better
slack: I = 2; the best - {CPSAT}: 1, none better
last schedule: I = 2, within all levels - {YICES}: found
"""


def test_the_command_prints_every_question(tmp_path: Path) -> None:
    static = ("schedule", "paper_example", "-m", "paper_example", "--model", "paper")
    words = ("twill", *static, "--no-cache")
    plain = in_process(*words, folder=tmp_path)
    done = in_process(*words, "-v", folder=tmp_path)
    assert (done.returncode, done.stdout, plain.stderr) == (0, plain.stdout, "")
    assert re.sub(r"(Tools|Yices) [\d.]+", r"\1 V", done.stderr) == EXAMPLE


def test_families_of_what_the_prover_refuted_are_named_by_the_finder() -> None:
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1}, groups=((4, 1),))
    lines: list[str] = []
    request = Request(small_loop(operations, [edge("a", "b")]), machine)
    schedule = solve(request, log=lines.append).schedule
    assert schedule.proof is not None
    assert (schedule.proof.bound.solver or "").startswith("Yices")
    named = [line for line in lines if line.startswith("below the least interval")]
    assert len(named) == 1
    assert named[0].endswith(f"none ({', '.join(schedule.proof.bound.families)})")


@pytest.mark.parametrize(
    "seeds",
    [
        (2, 3, 5, 6, 9, 11),
        pytest.param((0, 1, 4, 7, 8, 10), marks=[pytest.mark.slow, pytest.mark.sample]),
    ],
    ids=["some", "more"],
)
def test_the_same_questions_lead_to_the_same_interval_whoever_answers(
    seeds: tuple[int, ...],
) -> None:
    above = 0
    for seed in seeds:
        asked = build_problem(*tight_loop(seed))
        try:
            alone = search(asked, DifferenceEngine)
        except twill.RefusedError:
            with pytest.raises(twill.RefusedError):
                search(asked, DifferenceEngine, prover=range_prover())
            continue
        both = search(asked, DifferenceEngine, prover=range_prover())
        assert both.interval == alone.interval, seed
        assert both.assignment == alone.assignment, seed
        assert both.proof.bound.reason == alone.proof.bound.reason != "not proved", seed
        above += alone.proof.bound.reason == "no joint schedule"
    assert above > 1
