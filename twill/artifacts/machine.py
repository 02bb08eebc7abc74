"""The machine artifact: units, memories, warps and cost rules of one SM (TOML)."""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import math
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from twill.artifacts.base import MISSING, Artifact, Part, parse_toml, refuse
from twill.artifacts.expressions import MOST_CHARACTERS, check_expression, evaluate, to_cycles
from twill.artifacts.loop import Cost, Name, Operation, Step, Tile
from twill.errors import InputError, short
from twill.files import read_bytes

Text = Annotated[str, Field(min_length=1)]
Expression = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
EIGHTHS = 8
MOST_EXTENSIONS = 8
MOST_GROUPS = 64
MOST_UNITS = 64
MOST_RULES = 1_000
MOST_COUNT = 1 << 20
HALVES = 2
"""Of the lanes of a column of TMEM, as tiles with few rows take them."""
CELL_BITS = 32
"""Of a column of TMEM in one lane; what the unit of its capacity means."""
FACTS = {
    "threads_per_warp": "32",
    "memories.smem.alignment": "128 bytes",
    "memories.smem.swizzle": "1024 bytes",
    "memories.tmem.lanes": "128 lanes",
    "memories.tmem.half": "64 rows",
    "synchronisation.transactions": "1048575 bytes",
}
"""What files of Hopper and Blackwell say of facts that older files of machines do not have."""


class Quantity(Part):
    """A number with its unit and its source."""

    value: Annotated[float, Field(ge=0)]
    unit: Text
    source: Text


class Count(Part):
    """A whole positive number, up to a million or so, with its unit and its source."""

    value: Annotated[PositiveInt, Field(le=MOST_COUNT)]
    unit: Text
    source: Text


class Cycles(Part):
    """A cost in whole cycles with its source."""

    value: Annotated[int, Field(ge=0, le=1 << 40)]
    source: Text


class CommandQueue(Part):
    """Commands that wait for an asynchronous unit.

    Attributes
    ----------
    depth : Count
        Commands that fit, the one in execution not counted.
    full : str
        What a warp does whose command does not fit: ``blocks`` until it does, or ``goes on``.
    order : str
        Which command the unit takes next: the one that was ``issued`` first, one of the
        ``operation`` that it is working on, or the first one of another group, in ``turns``.
    source : str
        Where the behaviour comes from.
    """

    depth: Count
    full: Literal["blocks", "goes on"] = "blocks"
    order: Literal["issued", "operation", "turns"] = "issued"
    source: Text


class Proxy(Part):
    """The proxy through which a unit's asynchronous operations reach shared memory.

    Attributes
    ----------
    name : str
        ``async``: what warps read and wrote there before needs a fence to be ordered with it.
    source : str
        Where that is said.
    """

    name: Literal["async"]
    source: Text


class Unit(Part):
    """A kind of functional unit.

    Attributes
    ----------
    capacity : int
        Instances, or shares of one, that can be in use in a cycle.
    unit : str
        What one of them is.
    scope : str
        ``context`` if each issue context has its own part, ``sm`` if the SM has one.
    in_order : bool
        Whether it executes asynchronous operations strictly in the order of their issue, so that
        an accumulation may follow on it without a wait.
    queue : CommandQueue, optional
        Of an asynchronous unit; without it commands are taken in the order of their issue and as
        many as come.
    in_flight : Count, optional
        Bytes that may be on their way at once, from the start of a command until its result is
        there.
    proxy : Proxy, optional
        Of its asynchronous operations; without it they access shared memory as warps do.
    source : str
        Where the numbers come from.
    """

    capacity: PositiveInt
    unit: Text
    scope: Literal["context", "sm"] = "sm"
    in_order: bool = False
    queue: CommandQueue | None = None
    in_flight: Count | None = None
    proxy: Proxy | None = None
    source: Text


