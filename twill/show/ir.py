"""A schedule as IR: each warp group's loop body, software-pipelined and annotated.

Everything is MLIR in generic form. Each group has a loop whose body is its program: operations in
the order of ``sched.cluster`` (those of one cluster alternate), with ``sched.stage``,
``sched.group`` and ``sched.start``. Values that live into later rounds are carried by the loop, as
the paper's Figure 1f does by ``S = Sn``. `twill.frontends.schedules` reads it back.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    Builtin,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnregisteredOp,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from twill.artifacts.base import Part
from twill.artifacts.loop import Tile
from twill.artifacts.program import Get, Instruction, Issue, Put, Storage, issues_of
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import InputError
from twill.frontends.schedules import AS_JSON, VERSION
from twill.frontends.types import ELEMENTS
from twill.lower.rounds import reads
from twill.show.code import check_programs

NAME = re.compile(r"[A-Za-z_][\w.]*")
# A value in registers; of another group's, the operation it was copied for and the distance.
Held = tuple[str, str | None, int]
Plain = str | int | bool | Sequence[str] | Sequence[int]
# What results are called, as far as MLIR allows, and their types.
Results = Sequence[tuple[str, Attribute]]
_SPACES = {"smem": "#ttg.shared_memory", "tmem": "#ttng.tensor_memory"}
_ELEMENTS = {ours: written for written, ours in ELEMENTS.items()}
PLAIN = (
    *("name", "description", "rules", "initiation_interval"),
    *("length", "stages", "seed", "machine_hash"),
)


def ir(schedule: Schedule) -> str:
    """Return a schedule as IR that reads back into an equal one.

    Raises
    ------
    InputError
        If it has no programs, or an operation is issued by none of them.
    """
    check_programs(schedule)
    issued = {part.operation for program in schedule.programs for part in program.issues}
    for name in (placement.operation for placement in schedule.placements):
        if name not in issued:
            wrong = f"{name} is issued by no group"
            raise InputError(wrong, path="programs", file=schedule.file)
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(_Module(schedule).module())
    interval = schedule.initiation_interval
    unit = "units" if schedule.time.mode == "normalized" else "cycles"
    pace = "" if interval is None else f", one iteration every {interval} {unit}"
    return f"// twill {schedule.name}, {schedule.machine.name}{pace}\n{stream.getvalue()}\n"


class _Module:
    """Everything: what lies in memory, what comes from outside, a loop for each group."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._context = Context(allow_unregistered=True)
        self._context.load_dialect(Builtin)
        self._types: dict[str, Attribute] = {}
        self.operations = {o.name: o for o in schedule.loop.operations}
        self.buffers: dict[tuple[str, bool], SSAValue] = {}
        self.outside: dict[str, SSAValue] = {}

    def module(self) -> ModuleOp:
        schedule = self.schedule
        order = {program.group: n for n, program in enumerate(schedule.programs)}
        body = [self._storage(storage) for storage in schedule.storage]
        body += [_declared("twill.fixed", fixed) for fixed in schedule.fixed]
        body += [_declared("twill.barrier", barrier) for barrier in schedule.barriers]
        for invariant in schedule.loop.invariants:
            if invariant.reads:
                results = [(invariant.name, self._input(invariant.tile))]
                body.append(_operation("twill.input", {"sched.name": invariant.name}, (), results))
                self.outside[invariant.name] = body[-1].results[0]
        for group in schedule.groups:
            inside = _Group(self, group).block() if group.name in order else Block()
            program = {"sched.program": order.get(group.name)}
            body.append(_declared("twill.group", group, program, regions=[Region(inside)]))
        return ModuleOp(body, self._facts())

    def _facts(self) -> dict[str, Attribute]:
        """Return what is about the schedule as a whole."""
        schedule = self.schedule
        facts: dict[str, Plain | None] = {"schedule": VERSION}
        facts |= {key: getattr(schedule, key) for key in PLAIN}
        data = schedule.model_dump(mode="json", by_alias=True, exclude_none=True)
        given = (key for key in AS_JSON if key in data)
        facts |= {key: json.dumps(data[key], separators=(",", ":")) for key in given}
        placed = [placement.operation for placement in schedule.placements]
        facts["placements"] = None if placed == list(self.operations) else placed
        return _attributes({f"twill.{key}": value for key, value in facts.items()})

    def _storage(self, storage: Storage) -> Operation:
        tile = self.operations[storage.value].result
        results: list[tuple[str, Attribute]] = []
        indexed = storage.transfer or storage.memory != "registers"
        if indexed and storage.reader is None and tile is not None:
            name = f"{storage.value}.staging" if storage.transfer else storage.value
            space = _SPACES.get(storage.memory, _SPACES["smem"])
            kind = f"!ttg.memdesc<{storage.slots}x{_elements(tile)}, {space}, mutable>"
            results = [(name, self._type(kind))]
        made = _declared("twill.storage", storage, results=results, exclude_defaults=True)
        if results:
            self.buffers[storage.value, storage.transfer] = made.results[0]
        return made

    def in_registers(self, value: str) -> Attribute:
        """Return the type of an operation's result in registers."""
        tile = self.operations[value].result
        assert tile is not None  # it has storage in registers
        return self._type(f"tensor<{_elements(tile)}>")

    def _input(self, tile: Tile) -> Attribute:
        """Return the type of an invariant, where it lies."""
        if tile.memory not in _SPACES:
            return self._type(f"tensor<{_elements(tile)}>")
        return self._type(f"!ttg.memdesc<{_elements(tile)}, {_SPACES[tile.memory]}>")

    def _type(self, text: str) -> Attribute:
        if text not in self._types:
            self._types[text] = Parser(self._context, text).parse_type()
        return self._types[text]


