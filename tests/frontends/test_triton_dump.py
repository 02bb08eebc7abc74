"""The door to Triton: packaged dumps again, and a user's own kernel."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

import twill
from tests.validation.make_ttgir import SIGNATURES, settings_of
from twill.frontends.triton_dump import dump_kernel, lower
from twill.frontends.ttgir.reader import Dump, name_of, string

# Earlier versions place some operations elsewhere in a line, and their interpreter fails with the
# scalars of NumPy 2.4; dumping works from 3.6 on.
triton = pytest.importorskip("triton", minversion="3.9", reason="needs Triton 3.9")
pytestmark = pytest.mark.triton
ROOT = Path(__file__).parents[2]
MINE = (ROOT / "tests" / "data" / "kernels" / "mine.py").read_text()
SCALE = {"x_ptr": "*fp16", "y_ptr": "*fp16", "n": "i32:16", "factor": "fp32"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def message(where: str, settings: dict[str, str], architecture: int = 90, **more: Any) -> str:
    with pytest.raises(twill.InputError) as caught:
        dump_kernel(where, settings, architecture, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_packaged_dumps_are_what_triton_makes() -> None:
    made_with = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text().split(",")[0]
    if made_with != f"// triton {triton.__version__}":
        pytest.skip(f"the dumps were made with {made_with.removeprefix('// ')}")
    command = [sys.executable, "-m", "tests.validation.make_ttgir", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["same"] * 61


def test_own_kernel(file: Path) -> None:
    text = dump_kernel(f"{file}:scale", SCALE, 90)
    dump = Dump(text)
    (loop,) = dump.loops()
    assert (dump.kernel, dump.architecture, dump.warps) == ("scale", "sm_90", 4)
    assert string(loop, "sched.name") == "start"
    assert str(string(loop, "sched.location")).startswith("mine.py:7:")
    (store,) = [o for o in loop.walk() if name_of(o) == "tt.store"]
    assert string(store, "sched.location") == "mine.py:9:9"
    assert dump.type_of(store.operands[1]).shape == (128,)
    # Pointers are taken to be aligned, an integer only if the setting says so.
    assert text.count("tt.divisibility = 16") == 3


def test_settings_reach_the_kernel(file: Path) -> None:
    settings = {**SCALE, "y_ptr": "*fp32", "n": "i32", "B": "256", "T": "tl.float32"}
    text = dump_kernel(f"{file}:scale", settings, 100, num_warps=8)
    dump = Dump(text)
    (store,) = [o for o in dump.loops()[0].walk() if name_of(o) == "tt.store"]
    stored = dump.type_of(store.operands[1])
    assert (stored.shape, stored.dtype) == ((256,), "f32")
    assert "arith.truncf" not in text
    assert (dump.architecture, dump.warps) == ("sm_100", 8)
    assert text.count("tt.divisibility = 16") == 2


def test_a_packaged_kernel_as_a_users_own() -> None:
    tile = "tensordesc<fp16[128, 64]>"
    settings = {
        "a_desc": tile,
        "b_desc": "tensordesc<fp16[64,256]>",
        "c_desc": "tensordesc<fp16[128,256]>",
        "depth": "i32",
        "M": "128",
        "N": "256",
        "K": "64",
    }
    text = dump_kernel(f"{ROOT}/traces/kernels/gemm.py:gemm", settings, 90)
    assert text == (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()


def test_below_autotuning(file: Path) -> None:
    text = dump_kernel(f"{file}:tuned", {"x_ptr": "*fp32", "n": "i32", "B": "64"}, 90)
    assert "tensor<64xf32" in text


def test_everything_that_is_not_set_is_named_at_once(file: Path) -> None:
    assert message(f"{file}:scale", {"x_ptr": "*fp16", "Q": "2"}) == (
        f"{file}:scale: not set: y_ptr (a type), n (a type), factor (a type); not a parameter: "
        f"Q; for example: twill loop dump {file}:scale --sm 90 --set 'x_ptr=*fp16' "
        "--set 'y_ptr=*fp16' --set n=i32 --set factor=i32"
    )


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("B", "abc", "B: 'abc' is not a Python literal"),
        ("B", "tl.nothing", "B: 'tl.nothing' is not a Python literal"),
        ("n", "int", "n: 'int' is not a Triton type such as tensordesc<fp16[128,64]>"),
        ("x_ptr", "fp16*", "x_ptr: 'fp16*' is not a Triton type"),
        ("factor", "fp32:16", "factor: 'fp32:16' is not a Triton type"),
    ],
)
def test_wrong_settings(file: Path, name: str, value: str, problem: str) -> None:
    assert problem in message(f"{file}:scale", {**SCALE, name: value})


def test_what_is_no_kernel(file: Path, tmp_path: Path) -> None:
    kernels = "kernels are scale, tuned, ranged, caller, undefined"
    assert message(f"{file}:plain", {}) == (
        f"{file}: plain: not decorated with triton.jit; {kernels}"
    )
    assert message(f"{file}:nope", {}) == f"{file}: nope: there is no such kernel; {kernels}"
    assert message(f"{tmp_path}/none.py:k", {}) == f"{tmp_path}/none.py: no such file"
    assert message(f"{file}", {}) == f"{file}: not a kernel; name one as FILE.py:KERNEL"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f(:", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("raise SystemExit", "SystemExit"),
        ("raise ValueError('a\\nb')", "ValueError: a b"),
    ],
)
def test_files_that_cannot_be_imported(tmp_path: Path, text: str, reason: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(text)
    before = list(sys.path)
    assert message(f"{broken}:k", {}) == f"{broken}: cannot be imported: {reason}"
    assert sys.path == before
    assert "broken_to_dump" not in sys.modules


def test_what_triton_refuses_is_one_line_with_its_place(file: Path) -> None:
    settings = {"x_ptr": "*fp32", "B": "60"}
    assert message(f"{file}:caller", settings) == (
        f"{file}:26: Triton refuses it: ValueError: arange's range must be a power of 2"
    )
    assert message(f"{file}:undefined", {"x_ptr": "*fp32"}) == (
        f"{file}:31: Triton refuses it: NameError('nothing is not defined')"
    )


def test_the_interpreter_is_noticed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert message(f"{file}:scale", SCALE).startswith("TRITON_INTERPRET is set")


def test_a_loop_that_asks_for_specialization_is_as_any_other(tmp_path: Path) -> None:
    """Triton's pass for it fails for some kernels, and is not run."""
    source = (ROOT / "traces" / "kernels" / "attention_forward.py").read_text()
    settings = settings_of(SIGNATURES["attention_forward"], {"M": 64, "N": 128, "D": 128})
    found = []
    for more in ("", ", warp_specialize=True"):
        loop = f"tl.range(0, sequence, N{more})"
        (tmp_path / "kernel.py").write_text(source.replace("range(0, sequence, N)", loop))
        found.append(dump_kernel(f"{tmp_path / 'kernel.py'}:attention_forward", settings, 90))
    plain, asking = (text.count("sched.stage") for text in found)
    assert "warp_specialize" in found[1]
    assert plain == asking > 10


