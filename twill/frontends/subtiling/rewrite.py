"""The loop that a plan makes: names, parts of tiles, dependences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

from twill.artifacts.loop import Dependence, Folded, Invariant, Loop, Operation, Read, Tile
from twill.base.errors import InputError, short
from twill.base.names import MOST_NAME
from twill.frontends.subtiling.dimensions import ACCUMULATOR, with_tiles
from twill.frontends.subtiling.plan import Plan, Role

Named = Mapping[tuple[int, int], str]
Attributes = Mapping[str, str | bool | int | float]


class Rewriter:
    """Makes the sub-tiled loop.

    `names` are those of copies, by the position of an operation and a sub-tile's number; `parts`
    what one sub-tile has of each operation, or reads of a shared one.
    """

    def __init__(self, plan: Plan, threads_per_warp: int) -> None:
        loop = plan.loop
        self.plan, self.threads_per_warp = plan, threads_per_warp
        self.copies = range(plan.factor)
        self.position = {operation.name: i for i, operation in enumerate(loop.operations)}
        touched = {i: o.name for i, o in enumerate(loop.operations) if self._touched(i)}
        kept = [o.name for i, o in enumerate(loop.operations) if i not in touched]
        self.names = numbered(touched, plan.factor, kept)
        self.parts = [self._part(index) for index in range(len(loop.operations))]

    def loop(self) -> Loop:
        """Return the sub-tiled loop."""
        loop, factor = self.plan.loop, self.plan.factor
        end = f"_{factor}_tiles"
        said = f"{factor} sub-tiles of {self.plan.extent // factor} along {self.plan.along}"
        return Loop(
            name=f"{loop.name[: MOST_NAME - len(end)]}{end}",
            description=f"{loop.description}; {said}" if loop.description else said,
            operations=tuple(self._operations()),
            dependences=(*self._dependences(loop.dependences), *self._links()),
            invariants=tuple(i for n in range(len(loop.invariants)) for i in self._invariants(n)),
            folded=tuple(self._folded(folded) for folded in loop.folded),
            renamed=self._dependences(loop.renamed),
            origin=loop.origin,
        )

    def _role(self, name: str) -> Role:
        return self.plan.roles[self.position[name]]

    def _touched(self, index: int) -> bool:
        return self.plan.roles[index] is not Role.SHARED

    def _of(self, name: str, copies: range) -> list[str]:
        """Return the names of an operation's copies, of a shared one its own."""
        index = self.position[name]
        return [self.names[index, copy] for copy in copies] if self._touched(index) else [name]

    def _part(self, index: int) -> Operation:
        operation = self.plan.loop.operations[index]

        def part_at(place: int, tile: Tile) -> Tile:
            for axis in self.plan.split_axes(index, place):
                tile = part_of(tile, axis, self.plan.factor)
            return tile

        part = with_tiles(operation, part_at)
        if operation.kind == "reduce" and self._touched(index):
            attributes = dict(reduction_attributes(operation, part, self.threads_per_warp))
            return part.model_copy(update={"attributes": attributes})
        return part

    def _operations(self) -> Iterator[Operation]:
        """Yield the operations, sub-tile by sub-tile as far as nothing waits for all sub-tiles."""
        run: list[int] = []
        for index in range(len(self.parts)):
            if self._breaks(run, index):
                yield from self._copied(run)
                run = []
            if self._touched(index):
                run.append(index)
            else:
                yield self._shared(index)
        yield from self._copied(run)

    def _breaks(self, run: list[int], index: int) -> bool:
        """Whether an operation has to wait for all sub-tiles of an earlier one in the run."""
        name = self.plan.loop.operations[index].name
        return any(
            dependence.consumer == name
            and dependence.distance == 0
            and self.position[dependence.producer] in run
            and not (self._touched(index) and self._same_part(dependence))
            for dependence in self.plan.loop.dependences
        )

    def _copied(self, run: list[int]) -> Iterator[Operation]:
        for copy in self.copies:
            for index in run:
                part, chained = self.parts[index], self.plan.roles[index] is Role.CHAINED
                operands = part.operands
                if chained and copy and len(operands) == ACCUMULATOR and part.result is not None:
                    operands = (*operands, part.result)
                changes = {"name": self.names[index, copy], "operands": operands}
                yield part.model_copy(update=changes)

    def _shared(self, index: int) -> Operation:
        """Return a shared operation; a change of layout makes the one that sub-tiles read."""
        operation = self.plan.loop.operations[index]
        if operation.kind != "convert_layout" or operation.result is None:
            return operation
        held = [operation.result]
        for dependence in self.plan.loop.dependences:
            consumer = self.position[dependence.consumer]
            if dependence.producer != operation.name or dependence.operand is None:
                continue
            if not (self._touched(consumer) and self.parts[consumer].elementwise):
                return operation
            whole = self.plan.loop.operations[consumer].operands[dependence.operand]
            part = self.parts[consumer].operands[dependence.operand]
            held.append(shared_vector(operation.result, whole, part, self.plan.factor))
        return operation.model_copy(update={"result": held[-1]})

    def _dependences(self, before: Iterable[Dependence]) -> tuple[Dependence, ...]:
        made = (
            old.model_copy(update={"producer": producer, "consumer": consumer})
            for old in before
            for producer, consumer in self._ends(old)
        )
        return tuple(dict.fromkeys(made))

    def _ends(self, old: Dependence) -> Iterator[tuple[str, str]]:
        """Yield producer and consumer of what becomes of a dependence.

        The value of a chain is what its last product leaves. Of a chain, only the first product
        reads the accumulator that there was, and only it is ordered; the others follow it.
        """
        producers, consumers = (self._of(n, self.copies) for n in (old.producer, old.consumer))
        chained = self._role(old.consumer) is Role.CHAINED
        if chained and (old.kind != "data" or old.operand == ACCUMULATOR):
            consumers = consumers[:1]
        for copy, consumer in enumerate(consumers):
            if self._same_part(old):
                yield producers[copy], consumer
            elif self._role(old.producer) is Role.COPIED:
                yield from ((producer, consumer) for producer in producers)
            else:
                yield producers[-1], consumer

    def _same_part(self, old: Dependence) -> bool:
        """Whether a dependence ties each sub-tile's copy to the same sub-tile's copy only."""
        before, after = self._role(old.producer), self._role(old.consumer)
        if old.kind == "data":
            return before is Role.COPIED and after is not Role.SHARED
        return old.kind == "anti" and before is not Role.SHARED and after is Role.COPIED

    def _links(self) -> Iterator[Dependence]:
        """Yield the dependences along the chains."""
        for product in self.plan.with_role(Role.CHAINED):
            for before, after in itertools.pairwise(self._of(product.name, self.copies)):
                yield Dependence(
                    producer=before, consumer=after, operand=ACCUMULATOR, in_place=True
                )

    def _invariants(self, number: int) -> Iterator[Invariant]:
        invariant = self.plan.loop.invariants[number]
        axes = self.plan.split_axes(-1 - number, 0)
        if not axes:
            yield self._read_by(invariant, self.copies)
            return
        kept = [other.name for other in self.plan.loop.invariants]
        names = numbered({0: invariant.name}, self.plan.factor, kept)
        tile = part_of(invariant.tile, axes[0], self.plan.factor)
        for copy in self.copies:
            part = invariant.model_copy(update={"name": names[0, copy], "tile": tile})
            yield self._read_by(part, range(copy, copy + 1))

    def _read_by(self, invariant: Invariant, copies: range) -> Invariant:
        """Return an invariant as these copies of its users read it."""
        reads: list[Read] = []
        for read in invariant.reads:
            chained = self._role(read.operation) is Role.CHAINED and read.operand == ACCUMULATOR
            users = self._of(read.operation, copies)
            users = users[:1] if chained else users
            reads += [read.model_copy(update={"operation": user}) for user in users]
        unsaid = set(invariant.used_by) - {read.operation for read in invariant.reads}
        users = [user for name in sorted(unsaid) for user in self._of(name, copies)]
        used_by = sorted({*users, *(read.operation for read in reads)})
        return invariant.model_copy(update={"used_by": tuple(used_by), "reads": tuple(reads)})

    def _folded(self, folded: Folded) -> Folded:
        copies = (
            self._of(name, self.copies) if name in self.position else [name] for name in folded.into
        )
        users = dict.fromkeys(itertools.chain.from_iterable(copies))
        return folded.model_copy(update={"into": tuple(users)})


