"""What statements without side effects look like in Gluon and in PyTorch: one template a kind."""

from __future__ import annotations

from collections.abc import Callable

from twill.base.errors import RefusedError
from twill.emit.attributes import refused
from twill.emit.dress import integers
from twill.emit.dress.scans import combination, is_reverse, used_result
from twill.emit.dress.texts import CLOSED, LOOSE, PLUS, Text, joined, number_text
from twill.emit.layouts import Layouts, dtype
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.frontends.ttgir.kinds import combine_of
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.ttgir.reader import integers as numbers_of

__all__ = ["CLOSED", "LOOSE", "PLUS", "Dress", "Gluon", "Text", "joined", "number_text"]

BINARY = {
    **{f"arith.add{t}": "+" for t in "fi"},
    **{f"arith.sub{t}": "-" for t in "fi"},
    **{f"arith.mul{t}": "*" for t in "fi"},
    "arith.divf": "/",
    "arith.divsi": "//",
    "arith.remsi": "%",
    "arith.andi": "&",
    "arith.ori": "|",
    "arith.xori": "^",
    "arith.shli": "<<",
    "arith.shrsi": ">>",
    "tt.addptr": "+",
}
# Of `arith.cmpi` and `arith.cmpf` by predicate: signed ones, and those that are what Python's signs
# are for NaN too.
COMPARE_INTEGERS = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">="}
COMPARE_FLOATS = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
LARGER = ("arith.maxnumf", "arith.maxsi")
SMALLER = ("arith.minnumf", "arith.minsi")
CASTS = (
    *("arith.truncf", "arith.extf", "arith.trunci", "arith.extsi", "arith.extui"),
    *("tt.fp_to_fp", "arith.sitofp", "arith.uitofp", "arith.fptosi"),
)
# Operations of two operands that take a number beside a tile.
DIVISIONS = ("tt.approx_divf", "tt.precise_divf")
MIXED = (*LARGER, *SMALLER, *DIVISIONS, "arith.select", "tt.mulhiui")
ELEMENTWISE = (*BINARY, *MIXED, *CASTS, "arith.negf", "arith.cmpi", "arith.cmpf", "tt.broadcast")
OF_TILES = ("tt.expand_dims", "tt.trans", "tt.reduce", "tt.scan", "ttg.convert_layout")
FUNCTIONS = ("exp2", "exp", "log2", "log", "sqrt", "rsqrt", "sin", "cos", "erf")


class Dress:
    """Templates that both languages share."""

    module = ""

    def __init__(self, source: Source) -> None:
        self.source = source

    def expression(self, statement: Statement, operands: list[Text]) -> Text:
        """Return a statement's result.

        Raises
        ------
        RefusedError
            If its kind has no template.
        """
        name = name_of(statement)
        if name in BINARY or name in MIXED or integers.is_unsigned(self.source, statement):
            operands = self.plain(statement, operands)
        if integers.is_unsigned(self.source, statement):
            return self.unsigned(statement, operands)
        if name in BINARY:
            if BINARY[name] == "+" and "0" in (operands[0].text, operands[1].text):
                return operands[operands[0].text == "0"]
            return joined(operands[0], BINARY[name], operands[1])
        if name in CASTS:
            return self.cast(statement, operands[0])
        if name.startswith("math.") and name[5:] in FUNCTIONS:
            return self._function(statement, name[5:], operands[0])
        template: Callable[[Statement, list[Text]], Text] | None = getattr(
            self, f"_{name.replace('.', '_')}", None
        )
        if name in LARGER or name in SMALLER:
            template = self.extreme
        if template is None:
            raise refused(statement)
        return template(statement, operands)

    def plain(self, statement: Statement, operands: list[Text]) -> list[Text]:
        """Return operands with tiles of one number as that number, if another one is a tile."""
        numbers = [self._number(value) for value in statement.operands]
        if all(number is not None for number in numbers):
            return operands
        return [o if n is None else Text(n) for o, n in zip(operands, numbers, strict=True)]

    def _number(self, value: SSAValue) -> str | None:
        owner = self.source.statement(value)
        if owner is None or name_of(owner) != "arith.constant":
            return None
        return number_text(constant(owner, self.source.type_of(value).dtype))

    def is_tile(self, value: SSAValue) -> bool:
        """Return whether a value is a tile."""
        return bool(self.source.type_of(value).shape)

    def _function(self, statement: Statement, name: str, operand: Text) -> Text:
        if self.is_tile(statement.results[0]):
            return self.call(name, operand.text)
        return self.of_number(name, operand)

    def of_number(self, function: str, operand: Text) -> Text:
        """Return a function of a number."""
        return self.call(function, operand.text)

    def call(self, function: str, *arguments: str) -> Text:
        """Return a call of the language's module."""
        return Text(f"{self.module}.{function}({', '.join(arguments)})")

    def cast(self, statement: Statement, operand: Text) -> Text:
        """Return a conversion of element types."""
        kind = dtype(self.source.type_of(statement.results[0]).dtype)
        return Text(f"{operand}.to({self.module}.{kind})")

    def unsigned(self, statement: Statement, operands: list[Text]) -> Text:
        """Return what is computed of integers without a sign."""
        raise NotImplementedError

    def extreme(self, statement: Statement, operands: list[Text]) -> Text:
        """Return the larger or the smaller of two."""
        which = "maximum" if name_of(statement) in LARGER else "minimum"
        return self.call(which, *(o.text for o in operands))

    def _math_fma(self, _: Statement, operands: list[Text]) -> Text:
        a, b, c = operands
        return joined(joined(a, "*", b), "+", c)

    def _arith_negf(self, _: Statement, operands: list[Text]) -> Text:
        return Text(f"-{operands[0]}", LOOSE)

    def _arith_cmpi(self, statement: Statement, operands: list[Text]) -> Text:
        return self._compared(statement, operands, COMPARE_INTEGERS)

    def _arith_cmpf(self, statement: Statement, operands: list[Text]) -> Text:
        return self._compared(statement, operands, COMPARE_FLOATS)

    @staticmethod
    def _compared(statement: Statement, operands: list[Text], signs: dict[int, str]) -> Text:
        predicate = integer(statement, "predicate") or 0
        if predicate not in signs:
            raise refused(statement, f"predicate {predicate}")
        return Text(f"{operands[0]} {signs[predicate]} {operands[1]}", LOOSE)

    def _arith_select(self, _: Statement, operands: list[Text]) -> Text:
        return self.call("where", *(o.text for o in operands))

    def _tt_expand_dims(self, statement: Statement, operands: list[Text]) -> Text:
        rank = len(self.source.type_of(statement.results[0]).shape)
        places = [":"] * rank
        places[integer(statement, "axis") or 0] = "None"
        return Text(f"{operands[0]}[{', '.join(places)}]")

    def _tt_broadcast(self, _: Statement, operands: list[Text]) -> Text:
        return operands[0]

    def _tt_splat(self, _: Statement, operands: list[Text]) -> Text:
        return operands[0]


