"""The printed system: the paper's Figures 4 to 6 over time-indexed Booleans, solved by Yices.

It exists to be compared with. One method states one constraint, named as in the figures; where the
figures' quantifiers meet in one subformula (all t' before t + d, all copies of an operation that
runs at t) the subformula is shared. K = ceil(L/I) copies of the schedule, I apart, make the
straight-line program Q of length T = (K - 1) I + L.

As printed it decides something else than the model (docs/model.md):

- What reaches beyond Q is not stated. Instances from before Q are missing in the memory and
  register sums, and a dependence over K or more iterations is not there at all. So it accepts
  schedules which the verifier refuses.
- A loop-carried value of the last copy is live until T, even where its last reader would issue
  before; and a value that is read in the slot in which it is issued counts as live from the start
  of Q. So it refuses schedules which the verifier accepts.
- The figures know no working sets, no invariants in registers, no staging of transfers in SMEM and
  no value that nothing reads.
- Every group may hold as many registers as one group can be allocated at most; that all groups
  share one register file is not stated. What is found is allocated registers where the file holds
  them, and is returned without an allocation where it does not.

Beyond the figures are only: the invariants' share of SMEM and TMEM, which is taken off the
capacity; the signal hop, which is part of a spill's cost; groups that are too narrow for an
operation; the warps that an SM holds; what the user asked for; and the constraint for cross-warp
spills that the paper elides for brevity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from twill.engines.paper.formulas import Formulas
from twill.engines.protocol import NO_LIMITS, Answer, Limits, Question
from twill.engines.yices.system import anchor_of
from twill.errors import InputError
from twill.problem.groups import allocated, pools
from twill.problem.operations import Edge
from twill.problem.problem import Problem
from twill.problem.solution import Assignment, peaks
from twill.solvers.yices import import_yices

MOST_ENTRIES = 60_000  # about a gigabyte of memory


class VerbatimEngine:
    """The printed system at one interval (see `twill.engines.protocol.Engine`).

    Raises
    ------
    InputError
        If the problem is not read by the paper's rules, or time is too fine to be indexed.
    """

    def __init__(self, asked: Question) -> None:
        _refuse(asked.problem, asked.interval, asked.length)
        self.problem, self.interval, self.length = asked.problem, asked.interval, asked.length
        self.groups, self.families = tuple(asked.groups), tuple(asked.families)
        self.explain, self.seed = asked.explain, asked.seed
        self._system: _Printed | None = None

    @property
    def name(self) -> str:
        """Solver and version."""
        return f"Yices {import_yices().Yices.version} (verbatim)"

    def dispose(self) -> None:
        """Give the solver's memory back."""
        if self._system is not None:
            self._system.formulas.dispose()
            self._system = None

    def solve(self, limits: Limits = NO_LIMITS) -> Answer:
        """Search for a schedule within these limits (see `twill.engines.protocol.Engine`).

        A smaller length is another straight-line program, so that its system is built anew.
        """
        wanted = self.length if limits.length is None else min(limits.length, self.length)
        system = self._at(wanted)
        answer = system.answer(system.within(limits))
        found = answer.assignment
        if found is None:
            return replace(answer, solver=self.name)
        return replace(answer, assignment=self._allocated(found))

    def _allocated(self, found: Assignment) -> Assignment:
        """Return the assignment with registers allocated, unchanged if the file is too small."""
        if self.problem.registers is None or any(group.allocation for group in found.groups):
            return found
        needed = peaks(self.problem, self.interval, found)
        groups = allocated(self.problem, found.groups, needed)
        return found if groups is None else replace(found, groups=groups)

    def accepts(self, assignment: Assignment) -> Answer:
        """Ask whether a given schedule solves the printed system.

        `assignment`: issue times from 0 on and groups, which must be those of this engine.
        """
        system = self._at(self.length)
        return system.answer(system.exactly(assignment))

    def _at(self, length: int) -> _Printed:
        if self._system is None or self._system.length != length:
            self.dispose()
            self._system = _Printed(self, length)
        return self._system


