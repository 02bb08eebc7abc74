"""A kernel's source, line by line, with what its operations cost and what is waited for."""

from __future__ import annotations

import ast
import importlib.util
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from twill.artifacts.base import Part
from twill.artifacts.loop import Loop
from twill.artifacts.schedule import Schedule
from twill.base.console import paragraph
from twill.base.errors import InputError, short
from twill.base.files import read_bytes
from twill.base.formats import count, cycles, tenths
from twill.base.tables import Column, Table
from twill.sim.analysis.profile import IDLE, ISSUE, Spent
from twill.sim.engine.record import Recording
from twill.sim.execute import Run, run
from twill.traces import HERE

COLUMNS = (
    Column("line", form=count),
    Column("operation"),
    Column("cycles by unit"),
    Column("group"),
    Column("stage", form=count),
    Column("stall", "cycles", tenths),
)
PLACE = re.compile(r"([^\0]+?):([0-9]{1,9})(?::[0-9]{1,9})?")  # file, line and column


class Placed(Part):
    """An operation of a line.

    `units`: cycles for which it books each functional unit in an iteration.
    `stage`: by how many iterations it is late in the pipelined loop.
    `stall_cycles`: stall cycles of an iteration in the simulated steady state, all groups together:
    the first warp of a group waits for the result, or until the buffer is free.
    `stalls`: the same by the group that waits.
    `ttgir`: TTGIR operations of its source, in program order; empty where the loop does not know
    its kernel.
    """

    operation: str
    units: dict[str, int]
    group: str
    stage: int | None
    stall_cycles: float
    stalls: dict[str, float]
    ttgir: tuple[str, ...] = ()


class Line(Part):
    """A line of a source file; `text` is absent where the file is not at hand."""

    file: str
    line: int
    text: str | None = None
    operations: tuple[Placed, ...] = ()


class Annotated(Part):
    """A schedule's source with its costs.

    `schedule`, `machine`: names of both.
    `interval_cycles`: of the simulated steady state; absent without one.
    `source`: the file whose lines are shown.
    `missing`: why there is none.
    `lines`: the loop's lines in order; without a source only those that have operations.
    `elsewhere`: stall cycles of an iteration that are for no operation's value, by cause.
    """

    schedule: str
    machine: str
    interval_cycles: float | None
    source: str | None
    missing: str | None
    lines: tuple[Line, ...]
    elsewhere: dict[str, float]


def annotate(
    schedule: Schedule, source: Path | None = None, *, result: Run | None = None
) -> Annotated:
    """Return a schedule's source with units, groups, stages, cycles and stalls.

    Parameters
    ----------
    schedule : Schedule
        With programs.
    source : path, optional
        The source file, or the folder that it is in. Without it the folder of the schedule's file
        and the packaged kernels are looked through. No file outside of these is read, whatever the
        loop names.
    result : Run, optional
        With its profile; the schedule is run without it.

    Raises
    ------
    InputError
        If no operation has a place in a source, or `source` is not what the loop was read from.
    SimulationError
        If the program deadlocks, or reads what it should not.
    """
    loop = schedule.loop
    if not any(operation.location for operation in loop.operations):
        wrong = "its operations have no places in a source (loops of TTGIR and of Python have)"
        raise InputError(wrong, path="loop.operations", file=schedule.file)
    _check_places(schedule)
    result = result or run(schedule, recording=Recording())
    every = result.profile.groups if result.profile else ()
    spent = [s for s in every if s.cause not in (ISSUE, IDLE)]
    found = _placed(schedule, spent)
    file, missing = _source_file(schedule, source)
    elsewhere: dict[str, float] = defaultdict(float)
    for stall in spent:
        if not stall.value:
            elsewhere[stall.cause] += stall.cycles
    return Annotated(
        schedule=schedule.name,
        machine=schedule.machine.name,
        interval_cycles=result.measured_interval_cycles,
        source=None if file is None else file.name,
        missing=missing,
        lines=tuple(_lines(loop, found, file)),
        elsewhere=dict(sorted(elsewhere.items(), key=lambda item: (-item[1], item[0]))),
    )


