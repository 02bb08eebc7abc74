"""Atomic updates of global memory in Gluon."""

from __future__ import annotations

from twill.emit.attributes import is_true, refused
from twill.emit.dress.texts import Text
from twill.emit.source import Source, Statement
from twill.frontends.ttgir.reader import integer

# Of `atomic_rmw_op`, `sem` and `scope`: Triton's ODS (`TritonAttrDefs.td`).
UPDATES = {4: "add", 5: "add", 6: "max", 7: "min"}
ORDERS = {1: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
SCOPES = {1: "gpu", 2: "cta", 3: "sys"}
POINTER, VALUE, MASK = range(3)


def update_of(statement: Statement) -> str:
    """Return what an update does: ``add``, ``max`` or ``min``.

    Raises
    ------
    RefusedError
        If it does something else, or if what was there before is used.
    """
    which = integer(statement, "atomic_rmw_op") or 0
    if which not in UPDATES:
        raise refused(statement, f"atomic_rmw_op = {which}")
    if any(list(result.uses) for result in statement.results):
        raise refused(statement, "what it returns is used")
    return UPDATES[which]


def updated(source: Source, statement: Statement, operands: list[Text]) -> str:
    """Return an atomic update."""
    given = [operands[POINTER].text, operands[VALUE].text]
    if len(operands) > MASK and not is_true(source, statement.operands[MASK]):
        given.append(f"mask={operands[MASK].text}")
    for key, named, values, usual in (
        ("sem", "sem", ORDERS, "acq_rel"),
        ("scope", "scope", SCOPES, "gpu"),
    ):
        word = values.get(integer(statement, key) or 0)
        if word is None:
            raise refused(statement, f"{key} = {integer(statement, key)}")
        given += [] if word == usual else [f'{named}="{word}"']
    return f"gl.atomic_{update_of(statement)}({', '.join(given)})"
