"""Which loop of a dump to schedule."""

from __future__ import annotations

from xdsl.ir import Operation

from twill.errors import InputError, RefusedError, short
from twill.frontends.ttgir.kinds import kind_of
from twill.frontends.ttgir.reader import Dump, name_of, string


def choose_loop(dump: Dump, wanted: str | None) -> Operation:
    """Return the loop called `wanted`, or the only one that multiplies matrices, or the only one.

    Raises
    ------
    InputError
        If no loop or several are called `wanted`.
    RefusedError
        If there is no loop, or more than one to choose from.
    """
    loops = dump.loops()
    if not loops:
        kind = "but a while loop, which cannot be scheduled" if dump.has("scf.while") else ""
        raise RefusedError(f"{dump.file or 'dump'}: there is no loop {kind}".rstrip())
    if wanted is not None:
        return _named(dump, loops, wanted)
    inner = [loop for loop in loops if not _contains(loop, "scf.for")]
    products = [loop for loop in inner if any(kind_of(o).startswith("mma") for o in loop.walk())]
    candidates = products or inner
    if len(candidates) > 1:
        raise RefusedError(
            f"{dump.file or 'dump'}: there are {len(candidates)} loops to choose from; "
            f"name one with --loop: {_listed(dump, loops)}"
        )
    return candidates[0]


def _named(dump: Dump, loops: list[Operation], wanted: str) -> Operation:
    if wanted in map(str, range(len(loops))):
        return loops[int(wanted)]
    named = [loop for loop in loops if dump.loop_name(loop) == wanted]
    if len(named) == 1:
        return named[0]
    count = "no loop" if not named else f"{len(named)} loops"
    raise InputError(
        f"there {'are' if len(named) > 1 else 'is'} {count} called {short(wanted)}; "
        f"there are: {_listed(dump, loops)}",
        file=dump.file,
        path="loop",
    )


def _listed(dump: Dump, loops: list[Operation]) -> str:
    described = []
    for number, loop in enumerate(loops):
        facts = [dump.loop_name(loop), string(loop, "sched.location")]
        words = " at ".join(fact for fact in facts if fact)
        described.append(f"{number} ({words or 'unnamed'})")
    return ", ".join(described)


def _contains(loop: Operation, name: str) -> bool:
    return any(name_of(inner) == name for inner in loop.walk() if inner is not loop)
