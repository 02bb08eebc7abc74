"""Sweeps: which loops or schedules run under which changed parameters (TOML), and what came of it.

A file of results, and each line of a journal, states the hash of what it says, so that a digit
that was changed is found however well it fits.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Artifact, Part, packaged, packaged_text, refuse
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.base.errors import InputError
from twill.base.files import inside, read_bytes

FOLDER = "traces/studies"
SCHEDULES = "schedules"  # the folder of schedules beside a file of results
Scalar = str | int | float
Status = Literal["ran", "bounded", "refused", "waiting"]  # of a candidate of tuning
Values = Scalar | tuple[Scalar, ...]


class Sweep(Artifact):
    """Runs of a sweep: every combination of items, machines, variants and parameter values.

    Attributes
    ----------
    name, description : str
        For people.
    items : tuple of str
        Loops or schedules: packaged names, or files; relative paths begin at the sweep's folder.
    machines : tuple of str
        For the loops; the machine that a packaged loop is meant for without them.
    variants : tuple of str
        Ways to execute each loop, as ``python -m twill.sim compare`` names them.
    resolve : bool
        Whether each point schedules its loop again; otherwise all run the same schedule.
    axes : dict
        Values by parameter: one, a list, or a range as text (``A:B`` for whole numbers,
        ``START:STOP:COUNT``, ``log:START:STOP:COUNT``, commas for a list).
    iterations : int
        Trip count of every run.
    seed : int
        Of the variable latencies, and of the solver.
    latency : tuple of str
        Latency sources where no axis says otherwise.
    tolerance : float
        Relative excess over the best interval that still counts as holding it.
    clock : float, optional
        Clock in MHz at which TFLOP/s are stated.
    timeout : float, optional
        Seconds to schedule a loop. The schedule found in that time depends on the host.
    """

    schema_name: Literal["twill.sweep"] = Field("twill.sweep", alias="schema")
    schema_version: Literal[1] = 1
    name: str = ""
    description: str = ""
    items: Annotated[tuple[str, ...], Field(min_length=1)]
    machines: tuple[str, ...] = ()
    variants: Annotated[tuple[str, ...], Field(min_length=1)] = ("joint",)
    resolve: bool = False
    axes: dict[str, Values] = {}
    iterations: PositiveInt = 64
    seed: NonNegativeInt = 0
    latency: tuple[str, ...] = ()
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.02
    clock: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] | None = None

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged sweep, or read a file if `name` ends in ``.toml``."""
        if name.endswith(".toml"):
            found = cls.load(name)
            folder = Path(name).parent
            # Packaged names have no ending.
            items = tuple(str(folder / i) if Path(i).suffix else i for i in found.items)
            return found.model_copy(update={"items": items})
        text = packaged_text("sweep", FOLDER, name, ".toml")
        return cls.from_toml(text, file=f"{name}.toml")


def packaged_sweeps() -> list[str]:
    """Return the names of the sweeps that ship with the package, sorted."""
    return packaged(FOLDER, ".toml")


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


class SweptRun(Part):
    """The subject of some points: a schedule's file, or what each schedules again.

    `note` says why there is no schedule, or what it needs that the machine lacks; `hash` is that of
    the texts of all that.
    """

    item: str
    loop: str
    machine: str
    variant: str
    note: str
    file: str | None = None
    loop_document: Loop | None = None
    machine_document: Machine | None = None
    hash: str


class Swept(Artifact):
    """A sweep that ran, or runs (``sweep.json``), with the SHA-256 of its text without that.

    `twill_version`, `code_hash`: the code that rows follow from.
    """

    ordinary = True
    hash: str = ""
    schema_name: Literal["twill.swept"] = Field("twill.swept", alias="schema")
    schema_version: Literal[3] = 3
    twill_version: str
    code_hash: str
    sweep: Sweep
    runs: tuple[SweptRun, ...]

    def seal(self) -> Self:
        """Return the same with its hash."""
        text = self.model_copy(update={"hash": ""}).to_json()
        return self.model_copy(update={"hash": text_hash(text)})

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "") -> Self:
        """Read one, and refuse it if it does not have the hash that it states."""
        found = super().from_json(text, file=file)
        if found.hash != found.seal().hash:
            raise InputError("not the hash of what the file says: changed", path="hash", file=file)
        return found


