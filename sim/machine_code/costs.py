"""Costs of instructions on an SM, as a machine file has them in ``[[instructions]]``.

An attribute of `Costs` is the name of a pipe, and behind it that of one of the pipe's costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from twill.base.errors import InputError, short

WITHOUT_COSTS = frozenset(
    {"bulk_wait", "commit", "constant", "product_wait", "registers", "stop", "uniform"}
)
"""Pipes that hold instructions up by nothing but their stall counts and scoreboards."""


@dataclass(frozen=True)
class Costs:
    """The pipes of instructions and their costs, in cycles where no other unit is named.

    Attributes
    ----------
    opcodes : tuple
        Pipes and patterns of operations; an operation belongs to the first one that matches.
    origin : str
        Where the costs come from, for people.
    """

    opcodes: tuple[tuple[str, re.Pattern[str]], ...]
    origin: str
    all_answer: float = 0  # until a scoreboard is released whose instruction has no latency here
    all_read: float = 0  # until operands are read
    all_port: float = 0  # from an access's issue to the port of shared memory
    all_queue: float = 0  # instructions of a scheduler that wait for memory
    fma_integer: float = 0  # between products of integers
    fma_packed: float = 0  # between instructions of two elements of FP32
    fma_beside: float = 0  # a register slot, beside products that have no slot free
    fma_free: float = 0  # register slots a cycle that a product leaves free
    fma_kept: float = 0  # free slots that are kept for later
    alu_interval: float = 0
    mufu_interval: float = 0
    mufu_beside: float = 0  # the interval beside products
    mufu_latency: float = 0
    mufu_read: float = 0
    shuffle_latency: float = 0
    shuffle_read: float = 0
    shared_load_latency: float = 0  # without its wavefronts
    shared_load_read: float = 0
    shared_load_beside_full: float = 0  # more, beside a product that needs the whole port
    shared_load_beside_part: float = 0  # more, beside one that needs three quarters of it
    shared_load_beside_part_wavefront: float = 0  # each wavefront then; of matrices stored too
    shared_store_written: float = 0
    shared_store_read: float = 0
    shared_store_beside_full: float = 0  # an access of no wavefronts beside such products
    shared_store_beside_full_wavefront: float = 0  # and each of its wavefronts
    shared_store_beside_part: float = 0
    shared_store_beside_part_wavefront: float = 0
    mbarrier_attempt: float = 0  # an attempt to wait on a complete phase
    mbarrier_asked: float = 0  # the part of it after which a phase counts
    mbarrier_arrive: float = 0  # between arrivals
    mbarrier_effect: float = 0  # from an arrival to the phase
    mbarrier_wake: float = 0  # from a phase to the answer of a blocked attempt
    mbarrier_answer: float = 0
    mbarrier_read: float = 0
    barrier_latency: float = 0  # a named barrier, without its stall count
    barrier_stall: float = 0  # the part of its stall count that comes on top, at most
    product_start: float = 0  # from the issue to the tensor core
    product_tail: float = 0  # from the tensor core to who waits
    product_tail_rows: float = 0  # the same of 64 rows
    product_tail_inside: float = 0  # the same with the left factor in registers, tensor memory
    product_queue: float = 0  # products issued before the first is complete
    product_column: float = 0  # of the tensor core, a column of the result
    product_fetch: float = 0  # of the port, a row of the left factor or a column of the right one
    product_issue: float = 0  # between products of a warp, at least
    product_issue_column: float = 0  # and a column of the result
    product_issue_free: float = 0  # less so much
    product_answer: float = 0
    product_fence: float = 0  # that products of a group begin behind
    bulk_issue: float = 0
    bulk_latency: float = 0
    bulk_latency_kib: float = 0  # more, a KiB of the box
    bulk_rate: float = 0  # bytes a cycle
    bulk_row: float = 0  # a row of the box, at least
    bulk_stored: float = 0  # until a store has read shared memory
    bulk_answer: float = 0
    bulk_flush: float = 0
    global_issue: float = 0  # from an access's issue to the path
    global_latency: float = 0
    global_rate: float = 0  # bytes a cycle
    local_latency: float = 0
    local_read: float = 0
    local_cache: float = 0  # bytes of the first cache and shared memory together
    local_reserved: float = 0  # bytes of shared memory that a block takes besides
    fence_proxy: float = 0
    fence_memory: float = 0
    branch_taken: float = 0
    tensor_load_latency: float = 0
    tensor_load_rate: float = 0  # bytes a cycle, of four warps
    tensor_store_latency: float = 0
    tensor_store_rate: float = 0

    def without(self, mechanism: str) -> Costs:
        """Return the costs with one of `MECHANISMS` switched off."""
        changed: dict[str, Any] = {**MECHANISMS[mechanism]}
        return replace(self, **changed)


Entry = tuple[str, Sequence[str], Mapping[str, float]]
"""A pipe, its opcodes (``*`` for any letters) and its costs by name."""


def costs_of(entries: Iterable[Entry], origin: str) -> Costs:
    """Return the costs of a machine; of two values of a cost the first counts.

    Raises
    ------
    InputError
        If there is no such pipe or cost, or a pipe lacks a cost.
    """
    names = [one.name for one in fields(Costs)][2:]
    opcodes: list[tuple[str, re.Pattern[str]]] = []
    values: dict[str, float] = {}
    needed: set[str] = set()
    for pipe, patterns, costs in entries:
        own = {name for name in names if name.startswith(f"{pipe}_")}
        if not own and pipe not in WITHOUT_COSTS:
            raise InputError(f"no pipe of machine code (got {short(pipe)})", path="instructions")
        needed |= own
        values = {**{f"{pipe}_{name}": value for name, value in costs.items()}, **values}
        if patterns:
            opcodes.append((pipe, _pattern(patterns)))
    if lacking := sorted(needed - values.keys()):
        raise InputError(f"lacks the cost {lacking[0]}", path="instructions")
    if further := sorted(values.keys() - needed):
        raise InputError(f"no cost of machine code (got {short(further[0])})", path="instructions")
    return Costs(tuple(opcodes), origin, **values)


def _pattern(opcodes: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(one).replace(r"\*", r"\w*") for one in opcodes)
    return re.compile(rf"(?:{names})(?:\.|$)")


MECHANISMS: dict[str, dict[str, float]] = {
    "register slots of products": {"fma_free": 1, "fma_beside": 1},
    "shared memory beside products": {"shared_store_beside_full_wavefront": 0},
    "start and tail of products": {
        "product_start": 0,
        "product_tail": 0,
        "product_tail_rows": 0,
        "product_tail_inside": 0,
        "product_fence": 0,
    },
    "barriers of groups": {"barrier_latency": 0},
    "mbarriers": {
        "mbarrier_attempt": 0,
        "mbarrier_asked": 0,
        "mbarrier_arrive": 1,
        "mbarrier_effect": 0,
        "mbarrier_wake": 0,
    },
    "fences": {"fence_proxy": 0, "fence_memory": 0},
    "latency of loads": {
        "bulk_latency": 0,
        "bulk_latency_kib": 0,
        "global_latency": 0,
        "local_latency": 0,
    },
    "tensor memory": {"tensor_load_latency": 0, "tensor_store_latency": 0},
}
"""Costs of each mechanism when it is switched off."""
