"""Rewrites from what the compiler writes to what the machine does."""

from __future__ import annotations

import math
from dataclasses import replace

from twill.artifacts.loop import Tile
from twill.base.graphs import reached
from twill.frontends.shared import NEGATED
from twill.frontends.ttgir.draft import Draft, Flow, Node, Outside

ASYNC_COPY_BITS = 32
BEFORE, AFTER, AGAIN = -0.25, 0.25, 0.03125
INTEGERS = ("i64", "i32", "i16", "i8", "i1")


def run_passes(draft: Draft, *, whole_tiles: bool, fp_fusion: bool) -> None:
    """Rewrite a draft until its operations are those that warps issue."""
    if fp_fusion:
        fuse_products(draft)
    draft.merge()
    absorb_addresses(draft)
    absorb_positions(draft)
    fill_loads(draft)
    stage_stores(draft)
    if not whole_tiles:
        join_chunks(draft)
    order_in_place(draft)
    draft.leave_told()
    draft.flows = [replace(f, operand=None, axes=None) if f.address else f for f in draft.flows]


def fuse_products(draft: Draft) -> None:
    """Make one operation of a float product and the sum or difference that alone reads it.

    Of two products that are added to each other the first is fused. Source: cubins of Triton 3.9.0
    for sm_90a and sm_100a with `enable_fp_fusion` (its default), all float types.
    """
    sums = ("arith.addf", "arith.subf")
    for key in sorted(k for k, node in draft.nodes.items() if node.source in sums):
        reads = sorted(draft.reads_by(key), key=lambda f: f.operand or 0)
        product = next((f for f in reads if _is_fused(draft, f)), None)
        if product is not None:
            _fuse(draft, product)


def _is_fused(draft: Draft, read: Flow) -> bool:
    """Whether the value is a product with a single reader, read element by element."""
    product, total = draft.nodes[read.producer], draft.nodes[read.consumer]
    made = product.result
    return (
        (product.source, len(product.operands), len(total.operands)) == ("arith.mulf", 2, 2)
        and made is not None
        and total.result == made
        and product.warps == total.warps
        and (read.distance, read.axes) == (0, tuple(range(len(made.shape))))
        and product.key not in draft.carried
        and draft.reads_of(product.key) == [read]
    )


def _fuse(draft: Draft, read: Flow) -> None:
    """Let a sum or difference compute the product that it reads: operands are a, b and c."""
    product, total, place = draft.nodes[read.producer], draft.nodes[read.consumer], read.operand
    assert place is not None
    addend = 2
    factors = [replace(f, consumer=total.key) for f in draft.reads_by(product.key)]
    outside = [replace(o, consumer=total.key) for o in draft.outside if o.consumer == product.key]
    helper, dot, _ = total.name.rpartition(f".{total.kind}")
    name = draft.unused(f"{helper}.fma") if dot else total.name
    draft.remove(product.key, [name])
    draft.flows = factors + [
        replace(f, operand=addend) if f.consumer == total.key and f.operand is not None else f
        for f in draft.flows
    ]
    draft.outside = outside + [
        replace(o, operand=addend) if o.consumer == total.key else o for o in draft.outside
    ]
    negated = {"negated": NEGATED[place]} if total.kind == "sub" else {}
    draft.update(
        total.key,
        name=name,
        source="math.fma",
        kind="fma",
        operands=(*product.operands, total.operands[1 - place]),
        attributes={**total.attributes, **negated},
    )


def absorb_addresses(draft: Draft) -> None:
    """Fold integer arithmetic that only makes addresses into the accesses that use them.

    The warps that issue an access compute its address; no other operation needs the result.
    """
    absorbed = True
    while absorbed:
        absorbed = False
        for key in sorted(draft.nodes, reverse=True):
            node, reads = draft.nodes[key], draft.reads_of(key)
            integer = node.result is not None and node.result.dtype in INTEGERS
            if not (node.elementwise and integer and reads and all(f.address for f in reads)):
                continue
            if any(flow.consumer == key for flow in reads):
                continue
            users = [draft.nodes[flow.consumer].name for flow in reads]
            draft.flows += [
                replace(use, producer=source.producer, distance=source.distance + use.distance)
                for source in draft.reads_by(key)
                for use in reads
            ]
            draft.remove(key, users)
            absorbed = True
    draft.merge()


