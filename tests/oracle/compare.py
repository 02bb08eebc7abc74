"""What the solver says of a loop, beside what the oracle finds."""

from __future__ import annotations

from dataclasses import dataclass, field

import twill
from tests.oracle.facts import Facts, facts
from tests.oracle.packing import Undecided
from tests.oracle.system import LEVELS, Answer, System
from twill.joint.groups import WarpGroup
from twill.pipeline import Pipeline
from twill.problem import build_problem
from twill.scheduler import realize
from twill.search import Options

MOST_STAGES = 4
EFFORT = 4.0
"""CP-SAT's deterministic time for one question."""
RULES = ("dependence", "capacity", "turns", "memory", "registers", "concurrency",
         "variable latency")  # fmt: skip


@dataclass
class Comparison:
    """How a loop went: what was decided, and what the two disagree about."""

    seed: int
    solver: dict[str, int | None] | None = None
    oracle: dict[str, int | None] | None = None
    undecided: set[str] = field(default_factory=set)
    objections: list[str] = field(default_factory=list)
    schedule: twill.Schedule | None = None
    better: twill.Schedule | None = None
    answer: Answer | None = None


def solved(loop: twill.Loop, machine: twill.Machine) -> twill.Schedule | None:
    """Return the solver's schedule, None if it refuses the loop."""
    try:
        return twill.schedule(loop, machine, options=Options(most_stages=MOST_STAGES))
    except twill.RefusedError:
        return None


def levels_of(schedule: twill.Schedule) -> dict[str, int | None]:
    assert schedule.proof is not None
    found: dict[str, int | None] = {entry.level: entry.value for entry in schedule.proof.levels}
    return {"interval": schedule.initiation_interval, "slack": None} | found


def compare(seed: int, loop: twill.Loop, machine: twill.Machine) -> Comparison:
    """Compare the two on one loop."""
    result = Comparison(seed)
    given = facts(loop, machine)
    schedule = result.schedule = solved(loop, machine)
    if schedule is None:
        _compare_refusal(given, result)
        return result
    verdict = twill.verify(schedule)
    result.objections += [f"verify: {violation}" for violation in verdict.violations]
    assert schedule.proof is not None
    for level in schedule.proof.levels:
        if not level.proved:
            result.objections.append(f"not proved: {level.level}")
    result.solver = levels_of(schedule)
    interval = schedule.initiation_interval
    assert interval is not None
    try:
        below = System(given, interval - 1, MOST_STAGES, EFFORT).solve({}) if interval > 1 else None
        if below is not None:
            _object(result, given, below, f"interval {interval} is not the least")
            return result
    except Undecided:
        result.undecided.add("interval")
    _compare_levels(given, interval, result)
    return result


def _compare_levels(given: Facts, interval: int, result: Comparison) -> None:
    system = System(given, interval, MOST_STAGES, EFFORT)
    assert result.solver is not None
    fixed: dict[str, int | None] = {}
    result.oracle = {"interval": interval}
    for number, level in enumerate(LEVELS):
        try:
            answer = system.solve(fixed, level)
        except Undecided:
            result.undecided |= set(LEVELS[number:])
            return
        if answer is None:
            result.objections.append(
                f"no schedule at {interval}, {fixed}: {', '.join(objections(given, result))}"
            )
            return
        result.answer = answer
        fixed[level] = result.oracle[level] = answer.levels[level]
        if answer.levels[level] != result.solver[level]:
            said = f"{level} {result.solver[level]}, oracle {answer.levels[level]}"
            if better(level, answer.levels[level], result.solver[level]):
                _object(result, given, answer, said)
            else:
                why = ", ".join(objections(given, result))
                result.objections.append(f"{said}: oracle objects to {why or 'nothing'}")
            return


def better(level: str, one: int | None, other: int | None) -> bool:
    """Whether one value of a level is better than another one."""
    endless = 1 << 30
    a, b = (endless if value is None else value for value in (one, other))
    return a > b if level == "slack" else a < b


def _compare_refusal(given: Facts, result: Comparison) -> None:
    """Look for a schedule where the solver says that there is none at any interval."""
    interval = sum(o.occupancy + o.latency + o.issue + o.transfer + given.hop for o in given.ops)
    try:
        answer = System(given, interval + 1, MOST_STAGES, EFFORT).solve({})
    except Undecided:
        result.undecided |= {"interval", *LEVELS}
        return
    if answer is not None:
        _object(result, given, answer, "refused")


def _object(result: Comparison, given: Facts, answer: Answer, said: str) -> None:
    result.answer = answer
    result.better = realized(given, answer)
    if result.better is None:
        result.objections.append(f"{said}: the oracle's schedule has no registers or addresses")
        return
    against = twill.verify(result.better).violations
    verdict = f"verify refuses the oracle's: {'; '.join(map(str, against))}" if against else "verify agrees"
    result.objections.append(f"{said}, {verdict}")


def objections(given: Facts, result: Comparison) -> list[str]:
    """Return which of the oracle's rules alone forbids the solver's schedule."""
    schedule = result.schedule
    assert schedule is not None
    assert schedule.initiation_interval is not None
    group = places(given, schedule)
    start = [schedule.start[o.name] for o in given.ops]

    def allowed(without: str = "") -> bool:
        assert schedule.initiation_interval is not None
        system = System(
            given, schedule.initiation_interval, MOST_STAGES, EFFORT, without=without
        )
        system.fix(start, group)
        return system.solve({}) is not None

    if allowed():
        return []
    return [rule for rule in RULES if allowed(rule)] or ["several rules"]


def places(given: Facts, schedule: twill.Schedule) -> list[int]:
    """Return numbers of groups, opened in order, for the groups of a schedule."""
    number: dict[str, int] = {}
    width = {group.name: group.warps for group in schedule.groups}
    found = []
    for op in given.ops:
        name = schedule.assignment[op.name]
        if name not in number:
            free = (g for g, w in enumerate(given.groups) if w == width[name])
            number[name] = next(g for g in free if g not in number.values())
        found.append(number[name])
    return found


def realized(given: Facts, answer: Answer) -> twill.Schedule | None:
    """Return the artifact with programs for the oracle's schedule."""
    problem = build_problem(given.loop, given.machine)
    numbers = sorted(set(answer.group))
    names = {g: f"g{g}" for g in numbers}
    groups = {}
    for g in numbers:
        variable = any(o.variable for o in given.ops if answer.group[o.index] == g)
        groups[names[g]] = WarpGroup(given.groups[g], variable, answer.registers[g], answer.registers[g])
    named = Pipeline(
        problem=problem,
        interval=answer.interval,
        start=answer.start,
        place=tuple(names[g] for g in answer.group),
        groups=groups,
    )
    try:
        return realize(named)
    except twill.RefusedError:
        return None
