"""A schedule's programs for a trip count: as data, and as pseudo-code like the paper's Figure 1f.

The code is written from the data, one program for each warp group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from twill.artifacts.loop import Dependence, Operation
from twill.artifacts.program import Arrive, Await, Get, Interleave, Issue, Put, Wait
from twill.artifacts.schedule import Group, Schedule
from twill.base.errors import InputError
from twill.base.formats import plural
from twill.lower.iterations import Iteration, phase, ring, slot
from twill.lower.rounds import Places, Round, Step, pipelined, reads
from twill.show import unit_of_time

FUNCTIONS = {"mma": "gemm"}
ZERO_KINDS = ("mma",)  # kinds whose results begin at zero; what others begin with is the kernel's
INDENT = "  "
LEGEND = """\
// await(x, j): blocks until x of iteration j is complete.
// wait(b, parity=p): blocks until the mbarrier's phase of that parity is
//   complete; a fresh one answers parity 1 at once.
"""
FURTHER_LEGENDS = {
    " sync(": "// sync(b): a named barrier, at which a wait arrives as well.\n",
    " fence()": """\
// fence(): a proxy fence, between what warps do in shared memory and what
//   asynchronous units do there.
""",
    " -> ": "// x = f(...) -> b: the completion of f arrives at b.\n",
    "{": """\
