"""Whole kernels: one group, programs that overlap, and the memory that all of a kernel takes."""

from __future__ import annotations

import ast
import re
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

import twill
from tests.emit.campaign import COMPILED, FAILED, kernels, outcome, programs
from tests.emit.test_emit import GALLERY, HOPPER, computes_what_it_should, solved
from tests.support.pages import ROOT
from twill.artifacts.program import Storage
from twill.artifacts.schedule import Schedule
from twill.base.errors import DefectError, RefusedError
from twill.cli.main import app
from twill.emit import emitted
from twill.frontends import load_loop
from twill.lower import baselines
from twill.problem import build_problem
from twill.sim.analysis.rings import with_more_slots
from twill.sim.emulator import emulate


def naive(name: str) -> Schedule:
    loop = load_loop(name)
    return baselines.sequential(loop, twill.Machine.named("hopper_h100"))


def test_a_kernel_of_one_group_has_no_partitions(tmp_path: Path) -> None:
    """Triton has no warp_specialize of one function."""
    file = tmp_path / "kernel.py"
    file.write_text(emitted(naive("gemm_pointers_hopper")))
    assert "warp_specialize" not in file.read_text()
    computes_what_it_should(emulate(file, iterations=(2,), victims=False, capability=HOPPER))


def test_a_value_of_the_prologue_is_a_tile_until_a_product_takes_it(tmp_path: Path) -> None:
    """The state is stored before the first product adds to it, and is in flight in later rounds."""
    walked = Schedule.load(ROOT / "tests/data/schedules/linear_attention_walked.json")
    file = tmp_path / "kernel.py"
    file.write_text(emitted(walked))
    assert re.search(r"state = gl\.zeros\(", file.read_text())
    computes_what_it_should(emulate(file, iterations=(3,), victims=False, capability=HOPPER))


def test_what_verify_refuses_is_not_emitted_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "schedule.json"
    naive("gemm_pointers_hopper").save(file)
    refused = CliRunner().invoke(app, ("emit", str(file)))
    assert refused.exit_code == 1
    assert "variable latency" in refused.output
    asked = CliRunner().invoke(app, ("emit", str(file), "--unverified"))
    assert asked.exit_code == 0
    assert "gl.load" in asked.output or "async_load" in asked.output


def test_text_that_is_no_python_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twill.emit.kernel.printed", lambda _: "def f(a, a): pass\n")
    with pytest.raises(DefectError, match=r"is no Python .*duplicate argument 'a'"):
        emitted(solved("gemm_pointers_hopper"))


# -- memory -----------------------------------------------------------------------------------


def larger(schedule: Schedule, value: str, slots: int) -> Schedule:
    """Return a schedule with more slots of a ring, whatever they hold."""

    def grown(storage: Storage) -> Storage:
        if storage.value != value:
            return storage
        addresses = tuple(k * storage.size for k in range(slots))
        return storage.model_copy(update={"slots": slots, "addresses": addresses})

    return schedule.model_copy(update={"storage": tuple(map(grown, schedule.storage))})


def test_tiles_that_are_stored_after_the_loop_are_kept_free() -> None:
    """Of a product of 128 x 128 tiles of 16 bits for two groups, 64 KiB in all."""
    loop = load_loop("gemm_two_tiles_hopper")
    assert loop.source is not None
    assert loop.source.shared_bytes == 2 * 128 * 128 * 2
    machine = twill.Machine.named("hopper_h100")
    problem = build_problem(loop, machine)
    assert machine.memories.smem is not None
    assert problem.memories["smem"] == machine.memories.smem.available - loop.source.shared_bytes


def test_a_kernel_that_exceeds_shared_memory_is_refused_with_its_bytes() -> None:
    with pytest.raises(RefusedError, match=r"takes \d+ bytes of shared memory .*, and has 230400"):
        emitted(larger(solved("gemm_two_tiles_hopper"), "b", 10))


