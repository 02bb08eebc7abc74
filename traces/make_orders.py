"""Make the loops and schedules of published kernels, written down by hand.

``python -m twill.traces.make_orders`` writes them, ``--check`` only compares. Orders are those of
github.com/Dao-AILab/flash-attention at 0251105: hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp and
flash_attn/cute/flash_fwd_sm100.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twill.artifacts.loop import Cost, Loop, Step
from twill.frontends.builder import LoopBuilder
from twill.frontends.builder.values import Node, Value

HERE = Path(__file__).resolve().parent
HEAD = 128
SCALE = 0.127
KEYS = (176, 128)
PARTS = 4
VOTE = Cost(steps=(Step(unit="alu", cycles=4, instructions=2),), latency=8)
"""A vote and a branch, at the rate and latency of the ALU in the machine file."""
Document = dict[str, Any]


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
            parts = _exponentials(loop, scores, n, i, [keys // fragments] * fragments)
            _row_sums(loop, parts, a, i)
            output = loop.carried(f"O{i}", (64, HEAD))
            scaled = loop.elementwise("mul", output, a[:, None], name=f"X{i}")
            c = loop.operation(
                "cast",
                *parts,
                result=loop.tile((64, keys), "f16", "registers"),
                elementwise=True,
                name=f"C{i}",
            )
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
            parts = [part for f in range(4) for part in _part_of_exponentials(loop, scaled, i, f)]
            _row_sums(loop, parts, a, i)
            casts = [
                loop.operation(
                    "cast",
                    *[p for p in parts if _name(p).endswith(f"_{f}")],
                    result=loop.tile((HEAD, 32), "f16", "registers"),
                    elementwise=True,
                    name=f"C{i}_{f}",
                )
                for f in range(4)
            ]
            stores = [
                loop.operation(
                    "tmem_store",
                    *some,
                    result=loop.tile((HEAD, 32 * len(some)), "f16", "tmem"),
                    name=f"T{i}_{name}",
                )
                for name, some in (("a", casts[:3]), ("b", casts[3:]))
            ]
            output = loop.carried(f"O{i}", (HEAD, HEAD), memory="tmem")
            released = loop.operation(
                "tmem_update",
                output,
                a[:, None],
                result=output.tile,
                name=f"X{i}",
                in_place=0,
                attributes={"arithmetic": 1},
                cost=None if rescaling else VOTE,
            )
            for name, store in zip((f"O{i}_a", f"O{i}"), stores, strict=True):
                rows = loop.given(f"{name}_rows", (store.shape[1], HEAD), "f16")
                released = loop.operation(
                    "mma",
                    store,
                    rows,
                    released,
                    v,
                    result=output.tile,
                    warps=1,
                    in_place=2,
                    name=name,
                )
            output.assign(released)
    return _without_places(loop.build())


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
    loop: LoopBuilder, scores: Value, n: Value, i: int, widths: Sequence[int]
) -> list[Value]:
    """Add the scaled scores and their exponentials, in parts of some columns each."""
    found = []
    for f, width in enumerate(widths):
        tile = loop.tile((scores.shape[0], width), "f32", "registers")
        suffix = f"_{f}" if len(widths) > 1 else ""
        e = loop.operation(
            "fma",
            scores,
            n[:, None],
            result=tile,
            elementwise=len(widths) == 1,
            name=f"E{i}{suffix}",
        )
        found.append(loop.exp2(e, name=f"P{i}{suffix}"))
    return found


def _part_of_exponentials(loop: LoopBuilder, scaled: Value, i: int, f: int) -> list[Value]:
    polynomials = 12 if f in (1, 2) else 0
    pairs = polynomials // 2
    found = [
        loop.operation(
            "exp2",
            scaled,
            result=loop.tile((HEAD, 32 - polynomials), "f32", "registers"),
            name=f"P{i}_{f}",
        )
    ]
    if polynomials:
        work = (
            Step(unit="fma", cycles=12 * pairs, instructions=6 * pairs),
            Step(unit="alu", cycles=12 * pairs, instructions=6 * pairs),
        )
        found.append(
            loop.operation(
                "exp2",
                scaled,
                result=loop.tile((HEAD, polynomials), "f32", "registers"),
                name=f"Y{i}_{f}",
                cost=Cost(steps=work, latency=24 * pairs + 4),
            )
        )
    return found


def _row_sums(loop: LoopBuilder, parts: Sequence[Value], a: Value, i: int) -> None:
    """Add the row sums; until the loop ends every thread sums what it holds."""
    rows = parts[0].shape[0]
    per_thread = 2 if rows == 64 else 1
    total = loop.carried(f"l{i}", (rows,))
    running = loop.elementwise("mul", total, a, name=f"l{i}.mul")
    for p in parts:
        last = p is parts[-1]
        running = loop.operation(
            "reduce",
            p,
            running,
            result=loop.tile((rows,), "f32", "registers", per_thread),
            name=f"l{i}" if last else f"sum{_name(p)}",
            axis=1,
            attributes={"combine": "add", "lanes": 1, "lane_warps": 1},
        )
    total.assign(running)


def _name(value: Value) -> str:
    assert isinstance(value.source, Node)
    assert value.source.name is not None
    return value.source.name


def _without_places(loop: Loop) -> Loop:
    """Return a loop that does not say where this file is."""
    return loop.model_copy(
        update={
            "operations": tuple(o.model_copy(update={"location": None}) for o in loop.operations)
        }
    )


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
    `hoisted`: whether the wait for the second product stands before the softmax, as ptxas was seen
    to hoist it in such loops.
    """
    loop = f"fa3_forward_128x{keys}" + ("_parts" if fragments > 1 else "")
    parts = ["no overlap"] * (not overlap) + ["no ping-pong"] * (not ping_pong)
    parts += ["wait hoisted"] * hoisted
    suffix = "".join("_" + part.replace(" ", "_").replace("-", "_") for part in parts)
    tile = _overlapping if overlap else _as_written
    softmax = [_softmax(i, fragments) for i in range(2)]
    return {
        "schema": "twill.order",
        "schema_version": 1,
        "name": loop + suffix,
        "description": "FlashAttention-3 forward"
        + (", exponentials in parts" if fragments > 1 else "")
        + "".join(f", {part}" for part in parts),
        "machine": "hopper_h100",
        "loop": loop,
        "groups": [
            {
                "name": "load",
                "warps": 1,
                "variable_latency": True,
                "body": ["K", _later("V") if overlap else "V"],
            },
            *(
                {
                    "name": f"tile{i}",
                    "warps": 4,
                    "registers": 240,
                    "body": tile(i, softmax[i], ping_pong=ping_pong, hoisted=hoisted),
                }
                for i in range(2)
            ),
        ],
        "buffers": [{"value": "K", "slots": 2}, {"value": "V", "slots": 2}],
    }


