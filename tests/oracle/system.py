"""The rules of `docs/model.md` at one interval, for CP-SAT.

An issue time is a row below the interval and a stage. What is in use when something begins is
counted from distances of rows; addresses are looked for afterwards, and what has none is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from tests.oracle.facts import ADDRESSED, Edge, Facts, Op
from tests.oracle.packing import Block, Undecided, packed

LEVELS = ("stages", "groups", "transfers", "length", "slack")
Linear = cp_model.LinearExprT


@dataclass(frozen=True)
class Answer:
    """A schedule: issue times and groups, by operation, and the value of every level."""

    interval: int
    start: tuple[int, ...]
    group: tuple[int, ...]
    registers: tuple[int, ...]
    """Registers per thread allocated to every group there may be; 0 without a limit."""
    levels: dict[str, int | None]


@dataclass
class Stored:
    """A value, or what another group reads of it on its way, in an addressed memory."""

    owner: Op
    size: int
    lanes: int
    present: cp_model.IntVar | None
    slots: cp_model.IntVar
    shares: bool
    life: dict[int, cp_model.IntVar] = field(default_factory=dict)
    """Cycles until another operation's group knows that it was released, by operation."""


class System:
    """Constraints for one loop at one interval with at most so many stages."""

    def __init__(
        self, given: Facts, interval: int, most_stages: int, effort: float, *, without: str = ""
    ) -> None:
        self.given, self.interval, self.most_stages = given, interval, most_stages
        self.effort, self.without = effort, without
        self.model = cp_model.CpModel()
        self.never = self.model.new_constant(0)
        self.always = self.model.new_constant(1)
        self.far = interval * (most_stages + 2 + max((e.distance for e in given.edges), default=0))
        self.allocated: dict[int, cp_model.IntVar] = {}
        self.far += max(op.latency + op.occupancy for op in given.ops) + given.hop + 1
        self._times()
        self._groups()
        self._objective()
        rules: dict[str, Callable[[], None]] = {
            "dependence": self._dependences,
            "capacity": self._capacity,
            "turns": self._turns,
            "memory": self._memories,
            "registers": self._registers,
            "concurrency": self._concurrency,
            "variable latency": self._variable,
        }
        for name, state in rules.items():
            if name != without:
                state()

    # Times

    def _times(self) -> None:
        model, interval = self.model, self.interval
        ops = self.given.ops
        self.row = [model.new_int_var(0, interval - 1, f"row {o.name}") for o in ops]
        self.stage = [model.new_int_var(0, self.most_stages - 1, f"stage {o.name}") for o in ops]
        self.start = [self.stage[o.index] * interval + self.row[o.index] for o in ops]
        self.later: dict[tuple[int, int], cp_model.LinearExpr | int] = {}
        for u in range(len(ops)):
            self.later[u, u] = 0
            for v in range(u):
                wraps = model.new_bool_var(f"{v} wraps {u}")
                distance = self.row[u] - self.row[v] + interval * wraps
                model.add(distance >= 0)
                model.add(distance <= interval - 1)
                back = model.new_bool_var(f"{u} wraps {v}")
                other = self.row[v] - self.row[u] + interval * back
                model.add(other >= 0)
                model.add(other <= interval - 1)
                self.later[v, u], self.later[u, v] = distance, other

    def _many(self, length: Linear, u: int, v: int, most: int, *when: cp_model.IntVar) -> Linear:
        """Return how many instances that begin with u and live for `length` are there at v."""
        count = self.model.new_int_var(0, most, "")
        rest = self.model.add(self.interval * count >= length - self.later[u, v])
        if when:
            rest.only_enforce_if(list(when))
        return count

    # Groups

    def _groups(self) -> None:
        model, given = self.model, self.given
        widths = given.groups
        self.on = [
            [model.new_bool_var(f"{o.name} on {g}") for g in range(len(widths))] for o in given.ops
        ]
        self.used = [model.new_bool_var(f"used {g}") for g in range(len(widths))]
        for op in given.ops:
            places = self.on[op.index]
            model.add_exactly_one(places)
            for g, width in enumerate(widths):
                if width < op.warps:
                    model.add(places[g] == 0)
                model.add_implication(places[g], self.used[g])
        for g in range(len(widths)):
            here = [places[g] for places in self.on]
            model.add_bool_or([self.used[g].Not(), *here])
        for g in range(1, len(widths)):
            if widths[g] == widths[g - 1]:  # identical groups are opened in order
                for v in range(len(given.ops)):
                    model.add_bool_or([self.on[v][g].Not(), *(self.on[u][g - 1] for u in range(v))])
        self.same: dict[tuple[int, int], cp_model.IntVar] = {}
        for u in range(len(given.ops)):
            self.same[u, u] = self.always
            for v in range(u):
                same = model.new_bool_var(f"{u} with {v}")
                for g in range(len(widths)):
                    a, b = self.on[u][g], self.on[v][g]
                    model.add_bool_or([a.Not(), b.Not(), same])
                    model.add_bool_or([a.Not(), b, same.Not()])
                self.same[u, v] = self.same[v, u] = same

    def _variable(self) -> None:
        for u in self.given.ops:
            for v in self.given.ops[: u.index]:
                if u.variable != v.variable:
                    self.model.add(self.same[u.index, v.index] == 0)

    def _apart(self, u: int, v: int) -> cp_model.IntVar:
        return self.same[u, v].Not()

    # Rules

    def _further(self, edge: Edge) -> int:
        """Return by how much a dependence is longer across groups."""
        u = self.given.ops[edge.u]
        hop = 0 if u.asynchronous and u.memory in ADDRESSED else self.given.hop
        return hop + (u.transfer if edge.carries and u.memory == "registers" else 0)

    def _blocks(self, edge: Edge) -> cp_model.IntVar:
        """Return whether the consumer executes a blocking wait."""
        return self.always if edge.waits else self._apart(edge.u, edge.v)

    def _gap(self, edge: Edge) -> Linear:
        """Return the cycles that a consumer issues later than it has to."""
        u, v = edge.u, edge.v
        extra = self._further(edge) * (1 - self.same[u, v])
        return self.start[v] + edge.distance * self.interval - self.start[u] - edge.delay - extra

    def _dependences(self) -> None:
        for edge in self.given.edges:
            self.model.add(self._gap(edge) >= 0)

    def _capacity(self) -> None:
        for name, unit in self.given.machine.units.items():
            users = [(o.index, r) for o in self.given.ops for r in o.reservations if r.unit == name]
            for at, _ in users:
                most = [-(-r.cycles // self.interval) for _, r in users]
                if sum(m * r.count for m, (_, r) in zip(most, users, strict=True)) <= unit.capacity:
                    continue
                held = [
                    self._many(r.cycles, o, at, m) * r.count
                    for m, (o, r) in zip(most, users, strict=True)
                ]
                self.model.add(sum(held) <= unit.capacity)

    def _turns(self) -> None:
        for u in self.given.ops:
            for v in self.given.ops:
                if u is not v and u.in_order is not None and u.in_order == v.in_order:
                    apart = u.issue + self.given.hop
                    self.model.add(self.later[u.index, v.index] >= apart).only_enforce_if(
                        self._apart(u.index, v.index)
                    )

    def _concurrency(self) -> None:
        for v in self.given.ops:
            waits = self.model.new_bool_var(f"{v.name} waits")
            for edge in self.given.edges:
                if edge.v == v.index:
                    self.model.add_implication(self._blocks(edge), waits)
            for o in self.given.ops:
                if o.asynchronous and o.issue > self.interval:
                    self.model.add_bool_or([self.never])
                if o is not v and o.issue:
                    self.model.add(self.later[o.index, v.index] >= o.issue).only_enforce_if(
                        waits, self.same[o.index, v.index]
                    )

    # Registers

    def _registers(self) -> None:
        file = self.given.machine.registers
        if file is None:
            return
        model = self.model
        step, least, most = file.step.value, file.least.value, file.most.value
        reserve = int(file.reserve.value)
        room = []
        allocations = []
        for g in range(len(self.given.groups)):
            steps = model.new_int_var(-(-least // step), most // step, f"steps {g}")
            allocations.append(steps * step)
            usable = model.new_int_var(-reserve, max(most, file.limit.value), f"usable {g}")
            model.add(usable <= steps * step - reserve)
            model.add(usable <= file.limit.value - reserve)
            room.append(usable)
        self._file(allocations)
        held = self._held()
        for b in self.given.ops:
            here = []
            for owner, size, length, most_alive, when in held:
                if not size:
                    continue
                same = self.same[owner, b.index]
                here.append(self._many(length, owner, b.index, most_alive, same, *when) * size)
            for g in range(len(self.given.groups)):
                on = self.on[b.index][g]
                fixed = sum(self._invariant_registers(g))
                model.add(sum(here) + fixed <= room[g]).only_enforce_if(on)

    def _file(self, allocations: Sequence[Linear]) -> None:
        """All allocations fit the file; groups narrower than an allocation share one."""
        file = self.given.machine.registers
        assert file is not None
        threads = 32
        total: list[Linear] = []
        narrow = [g for g, w in enumerate(self.given.groups) if w < file.warps.value]
        assert sum(self.given.groups[g] for g in narrow) <= file.warps.value
        for g, width in enumerate(self.given.groups):
            if g not in narrow:
                amount = self._multiple(file.step.value, file.most.value)
                self.model.add(amount >= allocations[g]).only_enforce_if(self.used[g])
                self.allocated[g] = amount
                total.append(amount * width * threads)
        if narrow:
            amount = self._multiple(file.step.value, file.most.value)
            for g in narrow:
                self.allocated[g] = amount
                self.model.add(amount >= allocations[g]).only_enforce_if(self.used[g])
            total.append(amount * file.warps.value * threads)
        self.model.add(sum(total) <= file.file.value)

    def _multiple(self, step: int, most: int) -> cp_model.IntVar:
        steps = self.model.new_int_var(0, most // step, "")
        amount = self.model.new_int_var(0, most, "")
        self.model.add(amount == steps * step)
        return amount

    def _invariant_registers(self, g: int) -> list[Linear]:
        found: list[Linear] = []
        by_name = {op.name: op for op in self.given.ops}
        for invariant in self.given.loop.invariants:
            if invariant.tile.memory != "registers" or not invariant.used_by:
                continue
            users = [by_name[name] for name in invariant.used_by]
            here = self.model.new_bool_var("")
            for user in users:
                self.model.add_implication(self.on[user.index][g], here)
            found.append(here * invariant.tile.registers(users[0].warps))
        return found

    def _held(self) -> list[tuple[int, int, Linear, int, tuple[cp_model.IntVar, ...]]]:
        """Return what is in registers: owner, registers, cycles, most instances, and if."""
        found: list[tuple[int, int, Linear, int, tuple[cp_model.IntVar, ...]]] = []
        most = self.far // self.interval + 1
        for u in self.given.ops:
            if u.working_set:
                cycles = u.occupancy
                found.append((u.index, u.working_set, cycles, -(-cycles // self.interval), ()))
            if not u.registers:
                continue
            edges = [e for e in self.given.edges if e.u == u.index and e.carries]
            life = self.model.new_int_var(0, self.far, f"life {u.name}")
            if not edges:
                self.model.add(life >= u.latency)
            for e in edges:
                read = self._read(e)
                self.model.add(life >= read).only_enforce_if(self.same[e.u, e.v])
                staged = u.latency + u.transfer
                self.model.add(life >= staged).only_enforce_if(self._apart(e.u, e.v))
                if e.u != e.v:
                    alive = -(-e.hold // self.interval)
                    found.append((e.v, u.registers, e.hold, alive, (self._apart(e.u, e.v),)))
            found.append((u.index, u.registers, life, most, ()))
        return found

    def _read(self, edge: Edge) -> Linear:
        """Return when a consumer has read a value, from the producer's issue."""
        return self._issued(edge) + edge.hold

    def _issued(self, edge: Edge) -> Linear:
        return self.start[edge.v] + edge.distance * self.interval - self.start[edge.u]

    # Memories

    def _memories(self) -> None:
        self.stored: dict[str, list[Stored]] = {}
        self.meets: dict[tuple[str, int, int], cp_model.IntVar] = {}
        for memory, facts in self.given.machine.memories.items():
            stored = self._values(memory) + (self._staged() if memory == "smem" else [])
            self.stored[memory] = stored
            fixed = sum(self._invariants(memory))
            capacity = facts.capacity * (2 if memory == "tmem" else 1)
            for b, other in enumerate(stored):
                here: list[Linear] = []
                for a, one in enumerate(stored):
                    if a == b:
                        here.append(other.slots * other.size)
                        continue
                    alive = self._alive(one, other)
                    meets = self._meet(memory, a, b)
                    self.model.add_implication(alive, meets)
                    if not (one.shares and other.shares):
                        self.model.add(meets == 1)
                    taken = self.model.new_int_var(0, self._most(), "")
                    self.model.add(taken >= one.slots).only_enforce_if(alive)
                    here.append(taken * one.size)
                fits = self.model.add(sum(here) + fixed <= capacity)
                if other.present is not None:
                    fits.only_enforce_if(other.present)

    def _most(self) -> int:
        return self.far // self.interval + 1

    def _meet(self, memory: str, a: int, b: int) -> cp_model.IntVar:
        key = (memory, min(a, b), max(a, b))
        if key not in self.meets:
            self.meets[key] = self.model.new_bool_var(f"meet {key}")
        return self.meets[key]

    def _alive(self, one: Stored, other: Stored) -> cp_model.IntVar:
        """Return whether `one` is there when an instance of `other` begins."""
        model = self.model
        alive = model.new_bool_var("")
        both = [s.present for s in (one, other) if s.present is not None]
        life = one.life[other.owner.index]
        begins = self.later[one.owner.index, other.owner.index]
        model.add(life <= begins).only_enforce_if(alive.Not(), *both)
        return alive

    def _values(self, memory: str) -> list[Stored]:
        found = []
        for u in self.given.ops:
            if u.memory != memory or u.result is None:
                continue
            edges = [e for e in self.given.edges if e.u == u.index and e.carries]
            reads = [(e.v, self._read(e)) for e in edges]
            found.append(self._stored(u, u.result.footprint, u.result.lanes, reads, None))
        return found

    def _staged(self) -> list[Stored]:
        found = []
        for u in self.given.ops:
            edges = [e for e in self.given.edges if e.u == u.index and e.v != u.index and e.carries]
            if u.memory != "registers" or not edges or u.result is None:
                continue
            present = self.crosses[u.index]
            reads = [(e.v, self._issued(e)) for e in edges]
            found.append(self._stored(u, u.result.bytes, 128, reads, present))
        return found

    def _stored(
        self,
        u: Op,
        size: int,
        lanes: int,
        reads: list[tuple[int, Linear]],
        present: cp_model.IntVar | None,
    ) -> Stored:
        model = self.model
        slots = model.new_int_var(1, self._most(), f"slots {u.name}")
        stored = Stored(u, size, lanes, present, slots, not u.streaming)
        for b in self.given.ops:
            life = model.new_int_var(0, self.far, f"life {u.name} for {b.name}")
            if not reads:  # its own group knows when it is complete
                seen = u.latency + self.given.hop * (1 - self.same[u.index, b.index])
                model.add(life >= seen)
            for v, read in reads:
                when = [] if present is None else [self._apart(u.index, v)]
                hop = self.given.hop
                if when:
                    model.add(life >= read).only_enforce_if(*when)
                else:
                    model.add(life >= read)
                if v != b.index:
                    model.add(life >= read + hop).only_enforce_if(self._apart(v, b.index), *when)
            stored.life[b.index] = life
        model.add(self.interval * slots >= stored.life[u.index])
        return stored

    def _invariants(self, memory: str) -> list[int]:
        tiles = [i.tile for i in self.given.loop.invariants if i.tile.memory == memory]
        return [tile.footprint for tile in tiles]

    # Objective

    def _objective(self) -> None:
        model, given = self.model, self.given
        stages = model.new_int_var(1, self.most_stages, "stages")
        length = model.new_int_var(0, self.most_stages * self.interval, "length")
        for op in given.ops:
            model.add(length >= self.start[op.index] + op.occupancy)
        model.add(length <= stages * self.interval)
        self.crosses: dict[int, cp_model.IntVar] = {}
        for u in given.ops:
            if u.memory != "registers":
                continue
            crosses = model.new_bool_var(f"{u.name} crosses")
            for e in given.edges:
                if e.u == u.index and e.v != u.index and e.carries:
                    model.add_implication(self._apart(e.u, e.v), crosses)
            self.crosses[u.index] = crosses
        slack = model.new_int_var(0, self.far, "slack")
        for edge in given.edges:
            if not given.ops[edge.u].streaming:
                model.add(slack <= self._gap(edge)).only_enforce_if(self._blocks(edge))
        self.levels: dict[str, Linear] = {
            "stages": stages,
            "groups": sum(self.used),
            "transfers": sum(
                1 - self.same[e.u, e.v]
                for e in given.edges
                if e.carries and e.u != e.v and given.ops[e.u].memory == "registers"
            ),
            "length": length,
            "slack": slack,
        }

    # Solving

    def solve(self, fixed: dict[str, int | None], best: str | None = None) -> Answer | None:
        """Return a schedule with these levels, with the best value of one more.

        Raises
        ------
        Undecided
            If the effort did not suffice.
        """
        model = self.model.clone()
        for level, value in fixed.items():
            if value is None:
                value = self.far
            expression = self.levels[level]
            model.add(expression >= value if level == "slack" else expression <= value)
        if best == "slack":
            model.maximize(self.levels[best])
        elif best is not None:
            model.minimize(self.levels[best])
        while True:
            solver = cp_model.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.max_deterministic_time = self.effort
            solver.parameters.random_seed = 0
            status = solver.solve(model)
            if status == cp_model.INFEASIBLE:
                return None
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                raise Undecided
            cuts = [] if self.without == "memory" else self._without_addresses(solver)
            if not cuts and (best is None or status == cp_model.OPTIMAL):
                return self._answer(solver)
            if not cuts:
                raise Undecided
            for target in (model, self.model):
                for cut in cuts:
                    self._add_cut(target, *cut)

    def _without_addresses(
        self, solver: cp_model.CpSolver
    ) -> list[tuple[list[cp_model.IntVar], list[tuple[cp_model.IntVar, int]]]]:
        """Return what has no addresses together: pairs that meet, and slots of each."""
        cuts = []
        for memory, stored in self.stored.items():
            capacity = self.given.machine.memories[memory].capacity
            present = [
                n for n, s in enumerate(stored) if s.present is None or solver.value(s.present)
            ]
            blocks = {n: solver.value(stored[n].slots) for n in present}
            sizes = [Block(stored[n].size, stored[n].lanes, blocks[n]) for n in present]
            fixed = [
                Block(i.tile.footprint, i.tile.lanes, 1)
                for i in self.given.loop.invariants
                if i.tile.memory == memory
            ]
            pairs = {
                (a, b)
                for x, a in enumerate(present)
                for y, b in enumerate(present)
                if x < y and solver.value(self._meet(memory, a, b))
            }
            local = {(present.index(a), present.index(b)) for a, b in pairs}
            if not packed(memory, capacity, sizes, fixed, local, self.effort):
                cuts.append(
                    (
                        [self._meet(memory, a, b) for a, b in pairs],
                        [(stored[n].slots, blocks[n]) for n in present],
                    )
                )
        return cuts

    @staticmethod
    def _add_cut(
        model: cp_model.CpModel,
        meets: list[cp_model.IntVar],
        slots: list[tuple[cp_model.IntVar, int]],
    ) -> None:
        fewer = []
        for variable, value in slots:
            if value > 1:
                literal = model.new_bool_var("")
                model.add(variable <= value - 1).only_enforce_if(literal)
                fewer.append(literal)
        model.add_bool_or([*(m.Not() for m in meets), *fewer])

    def _answer(self, solver: cp_model.CpSolver) -> Answer:
        ops = self.given.ops
        start = tuple(solver.value(self.start[o.index]) for o in ops)
        group = tuple(
            next(g for g, on in enumerate(self.on[o.index]) if solver.value(on)) for o in ops
        )
        levels: dict[str, int | None] = {n: solver.value(e) for n, e in self.levels.items()}
        if levels["slack"] == self.far:
            levels["slack"] = None
        earliest = min(start)
        registers = tuple(
            solver.value(self.allocated[g]) if g in self.allocated else 0
            for g in range(len(self.given.groups))
        )
        times = tuple(time - earliest for time in start)
        return Answer(self.interval, times, group, registers, levels)

    def fix(self, start: Sequence[int], group: Sequence[int]) -> None:
        """Allow only one schedule."""
        for op in self.given.ops:
            self.model.add(self.start[op.index] == start[op.index])
            self.model.add(self.on[op.index][group[op.index]] == 1)
