"""Templates of statements without side effects that Gluon and PyTorch share: one a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from twill.emit.attributes import refused
from twill.emit.expressions import integers
from twill.emit.expressions.texts import LOOSE, Text, joined, number_text
from twill.emit.layouts import dtype
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.frontends.ttgir.reader import attribute, integer, name_of

Template = Callable[[Any, Statement, list[Text]], Text]
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
FUNCTIONS = ("exp2", "exp", "log2", "log", "sqrt", "rsqrt", "sin", "cos", "erf")


class Language:
    """Expressions of a language; `templates` are those of statements by their names."""

    module: ClassVar[str] = ""
    templates: ClassVar[Mapping[str, Template]] = {}

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
            return self.function(statement, name[5:], operands[0])
        if name not in self.templates:
            raise refused(statement)
        return self.templates[name](self, statement, operands)

    def plain(self, statement: Statement, operands: list[Text]) -> list[Text]:
        """Return operands with tiles of one number as that number, if another one is a tile."""
        numbers = [self.number(value) for value in statement.operands]
        if all(number is not None for number in numbers):
            return operands
        return [o if n is None else Text(n) for o, n in zip(operands, numbers, strict=True)]

    def number(self, value: SSAValue) -> str | None:
        """Return a constant, of a tile that of all its elements; None of what is computed."""
        owner = self.source.statement(value)
        if owner is None or name_of(owner) != "arith.constant":
            return None
        return number_text(constant(owner, self.source.type_of(value).dtype))

    def is_tile(self, value: SSAValue) -> bool:
        """Return whether a value is a tile."""
        return bool(self.source.type_of(value).shape)

    def function(self, statement: Statement, name: str, operand: Text) -> Text:
        """Return a function of a tile, or of a number."""
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
        """Return what is computed of integers without a sign; each language has its own way."""
        raise NotImplementedError

    def extreme(self, statement: Statement, operands: list[Text]) -> Text:
        """Return the larger or the smaller of two."""
        which = "maximum" if name_of(statement) in LARGER else "minimum"
        return self.call(which, *(o.text for o in operands))


def calls(function: str, *more: str) -> Template:
    """Return the template of a call of the language's module, with further arguments."""
    return lambda language, _, operands: language.call(function, *(o.text for o in operands), *more)


def _first(_language: Language, _statement: Statement, operands: list[Text]) -> Text:
    return operands[0]


def _math_fma(_language: Language, _statement: Statement, operands: list[Text]) -> Text:
    a, b, c = operands
    return joined(joined(a, "*", b), "+", c)


def _arith_negf(_language: Language, _statement: Statement, operands: list[Text]) -> Text:
    return Text(f"-{operands[0]}", LOOSE)


def _compared(statement: Statement, operands: list[Text], signs: Mapping[int, str]) -> Text:
    predicate = integer(statement, "predicate") or 0
    if predicate not in signs:
        raise refused(statement, f"predicate {predicate}")
    return Text(f"{operands[0]} {signs[predicate]} {operands[1]}", LOOSE)


def _arith_cmpi(_language: Language, statement: Statement, operands: list[Text]) -> Text:
    return _compared(statement, operands, COMPARE_INTEGERS)


def _arith_cmpf(_language: Language, statement: Statement, operands: list[Text]) -> Text:
    return _compared(statement, operands, COMPARE_FLOATS)


def _tt_expand_dims(language: Language, statement: Statement, operands: list[Text]) -> Text:
    rank = len(language.source.type_of(statement.results[0]).shape)
    places = [":"] * rank
    places[integer(statement, "axis") or 0] = "None"
    return Text(f"{operands[0]}[{', '.join(places)}]")


SHARED: dict[str, Template] = {
    **dict.fromkeys((*LARGER, *SMALLER), lambda language, *given: language.extreme(*given)),
    "math.fma": _math_fma,
    "arith.negf": _arith_negf,
    "arith.cmpi": _arith_cmpi,
    "arith.cmpf": _arith_cmpf,
    "arith.select": calls("where"),
    "tt.expand_dims": _tt_expand_dims,
    "tt.broadcast": _first,
    "tt.splat": _first,
}


def combination(language: Language, statement: Statement) -> tuple[str, str]:
    """Return the parameters of a scan's function, and what it returns."""
    block = statement.regions[0].blocks[0]
    count = len(block.args) // 2
    numbers = [str(k) for k in range(count)] if count > 1 else [""]
    names = [f"{side}{number}" for side in ("before", "here") for number in numbers]
    known: dict[SSAValue, Text] = {
        argument: Text(name) for argument, name in zip(block.args, names, strict=True)
    }
    returned: list[str] = []
    for inner in block.ops:
        operands = [_operand(language, known, value) for value in inner.operands]
        if name_of(inner) == "tt.scan.return":
            returned = [operand.text for operand in operands]
        else:
            known[inner.results[0]] = language.expression(inner, operands)
    return ", ".join(names), ", ".join(returned)


def _operand(language: Language, known: dict[SSAValue, Text], value: SSAValue) -> Text:
    if value in known:
        return known[value]
    made = language.source.statement(value)
    if made is None or name_of(made) != "arith.constant":
        assert made is not None
        raise refused(made, "a scan's function that reads it has no template for kernels")
    return language.expression(made, [])


def used_result(statement: Statement) -> int:
    """Return which of a scan's results is used.

    Raises
    ------
    RefusedError
        If several are.
    """
    used = [k for k, result in enumerate(statement.results) if list(result.uses)]
    if len(used) != 1:
        raise refused(statement, f"{len(used)} results that are used have no template for kernels")
    return used[0]


def is_reverse(statement: Statement) -> bool:
    """Return whether a scan begins at the end."""
    found = attribute(statement, "reverse")
    return found is not None and str(found) in ("true", "-1 : i1")
