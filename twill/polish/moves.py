"""Changes of a program, one at a time, which a search tries at random."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from random import Random

from twill.lower.pipeline import Pipeline, turns
from twill.polish.candidates import Candidate, Programs
from twill.polish.tuning import TUNING
from twill.problem.operations import Edge
from twill.problem.solution import Assignment


class Moves:
    """Moves on the programs of a loop.

    `critical`: operations on the critical chain of the program that is changed, with their cycles
    there: half of the moves begin with one of these.
    """

    def __init__(self, programs: Programs, random: Random) -> None:
        self._programs, self._random = programs, random
        problem = programs.problem
        self._operations = problem.operations
        self._takers = [
            [g for g, group in enumerate(programs.groups) if group.takes(o)]
            for o in self._operations
        ]
        self._values = [o.index for o in self._operations if o.registers]
        self._rings = [o.index for o in self._operations if o.streaming]
        self._into: list[list[Edge]] = [[] for _ in self._operations]
        self._from: list[list[Edge]] = [[] for _ in self._operations]
        for edge in programs.dependences:
            self._into[edge.consumer].append(edge)
            self._from[edge.producer].append(edge)
        self.critical: Mapping[int, float] = {}

    def propose(self, candidate: Candidate) -> Candidate | None:
        """Return a changed candidate, None where a change was not possible."""
        for _ in range(self._random.choice(TUNING.changes.several)):
            move = self._random.choices(list(MOVES), list(MOVES.values()))[0]
            changed = move(self, candidate)
            if changed is None:
                return None
            candidate = changed
        return candidate if self._programs.ordered(candidate) else None

    # -- what a move is about -----------------------------------------------------------------

    def _pick(self, among: Collection[int]) -> int:
        """Return an operation, half of the time one on the critical chain."""
        critical = {v: weight for v, weight in self.critical.items() if v in among}
        if critical and self._random.random() < TUNING.changes.critical:
            return self._random.choices(list(critical), list(critical.values()))[0]
        return self._random.choice(sorted(among))

    def _any(self) -> int:
        return self._pick(range(len(self._operations)))

    def _members(self, candidate: Candidate) -> list[int]:
        """Return the operations of some group that has several."""
        groups = [g for g in sorted(set(candidate.group)) if candidate.group.count(g) > 1]
        if not groups:
            return []
        chosen = self._random.choice(groups)
        return [v for v, g in enumerate(candidate.group) if g == chosen]

    def _settled(self, candidate: Candidate, start: list[int], fixed: set[int]) -> Candidate | None:
        """Return the candidate with other times, and others pushed away so that order is kept.

        Half of the time they are pushed by the whole delay of a dependence, otherwise only behind.
        """
        whole = self._random.random() < TUNING.changes.whole
        interval = candidate.interval

        def apart(edge: Edge) -> int:
            if edge.streaming:
                return 0
            return max(1, edge.delay) if whole else 1

        pushes = 0
        for later in (True, False):
            work = sorted(fixed)
            while work:
                pushes += 1
                if pushes > TUNING.changes.pushes:
                    return None
                v = work.pop()
                for edge in self._from[v] if later else self._into[v]:
                    other = edge.consumer if later else edge.producer
                    gap = apart(edge) - edge.distance * interval
                    limit = start[v] + gap if later else start[v] - gap
                    if other not in fixed and (
                        start[other] < limit if later else start[other] > limit
                    ):
                        start[other] = limit
                        work.append(other)
        return replace(candidate, start=tuple(start))

    def _near(self, candidate: Candidate, v: int, time: int) -> int:
        """Return the time nearest to v's that is the same modulo the interval."""
        interval = candidate.interval
        return time + round((candidate.start[v] - time) / interval) * interval

    # -- moves --------------------------------------------------------------------------------

    def shift(self, candidate: Candidate) -> Candidate | None:
        """Move an operation in time."""
        v, interval = self._any(), candidate.interval
        parts = (interval // part for part in TUNING.changes.parts)
        most = self._random.choice((*TUNING.changes.near, *parts)) or 1
        start = list(candidate.start)
        start[v] += self._random.randint(-most, most) or 1
        return self._settled(candidate, start, {v})

    def insert(self, candidate: Candidate) -> Candidate | None:
        """Move an operation before or behind another one of its group."""
        members = self._members(candidate)
        if not members:
            return None
        v = self._pick(members)
        w = self._random.choice([u for u in members if u != v])
        offset = self._random.choice((-1, self._operations[w].issue))
        start = list(candidate.start)
        start[v] = self._near(candidate, v, start[w] + offset)
        return self._settled(candidate, start, {v})

    def exchange(self, candidate: Candidate) -> Candidate | None:
        """Exchange two neighbours of a group."""
        members, interval = self._members(candidate), candidate.interval
        if not members:
            return None
        order = sorted(members, key=lambda v: (candidate.start[v] % interval, v))
        place = (order.index(self._pick(order)) + self._random.choice((0, 1))) % len(order)
        u, v = order[place - 1], order[place]
        start = list(candidate.start)
        ahead = start[u] % interval - start[v] % interval
        start[v] += ahead - (interval if ahead > 0 else 0)
        start[u] += max(1, self._operations[v].issue)
        return self._settled(candidate, start, {u, v})

    def align(self, candidate: Candidate) -> Candidate | None:
        """Start an operation together with another one, or right behind or before it."""
        v = self._any()
        w = self._random.choice([u for u in range(len(self._operations)) if u != v] or [v])
        mine, theirs = self._operations[v].issue, self._operations[w].issue
        offset = self._random.choice((0, theirs // 2, theirs, -mine, -mine // 2))
        start = list(candidate.start)
        start[v] = self._near(candidate, v, start[w] + offset)
        return self._settled(candidate, start, {v})

    def shorten(self, candidate: Candidate) -> Candidate | None:
        """Bring a value's producer and its last reader together, so that it lives shorter."""
        start, interval = list(candidate.start), candidate.interval
        reads = {
            v: [(start[e.consumer] + e.distance * interval, e) for e in self._from[v] if e.carries]
            for v in self._values
        }
        lives = {
            v: self._operations[v].registers * (max(at for at, _ in read) - start[v])
            for v, read in reads.items()
            if read
        }
        long = {v: life for v, life in lives.items() if life > 0}
        if not long:
            return None
        v = self._random.choices(list(long), list(long.values()))[0]
        if self._random.random() < 0.5:
            start[v] = min(at for at, _ in reads[v]) - max(1, self._operations[v].issue)
            return self._settled(candidate, start, {v})
        at, edge = max(reads[v], key=lambda one: one[0])
        start[edge.consumer] -= at - start[v] - max(1, edge.delay)
        return self._settled(candidate, start, {edge.consumer})

    def regroup(self, candidate: Candidate) -> Candidate | None:
        """Let another group issue an operation, and perhaps what depends on it."""
        v = self._any()
        here, group = candidate.group[v], list(candidate.group)
        others = [g for g in self._takers[v] if g != here]
        used = [g for g in others if g in candidate.group]
        new = [g for g in others if g not in candidate.group]
        if not others:
            return None
        tuning = TUNING.changes
        to = self._random.choice(tuning.used_groups * used + new[: tuning.new_groups])
        group[v] = to
        if self._random.random() < 0.5:
            near = [e.consumer for e in self._from[v]] + [e.producer for e in self._into[v]]
            for w in sorted(set(near)):
                if group[w] == here and to in self._takers[w] and self._random.random() < 0.5:
                    group[w] = to
        return replace(candidate, group=tuple(group))

    def phase(self, candidate: Candidate) -> Candidate | None:
        """Move a whole group in time."""
        chosen = self._random.choice(sorted(set(candidate.group)))
        moved = {v for v, g in enumerate(candidate.group) if g == chosen}
        by = self._random.randint(-candidate.interval // 2, candidate.interval // 2) or 1
        start = [time + by * (v in moved) for v, time in enumerate(candidate.start)]
        return self._settled(candidate, start, moved)

    def stage(self, candidate: Candidate) -> Candidate | None:
        """Move an operation by a whole round."""
        v = self._random.randrange(len(self._operations))
        start = list(candidate.start)
        start[v] += self._random.choice((-1, 1)) * candidate.interval
        return self._settled(candidate, start, {v})

    def turn(self, candidate: Candidate) -> Candidate | None:
        """Take turns on units that execute in order, or do not: all of them, or one pair."""
        choices = candidate.choices
        if self._random.random() < TUNING.changes.both_ways:
            return replace(candidate, choices=replace(choices, in_order=not choices.in_order))
        problem, groups = self._programs.problem, self._programs.groups
        found = Assignment(candidate.start, candidate.group, groups)
        names = {g: str(g) for g in sorted(set(candidate.group))}
        taken = turns(Pipeline(problem, candidate.interval, found, names))
        pairs = sorted({(turn.before, turn.after) for turn in taken} | choices.dropped)
        if not pairs:
            return None
        dropped = choices.dropped ^ {self._random.choice(pairs)}
        return replace(candidate, choices=replace(choices, dropped=dropped))

    def ring(self, candidate: Candidate) -> Candidate | None:
        """Give a streaming load one slot more or less."""
        if not self._rings:
            return None
        v, slots = self._random.choice(self._rings), dict(candidate.choices.slots)
        slots[v] = max(1, slots.get(v, 2) + self._random.choice((-1, 1)))
        return replace(candidate, choices=replace(candidate.choices, slots=slots))

    def stretch(self, candidate: Candidate) -> Candidate | None:
        """Let all times be nearer to each other, or farther apart."""
        interval = max(1, int(candidate.interval * self._random.choice(TUNING.changes.stretches)))
        start = tuple(time * interval // candidate.interval for time in candidate.start)
        return replace(candidate, interval=interval, start=start)

    def wrap(self, candidate: Candidate) -> Candidate | None:
        """Let the next round begin sooner or later, with all times as they are."""
        interval = max(1, int(candidate.interval * self._random.choice(TUNING.changes.wraps)))
        return replace(candidate, interval=interval)


# How often each is tried, relative to each other.
MOVES: dict[Callable[[Moves, Candidate], Candidate | None], float] = {
    Moves.shift: TUNING.changes.shift,
    Moves.insert: TUNING.changes.insert,
    Moves.exchange: TUNING.changes.exchange,
    Moves.align: TUNING.changes.align,
    Moves.shorten: TUNING.changes.shorten,
    Moves.regroup: TUNING.changes.regroup,
    Moves.phase: TUNING.changes.phase,
    Moves.stage: TUNING.changes.stage,
    Moves.turn: TUNING.changes.turn,
    Moves.ring: TUNING.changes.ring,
    Moves.stretch: TUNING.changes.stretch,
    Moves.wrap: TUNING.changes.wrap,
}
