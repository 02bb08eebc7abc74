"""Changes to a schedule's programs before they become code.

Rounds begin where no product is in flight and the fewest registers are live.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.artifacts.program import (
    Await,
    Get,
    Instruction,
    Interleave,
    Issue,
    Program,
    Put,
    Storage,
    Wait,
    singles,
)
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError


def prepared(schedule: Schedule) -> Schedule:
    """Return the schedule as it can be emitted; no group's order of instructions changes.

    Raises
    ------
    RefusedError
        If a group always has a product in flight whose result is not accumulated in place.
    """
    return light_rounds(cut_rounds(schedule))


def cut_rounds(schedule: Schedule) -> Schedule:
    """Begin each group's round where no product is in flight whose result registers hold.

    ptxas serializes all products of a kernel (C7514) if one is in flight over the loop's back edge,
    except where it only adds to what the loop carries.
    """
    registers = {s.value for s in schedule.storage if s.memory == "registers"}
    chained = {
        d.producer
        for d in schedule.loop.dependences
        if d.producer == d.consumer and d.in_place and d.distance == 1
    }
    products = {
        o.name
        for o in schedule.loop.operations
        if o.kind == "mma" and o.name in registers and o.name not in chained
    }
    programs = tuple(_cut(program, products) for program in schedule.programs)
    return schedule.model_copy(update={"programs": programs})


def _cut(program: Program, products: set[str]) -> Program:
    quiet = _quiet_places(program, products)
    if 0 in quiet or not any(issue.operation in products for issue in program.issues):
        return program
    if not quiet:
        names = sorted({i.operation for i in program.issues if i.operation in products})
        raise RefusedError(
            f"{program.group}: one of {', '.join(names)} is always in flight, with its result in "
            "registers; ptxas would serialize all products"
        )
    cut = max((k for k in quiet if _begins(program.body[k], products)), default=max(quiet))
    while cut - 1 in quiet and isinstance(program.body[cut - 1], Wait):
        cut -= 1
    return _rotated(program, cut)


def _rotated(program: Program, cut: int) -> Program:
    """Let the round begin at another place of the body."""
    body = [*program.body[cut:], *(_shifted(i, -1) for i in program.body[:cut])]
    least = min(stage for instruction in body for stage in _stages(instruction))
    if least:
        body = [_shifted(instruction, -least) for instruction in body]
    return program.model_copy(update={"body": tuple(body)})


def light_rounds(schedule: Schedule) -> Schedule:
    """Begin each group's round where registers hold the least, if no product is in flight there.

    ptxas finds registers for a tile that the loop carries only among those that are free in the
    whole loop. In `fa_fwd_blackwell` with 216 registers, carried tiles of 128 and 64 registers made
    154 instructions of spills; one tile of 64 makes none. No program gets more stages.
    """
    registers = [s for s in schedule.storage if s.memory == "registers"]
    held = {s.value for s in registers}
    products = {o.name for o in schedule.loop.operations if o.kind == "mma" and o.name in held}
    programs = []
    for program in schedule.programs:
        quiet = _quiet_places(program, products)
        lives = list(_lives(schedule, program, registers))
        carried = {k: _carried(lives, k, len(program.body)) for k in quiet}
        best = program
        for k in sorted(quiet, key=lambda k: (carried[k], k)):
            if carried[k] >= carried.get(0, 0):
                break
            made = _rotated(program, k)
            if made.last_stage <= program.last_stage:
                best = made
                break
        programs.append(best)
    return schedule.model_copy(update={"programs": tuple(programs)})


def _lives(
    schedule: Schedule, program: Program, registers: list[Storage]
) -> Iterator[tuple[int, int, int]]:
    """Yield when registers of a group begin and end to hold a value, and how many they are.

    Times are places in the body, counted on through the rounds that follow that of an iteration.
    """
    length = len(program.body)
    made: dict[tuple[str, str | None, int], int] = {}
    read: dict[tuple[str, int], int] = {}  # of an operation or a put, with the place of the last
    for place, instruction in enumerate(program.body):
        for part in singles(instruction):
            time = part.stage * length + place
            if isinstance(part, Issue):
                made.setdefault((part.operation, None, 0), time)
                read[part.operation, 0] = time
            elif isinstance(part, Get):
                made.setdefault((part.value, part.reader, part.distance), time)
            elif isinstance(part, Put):
                read[part.value, 1] = time
    for storage in registers:
        key = (storage.value, storage.reader, storage.distance)
        if storage.group != program.group or key not in made:
            continue
        ends = [
            read[d.consumer, 0] + d.distance * length
            for d in schedule.loop.dependences
            if d.producer == storage.value
            and d.kind == "data"
            and (d.consumer, 0) in read
            and storage.reader in (None, d.consumer)
        ]
        ends += [read[storage.value, 1]] if (storage.value, 1) in read else []
        yield made[key], max(ends, default=made[key]), storage.size


def _carried(lives: list[tuple[int, int, int]], place: int, length: int) -> int:
    """Return the registers that hold values where a round begins at a place of the body."""
    return sum(
        size * ((end - place) // length - (begin - place) // length) for begin, end, size in lives
    )


def _quiet_places(program: Program, products: set[str]) -> set[int]:
    """Return the places in the body before which nothing is in flight, in the steady state.

    An await completes what was issued before, since products complete in order.
    """
    flying: list[tuple[str, int]] = []  # with their iterations
    quiet: set[int] = set()
    last = program.last_stage + 1
    for turn in range(last + 1):
        for place, instruction in enumerate(program.body):
            if turn == last and not flying:
                quiet.add(place)
            if isinstance(instruction, Await):
                awaited = instruction.operation, turn - instruction.stage - instruction.distance
                if awaited in flying:
                    del flying[: flying.index(awaited) + 1]
            begun = ((part.operation, turn - part.stage) for part in _begun(instruction))
            flying += [one for one in begun if one[0] in products]
    return quiet


def _begun(instruction: Instruction) -> Iterator[Issue]:
    parts = instruction.parts if isinstance(instruction, Interleave) else (instruction,)
    for part in parts:
        if part.do == "issue" and part.first:
            yield part


def _begins(instruction: Instruction, products: set[str]) -> bool:
    return any(part.operation in products for part in _begun(instruction))


def _stages(instruction: Instruction) -> list[int]:
    if isinstance(instruction, Interleave):
        return [part.stage for part in instruction.parts]
    return [instruction.stage]


def _shifted(instruction: Instruction, by: int) -> Instruction:
    if isinstance(instruction, Interleave):
        parts = tuple(p.model_copy(update={"stage": p.stage + by}) for p in instruction.parts)
        return instruction.model_copy(update={"parts": parts})
    return instruction.model_copy(update={"stage": instruction.stage + by})
