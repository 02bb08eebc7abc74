"""Make the loops and schedules of published kernels, written down by hand.

A tool for who maintains them: ``python -m twill.traces.make_orders`` writes the packaged files,
``--check`` only compares. Orders are those of github.com/Dao-AILab/flash-attention at 0251105:
hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp and flash_attn/cute/flash_fwd_sm100.py; of
github.com/facebookexperimental/triton, in third_party/tlx/tutorials: blackwell-fa-ws-persistent
at 342060c, blackwell-fa-ws-pipelined at 7665e95, blackwell-fa-ws-pipelined-persistent at 9df3f05;
and that of Triton 3.9.0, which is read from its IR.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

from twill.artifacts.loop import Cost, ElementType, Loop, Step
from twill.frontends.builder import LoopBuilder
from twill.frontends.builder.values import Node, Value
from twill.traces import write_or_check

HEAD = 128
SCALE = 0.127
KEYS = (176, 128)
PARTS = 4
# A vote and a branch, at the rate and latency of the ALU in the machine file.
VOTE = Cost(steps=(Step(unit="alu", cycles=4, instructions=2),), latency=8)
Document = dict[str, Any]
HEADER: Document = {"schema": "twill.order", "schema_version": 1}


def flash_attention_3(keys: int, fragments: int = 1) -> Loop:
    """Return the loop of FlashAttention-3's forward kernel: two tiles of 64 queries."""
    how = "as its source computes it" if fragments == 1 else f"in {fragments} parts"
    loop = LoopBuilder(
        f"fa3_forward_128x{keys}" + ("_parts" if fragments > 1 else ""),
        description=f"FlashAttention-3 forward, two tiles of 64 queries, {keys} keys, head "
        f"dimension 128, fp16, exponentials {how}",
    )
    with loop:
        k = loop.load("K", (keys, HEAD), "f16")
        v = loop.load("V", (keys, HEAD), "f16")
        for i in range(2):
            q = loop.invariant(f"Q{i}", (64, HEAD), "f16")
            scores = (q @ k.T).named(f"S{i}")
            a, n = _row_maxima(loop, scores, i)
            parts = _exponentials(loop, scores, n, i, fragments)
            _row_sums(loop, parts, a, i)
            output = loop.carried(f"O{i}", (64, HEAD))
            scaled = loop.elementwise("mul", output, a[:, None], name=f"X{i}")
            c = _columns(loop, "cast", parts, keys, elementwise=True, name=f"C{i}")
            output.assign(loop.mma(c, v, scaled, name=f"O{i}"))
    return _without_places(loop.build())


def flash_attention_4(*, rescaling: bool = False) -> Loop:
    """Return the loop of FlashAttention-4's forward kernel: two tiles of 128 queries.

    A tile's exponentials are computed in four parts of 32 columns. In the two in the middle 12 of
    32 are polynomials: for two elements six packed products and sums on the FP32 pipes, two maxima,
    two shifts and two additions on the ALU (ex2_emulation_2 in flash_attn/cute/utils.py). The first
    three parts are stored together, then the last, and the second product is issued likewise.

    `rescaling`: whether accumulators are rescaled in every iteration; FlashAttention-4 does so only
    where a maximum grew by more than log2(256), and otherwise finds that out: a vote and a branch.
    """
    loop = LoopBuilder(
        "fa4_forward" + ("_rescaling" if rescaling else ""),
        products="tmem",
        description="FlashAttention-4 forward, two tiles of 128 queries, 128 keys, head dimension "
        "128, fp16, accumulators rescaled " + ("always" if rescaling else "seldom"),
    )
    with loop:
        k = loop.load("K", (HEAD, HEAD), "f16")
        v = loop.load("V", (HEAD, HEAD), "f16")
        for i in range(2):
            q = loop.invariant(f"Q{i}", (HEAD, HEAD), "f16")
            product = loop.mma(q, k.T, name=f"S{i}")
            scores = loop.tmem_load(product, name=f"R{i}")
            a, n = _row_maxima(loop, scores, i)
            scaled = loop.elementwise("fma", scores, n[:, None], name=f"E{i}")
            parts = [_part_of_exponentials(loop, scaled, i, f) for f in range(4)]
            _row_sums(loop, [*itertools.chain(*parts)], a, i)
            casts = [
                _columns(loop, "cast", part, 32, elementwise=True, name=f"C{i}_{f}")
                for f, part in enumerate(parts)
            ]
            stores = []
            for name, some in (("a", casts[:3]), ("b", casts[3:])):
                tile = loop.tile((HEAD, 32 * len(some)), "f16", "tmem")
                stores.append(loop.operation("tmem_store", *some, result=tile, name=f"T{i}_{name}"))
            _second_products(loop, i, v, a, stores, None if rescaling else VOTE)
    return _without_places(loop.build())


