"""A schedule as IR: each warp group's loop body, software-pipelined and annotated.

Everything is MLIR in generic form. Each group has a loop whose body is its program: operations in
the order of ``sched.cluster`` (those of one cluster alternate), with ``sched.stage``,
``sched.group`` and ``sched.start``; values that live into later rounds are carried by the loop, as
the paper's Figure 1f does by ``S = Sn``. `twill.frontends.schedule_ir` reads it back.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from twill.artifacts.loop import Tile
from twill.artifacts.schedule import (
    Barrier,
    Fixed,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Schedule,
    Storage,
)
from twill.errors import InputError
from twill.show.programs.data import check_programs
from twill.show.programs.ir_parts import NAME, Plain, Types, attribute_of, hint, operation_of

VERSION = 1
Held = tuple[str, str | None, int]
"""A value in registers; of another group's, the operation it was copied for and the distance."""
_JSON = ("time", "proof", "solver", "pipeline_depths", "hiding_depths", "loop", "machine")
_PLAIN = (
    "name",
    "description",
    "rules",
    "initiation_interval",
    "length",
    "stages",
    "seed",
    "machine_hash",
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
    for placement in schedule.placements:
        if placement.operation not in issued:
            raise InputError(
                f"{placement.operation} is issued by no group", path="programs", file=schedule.file
            )
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(_Module(schedule).module())
    interval = schedule.initiation_interval
    pace = "" if interval is None else f", one iteration every {interval}"
    unit = "" if interval is None else " units" if schedule.time.mode == "normalized" else " cycles"
    return f"// twill {schedule.name}, {schedule.machine.name}{pace}{unit}\n{stream.getvalue()}\n"


class _Module:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        context = Context(allow_unregistered=True)
        context.load_dialect(Builtin)
        self.types = Types(context)
        self.operations = {o.name: o for o in schedule.loop.operations}
        self.buffers: dict[tuple[str, bool], SSAValue] = {}

    def module(self) -> ModuleOp:
        schedule = self.schedule
        order = {program.group: n for n, program in enumerate(schedule.programs)}
        body: list[Operation] = []
        body += [self._storage(storage) for storage in schedule.storage]
        body += [self._fixed(fixed) for fixed in schedule.fixed]
        body += [self._barrier(barrier) for barrier in schedule.barriers]
        inputs = {name: operation_of("twill.input", {"sched.name": name},
                                   results=[(name, self.types.input(tile))])
                  for name, tile in self._outside().items()}  # fmt: skip
        body += inputs.values()
        values: dict[str, SSAValue] = {name: made.results[0] for name, made in inputs.items()}
        for group in schedule.groups:
            inside = _Group(self, schedule, group, values).block() if group.name in order else None
            body.append(self._group(group, order.get(group.name), inside))
        return ModuleOp(body, self._facts())

    def _facts(self) -> dict[str, Attribute]:
        """Return what is about the schedule as a whole."""
        schedule = self.schedule
        facts: dict[str, Plain | None] = {"twill.schedule": VERSION}
        facts |= {f"twill.{key}": getattr(schedule, key) for key in _PLAIN}
        data = schedule.model_dump(mode="json", by_alias=True, exclude_none=True)
        for key in _JSON:
            if key in data:
                facts[f"twill.{key}"] = json.dumps(data[key], separators=(",", ":"))
        placed = [placement.operation for placement in schedule.placements]
        if placed != list(self.operations):
            facts["twill.placements"] = placed
        return {key: attribute_of(value) for key, value in facts.items() if value is not None}

    def _outside(self) -> dict[str, Tile]:
        """Return the invariants that operations are known to read."""
        return {i.name: i.tile for i in self.schedule.loop.invariants if i.reads}

    def _storage(self, storage: Storage) -> Operation:
        facts = storage.model_dump(exclude_none=True, exclude_defaults=True)
        tile = self.operations[storage.value].result
        results: list[tuple[str, Attribute]] = []
        indexed = storage.transfer or storage.memory != "registers"
        if indexed and storage.reader is None and tile is not None:
            name = f"{storage.value}.staging" if storage.transfer else storage.value
            results = [(name, self.types.memory(tile, storage))]
        made = operation_of("twill.storage", {f"sched.{k}": v for k, v in facts.items()},
                          results=results)  # fmt: skip
        if results:
            self.buffers[storage.value, storage.transfer] = made.results[0]
        return made

    @staticmethod
    def _fixed(fixed: Fixed) -> Operation:
        facts = fixed.model_dump(exclude_none=True)
        return operation_of("twill.fixed", {f"sched.{k}": v for k, v in facts.items()})

    @staticmethod
    def _barrier(barrier: Barrier) -> Operation:
        facts = barrier.model_dump(exclude_none=True)
        return operation_of("twill.barrier", {f"sched.{k}": v for k, v in facts.items()})

    @staticmethod
    def _group(group: Group, program: int | None, inside: Block | None) -> Operation:
        facts = {f"sched.{k}": v for k, v in group.model_dump(exclude_none=True).items()}
        facts["sched.program"] = program
        region = Region(inside if inside is not None else Block())
        return operation_of("twill.group", facts, regions=[region])


class _Group:
    """The loop of one group."""

    def __init__(
        self, module: _Module, schedule: Schedule, group: Group, outside: dict[str, SSAValue]
    ) -> None:
        self.module, self.schedule, self.group, self.outside = module, schedule, group, outside
        self.program: Program = schedule.program(group.name)
        self.starts, self.groups = schedule.start, schedule.assignment
        self.data = [d for d in schedule.loop.dependences if d.kind == "data"]
        self.made = dict(self._made())
        self.values: dict[Held, SSAValue] = {}
        self.carried: dict[tuple[Held, int], SSAValue] = {}

    def _made(self) -> Iterator[tuple[Held, int]]:
        """Yield what this group has in registers, and the stage that makes it."""
        registers = {s.value for s in self.schedule.storage
                     if s.memory == "registers" and s.reader is None}  # fmt: skip
        for instruction in self.program.body:
            for part in _issues(instruction):
                if part.last and part.operation in registers:
                    yield _own(part.operation), part.stage
            if isinstance(instruction, Get):
                yield _copy(instruction), instruction.stage

    def _reads(self, part: Issue) -> Iterator[tuple[Held | None, int, str]]:
        """Yield what an issue reads: a register value with its age in rounds, or a name."""
        found: list[tuple[int, tuple[Held | None, int, str]]] = []
        for d in self.data:
            if d.consumer != part.operation:
                continue
            position = 1 << 20 if d.operand is None else d.operand
            own = self.groups[d.producer] == self.group.name
            key = _own(d.producer) if own else (d.producer, d.consumer, d.distance)
            if key in self.made:
                age = part.stage + d.distance - self.made[key]
                found.append((position, (key, age, "")))
            else:
                found.append((position, (None, 0, d.producer)))
        found += [
            (read.operand, (None, 0, invariant.name))
            for invariant in self.schedule.loop.invariants
            for read in invariant.reads
            if read.operation == part.operation
        ]
        yield from (entry for _, entry in sorted(found, key=lambda entry: entry[0]))

    def _ages(self) -> dict[Held, int]:
        """Return through how many rounds each register value has to be carried."""
        oldest: dict[Held, int] = defaultdict(int)
        for instruction in self.program.body:
            for part in _issues(instruction):
                for key, age, _ in self._reads(part):
                    if key is not None:
                        oldest[key] = max(oldest[key], age)
            if isinstance(instruction, Put) and _own(instruction.value) in self.made:
                key = _own(instruction.value)
                oldest[key] = max(oldest[key], instruction.stage - self.made[key])
        return {key: age for key, age in oldest.items() if age > 0}

    def block(self) -> Block:
        """Return the group's block: bounds, what is there at first, and the loop."""
        outer = Block()
        index = [("first", i32), ("trips", i32), ("step", i32)]
        bounds = [
            operation_of("twill.bound", {"sched.name": n}, results=[(n, t)]) for n, t in index
        ]
        outer.add_ops(bounds)
        carried = [(key, age) for key, most in self._ages().items() for age in range(most, 0, -1)]
        kinds = [self._type(key[0]) for key, _ in carried]
        starts = [operation_of("twill.initial", {"sched.name": key[0]}, results=[(key[0], kind)])
                  for (key, _), kind in zip(carried, kinds, strict=True)]  # fmt: skip
        outer.add_ops(starts)
        body = Block(arg_types=[i32, *kinds])
        hint(body.args[0], "i")
        for (key, age), argument in zip(carried, body.args[1:], strict=True):
            hint(argument, key[0])
            self.carried[key, age] = argument
        for cluster, instruction in enumerate(self.program.body):
            body.add_ops(self._operations(instruction, cluster))
        following = [self._at(key, age - 1) or self.carried[key, age] for key, age in carried]
        body.add_op(operation_of("scf.yield", {}, following))
        outer.add_op(
            operation_of(
                "scf.for",
                {"sched.name": "i"},
                [o.results[0] for o in (*bounds, *starts)],
                [(key[0], kind) for (key, _), kind in zip(carried, kinds, strict=True)],
                [Region(body)],
            )
        )
        return outer

    def _at(self, key: Held, age: int) -> SSAValue | None:
        return self.values.get(key) if age == 0 else self.carried.get((key, age))

    def _type(self, value: str) -> Attribute:
        tile = self.module.operations[value].result
        assert tile is not None  # it has storage in registers
        return self.module.types.registers(tile)

    def _operations(self, instruction: Instruction, cluster: int) -> Iterable[Operation]:
        parts = _issues(instruction)
        if parts:
            return [self._issue(part, cluster) for part in parts]
        facts: dict[str, Plain | None] = {
            f"sched.{key}": value
            for key, value in instruction.model_dump(exclude_none=True).items()
            if key != "do" and not (key == "distance" and value == 0)
        }
        facts["sched.cluster"] = cluster
        operands: list[SSAValue | None] = []
        results: list[tuple[str, Attribute]] = []
        if isinstance(instruction, Put | Get):
            operands.append(self.module.buffers.get((instruction.value, True)))
        if isinstance(instruction, Put) and _own(instruction.value) in self.made:
            key = _own(instruction.value)
            operands.insert(0, self._at(key, instruction.stage - self.made[key]))
        if isinstance(instruction, Get) and self.module.operations[instruction.value].result:
            results = [(f"{instruction.value}.copy", self._type(instruction.value))]
        made = operation_of(
            f"twill.{instruction.do}", facts, [o for o in operands if o is not None], results
        )
        if isinstance(instruction, Get) and results:
            self.values[_copy(instruction)] = made.results[0]
        return [made]

    def _issue(self, part: Issue, cluster: int) -> Operation:
        operation = self.module.operations[part.operation]
        key = _own(operation.name)
        operands = [
            self._at(read, age) if read is not None
            else self.outside.get(name) or self.module.buffers.get((name, False))
            for read, age, name in self._reads(part)
        ]  # fmt: skip
        operands.append(self.module.buffers.get((operation.name, False)))
        results = []
        if part.last and key in self.made:
            results = [(operation.name, self._type(operation.name))]
        kind = operation.kind if NAME.fullmatch(operation.kind) else "operation"
        made = operation_of(
            f"tile.{kind}",
            {
                "sched.name": operation.name,
                "sched.stage": part.stage,
                "sched.cluster": cluster,
                "sched.group": self.groups[operation.name],
                "sched.start": self.starts.get(operation.name),
                "sched.signals": part.signals or None,
                "sched.part": None
                if part.of is None
                else (part.begin or 0, part.end or 0, part.of),
                "sched.location": operation.location,
            },
            [operand for operand in dict.fromkeys(operands) if operand is not None],
            results,
        )
        if results:
            self.values[key] = made.results[0]
        return made


def _own(value: str) -> Held:
    return (value, None, 0)


def _copy(get: Get) -> Held:
    return (get.value, get.reader, get.distance)


def _issues(instruction: Instruction) -> tuple[Issue, ...]:
    if isinstance(instruction, Issue):
        return (instruction,)
    return instruction.parts if isinstance(instruction, Interleave) else ()
