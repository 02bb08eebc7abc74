"""Integers whose sign or width matters: what the IR computes of them as numbers without a sign.

TTGIR's integers have no sign of their own; an operation says whether it takes them as signed.
Gluon's types say it, so that operands change their type before and after. PyTorch computes such
values in 64 bits and brings them back into their range.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.base.graphs import reached
from twill.emit.expressions.texts import LOOSE, Text, joined
from twill.emit.source import Source, SSAValue, Statement, constant
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.ttgir.reader import integer, name_of

SIGNS = {"arith.divui": "//", "arith.remui": "%", "arith.shrui": ">>"}
EXTREMES = {"arith.maxui": "maximum", "arith.minui": "minimum"}
COMPARISONS = {6: "<", 7: "<=", 8: ">", 9: ">="}  # of `arith.cmpi` by predicate
CASTS = ("arith.extui", "arith.uitofp")
WRAPPING = ("arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.trunci")
MIXING = ("arith.xori", "tt.mulhiui")
LARGE = 1 << 16  # a factor from which on products are meant to leave their range


def is_unsigned(source: Source, statement: Statement) -> bool:
    """Return whether an operation takes its operands as integers without a sign."""
    name = name_of(statement)
    if name == "arith.cmpi":
        return integer(statement, "predicate") in COMPARISONS
    if name in CASTS:
        return source.type_of(statement.operands[0]).dtype != "i1"
    return name in SIGNS or name in EXTREMES


def bits_of(source: Source, value: SSAValue) -> int:
    """Return the width of an integer."""
    return int(source.type_of(value).dtype.removeprefix("i"))


def computed(statement: Statement, operands: list[Text], module: str) -> Text:
    """Return what an operation computes of operands that have no sign."""
    name = name_of(statement)
    if name in SIGNS:
        return joined(operands[0], SIGNS[name], operands[1])
    if name in EXTREMES:
        return Text(f"{module}.{EXTREMES[name]}({operands[0].text}, {operands[1].text})")
    sign = COMPARISONS[integer(statement, "predicate") or 0]
    return Text(f"{operands[0]} {sign} {operands[1]}", LOOSE)


def without_sign(operands: list[Text], bits: int) -> Iterator[Text | None]:
    """Yield numbers as they are without a sign, None for what is no number."""
    for operand in operands:
        text = operand.text
        digits = text.removeprefix("-").isdecimal()
        yield Text(str(int(text) % (1 << bits))) if digits else None


def _passes_on(statement: Statement) -> bool:
    """Return whether an operation makes integers of those that it reads, and is no access."""
    name = name_of(statement)
    return name.startswith(("arith.", "scf.")) or name in (*VIEWS, *MIXING, "ttg.convert_layout")


class Wrapped:
    """Integers of a kernel that leave their range, as those of random numbers and hashes do.

    They are found by the operations that mix bits; what these are computed from, and what is
    computed from them, is wrapped.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        every = list(source.function.walk())
        self._next = self._carried(every)
        mixing: list[Statement | SSAValue] = [s for s in every if self._mixes(s)]
        found = reached(mixing, self._after) | reached(mixing, self._before)
        self.statements = {node for node in found if isinstance(node, Statement)}

    def __contains__(self, statement: Statement) -> bool:
        """Return whether the result of a statement is to be brought back into its range."""
        return name_of(statement) in WRAPPING and statement in self.statements

    def _mixes(self, statement: Statement) -> bool:
        name = name_of(statement)
        if name == "arith.muli":
            return any(self._is_large(operand) for operand in statement.operands)
        if name == "arith.xori":
            return self.source.type_of(statement.results[0]).dtype != "i1"
        return name in MIXING or is_unsigned(self.source, statement)

    def _is_large(self, value: SSAValue) -> bool:
        made = self.source.statement(value)
        if made is None or name_of(made) != "arith.constant":
            return False
        return abs(constant(made, self.source.type_of(value).dtype)) >= LARGE

    @staticmethod
    def _carried(every: list[Statement]) -> list[tuple[SSAValue, SSAValue]]:
        """Return what loops pass on: from where, and to where."""
        pairs: list[tuple[SSAValue, SSAValue]] = []
        for loop in (s for s in every if name_of(s) == "scf.for"):
            block = loop.regions[0].blocks[0]
            *_, end = block.ops
            for k, argument in enumerate(list(block.args)[1:]):
                pairs += [(loop.operands[3 + k], argument), (end.operands[k], argument)]
                pairs.append((end.operands[k], loop.results[k]))
        return pairs

    def _after(self, node: Statement | SSAValue) -> Iterator[Statement | SSAValue]:
        """Yield the values that a statement makes, or what a value flows to."""
        if isinstance(node, Statement):
            yield from node.results
            return
        yield from (to for value, to in self._next if value is node)
        yield from (use.operation for use in node.uses if _passes_on(use.operation))

    def _before(self, node: Statement | SSAValue) -> Iterator[Statement | SSAValue]:
        """Yield the values that a statement reads, or what a value comes from."""
        if isinstance(node, Statement):
            yield from node.operands
            return
        yield from (value for value, to in self._next if to is node)
        if isinstance(node.owner, Statement) and _passes_on(node.owner):
            yield node.owner