class JournalHeader(Part):
    """The first line of a journal, with the hash of the sweep that the rows belong to."""

    schema_name: Literal["twill.journal"] = Field("twill.journal", alias="schema")
    schema_version: Literal[2] = 2
    sweep: str


Count = Annotated[NonNegativeInt, Field(lt=1 << 63)]


class JournalRow(Part):
    """The result of a point, with further keys for the parameters of the sweep."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    point: NonNegativeInt
    item: str
    loop: str
    machine: str
    variant: str
    iterations: Count
    seed: Count
    latency: str
    status: Literal["ok", "failed"]
    error: str
    fits: bool | None
    needs: str
    static_interval_cycles: float | None
    interval_cycles: float | None
    half_width_cycles: float | None
    period: Count | None
    iterations_per_kilocycle: float | None
    tflops: float | None
    clock_mhz: float | None
    tensor_core_utilization: float | None
    achieved: bool | None
    total_cycles: float | None
    schedule_hash: str | None
    subject_hash: str
    twill_version: str
    simpy_version: str
    code_hash: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tflops is not None and self.clock_mhz is None:
            raise refuse("clock_mhz", "there is no rate without a clock (got None)")
        return self


class HashedLine(Part):
    """A line of a journal after the first, with the SHA-256 of the sweep's hash and its row."""

    hash: str


class JournalLine(HashedLine):
    """A line of a sweep's journal."""

    row: JournalRow


class KeptSchedule(Part):
    """A schedule in a folder of results: its name in the folder `SCHEDULES`, and its SHA-256."""

    file: str
    hash: str

    def read(self, folder: Path) -> Schedule:
        """Return the schedule; refuse another one."""
        file = inside(folder, SCHEDULES, Path(self.file).name)
        text = read_bytes(file, ordinary=True)
        schedule = Schedule.from_json(text, file=str(file))
        if hashlib.sha256(text).hexdigest() != self.hash:
            raise InputError("is not the schedule that ran: changed", file=str(file))
        return schedule


class Time(Part):
    """The time of a candidate's kernel for one problem.

    `tiles_per_multiprocessor`: output tiles of the SM that has most; `iterations`: of the loop for
    one of them.
    """

    sizes: dict[str, int]
    tiles_per_multiprocessor: int
    iterations: int
    microseconds: float
    tflops: float


class TunedRow(Part):
    """A candidate of tuning.

    `rank`: its place among those that ran, from 1.
    `values`: values in which candidates differ, by parameter.
    `tile`: rows of its output tiles, columns where they are tiled too, and what an iteration takes
    of the other sequence or of the depth.
    `status`: ``ran``; ``bounded``: its bound is too far above the best time, and it was not solved;
    ``refused``; ``waiting``: not examined yet.
    `reason`: why it was refused.
    `bound_cycles`, `bound_reason`, `bound_microseconds`: the interval that no program is below,
    why, and what no kernel takes less than.
    `interval_cycles`: interval of its programs on the simulated SM.
    `microseconds`, `tflops`: of the whole kernel, for all problems one after the other.
    `file`, `schedule_hash`: its schedule among those kept, and the hash of that.
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
    """The result of tuning (``tuned.json``).

    `subject`, `machine`, `effort`: the kernel, the SM, and how far faster programs were searched.
    `within`: candidates whose bound is above the best time by more than this part were not solved.
    `persistent`: whether blocks go on to their next tile.
    `rows`: first those that ran, the fastest first.
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
