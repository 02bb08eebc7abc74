"""Runs pseudo-code as printed: groups in any order, asynchronous operations as late as they may.

Odd seeds let one group run ahead of the others and units be as late as possible, one operation
later than all others; even ones choose.

It knows the loop, the costs' units and the barriers' sizes, and nothing of how the text was made.
Values are hashes of an operation with what it read, so that a wrong operand, a missing wait or a
slot that is overwritten too early gives another number than the loop as written.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from simpleeval import simple_eval

import twill

POISON = object()
ISSUE = re.compile(
    r"(?P<result>\S+?)(?P<index>\[[^\]]*\])? (?P<sign>\+?=) (?P<function>\w+)\((?P<arguments>.*?)\)"
    r"(?: \{(?P<begin>\d+)\.\.(?P<end>\d+) of (?P<of>\d+)\})?(?: -> (?P<signals>.+))?"
)


def value_of(expression: str, names: Mapping[str, Any]) -> Any:
    """Return what an index, a bound or a condition comes to."""
    return simple_eval(expression, names=dict(names), functions={"range": range})


class BrokenError(Exception):
    """What the text says is not what the loop says."""


@dataclass
class Cell:
    value: Any = None


@dataclass
class Line:
    text: str
    inner: list[Line] = field(default_factory=list)


@dataclass
class Pending:
    operation: str
    iteration: int
    operands: list[Cell | str]
    result: Cell
    signals: list[str]


def parsed(text: str) -> tuple[list[str], dict[str, list[Line]]]:
    """Return the lines before the groups, and every group's lines nested by indentation."""
    before: list[str] = []
    groups: dict[str, list[Line]] = {}
    stack: list[list[Line]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("//"):
            continue
        depth = (len(raw) - len(raw.lstrip())) // 2
        if line.startswith("group "):
            name = line.split(":")[0].removeprefix("group ")
            groups[name] = []
            stack = [groups[name]]
        elif depth == 0:
            before.append(line)
        else:
            del stack[depth:]
            entry = Line(line)
            stack[-1].append(entry)
            stack.append(entry.inner)
    return before, groups


class Interpreter:
    def __init__(self, text: str, schedule: twill.Schedule, iterations: int, seed: int) -> None:
        self.loop, self.machine, self.n = schedule.loop, schedule.machine, iterations
        self.random, self.late = random.Random(seed), seed % 2 == 1
        self.barriers = {b.name: b for b in schedule.barriers}
        self.costs = {o.name: schedule.machine.cost(o) for o in self.loop.operations}
        self.cells: dict[str, Cell] = defaultdict(Cell)
        self.phase: dict[str, int] = defaultdict(int)
        self.arrived: dict[str, int] = defaultdict(int)
        self.issued: dict[str, int] = defaultdict(int)
        self.done: dict[str, int] = defaultdict(int)
        self.pending: list[Pending] = []
        asynchronous = [name for name, cost in self.costs.items() if cost.asynchronous]
        turn = seed // 2 + iterations
        self.latest = asynchronous[turn % len(asynchronous)] if asynchronous else None
        self.registers: dict[str, int] = {}
        self.before, self.groups = parsed(text)
        self.oracle = cache(self._oracle)

    def run(self) -> None:
        for line in self.before:
            self.initialize(line)
        running = {name: self.lines(name, lines, 0) for name, lines in self.groups.items()}
        favoured = self.random.sample(sorted(running), len(running))
        while running or self.pending:
            choices: list[Any] = [*running, *self.completable()]
            self.random.shuffle(choices)
            if self.late:
                choices.sort(key=lambda choice: self.lateness(choice, favoured))
            for choice in choices:
                if isinstance(choice, Pending):
                    self.complete(choice)
                    break
                try:
                    moved = next(running[choice])
                except StopIteration:
                    del running[choice]
                    break
                if moved:
                    break
            else:
                raise BrokenError(f"deadlock of {sorted(running)}")
        for operation in self.loop.operations:
            if self.done[operation.name] != self.n:
                raise BrokenError(
                    f"{operation.name} ran {self.done[operation.name]} of {self.n} times"
                )

    def lateness(self, choice: str | Pending, favoured: list[str]) -> int:
        """Return a group's place in the order, or a later one for what may complete."""
        if isinstance(choice, str):
            return favoured.index(choice)
        return len(favoured) + (choice.operation == self.latest)

    # -- control ------------------------------------------------------------------------------

    def lines(self, group: str, lines: list[Line], i: int) -> Iterator[bool]:
        """Yield True after each step, False while it cannot go on."""
        names = {"i": i, "n": self.n}
        for line in lines:
            if line.text.startswith("for "):
                for number in value_of(line.text.removeprefix("for i in ")[:-1], names):
                    yield from self.lines(group, line.inner, number)
            elif line.text.startswith("if "):
                if value_of(line.text[3:-1], names):
                    yield from self.lines(group, line.inner, i)
            elif line.text == "interleave:":
                yield from self.lines(group, line.inner, i)
            elif line.text != "fence()":  # all see one shared memory here
                yield from self.statement(group, line.text, names)

    def statement(self, group: str, text: str, names: dict[str, Any]) -> Iterator[bool]:
        if match := re.fullmatch(r"wait\((.+), parity=(.+)\)", text):
            at, parity = self.evaluated(match[1], names), value_of(match[2], names)
            while self.phase[at] & 1 == parity:
                yield False
        elif match := re.fullmatch(r"await\((\S+), (.+)\)", text):
            iteration = value_of(match[2], names)
            if iteration >= self.issued[match[1]]:
                raise BrokenError(f"{group} awaits {match[1]} of {iteration} before it is issued")
            while self.done[match[1]] <= iteration:
                yield False
        elif match := re.fullmatch(r"arrive\((.+)\)", text):
            self.arrive(self.evaluated(match[1], names))
        elif match := re.fullmatch(r"setmaxnreg\((\d+)\)", text):
            self.registers[group] = int(match[1])
        elif text.endswith(("= zeros()", "= initial()")):
            self.initialize(text)
        elif match := ISSUE.fullmatch(text):
            self.issue(match, names)
        else:
            self.move(*(self.evaluated(side, names) for side in text.split(" = ")))
        yield True

    def evaluated(self, name: str, names: dict[str, Any]) -> str:
        """Return a name with its index as a number."""
        return re.sub(r"\[(.+)\]", lambda m: f"[{value_of(m[1], names)}]", name)

    def initialize(self, text: str) -> None:
        name, _, value = text.partition(" = ")
        self.cells[name].value = value

    def move(self, to: str, source: str) -> None:
        if ".staging" in to or ".staging" in source:
            self.cells[to].value = self.read(self.cells[source])
        else:
            self.cells[to], self.cells[source] = self.cells[source], self.cells[to]

    # -- operations ---------------------------------------------------------------------------

    def issue(self, match: re.Match[str], names: dict[str, Any]) -> None:
        name = match["result"]
        while name.endswith("_next"):
            name = name.removesuffix("_next")
        if match["end"] != match["of"]:
            return
        result = self.cells[self.evaluated(match["result"] + (match["index"] or ""), names)]
        known = {o.name for o in self.loop.operations}
        operands: list[Cell | str] = []
        for argument in match["arguments"].split(", "):
            base = re.sub(r"(_next)*(\[.*\])?$", "", argument).split(".for.")[0]
            text = self.evaluated(argument, names)
            if base in known:
                operands.append(self.cells[text])
            else:
                plain = re.fullmatch(r"[\din +-]+", argument)
                operands.append(str(value_of(argument, names)) if plain else text)
        if match["sign"] == "+=":
            operands.append(result)
        signals = [self.evaluated(s, names) for s in (match["signals"] or "").split(", ") if s]
        one = Pending(name, self.issued[name], operands, result, signals)
        self.issued[name] += 1
        self.pending.append(one)
        if not self.costs[name].asynchronous:
            self.complete(one)
        elif self.own(one):
            result.value = POISON

    def own(self, one: Pending) -> bool:
        """Return whether nothing that is under way uses the result's place."""
        return not any(
            one.result is other.result or one.result in other.operands
            for other in self.pending if other is not one
        ) and one.result not in one.operands  # fmt: skip

    def completable(self) -> list[Pending]:
        """Return what may complete next: on a unit that works in order, its oldest."""
        seen: set[str] = set()
        found = []
        for one in self.pending:
            unit = self.costs[one.operation].steps[0].unit
            ordered = self.machine.units[unit].in_order
            if not ordered or unit not in seen:
                found.append(one)
            seen.add(unit)
        return found

    def complete(self, one: Pending) -> None:
        self.pending.remove(one)
        read = [o if isinstance(o, str) else self.read(o) for o in one.operands]
        value = hash((one.operation, tuple(sorted(map(str, read)))))
        if value != self.oracle(one.operation, one.iteration):
            raise BrokenError(f"{one.operation} of {one.iteration} read {read}")
        one.result.value = value
        self.done[one.operation] += 1
        for at in one.signals:
            self.arrive(at)

    @staticmethod
    def read(cell: Cell) -> Any:
        if cell.value is POISON or cell.value is None:
            raise BrokenError("read what is not there yet")
        return cell.value

    def arrive(self, at: str) -> None:
        self.arrived[at] += 1
        if self.arrived[at] == self.barriers[at.split("[", maxsplit=1)[0]].arrivals:
            self.arrived[at] = 0
            self.phase[at] += 1

    # -- the loop as written --------------------------------------------------------------------

    def _oracle(self, name: str, iteration: int) -> Any:
        operation = self.loop.operation(name)
        if iteration < 0:
            return "zeros()" if operation.kind == "mma" else "initial()"
        read: list[Any] = [
            self.oracle(d.producer, iteration - d.distance)
            for d in self.loop.dependences if d.consumer == name and d.kind == "data"
        ]  # fmt: skip
        read += [
            invariant.name
            for invariant in self.loop.invariants
            for r in invariant.reads if r.operation == name
        ]  # fmt: skip
        read += [
            str(value).replace("[i]", f"[{iteration}]")
            for key, value in operation.attributes.items() if key.startswith("operand")
        ]  # fmt: skip
        return hash((name, tuple(sorted(map(str, read or [iteration])))))
