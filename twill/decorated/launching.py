"""Launches of emitted kernels with a caller's arguments, on a GPU or in the emulator."""

from __future__ import annotations

import functools
import importlib
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from twill.base.errors import RefusedError, TwillError
from twill.base.files import write_whole
from twill.compiled.clocks import CLOCKS, Clocked
from twill.compiled.compiler import imported
from twill.decorated.calls import Call
from twill.decorated.devices import Device
from twill.decorated.tensors import HostArray, check_memory, memory_of, on_gpu, on_host
from twill.sim.emulator import failure, load, stand_ins

IN_MEMORY = "*t"  # as types of tensors begin: pointers and ``tensordesc``


def launch(file: Path, call: Call, grid: Any, device: Device) -> None:
    """Run an emitted kernel with the arguments of a call of the original.

    Its arguments are those of the original that are no constants, by the same names, as its
    ``SIGNATURE`` lists them.

    Raises
    ------
    RefusedError
        If these arguments need another kernel.
    """
    programs = _programs(call, grid)
    if not device.emulated:
        _run(_module(file), call, programs, on_gpu)
        return
    real = any(
        tensor is not None and not isinstance(tensor, HostArray)
        for tensor in map(memory_of, call.arguments.values())
    )
    capability = divmod(device.architecture, 10)
    with stand_ins(capability=capability, real=real), np.errstate(all="ignore"):
        try:
            _run(load(file), call, programs, functools.partial(on_host, real=real))
        except TwillError:
            raise
        except Exception as error:  # of the emulated kernel, named with its line
            raise failure(error, file) from error


def _programs(call: Call, grid: Any) -> tuple[int, ...]:
    sizes = grid(call.arguments) if callable(grid) else grid
    return (*(int(n) for n in sizes), 1, 1)[:3]


def launch_with_clocks(file: Path, call: Call, grid: Any, device: Device, output: Path) -> None:
    """Run an emitted kernel as `launch` does, once, and write its timeline.

    Raises
    ------
    RefusedError
        If these arguments need another kernel, or there is no GPU.
    """
    from twill.studies.timeline import print_timeline, timeline, trace

    if device.emulated:
        raise RefusedError("a timeline needs a GPU")
    torch = importlib.import_module("torch")

    def on_device(made: Clocked, *_: object) -> tuple[str, list[list[int]]]:
        clocks = torch.zeros(made.size, dtype=torch.int64, device="cuda")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "kernel_with_clocks.py"
            write_whole(place, made.text)
            more = replace(call, arguments={**call.arguments, CLOCKS: clocks})
            _run(_module(place), more, _programs(call, grid), on_gpu)
            torch.cuda.synchronize()
        return str(torch.cuda.get_device_name()), [clocks.tolist()]

    found = timeline(file, on_gpu=on_device)
    write_whole(output, trace(found))
    print_timeline(found)


def _run(
    module: ModuleType, call: Call, programs: tuple[int, ...], taken: Callable[[Any], Any]
) -> None:
    arguments, memory = {}, {}
    for name, kind in module.SIGNATURE.items():
        written = name if name in call.arguments else name.rstrip("_")  # see `Source.argument`
        value = arguments[name] = call.arguments[written]
        if kind[0] in IN_MEMORY:
            arguments[name], memory[name] = taken(value), value
    check_memory(memory, module.OUTPUTS)
    least = module.CONFIG.least_iterations
    if hasattr(module, "trips") and module.trips(arguments) < least:
        raise RefusedError(f"the emitted kernel's loop has at least {least} iterations")
    module.launch(arguments, programs)


@functools.cache
def _module(file: Path) -> ModuleType:
    """Return an emitted file as a module."""
    return imported(str(file))
