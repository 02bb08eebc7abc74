"""The rules of `docs/model.md` at one interval, for CP-SAT.

An issue time is a row below the interval and a stage. What is in use when something begins is
counted from distances between rows; addresses are looked for afterwards, and what has none is cut
off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model_helper import Literal

from tests.oracle.facts import ADDRESSED, Edge, Facts
from tests.oracle.memories import Cut, Memory
from tests.oracle.packing import Undecided
from tests.oracle.registers import Held, Linear, Moment, state_registers

LEVELS = ("stages", "groups", "transfers", "length", "slack")
RULES = (
    "dependence",
    "capacity",
    "turns",
    "memory",
    "registers",
    "concurrency",
    "variable latency",
)


@dataclass(frozen=True)
class Answer:
    """A schedule: issue times and groups, by operation, and the value of every level."""

    interval: int
    start: tuple[int, ...]
    group: tuple[int, ...]
    registers: tuple[int, ...]
    """Registers per thread allocated to every group there may be; 0 without a limit."""
    levels: dict[str, int | None]


class System:
    """Constraints for one loop at one interval with at most so many stages.

    `effort` is CP-SAT's deterministic time for a question; `without` leaves out one of `RULES`.
    """

    def __init__(
        self, given: Facts, interval: int, most_stages: int, effort: float, *, without: str = ""
    ) -> None:
        self.given, self.interval, self.most_stages = given, interval, most_stages
        self.effort = effort
        self.model = cp_model.CpModel()
        self.always = self.model.new_constant(1)
        self.memories: list[Memory] = []
        self.allocated: list[cp_model.IntVar] = []
        furthest = max((edge.distance for edge in given.edges), default=0)
        longest = max(op.latency + op.occupancy for op in given.ops)
        self.far = interval * (most_stages + 2 + furthest) + longest + given.hop + 1
        self._times()
        self._groups()
        self._together()
        self._objective()
        for rule in RULES:
            if rule != without:
                getattr(self, f"_{rule.replace(' ', '_')}")()

    # Times

    def _times(self) -> None:
        ops, last = self.given.ops, self.interval - 1
        self.row = [self.model.new_int_var(0, last, f"row {o.name}") for o in ops]
        stages = range(self.most_stages)
        self.stage = [self.model.new_int_var(0, stages[-1], f"stage {o.name}") for o in ops]
        self.start = [self.stage[o.index] * self.interval + self.row[o.index] for o in ops]
        self.later: dict[tuple[int, int], cp_model.LinearExpr] = {}
        """Cycles from an operation to the next instance of another one, at most I - 1."""
        for u in range(len(ops)):
            for v in range(len(ops)):
                wraps = self.model.new_bool_var(f"{v} wraps behind {u}")
                later = self.row[v] - self.row[u] + self.interval * wraps
                self.model.add_linear_constraint(later, 0, last)
                self.later[u, v] = later

    def since(self, one: Moment, other: Moment) -> cp_model.LinearExpr:
        """Return the cycles from a moment to the next instance of another one, at most I - 1."""
        ahead = one.ahead - other.ahead
        later = self.later[one.op.index, other.op.index] + ahead
        if not ahead:
            return later
        wraps = self.model.new_int_var(-abs(ahead) - 1, abs(ahead) + 1, "")
        self.model.add_linear_constraint(later + self.interval * wraps, 0, self.interval - 1)
        return later + self.interval * wraps

    def alive(self, entry: Held, at: Moment, *when: Literal) -> cp_model.IntVar:
        """Return how many instances of something are there at a moment."""
        count = self.model.new_int_var(0, -(-entry.longest // self.interval), "")
        left = entry.life - self.since(entry.begin, at)
        self.model.add(self.interval * count >= left).only_enforce_if(*when, *entry.when)
        return count

    def issued(self, edge: Edge) -> cp_model.LinearExpr:
        """Return the cycles from a producer's issue to its consumer's."""
        return self.start[edge.v] + edge.distance * self.interval - self.start[edge.u]

    # Groups

    def _groups(self) -> None:
        model, widths = self.model, self.given.groups
        every = range(len(widths))
        self.on = [[model.new_bool_var(f"{o.name} on {g}") for g in every] for o in self.given.ops]
        self.used = [model.new_bool_var(f"{g} is used") for g in every]
        for op, places in zip(self.given.ops, self.on, strict=True):
            model.add_exactly_one(places)
            for g in every:
                if widths[g] < op.warps:
                    model.add(places[g] == 0)
        for g in every:
            model.add_max_equality(self.used[g], [places[g] for places in self.on])
            if g and widths[g] == widths[g - 1]:  # identical groups are opened in order
                for v, places in enumerate(self.on):
                    earlier = [before[g - 1] for before in self.on[:v]]
                    model.add_bool_or([places[g].Not(), *earlier])

    def _together(self) -> None:
        self.same: dict[tuple[int, int], Literal] = {}
        for u, first in enumerate(self.on):
            self.same[u, u] = self.always
            for v, second in enumerate(self.on[:u]):
                same = self.model.new_bool_var(f"{u} with {v}")
                self.same[u, v] = self.same[v, u] = same
                for a, b in zip(first, second, strict=True):
                    self.model.add_bool_or([a.Not(), b.Not(), same])
                    self.model.add_bool_or([a.Not(), b, same.Not()])

    def _variable_latency(self) -> None:
        for u in self.given.ops:
            for v in self.given.ops:
                if u.variable and not v.variable:
                    self.model.add(self.same[u.index, v.index] == 0)

    # Time and units

    def _blocks(self, edge: Edge) -> Literal:
        """Return whether the consumer executes a blocking wait."""
        return self.always if edge.waits else self.same[edge.u, edge.v].Not()

    def _gap(self, edge: Edge) -> cp_model.LinearExpr:
        """Return the cycles by which a consumer issues later than it has to."""
        u = self.given.ops[edge.u]
        further = 0 if u.asynchronous and u.memory in ADDRESSED else self.given.hop
        further += u.transfer if edge.carries and u.memory == "registers" else 0
        return self.issued(edge) - edge.delay - further * (1 - self.same[edge.u, edge.v])

    def _dependence(self) -> None:
        for edge in self.given.edges:
            self.model.add(self._gap(edge) >= 0)

    def _capacity(self) -> None:
        for name, unit in self.given.machine.units.items():
            users = [
                Held(Moment(op), r.count, r.cycles, r.cycles)
                for op in self.given.ops
                for r in op.reservations
                if r.unit == name
            ]
            for at in users:
                used = [self.alive(user, at.begin) * user.size for user in users]
                self.model.add(sum(used) <= unit.capacity)

    def _turns(self) -> None:
        for u in self.given.ops:
            for v in self.given.ops:
                if u.in_order is not None and u.in_order == v.in_order:
                    apart = self.same[u.index, v.index].Not()
                    passed = u.issue + self.given.hop
                    self.model.add(self.later[u.index, v.index] >= passed).only_enforce_if(apart)

    def _concurrency(self) -> None:
        for o in self.given.ops:
            if o.asynchronous and o.issue > self.interval:
                self.model.add_bool_or([])
        for v in self.given.ops:
            waits = self.model.new_bool_var(f"{v.name} waits")
            for edge in self.given.edges:
                if edge.v == v.index:
                    self.model.add_implication(self._blocks(edge), waits)
            for o in self.given.ops:
                if o is not v:
                    over = self.model.add(self.later[o.index, v.index] >= o.issue)
                    over.only_enforce_if(waits, self.same[o.index, v.index])

    # Registers and memories

    def _registers(self) -> None:
        file = self.given.machine.registers
        if file is not None:
            self.allocated = state_registers(self, file)

    def _memory(self) -> None:
        for name, facts in self.given.machine.memories.by_name.items():
            self.memories.append(Memory(self, name, facts))

    # Objective

    def _objective(self) -> None:
        model, ops = self.model, self.given.ops
        stages = model.new_int_var(1, self.most_stages, "stages")
        length = model.new_int_var(0, self.most_stages * self.interval, "length")
        slack = model.new_int_var(0, self.far, "slack")
        for op in ops:
            model.add(length >= self.start[op.index] + op.occupancy)
        model.add(length <= stages * self.interval)
        crossing: list[Linear] = []
        self.crosses = [model.new_bool_var(f"{o.name} crosses") for o in ops]
        for edge in self.given.edges:
            if edge.carries and ops[edge.u].memory == "registers":
                apart = self.same[edge.u, edge.v].Not()
                model.add_implication(apart, self.crosses[edge.u])
                crossing.append(1 - self.same[edge.u, edge.v])
            if not ops[edge.u].streaming:
                model.add(slack <= self._gap(edge)).only_enforce_if(self._blocks(edge))
        self.most = dict(
            zip(
                LEVELS,
                (
                    self.most_stages,
                    len(self.used),
                    len(crossing),
                    self.most_stages * self.interval,
                    self.far,
                ),
                strict=True,
            )
        )
        self.levels: dict[str, Linear] = {
            "stages": stages,
            "groups": sum(self.used),
            "transfers": sum(crossing),
            "length": length,
            "slack": slack,
        }

    # Solving

    def solve(self, reached: Mapping[str, int | None], best: Sequence[str] = ()) -> Answer | None:
        """Return a schedule with such levels, with the best values of more; None if none is.

        Of several levels the first counts most, as in `LEVELS`.

        Raises
        ------
        Undecided
            If the effort did not suffice.
        """
        model = self.model.clone()
        for level, value in reached.items():
            most = self.most[level] if value is None else value
            model.add(self.cost(level) <= (-most if level == "slack" else most))
        total: Linear = 0
        for level in best:
            total = total * (self.most[level] + 1) + self.cost(level)
        if best:
            model.minimize(total)
        while True:
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = self.effort
            status = solver.solve(model)
            if status == cp_model.INFEASIBLE:
                return None
            if status != (cp_model.OPTIMAL if best else status) or status == cp_model.UNKNOWN:
                raise Undecided
            cuts = self._cuts(solver)
            if not cuts:
                return self._answer(solver)
            for cut in cuts:
                cut.add_to(model)
                cut.add_to(self.model)

    def cost(self, level: str) -> Linear:
        """Return what is to be small: a level, or the negative of the slack."""
        return -self.levels[level] if level == "slack" else self.levels[level]

    def _cuts(self, solver: cp_model.CpSolver) -> list[Cut]:
        found = (memory.cut(solver, self.effort) for memory in self.memories)
        return [cut for cut in found if cut is not None]

    def _answer(self, solver: cp_model.CpSolver) -> Answer:
        start = [solver.value(time) for time in self.start]
        levels: dict[str, int | None] = {n: solver.value(e) for n, e in self.levels.items()}
        if levels["slack"] == self.far:
            levels["slack"] = None
        return Answer(
            interval=self.interval,
            start=tuple(time - min(start) for time in start),
            group=tuple([solver.value(on) for on in places].index(1) for places in self.on),
            registers=tuple(solver.value(amount) for amount in self.allocated),
            levels=levels,
        )

    def allow_only(self, start: Sequence[int], group: Sequence[int]) -> None:
        """Allow one schedule only, if its groups are opened in order."""
        for op in self.given.ops:
            self.model.add(self.start[op.index] == start[op.index])
            self.model.add(self.on[op.index][group[op.index]] == 1)
