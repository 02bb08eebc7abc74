"""Deadlocks: the cycle of groups that is named, against nx."""

from __future__ import annotations

import random

import networkx as nx
import pytest

import twill
from tests.support.programs import unsolved
from tests.support.small import op, small_loop, small_machine
from twill.artifacts.program import Arrive, Barrier, Instruction, Issue, Wait
from twill.sim.engine.barriers import shortest_cycle
from twill.sim.engine.events import SimulationError


@pytest.mark.parametrize("seed", range(40))
def test_a_cycle_is_found_where_there_is_one(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"group{k}" for k in range(draw.randint(1, 6))]
    behind = {
        name: draw.sample([*names, "done"], draw.randint(0, min(3, len(names)))) for name in names
    }
    graph = nx.DiGraph([(a, b) for a, every in behind.items() for b in every])
    lengths = [len(cycle) for cycle in nx.simple_cycles(graph)]
    found = shortest_cycle(behind)
    assert len(found) == min(lengths, default=0)
    for before, after in zip(found, [*found[1:], *found[:1]], strict=True):
        assert after in behind[before]


def deadlocked(bodies: dict[str, list[Instruction]], barriers: tuple[Barrier, ...]) -> str:
    loop = small_loop([op(f"of_{name}", "ALU", 4) for name in bodies])
    programs = {name: [Issue(operation=f"of_{name}"), *body] for name, body in bodies.items()}
    machine = small_machine({"ALU": 4}, groups=((4, 4),))
    with pytest.raises(SimulationError) as caught:
        twill.sim.run(unsolved(loop, machine, programs, barriers), iterations=1)
    assert caught.value.kind == "deadlock"
    return caught.value.message.split("; ", 1)[1]


def deadlocked_with_a_third(a: list[Instruction], b: list[Instruction]) -> str:
    both = Barrier(name="both", slots=1, arrivals=2)
    barriers = (Barrier(name="never", slots=1), both, Barrier(name="back", slots=1))
    third: list[Instruction] = [Wait(barrier="both"), Arrive(barrier="back")]
    return deadlocked({"a": a, "b": b, "c": third}, barriers)


def test_a_cycle_through_the_second_of_two_arrivers_is_named() -> None:
    arrival = Arrive(barrier="both")
    found = deadlocked_with_a_third(
        [Wait(barrier="never"), arrival], [Wait(barrier="back"), arrival]
    )
    assert found == (
        "cycle b -> c -> b: b waits for back of iteration 0 (from c); c waits for both of "
        "iteration 0 (from a, b); a waits for never of iteration 0 (from nobody)"
    )


def test_who_has_arrived_is_not_waited_for() -> None:
    # a waits for c as well, but c does not wait for a any more.
    arrival = Arrive(barrier="both")
    assert deadlocked_with_a_third(
        [arrival, Wait(barrier="back")], [Wait(barrier="never"), arrival]
    ) == (
        "a waits for back of iteration 0 (from c); b waits for never of iteration 0 (from nobody); "
        "c waits for both of iteration 0 (from b)"
    )


def test_a_named_barrier_waits_for_those_who_wait_at_it() -> None:
    text = deadlocked(
        {
            "a": [Wait(barrier="all"), Arrive(barrier="back")],
            "b": [Wait(barrier="back"), Wait(barrier="all")],
        },
        (Barrier(name="all", slots=1, arrivals=2, kind="named"), Barrier(name="back", slots=1)),
    )
    assert text == (
        "cycle a -> b -> a: a waits for all of iteration 0 (from b); b waits for back of iteration "
        "0 (from a)"
    )
