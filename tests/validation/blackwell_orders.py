"""The orders of attention forward on Blackwell: FlashAttention-4's, TLX's, and Triton's.

The first is that of github.com/Dao-AILab/flash-attention at 0251105, flash_attn/cute/
flash_fwd_sm100.py. TLX's are of github.com/facebookexperimental/triton, third_party/tlx/tutorials:
blackwell-fa-ws-persistent_test.py at 342060c; blackwell-fa-ws-pipelined_test.py at 7665e95 and
blackwell-fa-ws-pipelined-persistent_test.py at 9df3f05. Triton 3.9.0's is read from its IR.
"""

from __future__ import annotations

from typing import Any

from tests.validation.orders import HEADER, Document, group, interleaved, later


def flash_attention_4_order(*, rescaling: bool = False) -> Document:
    """Return FlashAttention-4's order: softmax, correction, product and load warps.

    Keys and values share a ring of three slots, as with one block of the kernel; a product waits
    for three quarters of its factor, and for the last quarter when it comes to it.
    """
    name = "fa4_forward" + ("_rescaling" if rescaling else "")
    columns = {"S{}": 0, "T{}_a": 64, "T{}_b": 112, "X{}": 256, "O{}_a": 256, "O{}": 256}
    products = [later("O0_a"), later("O0"), "S0", later("O1_a"), later("O1"), "S1"]
    return HEADER | {
        "name": name,
        "description": "FlashAttention-4 forward, products of one SM, accumulators rescaled "
        + ("always" if rescaling else "seldom"),
        "machine": "blackwell_b200",
        "loop": name,
        "groups": [
            _loading("K", "V"),
            group("mma", 1, products),
            *(group(f"softmax{i}", 4, _softmax_4(i), registers=176) for i in range(2)),
            group("correction", 4, ["X0", "X1"], registers=88),
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
    return group("load", 1, body, variable_latency=True)


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
    others = [interleaved(*parts[f], f"C{i}_{f - 1}") for f in (1, 2, 3)]
    return [*beginning, parts[0][0], *others, f"T{i}_a", f"C{i}_3", f"T{i}_b", *sums]


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
        products = ["s0.mma", later("o1"), "s1.mma", "o0"]
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
            group("mma", 1, products),
            *(group(f"softmax{i}", 4, softmax.replace("{}", f"{i}").split()) for i in range(2)),
            group("correction", 4, ["o0.tmem_store2", "o1.tmem_store2"]),
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
            group("load", 1, [later("v", 2), "k"], variable_latency=True),
            group("mma", 1, [later("o", 2), "s.mma"]),
            group("softmax", 4, softmax.split()),
            group("correction", 4, ["o.tmem_store2"]),
        ],
        "buffers": [
            {"value": value, "slots": slots} for value, slots in (("k", 3), ("v", 3), ("s.mma", 2))
        ],
    }
