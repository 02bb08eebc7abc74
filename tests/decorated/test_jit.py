"""Triton kernels that are called through `twill.jit`, emulated, against NumPy."""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import twill
from tests.support.commands import TWILL, in_process
from tests.support.solved import HOPPER
from twill.base.files import FOLDER_VARIABLE
from twill.compiled.clocks import clocked
from twill.decorated import Kernel, answers, forms, launching
from twill.decorated import kernel as room
from twill.decorated.devices import VARIABLE, Device
from twill.decorated.tensors import HostArray
from twill.frontends.triton_dump.guesses import plausible
from twill.lower.baselines import multi_warp
from twill.studies.timeline import Timeline, by_round

triton = pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
ROOT = Path(__file__).parents[2]
TILE = {"M": 64, "N": 64, "K": 64}
Numbers = np.ndarray[Any, Any]


def _module(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CALLED = _module("tests/data/kernels/called.py")
PRODUCT = _module("traces/kernels/gemm.py").gemm_pointers


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Emulate; note which loops are scheduled, of which a static schedule will do."""
    monkeypatch.setenv(VARIABLE, "1")
    found: list[str] = []

    def static(loop: twill.Loop, machine: twill.Machine, **_: Any) -> twill.Schedule:
        found.append(loop.name)
        return twill.schedule(loop, machine, model="paper", timeout=10.0)

    monkeypatch.setattr(answers, "schedule", static)
    return found


def _jit(kernel: Any, **how: Any) -> Kernel:
    made: Kernel = twill.jit(kernel, machine=HOPPER, **how)
    return made


def _factors(rows: int = 64, columns: int = 64, depth: int = 256) -> tuple[Numbers, ...]:
    draw = np.random.default_rng(0).standard_normal
    a, b = draw((rows, depth)).astype(np.float16), draw((depth, columns)).astype(np.float16)
    return a, b, np.full((rows, columns), np.nan, np.float16)


def _multiply(kernel: Kernel, *tensors: Numbers) -> Numbers:
    a, b, c = tensors
    kernel[len(a) // 64, c.shape[1] // 64](a, b, c, len(b), len(b), c.shape[1], c.shape[1], **TILE)
    return c


def _check(found: Numbers, wanted: Numbers) -> None:
    error = np.abs(found.astype(np.float32) - wanted).max() / np.abs(wanted).max()
    assert error < 2e-3


def _exact(a: Numbers, b: Numbers) -> Numbers:
    product: Numbers = a.astype(np.float32) @ b.astype(np.float32)
    return product


def test_a_product_is_what_numpy_says_for_other_shapes_too(searches: list[str]) -> None:
    kernel = _jit(PRODUCT)
    for rows, columns, depth in ((64, 64, 256), (128, 192, 320), (192, 64, 128)):
        a, b, c = _factors(rows, columns, depth)
        _check(_multiply(kernel, a, b, c), _exact(a, b))
    assert searches == ["gemm_pointers"]
    assert len(kernel.files) == 1


def test_a_product_by_descriptors_that_the_kernel_makes(searches: list[str]) -> None:
    kernel = _jit(_module("tests/data/kernels/integers.py").batched_product, on_refusal="error")
    draw = np.random.default_rng(0).standard_normal
    a, b = draw((2, 72, 136)).astype(np.float16), draw((136, 40)).astype(np.float16)
    c = np.full((2, 72, 40), np.nan, np.float16)
    kernel[2, 1, 2](a, b, c, 72, 40, 136, **TILE)
    _check(c, _exact(a, b))
    assert searches == ["batched_product"]


def test_a_product_whose_programs_have_several_tiles(searches: list[str]) -> None:
    kernel = _jit(_module("tests/data/kernels/integers.py").product_of_tiles, on_refusal="error")
    a, b, c = _factors(200, 136, 136)
    kernel[3,](a, b, c, 200, 136, 136, PROGRAMS=3, **TILE)
    _check(c, _exact(a, b))
    assert searches == ["product_of_tiles"]


def test_other_alignment_is_another_kernel(searches: list[str]) -> None:
    kernel = _jit(PRODUCT)
    a, b, c = _factors()
    _multiply(kernel, a, b, c)
    wide = np.zeros((64, 257), np.float16)
    wide[:, :256] = a
    kernel[1, 1](wide[:, :256], b, c, 256, 257, 64, 64, **TILE)
    _check(c, _exact(a, b))
    assert searches == ["gemm_pointers", "gemm_pointers"]


@pytest.mark.slow
def test_attention_by_descriptors_of_another_shape_than_their_tensors(searches: list[str]) -> None:
    kernel = _jit(_module("traces/kernels/attention_forward.py").attention_forward)
    for heads, length in ((2, 320), (1, 384), (3, 448)):
        _attention(kernel, heads, length, 64)
    assert searches == ["attention_forward"]


def _attention(kernel: Kernel, heads: int, length: int, tile: int, depth: int = 64) -> None:
    """Call attention forward with tiles of as many queries as keys, and check it."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    draw = np.random.default_rng(0).standard_normal
    tensors = [draw((heads, length, depth)).astype(np.float16) for _ in range(4)]
    described = [
        TensorDescriptor(HostArray(one), [heads * length, depth], [depth, 1], [tile, depth])
        for one in tensors
    ]
    kernel[length // tile, heads](*described, 0.125, length, M=tile, N=tile, D=depth)
    q, k, v, o = (one.astype(np.float32) for one in tensors)
    scores = np.exp(0.125 * q @ k.transpose(0, 2, 1))
    _check(o, scores / scores.sum(-1, keepdims=True) @ v)


@pytest.mark.slow
def test_all_parts_of_a_tile_are_right(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_parts(*given: Any) -> list[forms.Form]:
        return [one for one in forms.forms(*given) if one.split is not None]

    monkeypatch.setattr(answers, "forms", in_parts)
    monkeypatch.setattr(answers, "schedule", lambda *given, **_: multi_warp(*given))
    kernel = _jit(_module("traces/kernels/attention_forward.py").attention_forward)
    _attention(kernel, 2, 384, 128)
    (file,) = kernel.files
    assert {"s0", "s1"} <= set(re.findall(r"\w+", file.read_text()))
    assert not searches


@pytest.mark.slow
@pytest.mark.parametrize("pointers", [False, True])
def test_causal_attention_as_in_tutorials_has_both_loops_in_one_pipeline(
    searches: list[str], pointers: bool
) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    name = "causal_by_pointers" if pointers else "causal_by_stages"
    others = _module("tests/data/kernels/others.py")
    kernel = _jit(getattr(others, name), on_refusal="error")
    draw, rows = np.random.default_rng(0).standard_normal, 2 * 256
    tensors = [draw((2, 256, 64)).astype(np.float16) for _ in range(4)]
    described = [
        TensorDescriptor(HostArray(one), [rows, 64], [64, 1], [tile, 64])
        for one, tile in zip(tensors, (128, 64, 64, 128), strict=True)
    ]
    logarithms = np.zeros(rows, np.float32)
    given = tensors if pointers else described
    kernel[2, 2](0.125, logarithms, 2, *given, 256, M=128, N=64, D=64)
    queries, keys, values, found = (one.astype(np.float32) for one in tensors)
    scores = np.tril(np.exp(0.125 * queries @ keys.transpose(0, 2, 1)))
    sums = scores.sum(-1, keepdims=True)
    _check(found, scores / sums @ values)
    _check(logarithms, np.log2(sums).ravel())
    assert searches == [name]


def test_the_configuration_that_has_a_kernel_is_used_and_heuristics_run(
    searches: list[str],
) -> None:
    kernel = _jit(CALLED.tuned)
    seen = []

    def grid(constants: dict[str, Any]) -> tuple[int, int]:
        seen.append((constants["M"], constants["N"], constants["BOUND"]))
        return 128 // constants["M"], 128 // constants["N"]

    for depth in (256, 256, 320):  # for another depth, an autotuner tunes again
        a, b, c = _factors(128, 128, depth)
        kernel[grid](a, b, c, depth, depth, 128, 128, K=64)
        _check(c, _exact(a, b) + 128)
    assert seen == [(64, 64, 128)] * 3
    assert set(searches) == {"tuned"}


# -- kept answers ------------------------------------------------------------------------------


def test_an_answer_is_kept_for_the_next_process(searches: list[str]) -> None:
    a, b, c = _factors()
    for _ in range(2):  # nothing but files is shared by two kernels
        _multiply(_jit(PRODUCT), a, b, c)
    assert searches == ["gemm_pointers"]
    _multiply(_jit(PRODUCT, effort="normal"), a, b, c)
    assert searches == ["gemm_pointers"] * 2


def test_a_refusal_is_kept_too(searches: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        with pytest.raises(twill.RefusedError, match="while"):
            _jit(CALLED.halved)[1,](np.zeros(64, np.float32), 63)
        monkeypatch.setattr(forms, "dump_call", None)
    assert not searches


@pytest.mark.parametrize("part", [0.0, 0.1, 0.9])
def test_half_a_file_is_no_answer(part: float, searches: list[str], no_users_cache: Path) -> None:
    a, b, c = _factors()
    _multiply(_jit(PRODUCT), a, b, c)
    (file,) = no_users_cache.glob("kernel_*.py")
    text = file.read_text()
    file.write_text(text[: int(part * len(text))])
    c[:] = 0
    _check(_multiply(_jit(PRODUCT), a, b, c), _exact(a, b))
    assert searches == ["gemm_pointers"] * 2
    assert file.read_text() == text


def test_a_kernel_whose_file_is_gone_is_made_again(
    searches: list[str], no_users_cache: Path
) -> None:
    kernel = _jit(PRODUCT)
    a, b, c = _factors()
    for _ in range(2):
        c[:] = 0
        _check(_multiply(kernel, a, b, c), _exact(a, b))
        (file,) = no_users_cache.glob("kernel_*.py")
        file.unlink()
    assert searches == ["gemm_pointers"] * 2


def test_a_cache_that_cannot_be_written_stops_nothing(
    searches: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    monkeypatch.setenv(FOLDER_VARIABLE, str(nowhere))
    monkeypatch.setattr(answers, "own_folder", lambda: tmp_path / "own")
    a, b, c = _factors()
    _check(_multiply(_jit(PRODUCT), a, b, c), _exact(a, b))
    assert searches


def test_two_threads_look_once(searches: list[str]) -> None:
    kernel = _jit(PRODUCT)
    calls = [_factors(64 * (n + 1)) for n in range(2)]
    threads = [threading.Thread(target=_multiply, args=(kernel, *call)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert searches == ["gemm_pointers"]
    for a, b, c in calls:
        _check(c, _exact(a, b))


# -- before the first call ----------------------------------------------------------------------

DEPLOYED = "tests/data/kernels/deployed.py"
TYPES = (
    *("--set", "a_ptr=*fp16", "--set", "b_ptr=*fp16", "--set", "c_ptr=*fp16"),
    *("--set", "depth=i32:16", "--set", "stride=i32:16", "--set", "M=64", "--set", "N=64"),
)
EXAMPLE = ("--like", "a_ptr=fp16[64,256], b_ptr=fp16[256,64], c_ptr=fp16[64,64], stride=64")


@pytest.mark.parametrize("given", [TYPES, (*EXAMPLE, "--set", "depth=256", *TYPES[-4:])])
def test_a_call_whose_answer_was_built_does_not_search(
    given: tuple[str, ...], searches: list[str]
) -> None:
    made = in_process(*TWILL, "build", f"{ROOT / DEPLOYED}:product", *given)
    assert made.returncode == 0, made.stderr
    assert searches == ["product"]
    kernel = _module(DEPLOYED).product
    a, b, c = _factors()
    kernel[1, 1](a, b, c, 256, 64, M=64, N=64)
    _check(c, _exact(a, b))
    assert searches == ["product"]
    assert str(kernel.files[0]) in made.stdout.replace("\n", "")
    kernel[1, 1](a, b, c, 256, 64, M=64, N=64, K=32)
    assert searches == ["product"] * 2


def test_what_cannot_be_built_is_said(searches: list[str]) -> None:
    wrong: tuple[tuple[str, tuple[str, ...], str], ...] = (
        (f"{ROOT / DEPLOYED}:product", TYPES[:-2], "not set: N (a value)"),
        (f"{ROOT / DEPLOYED}:product", ("--set", "depth=i8", *TYPES), "depth is given twice"),
        (f"{ROOT}/tests/data/kernels/called.py:hiding", (), "name the machine"),
    )
    for where, words, said in wrong:
        found = in_process(*TWILL, "build", where, *words)
        assert found.returncode
        assert said in found.stderr
        assert found.stderr.count("\n") == 1
    hiding = f"{ROOT}/tests/data/kernels/called.py:hiding"
    given = ("-m", HOPPER, "--set", "x_ptr=*fp32", "--set", "load=i32", "--set", "N=128")
    found = in_process(*TWILL, "build", hiding, *given)
    assert found.returncode == 1
    assert "load: an argument of this name has no template" in found.stderr
    assert searches


def test_the_doctor_says_what_becomes_of_a_files_kernels(searches: list[str]) -> None:
    file = str(ROOT / "tests/data/kernels/called.py")
    found = in_process(*TWILL, "doctor", file, "-m", HOPPER, "--set", "K=64")
    tuned, halved, *_ = found.stdout.splitlines()
    assert tuned.startswith("tuned: Triton's own kernel: clusters")
    assert "; assumed a_ptr=*fp16, b_ptr=*fp16" in tuned
    assert "halved: there is no loop but a while loop" in halved
    file = str(ROOT / "traces/kernels/gemm.py")
    given = ("--set", "M=128", "--set", "K=64", "--set", "a_desc=tensordesc<fp16[128,64]>")
    more = ("--set", "b_desc=tensordesc<fp16[64,128]>", "--json")
    told = in_process(*TWILL, "doctor", file, "-m", HOPPER, *given, *more)
    kernels = json.loads(told.stdout)["kernels"]
    said = {one["kernel"]: (one["form"], one["loops"], one["bound_cycles"]) for one in kernels}
    assert said["gemm"] == ("as written", ["k"], 512)
    assert said["gemm_persistent"][:2] == ("as written", ["tile", "k"])
    flag = plausible(_module("tests/data/kernels/others.py").seen_blocks, ())
    assert (flag["MASKED"], flag["M"]) == ("False", "128")
    pointers = plausible(CALLED.hidden, ())
    assert (pointers["part"], pointers["tile_"], pointers["tile"]) == ("*fp16", "*fp16", "i32")
    unnamed = in_process(*TWILL, "doctor", str(ROOT / DEPLOYED), "--set", "M=64", "--set", "N=64")
    assert unnamed.stdout.startswith("product: as written")
    wrong = in_process(*TWILL, "doctor", str(ROOT / DEPLOYED), "--set", "nothing=64")
    assert (wrong.returncode, wrong.stderr.count("--set nothing: no kernel of the file")) == (2, 1)
    assert not searches


# -- refusals ----------------------------------------------------------------------------------

Launched = list[tuple[Any, ...]]


@pytest.fixture
def gpu(searches: list[str], monkeypatch: pytest.MonkeyPatch) -> Launched:
    """Let a GPU be at hand; note the launches of Triton's own kernels."""
    assert not searches
    launched: Launched = []
    machine = twill.Machine.named(HOPPER)
    monkeypatch.setattr(room, "current_gpu", lambda: 0)
    monkeypatch.setattr(room, "gpu_at_hand", lambda _: Device(machine))

    def run(_: Any, *args: Any, grid: Any, **named: Any) -> None:
        launched.append((grid, *args, named))

    monkeypatch.setattr(triton.runtime.JITFunction, "run", run)
    return launched


def test_tritons_own_kernel_runs_where_there_is_no_other(
    gpu: Launched, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = np.zeros(64, np.float32)
    kernel = _jit(CALLED.halved)
    for count in (63, 31):
        kernel[1,](numbers, count)
    assert [(grid, count) for grid, _, count, _ in gpu] == [((1,), 63), ((1,), 31)]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "halved: there is no loop but a while loop" in said
    assert "Triton's own kernel runs" in said
    with pytest.raises(twill.RefusedError, match="while"):
        _jit(CALLED.halved, on_refusal="error")[1,](numbers, 63)
    assert len(gpu) == 2


def test_a_defect_of_twill_stops_no_program(
    gpu: Launched, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("c")

    monkeypatch.setattr(answers, "schedule", broken)
    _multiply(_jit(PRODUCT), *_factors())
    assert len(gpu) == 1
    assert "unexpected KeyError: 'c'" in capsys.readouterr().err


def test_a_gpu_gets_the_arguments_of_the_call(
    gpu: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: Launched = []
    load: Callable[[Path], ModuleType] = launching.__dict__["_module"].__wrapped__

    class Recorded:
        def __getitem__(self, grid: Any) -> Callable[..., None]:
            return lambda *given, num_warps: launched.append((grid, given, num_warps))

    def loaded(file: Path) -> ModuleType:
        module = load(file)
        vars(module)[module.KERNEL] = Recorded()
        return module

    monkeypatch.setattr(launching, "_module", loaded)
    a, b, c = _factors(128, 192, 256)
    _multiply(_jit(PRODUCT), a, b, c)
    ((grid, (one, other, out, *numbers), warps),) = launched
    assert (grid, numbers, warps) == ((2, 3, 1), [256, 256, 192, 192], 4)
    assert [tensor.array is host for tensor, host in ((one, a), (other, b), (out, c))] == [True] * 3
    assert not gpu


def test_arguments_of_which_a_kernel_assumes_otherwise_are_refused(searches: list[str]) -> None:
    kernel = _jit(PRODUCT)
    a, b, c = _factors(64, 64, 64)
    with pytest.raises(twill.RefusedError, match="c_ptr and a_ptr are the same memory"):
        _multiply(kernel, a, b, a)
    with pytest.raises(twill.RefusedError, match="loop has at least"):
        kernel[1, 1](a, b, c, 0, 64, 64, 64, **TILE)
    with pytest.raises(twill.RefusedError, match="load: an argument of this name has no template"):
        _jit(CALLED.hiding)[1,](np.zeros(256, np.float32), 256, N=128)
    assert set(searches) == {"gemm_pointers", "hiding"}


def test_arguments_called_as_something_of_the_emitted_code_are_none_of_it(
    searches: list[str],
) -> None:
    numbers, out = np.arange(8192, dtype=np.float32), np.zeros(256, np.float32)
    kernel = _jit(CALLED.hidden, on_refusal="error")
    kernel[1,](numbers, 8192, 2.0, out, 0, N=128)
    assert (out == 0).all(), "the condition is false"
    kernel[1,](numbers, 8192, 2.0, out, 128, N=128)
    assert (out[:128] == 0).all()
    assert (out[128:] == 2 * numbers.reshape(64, 128).sum(0)).all()
    assert searches == ["hidden"]


def test_a_global_that_changed_is_refused_as_by_triton(
    searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, numbers = _jit(CALLED.constant, on_refusal="error"), np.ones(8192, np.float32)
    kernel[1,](numbers, 8192, N=128)
    assert set(numbers) == {128, 1}
    monkeypatch.setattr(CALLED, "FACTOR", triton.language.constexpr(3))
    with pytest.raises(twill.InputError, match="FACTOR has changed"):
        kernel[1,](numbers, 8192, N=128)
    assert searches == ["constant"]


def test_without_a_gpu_it_says_how_to_emulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(twill.InputError, match=f"no GPU; {VARIABLE}=1 emulates"):
        _multiply(_jit(PRODUCT), *_factors())
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(twill.InputError, match="machine: without a GPU, name the one to emulate"):
        _multiply(twill.jit(PRODUCT), *_factors())


def test_the_first_call_on_a_gpu_writes_its_timeline(
    gpu: Launched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A GPU on which a read of the clock takes a cycle; what it is compared with is not run."""
    load: Callable[[Path], ModuleType] = launching.__dict__["_module"].__wrapped__
    launched: list[str] = []

    class Clocks(np.ndarray):
        def data_ptr(self) -> int:
            return int(self.ctypes.data)

    class Recorded:
        def __getitem__(self, grid: Any) -> Callable[..., None]:
            return self.run

        def run(self, first: Any, *others: Any, num_warps: int) -> None:
            assert num_warps == 4
            launched.append(type(first).__name__)
            if isinstance(first, Clocks):
                assert len(others) == 7  # of the kernel
                first[:] = np.arange(1, len(first) + 1)

    def loaded(file: Path) -> ModuleType:
        module = load(file)
        vars(module)[module.KERNEL] = Recorded()
        return module

    def compared(file: Path, *, on_gpu: Callable[..., Any]) -> Timeline:
        made = clocked(file.read_text())
        device, (numbers,) = on_gpu(made)
        cycles = by_round(made, numbers)
        return Timeline(file.name, device, made.places, cycles, cycles)

    cuda = SimpleNamespace(get_device_name=lambda: "NVIDIA H200", synchronize=lambda: None)
    monkeypatch.setattr(launching, "_module", loaded)
    monkeypatch.setattr("twill.studies.timeline.timeline", compared)

    def zeros(size: int, **_: Any) -> Clocks:
        return np.zeros(size, np.int64).view(Clocks)

    torch = SimpleNamespace(zeros=zeros, int64=None, cuda=cuda)
    found = SimpleNamespace(import_module=lambda _: torch)
    monkeypatch.setattr(launching, "importlib", found)
    file = tmp_path / "timeline.json"
    kernel = _jit(PRODUCT, timeline=file)
    for _ in range(2):
        _multiply(kernel, *_factors())
    assert launched == ["Clocks", "HostArray"]
    assert "NVIDIA H200" in file.read_text()
    assert not gpu


def test_wrong_uses_are_told() -> None:
    with pytest.raises(twill.InputError, match=r"triton\.jit is needed"):
        twill.jit(len)
    with pytest.raises(twill.InputError, match="effort: one of quick, normal, thorough"):
        twill.jit(PRODUCT, effort=cast("Any", "much"))
    assert isinstance(twill.jit(effort="quick")(PRODUCT), Kernel)


def test_machines_are_found_from_devices() -> None:
    of = room.__dict__["gpu_at_hand"].__globals__["_machine_of"]
    assert [
        of(*told).name
        for told in (("90", "NVIDIA H200"), ("90", "NVIDIA H100 80GB HBM3"), ("100", "NVIDIA B200"))
    ] == ["hopper_h200", "hopper_h100", "blackwell_b200"]
    with pytest.raises(twill.InputError, match="no packaged machine is sm_80"):
        of("80", "NVIDIA A100")