def _second_products(
    loop: LoopBuilder, i: int, v: Value, a: Value, stores: list[Value], vote: Cost | None
) -> None:
    """Add the update of an accumulator in tensor memory, and the two products that it is for."""
    output = loop.carried(f"O{i}", (HEAD, HEAD), memory="tmem")
    released = loop.operation(
        "tmem_update",
        output,
        a[:, None],
        result=output.tile,
        name=f"X{i}",
        in_place=0,
        attributes={"arithmetic": 1},
        cost=vote,
    )
    for name, store in zip((f"O{i}_a", f"O{i}"), stores, strict=True):
        rows = loop.given(f"{name}_rows", (store.shape[1], HEAD), "f16")
        operands = (store, rows, released, v)
        released = loop.operation(
            "mma", *operands, result=output.tile, warps=1, in_place=2, name=name
        )
    output.assign(released)


def _row_maxima(loop: LoopBuilder, scores: Value, i: int) -> tuple[Value, Value]:
    """Add the row maxima; return the factor for what was summed before, and the scaled maxima."""
    rows = scores.shape[0]
    largest = loop.carried(f"m{i}", (rows,))
    new = loop.maximum(largest, loop.reduce(scores, "max", 1, name=f"max{i}"), name=f"m{i}")
    difference = loop.elementwise("sub", largest, new, name=f"d{i}")
    a = loop.exp2(loop.elementwise("mul", difference, SCALE, name=f"b{i}"), name=f"a{i}")
    n = loop.elementwise("mul", new, SCALE, name=f"n{i}")
    largest.assign(new)
    return a, n


def _exponentials(
    loop: LoopBuilder, scores: Value, n: Value, i: int, fragments: int
) -> list[Value]:
    """Add the scaled scores and their exponentials, in parts of some columns each."""
    columns, whole = scores.shape[1] // fragments, fragments == 1
    found = []
    for name in [f"{i}"] if whole else [f"{i}_{f}" for f in range(fragments)]:
        operands = [scores, n[:, None]]
        e = _columns(loop, "fma", operands, columns, elementwise=whole, name=f"E{name}")
        found.append(loop.exp2(e, name=f"P{name}"))
    return found


def _part_of_exponentials(loop: LoopBuilder, scaled: Value, i: int, f: int) -> list[Value]:
    """Add a quarter of the exponentials: on the MUFU, and as polynomials if it is in the middle."""
    polynomials = 12 if f in (1, 2) else 0
    found = [_columns(loop, "exp2", [scaled], 32 - polynomials, name=f"P{i}_{f}")]
    if polynomials:
        pairs = polynomials // 2
        work = [Step(unit=u, cycles=12 * pairs, instructions=6 * pairs) for u in ("fma", "alu")]
        cost = Cost(steps=tuple(work), latency=24 * pairs + 4)
        found.append(_columns(loop, "exp2", [scaled], polynomials, name=f"Y{i}_{f}", cost=cost))
    return found


def _columns(
    loop: LoopBuilder, kind: str, operands: Sequence[Value], columns: int, **more: Any
) -> Value:
    """Add an operation that makes some columns of each row, in registers."""
    dtype: ElementType = "f16" if kind == "cast" else "f32"
    result = loop.tile((operands[0].shape[0], columns), dtype, "registers")
    return loop.operation(kind, *operands, result=result, **more)