def absorb_positions(draft: Draft) -> None:
    """Fold sums of scalars and positions in a tile into the comparisons that alone read them.

    Masks compare such sums with each other. Where each thread has all positions they are constants,
    and compilers compare with immediates: cubins of Triton 3.9.0 for sm_100a have no addition for
    them. Where threads have different ones, as on sm_90a, these are added.
    """
    read_outside = {read.consumer for read in draft.outside}
    for key in sorted(draft.nodes):
        node, readers = draft.nodes[key], draft.reads_of(key)
        users = [draft.nodes[flow.consumer] for flow in readers]
        if (
            node.source in ("arith.addi", "arith.subi")
            and node.result is not None
            and node.result.elements_per_thread == math.prod(node.result.shape)
            and not draft.reads_by(key)
            and key not in read_outside
            and users
            and all(user.source == "arith.cmpi" for user in users)
        ):
            draft.remove(key, [user.name for user in users])


def fill_loads(draft: Draft) -> None:
    """Let loads fill shared memory, as the hardware does.

    TMA writes shared memory, so the allocation of a loaded tile is no work of its own, and reading
    the tile in registers takes a load from shared memory. A load through pointers fills an
    allocation by an asynchronous copy if a thread has 4 bytes to copy at once and no operation
    reads registers.
    """
    for key in sorted(k for k, node in draft.nodes.items() if node.kind == "load"):
        load = draft.nodes[key]
        reads = [f for f in draft.reads_of(key) if not f.address]
        allocations = [f for f in reads if draft.nodes[f.consumer].source == "ttg.local_alloc"]
        if load.attributes["engine"] == "tma":
            _fill(draft, key, _as_loaded(draft, key, allocations))
        elif len(reads) == 1 and allocations and _is_wide(draft, load):
            _fill(draft, key, allocations)
            draft.update(key, attributes={**load.attributes, "engine": "cp_async"})


def _is_wide(draft: Draft, load: Node) -> bool:
    """Whether a thread has enough to copy, and enough of that side by side."""
    tile, threads = load.result, load.warps * draft.threads_per_warp
    if tile is None:
        return False
    bits = tile.elements_each(threads) * tile.bits
    at_once = load.attributes.get("access_bytes")
    return min(bits, bits if at_once is None else 8 * int(at_once)) >= ASYNC_COPY_BITS


def _as_loaded(draft: Draft, key: float, allocations: list[Flow]) -> list[Flow]:
    """Return the allocations that hold a tile as TMA lays it out, which may be transposed."""
    loaded = draft.nodes[key].transposed
    return [
        flow
        for flow in allocations
        if None in (loaded, wanted := draft.nodes[flow.consumer].transposed) or wanted == loaded
    ]


def _fill(draft: Draft, key: float, allocations: list[Flow]) -> None:
    """Make the load at `key` write shared memory, in the place of these allocations."""
    load = draft.nodes[key]
    in_registers = load.result
    assert in_registers is not None
    filled = {f.consumer: f.distance for f in allocations}
    tile = draft.nodes[allocations[0].consumer].result if filled else _in_smem(in_registers)
    readers = [f for f in draft.reads_of(key) if f.consumer not in filled]
    draft.update(key, result=tile)
    if readers:
        _read_back(draft, key, in_registers, readers)
    for allocation, distance in filled.items():
        moved = [
            replace(f, producer=key, distance=f.distance + distance)
            for f in draft.flows
            if f.producer == allocation
        ]
        draft.remove(allocation, [load.name])
        draft.flows += moved
        draft.merge()