// {a..b of c}: the part from cycle a to before cycle b of c cycles of issue.
// interleave: the instructions of these operations alternate in proportion.
""",
}
Data = dict[str, Any]


def program_data(schedule: Schedule, iterations: int | None = None) -> Data:
    """Return the pipelined programs of all groups.

    Iterations, slots and parities are whole numbers, or expressions of the loop's counter i and
    the trip count n, as text.

    `iterations`: trip count n, at least 1; without it n is left open, and is at least
    `least_iterations`.

    Raises
    ------
    InputError
        If the schedule has no programs, or the trip count is below 1.
    """
    check_programs(schedule)
    if iterations is not None and iterations < 1:
        raise InputError(f"at least 1 (got {iterations})", path="iterations")
    places = Places(schedule)
    programs = {program.group for program in schedule.programs}
    return {
        "name": schedule.name,
        "machine": schedule.machine.name,
        "interval": schedule.initiation_interval,
        "time": schedule.time.mode,
        "cycles_per_unit": schedule.time.cycles_per_unit,
        "iterations": iterations,
        "least_iterations": max(1, *(program.last_stage for program in schedule.programs)),
        "barriers": [b.model_dump(mode="json", exclude_none=True) for b in schedule.barriers],
        "initial": _initial_data(places, None),
        "groups": [
            _GroupData(schedule, places, group, iterations).data()
            for group in schedule.groups
            if group.name in programs
        ],
    }


def check_programs(schedule: Schedule) -> None:
    """Refuse a schedule without programs.

    Raises
    ------
    InputError
        If no group has a program.
    """
    if not schedule.programs:
        wrong = "no group has a program; make the schedule anew with `twill schedule`"
        raise InputError(wrong, path="programs", file=schedule.file)


def _initial_data(places: Places, group: str | None) -> list[Data]:
    return [
        {"name": name, "value": "zeros" if kind in ZERO_KINDS else "initial"}
        for name, kind in places.initial(group)
    ]


class _GroupData:
    """The program of one group as data."""

    def __init__(
        self, schedule: Schedule, places: Places, group: Group, iterations: int | None
    ) -> None:
        self._loop, self._group, self._places = schedule.loop, group, places
        self._iterations = iterations
        self._barriers = {barrier.name: barrier for barrier in schedule.barriers}
        program = schedule.program(group.name)
        self._parts = pipelined(program, self._barriers, iterations)
        issued = dict.fromkeys(part.operation for part in program.issues)
        results = (places.result(name) for name in issued)
        self._rotating = [place for place in results if place.rotating]

    def data(self) -> Data:
        parts, steady = self._parts, None
        if parts.steady is not None:
            end = "n" if self._iterations is None else self._iterations
            steady = {"first": parts.first, "end": end, "steps": self._steps(parts.steady)}
        return {
            "group": self._group.name,
            "warps": self._group.warps,
            "registers": self._group.registers,
            "initial": _initial_data(self._places, self._group.name),
            "prologue": [self._numbered(number) for number in parts.prologue],
            "steady_state": steady,
            "epilogue": [self._numbered(number) for number in parts.epilogue],
        }

    def _numbered(self, of: Round) -> Data:
        return {"round": _value(of.number), "steps": self._steps(of)}

    def _steps(self, of: Round) -> list[Data]:
        found = [self._step(step, of.number) for step in of.steps]
        for place in self._rotating:
            renamed = place.rotations(of.number, self._iterations, self._parts.first)
            found += [{"do": "rename", "to": to, "from": name} for to, name in renamed]
        return found

    def _step(self, step: Step, number: Iteration) -> Data:
        instruction, iteration = step.instruction, step.iteration
        found: Data = {"do": instruction.do}
        match instruction:
            case Interleave():
                parts = [self._issue(p, number.minus(p.stage), number) for p in instruction.parts]
                return {"do": "interleave", "parts": parts}
            case Issue():
                found = self._issue(instruction, iteration, number)
            case Await(operation=operation):
                found["operation"] = operation
            case Wait() | Arrive():
                found |= self._at_barrier(instruction, iteration)
            case Put(value=value) | Get(value=value):
                found |= {"value": value, **self._moved(instruction, iteration, number)}
        found["iteration"] = _value(iteration)
        return {**found, "when": step.condition} if step.condition else found

    def _moved(self, moving: Put | Get, iteration: Iteration, number: Iteration) -> Data:
        """Return to where and from where a value is moved."""
        staging = self._places.staging(moving.value)
        ends = staging, self._places.result(moving.value)
        if isinstance(moving, Get):
            ends = self._places.copy(moving.value, moving.reader, moving.distance), staging
        return dict(zip(("to", "from"), (p.text(iteration, number) for p in ends), strict=True))

    def _at_barrier(self, instruction: Wait | Arrive, iteration: Iteration) -> Data:
        barrier = self._barriers[instruction.barrier]
        found: Data = {
            "barrier": barrier.name,
            "slot": _number(slot(iteration, barrier.slots)),
            "at": f"{barrier.name}{ring(iteration, barrier.slots)}",
            "kind": barrier.kind,
        }
        if isinstance(instruction, Arrive):
            found["expect_bytes"] = instruction.expect
        else:
            found["parity"] = _number(phase(iteration, barrier.slots))
            found["polling"] = instruction.polling or None
        return {key: value for key, value in found.items() if value is not None}

    def _issue(self, issue: Issue, iteration: Iteration, number: Iteration) -> Data:
        operation = self._loop.operation(issue.operation)
        adds = self._places.accumulates(operation)
        found: Data = {
            "do": "issue",
            "operation": operation.name,
            "function": _function(operation),
            "iteration": _value(iteration),
            "result": self._places.result(operation.name).text(iteration, number),
            "accumulates": adds,
            "operands": [
                self._operand(read, iteration, number)
                for read in reads(self._loop, operation)
                if not (adds and _own_result(read))
            ],
        }
        if issue.of is not None:
            found["cycles"] = {"begin": issue.begin, "end": issue.end, "of": issue.of}
        if issue.signals:
            found["signals"] = [
                f"{name}{ring(iteration, self._barriers[name].slots)}" for name in issue.signals
            ]
        return found

    def _operand(self, read: Dependence | str, iteration: Iteration, number: Iteration) -> str:
        if isinstance(read, str):
            return read.replace("[i]", f"[{iteration}]")
        return self._places.read(read).text(iteration.minus(read.distance), number)


def _own_result(read: Dependence | str) -> bool:
    """Return whether what is read is the operation's result of the iteration before."""
    return isinstance(read, Dependence) and read.producer == read.consumer and read.distance == 1


