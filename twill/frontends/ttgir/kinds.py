"""What TTGIR operations are to the scheduler: their kind, or nothing at all."""

from __future__ import annotations

from xdsl.ir import Operation

from twill.artifacts.loop import ELEMENT_BITS
from twill.errors import InputError, RefusedError, short
from twill.frontends.ttgir.reader import Dump, attribute, has_body, name_of, string

KINDS = {
    "tt.descriptor_load": "load",
    "tt.descriptor_gather": "load",
    "tt.load": "load",
    "tt.store": "store",
    "tt.descriptor_store": "store",
    "tt.descriptor_scatter": "store",
    "tt.descriptor_reduce": "store",
    "tt.atomic_rmw": "atomic",
    "ttng.warp_group_dot": "mma",
    "ttng.tc_gen5_mma": "mma",
    "ttng.tc_gen5_mma_scaled": "mma_scaled",
    "tt.dot": "mma_sync",
    "ttng.tmem_load": "tmem_load",
    "ttng.tmem_store": "tmem_store",
    "ttng.tmem_alloc": "tmem_store",
    "ttng.tmem_copy": "tmem_copy",
    "tt.reduce": "reduce",
    "tt.scan": "scan",
    "ttg.convert_layout": "convert_layout",
    "ttg.local_alloc": "local_store",
    "ttg.local_store": "local_store",
    "ttg.local_load": "local_load",
    "arith.mulf": "mul",
    "arith.addf": "add",
    "arith.subf": "sub",
    "arith.divf": "divide",
    "arith.negf": "sub",
    "math.fma": "fma",
    "math.absf": "max",
    "math.absi": "max",
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "arith.cmpf": "compare",
    "arith.cmpi": "compare",
    "arith.select": "select",
    "arith.truncf": "cast",
    "arith.extf": "cast",
    "tt.fp_to_fp": "cast",
    "arith.sitofp": "cast",
    "arith.uitofp": "cast",
    "arith.fptosi": "cast",
    "arith.extsi": "cast",
    "arith.extui": "cast",
    "arith.trunci": "cast",
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.divsi": "divide",
    "arith.remsi": "divide",
    "arith.divui": "divide",
    "arith.remui": "divide",
    "arith.andi": "logic",
    "arith.ori": "logic",
    "arith.xori": "logic",
    "arith.shli": "logic",
    "arith.shrsi": "logic",
    "arith.shrui": "logic",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.maxui": "max",
    "arith.minui": "min",
    "math.exp2": "exp2",
    "math.exp": "exp",
    "math.log2": "log2",
    "math.log": "log",
    "math.sqrt": "sqrt",
    "math.rsqrt": "rsqrt",
    "math.sin": "sin",
    "math.cos": "cos",
    "math.erf": "erf",
    "math.tanh": "tanh",
    "tt.precise_sqrt": "sqrt",
    "tt.precise_divf": "divide",
}
COMBINES = {
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
}

# Views, relabelled layouts and index arithmetic: no instruction, or one that is not worth a node.
MUTABLE_VIEWS = frozenset(
    {
        "ttg.memdesc_trans",
        "ttg.memdesc_index",
        "ttg.memdesc_subslice",
        "ttg.memdesc_reshape",
        "ttg.memdesc_reinterpret",
        "ttng.tmem_subslice",
    }
)
VIEWS = MUTABLE_VIEWS | {
    "tt.expand_dims",
    "tt.broadcast",
    "tt.splat",
    "tt.trans",
    "tt.reshape",
    "tt.make_range",
    "tt.addptr",
    "tt.bitcast",
    "tt.unsplat",
    "tt.join",
    "tt.split",
    "ttng.tensormap_create",
}
ALLOCATIONS = ("ttg.local_alloc", "ttng.tmem_alloc")
ELEMENTWISE = frozenset(
    {
        "mul", "add", "sub", "fma", "divide", "max", "min", "compare", "select", "cast", "logic",
        "exp2", "exp", "log2", "log", "sqrt", "rsqrt", "sin", "cos", "erf", "tanh",
    }
)  # fmt: skip


def is_free(dump: Dump, operation: Operation) -> bool:
    """Return whether an operation costs nothing.

    Views and layout relabels do; so do conversions that only rename registers, and what is address
    computation: arithmetic on integer scalars, and pointers that change their layout.
    """
    name = name_of(operation)
    if name in VIEWS or name == "arith.constant":
        return True
    if name in ALLOCATIONS and not _has_contents(dump, operation):
        return True
    if name == "ttg.convert_layout" and dump.type_of(operation.results[0]).dtype == "pointer":
        return True
    if name == "ttg.convert_layout":
        trivial = attribute(operation, "sched.trivial")
        return trivial is not None and bool(trivial.value.data)
    if name.startswith("arith.") and operation.results:
        result = dump.type_of(operation.results[0])
        return result.kind == "scalar" and result.dtype.startswith(("i", "index"))
    return False


def _has_contents(dump: Dump, operation: Operation) -> bool:
    return any(dump.type_of(value).kind == "tensor" for value in operation.operands)


def kind_of(operation: Operation) -> str:
    """Return the scheduler's kind of an operation; its IR name if there is no other."""
    name = name_of(operation)
    return KINDS.get(name, name)


def combine_of(operation: Operation) -> str | None:
    """Return how a reduction combines two elements, or None if it is not one known operation."""
    inner = [name_of(o) for o in operation.regions[0].blocks[0].ops]
    if len(inner) == 2:
        return COMBINES.get(inner[0])
    return None


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
