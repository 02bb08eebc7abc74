"""The schedule artifact: groups, times and order of all operations (``schedule.json``)."""

from __future__ import annotations

import contextlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Artifact, Part, check_known, check_unique, refuse, says_schema
from twill.artifacts.hardware import MOST_GROUPS
from twill.artifacts.loop import (
    MOST_CYCLES,
    MOST_DISTANCE,
    MOST_OPERATIONS,
    MOST_WARPS,
    Label,
    Loop,
    Many,
    Name,
)
from twill.artifacts.machine import FACTS, Machine
from twill.artifacts.program import (
    Arrive,
    Barriers,
    Fixed,
    Get,
    Instruction,
    Program,
    Slots,
    Storage,
    references,
)
from twill.artifacts.proof import Promise, Proof
from twill.artifacts.versions import (
    bring_machine_up,
    bring_schedule_up,
    is_earlier,
    is_outdated,
    take_refined_time,
    take_unproved_bound,
    written_digest,
)
from twill.base.errors import InputError, short

if TYPE_CHECKING:
    import pandas as pd

Rules = Literal["issue", "paper"]
Stages = Annotated[int, Field(ge=1, le=MOST_DISTANCE)]
Time = Annotated[int, Field(ge=0, le=1 << 40)]
Interval = Annotated[int, Field(ge=1, le=1 << 24)]


class TimeScale(Part):
    """The unit of time in a schedule.

    `mode`: ``exact``: one unit is one clock cycle. ``normalized``: costs were replaced by smaller
    whole numbers of nearly the same ratios (paper section 5.2).
    `costs`: in normalized time, each cost in cycles with its replacement.
    `budget`: the bound U on the sum of the replacements.
    `cycles_per_unit`: sum of the costs over the sum of their replacements.
    `distortion`: largest factor by which the ratio of two costs changed; 1 is none.
    """

    mode: Literal["exact", "normalized"] = "exact"
    costs: tuple[tuple[PositiveInt, PositiveInt], ...] = ()
    budget: PositiveInt | None = None
    cycles_per_unit: Annotated[float, Field(gt=0, le=MOST_CYCLES)] = 1.0
    distortion: Annotated[float, Field(ge=1)] = 1.0


class Group(Part):
    """A warp group: warps that run one program.

    `name`: unique in the schedule.
    `warps`: 1, 4 or 8.
    `variable_latency`: whether it is set aside for operations of variable latency.
    `registers`: registers per thread allocated to it; absent, the least that hold what lives on it.
    `registers_live`: most registers per thread live at once, as scheduled.
    """

    name: Name
    warps: Annotated[int, Field(ge=1, le=MOST_WARPS)]
    variable_latency: bool = False
    registers: PositiveInt | None = None
    registers_live: NonNegativeInt | None = None


class Placement(Part):
    """The group that issues an operation, and its issue time within its iteration, M(v)."""

    operation: Name
    group: Name
    start: Time | None = None


