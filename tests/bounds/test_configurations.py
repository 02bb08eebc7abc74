"""What all units need together: against the primal program, brute force, and by hand."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulp
import pytest

import twill
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.static import static_schedule
from tests.verification.test_verifier import broken
from twill.artifacts.proof import LowerBound, Weight
from twill.bounds import bounds, configurations, every_bound
from twill.bounds.configurations import configuration_bound
from twill.engines import EngineFactory, Question, Range
from twill.engines.cpsat import CpSatEngine, CpSatProver
from twill.engines.cpsat.implied import cliques, exclusions
from twill.engines.yices import DifferenceEngine
from twill.explain import explain
from twill.problem import Problem, build_problem
from twill.problem.costs import Reservation
from twill.problem.groups import available_groups
from twill.verification import bounds as verified_configurations
from twill.verification.bounds import check_configurations
from twill.verification.reading import Model, read_model

Taken = tuple[tuple[str, int, int, int], ...]
"""Reservations of one operation: unit, start, length, count."""
SLOTS = {"mufu": 1, "fma": 1, "alu": 1, "issue": 8}


def reserving(operations: list[Taken], capacities: Mapping[str, int]) -> Problem:
    """Return a problem without dependences whose operations reserve just that."""
    names = [f"o{i}" for i in range(len(operations))]
    unit = next(iter(capacities))
    loop, machine = small_loop([op(name, unit) for name in names]), small_machine({unit: 1})
    problem = build_problem(loop, machine)
    mine = [
        replace(o, reservations=tuple(Reservation(*r) for r in taken))
        for o, taken in zip(problem.operations, operations, strict=True)
    ]
    return replace(problem, operations=tuple(mine), capacities=dict(capacities))


def random_reservations(seed: int) -> tuple[list[Taken], dict[str, int]]:
    generator = random.Random(seed)
    capacities = {"A": 1, "B": generator.randint(1, 2), "S": generator.randint(3, 5)}
    operations = []
    for _ in range(generator.randint(2, 5)):
        units = generator.sample(list(capacities), generator.randint(1, 3))
        operations.append(
            tuple(
                (u, generator.randint(0, 1), generator.randint(1, 3), generator.randint(1, c))
                for u in units
                for c in [capacities[u]]
            )
        )
    return operations, capacities


def in_use(taken: Taken, cycle: int) -> dict[str, int]:
    return {u: n for u, start, length, n in taken if start <= cycle < start + length}


def least_time(operations: list[Taken], capacities: Mapping[str, int]) -> float:
    """Return the primal: the least time of configurations in which every cycle of work is done."""
    every = [tuple(sorted(in_use(taken, c).items())) for taken in operations for c in range(8)]
    cycles = [use for use in every if use]
    kinds = sorted(set(cycles))
    most = [min(capacities[u] // n for u, n in kind) for kind in kinds]
    model = pulp.LpProblem("configurations", pulp.LpMinimize)
    fitting = [
        chosen
        for chosen in itertools.product(*(range(m + 1) for m in most))
        if all(
            sum(n * dict(kind).get(unit, 0) for n, kind in zip(chosen, kinds, strict=True)) <= room
            for unit, room in capacities.items()
        )
    ]
    times = [model.add_variable(f"t{i}", 0) for i in range(len(fitting))]
    model += pulp.lpSum(times)
    for k, kind in enumerate(kinds):
        done = pulp.lpSum(c[k] * t for c, t in zip(fitting, times, strict=True))
        model += done >= cycles.count(kind)
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    return float(pulp.value(model.objective))


def test_two_of_three_units_find_issue_slots_at_once() -> None:
    # Beside an exponential, which takes an eighth of the slots, four eighths fit but not twice.
    work = {"mufu": (12, 1), "fma": (8, 4), "alu": (6, 4)}
    operations: list[Taken] = [
        ((unit, 0, length, 1), ("issue", 0, length, slots))
        for unit, (length, slots) in work.items()
    ]
    problem = reserving(operations, SLOTS)
    assert bounds(problem).resource == 12
    found = configuration_bound(problem, 12)
    assert found is not None
    assert (found.most, found.work, found.value) == (2, 26, 13)
    assert every_bound(problem).interval == 13


def test_nothing_where_the_units_say_as_much() -> None:
    problem = reserving([(("mufu", 0, 12, 1),), (("fma", 0, 8, 1),)], SLOTS)
    assert configuration_bound(problem, bounds(problem).resource) is None
    assert every_bound(problem).configurations is None


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_is_the_least_time_of_configurations(seed: int) -> None:
    operations, capacities = random_reservations(seed)
    found = configuration_bound(reserving(operations, capacities))
    assert found is not None
    least = least_time(operations, capacities)
    # Rounded weights may lose a little, but never more than is lost in rounding up.
    assert least - 1 < found.value < least + 1 - 1e-6


def test_random_bounds_are_more_than_those_of_units_often_enough() -> None:
    better = 0
    for seed in range(300):
        problem = reserving(*random_reservations(seed))
        better += configuration_bound(problem, bounds(problem).resource) is not None
    assert better >= 10


def placed(operations: list[Taken], capacities: Mapping[str, int], interval: int) -> bool:
    """Return whether rows exist, by trying all of them."""
    tables = []
    for taken in operations:
        table: dict[tuple[str, int], int] = {}
        for unit, start, length, n in taken:
            for cycle in range(start, start + length):
                table[unit, cycle] = table.get((unit, cycle), 0) + n
        tables.append(table)
    for rows in itertools.product(range(interval), repeat=len(operations) - 1):
        used: dict[tuple[str, int], int] = {}
        for row, table in zip((0, *rows), tables, strict=True):
            for (unit, cycle), n in table.items():
                slot = unit, (row + cycle) % interval
                used[slot] = used.get(slot, 0) + n
        if all(n <= capacities[unit] for (unit, _), n in used.items()):
            return True
    return False


@pytest.mark.parametrize("seed", range(30))
def test_no_interval_below_the_bound_has_room(seed: int) -> None:
    operations, capacities = random_reservations(seed)
    found = configuration_bound(reserving(operations, capacities))
    assert found is not None
    assert not any(placed(operations, capacities, i) for i in range(1, found.value))


def test_too_many_configurations_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    operations: list[Taken] = [(("S", 0, 1 + i, 1), (f"U{i}", 0, 1 + i, 1)) for i in range(6)]
    capacities = {"S": 3, **{f"U{i}": 1 for i in range(6)}}
    assert configuration_bound(reserving(operations, capacities)) is not None
    monkeypatch.setattr(configurations, "MOST_NODES", 20)
    assert configuration_bound(reserving(operations, capacities)) is None


def test_a_unit_that_fits_very_many_is_not_counted_out() -> None:
    operations: list[Taken] = [(("S", 0, 2, 1), ("U", 0, 2, 1)), (("S", 0, 2, 2), ("U", 0, 1, 1))]
    capacities = {"S": 10**19, "U": 10**19}
    assert configuration_bound(reserving(operations, capacities)) is None


# -- the proof that a schedule carries -------------------------------------------------------------


@pytest.fixture(scope="module")
def norm() -> twill.Schedule:
    machine = twill.Machine.named("hopper_h100")
    return static_schedule(twill.load_loop("layer_norm_hopper"), machine)


def test_a_schedule_proved_by_its_configurations(norm: twill.Schedule) -> None:
    assert norm.proof is not None
    bound = norm.proof.bound
    assert (bound.reason, bound.value, norm.initiation_interval) == ("configurations", 966, 966)
    assert twill.verify(norm).violations == ()
    argument = explain(norm, DifferenceEngine).configurations
    assert argument is not None
    assert argument.value == 966


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": 2}, "the proof says at most 1 fits all units at once, 2 does"),
        ({"length": 27}, "the proof says at least 966, its weights say 965 / 1"),
        ({"start": 1}, "the proof says at most 1 fits all units at once, 2 does"),
        ({"start": 2000}, "the proof counts x.load at 2000, where it takes no unit"),
        ({"operation": "nobody"}, "the proof counts nobody at 0, where it takes no unit"),
    ],
)
def test_the_verifier_checks_every_weight(
    norm: twill.Schedule, change: dict[str, Any], message: str
) -> None:
    def first(data: Any) -> None:
        assert data["proof"]["bound"]["weights"][0]["length"] == 28
        data["proof"]["bound"]["weights"][0].update(change)

    assert broken(norm, first) == [f"proof: {message}"]


def test_the_verifier_sees_what_is_counted_twice(norm: twill.Schedule) -> None:
    def twice(data: Any) -> None:
        weights = data["proof"]["bound"]["weights"]
        weights.append(weights[0])
        data["proof"]["bound"]["value"] += 28

    assert any("counts x.load twice at 0" in message for message in broken(norm, twice))


def in_turn() -> Model:
    """Two products of which four fit their unit at once; b waits for a, and is issued in turn."""
    operations = [op(name, "TC", 4, asynchronous=True, issue=2) for name in "ab"]
    machine = small_machine({"TC": 4})
    return read_model(small_loop(operations, [edge("a", "b")]), machine)


@pytest.mark.parametrize(
    ("name", "start", "length", "fit"),
    [("b", 0, 2, 1), ("b", 1, 1, 1), ("b", 0, 3, 4), ("b", 2, 1, 4), ("a", 0, 2, 4)],
)
def test_what_waits_is_issued_alone_and_only_while_it_is_issued(
    name: str, start: int, length: int, fit: int
) -> None:
    weight = Weight(operation=name, start=start, length=length, weight=1)
    claim = LowerBound(value=length, reason="configurations", weights=(weight,), most=1)
    told = [f"the proof says at most 1 fits all units at once, {fit} does"] * (fit > 1)
    assert list(check_configurations(in_turn(), claim)) == told


@pytest.mark.parametrize(("start", "length"), [(4, 1), (3, 2)])
def test_what_is_counted_takes_a_unit_to_its_end(start: int, length: int) -> None:
    weight = Weight(operation="b", start=start, length=length, weight=1)
    claim = LowerBound(value=length, reason="configurations", weights=(weight,), most=1)
    (told,) = check_configurations(in_turn(), claim)
    assert told == f"the proof counts b at {start}, where it takes no unit"


def test_a_claim_that_is_too_complicated_is_not_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = Weight(operation="b", start=0, length=2, weight=1)
    claim = LowerBound(value=2, reason="configurations", weights=(weight,), most=1)
    for rooms, told in (
        (2, []),
        (1, ["the proof has more combinations of operations than can be checked"]),
    ):
        monkeypatch.setattr(verified_configurations, "MOST_ROOMS", rooms)
        assert list(check_configurations(in_turn(), claim)) == told


# -- what follows from capacities, for the prover --------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_cliques_exclude_each_other(seed: int) -> None:
    problem = reserving(*random_reservations(seed))
    apart, found = exclusions(problem), cliques(problem)
    for clique in found:
        for u, v in itertools.permutations(clique, 2):
            assert apart[u, v] >= clique[u]
    assert found == sorted(found, key=lambda clique: -sum(clique.values()))


@pytest.mark.parametrize("factory", [DifferenceEngine, CpSatEngine])
def test_an_instance_longer_than_the_interval_excludes_who_needs_all(
    factory: EngineFactory,
) -> None:
    problem = reserving([(("alu", 0, 12, 1),), (("alu", 0, 1, 4),)], {"alu": 4})
    assert bounds(problem).interval == 4
    for interval, expected in ((4, "unsat"), (12, "unsat"), (13, "sat")):
        asked = Question(problem, interval, 60, available_groups(problem))
        assert factory(asked).solve().status == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_prover_finds_rows_where_there_are_any(seed: int) -> None:
    operations, capacities = random_reservations(seed)
    problem = reserving(operations, capacities)
    groups = available_groups(problem)
    for interval in range(1, 7):
        answer = CpSatProver()(Range(problem, interval, interval, 12, groups))
        own = all(length <= interval for taken in operations for _, _, length, _ in taken)
        if own:
            assert answer.status == ("sat" if placed(operations, capacities, interval) else "unsat")