def _read_back(draft: Draft, key: float, in_registers: Tile, readers: list[Flow]) -> None:
    """Let readers of a loaded tile in registers load it from shared memory.

    A change of layout becomes a load in its own layout.
    """
    load = draft.nodes[key]
    assert load.result is not None
    for reader in readers:
        node = draft.nodes[reader.consumer]
        if node.kind == "convert_layout" and node.operands[0].shape == in_registers.shape:
            attributes = {k: v for k, v in node.attributes.items() if k != "trivial"}
            operands = (load.result,)
            draft.update(node.key, kind="local_load", operands=operands, attributes=attributes)
    rest = [f for f in readers if draft.nodes[f.consumer].kind != "local_load"]
    if rest:
        warps = max(draft.nodes[f.consumer].warps for f in rest)
        copy = draft.insert(load, AFTER, "local_load", (load.result, in_registers), warps)
        draft.flows = [replace(f, producer=copy) if f in rest else f for f in draft.flows]
        draft.flows.append(Flow(key, copy, 0, 0, tuple(range(len(in_registers.shape)))))


def _in_smem(tile: Tile) -> Tile:
    return Tile(shape=tile.shape, dtype=tile.dtype, memory="smem")


def stage_stores(draft: Draft) -> None:
    """Let stores by TMA read shared memory, which their source is first written to.

    A change of layout for the sake of the store alone is that write.
    """
    for key in sorted(k for k, node in draft.nodes.items() if node.kind == "store"):
        store = draft.nodes[key]
        if store.attributes["engine"] != "tma" or not store.operands:
            continue
        staged = _in_smem(store.operands[0])
        sources = [f for f in draft.reads_by(key) if f.operand == 0 and not f.address]
        before = draft.nodes[sources[0].producer] if len(sources) == 1 else None
        converted = before is not None and before.kind == "convert_layout"
        alone = before is not None and len(draft.reads_of(before.key)) == 1
        if before is not None and converted and alone and not sources[0].distance:
            name = draft.unused(f"{store.name}.local_store")
            draft.update(before.key, name=name, kind="local_store", result=staged, attributes={})
        else:
            _stage(draft, store, staged, sources)
        draft.update(key, operands=(staged,))


def _stage(draft: Draft, store: Node, staged: Tile, sources: list[Flow]) -> None:
    warps = max([*(draft.nodes[f.producer].warps for f in sources), 4])
    tiles = store.operands[0], staged
    staging = draft.insert(store, BEFORE, "local_store", tiles, warps)
    draft.flows = [replace(f, consumer=staging) if f in sources else f for f in draft.flows]
    draft.outside = [
        replace(o, consumer=staging) if o.consumer == store.key and o.operand == 0 else o
        for o in draft.outside
    ]
    draft.flows.append(Flow(staging, store.key, 0, 0, tuple(range(len(staged.shape)))))


def join_chunks(draft: Draft) -> None:
    """Join tensor memory load, arithmetic and store into one operation that goes chunk by chunk.

    Where no other operation reads the values between, no more than a chunk of the tile is ever in
    registers. At whole-tile grain rescaling an accumulator would need all of it. A tile that
    several such chains read is loaded by each of them.
    """
    for key in sorted(k for k, node in draft.nodes.items() if node.kind == "tmem_load"):
        _load_for_each(draft, key)
    for key in sorted(k for k, node in draft.nodes.items() if node.kind == "tmem_load"):
        chain = _chain(draft, key)
        if chain:
            _join(draft, chain)


def _load_for_each(draft: Draft, key: float) -> None:
    """Load a tile of tensor memory once for each of its readers, if all of them begin chains."""
    load, readers = draft.nodes[key], draft.reads_of(key)
    chains = [_chain(draft, key, [read]) for read in readers]
    if len(readers) < 2 or not all(chains):
        return
    stores = [draft.nodes[chain[-1]] for chain in chains]
    update = next((n for n, s in enumerate(stores) if _writes_back(draft, load, s)), 0)
    for number, read in enumerate(r for n, r in enumerate(readers) if n != update):
        copy = replace(load, key=key + AGAIN * (number + 1), name=draft.unused(load.name))
        draft.nodes[copy.key] = copy
        draft.flows[draft.flows.index(read)] = replace(read, producer=copy.key)
        draft.flows += [replace(f, consumer=copy.key) for f in draft.reads_by(key)]
        outside = [o for o in draft.outside if o.consumer == key]
        draft.outside += [replace(o, consumer=copy.key) for o in outside]


