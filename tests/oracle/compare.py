"""What the solver says of a loop, beside what the oracle finds."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import partial

import twill
from tests.oracle.facts import Facts, facts
from tests.oracle.packing import Undecided
from tests.oracle.system import LEVELS, RULES, Answer, System
from tests.support.static import static_schedule
from twill.base.errors import DefectError
from twill.lower import realize
from twill.problem import build_problem
from twill.problem.groups import WarpGroup
from twill.problem.solution import Assignment
from twill.search.answer import within_registers
from twill.search.request import Options

MOST_STAGES = 4
EFFORT = 4.0
"""CP-SAT's deterministic time for one question."""
ALONG = "along its program"
"""In what the verifier says of registers, of which the oracle counts only those that the clock of
the static schedule shows (docs/model.md, Registers along programs)."""
Values = dict[str, int | None]


@dataclass
class Comparison:
    """How a loop went: what was not decided, what the two disagree about, and their schedules.

    Attributes
    ----------
    solver, oracle : dict
        Values of levels, as far as they are known.
    schedule, own : Schedule
        The solver's, and the oracle's last one.
    crowded : bool
        Whether the program of the oracle's schedule needs too many registers.
    """

    solver: Values = field(default_factory=dict)
    oracle: Values = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)
    objections: list[str] = field(default_factory=list)
    schedule: twill.Schedule | None = None
    own: twill.Schedule | None = None
    crowded: bool = False

    @property
    def schedules(self) -> dict[str, twill.Schedule]:
        """The schedules that there are, by whose they are."""
        both = {"solver": self.schedule, "oracle": self.own}
        return {whose: schedule for whose, schedule in both.items() if schedule is not None}


def compare(loop: twill.Loop, machine: twill.Machine) -> Comparison:
    """Compare solver and oracle level by level, until they differ."""
    comparison = _Comparing(loop, machine)
    comparison.run()
    return comparison.result


