"""The machine artifact: one SM, its hardware and its cost rules (TOML)."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from twill.artifacts.base import (
    MISSING,
    Artifact,
    check_known,
    packaged,
    packaged_text,
    parse_toml,
    refuse,
    tell_brought_up,
    toml_as_json,
)
from twill.artifacts.costs import MOST_RULES, Rule, Transfer, cost_by_rule
from twill.artifacts.hardware import (
    EIGHTHS,
    MOST_GROUPS,
    MOST_UNITS,
    Count,
    GroupPool,
    Level,
    Memories,
    Products,
    Quantity,
    Registers,
    Synchronisation,
    Text,
    Unit,
)
from twill.artifacts.loop import Cost, Name, Operation, Tile
from twill.artifacts.mechanisms import Instructions, Mechanisms
from twill.artifacts.versions import UNSAID, bring_machine_up, is_outdated
from twill.base.errors import InputError, short
from twill.base.files import read_bytes

FOLDER = "machines"
MOST_EXTENSIONS = 8
# What files of Hopper and Blackwell say where another one leaves it out.
FACTS = {".".join(fact.path): fact.said for fact in UNSAID}


class Machine(Artifact):
    """An SM as the scheduler and the simulator see it.

    Attributes
    ----------
    name, description, architecture : str
        For people; `architecture` is the compilation target, for example ``sm_90``.
    issue_unit : str, optional
        The unit that counts issue slots, in eighths of what the contexts issue a cycle.
    clock : Quantity
        Clock in MHz at which throughput is reported.
    capped_clock : Quantity, optional
        Clock in MHz that is left under load, where power is limited.
    launch : Quantity, optional
        Microseconds from one kernel to the next.
    multiprocessors, contexts, warps : Count
        SMs of the chip; issue contexts of an SM; most resident warps of an SM.
    threads_per_warp : Count
        Threads that execute an instruction of a warp together.
    units : dict
        Functional units by name.
    memories : Memories
        Memories in which values have addresses.
    registers : Registers, optional
        Absent: registers are not limited.
    products : Products, optional
        Shapes of matrix product instructions; absent: any.
    groups : tuple of GroupPool
        Warp groups that a program may use.
    synchronisation : Synchronisation
        Signal costs.
    transfer : Transfer
        Cost of moving a register value to another group.
    sources : dict
        Full references behind the keys with which `source` texts begin.
    cold_loads : str, optional
        Packaged trace of latencies of loads from DRAM with all SMs at work; rings are made deep
        enough for them.
    mechanisms : Mechanisms, optional
        Mechanisms of the simulated SM that the static model leaves out.
    instructions : tuple of Instructions, optional
        Pipes of the simulator of machine code; an opcode or cost counts where it occurs first.
    levels : tuple of Level, optional
        The memory system behind variable-latency loads, the nearest level first.
    constants : dict
        Named numbers for the rules.
    rules : tuple of Rule
        Costs by kind of operation; none on a machine whose operations bring their own.
    """

    said_of_missing = FACTS
    schema_name: Literal["twill.machine"] = Field("twill.machine", alias="schema")
    schema_version: Literal[2] = 2
    name: Name
    description: str = ""
    architecture: str = ""
    issue_unit: Name | None = None
    clock: Quantity
    capped_clock: Quantity | None = None
    launch: Quantity | None = None
    multiprocessors: Count
    contexts: Count
    warps: Count
    threads_per_warp: Count
    units: Annotated[dict[Name, Unit], Field(min_length=1, max_length=MOST_UNITS)]
    memories: Memories = Memories()
    registers: Registers | None = None
    products: Products | None = None
    groups: Annotated[tuple[GroupPool, ...], Field(min_length=1, max_length=MOST_GROUPS)]
    synchronisation: Synchronisation
    transfer: Transfer
    sources: Annotated[dict[str, Text], Field(min_length=1)]
    cold_loads: Name | None = None
    mechanisms: Mechanisms | None = None
    instructions: tuple[Instructions, ...] | None = None
    levels: tuple[Level, ...] | None = None
    constants: dict[Name, Quantity] = {}
    rules: Annotated[tuple[Rule, ...], Field(max_length=MOST_RULES)] = ()
    _sourced: bool = PrivateAttr(default=False)  # sources were looked at, once for every schedule

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.issue_unit is not None:
            check_known("issue_unit", self.issue_unit, self.units, "unit")
            capacity = self.units[self.issue_unit].capacity
            if capacity != EIGHTHS:
                message = f"issue slots are counted in eighths, so 8 (got {capacity})"
                raise refuse(f"units.{self.issue_unit}.capacity", message)
        for index, rule in enumerate(self.rules):
            for position, step in enumerate(rule.steps):
                path = f"rules[{index}].steps[{position}].unit"
                check_known(path, step.unit, self.units, "unit")
        if self.mechanisms is not None:
            _check_mechanisms(self, self.mechanisms)
        if self.memories.smem is not None and self.synchronisation.transactions is None:
            raise refuse("synchronisation.transactions", MISSING)
        if not self._sourced:
            _check_sources(self)
            self._sourced = True
        return self

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the machine's JSON text, as ``sha256:...``."""
        return "sha256:" + hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def named(cls, name: Self | str | os.PathLike[str]) -> Self:
        """Return a packaged machine, or read a file if `name` ends in ``.toml`` or ``.json``.

        Parameters
        ----------
        name : str or path
            A name that `packaged_machines` lists, or a path; a machine is returned as it is.

        Raises
        ------
        InputError
            If there is no such machine.
        """
        if not isinstance(name, str | os.PathLike):
            return name
        name = os.fspath(name)
        if name.endswith((".toml", ".json")):
            return cls.load(name)
        text = packaged_text("machine", FOLDER, name, ".toml")
        return cls.from_toml(text, file=f"{FOLDER}/{name}.toml")

    @classmethod
    def bring_up(cls, document: dict[str, Any]) -> list[str] | None:
        """Write into a machine of version 1 what it left to Twill."""
        return bring_machine_up(document) if is_outdated(document) else None

    @classmethod
    def from_toml(cls, text: bytes, *, file: str = "") -> Self:
        """Read a machine from TOML text, laid over the machine that it extends."""
        complete = functools.partial(extended, file=file)
        return cls.from_json(toml_as_json(text, file, complete), file=file)

    def threads(self, warps: int) -> int:
        """Return the threads of so many warps."""
        return warps * self.threads_per_warp.value

    def slot_size(self, tile: Tile) -> int:
        """Return what one slot of a tile takes: columns of TMEM, otherwise bytes."""
        memory = self.memories.by_name.get(tile.memory)
        return tile.bytes if memory is None else memory.slot_size(tile)

    def footprint(self, tile: Tile) -> int:
        """Return what a tile takes of its memory, in that memory's `footprint`; 0 if of none."""
        memory = self.memories.by_name.get(tile.memory)
        return 0 if memory is None else memory.footprint(tile)

    def cost(self, operation: Operation) -> Cost:
        """Return what `operation` costs here, in clock cycles.

        Parameters
        ----------
        operation : Operation
            The operation; a cost of its own replaces the rules.

        Raises
        ------
        InputError
            If no rule applies, or a rule needs a fact that the operation lacks.
        """
        return operation.cost or cost_by_rule(self, operation)


