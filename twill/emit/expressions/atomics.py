"""Atomic updates of global memory."""

from __future__ import annotations

from twill.emit.attributes import refused
from twill.emit.source import Statement
from twill.frontends.ttgir.reader import integer

# Of `atomic_rmw_op`: Triton's ODS (`TritonAttrDefs.td`).
UPDATES = {4: "add", 5: "add", 6: "max", 7: "min"}


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