class SharedMemory(Part):
    """SMEM, addressed in bytes.

    Attributes
    ----------
    capacity : int
        Bytes that a program has.
    alignment : Count
        Bytes; every address is a multiple.
    swizzle : Count
        Bytes after which the pattern repeats in which operands are stored; the address of a slot
        of at least so many is a multiple.
    source : str
        Where the capacity comes from.
    """

    capacity: PositiveInt
    unit: Literal["bytes"]
    alignment: Count
    swizzle: Count
    source: Text

    @property
    def room(self) -> int:
        """Capacity in the unit of `footprint`."""
        return self.capacity

    def footprint(self, tile: Tile) -> int:
        """Return the bytes that a tile takes.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        return tile.bytes

    def slot_size(self, tile: Tile) -> int:
        """Return the bytes that a tile takes.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        return tile.bytes

    def step(self, size: int) -> int:
        """Return what the address of a slot is a multiple of.

        Parameters
        ----------
        size : int
            Bytes of the slot.
        """
        return (self.swizzle if size >= self.swizzle.value else self.alignment).value


class TensorMemory(Part):
    """TMEM, addressed in columns; a cell of a column, one for each lane, has 32 bits.

    Attributes
    ----------
    capacity : int
        Columns that a program has.
    lanes : Count
        Lanes of a column.
    half : Count
        Rows of a tile up to which it takes half of the lanes of its columns, so that another one
        fits into the other half.
    source : str
        Where the capacity comes from.
    """

    capacity: PositiveInt
    unit: Literal["columns"]
    lanes: Count
    half: Count
    source: Text

    @property
    def room(self) -> int:
        """Capacity in the unit of `footprint`."""
        return self.capacity * HALVES

    def halved(self, tile: Tile) -> bool:
        """Return whether a tile takes half of the lanes of its columns; a vector does not.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        return len(tile.shape) > 1 and math.prod(tile.shape[:-1]) <= self.half.value

    def slot_size(self, tile: Tile) -> int:
        """Return the columns that a tile takes.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        width = tile.shape[-1] if tile.shape else 1
        deep = -(-math.prod(tile.shape[:-1]) // self.lanes.value)
        return deep * -(-width * tile.bits // CELL_BITS)

    def footprint(self, tile: Tile) -> int:
        """Return the columns that a tile takes, those of half of the lanes counted once.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        return self.slot_size(tile) * (1 if self.halved(tile) else HALVES)

    def step(self, _size: int) -> int:
        """Return what the address of a slot is a multiple of: a tile may begin at any column."""
        return 1


class Memories(Part):
    """Memories in which values have addresses, as far as the machine has them.

    Attributes
    ----------
    smem : SharedMemory, optional
        Shared memory.
    tmem : TensorMemory, optional
        Tensor memory.
    """

    smem: SharedMemory | None = None
    tmem: TensorMemory | None = None

    @property
    def by_name(self) -> dict[str, SharedMemory | TensorMemory]:
        """Those that there are."""
        both = {"smem": self.smem, "tmem": self.tmem}
        return {name: memory for name, memory in both.items() if memory is not None}


class Registers(Part):
    """The register file and how it is handed out.

    Attributes
    ----------
    file : Count
        32-bit registers of the SM.
    limit : Count
        Most registers that one thread can use.
    step, least, most : Count
        Registers per thread are allocated in multiples of `step` from `least` to `most`.
    warps : Count
        Aligned warps that share one allocation.
    launch : Count, optional
        A launch gives every thread the same registers, a multiple of this and at most `most`, and
        groups share out again what it gave; without it they share out the whole file.
    reserve : Quantity
        Registers per thread kept for addresses, descriptors and loop counters.
    """

    file: Count
    limit: Count
    step: Count
    least: Count
    most: Count
    warps: Count
    launch: Count | None = None
    reserve: Quantity


class GroupPool(Part):
    """How many warp groups of one width a program may use."""

    warps: Annotated[PositiveInt, Field(le=MOST_GROUPS)]
    count: Annotated[PositiveInt, Field(le=MOST_GROUPS)]
    source: Text


class Synchronisation(Part):
    """Costs of signals between warp groups, in cycles.

    Attributes
    ----------
    wait : Cycles
        A blocking wait on a barrier whose phase is already complete.
    arrive : Cycles
        Issue time of an arrive.
    hop : Cycles
        From the issue of an arrive until a blocked waiter goes on; both of the above included.
    poll : Cycles, optional
        From one test of a polling wait to the next.
    named : Synchronisation, optional
        The same for named barriers; as above without it.
    transactions : Count, optional
        Bytes that a phase can still expect, or have been given too early, at most; required where
        there is SMEM, in which barriers count them.
    """

    wait: Cycles
    arrive: Cycles
    hop: Cycles
    poll: Cycles | None = None
    named: Synchronisation | None = None
    transactions: Count | None = None


class Interference(Part):
    """A unit that is slower while another one works.

    Attributes
    ----------
    unit, beside : str
        The unit that is slowed down, and the one whose work does it; a pipe of the contexts does
        in any of them.
    factor : Quantity
        By which a command takes longer that starts while the other unit is at work.
    """

    unit: Name
    beside: Name
    factor: Quantity


class Level(Part):
    """A level of the memory system that loads are served from.

    Attributes
    ----------
    name : str
        For people.
    further : Quantity
        Cycles that its data is further away than that of the nearest level, whose latency is the
        nominal one.
    share : Quantity
        Share of the loads that it serves where nothing else is said.
    rate : Quantity, optional
        Bytes a cycle that one SM gets from it; without it as fast as the loading unit.
    """

    name: Name
    further: Quantity
    share: Quantity
    rate: Quantity | None = None


class StepRule(Part):
    """One step of a rule, as expressions."""

    unit: Name
    cycles: Expression
    instructions: Expression = "1"
    count: Expression = "1"


class Rule(Part):
    """How operations of some kinds are costed; the first rule that applies counts.

    Expressions use ``+ - * / // % **``, comparisons, ``and or not``, ``if else``,
    ``ceil floor max min log2``, the machine's constants, the names in `let`, the operation's
    attributes and the variables listed in `Machine.variables`.
    """

    kind: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_RULES)]
    when: Expression = "True"
    let: dict[str, Expression] = {}
    steps: Annotated[tuple[StepRule, ...], Field(min_length=1, max_length=MOST_UNITS)]
    asynchronous: bool = False
    issue: Expression = "0"
    latency: Expression
    working_set: Expression = "0"
    variable_latency: bool = False
    source: Text


class Products(Part):
    """Shapes that one matrix product instruction can have.

    Attributes
    ----------
    rows : tuple of int
        Rows of the result; a tile's rows are a multiple of one of them.
    column_step, most_columns : int
        Columns of the result are a multiple of the one and no more than the other.
    depth_bytes : int, optional
        Bytes along the depth of either factor; a tile's depth is a multiple. Absent: any.
    warps : int, optional
        Warps that execute one together, where its result is in their registers: so many have the
        result's rows, others further ones. Absent: all warps of an operation.
    source : str
        Where the numbers come from.
    """

    rows: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    column_step: PositiveInt
    most_columns: PositiveInt
    depth_bytes: PositiveInt | None = None
    warps: PositiveInt | None = None
    source: Text


class Transfer(Part):
    """Cycles for a register value to pass from one warp group to another through SMEM."""

    cycles: Expression
    source: Text


class Machine(Artifact):
    """One SM as the scheduler and the simulator see it.

    Attributes
    ----------
    name, description, architecture : str
        For people; `architecture` is the compilation target, for example ``sm_90``.
    issue_unit : str, optional
        The unit that counts issue slots, in eighths of what the contexts issue a cycle.
    clock : Quantity
        Clock in MHz at which throughput is reported.
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
    interference : tuple of Interference, optional
        Units that slow each other down.
    levels : tuple of Level, optional
        The memory system behind variable-latency loads, the nearest level first.
    constants : dict
        Named numbers for the rules.
    rules : tuple of Rule
        Costs by kind of operation; none on a machine whose operations bring their own.
    """

    said_of_missing = FACTS
    schema_name: Literal["twill.machine"] = Field("twill.machine", alias="schema")
    schema_version: Literal[1] = 1
    name: Name
    description: str = ""
    architecture: str = ""
    issue_unit: Name | None = None
    clock: Quantity
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
    interference: tuple[Interference, ...] | None = None
    levels: tuple[Level, ...] | None = None
    constants: dict[Name, Quantity] = {}
    rules: Annotated[tuple[Rule, ...], Field(max_length=MOST_RULES)] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.issue_unit is not None:
            unit = self.units.get(self.issue_unit)
            if unit is None:
                raise refuse("issue_unit", f"no unit named {short(self.issue_unit)}")
            if unit.capacity != EIGHTHS:
                raise refuse(
                    f"units.{self.issue_unit}.capacity",
                    f"issue slots are counted in eighths, so 8 (got {unit.capacity})",
                )
        for index, rule in enumerate(self.rules):
            self._check_rule(f"rules[{index}]", rule)
        for index, pair in enumerate(self.interference or ()):
            for key, name in (("unit", pair.unit), ("beside", pair.beside)):
                if name not in self.units:
                    raise refuse(f"interference[{index}].{key}", f"no unit named {short(name)}")
            self._check_interference(f"interference[{index}]", pair)
        check_expression(self.transfer.cycles, "transfer.cycles")
        if self.memories.smem is not None and self.synchronisation.transactions is None:
            raise refuse("synchronisation.transactions", MISSING)
        self._check_sources()
        return self

    def _check_interference(self, path: str, pair: Interference) -> None:
        """Refuse what could have no effect: only commands are slowed down, and only by work."""
        if pair.beside == self.issue_unit:
            raise refuse(f"{path}.beside", f"{short(pair.beside)} is issue slots, which do no work")
        commanded = {s.unit for rule in self.rules if rule.asynchronous for s in rule.steps}
        if self.units[pair.unit].scope == "context" and pair.unit not in commanded:
            raise refuse(
                f"{path}.unit",
                f"{short(pair.unit)} takes no commands that could be slowed down: it is a pipe of "
                "each context",
            )

    def _check_rule(self, path: str, rule: Rule) -> None:
        for position, step in enumerate(rule.steps):
            where = f"{path}.steps[{position}]"
            if step.unit not in self.units:
                raise refuse(f"{where}.unit", f"no unit named {short(step.unit)}")
            for key in ("cycles", "instructions", "count"):
                check_expression(getattr(step, key), f"{where}.{key}")
        for key in ("when", "issue", "latency", "working_set"):
            check_expression(getattr(rule, key), f"{path}.{key}")
        for name, expression in rule.let.items():
            check_expression(expression, f"{path}.let.{name}")

    def _check_sources(self) -> None:
        for path, source in _sources(self.model_dump(), ""):
            key = source.split(":", 1)[0].split(" ", 1)[0]
            if key not in self.sources:
                raise refuse(path, f"must begin with a key of [sources] (got {short(source)})")

    @property
    def transactions(self) -> int | None:
        """Bytes that a phase of a barrier can be told to expect, None if any number."""
        count = self.synchronisation.transactions
        return None if count is None else count.value

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the machine's JSON text, as ``sha256:...``."""
        return "sha256:" + hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged machine, or read a file if `name` ends in ``.toml`` or ``.json``.

        Parameters
        ----------
        name : str
            A name that `packaged_machines` lists, or a path.

        Raises
        ------
        InputError
            If there is no such machine.
        """
        if name.endswith((".toml", ".json")):
            return cls.load(name)
        if name not in packaged_machines():
            known = ", ".join(packaged_machines())
            raise InputError(
                f"no such machine; packaged are {known}; a file ends in .toml", file=name
            )
        return cls.from_toml(_packaged(name).read_bytes(), file=f"machines/{name}.toml")

    @classmethod
    def _completed(cls, document: dict[str, Any], file: str) -> dict[str, Any]:
        return _extended(document, file, depth=0)

    def threads(self, warps: int) -> int:
        """Return the threads of so many warps.

        Parameters
        ----------
        warps : int
            Warps of an operation or a group.
        """
        return warps * self.threads_per_warp.value

    def slot_size(self, tile: Tile) -> int:
        """Return what one slot of a tile takes: columns of TMEM, otherwise bytes.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        memory = self.memories.by_name.get(tile.memory)
        return tile.bytes if memory is None else memory.slot_size(tile)

    def footprint(self, tile: Tile) -> int:
        """Return what a tile takes of its memory, in that memory's `footprint`; 0 if of none.

        Parameters
        ----------
        tile : Tile
            The tile.
        """
        memory = self.memories.by_name.get(tile.memory)
        return 0 if memory is None else memory.footprint(tile)

    def variables(self, operation: Operation) -> dict[str, Any]:
        """Return the names that rules may use for `operation`.

        ``elements bits bytes per_thread columns`` describe the result (operand 0 if there is
        none; ``columns`` only where there is TMEM), the same with ``input_`` operand 0;
        ``m n k a_memory b_memory`` a matrix product; ``result_memory``, ``warps``, ``integer``
        (whether operand 0 is); then the operation's attributes and the machine's constants.

        Parameters
        ----------
        operation : Operation
            The operation to cost.
        """
        first = operation.operands[0] if operation.operands else operation.result
        result = operation.result or first
        names: dict[str, Any] = {"warps": operation.warps}
        for prefix, tile in (("", result), ("input_", first)):
            if tile is not None:
                names |= {
                    f"{prefix}elements": tile.elements,
                    f"{prefix}bits": tile.bits,
                    f"{prefix}bytes": tile.bytes,
                    f"{prefix}per_thread": tile.elements_each(self.threads(operation.warps)),
                }
                if self.memories.tmem is not None:
                    names[f"{prefix}columns"] = self.memories.tmem.slot_size(tile)
        names["result_memory"] = operation.result.memory if operation.result else "none"
        names["integer"] = first is not None and first.dtype.startswith("i")
        if operation.kind.startswith("mma") and len(operation.operands) > 1 and operation.result:
            a, b = operation.operands[:2]
            names |= {"a_memory": a.memory, "b_memory": b.memory}
            if len(operation.result.shape) > 1 and a.shape:
                m, n = operation.result.shape[-2:]
                names |= {"m": m, "n": n, "k": a.shape[-1]}
        constants = {name: quantity.value for name, quantity in self.constants.items()}
        return {**constants, **operation.attributes, **names}

    def rule_for(self, operation: Operation) -> Rule:
        """Return the first rule that applies to `operation`.

        Parameters
        ----------
        operation : Operation
            The operation to cost.

        Raises
        ------
        InputError
            If none applies; names the operation, its location and the file to add a rule to.
        """
        names = self.variables(operation)
        for index, rule in enumerate(self.rules):
            if operation.kind in rule.kind and evaluate(
                rule.when,
                names,
                path=f"rules[{index}].when",
                file=self.file or self.name,
                operation=operation.name,
            ):
                return rule
        place = f" at {operation.location}" if operation.location else ""
        raise InputError(
            f"no cost rule for kind {short(operation.kind)} (operation {short(operation.name)}"
            f"{place}): add a [[rules]] entry to this file",
            path="rules",
            file=self.file or self.name,
        )

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
        if operation.cost is not None:
            return operation.cost
        rule = self.rule_for(operation)
        where = f"rules[{self.rules.index(rule)}]"
        names = self.variables(operation)

        def number(expression: str, key: str) -> int:
            place = {
                "path": f"{where}.{key}",
                "file": self.file or self.name,
                "operation": operation.name,
            }
            return to_cycles(evaluate(expression, names, **place), **place)

        for name, expression in rule.let.items():
            names[name] = evaluate(
                expression,
                names,
                path=f"{where}.let.{name}",
                file=self.file or self.name,
                operation=operation.name,
            )
        steps = []
        for position, step in enumerate(rule.steps):
            cycles, instructions, count = (
                number(getattr(step, key), f"steps[{position}].{key}")
                for key in ("cycles", "instructions", "count")
            )
            if count > self.units[step.unit].capacity:
                raise InputError(
                    f"operation {short(operation.name)} needs {count} of unit {step.unit}, which "
                    f"has {self.units[step.unit].capacity}",
                    path=f"{where}.steps[{position}].count",
                    file=self.file or self.name,
                )
            if cycles and count:
                steps.append(
                    Step(
                        unit=step.unit,
                        cycles=cycles,
                        count=count,
                        instructions=max(1, instructions),
                    )
                )
        if not steps:
            raise InputError(
                f"operation {short(operation.name)} would take no cycles",
                path=f"{where}.steps",
                file=self.file or self.name,
            )
        names["occupancy"] = (max if rule.asynchronous else sum)(step.cycles for step in steps)
        bytes_moved = operation.result.bytes if operation.result else 0
        return Cost(
            steps=tuple(steps),
            asynchronous=rule.asynchronous,
            issue=number(rule.issue, "issue"),
            latency=number(rule.latency, "latency"),
            working_set=number(rule.working_set, "working_set"),
            transfer=to_cycles(
                evaluate(
                    self.transfer.cycles,
                    {**names, "bytes": bytes_moved},
                    path="transfer.cycles",
                    file=self.file or self.name,
                    operation=operation.name,
                ),
                path="transfer.cycles",
                file=self.file or self.name,
                operation=operation.name,
            ),
            variable_latency=rule.variable_latency,
        )


def _extended(document: dict[str, Any], file: str, depth: int) -> dict[str, Any]:
    """Lay `document` over the machine that its key ``extends`` names; its rules come first."""
    base_name = document.pop("extends", None)
    if base_name is None:
        return document
    if not isinstance(base_name, str) or depth >= MOST_EXTENSIONS:
        raise InputError(
            f"not a machine to extend (got {short(base_name)})", path="extends", file=file
        )
    if base_name in packaged_machines():
        text = _packaged(base_name).read_bytes()
    else:
        try:
            text = read_bytes(Path(file).parent / base_name)
        except InputError as error:
            message = f"{short(base_name)} {error.message}"
            raise InputError(message, path="extends", file=file) from None
    base = _extended(parse_toml(text, short(base_name)), base_name, depth + 1)
    rules = [*document.pop("rules", []), *base.pop("rules", [])]
    return {**_laid_over(base, document), "rules": rules}


def _laid_over(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in top.items():
        below = merged.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            merged[key] = _laid_over(below, value)
        else:
            merged[key] = value
    return merged


def _packaged(name: str) -> Traversable:
    return importlib.resources.files("twill.machines").joinpath(f"{name}.toml")


def packaged_machines() -> list[str]:
    """Return the names of the machines that ship with the package, sorted."""
    folder = importlib.resources.files("twill.machines")
    return sorted(
        Path(entry.name).stem for entry in folder.iterdir() if entry.name.endswith(".toml")
    )


def _sources(value: object, path: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            where = f"{path}.{key}" if path else str(key)
            if key == "source" and isinstance(inner, str):
                found.append((where, inner))
            else:
                found.extend(_sources(inner, where))
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            found.extend(_sources(inner, f"{path}[{index}]"))
    return found
