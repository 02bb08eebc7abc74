"""The smallest schedule that can be executed: groups, what each issues in which order, buffers."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError, model_validator

from twill.artifacts.base import Artifact, Part, first_problem, refuse
from twill.artifacts.hardware import MOST_GROUPS
from twill.artifacts.loop import MOST_WARPS, Label, Loop, Many, Name
from twill.artifacts.machine import Machine
from twill.artifacts.program import (
    MOST_INSTRUCTIONS,
    Barriers,
    Instruction,
    Interleave,
    Issue,
    LaneHalf,
    Slots,
)
from twill.artifacts.schedule import Interval, Schedule
from twill.errors import InputError, short

SCHEMA = "twill.order"
Waits = Literal["late", "hoisted"]


class OrderedGroup(Part):
    """A warp group with what it issues, in order.

    Attributes
    ----------
    name, warps, variable_latency, registers
        As in `twill.artifacts.schedule.Group`.
    body : tuple
        Names of operations, or instructions as in a program; a name is an issue of stage 0.
    """

    name: Name
    warps: Annotated[int, Field(ge=1, le=MOST_WARPS)]
    variable_latency: bool = False
    registers: PositiveInt | None = None
    body: Annotated[tuple[Name | Instruction, ...], Field(max_length=MOST_INSTRUCTIONS)]

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The body with names spelled out as issues."""
        return tuple(
            Issue(operation=entry) if isinstance(entry, str) else entry for entry in self.body
        )


class Buffer(Part):
    """Slots of a value; iteration i uses slot i mod `slots`.

    Attributes
    ----------
    value : str
        The operation whose result it holds.
    slots : int
        Instances that fit.
    transfer : bool
        Whether it is the SMEM staging of a register value that another group reads.
    addresses, halves : tuple of int
        As in `twill.artifacts.program.Storage`.
    """

    value: Name
    slots: Slots
    transfer: bool = False
    addresses: tuple[NonNegativeInt, ...] = ()
    halves: tuple[LaneHalf, ...] = ()


class Order(Artifact):
    """A schedule as a person writes it down; waits and arrives follow from it.

    Attributes
    ----------
    initiation_interval : int, optional
        Cycles from one iteration to the next that it is said to achieve.
    waits : str
        Where asynchronous results are awaited: ``late``, each before its first use, or ``hoisted``,
        each where its group first awaits any result of the same unit that it has issued by then,
        as compilers let a group wait for all of its products at once.
    groups : tuple of OrderedGroup
        Every operation of the loop is issued once by one of them.
    buffers : tuple of Buffer
        Where more than the least slots are wanted.
    barriers : tuple of Barrier
        Those that bodies name and that have more than one slot or another number of arrivals than
        groups that arrive.
    loop, machine : Loop or str, Machine or str
        Embedded, or the name of a packaged one (of a file in ``traces/loops``), or a path relative
        to this file that ends in ``.json`` or ``.toml``.
    """

    schema_name: Literal["twill.order"] = Field("twill.order", alias="schema")
    schema_version: Literal[1] = 1
    name: Label
    description: str = ""
    initiation_interval: Interval | None = None
    waits: Waits = "late"
    groups: Annotated[tuple[OrderedGroup, ...], Field(min_length=1, max_length=MOST_GROUPS)]
    buffers: Annotated[tuple[Buffer, ...], Many] = ()
    barriers: Barriers = ()
    loop: Name | Loop
    machine: Name | Machine

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: dict[str, str] = {}
        for index, group in enumerate(self.groups):
            for position, instruction in enumerate(group.instructions):
                for part in issues_of(instruction):
                    where = f"groups[{index}].body[{position}]"
                    if part.first and part.operation in seen:
                        raise refuse(
                            where, f"{short(part.operation)} is issued a second time (first in "
                            f"{seen[part.operation]})"
                        )  # fmt: skip
                    if part.first:
                        seen[part.operation] = where
        return self

    def schedule(self) -> Schedule:
        """Return the schedule with its waits, arrives, barriers and storage.

        Raises
        ------
        InputError
            If the loop or the machine is missing, an operation is not issued, or a buffer is of
            no use.
        """
        from twill.artifacts.derive import derive

        try:
            return derive(self, self._loop(), self._machine())
        except ValidationError as error:
            raise first_problem(error, self.file) from None

    def _loop(self) -> Loop:
        if isinstance(self.loop, Loop):
            return self.loop
        if self.loop.endswith(".json"):
            return Loop.load(self._beside(self.loop))
        folder = importlib.resources.files("twill.traces").joinpath("loops")
        names = sorted(e.name.removesuffix(".json") for e in folder.iterdir())
        if self.loop not in names:
            raise InputError(
                f"no loop named {short(self.loop)}; there are {', '.join(names)}; a file ends in "
                ".json",
                path="loop",
                file=self.file,
            )
        return Loop.from_json(
            folder.joinpath(f"{self.loop}.json").read_bytes(), file=f"loops/{self.loop}.json"
        )

    def _machine(self) -> Machine:
        if isinstance(self.machine, Machine):
            return self.machine
        is_file = self.machine.endswith((".toml", ".json"))
        return Machine.named(self._beside(self.machine) if is_file else self.machine)

    def _beside(self, name: str) -> str:
        return str(Path(self.file).parent / name)


def ordered(name: str, waits: str) -> Schedule:
    """Return the schedule of an order whose waits stand elsewhere than it says.

    Parameters
    ----------
    name : str
        A packaged order, or a file that ends in ``.json``.
    waits : str
        ``late`` or ``hoisted``, see `Order`.

    Raises
    ------
    InputError
        If there is no such file, it is not an order or its waits cannot be derived so.
    """
    file, text = Schedule.text_of(name)
    if waits not in get_args(Waits):
        known = ", ".join(get_args(Waits))
        raise InputError(f"one of {known} (got {short(waits)})", path="waits")
    if not is_order(text):
        raise InputError(
            "its waits are written down; only those of an order are derived",
            path="waits",
            file=file,
        )
    order = Order.from_json(text, file=file).model_copy(update={"waits": waits})
    return order.schedule()


def is_order(text: str | bytes) -> bool:
    """Return whether a JSON document says that it is an order.

    Parameters
    ----------
    text : str or bytes
        The document.
    """
    mark = SCHEMA if isinstance(text, str) else SCHEMA.encode()
    if mark not in text:  # type: ignore[operator]  # both are of one type
        return False
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def issues_of(instruction: Instruction) -> tuple[Issue, ...]:
    """Return the issues that an instruction consists of; none for synchronisation.

    Parameters
    ----------
    instruction : Instruction
        One of a body.
    """
    if isinstance(instruction, Issue):
        return (instruction,)
    return instruction.parts if isinstance(instruction, Interleave) else ()
