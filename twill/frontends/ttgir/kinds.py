"""What TTGIR operations are to the scheduler: their kind, or nothing at all."""

from __future__ import annotations

from xdsl.ir import Operation

from twill.frontends.ttgir.reader import Dump, attribute, name_of

KINDS = {
    "tt.descriptor_load": "load",
    "ttng.warp_group_dot": "mma",
    "tt.reduce": "reduce",
    "ttg.convert_layout": "convert_layout",
    "ttg.local_alloc": "local_store",
    "arith.mulf": "mul",
    "arith.addf": "add",
    "arith.subf": "sub",
    "math.fma": "fma",
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "arith.cmpf": "compare",
    "arith.select": "select",
    "arith.truncf": "cast",
    "arith.extf": "cast",
    "math.exp2": "exp2",
    "math.log2": "log2",
    "math.rsqrt": "rsqrt",
}
COMBINES = {
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "arith.addf": "add",
}

# Views, relabelled layouts and index arithmetic: no instruction, or one that is not worth a node.
VIEWS = frozenset(
    {
        "tt.expand_dims",
        "tt.broadcast",
        "tt.splat",
        "tt.trans",
        "tt.reshape",
        "tt.make_range",
        "tt.addptr",
        "ttg.memdesc_trans",
        "ttg.memdesc_index",
        "ttg.memdesc_subslice",
        "ttg.memdesc_reshape",
        "ttg.memdesc_reinterpret",
    }
)
ELEMENTWISE = frozenset(
    {
        "mul",
        "add",
        "sub",
        "fma",
        "max",
        "min",
        "compare",
        "select",
        "cast",
        "exp2",
        "log2",
        "rsqrt",
    }
)


def is_free(dump: Dump, operation: Operation) -> bool:
    """Return whether an operation costs nothing.

    Views and layout relabels do; so do conversions that only rename registers and arithmetic on
    integer scalars, which is address computation.

    Parameters
    ----------
    dump : Dump
        The dump that it belongs to.
    operation : Operation
        An operation of the loop body.
    """
    name = name_of(operation)
    if name in VIEWS or name == "arith.constant":
        return True
    if name == "ttg.convert_layout":
        trivial = attribute(operation, "sched.trivial")
        return trivial is not None and bool(trivial.value.data)
    if name.startswith("arith.") and operation.results:
        result = dump.type_of(operation.results[0])
        return result.kind == "scalar" and result.dtype.startswith(("i", "index"))
    return False


def kind_of(operation: Operation) -> str:
    """Return the scheduler's kind of an operation; its IR name if there is no other.

    Parameters
    ----------
    operation : Operation
        An operation of the loop body.
    """
    name = name_of(operation)
    return KINDS.get(name, name)


def combine_of(operation: Operation) -> str | None:
    """Return how a reduction combines two elements, or None if it is not one known operation.

    Parameters
    ----------
    operation : Operation
        A ``tt.reduce``.
    """
    inner = [name_of(o) for o in operation.regions[0].blocks[0].ops]
    if len(inner) == 2:
        return COMBINES.get(inner[0])
    return None
