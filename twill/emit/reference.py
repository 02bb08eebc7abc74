"""The kernel as it was written, in PyTorch: the reference that the emitted one must equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from twill.base.errors import RefusedError
from twill.emit.expressions.language import used_result
from twill.emit.expressions.texts import PLUS, Text, joined
from twill.emit.expressions.torch import Torch
from twill.emit.names import Names
from twill.emit.source import Block, BlockArgument, Source, SSAValue, Statement, leaving, tile_of
from twill.emit.statements import update_of
from twill.emit.tree import Assignment, Call, If, Loop, Node, Return
from twill.frontends.ttgir import USE_C
from twill.frontends.ttgir.graph import root_of
from twill.frontends.ttgir.kinds import DESCRIPTOR, PRODUCTS, product_operands
from twill.frontends.ttgir.memory import ADDRESSES
from twill.frontends.ttgir.reader import integers, name_of
from twill.frontends.ttgir.rewriting import MARKS

INLINE = ("arith.constant", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.trans")
INLINE_MEMORY = (
    "ttg.memdesc_trans",
    "ttg.memdesc_reshape",
    "ttg.convert_layout",
    "ttg.local_alloc",
    "ttg.local_load",
)
# Names that the reference itself has.
OWN = {
    "Described",
    "exact",
    "program",
    "grid",
    "device",
    "math",
    "torch",
    "wide",
    "rounded",
    "product",
    "scaled",
    "scanned",
    "signed",
    "trips",
    "unsigned",
}
REDUCES = {"add": "sum", "max": "amax", "min": "amin"}  # of atomic updates, as PyTorch calls them
LONGEST = 60  # characters of an expression that is part of another


class Operands:
    """Operands of statements, as variables of the reference."""

    def __init__(self, source: Source) -> None:
        self.source, self.torch = source, Torch(source)
        self.names = Names({p.name for p in source.parameters()} | OWN)
        self.known: dict[SSAValue, Text] = {}
        self.taken: set[str] = set()
        self.outputs: dict[str, None] = {}

    def value(self, value: SSAValue) -> Text:
        """Return the text of a value; of a pointer its offset."""
        if value in self.known:
            return self.known[value]
        if isinstance(value, BlockArgument) and value.block is self.source.blocks[0]:
            if str(value.type).startswith("!tt.ptr"):
                return Text("0")
            name, dot, rest = self.source.argument(value).partition(".")
            if dot:
                fact, _, axis = rest.partition(".")
                return Text(f"{name}.tensor.{'shape' if fact == 'shape' else 'stride()'}[{axis}]")
            return Text(name)
        raise RefusedError(f"a value of type {value.type} has no template for the reference")

    def text(self, value: SSAValue) -> str:
        """Return a value as text."""
        return self.value(value).text

    def at(self, coordinates: list[SSAValue]) -> str:
        """Return where a tile begins."""
        return f"[{', '.join(self.text(c) for c in coordinates)}]"

    def output(self, value: SSAValue) -> str:
        """Return the argument that a pointer comes from, which is written."""
        argument = self.root(value)
        self.outputs[argument] = None
        return argument

    def root(self, pointer: SSAValue) -> str:
        """Return the kernel's argument that an address comes from."""
        while True:
            pointer = root_of(pointer, ADDRESSES)
            if isinstance(pointer, BlockArgument):
                parent = pointer.block.parent_op()
                if parent is None or name_of(parent) != "scf.for":
                    return self.source.argument(pointer)
                pointer = parent.operands[2 + pointer.index]
                continue
            raise RefusedError("an address of a computed tensor has no template for the reference")

    def variable(self, value: SSAValue, otherwise: str) -> str:
        """Return a fresh variable."""
        base = self.names(self.source.hint(value) or otherwise)
        name, count = base, 1
        while name in self.taken:
            count += 1
            name = f"{base}{count}"
        self.taken.add(name)
        return name


