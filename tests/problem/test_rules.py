"""The rules of the model are stated twice, for solvers and for the judge, and both agree.

A solver that goes by a wrong rule gives schedules that the judge refuses: each rule is broken once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import astuple, fields
from typing import Any

import pytest

import twill
from tests.oracle.loops import random_loop
from tests.support.small import edge, op, small_loop, small_machine
from tests.support.small import random_loop as small_random_loop
from tests.support.static import static_schedule as solve
from twill.artifacts.loop import Dependence
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Rules
from twill.base.errors import DefectError, RefusedError
from twill.frontends import load_loop, packaged_loops
from twill.problem import Problem, build_problem
from twill.problem import rules as model
from twill.verification.reading import Edge, Model, RegisterFile, Work, read_model


def loops(seeds: range) -> list[tuple[str, twill.Loop, Machine]]:
    packaged = [
        (name, load_loop(name), Machine.named(entry.machine))
        for name, entry in packaged_loops().items()
    ]
    drawn = [(f"random {seed}", *random_loop(seed)) for seed in seeds]
    return packaged + drawn


def facts(of: Problem | Model) -> list[Any]:
    """Return all that both read, of either statement; programs alone need `widening`."""
    own = [f.name for f in fields(Work) if f.name not in ("reservations", "widening")]
    operations = [
        [*(getattr(o, name) for name in own), *map(astuple, o.reservations)] for o in of.operations
    ]
    edges = [[getattr(e, field.name) for field in fields(Edge)] for e in of.edges]
    pinned = [(p.registers, p.used_by) for p in of.pinned]
    file = of.registers and [getattr(of.registers, f.name) for f in fields(RegisterFile)]
    return [operations, edges, pinned, file, of.capacities, of.memories, of.fixed, of.hop]


@pytest.mark.parametrize(
    "seeds",
    [range(30), pytest.param(range(30, 150), marks=pytest.mark.slow)],
    ids=["some", "more"],
)
@pytest.mark.parametrize("rules", ["issue", "paper"])
def test_both_statements_agree(rules: Rules, seeds: range) -> None:
    for name, loop, machine in loops(seeds):
        problem = build_problem(loop, machine, rules=rules)
        read = read_model(loop, machine, rules=rules)
        assert facts(problem) == facts(read), name
        for u in problem.operations:
            for v in problem.operations:
                mine = read.turn(read.operations[u.index], read.operations[v.index])
                assert problem.turn(u.index, v.index) == mine, name
        delays = [problem.least_delay(number) for number in range(len(problem.edges))]
        assert delays == [read.least_delay(edge) for edge in read.edges], name


def loading(warps: int = 4, registers: int = 0, **file: Any) -> tuple[twill.Loop, Machine]:
    """Return a loop of a load and a reader of `warps` warps."""
    load = op("load", "BUS", registers=registers, variable_latency=True)
    loop = small_loop([load, op("use", "ALU", warps=warps)], [edge("load", "use")])
    groups = ((4, 2), (8, 1))
    return loop, small_machine({"BUS": 1, "ALU": 1}, registers=255, groups=groups, **file)


HARDLY = (
    loading(registers=40, reserve=8),
    loading(file=128 * (24 + 23)),
    loading(warps=8, file=128 * (24 + 2 * 24 - 1)),
)
"""A load that needs more than the least allocation; two loops whose groups need more than the file
has, which have no schedule."""


def never(*_: object) -> bool:
    return False


def always(*_: object, **__: object) -> bool:
    return True


def at_once(*_: object) -> int:
    return 0


def plenty(*_: object) -> int:
    return 1 << 20


def first_operand(loop: twill.Loop, _: object, name: str) -> Dependence | None:
    return next((d for d in loop.dependences if d.consumer == name and d.kind == "data"), None)


BROKEN: dict[str, Callable[..., Any]] = {
    "streaming": lambda *, variable_latency, addressed, **_: variable_latency and addressed,
    "blocked_span": at_once,
    "one_unit": always,
    "chained": lambda dependence, *_: dependence.in_place,
    "delay": at_once,
    "blocking": never,
    "transferable": never,
    "cross_delay": at_once,
    "turn": at_once,
    "reads": at_once,
    "copy_reads": at_once,
    "taken_over": first_operand,
    "takes_over": always,
    "widening": at_once,
    "working": at_once,
    "unread": at_once,
    "staged": at_once,
    "fetched_ahead": at_once,
    "release_seen": at_once,
    "takes": lambda warps, operation, **_: warps >= operation.warps,
    "blocks": lambda *_: 1,
    "allocation": lambda file, _: file.least,
    "room": lambda _, allocated: allocated,
    "accumulates": never,
    "pool": plenty,
}
"""Every rule, and a wrong one that allows more."""
FIRST = {
    "streaming": 14,
    "blocked_span": 8,
    "one_unit": 10,
    "chained": 10,
    "blocking": 6,
    "turn": 74,
    "copy_reads": 3,
    "takes_over": 3,
    "widening": 155,
    "working": 6,
    "unread": 3,
    "staged": 3,
    "fetched_ahead": 9,
    "release_seen": 24,
    "blocks": 2,
}
"""The first question whose answer the judge refuses, where it is not the very first one."""


def test_every_rule_is_broken_once() -> None:
    stated = {
        name
        for name, rule in vars(model).items()
        if getattr(rule, "__module__", "") == model.__name__
    }
    assert stated == set(BROKEN)


def asked() -> Iterator[tuple[twill.Loop, Machine, Rules]]:
    """Yield questions; under the paper's rules nothing but the judge counts registers again."""
    yield from ((loop, machine, "paper") for loop, machine in HARDLY)
    for seed in range(400):
        yield *(random_loop if seed % 2 else small_random_loop)(seed), "issue"


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize("rule", BROKEN)
def test_the_judge_notices_a_broken_rule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, rule, BROKEN[rule])
    for loop, machine, rules in itertools.islice(asked(), FIRST.get(rule, 0), None):
        try:
            solve(loop, machine, rules=rules)
        except DefectError:
            return
        except RefusedError:
            continue
    pytest.fail("the judge accepts every schedule")