def _placed(schedule: Schedule, spent: Sequence[Spent]) -> dict[tuple[str, int], list[Placed]]:
    """Return the operations of every line, by file and line, in program order."""
    stages = {i.operation: i.stage for program in schedule.programs for i in program.issues}
    groups, statements = schedule.assignment, _statements(schedule.loop)
    found: dict[tuple[str, int], list[Placed]] = defaultdict(list)
    for operation in schedule.loop.operations:
        if operation.location is None:
            continue
        units: dict[str, int] = defaultdict(int)
        for step in schedule.machine.cost(operation).steps:
            units[step.unit] += step.cycles
        stalls: dict[str, float] = defaultdict(float)
        for stall in spent:
            if stall.value == operation.name:
                stalls[stall.group] += stall.cycles
        file, line = _place(operation.location)
        placed = Placed(
            operation=operation.name,
            units=dict(units),
            group=groups[operation.name],
            stage=stages.get(operation.name),
            stall_cycles=sum(stalls.values()),
            stalls=dict(stalls),
            ttgir=statements.get(operation.name, ()),
        )
        found[file, line].append(placed)
    return found


def _statements(loop: Loop) -> dict[str, tuple[str, ...]]:
    """Return the names of the TTGIR operations that each operation was read from."""
    if loop.source is None:
        return {}
    from twill.frontends.ttgir.joining import read_loop
    from twill.frontends.ttgir.reader import name_of

    body = read_loop(loop.source)[1].regions[0].blocks[0]
    names = [name_of(statement) for statement in body.ops]
    return {
        operation: tuple(names[position] for position in positions)
        for operation, positions in loop.source.statements.items()
    }


def _place(location: str) -> tuple[str, int]:
    """Return file and line of ``file:line:column``."""
    found = PLACE.fullmatch(location)
    assert found is not None  # all were looked at
    return found[1], int(found[2])


def _check_places(schedule: Schedule) -> None:
    """Refuse places that name no line."""
    loop = schedule.loop
    places = {f"operations[{n}]": one.location for n, one in enumerate(loop.operations)}
    if loop.origin is not None:
        places["origin"] = loop.origin.location
    for path, place in places.items():
        if place is not None and not PLACE.fullmatch(place):
            wrong = f"a place in a source is file:line:column (got {short(place)})"
            raise InputError(wrong, path=f"loop.{path}.location", file=schedule.file)


# -- the source -------------------------------------------------------------------------------


def _source_file(schedule: Schedule, given: Path | None) -> tuple[Path | None, str | None]:
    """Return the file that a loop was read from, or why there is none."""
    name, line = _first_place(schedule.loop)
    if given is not None:
        file = given
        if given.is_dir():
            file, said = given / name, f"{name} is not in it, or leads out of it"
            if not _inside(given, file):
                raise InputError(said, file=str(given))
        wrong = _wrong(file, schedule.loop, line)
        if wrong:
            raise InputError(wrong, file=str(file))
        return file, None
    why = "is not at hand"
    for folder in (*([Path(schedule.file).parent] if schedule.file else ()), HERE / "kernels"):
        file = folder / name
        if _inside(folder, file):
            wrong = _wrong(file, schedule.loop, line)
            if not wrong:
                return file, None
            why = f"is not at hand, and {file} is another version: {wrong}"
        elif file.is_file():
            why = "is outside of the schedule's folder, and is not read"
    return None, f"{name} {why}; --source FILE or FOLDER says where it is"


def _inside(folder: Path, file: Path) -> bool:
    """Return whether there is such an ordinary file in a folder, links followed."""
    try:
        return file.resolve().is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, RuntimeError):  # a name that is too long, or a circle of links
        return False