def _check_mechanisms(machine: Machine, mechanisms: Mechanisms) -> None:
    """Refuse mechanisms of units that there are not, and a port that is none."""
    for path, name in mechanisms.units():
        check_known(f"mechanisms.{path}", name, machine.units, "unit")
    slots, port = mechanisms.registers, mechanisms.port
    if slots is not None and not slots.free.value:
        raise refuse("mechanisms.registers.free", "more than 0, or nothing would ever be issued")
    if port is not None:
        if not all(0 < share.left.value <= 1 for share in port.shares):
            raise refuse("mechanisms.port.shares", "shares above 0, and at most 1")
        unit = machine.units[port.unit]
        if unit.scope != "sm" or unit.capacity == 1:
            raise refuse("mechanisms.port.unit", f"{short(port.unit)} is no port with a bandwidth")


def extended(document: dict[str, Any], file: str, depth: int = 0) -> dict[str, Any]:
    """Lay `document` over the machine that its key ``extends`` names; its lists come first."""
    base_name = document.pop("extends", None)
    if base_name is None:
        return document
    if not isinstance(base_name, str) or depth >= MOST_EXTENSIONS:
        raise InputError(
            f"not a machine to extend (got {short(base_name)})", path="extends", file=file
        )
    if base_name in packaged_machines():
        text = packaged_text("machine", FOLDER, base_name, ".toml")
    else:
        try:
            text = read_bytes(Path(file).parent / base_name, ordinary=True)
        except InputError as error:
            message = f"{short(base_name)} {error.message}"
            raise InputError(message, path="extends", file=file) from None
    base = extended(parse_toml(text, short(base_name)), base_name, depth + 1)
    told = bring_machine_up(base) if is_outdated(base) else []
    if told:
        tell_brought_up(base_name, told)
    first: dict[str, Any] = {
        key: [*document.pop(key, []), *base.pop(key, [])]
        for key in ("rules", "instructions")
        if key in document or key in base
    }
    return {**_laid_over(base, document), **first}


def _laid_over(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _laid_over(base[key], value)
        for key, value in top.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | top | both


def packaged_machines() -> list[str]:
    """Return the names of the machines that ship with the package, sorted."""
    return packaged(FOLDER, ".toml")


def citations(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every ``source`` in a machine, or in its document, with its path."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from citations(inner, f"{path}.{key}" if path else key)
        case tuple() | list():
            for index, inner in enumerate(value):
                yield from citations(inner, f"{path}[{index}]")
        case str() if path.endswith(".source"):
            yield path, value


def _check_sources(machine: Machine) -> None:
    """Refuse a figure without a source."""
    for path, source in citations(machine.model_dump()):
        key = source.split(":", 1)[0].split(" ", 1)[0]
        if key not in machine.sources:
            raise refuse(path, f"must begin with a key of [sources] (got {short(source)})")
