"""The emitted file, section by section, in the dress of Triton's Gluon examples."""

from __future__ import annotations

import re
import textwrap

from twill.artifacts.program import Wait
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import DefectError, RefusedError
from twill.emit import attributes, host
from twill.emit.after import Epilogue
from twill.emit.dress import Gluon
from twill.emit.fixed import fixed_buffers
from twill.emit.host.choice import Choice
from twill.emit.layouts import Layouts
from twill.emit.memory import Memories
from twill.emit.names import DONE, FIRST, INDENT, LINE, TRIPS, wrapped
from twill.emit.outside import Outside
from twill.emit.plans import EPILOGUE, TILES
from twill.emit.reference import Reference
from twill.emit.roles import Role
from twill.emit.source import Source, Statement, loops
from twill.emit.written import written_before
from twill.lower.prepare import prepared

AMPERE = "triton.experimental.gluon.language.nvidia.ampere"
GLUON = "from triton.experimental import gluon"
DEFAULT_WARPS = 4
LEAST_REGISTERS, MOST_REGISTERS = 24, 256  # that `setmaxnreg` takes
BLACKWELL = "sm_10"
FUNCTIONS = {
    "hopper": (
        "fence_async_shared",
        "mbarrier",
        "tma",
        "warpgroup_mma",
        "warpgroup_mma_init",
        "warpgroup_mma_wait",
    ),
    "blackwell": (
        *("TensorMemoryLayout", "allocate_tensor_memory", "fence_async_shared", "mbarrier"),
        *("TensorMemoryScalesLayout", "tcgen05_commit", "tcgen05_copy", "tcgen05_mma"),
        *("tcgen05_mma_scaled", "tma"),
    ),
}


def emitted(schedule: Schedule) -> str:
    """Return the kernel of a schedule as a Python file for Triton's Gluon.

    Raises
    ------
    RefusedError
        If something of it has no template; the message names it.
    DefectError
        If what is written is no Python.
    """
    text = _Kernel(prepared(schedule)).text()
    try:
        compile(text, schedule.name, "exec")
    except SyntaxError as error:
        raise DefectError(f"{schedule.name}: the emitted kernel is no Python ({error})") from None
    return text


