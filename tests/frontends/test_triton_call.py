"""Dumps of an example call are of what Triton compiles for that call: it is asked itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import twill
from twill.frontends.triton_dump import dump_kernel, lower
from twill.frontends.triton_dump import kernel as kernels
from twill.frontends.triton_dump.call import example
from twill.frontends.triton_dump.call import specialized as specialized_by_triton
from twill.frontends.ttgir import extract

triton = pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
torch = pytest.importorskip("torch", reason="the kernels import it, as Triton's tutorials do")
pytestmark = pytest.mark.triton
FILE = Path(__file__).parents[1] / "data" / "kernels" / "as_in_tutorials.py"
SIZES = {"m": 8192, "n": 8192, "k": 4096}
MATMUL = (
    "a_ptr=fp16[8192, 4096], b_ptr=fp16[8192, 4096].T, c_ptr=fp16[8192, 8192]",
    "m=8192, n=8192, k=4096, ACTIVATION='relu'",
)
SCORES = (
    "q_desc=tensordesc(fp16[8192, 64]), k_desc=tensordesc(fp16[8192, 64]), sums_ptr=fp32[8192]",
    "scale=0.5, sequence=128, heads=1, D=64",
)
OPTIONS = ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion", "maxnreg")
KERNELS = """
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seed"])
def plain(x_ptr, n, factor, seed, flag, bias_ptr=None, B: tl.constexpr = 128):
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        y = tl.load(x_ptr + i) * factor + seed
        if bias_ptr is not None:
            y += tl.load(bias_ptr + i)
        if flag:
            tl.store(x_ptr + i, y.to(tl.float16))


@triton.autotune(configs=[triton.Config({"B": 64}, pre_hook=lambda args: 1 / 0)], key=["n"])
@triton.jit
def failing(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0.0)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(KERNELS)
    return path


class Launching(kernels._Driver):
    """A GPU that launches as far as the compiler."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


def asked(call: Any) -> tuple[Any, ...]:
    """Return what Triton's launch hands its compiler: types, constants, attributes, options."""
    seen: list[tuple[Any, ...]] = []

    def compiled(_self: Any, _key: Any, signature: Any, _device: Any, *more: Any) -> None:
        constants, options, attributes, _ = more
        chosen = {name: getattr(options, name) for name in OPTIONS}
        seen.append((signature, constants, attributes, chosen))

    with mock.patch.object(triton.runtime.JITFunction, "_do_compile", compiled):
        call()
    (only,) = seen
    return only


def ours(where: str, settings: Mapping[str, str], like: tuple[str, ...], sm: int) -> Any:
    """Return the same of a dump."""
    seen: list[Any] = []
    true = specialized_by_triton

    def specialized(*arguments: Any) -> Any:
        seen.append(true(*arguments))
        return seen[-1]

    with (
        mock.patch.object(lower, "specialized", specialized),
        mock.patch.object(lower, "dumped", return_value=""),
    ):
        dump_kernel(where, settings, sm, like=like)
    (call,) = seen
    chosen = {name: getattr(call.options, name) for name in OPTIONS}
    return call.signature, call.constants, call.attributes, chosen


def tensor(*shape: int, transposed: bool = False) -> Any:
    made = torch.empty(shape, dtype=torch.float16, device="meta")
    return made.T if transposed else made


@pytest.mark.parametrize("sm", [90, 100])
@pytest.mark.parametrize("depth", [4096, 4090, 1])
def test_a_tuned_kernel_is_compiled_as_it_is_launched(sm: int, depth: int) -> None:
    like = tuple(text.replace("4096", str(depth)) for text in MATMUL)
    kernel, _ = kernels.found(f"{FILE}:matmul", sm)
    a, b, c = tensor(8192, depth), tensor(8192, depth, transposed=True), tensor(8192, 8192)
    strides = [*a.stride(), *b.stride(), *c.stride()]
    arguments = [a, b, c, 8192, 8192, depth, *strides]
    first = kernel.configs[0]
    assert first.num_stages == (3 if sm == 90 else 2)
    with mock.patch.object(triton.runtime.driver, "_active", Launching(sm)):
        theirs = asked(
            lambda: kernel.fn.run(
                *arguments, grid=(1,), warmup=True, ACTIVATION="relu", enable_fp_fusion=True,
                **first.all_kwargs(),
            )
        )  # fmt: skip
    assert ours(f"{FILE}:matmul", {}, like, sm) == theirs
    ones = [name for name, kind in theirs[0].items() if kind == "constexpr" and name.islower()]
    assert {"stride_ak", "stride_bk"} <= set(ones)
    assert ("k" in ones) == (depth == 1)


def test_descriptors_have_the_blocks_of_a_configuration_that_is_not_pruned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kernels.note_once.cache_clear()
    signature, *_, options = ours(f"{FILE}:scores", {}, SCORES, 90)
    assert signature["q_desc"] == "tensordesc<fp16[128, 64]>"
    assert signature["k_desc"] == "tensordesc<fp16[64, 64]>"  # 256 are more than a sequence has
    assert options["num_stages"] == 2
    left_out, configured = capsys.readouterr().err.splitlines()
    assert left_out.startswith(f"twill: {FILE}: what follows scores is left out: ")
    assert configured.startswith("twill: scores: configured by M=128, N=64, num_warps=4, ")
    assert configured.endswith("num_stages=2 (the autotuner has 1; --set chooses)")


