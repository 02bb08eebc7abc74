"""Attributes of TTGIR operations: those that templates write, and the values that change nothing.

Names and values are those of Triton's ODS (`TritonOps.td`, `TritonNvidiaGPUOps.td`) and of MLIR's
`arith` and `math`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from twill.base.errors import RefusedError
from twill.base.names import elided
from twill.emit.source import Source, SSAValue, Statement
from twill.frontends.ttgir.kinds import ALLOCATIONS, DESCRIPTOR, PRODUCTS, kind_of, product_operands
from twill.frontends.ttgir.reader import ANNOTATIONS, attribute, integer, name_of, string
from twill.frontends.ttgir.rewriting import RETURNS

LONGEST = 60  # characters of a value that is refused
WRITTEN = None  # by the template of the operation, whatever the value
CACHE = {1: None, 2: ".ca", 3: ".cg", 4: ".wb", 5: ".cs", 6: ".wt", 7: ".cv"}
EVICT = {1: None, 2: "evict_first", 3: "evict_last"}
DEFAULT = ("1 : i32",)  # of `cache` and `evict`
USUAL = "#tt.cache_policy<cache_modifier = none, eviction_policy = evict_normal>"
_POLICY = re.compile(r"cache_modifier = (\w+), eviction_policy = (\w+)>$")
ASSUMED = ("fastmath", "overflowFlags")  # what the compiler may assume; Gluon assumes less
# Hints for Triton's own scheduling, which a schedule replaces.
HINTS = (
    *("tt.num_stages", "tt.warp_specialize", "tt.flatten", "tt.loop_unroll_factor"),
    *("tt.disallow_acc_multi_buffer", "tt.disable_licm", "tt.divisibility", "tt.contiguity"),
    *("tt.constancy", "tt.latency", "tt.self_latency", "loop.stage", "loop.cluster"),
)
OTHERS = ("op_name__", "operandSegmentSizes", "resultSegmentSizes", "op_bundle_sizes")

POLICY = dict.fromkeys(("cache", "evict", "cachePolicy"), WRITTEN)
ACCEPTED: dict[str, Mapping[str, tuple[str, ...] | None]] = {
    **{f"arith.cmp{kind}": {"predicate": WRITTEN} for kind in "if"},
    "arith.constant": {"value": WRITTEN},
    "scf.for": {},
    "tt.atomic_rmw": {
        "atomic_rmw_op": WRITTEN,
        "sem": WRITTEN,
        "scope": WRITTEN,
    },
    "tt.descriptor_load": {"cache": DEFAULT, "evict": DEFAULT, "cachePolicy": (USUAL,)},
    "tt.descriptor_reduce": {"kind": ("1 : i32",)},  # addition
    "tt.expand_dims": {"axis": WRITTEN},
    "tt.fp_to_fp": {"rounding": ("1 : i32",)},
    "tt.get_num_programs": {"axis": WRITTEN},
    "tt.get_program_id": {"axis": WRITTEN},
    "tt.load": {
        "boundaryCheck": ("array<i32>",),
        **POLICY,
        "isVolatile": WRITTEN,
    },
    DESCRIPTOR: {"padding": ("1 : i32",)},  # zeros
    "tt.make_range": {"start": WRITTEN, "end": WRITTEN},
    "tt.reduce": {"axis": WRITTEN},
    "tt.scan": {"axis": WRITTEN, "reverse": WRITTEN},
    "tt.store": {"boundaryCheck": ("array<i32>",), **POLICY},
    "tt.trans": {"order": WRITTEN},
    "ttg.memdesc_trans": {"order": WRITTEN},
    "ttng.tc_gen5_mma_scaled": {"a_type": WRITTEN, "b_type": WRITTEN},
    "ttng.warp_group_dot": {
        "inputPrecision": WRITTEN,
        "isAsync": ("false",),
        "maxNumImpreciseAcc": WRITTEN,
    },
}


def refused(statement: Statement, what: str = "") -> RefusedError:
    """Return the refusal of a statement, with its place in the user's file and the reason."""
    where = string(statement, "sched.location")
    named = f"{name_of(statement)}{f' at {where}' if where else ''}"
    readers = {kind_of(use.operation) for result in statement.results for use in result.uses}
    if not what and name_of(statement) in ALLOCATIONS and readers & {"mma", "mma_scaled"}:
        what = "it is for a product outside of the loop"
    return RefusedError(f"{named} has no template for kernels{what and f': {what}'}")


