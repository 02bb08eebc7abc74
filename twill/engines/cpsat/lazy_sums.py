"""Sums that must fit when something starts: registers, memories, units of capacity above one.

Usage rises only when something starts. What is alive then is counted by small integers, each
bounded from below by what makes instances live: too much is never allowed, and a count may be as
low as the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from twill.engines.cpsat.covers import covers
from twill.engines.cpsat.places import Places
from twill.engines.cpsat.time import Literal, Times, negated
from twill.engines.protocol import ADDRESSES, Hint
from twill.memory.addresses import Conflict, allocate
from twill.problem.groups import UNLIMITED, Share, least_allocation, shares
from twill.problem.lifetimes import (
    Moment,
    Occupant,
    memory_occupants,
    register_occupants,
    unit_occupants,
)
from twill.problem.operations import RegisterFile
from twill.problem.problem import Problem
from twill.problem.solution import Assignment, Sum, excess, sums_of

STATED_PER_ROUND = 4
FEW_OCCUPANTS = 12


class Sums:
    """States sums over the operations of a problem."""

    def __init__(self, problem: Problem, times: Times, places: Places) -> None:
        self._problem, self._times, self._places = problem, times, places
        self._model = times.model
        self._rings: dict[tuple[str, int], Any] = {}
        self._memories = {f"memory {e.name}": e for e in sums_of(problem, ["memory"])}
        self._stated: dict[Hint, None] = {}

    # -- families -------------------------------------------------------------------------------

    def registers(self) -> None:
        """On every group what is live fits its allocation, and allocations fit the file."""
        file = self._problem.registers
        if file is None:
            return
        occupants = register_occupants(self._problem)
        room = self._allocations()
        for starting in occupants:
            most = max((group.live_limit for group in self._places.groups), default=0)
            terms = self._alive_at(occupants, starting, most)
            terms += self._pinned_with(starting.start)
            total = sum(terms)
            limit = self._model.new_int_var(0, min(most, file.limit - file.reserve), "")
            self._model.add(total <= limit)
            for g, here in self._places.on[starting.start].items():
                condition = [here] if here is not True else []
                live_limit = self._places.groups[g].live_limit
                if live_limit < most:
                    self._model.add(limit <= live_limit).only_enforce_if(condition)
                self._model.add(limit <= room[g]).only_enforce_if(condition)

    def few_in_memory(self) -> None:
        """State the sums of memories that few operations use, at all starts from the outset."""
        for name, entry in self._memories.items():
            if len(entry.occupants) <= FEW_OCCUPANTS:
                for event in range(len(entry.occupants)):
                    self._fit(name, event)
                for cover in covers(self._problem, entry.name):
                    self._never_again(cover)

    @property
    def hints(self) -> tuple[Hint, ...]:
        """What of the memories had to be stated."""
        return tuple(self._stated)

    def take(self, hints: Iterable[Hint]) -> None:
        """State what had to be stated for similar questions."""
        for name, what in hints:
            if isinstance(what, Conflict):
                self._never_again(what)
            elif isinstance(what, int) and name in self._memories:
                self._fit(name, what)

    def holds(self, found: Assignment, interval: int) -> bool:
        """Return whether a solution exceeds no memory and has addresses."""
        return not any(
            excess(self._problem, interval, entry, found) for entry in self._memories.values()
        ) and not isinstance(allocate(self._problem, interval, found), Conflict)

    def memory(self, found: Assignment, interval: int) -> bool:
        """State that memories hold what is alive where `found` exceeds them most, if anywhere.

        Most of the many starts never matter. Addresses are looked for once sizes fit.
        """
        exceeded = False
        for name, entry in self._memories.items():
            for event in excess(self._problem, interval, entry, found)[:STATED_PER_ROUND]:
                self._fit(name, event)
                exceeded = True
        return exceeded or self._lacks_addresses(found, interval)

    def _fit(self, name: str, event: int) -> None:
        """State that a memory holds what is alive at a start, rings with all their slots."""
        if (name, event) in self._stated:
            return
        self._stated[name, event] = None
        entry = self._memories[name]
        starting = entry.occupants[event]
        assert entry.capacity is not None
        terms = []
        for position, occupant in enumerate(entry.occupants):
            lower = self._lower_bounds(occupant, starting) if occupant.weight else []
            if not lower:
                continue
            count = self._counter(lower, entry.capacity // occupant.weight)
            if position in entry.rings:
                slots = self._slots(entry, position)
                if position == event:
                    self._model.add(count >= slots)
                else:
                    some = self._model.new_bool_var("")
                    for condition, amount in lower:
                        self._model.add(amount <= 0).only_enforce_if([*condition, ~some])
                    self._model.add(count >= slots).only_enforce_if(some)
            terms.append(occupant.weight * count)
        self._model.add(sum(terms) <= entry.capacity)

    def _slots(self, entry: Sum, position: int) -> Any:
        """Return how many slots the ring of an occupant has at least."""
        key = (entry.name, position)
        if key not in self._rings:
            ring = entry.rings[position]
            assert entry.capacity is not None
            most = entry.capacity // ring.weight
            self._rings[key] = self._counter(self._lower_bounds(ring, ring), most)
        return self._rings[key]

    def _counter(self, lower: Sequence[tuple[list[Literal], Any]], most: int) -> Any:
        """Return a number up to `most` that is no less than the amounts whose conditions hold."""
        count = self._model.new_int_var(0, max(0, most), "")
        for condition, amount in lower:
            self._model.add(count >= amount).only_enforce_if(condition)
        return count

    def _lacks_addresses(self, found: Assignment, interval: int) -> bool:
        """State that what has no addresses together is never alive so again, if there is any."""
        conflict = allocate(self._problem, interval, found)
        if not isinstance(conflict, Conflict):
            return False
        self._never_again(conflict)
        return True

    def _never_again(self, conflict: Conflict) -> None:
        """State that not all facts of a conflict hold."""
        if (ADDRESSES, conflict) in self._stated:
            return
        self._stated[ADDRESSES, conflict] = None
        occupants = memory_occupants(self._problem, conflict.memory)
        alive = []
        for alternatives in conflict.facts:
            fact = self._model.new_bool_var("")
            for position, event, count in alternatives:
                for condition, amount in self._lower_bounds(occupants[position], occupants[event]):
                    self._model.add(amount <= count - 1).only_enforce_if([*condition, ~fact])
            alive.append(fact)
        self._model.add_bool_or([~fact for fact in alive])

    def capacity(self) -> None:
        """Reservations fit units of several instances."""
        for unit, capacity in self._problem.capacities.items():
            if capacity > 1:
                self.at_most(capacity, unit_occupants(self._problem, unit))

    def at_most(self, capacity: int, mine: Sequence[Occupant]) -> None:
        """State that reservations of one kind never exceed a capacity."""
        for starting in mine:
            self._model.add(sum(self._busy_at(mine, starting)) <= capacity)

    # -- the register file ------------------------------------------------------------------------

    def _allocations(self) -> list[Any]:
        """Return what each group may have live, with all allocations together in the file."""
        file = self._problem.registers
        assert file is not None
        least = least_allocation(file, 0)
        steps = (file.most - least) // file.step
        room: list[Any] = [0] * len(self._places.groups)
        total, blocks = [], []
        together = shares(file, self._places.groups)
        for share in together:
            more = self._model.new_int_var(0, steps, f"steps of {share.members}")
            for size, used in self._blocks(file, share):
                taken = more * used if isinstance(used, bool) else self._taken(more, steps, used)
                total.append(size * (least * used + file.step * taken))
                blocks.append(size * used)
            for g in share.members:
                room[g] = least - file.reserve + file.step * more
        pools = [file.pool(count) for count in range(sum(s.blocks for s in together) + 1)]
        pool = self._model.new_int_var(min(pools), max(pools), "register pool")
        self._model.add_element(sum(blocks), pools, pool)
        self._model.add(sum(total) <= pool)
        return room

    def _blocks(self, file: RegisterFile, share: Share) -> list[tuple[int, Literal]]:
        """Return the blocks that a share takes together, each with a literal that says so."""
        if share.blocks == 1 or len(share.members) == 1:
            members = [self._places.used[g] for g in share.members]
            anyone = self._times.either(members)
            self._times.clause(negated(anyone), *members)
            return [(share.blocks, anyone)]
        warps = sum(self._places.groups[g].warps * self._places.used[g] for g in share.members)
        found: list[tuple[int, Literal]] = []
        for before in range(0, share.blocks * file.warps, file.warps):
            used = self._model.new_bool_var(f"more than {before} warps of {share.members}")
            self._model.add(warps >= before + 1).only_enforce_if(used)
            self._model.add(warps <= before).only_enforce_if(~used)
            found.append((1, used))
        return found

    def _taken(self, more: Any, steps: int, used: Any) -> Any:
        """Return the steps of an allocation that a block takes, if it is used."""
        taken = self._model.new_int_var(0, steps, "")
        self._model.add(taken >= more).only_enforce_if(used)
        return taken

    def _pinned_with(self, v: int) -> list[Any]:
        return [
            pinned.registers
            * self._times.either([self._places.same(user, v) for user in pinned.used_by])
            for pinned in self._problem.pinned
        ]

    # -- counting instances -----------------------------------------------------------------------

    def _alive_at(self, occupants: Sequence[Occupant], starting: Occupant, most: int) -> list[Any]:
        """Return weight times number of what is alive when `starting` starts."""
        terms = []
        for occupant in occupants:
            if not occupant.weight:
                continue
            lower = self._lower_bounds(occupant, starting)
            if lower:
                count = self._counter(lower, min(most, UNLIMITED) // occupant.weight)
                terms.append(occupant.weight * count)
        return terms

    def _lower_bounds(
        self, occupant: Occupant, starting: Occupant
    ) -> list[tuple[list[Literal], Any]]:
        """Return (conditions, number of instances alive at the start) for each end."""
        v, always = starting.start, []
        if occupant.group_of is not None:
            always.append(self._places.same(occupant.group_of, v))
        if occupant.apart is not None:
            always.append(negated(self._places.same(*occupant.apart)))
        found = []
        for end in occupant.ends:
            conditions = [*always, *self._places.conditions(end)]
            offsets = [(0, conditions)]
            if occupant.hop:
                apart = negated(self._places.same(end.operation, v))
                offsets.append((occupant.hop, [*conditions, apart]))
            for later, needed in offsets:
                if not any(x is False for x in needed):
                    amount = self._instances(occupant, end, later, starting)
                    found.append(([x for x in needed if x is not True], amount))
        return found

    def _instances(self, occupant: Occupant, end: Moment, later: int, starting: Occupant) -> Any:
        """Return how many instances that begin and end `later` exist when another one starts.

        Before it starts instances have begun up to its stage, less one if its row is before
        theirs; what has ended is counted by how many whole intervals the end's row is past it.
        """
        u, v, c = occupant.start, starting.start, end.operation
        stages = self._times.stages[c] - self._times.stages[u] if c != u else 0
        begun = self._intervals(v, u, occupant.delay - starting.delay)
        past = self._intervals(c, v, 1 - end.offset - later + starting.delay)
        return stages + end.iterations + 1 + past + begun

    def _intervals(self, v: int, u: int, amount: int) -> Any:
        """Return the largest n for which v's row is `amount` and n whole intervals after u's."""
        times, n = self._times, 0
        while times.later_row(v, u, amount, n) is not True:
            n -= 1
        reached: list[Literal] = []
        while (literal := times.later_row(v, u, amount, n + 1 + len(reached))) is not False:
            reached.append(literal)
        return n + sum(reached)

    # -- units ------------------------------------------------------------------------------------

    def _busy_at(self, mine: Sequence[Occupant], starting: Occupant) -> list[Any]:
        """Return count times literal for each reservation in progress when `starting` starts."""
        times, v, terms = self._times, starting.start, []
        for occupant in mine:
            u, length = occupant.start, occupant.ends[0].offset - occupant.delay
            shift = occupant.delay - starting.delay
            first = -(abs(shift) + length) // times.low - 2
            for m in range(first, -first + 1):
                begun = times.later_row(v, u, shift, -m)
                ended = times.later_row(v, u, shift + length, -m)
                if begun is False or ended is True:
                    continue
                if begun is True and ended is False:
                    terms.append(occupant.weight)
                    continue
                busy = self._model.new_bool_var("")
                times.clause(busy, negated(begun), ended)
                terms.append(occupant.weight * busy)
        return terms