def _chain(draft: Draft, key: float, first: list[Flow] | None = None) -> list[float]:
    """Return load, element-wise operations and store, or nothing if it is no such chain.

    `first`: the reads of the load that count, all of them by default.
    """
    chain = [key]
    while True:
        reads = draft.reads_of(chain[-1]) if first is None or len(chain) > 1 else first
        if len(reads) != 1 or reads[0].distance or reads[0].operand is None:
            return []
        following = draft.nodes[reads[0].consumer]
        chain.append(following.key)
        if following.kind in ("tmem_store", "local_store"):
            return chain if len(chain) > 2 else []
        if not following.elementwise:
            return []


def _writes_back(draft: Draft, load: Node, store: Node) -> bool:
    """Whether a store overwrites the buffer, or the part of it, that the load reads."""
    whole = any(f.producer == load.key and f.consumer == store.key for f in draft.renamed)
    return whole or any(_same_version(draft, load, flow) for flow in draft.reads_by(store.key))


def _same_version(draft: Draft, load: Node, update: Flow) -> bool:
    """Whether an update in place changes what the load reads."""
    return update.in_place and any(
        (flow.producer, flow.distance) == (update.producer, update.distance)
        for flow in draft.reads_by(load.key)
    )


def _join(draft: Draft, chain: list[float]) -> None:
    load, *middle, store = (draft.nodes[key] for key in chain)
    update = _writes_back(draft, load, store)
    others = [f for f in draft.flows if f.consumer in chain[1:] and f.producer not in chain]
    operands = [*load.operands]
    moved: list[Flow] = []
    for flow in (flow for flow in others if not _same_version(draft, load, flow)):
        operand = flow.operand
        if flow.kind == "data" and operand is not None:
            operands.append(draft.nodes[flow.consumer].operands[operand])
            operand = len(operands) - 1
        moved.append(replace(flow, consumer=store.key, operand=operand))
    reads = [
        replace(f, consumer=store.key, in_place=update and f.operand == 0)
        for f in draft.flows
        if f.consumer == load.key
    ]
    outside: list[Outside] = []
    for read in draft.outside:
        if read.consumer == load.key:
            outside.append(replace(read, consumer=store.key))
        elif read.consumer in chain:
            operands.append(draft.nodes[read.consumer].operands[read.operand])
            outside.append(replace(read, consumer=store.key, operand=len(operands) - 1))
    written = [f for f in draft.flows if f.producer == store.key and f.consumer not in chain]
    for node in (load, *middle):
        draft.remove(node.key, [store.name])
    draft.flows = [f for f in draft.flows if store.key not in (f.producer, f.consumer)]
    draft.flows += [*reads, *moved, *written]
    if update:
        draft.renamed = [f for f in draft.renamed if store.key not in (f.producer, f.consumer)]
    draft.outside = [o for o in draft.outside if o.consumer != store.key] + outside
    draft.update(
        store.key,
        kind="tmem_update" if update else "tmem_drain",
        operands=tuple(operands),
        attributes={"arithmetic": len(middle)},
    )


def order_in_place(draft: Draft) -> None:
    """Order the other readers of a value before the operation that updates it where it lies.

    A reader that can only come after the update keeps the update from being in place: the value
    is then copied, which registers allow and tensor memory never asks for.
    """
    for update in [flow for flow in draft.flows if flow.in_place]:
        orders = [
            Flow(reader.consumer, update.consumer, update.distance - reader.distance, kind="anti")
            for reader in draft.reads_of(update.producer)
            if reader.consumer != update.consumer
        ]
        impossible = any(
            order.distance < 0
            or (order.distance == 0 and _reaches(draft, update.consumer, order.producer))
            for order in orders
        )
        if impossible:
            draft.flows[draft.flows.index(update)] = replace(update, in_place=False)
            continue
        known = {(f.producer, f.consumer, f.distance) for f in draft.flows}
        draft.flows += [o for o in orders if (o.producer, o.consumer, o.distance) not in known]


def _reaches(draft: Draft, start: float, goal: float) -> bool:
    """Whether `goal` follows `start` within one iteration."""
    now = [flow for flow in draft.flows if not flow.distance]
    return goal in reached([start], lambda key: [f.consumer for f in now if f.producer == key])
