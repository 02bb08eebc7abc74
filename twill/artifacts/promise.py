"""What the simulated SM takes for one iteration of a schedule's programs, and at least."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Part, refuse
from twill.artifacts.bound import Cycles, ProgramBound

MOST_CONDITIONS = 64  # each is a run


class Measured(Part):
    """The interval under some conditions.

    Attributes
    ----------
    warp_scheduler : str
        Which of several ready warps an issue context takes.
    latency : str
        Sources of the variable latencies; ``nominal`` for those in the machine file.
    interval_cycles : float
        Cycles from one iteration to the next in the steady state.
    """

    warp_scheduler: str
    latency: str
    interval_cycles: Cycles


class Promise(Part):
    """What is promised of a schedule's programs.

    Attributes
    ----------
    interval_cycles : float
        Cycles from one iteration to the next in the steady state, under the first conditions.
    iterations : int
        Trip count over which it was measured.
    conditions : tuple of Measured
        All under which it was.
    bound : ProgramBound, optional
        What no program of the loop is below under the first conditions.
    static_interval : int, optional
        Initiation interval of the static schedule from which the programs were found.
    simulations, seed : int
        Programs that were simulated to find it, and the seed of the search.
    """

    interval_cycles: Cycles
    iterations: PositiveInt
    conditions: Annotated[tuple[Measured, ...], Field(min_length=1, max_length=MOST_CONDITIONS)]
    bound: ProgramBound | None = None
    static_interval: PositiveInt | None = None
    simulations: NonNegativeInt = 0
    seed: NonNegativeInt = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        first = self.conditions[0].interval_cycles
        if self.interval_cycles != first:
            got = f"got {self.interval_cycles:.10g} and {first:.10g}"
            raise refuse(
                "interval_cycles", f"what is promised is that of the first conditions ({got})"
            )
        return self

    @property
    def gap(self) -> float | None:
        """By what part of the bound the interval is above it, None without a bound."""
        return None if self.bound is None else self.interval_cycles / self.bound.cycles - 1