def _refuse(problem: Problem, interval: int, length: int) -> None:
    if problem.rules != "paper":
        raise InputError(
            "the engine verbatim states the paper's figures and needs the rules paper "
            f"(got {problem.rules})",
            path="rules",
        )
    copies = _copies(interval, length)
    entries = len(problem.operations) * copies * ((copies - 1) * interval + length)
    if entries > MOST_ENTRIES:
        raise InputError(
            f"the engine verbatim would need {entries} Booleans op[v, i, t] at an interval of "
            f"{interval} and a length of {length}, it takes at most {MOST_ENTRIES}; use normalized "
            "time or fewer stages",
            path="engine",
        )


def _copies(interval: int, length: int) -> int:
    """Return ceil(L/I)."""
    return max(1, -(-length // interval))


class _Printed:
    """The system for one straight-line program.

    Attributes
    ----------
    copies : int
        ceil(L/I), the iterations in Q.
    span : int
        T, the length of Q.
    """

    def __init__(self, engine: VerbatimEngine, length: int) -> None:
        self.problem, self.interval, self.length = engine.problem, engine.interval, length
        self.groups, self.families = engine.groups, engine.families
        self.copies = _copies(self.interval, length)
        self.span = (self.copies - 1) * self.interval + length
        self.formulas = Formulas(engine.seed)
        self._guards = (
            {family: self.formulas.fresh() for family in self.families} if engine.explain else {}
        )
        fresh = self.formulas.fresh
        size, span = range(len(self.problem.operations)), range(self.span)
        self._op = [[[fresh() for _ in span] for _ in range(self.copies)] for _ in size]
        self._opw = [[fresh() for _ in self.groups] for _ in size]
        self._prefixes: dict[tuple[int, int], list[int]] = {}
        self._crossing: dict[tuple[int, int], int] = {}
        self._build()

    def _build(self) -> None:
        self._uniqueness()
        self._consistency()
        self._completion()
        self._warp_uniqueness()
        self._variable_latency()
        self._warps_of_an_sm()
        if "memory" in self.families or "registers" in self.families:
            self._liveness()
        for family, state in (
            ("dependence", self._dependence),
            ("capacity", self._capacity),
            ("memory", self._memory_capacity),
            ("registers", self._register_limit),
            ("transfers", self._cross_warp_spills),
            ("concurrency", self._concurrency),
            ("wishes", self._wishes),
        ):
            if family in self.families:
                with self.formulas.under(self._guards.get(family)):
                    state()

    # -- Figure 4: modulo scheduling ----------------------------------------------------------

    def _uniqueness(self) -> None:
        """Every operation of every copy is scheduled exactly once."""
        for copies in self._op:
            for entries in copies:
                total = self.formulas.total((1, entry) for entry in entries)
                self.formulas.state(self.formulas.equals(total, 1))

    def _consistency(self) -> None:
        """Copy i is copy 0, i I later."""
        for v in range(len(self._op)):
            for i, t in itertools.product(range(1, self.copies), range(self.span)):
                self._implies(self.op(v, 0, t), self.op(v, i, t + i * self.interval))

    def _completion(self) -> None:
        """Every operation ends before T."""
        for operation in self.problem.operations:
            first_late = max(0, self.span - operation.cycles + 1)
            for i, t in itertools.product(range(self.copies), range(first_late, self.span)):
                self.formulas.state(self.formulas.no(self.op(operation.index, i, t)))

    def _dependence(self) -> None:
        """A consumer issues at no t' before its producer's t + d."""
        for edge in self.problem.edges:
            for i, t in self._within(edge):
                early = self._before(edge.consumer, i + edge.distance, t + edge.delay)
                self._excludes(self.op(edge.producer, i, t), early)

    def _capacity(self) -> None:
        """In no slot are more instances of a unit in use than there are."""
        for unit, capacity in self.problem.capacities.items():
            users = [
                (operation.index, r)
                for operation in self.problem.operations
                for r in operation.reservations
                if r.unit == unit
            ]
            for t in range(self.span):
                total = self.formulas.total(
                    (r.count, self.op(v, i, t - r.start - c))
                    for v, r in users
                    for i in range(self.copies)
                    for c in range(r.length)
                )
                self.formulas.state(self.formulas.at_most(total, capacity))

    # -- Figure 5: memory ---------------------------------------------------------------------

    def _liveness(self) -> None:
        """Init, LiveProp and DeadProp, for the values that take memory or registers."""
        self._live: dict[int, list[list[int]]] = {}
        for operation in self.problem.operations:
            if operation.footprint or operation.registers:
                self._live[operation.index] = [
                    [self.formulas.fresh() for _ in range(self.span + 1)]
                    for _ in range(self.copies)
                ]
                self._initially(operation.index)
                self._propagation(operation.index)

    def _initially(self, v: int) -> None:
        """At T only loop-carried results of the last copy are live."""
        carried = any(edge.distance > 0 for edge in self.problem.consumers[v])
        for i, live in enumerate(self._live[v]):
            last = live[self.span]
            alive = carried and i == self.copies - 1
            self.formulas.state(last if alive else self.formulas.no(last))

    def _propagation(self, v: int) -> None:
        """Backwards: live until issued, dead until used."""
        formulas = self.formulas
        for i, live in enumerate(self._live[v]):
            for t in range(1, self.span + 1):
                now, before, here = live[t], live[t - 1], self.op(v, i, t)
                used = formulas.some(
                    self.op(edge.consumer, i + edge.distance, t)
                    for edge in self.problem.consumers[v]
                    if i + edge.distance < self.copies
                )
                formulas.state(formulas.no(now), formulas.no(here), formulas.no(before))
                formulas.state(formulas.no(now), here, before)
                formulas.state(now, formulas.no(used), before)
                formulas.state(now, used, formulas.no(before))

    def _memory_capacity(self) -> None:
        """In every slot the live results fit each memory."""
        for memory, capacity in self.problem.memories.items():
            stored = [o for o in self.problem.operations if o.memory == memory]
            for t in range(self.span):
                total = self.formulas.total(
                    (o.footprint, self._live[o.index][i][t])
                    for o in stored
                    if o.footprint
                    for i in range(self.copies)
                )
                room = capacity - self.problem.fixed[memory]
                self.formulas.state(self.formulas.at_most(total, room))

    # -- Figure 6: warps ----------------------------------------------------------------------

    def _warp_uniqueness(self) -> None:
        """Every operation is on exactly one group, and on one that is wide enough."""
        for operation, places in zip(self.problem.operations, self._opw, strict=True):
            total = self.formulas.total((1, place) for place in places)
            self.formulas.state(self.formulas.equals(total, 1))
            for group, place in zip(self.groups, places, strict=True):
                if group.warps < operation.warps:
                    self.formulas.state(self.formulas.no(place))

    def _variable_latency(self) -> None:
        """Operations of variable latency, and only they, are on groups of their own."""
        for operation, places in zip(self.problem.operations, self._opw, strict=True):
            for group, place in zip(self.groups, places, strict=True):
                if group.variable_latency != operation.variable_latency:
                    self.formulas.state(self.formulas.no(place))

    def _warps_of_an_sm(self) -> None:
        """The groups that are used are among those of the machine, and an SM holds their warps."""
        for pool in pools(self.groups):
            used = self.formulas.total((1, self._used(w)) for w in pool.members)
            self.formulas.state(self.formulas.at_most(used, pool.most))
        most = self.problem.machine.warps.value
        if sum(group.warps for group in self.groups) > most:
            total = self.formulas.total(
                (group.warps, self._used(w)) for w, group in enumerate(self.groups)
            )
            self.formulas.state(self.formulas.at_most(total, most))

    def _register_limit(self) -> None:
        """In every slot the live results on a group fit its registers per thread."""
        if self.problem.registers is None:
            return
        held = [o for o in self.problem.operations if o.registers]
        most = self.copies * sum(o.registers for o in held)
        for w, t in itertools.product(range(len(self.groups)), range(self.span)):
            if most <= self.groups[w].live_limit:
                continue
            total = self.formulas.total(
                (
                    o.registers,
                    self.formulas.both(self._live[o.index][i][t], self._opw[o.index][w]),
                )
                for o in held
                for i in range(self.copies)
            )
            self.formulas.state(self.formulas.at_most(total, self.groups[w].live_limit))

    def _cross_warp_spills(self) -> None:
        """Across groups a consumer issues later by the cost of the transfer and the signal."""
        for edge in self.problem.edges:
            extra = edge.cross_delay - edge.delay
            if edge.producer == edge.consumer or extra <= 0:
                continue
            apart = self._crosses(edge.producer, edge.consumer)
            for i, t in self._within(edge):
                early = self.formulas.some(
                    self.op(edge.consumer, i + edge.distance, t + edge.delay + s)
                    for s in range(extra)
                )
                here = self.op(edge.producer, i, t)
                self._excludes(self.formulas.both(here, apart), early)

    def _concurrency(self) -> None:
        """When an operation waits, nothing else of its group is running."""
        running = [
            [self._running(o.index, t) for t in range(self.span)] for o in self.problem.operations
        ]
        for v, waits in self._waits().items():
            for w, t in itertools.product(range(len(self.groups)), range(self.span)):
                busy = self.formulas.some(
                    self.formulas.both(running[o][t], self._opw[o][w])
                    for o in range(len(running))
                    if o != v
                )
                for i in range(self.copies):
                    here = self.formulas.both(self.op(v, i, t), self._opw[v][w], waits)
                    self._excludes(here, busy)

    def _running(self, o: int, t: int) -> int:
        """Whether some copy of o was issued in [t - (cycles - 1), t]."""
        return self.formulas.some(
            self.op(o, i, t - c)
            for i in range(self.copies)
            for c in range(self.problem.operations[o].cycles)
        )

    def _waits(self) -> dict[int, int]:
        """For each operation that may wait, when it does: a blocking edge, or a cross-warp one."""
        found: dict[int, list[int]] = {}
        for edge in self.problem.edges:
            if edge.blocking:
                found.setdefault(edge.consumer, []).append(self.formulas.no(self.formulas.false))
            elif edge.producer != edge.consumer:
                crosses = self._crosses(edge.producer, edge.consumer)
                found.setdefault(edge.consumer, []).append(crosses)
        return {v: self.formulas.some(causes) for v, causes in found.items()}

    # -- what the user decided ----------------------------------------------------------------

    def _wishes(self) -> None:
        """Pinned and ordered operations, or an order and groups that leave only times open."""
        formulas, wishes = self.formulas, self.problem.wishes
        for (u, here), (v, there) in itertools.combinations(wishes.pins, 2):
            apart = self._crosses(u, v)
            formulas.state(formulas.no(apart) if here == there else apart)
        for first, second in wishes.orders:
            for t in range(self.span):
                self._excludes(self.op(first, 0, t), self._before(second, 0, t))
        if wishes.shape:
            self._shape(wishes.shape)

    def _shape(self, shape: Sequence[tuple[int, int, int]]) -> None:
        """Fix groups, stages relative to each other, and the order of rows from the anchor on."""
        formulas, anchor = self.formulas, anchor_of(self.problem)
        start = self._starts()
        for v, (_, stage, _) in enumerate(shape):
            shift = (stage - shape[anchor][1]) * self.interval
            formulas.state(formulas.after(start[v], start[anchor], shift))
            formulas.state(formulas.after(start[anchor], start[v], 1 - self.interval - shift))
        for u, v in itertools.permutations(range(len(shape)), 2):
            (group_u, stage_u, rank_u), (group_v, stage_v, rank_v) = shape[u], shape[v]
            apart = self._crosses(u, v)
            formulas.state(formulas.no(apart) if group_u == group_v else apart)
            if rank_u < rank_v:
                shift = (stage_v - stage_u) * self.interval
                formulas.state(formulas.after(start[v], start[u], shift))

    # -- questions ----------------------------------------------------------------------------

    def answer(self, assumptions: Sequence[int]) -> Answer:
        """Search for a model under assumptions."""
        status = self.formulas.check([*self._guards.values(), *assumptions])
        statistics = {
            "op": len(self._op) * self.copies * self.span,
            "formulas": self.formulas.stated,
        }
        if status == "sat":
            return Answer("sat", self._read(), statistics=statistics)
        if status == "unsat":
            return Answer("unsat", families=self._core(), statistics=statistics)
        return Answer("unknown", statistics=statistics)

    def exactly(self, assignment: Assignment) -> list[int]:
        """Return terms that hold in a given schedule only."""
        starts = [self.op(v, 0, t) for v, t in enumerate(assignment.start)]
        return [*starts, *(self._opw[v][w] for v, w in enumerate(assignment.group))]

    def within(self, limits: Limits) -> list[int]:
        """Return terms that hold within limits; that of the length is the system's own."""
        found = []
        if limits.groups is not None and limits.groups < len(self.groups):
            found.append(self._limit_groups(limits.groups))
        if limits.transfers is not None:
            found.append(self._limit_transfers(limits.transfers))
        if limits.slack is not None and limits.slack > 0:
            found.append(self._limit_slack(limits.slack))
        return found

    def _limit_groups(self, most: int) -> int:
        """Return a term under which at most so many groups have operations."""
        total = self.formulas.total((1, self._used(w)) for w in range(len(self.groups)))
        return self.formulas.at_most(total, most)

    def _limit_transfers(self, most: int) -> int:
        """Return a term under which at most so many edges move a register value across groups."""
        total = self.formulas.total(
            (1, self._crosses(edge.producer, edge.consumer))
            for edge in self.problem.edges
            if edge.transferable and edge.producer != edge.consumer
        )
        return self.formulas.at_most(total, most)

    def _limit_slack(self, least: int) -> int:
        """Return a term under which every blocking consumer is late by so many time units."""
        formulas, start, late = self.formulas, self._starts(), []
        for edge in self.problem.edges:
            if edge.streaming or edge.producer == edge.consumer:
                continue
            apart = self._crosses(edge.producer, edge.consumer)
            for delay, excuse in (
                (edge.cross_delay, formulas.no(apart)),
                *(((edge.delay, apart),) if edge.blocking else ()),
            ):
                amount = delay + least - edge.distance * self.interval
                after = formulas.after(start[edge.consumer], start[edge.producer], amount)
                late.append(formulas.some((excuse, after)))
        return formulas.both(*late)

    def _read(self) -> Assignment:
        starts = [self.formulas.values(copies[0])[0].index(True) for copies in self._op]
        places = [self.formulas.values(places)[0].index(True) for places in self._opw]
        return Assignment(tuple(starts), tuple(places), self.groups)

    def _core(self) -> tuple[str, ...]:
        if not self._guards:
            return ()
        needed = set(self.formulas.core())
        return tuple(family for family, guard in self._guards.items() if guard in needed)

    # -- terms --------------------------------------------------------------------------------

    def op(self, v: int, i: int, t: int) -> int:
        """Return op[v, i, t], false outside of Q."""
        return self._op[v][i][t] if 0 <= t < self.span else self.formulas.false

    def _starts(self) -> list[int]:
        """Return M(v) as integer terms."""
        return [self.formulas.total(enumerate(copies[0])) for copies in self._op]

    def _used(self, w: int) -> int:
        """Return whether group w has an operation."""
        return self.formulas.some(places[w] for places in self._opw)

    def _before(self, v: int, i: int, t: int) -> int:
        """Return whether copy i of v was issued before t."""
        if (v, i) not in self._prefixes:
            prefixes = [self.formulas.false]
            for entry in self._op[v][i]:
                prefixes.append(self.formulas.some((prefixes[-1], entry)))
            self._prefixes[v, i] = prefixes
        return self._prefixes[v, i][max(0, min(t, self.span))]

    def _crosses(self, u: int, v: int) -> int:
        """Return whether u and v are on different groups."""
        key = (min(u, v), max(u, v))
        if key not in self._crossing:
            self._crossing[key] = self.formulas.some(
                self.formulas.both(self._opw[u][w], self._opw[v][x])
                for w, x in itertools.permutations(range(len(self.groups)), 2)
            )
        return self._crossing[key]

    def _within(self, edge: Edge) -> Iterator[tuple[int, int]]:
        """Copies and slots of a producer whose consumer is in Q as well."""
        return itertools.product(range(max(0, self.copies - edge.distance)), range(self.span))

    def _implies(self, condition: int, consequence: int) -> None:
        self.formulas.state(self.formulas.no(condition), consequence)

    def _excludes(self, first: int, second: int) -> None:
        if second != self.formulas.false:
            self.formulas.state(self.formulas.no(first), self.formulas.no(second))