class Reference:
    """The body of the emitted function `reference`."""

    def __init__(self, source: Source) -> None:
        self.source, self.operands = source, Operands(source)
        self.outputs = self.operands.outputs
        self._effects: dict[str, Callable[[Statement], list[Node]]] = {
            "tt.return": nothing,
            "scf.yield": nothing,
            "llvm.intr.assume": nothing,
            "scf.for": self._loop,
            **dict.fromkeys(MARKS, partial(_left, self.operands)),
            "tt.descriptor_store": self._stored,
            "tt.descriptor_reduce": self._stored,
            "tt.store": self._stored_at,
            "tt.atomic_rmw": self._updated,
            "ttng.tmem_alloc": self._allocated,
            "ttng.tmem_store": self._filled,
            **dict.fromkeys(PRODUCTS, self._tcgen05),
        }
        self._makers: dict[str, Callable[[Statement], Text]] = {
            DESCRIPTOR: self._described,
            "tt.descriptor_load": self._loaded,
            "tt.load": self._loaded_at,
            "ttg.local_alloc": self._first,
            "ttg.local_load": self._first,
            "ttng.tmem_load": self._first,
            "ttng.warp_group_dot": self._wgmma,
            "tt.addptr": self._address,
        }

    def nodes(self) -> list[Node]:
        """Return the statements of one program of the grid."""
        return self._block(self.source.blocks[0])

    def _block(self, block: Block) -> list[Node]:
        return [node for statement in block.ops for node in self._statement(statement)]

    def _statement(self, statement: Statement) -> list[Node]:
        name = name_of(statement)
        if name in self._effects:
            return self._effects[name](statement)
        if not statement.results:
            raise RefusedError(f"{name} has no template for the reference")
        return self._assigned(statement)

    def _stored(self, statement: Statement) -> list[Node]:
        descriptor, value, *at = statement.operands
        call = "store" if name_of(statement) == "tt.descriptor_store" else "add"
        more = "[None]" * len(self._axes_of_one(at, value))
        text = self.operands.text(value)
        given = (self.operands.at(at), f"({text}){more}" if more else text)
        self.operands.output(descriptor)
        return [Call(f"{self.operands.text(descriptor)}.{call}", given)]

    def _axes_of_one(self, at: Sequence[SSAValue], tile: SSAValue) -> tuple[int, ...]:
        """Return the first axes of a block that its tile leaves out."""
        return (1,) * (len(at) - len(self.source.type_of(tile).shape))

    def _stored_at(self, statement: Statement) -> list[Node]:
        given = tuple(self.operands.text(o) for o in statement.operands)
        return [Call(f"{self.operands.output(statement.operands[0])}.store_at", given)]

    def _updated(self, statement: Statement) -> list[Node]:
        how = REDUCES[update_of(statement)]
        offsets, value, *mask = (self.operands.text(o) for o in statement.operands)
        given = (offsets, value, f'"{how}"', *mask)
        return [Call(f"{self.operands.output(statement.operands[0])}.update_at", given)]

    def _allocated(self, statement: Statement) -> list[Node]:
        """Name a buffer of tensor memory, or what it is filled with."""
        buffer = statement.results[0]
        filled = len(statement.operands) > 0
        self.operands.known[buffer] = (
            self.operands.value(statement.operands[0])
            if filled
            else Text(self.operands.variable(buffer, "buffer"))
        )
        return []

    def _filled(self, statement: Statement) -> list[Node]:
        value = self.operands.text(tile_of(self.source, statement))
        return [Assignment(self.operands.text(statement.operands[0]), value)]

    def _assigned(self, statement: Statement) -> list[Node]:
        """Compute a value, in a statement of its own if it is used more than once."""
        text, name = self._made(statement), name_of(statement)
        result = statement.results[used_result(statement) if name == "tt.scan" else 0]
        uses = list(result.uses)
        once = len(uses) == 1 and uses[0].operation.parent is statement.parent
        short = once and len(text.text) < LONGEST and "load" not in name
        if short or name in (*INLINE, *INLINE_MEMORY):
            self.operands.known[result] = text
            return []
        variable = self.operands.variable(result, "value")
        self.operands.known[result] = Text(variable)
        return [Assignment(variable, text.text)]

    def _made(self, statement: Statement) -> Text:
        name = name_of(statement)
        if name in self._makers:
            return self._makers[name](statement)
        return self.operands.torch.expression(
            statement, [self.operands.value(o) for o in statement.operands]
        )

    def _described(self, statement: Statement) -> Text:
        base, *numbers = (self.operands.text(o) for o in statement.operands)
        rank = len(numbers) // 2
        shape, strides = (", ".join(half) for half in (numbers[:rank], numbers[rank:]))
        memory = self.operands.root(statement.operands[0])
        return Text(f"Described({memory}, {base}, [{shape}], [{strides}], device)")

    def _loaded(self, statement: Statement) -> Text:
        descriptor, *at = statement.operands
        tile = statement.results[0]
        more = self._axes_of_one(at, tile)
        shape = (*more, *self.source.type_of(tile).shape)
        memory = self.operands.text(descriptor)
        return Text(f"{memory}.load({self.operands.at(at)}, {shape}, exact)" + "[0]" * len(more))

    def _loaded_at(self, statement: Statement) -> Text:
        operands = [self.operands.text(o) for o in statement.operands]
        counts = integers(statement, "operandSegmentSizes") or [1, 0, 0]
        keys = [k for k, c in zip(("", "mask=", "other="), counts, strict=True) if c]
        given = ", ".join(k + o for k, o in zip(keys, operands, strict=True))
        return Text(f"{self.operands.root(statement.operands[0])}.load_at({given}, exact=exact)")

    def _wgmma(self, statement: Statement) -> Text:
        a, b, c = (self.operands.text(o) for o in statement.operands[:3])
        product = f"product({a}, {b}, exact)"
        if self.source.is_zero(statement.operands[2]):
            return Text(product)
        if len(statement.operands) > USE_C:
            flag = self.operands.text(statement.operands[USE_C])
            return Text(f"{product} + ({c} if {flag} else 0)", PLUS)
        return joined(Text(product), "+", self.operands.value(statement.operands[2]))

    def _first(self, statement: Statement) -> Text:
        return self.operands.value(statement.operands[0])

    def _address(self, statement: Statement) -> Text:
        pointer, offset = (self.operands.value(o) for o in statement.operands)
        return offset if pointer.text == "0" else joined(pointer, "+", offset)

    def _tcgen05(self, statement: Statement) -> list[Node]:
        roles = product_operands(statement)
        a, b, d = (self.operands.text(statement.operands[roles[k] or 0]) for k in ("a", "b", "d"))
        if name_of(statement) == PRODUCTS[1]:
            rows, columns = (
                self.operands.text(statement.operands[roles[k] or 0])
                for k in ("a_scale", "b_scale")
            )
            a, b = f"scaled({a}, {rows}, exact)", f"scaled({b}.T, {columns}, exact).T"
        product = f"product({a}, {b}, exact)"
        use = roles["use_d"]
        flag = "True" if use is None else self.operands.text(statement.operands[use])
        total = {"True": f"{product} + {d}", "False": product}.get(
            flag, f"{product} + ({d} if {flag} else 0)"
        )
        return [Assignment(d, total)]

    def _loop(self, loop: Statement) -> list[Node]:
        block = loop.regions[0].blocks[0]
        lower, upper, step, *initial = (loop.operands[k] for k in range(len(loop.operands)))
        nodes: list[Node] = []
        carried = list(block.args)[1:]
        for argument, first in zip(carried, initial, strict=True):
            if is_token(argument):
                continue
            variable = self.operands.variable(argument, "carried")
            nodes.append(Assignment(variable, self.operands.text(first)))
            self.operands.known[argument] = Text(variable)
        counter = self.operands.variable(block.args[0], "index")
        self.operands.known[block.args[0]] = Text(counter)
        bounds = ", ".join(self.operands.text(v) for v in (lower, upper, step))
        body = self._block(block)
        *_, terminator = block.ops
        pairs = [
            (self.operands.known[argument].text, self.operands.text(value))
            for argument, value in zip(carried, terminator.operands, strict=True)
            if not is_token(argument)
        ]
        pairs = [(a, b) for a, b in pairs if a != b]
        if pairs:
            left, right = (", ".join(side) for side in zip(*pairs, strict=True))
            body.append(Assignment(left, right))
        for argument, result in zip(carried, loop.results, strict=True):
            if not is_token(argument):
                self.operands.known[result] = self.operands.known[argument]
        if loop in self.source.parts:
            nodes.append(Assignment("trips", f"len(range({bounds}))", "+="))
        return [*nodes, Loop(counter, f"range({bounds})", tuple(body))]


def _left(operands: Operands, mark: Statement) -> list[Node]:
    return [If(leaving(mark, operands.text(mark.operands[0])), (Return("trips"),))]


def nothing(_: Statement) -> list[Node]:
    """Return no code, for a statement that only ends a block."""
    return []


def is_token(value: SSAValue) -> bool:
    """Return whether a value only orders accesses to a buffer."""
    return "token" in str(value.type)
