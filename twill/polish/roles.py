"""Roles of operations: those that hand on large register tiles play one role, on one group.

FlashAttention-4 has a softmax of each tile, a correction and the products on groups of their own.
Such roles follow from the cost of separating operations: a tile that another group reads is
staged in SMEM. A beam search assigns groups to roles, role by role. For each number of groups, the
beam keeps equally many ways: those whose busiest group has the least to issue and to move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.polish.candidates import Programs, in_turn
from twill.polish.tuning import TUNING
from twill.problem.operations import Edge

# A transfer is written and read, and each takes half of the time that the static model books.
PARTS_OF_TRANSFER = 4


@dataclass(frozen=True)
class _Way:
    """How some roles share groups.

    `numbers`: of the group of each role; `busy`: cycles that each group issues and moves tiles.
    """

    numbers: tuple[int, ...]
    busy: tuple[int, ...]

    @property
    def worth(self) -> tuple[int, int, tuple[int, ...]]:
        return max(self.busy), len(self.busy), self.numbers


class Roles:
    """The roles of a loop.

    `single`: whether each operation that moves a tile, or issues much, is a role of its own.

    `members`: operations of each role.
    `others`: operations that move no register tile, as products on tensor memory do, without loads.
    """

    def __init__(self, programs: Programs, *, single: bool = False) -> None:
        self._programs = programs
        self._operations = programs.problem.operations
        here = [o.index for o in self._operations if not o.variable_latency]
        self._role = {v: v for v in here}
        for edge in () if single else programs.dependences:
            tile = self._operations[edge.producer].registers >= TUNING.roles.large
            if edge.carries and tile and {edge.producer, edge.consumer} <= self._role.keys():
                self._join(edge)
        much = max(1, sum(map(self._issues, here)) // TUNING.roles.much)
        large = {
            self._role[v]
            for v in here
            if self._moves_a_tile(v) or (single and self._issues(v) >= much)
        }
        small = [v for v in here if self._role[v] not in large]
        self.others = [v for v in small if self._operations[v].in_order_unit is not None]
        self._follow([v for v in small if v not in self.others], large)
        roles = sorted({self._role[v] for v in here if v not in self.others})
        self.members = [[v for v in here if self._role[v] == role] for role in roles]

    def _join(self, edge: Edge) -> None:
        old, new = self._role[edge.consumer], self._role[edge.producer]
        self._role.update({v: new for v, role in self._role.items() if role == old})

    def _moves_a_tile(self, v: int) -> bool:
        operation = self._operations[v]
        return operation.registers >= TUNING.roles.large or (
            operation.in_order_unit is None and operation.memory is not None
        )

    def _issues(self, v: int) -> int:
        """Return the cycles that an operation issues instructions for, none of a product."""
        operation = self._operations[v]
        return operation.issue if operation.in_order_unit is None else 0

    def _follow(self, small: list[int], large: set[int]) -> None:
        """Let what computes on small values play the role that most of these belong to."""
        for _ in range(len(small)):
            for v in [v for v in small if self._role[v] not in large]:
                ties = Counter[int]()
                for edge in self._programs.dependences:
                    near = {edge.producer: edge.consumer, edge.consumer: edge.producer}.get(v)
                    if near is not None and self._role.get(near) in large:
                        ties[self._role[near]] += 1
                if ties:
                    self._role[v] = min(ties, key=lambda role: (-ties[role], role))

    # -- ways to share groups -----------------------------------------------------------------

    def assignments(self, given: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the groups of all operations, in words and as positions in `Programs.groups`.

        `given`: the group of each operation so far; only those of loads are used.
        """
        for way in self._ways():
            group = self._placed(way, given)
            if group is None:
                continue
            yield from self._with_others(way, group)

    def _ways(self) -> list[_Way]:
        """Return the best ways to share groups, the best first."""
        widest = max((o.warps for o in self._operations), default=0)
        wide = [g for g in self._programs.groups if g.warps >= widest and not g.variable_latency]
        most = min(len(wide), wide[0].most) if wide else 0
        ways = [_Way((), ())]
        for _ in self.members:
            found = [
                self._way((*way.numbers, number))
                for way in ways
                for number in range(min(len(way.busy) + 1, most))
            ]
            found.sort(key=lambda way: way.worth)
            ways = in_turn(found, lambda way: len(way.busy))[: 4 * TUNING.roles.ways]
        return ways[: TUNING.roles.ways] if self.members else []

    def _way(self, numbers: tuple[int, ...]) -> _Way:
        """Return a way, with the cost of values that cross groups on both sides."""
        place = {v: k for k, role in zip(numbers, self.members, strict=False) for v in role}
        busy = [0] * (max(numbers) + 1)
        for v, number in place.items():
            busy[number] += self._operations[v].issue
        moved = set[tuple[int, int]]()
        for edge in self._programs.dependences:
            here, there = place.get(edge.producer), place.get(edge.consumer)
            if edge.transferable and None not in (here, there) and here != there:
                assert here is not None
                assert there is not None
                moved.add((edge.producer, there))
        for v, there in moved:
            transfer = self._operations[v].transfer // PARTS_OF_TRANSFER
            busy[place[v]] += transfer
            busy[there] += transfer
        return _Way(numbers, tuple(busy))

    def _placed(self, way: _Way, given: Sequence[int]) -> dict[int, int] | None:
        """Return the group of each operation of a role, None if there are not enough groups."""
        group, used = dict[int, int](), {g for v, g in enumerate(given) if self._loads(v)}
        for number in range(len(way.busy)):
            share = [v for n, k in enumerate(way.numbers) if k == number for v in self.members[n]]
            to = self._programs.narrowest(share, used)
            if to is None:
                return None
            used.add(to)
            group.update(dict.fromkeys(share, to))
        return group | {v: g for v, g in enumerate(given) if self._loads(v)}

    def _loads(self, v: int) -> bool:
        return self._operations[v].variable_latency

    def _with_others(
        self, way: _Way, group: dict[int, int]
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield whole assignments: all other operations on one group, or each where it is fed."""
        names = [self._operations[role[0]].name for role in self.members]
        shares = [
            " and ".join(name for name, k in zip(names, way.numbers, strict=True) if k == number)
            for number in range(len(way.busy))
        ]
        said = f"the roles of {' | '.join(shares)} on groups of their own"
        everything = range(len(self._operations))
        if not self.others:
            yield said, tuple(group[v] for v in everything)
            return
        to = self._programs.narrowest(self.others, set(group.values()))
        if to is not None:
            apart = group | dict.fromkeys(self.others, to)
            yield f"{said}, products apart", tuple(apart[v] for v in everything)
        fed = dict(group)
        for v in self.others:
            near = [e.producer for e in self._programs.dependences if e.consumer == v]
            near += [e.consumer for e in self._programs.dependences if e.producer == v]
            hosts = [fed[w] for w in near if w in fed and not self._loads(w)]
            takes = [g for g in hosts if self._programs.groups[g].takes(self._operations[v])]
            if takes:
                fed[v] = takes[0]
        if len(fed) == len(everything):
            yield said, tuple(fed[v] for v in everything)