@pytest.mark.parametrize(("given", "taken"), [({}, 8), ({"M": "64"}, 4)])
def test_set_chooses_the_configuration(given: dict[str, str], taken: int) -> None:
    _, constants, _, options = ours(f"{FILE}:matmul", given, MATMUL, 90)
    assert options["num_warps"] == taken
    assert constants[12,] == (64 if given else 128)
    assert constants[16,] is True  # of the heuristics


def test_a_dump_of_a_call_is_a_loop() -> None:
    text = dump_kernel(f"{FILE}:matmul", {"M": "64"}, 90, like=MATMUL)
    loop = extract(text, file="matmul.mlir", name="matmul", loop=None)
    loads = [o for o in loop.operations if o.kind == "load"]
    assert len(loads) == 2
    # Along the depth, where strides are 1, each thread has eight elements beside each other.
    assert text.count("sizePerThread = [1, 8]") + text.count("sizePerThread = [8, 1]") >= 1


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({"n": "1", "factor": "0.5", "seed": "16", "flag": "True"}, (1, 0.5, 16, True)),
        ({"n": "16", "factor": "1", "seed": "1", "flag": "1"}, (16, 1, 1, 1)),
        ({"n": "5000000000", "factor": "3", "seed": "-1", "flag": "False"}, (5 * 10**9, 3, -1, 0)),
    ],
)
def test_numbers_are_specialized_as_in_a_call(
    file: Path, settings: dict[str, str], values: tuple[Any, ...]
) -> None:
    kernel, _ = kernels.found(f"{file}:plain", 90)
    flag = values[3] if settings["flag"].isdecimal() else bool(values[3])
    with mock.patch.object(triton.runtime.driver, "_active", Launching(90)):
        theirs = asked(
            lambda: kernel.run(
                tensor(8192), *values[:3], flag, grid=(1,), warmup=True, enable_fp_fusion=True
            )
        )
    given = {"x_ptr": "*fp16", **settings}
    assert ours(f"{file}:plain", given, (), 90) == theirs


def test_a_constant_may_be_made_of_any_argument(file: Path) -> None:
    given = {"x_ptr": "*fp16", "n": "constexpr:4096", "factor": "fp32", "seed": "i32", "flag": "1"}
    signature, constants, *_ = ours(f"{file}:plain", given, (), 90)
    assert signature["n"] == signature["flag"] == "constexpr"
    assert constants[1,] == 4096
    assert "4096 : i32" in dump_kernel(f"{file}:plain", given, 90)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "--like: named arguments such as a=fp16[8192,4096], n=4096 (got 'a')"),
        ("1, a=2", "--like: named arguments"),
        ("a=", "--like: named arguments"),
        ("**a", "--like: named arguments"),
        ("a=1, b=2, a=3", "--like: a is given twice"),
        ("a=fp17[3]", "--like a: nothing named 'fp17'"),
        ("a=fp16[0]", "--like a: ValueError: not a shape: (0,)"),
        ("a=fp16[2].__class__", "--like a: "),
        ("a=open('x')", "--like a: FunctionNotDefined: Function 'open' not defined"),
    ],
)
def test_what_is_no_example_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        example([text])
    assert problem in str(caught.value).replace('"', "'")
    assert "\n" not in str(caught.value)


def test_an_example_says_later_arguments_by_earlier_ones() -> None:
    found = example(["a=float16[64, 32].T, s=a.stride(1)", "n=a.size(0), m=a.shape[1]"])
    assert (found["s"], found["n"], found["m"]) == (32, 32, 64)
    with pytest.raises(twill.InputError, match="n is given twice"):
        example(["n=1", "n=2"])


def test_what_is_missing_or_fails_is_one_line(file: Path) -> None:
    with pytest.raises(twill.InputError, match=r"not set: k_desc \(a type\), sums_ptr"):
        dump_kernel(f"{FILE}:scores", {}, 90, like=[SCORES[0].split(", k_desc")[0]])
    with pytest.raises(twill.InputError, match=r"failing: its autotuner fails \(ZeroDivision"):
        dump_kernel(f"{file}:failing", {"n": "1"}, 90, like=["x_ptr=fp16[64]"])
    with pytest.raises(twill.InputError, match=r"not a parameter: z"):
        dump_kernel(f"{file}:failing", {"n": "i32", "x_ptr": "*fp16"}, 90, like=["z=1"])
    like = ["x_ptr=tensordesc(fp16[64, 64])"]
    settings = {"n": "i32", "factor": "fp32", "seed": "i32", "flag": "1"}
    with pytest.raises(twill.InputError, match=r"x_ptr: a block: tensordesc\(fp16"):
        dump_kernel(f"{file}:plain", settings, 90, like=like)