class _Group:
    """The loop of one group."""

    def __init__(self, module: _Module, group: Group) -> None:
        self.module, self.group, self.schedule = module, group, module.schedule
        self.body = self.schedule.program(group.name).body
        self.starts, self.groups = self.schedule.start, self.schedule.assignment
        self.made = dict(self._made())
        self.values: dict[Held, SSAValue] = {}
        self.carried: dict[tuple[Held, int], SSAValue] = {}

    def _made(self) -> Iterator[tuple[Held, int]]:
        """Yield what this group has in registers, and the stage that makes it."""
        registers = {s.value for s in self.schedule.storage
                     if s.memory == "registers" and s.reader is None}  # fmt: skip
        for instruction in self.body:
            for part in issues_of(instruction):
                if part.last and part.operation in registers:
                    yield _own(part.operation), part.stage
            if isinstance(instruction, Get):
                yield _copy(instruction), instruction.stage

    def _reads(self, part: Issue) -> Iterator[tuple[Held, int] | str]:
        """Yield what an issue reads: a register value with its age in rounds, or a name."""
        for read in reads(self.schedule.loop, self.module.operations[part.operation]):
            if isinstance(read, str):
                yield read
                continue
            own = self.groups[read.producer] == self.group.name
            key = _own(read.producer) if own else (read.producer, read.consumer, read.distance)
            made = self.made.get(key)
            yield read.producer if made is None else (key, part.stage + read.distance - made)

    def _ages(self) -> dict[Held, int]:
        """Return through how many rounds each register value has to be carried."""
        oldest: dict[Held, int] = defaultdict(int)
        for instruction in self.body:
            held = [read for part in issues_of(instruction) for read in self._reads(part)
                    if not isinstance(read, str)]  # fmt: skip
            if isinstance(instruction, Put) and (own := _own(instruction.value)) in self.made:
                held.append((own, instruction.stage - self.made[own]))
            for key, age in held:
                oldest[key] = max(oldest[key], age)
        return {key: age for key, age in oldest.items() if age > 0}

    def block(self) -> Block:
        """Return the group's block: bounds, what is there at first, and the loop."""
        outer = Block()
        bounds = [_operation("twill.bound", {"sched.name": name}, (), [(name, i32)])
                  for name in ("first", "trips", "step")]  # fmt: skip
        carried = [(key, age) for key, most in self._ages().items() for age in range(most, 0, -1)]
        results = [(key[0], self.module.in_registers(key[0])) for key, _ in carried]
        starts = [_operation("twill.initial", {"sched.name": result[0]}, (), [result])
                  for result in results]  # fmt: skip
        body = Block(arg_types=[i32, *(kind for _, kind in results)])
        for argument, name in zip(body.args, ("i", *(name for name, _ in results)), strict=True):
            _hint(argument, name)
        self.carried = dict(zip(carried, body.args[1:], strict=True))
        for cluster, instruction in enumerate(self.body):
            body.add_ops(self._operations(instruction, cluster))
        following = [self._at(key, age - 1) or self.carried[key, age] for key, age in carried]
        body.add_op(_operation("scf.yield", {}, following))
        operands = [made.results[0] for made in (*bounds, *starts)]
        loop = _operation("scf.for", {"sched.name": "i"}, operands, results, [Region(body)])
        outer.add_ops([*bounds, *starts, loop])
        return outer

    def _at(self, key: Held, age: int) -> SSAValue | None:
        return self.values.get(key) if age == 0 else self.carried.get((key, age))

    def _operations(self, instruction: Instruction, cluster: int) -> Iterable[Operation]:
        parts = issues_of(instruction)
        if parts:
            return [self._issue(part, cluster) for part in parts]
        operands: list[SSAValue | None] = []
        results: list[tuple[str, Attribute]] = []
        if isinstance(instruction, Put) and (key := _own(instruction.value)) in self.made:
            operands.append(self._at(key, instruction.stage - self.made[key]))
        if isinstance(instruction, Put | Get):
            operands.append(self.module.buffers.get((instruction.value, True)))
        if isinstance(instruction, Get) and self.module.operations[instruction.value].result:
            kind = self.module.in_registers(instruction.value)
            results = [(f"{instruction.value}.copy", kind)]
        said = instruction.model_dump(exclude_none=True, exclude={"do"})
        facts = {f"sched.{k}": v for k, v in said.items() if (k, v) != ("distance", 0)}
        facts["sched.cluster"] = cluster
        made = _operation(f"twill.{instruction.do}", facts, _there(operands), results)
        if isinstance(instruction, Get) and results:
            self.values[_copy(instruction)] = made.results[0]
        return [made]

    def _issue(self, part: Issue, cluster: int) -> Operation:
        operation, buffers = self.module.operations[part.operation], self.module.buffers
        operands = [
            self.module.outside.get(read) or buffers.get((read, False))
            if isinstance(read, str)
            else self._at(*read)
            for read in self._reads(part)
        ]
        operands.append(buffers.get((operation.name, False)))
        results = []
        if part.last and _own(operation.name) in self.made:
            results = [(operation.name, self.module.in_registers(operation.name))]
        taken = None if part.of is None else (part.begin or 0, part.end or 0, part.of)
        kind = operation.kind if NAME.fullmatch(operation.kind) else "operation"
        made = _operation(
            f"tile.{kind}",
            {
                "sched.name": operation.name,
                "sched.stage": part.stage,
                "sched.cluster": cluster,
                "sched.group": self.groups[operation.name],
                "sched.start": self.starts.get(operation.name),
                "sched.signals": part.signals or None,
                "sched.part": taken,
                "sched.location": operation.location,
            },
            _there(dict.fromkeys(operands)),
            results,
        )
        if results:
            self.values[_own(operation.name)] = made.results[0]
        return made


