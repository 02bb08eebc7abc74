"""A GEMM on one SM, as SemiAnalysis measured it on a B200: the figures, and the same program here.

One block multiplies (m, 131072) by (131072, n) tile by tile along k: a warp loads a tile of either
factor by TMA, another issues the products, with a ring of some stages between. Both factors have k
contiguous.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import Buffer, Order, OrderedGroup
from twill.artifacts.program import Issue
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.frontends.builder import LoopBuilder
from twill.frontends.schedules import scheduled
from twill.sim.execute import run
from twill.traces import HERE

SOURCE = (
    "SemiAnalysis, microbench-blackwell at 9a068d8, cutlass_gemm_mainloop/results.csv: one block "
    "of CUTLASS's one-CTA GEMM on a B200, bf16"
)
FILE = HERE / "measure" / "b200_gemm_bf16.csv"
ARCHITECTURE = "sm_100"
DEPTH = 131_072  # of the products, in elements
CLOCK_MHZ = 1965.0  # of that benchmark: 1993 cycles are 1014.2 ns in its files
ELEMENT_BYTES = 2


@dataclass(frozen=True)
class Configuration:
    """One configuration of the benchmark, and the time that it took.

    Attributes
    ----------
    m, n, k : int
        Tile of a product, in elements.
    stages : int
        Slots of the ring; 0 in the benchmark's file is as many as fit, which this says.
    automatic : bool
        Whether it was 0.
    cycles : float
        Measured from one k-tile to the next, launch and epilogue included.
    """

    m: int
    n: int
    k: int
    stages: int
    automatic: bool
    cycles: float

    @property
    def tile(self) -> tuple[int, int, int]:
        """The tile of a product."""
        return self.m, self.n, self.k

    @property
    def footprint(self) -> int:
        """Bytes of both factors together."""
        return (self.m + self.n) * DEPTH * ELEMENT_BYTES


def measured(machine: Machine) -> tuple[Configuration, ...]:
    """Return the configurations that were measured, in the order of the file.

    The benchmark gives CUTLASS ``StageCountAutoCarveout`` where its file says 0 stages: as many as
    fit into the shared memory of a block.

    Raises
    ------
    InputError
        If the machine is none of the kind that they were measured on.
    """
    if machine.architecture != ARCHITECTURE or machine.memories.smem is None:
        raise InputError(
            f"{machine.name}: measured loads are packaged of {ARCHITECTURE} only (a B200)"
        )
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    capacity, found = machine.memories.smem.capacity, []
    for row in csv.DictReader(lines):
        m, n, k = (int(row[f"TILE_{side}"]) for side in "MNK")
        stages = int(row["STAGES"])
        fitting = capacity // ((m + n) * k * ELEMENT_BYTES)
        cycles = float(row["time_ms"]) * 1e3 * CLOCK_MHZ * k / DEPTH
        found.append(Configuration(m, n, k, stages or fitting, stages == 0, cycles))
    return tuple(found)


def loop(m: int, n: int, k: int) -> Loop:
    """Return the loop over tiles of m by n by k elements: loads ``a`` and ``b``, product ``c``."""
    with LoopBuilder("one_sm_gemm", products="tmem") as built:
        a = built.load("a", (m, k), "bf16")
        b = built.load("b", (n, k), "bf16")
        c = built.carried("c", (m, n), memory="tmem")
        c += a @ b.T
    return built.build()


def gemm(m: int, n: int, k: int, stages: int, machine: Machine | str) -> Schedule:
    """Return the program for tiles of m by n by k elements with rings of some stages."""

    def issues(*names: str) -> tuple[Issue, ...]:
        return tuple(Issue(operation=name) for name in names)

    order = Order(
        name=f"one_sm_gemm_{m}x{n}x{k}_{stages}_stages",
        groups=(
            OrderedGroup(name="load", warps=1, variable_latency=True, body=issues("a", "b")),
            OrderedGroup(name="mma", warps=1, body=issues("c")),
        ),
        buffers=(Buffer(value="a", slots=stages), Buffer(value="b", slots=stages)),
        loop=loop(m, n, k),
        machine=machine,
    )
    return scheduled(order)


def simulated(one: Configuration, machine: Machine) -> Configuration:
    """Return a configuration with the cycles from one k-tile to the next on the simulated SM."""
    schedule = gemm(*one.tile, one.stages, machine)
    cycles = run(schedule, iterations=64 + 2 * one.stages).measured_interval_cycles
    assert cycles is not None  # it repeats from the second round of the ring on
    return replace(one, cycles=cycles)
