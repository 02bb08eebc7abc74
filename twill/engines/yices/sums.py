"""Sums stated where a solution violates them: registers, memories, units of capacity above one.

Live values at a start are counted by instances, the most recent one first. With rows and stages the
j-th most recent instance needs a handful of clauses, however many stages there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from twill.bounds import average_registers
from twill.engines.questions import ADDRESSES, Hint
from twill.engines.yices.clauses import Diagram, Literal
from twill.engines.yices.system import System
from twill.memory import Conflict, allocate
from twill.problem import rules
from twill.problem.groups import Share, shares
from twill.problem.lifetimes import Moment, Occupant, memory_occupants
from twill.problem.solution import (
    Assignment,
    Event,
    Sum,
    peak,
    peaks,
    sums_of,
    violated,
    with_registers,
)


class Sums:
    """The lazily stated sums of a system."""

    def __init__(self, system: System, hints: Iterable[Hint]) -> None:
        self._system, self._clauses = system, system.clauses
        self._sums = {entry.key: entry for entry in sums_of(system.problem, system.stated)}
        self._instances = _Instances(system)
        self._counted: dict[tuple[str, int, int, int], Literal] = {}
        self._diagrams: dict[int, Diagram] = {}
        self._allocations: _Allocations | None = None
        self.stated: list[Event] = []
        self.conflicts: list[Conflict] = []
        for name, what in hints:
            if isinstance(what, Conflict) and "memory" in system.stated:
                self._never_again(what)
            elif isinstance(what, int) and name in self._sums:
                self._state(name, what)

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Sums that had to be stated."""
        return (*self.stated, *((ADDRESSES, conflict) for conflict in self.conflicts))

    def completed(self, found: Assignment) -> Assignment | None:
        """Return a solution with registers allocated; None once more had to be stated.

        Sums come first, the register file next, and addresses are looked for last.
        """
        problem, interval = self._system.problem, self._system.interval
        exceeded = violated(problem, interval, self._sums, found)
        for name, event in exceeded:
            self._state(name, event)
        complete = None if exceeded else self._with_registers(found)
        if complete is None or "memory" not in self._system.stated:
            return complete
        conflict = allocate(problem, interval, found)
        if isinstance(conflict, Conflict):
            self._never_again(conflict)
            return None
        return complete

    def _never_again(self, conflict: Conflict) -> None:
        """State that not all facts of a conflict hold."""
        self.conflicts.append(conflict)
        with self._clauses.under(self._system.guards.get("memory")):
            facts = [
                self._clauses.either(
                    [self._counted_at_least(conflict.memory, *seen) for seen in fact]
                )
                for fact in conflict.facts
            ]
            self._clauses.clause(*(self._clauses.negated(x) for x in facts))

    # -- one sum at one start -------------------------------------------------------------------

    def _state(self, name: str, event: int) -> None:
        """State that what is alive when occupant `event` starts fits."""
        if (name, event) in self.stated:
            raise AssertionError(f"{name} at {event} was stated and is violated")
        self.stated.append((name, event))
        entry, on = self._sums[name], self._system.places.on
        with self._clauses.under(self._system.guards.get(entry.family)):
            diagram = Diagram(self._clauses, self._items(entry, event))
            if entry.capacity is not None:
                self._clauses.clause(diagram.at_most(entry.capacity))
                return
            self._diagrams[event] = diagram
            for g, here in on[entry.occupants[event].start].items():
                limit = self._system.places.groups[g].live_limit
                self._clauses.clause(self._clauses.negated(here), diagram.at_most(limit))
        if self._allocations is not None:
            self._link(self._allocations, event)

    def _items(self, entry: Sum, event: int) -> list[tuple[int, Literal]]:
        starting, places = entry.occupants[event], self._system.places
        most = entry.capacity
        if most is None:
            most = max(group.live_limit for group in places.groups)
        items: list[tuple[int, Literal]] = []
        for position, occupant in enumerate(entry.occupants):
            if not occupant.weight:
                continue
            if entry.family == "capacity":
                alive = self._instances.overlaps(occupant, starting)
            else:
                alive = self._alive(entry, position, event, most // occupant.weight + 1)
            items.extend((occupant.weight, literal) for literal in alive)
        if entry.capacity is None:
            for pinned in self._system.problem.pinned:
                users = [places.same(u, starting.start) for u in pinned.used_by]
                items.append((pinned.registers, self._clauses.either(users)))
        return items

    def _alive(self, entry: Sum, position: int, event: int, most: int) -> Iterator[Literal]:
        """Yield a literal for each instance that may be alive, the most recent first."""
        occupant, starting = entry.occupants[position], entry.occupants[event]
        for back in range(most):
            key = (entry.key, position, event, back)
            if key not in self._counted:
                self._counted[key] = self._instances.alive(occupant, starting, back)
            literal = self._counted[key]
            if position in entry.rings and (back or position == event):
                literal = self._with_its_ring(entry, position, event, back)
            if literal is False:
                return
            yield literal

    def _with_its_ring(self, entry: Sum, position: int, event: int, back: int) -> Literal:
        """Return a literal that is true if an instance is alive and its ring has so many slots."""
        own = self._counted_at_least(entry.name, position, position, back + 1)
        if position == event:
            return own
        some, plain = (self._counted[entry.key, position, event, b] for b in (0, back))
        return self._instances.any_of([[plain], [some, own]])

    def _counted_at_least(self, memory: str, position: int, event: int, count: int) -> Literal:
        """Return a literal that is true if a start sees at least `count` instances alive."""
        occupants = memory_occupants(self._system.problem, memory)
        occupant = occupants[position]
        key = (f"{'seen' if occupant.hop else 'memory'} {memory}", position, event, count - 1)
        if key not in self._counted:
            starting = occupants[event]
            self._counted[key] = self._instances.alive(occupant, starting, count - 1)
        return self._counted[key]

    # -- the register file ------------------------------------------------------------------------

    def _with_registers(self, found: Assignment) -> Assignment | None:
        """Return a solution with registers allocated; None once more had to be stated."""
        if "registers" not in self._system.stated:
            return found
        complete = with_registers(self._system.problem, self._system.interval, found)
        if complete is not None:
            return complete
        fresh = self._allocations is None
        if self._allocations is None:
            self._allocations = _Allocations(self._system)
            for event in list(self._diagrams):
                self._link(self._allocations, event)
            self._allocations.link_averages()
        if not self._state_peaks(found) and not fresh:
            raise AssertionError("the register file was stated and is exceeded")
        return None

    def _link(self, allocations: _Allocations, event: int) -> None:
        """State that what is alive at a start fits what is allocated to its group."""
        starting = self._sums["registers"].occupants[event].start
        for g, here in self._system.places.on[starting].items():
            allocations.link(g, self._diagrams[event], here=here)

    def _state_peaks(self, found: Assignment) -> bool:
        """State the starts at which groups need more than the least allocation, if any are new."""
        problem, interval = self._system.problem, self._system.interval
        file, entry, known = problem.registers, self._sums.get("registers"), len(self.stated)
        assert file is not None
        if entry is None:
            return False
        for g, live in enumerate(peaks(problem, interval, found)):
            if live is not None and rules.allocation(file, live) > rules.allocation(file, 0):
                event = peak(problem, interval, entry, found, g)
                if ("registers", event) not in self.stated:
                    self._state("registers", event)
        return len(self.stated) > known


class _Allocations:
    """Literals that say what each group is allocated: all of it fits the register file."""

    def __init__(self, system: System) -> None:
        file = system.problem.registers
        assert file is not None
        self._system, self._clauses, self._file = system, system.clauses, file
        self._levels: list[list[tuple[int, Literal]]] = [[] for _ in system.places.groups]
        clauses, least = system.clauses, rules.allocation(file, 0)
        items: list[tuple[int, Literal]] = []
        unused: list[tuple[int, Literal]] = []
        with clauses.under(system.guards.get("registers")):
            for share in shares(file, system.places.groups):
                steps = self._steps(least)
                together = self._blocks(share)
                for blocks, used in together:
                    items.append((blocks * least, used))
                    unused.append((blocks, clauses.negated(used)))
                    if len(together) == 1:
                        items += [(blocks * file.step, more) for _, more in steps]
                        continue
                    for _, more in steps:
                        taken = clauses.fresh()
                        clauses.clause(clauses.negated(used), clauses.negated(more), taken)
                        items.append((blocks * file.step, taken))
                for g in share.members:
                    self._levels[g] = steps
            self._state_the_pool(Diagram(clauses, items), unused)

    def _steps(self, least: int) -> list[tuple[int, Literal]]:
        """Return the allocations above the least, each with a literal: it is at least that."""
        steps: list[tuple[int, Literal]] = []
        for level in range(least + self._file.step, self._file.most + 1, self._file.step):
            more = self._clauses.fresh()
            if steps:
                self._clauses.clause(self._clauses.negated(more), steps[-1][1])
            steps.append((level, more))
        return steps

    def _blocks(self, share: Share) -> list[tuple[int, Literal]]:
        """Return the blocks that a share takes together, each with a literal that says so."""
        places, clauses = self._system.places, self._clauses
        if share.blocks == 1 or len(share.members) == 1:
            return [(share.blocks, places.any_of([places.used[g] for g in share.members]))]
        warps = [(places.groups[g].warps, places.used[g]) for g in share.members]
        idle = [(width, clauses.negated(used)) for width, used in warps]
        few, many = Diagram(clauses, warps), Diagram(clauses, idle)
        total, found = sum(width for width, _ in warps), list[tuple[int, Literal]]()
        for before in range(0, share.blocks * self._file.warps, self._file.warps):
            used = clauses.fresh()
            clauses.clause(used, few.at_most(before))
            clauses.clause(clauses.negated(used), many.at_most(total - before - 1))
            found.append((1, used))
        return found

    def _state_the_pool(self, allocated: Diagram, unused: Sequence[tuple[int, Literal]]) -> None:
        """State that what is allocated fits what a launch of the used blocks gives."""
        used = [(blocks, self._clauses.negated(idle)) for blocks, idle in unused]
        few, many = Diagram(self._clauses, used), Diagram(self._clauses, unused)
        most = sum(blocks for blocks, _ in used)
        for count in range(1, most + 1):
            fewer, more = few.at_most(count - 1), many.at_most(most - count - 1)
            self._clauses.clause(fewer, more, allocated.at_most(rules.pool(self._file, count)))

    def link_averages(self) -> None:
        """State that what values take of a group on average fits what is allocated to it."""
        system = self._system
        averages = average_registers(system.problem, system.interval)
        for g in range(len(system.places.groups)):
            items = [
                (average, system.places.on[v][g])
                for v, average in enumerate(averages)
                if average and g in system.places.on[v]
            ]
            self.link(g, Diagram(self._clauses, items))

    def link(self, g: int, diagram: Diagram, *, here: Literal = True) -> None:
        """State that the items of a diagram fit each level of a group's allocation."""
        file, clauses = self._file, self._clauses
        known: Literal | None = None
        with clauses.under(self._system.guards.get("registers")):
            for level, more in reversed(self._levels[g]):
                fits = diagram.at_most(rules.room(file, level - file.step))
                if known is None or fits != known:
                    clauses.clause(clauses.negated(here), more, fits)
                known = fits


class _Instances:
    """Literals that say whether an instance is alive when something starts."""

    def __init__(self, system: System) -> None:
        self._system, self._clauses = system, system.clauses

    def alive(self, occupant: Occupant, starting: Occupant, back: int) -> Literal:
        """Return a literal that is true if the instance before `back` others is still alive."""
        places = self._system.places
        always: list[Literal] = []
        if occupant.group_of is not None:
            always.append(places.same(occupant.group_of, starting.start))
        if occupant.apart is not None:
            always.append(places.apart(*occupant.apart))
        cases: list[list[Literal]] = []
        for end in occupant.ends:
            counts = [*always, *places.conditions(end)]
            cases += self._outlives(occupant, starting, back, end, counts, 0)
            if occupant.hop:
                far = [*counts, places.apart(end.operation, starting.start)]
                cases += self._outlives(occupant, starting, back, end, far, occupant.hop)
        return self.any_of(cases)

    def _outlives(
        self,
        occupant: Occupant,
        starting: Occupant,
        back: int,
        end: Moment,
        counts: list[Literal],
        hop: int,
    ) -> list[list[Literal]]:
        """Return conjunctions that make the instance live past the start, by one of its ends."""
        clock, interval = self._system.clock, self._system.interval
        u, v = occupant.start, starting.start
        cases: list[list[Literal]] = []
        for turns, phase in self._latest(occupant, starting):
            passed = end.offset + hop - starting.delay
            amount = 1 - passed - (end.iterations + turns - back) * interval
            found = clock.cases(end.operation, u, v, amount)
            cases += [[*counts, *phase, *case] for case in found]
        return cases

    def _latest(
        self, occupant: Occupant, starting: Occupant
    ) -> Iterator[tuple[int, list[Literal]]]:
        """Yield by how many intervals' turns the latest instance may have begun, and when it is so.

        Both issue rows are within one interval; -1 is an instance of the interval before.
        """
        rows, interval = self._system.clock.rows, self._system.interval
        u, v = occupant.start, starting.start
        shift = occupant.delay - starting.delay
        low, high = rows.range_of(v, u)
        for turns in range((low - shift) // interval, (high - shift) // interval + 1):
            begun = rows.at_least(v, u, turns * interval + shift)
            next_begun = rows.at_least(v, u, (turns + 1) * interval + shift)
            if begun is not False and next_begun is not True:
                yield turns, [begun, self._clauses.negated(next_begun)]

    def overlaps(self, occupant: Occupant, starting: Occupant) -> Iterator[Literal]:
        """Yield a literal for each shift at which a reservation may cover another's start."""
        rows, interval = self._system.clock.rows, self._system.interval
        u, v, end = occupant.start, starting.start, occupant.ends[0].offset
        low, high = rows.range_of(v, u)
        for m in self._system.clock.shifts(
            low + starting.delay - end + 1, high + starting.delay - occupant.delay
        ):
            begun = rows.at_least(v, u, m * interval + occupant.delay - starting.delay)
            ends = rows.at_least(u, v, 1 + starting.delay - end - m * interval)
            yield self.any_of([[begun, ends]])

    def any_of(self, cases: Sequence[Sequence[Literal]]) -> Literal:
        """Return a literal that is true if all literals of one case are."""
        clauses = self._clauses
        kept = self._merged([case for case in cases if not any(x is False for x in case)])
        if not kept:
            return False
        if frozenset[int]() in kept:
            return True
        if len(kept) == 1 and len(kept[0]) == 1:
            return next(iter(kept[0]))
        alive = clauses.fresh()
        with clauses.under(None):
            for case in kept:
                clauses.clause(alive, *(clauses.negated(x) for x in sorted(case)))
        return alive

    def _merged(self, cases: Sequence[Sequence[Literal]]) -> list[frozenset[int]]:
        """Leave out the literal in which two cases differ: what holds in both phases holds."""
        found = dict.fromkeys(frozenset(int(x) for x in case if x is not True) for case in cases)
        for case in list(found):
            for x in case:
                rest = case - {x}
                if rest | {int(self._clauses.negated(x))} in found:
                    found[rest] = None
        return [case for case in found if not any(other < case for other in found)]
