"""Whether an operation has what its name promises, in types whose size is known."""

from __future__ import annotations

from xdsl.ir import Operation

from twill.artifacts.loop import ELEMENT_BITS
from twill.errors import InputError, RefusedError, short
from twill.frontends.ttgir.reader import Dump, has_body, name_of, string

# The least number of operands and of results of operations that are taken apart.
LEAST = {
    "tt.load": (1, 1),
    "tt.descriptor_load": (1, 1),
    "tt.descriptor_gather": (2, 1),
    "tt.store": (2, 0),
    "tt.descriptor_store": (2, 0),
    "tt.descriptor_reduce": (2, 0),
    "tt.descriptor_scatter": (3, 0),
    "tt.atomic_rmw": (2, 0),
    "tt.atomic_cas": (3, 0),
    "tt.dot": (3, 1),
    "ttng.warp_group_dot": (3, 1),
    "ttng.tc_gen5_mma": (5, 0),
    "ttng.tc_gen5_mma_scaled": (7, 0),
    "ttng.tmem_load": (1, 1),
    "ttng.tmem_store": (3, 0),
    "ttng.tmem_copy": (2, 0),
    "ttg.local_store": (2, 0),
    "ttg.local_load": (1, 1),
    "ttg.convert_layout": (1, 1),
    "tt.reduce": (1, 1),
    "tt.scan": (1, 1),
}
WITH_BODY = ("tt.reduce", "tt.scan")
TILES = ("tensor", "memdesc")


def check_operation(dump: Dump, operation: Operation) -> None:
    """Check that an operation can be what its name says.

    Raises
    ------
    InputError
        If operands, results or a body are missing.
    RefusedError
        If it reads or makes tiles whose elements have no known size.
    """
    operands, results = LEAST.get(name_of(operation), (0, 0))
    for what, least, there in (
        ("operands", operands, len(operation.operands)),
        ("results", results, len(operation.results)),
    ):
        if there < least:
            raise InputError(
                f"{_described(operation)} has {there} {what}, needs {least}", file=dump.file
            )
    if name_of(operation) in WITH_BODY and not has_body(operation):
        raise InputError(f"{_described(operation)} has no body", file=dump.file)
    for value in (*operation.operands, *operation.results):
        kind = dump.type_of(value)
        text = str(value.type)
        known = kind.dtype in ELEMENT_BITS or kind.dtype == "pointer"
        if (kind.kind in TILES and not known) or (kind.kind == "scalar" and _is_tile(text)):
            raise RefusedError(
                f"{dump.file or 'dump'}: {_described(operation)} has a tile of unknown size "
                f"({short(text)})"
            )


def _is_tile(text: str) -> bool:
    return text.startswith(("tensor<", "!ttg.memdesc"))


def _described(operation: Operation) -> str:
    where = string(operation, "sched.location")
    return f"{name_of(operation)} at {where}" if where else name_of(operation)
