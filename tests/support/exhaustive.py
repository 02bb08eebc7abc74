"""Every schedule of a small loop, one operation after the other, with what is best level by level.

An operation is given a group and an issue time, and what breaks a rule already is abandoned; the
verifier judges what is left. Groups come from the machine's own pool, not from the solver's choice
of those that can help. Only addresses are asked of the solver's allocation, which has tests of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.judged import violations
from twill.memory import Allocation, allocate
from twill.problem import Problem
from twill.problem.groups import WarpGroup, allocated
from twill.problem.operations import Edge
from twill.problem.solution import Assignment, peaks

Key = tuple[int, int, int, float]
"""Groups, transfers, length, and the negative slack; smaller is better."""

INFINITE = float("inf")


class Exhausted(Exception):  # noqa: N818 - an answer, not an error
    """There were more partial schedules than were to be looked at."""


@dataclass(frozen=True)
class Optimum:
    """The best schedule at one interval."""

    stages: int
    groups: int
    transfers: int
    length: int
    slack: int | None

    @property
    def levels(self) -> dict[str, int]:
        """Values by level, as a proof has them."""
        found = {name: getattr(self, name) for name in ("stages", "groups", "transfers", "length")}
        return found if self.slack is None else {**found, "slack": self.slack}


def optimum(problem: Problem, interval: int, most_stages: int, budget: int) -> Optimum | None:
    """Return the best schedule at an interval, None if there is none of so few stages.

    Raises
    ------
    Exhausted
        If `budget` partial schedules do not suffice.
    """
    enumeration = _Enumeration(problem, interval, budget)
    for stages in range(1, most_stages + 1):
        best = enumeration.best_within(stages * interval)
        if best is not None:
            groups, transfers, length, slack = best
            return Optimum(
                stages, groups, transfers, length, None if slack == -INFINITE else -int(slack)
            )
    return None


class _Enumeration:
    def __init__(self, problem: Problem, interval: int, budget: int) -> None:
        self.problem, self.interval, self.budget = problem, interval, budget
        self.operations, self.edges = problem.operations, problem.edges
        self.order = _connected_order(problem)
        self.start: dict[int, int] = {}
        self.place: dict[int, int] = {}
        self.widths = [p.warps for p in problem.machine.groups for _ in range(p.count)]
        self.kinds: list[bool | None] = [None] * len(self.widths)

    def best_within(self, length: int) -> Key | None:
        """Return the key of the best schedule whose iterations take at most `length`."""
        longest = self._longest_paths(length)
        if longest is None or any(
            o.asynchronous and self.problem.rules == "issue" and o.issue > self.interval
            for o in self.operations
        ):
            return None
        self.longest, self.most, self.best = longest, length, None
        self._extend(0)
        return self.best

    best: Key | None = None

    # -- the tree ---------------------------------------------------------------------------------

    def _extend(self, depth: int) -> None:
        if depth == len(self.order):
            self._judge()
            return
        v = self.order[depth]
        for group in self._groups_for(v):
            opened = self.kinds[group] is None
            self.kinds[group] = self.operations[v].variable_latency
            self.place[v] = group
            for time in self._times_for(v):
                self.start[v] = time
                self.budget -= 1
                if self.budget < 0:
                    raise Exhausted
                if self._is_valid(v) and (self.best is None or self._key() < self.best):
                    self._extend(depth + 1)
                del self.start[v]
            del self.place[v]
            if opened:
                self.kinds[group] = None

    def _groups_for(self, v: int) -> Iterator[int]:
        """Yield groups of v's kind, and of those that are idle the first of each width."""
        operation, seen = self.operations[v], set()
        for group, (width, kind) in enumerate(zip(self.widths, self.kinds, strict=True)):
            if width < operation.warps or kind not in (None, operation.variable_latency):
                continue
            if kind is None and width in seen:
                continue
            if kind is None:
                seen.add(width)
            yield group

    def _times_for(self, v: int) -> range:
        """Return the times at which v may issue; the first operation's only is 0."""
        if not self.start:
            return range(1)
        low = max(t + self.longest[u][v] for u, t in self.start.items())
        high = min(t - self.longest[v][u] for u, t in self.start.items())
        return range(int(low), int(high) + 1)

    def _longest_paths(self, length: int) -> list[list[float]] | None:
        """Return least differences of issue times, by Floyd and Warshall."""
        every = range(len(self.operations))
        paths = [[self.operations[u].cycles - length for _ in every] for u in every]
        found: list[list[float]] = [list(row) for row in paths]
        for v in every:
            found[v][v] = 0
        for e in self.edges:
            least = min(e.delay, e.cross_delay) - e.distance * self.interval
            found[e.producer][e.consumer] = max(found[e.producer][e.consumer], least)
        for k in every:
            for u in every:
                for v in every:
                    found[u][v] = max(found[u][v], found[u][k] + found[k][v])
        return None if any(found[v][v] > 0 for v in every) else found

    # -- rules ------------------------------------------------------------------------------------

    def _is_valid(self, v: int) -> bool:
        return (
            self._keeps_dependences(v)
            and self._fits_units()
            and self._keeps_turns(v)
            and self._keeps_concurrency()
            and self._fits_registers()
            and self._fits_memories()
        )

    def _placed(self) -> Iterator[Edge]:
        return (e for e in self.edges if e.producer in self.start and e.consumer in self.start)

    def _crosses(self, e: Edge) -> bool:
        return self.place[e.producer] != self.place[e.consumer]

    def _read(self, e: Edge) -> int:
        return self.start[e.consumer] + e.distance * self.interval

    def _keeps_dependences(self, v: int) -> bool:
        return all(
            self._read(e) - self.start[e.producer]
            >= (e.cross_delay if self._crosses(e) else e.delay)
            for e in self._placed()
            if v in (e.producer, e.consumer)
        )

    def _fits_units(self) -> bool:
        for unit, capacity in self.problem.capacities.items():
            used = [0] * self.interval
            for v, time in self.start.items():
                for r in self.operations[v].reservations:
                    if r.unit == unit:
                        self._add(used, time + r.start, time + r.start + r.length, r.count)
            if max(used) > capacity:
                return False
        return True

    def _keeps_turns(self, v: int) -> bool:
        for w, time in self.start.items():
            if self.place[w] == self.place[v]:
                continue
            apart = self.start[v] - time
            if apart % self.interval < self.problem.turn(w, v):
                return False
            if -apart % self.interval < self.problem.turn(v, w):
                return False
        return True

    def _keeps_concurrency(self) -> bool:
        waiting = {e.consumer for e in self.edges if e.blocking}
        waiting |= {e.consumer for e in self._placed() if self._crosses(e)}
        for v in waiting & self.start.keys():
            for w, time in self.start.items():
                span = self.operations[w].blocked_span
                if w == v or self.place[w] != self.place[v]:
                    continue
                if span > self.interval or (self.start[v] - time) % self.interval < span:
                    return False
        return True

    def _fits_registers(self) -> bool:
        """Whether what is certainly live fits its group, and all groups fit the file."""
        file = self.problem.registers
        if file is None:
            return True
        live = {group: [0] * self.interval for group in self.place.values()}
        for v, time in self.start.items():
            operation, mine = self.operations[v], live[self.place[v]]
            if operation.registers:
                self._add(mine, time, self._registers_until(v), operation.registers)
            at_work = max(operation.cycles, operation.issue)
            self._add(mine, time, time + at_work, operation.working_set)
        for e in self._placed():
            if e.transferable and self._crosses(e) and self.problem.rules == "issue":
                time, made = self.start[e.consumer], self.operations[e.producer]
                received = time - (made.transfer - made.transfer // 2)
                home = live[self.place[e.consumer]]
                self._add(home, received, time + e.copy_hold, made.registers)
        for pinned in self.problem.pinned:
            for group in {self.place[u] for u in pinned.used_by if u in self.place}:
                live[group] = [x + pinned.registers for x in live[group]]
        return self._fits_file({group: max(used) for group, used in live.items()})

    def _fits_file(self, most: dict[int, int]) -> bool:
        """Whether every group can be allocated what is live on it at most."""
        file = self.problem.registers
        assert file is not None
        blocks, narrow, shared = 0, 0, 0
        for group, live in most.items():
            needed = max(file.least, -(-(live + file.reserve) // file.step) * file.step)
            if live + file.reserve > min(file.limit, file.most) or needed > file.most:
                return False
            if self.widths[group] < file.warps:
                narrow, shared = narrow + self.widths[group], max(shared, needed)
            else:
                blocks += needed * (self.widths[group] // file.warps)
        return (blocks + -(-narrow // file.warps) * shared) * file.threads <= file.file

    def _registers_until(self, v: int) -> int:
        """Return until when v's registers are live at least, by the readers that are placed."""
        time, operation = self.start[v], self.operations[v]
        ends = []
        for e in self.problem.consumers[v]:
            if e.consumer not in self.start:
                continue
            if self.problem.rules == "issue" and self._crosses(e):
                ends.append(time + operation.latency + operation.transfer)
            else:
                ends.append(self._read(e) + e.hold)
        if not self.problem.consumers[v]:
            ends.append(time + operation.latency)
        return max(ends, default=time)

    def _fits_memories(self) -> bool:
        for memory, capacity in self.problem.memories.items():
            used = [self.problem.fixed[memory]] * self.interval
            for v, time in self.start.items():
                operation = self.operations[v]
                readers = [e for e in self.problem.consumers[v] if e.consumer in self.start]
                if operation.memory == memory:
                    ends = [self._read(e) + e.hold for e in readers]
                    if not self.problem.consumers[v]:
                        ends = [time + operation.latency]
                    self._add(used, time, max(ends, default=time), operation.footprint)
                staged = [self._read(e) for e in readers if e.transferable and self._crosses(e)]
                if memory == "smem" and staged:
                    self._add(used, time, max(staged), operation.transfer_bytes)
            if max(used) > capacity:
                return False
        return True

    def _add(self, used: list[int], begin: int, end: int, amount: int) -> None:
        whole, rest = divmod(max(end - begin, 0), self.interval)
        for slot in range(self.interval):
            used[slot] += whole * amount
        for time in range(begin, begin + rest):
            used[time % self.interval] += amount

    # -- levels -----------------------------------------------------------------------------------

    def _key(self) -> Key:
        """Return what a partial schedule has at least, level by level."""
        ends = [time + self.operations[v].cycles for v, time in self.start.items()]
        transfers, slack = 0, INFINITE
        for e in self._placed():
            crosses = self._crosses(e)
            transfers += crosses and e.transferable
            if not e.streaming and (e.blocking or crosses):
                delay = e.cross_delay if crosses else e.delay
                slack = min(slack, self._read(e) - self.start[e.producer] - delay)
        length = max(ends) - min(self.start.values())
        return len(set(self.place.values())), transfers, length, -slack

    def _judge(self) -> None:
        """Keep a complete schedule if it has addresses; the verifier has to accept it."""
        earliest = min(self.start.values())
        every = range(len(self.operations))
        groups = tuple(
            WarpGroup(width, bool(kind), 0, 1 << 30)
            for width, kind in zip(self.widths, self.kinds, strict=True)
        )
        found = Assignment(
            tuple(self.start[v] - earliest for v in every),
            tuple(self.place[v] for v in every),
            groups,
        )
        if self.problem.registers is not None:
            shared = allocated(self.problem, groups, peaks(self.problem, self.interval, found))
            assert shared is not None
            found = Assignment(found.start, found.group, shared)
        broken = violations(self.problem, self.interval, found)
        assert not broken, broken
        if not self.problem.memories or isinstance(
            allocate(self.problem, self.interval, found), Allocation
        ):
            self.best = self._key()


def _connected_order(problem: Problem) -> list[int]:
    """Return operations such that each has many dependences with those before it."""
    order: list[int] = []
    left = set(range(len(problem.operations)))
    while left:
        ties = {
            v: sum((e.producer == v and e.consumer in order) or
                   (e.consumer == v and e.producer in order) for e in problem.edges)
            for v in left
        }  # fmt: skip
        busiest = max(left, key=lambda v: (ties[v], problem.operations[v].cycles, -v))
        order.append(busiest)
        left.remove(busiest)
    return order