def _overlapping(i: int, softmax: list[Any], *, ping_pong: bool, hoisted: bool) -> list[Any]:
    return [
        *_turn(i, ping_pong=ping_pong),
        f"S{i}",
        _later(f"O{i}"),
        *_turn_passed(i, ping_pong=ping_pong),
        *([{"do": "await", "operation": f"O{i}", "stage": 1}] if hoisted else []),
        *softmax,
        f"C{i}",
        f"X{i}",
    ]


def _as_written(i: int, softmax: list[Any], *, ping_pong: bool, hoisted: bool) -> list[Any]:
    """Return the order in which each product is awaited at once.

    A turn begins before the second product and ends when the first of the next iteration is issued.
    """
    assert not hoisted
    return [
        f"S{i}",
        *_turn_passed(i, ping_pong=ping_pong),
        *softmax,
        f"C{i}",
        f"X{i}",
        *(_turn(i, ping_pong=ping_pong, ahead=1)),
        f"O{i}",
        {"do": "await", "operation": f"O{i}"},
    ]


def _turn(i: int, *, ping_pong: bool, ahead: int = 0) -> list[Any]:
    """Wait until the other group's turn is over: tile 0's is the first of an iteration."""
    if not ping_pong:
        return []
    distance = (1 if i == 0 else 0) - ahead
    return [{"do": "wait", "barrier": f"turn{1 - i}", "distance": distance}]


