"""The steady loops of a kernel file as its SASS has them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from twill.compiled.order import STORE_WAIT, WAIT, Mark, Role, SteadyLoop, disorder, mark_of
from twill.compiled.sass import Listing, Loop

Found = dict[int, list[Mark]]  # by block
SPILL = "spill"
_ALLOCATION = re.compile(r"\b0x([0-9a-f]+)")


@dataclass(frozen=True)
class CompiledLoop:
    """A steady loop as compiled; one of the file may be several, which execute more at a time.

    Attributes
    ----------
    role : str
        The function of the kernel file.
    line : int
        Where its loop begins there.
    copies : int
        Iterations of the file that one round executes.
    instructions : dict
        Instructions of a warp in a round by pipe (`twill.compiled.sass.PIPES`), where no wait has
        to be repeated and each condition holds.
    registers : int
        Registers that its instructions need: one more than the number of the highest.
    allocated : tuple of int
        Registers of a thread while it runs; several if that depends on the way to it.
    order : str or None
        Where it leaves the order of the file; None if it keeps it.
    """

    role: str
    line: int
    copies: int
    instructions: dict[str, int]
    registers: int
    allocated: tuple[int, ...]
    order: str | None


def compiled_loops(
    listing: Listing, roles: tuple[Role, ...], file: str, launched: int
) -> list[tuple[Loop, CompiledLoop]]:
    """Find the steady loops of a kernel file.

    `listing`, `roles`: the code and what the file says of it.
    `file`: name of the file in the code's lines, without folders.
    `launched`: registers that a thread starts with.
    """
    allocated = _allocated(listing, launched)
    found = []
    for role in roles:
        marks = _marks(listing, role, file)
        for steady in role.loops:
            for loop in _loops(listing, steady, marks):
                paid = _first_attempts(listing, loop, marks)
                told = CompiledLoop(
                    role=role.name,
                    line=steady.first,
                    copies=_copies(listing, paid, steady, marks),
                    instructions=dict(Counter(i.pipe for i in listing.instructions(paid))),
                    registers=max(i.registers for i in listing.instructions(loop.blocks)),
                    allocated=tuple(sorted(allocated[loop.header])),
                    order=disorder(listing, loop, steady.marks, marks),
                )
                found.append((loop, told))
    return found


def _marks(listing: Listing, role: Role, file: str) -> Found:
    """Return the marks of a role in each block; waits for stores, of the lines that wait for some.

    Loads of other kinds are waited for by the same instruction.
    """
    stores = {m.lines for loop in role.loops for m in loop.marks if m.kind == STORE_WAIT}
    every = {
        block: [m for i in listing.blocks[block].instructions if (m := mark_of(i, file, role))]
        for block in listing.order
    }
    return {
        block: [m for m in marks if m.kind != STORE_WAIT or m.lines in stores]
        for block, marks in every.items()
    }


def _loops(listing: Listing, steady: SteadyLoop, marks: Found) -> Iterator[Loop]:
    """Yield the outermost loops whose marks are all of a loop of the file, and of all its kinds."""
    wanted = {m.kind for m in steady.marks if not m.optional}
    inside = []
    for loop in listing.loops:
        met = [mark for block in loop.blocks for mark in marks[block]]
        within = all(steady.first <= mark.lines[0] <= steady.last for mark in met)
        starts_groups = any(
            i.operation.startswith(("USETMAXREG", "BRX")) for i in listing.instructions(loop.blocks)
        )
        if within and wanted <= {mark.kind for mark in met} and wanted and not starts_groups:
            inside.append(loop)
    yield from (o for o in inside if not any(o.blocks < other.blocks for other in inside))


def _first_attempts(listing: Listing, loop: Loop, marks: Found) -> frozenset[int]:
    """Return the blocks of a loop but for those that repeat a wait that has failed."""
    again = set()
    for inner in listing.loops:
        met = {mark.same for block in inner.blocks for mark in marks[block]}
        before = {mark.same for block in loop.blocks - inner.blocks for mark in marks[block]}
        waits = len(met) == 1 and met <= before and all(kind == WAIT for kind, _ in met)
        if waits and inner.blocks < loop.blocks:
            again |= {b for b in loop.blocks if listing.dominates(inner.header, b)}
    return loop.blocks - again


def _copies(listing: Listing, blocks: frozenset[int], steady: SteadyLoop, marks: Found) -> int:
    sequence = [mark.same for b in listing.order if b in blocks for mark in marks[b]]
    runs = Counter(mark for mark, _ in itertools.groupby(sequence))
    asked = Counter(mark.same for mark in steady.marks)
    return max((runs[mark] // times for mark, times in asked.items()), default=1) or 1


def _allocated(listing: Listing, launched: int) -> dict[int, set[int]]:
    """Return for each block the registers that a thread may have where it begins."""
    found: dict[int, set[int]] = {block: set() for block in listing.order}
    found[0].add(launched)
    waiting = [0]
    while waiting:
        block = waiting.pop()
        after = found[block]
        for instruction in listing.blocks[block].instructions:
            if instruction.operation.startswith("USETMAXREG"):
                after = {int(_ALLOCATION.findall(instruction.operands)[-1], 16)}
        for following in listing.blocks[block].successors:
            if not after <= found[following]:
                found[following] |= after
                waiting.append(following)
    return found
