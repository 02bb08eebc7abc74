"""What statements without side effects look like in Gluon and in PyTorch: one template a kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from twill.emit.attributes import access_options, refused
from twill.emit.layouts import Layouts, dtype
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.errors import RefusedError
from twill.frontends.ttgir import USE_C
from twill.frontends.ttgir.kinds import PRODUCTS, combine_of
from twill.frontends.ttgir.reader import integer, integers, name_of

BINARY = {
    **{f"arith.add{t}": "+" for t in "fi"},
    **{f"arith.sub{t}": "-" for t in "fi"},
    **{f"arith.mul{t}": "*" for t in "fi"},
    **dict.fromkeys(("arith.divf", "tt.precise_divf"), "/"),
    **dict.fromkeys(("arith.divsi", "arith.divui"), "//"),
    **dict.fromkeys(("arith.remsi", "arith.remui"), "%"),
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
SCALED = {0: "e4m3", 1: "e5m2"}  # elements of scaled products
TF32 = 0  # of `inputPrecision`
IMPRECISE = 1 << 30  # of `maxNumImpreciseAcc` where Triton is not told otherwise
FUNCTIONS = ("exp2", "exp", "log2", "log", "sqrt", "rsqrt", "sin", "cos", "erf")


CLOSED, TIMES, PLUS, LOOSE = range(4)  # how strongly an expression's last operator binds
BINDING = {"*": TIMES, "/": TIMES, "//": TIMES, "%": TIMES, "+": PLUS, "-": PLUS}


class Text(NamedTuple):
    """An expression, and how strongly its last operator binds."""

    text: str
    binding: int = CLOSED

    def __str__(self) -> str:
        """Return the expression as an operand of anything."""
        return self.text if self.binding == CLOSED else f"({self.text})"


def joined(left: Text, sign: str, right: Text) -> Text:
    """Return two expressions with an operator between, in brackets where they need some."""
    binding = BINDING.get(sign, LOOSE)
    first = left.text if left.binding <= binding < LOOSE else str(left)
    second = right.text if right.binding < binding < LOOSE else str(right)
    return Text(f"{first} {sign} {second}", binding)


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
        if name in BINARY or name in LARGER or name in SMALLER or name == "arith.select":
            operands = self.plain(statement, operands)
        if name in BINARY:
            if BINARY[name] == "+" and "0" in (operands[0].text, operands[1].text):
                return operands[operands[0].text == "0"]
            return joined(operands[0], BINARY[name], operands[1])
        if name in CASTS:
            return self.cast(statement, operands[0])
        if name.startswith("math.") and name[5:] in FUNCTIONS:
            return self._function(statement, name[5:], operands[0])
        if name == "tt.precise_sqrt":
            return self._function(statement, "sqrt", operands[0])
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

    def _function(self, statement: Statement, name: str, operand: Text) -> Text:
        if self.source.type_of(statement.results[0]).shape:
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
        order = integers(statement, "order")
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
        inner = name_of(statement.regions[0].blocks[0].ops.first) if function else ""
        if function is None or inner in ("arith.maximumf", "arith.minimumf"):
            raise refused(
                statement, f"a reduction by {inner or 'a function of its own'} has no template"
            )
        return self.call(function, operands[0].text, f"axis={integer(statement, 'axis') or 0}")

    def load(self, statement: Statement, operands: list[Text]) -> str:
        """Return a load through pointers."""
        return f"gl.load({self._addressed(statement, operands)})"

    def copy(self, statement: Statement, operands: list[Text], to: str) -> str:
        """Return an asynchronous copy through pointers, which puts zeros where a mask is false."""
        if len(operands) > 2:
            other = statement.operands[2]
            if not self.source.is_zero(other):
                raise refused(statement, "it is copied asynchronously, and `other` is not zero")
            operands = operands[:2]
        return f"async_copy.async_load({to}, {self._addressed(statement, operands)})"

    @staticmethod
    def _addressed(statement: Statement, operands: list[Text]) -> str:
        counts = integers(statement, "operandSegmentSizes") or [1, 0, 0]
        keys = [k for k, c in zip(("", "mask=", "other="), counts, strict=True) if c]
        given = ", ".join(f"{k}{o.text}" for k, o in zip(keys, operands, strict=False))
        return given + access_options(statement)

    @staticmethod
    def store(statement: Statement, operands: list[Text]) -> str:
        """Return a store through pointers."""
        given = ", ".join(o.text for o in operands)
        return f"gl.store({given}{access_options(statement)})"

    def wgmma(self, statement: Statement, operands: list[str]) -> str:
        """Return the arguments of a product whose accumulator lies in registers."""
        use = operands[USE_C] if len(operands) > USE_C else "True"
        if use == "True" and self.source.is_zero(statement.operands[2]):
            use = "False"
        element = self.source.type_of(statement.operands[1]).dtype
        if element == "f32" and (integer(statement, "inputPrecision") or 0) != TF32:
            raise refused(statement, "inputPrecision is not tf32")
        given = [*operands[:USE_C], *([] if use == "True" else [f"use_acc={use}"])]
        imprecise = integer(statement, "maxNumImpreciseAcc") or 0
        if element.startswith("f8") and imprecise != IMPRECISE:  # Triton's default on Hopper
            depth = self.source.type_of(statement.operands[1]).shape[0]
            given.append(f"max_num_imprecise_acc={min(imprecise, depth)}")
        return ", ".join(given)

    def tcgen05(
        self, statement: Statement, factors: list[str], used: str, signals: list[str]
    ) -> str:
        """Return a product that tensor memory accumulates, by scales if there are some."""
        given, call = list(factors), "tcgen05_mma"
        if name_of(statement) == PRODUCTS[1]:
            call = "tcgen05_mma_scaled"
            for key in ("a_type", "b_type"):
                element = SCALED.get(integer(statement, key) or 0)
                if element is None:
                    raise RefusedError("a scaled product of these elements has no template")
                given.append(f'"{element}"')
        given += [] if used == "True" else [f"use_acc={used}"]
        given += [f"mbarriers=[{', '.join(signals)}]"] if signals else []
        return f"{call}({', '.join(given)})"


class Torch(Dress):
    """Templates of PyTorch, for the reference; `exact` in that code says whether types round."""

    module = "torch"

    def cast(self, statement: Statement, operand: Text) -> Text:
        """Return a conversion; the exact reference rounds nothing, and no numbers."""
        kind = dtype(self.source.type_of(statement.results[0]).dtype)
        if not self.source.type_of(statement.results[0]).shape:
            return Text(f"int({operand.text})") if kind.startswith("int") else operand
        if kind.startswith("int"):
            return Text(f"{operand}.to(torch.{kind})")
        return Text(f"rounded({operand.text}, torch.{kind}, exact)")

    def of_number(self, function: str, operand: Text) -> Text:
        """Return a function of a number, which PyTorch does not have."""
        if function == "rsqrt":
            return Text(f"1 / math.sqrt({operand.text})", TIMES)
        return Text(f"math.{function}({operand.text})")

    def _arith_constant(self, statement: Statement, _: list[Text]) -> Text:
        kind = self.source.type_of(statement.results[0])
        number = number_text(constant(statement, kind.dtype))
        if not kind.shape:
            return Text(number)
        where = f"dtype={torch_type(kind.dtype)}, device=device"
        return self.call("full", str(tuple(kind.shape)), number, where)

    def extreme(self, statement: Statement, operands: list[Text]) -> Text:
        """Return the larger or the smaller of two tiles, or of two numbers."""
        if not self.source.type_of(statement.results[0]).shape:
            which = "max" if name_of(statement) in LARGER else "min"
            return Text(f"{which}({operands[0].text}, {operands[1].text})")
        return super().extreme(statement, operands)

    def _tt_get_program_id(self, statement: Statement, _: list[Text]) -> Text:
        return Text(f"program[{integer(statement, 'axis') or 0}]")

    def _tt_get_num_programs(self, statement: Statement, _: list[Text]) -> Text:
        return Text(f"grid[{integer(statement, 'axis') or 0}]")

    def _tt_make_range(self, statement: Statement, _: list[Text]) -> Text:
        begin, end = integer(statement, "start") or 0, integer(statement, "end") or 0
        return self.call("arange", str(begin), str(end), "device=device")

    def _tt_trans(self, _: Statement, operands: list[Text]) -> Text:
        return Text(f"{operands[0]}.T")

    def _ttg_memdesc_trans(self, statement: Statement, operands: list[Text]) -> Text:
        order = integers(statement, "order") or [1, 0]
        return Text(f"{operands[0]}.{'T' if len(order) == 2 else f'permute({tuple(order)})'}")

    def _ttg_memdesc_reshape(self, statement: Statement, operands: list[Text]) -> Text:
        return Text(f"{operands[0]}.reshape({self.source.type_of(statement.results[0]).shape})")

    def _ttg_convert_layout(self, _: Statement, operands: list[Text]) -> Text:
        return operands[0]

    def _tt_reduce(self, statement: Statement, operands: list[Text]) -> Text:
        functions = {"max": "amax", "add": "sum", "min": "amin"}
        function = functions[combine_of(statement) or ""]
        return Text(f"{operands[0]}.{function}({integer(statement, 'axis') or 0})")


def torch_type(name: str) -> str:
    """Return an element type of PyTorch, floats in the width that the reference computes with."""
    return f"torch.{dtype(name)}" if name.startswith("i") else "wide(exact)"


def number_text(number: float) -> str:
    """Return a number as Python writes it."""
    if isinstance(number, bool | int):
        return str(number)
    if not math.isfinite(number):
        return f'float("{number}")'
    return repr(float(number))
