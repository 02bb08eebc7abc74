"""Costs of single instructions on one SM of an H200, each with its unit and source.

No cost is fitted to the time of a kernel. `SOURCES` explains the names of sources: micro-benchmarks
of instructions on an H200, control fields of compiled code, and published measurements.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

SOURCES = {
    "MB": "traces/measure/h200_sass_costs.csv: streams of one instruction, on an H200",
    "H200": "traces/measure/h200_*.csv: micro-benchmarks of products and loads, on an H200",
    "CTL": "stall counts and scoreboards that ptxas writes into the instructions",
    "HP": "github.com/HPMLL/NVIDIA-Hopper-Benchmark at ded6f57; an H800 PCIe",
    "QR": "github.com/ademeure/QuickRunCUDA: B300_PIPE_CATALOG.md; a B300",
    "HUERTA": "Huerta et al., Analyzing Modern NVIDIA GPU cores (arXiv 2503.20481)",
}
_CYCLES = "cycles"


def _cost(value: Any, unit: str, source: str) -> Any:
    return field(default=value, metadata={"unit": unit, "source": source})


@dataclass(frozen=True)
class Costs:
    """Costs of instructions, in cycles of the SM's clock where a unit says nothing else."""

    # Arithmetic of one scheduler.
    exponential: float = _cost(8, _CYCLES, "H200: EX2 8.05 apart")
    exponential_beside: float = _cost(10.75, _CYCLES, "H200: EX2 10.75 apart beside m64n128k16")
    exponential_latency: float = _cost(17, _CYCLES, "MB: dependent EX2 17.08 apart")
    alu: float = _cost(2, _CYCLES, "H200: FMNMX and F2FP 2.05 apart")
    float_beside: float = _cost(1.4, "cycles a register slot", "H200: FFMA beside products 1.41")
    # Register slots: one a cycle and scheduler, of which a product takes three of four.
    free_slots: float = _cost(0.25, "slots a cycle", "MB: FMNMX beside n128 4.13 apart")
    kept_slots: float = _cost(4, "slots", "MB: FADD every 4.25 cycles delays no product")
    # Shared memory, one port of 128 bytes a cycle for the SM.
    shuffle_latency: float = _cost(24, _CYCLES, "MB: dependent SHFL 24.19 apart")
    shared_latency: float = _cost(22, _CYCLES, "MB: dependent LDS.32 23.21 apart, less a wavefront")
    memory_queue: int = _cost(5, "instructions", "HUERTA: of a scheduler, waiting for memory")
    beside_full: float = _cost(33, _CYCLES, "MB: SHFL 40.5 and STS.128 62.1 beside n64")
    beside_full_wavefront: float = _cost(1.8, "cycles a wavefront", "MB: the same, from 4 to 16")
    beside_part: float = _cost(4.7, _CYCLES, "MB: SHFL 14.1 and STS.128 42.0 beside n128")
    beside_part_wavefront: float = _cost(2.33, "cycles a wavefront", "MB: the same, from 4 to 16")
    load_beside_full: float = _cost(41, _CYCLES, "MB: dependent LDS.32 64.5 beside n64, 23.2 alone")
    load_beside_part: float = _cost(18, _CYCLES, "MB: dependent LDS.32 41.5 beside n128")
    # Products of wgmma.
    product_start: float = _cost(20, _CYCLES, "MB: stamps; the first product is issued for 20")
    product_tail: float = _cost(24, _CYCLES, "MB: serialized n128 products 116.2 apart, less 92")
    product_queue: int = _cost(7, "products", "H200: issued before the first is complete")
    registers_first: float = _cost(36, _CYCLES, "MB: stamps; the first with a factor in registers")
    product_fence: float = _cost(9, _CYCLES, "MB: WARPGROUP.ARRIVE 9.14 apart")
    # Barriers and fences.
    barrier: float = _cost(26, _CYCLES, "MB: BAR.SYNC of 128 threads 32.1 apart, 6 are its stall")
    attempt: float = _cost(31, _CYCLES, "MB: a wait on a complete phase 43.4, 12 are stalls (CTL)")
    arrive: float = _cost(8, _CYCLES, "MB: arrivals of one thread 8.07 apart, of two groups 16")
    arrive_effect: float = _cost(22, _CYCLES, "H200: arrive to wake-up 75, less waking")
    wake: float = _cost(34, _CYCLES, "H200: arrive to wake-up 75, less the arrival and the branch")
    proxy_fence: float = _cost(7, _CYCLES, "MB: with the MEMBAR before it 22.0 apart, less 15")
    memory_fence: float = _cost(15, _CYCLES, "MB: MEMBAR.CTA 15.7 apart")
    taken_branch: float = _cost(8, _CYCLES, "MB: a wait on a complete phase, and loops of streams")
    # Transfers between L2 and the SM.
    bulk_issue: float = _cost(24, _CYCLES, "QR: 48 for the two boxes of a tile; a B300")
    bulk_latency: float = _cost(293, _CYCLES, "H200: bulk load of 16 bytes that hits L2")
    bulk_rate: float = _cost(105, "bytes a cycle", "H200: bulk loads of 16 to 64 KiB, 9.7 a KiB")
    store_read: float = _cost(61, _CYCLES, "HP: a bulk store has read shared memory")
    load_latency: float = _cost(264, _CYCLES, "HP: a load that hits L2")
    load_rate: float = _cost(105, "bytes a cycle", "H200: bulk loads; the path from L2 is the same")
    spill_latency: float = _cost(32, _CYCLES, "HP: a load that hits L1")
    answer: float = _cost(20, _CYCLES, "CTL: conversions and others with a scoreboard")
    operands_read: float = _cost(10, _CYCLES, "CTL: scoreboards of operands that are read")


def sources() -> dict[str, tuple[float, str, str]]:
    """Return value, unit and source of each cost, by name."""
    usual = Costs()
    return {
        one.name: (float(getattr(usual, one.name)), one.metadata["unit"], one.metadata["source"])
        for one in fields(Costs)
    }


MECHANISMS: dict[str, dict[str, Any]] = {
    "register slots of products": {"free_slots": 1, "float_beside": 1},
    "shared memory beside products": {"beside_full_wavefront": 0},
    "start and tail of products": {
        "product_start": 0,
        "product_tail": 0,
        "registers_first": 0,
        "product_fence": 0,
    },
    "barriers of groups": {"barrier": 0},
    "mbarriers": {"attempt": 10, "arrive": 1, "arrive_effect": 0, "wake": 0},
    "fences": {"proxy_fence": 0, "memory_fence": 0},
    "latency of loads": {"bulk_latency": 0, "load_latency": 0, "spill_latency": 0},
}
"""Costs of each mechanism when it is switched off."""
