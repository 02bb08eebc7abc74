"""Kinds and tiles of TTGIR operations, and which operations are free."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from twill.artifacts.loop import ELEMENT_BITS
from twill.base.errors import InputError, short
from twill.frontends.shared import refused
from twill.frontends.ttgir.reader import (
    Dump,
    attribute,
    has_body,
    integer,
    integers,
    name_of,
    string,
    uses,
)
from twill.frontends.types import is_shaped, run_length


@dataclass(frozen=True)
class Known:
    """Facts about an operation of the IR, by its name.

    `operands` and `results` are how many it has at least. `tiles` says which operands are tiles and
    not addresses, tokens or predicates; without it they are those whose elements are numbers. A
    single thread issues what is `single`, and other hardware carries it out. An operation with a
    `body` describes its work in a region.
    """

    kind: str
    operands: int = 0
    results: int = 0
    tiles: slice | None = None
    single: bool = False
    body: bool = False


KNOWN = {
    "tt.descriptor_load": Known("load", 1, 1, slice(0), single=True),
    "tt.descriptor_gather": Known("load", 2, 1, slice(0), single=True),
    "tt.load": Known("load", 1, 1),
    "tt.store": Known("store", 2),
    "tt.descriptor_store": Known("store", 2, 0, slice(1, 2), single=True),
    "tt.descriptor_scatter": Known("store", 3, 0, slice(-1, None), single=True),
    "tt.descriptor_reduce": Known("store", 2, 0, slice(1, 2), single=True),
    "tt.atomic_rmw": Known("atomic", 2),
    "tt.atomic_cas": Known("tt.atomic_cas", 3),
    "tt.dot": Known("mma_sync", 3, 1),
    "ttng.warp_group_dot": Known("mma", 3, 1, slice(3)),
    "ttng.tc_gen5_mma": Known("mma", 5, single=True),
    "ttng.tc_gen5_mma_scaled": Known("mma_scaled", 7, single=True),
    "ttng.tmem_load": Known("tmem_load", 1, 1, slice(1)),
    "ttng.tmem_store": Known("tmem_store", 3),
    "ttng.tmem_alloc": Known("tmem_store", tiles=slice(1)),
    "ttng.tmem_copy": Known("tmem_copy", 2, single=True),
    "tt.reduce": Known("reduce", 1, 1, body=True),
    "tt.scan": Known("scan", 1, 1, body=True),
    "ttg.convert_layout": Known("convert_layout", 1, 1),
    "ttg.local_alloc": Known("local_store", tiles=slice(1)),
    "ttg.local_store": Known("local_store", 2),
    "ttg.local_load": Known("local_load", 1, 1),
}
# Operations of the IR by the kind of element-wise operation that they are.
_EACH_ELEMENT = {
    "mul": "arith.mulf arith.muli",
    "add": "arith.addf arith.addi",
    "sub": "arith.subf arith.negf arith.subi",
    "fma": "math.fma",
    "mul_high": "tt.mulhiui",
    "divide": "arith.divf tt.precise_divf tt.approx_divf arith.divsi arith.divui",
    "remainder": "arith.remsi arith.remui",
    "max": "arith.maxnumf arith.maximumf arith.maxsi arith.maxui math.absf math.absi",
    "min": "arith.minnumf arith.minimumf arith.minsi arith.minui",
    "compare": "arith.cmpf arith.cmpi",
    "select": "arith.select",
    "cast": "arith.truncf arith.extf arith.trunci arith.extsi arith.extui tt.fp_to_fp "
    "arith.sitofp arith.uitofp arith.fptosi",
    "logic": "arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui",
    "sqrt": "math.sqrt tt.precise_sqrt",
    **{
        n: f"math.{n}" for n in ("exp2", "exp", "log2", "log", "rsqrt", "sin", "cos", "erf", "tanh")
    },
}
ELEMENTWISE = frozenset(_EACH_ELEMENT)
KINDS = {name: known.kind for name, known in KNOWN.items()} | {
    name: kind for kind, names in _EACH_ELEMENT.items() for name in names.split()
}
# What the front end says of operations for rules that cost them, beside what all have.
SAID = {
    "scan": ("combine", "axis", "lanes", "lane_warps", "values", "arithmetic", "run"),
    "divide": ("divisor",),
    "remainder": ("divisor",),
}
SUMS = ("arith.addf", "arith.subf")  # which are fused with a product
INTEGER_DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui")
# Operations by which a reduction is known to combine two elements.
COMBINES = (
    *("arith.maxnumf", "arith.maximumf", "arith.maxsi"),
    *("arith.minnumf", "arith.minimumf", "arith.minsi"),
    *("arith.addf", "arith.addi", "arith.mulf"),
)

# Views, relabelled layouts and index arithmetic: no instruction, or one that is not worth a node.
MUTABLE_VIEWS = frozenset(
    {
        *("ttg.memdesc_trans", "ttg.memdesc_index", "ttg.memdesc_subslice"),
        *("ttg.memdesc_reshape", "ttg.memdesc_reinterpret", "ttng.tmem_subslice"),
    }
)
VIEWS = MUTABLE_VIEWS | {
    *("tt.expand_dims", "tt.broadcast", "tt.splat", "tt.unsplat", "tt.trans", "tt.reshape"),
    *("tt.join", "tt.split", "tt.bitcast", "tt.make_range", "tt.addptr"),
    "ttng.tensormap_create",
}
ALLOCATIONS = ("ttg.local_alloc", "ttng.tmem_alloc")
DESCRIPTOR = "tt.make_tensor_descriptor"  # of an address, as many sizes as strides
DESCRIPTOR_STORES = ("tt.descriptor_store", "tt.descriptor_reduce")  # by TMA, from shared memory
POINTER_STORES = ("tt.store", "tt.atomic_rmw")
PRODUCTS = ("ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")  # products that read and write buffers
LATER = "twill.later"
"""The attribute of what only the second of two joined loops needs, a number on selections of it."""
# Which operand is the buffer that an operation writes into.
WRITES = dict.fromkeys(PRODUCTS, 2) | {
    "ttng.tmem_store": 0,
    "ttg.local_store": 1,
    "ttg.async_copy_global_to_local": 1,
    "ttng.tmem_copy": 1,
}


def known(operation: Operation) -> Known:
    """Return what is known of an operation; of one without a kind, its IR name is the kind."""
    name = name_of(operation)
    return KNOWN.get(name) or Known(KINDS.get(name, name))


def kind_of(operation: Operation) -> str:
    """Return the scheduler's kind of an operation; its IR name if there is no other."""
    return KINDS.get(name_of(operation), name_of(operation))


