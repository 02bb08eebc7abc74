"""Problems of which one family of constraints decides whether they have a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.small import edge, op, small_loop, small_machine
from twill.artifacts.schedule import Rules
from twill.problem import Problem, build_problem
from twill.problem.groups import WarpGroup
from twill.problem.operations import Wishes

Case = tuple[Problem, tuple[WarpGroup, ...]]
UNITS = {"TC": 1, "ALU": 1, "BUS": 1}


def two_groups(limit: int = 1 << 30) -> tuple[WarpGroup, ...]:
    return (WarpGroup(4, False, 0, limit), WarpGroup(4, False, 0, limit))


def dependence_case(rules: Rules = "issue") -> Case:
    loop = small_loop([op("a", "TC", 2), op("b", "ALU", 2)], [edge("a", "b")])
    return build_problem(loop, small_machine(), rules=rules), two_groups()


def capacity_case(rules: Rules = "issue") -> Case:
    loop = small_loop([op("a", "TC", 2), op("b", "TC", 2)])
    return build_problem(loop, small_machine(), rules=rules), two_groups()


def turns_case(rules: Rules = "issue") -> Case:
    operations = [
        op("a", "TC", 2, asynchronous=True, issue=1, variable_latency=True),
        op("b", "TC", 2, asynchronous=True, issue=1),
    ]
    groups = (WarpGroup(4, True, 0, 9), WarpGroup(4, False, 0, 9))
    return build_problem(small_loop(operations), small_machine(hop=2), rules=rules), groups


def memory_case(rules: Rules = "issue") -> Case:
    # Two values of 1024 bytes that live together in 1024.
    operations = [op("a", "TC", 2, memory="smem"), op("b", "ALU", 2, memory="smem")]
    loop = small_loop([*operations, op("c", "BUS")], [edge("a", "c"), edge("b", "c")])
    return build_problem(loop, small_machine(UNITS, smem=1024), rules=rules), two_groups()


def registers_case(rules: Rules = "issue") -> Case:
    operations = [op("a", "TC", registers=2), op("b", "ALU", registers=2), op("c", "BUS")]
    loop = small_loop(operations, [edge("a", "c"), edge("b", "c")])
    return build_problem(loop, small_machine(UNITS, registers=3), rules=rules), two_groups(3)[:1]


def transfers_case(rules: Rules = "issue") -> Case:
    # Registers force a and b apart, a being kept for d; the transfer between them takes too long.
    operations = [
        op("a", "TC", registers=2, transfer=3),
        op("b", "ALU", registers=2, elementwise=rules == "issue"),
        op("d", "BUS"),
    ]
    kind = "order" if rules == "issue" else "data"
    edges = [edge("a", "b"), edge("a", "d"), edge("b", "d", kind=kind)]
    machine = small_machine(UNITS, registers=3)
    return build_problem(small_loop(operations, edges), machine, rules=rules), two_groups(3)


def concurrency_case(rules: Rules = "issue") -> Case:
    # b waits for a while c, which fills the interval, is being issued on the only group.
    operations = [op("a", "TC", asynchronous=True), op("b", "BUS"), op("c", "ALU", 3)]
    loop = small_loop(operations, [edge("a", "b")])
    return build_problem(loop, small_machine(UNITS), rules=rules), two_groups()[:1]


def wishes_case(rules: Rules = "issue") -> Case:
    # a and b are wanted on two groups, where a transfer makes the iteration too long.
    loop = small_loop([op("a", "TC", registers=1, transfer=3), op("b", "ALU")], [edge("a", "b")])
    problem = build_problem(loop, small_machine(registers=3), rules=rules)
    return replace(problem, wishes=Wishes(pins=((0, "one"), (1, "two")))), two_groups(3)


CASES: dict[str, tuple[Callable[[Rules], Case], int, int, int]] = {
    "dependence": (dependence_case, 2, 3, 3),
    "capacity": (capacity_case, 3, 6, 3),
    "turns": (turns_case, 4, 8, 5),
    "memory": (memory_case, 6, 6, 6),
    "registers": (registers_case, 4, 4, 4),
    "transfers": (transfers_case, 4, 4, 4),
    "concurrency": (concurrency_case, 3, 9, 3),
    "wishes": (wishes_case, 2, 4, 4),
}
"""By family, with an interval and a length that it refutes, and an interval of one stage."""
