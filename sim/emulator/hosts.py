"""Stand-ins for `torch`, `triton` and `pytest`, and kernel files that are loaded with them."""

from __future__ import annotations

import codecs
import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from twill.base.errors import InputError
from twill.base.files import read_bytes
from twill.sim.emulator import (
    barriers,
    float2,
    language,
    products,
    pytorch,
    tensors,
    transfers,
)
from twill.sim.emulator.accesses import Actor
from twill.sim.emulator.kernels import GLUON, aggregate, jit
from twill.sim.emulator.layouts import (
    Layout,
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    linear_layout,
)
from twill.sim.emulator.machine import Session, machine, running
from twill.sim.emulator.memory import Memory, allocate_tensor

SM_COUNT = 2
"""Multiprocessors that the host finds, so that persistent kernels have several tiles."""


class _Accepted:
    """Names in kernel files that have no effect here: decorators, markers, benchmarks."""

    def __call__(self, *given: Any, **_: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _assert_close(
    actual: Any, expected: Any, *, rtol: float = 0, atol: float = 0, **_: Any
) -> None:
    np.testing.assert_allclose(
        actual.data.astype(np.float64), expected.data.astype(np.float64), rtol=rtol, atol=atol
    )


def _fence(**_: Any) -> None:
    machine().accesses.fence(Actor(machine().current.number, "threads").partition)


def _module(name: str, offered: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(offered, __path__=[])
    return module


def _device() -> dict[str, dict[str, Any]]:
    """Return what kernel files import for kernels, by module."""
    mbarrier = SimpleNamespace(**barriers.OFFERED)
    tma = SimpleNamespace(**transfers.OFFERED)
    nvidia = {"mbarrier": mbarrier, "tma": tma, "fence_async_shared": _fence}
    blackwell = {
        **nvidia,
        **products.BLACKWELL,
        **{name: language.OFFERED[name] for name in ("add2", "sub2", "mul2", "fma2")},
        "TensorMemoryLayout": TensorMemoryLayout,
        "TensorMemoryScalesLayout": TensorMemoryScalesLayout,
        "allocate_tensor_memory": allocate_tensor,
        "tensor_memory_descriptor": Memory,
        "tensor_memory_descriptor_type": _TensorMemoryType,
        "get_tmem_reg_layout": lambda _, shape, *__, **___: linear_layout(list(shape)),
        "get_tmem_32x32b_reg_layout": lambda *_, **__: Layout(),
    }
    gl = "triton.experimental.gluon.language"
    return {
        "triton.language": language.OFFERED,
        "triton.language.core": {"_aggregate": aggregate},
        "triton.experimental": {},
        "triton.experimental.gluon": GLUON,
        gl: language.OFFERED,
        f"{gl}.nvidia": {},
        f"{gl}.nvidia.ampere": {"async_copy": SimpleNamespace(**transfers.COPIES)},
        f"{gl}.nvidia.hopper": {**nvidia, **products.HOPPER},
        f"{gl}.nvidia.hopper.mbarrier": vars(mbarrier),
        f"{gl}.nvidia.hopper.tma": vars(tma),
        f"{gl}.nvidia.blackwell": blackwell,
        f"{gl}.nvidia.blackwell.float2": float2.OFFERED,
    }


def _host(session: Session, *, real: bool) -> dict[str, dict[str, Any] | ModuleType]:
    """Return what kernel files import for hosts, by module.

    `real`: whether PyTorch itself.
    """
    target = SimpleNamespace(backend="cuda", arch="{}{}".format(*session.capability))
    active = SimpleNamespace(get_current_target=lambda: target)
    cuda = SimpleNamespace(
        is_available=lambda: False,
        get_device_capability=lambda *_: session.capability,
        get_device_properties=lambda *_: SimpleNamespace(multi_processor_count=SM_COUNT),
        current_device=lambda: 0,
        synchronize=lambda: None,
    )
    accepted = ("Config", "autotune", "knobs", "testing")
    triton = {
        **{name: _Accepted() for name in accepted},
        "cdiv": lambda x, y: -(-x // y),
        "jit": jit,
        "next_power_of_2": lambda n: 1 << (n - 1).bit_length(),
        "runtime": SimpleNamespace(driver=SimpleNamespace(active=active)),
        "set_allocator": lambda _: None,
    }
    descriptor = {"TensorDescriptor": transfers.TensorDescriptor}
    torch: dict[str, dict[str, Any] | ModuleType] = {
        "torch": {**tensors.OFFERED, "cuda": cuda, "nn": _Accepted()},
        "torch.testing": {"assert_close": _assert_close},
    }
    return {
        **({"torch": pytorch.stood_in(cuda)} if real else torch),
        "pytest": {name: _Accepted() for name in ("mark", "skip", "fixture")},
        "triton": triton,
        "triton.testing": {name: _Accepted() for name in ("Benchmark", "perf_report", "do_bench")},
        "triton.experimental.gluon.nvidia": {},
        "triton.experimental.gluon.nvidia.hopper": descriptor,
        "triton.experimental.gluon.nvidia.blackwell": descriptor,
    }


def _stand_ins(session: Session, *, real: bool) -> dict[str, ModuleType]:
    """Return the modules that kernel files import, by name."""
    modules = {
        name: offered if isinstance(offered, ModuleType) else _module(name, offered)
        for name, offered in (_host(session, real=real) | _device()).items()
    }
    for name, module in modules.items():
        parent, _, last = name.rpartition(".")
        if parent and last not in vars(modules[parent]):
            setattr(modules[parent], last, module)
    return modules


class _TensorMemoryType:
    """The type of a descriptor of tensor memory."""

    def __init__(self, element_ty: Any, shape: Any, layout: Any, alloc_shape: Any = None) -> None:
        self.element_ty, self.shape, self.layout = element_ty, list(shape), layout
        self.alloc_shape = alloc_shape

    def get_reg_layout(self, **_: object) -> object:
        """Return a layout of registers for it."""
        return linear_layout(self.shape)


@contextlib.contextmanager
def stand_ins(
    *,
    victim: str | None = None,
    seed: int = 0,
    capability: tuple[int, int] = (9, 0),
    real: bool = False,
) -> Iterator[Session]:
    """Let kernel files be loaded and their kernels be launched.

    Parameters
    ----------
    victim : str, optional
        A partition or a kind of transfer or product, as in `Session.candidates`, that goes on only
        when nothing else can.
    seed : int, optional
        Seed of the order in which everything else goes on.
    capability : tuple of int, optional
        The compute capability that files find.
    real : bool, optional
        Whether the host's tensors are those of PyTorch itself, which is imported then.

    Yields
    ------
    Session
        Victims and written memory recorded while kernels run.

    Raises
    ------
    FaultError
        From launches of kernels that break a rule.
    """
    session = Session(victim, seed, capability, shared=pytorch.Shared())
    modules = _stand_ins(session, real=real)
    names = [*modules] if not real else [name for name in modules if name != "torch"]
    roots = {name.split(".")[0] for name in names}
    hidden = {name: module for name, module in sys.modules.items() if name.split(".")[0] in roots}
    before, own = running.session, sys.modules.get("torch")
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(modules)
    running.session = session
    tensors.OFFERED["manual_seed"](seed)
    try:
        with pytorch.on_the_host(seed) if real else contextlib.nullcontext():
            yield session
    finally:
        running.session = before
        for name in [name for name in sys.modules if name.split(".")[0] in roots]:
            del sys.modules[name]
        sys.modules.update(hidden)
        if own is not None:
            sys.modules["torch"] = own


class _Current(SourceFileLoader):
    """Compiles a file's current text: kept bytecode only matches it in second and size."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.get_filename(fullname)), self.path)


def source_of(path: str | Path) -> str:
    """Return the text of a kernel file, which is UTF-8.

    Raises
    ------
    InputError
        If it cannot be read or is something else.
    """
    data = read_bytes(path)
    if data.startswith(codecs.BOM_UTF8):
        raise InputError("begins with a byte order mark; UTF-8 needs none", file=str(path))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: byte {error.start}", file=str(path)) from None


def load(path: str | Path) -> ModuleType:
    """Return a kernel file as a module; it must be called within `stand_ins`.

    Raises
    ------
    InputError
        If there is no such file, or it is no Python.
    """
    file = Path(path)
    name = f"emulated_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=_Current(name, str(file)))
    if spec is None or spec.loader is None or file.suffix != ".py" or not file.is_file():
        raise InputError("no such Python file", file=str(path))
    source_of(file)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(str(error), file=str(path)) from error
    return module
