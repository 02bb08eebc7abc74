"""Scans: the function by which one combines elements, as an expression of either language."""

from __future__ import annotations

from typing import Protocol

from twill.emit.attributes import refused
from twill.emit.expressions.texts import Text
from twill.emit.source import Source, SSAValue, Statement
from twill.frontends.ttgir.reader import attribute, name_of


class Expressions(Protocol):
    """A language's expressions."""

    source: Source

    def expression(self, statement: Statement, operands: list[Text]) -> Text:
        """Return a statement's result."""


def combination(language: Expressions, statement: Statement) -> tuple[str, str]:
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


def _operand(language: Expressions, known: dict[SSAValue, Text], value: SSAValue) -> Text:
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
