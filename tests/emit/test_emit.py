"""Emitted kernels compute what the user's kernel does, whatever is late, and hide nothing."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest

import twill
from tests.support.pages import ROOT
from tests.support.sampled import sampled
from tests.support.solved import STORED, solved_once, stored
from tests.support.static import static_schedule
from twill.artifacts.program import Put
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.emit import emitted
from twill.emit.host import choice
from twill.emit.host.choice import ROUNDS
from twill.emit.memory.allocations import Allocations, swizzle
from twill.frontends import load_loop, packaged_loops
from twill.lower import baselines
from twill.lower.prepare import prepared
from twill.polish.candidates import Programs
from twill.polish.moves import Moves
from twill.search.request import Options
from twill.sim.emulator import Emulation, emulate, load, stand_ins

pytestmark = pytest.mark.usefixtures("first_arguments")
QUICK = (
    *("gemm_two_tiles_hopper", "gemm_blackwell", "gemm_geglu_hopper", "gemm_geglu_blackwell"),
    *("gemm_persistent_hopper", "gemm_persistent_blackwell"),
    *("gemm_pointers_hopper", "gemm_pointers_blackwell"),
    *("attention_forward_hopper", "fa_fwd_hopper", "attention_forward_blackwell"),
    "block_scaled_gemm_blackwell",
)
SLOW = (
    *("fa_fwd_blackwell", "fa_bwd_hopper", "fa_bwd_blackwell", "linear_attention_hopper"),
    *("attention_backward_d64_hopper", "attention_backward_two_tiles_d64_hopper"),
    *("attention_backward_m64_blackwell", "attention_backward_m64_d64_blackwell"),
    *("attention_forward_causal_hopper", "attention_forward_diagonal_hopper"),
    *("attention_forward_causal_blackwell", "attention_forward_diagonal_blackwell"),
)
UNPACKAGED = ROOT / "tests/data/kernels"  # made from others.py by `twill loop dump`
ARGUMENTS = ROOT / "tests/data/arguments"  # loops whose trip counts are not just any
GALLERY = ROOT / "traces/gallery"
OTHERS = (
    *("product_with_bias.sm90", "product_with_bias.sm100", "two_layers.sm90"),
    "product_with_bias_wide.sm90",  # eight warps, hence no group of four
    *("rms_norm_gemm.sm90", "gemm_block_scaled.sm100"),
)
SLOW_OTHERS = (
    *OTHERS,
    "two_layers.sm100",
    "attention_in_a_window.sm90",
    "attention_in_a_window.sm100",
    *("gemm_grouped.sm90", "paged_decode.sm90", "linear_attention_decayed.sm100"),
)
BLACKWELL, HOPPER = (10, 0), (9, 0)
ALIKE = 1e-5  # of the largest magnitude, from the same arithmetic in the kernel's own types


@functools.cache
def solved(name: str) -> Schedule:
    """Return a static schedule of a packaged loop, or of one that no package has."""
    if name in STORED:
        return stored(name)
    if "." in name:
        machine = "blackwell_b200" if name.endswith("sm100") else "hopper_h100"
        found = (folder / f"{name}.mlir" for folder in (UNPACKAGED, ARGUMENTS, GALLERY))
        loop = load_loop(str(next(file for file in found if file.exists())))
    else:
        loop, machine = load_loop(name), packaged_loops()[name].machine
    return solved_once(loop, twill.Machine.named(machine), effort=0.5)


def written(name: str, folder: Path) -> Path:
    file = folder / f"{name}.py"
    file.write_text(emitted(solved(name)))
    return file


def naive(name: str) -> str:
    own = ARGUMENTS / f"{name}.mlir"
    loop = load_loop(str(own) if own.exists() else name)
    machine = "blackwell_b200" if capability(name) == BLACKWELL else "hopper_h100"
    return emitted(baselines.multi_warp(loop, twill.Machine.named(machine)))


@pytest.mark.parametrize(
    "name",
    [
        "window_sinks.sm90",
        pytest.param("splitk_bmm.sm90", marks=[pytest.mark.slow, pytest.mark.sample]),
        "attention_forward_blackwell",
    ],
)
def test_a_naive_loop_computes_what_its_kernel_does(name: str, tmp_path: Path) -> None:
    """A maximum that begins as a number for all rows; blocks with an axis that tiles leave out.

    Tiles that are rescaled in tensor memory, where a naive loop has no addresses.
    """
    file = tmp_path / "kernel.py"
    file.write_text(naive(name))
    computes_what_it_should(emulate(file, iterations=(3,), victims=False))


def test_blocks_keep_an_axis_that_tiles_leave_out() -> None:
    text = naive("splitk_bmm.sm90")
    assert text.count("batch = gl.program_id(2)") == 2  # of who loads and who computes
    assert text.count("batch = program[2]") == 1  # of the reference


def test_products_in_flight_are_begun_once(tmp_path: Path) -> None:
    """The steady state of a group whose products are of the second stage finds them in flight."""
    text = (ROOT / "tests/data/schedules/gemm_geglu_in_flight.json").read_text()
    file = tmp_path / "kernel.py"
    file.write_text(emitted(Schedule.from_json(text)))
    computes_what_it_should(emulate(file, iterations=(3,), victims=False))


def capability(name: str) -> tuple[int, int]:
    return BLACKWELL if name.endswith(("blackwell", "sm100")) else HOPPER


def computes_what_it_should(found: Emulation) -> None:
    """Compare with the same arithmetic, too, which is hardly off at all."""
    assert [str(run.fault) for run in found.runs if run.fault is not None] == []
    assert found.passed
    assert max(one.alike for run in found.runs for one in run.differences) < ALIKE


@pytest.mark.parametrize(
    "name",
    [
        *("gemm_two_tiles_hopper", "gemm_pointers_blackwell", "gemm_persistent_blackwell"),
        *("gemm_geglu_hopper", "product_with_bias.sm90", "rms_norm_gemm.sm90"),
        *("product_with_bias_wide.sm90", "two_layers.sm90", "gemm_block_scaled.sm100"),
    ],
)
def test_a_kernel_computes_what_its_loop_does(name: str, tmp_path: Path) -> None:
    file = written(name, tmp_path)
    computes_what_it_should(
        emulate(file, iterations=(3,), victims=False, capability=capability(name))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.sample] if n in QUICK[:2] else []) for n in
             (*QUICK, *SLOW, *SLOW_OTHERS)]
)  # fmt: skip
def test_whatever_is_late_a_kernel_computes_the_same(name: str, tmp_path: Path) -> None:
    found = emulate(written(name, tmp_path), capability=capability(name))
    computes_what_it_should(found)
    assert len({run.victim for run in found.runs}) > 2


def test_copies_that_are_read_after_the_next_ones_came_are_renamed(tmp_path: Path) -> None:
    """Programs are changed at random until a group gets a value before it has read the last one."""
    given = solved("layer_norm_hopper")
    programs = Programs(given)
    assert given.initiation_interval is not None
    candidate = programs.candidate(given.initiation_interval, given.start)
    moves, schedule = Moves(programs, Random(6)), given
    for _ in range(1000):
        moved = moves.propose(candidate)
        with suppress(RefusedError):
            if moved is not None:
                schedule, candidate = prepared(programs.schedule(moved)), moved
        if any(s.reader and s.slots > 1 for s in schedule.storage):
            break
    file = tmp_path / "kernel.py"
    file.write_text(emitted(schedule))
    assert re.search(r"_for_\w+_next = ", file.read_text())
    computes_what_it_should(emulate(file, iterations=(6, 7), victims=False, capability=HOPPER))


# -- references ------------------------------------------------------------------------------------


def arguments_of(name: str, folder: Path, iterations: int = 2) -> tuple[dict[str, np.ndarray], ...]:
    """Return a kernel's random arguments, and what its own reference says of the outputs."""
    with stand_ins(capability=capability(name)):
        module = load(written(name, folder))
        arguments, grid = module.make_arguments(iterations)
        outputs = module.reference(arguments, grid)
    given = {
        key: np.asarray(value.data if hasattr(value, "data") else value, dtype=np.float64)
        for key, value in arguments.items()
    }
    return given, {key: np.asarray(value.data) for key, value in outputs.items()}


