"""The emitted file, section by section, in the dress of Triton's Gluon examples."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from twill.artifacts.program import Arrive, Wait
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import DefectError, RefusedError
from twill.emit import attributes, host, statements
from twill.emit.epilogue.epilogue import Epilogue
from twill.emit.epilogue.plans import EPILOGUE, TILES
from twill.emit.expressions.gluon import Gluon
from twill.emit.fixed import Fixed
from twill.emit.host.choice import Choice
from twill.emit.layouts import Layouts
from twill.emit.memory.memories import Memories
from twill.emit.names import DONE, FIRST, LINE, SEAM, TRIPS
from twill.emit.outside import Outside
from twill.emit.partitions.partition import Partition
from twill.emit.printer import lines_of, printed
from twill.emit.reference import Reference
from twill.emit.source import (
    Source,
    SSAValue,
    leaving,
    loops,
    marks,
    seam_of,
    tile_of,
    tile_of_descriptor,
)
from twill.emit.tree import (
    Allocation,
    Assignment,
    Barrier,
    Call,
    Function,
    If,
    Loop,
    Module,
    Node,
    Section,
    Specialization,
    Verbatim,
    used_by,
)
from twill.emit.unpipelined import before_loop
from twill.lower.prepare import prepared

DEFAULT_WARPS = 4
LEAST_REGISTERS, MOST_REGISTERS = 24, 256  # that `setmaxnreg` takes
BLACKWELL = "sm_10"
BESIDE_PRODUCT = 30
"""Registers per thread in addition to the result of a `wgmma`: ptxas of CUDA 13 (C7602) wants 158
for 256 columns in a launch that has 128, whatever `setmaxnreg` says."""


def emitted(schedule: Schedule) -> str:
    """Return the kernel of a schedule as a Python file for Triton's Gluon.

    Raises
    ------
    RefusedError
        If something of it has no template; the message names it.
    DefectError
        If what is written is no Python.
    """
    text = printed(_Kernel(prepared(schedule)).module())
    try:
        compile(text, schedule.name, "exec")
    except SyntaxError as error:
        raise DefectError(f"{schedule.name}: the emitted kernel is no Python ({error})") from None
    return text


def epilogue_parts(schedule: Schedule) -> int:
    """Return in how many parts a kernel stores a tile after its loop, for want of shared memory.

    Raises
    ------
    RefusedError
        If something of it has no template, or even parts find no room.
    """
    return _Kernel(prepared(schedule)).epilogue.buffers.parts


def _counted(source: Source, outside: Outside, partition: Partition) -> list[Assignment]:
    """Return how many iterations there are, and where the second of joined loops begins."""

    def span(end: SSAValue) -> str:
        lower, upper, step = (outside.value(v) for v in (source.lower, end, source.step))
        span = upper.text if lower.text == "0" else f"{upper} - {lower}"
        return span if step.text == "1" else f"gl.cdiv({span}, {step.text})"

    trips = span(source.upper) if source.trips is None else str(source.trips)
    seam = seam_of(source) if partition.later is not None else None
    return [Assignment(TRIPS, trips), *([Assignment(SEAM, span(seam))] if seam else [])]


def _left(outside: Outside) -> list[Node]:
    """Return what ends programs that have nothing to do."""
    found: list[Node] = []
    for mark in marks(outside.source):
        condition = outside.value(mark.operands[0]).text
        found += [*outside.nodes, If(leaving(mark, condition), (Verbatim(("return",)),))]
        outside.nodes.clear()
    return found


class _Kernel:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.source = Source(schedule.loop)
        attributes.check(self.source)
        self.layouts = Layouts()
        self.gluon = Gluon(self.source, self.layouts)
        self.memories = Memories(schedule, self.source, self.layouts)
        self.fixed = Fixed(self.memories, self.gluon)
        self.epilogue = Epilogue(self.memories)
        self.outside = Outside(self.memories, self.gluon)
        self.reference = Reference(Source(schedule.loop, as_written=True))
        self.choice = Choice(self.source, host.least_iterations(self))
        self.architecture = self.source.dump.architecture or ""
        self.family = "blackwell" if self.architecture.startswith(BLACKWELL) else "hopper"
        self._refuse_wide_groups()
        self._refuse_persistent()

    def _refuse_wide_groups(self) -> None:
        """Refuse groups of other warps than those that the tiles of their operations lie in."""
        groups = {g.name: g.warps for g in self.schedule.groups}
        for operation in self.schedule.loop.operations:
            group = self.schedule.assignment[operation.name]
            if operation.warps not in (1, groups[group]):
                raise RefusedError(
                    f"{group} has {groups[group]} warps, the tiles of {operation.name} lie in "
                    f"{operation.warps}; other layouts have no template"
                )

    def _refuse_persistent(self) -> None:
        """Refuse a persistent kernel some of whose barriers would not be in step for all tiles."""
        if not self.memories.slots.persistent:
            return
        others = loops([*self.source.before(), *self.source.after()])
        if others or (self.source.varies and self.memories.slots.tensors):
            raise RefusedError(
                "a persistent kernel has no template with other loops, or where tiles may have no "
                "iterations and results lie in tensor memory"
            )
        slots = {barrier.name: barrier.slots for barrier in self.schedule.barriers}
        for program in self.schedule.programs:
            if any(isinstance(i, Wait) and i.distance > slots[i.barrier] for i in program.body):
                raise RefusedError(
                    f"{program.group} waits for more than a turn of a ring before; a persistent "
                    "kernel has no template for that"
                )
            if any(isinstance(i, Arrive) and i.distance for i in program.body):
                raise RefusedError(
                    f"{program.group} leaves arrivals to an iteration after the last; a persistent "
                    "kernel has no template for that"
                )

    # -- the file --------------------------------------------------------------------------------

    def module(self) -> Module:
        """Return the file."""
        groups = [g for g in self.schedule.groups if self._program(g)]
        partitions = {g.name: Partition(self.memories, self.gluon, g) for g in groups}
        bodies = {name: self._body(name, partition) for name, partition in partitions.items()}
        if EPILOGUE in self.epilogue.plan.effects:
            bodies[EPILOGUE] = self._body(EPILOGUE, None)
        self._refuse_names(bodies)
        reference = self.reference.nodes()
        found = self._partitions(groups, more=EPILOGUE in bodies)
        entry = self._entry(found)
        shared = self._arguments()
        math = tuple({"math"} & used_by(reference))
        functions = [Function(name, shared, tuple(body)) for name, body in bodies.items()]
        kernel = Function(self.kernel_name, self._kernel_arguments, tuple(entry))
        sections = (
            Section("Layouts", tuple(self.layouts.definitions())),
            Section("Kernel", (*self.gluon.scan_functions(), *functions, kernel)),
            Section("Entry point", (Verbatim(tuple(host.entry_point(self, found[0][1]))),)),
            Section(
                "Reference", (Verbatim(tuple(host.reference(self, lines_of(reference))), math),)
            ),
            Section("Tests", (Verbatim(tuple(host.tests(self))),)),
            Section("Benchmark", (Verbatim(tuple(host.benchmark())),)),
        )
        return Module(self._docstring(), self.family, sections)

    def _refuse_names(self, functions: Iterable[str]) -> None:
        """Refuse arguments that hide a name of the emitted code."""
        for name in self._kernel_arguments:
            if name in (*functions, self.kernel_name, "tl"):
                raise RefusedError(f"{name}: an argument of this name has no template; rename it")

    @property
    def kernel_name(self) -> str:
        """Name of the kernel's entry."""
        return f"{self.source.dump.kernel}_kernel"

    def _program(self, group: Group) -> bool:
        return any(p.group == group.name and p.body for p in self.schedule.programs)

    def _docstring(self) -> str:
        promise = self.schedule.promise
        cycles = (
            f"An iteration every {promise.interval_cycles:g} cycles on the simulated SM."
            if promise is not None
            else ""
        )
        made = f"{self.source.dump.kernel} for {self.schedule.machine.name}, warp-specialized and"
        words = (
            f"{made} software-pipelined. {cycles} Emitted from a schedule of {self.schedule.name}."
        )
        return "\n".join(textwrap.wrap(" ".join(words.split()), LINE - 3))

    # -- partitions ------------------------------------------------------------------------------

    def _body(self, name: str, partition: Partition | None) -> list[Node]:
        """Return the statements of a partition; None is one that has no part in the loop."""
        outside = (
            partition.outside
            if partition is not None
            else Outside(self.memories, self.gluon, begun=True)
        )
        loop = partition.loop(self.epilogue.plans.left(name)) if partition is not None else []
        signalled = self.epilogue.signalled(name, partition)
        after = self.epilogue.code(name, partition, outside)
        counted = _counted(self.source, outside, partition) if partition is not None else []
        begin = [*self.fixed.begin(name, outside), *self.epilogue.begin(name)]
        after = self.fixed.end(name, after)
        body = [*outside.nodes, *counted, *begin, *loop, *signalled, *after]
        if not self.memories.slots.persistent:
            return body
        outer = self.source.outer
        assert outer is not None
        bounds = Outside(self.memories, self.gluon)
        over = ", ".join(bounds.value(v).text for v in list(outer.operands)[:3])
        tile = self.memories.slots.argument(outer.regions[0].blocks[0].args[0])
        totals = {DONE: TRIPS, TILES: "1"} if counted else {TILES: "1"}
        more = [Assignment(total, step, "+=") for total, step in totals.items()]
        return [
            *bounds.nodes,
            *(Assignment(total, "0") for total in totals),
            Loop(tile, f"range({over})", (*body, *more)),
        ]

    def _partitions(self, groups: list[Group], *, more: bool) -> list[tuple[str, int, int]]:
        """Return name, warps and registers of the partitions, the default one first.

        `more`: whether there is one that only does what follows the loop.
        """
        found = [(g.name, g.warps, max(g.registers or 0, LEAST_REGISTERS)) for g in groups]
        every = [*found, *[(EPILOGUE, DEFAULT_WARPS, LEAST_REGISTERS)] * more]
        self._refuse_large_products(every)
        spare = self._spare(every)
        found = [
            (name, warps, min(registers + spare, MOST_REGISTERS))
            if warps == DEFAULT_WARPS and self._copies_by_pointers(name)
            else (name, warps, registers)
            for name, warps, registers in found
        ]
        if more:
            found.insert(0, (EPILOGUE, DEFAULT_WARPS, LEAST_REGISTERS))
        first = next((p for p in found if p[0] == EPILOGUE), None)
        if first is None:
            wide = [p for p in found if p[1] >= DEFAULT_WARPS]
            first = max(wide, key=lambda p: p[1:], default=None)
        if first is None:
            raise RefusedError(
                "the kernel stores nothing after its loop, so that the default partition, which "
                "has four warps or more, would have nothing to do"
            )
        return [first, *(p for p in found if p is not first)]

    def _warp_groups(self, partitions: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
        """Return groups of four warps, and the registers of a thread, of all partitions."""
        wide = [(warps // 4, registers) for _, warps, registers in partitions if warps >= 4]
        narrow = [registers for _, warps, registers in partitions if warps < 4]
        if narrow:  # up to four warps fill up one group, which has the most that one of them needs
            wide.append((-(-len(narrow) // 4), max(narrow)))
        return wide

    def _launched(self, partitions: list[tuple[str, int, int]]) -> int | None:
        """Return the registers of each thread of a launch, in steps of `setmaxnreg`."""
        file = self.schedule.machine.registers
        threads = 128 * sum(groups for groups, _ in self._warp_groups(partitions))
        return None if file is None else int(file.file.value) // threads // 8 * 8

    def _spare(self, partitions: list[tuple[str, int, int]]) -> int:
        """Return the registers of a thread that no partition asks for."""
        groups, each = self._warp_groups(partitions), self._launched(partitions)
        if each is None:
            return 0
        return max(0, sum(count * (each - registers) for count, registers in groups))

    def _refuse_large_products(self, partitions: list[tuple[str, int, int]]) -> None:
        """Refuse a product in registers that ptxas does not compile in so wide a launch."""
        each = self._launched(partitions)
        for operation in self.schedule.loop.operations:
            if operation.kind != "mma" or not self.memories.slots.in_registers(operation.name):
                continue
            product = self.memories.slots.first(operation.name, "mma")
            layout = self.source.type_of(product.results[0]).layout
            columns = layout.parameters["instrShape"][1] if layout is not None else 0
            if each is not None and columns // 2 + BESIDE_PRODUCT > each:
                raise RefusedError(
                    f"{operation.name}: a product of {columns} columns takes "
                    f"{columns // 2 + BESIDE_PRODUCT} registers per thread to compile, and a "
                    f"launch of these groups has {each}; fewer groups have more"
                )

    def _copies_by_pointers(self, group: str) -> bool:
        """Whether a group copies through pointers, for which schedules book no registers."""
        return any(
            operation.kind == "load"
            and operation.attributes.get("engine") == "cp_async"
            and self.schedule.assignment[operation.name] == group
            for operation in self.schedule.loop.operations
        )

    # -- the entry -------------------------------------------------------------------------------

    @property
    def _kernel_arguments(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.memories.slots.parameters)

    def _allocations(self) -> list[Allocation | Barrier]:
        """Return everything that all partitions are given: buffers and barriers, in order."""
        return [
            *self.memories.allocations.every(),
            *self.fixed.allocations(),
            *self.epilogue.buffers.allocations(),
            *self.memories.barriers.every(),
            *self.epilogue.barriers(),
        ]

    def _arguments(self) -> tuple[str, ...]:
        """Return the arguments of every partition."""
        allocated = (node.target for node in self._allocations())
        return (*self._kernel_arguments, *self.memories.slots.made.values(), *allocated)

    def _descriptors(self) -> list[Node]:
        """Return the making of descriptors, which all partitions are given."""
        outside = Outside(self.memories, self.gluon)
        made: list[Node] = []
        for value, name in self.memories.slots.made.items():
            statement, kind = self.source.statement(value), tile_of_descriptor(str(value.type))
            assert statement is not None
            assert kind is not None
            shape, element = self.epilogue.block_of(name, kind[0]), kind[1]
            call = statements.described(statement, outside.value, shape, element)
            made.append(Assignment(name, call.text))
        return [*outside.nodes, *made]

    def _entry(self, partitions: list[tuple[str, int, int]]) -> list[Node]:
        allocated = self._allocations()
        before = before_loop(self.memories, self.gluon)
        filled = [
            statements.write(
                self.memories.slots.tensor(owner, FIRST),
                self.outside.value(tile_of(self.source, s)).text,
            )
            for owner, s in self.memories.before.filled_before()
            if not self.memories.before.begins_at_zero(owner) and not before
        ]
        if filled and self.memories.slots.persistent:
            raise RefusedError("tensor memory that is filled for each output tile has no template")
        arguments = self._arguments()
        # One partition alone is called as a function.
        call = (
            Specialization(arguments, *zip(*partitions, strict=True))
            if len(partitions) > 1
            else Call(partitions[0][0], arguments)
        )
        return [
            *_left(Outside(self.memories, self.gluon)),
            *self._descriptors(),
            *allocated,
            *self.fixed.entry(),
            *filled,
            *before,
            call,
        ]