def four_slots() -> Schedule:
    """Return a schedule of two tiles of 64 x 256, whose rings leave 33 KiB."""
    given = solved("gemm_two_tiles_hopper")
    return with_more_slots(given, 4 - max(s.slots for s in given.storage)).schedule


def test_tiles_are_stored_through_rings_that_their_group_alone_has_read(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(emitted(four_slots()))
    made = re.findall(r"stored1?_smem = (a\d)_smem\.reinterpret\((.+)\)", file.read_text())
    assert sorted(made) == [(f"a{n}", "gl.float16, [64, 256], c_desc.layout") for n in (0, 1)]
    computes_what_it_should(emulate(file, iterations=(5,), capability=HOPPER))


def test_a_ring_that_another_group_still_reads_is_noticed(tmp_path: Path) -> None:
    exchanged = {"a0": "a1", "a1": "a0"}
    text = emitted(four_slots())
    wrong = re.sub(r"= (a\d)(_smem\.re)", lambda found: f"= {exchanged[found[1]]}{found[2]}", text)
    assert wrong != text
    file = tmp_path / "kernel.py"
    file.write_text(wrong)
    assert not emulate(file, iterations=(5,), capability=HOPPER).passed


def test_what_threads_exchange_to_store_a_tile_by_pointers_is_counted() -> None:
    """Slots of 16 and 32 KiB fit without it; Triton 3.9 then takes 245,932 bytes in all."""
    loop = load_loop("gemm_pointers_blackwell")
    assert loop.source is not None
    assert loop.source.shared_bytes == 128 * 256 * 2
    given = larger(larger(solved("gemm_pointers_blackwell"), "a", 4), "b", 5)
    with pytest.raises(RefusedError, match="65536 for what follows it"):
        emitted(given)


def test_tensor_memory_without_addresses_has_one_allocation_for_updates_in_place() -> None:
    loop, machine = load_loop("attention_forward_blackwell"), "blackwell_b200"
    schedule = baselines.multi_warp(loop, twill.Machine.named(machine))
    assert not any(s.addresses for s in schedule.storage)
    made = re.findall(r"(\w+)_tmem = allocate_tensor_memory\(", emitted(schedule))
    assert sorted(made) == ["o_tmem_store", "o_tmem_store2", "s_mma"]  # `o` is in `o_tmem_store2`


@pytest.mark.triton
@pytest.mark.parametrize(
    "name", ["gemm_two_tiles_hopper", "linear_attention_hopper", "attention_forward_blackwell"]
)
def test_programs_compile_and_have_room(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of ``python -m tests.emit.campaign``."""
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    loop, machine = load_loop(name), twill.Machine.named(kernels()[name])
    outcomes = [outcome(name, *given) for given in islice(programs(loop, machine, 0), 5)]
    assert [found for found in outcomes if found.outcome == FAILED] == []
    assert sum(found.outcome == COMPILED for found in outcomes) >= 3


def test_every_emitted_function_has_each_argument_once() -> None:
    tree = ast.parse(emitted(solved("gemm_pointers_hopper")))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        names = [argument.arg for argument in function.args.args]
        assert len(names) == len(set(names))


def test_a_product_that_ptxas_does_not_compile_in_so_wide_a_launch_is_refused() -> None:
    """For 256 columns ptxas takes 158 registers; two warp groups of half a file have 128."""
    loop = load_loop(str(GALLERY / "mla_decode.sm90.mlir"))
    given = baselines.multi_warp(loop, twill.Machine.named("hopper_h100"))
    emitted(given)
    file = given.machine.registers
    assert file is not None
    smaller = file.model_copy(update={"file": file.file.model_copy(update={"value": 32768})})
    machine = given.machine.model_copy(update={"registers": smaller})
    with pytest.raises(RefusedError, match=r"256 columns takes 158 .* has 128; fewer groups"):
        emitted(given.model_copy(update={"machine": machine}))
