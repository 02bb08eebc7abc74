"""Templates of PyTorch, for the reference of an emitted kernel."""

from __future__ import annotations

from twill.emit.attributes import refused
from twill.emit.expressions import integers
from twill.emit.expressions.language import (
    LARGER,
    SHARED,
    Language,
    Template,
    combination,
    is_reverse,
    used_result,
)
from twill.emit.expressions.texts import TIMES, Text, joined, number_text
from twill.emit.layouts import dtype
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.frontends.ttgir.kinds import combine_of
from twill.frontends.ttgir.reader import integer, name_of
from twill.frontends.ttgir.reader import integers as numbers_of
from twill.frontends.ttgir.rewriting import PART

MOST_BITS = 64  # of an integer of PyTorch
TRUNCATING = ("arith.divsi", "arith.remsi")


def _tt_mulhiui(torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    bits = integers.bits_of(torch.source, statement.results[0])
    if bits != MOST_BITS // 2:
        raise refused(statement, f"elements of {bits} bits have no template for the reference")
    plain = integers.without_sign(operands, bits)
    a, b = (p or Text(f"unsigned({o.text}, {bits})") for o, p in zip(operands, plain, strict=True))
    return Text(f"signed({a} * {b} >> {bits}, {bits})")


def _tt_precise_divf(_torch: Torch, _statement: Statement, operands: list[Text]) -> Text:
    return joined(operands[0], "/", operands[1])


def _tt_precise_sqrt(torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    return torch.function(statement, "sqrt", operands[0])


def _tt_scan(torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    before, torch.within_scan = torch.within_scan, True
    names, returned = combination(torch, statement)
    torch.within_scan = before
    given = ", ".join(o.text for o in operands)
    comma = "," if len(operands) == 1 else ""
    function = f"lambda {names}: ({returned}{comma})"
    more = ", reverse=True" if is_reverse(statement) else ""
    axis, which = integer(statement, "axis") or 0, used_result(statement)
    return Text(f"scanned(({given}{comma}), {axis}, {function}{more})[{which}]")


def _arith_constant(torch: Torch, statement: Statement, _operands: list[Text]) -> Text:
    kind = torch.source.type_of(statement.results[0])
    number = number_text(constant(statement, kind.dtype))
    if not kind.shape:
        return Text(number)
    where = f"dtype={torch_type(kind.dtype)}, device=device"
    return torch.call("full", str(tuple(kind.shape)), number, where)


def _tt_get_program_id(_torch: Torch, statement: Statement, _operands: list[Text]) -> Text:
    return Text(f"program[{integer(statement, 'axis') or 0}]")


def _tt_get_num_programs(_torch: Torch, statement: Statement, _operands: list[Text]) -> Text:
    return Text(f"grid[{integer(statement, 'axis') or 0}]")


def _tt_make_range(torch: Torch, statement: Statement, _operands: list[Text]) -> Text:
    begin, end = integer(statement, "start") or 0, integer(statement, "end") or 0
    return torch.call("arange", str(begin), str(end), "device=device")


def _trans(_torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    order = numbers_of(statement, "order") or [1, 0]
    return Text(f"{operands[0]}.{'T' if len(order) == 2 else f'permute({tuple(order)})'}")


def _reshape(torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    return Text(f"{operands[0]}.reshape({torch.source.type_of(statement.results[0]).shape})")


def _tt_split(_torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    return Text(f"{operands[0]}[..., {integer(statement, PART) or 0}]")


def _tt_reduce(_torch: Torch, statement: Statement, operands: list[Text]) -> Text:
    functions = {"max": "amax", "add": "sum", "min": "amin"}
    function = functions[combine_of(statement) or ""]
    return Text(f"{operands[0]}.{function}({integer(statement, 'axis') or 0})")


TEMPLATES: dict[str, Template] = {
    **SHARED,
    "tt.mulhiui": _tt_mulhiui,
    "tt.precise_divf": _tt_precise_divf,
    "tt.approx_divf": _tt_precise_divf,
    "tt.precise_sqrt": _tt_precise_sqrt,
    "tt.scan": _tt_scan,
    "arith.constant": _arith_constant,
    "tt.get_program_id": _tt_get_program_id,
    "tt.get_num_programs": _tt_get_num_programs,
    "tt.make_range": _tt_make_range,
    **dict.fromkeys(("tt.trans", "ttg.memdesc_trans"), _trans),
    **dict.fromkeys(("tt.reshape", "ttg.memdesc_reshape"), _reshape),
    "ttg.convert_layout": SHARED["tt.broadcast"],
    "tt.reduce": _tt_reduce,
    "tt.split": _tt_split,
}


class Torch(Language):
    """Templates of PyTorch, for the reference; `exact` in that code says whether types round."""

    module = "torch"
    templates = TEMPLATES

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.wrapped = integers.Wrapped(source)
        self.within_scan = False

    def expression(self, statement: Statement, operands: list[Text]) -> Text:
        """Return a statement's result; integers that leave their range are brought back."""
        truncates = name_of(statement) in TRUNCATING and self.is_tile(statement.results[0])
        made = (
            self._truncated(statement, operands)
            if truncates
            else super().expression(statement, operands)
        )
        if statement not in self.wrapped:
            return made
        return Text(f"signed({made.text}, {integers.bits_of(self.source, statement.results[0])})")

    def _truncated(self, statement: Statement, operands: list[Text]) -> Text:
        """Return a quotient rounded to zero, or its remainder; PyTorch's signs round down."""
        given = ", ".join(o.text for o in self.plain(statement, operands))
        if name_of(statement) == "arith.remsi":
            return self.call("fmod", given)
        return self.call("div", given, 'rounding_mode="trunc"')

    def is_tile(self, value: SSAValue) -> bool:
        """Return whether a value is a tensor of the reference."""
        return self.within_scan or bool(self.source.type_of(value).shape)

    def unsigned(self, statement: Statement, operands: list[Text]) -> Text:
        """Return what is computed of integers without a sign, in 64 bits."""
        bits, name = integers.bits_of(self.source, statement.operands[0]), name_of(statement)
        plain = integers.without_sign(operands, bits)
        given = [
            p or Text(f"unsigned({o.text}, {bits})") for o, p in zip(operands, plain, strict=True)
        ]
        if name == "arith.extui":
            return given[0]
        if name == "arith.uitofp":
            return self.cast(statement, given[0])
        if name in integers.EXTREMES:
            return Text(f"signed({self.extreme(statement, given).text}, {bits})")
        made = integers.computed(statement, given, self.module)
        return made if name == "arith.cmpi" else Text(f"signed({made.text}, {bits})")

    def cast(self, statement: Statement, operand: Text) -> Text:
        """Return a conversion; the exact reference rounds nothing, and no numbers."""
        kind = dtype(self.source.type_of(statement.results[0]).dtype)
        if not self.is_tile(statement.results[0]):
            return Text(f"int({operand.text})") if kind.startswith("int") else operand
        if kind.startswith("int"):
            return Text(f"{operand}.to(torch.{kind})")
        return Text(f"rounded({operand.text}, torch.{kind}, exact)")

    def of_number(self, function: str, operand: Text) -> Text:
        """Return a function of a number, which PyTorch does not have."""
        if function == "rsqrt":
            return Text(f"1 / math.sqrt({operand.text})", TIMES)
        return Text(f"math.{function}({operand.text})")

    def extreme(self, statement: Statement, operands: list[Text]) -> Text:
        """Return the larger or the smaller of two tiles, of a tile and a number, or of two numbers.

        PyTorch compares tensors with each other; a number is a bound.
        """
        larger = name_of(statement) in (*LARGER, "arith.maxui")
        if not self.is_tile(statement.results[0]):
            return Text(f"{'max' if larger else 'min'}({operands[0].text}, {operands[1].text})")
        numbers = [self.number(value) is not None for value in statement.operands]
        if any(numbers) and not all(numbers):
            tile, bound = operands if numbers[1] else reversed(operands)
            return Text(f"{tile}.clamp({'min' if larger else 'max'}={bound.text})")
        which = "maximum" if larger else "minimum"
        return self.call(which, *(o.text for o in operands))


def torch_type(name: str) -> str:
    """Return an element type of PyTorch, floats in the width that the reference computes with."""
    if name == "i1":
        return "torch.bool"
    return f"torch.{dtype(name)}" if name.startswith("i") else "wide(exact)"
