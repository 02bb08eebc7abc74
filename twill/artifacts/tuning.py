"""What tuning brings: a row for each candidate, and the whole as a document."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt

from twill.artifacts.base import Artifact, Part
from twill.artifacts.sweep import HashedLine, Scalar

Status = Literal["ran", "bounded", "refused", "waiting"]


class Time(Part):
    """What a candidate's kernel takes for one problem.

    `tiles_per_multiprocessor`: output tiles of the SM that has most; `iterations`: of the loop for
    one of them.
    """

    sizes: dict[str, int]
    tiles_per_multiprocessor: int
    iterations: int
    microseconds: float
    tflops: float


class TunedRow(Part):
    """One candidate.

    Attributes
    ----------
    point : int
        Its number.
    rank : int, optional
        Its place among those that ran, from 1.
    values : dict
        What it differs in from others, by parameter.
    tile : str
        Rows of its output tiles, columns where they are tiled too, and what an iteration takes of
        the other sequence or of the depth.
    status : str
        ``ran``; ``bounded``: its bound is too far above the best time, and it was not solved;
        ``refused``; ``waiting``: nobody has looked at it yet.
    reason : str
        Why it was refused.
    bound_cycles, bound_reason, bound_microseconds
        The interval that no program is below, why, and what no kernel takes less than.
    interval_cycles : float, optional
        Interval of its programs on the simulated SM.
    microseconds, tflops : float, optional
        Of the whole kernel, for all problems one after the other.
    times : tuple of Time
        For each problem.
    file, schedule_hash : str, optional
        Its schedule among those kept, and the hash of that.
    """

    point: NonNegativeInt
    rank: int | None = None
    values: dict[str, Scalar]
    tile: str
    status: Status
    reason: str = ""
    bound_cycles: float | None = None
    bound_reason: str = ""
    bound_microseconds: float | None = None
    interval_cycles: float | None = None
    microseconds: float | None = None
    tflops: float | None = None
    times: tuple[Time, ...] = ()
    file: str | None = None
    schedule_hash: str | None = None

    @property
    def over_bound(self) -> float | None:
        """By what part of the bound its time is above it."""
        if self.microseconds is None or self.bound_microseconds is None:
            return None
        return self.microseconds / self.bound_microseconds - 1


class TunedLine(HashedLine):
    """A line of the journal of tuning: a candidate that ran or was refused."""

    row: TunedRow


class Tuned(Artifact):
    """What tuning found (``tuned.json``).

    Attributes
    ----------
    subject, machine, effort : str
        What was tuned, for which SM, and how far faster programs were looked for.
    problems : tuple of dict
        Sizes of the problems.
    within : float
        Candidates whose bound is above the best time by more than this part were not solved.
    persistent : bool
        Whether blocks go on to their next tile.
    clock_mhz : float
        Clock of the times.
    rows : tuple of TunedRow
        First those that ran, the fastest first.
    """

    schema_name: Literal["twill.tuned"] = Field("twill.tuned", alias="schema")
    schema_version: Literal[1] = 1
    subject: str
    machine: str
    effort: str
    problems: tuple[dict[str, int], ...]
    within: float
    persistent: bool
    clock_mhz: float
    rows: tuple[TunedRow, ...]
