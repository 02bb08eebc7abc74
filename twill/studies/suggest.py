"""Changes that give a refused loop a schedule: other warps, sub-tiles, smaller tiles, or two."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from twill.artifacts.loop import MOST_WARPS, Loop, Operation, Tile
from twill.artifacts.machine import Machine
from twill.base.console import Report, paragraph, progress, say, silent
from twill.base.errors import RefusedError, TwillError
from twill.base.formats import number
from twill.bounds.programs import program_bound
from twill.frontends import load_loop, threads_per_warp
from twill.frontends.subtiling import impossible_product, subtile
from twill.frontends.subtiling.plan import choices
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.studies.tune.candidates import tile_of, tile_text, with_tile

FACTORS = (2, 4)
WARPS = (2.0, 0.5)  # times those of the operations that have most
FEWEST_WARPS = 4  # of a tile
MOST_TRIED = 8  # of each kind
MOST_TOLD = 2


@dataclass(frozen=True)
class Suggestion:
    """A change that gives a loop a schedule."""

    change: str  # the change in words
    least_cycles: float  # no program of the changed loop takes fewer cycles an iteration
    # Commands for its schedule; none where the kernel must be dumped again.
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Suggestions:
    """The changes that give a refused loop a schedule, among those that were tried."""

    found: list[Suggestion] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Change:
    what: str
    made: Callable[[], Loop]
    commands: tuple[str, ...] = ()


def suggestions(
    loop: Loop,
    machine: Machine,
    subject: str,
    machine_name: str,
    *,
    wishes: Sequence[str] = (),
    report: Report = silent,
) -> Suggestions:
    """Return changes that give a refused loop a schedule.

    Each is tried for some seconds, by a schedule of one operation after the other: a loop that has
    only other schedules is not suggested. Sub-tiles come as `subtile` prefers them; of a tile each
    extent is halved. Where no change helps, each of these is tried with other warps.

    `subject`, `machine_name`: how the commands name loop and machine.
    `wishes`: options that restrict the refused schedule; it is tried without them first.
    """
    told = Suggestions()
    names = (shlex.quote(subject), shlex.quote(machine_name))
    if wishes:
        free = _Change(f"no {', no '.join(wishes)}", lambda: loop)
        _try(iter([free]), machine, told, report)
        if told.found:
            return told
    alone = (_other_warps(loop, machine), *_of_tiles(loop, machine, *names))
    for kind in alone:
        _try(kind, machine, told, report)
    if not told.found:
        for other in _other_warps(loop, machine):
            for kind in _of_tiles(other.made(), machine, *names):
                both = (_Change(f"{other.what}, and {one.what}", one.made) for one in kind)
                _try(both, machine, told, report)
    return told


def suggested(subject: str, machine_name: str, wishes: Sequence[str] = ()) -> Suggestions:
    """Return `suggestions` for a loop and a machine by name, none if there is no such loop."""
    with progress(f"{subject} has no schedule") as report:
        try:
            loop, machine = load_loop(subject), Machine.named(machine_name)
        except RefusedError:
            return Suggestions()
        return suggestions(loop, machine, subject, machine_name, wishes=wishes, report=report)


def _try(changes: Iterator[_Change], machine: Machine, told: Suggestions, report: Report) -> None:
    """Keep the first changes after which there is a schedule."""
    helped = 0
    for change in islice(changes, MOST_TRIED):
        report(f"trying {change.what}")
        told.tried.append(change.what)
        try:
            changed = change.made()
            if impossible_product(changed, machine) is not None:
                continue
            solve(Request(changed, machine, search="written"))
        except TwillError:
            continue
        least = program_bound(changed, machine).cycles
        told.found.append(Suggestion(change.what, least, change.commands))
        helped += 1
        if helped == MOST_TOLD:
            return


def _other_warps(loop: Loop, machine: Machine) -> Iterator[_Change]:
    """Yield the loop with its tiles in more warps, and in fewer."""
    own = max(operation.warps for operation in loop.operations)
    for times in WARPS if own >= FEWEST_WARPS else ():
        warps = int(own * times)
        if FEWEST_WARPS <= warps <= MOST_WARPS:
            made = partial(with_warps, loop, machine, own, warps)
            yield _Change(f"{warps} warps, not {own}", made)


def with_warps(loop: Loop, machine: Machine, own: int, warps: int) -> Loop:
    """Return a loop whose operations of so many warps have others, without its kernel."""
    threads = own * threads_per_warp(loop, machine)

    def spread(tile: Tile) -> Tile:
        """Give threads their parts; what several of them hold stays as it is."""
        each = tile.elements_per_thread
        if each is None or each * threads != math.prod(tile.shape) or each * own % warps:
            return tile
        return tile.model_copy(update={"elements_per_thread": each * own // warps})

    def changed(operation: Operation) -> Operation:
        if operation.warps != own:
            return operation
        made = {
            "warps": warps,
            "operands": tuple(map(spread, operation.operands)),
            "result": operation.result and spread(operation.result),
        }
        return operation.model_copy(update=made)

    operations = tuple(map(changed, loop.operations))
    return loop.model_copy(update={"operations": operations, "source": None})


def _of_tiles(
    loop: Loop, machine: Machine, subject: str, on: str
) -> tuple[Iterator[_Change], Iterator[_Change]]:
    return _sub_tiles(loop, machine, subject, on), _smaller_tiles(loop, subject, on)


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


def _smaller_tiles(loop: Loop, subject: str, on: str) -> Iterator[_Change]:
    try:
        own = tile_of(loop)
    except TwillError:
        return
    for axis, extent in enumerate(own):
        tile = (*own[:axis], extent // 2, *own[axis + 1 :])
        text = tile_text(tile)
        yield _Change(
            f"a tile of {text}, not {tile_text(own)}",
            partial(with_tile, loop, tile),
            (f"twill tune {subject} -m {on} --tile {text} --subtiles 1",),
        )


def print_suggestions(told: Suggestions) -> None:
    """Print what to change, and how; what was tried if nothing helps."""
    if not told.found:
        tried = "; ".join(told.tried) or "nothing: it has no tiles to change"
        paragraph(f"no change that was tried gives it a schedule: {tried}")
    for one in told.found:
        least = f"{number(one.least_cycles)} cycles an iteration or more"
        say(f"it has a schedule with {one.change}, of {least}{':' * bool(one.commands)}")
        for command in one.commands:
            say(f"  {command}")
    if any("warps" in one.change or one.commands for one in told.found):
        paragraph(
            "a loop that was changed so has lost the kernel around it; to emit one, write the "
            "kernel so and dump it (twill loop dump, --set for its constants, --warps)"
        )
