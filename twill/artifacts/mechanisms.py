"""Mechanisms of the simulated SM that the static model leaves out; numbers have sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from twill.artifacts.base import Part
from twill.artifacts.hardware import Cycles, Quantity, Text
from twill.artifacts.loop import Name


class Instructions(Part):
    """Instructions of machine code that one pipe executes, and what they cost.

    `pipe`: a pipe of the simulator of machine code.
    `opcodes`: names of its instructions without modifiers; ``*`` stands for any letters.
    `costs`: the costs that the pipe has in `twill.sim.machine_code.costs.Costs`, by name.
    """

    pipe: Name
    opcodes: tuple[Text, ...] = ()
    costs: dict[Name, Quantity] = {}


class RegisterSlots(Part):
    """Register slots of a context, one a cycle, which products with results in registers share.

    `unit`: the unit of products.
    `first`: pipes whose instructions take a slot at once; beyond the free slots they delay the
    product.
    `waiting`: pipes whose instructions wait for a free slot.
    `free`: slots a cycle that a product leaves free.
    `kept`: free slots that are kept for later, at most.
    `apart`: cycles between instructions that delay a product.
    """

    unit: Name
    first: tuple[Name, ...]
    waiting: tuple[Name, ...]
    free: Quantity
    kept: Quantity
    apart: Quantity


class PortShare(Part):
    """The share of a port that is left to warps by products that need another share of it."""

    needed: Annotated[float, Field(ge=0, le=1)]
    left: Quantity


class SharedPort(Part):
    """The port of shared memory, as warps see it.

    `unit`: the port; its capacity is bytes a cycle.
    `products`: the unit of products, which fetch factors through the port.
    `shuffles`: the pipe whose instructions take a cycle of the port each.
    `latency`: of a load from shared memory.
    `shares`: shares of warps during products; the entry of the nearest need counts.
    """

    unit: Name
    products: Name
    shuffles: Name | None = None
    latency: Cycles
    shares: Annotated[tuple[PortShare, ...], Field(min_length=1)]


class HandOvers(Part):
    """Costs of signals between groups as compilers emit them, in cycles.

    `wait`: a wait on a barrier whose phase is complete.
    `group`: the barrier of a group's warps before the arrive of one of them.
    `hop`: from the issue of an arrive until a blocked waiter goes on.
    """

    wait: Cycles
    group: Cycles
    hop: Cycles
    fence: Cycles


class Mechanisms(Part):
    """Mechanisms of the simulated SM that the static model leaves out.

    `registers`: products share register slots with instructions.
    `port`: transfers, stores and shuffles share the port of shared memory with products.
    `hand_overs`: signals take longer than those of hand-written code.
    """

    registers: RegisterSlots | None = None
    port: SharedPort | None = None
    hand_overs: HandOvers | None = None

    def units(self) -> Iterator[tuple[str, str]]:
        """Yield the units that they concern, with their paths."""
        if (slots := self.registers) is not None:
            yield "registers.unit", slots.unit
            for key, names in (("first", slots.first), ("waiting", slots.waiting)):
                yield from ((f"registers.{key}[{n}]", name) for n, name in enumerate(names))
        if (port := self.port) is not None:
            yield from (("port.unit", port.unit), ("port.products", port.products))
            if port.shuffles is not None:
                yield "port.shuffles", port.shuffles
