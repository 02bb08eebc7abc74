"""The section of a kernel file: its machine code as it is executed, by source line."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path

import twill
from twill.base.console import Report, silent
from twill.base.errors import InputError
from twill.base.figures import COLOURS, look
from twill.base.files import read_bytes
from twill.base.formats import plural
from twill.base.names import elided
from twill.base.tables import Column, Table
from twill.compiled import architecture_of, compile_file
from twill.compiled.cubin import Cubin
from twill.sim.machine_code.show import prediction_words, waits_table
from twill.sim.machine_code.trace import Recording, recorded
from twill.studies.explore.page import Panel, Section
from twill.studies.explore.pictures import LINE, WAITING, Bar, Lane, Picture, lanes_of
from twill.studies.judged import Judged, instruction_costs, judged_file, kernel_of, machine_of

SHOWN = 2  # iterations
SHORT = 8.0  # cycles of a pause that no bar shows
CORE = "tensor core"
MOST_OPERATIONS = 4  # of a bar that are named
Line = tuple[str, int]


def kernel_section(
    place: Path,
    report: Report = silent,
    compiler: Callable[[Path, int], Cubin] = compile_file,
) -> Section:
    """Compile a kernel file and return its execution: partitions over time, waits, source.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such file, it does not compile, or its machine code is not executed.
    """
    report(f"compiling {place}")
    compiled, text = functools.cache(compiler), read_bytes(place).decode(errors="replace")
    architecture = architecture_of(text)
    machine = machine_of(architecture)
    judged = judged_file(place, machine, compiler=compiled, report=report)
    if judged.prediction is None:
        raise InputError(f"not executed: {judged.unpredicted}", file=str(place))
    kernel = kernel_of(compiled(place, architecture), text)
    whole, prediction = recorded(kernel, instruction_costs(machine)), judged.prediction
    interval = prediction.interval_cycles or prediction.highest_cycles
    found = whole.within(whole.end / 2, whole.end / 2 + SHOWN * interval)
    lines = _Lines(found, place.name, text)
    said = f"{SHOWN} iterations of one scheduler; grey is waiting of {SHORT:g} cycles or more"
    return Section(
        title=f"{place.name}, machine code",
        summary=[*prediction_words(judged.prediction), *_findings(judged)],
        panels=[
            Panel("Timeline", "bars", _timeline(found, lines), said),
            Panel("Source", "source", lines.table()),
            Panel("Waits", "table", waits_table(judged.prediction), "of an iteration, the longest"),
        ],
        legend={name: _look(number) for number, name in enumerate(_names(found))},
        operations=lines.facts(),
        provenance={"twill": twill.__version__, "costs": judged.prediction.origin},
    )


def _findings(judged: Judged) -> Iterator[str]:
    for finding in judged.made.findings:
        yield f"{finding.check}: {finding.what}"
    if judged.as_written:
        yield "compiled as it is written"
    if judged.evidence is not None:
        yield str(judged.evidence)


class _Lines:
    """Source lines of the instructions that were executed, and what is known of each."""

    def __init__(self, found: Recording, file: str, source: str) -> None:
        self._file, self._source = file, source.splitlines()
        self._of = [step.instruction.line for step in found.steps]
        self._issued = Counter(self._of[index] for _, index, *_ in found.issued)
        self._waited: dict[Line, float] = {}
        self._known = {*self._issued}
        for _, index, _, cause, _, cycles in found.waited:
            line = self._of[index]
            self._waited[line] = self._waited.get(line, 0.0) + cycles
            self._known |= {line, self._of[cause] if cause >= 0 else line}

    def name(self, index: int) -> str:
        """Return the name by which the page chooses the line of an instruction."""
        return self._named(self._of[index])

    def _named(self, line: Line) -> str:
        file, number = line
        return f"L{number}" if file == self._file else f"{file or 'unknown'}:{number}"

    def _text(self, line: Line) -> str:
        file, number = line
        return self._source[number - 1] if file == self._file else ""

    def _told(self, line: Line) -> tuple[float, float]:
        return self._issued[line] / SHOWN, self._waited.get(line, 0.0) / SHOWN

    def facts(self) -> dict[str, list[str]]:
        """Return what is known of each line, in words."""
        found = {}
        for line in sorted(self._known, key=lambda line: (line[0] != self._file, line)):
            issued, waited = self._told(line)
            name, text = self._named(line), elided(self._text(line).strip())
            told = f"an iteration has {issued:g} of its instructions and waits {waited:.0f} cycles"
            found[name] = [f"{name} of {self._file}: {told}{f': {text}' if text else ''}"]
        return found

    def table(self) -> Table:
        """Return the kernel file from the first to the last line that was executed."""
        own = [number for file, number in self._known if file == self._file]
        lines = [(self._file, n) for n in range(min(own, default=1), max(own, default=0) + 1)]
        columns = [
            Column("line"),
            Column("source"),
            Column("instructions", form="{:g}".format),
            Column("waiting", "cycles", "{:.0f}".format),
        ]
        return Table(
            columns,
            [
                (self._named(one), self._text(one), *(told or "" for told in self._told(one)))
                for one in lines
            ],
        )


def _names(found: Recording) -> list[str]:
    every = (*found.groups.values(), CORE)
    return [f"{look(number).letter}: {name}" for number, name in enumerate(every)]


def _look(number: int) -> str:
    return f"g{number % (len(COLOURS) - 1)}"  # the last one is grey, which is waiting


def _timeline(found: Recording, lines: _Lines) -> Picture:
    lanes = tuple(lanes_of(((name, "") for name in _names(found)), LINE))
    bars: list[Bar] = []
    for number, (warp, lane) in enumerate(zip(found.groups, lanes, strict=False)):
        bars += _waits(found, warp, lane, lines)
        bars += _work(found, warp, lane, lines, _look(number))
    core = _look(len(found.groups))
    bars += [_bar(found, time, lanes[-1], "product", core) for time in found.products]
    return Picture("cycles", found.end - found.begin, lanes, tuple(bars))


def _waits(found: Recording, warp: int, lane: Lane, lines: _Lines) -> Iterator[Bar]:
    """Yield pauses of a group with what it waits for."""
    for first, index, reason, cause, end, cycles in found.waited:
        if first == warp and cycles >= SHORT:
            about = [lines.name(index), *([lines.name(cause)] if cause >= 0 else [])]
            what = reason or f"{found.steps[cause].operation} of {about[-1]}"
            label = f"{about[0]} waits for {what}"
            yield _bar(found, (end - cycles, end), lane, label, WAITING, *about)


def _work(found: Recording, warp: int, lane: Lane, lines: _Lines, look: str) -> Iterator[Bar]:
    """Yield instructions of a group; those of one line that follow each other are one bar."""
    mine = [(index, cycle, stall) for first, index, cycle, stall in found.issued if first == warp]
    ends = [cycle + stall for _, cycle, stall in mine]
    pauses = (begin - end >= SHORT for (_, begin, _), end in zip(mine[1:], ends, strict=False))
    pieces = itertools.accumulate(pauses, initial=0)
    keyed = [
        (piece, lines.name(index), found.steps[index].operation, cycle, end)
        for piece, (index, cycle, _), end in zip(pieces, mine, ends, strict=False)
    ]
    for (_, name), run in itertools.groupby(keyed, itemgetter(0, 1)):
        _, _, operations, begins, run_ends = zip(*run, strict=True)
        often = Counter(operations).most_common(MOST_OPERATIONS)
        told = ", ".join(f"{n} {operation}" for operation, n in often)
        label = f"{name}: {told} of {plural(len(operations), 'instruction')}"
        yield _bar(found, (begins[0], run_ends[-1]), lane, label, look, name)


def _bar(
    found: Recording, time: tuple[float, float], lane: Lane, label: str, look: str, *lines: str
) -> Bar:
    begin, end = (min(cycle, found.end) - found.begin for cycle in time)
    title, short = f"{label}: {end - begin:,.0f} cycles", elided(label.partition(": ")[0])
    about = tuple(dict.fromkeys(lines))
    return Bar(begin, end, lane.top, lane.height, short, title, look, about)
