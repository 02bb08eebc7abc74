"""Checks of a compiled kernel: the requests of its file against the compiler's output."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from twill.artifacts.machine import Machine
from twill.base.files import read_bytes
from twill.base.formats import plural
from twill.compiled.cubin import Cubin, compile_file
from twill.compiled.loops import SPILL, CompiledLoop, compiled_loops
from twill.compiled.order import Role, read_roles
from twill.compiled.sass import read_listing

_LOSS = re.compile(r"\(C75\d\d\)")
# What ptxas warns of: the finding, what it means, what avoids it.
_LOSSES = {
    "insufficient register": (
        "serialized",
        "ptxas makes every warp group product wait for the one before",
        "give each partition that issues products 32 registers more than hold its values",
    ),
    "reading accumulator": (
        "serialized",
        "ptxas makes every warp group product wait for the one before",
        "let no product be in flight where a loop ends, and compute with one before selecting it",
    ),
    "serialized": (
        "serialized",
        "ptxas makes every warp group product wait for the one before",
        "let no product with its accumulator in registers be in flight where a loop ends",
    ),
    "injected": (
        "serialized",
        "ptxas waits for a warp group product earlier than the file",
        "await a product in the round that issues it, before its accumulator is read or copied",
    ),
    "setmaxnreg": (
        "allocation",
        "ptxas gives all partitions the same registers",
        "ask for enough registers for each partition",
    ),
    "": ("loss", "ptxas warns", "look for the message in the manual of ptxas"),
}
BLACKWELL = "nvidia.blackwell"  # what only kernel files for Blackwell import from
_USED = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class Limits:
    """Memory of an SM that a kernel may use: bytes of shared memory, columns of tensor memory."""

    shared: int = 232_448
    tensor_columns: int = 512

    @classmethod
    def of(cls, machine: Machine) -> Limits:
        """Return the memory that an SM of a machine has."""
        memories = machine.memories
        shared = memories.smem.capacity if memories.smem is not None else 0
        return cls(shared, memories.tmem.capacity if memories.tmem is not None else 0)


def architecture_of(text: str) -> int:
    """Return what a kernel file is for: 100 if it uses what only Blackwell has, else 90."""
    return 100 if BLACKWELL in text else 90


@dataclass(frozen=True)
class Finding:
    """A deviation of a compiled kernel from its file, or a resource that it exceeds."""

    check: str
    what: str
    avoid: str  # what would avoid it


@dataclass(frozen=True)
class Compiled:
    """A compiled kernel with the findings of its checks.

    Attributes
    ----------
    kernel, architecture, warps, shared, tensor_columns
        As in `twill.compiled.cubin.Cubin`.
    spills : int
        Instructions that move registers to or from local memory outside steady loops.
    warnings : tuple of str
        Warnings of ptxas.
    loops : tuple of CompiledLoop
        The steady loops.
    findings : tuple of Finding
        Defects to mend; none in a kernel that is compiled as it is written.
    """

    kernel: str
    architecture: int
    warps: int
    shared: int
    tensor_columns: int
    spills: int
    warnings: tuple[str, ...]
    loops: tuple[CompiledLoop, ...]
    findings: tuple[Finding, ...] = ()


def check(
    path: str | os.PathLike[str],
    architecture: int | None = None,
    limits: Limits | None = None,
) -> Compiled:
    """Compile a kernel file and check what comes out; takes some seconds and needs Triton.

    Parameters
    ----------
    path : path
        A kernel file, as `twill.compiled.cubin.compile_file` takes it.
    architecture : int, optional
        90 or 100; what the file is for without it.
    limits : Limits, optional
        Memory of an SM; by default that of an H100 and a B200.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such file, it does not compile, or its roles cannot be read.
    """
    text = read_bytes(path).decode(errors="replace")
    code = compile_file(path, architecture or architecture_of(text))
    return judge(code, text, str(path), limits)


def judge(cubin: Cubin, text: str, file: str, limits: Limits | None = None) -> Compiled:
    """Check a compiled kernel against the text of its file; see `check`."""
    roles, listing = read_roles(text, file), read_listing(cubin.listing)
    used = _USED.search(cubin.log)
    warned = [s for s in cubin.log.splitlines() if " warning " in s or _LOSS.search(s)]
    steady = compiled_loops(listing, roles, Path(file).name, int(used[1]) if used else 0)
    inside = {block for loop, _ in steady for block in loop.blocks}
    outside = listing.instructions(frozenset(listing.order) - inside)
    made = Compiled(
        kernel=cubin.kernel,
        architecture=cubin.architecture,
        warps=cubin.warps,
        shared=cubin.shared,
        tensor_columns=cubin.tensor_columns,
        spills=sum(i.pipe == SPILL for i in outside),
        warnings=tuple(dict.fromkeys(line.split(" : ", 1)[-1].strip() for line in warned)),
        loops=tuple(told for _, told in steady),
    )
    found = (f for check in CHECKS for f in check(made, roles, limits or Limits()))
    return replace(made, findings=tuple(found))


def losses(made: Compiled, _roles: tuple[Role, ...], _limits: Limits) -> Iterator[Finding]:
    """The compiler serializes no products and ignores no request of the file."""
    for warning in made.warnings:
        if _LOSS.search(warning):
            name, what, avoid = next(found for key, found in _LOSSES.items() if key in warning)
            yield Finding(name, f"{what}: {warning}", avoid)


def spills(made: Compiled, _roles: tuple[Role, ...], _limits: Limits) -> Iterator[Finding]:
    """No steady loop moves registers to local memory."""
    for loop in made.loops:
        if number := loop.instructions.get(SPILL):
            yield Finding(
                "spills",
                f"the steady loop of {loop.role} has {plural(number, 'instruction')} of spills",
                "give its partition more registers, or let fewer values live at a time",
            )


def memory(made: Compiled, _roles: tuple[Role, ...], limits: Limits) -> Iterator[Finding]:
    """Shared and tensor memory have room for all that the kernel uses."""
    for key, unit, used, limit in (
        ("shared", "bytes of shared memory", made.shared, limits.shared),
        ("tensor_columns", "columns of tensor memory", made.tensor_columns, limits.tensor_columns),
    ):
        if used > limit:
            what = f"{used} {unit} are used, there are {limit}"
            yield Finding(key, what, "use fewer slots, or smaller tiles")


def registers(made: Compiled, roles: tuple[Role, ...], _limits: Limits) -> Iterator[Finding]:
    """Partitions have the registers that the file asks for, and steady loops need no more."""
    asked = {role.name: role.registers for role in roles}
    for loop in made.loops:
        wanted, allocated = asked[loop.role], " or ".join(map(str, loop.allocated)) or "unknown"
        if wanted is not None and loop.allocated != (wanted,):
            yield Finding(
                "allocation",
                f"a thread of {loop.role} has {allocated} registers, the file asks for {wanted}",
                "ask for multiples of 8 from 24, in all no more than the kernel starts with",
            )
        if loop.allocated and loop.registers > min(loop.allocated):
            yield Finding(
                "registers",
                f"the steady loop of {loop.role} needs {loop.registers} registers, "
                f"a thread has {allocated}",
                "give its partition more registers",
            )


def order(made: Compiled, roles: tuple[Role, ...], _limits: Limits) -> Iterator[Finding]:
    """Each steady loop is compiled, and its marks come in the order of the file."""
    found = {(loop.role, loop.line) for loop in made.loops}
    for role in roles:
        for loop in role.loops:
            missing = (role.name, loop.first) not in found
            if loop.marks and missing and not loop.written_out:
                yield Finding(
                    "order",
                    f"no loop of SASS is the steady loop of {role.name} (line {loop.first})",
                    "let it be a loop at run time, with all that it waits for and starts",
                )
    for compiled in made.loops:
        if compiled.order is not None:
            yield Finding(
                "order",
                f"the steady loop of {compiled.role} has {compiled.order}",
                "put a wait or an arrival between what has to keep its order",
            )


# In the order in which their findings are listed.
CHECKS: tuple[Callable[[Compiled, tuple[Role, ...], Limits], Iterator[Finding]], ...] = (
    losses,
    spills,
    memory,
    registers,
    order,
)
