"""What a launch costs the host after a kernel's first one: through `twill.jit`, and Triton's own.

``python -m tests.validation.overhead`` prints both in microseconds, less what the driver takes. A
driver that does nothing stands in for a GPU's; Triton's own code is otherwise that of a launch.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import timeit
from collections.abc import Iterator
from functools import partial
from time import process_time
from types import SimpleNamespace
from typing import Any
from unittest import mock

import twill
from twill.base.files import FOLDER_VARIABLE
from twill.decorated import answers
from twill.decorated import kernel as room
from twill.decorated.devices import Device

LAUNCHES, ROUNDS = 2000, 9


def nothing(*_: Any, **__: Any) -> None:
    """Launch no kernel."""


@contextlib.contextmanager
def no_gpu(architecture: int) -> Iterator[None]:
    """Let Triton launch on a GPU that does nothing, without compiling."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime.driver import driver
    from triton.runtime.jit import JITFunction

    target = GPUTarget("cuda", architecture, 32)
    active = SimpleNamespace(
        get_current_device=lambda: 0,
        get_current_stream=lambda _: 0,
        get_current_target=lambda: target,
    )
    made = SimpleNamespace(run=nothing, launch_metadata=nothing, function=0, packed_metadata=())

    def compiled(kernel: Any, key: str, _: Any, device: int, *__: Any) -> Any:
        return kernel.device_caches[device][0].setdefault(key, made)

    before = driver._active
    driver.set_active(active)
    try:
        with mock.patch.object(JITFunction, "_do_compile", compiled):
            yield
    finally:
        driver._active = before


def microseconds(machine: twill.Machine) -> tuple[float, float]:
    """Return what a launch of a product by pointers takes through `twill.jit`, and by Triton."""
    import torch

    sys.path.append("traces/kernels")
    gemm_pointers = importlib.import_module("gemm").gemm_pointers
    static = partial(twill.schedule, model="paper")
    a, b, c = (torch.zeros(64, 64, dtype=torch.float16) for _ in range(3))
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, {FOLDER_VARIABLE: folder}),
        mock.patch.object(answers, "schedule", static),
        mock.patch.object(room, "gpu_at_hand", return_value=Device(machine)),
        no_gpu(int(machine.architecture.removeprefix("sm_"))),
    ):
        found = []
        for kernel in (twill.jit(gemm_pointers, on_refusal="error"), gemm_pointers):

            def launch(kernel: Any = kernel) -> None:
                kernel[1, 1](a, b, c, 256, 64, 64, 64, M=64, N=64, K=64)

            launch()
            found.append(
                min(timeit.repeat(launch, timer=process_time, number=LAUNCHES, repeat=ROUNDS))
            )
    ours, tritons = (1e6 * seconds / LAUNCHES for seconds in found)
    return ours, tritons


if __name__ == "__main__":
    print(
        "{:.1f} through twill.jit, {:.1f} by Triton".format(
            *microseconds(twill.Machine.named("hopper_h100"))
        )
    )
