"""Where kernels run: the GPU at hand, or the emulator."""

from __future__ import annotations

import functools
import importlib
import os
from dataclasses import dataclass
from typing import Any

from twill.artifacts.machine import Machine, packaged_machines
from twill.base.errors import InputError
from twill.frontends.triton_dump.lower import import_triton

VARIABLE = "TWILL_EMULATE"
SM = "sm_"


@dataclass(frozen=True)
class Device:
    """A GPU, or the emulator of one.

    `machine`: the SM that kernels are scheduled for.
    `emulated`: whether NumPy executes them.
    """

    machine: Machine
    emulated: bool = False

    @property
    def architecture(self) -> int:
        """The compute capability without a dot, such as 90."""
        return architecture_of(self.machine)


def architecture_of(machine: Machine) -> int:
    """Return the compute capability of a machine without a dot."""
    return int(machine.architecture.removeprefix(SM))


def current_gpu() -> int | None:
    """Return the number of the GPU on which Triton launches, None if it finds none."""
    try:
        return int(_driver().active.get_current_device())
    except RuntimeError:  # no driver is active
        return None


def gpu_at_hand(machine: Machine | None) -> Device:
    """Return the GPU on which Triton launches.

    `machine`: what to schedule for; by default the packaged one that is most like the GPU.

    Raises
    ------
    InputError
        If no machine is known for the GPU, or `machine` is of another one.
    """
    target = _driver().active.get_current_target()
    found = machine or _machine_of(str(target.arch), _name())
    if found.architecture != f"{SM}{target.arch}":
        wrong = f"{found.name} is {found.architecture}, and the GPU is {SM}{target.arch}"
        raise InputError(wrong, path="machine")
    return Device(found)


def emulator(machine: Machine | None) -> Device:
    """Return the emulator of a machine.

    Raises
    ------
    InputError
        If it is not asked for, or no GPU is named.
    """
    if os.environ.get(VARIABLE) != "1":
        raise InputError(f"Triton finds no GPU; {VARIABLE}=1 emulates kernels on NumPy")
    if machine is None or not machine.architecture.startswith(SM):
        wanted = "without a GPU, name the one to emulate, such as hopper_h100"
        raise InputError(wanted, path="machine")
    return Device(machine, emulated=True)


@functools.cache
def _driver() -> Any:
    import_triton()
    return importlib.import_module("triton.runtime.driver").driver


def _name() -> str:
    return str(importlib.import_module("torch").cuda.get_device_name())


def _machine_of(architecture: str, name: str) -> Machine:
    """Return the packaged machine of a GPU's name, or else the first of its architecture."""
    machines = [Machine.named(one) for one in packaged_machines()]
    fitting = [m for m in machines if m.architecture == f"{SM}{architecture}"]
    if not fitting:
        raise InputError(f"no packaged machine is {SM}{architecture} ({name}); name a file")
    named = (m for m in fitting if m.name.rpartition("_")[2] in name.lower())
    return next(named, fitting[0])
