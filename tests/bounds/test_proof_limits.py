"""What proofs are made of: bounds, levels and what is said of them, exactly at their limits."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import twill
from tests.support.judged import as_read
from tests.support.small import edge, hand_made, op, random_loop, small_loop, small_machine
from tests.support.static import static_schedule
from tests.support.tampering import Data
from twill.artifacts.loop import Cost, Operation, Step
from twill.artifacts.proof import LevelProof, LowerBound, Proof
from twill.bounds import (
    NO_PATH,
    Bounds,
    bounds,
    closure,
    delays,
    every_bound,
    least_length,
    least_stages,
    longest,
    longest_paths,
    recurrence_bound,
    resource_argument,
    resource_bound,
)
from twill.engines import Status
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment
from twill.search.known import (
    Reached,
    bound_reached,
    measured,
    not_proved,
    proof_within,
    proofs,
)
from twill.search.questions import Outcome
from twill.search.search import _largest, least_value
from twill.verification.bounds import by_recurrences, least_interval, shortest, unit_needs

PAIRS = list(itertools.combinations_with_replacement(range(2, 12), 2))
ONE = {"all": WarpGroup(4, False, 0, 1 << 20)}


def problem(operations: list[Operation], edges: Any = (), **more: Any) -> Problem:
    return build_problem(small_loop(operations, edges), small_machine(**more))


# -- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capacity", "reservations", "expected"),
    [
        (1, [(1, 1)], 1),
        (2, [(3, 2)], 3),
        (2, [(3, 1)], 2),  # its own next instance fits beside it
        (3, [(7, 1)], 3),
        (4, [(4, 3), (4, 1)], 4),
        (4, [(4, 3), (4, 2)], 6),  # half of the unit counts as half
        (4, [(4, 3), (4, 2), (4, 2)], 8),
        (4, [(4, 2), (4, 2)], 4),
        (4, [(4, 2), (4, 2), (1, 2)], 5),
        (5, [(2, 3), (2, 2), (2, 2)], 3),
        (5, [(2, 4), (2, 2), (2, 1)], 3),
        (6, [(5, 5), (5, 2), (5, 2), (5, 2)], 10),
        (8, [(11, 3)], 6),  # two of its instances fit at once, whatever the area
        (5, [(2, 3), (2, 3)], 4),
        (3, [(2, 2), (3, 2), (1, 1)], 5),
        (8, [(10, 6), (5, 4), (5, 4)], 15),  # by area 13 would do
    ],
)
def test_what_a_unit_needs_is_computed_twice(
    capacity: int, reservations: list[tuple[int, int]], expected: int
) -> None:
    operations = [op(f"o{i}", "U", c, count=n) for i, (c, n) in enumerate(reservations)]
    made = problem(operations, units={"U": capacity})
    assert resource_bound(made, "U") == expected
    assert unit_needs(as_read(made), "U") == expected
    argument = resource_argument(made, "U")
    assert (argument.unit, argument.capacity, argument.value) == ("U", capacity, expected)
    if -(-sum(c * n for c, n in reservations) // capacity) == expected:
        plain = tuple((f"o{i}", c, n) for i, (c, n) in enumerate(reservations))
        assert (argument.whole, argument.parts) == ((), plain)
    if argument.alone:
        ((_, length, count),) = argument.parts
        assert argument.whole == ()
        assert -(-length // (capacity // count)) == expected
    else:
        work = sum(length * count for _, length, count in argument.parts)
        whole = sum(length for _, length, _ in argument.whole)
        assert whole + -(-work // capacity) == expected


def test_the_judge_has_the_bounds_of_the_search() -> None:
    for seed in range(60):
        made = build_problem(*random_loop(seed))
        found, read = bounds(made), as_read(made)
        assert by_recurrences(read) == found.recurrence == recurrence_bound(made)[0]
        assert least_interval(read) == found.alone == found.interval
        assert {u: unit_needs(read, u) for u in made.capacities} == found.by_unit
        assert shortest(read, 64) == least_length(made, 64)


def test_a_recurrence_of_two_iterations_is_rounded_up() -> None:
    operations = [op("a", "ALU", latency=3), op("b", "TC", latency=4)]
    for distance, expected in ((1, 7), (2, 4), (3, 3), (7, 1), (8, 1)):
        made = problem(operations, [edge("a", "b"), edge("b", "a", distance)])
        assert recurrence_bound(made)[0] == expected
        assert set(recurrence_bound(made)[1]) == {"a", "b"}
        assert by_recurrences(as_read(made)) == expected
        assert longest_paths(made, expected) is not None
        assert longest_paths(made, expected - 1) is None


def test_without_recurrences_there_is_no_bound_by_them() -> None:
    made = problem([op("a", "ALU"), op("b", "TC")], [edge("a", "b")])
    assert recurrence_bound(made) == (0, ())
    assert by_recurrences(as_read(made)) == 0


def test_issuing_counts_for_what_is_asynchronous_under_the_issue_rules() -> None:
    loop = small_loop([op("a", "TC", asynchronous=True, issue=5), op("b", "ALU", 2)])
    made = build_problem(loop, small_machine())
    assert (bounds(made).issue, bounds(made).issue_operation) == (5, "a")
    assert least_interval(as_read(made)) == bounds(made).interval == 5
    paper = build_problem(loop, small_machine(), rules="paper")
    assert (bounds(paper).issue, bounds(paper).issue_operation) == (0, "")
    assert least_interval(as_read(paper)) == bounds(paper).interval == 2


def test_paths_are_the_longest_and_contradictions_are_none() -> None:
    matrix = np.full((3, 3), NO_PATH, dtype=np.int64)
    np.fill_diagonal(matrix, 0)
    matrix[0, 1], matrix[1, 2], matrix[0, 2] = 4, -1, 2
    found = closure(matrix)
    assert found is not None
    assert found[0, 2] == 3
    assert found[2, 0] < NO_PATH // 2
    assert matrix[0, 2] == 2
    matrix[2, 0] = -3
    assert closure(matrix) is not None
    matrix[2, 0] = -2
    assert closure(matrix) is None


def test_what_is_said_beside_the_dependences_counts_for_paths() -> None:
    made = problem([op("a", "ALU", latency=3), op("b", "TC")], [edge("a", "b"), edge("a", "b", 1)])
    plain = longest_paths(made, 4)
    more = longest(2, [*delays(made, 4), (0, 1, 5), (1, 0, -5)])
    assert plain is not None
    assert more is not None
    assert (plain[0, 1], more[0, 1], more[1, 0]) == (3, 5, -5)
    assert plain[1, 0] < NO_PATH // 2
    assert longest(2, [*delays(made, 4), (1, 0, -2)]) is None


@pytest.mark.parametrize(("interval", "stages"), [(9, 1), (8, 2), (5, 2), (4, 3), (3, 3), (2, 5)])
def test_the_fewest_stages_are_the_longest_chain(interval: int, stages: int) -> None:
    made = problem([op("a", "ALU", latency=7), op("b", "TC", 2)], [edge("a", "b")])
    assert least_length(made, interval) == 9
    assert least_stages(made, interval) == stages
    assert least_length(problem([op("a", "ALU", 6)]), 6) == 6


def test_the_largest_bound_is_the_reason() -> None:
    def said(**values: Any) -> tuple[str, int, Any]:
        plain = Bounds({"U": 3, "V": 2}, "U", 3, ("a",), 3, "b")
        bound = bound_reached(replace(plain, **values))
        assert bound.most_stages is None
        assert bound.solver is None
        return bound.reason, bound.value, bound.unit or bound.cycle or bound.most

    assert said() == ("ResMII", 3, "U")
    assert said(recurrence=4) == ("RecMII", 4, ("a",))
    assert said(issue=4) == ("issue", 4, ("b",))
    assert said(issue=4, recurrence=4) == ("RecMII", 4, ("a",))
    assert said(by_unit={"U": 4, "V": 2}, issue=4, recurrence=4) == ("ResMII", 4, "U")
    assert said(by_unit={"U": 0}, recurrence=0, issue=0) == ("ResMII", 1, "U")


def triangle() -> Problem:
    """Three operations of which any two share a unit."""
    operations = []
    for name, units in (("a", "XY"), ("b", "YZ"), ("c", "ZX")):
        steps = tuple(Step(unit=unit, cycles=2, instructions=2) for unit in units)
        operations.append(Operation(name=name, kind="test", cost=Cost(steps=steps, latency=2)))
    return problem(operations, units=dict.fromkeys("XYZ", 1), in_order=())


def test_all_units_together_are_the_reason_where_they_need_more() -> None:
    lower = every_bound(triangle())
    assert (lower.alone, lower.interval) == (4, 6)
    bound = bound_reached(lower)
    assert (bound.reason, bound.value) == ("configurations", 6)
    assert bound.weights
    assert bound.most
    even = bound_reached(replace(lower, recurrence=6, recurrence_cycle=("a",)))
    assert (even.reason, even.cycle, even.weights) == ("RecMII", ("a",), None)


def test_what_is_not_proved_says_what_shows_it() -> None:
    lower = every_bound(triangle())
    alone = not_proved(lower, 4, "CBC", 6)
    assert alone == LowerBound(value=4, reason="not proved")
    together = not_proved(lower, 6, "CBC", 6)
    assert together.weights == bound_reached(lower).weights
    assert (together.value, together.solver, together.most_stages) == (6, None, None)
    beyond = not_proved(lower, 7, "CBC", 6)
    assert (beyond.value, beyond.solver, beyond.most_stages) == (7, "CBC", 6)
    assert beyond.weights is None


@pytest.mark.parametrize(("reason", "proved"), [("not proved", False), ("ResMII", True)])
def test_the_interval_is_the_first_level_and_proved_if_there_is_a_reason(
    reason: Any, proved: bool
) -> None:
    wished = problem([op("a", "ALU"), op("b", "TC")])
    wishes = replace(wished.wishes, limits=(("groups", 2),), pins=((1, "G"),), orders=((1, 0),))
    level = LevelProof(level="stages", value=2, proved=False)
    bound = LowerBound(value=4, reason=reason)
    found = proof_within(replace(wished, wishes=wishes), 5, bound, [level])
    assert found.bound == bound
    assert found.levels == (LevelProof(level="interval", value=5, proved=proved), level)
    assert (found.limits, found.pins, found.orders) == ({"groups": 2}, {"b": "G"}, (("b", "a"),))


# -- levels ---------------------------------------------------------------------------------------


def at(value: int) -> Assignment:
    return Assignment((value,), (0,), ())


def value_of(assignment: Assignment) -> int:
    return assignment.start[0]


class Oracle:
    """Answers whether there is a value of at most, or at least, so much."""

    def __init__(self, best: int, *, largest: bool = False, unknown: tuple[int, ...] = ()) -> None:
        self.best, self.largest, self.unknown = best, largest, unknown
        self.asked: list[int] = []

    def __call__(self, probe: int) -> Outcome:
        self.asked.append(probe)
        if probe in self.unknown:
            return Outcome("unknown", 0)
        there = probe <= self.best if self.largest else probe >= self.best
        status: Status = "sat" if there else "unsat"
        return Outcome(status, 0, None, at(probe) if there else None, f"asked {probe}")


@pytest.mark.parametrize("look", [least_value, partial(least_value, halves=True)])
@pytest.mark.parametrize(("best", "known"), PAIRS)
def test_the_least_value_is_found_and_the_one_below_refuted(
    look: Callable[..., Reached], best: int, known: int
) -> None:
    oracle = Oracle(best)
    found = look(oracle, value_of, at(known), 2)
    who = f"asked {best - 1}" if best > 2 else ""
    assert found == Reached(best, at(best), proved=True, solver=who)
    assert all(2 <= probe < known for probe in oracle.asked)
    assert len(oracle.asked) == len(set(oracle.asked))
    assert len(oracle.asked) <= 7


@pytest.mark.parametrize("look", [least_value, partial(least_value, halves=True)])
def test_a_value_whose_better_one_was_not_decided_is_not_proved(
    look: Callable[..., Reached],
) -> None:
    found = look(Oracle(5, unknown=(3, 4)), value_of, at(9), 2)
    assert (found.value, found.proved) == (5, False)
    nothing = look(Oracle(5, unknown=(4,)), value_of, at(5), 5)
    assert (nothing.value, nothing.proved, nothing.solver) == (5, True, "")


@pytest.mark.parametrize(("known", "best"), PAIRS)
def test_the_largest_value_is_found_and_the_one_above_refuted(known: int, best: int) -> None:
    oracle = Oracle(best, largest=True)
    found = _largest(oracle, value_of, at(known), 11)
    who = f"asked {best + 1}" if best < 11 else ""
    assert found == Reached(best, at(best), proved=True, solver=who)
    assert all(known < probe <= 11 for probe in oracle.asked)
    assert len(oracle.asked) <= 9


def test_a_largest_value_whose_better_one_was_not_decided_is_not_proved() -> None:
    found = _largest(Oracle(5, largest=True, unknown=(6,)), value_of, at(4), 9)
    assert (found.value, found.proved) == (5, False)


def test_levels_are_measured_on_the_schedule_whenever_it_begins() -> None:
    loop = small_loop([op("a", "ALU", latency=2, registers=1), op("b", "TC", 2)], [edge("a", "b")])
    made = build_problem(loop, small_machine(hop=1))
    same = Assignment((3, 8), (0, 0), ())
    assert measured(made, 4, same) == {"stages": 2, "groups": 1, "transfers": 0, "length": 7}
    apart = Assignment((3, 8), (0, 1), ())
    assert measured(made, 7, apart) == {
        "stages": 1, "groups": 2, "transfers": 1, "length": 7, "slack": 2,
    }  # fmt: skip
    assert measured(made, 6, apart)["stages"] == 2


def test_a_level_is_proved_only_if_all_above_it_are() -> None:
    values: dict[Any, int] = {"stages": 2, "groups": 3, "transfers": 0, "length": 9}
    shown: dict[Any, Reached] = {
        "stages": Reached(2, at(0), proved=True, solver=""),
        "groups": Reached(3, at(0), proved=False, solver="S"),
        "transfers": Reached(0, at(0), proved=True, solver="T"),
    }

    def told(proved: bool) -> list[tuple[str, int, bool, str | None]]:
        found = proofs(values, shown, proved=proved)
        return [(entry.level, entry.value, entry.proved, entry.solver) for entry in found]

    assert told(True) == [("stages", 2, True, None), ("groups", 3, False, None),
                          ("transfers", 0, False, None), ("length", 9, False, None)]  # fmt: skip
    assert told(False)[0] == ("stages", 2, False, None)
    shown["groups"] = replace(shown["groups"], proved=True)
    assert told(True)[1:] == [("groups", 3, True, "S"), ("transfers", 0, True, "T"),
                              ("length", 9, False, None)]  # fmt: skip


# -- what the verifier says of a proof ------------------------------------------------------------


def solved() -> twill.Schedule:
    """Interval 4 by a unit, 2 stages, 2 groups, length 7, no slack."""
    loop = small_loop(
        [
            op("a", "ALU", 4, latency=4),
            op("b", "TC", 1, asynchronous=True, latency=2),
            op("c", "BUS"),
        ],
        [edge("a", "b"), edge("b", "c")],
    )
    return static_schedule(loop, small_machine({"ALU": 1, "TC": 1, "BUS": 1}))


def refuted(**wishes: Any) -> twill.Schedule:
    """Interval 4, of which only an engine says that 3 is too little."""
    last = op("d", "MUFU")
    operations = [
        op("a", "TC", asynchronous=True),
        op("b", "BUS"),
        op("c", "ALU", 3, latency=5),
        last,
    ]
    machine = small_machine({"TC": 1, "ALU": 1, "BUS": 1, "MUFU": 1}, groups=((4, 1),))
    return static_schedule(
        small_loop(operations, [edge("a", "b"), edge("c", "d")]), machine, **wishes
    )


def wrong(schedule: twill.Schedule, change: Callable[[Data], object]) -> list[str]:
    data = json.loads(schedule.to_json())
    change(data["proof"])
    verdict = twill.verify(twill.Schedule.from_json(json.dumps(data)))
    assert {v.rule for v in verdict.violations} <= {"proof"}
    return [violation.message for violation in verdict.violations]


def in_bound(values: dict[str, Any], proof: Data) -> None:
    proof["bound"].update(values)


BOUNDS: list[tuple[Callable[[], twill.Schedule], dict[str, Any], list[str]]] = [
    (solved, {"unit": "TC"}, ["the proof says unit TC needs 4, it needs 1"]),
    (solved, {"unit": "X"}, ["the proof names unit X, which the machine does not have"]),
    (solved, {"unit": None}, ["the proof says ResMII and not its unit",
                              "the proof names unit None, which the machine does not have"]),
    (solved, {"cycle": ["a"]}, ["the proof says ResMII, of which cycle is no part"]),
    (solved, {"solver": "S"}, ["the proof says ResMII, of which solver is no part"]),
    (solved, {"most_stages": 6}, ["the proof says ResMII, of which most_stages is no part"]),
    (solved, {"value": 5}, ["the proof says at least 5, the interval is 4",
                            "the proof says unit ALU needs 5, it needs 4"]),
    (solved, {"value": 3}, ["the proof says 3 is the least interval, it is 4 here",
                            "the proof says at least 3, units and recurrences need 4",
                            "the proof says unit ALU needs 3, it needs 4"]),
    (solved, {"reason": "RecMII", "unit": None, "cycle": ["a", "b"]},
     ["the proof's recurrence has no dependence b -> a"]),
    (solved, {"reason": "RecMII", "unit": None, "cycle": []},
     ["the proof says RecMII and not its cycle",
      "the proof says the recurrence takes 4, it takes 0"]),
    (solved, {"reason": "issue", "unit": None, "cycle": ["b"]},
     ["the proof says issuing takes 4, it takes 0"]),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 4, "weight": 1}]}, []),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 5, "weight": 1}]},
     ["the proof counts a at 0, where it takes no unit"]),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 3, "weight": 1}]},
     ["the proof says at least 4, its weights say 3 / 1"]),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 4, "weight": 2}]},
     ["the proof says at most 1 fits all units at once, 2 does"]),
    (solved, {"reason": "configurations", "unit": None, "most": 2,
              "weights": [{"operation": "a", "start": 0, "length": 4, "weight": 2}]}, []),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 2, "weight": 1},
                          {"operation": "a", "start": 2, "length": 2, "weight": 1}]}, []),
    (solved, {"reason": "configurations", "unit": None, "most": 1,
              "weights": [{"operation": "a", "start": 0, "length": 2, "weight": 1},
                          {"operation": "a", "start": 1, "length": 2, "weight": 1}]},
     ["the proof counts a twice at 1"]),
    (solved, {"reason": "no joint schedule", "unit": None, "solver": "S", "most_stages": 6},
     ["the proof says no joint schedule, units and recurrences need 4 alone"]),
    (solved, {"reason": "no modulo schedule", "unit": None, "solver": "S", "most_stages": 6},
     ["the proof says no modulo schedule, units and recurrences need 4 alone"]),
    (refuted, {}, []),
    (refuted, {"solver": None}, ["the proof says no joint schedule and not its solver"]),
    (refuted, {"most_stages": None}, ["the proof says no joint schedule and not its most_stages"]),
    (refuted, {"families": []}, []),
    (refuted, {"families": ["turns", "turns"]}, ["the proof names a family of constraints twice"]),
    (refuted, {"unit": "TC"}, ["the proof says no joint schedule, of which unit is no part"]),
    (refuted, {"value": 3},
     ["the proof says 3 is the least interval, it is 4 here",
      "the proof says no joint schedule, units and recurrences need 3 alone"]),
    (refuted, {"value": 5}, ["the proof says at least 5, the interval is 4"]),
    (refuted, {"most_stages": 2}, []),
    (refuted, {"most_stages": 1}, ["the proof is about at most 1 stages, there are 2"]),
    (refuted, {"reason": "no modulo schedule", "families": []}, []),
    (refuted, {"reason": "no modulo schedule", "families": ["turns"]},
     ["the proof says no modulo schedule, of which families is no part"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "change", "told"), BOUNDS)
def test_a_bound_says_what_its_reason_needs_and_no_more(
    made: Callable[[], twill.Schedule], change: dict[str, Any], told: list[str]
) -> None:
    assert wrong(made(), partial(in_bound, change)) == told


def in_level(level: str, values: dict[str, Any], proof: Data) -> None:
    next(entry for entry in proof["levels"] if entry["level"] == level).update(values)


def test_what_the_two_schedules_are() -> None:
    levels = [
        [(x.level, x.value, x.proved, x.solver is not None) for x in s.proof.levels]
        for s in (solved(), refuted())
        if s.proof
    ]
    assert levels == [
        [("interval", 4, True, False), ("stages", 2, True, False), ("groups", 2, True, True),
         ("transfers", 0, True, False), ("length", 7, True, False), ("slack", 0, True, True)],
        [("interval", 4, True, False), ("stages", 2, True, False), ("groups", 1, True, False),
         ("transfers", 0, True, False), ("length", 6, True, False), ("slack", 2, True, True)],
    ]  # fmt: skip


@pytest.mark.parametrize("level", ["interval", "stages", "groups", "transfers", "length", "slack"])
@pytest.mark.parametrize("more", [-1, 1])
def test_a_level_has_the_schedules_value(level: str, more: int) -> None:
    schedule = solved()
    assert schedule.proof is not None
    actual = {entry.level: entry.value for entry in schedule.proof.levels}
    value = actual[level] + more  # type: ignore[index]
    told = wrong(schedule, partial(in_level, level, {"value": value}))
    assert told[0] == f"the proof says {level} {value}, the schedule has {value - more}"


@pytest.mark.parametrize(
    ("level", "change", "told"),
    [
        ("slack", {"solver": None}, ["the proof says slack proved, and not who has shown it"]),
        ("slack", {"proved": False}, ["the proof says {who} has shown slack, for no need"]),
        ("slack", {"proved": False, "solver": None}, []),
        ("length", {"solver": "S"}, ["the proof says S has shown length, for no need"]),
        ("interval", {"solver": "S"}, ["the proof says S has shown interval, for no need"]),
        (
            "length",
            {"proved": False},
            ["the proof says slack proved, of which something above is not proved"],
        ),
        (
            "interval",
            {"proved": False},
            [
                "the proof says interval not proved, and why there is no smaller one",
                *(
                    f"the proof says {level} proved, of which something above is not proved"
                    for level in ("stages", "groups", "transfers", "length", "slack")
                ),
            ],
        ),
    ],
)
def test_a_level_is_proved_by_a_bound_or_by_who_says_so(
    level: str, change: dict[str, Any], told: list[str]
) -> None:
    schedule = solved()
    assert schedule.proof is not None
    who = schedule.proof.levels[-1].solver
    expected = [message.format(who=who) for message in told]
    assert wrong(schedule, partial(in_level, level, change)) == expected


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ([(18, 1), (9, 0)], 11),  # 9 + 2 in one iteration, which 18 + 2 in two do not reach
        ([(21, 1), (9, 0)], 12),  # 21 + 2 in two iterations
        ([(9, 0), (21, 1)], 12),
    ],
)
def test_of_several_dependences_the_recurrence_takes_the_longest(
    given: list[tuple[int, int]], value: int
) -> None:
    edges = [edge("a", "b", distance, delay=delay) for delay, distance in given]
    loop = small_loop([op("a", "ALU"), op("b", "TC", 2)], [*edges, edge("b", "a", 1)])
    schedule = static_schedule(loop, small_machine())
    assert schedule.proof is not None
    bound = schedule.proof.bound
    assert (bound.reason, bound.value, set(bound.cycle)) == ("RecMII", value, {"a", "b"})
    assert twill.verify(schedule).valid
    more = wrong(schedule, partial(in_bound, {"value": value + 1}))
    assert more[-1].startswith(f"the proof says the recurrence takes {value + 1}, it takes ")


def with_levels(schedule: twill.Schedule, **levels: int) -> twill.Schedule:
    """Return a schedule that says so of its levels, and proves nothing."""
    entries = [{"level": k, "value": v, "proved": False} for k, v in levels.items()]
    proof = {"bound": {"value": 1, "reason": "not proved"}, "levels": entries}
    data = {**json.loads(schedule.to_json()), "proof": proof}
    return twill.Schedule.from_json(json.dumps(data))


def test_slack_counts_signals_and_transfers_where_a_value_crosses() -> None:
    # b may issue 3 + 4 + 2 after a.
    loop = small_loop(
        [op("a", "ALU", latency=3, registers=1, transfer=4), op("b", "TC")], [edge("a", "b")]
    )
    groups = {name: WarpGroup(4, False, 0, 9) for name in ("left", "right")}
    machine = small_machine(hop=2, smem=4096)
    home = {"a": "left", "b": "right"}
    schedule = hand_made(loop, machine, 20, {"a": 0, "b": 12}, home, groups)
    values = {"interval": 20, "stages": 1, "groups": 2, "transfers": 1, "length": 13}
    assert twill.verify(with_levels(schedule, **values, slack=3)).valid
    verdict = twill.verify(with_levels(schedule, **values, slack=4))
    assert [v.message for v in verdict.violations] == ["the proof says slack 4, the schedule has 3"]


def test_every_level_is_there_once_and_in_its_place() -> None:
    schedule = solved()
    all_of_them = "there are interval, stages, groups, transfers, length, slack"

    def told(change: Callable[[list[Data]], object]) -> str:
        return wrong(schedule, lambda proof: change(proof["levels"]))[0]

    left_out = "the proof has the levels interval, stages, transfers, length, slack; "
    assert told(lambda levels: levels.pop(2)) == left_out + all_of_them
    last = "the proof has the levels interval, stages, groups, transfers, length; "
    assert told(lambda levels: levels.pop()) == last + all_of_them
    doubled = (
        "the proof has the levels interval, interval, stages, groups, transfers, length, slack; "
    )
    assert told(lambda levels: levels.insert(0, levels[0])) == doubled + all_of_them
    none = "the proof has the levels ; "
    assert told(lambda levels: levels.clear()) == none + all_of_them


def test_slack_is_a_level_only_where_something_waits() -> None:
    loop = small_loop([op("a", "ALU", 2), op("b", "TC")], [edge("a", "b")])
    schedule = static_schedule(loop, small_machine())
    assert schedule.proof is not None
    assert [entry.level for entry in schedule.proof.levels][-1] == "length"
    more = {"level": "slack", "value": 0, "proved": False}
    told = wrong(schedule, lambda proof: proof["levels"].append(more))
    assert told[0].endswith("length, slack; there are interval, stages, groups, transfers, length")


def weight(length: int) -> Data:
    return {"operation": "c", "start": 0, "length": length, "weight": 1}


NOT_PROVED: list[tuple[dict[str, Any], list[str]]] = [
    ({"value": 3}, []),
    ({"value": 2}, ["the proof says at least 2, units and recurrences need 3"]),
    ({"value": 4}, ["the proof says at least 4, and not who has shown it"]),
    ({"value": 4, "solver": "S", "most_stages": 6}, []),
    ({"value": 5, "solver": "S", "most_stages": 6},
     ["the proof says at least 5, the interval is 4"]),
    ({"value": 3, "unit": "ALU"}, ["the proof says not proved, of which unit is no part"]),
    ({"value": 3, "weights": [weight(3)], "most": 1}, []),
    ({"value": 3, "weights": [weight(2)], "most": 1},
     ["the proof says at least 3, its weights say 2 / 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("bound", "told"), NOT_PROVED)
def test_where_nothing_is_proved_the_least_is_shown_all_the_same(
    bound: dict[str, Any], told: list[str]
) -> None:
    def change(proof: Data) -> None:
        proof["bound"] = {"reason": "not proved", **bound}
        for entry in proof["levels"]:
            entry.update(proved=False, solver=None)

    assert wrong(refuted(), change) == told


def test_what_is_taken_on_trust_is_said_in_full() -> None:
    schedule = refuted(limits={"stages": 3}, orders=[("a", "c")])
    verdict = twill.verify(schedule)
    assert verdict.valid
    assert verdict.within == ("stages at most 3", "a before c")
    assert schedule.proof is not None
    bound = schedule.proof.bound
    first, *others = verdict.trusted
    assert (first.level, first.solver) == ("interval", bound.solver)
    assert first.claim == (
        "no schedule of at most 3 stages at an interval below 4 "
        f"(because of {', '.join(bound.families)})"
    )
    shown = {x.level: x.solver for x in schedule.proof.levels if x.solver}
    assert {x.level: x.solver for x in others} == shown
    assert others[-1].claim.startswith("no schedule of a slack above ")


def test_of_every_level_it_is_said_what_there_is_not() -> None:
    schedule = solved()
    data = json.loads(schedule.to_json())
    for entry in data["proof"]["levels"]:
        entry["solver"] = f"who says so of {entry['level']}"
    verdict = twill.verify(twill.Schedule.from_json(json.dumps(data)))
    assert [(said.level, said.claim) for said in verdict.trusted] == [
        ("stages", "no schedule of fewer than 2 stages at an interval of 4"),
        ("groups", "no schedule of fewer than 2 groups with 2 stages"),
        ("transfers", "no schedule of fewer than 0 transfers with 2 groups"),
        ("length", "no schedule of a length below 7 with 0 transfers"),
        ("slack", "no schedule of a slack above 0 with a length of 7"),
    ]
    assert all(said.solver == f"who says so of {said.level}" for said in verdict.trusted)


def test_a_modulo_schedule_is_called_one() -> None:
    schedule = refuted()
    data = json.loads(schedule.to_json())
    data["proof"]["bound"].update(reason="no modulo schedule", families=[])
    first = twill.verify(twill.Schedule.from_json(json.dumps(data))).trusted[0]
    assert first.claim == "no modulo schedule of at most 6 stages at an interval below 4"


NO_Z = "the proof orders z, which the loop does not have"
WISHES: list[tuple[Callable[[Data], object], list[str]]] = [
    (lambda p: p["limits"].update(groups=2, transfers=0, stages=2), []),
    (lambda p: p["limits"].update(groups=1),
     ["the proof holds within groups at most 1, the schedule has 2"]),
    (lambda p: p["limits"].update(stages=1),
     ["the proof holds within stages at most 1, the schedule has 2"]),
    (lambda p: p["limits"].update(registers=1), []),  # the machine says nothing of registers
    (lambda p: p["pins"].update(a="compute0"), []),
    (lambda p: p["pins"].update(a="compute1"), ["the proof pins a to compute1, it is on compute0"]),
    (lambda p: p["pins"].update(z="compute0"), ["the proof pins z, which the loop does not have"]),
    (lambda p: p["orders"].append(["a", "b"]), []),
    (lambda p: p["orders"].append(["a", "a"]), []),
    (lambda p: p["orders"].append(["b", "a"]),
     ["the proof orders b before a, they issue at 4 and 0"]),
    (lambda p: p["orders"].append(["z", "a"]), [NO_Z]),
    (lambda p: p["orders"].append(["a", "z"]), [NO_Z]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), WISHES)
def test_what_was_asked_for_is_kept(change: Callable[[Data], object], told: list[str]) -> None:
    assert wrong(solved(), change) == told


@pytest.mark.parametrize(("most", "told"), [
    (11, []), (10, ["the proof holds within registers at most 10, all with its reserve takes 11"]),
])  # fmt: skip
def test_a_limit_of_registers_is_kept(most: int, told: list[str]) -> None:
    machine = small_machine(registers=64, reserve=2)
    loop = small_loop([op("a", "ALU", registers=9)])
    groups = {"all": WarpGroup(4, False, 24, 22)}
    schedule = hand_made(loop, machine, 1, {"a": 0}, {"a": "all"}, groups)
    bound = LowerBound(value=1, reason="not proved")
    levels: dict[Any, int] = {"interval": 1, "stages": 1, "groups": 1, "transfers": 0, "length": 1}
    proof = Proof(
        bound=bound,
        levels=tuple(LevelProof(level=k, value=v, proved=False) for k, v in levels.items()),
        limits={"registers": most},
    )
    verdict = twill.verify(schedule.model_copy(update={"proof": proof}))
    assert [violation.message for violation in verdict.violations] == told


@pytest.mark.parametrize(("stages", "told"), [
    (6, []), (7, ["the proof is about at most 6 stages, 7 were asked for"]),
])  # fmt: skip
def test_a_refutation_is_about_as_many_stages_as_asked_for(stages: int, told: list[str]) -> None:
    assert wrong(refuted(), lambda proof: proof["limits"].update(stages=stages)) == told
