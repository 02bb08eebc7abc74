"""What Triton's pipeliner does with the loads and products of a loop: ring slots, and waits.

A pipelined loop has every statement of the loop as written once, in the order in which a round
executes them. Its loads are copies into rings, and waits stand between. Statements of both loops
are told by name, variable and place; those of equal ones are in the same order.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from twill.frontends.triton_dump.listing import Listing
from twill.frontends.ttgir.reader import Dump, attribute, integer, name_of, string

COPIES = {
    "ttng.async_tma_copy_global_to_local": "tt.descriptor_load",
    "ttg.async_copy_global_to_local": "tt.load",
}
# An allocation in a loop becomes one before it, and a store.
SAME = {**COPIES, "ttng.tmem_alloc": "ttng.tmem_store"}
HOPPER_PRODUCT = "ttng.warp_group_dot"
BLACKWELL_PRODUCTS = ("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")
BARRIER = re.compile(r"!ttg\.memdesc<(?:\d+x)*1xi64,")
SLOTS = re.compile(r"!ttg\.memdesc<(\d+)x")
SCALARS = ("i1", "i32", "i64", "index")  # what the pipeliner counts and compares itself


def with_pipeline(text: str, pipelined: str) -> str:
    """Return a dump's text with the slots and waits that its pipelined loops have.

    `text`: with Triton's stages and clusters. `pipelined`: of the same kernel, pipelined. Both have
    names and places.
    """
    made = Dump(pipelined).loops()
    dump = Dump(text)
    listing = Listing(text)
    lines = {o: e.line for o, e in zip(dump.operations(), listing.operations, strict=True)}
    found: dict[int, dict[str, str]] = {}
    for loop in dump.loops():
        place = string(loop, "sched.location")
        same = [other for other in made if string(other, "sched.location") == place]
        if len(same) == 1 and integer(_body(loop).first_op or loop, "sched.stage") is not None:
            pipeline = _Pipeline(loop, same[0])
            for statement, facts in pipeline.facts().items():
                line = lines[pipeline.written[statement]]
                found[line] = {f"sched.{name}": f"{n} : i32" for name, n in facts.items()}
    return listing.annotated(found)


def _identity(operation: Operation) -> tuple[str, str | None, str | None]:
    name = SAME.get(name_of(operation), name_of(operation))
    return name, string(operation, "sched.name"), string(operation, "sched.location")


def _body(loop: Operation) -> Block:
    return loop.regions[0].blocks[0]


@dataclass(frozen=True)
class _Wait:
    """A wait at place `at` of the round, so many `rounds` after a statement was issued."""

    statement: int
    rounds: int
    at: int


class _Pipeline:
    """A loop as written, and pipelined; statements are numbered as written."""

    def __init__(self, written: Operation, pipelined: Operation) -> None:
        self.block = _body(pipelined)
        self.written, self.round = list(_body(written).ops)[:-1], list(self.block.ops)
        self.statement = self._matched()

    def facts(self) -> dict[int, dict[str, int]]:
        """Return slots of rings, and where what is asynchronous is awaited.

        In round j the wait is for iteration j - ``wait_stage``, before statement ``wait_before``.
        """
        found: dict[int, dict[str, int]] = defaultdict(dict)
        for copy, statement in self._issued(COPIES):
            found[statement]["slots"] = self._slots(copy)
        for wait in self._waits():
            before, wrapped = self._next(wait.at)
            issued = integer(self.written[wait.statement], "sched.stage") or 0
            found[wait.statement] |= {
                "wait_stage": issued + wait.rounds + wrapped,
                "wait_before": before,
            }
        return found

    def _matched(self) -> dict[int, int]:
        """Return the statement that stands at each place of the round."""
        same = defaultdict[tuple[str, str | None, str | None], list[int]](list)
        for position in sorted(range(len(self.written)), key=self._place):
            same[_identity(self.written[position])].append(position)
        queues = {key: iter(positions) for key, positions in same.items()}
        places = (
            (at, next(queues.get(_identity(o), iter(())), None)) for at, o in self._in_round()
        )
        return {at: statement for at, statement in places if statement is not None}

    def _place(self, position: int) -> tuple[int, int]:
        return integer(self.written[position], "sched.cluster") or 0, position

    def _in_round(
        self, names: Sequence[str] | Mapping[str, str] = ()
    ) -> Iterator[tuple[int, Operation]]:
        return ((at, o) for at, o in enumerate(self.round) if not names or name_of(o) in names)

    def _issued(self, names: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[Operation, int]]:
        found = self._in_round(names)
        return ((o, self.statement[at]) for at, o in found if at in self.statement)

    def _next(self, at: int) -> tuple[int, bool]:
        """Return the statement that follows a place of the round, and whether in the next round."""
        size = len(self.round)
        for place in range(at + 1, at + 1 + size):
            kinds = {str(result.type) for result in self.round[place % size].results}
            if place % size in self.statement and not (kinds and kinds <= {*SCALARS}):
                return self.statement[place % size], place >= size
        raise AssertionError  # a pipelined loop has something that is pipelined

    def _slots(self, copy: Operation) -> int:
        ring = next(v for v in copy.operands if _is_memory(v) and not _is_barrier(v))
        found = SLOTS.match(str(_indexed(ring).type)) if _indexed(ring) is not ring else None
        return int(found[1]) if found else 1

    # -- waits ----------------------------------------------------------------------------------

    def _waits(self) -> Iterator[_Wait]:
        """Yield the first wait for each load and product."""
        places = {self.round[at]: at for at in self.statement}
        products, sent = [], []
        for at, product in self._in_round((HOPPER_PRODUCT,)):
            if integer(product, "isAsync"):
                products.append((at, self.statement[at]))
            else:
                yield _Wait(self.statement[at], 0, at)
        yield from self._counted(products, "ttng.warp_group_dot_wait", "pendings")
        for at, commit in self._in_round(("ttg.async_commit_group",)):
            copies = [v.owner for v in commit.operands if isinstance(v.owner, Operation)]
            sent += [(at, self.statement[places[copy]]) for copy in copies if copy in places]
        yield from self._counted(sent, "ttg.async_wait", "num")
        for at, product in self._in_round(BLACKWELL_PRODUCTS):
            if attribute(product, "is_async") is None:
                yield _Wait(self.statement[at], 0, at)
        yield from self._at_barriers()

    def _counted(self, issued: Sequence[tuple[int, int]], name: str, key: str) -> Iterator[_Wait]:
        """Yield waits that leave so many of what was issued last in flight."""
        places = [at for at, _ in issued]
        waits = [(at, integer(o, key) or 0) for at, o in self._in_round((name,))]
        for older, (begun, statement) in enumerate(issued, 1):
            for rounds in itertools.count() if waits else ():
                found = [
                    at
                    for at, left in waits
                    if (rounds or at > begun)
                    and rounds * len(issued) + bisect_right(places, at) - older >= left
                ]
                if found:
                    yield _Wait(statement, rounds, found[0])
                    break

    def _at_barriers(self) -> Iterator[_Wait]:
        waits = [
            (at, *self._carried(wait.operands[0]))
            for at, wait in self._in_round(("ttng.wait_barrier",))
        ]
        for at, product in self._in_round(BLACKWELL_PRODUCTS):
            for barrier in filter(_is_barrier, product.operands):
                own = [(n, place) for place, value, n in waits if value is barrier]
                yield from (_Wait(self.statement[at], n, place) for n, place in own[:1])
        for copy, statement in self._issued(COPIES):
            for barrier in filter(_is_barrier, copy.operands):
                ring = _indexed(barrier)
                found = [place for place, value, _ in waits if _indexed(value) is ring]
                # It stands before the first use, in its stage.
                rounds = self._first_use(statement) - self._stage(statement)
                yield from (_Wait(statement, rounds, place) for place in found[:1])

    def _stage(self, statement: int) -> int:
        return integer(self.written[statement], "sched.stage") or 0

    def _first_use(self, statement: int) -> int:
        uses = [use.operation for r in self.written[statement].results for use in r.uses]
        return min(integer(use, "sched.stage") or 0 for use in uses)

    def _carried(self, value: SSAValue) -> tuple[SSAValue, int]:
        """Return what a value is, and how many rounds ago it was made."""
        rounds, last = 0, self.block.last_op
        while isinstance(value, BlockArgument) and value.block is self.block and value.index:
            assert last is not None
            value, rounds = last.operands[value.index - 1], rounds + 1
            if rounds > len(self.block.args):
                break
        return value, rounds


def _is_memory(value: SSAValue) -> bool:
    return str(value.type).startswith("!ttg.memdesc<")


def _is_barrier(value: SSAValue) -> bool:
    return BARRIER.match(str(value.type)) is not None


def _indexed(value: SSAValue) -> SSAValue:
    """Return the ring that a slot belongs to."""
    owner = value.owner
    indexes = isinstance(owner, Operation) and name_of(owner) == "ttg.memdesc_index"
    return owner.operands[0] if indexes and isinstance(owner, Operation) else value
