"""Kernels of many shapes through the steps of `twill.jit`, emulated, against NumPy.

``python -m tests.validation.shapes`` prints a line a shape; ``--record`` also writes
``traces/results/shapes.csv`` for `tests.validation.tables`. Schedules are static, or of quick
effort where these are refused; ``--effort`` searches for the fastest program of each, which takes
minutes. Words choose kernels. Needs Triton and PyTorch.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

import twill
from tests.support.solved import solved_once
from tests.validation.tables import ROOT, record
from twill.artifacts.loop import Loop
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError, TwillError
from twill.base.executors import local
from twill.decorated.calls import Calls
from twill.decorated.devices import Device
from twill.decorated.forms import Form, fastest, forms
from twill.decorated.launching import launch
from twill.frontends.triton_dump.kernel import gpu_of
from twill.studies.judged import Judged, judged_file

MACHINE = "hopper_h100"
ARCHITECTURE = 90
STATIC = "static"
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-9}  # half of a unit in the last place
ROUNDINGS = 4  # of the largest value of an output that an error may be
Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Shape:
    """A call of a kernel.

    Attributes
    ----------
    kernel : str
        Its file below the clone, and its name.
    dtype : str
        PyTorch's name of the elements.
    width : int
        Elements of a head, or the depth of a product.
    tile : tuple of int
        Constants M and N.
    lengths : tuple of int
        Rows of each sequence.
    heads, group : int
        Heads of the queries, and how many of them share keys and values.
    """

    kernel: str
    dtype: str
    width: int
    tile: tuple[int, int]
    lengths: tuple[int, ...] = (384,)
    heads: int = 2
    group: int = 1

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.rpartition(":")[2]

    @property
    def block(self) -> int:
        """Columns of a tile, a power of two."""
        return 1 << (self.width - 1).bit_length()

    @property
    def row(self) -> dict[str, str]:
        """The shape as a table has it."""
        width = "192 / 128" if self.name == "attention_wide_keys" else f"{self.width}"
        return {
            "kernel": self.name,
            "D": width if self.name.startswith("attention") else "",
            "type": self.dtype,
            "heads": f"{self.heads}" if self.group == 1 else f"{self.heads} of {self.group} a key",
            "length": ", ".join(map(str, self.lengths)),
            "tile": " x ".join(map(str, self.tile)),
        }


@dataclass(frozen=True)
class Case:
    """Arguments of a call, and what it is to write: pairs of a tensor and its values."""

    grid: tuple[int, ...]
    arguments: Mapping[str, Any]
    wanted: tuple[tuple[Any, Numbers], ...]


# -- calls -----------------------------------------------------------------------------------------


def _drawn(shape: Shape, *sizes: int) -> Any:
    import torch

    draw = np.random.default_rng(sum(sizes)).standard_normal(sizes)
    return torch.from_numpy(draw).to(getattr(torch, shape.dtype))


def _empty(shape: Shape, *sizes: int) -> Any:
    import torch

    return torch.full(sizes, float("nan"), dtype=getattr(torch, shape.dtype))


def _described(tensor: Any, *block: int) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), list(block))


def _exact(tensor: Any) -> Numbers:
    found: Numbers = tensor.double().numpy()
    return found


def _attended(q: Numbers, k: Numbers, v: Numbers, *, causal: bool = False) -> Numbers:
    weights = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    weights = np.tril(weights) if causal else weights
    found: Numbers = weights / weights.sum(1, keepdims=True) @ v
    return found


def _by_heads(shape: Shape, wide: int, undivided: bool) -> Case:
    """Return a call with heads that lie below each other, or in a dimension of their own."""
    (length,), (m, n), d = shape.lengths, shape.tile, shape.block
    keys = shape.heads // shape.group
    q, k = (_drawn(shape, h, length, shape.width + wide) for h in (shape.heads, keys))
    v, o = _drawn(shape, keys, length, shape.width), _empty(shape, shape.heads, length, shape.width)
    causal = "causal" in shape.name
    exact = [
        _attended(*map(_exact, (q[h], k[h // shape.group], v[h // shape.group])), causal=causal)
        for h in range(shape.heads)
    ]
    given: dict[str, Any] = {"scale": (shape.width + wide) ** -0.5, "M": m, "N": n, "D": d}
    tensors = {"q_desc": (q, m, d), "k_desc": (k, n, d), "v_desc": (v, n, d), "o_desc": (o, m, d)}
    if wide:
        tensors |= {"q_rest_desc": (q, m, wide), "k_rest_desc": (k, n, wide)}
        given["REST"] = wide
    for name, (tensor, rows, columns) in tensors.items():
        block, shown = ((1,), tensor) if undivided else ((), tensor.flatten(0, 1))
        given[name] = _described(shown, *block, rows, columns)
    given["length" if undivided else "sequence"] = length
    if shape.group > 1 or undivided:
        given["group"] = shape.group
    wanted = [(o, np.stack(exact))]
    if shape.name == "attention_grouped":
        lse = given["lse_ptr"] = _empty(shape, shape.heads, length).float()
        scores = [
            np.exp(_exact(q[h]) @ _exact(k[h // shape.group]).T * given["scale"])
            for h in range(shape.heads)
        ]
        wanted += [(lse, np.log2(np.stack(scores).sum(2)))]
    return Case((-(-length // m), shape.heads), given, tuple(wanted))


def _varied(shape: Shape) -> Case:
    """Return a call with sequences of various lengths below each other, and heads side by side."""
    import torch

    (m, n), d, columns = shape.tile, shape.block, shape.heads * shape.width
    ends = list(itertools.accumulate(shape.lengths, initial=0))
    q, k, v = (_drawn(shape, ends[-1], columns) * 1 for _ in range(3))
    k, v = k.flip(0), v.flip(1)
    o = _empty(shape, ends[-1], columns)
    exact = np.full(o.shape, np.nan)
    for first, end in itertools.pairwise(ends):
        for left in range(0, columns, shape.width):
            part = slice(first, end), slice(left, left + shape.width)
            exact[part] = _attended(*(_exact(one[part]) for one in (q, k, v)))
    given = {
        "q_desc": _described(q, m, d),
        "k_desc": _described(k, n, d),
        "v_desc": _described(v, n, d),
        "o_ptr": o,
        "lengths_ptr": torch.tensor(ends, dtype=torch.int32),
        "scale": shape.width**-0.5,
        "stride": columns,
        "M": m,
        "N": n,
        "D": d,
    }
    grid = (-(-max(shape.lengths) // m), shape.heads, len(shape.lengths))
    return Case(grid, given, ((o, exact),))


def _backward(shape: Shape) -> Case:
    """Return a call of attention backward."""
    import torch

    (length,), (m, n), d = shape.lengths, shape.tile, shape.block
    q, k, v, do = (_drawn(shape, shape.heads, length, shape.width) for _ in range(4))
    k, v, do = k.flip(1), v.flip(2), do.flip(1, 2)
    scale = shape.width**-0.5
    exact = [one.double().requires_grad_() for one in (q, k, v)]
    scores = exact[0] @ exact[1].mT * scale
    attended = scores.softmax(-1) @ exact[2]
    attended.backward(do.double())
    sums = (scores.exp().sum(-1).log2().detach(), (attended * do).sum(-1).detach())
    lse, delta = (one.float().flatten() for one in sums)
    dk, dv = (_empty(shape, shape.heads * length, shape.width) for _ in range(2))
    dq = torch.zeros(shape.heads * length, shape.width)
    tiles = {"q": (q, m), "k": (k, n), "v": (v, n), "do": (do, m)}
    tiles |= {"dq": (dq, m), "dk": (dk, n), "dv": (dv, n)}
    given = {
        f"{name}_desc": _described(tensor.contiguous().view(-1, shape.width), rows, d)
        for name, (tensor, rows) in tiles.items()
    }
    given |= {"lse_ptr": lse, "delta_ptr": delta, "scale": scale, "sequence": length}
    given |= {"M": m, "N": n, "D": d, "SWAPPED": True}
    grads = (one.grad.numpy().reshape(-1, shape.width) for one in exact if one.grad is not None)
    return Case((length // n, shape.heads), given, tuple(zip((dq, dk, dv), grads, strict=True)))


def _product(shape: Shape) -> Case:
    """Return a call of a product with as many columns as rows."""
    (length,), (m, n) = shape.lengths, shape.tile
    a, b = _drawn(shape, length, shape.width), _drawn(shape, shape.width, length)
    c = _empty(shape, length, length)
    given = {
        "a_desc": _described(a, m, 64),
        "b_desc": _described(b, 64, n),
        "c_desc": _described(c, m, n),
        "depth": shape.width,
        "M": m,
        "N": n,
        "K": 64,
    }
    grid = (-(-length // m), -(-length // n))
    return Case(grid, given, ((c, _exact(a) @ _exact(b)),))


def case_of(shape: Shape) -> Case:
    """Return the call of a shape."""
    if shape.name == "attention_varied":
        return _varied(shape)
    if shape.name.startswith("attention_backward"):
        return _backward(shape)
    if shape.name.startswith("gemm"):
        return _product(shape)
    wide = 64 if shape.name == "attention_wide_keys" else 0
    return _by_heads(shape, wide, shape.name == "attention_undivided")


# -- rows ------------------------------------------------------------------------------------------


def tried(shape: Shape, effort: str | None = None) -> dict[str, Any]:
    """Return the row of a shape: how it was scheduled, its machine code, and whether it is right.

    `effort`: of `twill.schedule`. Without it a static schedule is taken, and ``quick`` is tried
    where that is refused.
    """
    row: dict[str, Any] = {**shape.row, "form": "", "schedule": "", "cycles": None}
    row |= {"as written": None, "right": False, "error": "", "note": ""}
    machine, case = twill.Machine.named(MACHINE), case_of(shape)
    try:
        kernel = _kernel(shape)
        call = Calls(kernel, ARCHITECTURE).bound((), case.arguments)
        with gpu_of(ARCHITECTURE, ""):
            found = forms(kernel, call.arguments, call.options, machine)
        for how in (effort,) if effort else (STATIC, "quick"):
            with contextlib.suppress(RefusedError):
                text, row["form"] = _scheduled(found, machine, how)
                row["schedule"] = how
                break
        else:
            text, row["form"] = _scheduled(found, machine, how)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kernel.py"
            file.write_text(text)
            row |= _judged(judged_file(file, machine))
            launch(file, call, case.grid, Device(machine, emulated=True))
    except TwillError as error:
        return {**row, "note": str(error)}
    wrong = max(_error(_exact(got), wanted) for got, wanted in case.wanted)
    return {**row, "error": f"{wrong:.1e}", "right": wrong < ROUNDINGS * ROUNDING[shape.dtype]}


def _scheduled(found: Sequence[Form], machine: twill.Machine, how: str) -> tuple[str, str]:
    """Return the kernel of the fastest form, and the form in words."""
    made: dict[str, str] = {}

    def solved(loop: Loop) -> tuple[Schedule, str]:
        schedule = (
            solved_once(loop, machine, effort=0.5)
            if how == STATIC
            else twill.schedule(loop, machine, effort=cast("Any", how))
        )
        text = twill.emit(schedule)
        made[text] = str(next(form for form in found if form.loop is loop))
        return schedule, text

    text = fastest(found, solved)
    return text, made[text]


def _judged(judged: Judged) -> dict[str, Any]:
    """Return what a row says of the machine code."""
    cycles = judged.cycles
    wrong = "; ".join(one.what for one in judged.made.findings)
    return {
        "as written": judged.as_written,
        "cycles": None if cycles is None or wrong else round(cycles),
        "note": wrong or judged.unpredicted,
    }


def _kernel(shape: Shape) -> Any:
    file, _, name = shape.kernel.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)[name]


def _error(got: Numbers, wanted: Numbers) -> float:
    """Return the largest error in parts of the largest value; infinite where none was written."""
    error = np.abs(got.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()
    return float(error) if np.isfinite(error) else float("inf")


def shapes() -> Iterator[Shape]:
    """Yield every shape of the table."""
    forward, causal = (
        f"traces/kernels/attention_forward:attention_forward{kind}" for kind in ("", "_causal")
    )
    own = "tests/data/kernels/shapes:attention"
    for dtype in ROUNDING:
        for kernel in (forward, causal):
            yield Shape(kernel, dtype, 64, (64, 64))
            yield Shape(kernel, dtype, 96, (64, 64))
            yield Shape(kernel, dtype, 128, (128, 64))
            yield Shape(kernel, dtype, 256, (64, 64))
        yield Shape(f"{own}_wide_keys", dtype, 128, (64, 64))
        grouped = "traces/gallery/attention_grouped:attention_grouped"
        yield Shape(grouped, dtype, 128, (64, 128), heads=4, group=2)
        yield Shape(f"{own}_undivided", dtype, 128, (64, 64), (333,), heads=4, group=2)
        yield Shape(f"{own}_varied", dtype, 128, (64, 64), (333, 70, 205))
        backward = "traces/kernels/attention_backward:attention_backward"
        yield Shape(backward, dtype, 64, (64, 128))
        yield Shape("traces/kernels/gemm:gemm", dtype, 328, (128, 128), (200,))


def main() -> None:
    """Print the rows, and write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", help="words of the names of those that are tried")
    parser.add_argument("--effort", help="of the search; static schedules without it")
    parser.add_argument("--jobs", type=int, default=1, help="shapes at a time")
    parser.add_argument("--record", action="store_true", help="write traces/results/shapes.csv")
    given = parser.parse_args()
    asked = [s for s in shapes() if not given.kernels or any(w in str(s) for w in given.kernels)]
    rows = []
    with local(given.jobs) as pool:
        each = map if pool is None else pool.map
        for row in each(functools.partial(tried, effort=given.effort), asked):
            print(*row.values(), sep=" | ", flush=True)
            rows.append(row)
    if given.record:
        record("shapes", MACHINE, rows)


if __name__ == "__main__":
    main()
