"""A compiled kernel as tables."""

from __future__ import annotations

from twill.base.console import say
from twill.base.formats import count, plural
from twill.base.tables import Column, Table
from twill.compiled.findings import Compiled
from twill.compiled.operations import MOST_DIFFERENCE, Calibration
from twill.compiled.sass import OTHER, PIPES


def print_compiled(made: Compiled) -> None:
    """Print the steady loops of a compiled kernel, what it uses, and what is to be mended."""
    columns = f", {made.tensor_columns} columns of tensor memory" if made.tensor_columns else ""
    say(
        f"{made.kernel} for sm_{made.architecture}a: {plural(made.warps, 'warp')}, "
        f"{made.shared} bytes of shared memory{columns}"
    )
    if made.loops:
        print_loops(made)
    else:
        say("no steady loop, so that only memory, spills and warnings are looked at")
    if made.spills:
        say(f"{plural(made.spills, 'instruction')} of spills outside steady loops")
    for warning in made.warnings:
        say(f"ptxas warns: {warning}")
    for finding in made.findings:
        say(f"{finding.check}: {finding.what}")
        say(f"    {finding.avoid}")
    say(plural(len(made.findings), "finding") if made.findings else "compiled as it is written")


def print_loops(made: Compiled) -> None:
    """Print the instructions of each steady loop by pipe, with its registers and its order."""
    pipes = [p for p in (*PIPES, OTHER) if any(p in loop.instructions for loop in made.loops)]
    headings = ("needed", "given")
    columns = [
        Column("steady loop"),
        Column("line", form=count),
        Column("iterations", form=count),
        *(Column(heading, form=count) for heading in pipes),
        *(Column(f"registers\n{heading}", form=count) for heading in headings),
        Column("order"),
    ]
    rows = [
        [
            loop.role,
            loop.line,
            loop.copies,
            *(loop.instructions.get(pipe, 0) for pipe in pipes),
            loop.registers,
            " or ".join(map(str, loop.allocated)) or None,
            "kept" if loop.order is None else "CHANGED",
        ]
        for loop in made.loops
    ]
    Table(columns, rows, notes=["instructions of one warp in a round, by pipe"]).print()


def print_calibration(found: Calibration) -> None:
    """Print the compiled instructions of single operations and those that the machine books."""
    rows, columns = found.shape
    say(
        f"{found.machine}: instructions of a warp for a tile of {rows} x {columns} f32 that four "
        f"warps hold, compiled for {found.architecture}"
    )
    headings = [
        Column("operation"),
        Column("pipe"),
        Column("compiled", form=count),
        Column("booked", form=count),
        Column(""),
    ]
    cells = [
        [r.operation, r.pipe, r.counted, r.booked, "differs" if r.differs else ""]
        for r in found.rows
    ]
    different = len({row.operation for row in found.rows if row.differs})
    note = f"{different} of {len({r.operation for r in found.rows})} operations differ"
    Table(headings, cells, notes=[f"{note} by more than {MOST_DIFFERENCE:.0%}"]).print()
