"""The constraints of the paper's Figures 4 to 6, over time-indexed Booleans.

A method states one of them, named as in the figures. Where the figures' quantifiers meet in one
subformula (all t' before t + d, all copies of an operation that runs at t) it is shared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from twill.engines.questions import Question
from twill.problem.groups import pools
from twill.problem.operations import Edge
from twill.problem.solution import Assignment
from twill.solvers import Formulas


def copies(interval: int, length: int) -> int:
    """Return ceil(L/I)."""
    return max(1, -(-length // interval))


class Program:
    """Constraints on the straight-line program Q: K copies of the schedule, I apart."""

    def __init__(self, asked: Question) -> None:
        self.problem, self.interval, self.length = asked.problem, asked.interval, asked.length
        self.groups, self.families = tuple(asked.groups), tuple(asked.families)
        # K, the iterations in Q, and T, its length.
        self.copies = copies(self.interval, self.length)
        self.span = (self.copies - 1) * self.interval + self.length
        self.formulas = Formulas(asked.seed)
        fresh = self.formulas.fresh
        self.guards = {family: fresh() for family in self.families} if asked.explain else {}
        size, span = range(len(self.problem.operations)), range(self.span)
        # op[v, i, t] of every operation, copy and slot.
        self.every = [[[fresh() for _ in span] for _ in range(self.copies)] for _ in size]
        # opw[v, w]: whether operation v is on group w.
        self.on = [[fresh() for _ in self.groups] for _ in size]
        self._prefixes: dict[tuple[int, int], list[int]] = {}
        self._crossing: dict[tuple[int, int], int] = {}

    def op(self, v: int, i: int, t: int) -> int:
        """Return op[v, i, t], false outside of Q."""
        return self.every[v][i][t] if 0 <= t < self.span else self.formulas.false

    def starts(self) -> list[int]:
        """Return M(v) as integer terms."""
        return [self.formulas.total(enumerate(copies[0])) for copies in self.every]

    def used(self, w: int) -> int:
        """Return whether group w has an operation."""
        return self.formulas.some(places[w] for places in self.on)

    def before(self, v: int, i: int, t: int) -> int:
        """Return whether copy i of v was issued before t."""
        if (v, i) not in self._prefixes:
            prefixes = [self.formulas.false]
            for entry in self.every[v][i]:
                prefixes.append(self.formulas.some((prefixes[-1], entry)))
            self._prefixes[v, i] = prefixes
        return self._prefixes[v, i][max(0, min(t, self.span))]

    def crosses(self, u: int, v: int) -> int:
        """Return whether u and v are on different groups."""
        key = (min(u, v), max(u, v))
        if key not in self._crossing:
            self._crossing[key] = self.formulas.some(
                self.formulas.both(self.on[u][w], self.on[v][x])
                for w, x in itertools.permutations(range(len(self.groups)), 2)
            )
        return self._crossing[key]

    def inside(self, edge: Edge) -> Iterator[tuple[int, int]]:
        """Copies and slots of a producer whose consumer is in Q as well."""
        return itertools.product(range(max(0, self.copies - edge.distance)), range(self.span))

    def excludes(self, first: int, second: int) -> None:
        """State that not both hold."""
        if second != self.formulas.false:
            self.formulas.state(self.formulas.no(first), self.formulas.no(second))

    def fits(self, items: Iterable[tuple[int, int]], most: int) -> None:
        """State that the weights of the true ones among some terms sum to at most `most`."""
        self.formulas.state(self.formulas.at_most(self.formulas.total(items), most))

    def read(self) -> Assignment:
        """Return the schedule of the last model."""
        starts = [self.formulas.values(copies[0])[0].index(True) for copies in self.every]
        places = [self.formulas.values(places)[0].index(True) for places in self.on]
        return Assignment(tuple(starts), tuple(places), self.groups)


class System:
    """All constraints on one straight-line program."""

    def __init__(self, asked: Question) -> None:
        self.q = Program(asked)
        self._live: dict[int, list[list[int]]] = {}
        self._uniqueness()
        self._consistency()
        self._completion()
        self._warp_uniqueness()
        self._variable_latency()
        self._warps_of_an_sm()
        if "memory" in self.q.families or "registers" in self.q.families:
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
            if family in self.q.families:
                with self.q.formulas.under(self.q.guards.get(family)):
                    state()

    # -- Figure 4: modulo scheduling ----------------------------------------------------------

    def _uniqueness(self) -> None:
        """Every operation of every copy is scheduled exactly once."""
        for copies in self.q.every:
            for entries in copies:
                self.q.formulas.state(self.q.formulas.one_of(entries))

    def _consistency(self) -> None:
        """Copy i is copy 0, i I later."""
        for v in range(len(self.q.every)):
            for i, t in itertools.product(range(1, self.q.copies), range(self.q.span)):
                later = self.q.op(v, i, t + i * self.q.interval)
                self.q.formulas.state(self.q.formulas.no(self.q.op(v, 0, t)), later)

    def _completion(self) -> None:
        """Every operation ends before T."""
        for operation in self.q.problem.operations:
            first_late = max(0, self.q.span - operation.cycles + 1)
            for i, t in itertools.product(range(self.q.copies), range(first_late, self.q.span)):
                self.q.formulas.state(self.q.formulas.no(self.q.op(operation.index, i, t)))

    def _dependence(self) -> None:
        """A consumer issues at no t' before its producer's t + d."""
        for edge in self.q.problem.edges:
            for i, t in self.q.inside(edge):
                early = self.q.before(edge.consumer, i + edge.distance, t + edge.delay)
                self.q.excludes(self.q.op(edge.producer, i, t), early)

    def _capacity(self) -> None:
        """In no slot are more instances of a unit in use than there are."""
        for unit, capacity in self.q.problem.capacities.items():
            users = [
                (operation.index, r)
                for operation in self.q.problem.operations
                for r in operation.reservations
                if r.unit == unit
            ]
            for t in range(self.q.span):
                running = (
                    (r.count, self.q.op(v, i, t - r.start - c))
                    for v, r in users
                    for i in range(self.q.copies)
                    for c in range(r.length)
                )
                self.q.fits(running, capacity)

    # -- Figure 5: memory ---------------------------------------------------------------------

    def _liveness(self) -> None:
        """Init, LiveProp and DeadProp, for the values that take memory or registers."""
        for operation in self.q.problem.operations:
            if operation.footprint or operation.registers:
                self._live[operation.index] = [
                    [self.q.formulas.fresh() for _ in range(self.q.span + 1)]
                    for _ in range(self.q.copies)
                ]
                self._initially(operation.index)
                self._propagation(operation.index)

    def _initially(self, v: int) -> None:
        """At T only loop-carried results of the last copy are live."""
        carried = any(edge.distance > 0 for edge in self.q.problem.consumers[v])
        for i, live in enumerate(self._live[v]):
            last = live[self.q.span]
            alive = carried and i == self.q.copies - 1
            self.q.formulas.state(last if alive else self.q.formulas.no(last))

    def _propagation(self, v: int) -> None:
        """Backwards: live until issued, dead until used."""
        formulas = self.q.formulas
        for i, live in enumerate(self._live[v]):
            for t in range(1, self.q.span + 1):
                now, before, here = live[t], live[t - 1], self.q.op(v, i, t)
                used = formulas.some(
                    self.q.op(edge.consumer, i + edge.distance, t)
                    for edge in self.q.problem.consumers[v]
                    if i + edge.distance < self.q.copies
                )
                formulas.state(formulas.no(now), formulas.no(here), formulas.no(before))
                formulas.state(formulas.no(now), here, before)
                formulas.state(now, formulas.no(used), before)
                formulas.state(now, used, formulas.no(before))

    def _memory_capacity(self) -> None:
        """In every slot the live results fit each memory."""
        for memory, capacity in self.q.problem.memories.items():
            operations, room = self.q.problem.operations, capacity - self.q.problem.fixed[memory]
            stored = [o for o in operations if o.memory == memory and o.footprint]
            for t in range(self.q.span):
                live = ((o.footprint, x[t]) for o in stored for x in self._live[o.index])
                self.q.fits(live, room)

    # -- Figure 6: warps ----------------------------------------------------------------------

    def _warp_uniqueness(self) -> None:
        """Every operation is on exactly one group, and on one that is wide enough."""
        for operation, places in zip(self.q.problem.operations, self.q.on, strict=True):
            self.q.formulas.state(self.q.formulas.one_of(places))
            for group, place in zip(self.q.groups, places, strict=True):
                if group.warps < operation.warps:
                    self.q.formulas.state(self.q.formulas.no(place))

    def _variable_latency(self) -> None:
        """Operations of variable latency, and only they, are on groups of their own."""
        for operation, places in zip(self.q.problem.operations, self.q.on, strict=True):
            for group, place in zip(self.q.groups, places, strict=True):
                if group.variable_latency != operation.variable_latency:
                    self.q.formulas.state(self.q.formulas.no(place))

    def _warps_of_an_sm(self) -> None:
        """The groups that are used are among those of the machine, and an SM holds their warps."""
        for pool in pools(self.q.groups):
            self.q.fits(((1, self.q.used(w)) for w in pool.members), pool.most)
        most = self.q.problem.machine.warps.value
        if sum(group.warps for group in self.q.groups) > most:
            held = ((g.warps, self.q.used(w)) for w, g in enumerate(self.q.groups))
            self.q.fits(held, most)

    def _register_limit(self) -> None:
        """In every slot the live results on a group fit its registers per thread."""
        if self.q.problem.registers is None:
            return
        held = [o for o in self.q.problem.operations if o.registers]
        most = self.q.copies * sum(o.registers for o in held)
        for w, t in itertools.product(range(len(self.q.groups)), range(self.q.span)):
            if most <= self.q.groups[w].live_limit:
                continue
            here = (
                (o.registers, self.q.formulas.both(live[t], self.q.on[o.index][w]))
                for o in held
                for live in self._live[o.index]
            )
            self.q.fits(here, self.q.groups[w].live_limit)

    def _cross_warp_spills(self) -> None:
        """Across groups a consumer issues later by the cost of the transfer and the signal."""
        for edge in self.q.problem.edges:
            extra = edge.cross_delay - edge.delay
            if edge.producer == edge.consumer or extra <= 0:
                continue
            apart = self.q.crosses(edge.producer, edge.consumer)
            for i, t in self.q.inside(edge):
                early = self.q.formulas.some(
                    self.q.op(edge.consumer, i + edge.distance, t + edge.delay + s)
                    for s in range(extra)
                )
                here = self.q.op(edge.producer, i, t)
                self.q.excludes(self.q.formulas.both(here, apart), early)

    def _concurrency(self) -> None:
        """When an operation waits, nothing else of its group is running."""
        running = [
            [self._running(o.index, t) for t in range(self.q.span)]
            for o in self.q.problem.operations
        ]
        for v, waits in self._waits().items():
            for w, t in itertools.product(range(len(self.q.groups)), range(self.q.span)):
                busy = self.q.formulas.some(
                    self.q.formulas.both(running[o][t], self.q.on[o][w])
                    for o in range(len(running))
                    if o != v
                )
                for i in range(self.q.copies):
                    here = self.q.formulas.both(self.q.op(v, i, t), self.q.on[v][w], waits)
                    self.q.excludes(here, busy)

    def _running(self, o: int, t: int) -> int:
        """Whether some copy of o was issued in [t - (cycles - 1), t]."""
        return self.q.formulas.some(
            self.q.op(o, i, t - c)
            for i in range(self.q.copies)
            for c in range(self.q.problem.operations[o].cycles)
        )

    def _waits(self) -> dict[int, int]:
        """For each operation that may wait, when it does: a blocking edge, or a cross-warp one."""
        found: dict[int, list[int]] = {}
        for edge in self.q.problem.edges:
            u, v = edge.producer, edge.consumer
            if edge.blocking or u != v:
                always = self.q.formulas.no(self.q.formulas.false)
                found.setdefault(v, []).append(always if edge.blocking else self.q.crosses(u, v))
        return {v: self.q.formulas.some(causes) for v, causes in found.items()}

    # -- what the user decided ----------------------------------------------------------------

    def _wishes(self) -> None:
        """Pinned and ordered operations."""
        formulas, wishes = self.q.formulas, self.q.problem.wishes
        for (u, here), (v, there) in itertools.combinations(wishes.pins, 2):
            apart = self.q.crosses(u, v)
            formulas.state(formulas.no(apart) if here == there else apart)
        for first, second in wishes.orders:
            for t in range(self.q.span):
                self.q.excludes(self.q.op(first, 0, t), self.q.before(second, 0, t))
