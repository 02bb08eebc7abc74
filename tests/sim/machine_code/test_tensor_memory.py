"""Instructions of tcgen05: as decoded, single ones against a B200, and packaged kernels."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.sim.machine_code.conftest import entries, module
from twill.artifacts.machine import Machine
from twill.base.errors import InputError
from twill.sim.machine_code import Kernel, predicted
from twill.sim.machine_code.listing import (
    Instruction,
    control_of,
    read_listing,
    split_operands,
)
from twill.sim.machine_code.registers import Warp
from twill.sim.machine_code.steps import Step, tensor_product
from twill.studies.judged import instruction_costs

DATA = Path(__file__).parents[2] / "data" / "machine_code"
COSTS = instruction_costs(Machine.named("blackwell_b200"))
BARRIER, ROUNDS = 0x400, (4, 12)
FREE = 7  # no scoreboard

LISTING = """\
/*2080*/ UTCHMMA gdesc[UR8], gdesc[UR20], tmem[UR6], tmem[UR18], idesc[UR19], UP0 ; \
/* 0x00ff1214080075ea */
/* 0x0003e20008000006 */
/*20e0*/ UTCBAR [UR12+0x8], URZ ; /* 0x000000ff0c0073e9 */
/* 0x0003e200080000ff */
/*05f0*/ LDTM.x64 R4, tmem[UR7] ; /* 0x00000007000479ee */
/* 0x000e620008340000 */
/*9690*/ STTM.x32 tmem[UR5+0x80], R60 ; /* 0x0000803c000079ed */
/* 0x0003e200082c0005 */
/*9b40*/ FENCE.VIEW.ASYNC.T ; /* 0x00000000000073c6 */
/* 0x002e620000000200 */
/*1b50*/ UTCCP.T.S.4x32dp128bit tmem[UR23+0x80], gdesc[UR8] ; /* 0x00008008170079e7 */
/* 0x0003e20009100000 */
/*1d70*/ LDTM.16dp256bit.x8 R4, tmem[UR7] ; /* 0x00000007000479ee */
/* 0x000e620008340000 */
"""


def test_instructions_are_decoded() -> None:
    product, commit, load, store, fence, copy, wide = (
        Step(one, COSTS) for one in read_listing(LISTING)
    )
    pipes = [one.pipe for one in (product, commit, load, store, fence, copy)]
    assert pipes == ["product", "commit", "tensor_load", "tensor_store", "fence", "product"]
    assert (product.stall, product.written, product.read) == (1, FREE, 1)
    assert (load.stall, load.written, load.read) == (1, 1, FREE)
    assert (fence.written, fence.waits) == (1, (1,))
    assert [one.tensor_registers for one in (load, store, wide)] == [64, 32, 32]
    warp = Warp({}, {}, {})
    warp.uniform[12], warp.uniform[19] = 0x38100, 0x8410010
    assert commit.place is not None
    assert commit.place(warp) == 0x38108
    assert product.shape is not None
    assert product.shape(warp) == 0x8410010
    assert product.product is None
    assert copy.product is not None
    assert copy.product.interval == 4  # 512 bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VIMNMX R0, PT, PT, R1, 0x2, PT", 2),
        ("FLO.U32 R0, R1", 2),
        ("REDUX UR0, R1", 7),
        ("VOTEU.ANY UR0, UPT, P0", 1),
        ("UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR0, UR8", 0),
    ],
)
def test_integers_of_blackwell(text: str, expected: int) -> None:
    warp = Warp({}, {}, {})
    warp.vector[1], warp.uniform[0] = 7, 99
    warp.predicates[0] = (1,) + (0,) * 31
    operation, _, operands = text.partition(" ")
    plain = control_of(0)
    step = Step(Instruction(0, "", operation, split_operands(operands), plain), COSTS)
    assert step.effect is not None
    step.effect(warp)
    assert (warp.uniform if "UR0" in operands else warp.vector)[0] == expected


@pytest.mark.parametrize(
    ("word", "inside", "interval"),
    # 128 and 64 rows; 256, 128 and 64 columns. Intervals are those that SemiAnalysis measured.
    [
        (0x8400010, False, 128),
        (0x8200010, False, 64),
        (0x8100010, False, 48),
        (0x8100010, True, 32),
        (0x4100010, False, 32),
    ],
)
def test_a_product_takes_its_interval(word: int, interval: float, *, inside: bool) -> None:
    assert tensor_product(COSTS, word, inside=inside).interval == interval


def rounds(body: list[tuple[str, int, int]], number: int) -> Any:
    """Execute rounds of instructions, each with a scoreboard to set and one to wait for."""
    listing = module("listing")
    lines = [("SYNCS.EXCH.64 URZ, [UR5], UR8", FREE, FREE), *body * number, ("EXIT", FREE, FREE)]
    steps = []
    costs = module("costs").costs_of(*entries("blackwell_b200"))
    for n, (text, board, waits) in enumerate(lines):
        operation, _, operands = text.partition(" ")
        guard = ""
        if operation.startswith("@"):
            guard, (operation, _, operands) = operation[1:], operands.partition(" ")
        control = listing.Control(
            2,
            yields=False,
            written=board,
            read=FREE,
            waits=(waits,) if waits != FREE else (),
            reuse=0,
        )
        parts = listing.split_operands(operands)
        one = listing.Instruction(16 * n, guard, operation, parts, control)
        steps.append(module("steps").Step(one, costs))
    launch = module("launch").Launch({}, {}, (0, 0, 0), 4, 4, 0)
    scheduler = module("sm").Scheduler(tuple(steps), launch, costs)
    warp = scheduler.groups[0].warp
    warp.uniform[5], warp.uniform[8] = BARRIER, 0x1FFFFE
    warp.uniform[19] = 0x8200010
    warp.vector[4] = 1 << 31
    return scheduler.run()


def cycles(body: list[tuple[str, int, int]]) -> float:
    """Return the cycles of a further round."""
    few, many = (rounds(body, n).cycles for n in ROUNDS)
    return float(many - few) / (ROUNDS[1] - ROUNDS[0])


def product_and_wait(left: str = "gdesc[UR8]", products: int = 1) -> float:
    """Return the cycles from products of 128 x 128 to the end of a wait on their commit."""
    issued = [(f"UTCHMMA {left}, gdesc[UR20], tmem[UR6], tmem[UR18], idesc[UR19], UPT", FREE, FREE)]
    commit = ("UTCBAR [UR5], URZ", FREE, FREE)
    body = []
    for parity in ("RZ", "R4"):
        wait = (f"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], {parity}", 0, FREE)
        body += [*issued * products, commit, wait, ("NOP", FREE, 0)]
    return cycles(body) / 2


def load(loads: int = 1) -> float:
    """Return the cycles of loads of 64 registers, and of a store that needs them."""
    first = ("LDTM.x64 R4, tmem[UR7]", 1, FREE)
    stored = [("STTM.x64 tmem[UR7], R4", FREE, 1), ("FENCE.VIEW.ASYNC.T", 2, FREE)]
    return cycles([*[first] * loads, *stored, ("NOP", FREE, 2)])


def test_a_product_is_waited_for_as_long_as_on_a_b200() -> None:
    # SemiAnalysis: issue, commit and wait take 200 with both factors in SMEM, 168 otherwise.
    assert product_and_wait() == pytest.approx(200, rel=0.06)
    assert product_and_wait("tmem[UR8]") == pytest.approx(168, rel=0.06)
    assert product_and_wait(products=5) - product_and_wait() == pytest.approx(4 * 64, rel=0.02)


def test_tensor_memory_takes_its_latency_and_rate() -> None:
    moved = 64 * 4 * 128  # bytes
    assert load(5) - load() == pytest.approx(4 * moved / 230, rel=0.02)
    assert load() == pytest.approx(200 + moved / 230 + 200 + moved / 400, rel=0.06)


@pytest.mark.usefixtures("interpreted")
def test_a_commit_that_never_arrives_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module("groups").Group, "finish_products", lambda _group: None)
    with pytest.raises(InputError, match="does not end"):
        product_and_wait()


@pytest.mark.usefixtures("interpreted")
def test_a_commit_that_waits_for_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module("tensor_memory").TensorMemory.commit

    def early(memory: Any, group: Any, *arguments: Any) -> None:
        group.complete = group.committed
        made(memory, group, *arguments)

    monkeypatch.setattr(module("tensor_memory").TensorMemory, "commit", early)
    assert product_and_wait() < 150


@pytest.mark.usefixtures("interpreted")
def test_a_load_that_costs_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def free(memory: Any, group: Any, step: Any, _: int) -> None:
        memory._answer(group, step, 1, 1)

    monkeypatch.setattr(module("tensor_memory").TensorMemory, "move", free)
    assert load() < 100


def kernel(name: str, warps: int, shared: int, targets: tuple[int, ...]) -> Kernel:
    listing, source = (
        lzma.decompress((DATA / f"{name}.{end}.xz").read_bytes()).decode() for end in ("sass", "py")
    )
    return Kernel(listing, targets, source, warps, shared, architecture=100)


def gemm() -> Kernel:
    return kernel("gemm_blackwell", 8, 229708, (6144, 7392, 8688, 8816))


def attention() -> Kernel:
    return kernel("attention_forward_blackwell", 12, 230992, (32448, 34368, 32320, 32320, 54048))


@pytest.mark.parametrize(("made", "products"), [(gemm, 512), (attention, 1024)])
def test_a_packaged_kernel_ends_and_keeps_the_bound_of_its_products(
    made: Callable[[], Kernel], products: float
) -> None:
    found = predicted(made(), COSTS)
    assert found.product_cycles == pytest.approx(products, rel=0.01)
    assert found.interval_cycles is not None
    assert found.interval_cycles >= products
    assert all(found.repeated)
    assert "no prediction for sm_100a was compared with a measurement" in found.origin


def test_a_trap_that_is_reached_is_named() -> None:
    freed = gemm()
    listing = freed.listing.replace("ATOMS.OR RZ, [UR6+0x14]", "ATOMS.AND RZ, [UR6+0x14]")
    with pytest.raises(InputError, match="unknown instruction CALL"):
        predicted(replace(freed, listing=listing), COSTS)
