"""Kernel files that read the clock: emulated, they compute the same, and every read is in order."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from twill.base.errors import InputError
from twill.compiled.clocks import CLOCKS, ROUNDS, Clocked, clocked
from twill.sim.emulator import load, stand_ins
from twill.sim.emulator.pytorch import numbers_of

ITERATIONS = 5
FILE = Path(__file__).parents[1] / "data" / "machine_code" / "gemm_grouped.py"
# Two tiles of the outer loop.
PERSISTENT = """
import torch
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier
KERNEL = "entry"
SIGNATURE = {"x_ptr": "*i32", "n": "i32"}
OUTPUTS = ("x_ptr",)
@gluon.jit
def compute(x_ptr, n):
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    for tile in tl.range(0, 4, 2):
        for i in tl.range(1, n, 2):
            if i == 1:
                mbarrier.arrive(bar)
                mbarrier.wait(bar, tile // 2)
            gl.store(x_ptr + i, i)
@gluon.jit
def entry(x_ptr, n):
    compute(x_ptr, n)
def make_arguments(iterations, seed=0, device="cuda"):
    x = torch.zeros(64, dtype=torch.int32, device=device)
    return {"x_ptr": x, "n": 2 * iterations}, (2, 1, 1)
def launch(arguments, grid):
    entry[grid](arguments["x_ptr"], arguments["n"])
"""


def emulated(made: Clocked, folder: Path, iterations: int = ITERATIONS) -> Sequence[Sequence[int]]:
    """Execute a file with clocks, check its outputs; return the clocks of each place."""
    file = folder / "kernel_with_clocks.py"
    file.write_text(made.text)
    with stand_ins(real=False), np.errstate(all="ignore"):
        import torch

        module = load(file)
        arguments, grid = module.make_arguments(iterations)
        expected = module.reference(arguments, grid) if hasattr(module, "reference") else {}
        arguments[CLOCKS] = torch.zeros(made.size, dtype=torch.int64)
        module.launch(arguments, grid)
        for name, wanted in expected.items():
            assert np.allclose(
                numbers_of(arguments[name]), numbers_of(wanted), rtol=2e-3, atol=0.05
            )
        clocks = numbers_of(arguments[CLOCKS]).astype(int)
    return clocks.reshape(-1, ROUNDS).tolist()


def test_every_read_is_once_a_round_and_in_order(tmp_path: Path) -> None:
    made = clocked(FILE.read_text())
    found = emulated(made, tmp_path)
    for place, clocks in zip(made.places, found, strict=True):
        # The loop of products begins at the second iteration: the first one is before it.
        rounds = {"start": 1, "end": 1}.get(place.moment, ITERATIONS - (place.partition != "load"))
        assert [n for n, cycle in enumerate(clocks) if cycle] == list(range(rounds)), place
    for partition in ("load", "compute0"):
        mine = [(p, c) for p, c in zip(made.places, found, strict=True) if p.partition == partition]
        start, end = (next(c[0] for p, c in mine if p.moment == m) for m in ("start", "end"))
        read = [c for p, c in mine if p.moment not in ("start", "end")]
        in_time = [one[n] for n in range(ITERATIONS - 1) for one in read]
        assert start < in_time[0] < in_time[-1] < end
        assert in_time == sorted(set(in_time))


def test_waits_of_a_round_are_between_two_reads() -> None:
    text = FILE.read_text()
    places = [p for p in clocked(text).places if p.partition == "compute0"]
    moments = [p.moment for p in places]
    lines = text.splitlines()
    assert moments[0] == "round"
    assert lines[places[0].line - 1].strip().startswith("for i in tl.range(1, iterations)")
    for before, after in itertools.pairwise(places):
        if after.moment == "after":
            assert before.line == after.line or before.moment in ("after", "round")
    body = range(places[0].line, places[0].line + 8)  # to the end of the loop
    waits = [n + 1 for n in body if "wait" in lines[n]]
    assert [p.line for p in places if p.moment == "after"] == waits != []


def test_only_partitions_are_read_without_rounds(tmp_path: Path) -> None:
    made = clocked(FILE.read_text(), rounds=False)
    assert [p.moment for p in made.places] == ["start", "end"] * 2
    assert all(clocks[0] for clocks in emulated(made, tmp_path))


def test_the_first_tile_of_the_last_block_is_read(tmp_path: Path) -> None:
    """Another tile, or another block, would overwrite what was read."""
    made = clocked(PERSISTENT)
    found = emulated(made, tmp_path)
    begins = next(c for p, c in zip(made.places, found, strict=True) if p.moment == "round")
    ends = next(c for p, c in zip(made.places, found, strict=True) if p.moment == "end")
    starts = next(c for p, c in zip(made.places, found, strict=True) if p.moment == "start")
    after = next(c for p, c in zip(made.places, found, strict=True) if p.moment == "after")
    assert [n for n, cycle in enumerate(begins) if cycle] == list(range(ITERATIONS))
    assert after[0]
    assert not any(after[1:])
    # A tile reads as often as the other one, so that the first is the first half.
    assert max(begins) - starts[0] < (ends[0] - starts[0]) * 0.6
    # A block reads as often as the other one.
    assert starts[0] > (ends[0] - starts[0])


def test_a_launch_that_does_not_call_the_kernel_is_refused() -> None:
    with pytest.raises(InputError, match=r"launch has no call of entry\[grid\]"):
        clocked(PERSISTENT.replace("entry[grid](", "other[grid]("))
