"""Templates of Gluon."""

from __future__ import annotations

from twill.base.errors import RefusedError
from twill.emit.attributes import refused
from twill.emit.expressions import integers
from twill.emit.expressions.language import (
    ELEMENTWISE,
    SHARED,
    Language,
    Template,
    calls,
    combination,
    is_reverse,
    used_result,
)
from twill.emit.expressions.texts import Text, number_text
from twill.emit.layouts import Layouts, dtype
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.emit.tree import Function, Return
from twill.frontends.ttgir.kinds import combine_of
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.ttgir.reader import integers as numbers_of
from twill.frontends.ttgir.rewriting import PART


def _arith_constant(gluon: Gluon, statement: Statement, _operands: list[Text]) -> Text:
    kind = gluon.source.type_of(statement.results[0])
    number = number_text(constant(statement, kind.dtype))
    return gluon.filled(statement, number) if kind.shape else Text(number)


def _of_axis(function: str) -> Template:
    """Return the template of a call for an axis of the grid."""
    return lambda gluon, grid, _: gluon.call(function, str(integer(grid, "axis") or 0))


def _tt_make_range(gluon: Gluon, statement: Statement, _operands: list[Text]) -> Text:
    begin, end = integer(statement, "start") or 0, integer(statement, "end") or 0
    return gluon.call("arange", str(begin), str(end), gluon.layout_of(statement))


