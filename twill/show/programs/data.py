"""A schedule's programs for a trip count as plain data; pseudo-code is written from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from twill.artifacts.loop import Operation
from twill.artifacts.schedule import (
    Arrive,
    Await,
    Get,
    Group,
    Instruction,
    Interleave,
    Issue,
    Put,
    Schedule,
    Wait,
)
from twill.errors import InputError
from twill.show.programs.places import Operand, Place, Places, phase, ring, slot
from twill.show.programs.rounds import Iteration, Round, Step, pipelined

FUNCTIONS = {"mma": "gemm"}
ZERO_KINDS = ("mma",)
"""Kinds whose results begin at zero; what others begin with is the kernel's."""
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
        "initial": _initial(places, None),
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
        raise InputError(
            "no group has a program; make the schedule anew with `twill schedule`",
            path="programs",
            file=schedule.file,
        )


def _initial(places: Places, group: str | None) -> list[Data]:
    return [
        {"name": name, "value": "zeros" if kind in ZERO_KINDS else "initial"}
        for name, kind in places.initial(group)
    ]


class _GroupData:
    def __init__(
        self, schedule: Schedule, places: Places, group: Group, iterations: int | None
    ) -> None:
        self._group, self._places, self._iterations = group, places, iterations
        self._barriers = {barrier.name: barrier for barrier in schedule.barriers}
        self._operations = {o.name: o for o in schedule.loop.operations}
        program = schedule.program(group.name)
        self._parts = pipelined(program, self._barriers, iterations)

    def data(self) -> Data:
        parts = self._parts
        end = "n" if self._iterations is None else self._iterations
        steady = None
        if parts.steady is not None:
            steady = {"first": parts.first, "end": end, "steps": self._round(parts.steady)}
        return {
            "group": self._group.name,
            "warps": self._group.warps,
            "registers": self._group.registers,
            "initial": _initial(self._places, self._group.name),
            "prologue": [self._numbered(number) for number in parts.prologue],
            "steady_state": steady,
            "epilogue": [self._numbered(number) for number in parts.epilogue],
        }

    def _numbered(self, of: Round) -> Data:
        return {"round": value(of.number), "steps": self._round(of)}

    def _round(self, of: Round) -> list[Data]:
        found = [self._step(step, of.number) for step in of.steps]
        for place in self._rotating:
            renamed = place.rotations(of.number, self._iterations, self._parts.first)
            found += [{"do": "rename", "to": to, "from": name} for to, name in renamed]
        return found

    @cached_property
    def _rotating(self) -> list[Place]:
        names = dict.fromkeys(part.operation for part in self._parts.program.issues)
        return [place for name in names if (place := self._places.result(name)).rotating]

    def _step(self, step: Step, number: Iteration) -> Data:
        instruction = step.instruction
        if isinstance(instruction, Interleave):
            parts = [self._issue(p, number.minus(p.stage), number) for p in instruction.parts]
            return {"do": "interleave", "parts": parts}
        if isinstance(instruction, Issue):
            found = self._issue(instruction, step.iteration, number)
        else:
            found = dict(self._signal(instruction, step.iteration, number))
        return {**found, "when": step.condition} if step.condition else found

    def _signal(
        self, instruction: Instruction, iteration: Iteration, number: Iteration
    ) -> Iterator[tuple[str, Any]]:
        yield "do", instruction.do
        match instruction:
            case Await():
                yield "operation", instruction.operation
            case Wait() | Arrive():
                yield from self._at_barrier(instruction, iteration)
            case Put():
                yield "value", instruction.value
                staging = self._places.staging(instruction.value)
                yield "to", staging.text(iteration, number)
                yield "from", self._places.result(instruction.value).text(iteration, number)
            case Get():
                yield "value", instruction.value
                copy = self._places.copy(
                    instruction.value, instruction.reader, instruction.distance
                )
                yield "to", copy.text(iteration, number)
                yield "from", self._places.staging(instruction.value).text(iteration, number)
        yield "iteration", value(iteration)

    def _at_barrier(
        self, instruction: Wait | Arrive, iteration: Iteration
    ) -> Iterator[tuple[str, Any]]:
        barrier = self._barriers[instruction.barrier]
        yield "barrier", barrier.name
        yield "slot", _number(slot(iteration, barrier.slots))
        yield "at", f"{barrier.name}{ring(iteration, barrier.slots)}"
        if barrier.kind is not None:
            yield "kind", barrier.kind
        if isinstance(instruction, Arrive) and instruction.expect is not None:
            yield "expect_bytes", instruction.expect
        if isinstance(instruction, Wait):
            yield "parity", _number(phase(iteration, barrier.slots))
            if instruction.polling:
                yield "polling", True

    def _issue(self, issue: Issue, iteration: Iteration, number: Iteration) -> Data:
        operation = self._operations[issue.operation]
        own = self._places.result(operation.name)
        operands = self._places.operands(operation)
        adds = self._places.accumulates(operation)
        if adds:
            operands = [o for o in operands if o.place != own or o.distance != 1]
        found: Data = {
            "do": "issue",
            "operation": operation.name,
            "function": function(operation),
            "iteration": value(iteration),
            "result": own.text(iteration, number),
            "accumulates": adds,
            "operands": [self._operand(o, iteration, number) for o in operands],
        }
        if issue.of is not None:
            found["cycles"] = {"begin": issue.begin, "end": issue.end, "of": issue.of}
        if issue.signals:
            found["signals"] = [
                f"{name}{ring(iteration, self._barriers[name].slots)}" for name in issue.signals
            ]
        return found

    @staticmethod
    def _operand(operand: Operand, iteration: Iteration, number: Iteration) -> str:
        if operand.place is None:
            return operand.name.replace("[i]", f"[{iteration}]")
        return operand.place.text(iteration.minus(operand.distance), number)


def value(iteration: Iteration) -> int | str:
    """Return an iteration as a number, or as text where it depends on i or n."""
    return str(iteration) if iteration.base else iteration.offset


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def function(operation: Operation) -> str:
    """Return what an operation is called in code: its kind, and what a reduction combines by."""
    combine = operation.attributes.get("combine")
    name = FUNCTIONS.get(operation.kind, operation.kind)
    return f"{name}_{combine}" if isinstance(combine, str) else name
