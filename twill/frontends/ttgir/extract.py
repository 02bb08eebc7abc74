"""TTGIR dump -> Loop."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation as IrOperation
from xdsl.ir import SSAValue

from twill.artifacts.base import read_bytes
from twill.artifacts.loop import Dependence, Folded, Invariant, Loop, Operation, Origin, Tile
from twill.errors import InputError, RefusedError
from twill.frontends.ttgir.graph import CONTROL_FLOW, BodyGraph, Use, body_graph, fold
from twill.frontends.ttgir.kinds import ELEMENTWISE, VIEWS, combine_of, is_free, kind_of
from twill.frontends.ttgir.layouts import sharing
from twill.frontends.ttgir.reader import Dump, integer, name_of, string

ACCUMULATOR = 2
TMA_WARPS = 1


def load_ttgir(file: str, *, name: str | None = None, loop: str | None = None) -> Loop:
    """Extract the loop of a TTGIR dump.

    Parameters
    ----------
    file : str
        An ``.mlir`` file in generic form (see `twill.frontends.triton_dump`).
    name : str, optional
        Name of the loop; the kernel's without it.
    loop : str, optional
        Which loop of the dump; must be left out, there is no choice yet.

    Raises
    ------
    InputError
        If the file is not such a dump.
    RefusedError
        If its loop cannot be scheduled.
    """
    if loop is not None:
        raise RefusedError(f"{file}: a loop cannot be chosen yet (got {loop})")
    try:
        text = read_bytes(file).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("not text", file=file) from None
    return extract(text, file=file, name=name)


def extract(text: str, *, file: str = "", name: str | None = None) -> Loop:
    """Extract the loop of a TTGIR dump given as text.

    Parameters
    ----------
    text : str
        MLIR in generic form.
    file : str
        Name used in errors.
    name : str, optional
        Name of the loop; the kernel's without it.

    Raises
    ------
    InputError
        If the text is not such a dump.
    RefusedError
        If its loop cannot be scheduled.
    """
    dump = Dump(text, file)
    return _Extraction(dump, _only_loop(dump)).loop(name)


def _only_loop(dump: Dump) -> IrOperation:
    inner = [
        loop
        for loop in dump.loops()
        if not any(name_of(o) == "scf.for" for o in loop.walk() if o is not loop)
    ]
    if not inner:
        raise RefusedError(f"{dump.file or 'dump'}: there is no loop")
    with_products = [loop for loop in inner if any(kind_of(o) == "mma" for o in loop.walk())]
    candidates = with_products or inner
    if len(candidates) > 1:
        raise RefusedError(
            f"{dump.file or 'dump'}: there are {len(candidates)} innermost loops "
            f"to choose from; {', '.join(CONTROL_FLOW[:1])} must occur once"
        )
    return candidates[0]


@dataclass(frozen=True)
class _Fusion:
    """A TMA load and the allocation that names its destination are one operation."""

    load: int
    allocation: int


class _Extraction:
    def __init__(self, dump: Dump, loop: IrOperation) -> None:
        self.dump = dump
        self.graph: BodyGraph = body_graph(loop, dump.file)
        self.body = self.graph.operations
        self.free = {i for i, o in enumerate(self.body) if is_free(dump, o)}
        self.folded_uses = fold(self.graph, self.free)
        self.kept = [i for i in range(len(self.body)) if i not in self.free]
        self.fusions = self._fusions()
        self.names = self._names()

    def loop(self, name: str | None) -> Loop:
        fused = {fusion.allocation for fusion in self.fusions}
        operations = tuple(self._operation(i) for i in self.kept if i not in fused)
        return Loop.model_validate(
            {
                "name": name or self.dump.kernel,
                "operations": operations,
                "dependences": tuple(self._dependences()),
                "invariants": tuple(self._invariants()),
                "folded": tuple(self._folded()),
                "origin": Origin(
                    kernel=self.dump.kernel,
                    architecture=self.dump.architecture,
                    compiler=self.dump.compiler,
                    nodes_as_written=len(self.body),
                    edges_as_written=len(self.graph.edges),
                    nodes_after_folding=len(self.kept),
                    edges_after_folding=len(self.folded_uses),
                ),
            }
        )

    def _fusions(self) -> list[_Fusion]:
        """TMA writes shared memory, so the allocation of a loaded tile is no work of its own."""
        found = []
        for use in self.folded_uses:
            producer, consumer = self.body[use.producer], self.body[use.consumer]
            if kind_of(producer) != "load":
                continue
            if name_of(consumer) != "ttg.local_alloc" or use.distance:
                raise RefusedError(
                    f"{self.dump.file or 'dump'}: the tile loaded at {self._place(producer)} is "
                    "read in registers; only loads into shared memory can be scheduled"
                )
            found.append(_Fusion(use.producer, use.consumer))
        return found

    def _place(self, operation: IrOperation) -> str:
        return string(operation, "sched.location") or name_of(operation)

    def _names(self) -> dict[int, str]:
        """Name the operation that completes a variable after it, its helpers with their kind."""
        represented = {fusion.load: fusion.allocation for fusion in self.fusions}
        skipped = set(represented.values())
        hints = {i: self._hint(i) for i in self.kept if i not in skipped}
        last = {hint: i for i, hint in hints.items() if hint}
        names: dict[int, str] = {}
        taken: set[str] = set()
        for i, hint in hints.items():
            kind = kind_of(self.body[i]).rsplit(".", 1)[-1]
            base = hint if hint and last[hint] == i else f"{hint}.{kind}" if hint else kind
            name, number = base, 2
            while name in taken:
                name, number = f"{base}{number}", number + 1
            taken.add(name)
            names[i] = name
        names.update({allocation: names[load] for load, allocation in represented.items()})
        return names

    def _hint(self, i: int) -> str | None:
        operation = self.body[i]
        hint = string(operation, "sched.name")
        if hint is None and operation.results:
            hint = operation.results[0].name_hint
        return hint

    def _operation(self, i: int) -> Operation:
        operation = self.body[i]
        kind = kind_of(operation)
        allocation = next((f.allocation for f in self.fusions if f.load == i), None)
        shown = self.body[allocation] if allocation is not None else operation
        return Operation.model_validate(
            {
                "name": self.names[i],
                "kind": kind,
                "warps": TMA_WARPS if kind == "load" else self.dump.warps,
                "operands": () if kind == "load" else tuple(self._operands(operation)),
                "result": self._tile(shown.results[0]) if shown.results else None,
                "elementwise": kind in ELEMENTWISE,
                "attributes": self._attributes(operation, kind),
                "location": string(operation, "sched.location"),
            }
        )

    def _tile(self, value: SSAValue) -> Tile | None:
        return self.dump.type_of(value).tile()

    def _operands(self, operation: IrOperation) -> list[Tile]:
        tiles = [self._tile(value) for value in operation.operands]
        return [tile for tile in tiles if tile is not None]

    def _attributes(self, operation: IrOperation, kind: str) -> dict[str, str | int]:
        if kind == "load":
            return {"engine": "tma"}
        if kind != "reduce":
            return {}
        combine, axis = combine_of(operation), integer(operation, "axis")
        layout = self.dump.type_of(operation.operands[0]).layout
        shared = sharing(layout, axis) if layout is not None and axis is not None else None
        attributes: dict[str, str | int] = {}
        if combine is not None:
            attributes["combine"] = combine
        if shared is not None:
            attributes |= {"lanes": shared[0], "lane_warps": shared[1]}
        return attributes

    def _dependences(self) -> list[Dependence]:
        allocations = {fusion.allocation for fusion in self.fusions}
        found = []
        for use in self.folded_uses:
            if use.consumer in allocations:
                continue
            found.append(
                Dependence(
                    producer=self.names[use.producer],
                    consumer=self.names[use.consumer],
                    distance=use.distance,
                    operand=use.operand,
                    in_place=self._in_place(use),
                )
            )
        return found

    def _in_place(self, use: Use) -> bool:
        return kind_of(self.body[use.consumer]) == "mma" and use.operand == ACCUMULATOR

    def _invariants(self) -> list[Invariant]:
        """Memory and register tiles that the loop reads but does not make."""
        found: dict[SSAValue, set[str]] = {}
        for i, operands in self.graph.outside.items():
            for value in operands.values():
                root = _root(value)
                tile = self._tile(root)
                if tile is None or not tile.shape or not _is_stored(root):
                    continue
                found.setdefault(root, set()).update(self._users(i))
        return [
            Invariant(
                name=self._outside_name(root, number), tile=tile, used_by=tuple(sorted(users))
            )
            for number, (root, users) in enumerate(found.items())
            if (tile := self._tile(root)) is not None
        ]

    def _users(self, i: int) -> set[str]:
        """Names of the operations that read what node i reads, through free nodes."""
        if i not in self.free:
            return {self.names[i]}
        users: set[str] = set()
        for use in self.graph.uses:
            if use.producer == i and use.consumer != i and use.distance == 0:
                users |= self._users(use.consumer)
        return users

    def _outside_name(self, value: SSAValue, number: int) -> str:
        owner = value.owner
        hint = string(owner, "sched.name") if isinstance(owner, IrOperation) else None
        return hint or value.name_hint or f"invariant{number}"

    def _folded(self) -> list[Folded]:
        records = [
            Folded(
                name=self._free_name(i),
                kind=name_of(self.body[i]),
                into=tuple(sorted(self._users(i))),
            )
            for i in sorted(self.free)
        ]
        records += [
            Folded(
                name=self._free_name(f.allocation),
                kind="ttg.local_alloc",
                into=(self.names[f.load],),
            )
            for f in self.fusions
        ]
        return records

    def _free_name(self, i: int) -> str:
        hint = self._hint(i) or "unnamed"
        return f"{hint}.{name_of(self.body[i]).rsplit('.', 1)[-1]}"


def _root(value: SSAValue) -> SSAValue:
    """Follow views back to what they show."""
    owner = value.owner
    while isinstance(owner, IrOperation) and name_of(owner) in VIEWS and owner.operands:
        value = owner.operands[0]
        owner = value.owner
    return value


def _is_stored(value: SSAValue) -> bool:
    """Return whether a value from outside really occupies memory: constants do not."""
    owner = value.owner
    return not isinstance(owner, IrOperation) or name_of(owner) not in (
        "arith.constant",
        "tt.make_range",
    )