def _row_sums(loop: LoopBuilder, parts: Sequence[Value], a: Value, i: int) -> None:
    """Add the row sums; until the loop ends every thread sums what it holds."""
    rows = parts[0].shape[0]
    result = loop.tile((rows,), "f32", "registers", 2 if rows == 64 else 1)
    total = loop.carried(f"l{i}", (rows,))
    running = loop.elementwise("mul", total, a, name=f"l{i}.mul")
    attributes: dict[str, Any] = {"combine": "add", "lanes": 1, "lane_warps": 1}
    for p in parts:
        name = f"l{i}" if p is parts[-1] else f"sum{_name(p)}"
        running = loop.operation(
            "reduce", p, running, result=result, name=name, axis=1, attributes=attributes
        )
    total.assign(running)


def _name(value: Value) -> str:
    assert isinstance(value.source, Node)
    assert value.source.name is not None
    return value.source.name


def _without_places(loop: Loop) -> Loop:
    """Return a loop that does not say where this file is."""
    operations = tuple(o.model_copy(update={"location": None}) for o in loop.operations)
    return loop.model_copy(update={"operations": operations})


def flash_attention_3_order(
    keys: int,
    *,
    fragments: int = 1,
    overlap: bool = True,
    ping_pong: bool = True,
    hoisted: bool = False,
) -> Document:
    """Return FlashAttention-3's order, or one of its ablations.

    `fragments`: parts of the exponentials; with more than one, instructions of different parts
    alternate, as ptxas interleaves them (nvcc 13.0: one FADD after each MUFU.EX2).
    `overlap`: whether the second product of an iteration runs beside the softmax of the next.
    `ping_pong`: whether the two groups take turns on the tensor core.
    `hoisted`: whether the wait for the second product stands before the softmax, as ptxas was seen
    to hoist it in such loops.
    """
    loop = f"fa3_forward_128x{keys}" + ("_parts" if fragments > 1 else "")
    changes = ["no overlap"] * (not overlap) + ["no ping-pong"] * (not ping_pong)
    changes += ["wait hoisted"] * hoisted
    suffix = "".join("_" + change.replace(" ", "_").replace("-", "_") for change in changes)
    parts = ["exponentials in parts"] * (fragments > 1)
    tile = _overlapping if overlap else _as_written
    tiles = [tile(i, _softmax(i, fragments), ping_pong=ping_pong) for i in range(2)]
    if hoisted:
        for i, body in enumerate(tiles):
            passed = body.index(_passed(i))
            body.insert(passed + 1, {"do": "await", "operation": f"O{i}", "stage": 1})
    return HEADER | {
        "name": loop + suffix,
        "description": ", ".join(["FlashAttention-3 forward", *parts, *changes]),
        "machine": "hopper_h100",
        "loop": loop,
        "groups": [
            _group("load", 1, ["K", _later("V") if overlap else "V"], variable_latency=True),
            *(_group(f"tile{i}", 4, body, registers=240) for i, body in enumerate(tiles)),
        ],
        "buffers": [{"value": "K", "slots": 2}, {"value": "V", "slots": 2}],
    }


def _overlapping(i: int, softmax: list[Any], *, ping_pong: bool) -> list[Any]:
    products = [f"S{i}", _later(f"O{i}")]
    if ping_pong:
        products = [_turn(i), *products, _passed(i)]
    return [*products, *softmax, f"C{i}", f"X{i}"]


def _as_written(i: int, softmax: list[Any], *, ping_pong: bool) -> list[Any]:
    """Return the order in which each product is awaited at once.

    A turn begins before the second product and ends when the first of the next iteration is issued.
    """
    turn, passed = ([_turn(i, ahead=1)], [_passed(i)]) if ping_pong else ([], [])
    awaited = [f"O{i}", {"do": "await", "operation": f"O{i}"}]
    return [f"S{i}", *passed, *softmax, f"C{i}", f"X{i}", *turn, *awaited]


def _turn(i: int, *, ahead: int = 0) -> Document:
    """Wait until the other group's turn is over: tile 0's is the first of an iteration."""
    return {"do": "wait", "barrier": f"turn{1 - i}", "distance": (1 if i == 0 else 0) - ahead}


