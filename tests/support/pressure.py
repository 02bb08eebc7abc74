"""Registers along programs, counted as a compiler gives them out: beside the judge, for tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from twill.artifacts.program import Await, Get, Interleave, Issue, Program, Put
from twill.lower.layout import Layout
from twill.problem.operations import Edge

_Value = tuple[int, int, tuple[int, int] | None]
"""Producer, iteration, and of a copy its reader and by how many iterations that is later."""
PUT = -1
"""Stands among the readers of a value for its transfer to other groups."""


def pressures(layout: Layout, bodies: Iterable[Program]) -> dict[str, int]:
    """Return the most registers per thread that are live at once along each group's program."""
    return {program.group: _Walk(layout, program).peak() for program in bodies}


@dataclass
class _Live:
    """A value in registers: how many, and (reader, iteration) that still read it."""

    registers: int
    readers: Counter[tuple[int, int]] = field(default_factory=Counter)


class _Walk:
    def __init__(self, layout: Layout, program: Program) -> None:
        self._layout, self._pipeline, self._program = layout, layout.pipeline, program
        self._problem, self._place = layout.pipeline.problem, layout.pipeline.place
        self._live: dict[_Value, _Live] = {}
        self._working: dict[int, tuple[int, int, _Value | None]] = {}
        """Working sets, with what of them is of an operand that is taken over, and which."""
        self._flying: dict[str | int, list[tuple[int, int]]] = defaultdict(list)
        self._most = 0

    def peak(self) -> int:
        body, problem = self._program.body, self._problem
        stages = [
            part.stage for i in body for part in (i.parts if isinstance(i, Interleave) else (i,))
        ]
        distances = [edge.distance for edge in problem.edges]
        rounds = 2 + max(stages, default=0) + max(distances, default=0)
        for turn in range(2 * rounds):
            for instruction in body:
                parts = instruction.parts if isinstance(instruction, Interleave) else [instruction]
                begun = [part for part in parts if part.stage <= turn]
                done = [self._execute(part, turn - part.stage) for part in begun]
                self._note()
                for operation, iteration in filter(None, done):
                    self._finished(operation, iteration)
        pinned = sum(
            p.registers
            for p in problem.pinned
            if any(self._place[user] == self._program.group for user in p.used_by)
        )
        return self._most + pinned

    def _note(self) -> None:
        now = sum(live.registers for live in self._live.values())
        for own, wider, operand in self._working.values():
            now += own + (0 if operand in self._live else wider)
        self._most = max(self._most, now)

    def _execute(self, instruction: object, iteration: int) -> tuple[int, int] | None:
        """Begin what an instruction begins; return whose reads are over when it is."""
        index = self._problem.index
        if isinstance(instruction, Issue):
            return self._issue(instruction, index[instruction.operation], iteration)
        if isinstance(instruction, Await):
            self._complete(index[instruction.operation], iteration - instruction.distance)
        elif isinstance(instruction, Put):
            self._read(index[instruction.value], iteration, (PUT, iteration))
        elif isinstance(instruction, Get):
            self._receive(instruction, iteration)
        return None

    def _issue(self, part: Issue, v: int, iteration: int) -> tuple[int, int] | None:
        operation = self._problem.operations[v]
        if not part.begin:
            held = {(e.producer, e.distance) for e in self._read_by(v) if self._held(e)}
            for edge in self._read_by(v):
                if (edge.producer, edge.distance) not in held:
                    self._free(edge, iteration)
            self._begin(v, iteration)
            if operation.asynchronous:
                self._flying[self._queue(v)].append((v, iteration))
            self._working[v] = self._needed(v, iteration)
        return (v, iteration) if part.last else None

    def _needed(self, v: int, iteration: int) -> tuple[int, int, _Value | None]:
        operation, loop = self._problem.operations[v], self._problem.loop
        given = self._problem.machine.cost(loop.operations[v]).working_set
        taken = [e for e in self._read_by(v) if operation.working_set > given and not e.hold]
        width = operation.registers + operation.working_set - given
        for edge in taken:
            if self._problem.operations[edge.producer].registers == width:
                copy = (v, edge.distance) if self._crosses(edge) else None
                operand = edge.producer, iteration - edge.distance, copy
                return given, operation.working_set - given, operand
        return operation.working_set, 0, None

    def _finished(self, v: int, iteration: int) -> None:
        self._working.pop(v, None)
        if not self._problem.operations[v].asynchronous:
            self._known(v, iteration)

    def _complete(self, v: int, iteration: int) -> None:
        """Free what an asynchronous operation read, and what its unit completed before it."""
        flying = self._flying[self._queue(v)]
        while (v, iteration) in flying:
            self._known(*flying.pop(0))

    def _queue(self, v: int) -> str | int:
        """Return the in-order unit that completes operations one after the other, or v itself."""
        return self._problem.operations[v].in_order_unit or v

    def _known(self, v: int, iteration: int) -> None:
        for edge in self._read_by(v):
            self._free(edge, iteration)
        self._read(v, iteration, (v, iteration))

    def _begin(self, v: int, iteration: int) -> None:
        operation = self._problem.operations[v]
        if not operation.registers:
            return
        readers = Counter(
            (edge.consumer, iteration + edge.distance)
            for edge in self._problem.consumers[v]
            if not self._crosses(edge)
        )
        if v in self._layout.staging:
            readers[PUT, iteration] += 1
        readers = readers or Counter({(v, iteration): 1})
        self._live.pop((v, iteration - self._layout.slots[v], None), None)
        self._live[v, iteration, None] = _Live(operation.registers, readers)

    def _receive(self, get: Get, iteration: int) -> None:
        u, c = (self._problem.index[name] for name in (get.value, get.reader))
        copy = c, get.distance
        edge = next(e for e in self._problem.consumers[u] if (e.consumer, e.distance) == copy)
        self._live.pop((u, iteration - self._pipeline.copy_slots(edge), copy), None)
        readers = Counter({(c, iteration + get.distance): 1})
        self._live[u, iteration, copy] = _Live(self._problem.operations[u].registers, readers)

    def _read_by(self, v: int) -> Iterator[Edge]:
        for edge in self._problem.edges:
            if edge.consumer == v and edge.carries:
                yield edge

    def _held(self, edge: Edge) -> int:
        return edge.copy_hold if self._crosses(edge) else edge.hold

    def _crosses(self, edge: Edge) -> bool:
        return self._pipeline.crosses(edge)

    def _free(self, edge: Edge, iteration: int) -> None:
        """Let iteration `iteration` of a reader have read what it reads over a dependence."""
        copy = (edge.consumer, edge.distance) if self._crosses(edge) else None
        reader = (edge.consumer, iteration)
        self._read(edge.producer, iteration - edge.distance, reader, copy)

    def _read(
        self,
        u: int,
        iteration: int,
        reader: tuple[int, int],
        copy: tuple[int, int] | None = None,
    ) -> None:
        live = self._live.get((u, iteration, copy))
        if live is not None:
            del live.readers[reader]
            if not live.readers:
                del self._live[u, iteration, copy]
