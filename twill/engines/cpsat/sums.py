"""Sums that must fit when something starts: registers, memories, units of capacity above one.

Usage rises only when something starts. Live instances are counted by small integers, each bounded
from below by what makes instances live. Too much is never allowed, and a count may be as low as the
truth.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from twill.engines.cpsat.times import Times
from twill.engines.families import Literal, Places
from twill.engines.questions import ADDRESSES, Hint
from twill.engines.tuning import TUNING
from twill.memory import Conflict, allocate, meeting
from twill.problem import Problem, rules
from twill.problem.groups import Share, shares
from twill.problem.lifetimes import (
    Chain,
    Moment,
    Occupant,
    chains,
    memory_occupants,
    register_occupants,
    unit_occupants,
)
from twill.problem.operations import RegisterFile
from twill.problem.solution import Assignment, Sum, sums_of, violated


class Sums:
    """States sums over the operations of a problem."""

    def __init__(self, problem: Problem, times: Times, places: Places) -> None:
        self._problem, self._times, self._places = problem, times, places
        self._clauses, self._model = times.clauses, times.model
        self._instances = _Instances(times, places)
        self._rings: dict[tuple[str, int], Any] = {}
        self._memories = {entry.key: entry for entry in sums_of(problem, ["memory"])}
        self._stated: dict[Hint, None] = {}

    # -- stated from the outset -------------------------------------------------------------------

    def capacity(self) -> None:
        """Reservations fit units of several instances."""
        for unit, capacity in self._problem.capacities.items():
            if capacity > 1:
                self.at_most(capacity, unit_occupants(self._problem, unit))

    def at_most(self, capacity: int, mine: Sequence[Occupant]) -> None:
        """State that reservations of one kind never exceed a capacity."""
        for starting in mine:
            self._model.add(sum(self._instances.busy(mine, starting)) <= capacity)

    def registers(self) -> None:
        """On every group what is live fits its allocation, and allocations fit the file."""
        file, groups = self._problem.registers, self._places.groups
        if file is None:
            return
        occupants = register_occupants(self._problem)
        room = self._room(file)
        most = max((group.live_limit for group in groups), default=0)
        for starting in occupants:
            total = sum(self._live(occupants, starting, most))
            limit = self._model.new_int_var(0, min(most, file.limit - file.reserve), "")
            self._model.add(total <= limit)
            for g, here in self._places.on[starting.start].items():
                elsewhere = self._clauses.negated(here)
                if groups[g].live_limit < most:
                    self._clauses.add(limit <= groups[g].live_limit, [elsewhere])
                self._clauses.add(limit <= room[g], [elsewhere])

    def _live(self, occupants: Sequence[Occupant], starting: Occupant, most: int) -> list[Any]:
        """Return the registers of each that is live when `starting` starts, where it starts."""
        terms = []
        for occupant in occupants:
            lower = self._instances.alive(occupant, starting) if occupant.weight else []
            if lower:
                count = self._instances.counted(lower, most // occupant.weight)
                terms.append(occupant.weight * count)
        for pinned in self._problem.pinned:
            users = [self._places.same(user, starting.start) for user in pinned.used_by]
            terms.append(pinned.registers * self._clauses.either(users))
        return terms

    def _room(self, file: RegisterFile) -> list[Any]:
        """Return of each group the registers per thread that may be live; all fit the file."""
        least = rules.allocation(file, 0)
        steps = (file.most - least) // file.step
        total, blocks, room = [], [], [0] * len(self._places.groups)
        together = shares(file, self._places.groups)
        for share in together:
            more = self._model.new_int_var(0, steps, f"steps of {share.members}")
            for size, used in self._blocks(file, share):
                taken = more * used if isinstance(used, bool) else self._if_used(more, steps, used)
                total.append(size * (least * used + file.step * taken))
                blocks.append(size * used)
            for g in share.members:
                room[g] = least - file.reserve + file.step * more
        pools = [rules.pool(file, count) for count in range(sum(s.blocks for s in together) + 1)]
        pool = self._model.new_int_var(min(pools), max(pools), "register pool")
        self._model.add_element(sum(blocks), pools, pool)
        self._model.add(sum(total) <= pool)
        return room

    def _blocks(self, file: RegisterFile, share: Share) -> list[tuple[int, Literal]]:
        """Return the blocks that a share takes together, each with a literal that says so."""
        used, groups = self._places.used, self._places.groups
        if share.blocks == 1 or len(share.members) == 1:
            return [(share.blocks, self._places.any_of([used[g] for g in share.members]))]
        warps, members = sum(groups[g].warps * used[g] for g in share.members), share.members
        return [
            (1, self._clauses.reified(warps, before + 1, f"more than {before} warps of {members}"))
            for before in range(0, share.blocks * file.warps, file.warps)
        ]

    def _if_used(self, more: Any, steps: int, used: Literal) -> Any:
        """Return the steps of an allocation that a block takes, if it is used."""
        taken = self._model.new_int_var(0, steps, "")
        self._model.add(taken >= more).only_enforce_if(used)
        return taken

    def few_in_memory(self) -> None:
        """State the sums of memories with a small number of users, at all starts."""
        for name, entry in self._memories.items():
            if len(entry.occupants) <= TUNING.engines.few_occupants:
                self.take((name, event) for event in range(len(entry.occupants)))
                self.take((ADDRESSES, cover) for cover in covers(self._problem, entry.name))

    # -- stated where a solution exceeds them -----------------------------------------------------

    @property
    def hints(self) -> tuple[Hint, ...]:
        """Sums of memories that had to be stated."""
        return tuple(self._stated)

    def exceeded(self, interval: int, found: Assignment) -> list[Hint]:
        """Return where a solution exceeds memories most, or else what has no addresses in it.

        Most of the many starts never matter. Addresses are looked for once sizes fit.
        """
        exceeded = violated(self._problem, interval, self._memories, found)
        if exceeded:
            return list(exceeded)
        conflict = allocate(self._problem, interval, found)
        return [(ADDRESSES, conflict)] if isinstance(conflict, Conflict) else []

    def take(self, hints: Iterable[Hint]) -> None:
        """State what a solution exceeded, of this question or of a similar one."""
        for name, what in hints:
            known = (ADDRESSES if isinstance(what, Conflict) else name, what) in self._stated
            if isinstance(what, Conflict) and not known:
                self._stated[ADDRESSES, what] = None
                self._never_again(what)
            elif isinstance(what, int) and name in self._memories and not known:
                self._stated[name, what] = None
                self._fit(self._memories[name], what)

    def _fit(self, entry: Sum, event: int) -> None:
        """State that a memory holds what is alive at a start, rings with all their slots."""
        starting = entry.occupants[event]
        assert entry.capacity is not None
        terms = []
        for position, occupant in enumerate(entry.occupants):
            lower = self._instances.alive(occupant, starting) if occupant.weight else []
            if not lower:
                continue
            count = self._instances.counted(lower, entry.capacity // occupant.weight)
            if position in entry.rings:
                slots = self._slots(entry, position)
                if position == event:
                    self._model.add(count >= slots)
                else:
                    some = self._clauses.fresh()
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
            lower = self._instances.alive(ring, ring)
            self._rings[key] = self._instances.counted(lower, entry.capacity // ring.weight)
        return self._rings[key]

    def _never_again(self, conflict: Conflict) -> None:
        """State that not all facts of a conflict hold."""
        occupants = memory_occupants(self._problem, conflict.memory)
        facts = []
        for alternatives in conflict.facts:
            fact = self._clauses.fresh()
            for position, event, count in alternatives:
                alive = self._instances.alive(occupants[position], occupants[event])
                for condition, amount in alive:
                    self._model.add(amount <= count - 1).only_enforce_if([*condition, ~fact])
            facts.append(fact)
        self._model.add_bool_or([~fact for fact in facts])


def covers(problem: Problem, memory: str) -> list[Conflict]:
    """Return the least sets of results of which not every two may meet.

    Sums at one moment do not suffice. Around the interval three results can meet two by two, never
    all at once, and still need addresses of their own.
    """
    found = chains(problem, memory)
    if len(found) > TUNING.engines.few_chains:
        return []
    room = problem.memories[memory] - problem.fixed[memory]
    taken = [problem.operations[c.members[0][0]].footprint * (c.period or 1) for c in found]
    least: list[frozenset[int]] = []
    for size in range(3, len(found) + 1):
        for members in map(frozenset, itertools.combinations(range(len(found)), size)):
            too_much = sum(taken[m] for m in members) > room
            if too_much and not any(smaller < members for smaller in least):
                least.append(members)
    position = {
        occupant.start: position
        for position, occupant in enumerate(memory_occupants(problem, memory))
        if problem.operations[occupant.start].memory == memory
    }
    placed = [Chain(tuple((position[v], later) for v, later in c.members)) for c in found]
    pairs = [itertools.combinations(sorted(cover), 2) for cover in least]
    return [Conflict(memory, tuple(meeting(placed[a], placed[b]) for a, b in p)) for p in pairs]


class _Instances:
    """Counts the instances that are alive when something starts."""

    def __init__(self, times: Times, places: Places) -> None:
        self._times, self._places, self._model = times, places, times.model

    def counted(self, lower: Sequence[tuple[list[Literal], Any]], most: int) -> Any:
        """Return a number up to `most` that is no less than the amounts whose conditions hold."""
        count = self._model.new_int_var(0, max(0, most), "")
        for condition, amount in lower:
            self._model.add(count >= amount).only_enforce_if(condition)
        return count

    def alive(self, occupant: Occupant, starting: Occupant) -> list[tuple[list[Literal], Any]]:
        """Return (conditions, number of instances alive at the start) for each end."""
        v, places, always = starting.start, self._places, []
        if occupant.group_of is not None:
            always.append(places.same(occupant.group_of, v))
        if occupant.apart is not None:
            always.append(places.apart(*occupant.apart))
        found = []
        for end in occupant.ends:
            conditions = [*always, *places.conditions(end)]
            offsets = [(0, conditions)]
            if occupant.hop:
                offsets.append((occupant.hop, [*conditions, places.apart(end.operation, v)]))
            for later, needed in offsets:
                if not any(x is False for x in needed):
                    amount = self._until(occupant, end, later, starting)
                    found.append(([x for x in needed if x is not True], amount))
        return found

    def _until(self, occupant: Occupant, end: Moment, later: int, starting: Occupant) -> Any:
        """Return how many instances that begin and end `later` exist when another one starts.

        Before it starts instances have begun up to its stage, less one if its row is before theirs.
        Ended ones are counted by how many whole intervals the end's row is past it.
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

    def busy(self, mine: Sequence[Occupant], starting: Occupant) -> list[Any]:
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
                busy = times.clauses.fresh()
                times.clauses.clause(busy, times.clauses.negated(begun), ended)
                terms.append(occupant.weight * busy)
        return terms
