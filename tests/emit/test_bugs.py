"""Mistakes of published kernels, made in emitted ones: each is named by the emulator.

The threads are those of `tests/sim/test_known_bugs.py`. Not here are warps of one group that do not
wait for each other (facebookexperimental/triton#1992, #1133) and registers (cutlass#3308), of which
the emulator knows nothing.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emit.test_emit import capability, solved
from tests.sim.emulator.test_mistakes import told
from twill.emit import emitted
from twill.sim.emulator import emulate

TWO_TILES = "gemm_two_tiles_hopper"
HOPPER, BLACKWELL = "gemm_persistent_hopper", "gemm_persistent_blackwell"
ATTENTION = "fa_fwd_hopper"


@dataclass(frozen=True)
class Bug:
    """A change of an emitted kernel: what is replaced, what is said, and at which trip counts."""

    where: str
    kernel: str
    right: str
    wrong: str
    said: str
    shown_by: tuple[int, ...] = (1, 2)
    not_by: tuple[int, ...] = ()
    role: str = ""  # only in this function


BUGS = [
    Bug(
        "a loop with a single iteration deadlocks (tilelang#2566)",
        TWO_TILES,
        r"in tl.range\(iterations",
        "in tl.range(max(iterations, 2)",
        r"deadlock: compute0, .*:\d+ waits for parity 0 of a1_full\[1\] \(phase 0, 1 of 1",
        (1,),
        (2, 3),
        "compute0",
    ),
    Bug(
        "an odd trip count deadlocks",
        TWO_TILES,
        r"in tl.range\(iterations",
        "in tl.range(iterations // 2 * 2",
        r"deadlock: compute0, .*:\d+ waits for parity [01] of a1_full\[[01]\] \(phase [012], 1 of",
        (1, 3),
        (2,),
        "load",
    ),
    Bug(
        "the barrier of the back edge is missing (tilelang#2613)",
        BLACKWELL,
        r"mbarrier\.wait\([ab]_empty\.index\(.*\n",
        "pass\n",
        r"load, .*: race: a TMA load writes [ab]_smem\[0\], which a "
        r"(product \(compute0, .*\) reads|TMA load \(load, .*\) writes)",
        (5,),
        (),
        "load",
    ),
    Bug(
        "a race between tiles where the inner loop has one iteration (facebookexperimental#2004)",
        BLACKWELL,
        r"mbarrier\.wait\(c_free\.index\(0\).*\n",
        "pass\n",
        r"race: a product writes c_tmem, which a load \(epilogue, .*\) reads"
        r"|race: a load reads c_tmem.*, which a product \(compute0, .*\) writes",
        (1, 3),
    ),
    Bug(
        "an arrive before the product has read (facebookexperimental#1278)",
        TWO_TILES,
        r"( +)(c1_next = warpgroup_mma_wait\(.*\n)( +mbarrier\.arrive\(a1_empty.*\n)"
        r"( +mbarrier\.arrive\(b_empty.*\n)",
        r"\3\4\1\2",
        r"load, .*: race: a TMA load writes (a1|b)_smem\[[01]\], which a product \(compute0, ",
        (3,),
        (2,),
    ),
    Bug(
        "the parity of the tail's wait is not toggled (helion#3621)",
        BLACKWELL,
        r"mbarrier\.wait\(c_left\.index\(0\), tiles & 1\)",
        "mbarrier.wait(c_left.index(0), 0)",
        r"(deadlock: .*epilogue, .*:\d+ waits for parity 0 of c_left\[0\]"
        r"|race: a load reads c_tmem.*, which a product \(compute0, .*\) writes"
        r"|race: a product writes c_tmem, which a load)",
    ),
    Bug(
        "the second tile waits with the parity of the first (helion#3621)",
        BLACKWELL,
        r"mbarrier\.wait\(c_free\.index\(0\), \(tiles \+ 1\) & 1\)",
        "mbarrier.wait(c_free.index(0), 1)",
        r"(deadlock: .*compute0, .*:\d+ waits for parity 1 of c_free\[0\]"
        r"|race: a product writes c_tmem, which a load \(epilogue, )",
    ),
    Bug(
        "the slot of a copy starts again with each tile (helion#3621)",
        HOPPER,
        r"mbarrier\.wait\(([ab])_empty\.index\(\(done \+ i\) % 3\), \(\(done \+ i\) // 3",
        r"mbarrier.wait(\1_empty.index(i % 3), (i // 3",
        r"(deadlock: .*load, .*:\d+ waits for parity 1 of a_empty\[0\]"
        r"|race: a TMA load writes [ab]_smem|expects|more often than)",
        (1, 2),
        (),
        "load",
    ),
    Bug(
        "a tile's result is stored while the one before is still read (helion#3621)",
        HOPPER,
        r"tma\.store_wait\(pendings=0\)",
        "pass",
        r"compute0, .*: race: a store writes stored_smem, which a TMA store \(compute0, .*\) reads",
    ),
    Bug(
        "an arrive where arrive and wait are needed (vllm#26026)",
        TWO_TILES,
        r"mbarrier\.wait\(c1_issued\.index\(0\), i & 1\)",
        "mbarrier.arrive(c1_issued.index(0))",
        r"barrier: compute[01] arrives at c1_issued\[0\] more often than the 1 times"
        r"|compute1, .*: (race|uninitialised): a product reads b_smem|deadlock: .*c[01]_issued",
    ),
    Bug(
        "a barrier for one arrival where several arrive (cudnn-frontend#426)",
        TWO_TILES,
        r"mbarrier\.init\(b_empty\.index\(slot\), count=2\)",
        "mbarrier.init(b_empty.index(slot), count=1)",
        r"load, .*: race: a TMA load writes b_smem\[[01]\], which a product \(compute[01], .*reads"
        r"|barrier: compute[01] arrives at b_empty\[[01]\] more often",
        (3,),
    ),
    Bug(
        "a barrier that counts an arrival that nobody makes (cutlass#2418)",
        HOPPER,
        r"mbarrier\.init\(a_full\.index\(slot\), count=1\)",
        "mbarrier.init(a_full.index(slot), count=2)",
        r"deadlock: compute0, .*:\d+ waits for parity 0 of a_full\[0\] \(phase 0, 1 of 2 arrivals",
    ),
    Bug(
        "a box of fewer bytes than the barrier expects (mirage#705)",
        TWO_TILES,
        r"mbarrier\.expect\(b_full\.index\(i % 2\), 32768\)",
        "mbarrier.expect(b_full.index(i % 2), 65536)",
        r"deadlock: .* waits for parity 0 of b_full\[0\] \(phase 0, 0 of 1 .*, 32768 bytes to come",
    ),
    Bug(
        "a missing fence (triton#9871)",
        BLACKWELL,
        r"fence_async_shared\(\)",
        "pass",
        r"epilogue, .*: fence: a TMA store reads stored_smem, which a store",
        role="epilogue",
    ),
    Bug(
        "a tile that begins with the result of the one before",
        BLACKWELL,
        r"use_acc=i > 0",
        "use_acc=done + i > 0",
        r"error .*c_desc",
    ),
    Bug(
        "the copy of the prologue is wrong (tilelang#2443)",
        ATTENTION,
        r"tma\.async_load\(q_desc, \[q1, 0\], before_full",
        "tma.async_load(q_desc, [row, 0], before_full",
        r"error .*o_desc",
        (1, 2),
    ),
    Bug(
        "a fence that is missing in an epilogue (triton#9871)",
        ATTENTION,
        r"fence_async_shared\(\)",
        "pass",
        r"compute0, .*: fence: a TMA store reads stored1_smem, which a store \(compute0",
        (1, 2),
        role="compute0",
    ),
    Bug(
        "the parity of an epilogue's wait is that of even trip counts",
        ATTENTION,
        r"mbarrier\.wait\(v_full\.index\(\(iterations - 1\) % 2\), \(\(iterations - 1\) // 2\) & 1",
        "mbarrier.wait(v_full.index((iterations - 1) % 2), (iterations // 2 + 1) & 1",
        r"deadlock: .*compute0, .*:\d+ waits for parity [01] of v_full\[0\]"
        r"|(race|uninitialised): a product reads v_smem\[0\]",
        (1, 3),
        (2,),
        "compute0",
    ),
]


@functools.cache
def kernel(name: str) -> str:
    return emitted(solved(name))


def changed(bug: Bug) -> str:
    """Return the kernel with the mistake."""
    text = kernel(bug.kernel)
    begin = text.index(f"def {bug.role}(") if bug.role else 0
    end = text.index("@gluon.jit", begin) if bug.role else len(text)
    part, count = re.subn(bug.right, bug.wrong, text[begin:end])
    assert count >= 1
    return text[:begin] + part + text[end:]


@pytest.mark.parametrize(
    "bug",
    [pytest.param(b, marks=[pytest.mark.slow] * (b.kernel == ATTENTION), id=b.where) for b in BUGS],
)
def test_a_mistake_of_a_published_kernel_is_named(bug: Bug, tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(changed(bug))
    counts = sorted({*bug.shown_by, *bug.not_by})
    ways = {"iterations": counts, "capability": capability(bug.kernel)}
    found = emulate(file, victims=False, **ways)  # type: ignore[arg-type]
    failed = [run for run in found.runs if not run.passed]
    for run in failed:
        assert re.search(bug.said, told(run)), told(run)
    assert [run.iterations for run in failed] == list(bug.shown_by)
