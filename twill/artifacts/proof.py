"""What was proved about a schedule: a bound on the interval with its reason, and every level."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from twill.artifacts.base import Part
from twill.artifacts.loop import Name

Level = Literal["interval", "stages", "groups", "transfers", "length", "slack"]
Limit = Literal["registers", "groups", "transfers", "stages"]
Family = Literal[
    "dependence", "capacity", "turns", "memory", "registers", "transfers", "concurrency", "wishes"
]


class Weight(Part):
    """What a part of an operation counts in a configuration bound.

    Attributes
    ----------
    operation : str
        The operation.
    start, length : int
        Units of the schedule's time, from the operation's issue; the operation takes the same of
        every functional unit all that time.
    weight : int
        What it counts in every one of them.
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
        Who refuted all smaller intervals, where no bound does.
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
    """One level of the objective: its value and whether nothing better exists.

    `solver` refuted better values, where no bound does; of the interval the bound says it.
    """

    level: Level
    value: int
    proved: bool
    solver: str | None = None


class Proof(Part):
    """What was proved about a schedule.

    Attributes
    ----------
    bound : LowerBound
        Why no smaller interval exists.
    levels : tuple of LevelProof
        The objective, level by level: all of them, but slack where nothing is waited for.
    limits : dict
        What the user allowed at most: ``registers`` per thread, ``groups``, ``transfers``,
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
