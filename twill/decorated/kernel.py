"""`twill.jit`: a decorator of Triton kernels, and the kernels that it makes."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from twill.artifacts.machine import Machine
from twill.base.console import warn
from twill.base.errors import InputError, RefusedError, short
from twill.decorated.answers import Answer, How, answer
from twill.decorated.calls import Call, Calls
from twill.decorated.devices import Device, current_gpu, emulator, gpu_at_hand
from twill.decorated.launching import launch, launch_with_clocks
from twill.frontends.triton_dump.kernel import undecorated
from twill.frontends.triton_dump.lower import import_triton
from twill.interface.functions import Effort, Judge

OnRefusal = Literal["triton", "error"]
# Triton has one set of passes, and the emulator one set of stand-ins, for all threads.
_one_at_a_time = threading.RLock()


class Kernel:
    """A Triton kernel that runs as the one that Twill emits for it; see `jit`."""

    def __init__(
        self,
        decorated: Any,
        how: How,
        machine: Machine | None,
        on_refusal: OnRefusal,
        timeline: Path | None = None,
    ) -> None:
        self.__name__ = str(undecorated(decorated).__name__)
        self.__doc__ = undecorated(decorated).__doc__ or ""
        self.decorated, self.how = decorated, how
        self.machine, self.on_refusal = machine, on_refusal
        self._timeline = timeline  # where to write that of the next call
        self._gpus: dict[int, Device] = {}
        self._calls: dict[int, Calls] = {}
        self._answers: dict[tuple[str, str], Answer] = {}
        self._told: set[tuple[str, str]] = set()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Return the function that launches the kernel, as a Triton kernel does."""
        return functools.partial(self._launched, grid)

    @property
    def files(self) -> list[Path]:
        """The emitted kernels that calls have used so far."""
        return [one.file for one in self._answers.values() if one.file is not None]

    def answered(self, device: Device, named: Mapping[str, Any]) -> Answer:
        """Return the answer to a call with named arguments, which is not launched."""
        calls = self._calls.get(device.architecture) or self._new_calls(device)
        return self._found(calls, device, (), named)[1]

    def _launched(self, grid: Any, /, *args: Any, **named: Any) -> Any:
        device = self._device()
        with _one_at_a_time if device.emulated else contextlib.nullcontext():
            calls = self._calls.get(device.architecture) or self._new_calls(device)
            call = calls.bound(args, named)
            known = self._answers.get((call.key, device.machine.name))
            lost = known is not None and device.emulated and known.is_lost
            if known is None or lost or (known.file is None and not call.chosen):
                call, known = self._found(calls, device, args, named)
            why = known.refused
            if known.file is not None:
                timeline, self._timeline = self._timeline, None
                try:
                    if timeline is not None:
                        return launch_with_clocks(known.file, call, grid, device, timeline)
                    return launch(known.file, call, grid, device)
                except RefusedError as error:
                    why = str(error)
            self._refused(call.key, why, device)
        return self.decorated[grid](*args, **named)

    def _device(self) -> Device:
        number = current_gpu()
        if number is None:
            return emulator(self.machine)
        if number not in self._gpus:
            self._gpus[number] = gpu_at_hand(self.machine)
        return self._gpus[number]

    def _new_calls(self, device: Device) -> Calls:
        return self._calls.setdefault(
            device.architecture, Calls(self.decorated, device.architecture)
        )

    def _found(
        self, calls: Calls, device: Device, args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[Call, Answer]:
        """Look for answers, for one configuration after the other until there is a kernel."""

        def works(call: Call) -> bool:
            key = call.key, device.machine.name
            if key not in self._answers or self._answers[key].is_lost:
                self._answers[key] = answer(calls.kernel, call, device, self.how)
            return self._answers[key].file is not None

        with _one_at_a_time:
            call = calls.first(args, named, works)
        return call, self._answers[call.key, device.machine.name]

    def _refused(self, key: str, why: str, device: Device) -> None:
        """Say once that Triton's own kernel runs, or that none does."""
        where = why if why.startswith(f"{self.__name__}: ") else f"{self.__name__}: {why}"
        if self.on_refusal == "error":
            raise RefusedError(where)
        if device.emulated:
            raise RefusedError(f"{where}; Triton's own kernel would run, which needs a GPU")
        if (key, why) not in self._told:
            self._told.add((key, why))
            warn(f"{where}; Triton's own kernel runs")


def jit(
    kernel: Any = None,
    *,
    effort: Effort = "quick",
    machine: Machine | str | os.PathLike[str] | None = None,
    judge: Judge | None = None,
    on_refusal: OnRefusal = "triton",
    timeline: str | os.PathLike[str] | None = None,
) -> Any:
    """Let a Triton kernel run as the faster one that Twill emits for it.

    Above ``triton.jit``, and ``triton.autotune`` and ``triton.heuristics`` if there are any, as
    ``@twill.jit`` or ``@twill.jit(effort="normal")``. ``kernel[grid](...)`` is called as before.
    The first call with new types, alignment and constants schedules the kernel; the answer is kept
    on disk. With ``TWILL_EMULATE=1`` and no GPU, kernels run on NumPy, with arrays or tensors of
    PyTorch on the CPU.

    Parameters
    ----------
    kernel : triton.jit function
        The kernel; without it a decorator is returned.
    effort : str
        As `twill.schedule` takes it.
    machine : Machine, str or path, optional
        The SM to schedule for; by default that of the GPU at hand. Needed where there is none.
    judge : str, optional
        As `twill.schedule` takes it.
    on_refusal : str
        If there is no kernel: ``triton`` runs Triton's own, and says why in a line on stderr;
        ``error`` raises `twill.RefusedError`.
    timeline : str or path, optional
        Where to write the first call's rounds, on the GPU and simulated, as a trace for Perfetto;
        that call reads the SM's clock, and is some percent slower.

    Raises
    ------
    InputError
        If this is no Triton kernel, or a choice is unknown.
    """
    for name, value, known in (
        ("on_refusal", on_refusal, get_args(OnRefusal)),
        ("effort", effort, get_args(Effort)),
        ("judge", judge, (None, *get_args(Judge))),
    ):
        if value not in known:
            raise InputError(f"one of {', '.join(map(str, known))} (got {short(value)})", path=name)
    if kernel is None:
        return functools.partial(
            jit,
            effort=effort,
            machine=machine,
            judge=judge,
            on_refusal=on_refusal,
            timeline=timeline,
        )
    import_triton()
    if undecorated(kernel) is None or undecorated(kernel).is_gluon():
        raise InputError(f"a function under triton.jit is needed (got {short(kernel)})")
    on = None if machine is None else Machine.named(machine)
    place = None if timeline is None else Path(timeline)
    return Kernel(kernel, How(effort, judge), on, on_refusal, place)