def check(source: Source) -> None:
    """Check that templates write all that the kernel's operations say.

    Raises
    ------
    RefusedError
        If an attribute, an optional operand or an effect would be lost; the message names it.
    """
    for statement in source.function.walk():
        if statement is not source.function:
            _check_operands(source, statement)
            _check_attributes(statement)
    for statement in source.before():
        _check_effect(statement)
    _check_around(source)


def _check_around(source: Source) -> None:
    """Refuse what an emitted kernel would leave out around its loop over output tiles."""
    if (outer := source.outer) is None:
        return
    if name_of(outer) != "scf.for":
        raise refused(outer, "the loop is in it")
    after = list(source.blocks[0].ops)
    for statement in after[after.index(outer) + 1 :]:
        if name_of(statement) not in RETURNS:
            raise refused(statement, "it follows a loop over output tiles")


def _check_attributes(statement: Statement) -> None:
    accepted = ACCEPTED.get(name_of(statement), {})
    given: dict[str, Any] = {**statement.attributes, **statement.properties}
    for key, value in given.items():
        if key in (*OTHERS, *ASSUMED, *HINTS) or key.startswith(ANNOTATIONS):
            continue
        values = accepted.get(key, ())
        if values is not WRITTEN and str(value) not in values:
            raise refused(statement, f"{key} = {elided(str(value), LONGEST)}")


def _check_operands(source: Source, statement: Statement) -> None:
    """Refuse predicates, and products with barriers of their own."""
    name = name_of(statement)
    if name == "tt.dot":
        raise refused(statement, "warp groups multiply 64 rows or more, and no floats of 32 bits")
    predicate: SSAValue | None = None
    if name in PRODUCTS:
        roles = product_operands(statement)
        position = roles["predicate"]
        predicate = None if position is None else statement.operands[position]
        if len(statement.operands) > 1 + max(p for p in roles.values() if p is not None):
            raise refused(statement, "it has barriers of its own")
    elif name == "ttng.tmem_store":
        predicate = list(statement.operands)[-1]
    if predicate is not None and not is_true(source, predicate):
        raise refused(statement, "it has a predicate")


def is_true(source: Source, value: SSAValue) -> bool:
    """Return whether a value is the constant that is true."""
    made = source.statement(value)
    return made is not None and name_of(made) == "arith.constant" and not source.is_zero(value)


def _check_effect(statement: Statement) -> None:
    """Refuse statements before the loop that neither compute values nor fill buffers."""
    name = name_of(statement)
    used = any(list(result.uses) for result in statement.results)
    filled = name in ("ttng.tmem_store", "llvm.intr.assume")
    if not (used or filled or name.endswith("_alloc") or statement.regions):
        raise refused(statement, "it has an effect before the loop")


def access_options(statement: Statement) -> tuple[str, ...]:
    """Return the cache options of a load or store through pointers, as arguments.

    Raises
    ------
    RefusedError
        If a value is none of Triton's.
    """
    policy = attribute(statement, "cachePolicy")
    found = _POLICY.search(str(policy)) if policy is not None else None
    if policy is not None and found is None:
        raise refused(statement, f"cachePolicy = {elided(str(policy), LONGEST)}")
    if found is not None:
        cache = None if found[1] == "none" else f".{found[1]}"
        evict = None if found[2] == "evict_normal" else found[2]
    else:
        cache, evict = _numbered(statement, "cache", CACHE), _numbered(statement, "evict", EVICT)
    volatile = str(attribute(statement, "isVolatile")) == "true"
    return (
        *((f'cache_modifier="{cache}"',) if cache else ()),
        *((f'eviction_policy="{evict}"',) if evict else ()),
        *(("volatile=True",) if volatile else ()),
    )


def _numbered(statement: Statement, key: str, values: Mapping[int, str | None]) -> str | None:
    """Return the option that a number stands for, as Triton 3.8 and earlier write a policy."""
    number = integer(statement, key) or 1
    if number not in values:
        raise refused(statement, f"{key} = {number}")
    return values[number]