def _tt_trans(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    order = numbers_of(statement, "order")
    turned = f"gl.permute({operands[0].text}, {order})"
    return gluon.call("convert_layout", turned, gluon.layout_of(statement))


def _tt_reshape(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    shape = list(gluon.source.type_of(statement.results[0]).shape)
    changed = f"{operands[0]}.reshape({shape})"
    return gluon.call("convert_layout", changed, gluon.layout_of(statement))


def _tt_split(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    return Text(f"{gluon.call('split', operands[0].text)}[{integer(statement, PART) or 0}]")


def _ttg_convert_layout(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    return gluon.call("convert_layout", operands[0].text, gluon.layout_of(statement))


def _tt_broadcast(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    """Change the layout to that of the tile, where a column or row is of another product's."""
    before, after = (gluon.source.type_of(v) for v in (*statement.operands, *statement.results))
    if before.layout == after.layout or None in (before.layout, after.layout):
        return operands[0]
    return _ttg_convert_layout(gluon, statement, operands)


def _tt_reduce(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    functions = {"max": "max", "add": "sum", "min": "min"}
    function = functions.get(combine_of(statement) or "")
    first = statement.regions[0].blocks[0].first_op
    exact = first is None or name_of(first) not in ("arith.maximumf", "arith.minimumf")
    if function is None or not exact:
        raise refused(statement, "it reduces by a function of its own")
    return gluon.call(function, operands[0].text, f"axis={integer(statement, 'axis') or 0}")


def _tt_scan(gluon: Gluon, statement: Statement, operands: list[Text]) -> Text:
    names, returned = combination(gluon, statement)
    name = f"scan_step{len(gluon.functions) or ''}"
    name = gluon.functions.setdefault((names, returned), name)
    given = ", ".join(o.text for o in operands)
    several = len(operands) > 1
    call = gluon.call(
        "associative_scan",
        f"({given})" if several else given,
        f"axis={integer(statement, 'axis') or 0}",
        f"combine_fn={name}",
        *(["reverse=True"] if is_reverse(statement) else []),
    )
    which = used_result(statement)
    return Text(f"{call.text}[{which}]") if several else call


TEMPLATES: dict[str, Template] = {
    **SHARED,
    "arith.constant": _arith_constant,
    "tt.get_program_id": _of_axis("program_id"),
    "tt.get_num_programs": _of_axis("num_programs"),
    "tt.make_range": _tt_make_range,
    "tt.trans": _tt_trans,
    "tt.reshape": _tt_reshape,
    "ttg.convert_layout": _ttg_convert_layout,
    "tt.broadcast": _tt_broadcast,
    "tt.reduce": _tt_reduce,
    "tt.split": _tt_split,
    "tt.mulhiui": calls("umulhi"),
    "tt.precise_divf": calls("div_rn"),
    "tt.approx_divf": calls("fdiv", "approx=True"),
    "tt.precise_sqrt": calls("sqrt_rn"),
    "tt.scan": _tt_scan,
}


OF_TILES = (
    *("tt.expand_dims", "tt.trans", "tt.reshape"),
    *("tt.reduce", "tt.scan", "ttg.convert_layout"),
)


class Gluon(Language):
    """Templates of Gluon."""

    module = "gl"
    templates = TEMPLATES

    def __init__(self, source: Source, layouts: Layouts) -> None:
        super().__init__(source)
        self.layouts = layouts
        self.functions: dict[tuple[str, str], str] = {}  # names of scans, by parameters and result

    def expression(self, statement: Statement, operands: list[Text]) -> Text:
        """Return a statement's result; what works on a tile's layout is given a tile."""
        if name_of(statement) in OF_TILES:
            pairs = zip(statement.operands, operands, strict=True)
            operands = [self.tile(value, text) for value, text in pairs]
        return super().expression(statement, operands)

    def tile(self, value: SSAValue, text: Text) -> Text:
        """Return the text of a tile, filled with a number where the text is only that number."""
        owner = self.source.statement(value)
        filled = owner is not None and self._is_filled_with_one(value)
        return self.filled(owner, text.text) if owner is not None and filled else text

    def _is_filled_with_one(self, value: SSAValue) -> bool:
        """Return whether all elements of a tile are one number, which its text is."""
        owner = self.source.statement(value)
        if owner is None or not self.is_tile(value):
            return False
        name = name_of(owner)
        if name == "tt.splat":
            return True
        if not (name in ELEMENTWISE or name.startswith("math.")):
            return False
        tiles = [o for o in owner.operands if self.is_tile(o) and self.number(o) is None]
        return bool(tiles) and all(self._is_filled_with_one(o) for o in tiles)

    def layout_of(self, statement: Statement) -> str:
        """Return the layout of a statement's result."""
        return self.layout(statement.results[0])

    def layout(self, value: SSAValue) -> str:
        """Return the layout of a tile in registers."""
        layout = self.source.type_of(value).layout
        if layout is None:
            raise RefusedError(f"{self.source.hint(value) or 'a tile'} has no layout")
        return self.layouts.of_tile(layout)

    def filled(self, statement: Statement, number: object) -> Text:
        """Return a tile of one number in the layout of a statement's result."""
        kind = self.source.type_of(statement.results[0])
        if number in ("0.0", "0"):
            return self.call(
                "zeros", str(list(kind.shape)), f"gl.{dtype(kind.dtype)}", self.layout_of(statement)
            )
        facts = (str(list(kind.shape)), str(number), f"gl.{dtype(kind.dtype)}")
        return self.call("full", *facts, self.layout_of(statement))

    def unsigned(self, statement: Statement, operands: list[Text]) -> Text:
        """Return what is computed of integers without a sign, in the type that says so."""
        value, result = statement.operands[0], statement.results[0]
        bits, name = integers.bits_of(self.source, value), name_of(statement)
        plain = integers.without_sign(operands, bits)
        given = [
            p or Text(f"gl.cast({o.text}, gl.uint{bits}, bitcast=True)")
            for o, p in zip(operands, plain, strict=True)
        ]
        if name in integers.CASTS:
            return self.cast(statement, given[0])
        made = integers.computed(statement, given, self.module)
        if name == "arith.cmpi":
            return made
        return Text(f"{made}.to(gl.{dtype(self.source.type_of(result).dtype)}, bitcast=True)")

    def scan_functions(self) -> list[Function]:
        """Return the functions of scans."""
        return [
            Function(name, (parameters,), (Return(returned),))
            for (parameters, returned), name in self.functions.items()
        ]
