"""Sums stated where a solution violates them: registers, memories, units of capacity above one.

What is alive when something starts is counted by instances, the most recent one first. With rows
and stages the j-th most recent instance needs a handful of clauses, however many stages there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from twill.bounds.least import average_registers
from twill.engines.protocol import ADDRESSES, Hint
from twill.engines.yices.diagram import Diagram
from twill.engines.yices.system import System
from twill.engines.yices.terms import Literal
from twill.memory.addresses import Conflict, allocate
from twill.problem.groups import Share, allocated, least_allocation, shares
from twill.problem.lifetimes import Moment, Occupant, memory_occupants
from twill.problem.operations import RegisterFile
from twill.problem.problem import Problem
from twill.problem.solution import Assignment, Sum, demand, excess, peaks, sums_of

STATED_PER_ROUND = 4

Event = tuple[str, int]
"""A sum by name, and the position of the occupant at whose start it is stated."""


class Counts:
    """The lazily stated sums of a system."""

    def __init__(self, system: System, hints: Iterable[Hint] = ()) -> None:
        self._system, self._clauses = system, system.clauses
        self._sums = {_key(entry): entry for entry in sums_of(system.problem, system.families)}
        self._counted: dict[tuple[str, int, int, int], Literal] = {}
        self._diagrams: dict[int, Diagram] = {}
        self._levels: list[list[tuple[int, Literal]]] | None = None
        self.stated: list[Event] = []
        self.conflicts: list[Conflict] = []
        for name, what in hints:
            if isinstance(what, Conflict) and "memory" in system.families:
                self._never_again(what)
            elif isinstance(what, int) and name in self._sums:
                self._state(name, what)

    @property
    def hints(self) -> tuple[Hint, ...]:
        """What had to be stated."""
        return (*self.stated, *((ADDRESSES, conflict) for conflict in self.conflicts))

    def state_violated(self, assignment: Assignment) -> bool:
        """State the sums that `assignment` violates most; return whether there were any."""
        found = False
        problem, interval = self._system.problem, self._system.interval
        for name, entry in self._sums.items():
            for event in excess(problem, interval, entry, assignment)[:STATED_PER_ROUND]:
                self._state(name, event)
                found = True
        return found

    def learn_addresses(self, assignment: Assignment) -> bool:
        """State that what has no addresses together is never alive so again, if there is any."""
        system = self._system
        if "memory" not in system.families:
            return False
        conflict = allocate(system.problem, system.interval, assignment)
        if not isinstance(conflict, Conflict):
            return False
        self._never_again(conflict)
        return True

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

    def share_registers(self, assignment: Assignment) -> Assignment | None:
        """Return the assignment with registers allocated; None once more had to be stated."""
        problem = self._system.problem
        stated = problem.registers is not None and "registers" in self._system.families
        if not stated or all(g.allocation for g in assignment.groups):
            return assignment
        needed = peaks(problem, self._system.interval, assignment)
        groups = allocated(problem, assignment.groups, needed)
        if groups is not None:
            return Assignment(assignment.start, assignment.group, groups)
        fresh = self._levels is None
        if fresh:
            self._share_the_file()
        if not self._state_peaks(assignment, needed) and not fresh:
            raise AssertionError("the register file was stated and is exceeded")
        return None

    # -- one sum at one start -------------------------------------------------------------------

    def _state(self, name: str, event: int) -> None:
        """State that what is alive when occupant `event` starts fits."""
        if (name, event) in self.stated:
            raise AssertionError(f"{name} at {event} was stated and is violated")
        self.stated.append((name, event))
        entry = self._sums[name]
        with self._clauses.under(self._system.guards.get(entry.family)):
            diagram = Diagram(self._clauses, self._items(name, entry, event))
            if entry.capacity is not None:
                self._clauses.clause(diagram.at_most(entry.capacity))
                return
            self._diagrams[event] = diagram
            for g, here in self._system.placing.on[entry.occupants[event].start].items():
                limit = self._system.placing.groups[g].live_limit
                self._clauses.clause(self._clauses.negated(here), diagram.at_most(limit))
        if self._levels is not None:
            self._link(event)

    def _items(self, name: str, entry: Sum, event: int) -> list[tuple[int, Literal]]:
        starting = entry.occupants[event]
        most = entry.capacity
        if most is None:
            most = max(group.live_limit for group in self._system.placing.groups)
        items: list[tuple[int, Literal]] = []
        for position, occupant in enumerate(entry.occupants):
            alive = self._instances(name, position, occupant, event, starting, most)
            items.extend((occupant.weight, literal) for literal in alive)
        if entry.capacity is None:
            for pinned in self._system.problem.pinned:
                users = [self._system.placing.same(u, starting.start) for u in pinned.used_by]
                items.append((pinned.registers, self._clauses.either(users)))
        return items

    def _instances(
        self,
        name: str,
        position: int,
        occupant: Occupant,
        event: int,
        starting: Occupant,
        most: int,
    ) -> Iterator[Literal]:
        """Yield a literal for each instance that may be alive, the most recent first."""
        if not occupant.weight:
            return
        if self._sums[name].family == "capacity":
            yield from self._overlaps(occupant, starting)
            return
        ring = position in self._sums[name].rings
        for back in range(most // occupant.weight + 1):
            key = (name, position, event, back)
            if key not in self._counted:
                self._counted[key] = self._alive(occupant, starting, back)
            literal = self._counted[key]
            if ring and (back or position == event):
                literal = self._with_its_ring(name, position, event, back)
            if literal is False:
                return
            yield literal

    def _with_its_ring(self, name: str, position: int, event: int, back: int) -> Literal:
        """Return a literal that is true if an instance is alive and its ring has so many slots."""
        own = self._counted_at_least(self._sums[name].name, position, position, back + 1)
        if position == event:
            return own
        some, plain = (self._counted[name, position, event, b] for b in (0, back))
        return self._any_of([[plain], [some, own]])

    def _counted_at_least(self, memory: str, position: int, event: int, count: int) -> Literal:
        """Return a literal that is true if a start sees at least `count` instances alive."""
        occupants = memory_occupants(self._system.problem, memory)
        occupant = occupants[position]
        key = (f"{'seen' if occupant.hop else 'memory'} {memory}", position, event, count - 1)
        if key not in self._counted:
            self._counted[key] = self._alive(occupant, occupants[event], count - 1)
        return self._counted[key]

    def _alive(self, occupant: Occupant, starting: Occupant, back: int) -> Literal:
        """Return a literal that is true if the instance before `back` others is still alive."""
        placing, clauses = self._system.placing, self._clauses
        always: list[Literal] = []
        if occupant.group_of is not None:
            always.append(placing.same(occupant.group_of, starting.start))
        if occupant.apart is not None:
            always.append(clauses.negated(placing.same(*occupant.apart)))
        cases: list[list[Literal]] = []
        for end in occupant.ends:
            counts = [*always, *(clauses.negated(x) for x in placing.unless(end))]
            cases += self._outlives(occupant, starting, back, end, counts, 0)
            if occupant.hop:
                apart = clauses.negated(placing.same(end.operation, starting.start))
                far = [*counts, apart]
                cases += self._outlives(occupant, starting, back, end, far, occupant.hop)
        return self._any_of(cases)

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
        low, high = rows.range_of(v, u) if u != v else (0, 0)
        for turns in range((low - shift) // interval, (high - shift) // interval + 1):
            begun = rows.at_least(v, u, turns * interval + shift)
            next_begun = rows.at_least(v, u, (turns + 1) * interval + shift)
            if begun is not False and next_begun is not True:
                yield turns, [begun, self._clauses.negated(next_begun)]

    def _overlaps(self, occupant: Occupant, starting: Occupant) -> Iterator[Literal]:
        """Yield a literal for each shift at which a reservation may cover another's start."""
        rows, interval = self._system.clock.rows, self._system.interval
        u, v, end = occupant.start, starting.start, occupant.ends[0].offset
        low, high = rows.range_of(v, u) if u != v else (0, 0)
        for m in self._system.shifts(
            low + starting.delay - end + 1, high + starting.delay - occupant.delay
        ):
            begun = rows.at_least(v, u, m * interval + occupant.delay - starting.delay)
            ends = rows.at_least(u, v, 1 + starting.delay - end - m * interval)
            yield self._any_of([[begun, ends]])

    def _any_of(self, cases: Sequence[Sequence[Literal]]) -> Literal:
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

    # -- the register file ------------------------------------------------------------------------

    def _share_the_file(self) -> None:
        """State that the allocations of all groups fit the register file."""
        file = self._system.problem.registers
        assert file is not None
        placing, clauses = self._system.placing, self._clauses
        self._levels = [[] for _ in placing.groups]
        least = least_allocation(file, 0)
        items: list[tuple[int, Literal]] = []
        unused: list[tuple[int, Literal]] = []
        with clauses.under(self._system.guards.get("registers")):
            for share in shares(file, placing.groups):
                steps: list[tuple[int, Literal]] = []
                for level in range(least + file.step, file.most + 1, file.step):
                    more = clauses.fresh()
                    if steps:
                        clauses.clause(clauses.negated(more), steps[-1][1])
                    steps.append((level, more))
                together = self._blocks(file, share)
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
            self._state_the_pool(file, Diagram(clauses, items), unused)
        for event in list(self._diagrams):
            self._link(event)
        self._link_averages()

    def _blocks(self, file: RegisterFile, share: Share) -> list[tuple[int, Literal]]:
        """Return the blocks that a share takes together, each with a literal that says so."""
        placing, clauses = self._system.placing, self._clauses
        if share.blocks == 1 or len(share.members) == 1:
            members = [placing.used[g] for g in share.members]
            used = clauses.either(members)
            clauses.clause(clauses.negated(used), *members)
            return [(share.blocks, used)]
        warps = [(placing.groups[g].warps, placing.used[g]) for g in share.members]
        idle = [(width, clauses.negated(used)) for width, used in warps]
        few, many = Diagram(clauses, warps), Diagram(clauses, idle)
        total, found = sum(width for width, _ in warps), list[tuple[int, Literal]]()
        for before in range(0, share.blocks * file.warps, file.warps):
            used = clauses.fresh()
            clauses.clause(used, few.at_most(before))
            clauses.clause(clauses.negated(used), many.at_most(total - before - 1))
            found.append((1, used))
        return found

    def _state_the_pool(
        self, file: RegisterFile, allocated: Diagram, unused: Sequence[tuple[int, Literal]]
    ) -> None:
        """State that what is allocated fits what a launch of the used blocks gives."""
        used = [(blocks, self._clauses.negated(idle)) for blocks, idle in unused]
        few, many = Diagram(self._clauses, used), Diagram(self._clauses, unused)
        most = sum(blocks for blocks, _ in used)
        for count in range(1, most + 1):
            fewer, more = few.at_most(count - 1), many.at_most(most - count - 1)
            self._clauses.clause(fewer, more, allocated.at_most(file.pool(count)))

    def _link_averages(self) -> None:
        """State that what values take of a group on average fits what is allocated to it."""
        system = self._system
        averages = average_registers(system.problem, system.interval)
        for g in range(len(system.placing.groups)):
            items = [
                (average, system.placing.on[v][g])
                for v, average in enumerate(averages)
                if average and g in system.placing.on[v]
            ]
            here: Literal = True
            self._link_levels(g, here, Diagram(self._clauses, items))

    def _link(self, event: int) -> None:
        """State that what is alive at a start fits what is allocated to its group."""
        starting = self._sums["registers"].occupants[event].start
        for g, here in self._system.placing.on[starting].items():
            self._link_levels(g, here, self._diagrams[event])

    def _link_levels(self, g: int, here: Literal, diagram: Diagram) -> None:
        """State that the items of a diagram fit each level of a group's allocation."""
        file = self._system.problem.registers
        assert file is not None
        assert self._levels is not None
        clauses = self._clauses
        known: Literal | None = None
        with clauses.under(self._system.guards.get("registers")):
            for level, more in reversed(self._levels[g]):
                below = min(level - file.step, file.limit) - file.reserve
                fits = diagram.at_most(below)
                if known is None or fits != known:
                    clauses.clause(clauses.negated(here), more, fits)
                known = fits

    def _state_peaks(self, assignment: Assignment, needed: Sequence[int | None]) -> bool:
        """State the starts at which groups need more than the least allocation, if any are new."""
        problem, interval = self._system.problem, self._system.interval
        file = problem.registers
        assert file is not None
        found = False
        for g, live in enumerate(needed):
            if live is None or least_allocation(file, live) == least_allocation(file, 0):
                continue
            event = _peak(problem, interval, self._sums["registers"], assignment, g)
            if ("registers", event) not in self.stated:
                self._state("registers", event)
                found = True
        return found


def _peak(problem: Problem, interval: int, entry: Sum, assignment: Assignment, group: int) -> int:
    """Return the occupant at whose start most registers of a group are live."""
    mine = [i for i, o in enumerate(entry.occupants) if assignment.group[o.start] == group]
    return max(mine, key=lambda i: demand(problem, interval, entry, entry.occupants[i], assignment))


def _key(entry: Sum) -> str:
    """Return a name that is unique: a memory and a unit may share theirs."""
    return entry.name if entry.family == "registers" else f"{entry.family} {entry.name}"
