"""Every rule of the emulator, by a kernel that breaks it in one line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.test_house import ROOT
from twill.sim.emulator import Run, emulate

KERNELS = ROOT / "tests" / "data" / "gluon"
ATTENTION, GEMM = "attention_wgmma", "gemm_tcgen05"
VICTIMS = {ATTENTION: "products of compute1", GEMM: "stores of c_smem"}
"""One of what is late in each kernel."""


@pytest.mark.parametrize(
    "counts", [(1, 3), pytest.param((2, 7), marks=pytest.mark.slow)], ids=["some", "more"]
)
@pytest.mark.parametrize("name", [ATTENTION, GEMM])
def test_what_is_right_passes_at_every_trip_count_whoever_is_late(
    name: str, counts: tuple[int, ...]
) -> None:
    found = emulate(KERNELS / f"{name}.py", iterations=counts)
    assert [run for run in found.runs if not run.passed] == []
    assert {run.victim for run in found.runs} > {None, "load", VICTIMS[name]}
    assert all(d.alike < 1e-3 and d.exact < 1e-3 for run in found.runs for d in run.differences)


@dataclass(frozen=True)
class Mistake:
    """A line of a kernel as it should not be, the trip counts that show it, and what is said."""

    name: str
    kernel: str
    right: str
    wrong: str
    said: str
    shown_by: tuple[int, ...] = (1, 2, 3, 7)


MISTAKES = [
    Mistake(
        "a consumer's parity",
        ATTENTION,
        "mbarrier.wait(k_full.index(i % 2), (i // 2) & 1)",
        "mbarrier.wait(k_full.index(i % 2), ((i // 2) + 1) & 1)",
        r"deadlock: compute0, .*:\d+ waits for parity 1 of k_full\[1\]|a product reads k_smem\[1\]",
        (2, 3, 7),
    ),
    Mistake(
        "a producer's parity",
        ATTENTION,
        "mbarrier.wait(k_empty.index(i % 2), ((i // 2) + 1) & 1)",
        "mbarrier.wait(k_empty.index(i % 2), (i // 2) & 1)",
        r"deadlock: .*load, .*:\d+ waits for parity 0 of k_empty\[0\] \(phase "
        r"0, 2 of 2 arrivals left\)",
    ),
    Mistake(
        "a count one too large",
        ATTENTION,
        "mbarrier.init(k_empty.index(slot), count=2)",
        "mbarrier.init(k_empty.index(slot), count=3)",
        r"deadlock: .*load, .* waits for parity 0 of k_empty\[0\] \(phase 0, 1 "
        r"of 3 arrivals left\)",
        (3, 7),
    ),
    Mistake(
        "a count one too small",
        ATTENTION,
        "mbarrier.init(k_empty.index(slot), count=2)",
        "mbarrier.init(k_empty.index(slot), count=1)",
        r"load, .*: race: a TMA load writes k_smem\[[01]\], which a product "
        r"\(compute[01], .*\) reads",
        (3, 7),
    ),
    Mistake(
        "more arrivals than a phase counts",
        ATTENTION,
        "    mbarrier.expect(q_full, 16384)\n",
        "    mbarrier.expect(q_full, 16384)\n    mbarrier.arrive(q_full)\n",
        r"barrier: attention arrives at q_full more often than the 1 times that a phase counts",
    ),
    Mistake(
        "bytes that nobody expects",
        ATTENTION,
        "        mbarrier.expect(k_full.index(i % 2), 8192)\n",
        "",
        r"barrier: the load of k_smem\[[01]\] brings 8192 bytes to k_full\[[01]\], which expects 0",
    ),
    Mistake(
        "bytes that do not come",
        ATTENTION,
        "mbarrier.expect(q_full, 16384)",
        "mbarrier.expect(q_full, 32768)",
        r"deadlock: attention, .*:\d+ waits for parity 0 of q_full .*16384 bytes to come",
    ),
    Mistake(
        "no fence before a TMA store",
        ATTENTION,
        "    fence_async_shared()\n",
        "",
        r"fence: a TMA store reads q_smem\[[01]\], which a store \(.*\) writes; "
        r"no fence_async_shared",
    ),
    Mistake(
        "no wait for a load",
        ATTENTION,
        "        mbarrier.wait(v_full.index((i - 1) % 2), ((i - 1) // 2) & 1)\n",
        "",
        r"(race|uninitialised): a product reads v_smem\[[01]\]",
        (2, 3, 7),
    ),
    Mistake(
        "an arrive before the product has read",
        ATTENTION,
        "        o = warpgroup_mma_wait(num_outstanding=0, deps=(o,))\n"
        "        mbarrier.arrive(v_empty.index((i - 1) % 2))\n",
        "        mbarrier.arrive(v_empty.index((i - 1) % 2))\n"
        "        o = warpgroup_mma_wait(num_outstanding=0, deps=(o,))\n",
        r"load, .*: race: a TMA load writes v_smem\[[01]\], which a product .* no wait says",
        (3, 7),
    ),
    Mistake(
        "a result before its wait",
        ATTENTION,
        "s = warpgroup_mma_wait(num_outstanding=1, deps=(s,))",
        "s = warpgroup_mma_wait(num_outstanding=2, deps=(s,))",
        r"in flight: the result of a product \(compute[01], .*:\d+\) is used before its wait",
        (2, 3, 7),
    ),
    Mistake(
        "no wait for a slot",
        ATTENTION,
        "        mbarrier.wait(v_empty.index(i % 2), ((i // 2) + 1) & 1)\n",
        "",
        r"load, .*: race: a TMA load writes v_smem\[[01]\]",
        (3, 7),
    ),
    Mistake(
        "a store that nobody waits for",
        ATTENTION,
        "    tma.store_wait(pendings=0)\n",
        "",
        r"in flight: a TMA store of q_smem\[[01]\] is not waited for when the block ends",
    ),
    Mistake(
        "a barrier that is not initialised",
        ATTENTION,
        "        mbarrier.init(v_full.index(slot), count=1)\n",
        "",
        r"barrier: v_full\[0\] is used but not initialised",
    ),
    Mistake(
        "a barrier that is initialised twice",
        ATTENTION,
        "mbarrier.init(k_full.index(slot), count=1)",
        "mbarrier.init(k_full.index(0), count=1)",
        r"barrier: k_full\[0\] is initialised twice",
    ),
    Mistake(
        "a barrier that is invalidated in use",
        ATTENTION,
        "    mbarrier.wait(q_full, 0)\n",
        "    mbarrier.invalidate(q_full)\n",
        r"barrier: q_full is invalidated while in use|race: a product reads q_smem",
    ),
    Mistake(
        "bytes that nobody waits for",
        ATTENTION,
        "    q_full = mbarrier.allocate_mbarrier()\n",
        "    q_full = mbarrier.allocate_mbarrier()\n    spare = mbarrier.allocate_mbarrier()\n"
        "    mbarrier.init(spare, count=1)\n    mbarrier.expect(spare, 16)\n",
        r"attention, .*: barrier: spare is left in use \(phase 0, 0 of 1 arrivals left, 16 by",
    ),
    Mistake(
        "a box of another shape",
        ATTENTION,
        "TensorDescriptor(x, list(x.shape), list(x.stride()), [64, 64], layout)",
        "TensorDescriptor(x, list(x.shape), list(x.stride()), [32, 64], layout)",
        r"shape: a TMA load between a box of float16\[32, 64\] and q_smem\[0\] "
        r"of float16\[64, 64\]",
    ),
    Mistake(
        "a loop that always has a first iteration",
        ATTENTION,
        "    for i in range(1, n):\n        mbarrier.wait(k_full",
        "    for i in range(1, max(n, 2)):\n        mbarrier.wait(k_full",
        r"deadlock: compute0, .*:\d+ waits for parity 0 of k_full\[1\]",
        (1,),
    ),
    Mistake(
        "an end for even trip counts",
        ATTENTION,
        "    o = warpgroup_mma(a, v_smem.index((n - 1) % 2), o * alpha[:, None], is_async=True)\n"
        "    o =",
        "    o = warpgroup_mma(a, v_smem.index(1), o * alpha[:, None], is_async=True)\n    o =",
        r"error|uninitialised: a product reads v_smem\[1\]",
        (1, 3, 7),
    ),
    Mistake(
        "no commit",
        GEMM,
        "        tcgen05_commit(acc_full.index(t % 2))\n",
        "",
        r"deadlock: epilogue, .*:\d+ waits for parity 0 of acc_full\[0\] .*; "
        r"multiply, .* waits for",
    ),
    Mistake(
        "a commit before the products",
        GEMM,
        "mbarriers=[empty.index(j % 3)])\n        tcgen05_commit(acc_full.index(t % 2))\n",
        "mbarriers=[empty.index(j % 3)])\n            if i == 0:\n"
        "                tcgen05_commit(acc_full.index(t % 2))\n",
        r"race: a (load|product) (reads|writes) acc_tmem\[[01]\], which a (product|load) \(",
        (2, 3, 7),
    ),
    Mistake(
        "a slot that is not handed back",
        GEMM,
        "mbarriers=[empty.index(j % 3)]",
        "mbarriers=[]",
        r"deadlock: .*load, .*:\d+ waits for parity 0 of empty\[[012]\]",
        (2, 3, 7),
    ),
    Mistake(
        "a slot that is handed back at once",
        GEMM,
        "mbarriers=[empty.index(j % 3)])\n",
        "mbarriers=[])\n            mbarrier.arrive(empty.index(j % 3))\n",
        r"load, .*: race: a TMA load writes [ab]_smem\[[012]\], which a product "
        r"\(multiply, .*\) reads",
        (2, 3, 7),
    ),
    Mistake(
        "an arrival of a product that nobody waits for",
        GEMM,
        "mbarriers=[empty.index(j % 3)])\n        tcgen05_commit(acc_full.index(t % 2))\n",
        "mbarriers=[empty.index(j % 3)] if i < n - 1\n"
        "                        else [acc_full.index(t % 2), empty.index(j % 3)])\n",
        r"multiply, .*: in flight: an arrival at empty\[[012]\] is not waited for when the block e",
    ),
    Mistake(
        "an accumulator that is read too late",
        GEMM,
        "        acc = acc_tmem.index(t % 2).load()\n"
        "        mbarrier.arrive(acc_empty.index(t % 2))\n",
        "        mbarrier.arrive(acc_empty.index(t % 2))\n"
        "        acc = acc_tmem.index(t % 2).load()\n",
        r"multiply, .*: race: a product writes acc_tmem\[[01]\], which a load "
        r"\(epilogue, .*\) reads",
    ),
    Mistake(
        "a staging buffer that a store still reads",
        GEMM,
        "        tma.store_wait(pendings=0)\n        c_smem.store",
        "        c_smem.store",
        r"epilogue, .*: race: a store writes c_smem, which a TMA store \(epilogue, .*\) reads",
    ),
    Mistake(
        "slots that begin again with every tile",
        GEMM,
        "            j = t * n + i\n            mbarrier.wait(full",
        "            j = i\n            mbarrier.wait(full",
        r"deadlock|race|in flight: a TMA load of [ab]_smem",
    ),
    Mistake(
        "a parity that no tile toggles",
        GEMM,
        "mbarrier.wait(acc_empty.index(t % 2), ((t // 2) + 1) & 1)",
        "mbarrier.wait(acc_empty.index(t % 2), 1)",
        r"deadlock: .*multiply, .* waits for parity 1 of acc_empty\[0\]|a "
        r"product writes acc_tmem\[0\]",
    ),
    Mistake(
        "an accumulator of the tile before",
        GEMM,
        "use_acc=i > 0",
        "use_acc=True",
        r"uninitialised: a product reads acc_tmem\[0\]",
    ),
    Mistake(
        "a remainder that is negative in Triton",
        GEMM,
        "mbarrier.wait(acc_full.index(t % 2), (t // 2) & 1)",
        "mbarrier.wait(acc_full.index((t - 1) % 2), (t // 2) & 1)",
        r"barrier: acc_full\[-1\] \(it has 2\) is used but not initialised",
    ),
    Mistake(
        "numbers that are wrong",
        GEMM,
        "tma.async_load(b_desc, [i * 64, column]",
        "tma.async_load(b_desc, [0, column]",
        r"error",
        (2, 3, 7),
    ),
]


def told(run: Run) -> str:
    """Return what a run that did not pass says."""
    if run.fault is not None:
        return str(run.fault)
    return "" if run.passed else f"error {run.differences}"


def failed(mistake: Mistake, count: int, folder: Path) -> bool:
    """Return whether a trip count shows a mistake, which then has to be named."""
    text = (KERNELS / f"{mistake.kernel}.py").read_text()
    assert text.count(mistake.right) >= 1
    file = folder / "kernel.py"
    file.write_text(text.replace(mistake.right, mistake.wrong))
    runs = [run for run in emulate(file, iterations=(count,)).runs if not run.passed]
    for run in runs:
        assert re.search(mistake.said, told(run)), told(run)
    return bool(runs)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named_at_the_first_trip_count_that_shows_it(
    mistake: Mistake, tmp_path: Path
) -> None:
    assert failed(mistake, mistake.shown_by[0], tmp_path)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named_at_no_other_trip_counts_than_those_that_show_it(
    mistake: Mistake, tmp_path: Path
) -> None:
    shown = [count for count in (1, 2, 3, 7) if failed(mistake, count, tmp_path)]
    assert shown == list(mistake.shown_by)
