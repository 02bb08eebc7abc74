"""Loops from Triton's GPU IR (TTGIR)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import ValidationError
from xdsl.ir import Operation as IrOperation
from xdsl.ir import SSAValue

from twill.artifacts.base import first_problem
from twill.artifacts.loop import Folded, Invariant, Loop, Origin, Read, Source, Tile
from twill.base.errors import InputError, short
from twill.base.files import read_bytes
from twill.base.names import unused
from twill.frontends.ttgir.contiguity import Contiguity
from twill.frontends.ttgir.draft import Draft, Flow, Node, Outside
from twill.frontends.ttgir.graph import BodyGraph, Values, choose_loop, root_of, steady_flag
from twill.frontends.ttgir.joining import JOINED
from twill.frontends.ttgir.kinds import (
    ELEMENTWISE,
    INTEGER_DIVISIONS,
    VIEWS,
    check_operation,
    combine_of,
    divisor,
    is_free,
    kind_of,
    known,
    scan_facts,
    tile_operands,
)
from twill.frontends.ttgir.memory import Buffers, global_order, shared_bytes
from twill.frontends.ttgir.passes import run_passes
from twill.frontends.ttgir.reader import Dump, integer, name_of, string
from twill.frontends.types import sharing

ACCUMULATOR, USE_C = 2, 3
# What makes values outside the loop that occupy no memory.
UNSTORED = ("arith.constant", "tt.make_range")
MALFORMED = (
    *(LookupError, ValueError, AssertionError, TypeError),
    *(AttributeError, ArithmeticError, RecursionError),
)
Attributes = dict[str, str | bool | int | float]


def load_ttgir(
    file: str,
    *,
    name: str | None = None,
    loop: str | None = None,
    whole_tiles: bool = False,
    fp_fusion: bool = True,
) -> Loop:
    """Extract a loop of a TTGIR dump.

    `loop`: which loop: its induction variable's name or its number in program order.
    `fp_fusion`: whether the compiler fuses products and sums (Triton's `enable_fp_fusion`).

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
    how = {"whole_tiles": whole_tiles, "fp_fusion": fp_fusion}
    return extract(text, file=file, name=name, loop=loop, **how)


def extract(
    text: str,
    *,
    file: str = "",
    name: str | None = None,
    loop: str | None = None,
    whole_tiles: bool = False,
    fp_fusion: bool = True,
) -> Loop:
    """Extract a loop of a TTGIR dump given as text (see `load_ttgir`).

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
        return _Extraction(dump, chosen).loop(name, whole_tiles=whole_tiles, fp_fusion=fp_fusion)
    except InputError as error:
        raise error.within(file) from None
    except ValidationError as error:
        raise first_problem(error, file) from None
    except MALFORMED as error:
        raise InputError(f"malformed: {short(error)}", file=file) from None


class _Body:
    """A loop's body, and what its operations are by themselves."""

    def __init__(self, dump: Dump, loop: IrOperation) -> None:
        self.dump, self.contiguity = dump, Contiguity(dump)
        self.graph = BodyGraph(loop, dump.file)
        self.operations = self.graph.operations
        for operation in self.operations:
            check_operation(dump, operation)
        self.free = {i for i, o in enumerate(self.operations) if is_free(dump, o)}
        self.kept = [i for i in range(len(self.operations)) if i not in self.free]
        self.values = Values(dump, self.graph, self.free)
        self.buffers = Buffers(dump, self.graph)
        self.names = self._names()

    def node(self, i: int) -> Node:
        operation = self.operations[i]
        kind = kind_of(operation)
        tiles = (self.tile(value) for _, value in tile_operands(self.dump, operation))
        return Node(
            key=i,
            name=self.names[i],
            source=name_of(operation),
            kind=kind,
            warps=1 if known(operation).single or self._is_number(i) else self.dump.warps,
            operands=tuple(tile for tile in tiles if tile is not None),
            result=self._result(i),
            elementwise=kind in ELEMENTWISE,
            attributes=self._attributes(operation, kind),
            location=string(operation, "sched.location"),
            transposed=self._transposed(operation, kind),
        )

    def _is_number(self, i: int) -> bool:
        """Whether an operation loads one number, for which any warp will do."""
        operation = self.operations[i]
        return name_of(operation) == "tt.load" and not self.dump.type_of(operation.results[0]).shape

    def tile(self, value: SSAValue) -> Tile | None:
        return self.dump.type_of(value).tile()

    def hint(self, i: int) -> str | None:
        """Return what an operation is called in the dump; a store after where it goes."""
        operation = self.operations[i]
        hint = string(operation, "sched.name")
        if hint is None and operation.results:
            hint = operation.results[0].name_hint
        if hint is None and kind_of(operation) in ("store", "atomic"):
            pointer = operation.operands[0]
            root = root_of(self.graph.initial.get(pointer, pointer), VIEWS)
            target = None if isinstance(root.owner, IrOperation) else root.name_hint
            return f"{target}.store" if target else None
        return hint

    def _transposed(self, operation: IrOperation, kind: str) -> bool | None:
        """Return whether what an allocation holds, or TMA loads, lies transposed."""
        if name_of(operation) == "ttg.local_alloc" and operation.results:
            return self.dump.type_of(operation.results[0]).transposed
        by_tma = kind == "load" and known(operation).single
        return self.dump.type_of(operation.operands[0]).transposed if by_tma else None

    def _result(self, i: int) -> Tile | None:
        """Return the tile that a node leaves: a buffer's contents, or its results side by side."""
        written = [a for a in self.buffers.accesses if a.node == i and a.mode != "read"]
        if written:
            return self.tile(written[0].seen)
        tiles = [t for r in self.operations[i].results if (t := self.tile(r)) is not None]
        if len(tiles) <= 1:
            return tiles[0] if tiles else None
        widest = max(tiles, key=lambda t: t.bits)
        spread = [t.elements_per_thread for t in tiles]
        total = None if None in spread else sum(s for s in spread if s is not None)
        shape = (len(tiles), *widest.shape)
        return widest.model_copy(update={"shape": shape, "elements_per_thread": total})

    def _attributes(self, operation: IrOperation, kind: str) -> Attributes:
        attributes: Attributes = {}
        if kind in ("load", "store"):
            by_tma = known(operation).single
            attributes["engine"] = "tma" if by_tma else "pointer"
            attributes |= {} if by_tma else self.contiguity.accesses(operation)
        if name_of(operation) == "tt.descriptor_reduce":
            attributes["reduce"] = True
        elif kind in ("reduce", "scan"):
            attributes |= self._reduction(operation)
            if kind == "scan":
                attributes |= scan_facts(self.dump, operation)
        elif name_of(operation) in INTEGER_DIVISIONS:
            attributes["divisor"] = divisor(operation)
        elif kind == "convert_layout":
            attributes["trivial"] = False
        for key in ("stage", "cluster"):
            number = integer(operation, f"sched.{key}")
            if number is not None:
                attributes[f"triton_{key}"] = number
        return attributes

    def _reduction(self, operation: IrOperation) -> Attributes:
        attributes: Attributes = {"combine": combine_of(operation) or "other"}
        axis, layout = integer(operation, "axis"), self.dump.type_of(operation.operands[0]).layout
        if axis is not None:
            attributes["axis"] = axis
            if layout is not None and (shared := sharing(layout, axis)) is not None:
                attributes |= {"lanes": shared[0], "lane_warps": shared[1]}
        return attributes

    def _names(self) -> dict[int, str]:
        """Name the operation that completes a variable after it, its helpers with their kind."""
        filled = self._filled()
        hints = {i: self.hint(i) for i in self.kept if i not in filled.values()}
        last = {hint: i for i, hint in hints.items() if hint}
        names: dict[int, str] = {}
        for i, hint in hints.items():
            kind = kind_of(self.operations[i]).rsplit(".", 1)[-1]
            base = hint if hint and last[hint] == i else f"{hint}.{kind}" if hint else kind
            names[i] = unused(base, set(names.values()))
        for load, allocation in filled.items():
            names[allocation] = unused(f"{names[load]}.local_alloc", set(names.values()))
        return names

    def _filled(self) -> dict[int, int]:
        """Return for loads the allocation that is filled with what they load."""
        found: dict[int, int] = {}
        for i in (i for i in self.kept if name_of(self.operations[i]) == "ttg.local_alloc"):
            for source in self.values.sources(self.operations[i].operands[0]):
                if source.node is not None and kind_of(self.operations[source.node]) == "load":
                    found.setdefault(source.node, i)
        return found


class _Extraction:
    """A loop body on its way to a draft and to a loop."""

    def __init__(self, dump: Dump, loop: IrOperation) -> None:
        self.dump, self.ir, self.body = dump, loop, _Body(dump, loop)
        self.graph = self.body.graph
        self.draft = Draft({i: self.body.node(i) for i in self.body.kept}, dump.threads_per_warp)
        self.roots: dict[SSAValue, int] = {}

    def loop(self, name: str | None, *, whole_tiles: bool, fp_fusion: bool) -> Loop:
        self._fill()
        draft = self.draft
        run_passes(draft, whole_tiles=whole_tiles, fp_fusion=fp_fusion)
        return Loop.model_validate(
            {
                "name": name or self.dump.kernel,
                "operations": draft.operations(),
                "dependences": draft.dependences(draft.flows),
                "invariants": tuple(self._invariants()),
                "folded": (*self._folded(), *draft.folded),
                "renamed": draft.dependences(draft.renamed),
                "origin": self._origin(),
                "source": self._source(),
            }
        )

    def _source(self) -> Source:
        """Keep the kernel's text, and the statements of the loop that each operation executes.

        An inserted access to shared memory has a key near that of the load or store it is for.
        """
        draft = self.draft
        found = {node.name: {round(key)} for key, node in draft.nodes.items()}
        names = set(found)
        for key, taken in draft.gone.items():
            for name in taken:
                found.setdefault(name, set()).add(round(key))
        return Source(
            text=self.dump.text,
            loop=self.dump.loops().index(self.ir),
            statements={n: tuple(sorted(found[n])) for n in found if n in names},
            shared_bytes=shared_bytes(self.dump, self.ir) or None,
            joined=JOINED in self.ir.attributes or None,
        )

    def _origin(self) -> Origin:
        return Origin(
            kernel=self.dump.kernel,
            architecture=self.dump.architecture,
            compiler=self.dump.compiler,
            loop=self.dump.loop_name(self.ir),
            location=string(self.ir, "sched.location"),
            nodes_as_written=len(self.body.operations),
            edges_as_written=len(self.graph.edges),
            nodes_after_folding=len(self.body.kept),
            edges_after_folding=len(self.body.values.edges()),
        )

    def _fill(self) -> None:
        """Record all reads between operations: by value, through buffers and global memory."""
        draft, buffers = self.draft, self.body.buffers
        for i in self.body.kept:
            for operand, value, address in self._read(i):
                self._trace(i, operand, value, address=address)
        draft.flows += buffers.flows
        draft.renamed += buffers.renamed
        for access in buffers.untouched:
            number, position = self._root_number(access.buffer), buffers.position_of(access)
            if position is not None:
                draft.outside.append(Outside(number, access.node, position, None))
        draft.flows += global_order(self.graph, self.body.kept)
        draft.carried = frozenset(
            source.node
            for value in self.graph.carried.values()
            for source in self.body.values.sources(value)
            if source.node is not None
        )

    def _read(self, i: int) -> Iterator[tuple[int, SSAValue, bool]]:
        """Yield (operand, value, whether it is an address) of all that a node reads by value."""
        operation = self.body.operations[i]
        kind, single = kind_of(operation), known(operation).single
        pointers = kind in ("load", "store", "atomic") and not single
        tiles = tile_operands(self.dump, operation)
        in_buffers = {a.operand for a in self.body.buffers.accesses if a.node == i}
        for operand, (position, value) in enumerate(tiles):
            if position not in in_buffers and not self._is_overwritten(operation, position):
                yield operand, value, pointers and self.dump.type_of(value).dtype == "i1"
        shown = {position for position, _ in tiles}
        for position, value in enumerate(operation.operands):
            given = self.dump.type_of(value)
            address = given.kind != "memdesc" and given.dtype.startswith(("i", "pointer"))
            if position not in shown and address:
                yield len(tiles), value, True

    def _is_overwritten(self, operation: IrOperation, position: int) -> bool:
        """Whether an operand is the accumulator of a product that overwrites it."""
        operands = operation.operands
        if name_of(operation) != "ttng.warp_group_dot" or position != ACCUMULATOR:
            return False
        return len(operands) > USE_C and steady_flag(self.graph, operands[USE_C]) is False

    def _trace(self, i: int, operand: int, value: SSAValue, *, address: bool) -> None:
        """Write down what a value is made of that a node reads."""
        product = kind_of(self.body.operations[i]) in ("mma", "mma_sync")
        in_place = product and operand == ACCUMULATOR
        for source in self.body.values.sources(value):
            if source.node is not None:
                of = None if source.later else operand
                flow = Flow(source.node, i, source.distance, of, source.axes)
                self.draft.flows.append(replace(flow, in_place=in_place, address=address))
            elif source.outside is not None and not address:
                root = source.outside
                owner, tile = root.owner, self.body.tile(root)
                stored = not isinstance(owner, IrOperation) or name_of(owner) not in UNSTORED
                if tile is not None and tile.shape and stored:
                    number = self._root_number(root)
                    self.draft.outside.append(Outside(number, i, operand, source.axes))

    def _root_number(self, root: SSAValue) -> int:
        return self.roots.setdefault(root, len(self.roots))

    def _invariants(self) -> Iterator[Invariant]:
        """Memory and register tiles that the loop reads but does not make."""
        draft = self.draft
        for root, number in self.roots.items():
            reads = [o for o in draft.outside if o.value == number]
            tile = self.body.tile(root)
            if not reads or tile is None:
                continue
            owner = root.owner
            hint = string(owner, "sched.name") if isinstance(owner, IrOperation) else None
            read = tuple(
                Read(
                    operation=draft.nodes[o.consumer].name,
                    operand=o.operand,
                    axes=draft.axes_of(o.axes, tile),
                )
                for o in sorted(reads, key=lambda o: (o.consumer, o.operand))
            )
            used_by = tuple(sorted({r.operation for r in read}))
            name = hint or root.name_hint or f"invariant{number}"
            yield Invariant(name=name, tile=tile, used_by=used_by, reads=read)

    def _folded(self) -> Iterator[Folded]:
        nodes, free = self.draft.nodes, self.body.free
        into: dict[int, set[str]] = {i: set() for i in free}
        for producer, consumer, distance in sorted(self.graph.edges, reverse=True):
            if producer in free and not distance:
                gone = self.draft.gone.get(consumer, ())
                own = {nodes[consumer].name} if consumer in nodes else set(gone)
                into[producer] |= into.get(consumer, own)
        for i in sorted(free):
            kind = name_of(self.body.operations[i])
            name = f"{self.body.hint(i) or 'unnamed'}.{kind.rsplit('.', 1)[-1]}"
            yield Folded(name=name, kind=kind, into=tuple(sorted(into[i])))
