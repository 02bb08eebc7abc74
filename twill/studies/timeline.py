"""A kernel's rounds by the clock of the GPU at hand, and by that of the simulated SM.

Both execute one file, which reads the clock where rounds begin and around what waits.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twill.base.console import Report, say, silent
from twill.base.errors import InputError
from twill.base.files import read_bytes, write_whole
from twill.base.names import elided
from twill.base.tables import Column, Table
from twill.compiled import architecture_of, compile_file
from twill.compiled.clocks import ROUNDS, Clocked, Place, clocked
from twill.compiled.cubin import Cubin
from twill.sim.machine_code.trace import Event, name_event, recorded, slice_event, trace_text
from twill.studies.judged import instruction_costs, judged_file, kernel_of, machine_of
from twill.studies.kernels import read_clocks

SIMULATED = "simulated SM"
SHOWN = 6  # rounds of the trace, in the middle of those that both have
MOST_TOLD = 10  # differences
MOST_TEXT = 60  # characters of a statement
Cycles = tuple[dict[int, int], ...]
"""For each place the cycle at which it was read, by round."""


@dataclass(frozen=True)
class Piece:
    """The time between two reads that follow each other.

    `partition`: function of the partition.
    `line`: line of the statement that waits; of work, the line where it begins.
    `what`: the statement, or the lines of the work.
    `waits`: whether it is a statement that waits.
    """

    partition: str
    line: int
    what: str
    waits: bool


@dataclass(frozen=True)
class Difference:
    """Cycles of a piece of a round, the median over rounds, on a GPU and simulated."""

    piece: Piece
    gpu: float
    simulated: float

    @property
    def more(self) -> float:
        """By how much the GPU takes longer."""
        return self.gpu - self.simulated


@dataclass(frozen=True)
class Timeline:
    """Clocks of both executions of a kernel file.

    `file`: the kernel file.
    `device`: the GPU.
    `places`: where clocks are read.
    `gpu`, `simulated`: for each place the cycle, by round.
    `without`: cycles of a simulated round without reads of the clock.
    """

    file: str
    device: str
    places: tuple[Place, ...]
    gpu: Cycles
    simulated: Cycles
    without: float | None = None

    @property
    def begins(self) -> int:
        """The place where a round of the first loop begins.

        Raises
        ------
        InputError
            If no loop was executed by both.
        """
        for number, place in enumerate(self.places):
            if place.moment == "round" and self.gpu[number].keys() & self.simulated[number].keys():
                return number
        raise InputError("no round of a loop was executed by both", file=self.file)

    @property
    def rounds(self) -> tuple[int, ...]:
        """Rounds of the first loop that both executed, but for the first and last quarter."""
        both = sorted(self.gpu[self.begins].keys() & self.simulated[self.begins].keys())
        quarter = len(both) // 4
        return tuple(both[quarter : len(both) - quarter])

    def interval(self, cycles: Cycles) -> float:
        """Return the cycles of a round, on average."""
        begins, (first, *_, last) = cycles[self.begins], self.rounds
        return (begins[last] - begins[first]) / (last - first)

    def differences(self) -> list[Difference]:
        """Return pieces of a round, those that differ most first."""
        taken = [
            _medians(self.places, cycles, self.rounds) for cycles in (self.gpu, self.simulated)
        ]
        found = [
            Difference(piece, *(one.get(piece, 0.0) for one in taken))
            for piece in dict.fromkeys((*taken[0], *taken[1]))
        ]
        return sorted(found, key=lambda one: -abs(one.more))


def timeline(
    path: Path,
    given: Mapping[str, Any] | None = None,
    arguments: Path | None = None,
    *,
    on_gpu: Callable[..., tuple[str, Sequence[Sequence[int]]]] = read_clocks,
    compiler: Callable[[Path, int], Cubin] = compile_file,
    report: Report = silent,
) -> Timeline:
    """Execute a kernel file with clocks, on a GPU and simulated.

    `path`: the kernel file.
    `given`: arguments of the file's ``make_arguments`` that replace its own on the GPU, by name.
    `arguments`: another file, whose ``make_arguments`` is used there.
    `on_gpu`: executes a file with clocks, as `read_clocks` does.
    `compiler`: compiles a file for an architecture.
    `report`: receives a message for each step.

    Raises
    ------
    InputError
        If clocks cannot be put into the file, or it does not run.
    """
    made = clocked(read_bytes(path).decode(errors="replace"))
    report("reading the clock on the GPU")
    device, launches = on_gpu(made, ROUNDS, given, arguments)
    report("executing the machine code")
    plain = judged_file(path, compiler=compiler).prediction
    return Timeline(
        file=str(path),
        device=device,
        places=made.places,
        gpu=by_round(made, launches[-1]),
        simulated=simulated_clocks(made, compiler),
        without=None if plain is None else plain.interval_cycles,
    )


def by_round(made: Clocked, numbers: Sequence[int]) -> Cycles:
    """Return the clocks of each place by round; a zero is none."""
    every = (numbers[n * ROUNDS : (n + 1) * ROUNDS] for n in range(len(made.places)))
    return tuple({n: int(cycle) for n, cycle in enumerate(some) if cycle} for some in every)


def simulated_clocks(made: Clocked, compiler: Callable[[Path, int], Cubin]) -> Cycles:
    """Return the clocks that the compiled file reads on the simulated SM."""
    architecture = architecture_of(made.text)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel_with_clocks.py"
        write_whole(file, made.text)
        code = compiler(file, architecture)
    run = recorded(kernel_of(code, made.text), instruction_costs(machine_of(architecture)))
    reads: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for warp, index, cycle, _ in run.issued:
        one = run.steps[index].instruction
        if one.name == "CS2R" and "CLOCK" in one.operands[1] and one.line[0] == file.name:
            reads[one.line[1]][warp].append(cycle)
    # Of a partition of several groups of warps the first one counts.
    first = [(of := reads[place.read])[min(of, default=0)] for place in made.places]
    return tuple({n: int(cycle) for n, cycle in enumerate(some[:ROUNDS])} for some in first)


def _pieces(
    places: Sequence[Place], cycles: Cycles, rounds: Sequence[int]
) -> Iterator[tuple[Piece, int, int]]:
    """Yield pieces of rounds with the cycles of their begin and end."""
    loops: dict[tuple[str, int], list[int]] = {}
    for number, place in enumerate(places):
        if place.moment == "round":
            members = loops.setdefault((place.partition, place.line), [])
        if place.moment not in ("start", "end"):
            members.append(number)
    for members in loops.values():
        for n in rounds:
            read = sorted((cycles[p][n], p) for p in members if n in cycles[p])
            if n + 1 in cycles[members[0]]:
                read.append((cycles[members[0]][n + 1], members[0]))
            for (begin, first), (end, last) in itertools.pairwise(read):
                yield _piece(places[first], places[last]), begin, end


def _piece(first: Place, last: Place) -> Piece:
    if last.moment == "after":
        return Piece(last.partition, last.line, elided(last.text, MOST_TEXT), waits=True)
    until = "the end of the round" if last.moment == "round" else f"line {last.line}"
    return Piece(first.partition, first.line, f"work until {until}", waits=False)


def _medians(places: Sequence[Place], cycles: Cycles, rounds: Sequence[int]) -> dict[Piece, float]:
    taken: dict[Piece, list[int]] = defaultdict(list)
    for piece, begin, end in _pieces(places, cycles, rounds):
        taken[piece].append(end - begin)
    return {piece: statistics.median(some) for piece, some in taken.items()}


def print_timeline(found: Timeline) -> None:
    """Print the cycles of a round and what differs most."""
    gpu, simulated = found.interval(found.gpu), found.interval(found.simulated)
    said = f"a round: {gpu:,.0f} cycles on {found.device}, {simulated:,.0f} on the {SIMULATED}"
    say(f"{said}{f', and {found.without:,.0f} without reads' if found.without else ''}")
    columns = [
        Column("partition"),
        Column("line", form=str),
        Column("what"),
        *(Column(name, "cycles", "{:,.0f}".format) for name in ("GPU", "simulated")),
        Column("more", form="{:+,.0f}".format),
    ]
    rows = [
        [one.piece.partition, one.piece.line, one.piece.what, one.gpu, one.simulated, one.more]
        for one in found.differences()[:MOST_TOLD]
    ]
    Table(columns, rows).print()


def trace(found: Timeline) -> str:
    """Return some rounds of both executions as a trace for Perfetto, as JSON text.

    Both begin at the same round of the first loop.
    """
    middle = found.rounds[: SHOWN + 1]
    threads = {p.partition: n for n, p in enumerate(found.places)}
    events: list[Event] = []
    both = ((found.device, found.gpu), (SIMULATED, found.simulated))
    for process, (name, cycles) in enumerate(both, 1):
        origin = cycles[found.begins][middle[0]]
        events.append(name_event("process_name", process, 0, name))
        events += [name_event("thread_name", process, n, name) for name, n in threads.items()]
        for piece, begin, end in _pieces(found.places, cycles, middle[:-1]):
            track = process, threads[piece.partition], piece.what, begin - origin, end - begin
            events.append(slice_event(*track, line=piece.line, waits=piece.waits))
    return trace_text(events)
