"""Claims about a schedule: its proof, level by level, and the promise of its programs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Part, refuse
from twill.artifacts.bound import Cycles, ProgramBound
from twill.artifacts.loop import Name

Level = Literal["interval", "stages", "groups", "transfers", "length", "slack"]
Limit = Literal["registers", "groups", "transfers", "stages"]
Family = Literal[
    "dependence", "capacity", "turns", "memory", "registers", "transfers", "concurrency", "wishes"
]
MOST_CONDITIONS = 64  # each is a run


class Weight(Part):
    """The weight of a part of an operation in a configuration bound.

    `start`, `length`: units of the schedule's time, from the operation's issue; the operation takes
    the same of every functional unit all that time.
    `weight`: the weight in every one of them.
    """

    operation: str
    start: NonNegativeInt
    length: PositiveInt
    weight: PositiveInt


class LowerBound(Part):
    """Why no smaller initiation interval exists.

    `value`: the least interval, in units of the schedule's time; where it is ``not proved``, one
    that it is not below.
    `reason`: ``ResMII``, ``configurations`` (of all functional units together), ``RecMII``,
    ``issue`` (of one operation), ``no modulo schedule``, ``no joint schedule`` or ``not proved``.
    `unit`: for ResMII, the unit that is always busy.
    `cycle`: for RecMII, the operations of the recurrence; for issue, the operation.
    `solver`: the solver that refuted all smaller intervals, where no bound does.
    `families`: constraint families in the unsatisfiable core.
    `most_stages`: where a solver refuted them: for schedules of at most so many stages.
    `weights`: for configurations: `value` is the weights times lengths of all, over `most`, rounded
    up.
    `most`: for configurations: the most that parts which fit all units at once weigh together.
    """

    value: NonNegativeInt
    reason: Literal[
        "ResMII",
        "configurations",
        "RecMII",
        "issue",
        "no modulo schedule",
        "no joint schedule",
        "not proved",
    ]
    unit: str | None = None
    cycle: tuple[str, ...] = ()
    solver: str | None = None
    families: tuple[Family, ...] = ()
    most_stages: PositiveInt | None = None
    weights: tuple[Weight, ...] | None = None
    most: PositiveInt | None = None


class LevelProof(Part):
    """A level of the objective: its value and whether nothing better exists.

    `solver` refuted better values, where no bound does; of the interval the bound says it.
    """

    level: Level
    value: int
    proved: bool
    solver: str | None = None


class Proof(Part):
    """The proof about a schedule.

    `levels`: the objective, level by level: all of them, but slack where nothing is waited for.
    `limits`: the most that the user allowed: ``registers`` per thread, ``groups``, ``transfers``,
    ``stages``; the proof holds within them.
    `pins`: operations that the user placed, with their groups.
    `orders`: pairs of operations that the user ordered.
    """

    bound: LowerBound
    levels: tuple[LevelProof, ...]
    limits: dict[Limit, NonNegativeInt] = {}
    pins: dict[Name, Name] = {}
    orders: tuple[tuple[Name, Name], ...] = ()


class Measured(Part):
    """The interval under some conditions.

    `warp_scheduler`: which of several ready warps an issue context takes.
    `latency`: sources of the variable latencies; ``nominal`` for those in the machine file.
    `interval_cycles`: cycles from one iteration to the next in the steady state.
    """

    warp_scheduler: str
    latency: str
    interval_cycles: Cycles


class MachineCode(Part):
    """The interval of a schedule's compiled kernel, from the execution of its machine code.

    `interval_cycles`: cycles from one iteration to the next, the most over the starting phases.
    `lowest_cycles`: the least over the starting phases.
    `compared`: whether predictions for this architecture were compared with measured kernels.
    """

    interval_cycles: Cycles
    lowest_cycles: Cycles
    compiler: str
    compared: bool = True


class OnGpu(Part):
    """Cycles that a further iteration of the compiled kernel takes on a GPU.

    `interval_cycles`: the median of several rounds, as the SM's clock counts them.
    `lowest_cycles`, `highest_cycles`: the least and the most of them.
    `clock_mhz`: the SM clock, the median of the rounds.
    `rounds`: how often it was measured.
    """

    device: str
    interval_cycles: Cycles
    lowest_cycles: Cycles
    highest_cycles: Cycles
    clock_mhz: Annotated[float, Field(gt=0)]
    rounds: PositiveInt
    compiler: str


class Promise(Part):
    """The promise of a schedule's programs.

    `interval_cycles`: cycles from one iteration to the next in the steady state, under the first
    conditions.
    `iterations`: trip count over which it was measured.
    `bound`: the interval that no program of the loop is below under the first conditions.
    `static_interval`: initiation interval of the static schedule from which the programs were
    found.
    `simulations`, `seed`: programs that were simulated to find it, and the seed of the search.
    `machine_code`: the interval of the compiled kernel, where programs were chosen by it.
    `on_gpu`: the interval on a GPU, where programs were chosen by measurements.
    """

    interval_cycles: Cycles
    iterations: PositiveInt
    conditions: Annotated[tuple[Measured, ...], Field(min_length=1, max_length=MOST_CONDITIONS)]
    bound: ProgramBound | None = None
    static_interval: PositiveInt | None = None
    simulations: NonNegativeInt = 0
    seed: NonNegativeInt = 0
    machine_code: MachineCode | None = None
    on_gpu: OnGpu | None = None

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