def numbered(names: Mapping[int, str], factor: int, taken: Iterable[str]) -> Named:
    """Return a name for every copy: ``o.mul`` becomes ``o0.mul``, ``o1.mul``.

    The number follows the part before the first dot, after an underscore where it would be taken
    for a part of the name or make a name that is used already.

    Raises
    ------
    InputError
        If one would be longer than names may be.
    """
    used = set(taken)
    found: dict[tuple[int, int], str] = {}
    for base in dict.fromkeys(name.partition(".")[0] for name in names.values()):
        family = {key: name for key, name in names.items() if name.partition(".")[0] == base}
        for underscores in itertools.count(int(base[-1:].isdigit())):
            made = {
                (key, copy): f"{base}{'_' * underscores}{copy}{name[len(base) :]}"
                for key, name in family.items()
                for copy in range(factor)
            }
            if used.isdisjoint(made.values()):
                break
        found |= made
        used |= set(made.values())
    for (key, _), name in found.items():
        if len(name) > MOST_NAME:
            wrong = f"no room for a number in {MOST_NAME} characters (got {short(names[key])})"
            raise InputError(wrong, path="name")
    return found


def part_of(tile: Tile, axis: int, factor: int) -> Tile:
    """Return one of `factor` equal parts of a tile."""
    shape = tuple(e // factor if i == axis else e for i, e in enumerate(tile.shape))
    held = tile.elements_per_thread
    fewer = None if held is None else max(1, -(-held // factor))
    return tile.model_copy(update={"shape": shape, "elements_per_thread": fewer})


def reduction_attributes(whole: Operation, part: Operation, threads_per_warp: int) -> Attributes:
    """Return the attributes of a sub-tile's reduction: more lanes share a row if rows run out."""
    lanes, warps = whole.attributes.get("lanes"), whole.attributes.get("lane_warps")
    if not isinstance(lanes, int) or not isinstance(warps, int):
        return whole.attributes
    columns, fewer = (_along_the_row(o, threads_per_warp) for o in (whole, part))
    if not fewer or columns % fewer or columns == fewer:
        return whole.attributes
    wanted = lanes * (columns // fewer)
    fitting = min(wanted, threads_per_warp)
    return {**whole.attributes, "lanes": fitting, "lane_warps": warps * (wanted // fitting)}


def _along_the_row(reduction: Operation, threads_per_warp: int) -> int:
    """Elements of one row that a thread reduces."""
    assert reduction.result is not None
    threads = reduction.warps * threads_per_warp
    whole = reduction.operands[0].elements_each(threads)
    return whole // reduction.result.elements_each(threads)


def shared_vector(vector: Tile, whole: Tile, part: Tile, factor: int) -> Tile:
    """Return what a thread holds of a vector along the columns of a tile whose rows were split.

    `vector`: the vector, of which a thread holds the columns that it has of the tile.
    `whole`, `part`: the tile before and after, both with their elements per thread.
    """
    columns = vector.elements_per_thread
    before, after = whole.elements_per_thread, part.elements_per_thread
    if columns is None or before is None or after is None or before % columns:
        return vector
    rows = max(1, before // columns // factor)
    return vector.model_copy(update={"elements_per_thread": max(1, min(columns, after // rows))})