def _passed(i: int) -> Document:
    return {"do": "arrive", "barrier": f"turn{i}"}


def _softmax(i: int, fragments: int) -> list[Any]:
    """Maxima, then scaling, exponentials and sums, each a part behind the one before."""
    maxima = [f"{name}{i}" for name in ("max", "m", "d", "b", "a", "n", "l")]
    maxima[-1] = f"l{i}.mul"
    if fragments == 1:
        return [*maxima, f"E{i}", f"P{i}", f"l{i}"]
    last = fragments - 1
    sums = [f"sumP{i}_{f}" for f in range(last)] + [f"l{i}"]
    body: list[Any] = [*maxima, f"E{i}_0"]
    for f in range(fragments):
        beside = [f"P{i}_{f}"]
        beside += [f"E{i}_{f + 1}"] if f < last else []
        beside += [sums[f - 1]] if f else []
        body.append(_interleaved(*beside))
    return [*body, sums[last]]


def flash_attention_4_order(*, rescaling: bool = False) -> Document:
    """Return FlashAttention-4's order: softmax, correction, product and load warps.

    Keys and values share a ring of three slots, as with one block of the kernel; a product waits
    for three quarters of its factor, and for the last quarter when it comes to it.
    """
    name = "fa4_forward" + ("_rescaling" if rescaling else "")
    columns = {"S{}": 0, "T{}_a": 64, "T{}_b": 112, "X{}": 256, "O{}_a": 256, "O{}": 256}
    products = [_later("O0_a"), _later("O0"), "S0", _later("O1_a"), _later("O1"), "S1"]
    return HEADER | {
        "name": name,
        "description": "FlashAttention-4 forward, products of one SM, accumulators rescaled "
        + ("always" if rescaling else "seldom"),
        "machine": "blackwell_b200",
        "loop": name,
        "groups": [
            _loading("K", "V"),
            _group("mma", 1, products),
            *(_group(f"softmax{i}", 4, _softmax_4(i), registers=176) for i in range(2)),
            _group("correction", 4, ["X0", "X1"], registers=88),
        ],
        "buffers": _buffers("K", "V", columns),
    }


def _loading(keys: str, values: str) -> Document:
    """Return the group that loads both into one ring of three slots."""
    body = [
        {"do": "wait", "barrier": f"{values}.empty", "distance": 2},
        keys,
        {"do": "wait", "barrier": f"{keys}.empty", "distance": 1},
        values,
    ]
    return _group("load", 1, body, variable_latency=True)


def _buffers(keys: str, values: str, columns: dict[str, int]) -> list[Document]:
    """Return where the ring lies, behind two tiles of queries, and what is in tensor memory.

    `columns`: where the values of the first tile are, by their names without its number.
    """
    ring, queries = 32 * 1024, 64 * 1024
    return [
        *(
            {"value": value, "slots": 3, "addresses": [queries + ring * s for s in slots]}
            for value, slots in ((keys, (0, 2, 1)), (values, (1, 0, 2)))
        ),
        *(
            {"value": value.format(i), "slots": 1, "addresses": [column + 128 * i]}
            for value, column in columns.items()
            for i in range(2)
        ),
    ]


def _softmax_4(i: int) -> list[Any]:
    """The order of softmax_step: sums come after the last part is stored."""
    beginning = [f"{name}{i}" for name in ("R", "max", "m", "d", "b", "a", "n", "E")]
    parts = [[f"P{i}_{f}"] + [f"Y{i}_{f}"] * (f in (1, 2)) for f in range(4)]
    sums = [f"l{i}.mul", *(f"sum{p}" for part in parts for p in part)]
    sums[-1] = f"l{i}"
    later = [_interleaved(*parts[f], f"C{i}_{f - 1}") for f in (1, 2, 3)]
    return [*beginning, parts[0][0], *later, f"T{i}_a", f"C{i}_3", f"T{i}_b", *sums]