class _Kernel:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.source = Source(schedule.loop)
        attributes.check(self.source)
        self.layouts = Layouts()
        self.gluon = Gluon(self.source, self.layouts)
        self.memories = Memories(schedule, self.source, self.layouts)
        self.epilogue = Epilogue(self.memories, self.gluon)
        self.outside = Outside(self.memories, self.gluon)
        self.reference = Reference(self.source)
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
        """Refuse a persistent kernel some of whose waits the first iterations leave out."""
        if not self.memories.persistent:
            return
        others = loops([*self.source.before(), *self.source.after()])
        if others or self.source.varies:
            raise RefusedError(
                "a persistent kernel with other loops, or with none, has no template"
            )
        for program in self.schedule.programs:
            behind = [i for i in program.body if isinstance(i, Wait) and i.distance > 0]
            if behind and program.last_stage:
                raise RefusedError(
                    f"{program.group} waits in its prologue for earlier output tiles; there is no "
                    "template for that"
                )

    # -- the file --------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the file."""
        groups = [g for g in self.schedule.groups if self._program(g)]
        roles = {g.name: Role(self.memories, self.gluon, g) for g in groups}
        functions = {g.name: self._role(g.name, roles[g.name]) for g in groups}
        if EPILOGUE in self.epilogue.plan.effects:
            functions[EPILOGUE] = self._role(EPILOGUE, None)
        reference = self.reference.lines()
        partitions = self._partitions(groups, functions)
        entry = self._entry(partitions)
        used = "\n".join([*("\n".join(f) for f in functions.values()), *entry, *reference])
        sections = [
            self._head(used),
            _section("Layouts"),
            *self.layouts.lines(),
            _section("Kernel"),
            *self.gluon.scan_functions(),
            *(line for name, lines in functions.items() for line in self._function(name, lines)),
            *self._function(self.kernel_name, entry, arguments=self._kernel_arguments),
            _section("Entry point"),
            *host.entry_point(self, partitions[0][1]),
            _section("Reference"),
            *host.reference(self, reference),
            _section("Tests"),
            *host.tests(self),
            _section("Benchmark"),
            *host.benchmark(),
        ]
        lines = [part for line in sections for part in wrapped(line.rstrip())]
        return "\n".join(lines) + "\n"

    @property
    def kernel_name(self) -> str:
        """Name of the kernel's entry."""
        return f"{self.source.dump.kernel}_kernel"

    def _program(self, group: Group) -> bool:
        return any(p.group == group.name and p.body for p in self.schedule.programs)

    def _head(self, used: str) -> str:
        promise = self.schedule.promise
        cycles = (
            f"An iteration every {promise.interval_cycles:g} cycles on the simulated SM."
            if promise is not None
            else ""
        )
        seen = "\n".join([used, *self.layouts.lines()])
        functions = [f for f in FUNCTIONS[self.family] if re.search(rf"\b{f}\b", seen)]
        module = f"triton.experimental.gluon.language.nvidia.{self.family}"
        imports = [
            *(["import math"] if "math." in used else []),
            "from dataclasses import dataclass",
            "",
            "import pytest",
            "import torch",
            "import triton",
            GLUON,
            "from triton.experimental.gluon import language as gl",
            *_wrapped_import(module, functions),
            "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor",
        ]
        if "tl.range" in used:
            imports.insert(imports.index(GLUON), "import triton.language as tl")
        if "async_copy" in used:
            imports.insert(imports.index(GLUON) + 2, f"from {AMPERE} import async_copy")
        made = f"{self.source.dump.kernel} for {self.schedule.machine.name}, warp-specialized and"
        words = (
            f"{made} software-pipelined. {cycles} Emitted from a schedule of {self.schedule.name}."
        )
        body = "\n".join(textwrap.wrap(" ".join(words.split()), LINE - 3))
        return "\n".join([f'"""{body}"""', "", *imports])

    def _function(
        self, name: str, lines: list[str], arguments: list[str] | None = None
    ) -> list[str]:
        given = ", ".join(arguments if arguments is not None else self._shared_arguments())
        head = textwrap.wrap(given, LINE - 8)
        signature = [f"def {name}({given}):"]
        if len(signature[0]) > LINE:
            signature = [f"def {name}(", *(INDENT + h for h in head), "):"]
        return ["@gluon.jit", *signature, *(INDENT + line for line in lines), "", ""]

    # -- partitions ------------------------------------------------------------------------------

    def _role(self, name: str, role: Role | None) -> list[str]:
        outside = (
            role.outside if role is not None else Outside(self.memories, self.gluon, begun=True)
        )
        loop = role.loop(self.epilogue.left(name)) if role is not None else []
        told = self.epilogue.told(name, role)
        after = self.epilogue.code(name, role, outside)
        trips = self._trips(outside) if role is not None else ""
        begin = self.epilogue.begin(name)
        counted = [f"{TRIPS} = {trips}"] if trips else []
        body = [*outside.lines, *counted, *begin, *loop, *told, *after]
        if not self.memories.persistent:
            return body
        outer = self.source.outer
        assert outer is not None
        bounds = Outside(self.memories, self.gluon)
        lower, upper, step = (bounds.value(v).text for v in list(outer.operands)[:3])
        tile = self.memories.argument(outer.regions[0].blocks[0].args[0])
        end = ([f"{DONE} += {TRIPS}"] if trips else []) + [f"{TILES} += 1"]
        head = ([f"{DONE} = 0"] if trips else []) + [f"{TILES} = 0"]
        return [
            *bounds.lines,
            *head,
            f"for {tile} in range({lower}, {upper}, {step}):",
            *(INDENT + line for line in [*body, *end]),
        ]

    def _trips(self, outside: Outside) -> str:
        if self.source.trips is not None:
            return str(self.source.trips)
        lower, upper, step = (
            outside.value(v) for v in (self.source.lower, self.source.upper, self.source.step)
        )
        span = upper.text if lower.text == "0" else f"{upper} - {lower}"
        return span if step.text == "1" else f"gl.cdiv({span}, {step.text})"

    def _partitions(
        self, groups: list[Group], functions: dict[str, list[str]]
    ) -> list[tuple[str, int, int]]:
        """Return name, warps and registers of the partitions, the default one first."""
        found = [(g.name, g.warps, max(g.registers or 0, LEAST_REGISTERS)) for g in groups]
        spare = self._spare(found, more=DEFAULT_WARPS * (EPILOGUE in functions))
        found = [
            (name, warps, min(registers + spare, MOST_REGISTERS))
            if warps == DEFAULT_WARPS and self._copies_by_pointers(name)
            else (name, warps, registers)
            for name, warps, registers in found
        ]
        if EPILOGUE in functions:
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

    def _spare(self, partitions: list[tuple[str, int, int]], more: int) -> int:
        """Return the registers of a thread that no partition asks for, in steps of `setmaxnreg`."""
        wide = [(warps // 4, registers) for _, warps, registers in partitions if warps >= 4]
        narrow = [registers for _, warps, registers in partitions if warps < 4]
        if narrow:  # up to four warps fill up one group, which has the most that one of them needs
            wide.append((-(-len(narrow) // 4), max(narrow)))
        if more:
            wide.append((more // 4, LEAST_REGISTERS))
        file = self.schedule.machine.registers
        if file is None:
            return 0
        count = sum(sets for sets, _ in wide)
        each = int(file.file.value) // (count * 128) // 8 * 8
        return max(0, each * count - sum(sets * registers for sets, registers in wide))

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
    def _kernel_arguments(self) -> list[str]:
        return [p.name for p in self.memories.parameters]

    def _shared_arguments(self) -> list[str]:
        return [*self._kernel_arguments, *self._variables]

    def _entry(self, partitions: list[tuple[str, int, int]]) -> list[str]:
        fixed = fixed_buffers(self.memories, self.gluon)
        allocations = [
            *self.memories.allocations(),
            *fixed.allocations,
            *self.epilogue.allocations(),
        ]
        barriers = []
        made = [*self.memories.barriers(), *self.epilogue.barriers()]
        for name, slots, arrivals in made:
            barriers.append(f"{name} = mbarrier.allocate_mbarrier(batch={slots})")
            if slots == 1:
                barriers.append(f"mbarrier.init({name}.index(0), count={arrivals})")
            else:
                barriers.append(f"for slot in gl.static_range({slots}):")
                barriers.append(f"{INDENT}mbarrier.init({name}.index(slot), count={arrivals})")
        written = written_before(self.memories, self.gluon)
        filled = [
            f"{self.memories.tensor(owner, FIRST)}.store({self._tile(s)})"
            for owner, s in self.memories.filled_before()
            if not self.memories.begins_at_zero(owner) and not written
        ]
        if filled and self.memories.persistent:
            raise RefusedError("tensor memory that is filled for each output tile has no template")
        return [
            *allocations,
            *barriers,
            *fixed.lines,
            *filled,
            *written,
            *self._specialized(partitions),
        ]

    def _specialized(self, partitions: list[tuple[str, int, int]]) -> list[str]:
        """Return the call of the partitions; one alone is called as a function."""
        arguments = ", ".join(self._shared_arguments())
        if len(partitions) == 1:
            return [f"{partitions[0][0]}({arguments})"]
        return [
            "arguments = (",
            *(INDENT + h for h in textwrap.wrap(f"{arguments},", LINE - 8)),
            ")",
            "gl.warp_specialize([",
            *(f"{INDENT}({name}, arguments)," for name, _, _ in partitions),
            f"], {[w for _, w, _ in partitions[1:]]}, {[r for _, _, r in partitions[1:]]})",
        ]

    @property
    def _variables(self) -> list[str]:
        """Names of everything that is allocated, in order."""
        fixed = fixed_buffers(self.memories, self.gluon)
        lines = [*self.memories.allocations(), *fixed.allocations, *self.epilogue.allocations()]
        names = [line.split(" = ", 1)[0] for line in lines]
        barriers = [*self.memories.barriers(), *self.epilogue.barriers()]
        return names + [name for name, _, _ in barriers]

    def _tile(self, statement: Statement) -> str:
        tiles = [o for o in statement.operands if self.source.type_of(o).kind == "tensor"]
        return self.outside.value(tiles[0]).text


def _section(title: str) -> str:
    return f"\n\n# {'=' * 77}\n# {title}\n# {'=' * 77}\n"


def _wrapped_import(module: str, names: list[str]) -> list[str]:
    one = f"from {module} import {', '.join(names)}"
    if len(one) <= LINE:
        return [one]
    return [f"from {module} import (", *(f"{INDENT}{name}," for name in names), ")"]
