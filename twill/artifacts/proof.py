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

    Attributes
    ----------
    operation : str
        The operation.
    start, length : int
        Units of the schedule's time, from the operation's issue; the operation takes the same of
        every functional unit all that time.
    weight : int
        The weight in every one of them.
    """

    operation: str
    start: NonNegativeInt
    length: PositiveInt
    weight: PositiveInt


class LowerBound(Part):
    """Why no smaller initiation interval exists.

    Attributes
    ----------
    value : int
        The least interval, in units of the schedule's time; where it is ``not proved``, one that
        it is not below.
    reason : str
        ``ResMII``, ``configurations`` (of all functional units together), ``RecMII``, ``issue`` (of
        one operation), ``no modulo schedule``, ``no joint schedule`` or ``not proved``.
    unit : str, optional
        For ResMII, the unit that is always busy.
    cycle : tuple of str
        For RecMII, the operations of the recurrence; for issue, the operation.
    solver : str, optional
        The solver that refuted all smaller intervals, where no bound does.
    families : tuple of str
        Constraint families in the unsatisfiable core.
    most_stages : int, optional
        Where a solver refuted them: for schedules of at most so many stages.
    weights : tuple of Weight, optional
        For configurations: `value` is the weights times lengths of all, over `most`, rounded up.
    most : int, optional
        For configurations: the most that parts which fit all units at once weigh together.
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

    Attributes
    ----------
    bound : LowerBound
        Why no smaller interval exists.
    levels : tuple of LevelProof
        The objective, level by level: all of them, but slack where nothing is waited for.
    limits : dict
        The most that the user allowed: ``registers`` per thread, ``groups``, ``transfers``,
        ``stages``; the proof holds within them.
    pins : dict
        Operations that the user placed, with their groups.
    orders : tuple of (str, str)
        Pairs of operations that the user ordered.
    """

    bound: LowerBound
    levels: tuple[LevelProof, ...]
    limits: dict[Limit, NonNegativeInt] = {}
    pins: dict[Name, Name] = {}
    orders: tuple[tuple[Name, Name], ...] = ()


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


class MachineCode(Part):
    """The interval of a schedule's compiled kernel, from the execution of its machine code.

    Attributes
    ----------
    interval_cycles : float
        Cycles from one iteration to the next, the most over the starting phases.
    lowest_cycles : float
        The least over the starting phases.
    compiler : str
        The compiler and its version.
    compared : bool
        Whether predictions for this architecture were compared with measured kernels.
    """

    interval_cycles: Cycles
    lowest_cycles: Cycles
    compiler: str
    compared: bool = True


class OnGpu(Part):
    """Cycles that a further iteration of the compiled kernel takes on a GPU.

    Attributes
    ----------
    device : str
        The GPU.
    interval_cycles : float
        The median of several rounds: time multiplied by the SM clock of each.
    lowest_cycles, highest_cycles : float
        The least and the most of them.
    clock_mhz : float
        The SM clock, the median of the rounds.
    rounds : int
        How often it was measured.
    compiler : str
        The compiler and its version.
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

    Attributes
    ----------
    interval_cycles : float
        Cycles from one iteration to the next in the steady state, under the first conditions.
    iterations : int
        Trip count over which it was measured.
    conditions : tuple of Measured
        All under which it was.
    bound : ProgramBound, optional
        The interval that no program of the loop is below under the first conditions.
    static_interval : int, optional
        Initiation interval of the static schedule from which the programs were found.
    simulations, seed : int
        Programs that were simulated to find it, and the seed of the search.
    machine_code : MachineCode, optional
        The interval of the compiled kernel, where programs were chosen by it.
    on_gpu : OnGpu, optional
        The interval on a GPU, where programs were chosen by measurements.
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