class Schedule(Artifact):
    """A warp-specialized software pipeline for one loop on one machine.

    Interval, length, stages, starts and proof are absent in a schedule without a solver; it can
    still be executed.

    Attributes
    ----------
    initiation_interval, length, stages : int, optional
        I, L and ceil(L / I), in units of `time`.
    pipeline_depths : dict
        Ring slots of each streaming load.
    hiding_depths : dict
        Ring slots that hiding the nominal latency of each streaming load asks for.
    machine_hash : str, optional
        Digest of the embedded machine; refused on reading if it does not match.
    solver : dict
        Versions of what computed it.
    """

    said_of_missing = FACTS
    schema_name: Literal["twill.schedule"] = Field("twill.schedule", alias="schema")
    schema_version: Literal[2] = 2
    name: Label
    description: str = ""
    rules: Rules = "issue"
    time: TimeScale = TimeScale()
    initiation_interval: Interval | None = None
    length: Time | None = None
    stages: Stages | None = None
    groups: Annotated[tuple[Group, ...], Field(min_length=1, max_length=MOST_GROUPS)]
    placements: Annotated[tuple[Placement, ...], Field(max_length=MOST_OPERATIONS)]
    pipeline_depths: dict[Name, Slots] = {}
    hiding_depths: dict[Name, Slots] = {}
    storage: Annotated[tuple[Storage, ...], Many] = ()
    fixed: Annotated[tuple[Fixed, ...], Field(max_length=MOST_OPERATIONS)] = ()
    barriers: Barriers = ()
    programs: Annotated[tuple[Program, ...], Field(max_length=MOST_GROUPS)] = ()
    proof: Proof | None = None
    promise: Promise | None = None
    solver: dict[str, str] = {}
    seed: NonNegativeInt = 0
    loop: Loop
    machine: Machine
    machine_hash: str | None = None

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "") -> Self:
        """Read a schedule from JSON text, as `Artifact.from_json` does; an order is refused."""
        if says_schema(text, "twill.order"):
            message = "an order and no schedule yet; `twill.load_schedule` makes one of it"
            raise InputError(message, path="schema", file=file)
        return super().from_json(text, file=file)

    @classmethod
    def bring_up(cls, document: dict[str, Any]) -> list[str] | None:
        """Change a schedule of version 1, or its machine; the hash is held against what was there.

        A hash of anything else stays, and is refused.
        """
        told = bring_schedule_up(document) if is_earlier(document) else None
        if take_unproved_bound(document):
            told = [*(told or ()), "no bound of programs, since it has no certificate"]
        if take_refined_time(document):
            told = [*(told or ()), "exact time, without what it was refined from"]
        machine = document.get("machine")
        if not is_outdated(machine):
            return told
        hashed = document.get("machine_hash") == written_digest(machine)
        told = [*(told or ()), *bring_machine_up(machine)]
        if hashed:
            # What is wrong with the machine is said where the schedule is read.
            with contextlib.suppress(InputError):
                document["machine_hash"] = Machine.from_json(json.dumps(machine)).digest
        return told

    def read_from(self, file: str) -> None:
        """Remember the file for errors, also for the loop and the machine inside it."""
        super().read_from(file)
        self.loop.read_from(file)
        self.machine.read_from(file)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_unique("groups", "name", [group.name for group in self.groups])
        check_unique("barriers", "name", [barrier.name for barrier in self.barriers])
        check_unique("placements", "operation", [p.operation for p in self.placements])
        check_unique("programs", "group", [program.group for program in self.programs])
        known = {
            "group": {group.name for group in self.groups},
            "operation": {operation.name for operation in self.loop.operations},
            "barrier": {barrier.name for barrier in self.barriers},
        }
        self._check_placements(known)
        self._check_storage(known)
        for index, program in enumerate(self.programs):
            check_known(f"programs[{index}].group", program.group, known["group"], "group")
            for position, instruction in enumerate(program.body):
                _check_instruction(self, f"programs[{index}].body[{position}]", instruction, known)
        digest = self.machine.digest
        if self.machine_hash not in (None, digest):
            message = f"the embedded machine's hash is {digest} (got {short(self.machine_hash)})"
            raise refuse("machine_hash", message)
        return self

    def _check_placements(self, known: dict[str, set[str]]) -> None:
        for index, placement in enumerate(self.placements):
            for what in ("group", "operation"):
                name = getattr(placement, what)
                check_known(f"placements[{index}].{what}", name, known[what], what)
        missing = sorted(known["operation"] - {p.operation for p in self.placements})
        if missing:
            raise refuse("placements", f"operation {short(missing[0])} is not placed")

    def _check_storage(self, known: dict[str, set[str]]) -> None:
        for index, storage in enumerate(self.storage):
            path = f"storage[{index}]"
            check_known(f"{path}.value", storage.value, known["operation"], "operation")
            if storage.reader is not None:
                check_known(f"{path}.reader", storage.reader, known["operation"], "operation")
                _check_read(self.loop, path, storage.value, storage.reader, storage.distance)
            if storage.group is not None:
                check_known(f"{path}.group", storage.group, known["group"], "group")

    @property
    def summary(self) -> str:
        """Loop, machine, interval and groups."""
        told = f"{self.loop.name} on {self.machine.name}"
        if self.promise is not None:
            told += f": {self.promise.interval_cycles:g} cycles promised"
        elif self.initiation_interval is not None:
            told += f": static interval {self.initiation_interval}"
        return f"{told}, {', '.join(group.name for group in self.groups)}"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each operation.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``operation``: its ``kind``, the ``group`` that issues it, and that group's
            ``warps``. Static times, if any, are in units of `time`: ``start`` within the
            iteration, ``stage``, and ``row`` within a round.
        """
        import pandas as pd

        warps = {group.name: group.warps for group in self.groups}
        interval, rows = self.initiation_interval, []
        for placement in self.placements:
            name, start = placement.operation, placement.start
            row: dict[str, str | int] = {"operation": name, "kind": self.loop.operation(name).kind}
            row |= {"group": placement.group, "warps": warps[placement.group]}
            if start is not None and interval is not None:
                stage, within = divmod(start, interval)
                row |= {"start": start, "stage": stage, "row": within}
            rows.append(row)
        return pd.DataFrame(rows).set_index("operation")

    @property
    def start(self) -> dict[str, int]:
        """M: issue time by operation; operations without one are left out."""
        return {p.operation: p.start for p in self.placements if p.start is not None}

    @cached_property
    def assignment(self) -> dict[str, str]:
        """A: group by operation."""
        return {placement.operation: placement.group for placement in self.placements}

    def program(self, group: str) -> Program:
        """Return the program of the group called `group`; a KeyError says that it has none."""
        return {program.group: program for program in self.programs}[group]


def _check_read(loop: Loop, path: str, value: str, reader: str, distance: int) -> None:
    """Refuse a copy for an operation that does not read the value, or not at that distance."""
    read = {
        d.distance
        for d in loop.dependences
        if (d.producer, d.consumer, d.kind) == (value, reader, "data")
    }
    if not read:
        raise refuse(f"{path}.reader", f"{short(reader)} does not read {short(value)}")
    if distance not in read:
        distances = " and ".join(map(str, sorted(read)))
        raise refuse(
            f"{path}.distance",
            f"{short(reader)} reads {short(value)} at distance {distances} (got {distance})",
        )


def _check_instruction(
    schedule: Schedule, path: str, instruction: Instruction, known: dict[str, set[str]]
) -> None:
    for key, name, what in references(instruction):
        check_known(f"{path}.{key}", name, known[what], what)
    if isinstance(instruction, Get):
        read = (instruction.value, instruction.reader, instruction.distance)
        _check_read(schedule.loop, path, *read)
    elif isinstance(instruction, Arrive) and instruction.expect is not None:
        most = schedule.machine.synchronisation.most_expected
        if most is not None and instruction.expect > most:
            message = f"a barrier counts at most {most} bytes (got {instruction.expect})"
            raise refuse(f"{path}.expect", message)
