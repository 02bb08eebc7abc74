"""Rewriting of loops: sub-tiles of independent rows that share streamed tiles, and other sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from twill.artifacts.loop import (
    MOST_EXTENT,
    Dependence,
    Folded,
    Invariant,
    Loop,
    Operation,
    Read,
    Tile,
)
from twill.artifacts.machine import Machine
from twill.base.errors import InputError, RefusedError, short
from twill.base.names import MOST_NAME
from twill.frontends.loops import machine_of, threads_per_warp
from twill.frontends.subtiling.dimensions import (
    ACCUMULATOR,
    Dimension,
    dimension_classes,
    extent,
    part_of,
    shared_vector,
    with_tiles,
)
from twill.frontends.subtiling.plan import (
    Plan,
    Role,
    along_dimension,
    choices,
    dimension,
    indivisible,
    without_instruction,
)

MOST_SUBTILES = 64
Named = Mapping[tuple[int, int], str]
Attributes = Mapping[str, str | bool | int | float]


def plan_subtiles(
    loop: Loop, factor: int, *, along: str | None = None, machine: Machine | None = None
) -> Plan:
    """Decide what to split and check that it can be.

    Raises
    ------
    InputError, RefusedError
        As `subtile` does.
    """
    if not 2 <= factor <= MOST_SUBTILES:
        raise InputError(f"must be from 2 to {MOST_SUBTILES} (got {short(factor)})", path="factor")
    machine = machine or machine_of(loop)
    best, *others = (
        choices(loop, factor) if along is None else [along_dimension(loop, factor, along)]
    )
    refusal = _refusal(best, machine)
    if refusal is None:
        return best
    fitting = [other.along for other in others if _refusal(other, machine) is None]
    raise RefusedError(refusal + (f"; possible is along {' or '.join(fitting)}" if fitting else ""))


def _refusal(plan: Plan, machine: Machine | None) -> str | None:
    """Return why a plan cannot be carried out, None if it can."""
    refusal = indivisible(plan)
    if refusal is None and machine is not None:
        parts = Rewriter(plan, machine.threads_per_warp.value).parts
        refusal = without_instruction(plan, parts, machine)
    return refusal


def subtile(
    loop: Loop, factor: int, *, along: str | None = None, machine: Machine | None = None
) -> Loop:
    """Split independent rows of a loop into sub-tiles that share the streamed operands.

    Every sub-tile gets a copy of each operation on its rows; what does not have these rows stays
    shared. A product that sums over them becomes a chain of products, each adding in place to the
    one before.

    `loop`: A loop whose dependences say as which operand, and along which axes, values are read.
    `along`: ``operation:dimension``, the dimension of that operation's result to split. Without it:
    one that splits no load if there is such, with most of the multiplications, and the fewest
    chains.
    `machine`: whose matrix product instructions limit the sizes; without it a packaged machine of
    the architecture that the loop was compiled for, and none if it does not say.

    Raises
    ------
    InputError
        If the factor or `along` is none that the loop can have.
    RefusedError
        If rows depend on each other in any other way than through sums of products, or the sizes
        are none that the machine has instructions for; names the operation.
    """
    plan = plan_subtiles(loop, factor, along=along, machine=machine)
    return Rewriter(plan, threads_per_warp(loop, machine)).loop()


def resize(loop: Loop, along: str, size: int) -> Loop:
    """Return a loop in which one dimension of its tiles, wherever it occurs, has another size.

    Costs follow from the machine's rules. The work of an iteration changes too: compare work per
    time, not intervals.

    `loop`: A loop whose dependences say along which axes values are read.

    Raises
    ------
    InputError
        If there is no such dimension, or the size is out of range.
    RefusedError
        If an operation uses the dimension in a way that does not say what another size means.
    """
    if not 1 <= size <= MOST_EXTENT:
        raise InputError(f"from 1 to {MOST_EXTENT} elements (got {short(size)})", path="tile")
    wanted = dimension(loop, along)
    classes = dimension_classes(loop)
    members = classes.members_with(wanted)
    for coupling in classes.couplings(members):
        operation = loop.operations[coupling.operation]
        if operation.kind != "reduce" or operation.cost is not None:
            raise RefusedError(
                f"{loop.name}: cannot resize {along}: {operation.name} {coupling.reason}"
            )
    before = extent(loop, wanted)

    def changed(owner: int, place: int, tile: Tile) -> Tile:
        alike = (axis for axis, elements in enumerate(tile.shape) if elements == before)
        axes = {axis for axis in alike if Dimension(owner, place, axis) in members}
        return _resized(loop, tile, axes, before, size) if axes else tile

    operations = tuple(with_tiles(o, partial(changed, i)) for i, o in enumerate(loop.operations))
    invariants = tuple(
        v.model_copy(update={"tile": changed(-1 - i, 0, v.tile)})
        for i, v in enumerate(loop.invariants)
    )
    changes = {"operations": operations, "invariants": invariants, "source": None}
    return loop.model_copy(update=changes)


def _resized(loop: Loop, tile: Tile, axes: set[int], before: int, size: int) -> Tile:
    shape = tuple(size if axis in axes else n for axis, n in enumerate(tile.shape))
    each = tile.elements_per_thread
    if each is not None:
        scaled, rest = divmod(each * size ** len(axes), before ** len(axes))
        if rest or not scaled:
            raise RefusedError(
                f"{loop.name}: {each} elements of a thread cannot become {size} / {before} as many"
            )
        each = scaled
    return tile.model_copy(update={"shape": shape, "elements_per_thread": each})


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

    The number follows the part before the first dot. An underscore separates them where the name
    ends in a digit, or the new one is used already.

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