def _first_place(loop: Loop) -> tuple[str, int]:
    origin = loop.origin.location if loop.origin else None
    places = [origin, *(operation.location for operation in loop.operations)]
    return _place(next(place for place in places if place))


def _wrong(file: Path, loop: Loop, line: int) -> str:
    """Return why a file is not the one that a loop was read from; empty if it may be."""
    try:
        tree = ast.parse(_text(file), filename=str(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        return f"not Python: {error}"
    kernel = loop.origin.kernel if loop.origin and loop.origin.location else None
    if kernel is None:
        return ""
    named = any(isinstance(n, ast.FunctionDef) and n.name == kernel for n in ast.walk(tree))
    if not named:
        return f"it has no function {kernel}"
    return "" if _end_of_loop(tree, line) else f"its line {line} is not the loop's"


def _text(file: Path) -> str:
    """Return Python's source as Python reads it: its encoding is what it says."""
    return importlib.util.decode_source(read_bytes(file, ordinary=True))


def _end_of_loop(tree: ast.Module, line: int) -> int | None:
    """Return the last line of the loop that begins at a line; None if none does."""
    loops = (n for n in ast.walk(tree) if isinstance(n, ast.For | ast.While) and n.lineno == line)
    return next((loop.end_lineno for loop in loops), None)


def _lines(
    loop: Loop, found: dict[tuple[str, int], list[Placed]], source: Path | None
) -> Iterator[Line]:
    """Yield the loop's lines, then those with operations of other files."""
    name, first = _first_place(loop)
    shown: Iterable[int] = ()
    texts: list[str] = []
    if source is not None:
        text = _text(source)
        texts = text.split("\n")
        lines = [line for file, line in found if file == name]
        first, end = max(1, min(first, *lines)), _end_of_loop(ast.parse(text), first) or first
        shown = range(first, min(max(end, *lines), len(texts)) + 1)
    for line in shown:
        operations = tuple(found.get((name, line), ()))
        yield Line(file=name, line=line, text=texts[line - 1], operations=operations)
    for (file, line), placed in sorted(found.items()):
        if file != name or line not in shown:
            yield Line(file=file, line=line, operations=tuple(placed))


# -- for people -------------------------------------------------------------------------------


def source_table(found: Annotated) -> Table:
    """Return the lines as a table, an operation a row; source, or TTGIR without it, last."""
    rows: list[tuple[object, ...]] = []
    texts = textwrap.dedent("\n".join(line.text or "" for line in found.lines)).split("\n")
    for line, text in zip(found.lines, texts, strict=True):
        for index, placed in enumerate(line.operations):
            units = ", ".join(f"{unit} {cycles(spent)}" for unit, spent in placed.units.items())
            shown = text if index == 0 else ""
            if line.text is None:
                shown = ", ".join(placed.ttgir)
            stall = placed.stall_cycles or ""
            number = line.line if index == 0 else ""
            rows.append((number, placed.operation, units, placed.group, placed.stage, stall, shown))
        if not line.operations:
            rows.append((line.line, "", "", "", "", "", text))
    heading = "TTGIR" if found.source is None else found.source
    meaning = (
        "cycles by unit: booked in an iteration; stall: cycles of an iteration in which warp "
        "groups wait for the result, or until its buffer is free, all groups together"
    )
    notes = [meaning]
    if found.elsewhere:
        told = ", ".join(f"{cause} {tenths(spent)}" for cause, spent in found.elsewhere.items())
        notes.append(f"stalls that are for no result: {told}")
    return Table([*COLUMNS, Column(heading)], rows, notes=notes)


def print_annotated(found: Annotated) -> None:
    """Print the lines."""
    interval = found.interval_cycles
    pace = "no steady state" if interval is None else f"{cycles(interval)} cycles an iteration"
    paragraph(f"{found.schedule} on {found.machine}: {pace}, simulated")
    if found.missing:
        paragraph(found.missing)
    source_table(found).print()
