"""Accesses through pointers, and products of the tensor core, in Gluon."""

from __future__ import annotations

from twill.emit.attributes import access_options, refused
from twill.emit.dress.texts import Text
from twill.emit.source import Source, Statement
from twill.frontends.ttgir import USE_C
from twill.frontends.ttgir.kinds import PRODUCTS
from twill.frontends.ttgir.reader import integer, integers, name_of

SCALED = {0: "e4m3", 1: "e5m2"}  # elements of scaled products
TF32 = 0  # of `inputPrecision`
IMPRECISE = 1 << 30  # of `maxNumImpreciseAcc` where Triton is not told otherwise


def loaded(statement: Statement, operands: list[Text]) -> str:
    """Return a load through pointers."""
    return f"gl.load({_addressed(statement, operands)})"


def copied(source: Source, statement: Statement, operands: list[Text], to: str) -> str:
    """Return an asynchronous copy through pointers, which puts zeros where a mask is false.

    Raises
    ------
    RefusedError
        If something else is wanted there.
    """
    if len(operands) > 2:
        if not source.is_zero(statement.operands[2]):
            raise refused(statement, "it is copied asynchronously, and `other` is not zero")
        operands = operands[:2]
    return f"async_copy.async_load({to}, {_addressed(statement, operands)})"


def stored(statement: Statement, operands: list[Text]) -> str:
    """Return a store through pointers."""
    given = ", ".join(o.text for o in operands)
    return f"gl.store({given}{access_options(statement)})"


def _addressed(statement: Statement, operands: list[Text]) -> str:
    counts = integers(statement, "operandSegmentSizes") or [1, 0, 0]
    keys = [k for k, c in zip(("", "mask=", "other="), counts, strict=True) if c]
    given = ", ".join(f"{k}{o.text}" for k, o in zip(keys, operands, strict=False))
    return given + access_options(statement)


def wgmma(source: Source, statement: Statement, operands: list[str]) -> str:
    """Return the arguments of a product whose accumulator lies in registers.

    Raises
    ------
    RefusedError
        If its factors are to be multiplied more precisely than the tensor core does.
    """
    use = operands[USE_C] if len(operands) > USE_C else "True"
    if use == "True" and source.is_zero(statement.operands[2]):
        use = "False"
    factor = source.type_of(statement.operands[1])
    if factor.dtype == "f32" and (integer(statement, "inputPrecision") or 0) != TF32:
        raise refused(statement, "inputPrecision is not tf32")
    given = [*operands[:USE_C], *([] if use == "True" else [f"use_acc={use}"])]
    imprecise = integer(statement, "maxNumImpreciseAcc") or 0
    if factor.dtype.startswith("f8") and imprecise != IMPRECISE:  # Triton's default on Hopper
        given.append(f"max_num_imprecise_acc={min(imprecise, factor.shape[0])}")
    return ", ".join(given)


def tcgen05(statement: Statement, factors: list[str], used: str, signals: list[str]) -> str:
    """Return a product that tensor memory accumulates, by scales if there are some.

    Raises
    ------
    RefusedError
        If the tensor core does not scale its elements.
    """
    given, call = list(factors), "tcgen05_mma"
    if name_of(statement) == PRODUCTS[1]:
        call = "tcgen05_mma_scaled"
        for key in ("a_type", "b_type"):
            element = SCALED.get(integer(statement, key) or 0)
            if element is None:
                raise refused(statement, f"{key} = {integer(statement, key)}")
            given.append(f'"{element}"')
    given += [] if used == "True" else [f"use_acc={used}"]
    given += [f"mbarriers=[{', '.join(signals)}]"] if signals else []
    return f"{call}({', '.join(given)})"