def _there(operands: Iterable[SSAValue | None]) -> list[SSAValue]:
    return [operand for operand in operands if operand is not None]


def _own(value: str) -> Held:
    return (value, None, 0)


def _copy(get: Get) -> Held:
    return (get.value, get.reader, get.distance)


# -- parts of MLIR from plain values ----------------------------------------------------------


def _declared(
    name: str,
    part: Part,
    more: Mapping[str, Plain | None] | None = None,
    *,
    results: Results = (),
    regions: Sequence[Region] = (),
    exclude_defaults: bool = False,
) -> Operation:
    """Return an operation that declares a part of a schedule, its fields as attributes."""
    fields = part.model_dump(exclude_none=True, exclude_defaults=exclude_defaults)
    facts = {f"sched.{key}": value for key, value in fields.items()}
    return _operation(name, {**facts, **(more or {})}, (), results, regions)


def _operation(
    name: str,
    attributes: Mapping[str, Plain | None],
    operands: Sequence[SSAValue] = (),
    results: Results = (),
    regions: Sequence[Region] = (),
) -> Operation:
    made = UnregisteredOp.with_name(name).create(
        operands=operands,
        result_types=[kind for _, kind in results],
        attributes=_attributes(attributes),
        regions=regions,
    )
    for result, (called, _) in zip(made.results, results, strict=True):
        _hint(result, called)
    return made


def _attributes(values: Mapping[str, Plain | None]) -> dict[str, Attribute]:
    return {key: _attribute(value) for key, value in values.items() if value is not None}


def _attribute(value: Plain) -> Attribute:
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, IntegerType(max(64, value.bit_length() + 1)))
    if isinstance(value, str):
        return StringAttr(value)
    return ArrayAttr([_attribute(entry) for entry in value])


def _hint(value: SSAValue, name: str) -> None:
    """Call a value by a name, if MLIR allows it."""
    if NAME.fullmatch(name):
        value.name_hint = name.replace(".", "_")


def _elements(tile: Tile) -> str:
    return "".join(f"{n}x" for n in tile.shape) + _ELEMENTS.get(tile.dtype, tile.dtype)
