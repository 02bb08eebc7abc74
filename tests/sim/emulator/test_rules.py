"""What kernels compute and may do, by small kernels in the style of Triton's Gluon tutorials."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from twill.sim.emulator import FaultError, load, stand_ins

SMALL = Path(__file__).parents[2] / "data" / "gluon" / "small"


def small(name: str) -> str:
    return (SMALL / f"{name}.py").read_text()


HEAD = small("head")
Launch = Callable[[ModuleType], Any]


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[[str], Any]:
    """Return what executes `main` of a file, and then again with each victim."""

    def run(body: str) -> Any:
        file = tmp_path / "kernel.py"
        file.write_text(HEAD + textwrap.dedent(body))
        with stand_ins() as session:
            found = load(file).main()
        for victim in session.candidates:
            with stand_ins(victim=victim):
                again = load(file).main()
            assert np.array_equal(found.data, again.data, equal_nan=True), victim
        return found

    return run


Run = Callable[[str], Any]


def test_integers_are_those_of_c(kernel: Run) -> None:
    found = kernel("""
        @gluon.jit
        def numbers(out, n):
            for i in range(n):
                gl.store(out + i * 4, (i - 2) // 2)
                gl.store(out + i * 4 + 1, (i - 2) % 2)
                gl.store(out + i * 4 + 2, (2147483647 + i) < 0)
                gl.store(out + i * 4 + 3, gl.cdiv(i, 2) if i & 1 else -i)

        def main():
            out = torch.zeros(16, dtype=torch.int32)
            numbers[(1,)](out, 4, num_warps=4)
            return out
    """)
    expected = [[-1, 0, 0, 0], [0, -1, 1, 1], [0, 0, 1, -2], [0, 1, 1, 2]]
    assert found.data.reshape(4, 4).tolist() == expected


def test_tiles_are_rounded_to_their_type(kernel: Run) -> None:
    found = kernel("""
        @gluon.jit
        def rounded(out, x):
            i = gl.arange(0, 4)
            half = gl.load(x + i).to(gl.bfloat16)
            gl.store(out + i, half + 1)
            gl.store(out + 4 + i, half.to(gl.float32) + 1)
            gl.store(out + 8 + i, (gl.load(x + i).to(gl.float16) * 0.1) * half)
            gl.store(out + 12 + i, gl.load(x + i, mask=i < 2, other=7.0), mask=i != 3)

        def main():
            out = torch.zeros(16)
            rounded[(1,)](out, torch.tensor([1 / 3, 257.0, 1e-3, float("inf")]), num_warps=4)
            return out
    """)
    third, tenth = np.float32(0.333984375), np.float16(0.1)
    assert found.data[:3].tolist() == [1.3359375, 256.0, 1.0]
    assert found.data[4] == third + 1
    assert found.data[8] == np.float32(np.float16(1 / 3) * tenth) * third
    assert found.data[12:].tolist() == [np.float32(1 / 3), 257, 7, 0]


def test_tiles_change_their_shape(kernel: Run) -> None:
    found = kernel("""
        @gluon.jit
        def add(a, b):
            return a + b

        @gluon.jit
        def pairs(a, b, c, d):
            lanes = gl.arange(0, 2)
            return gl.split(gl.where(lanes == 0, a, b) + gl.where(lanes == 0, c, d))

        @gluon.jit
        def shapes(out, x):
            i = gl.arange(0, 8)[:, None] * 8 + gl.arange(0, 8)[None, :]
            tile = gl.load(x + i)
            a, b = tile.reshape([8, 2, 4]).permute(0, 2, 1).split()
            joined = gl.join(a, b).permute(0, 2, 1).reshape([8, 8])
            gl.store(out + i, gl.where(joined == tile, tile, -1.0))
            j = gl.arange(0, 8)
            gl.store(out + 64 + j, gl.reduce(tile, axis=1, combine_fn=add))
            first, second = gl.reduce((a, b), axis=1, combine_fn=pairs)
            gl.store(out + 72 + j, gl.max(gl.trans(tile), axis=0) + 0 * first)
            gl.store(out + 80 + j, first + second)
            sums = float2.pack(tile, axis=1).sum(axis=1)
            u, v = float2.unpack2(float2.fma(sums, sums, sums))
            gl.store(out + 88 + j, fma2(u, v, gl.exp2(j * 0.0)))

        def main():
            out = torch.empty(96)
            shapes[(1,)](out, torch.arange(64, dtype=torch.float32), num_warps=4)
            return out
    """)
    tile = np.arange(64.0).reshape(8, 8)
    even, odd = tile[:, ::2].sum(1), tile[:, 1::2].sum(1)
    assert np.array_equal(found.data[:64], tile.ravel())
    assert np.array_equal(found.data[64:72], tile.sum(1))
    assert np.array_equal(found.data[72:80], tile.max(1))
    assert np.array_equal(found.data[80:88], tile.sum(1))
    wanted = (even * even + even) * (odd * odd + odd) + 1
    assert np.allclose(found.data[88:], wanted, rtol=1e-6)


def test_blocks_run_one_after_the_other_and_add_to_what_is_global(kernel: Run) -> None:
    found = kernel("""
        @gluon.jit
        def count(out, BLOCK: gl.constexpr):
            pid = gl.program_id(0) + gl.program_id(1) * gl.num_programs(0)
            gl.atomic_add(out + gl.arange(0, BLOCK.value) % 2, pid.to(gl.float32))

        def main():
            out = torch.zeros(2)
            count[lambda meta: (3, triton.cdiv(3, 2))](out, BLOCK=4, num_warps=4)
            return out
    """)
    assert found.data.tolist() == [30.0, 30.0]


WGMMA = small("wgmma")


@pytest.mark.parametrize("in_registers", [False, True])
def test_what_lies_outside_of_a_tensor_is_zero_and_not_stored(
    in_registers: bool, kernel: Run
) -> None:
    found = kernel(WGMMA % in_registers)
    a = np.zeros((64, 32), np.float32)
    a[16:, :16] = (np.arange(64 * 32).reshape(64, 32) * 0.125)[:48, 16:].astype(np.float16)
    b = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32).astype(np.float16)
    wanted = 2 * (a @ b.astype(np.float32)) + 1
    assert np.all(found.data[:32] == 0)
    assert np.allclose(found.data[32:], wanted[:48], rtol=1e-5, atol=1e-3)


def test_what_a_product_reads_is_not_overwritten(kernel: Run) -> None:
    text = WGMMA.replace("# wait", "b_smem.store(gl.zeros([32, 32], gl.float16))")
    with pytest.raises(
        FaultError, match=r"race: a store writes b_smem, which a product \(product, "
    ):
        kernel(text % False)


def test_a_result_is_taken_from_the_wait(kernel: Run) -> None:
    text = WGMMA.replace("d = warpgroup_mma_wait(", "warpgroup_mma_wait(")
    with pytest.raises(FaultError, match="in flight: the result of a product"):
        kernel(text % False)


def test_a_generic_read_needs_a_fence_before_a_transfer_overwrites(kernel: Run) -> None:
    text = WGMMA.replace("mbarrier.invalidate(full)", "%s").replace(
        "    d_smem = ",
        "    mbarrier.expect(full, a_desc.block_type.nbytes)\n"
        "    tma.async_load(a_desc, [0, 0], full, a_smem)\n"
        "    mbarrier.wait(full, 1)\n"
        "    d_smem = ",
    )
    kernel(text % ("fence_async_shared()", False))
    kernel(text.replace("    d_smem = ", "    # \n    d_smem = ") % ("pass", False))
    with pytest.raises(
        FaultError, match=r"fence: a TMA load writes a_smem, which a load \(product"
    ):
        kernel(text % ("pass", True))


TCGEN05 = small("tcgen05")


def test_views_of_tensor_memory_share_its_columns(kernel: Run) -> None:
    draw = np.random.default_rng(2)
    a, b = (draw.standard_normal((n, 64)).astype(np.float32).astype(np.float16) for n in (128, 64))
    s = a.astype(np.float32) @ b.astype(np.float32)
    wanted = s.astype(np.float16).astype(np.float32) @ b.astype(np.float32) + s[:, 32:33]
    assert np.allclose(kernel(TCGEN05).data, wanted, rtol=1e-4, atol=1e-2)
    overwritten = TCGEN05.replace("s_tmem.slice(32, 32)", "s_tmem.slice(0, 32)")
    assert not np.allclose(kernel(overwritten).data, wanted, rtol=1e-4, atol=1e-2)


def test_a_tile_of_64_rows_takes_half_of_the_lanes_of_its_columns(kernel: Run) -> None:
    half = "s_tmem.slice(32, 32).reinterpret(gl.float16, [64, 64], layout)"
    line = f"p_half = {half}; p_half.store(p_half.load())\n    "
    assert np.allclose(
        kernel(TCGEN05.replace("# between", line)).data, kernel(TCGEN05).data, rtol=1e-6
    )
    beyond = line.replace("[64, 64]", "[64, 128]").replace("slice(32, 32)", "slice(48, 16)")
    with pytest.raises(FaultError, match="bounds"):
        kernel(TCGEN05.replace("# between", beyond))


@pytest.mark.parametrize(
    ("between", "said"),
    [
        (
            "tcgen05_mma(a_smem, b_smem, s_tmem); s_tmem.load()",
            "race: a load reads s_tmem, which a pro",
        ),
        (
            "tcgen05_mma(a_smem, b_smem, s_tmem); p_tmem.store(s.to(gl.float16))",
            "race: a store writes",
        ),
        (
            "tcgen05_mma(a_smem, b_smem, s_tmem); a_smem.store(s.to(gl.float16))",
            "race: a store writes a",
        ),
        (
            "a_smem.store(s.to(gl.float16)); tcgen05_mma(a_smem, b_smem, o_tmem)",
            "fence: a product reads",
        ),
        ("tcgen05_mma(b_smem, a_smem, o_tmem)", r"shape: a product of \[64, 64\] and \[128, 64\]"),
        (
            "a_smem.store(s)",
            r"shape: a value of float32\[128, 64\] is stored in a_smem, which is float16",
        ),
        ("o_tmem.load()", "uninitialised: a load reads o_tmem"),
        ("s_tmem.slice(48, 32)", r"bounds: s_tmem: 48 to 80 of 64"),
        ("gl.static_assert(False, 'no')", "shape: static_assert: no"),
    ],
)
def test_what_a_block_with_one_partition_may_not_do(between: str, said: str, kernel: Run) -> None:
    with pytest.raises(FaultError, match=said):
        kernel(TCGEN05.replace("# between", between))


SCALED = small("scaled")


def test_scales_are_powers_of_two_for_32_elements_of_a_row(kernel: Run) -> None:
    sizes = (128 * 64, 128 * 128, 64 * 128, 4 * 128)
    d, a, b, left, right = np.split(kernel(SCALED).data, np.cumsum(sizes))
    rows = [x.reshape(-1, 128) * np.exp2(np.repeat(s.reshape(4, -1).T, 32, 1) - 127)
            for x, s in ((a, left), (b, right))]  # fmt: skip
    assert np.allclose(d.reshape(128, 64), rows[0] @ rows[1].T, rtol=1e-5)


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        (
            'left, right, "e4m3"',
            'right, left, "e4m3"',
            r"shape: scales of \[64, 4\] for \[128, 128\]",
        ),
        ('"e4m3", "e4m3"', '"e5m2", "e4m3"', "type: a factor of float8_e4m3fn is said to be e5m2"),
    ],
)
def test_what_no_scaled_product_is(line: str, other: str, said: str, kernel: Run) -> None:
    assert line in SCALED
    with pytest.raises(FaultError, match=said):
        kernel(SCALED.replace(line, other))


SHARED = small("shared")


def test_partitions_pass_values_through_shared_memory(kernel: Run) -> None:
    assert kernel(SHARED).data.tolist() == [15.0] * 64


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            "        mbarrier.wait(ready.index(i % 2), (i // 2) & 1)\n",
            "",
            r"(uninitialised|race): a load reads ring.memory\[[01]\]",
        ),
        (
            "        mbarrier.wait(taken.index(i % 2), ((i // 2) + 1) & 1)\n",
            "",
            r"race: a (store|load) (writes|reads) ring.memory\[[01]\]|deadlock: take, ",
        ),
        (
            "        mbarrier.arrive(ready.index(i % 2), count=1)\n",
            "",
            r"deadlock: take, kernel.py:\d+ waits for parity 0 of ring.ready\[0\]",
        ),
        (
            "ring.memory, ring.ready, ring.taken",
            "ring.memory, ring.ready, ring.ready",
            "deadlock|barrier",
        ),
        (
            "buffers.index(i % 2).load()",
            "buffers.index(2).load()",
            "bounds: ring.memory: index 2 of 2",
        ),
        ("(i // 2) & 1)\n", "2)\n", "barrier: parity 2 of ring.ready"),
    ],
)
def test_what_partitions_may_not_do(right: str, wrong: str, said: str, kernel: Run) -> None:
    assert right in SHARED
    with pytest.raises(FaultError, match=said):
        kernel(SHARED.replace(right, wrong))


def test_a_fence_covers_what_its_partition_has_seen(kernel: Run) -> None:
    text = """
        @gluon.jit
        def make(smem, ready, desc):
            %s
            smem.store(gl.full([64, 64], 3.0, gl.float16))
            %s
            mbarrier.arrive(ready)

        @gluon.jit
        def send(smem, ready, desc):
            %s
            mbarrier.wait(ready, 0)
            %s
            tma.async_store(desc, [0, 0], smem)
            tma.store_wait(0)

        @gluon.jit
        def both(desc):
            smem = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
            ready = mbarrier.allocate_mbarrier()
            mbarrier.init(ready, count=1)
            arguments = (smem, ready, desc)
            gl.warp_specialize([(make, arguments), (send, arguments)], [1], [24])

        def main():
            out = torch.empty(64, 64, dtype=torch.float16)
            both[(1,)](box(out, [64, 64]))
            return out
    """
    for place in range(4):
        fences = ["fence_async_shared()" if n == place else "pass" for n in range(4)]
        if place in (1, 3):
            assert np.all(kernel(text % tuple(fences)).data == 3)
        else:
            with pytest.raises(
                FaultError, match=r"fence: a TMA store reads smem, which a store \(make"
            ):
                kernel(text % tuple(fences))


def test_copies_of_threads_are_waited_for_in_groups(kernel: Run) -> None:
    text = """
        @gluon.jit
        def copied(out, x):
            smem = gl.allocate_shared_memory(gl.float32, [2, 64])
            i = gl.arange(0, 64)
            for slot in gl.static_range(2):
                cp.async_copy_global_to_shared(smem.index(slot), x + 64 * slot + i, mask=i < 60)
                cp.commit_group()
            cp.wait_group(1)
            first = smem.index(0).load()
            cp.wait_group(%s)
            gl.store(out + i, first + smem.index(1).load())

        def main():
            out = torch.empty(64)
            copied[(1,)](out, torch.arange(128, dtype=torch.float32), num_warps=4)
            return out
    """
    assert kernel(text % 0).data.tolist() == [64.0 + 2 * n if n < 60 else 0.0 for n in range(64)]
    with pytest.raises(FaultError, match=r"race: a load reads smem\[1\], which a cp.async"):
        kernel(text % 1)


@pytest.mark.parametrize(
    ("held", "pointer", "narrow"),
    [
        ("[1, 2], [4, 8], [4, 1], [1, 0]", "64 * i[:, None] + j[None, :]", False),
        ("[1, 1], [1, 32], [4, 1], [1, 0]", "64 * i[:, None] + j[None, :]", True),
        ("[1, 2], [4, 8], [4, 1], [1, 0]", "i[:, None] + 16 * j[None, :]", True),
        ("[2, 1], [8, 4], [1, 4], [0, 1]", "i[:, None] + 16 * j[None, :]", False),
    ],
)
def test_a_thread_copies_no_less_than_4_bytes(
    held: str, pointer: str, narrow: bool, kernel: Run
) -> None:
    """What it has along the fastest dimension of its layout, if that lies side by side."""
    text = f"""
        @gluon.jit
        def copied(x):
            layout: gl.constexpr = gl.BlockedLayout({held})
            smem = gl.allocate_shared_memory(gl.float16, [16, 64])
            i = gl.arange(0, 16, layout=gl.SliceLayout(1, layout))
            j = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
            cp.async_copy_global_to_shared(smem, x + {pointer})
            cp.commit_group()
            cp.wait_group(0)

        def main():
            x = torch.zeros(1024, dtype=torch.float16)
            copied[(1,)](x, num_warps=4)
            return x
    """
    if narrow:
        with pytest.raises(FaultError, match=r"shape: a cp.async of 2 bytes a thread; it copies 4"):
            kernel(text)
    else:
        kernel(text)


def test_a_file_that_needs_more_than_is_emulated_is_told_so(kernel: Run) -> None:
    with pytest.raises(AttributeError, match="no 'gather' of a tensor is emulated"):
        kernel("""
            @gluon.jit
            def gathers(out):
                gl.arange(0, 4).gather(out)

            def main():
                gathers[(1,)](torch.zeros(4))
        """)