def _turn_passed(i: int, *, ping_pong: bool) -> list[Any]:
    return [{"do": "arrive", "barrier": f"turn{i}"}] if ping_pong else []


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
    kib = 1024
    ring, queries = 32 * kib, 64 * kib
    name = "fa4_forward" + ("_rescaling" if rescaling else "")
    return {
        "schema": "twill.order",
        "schema_version": 1,
        "name": name,
        "description": "FlashAttention-4 forward, products of one SM, accumulators rescaled "
        + ("always" if rescaling else "seldom"),
        "machine": "blackwell_b200",
        "loop": name,
        "groups": [
            {
                "name": "load",
                "warps": 1,
                "variable_latency": True,
                "body": [
                    {"do": "wait", "barrier": "V.empty", "distance": 2},
                    "K",
                    {"do": "wait", "barrier": "K.empty", "distance": 1},
                    "V",
                ],
            },
            {
                "name": "mma",
                "warps": 1,
                "body": [_later("O0_a"), _later("O0"), "S0", _later("O1_a"), _later("O1"), "S1"],
            },
            *(
                {"name": f"softmax{i}", "warps": 4, "registers": 176, "body": _softmax_4(i)}
                for i in range(2)
            ),
            {"name": "correction", "warps": 4, "registers": 88, "body": ["X0", "X1"]},
        ],
        "buffers": [
            {"value": "K", "slots": 3, "addresses": [queries + ring * s for s in (0, 2, 1)]},
            {"value": "V", "slots": 3, "addresses": [queries + ring * s for s in (1, 0, 2)]},
            *(
                {"value": value.replace("*", str(i)), "slots": 1, "addresses": [column + step * i]}
                for value, column, step in (
                    ("S*", 0, 128),
                    ("T*_a", 64, 128),
                    ("T*_b", 112, 128),
                    ("X*", 256, 128),
                    ("O*_a", 256, 128),
                    ("O*", 256, 128),
                )
                for i in range(2)
            ),
        ],
    }


def _softmax_4(i: int) -> list[Any]:
    """The order of softmax_step: sums come after the last part is stored."""
    beginning = [f"{name}{i}" for name in ("R", "max", "m", "d", "b", "a", "n", "E")]
    parts = [[f"P{i}_{f}"] + [f"Y{i}_{f}"] * (f in (1, 2)) for f in range(4)]
    sums = [f"l{i}.mul", *(f"sum{p}" for part in parts for p in part)]
    sums[-1] = f"l{i}"
    return [
        *beginning,
        parts[0][0],
        _interleaved(*parts[1], f"C{i}_0"),
        _interleaved(*parts[2], f"C{i}_1"),
        _interleaved(*parts[3], f"C{i}_2"),
        f"T{i}_a",
        f"C{i}_3",
        f"T{i}_b",
        *sums,
    ]


def _interleaved(*operations: str) -> Any:
    if len(operations) == 1:
        return operations[0]
    parts = [{"operation": operation} for operation in operations]
    return {"do": "interleave", "parts": parts}


def _later(operation: str) -> Document:
    """Issue an operation of the iteration before."""
    return {"do": "issue", "operation": operation, "stage": 1}


def documents() -> dict[str, str]:
    """Return the text of every file, by its path in this folder."""
    loops = [flash_attention_3(keys, fragments) for keys in KEYS for fragments in (1, PARTS)]
    loops += [flash_attention_4(rescaling=rescaling) for rescaling in (False, True)]
    orders = [
        flash_attention_3_order(keys, fragments=fragments, overlap=overlap, ping_pong=ping_pong)
        for keys in KEYS
        for fragments in (1, PARTS)
        for overlap in (True, False)
        for ping_pong in (True, False)
    ]
    orders += [
        flash_attention_3_order(keys, fragments=fragments, hoisted=True)
        for keys in KEYS
        for fragments in (1, PARTS)
    ]
    orders += [flash_attention_4_order(rescaling=rescaling) for rescaling in (False, True)]
    found = {f"loops/{loop.name}.json": loop.to_json() for loop in loops}
    for order in orders:
        found[f"schedules/{order['name']}.json"] = json.dumps(order, indent=1) + "\n"
    return found


def main() -> int:
    """Write or check every file; return 1 if a check found a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    differing = 0
    for name, text in documents().items():
        file = HERE / name
        if arguments.check:
            same = file.exists() and file.read_text() == text
            differing += not same
            sys.stdout.write(f"{'same' if same else 'DIFFERENT'} {name}\n")
        else:
            file.write_text(text)
            sys.stdout.write(f"wrote {name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
