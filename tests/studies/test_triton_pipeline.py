"""The variant ``triton``, against what Triton documents of its pipelines and what its IR shows."""

from __future__ import annotations

from collections import Counter

import pytest

import twill
from tests.support.sampled import sampled
from twill.frontends import load_loop, packaged_loops
from twill.sim.checks import check
from twill.studies.pipelined import triton_pipelined
from twill.studies.subjects import Subject, variant

DUMPED = [name for name, one in packaged_loops().items() if one.file.endswith(".mlir")]
UNPIPELINED = [name for name in DUMPED if name.startswith(("layer_norm", "online_softmax"))]
STAGES = 3  # Triton's default num_stages


def pipelined(name: str) -> twill.Schedule:
    return triton_pipelined(load_loop(name), twill.Machine.named(packaged_loops()[name].machine))


@pytest.mark.parametrize(
    ("name", "loads"),
    [
        ("gemm_hopper", "a b"),
        ("gemm_blackwell", "a b"),
        ("gemm_pointers_hopper", "a b"),
        ("attention_forward_hopper", "k v"),
        ("attention_forward_blackwell", "k v"),
        ("linear_attention_hopper", "q k v"),
    ],
)
def test_loads_have_as_many_slots_as_triton_has_stages(name: str, loads: str) -> None:
    slots = {s.value: s.slots for s in pipelined(name).storage if s.memory == "smem"}
    assert {load: slots[load] for load in loads.split()} == dict.fromkeys(loads.split(), STAGES)


@pytest.mark.parametrize(
    ("name", "awaited"),
    [
        # warp_group_dot_wait {pendings = 1} behind the product: that of the iteration before.
        ("gemm_hopper", "a+2 b+2 [c] c+3 [a] [b]"),
        # {pendings = 2} behind both.
        ("gemm_geglu_hopper", "a+2 gate+2 up+2 [g] [u] g+3 u+3 [a] [gate] [up]"),
        # {pendings = 0} behind the first product; loads of one barrier are awaited together.
        ("attention_forward_hopper", "k+2 v+2 [s] s+2 o+3 [o] [k] [v]"),
        # wait_barrier before tmem_load and before the buffer of the second product is stored to.
        ("attention_forward_blackwell", "v+3 s.mma+3 o+4 [o] k+2 [s.mma] [v] [k]"),
    ],
)
def test_waits_stand_where_triton_puts_them(name: str, awaited: str) -> None:
    schedule = pipelined(name)
    (program,) = schedule.programs
    kinds = {o.name: o.kind for o in schedule.loop.operations}
    words = [
        f"{one.operation}+{one.stage}" if one.do == "await" else f"[{one.operation}]"
        for one in program.body
        if one.do in ("issue", "await") and kinds[one.operation] in ("load", "mma")
    ]
    assert words == awaited.split()


@pytest.mark.parametrize("name", sampled([n for n in DUMPED if n not in UNPIPELINED], 6))
def test_tritons_waits_are_enough(name: str) -> None:
    """Nothing is awaited but what Triton awaits, each once, and no access is out of order."""
    schedule = pipelined(name)
    (program,) = schedule.programs
    asynchronous = [
        o.name for o in schedule.loop.operations if schedule.machine.cost(o).asynchronous
    ]
    awaited = Counter(one.operation for one in program.body if one.do == "await")
    assert awaited == Counter(asynchronous)
    assert {one.do for one in program.body} <= {"issue", "await", "fence"}
    check(schedule)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        # The bound, which a product in flight beside the next one's loads reaches.
        ("gemm_hopper", 1024, 1024),
        ("gemm_pointers_hopper", 512, 512),
        ("gemm_two_tiles_blackwell", 1024, 1024),
        # The chain of both products and the softmax between: neither is overlapped.
        ("attention_forward_hopper", 2048 + 1024, 5497),
    ],
)
def test_intervals(name: str, least: int, most: int) -> None:
    found = twill.sim.run(pipelined(name), iterations=64).measured_interval_cycles
    assert found is not None
    assert least <= found <= most


@pytest.mark.parametrize("name", UNPIPELINED)
def test_a_loop_without_products_is_refused(name: str) -> None:
    with pytest.raises(twill.RefusedError, match=r"^Triton does not pipeline this loop"):
        pipelined(name)


def test_loops_of_other_sources_are_refused() -> None:
    loop, machine = load_loop("paper_example"), twill.Machine.named("paper_example")
    with pytest.raises(twill.RefusedError, match=r"^only dumps of Triton kernels"):
        triton_pipelined(loop, machine)


def test_what_spills_or_does_not_fit_is_said() -> None:
    loop = load_loop("fa_fwd_blackwell")
    machine = twill.Machine.named("blackwell_b200")
    found = variant("triton", Subject("mine", loop, machine))
    assert "640 columns of tmem, of 512" in found.note
    assert "358 registers per thread of all, of 239" in found.note