def _value(iteration: Iteration) -> int | str:
    """Return an iteration as a number, or as text where it depends on i or n."""
    return str(iteration) if iteration.base else iteration.offset


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _function(operation: Operation) -> str:
    """Return what an operation is called in code: its kind, and what a reduction combines by."""
    combine = operation.attributes.get("combine")
    name = FUNCTIONS.get(operation.kind, operation.kind)
    return f"{name}_{combine}" if isinstance(combine, str) else name


# -- code -------------------------------------------------------------------------------------


def code(schedule: Schedule, iterations: int | None = None) -> str:
    """Return a schedule as pseudo-code.

    `iterations`: trip count n, at least 1; without it n is left open, and is at least the number of
    stages less one.

    Raises
    ------
    InputError
        If the schedule has no programs, or the trip count is below 1.
    """
    data = program_data(schedule, iterations)
    interval, least = data["interval"], data["least_iterations"]
    pace = "" if interval is None else f": an iteration every {interval} {unit_of_time(schedule)}"
    trips = f"n >= {plural(least, 'iteration')}{' (fewer: --iterations N)' if least > 1 else ''}"
    if iterations is not None:
        trips = plural(iterations, "iteration")
    body = "\n".join("\n".join(_group(group)) + "\n" for group in data["groups"])
    legends = [LEGEND, *(text for mark, text in FURTHER_LEGENDS.items() if mark in body)]
    before = "".join(f"{line}\n" for line in _initial(data))
    heading = f"// {data['name']} on {data['machine']}{pace}\n// {trips}\n{''.join(legends)}\n"
    return heading + (before + "\n" if before else "") + body


def _group(data: Data) -> Iterator[str]:
    yield f"group {data['group']}: {plural(data['warps'], 'warp')}"
    if data["registers"] is not None:
        yield f"{INDENT}setmaxnreg({data['registers']})"
    yield from _indented(_initial(data))
    steady = data["steady_state"]
    if data["prologue"]:
        title = "Prologue." if steady else "Fewer iterations than stages: no steady state."
        yield f"{INDENT}// {title}"
    for turn in data["prologue"]:
        yield from _indented(_steps(turn["steps"]))
    if steady is not None:
        yield f"{INDENT}// Steady state."
        yield f"{INDENT}for i in range({steady['first']}, {steady['end']}):"
        yield from _indented(_indented(_steps(steady["steps"])))
    if data["epilogue"]:
        yield f"{INDENT}// Epilogue."
    for turn in data["epilogue"]:
        yield from _indented(_steps(turn["steps"]))


def _initial(data: Data) -> Iterator[str]:
    for entry in data["initial"]:
        yield f"{entry['name']} = {entry['value']}()"


def _steps(steps: Iterable[Data]) -> Iterator[str]:
    for step in steps:
        lines = _step(step)
        if "when" in step:
            yield f"if {step['when']}:"
            lines = _indented(lines)
        yield from lines


def _step(step: Data) -> Iterator[str]:
    match step["do"]:
        case "issue":
            yield _issue(step)
        case "interleave":
            yield "interleave:"
            yield from _indented(_issue(part) for part in step["parts"])
        case "await":
            yield f"await({step['operation']}, {step['iteration']})"
        case "wait" if step.get("kind") == "named":
            yield f"sync({step['at']})"
        case "wait":
            polling = ", polling" if step.get("polling") else ""
            yield f"wait({step['at']}, parity={step['parity']}{polling})"
        case "arrive":
            expect = f", expect_bytes={step['expect_bytes']}" if "expect_bytes" in step else ""
            yield f"arrive({step['at']}{expect})"
        case "fence":
            yield "fence()"
        case _:
            yield f"{step['to']} = {step['from']}"


def _issue(step: Data) -> str:
    sign = "+=" if step["accumulates"] else "="
    arguments = ", ".join(step["operands"]) or step["iteration"]
    text = f"{step['result']} {sign} {step['function']}({arguments})"
    if "cycles" in step:
        part = step["cycles"]
        text += f" {{{part['begin']}..{part['end']} of {part['of']}}}"
    if "signals" in step:
        text += f" -> {', '.join(step['signals'])}"
    return text


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (INDENT + line for line in lines)