def test_triton_specializes_attention_as_the_packaged_order_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does what, rings, and the order of products and of loads, in the IR of its own pass."""
    source = (ROOT / "traces" / "kernels" / "attention_forward.py").read_text()
    asked = source.replace(
        "range(0, sequence, N)", "tl.range(0, sequence, N, warp_specialize=True)"
    )
    (tmp_path / "kernel.py").write_text(asked)
    specialized = {100: "add_optimize_partition_warps"}  # the pass after it and the pipeliner

    def lines(lowering: lower.Lowering) -> str:
        return "\n".join(lower._listing_before(specialized, lowering, canonical=False).lines)

    monkeypatch.setattr(lower, "dumped", lines)
    monkeypatch.setattr(lower, "LEFT_OUT", ())
    settings = settings_of(SIGNATURES["attention_forward"], {"M": 128, "N": 128, "D": 128})
    text = dump_kernel(f"{tmp_path / 'kernel.py'}:attention_forward", settings, 100)
    specialize = text[text.index('"ttg.warp_specialize"') :]
    roles = [part for part in re.split(r"\n *\}, \{\n", specialize) if '"scf.for"' in part]
    ahead, rounds = zip(*(part.split('"scf.for"') for part in roles), strict=True)
    softmax, correction, products, loads = rounds
    softmax, tile = softmax.split('"scf.yield"')[0], "-> tensor<128x128xf32"
    order = twill.load_schedule("triton_attention_forward")
    assert [g.name for g in order.groups] == ["load", "mma", "softmax", "correction"]
    assert [order.assignment[o] for o in ("s", "p", "o.tmem_store")] == ["softmax"] * 3
    assert softmax.count("math.exp2") == 2
    assert [softmax.count(f"ttng.tmem_{what}") for what in ("load", "store")] == [1, 1]
    assert order.assignment["o.tmem_store2"] == "correction"
    assert [correction.count(f"ttng.tmem_{what}") for what in ("load", "store")] == [1, 1]
    assert any("arith.mulf" in line and tile in line for line in correction.splitlines())
    later, first = issued(products, "ttng.tc_gen5_mma")
    assert first.startswith("q_")
    assert not later.startswith("q_")
    assert [o[:2] for o in issued(loads, "ttng.async_tma_copy_global_to_local")] == ["v_", "k_"]
    for group, operations in (("mma", ["o", "s.mma"]), ("load", ["v", "k"])):
        (body,) = [program.body for program in order.programs if program.group == group]
        ours = [(action.operation, action.stage) for action in body if action.do == "issue"]
        assert ours == [(operations[0], 2), (operations[1], 0)]
    # Two rounds ahead, as many of each are issued before the loop.
    assert len(issued(ahead[2], "ttng.tc_gen5_mma")) == 2
    assert len(issued(ahead[3], "ttng.async_tma_copy_global_to_local")) == 2
    slots = {storage.value: storage.slots for storage in order.storage}
    assert (slots["k"], slots["v"], slots["s.mma"]) == (3, 3, 2)
    allocated = Counter(re.findall(r"_alloc\"\(.*-> .*memdesc<(\dx128x128xf\d+), #", text))
    assert allocated["3x128x128xf16"] == 2  # keys and values
    assert allocated["2x128x128xf32"] == 1  # scores


def issued(text: str, operation: str) -> list[str]:
    """Return the first operands of what is issued."""
    return re.findall(rf'"{re.escape(operation)}"\(%(\w+)', text)


def test_compilations_of_other_threads_keep_their_passes() -> None:
    added: list[str] = []
    homes = [SimpleNamespace(add_first=added.append, add_last=added.append) for _ in range(5)]
    libtriton = SimpleNamespace(
        passes=SimpleNamespace(ttir=homes[0], ttgpuir=homes[1], common=homes[2]),
        nvidia=SimpleNamespace(passes=SimpleNamespace(ttnvgpuir=homes[3], hopper=homes[4])),
    )
    with lower._stopped_before(cast("ModuleType", libtriton), "add_last"):
        homes[0].add_first("own")
        homes[1].add_last("own, too late")
        other = threading.Thread(target=lambda: homes[1].add_last("of another"))
        other.start()
        other.join()
    homes[1].add_last("afterwards")
    assert added == ["own", "of another", "afterwards"]