class _Comparing:
    def __init__(self, loop: twill.Loop, machine: twill.Machine) -> None:
        self.given: Facts = facts(loop, machine)
        self.result = Comparison()

    def system(self, interval: int, without: str = "") -> System:
        return System(self.given, interval, MOST_STAGES, EFFORT, without=without)

    def run(self) -> None:
        try:
            options = Options(most_stages=MOST_STAGES)
            schedule = static_schedule(self.given.loop, self.given.machine, options=options)
        except twill.RefusedError:
            self._refused()
            return
        except DefectError as error:
            self.result.objections.append(f"defect: {error}")
            return
        self.result.schedule = schedule
        for violation in twill.verify(schedule).violations:
            self.result.objections.append(f"verify: {violation}")
        assert schedule.proof is not None
        assert schedule.initiation_interval is not None
        for entry in schedule.proof.levels:
            self.result.solver[entry.level] = entry.value
            if not entry.proved:
                self.result.objections.append(f"{entry.level} is not proved")
        if self._none_below(schedule.initiation_interval):
            self._levels(schedule.initiation_interval)

    def _refused(self) -> None:
        """Look for a schedule where the solver says that there is none at any interval."""
        hop = self.given.hop
        long = sum(o.occupancy + o.latency + o.issue + o.transfer + hop for o in self.given.ops)
        try:
            answer = self.system(long + 1).solve({})
        except Undecided:
            self.result.undecided |= {"interval", *LEVELS}
            return
        if answer is not None:
            self._better(answer, "refused")

    def _none_below(self, interval: int) -> bool:
        """Look for a schedule one cycle below; feasibility is monotone in the interval."""
        try:
            answer = self.system(interval - 1).solve({}) if interval > 1 else None
        except Undecided:
            self.result.undecided.add("interval")
            return True
        if answer is not None:
            self._better(answer, f"interval {interval} is not the least")
        return answer is None

    def _levels(self, interval: int) -> None:
        self.result.oracle["interval"] = interval
        try:
            answer = self._best(interval)
        except Undecided:
            return
        if answer is None:
            self.result.objections.append(f"no schedule at {interval}: {self._why()}")
            return
        for level in LEVELS:
            said, found = self.result.solver.get(level), answer.levels[level]
            self.result.oracle[level] = found
            if found != said:
                if _is_better(level, found, said):
                    self._better(answer, f"{level} {said}, oracle {found}")
                else:
                    why = self._why()
                    self.result.objections.append(f"{level} {said}, oracle {found}: {why}")
                return
        own = realized(self.given, answer)
        against = [str(v) for v in twill.verify(own).violations]
        self.result.crowded = any(ALONG in said for said in against)
        if not self.result.crowded:
            self.result.own = own
        self.result.objections += [
            f"verify, of the oracle's: {v}" for v in against if ALONG not in v
        ]

    def _best(self, interval: int) -> Answer | None:
        """Return the best schedule by all levels: at once, or if that is too much one by one."""
        system = self.system(interval)
        with contextlib.suppress(Undecided):
            return system.solve({}, LEVELS)
        reached, answer = Values(), None
        for number, level in enumerate(LEVELS):
            try:
                answer = system.solve(reached, (level,))
            except Undecided:
                self.result.undecided |= set(LEVELS[number:])
                raise
            if answer is None:
                return None
            reached[level] = answer.levels[level]
        return answer

    def _better(self, answer: Answer, said: str) -> None:
        try:
            self.result.own = realized(self.given, answer)
        except twill.RefusedError as error:
            self.result.objections.append(f"{said}; the oracle's cannot be realized: {error}")
            return
        against = [str(v) for v in twill.verify(self.result.own).violations]
        verdict = "; ".join(against) or "accepts it"
        self.result.objections.append(f"{said}; of the oracle's schedule verify says: {verdict}")

    def _why(self) -> str:
        """Say which of the oracle's rules alone forbids the solver's schedule."""
        schedule = self.result.schedule
        assert schedule is not None
        assert schedule.initiation_interval is not None
        group = _places(self.given, schedule)
        start = [schedule.start[o.name] for o in self.given.ops]
        allowed = []
        for without in ("", *RULES):
            system = self.system(schedule.initiation_interval, without)
            system.allow_only(start, group)
            if system.solve({}) is not None:
                allowed.append(without)
        if "" in allowed:
            return "the oracle allows the solver's schedule"
        return f"against the solver's schedule: {', '.join(allowed) or 'several rules'}"


def _is_better(level: str, one: int | None, other: int | None) -> bool:
    endless = 1 << 30
    a, b = (endless if value is None else value for value in (one, other))
    return a > b if level == "slack" else a < b


def _places(given: Facts, schedule: twill.Schedule) -> list[int]:
    """Return numbers of groups, opened in order, for those of a schedule."""
    number: dict[str, int] = {}
    width = {group.name: group.warps for group in schedule.groups}
    for op in given.ops:
        name = schedule.assignment[op.name]
        if name not in number:
            free = (g for g, w in enumerate(given.groups) if w == width[name])
            number[name] = next(g for g in free if g not in number.values())
    return [number[schedule.assignment[op.name]] for op in given.ops]


def realized(given: Facts, answer: Answer) -> twill.Schedule:
    """Return the artifact, with programs, for the oracle's schedule.

    Raises
    ------
    RefusedError
        If the product finds no addresses for it.
    """
    variable = {answer.group[o.index] for o in given.ops if o.variable}
    registers = answer.registers or (0,) * len(given.groups)
    file = given.machine.registers
    limits = [file and min(r, file.limit.value) - round(file.reserve.value) for r in registers]
    groups = tuple(
        WarpGroup(width, g in variable, registers[g], limits[g] or 0)
        for g, width in enumerate(given.groups)
    )
    problem = build_problem(given.loop, given.machine)
    found = Assignment(answer.start, answer.group, groups)
    names = {g: f"g{g}" for g in sorted(set(answer.group))}
    return within_registers(problem, partial(realize, problem, answer.interval, found, names=names))
