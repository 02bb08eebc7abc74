"""The variant ``triton``: what Triton's own pipeliner makes of the loop, from its dump.

One warp group issues everything, as Triton does unless a kernel asks for warp specialization: in
rounds, by cluster and then as written, every statement for the iteration that its stage says. Rings
of loads have the slots that Triton gives them, and what is asynchronous is awaited where Triton
puts its waits (see `twill.frontends.triton_dump.listing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.program import Await, Issue
from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.frontends.ttgir.reader import Dump, Plain, plain
from twill.lower.baselines import in_order


def triton_pipelined(loop: Loop, machine: Machine) -> Schedule:
    """Return the loop as Triton pipelines it, on one warp group.

    An operation that Triton has split over stages is whole in the first of them. Loads into
    registers, which Triton sends through shared memory, stay in registers.

    Raises
    ------
    RefusedError
        If the loop is not from a dump, or Triton does not pipeline it.
    InputError
        If an operation of the loop cannot be whole where Triton begins it.
    """
    if loop.source is None:
        raise RefusedError("only dumps of Triton kernels tell how Triton pipelines them")
    dump = Dump(loop.source.text)
    statements = plain(dump.loops()[loop.source.loop]).inside[:-1]
    if any("sched.stage" not in s.attributes for s in statements):
        raise RefusedError(
            f"Triton does not pipeline this loop ({dump.compiler}; it pipelines loads for products)"
        )
    if not any("sched.wait_stage" in s.attributes for s in statements):
        raise RefusedError("the dump has no waits of Triton's; dump the kernel anew")
    found = [_placed(o.name, loop.source.statements[o.name], statements) for o in loop.operations]
    rings = {placed.name: placed.slots for placed in found if placed.slots}
    return in_order("triton", loop, machine, {"all": list(_round(found))}, rings)


@dataclass(frozen=True)
class _Placed:
    """An operation of the loop at its stage, `place` in the round, with slots and a wait if any.

    A wait is `wait_stage` and its place in the round.
    """

    name: str
    stage: int
    place: tuple[int, int]
    slots: int = 0
    wait: tuple[int, tuple[int, int]] | None = None


def _placed(name: str, own: Sequence[int], statements: Sequence[Plain]) -> _Placed:
    stage = min(_number(statements[n], "stage") for n in own)
    last = max(n for n in own if _number(statements[n], "stage") == stage)
    for statement in (statements[n] for n in own):
        before = statement.attributes.get("sched.wait_before")
        if before is not None:
            wait = _number(statement, "wait_stage"), _place(before, statements)
            slots = _number(statement, "slots")
            return _Placed(name, stage, _place(last, statements), slots, wait)
    return _Placed(name, stage, _place(last, statements))


def _place(statement: int, statements: Sequence[Plain]) -> tuple[int, int]:
    return _number(statements[statement], "cluster"), statement


def _number(statement: Plain, key: str) -> int:
    return int(statement.attributes.get(f"sched.{key}", 0))


def _round(found: Sequence[_Placed]) -> Iterator[Issue | Await]:
    """Yield what a round issues and awaits; waits come before what stands at their place."""
    entries: list[tuple[tuple[int, int], bool, Issue | Await]] = []
    for one in found:
        entries.append((one.place, True, Issue(operation=one.name, stage=one.stage)))
        if one.wait is not None:
            stage, place = one.wait
            entries.append((place, False, Await(operation=one.name, stage=stage)))
    return (entry for *_, entry in sorted(entries, key=lambda entry: entry[:2]))