def close(found: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(np.abs(found - wanted).max() <= 1e-6 * np.abs(wanted).max())


def test_the_reference_of_a_product_is_a_product(tmp_path: Path) -> None:
    given, outputs = arguments_of("gemm_two_tiles_hopper", tmp_path)
    assert close(outputs["c_desc"], given["a_desc"] @ given["b_desc"])


@pytest.mark.slow
@pytest.mark.sample
def test_the_reference_of_attention_is_attention(tmp_path: Path) -> None:
    """Against the definition, two heads one after the other in the rows."""
    given, outputs = arguments_of("fa_fwd_hopper", tmp_path)
    queries = len(given["q_desc"]) // 2
    for head in range(2):
        rows = slice(head * queries, (head + 1) * queries)
        keys = given["k_desc"][rows], given["v_desc"][rows]
        scores = given["scale"] * given["q_desc"][rows] @ keys[0].T
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        wanted = weights / weights.sum(axis=1, keepdims=True) @ keys[1]
        assert close(outputs["o_desc"][rows], wanted)


@pytest.mark.parametrize(("iterations", "grid"), [(1, (1, 2, 1)), (2, (2, 2, 1))])
def test_no_two_programs_write_the_same_rows(
    iterations: int, grid: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head of one tile has room for one program; on a GPU the later of two would win."""
    monkeypatch.setattr(choice, "ROUNDS", ROUNDS)
    with stand_ins(capability=HOPPER):
        module = load(written("fa_fwd_hopper", tmp_path))
        assert module.make_arguments(iterations)[1] == grid


# -- what the file says ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sampled(["gemm_blackwell", "attention_forward_blackwell"], 2))
def test_no_slot_and_no_parity_has_a_negative_operand(name: str) -> None:
    """`//` and `%` truncate in Triton as in C: every one is evaluated from the first round on."""
    tree = ast.parse(emitted(solved(name)))
    checked = 0
    for function in (f for f in tree.body if isinstance(f, ast.FunctionDef)):
        for loop in (n for n in ast.walk(function) if isinstance(n, ast.For)):
            bounds = getattr(loop.iter, "args", [])
            first = ast.literal_eval(bounds[0]) if len(bounds) == 2 and loop.target.id == "i" else 0  # type: ignore[attr-defined]
            for part in (n for n in ast.walk(loop) if isinstance(n, ast.BinOp)):
                if isinstance(part.op, ast.Mod | ast.FloorDiv):
                    code = compile(ast.Expression(part.left), "slot", "eval")
                    known = {"i": first, "iterations": 3, "done": 0}
                    if set(code.co_names) <= known.keys():
                        assert eval(code, {}, known) >= 0  # noqa: S307 - of our own text
                        checked += 1
    assert checked > 3


@pytest.mark.parametrize("columns", [16, 32, 64, 128, 512])
def test_half_a_warp_finds_its_numbers_in_different_banks(columns: int) -> None:
    """32-bit numbers as a product leaves them: a thread has two of a row, four threads eight.

    Triton's swizzle: of row r part c lies where part c ^ (r / per_phase % max_phase) would be.
    """
    part, phases = swizzle(columns, 32)
    assert part * phases <= columns
    for first in range(0, columns, 8):
        banks = []
        for row, column in itertools.product(range(4), range(first, first + 8)):
            lies = (column // part ^ row % phases) * part + column % part
            banks.append((row * columns + lies) % 32)
        assert len(set(banks)) == 32


@pytest.mark.slow
@pytest.mark.sample
def test_loops_before_lie_in_slots_even_where_not_all_has_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loop before leaves tiles, which no schedule knows of; rings share bytes with nobody."""
    schedule = solved("attention_forward_diagonal_hopper")
    monkeypatch.setattr(Allocations, "available", property(lambda self: self.bytes_apart() - 1))
    monkeypatch.setattr("twill.emit.epilogue.buffers._check_room", lambda *_: None)
    text = emitted(schedule)
    assert "before_done" in text
    assert "before_smem" not in text


@pytest.mark.slow
def test_a_wait_for_a_product_that_is_known_to_be_over_is_left_out(tmp_path: Path) -> None:
    """In the first round its result, which another product has taken over, is no name yet."""
    loop, machine = load_loop("fa_bwd_hopper"), twill.Machine.named("hopper_h100")
    options = Options(effort=0.5, until="stages")
    schedule = static_schedule(loop, machine, limits={"stages": 1}, options=options)
    file = tmp_path / "kernel.py"
    file.write_text(emitted(schedule))
    computes_what_it_should(emulate(file, iterations=(2, 3), victims=False, capability=HOPPER))


def test_a_kernel_refuses_fewer_iterations_than_stages(tmp_path: Path) -> None:
    name = "attention_forward_blackwell"
    with stand_ins(capability=BLACKWELL):
        module = load(written(name, tmp_path))
        least = module.CONFIG.least_iterations
        assert least >= 2
        arguments, grid = module.make_arguments(least - 1)
        with pytest.raises(ValueError, match=f"at least {least} iterations"):
            module.launch(arguments, grid)


def test_what_has_no_template_is_refused_by_name() -> None:
    schedule = solved("gemm_blackwell")
    loop = schedule.loop
    assert loop.source is not None
    text = loop.source.text.replace('"arith.truncf"', '"arith.unheard"')
    strange = loop.source.model_copy(update={"text": text})
    with pytest.raises(RefusedError, match=r"arith\.unheard at gemm\.py:\d+:\d+ has no template"):
        emitted(schedule.model_copy(update={"loop": loop.model_copy(update={"source": strange})}))
    unknown = schedule.model_copy(update={"loop": loop.model_copy(update={"source": None})})
    with pytest.raises(RefusedError, match="know the kernel around them"):
        emitted(unknown)


def test_what_is_sent_later_than_it_is_made_has_two_names() -> None:
    """A scale is staged in the round after its load, when the next one is there already."""
    schedule = solved("gemm_block_scaled.sm100")
    (program,) = [p for p in schedule.programs if any(i.do == "put" for i in p.body)]
    made = {issue.operation: issue.stage for issue in program.issues}
    late = [i.value for i in program.body if isinstance(i, Put) and i.stage > made[i.value]]
    assert late
    text = emitted(schedule)
    for value in late:
        assert re.search(rf"^ +{value} = {value}_next$", text, re.MULTILINE)
        assert f"{value}_next = gl.load(" in text


def test_a_number_is_loaded_before_the_loop_by_who_needs_it() -> None:
    """The row of an expert's factor, which transfers and nobody else start from."""
    text = emitted(solved("gemm_grouped.sm90"))
    assert text.count("gl.load(expert_ptr + tile_)") == 1
    assert 'tables = {"expert_ptr": lambda place: (2 * place + 1) % 5}' in text


def test_a_row_beside_a_tile_that_is_stored_in_parts_is_computed_for_each() -> None:
    text = emitted(solved("gemm_bias_gelu.sm100"))
    part = (
        r"for begin in gl.static_range\(0, 256, (\d+)\):\n.*\n +bias = gl.load\(bias_ptr \+ column"
    )
    (columns,) = re.findall(part, text)
    assert f"(begin + gl.arange(0, {columns}, gl.SliceLayout(0, " in text


def test_a_kernel_that_stores_nothing_after_its_loop_has_no_stores_to_split(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without room for its buffers side by side it is looked for a smaller part soon."""
    monkeypatch.setattr(Allocations, "available", 0)
    monkeypatch.setattr("twill.emit.epilogue.buffers._check_room", lambda *_: None)
    loop, machine = load_loop("linear_attention_hopper"), twill.Machine.named("hopper_h100")
    assert "allocate_shared_memory" in emitted(baselines.multi_warp(loop, machine))


def test_a_number_of_the_loop_passes_through_shared_memory_as_a_tile_of_one() -> None:
    text = emitted(solved("gemm_block_scaled.sm100"))
    assert re.search(
        r"b_scale_staging = gl\.allocate_shared_memory\(\n? *gl\.float32,\s*\[\d, 1\]", text
    )
    assert re.search(r"\.store\(gl\.full\(\[1\], b_scale, gl\.float32, ", text)
    assert re.search(r"= gl\.sum\(b_scale_staging\.index\(.*\)\.load\(.*\), axis=0\)", text)


@pytest.mark.slow
def test_a_name_of_the_kernel_is_never_taken_twice() -> None:
    """The loop of attention has a value `n`, the number of iterations another name."""
    text = emitted(solved("attention_forward_hopper"))
    assert re.search(r"\bn = n_next\b", text)
    assert "iterations = gl.cdiv(sequence, 128)" in text


def test_what_the_schedule_books_no_registers_for_gets_those_that_are_left() -> None:
    """The copies of a gemm through pointers, in the second partition or in the first."""
    on_hopper = emitted(solved("gemm_pointers_hopper"))
    assert re.search(r"\], \[4\], \[256\]\)", on_hopper)  # and as many for the first
    on_blackwell = emitted(solved("gemm_pointers_blackwell"))
    assert re.search(r"warp_specialize\(\[\n +\(load, arguments\)", on_blackwell)
    assert "def epilogue(" not in on_blackwell


# -- with the compiler -----------------------------------------------------------------------------


@pytest.mark.triton
@pytest.mark.parametrize(
    "name",
    [
        *("gemm_blackwell", "gemm_two_tiles_hopper", "fa_fwd_hopper", "gemm_persistent_blackwell"),
        *("gemm_pointers_hopper", "gemm_pointers_blackwell", "product_with_bias_wide.sm90"),
    ],
)
def test_a_kernel_is_compiled_as_it_is_written(name: str, tmp_path: Path) -> None:
    pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
    from twill import compiled

    found = compiled.check(written(name, tmp_path), 10 * capability(name)[0])
    assert [f"{f.check}: {f.what}" for f in found.findings] == []
    assert len(found.loops) >= 2


@pytest.mark.triton
def test_the_dumps_of_unpackaged_kernels_are_those_of_their_source() -> None:
    pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
    from twill.frontends.triton_dump import dump_kernel

    tile = "tensordesc<fp16[64,{}]>"
    settings = {
        **{f"{name}_desc": tile.format(64) for name in ("x", "first", "second", "y")},
        "width": "i32",
        "M": "64",
        "N": "64",
        "D": "64",
    }
    text = dump_kernel(f"{UNPACKAGED / 'others.py'}:two_layers", settings, 90)
    assert text == (UNPACKAGED / "two_layers.sm90.mlir").read_text()


# -- what the front end keeps ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.sample
def test_every_operand_of_every_packaged_loop_has_a_known_origin() -> None:
    """Each operation of a loop that was dumped names its statements, whose operands SSA has."""
    from twill.emit.source import Source

    dumped = 0
    for name in packaged_loops():
        loop = load_loop(name)
        if loop.source is None:
            assert loop.origin is None or loop.origin.compiler is None
            continue
        body = Source(loop).graph.operations
        for operation in loop.operations:
            statements = loop.source.statements[operation.name]
            assert statements, (name, operation.name)
            assert all(position < len(body) for position in statements)
        dumped += 1
    assert dumped >= 30
