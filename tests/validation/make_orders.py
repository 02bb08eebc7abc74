"""Make the loops and schedules of published kernels, written down by hand.

A tool for who maintains them: ``python -m tests.validation.make_orders`` writes the packaged files,
``--check`` only compares. FlashAttention-3's order is that of github.com/Dao-AILab/flash-attention
at 0251105, hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp; those on Blackwell are in `blackwell_orders`.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

from tests.validation.blackwell_orders import flash_attention_4_order, tlx_order, triton_order
from tests.validation.orders import HEADER, Document, group, interleaved, later
from tests.validation.packaged import write_or_check
from twill.artifacts.loop import Cost, ElementType, Loop, Step
from twill.frontends.builder import LoopBuilder
from twill.frontends.builder.values import Node, Value

HEAD = 128
SCALE = 0.127
KEYS = (176, 128)
PARTS = 4
# A vote and a branch, at the rate and latency of the ALU in the machine file.
VOTE = Cost(steps=(Step(unit="alu", cycles=4, instructions=2),), latency=8)


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
            group("load", 1, ["K", later("V") if overlap else "V"], variable_latency=True),
            *(group(f"tile{i}", 4, body, registers=240) for i, body in enumerate(tiles)),
        ],
        "buffers": [{"value": "K", "slots": 2}, {"value": "V", "slots": 2}],
    }


def _overlapping(i: int, softmax: list[Any], *, ping_pong: bool) -> list[Any]:
    products = [f"S{i}", later(f"O{i}")]
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
        body.append(interleaved(*beside))
    return [*body, sums[last]]


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
