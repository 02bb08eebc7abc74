"""What gives a refused loop a schedule: sub-tiles, or smaller tiles."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.bounds.programs import program_bound
from twill.console import Report, paragraph, progress, say, silent
from twill.errors import RefusedError, TwillError
from twill.formats import number
from twill.frontends import load_loop
from twill.frontends.subtiling import impossible_product, subtile
from twill.frontends.subtiling.plan import choices
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.studies.tune.candidates import tile_of, tile_text, with_tile

FACTORS = (2, 4)
# Of sub-tiles and of tiles each.
MOST_TRIED = 8
MOST_TOLD = 2


@dataclass(frozen=True)
class Suggestion:
    """A change that gives a loop a schedule.

    Attributes
    ----------
    change : str
        What is changed.
    least_cycles : float
        No program of the changed loop takes fewer cycles an iteration.
    commands : tuple of str
        What to type for its schedule.
    """

    change: str
    least_cycles: float
    commands: tuple[str, ...]


@dataclass(frozen=True)
class _Change:
    what: str
    made: Callable[[], Loop]
    commands: tuple[str, ...]


def suggestions(
    loop: Loop, machine: Machine, subject: str, machine_name: str, report: Report = silent
) -> list[Suggestion]:
    """Return changes that give a refused loop a schedule.

    Each is tried for some seconds, by a schedule of one operation after the other: a loop that has
    only others is not told of. Sub-tiles come as `subtile` prefers them; of a tile each extent is
    halved.

    `subject`, `machine_name`: how the commands name loop and machine.
    """
    names = (shlex.quote(subject), shlex.quote(machine_name))
    kinds = (_sub_tiles(loop, machine, *names), _smaller_tiles(loop, machine, *names))
    return [
        one
        for kind in kinds
        for one in islice(_schedulable(islice(kind, MOST_TRIED), machine, report), MOST_TOLD)
    ]


def suggested(subject: str, machine_name: str) -> list[Suggestion]:
    """Return `suggestions` for a loop and a machine by name, none if there is no such loop."""
    with progress(f"{subject} has no schedule") as report:
        try:
            loop, machine = load_loop(subject), Machine.named(machine_name)
        except RefusedError:
            return []
        return suggestions(loop, machine, subject, machine_name, report)


def _schedulable(
    changes: Iterator[_Change], machine: Machine, report: Report
) -> Iterator[Suggestion]:
    for change in changes:
        report(f"trying {change.what}")
        try:
            changed = change.made()
            solve(Request(changed, machine, search="written"))
        except TwillError:
            continue
        least = program_bound(changed, machine).cycles
        yield Suggestion(change.what, least, change.commands)


def _sub_tiles(loop: Loop, machine: Machine, subject: str, on: str) -> Iterator[_Change]:
    try:
        plans = [plan for factor in FACTORS for plan in choices(loop, factor)]
    except RefusedError:
        return
    for plan in plans:
        cut = f"{loop.name}_{plan.factor}_tiles.json"
        how = f"--factor {plan.factor} --along {plan.along}"
        yield _Change(
            f"{plan.factor} sub-tiles along {plan.along}",
            partial(subtile, loop, plan.factor, along=plan.along, machine=machine),
            (
                f"twill loop subtile {subject} {how} -o {cut}",
                f"twill schedule {cut} -m {on}",
            ),
        )


def _smaller_tiles(loop: Loop, machine: Machine, subject: str, on: str) -> Iterator[_Change]:
    try:
        own = tile_of(loop)
    except TwillError:
        return
    for axis, extent in enumerate(own):
        tile = (*own[:axis], extent // 2, *own[axis + 1 :])
        text = tile_text(tile)
        yield _Change(
            f"a tile of {text}, not {tile_text(own)}",
            partial(_resized, loop, tile, machine),
            (f"twill tune {subject} -m {on} --tile {text} --subtiles 1",),
        )


def _resized(loop: Loop, tile: tuple[int, ...], machine: Machine) -> Loop:
    resized = with_tile(loop, tile)
    if (problem := impossible_product(resized, machine)) is not None:
        raise RefusedError(problem)
    return resized


def print_suggestions(found: Sequence[Suggestion]) -> None:
    """Print what to change, and how."""
    if not found:
        paragraph("no sub-tiles and no smaller tile that were tried give it a schedule")
    for one in found:
        least = f"{number(one.least_cycles)} cycles an iteration or more"
        say(f"it has a schedule with {one.change}, of {least}:")
        for command in one.commands:
            say(f"  {command}")
    if found:
        paragraph(
            "a loop that was cut or resized has lost the kernel around it; to emit one, write the "
            "kernel so (other values of its constants: twill loop dump --set)"
        )
