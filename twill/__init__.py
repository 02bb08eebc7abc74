"""Provably optimal software pipelining and warp specialization, checked on a simulated SM.

>>> import twill
>>> loop, machine = twill.load_loop("paper_example"), twill.Machine.named("paper_example")
>>> schedule = twill.schedule(loop, machine)
>>> schedule.initiation_interval, schedule.length
(2, 4)
>>> twill.verify(schedule).valid
True
>>> twill.sim.run(schedule).iterations_per_cycle
0.5
"""

from __future__ import annotations

import sys

from twill import called

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than Ctrl-C may wait

if TYPE_CHECKING:
    from typing import Any

    from twill import sim
    from twill.artifacts.loop import Loop
    from twill.artifacts.machine import Machine
    from twill.artifacts.schedule import Schedule
    from twill.base.errors import InputError, RefusedError, TwillError
    from twill.decorated import jit
    from twill.frontends import load_loop
    from twill.frontends.builder import LoopBuilder
    from twill.frontends.schedules import load_schedule
    from twill.interface import (
        annotate,
        compare,
        emit,
        explain,
        polish,
        schedule,
        subtile,
        verify,
    )
    from twill.verification import Verdict

_HOMES = {
    "InputError": "twill.base.errors",
    "Loop": "twill.artifacts.loop",
    "LoopBuilder": "twill.frontends.builder",
    "Machine": "twill.artifacts.machine",
    "RefusedError": "twill.base.errors",
    "Schedule": "twill.artifacts.schedule",
    "TwillError": "twill.base.errors",
    "Verdict": "twill.verification",
    "annotate": "twill.interface",
    "compare": "twill.interface",
    "jit": "twill.decorated",
    "load_loop": "twill.frontends",
    "load_schedule": "twill.frontends.schedules",
    "schedule": "twill.interface",
    "subtile": "twill.interface",
    "verify": "twill.interface",
}
_ROOMS = (*called.ROOMS, "sim")
sys.modules[__name__].__class__ = called.House

__all__ = [
    "InputError",
    "Loop",
    "LoopBuilder",
    "Machine",
    "RefusedError",
    "Schedule",
    "TwillError",
    "Verdict",
    "annotate",
    "compare",
    "emit",
    "explain",
    "jit",
    "load_loop",
    "load_schedule",
    "polish",
    "schedule",
    "sim",
    "subtile",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that ``twill --help`` need not."""
    import importlib

    if name in _ROOMS:
        return importlib.import_module(f"twill.{name}")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("twill-gpu")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the interface, whether imported yet or not."""
    return sorted([*__all__, "__version__"])