def tlx_order(*, pipelined: bool) -> Document:
    """Return the order of TLX's tutorials of attention forward on Blackwell.

    Their softmax is given 152 registers, for which ptxas has to interleave what their source says
    one after the other, as it is here; so no number is given.

    `pipelined`: whether the second product of one tile comes between the first ones of the next
    iteration.
    """
    columns = {"s{}.mma": 0, "o{}.tmem_store": 64, "o{}.tmem_store2": 256, "o{}": 256}
    products: list[Any] = ["s0.mma", "s1.mma", "o0", "o1"]
    if pipelined:
        products = ["s0.mma", _later("o1"), "s1.mma", "o0"]
    softmax = "s{} n{}.reduce n{}.mul n{} a{}.sub a{} p{}.fma p{} l{}.reduce o{}.cast "
    softmax += "o{}.tmem_store l{}"
    how = "second products a tile later" if pipelined else "products in the order of the loop"
    return HEADER | {
        "name": "tlx_forward" + ("_pipelined" if pipelined else ""),
        "description": f"Attention forward as TLX's tutorials write it for Blackwell, {how}",
        "machine": "blackwell_b200",
        "loop": "fa_fwd_blackwell",
        "groups": [
            _loading("k", "v"),
            _group("mma", 1, products),
            *(_group(f"softmax{i}", 4, softmax.replace("{}", f"{i}").split()) for i in range(2)),
            _group("correction", 4, ["o0.tmem_store2", "o1.tmem_store2"]),
        ],
        "buffers": _buffers("k", "v", columns),
    }


def triton_order() -> Document:
    """Return how Triton 3.9.0 specializes attention forward for Blackwell if a kernel asks for it.

    Loads, products, the softmax and the update of the accumulator are each on warps of their own.
    Triton computes the factor of an update, one value a row, both in the softmax and in the update;
    here it is computed once, before the exponentials.
    """
    softmax = "s n.reduce n.mul n a.sub a p.fma p l.reduce l o.cast o.tmem_store"
    return HEADER | {
        "name": "triton_attention_forward",
        "description": "Attention forward as Triton 3.9.0 specializes it for sm_100",
        "machine": "blackwell_b200",
        "loop": "attention_forward_blackwell",
        "groups": [
            _group("load", 1, [_later("v", 2), "k"], variable_latency=True),
            _group("mma", 1, [_later("o", 2), "s.mma"]),
            _group("softmax", 4, softmax.split()),
            _group("correction", 4, ["o.tmem_store2"]),
        ],
        "buffers": [
            {"value": value, "slots": slots} for value, slots in (("k", 3), ("v", 3), ("s.mma", 2))
        ],
    }


def _interleaved(*operations: str) -> Any:
    if len(operations) == 1:
        return operations[0]
    parts = [{"operation": operation} for operation in operations]
    return {"do": "interleave", "parts": parts}


def _later(operation: str, stage: int = 1) -> Document:
    """Issue an operation of the iteration before, or of one further back."""
    return {"do": "issue", "operation": operation, "stage": stage}


def _group(name: str, warps: int, body: list[Any], **more: int) -> Document:
    return {"name": name, "warps": warps, **more, "body": body}


def documents() -> dict[str, str]:
    """Return the text of every file, by its path in this folder."""
    ways = [(keys, fragments) for keys in KEYS for fragments in (1, PARTS)]
    loops = [flash_attention_3(keys, fragments) for keys, fragments in ways]
    loops += [flash_attention_4(rescaling=rescaling) for rescaling in (False, True)]
    orders = [
        flash_attention_3_order(keys, fragments=fragments, overlap=overlap, ping_pong=ping_pong)
        for keys, fragments in ways
        for overlap in (True, False)
        for ping_pong in (True, False)
    ]
    orders += [flash_attention_3_order(k, fragments=parts, hoisted=True) for k, parts in ways]
    orders += [flash_attention_4_order(rescaling=rescaling) for rescaling in (False, True)]
    orders += [tlx_order(pipelined=pipelined) for pipelined in (False, True)]
    orders.append(triton_order())
    found = {f"loops/{loop.name}.json": loop.to_json() for loop in loops}
    for order in orders:
        found[f"schedules/{order['name']}.json"] = json.dumps(order, indent=1) + "\n"
    return found


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, documents().items()))