class Gluon(Dress):
    """Templates of Gluon."""

    module = "gl"

    def __init__(self, source: Source, layouts: Layouts) -> None:
        super().__init__(source)
        self.layouts = layouts
        self.functions: dict[str, str] = {}  # of scans: their heads and bodies, and their names

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
        tiles = [o for o in owner.operands if self.is_tile(o) and self._number(o) is None]
        return bool(tiles) and all(self._is_filled_with_one(o) for o in tiles)

    def _arith_constant(self, statement: Statement, _: list[Text]) -> Text:
        kind = self.source.type_of(statement.results[0])
        number = number_text(constant(statement, kind.dtype))
        return self.filled(statement, number) if kind.shape else Text(number)

    def _tt_get_program_id(self, statement: Statement, _: list[Text]) -> Text:
        return self.call("program_id", str(integer(statement, "axis") or 0))

    def _tt_get_num_programs(self, statement: Statement, _: list[Text]) -> Text:
        return self.call("num_programs", str(integer(statement, "axis") or 0))

    def _tt_make_range(self, statement: Statement, _: list[Text]) -> Text:
        begin, end = integer(statement, "start") or 0, integer(statement, "end") or 0
        return self.call("arange", str(begin), str(end), self.layout_of(statement))

    def _tt_trans(self, statement: Statement, operands: list[Text]) -> Text:
        order = numbers_of(statement, "order")
        turned = f"gl.permute({operands[0].text}, {order})"
        return self.call("convert_layout", turned, self.layout_of(statement))

    def _ttg_convert_layout(self, statement: Statement, operands: list[Text]) -> Text:
        return self.call("convert_layout", operands[0].text, self.layout_of(statement))

    def _tt_broadcast(self, statement: Statement, operands: list[Text]) -> Text:
        """Change the layout to that of the tile, where a column or row is of another product's."""
        before, after = (self.source.type_of(v) for v in (*statement.operands, *statement.results))
        if before.layout == after.layout or None in (before.layout, after.layout):
            return operands[0]
        return self._ttg_convert_layout(statement, operands)

    def _tt_reduce(self, statement: Statement, operands: list[Text]) -> Text:
        functions = {"max": "max", "add": "sum", "min": "min"}
        function = functions.get(combine_of(statement) or "")
        first = statement.regions[0].blocks[0].first_op
        exact = first is None or name_of(first) not in ("arith.maximumf", "arith.minimumf")
        if function is None or not exact:
            raise refused(statement, "it reduces by a function of its own")
        return self.call(function, operands[0].text, f"axis={integer(statement, 'axis') or 0}")

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

    def _tt_mulhiui(self, _: Statement, operands: list[Text]) -> Text:
        return self.call("umulhi", *(o.text for o in operands))

    def _tt_precise_divf(self, _: Statement, operands: list[Text]) -> Text:
        return self.call("div_rn", *(o.text for o in operands))

    def _tt_approx_divf(self, _: Statement, operands: list[Text]) -> Text:
        return self.call("fdiv", *(o.text for o in operands), "approx=True")

    def _tt_precise_sqrt(self, _: Statement, operands: list[Text]) -> Text:
        return self.call("sqrt_rn", operands[0].text)

    def _tt_scan(self, statement: Statement, operands: list[Text]) -> Text:
        names, returned = combination(self, statement)
        name = f"scan_step{len(self.functions) or ''}"
        name = self.functions.setdefault(f"({names}):\n    return {returned}", name)
        given = ", ".join(o.text for o in operands)
        several = len(operands) > 1
        call = self.call(
            "associative_scan",
            f"({given})" if several else given,
            f"axis={integer(statement, 'axis') or 0}",
            f"combine_fn={name}",
            *(["reverse=True"] if is_reverse(statement) else []),
        )
        which = used_result(statement)
        return Text(f"{call.text}[{which}]") if several else call

    def scan_functions(self) -> list[str]:
        """Return the functions of scans."""
        made = (f"@gluon.jit\ndef {name}{text}" for text, name in self.functions.items())
        return [line for text in made for line in (*text.split("\n"), "", "")]
