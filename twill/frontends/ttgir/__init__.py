"""Loops from Triton's GPU IR (TTGIR)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError
from xdsl.ir import Operation as IrOperation
from xdsl.ir import SSAValue

from twill.artifacts.base import first_problem
from twill.artifacts.loop import ELEMENT_BITS, Folded, Invariant, Loop, Origin, Read, Tile
from twill.errors import InputError, short
from twill.files import read_bytes
from twill.frontends.ttgir.draft import Draft, Flow, Node, Outside, distinct
from twill.frontends.ttgir.graph import Values, body_graph, choose_loop, fold, root_of, steady_flag
from twill.frontends.ttgir.kinds import (
    ALLOCATIONS,
    ELEMENTWISE,
    VIEWS,
    check_operation,
    combine_of,
    is_free,
    kind_of,
)
from twill.frontends.ttgir.memory import PRODUCTS, Access, Buffers, global_order, product_operands
from twill.frontends.ttgir.passes import run_passes
from twill.frontends.ttgir.reader import Dump, integer, name_of, string, uses
from twill.frontends.ttgir.types import sharing

__all__ = ["extract", "load_ttgir"]


ACCUMULATOR, USE_C = 2, 3
ONE_WARP = 1
TMA = ("tt.descriptor_load", "tt.descriptor_gather")
SCATTER = "tt.descriptor_scatter"
TMA_STORES = ("tt.descriptor_store", SCATTER, "tt.descriptor_reduce")
POINTER_STORES = ("tt.store", "tt.atomic_rmw")
# Which operands of these are tiles; the others are addresses, tokens and predicates.
TILES_AT = {
    **dict.fromkeys(TMA, slice(0)),
    **dict.fromkeys(TMA_STORES, slice(1, 2)),
    **dict.fromkeys(("ttng.tmem_load", *ALLOCATIONS), slice(1)),
    SCATTER: slice(-1, None),
    "ttng.warp_group_dot": slice(3),
}
MALFORMED = (
    LookupError,
    ValueError,
    AssertionError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_TILES = frozenset(ELEMENT_BITS)


def load_ttgir(
    file: str, *, name: str | None = None, loop: str | None = None, whole_tiles: bool = False
) -> Loop:
    """Extract a loop of a TTGIR dump.

    `loop`: which loop: its induction variable's name or its number in program order.

    Raises
    ------
    InputError
        If the file is not such a dump, or has no such loop.
    RefusedError
        If its loop cannot be scheduled.
    """
    try:
        text = read_bytes(file).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("not text", file=file) from None
    return extract(text, file=file, name=name, loop=loop, whole_tiles=whole_tiles)


def extract(
    text: str,
    *,
    file: str = "",
    name: str | None = None,
    loop: str | None = None,
    whole_tiles: bool = False,
) -> Loop:
    """Extract a loop of a TTGIR dump given as text.

    Raises
    ------
    InputError
        If the text is not such a dump, or has no such loop.
    RefusedError
        If its loop cannot be scheduled.
    """
    dump = Dump(text, file)
    try:
        chosen = choose_loop(dump, loop)
        return _Extraction(dump, chosen).loop(name, whole_tiles=whole_tiles)
    except InputError as error:
        raise error.within(file) from None
    except ValidationError as error:
        raise first_problem(error, file) from None
    except MALFORMED as error:
        raise InputError(f"malformed: {short(error)}", file=file) from None


class _Extraction:
    """One loop body on its way to a draft."""

    def __init__(self, dump: Dump, loop: IrOperation) -> None:
        self.dump = dump
        self.ir = loop
        self.graph = body_graph(loop, dump.file)
        self.body = self.graph.operations
        for operation in self.body:
            check_operation(dump, operation)
        self.free = {i for i, o in enumerate(self.body) if is_free(dump, o)}
        self.kept = [i for i in range(len(self.body)) if i not in self.free]
        self.values = Values(dump, self.graph, self.free)
        self.buffers = Buffers(dump, self.graph)
        self.touched = {(a.node, a.operand): a for a in self.buffers.accesses}
        self.names = self._names()
        self.roots: list[SSAValue] = []

    def loop(self, name: str | None, *, whole_tiles: bool) -> Loop:
        draft = self._draft()
        run_passes(draft, whole_tiles=whole_tiles)
        return Loop.model_validate(
            {
                "name": name or self.dump.kernel,
                "operations": draft.operations(),
                "dependences": draft.dependences(draft.flows),
                "invariants": tuple(self._invariants(draft)),
                "folded": (*self._folded(draft), *draft.folded),
                "renamed": draft.dependences(draft.renamed),
                "origin": self._origin(),
            }
        )

    def _origin(self) -> Origin:
        return Origin(
            kernel=self.dump.kernel,
            architecture=self.dump.architecture,
            compiler=self.dump.compiler,
            loop=self.dump.loop_name(self.ir),
            location=string(self.ir, "sched.location"),
            nodes_as_written=len(self.body),
            edges_as_written=len(self.graph.edges),
            nodes_after_folding=len(self.kept),
            edges_after_folding=len(fold(self.graph, self.free)),
        )

    def _draft(self) -> Draft:
        draft = Draft({i: self._node(i) for i in self.kept}, [], [], self.dump.threads_per_warp)
        for i in self.kept:
            for operand, value, address in self._read(i):
                self._trace(draft, i, operand, value, address=address)
        versions = self.buffers.versions()
        draft.flows += [
            self._buffer_flow(f.producer, f.consumer, f.distance) for f in versions.flows
        ]
        draft.renamed += [
            Flow(f.producer.node, f.consumer.node, f.distance, kind="anti")
            for f in versions.renamed
        ]
        for access in versions.untouched:
            number = self._root_number(access.buffer)
            position = self._position_of(access)
            if position is not None:
                draft.outside.append(Outside(number, access.node, position, None))
        draft.flows += global_order(self.graph, self.kept)
        draft.flows = distinct(draft.flows, draft.products())
        return draft

    def _trace(self, draft: Draft, i: int, operand: int, value: SSAValue, *, address: bool) -> None:
        for source in self.values.sources(value):
            if source.node is not None:
                in_place = kind_of(self.body[i]) in ("mma", "mma_sync") and operand == ACCUMULATOR
                draft.flows.append(
                    Flow(
                        source.node,
                        i,
                        source.distance,
                        operand,
                        source.axes,
                        in_place=in_place,
                        address=address,
                    )
                )
            elif source.outside is not None and not address:
                root = source.outside
                tile = self.dump.type_of(root).tile()
                if tile is not None and tile.shape and _is_stored(root):
                    number = self._root_number(root)
                    draft.outside.append(Outside(number, i, operand, source.axes))

    def _root_number(self, root: SSAValue) -> int:
        for number, known in enumerate(self.roots):
            if known is root:
                return number
        self.roots.append(root)
        return len(self.roots) - 1

    def _buffer_flow(self, producer: Access, consumer: Access, distance: int) -> Flow:
        whole = producer.seen is consumer.seen or (
            self.dump.type_of(producer.seen).shape == self.dump.type_of(consumer.seen).shape
        )
        rank = len(self.dump.type_of(consumer.seen).shape)
        return Flow(
            producer.node,
            consumer.node,
            distance,
            self._position_of(consumer),
            tuple(range(rank)) if whole else None,
            in_place=consumer.mode == "update",
        )

    def _position_of(self, access: Access) -> int | None:
        """Return as which operand of the draft's node an access reads its buffer, if as one."""
        positions = [p for p, _ in self._ir_operands(access.node)]
        return positions.index(access.operand) if access.operand in positions else None

    def _ir_operands(self, i: int) -> list[tuple[int, SSAValue]]:
        """Return IR position and value of the operands that hold tiles, in the draft's order."""
        operation = self.body[i]
        name = name_of(operation)
        every = list(enumerate(uses(operation)))
        if name in PRODUCTS:
            roles = product_operands(operation)
            wanted = [roles[r] for r in ("a", "b", "d", "a_scale", "b_scale") if r in roles]
            return [every[p] for p in wanted if p is not None]
        if name == "ttng.tmem_store":
            return every[2:3] if self.dump.type_of(every[1][1]).dtype not in _TILES else every[1:2]
        if name in TILES_AT:
            return every[TILES_AT[name]]
        return [(p, v) for p, v in every if self.dump.type_of(v).dtype in _TILES]

    def _read(self, i: int) -> Iterator[tuple[int, SSAValue, bool]]:
        """Yield (operand, value, whether it is an address) of all that a node reads by value."""
        operation = self.body[i]
        tiles = self._ir_operands(i)
        for operand, (position, value) in enumerate(tiles):
            if (i, position) not in self.touched and not self._is_overwritten(i, position):
                access = name_of(operation) in ("tt.load", *POINTER_STORES)
                yield operand, value, access and self.dump.type_of(value).dtype == "i1"
        shown = {position for position, _ in tiles}
        for position, value in enumerate(operation.operands):
            kind = self.dump.type_of(value)
            address = kind.kind != "memdesc" and kind.dtype.startswith(("i", "pointer"))
            if position not in shown and address:
                yield len(tiles), value, True

    def _is_overwritten(self, i: int, position: int) -> bool:
        """Whether an operand is the accumulator of a product that begins anew."""
        operands = self.body[i].operands
        if name_of(self.body[i]) != "ttng.warp_group_dot" or position != ACCUMULATOR:
            return False
        return len(operands) > USE_C and steady_flag(self.graph, operands[USE_C]) is False

    def _node(self, i: int) -> Node:
        operation = self.body[i]
        kind = kind_of(operation)
        return Node(
            key=i,
            name=self.names[i],
            source=name_of(operation),
            kind=kind,
            warps=self._warps(operation),
            operands=tuple(
                tile for _, v in self._ir_operands(i) if (tile := self._tile(v)) is not None
            ),
            result=self._result(i),
            elementwise=kind in ELEMENTWISE,
            attributes=self._attributes(operation, kind),
            location=string(operation, "sched.location"),
            transposed=self._transposed(operation),
        )

    def _transposed(self, operation: IrOperation) -> bool | None:
        """Return whether what an allocation holds, or TMA loads, lies transposed."""
        name = name_of(operation)
        if name == "ttg.local_alloc" and operation.results:
            return self.dump.transposed(operation.results[0])
        return self.dump.transposed(operation.operands[0]) if name in TMA else None

    def _warps(self, operation: IrOperation) -> int:
        one = (*TMA, *TMA_STORES, *PRODUCTS, "ttng.tmem_copy")
        return ONE_WARP if name_of(operation) in one else self.dump.warps

    def _tile(self, value: SSAValue) -> Tile | None:
        return self.dump.type_of(value).tile()

    def _result(self, i: int) -> Tile | None:
        """Return the tile that a node leaves: a buffer's contents, or its results side by side."""
        operation = self.body[i]
        written = [a for a in self.buffers.accesses if a.node == i and a.mode != "read"]
        if written:
            return self._tile(written[0].seen)
        tiles = [t for r in operation.results if (t := self._tile(r)) is not None]
        if len(tiles) <= 1:
            return tiles[0] if tiles else None
        widest = max(tiles, key=lambda t: t.bits)
        spread = [t.elements_per_thread for t in tiles]
        total = None if None in spread else sum(s for s in spread if s is not None)
        shape = (len(tiles), *widest.shape)
        return widest.model_copy(update={"shape": shape, "elements_per_thread": total})

    def _attributes(self, operation: IrOperation, kind: str) -> dict[str, str | bool | int | float]:
        name = name_of(operation)
        attributes: dict[str, str | bool | int | float] = {}
        if kind == "load":
            attributes["engine"] = "tma" if name in TMA else "pointer"
        elif kind == "store":
            attributes["engine"] = "tma" if name in TMA_STORES else "pointer"
            if name == "tt.descriptor_reduce":
                attributes["reduce"] = True
        elif kind in ("reduce", "scan"):
            attributes |= self._reduction(operation)
        elif kind == "convert_layout":
            attributes["trivial"] = False
        for key in ("stage", "cluster"):
            number = integer(operation, f"sched.{key}")
            if number is not None:
                attributes[f"triton_{key}"] = number
        return attributes

    def _reduction(self, operation: IrOperation) -> dict[str, str | bool | int | float]:
        attributes: dict[str, str | bool | int | float] = {}
        combine, axis = combine_of(operation), integer(operation, "axis")
        attributes["combine"] = combine or "other"
        if axis is None:
            return attributes
        attributes["axis"] = axis
        layout = self.dump.type_of(operation.operands[0]).layout
        shared = sharing(layout, axis) if layout is not None else None
        if shared is not None:
            attributes |= {"lanes": shared[0], "lane_warps": shared[1]}
        return attributes

    def _names(self) -> dict[int, str]:
        """Name the operation that completes a variable after it, its helpers with their kind."""
        filled = self._filled()
        hints = {i: self._hint(i) for i in self.kept if i not in filled.values()}
        last = {hint: i for i, hint in hints.items() if hint}
        names: dict[int, str] = {}
        taken: set[str] = set()
        for i, hint in hints.items():
            kind = kind_of(self.body[i]).rsplit(".", 1)[-1]
            base = hint if hint and last[hint] == i else f"{hint}.{kind}" if hint else kind
            names[i] = _unused(base, taken)
        for load, allocation in filled.items():
            names[allocation] = _unused(f"{names[load]}.local_alloc", taken)
        return names

    def _filled(self) -> dict[int, int]:
        """Return for loads the allocation that is filled with what they load."""
        found: dict[int, int] = {}
        for i in self.kept:
            if name_of(self.body[i]) != "ttg.local_alloc":
                continue
            for source in self.values.sources(self.body[i].operands[0]):
                if source.node is not None and kind_of(self.body[source.node]) == "load":
                    found.setdefault(source.node, i)
        return found

    def _hint(self, i: int) -> str | None:
        operation = self.body[i]
        hint = string(operation, "sched.name")
        if hint is None and operation.results:
            hint = operation.results[0].name_hint
        if hint is None and name_of(operation) in (*TMA_STORES, *POINTER_STORES):
            target = self._target(operation.operands[0])
            return f"{target}.store" if target else None
        return hint

    def _target(self, pointer: SSAValue) -> str | None:
        """Return the name of the kernel argument that a store goes to."""
        root = root_of(self.graph.initial.get(pointer, pointer), VIEWS)
        return None if isinstance(root.owner, IrOperation) else root.name_hint

    def _invariants(self, draft: Draft) -> Iterator[Invariant]:
        """Memory and register tiles that the loop reads but does not make."""
        for number, root in enumerate(self.roots):
            reads = [o for o in draft.outside if o.value == number]
            tile = self._tile(root)
            if not reads or tile is None:
                continue
            yield Invariant(
                name=self._outside_name(root, number),
                tile=tile,
                used_by=tuple(sorted({draft.nodes[o.consumer].name for o in reads})),
                reads=tuple(
                    Read(
                        operation=draft.nodes[o.consumer].name,
                        operand=o.operand,
                        axes=draft.axes_of(o.axes, tile),
                    )
                    for o in sorted(reads, key=lambda o: (o.consumer, o.operand))
                ),
            )

    def _outside_name(self, value: SSAValue, number: int) -> str:
        owner = value.owner
        hint = string(owner, "sched.name") if isinstance(owner, IrOperation) else None
        return hint or value.name_hint or f"invariant{number}"

    def _folded(self, draft: Draft) -> Iterator[Folded]:
        into: dict[int, set[str]] = {i: set() for i in self.free}
        for use in sorted(self.graph.uses, key=lambda u: u.producer, reverse=True):
            if use.producer not in self.free or use.distance:
                continue
            if use.consumer in self.free:
                into[use.producer] |= into[use.consumer]
            elif use.consumer in draft.nodes:
                into[use.producer].add(draft.nodes[use.consumer].name)
        for i in sorted(self.free):
            kind = name_of(self.body[i])
            name = f"{self._hint(i) or 'unnamed'}.{kind.rsplit('.', 1)[-1]}"
            yield Folded(name=name, kind=kind, into=tuple(sorted(into[i])))


def _unused(base: str, taken: set[str]) -> str:
    name, number = base, 2
    while name in taken:
        name, number = f"{base}{number}", number + 1
    taken.add(name)
    return name


def _is_stored(value: SSAValue) -> bool:
    """Return whether a value from outside really occupies memory: constants do not."""
    owner = value.owner
    return not isinstance(owner, IrOperation) or name_of(owner) not in (
        "arith.constant",
        "tt.make_range",
    )
