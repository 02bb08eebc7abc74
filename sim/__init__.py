"""A discrete-event model of one SM that executes schedules.

`run` executes a `twill.Schedule` and says whether its static initiation interval is achieved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if __name__ != "twill.sim":
    raise ImportError("the simulator is twill.sim; import it under that name")

if TYPE_CHECKING:
    from twill.interface import run
    from twill.sim.execute import Run

__all__ = ["Run", "run"]


def __getattr__(name: str) -> Any:
    if name == "Run":
        from twill.sim.execute import Run

        return Run
    if name == "run":
        from twill.interface import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
