"""What studies leave in their folders: read as strictly as what people write, and sealed.

A file of results, and each line of a journal, states the hash of what it says, so that a digit
that was changed is found however well it fits.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, model_validator

from twill.artifacts.base import Artifact, Part, refuse
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Scalar, Sweep
from twill.errors import InputError
from twill.files import read_bytes

SCHEDULES = "schedules"
"""The folder of schedules beside a file of results."""


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


class Sealed(Artifact):
    """A file of results with the hash of what it says.

    Attributes
    ----------
    hash : str
        SHA-256 of the file's text with this key empty.
    """

    hash: str = ""

    def seal(self) -> Self:
        """Return the same with its hash."""
        text = self.model_copy(update={"hash": ""}).to_json()
        return self.model_copy(update={"hash": text_hash(text)})

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "") -> Self:
        """Read and check one; see `Artifact.from_json`.

        Raises
        ------
        InputError
            If it is not valid, or does not have the hash that it states.
        """
        found = super().from_json(text, file=file)
        if found.hash != found.seal().hash:
            raise InputError("not the hash of what the file says: changed", path="hash", file=file)
        return found

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Self:
        """Read one from an ordinary file.

        Raises
        ------
        InputError
            If it cannot be read, is a pipe or a device, or is not valid.
        """
        return cls.from_json(read_bytes(file, ordinary=True), file=str(file))


class SweptRun(Part):
    """What some points of a sweep ran.

    Attributes
    ----------
    item, loop, machine, variant : str
        What it is, for the table.
    note : str
        Why there is no schedule, or what it needs that the machine lacks.
    file : str, optional
        Of its schedule, within the folder.
    loop_document, machine_document : Loop and Machine, optional
        What each point scheduled anew.
    hash : str
        Of the texts of all that.
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


class Swept(Sealed):
    """A sweep that ran, or runs (``sweep.json``).

    Attributes
    ----------
    twill_version, code_hash : str
        The code that rows follow from.
    sweep : Sweep
        What was asked.
    runs : tuple of SweptRun
        What ran.
    """

    schema_name: Literal["twill.swept"] = Field("twill.swept", alias="schema")
    schema_version: Literal[2] = 2
    twill_version: str
    code_hash: str
    sweep: Sweep
    runs: tuple[SweptRun, ...]


class JournalHeader(Part):
    """The first line of a journal.

    Attributes
    ----------
    sweep : str
        Hash of the sweep that the rows belong to.
    """

    schema_name: Literal["twill.journal"] = Field("twill.journal", alias="schema")
    schema_version: Literal[2] = 2
    sweep: str


Whole = Annotated[NonNegativeInt, Field(lt=1 << 63)]


class JournalRow(Part):
    """What came of a point, with further keys for the parameters of the sweep."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]

    point: NonNegativeInt
    item: str
    loop: str
    machine: str
    variant: str
    iterations: Whole
    seed: Whole
    latency: str
    status: Literal["ok", "failed"]
    error: str
    fits: bool | None
    needs: str
    static_interval_cycles: float | None
    interval_cycles: float | None
    half_width_cycles: float | None
    period: Whole | None
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


class JournalLine(Part):
    """A line of a journal after the first.

    Attributes
    ----------
    row : JournalRow
        What came of a point.
    hash : str
        SHA-256 of the sweep's hash and the row's text.
    """

    row: JournalRow
    hash: str


class KeptSchedule(Part):
    """A schedule in a folder of results.

    Attributes
    ----------
    file : str
        Its name in the folder `SCHEDULES`.
    hash : str
        SHA-256 of its text.
    """

    file: str
    hash: str

    def read(self, folder: Path) -> Schedule:
        """Return the schedule.

        Raises
        ------
        InputError
            If it is missing, or is another one.
        """
        file = folder / SCHEDULES / Path(self.file).name
        schedule = Schedule.from_json(read_bytes(file, ordinary=True), file=str(file))
        if text_hash(schedule.to_json()) != self.hash:
            raise InputError("is not the schedule that ran: changed", file=str(file))
        return schedule