def combine_of(operation: Operation) -> str | None:
    """Return how a reduction combines two elements, or None if it is not one known operation."""
    first, *rest = operation.regions[0].blocks[0].ops
    return kind_of(first) if len(rest) == 1 and name_of(first) in COMBINES else None


def scan_facts(dump: Dump, operation: Operation) -> dict[str, int]:
    """Return what a scan combines, in how many instructions, and how many elements lie in a row."""
    kind, axis = dump.type_of(operation.operands[0]), integer(operation, "axis") or 0
    *inner, _ = operation.regions[0].blocks[0].ops
    run = 1 if kind.layout is None else run_length(kind.layout, axis)
    fused = sum(name_of(o) in SUMS and any(map(_is_product, o.operands)) for o in inner)
    return {
        "values": len(operation.operands),
        "arithmetic": len(inner) - fused,
        "run": min(run, kind.shape[axis]),
    }


def _is_product(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and name_of(value.owner) == "arith.mulf"


def divisor(operation: Operation) -> int:
    """Return the constant that integers are divided by, 0 if it is none."""
    made = operation.operands[1].owner
    if not isinstance(made, Operation) or name_of(made) != "arith.constant":
        return 0
    found = attribute(made, "value")
    if isinstance(found, DenseIntOrFPElementsAttr):
        numbers = {int(number) for number in found.get_values()}
        return numbers.pop() if len(numbers) == 1 else 0
    return int(found.value.data)


def is_free(dump: Dump, operation: Operation) -> bool:
    """Return whether an operation costs nothing.

    Views and layout relabels do; so do conversions that only rename registers, and what is address
    computation: arithmetic on integer scalars, and pointers that change their layout. Arithmetic of
    the second of joined loops alone is not counted, since most iterations do without it.
    """
    name = name_of(operation)
    if is_later(operation) or name in VIEWS or name == "arith.constant":
        return True
    if name in ALLOCATIONS:
        return not any(dump.type_of(value).kind == "tensor" for value in operation.operands)
    if name == "ttg.convert_layout":
        trivial = attribute(operation, "sched.trivial")
        pointers = dump.type_of(operation.results[0]).dtype == "pointer"
        return pointers or (trivial is not None and bool(trivial.value.data))
    if name.startswith("arith.") and operation.results:
        result = dump.type_of(operation.results[0])
        return result.kind == "scalar" and result.dtype.startswith(("i", "index"))
    return False


def is_later(operation: Operation) -> bool:
    """Return whether only the second of two joined loops needs an operation."""
    return LATER in operation.attributes


def is_selection(operation: Operation) -> bool:
    """Return whether an operation selects what the second of two joined loops makes."""
    return is_later(operation) and integer(operation, LATER) is not None


def product_operands(operation: Operation) -> dict[str, int | None]:
    """Return the IR positions of a tcgen05 product's operands by role; None for absent ones."""
    scales = ["a_scale", "b_scale"] if name_of(operation) == PRODUCTS[1] else []
    roles = ["a", "b", "d", "token", *scales, "use_d", "predicate"]
    segments = integers(operation, "operandSegmentSizes") or [1] * len(roles)
    begins = itertools.accumulate(segments, initial=0)
    places = zip(roles, segments, begins, strict=False)
    return {role: begin if size else None for role, size, begin in places}


def tile_operands(dump: Dump, operation: Operation) -> list[tuple[int, SSAValue]]:
    """Return IR position and value of the operands that hold tiles, in the loop's order."""

    def is_number(value: SSAValue) -> bool:
        return dump.type_of(value).dtype in ELEMENT_BITS

    every = list(enumerate(uses(operation)))
    name = name_of(operation)
    if name in PRODUCTS:
        roles = product_operands(operation)
        wanted = [roles.get(r) for r in ("a", "b", "d", "a_scale", "b_scale")]
        return [every[p] for p in wanted if p is not None]
    if name == "ttng.tmem_store":
        return every[1:2] if is_number(every[1][1]) else every[2:3]
    tiles = known(operation).tiles
    return [e for e in every if is_number(e[1])] if tiles is None else every[tiles]


def check_operation(dump: Dump, operation: Operation) -> None:
    """Check that an operation can be what its name says, in types whose size is known.

    Raises
    ------
    InputError
        If operands, results or a body are missing.
    RefusedError
        If it reads or makes tiles whose elements have no known size.
    """
    where = string(operation, "sched.location")
    described = f"{name_of(operation)} at {where}" if where else name_of(operation)
    least = known(operation)
    for what, needed, there in (
        ("operands", least.operands, len(operation.operands)),
        ("results", least.results, len(operation.results)),
    ):
        if there < needed:
            raise InputError(f"{described} has {there} {what}, needs {needed}", file=dump.file)
    if least.body and not has_body(operation):
        raise InputError(f"{described} has no body", file=dump.file)
    for value in (*operation.operands, *operation.results):
        kind = dump.type_of(value)
        sized = kind.dtype in ELEMENT_BITS or kind.dtype == "pointer"
        if is_shaped(str(value.type)) if kind.kind == "scalar" else not sized:
            wrong = f"{described} has a tile of unknown size ({short(str(value.type))})"
            raise refused(dump.file, wrong)
