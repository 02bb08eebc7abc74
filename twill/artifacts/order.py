"""The smallest schedule that can be executed: groups, what each issues in which order, buffers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, NonNegativeInt, PositiveInt, Tag, model_validator

from twill.artifacts.base import Artifact, Part, refuse
from twill.artifacts.hardware import MOST_GROUPS
from twill.artifacts.loop import MOST_WARPS, Label, Loop, Many, Name
from twill.artifacts.machine import Machine
from twill.artifacts.program import (
    MOST_INSTRUCTIONS,
    Barriers,
    Instruction,
    Issue,
    LaneHalf,
    Slots,
    issues_of,
)
from twill.artifacts.schedule import Interval
from twill.artifacts.versions import bring_machine_up, is_outdated
from twill.base.errors import short

SCHEMA = "twill.order"
Waits = Literal["late", "hoisted"]


def _kind(entry: object) -> str:
    """Return the intended type of an entry of a body, so that errors are about that type."""
    return "name" if isinstance(entry, str) else "instruction"


Entry = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Instruction, Tag("instruction")], Discriminator(_kind)
]


class OrderedGroup(Part):
    """A warp group with what it issues, in order.

    `name`, `warps`, `variable_latency`, `registers`: as in `twill.artifacts.schedule.Group`.
    `body`: names of operations, or instructions as in a program; a name is an issue of stage 0.
    """

    name: Name
    warps: Annotated[int, Field(ge=1, le=MOST_WARPS)]
    variable_latency: bool = False
    registers: PositiveInt | None = None
    body: Annotated[tuple[Entry, ...], Field(max_length=MOST_INSTRUCTIONS)]

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The body with names spelled out as issues."""
        return tuple(
            Issue(operation=entry) if isinstance(entry, str) else entry for entry in self.body
        )


class Buffer(Part):
    """Slots of a value; iteration i uses slot i mod `slots`.

    `value`: the operation whose result it holds.
    `slots`: instances that fit.
    `transfer`: whether it is the SMEM staging of a register value that another group reads.
    `addresses`, `halves`: as in `twill.artifacts.program.Storage`.
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
        Claimed cycles from one iteration to the next.
    waits : str
        Where asynchronous results are awaited: ``late``, each before its first use, or ``hoisted``.
        A hoisted wait is where the group first awaits any result of the same unit that it has
        issued by then, as compilers wait for all products at once.
    groups : tuple of OrderedGroup
        Every operation of the loop is issued once by one of them.
    buffers : tuple of Buffer
        Where more than the least slots are wanted.
    barriers : tuple of Barrier
        Barriers of bodies that have more than one slot, or whose arrivals are not the number of
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

    @classmethod
    def bring_up(cls, document: dict[str, Any]) -> list[str] | None:
        """Write into an embedded machine of version 1 what it left to Twill."""
        machine = document.get("machine")
        return bring_machine_up(machine) if is_outdated(machine) else None

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: dict[str, str] = {}
        for index, group in enumerate(self.groups):
            for position, instruction in enumerate(group.instructions):
                where = f"groups[{index}].body[{position}]"
                for name in (part.operation for part in issues_of(instruction) if part.first):
                    if name in seen:
                        message = f"{short(name)} is issued a second time (first in {seen[name]})"
                        raise refuse(where, message)
                    seen[name] = where
        return self
