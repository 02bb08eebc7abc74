"""PyTorch itself, where it is installed: arguments and references are its tensors.

Kernels get NumPy views of these. Elements that NumPy has no type for are copied: what a launch
changes of them is written back.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from twill.sim.emulator.machine import running
from twill.sim.emulator.tensors import Tensor
from twill.sim.emulator.values import DTYPES, Array, DType, Numbers

# Elements that NumPy has no type for, by what lies in memory.
STORED = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def installed() -> bool:
    """Return whether PyTorch can be imported."""
    return importlib.util.find_spec("torch") is not None


def imported() -> Any:
    """Return PyTorch."""
    return importlib.import_module("torch")


class _Instead(ModuleType):
    """A module with some names replaced."""

    def __init__(self, module: Any, names: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(names, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def stood_in(cuda: SimpleNamespace) -> ModuleType:
    """Return PyTorch as kernel files import it, with the emulated GPU as its device."""
    torch = imported()
    return _Instead(torch, {"cuda": _Instead(torch.cuda, vars(cuda))})


@contextlib.contextmanager
def on_the_host(seed: int) -> Iterator[None]:
    """Let tensors that are asked for on a GPU be made on the host."""
    torch = imported()

    class OnTheHost(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined] # known at run time
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function is torch.Tensor.cuda:
                return args[0]
            named = {key: _host(value) for key, value in (kwargs or {}).items()}
            return function(*(_host(one) for one in args), **named)

    def _host(value: Any) -> Any:
        named = isinstance(value, str | torch.device) and str(value).startswith("cuda")
        return "cpu" if named else value

    with torch.random.fork_rng(devices=[]), OnTheHost():
        torch.manual_seed(seed)
        yield


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of PyTorch."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "numpy")


@dataclass
class Shared:
    """Tensors that kernels were given, with what they were given for them."""

    copies: dict[int, tuple[Any, Array, Numbers]] = field(default_factory=dict)

    def array(self, tensor: Any) -> Array:
        """Return a tensor as the emulator has it."""
        name = str(tensor.dtype).removeprefix("torch.")
        data = _stored(tensor, name)
        if name not in STORED:
            return Tensor(data, DTYPES[name])
        if id(tensor) not in self.copies:
            made = Tensor(DTYPES[name].unpacked(data), DTYPES[name])
            self.copies[id(tensor)] = (tensor, made, data.copy())
        return self.copies[id(tensor)][1]

    def begin(self) -> None:
        """Let copies be what their tensors are before a launch."""
        for key, (tensor, made, _) in self.copies.items():
            data = _stored(tensor, made.dtype.name)
            made.data[...] = made.dtype.unpacked(data)
            self.copies[key] = (tensor, made, data.copy())

    def end(self) -> None:
        """Write back what a launch changed of copies."""
        for tensor, made, before in self.copies.values():
            after = made.dtype.packed(made.data).astype(before.dtype, copy=False)
            changed = after != before
            _stored(tensor, made.dtype.name)[changed] = after[changed]


def _stored(tensor: Any, name: str) -> Numbers:
    """Return a view of what lies in memory."""
    kind: DType = DTYPES[name]
    plain = tensor.detach()
    if name in STORED:
        plain = plain.view(getattr(imported(), STORED[name]))
    data: Numbers = plain.numpy()
    return data.view(np.dtype(kind.stored)) if name in STORED else data


def array_of(value: Any) -> Any:
    """Return a tensor of PyTorch as the emulator has it, anything else as it is."""
    if not is_tensor(value) or running.session is None:
        return value
    return running.session.shared.array(value)


def numbers_of(output: Any) -> Numbers:
    """Return a tensor, of PyTorch or of the stand-in, as float64 numbers."""
    if not is_tensor(output):
        return np.asarray(output.data, np.float64)
    return np.asarray(output.detach().to(imported().float64).numpy())
