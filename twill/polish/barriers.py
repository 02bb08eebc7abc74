"""Programs with fewer barriers: some left out, others merged into one.

A barrier costs its groups a rendezvous of their warps, an arrival and a wait. A lowered program has
one for each value that it hands on, and one for each ring that is filled again. Some are implied by
others through a further group. Tiles that are loaded together can share one, as in experts'
kernels. `Judge.objection` decides whether a changed program is still right.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from twill.artifacts.program import (
    Arrive,
    Await,
    Barrier,
    Fence,
    Instruction,
    Interleave,
    Issue,
    Program,
    Wait,
    arrivals_of,
)
from twill.artifacts.schedule import Schedule
from twill.base.names import MOST_LABEL
from twill.lower.fences import with_fences
from twill.lower.pipeline import Signal

_FULL, _EMPTY, _ISSUED = f".{Signal.FULL}", f".{Signal.EMPTY}", f".{Signal.ISSUED}"


def fewer_barriers(schedule: Schedule) -> Iterator[Schedule]:
    """Yield programs with one change each, unchecked: barriers left out, or two merged.

    Two are merged where one group signals both, with those that say that the slots are free.
    """
    for names in optional_barriers(schedule):
        yield from without_barriers(schedule, names)
    signalling = _signalling(schedule)
    full = [barrier for barrier in schedule.barriers if barrier.name.endswith(_FULL)]
    for first, second in itertools.combinations(full, 2):
        if first.slots != second.slots or signalling[first.name] != signalling[second.name]:
            continue
        merged = _merged(schedule, first.name, second.name)
        if merged is None:
            continue
        free = [one.name.removesuffix(_FULL) + _EMPTY for one in (first, second)]
        if {*free} <= {barrier.name for barrier in merged.barriers}:
            merged = _merged(merged, *free) or merged
        yield merged


def optional_barriers(schedule: Schedule) -> list[set[str]]:
    """Return the barriers that can be left out, with those that go with them.

    No unit arrives at them by itself. Barriers of turns go together.
    """
    units = {signal for p in schedule.programs for part in p.issues for signal in part.signals}
    names = [barrier.name for barrier in schedule.barriers if barrier.name not in units]
    turns = {name for name in names if name.endswith(_ISSUED)}
    return [*({name} for name in names if name not in turns), *([turns] if turns else ())]


def without_barriers(schedule: Schedule, names: set[str]) -> Iterator[Schedule]:
    """Yield programs without some barriers, unchecked: with fewer awaits, and with all of them."""
    awaits = Awaits(schedule, names)
    few = [awaits.without(program) for program in schedule.programs]
    every = [awaits.without(program, keep=True) for program in schedule.programs]
    yield _with(schedule, few, schedule.barriers)
    if every != few:
        yield _with(schedule, every, schedule.barriers)


def _signalling(schedule: Schedule) -> Mapping[str, Collection[str]]:
    """Return the groups that signal each barrier, themselves or by what they issue."""
    found = defaultdict[str, set[str]](set)
    for program in schedule.programs:
        for barrier in itertools.chain.from_iterable(map(arrivals_of, program.body)):
            found[barrier].add(program.group)
    return found


def _with(schedule: Schedule, programs: Sequence[Program], barriers: Sequence[Barrier]) -> Schedule:
    """Return a schedule with other programs, those of some barriers that they use, and fences."""
    bare = [_body(p, [one for one in p.body if not isinstance(one, Fence)]) for p in programs]
    used = {one.barrier for p in bare for one in p.body if isinstance(one, Wait)}
    used |= {barrier for p in bare for one in p.body for barrier in arrivals_of(one)}
    update = {
        "programs": tuple(bare),
        "barriers": tuple(one for one in barriers if one.name in used),
        "promise": None,
        "proof": None,
    }
    return with_fences(schedule.model_copy(update=update))


def _body(program: Program, body: Sequence[Instruction]) -> Program:
    # Made anew, not copied: properties that are cached belong to one body.
    return Program(group=program.group, body=tuple(body))


class Awaits:
    """Barriers that are left out, and the awaits that their arrivals needed.

    Such an await is left out where a later one of the group implies it. If its value is carried to
    the next iteration, it stands before the later one instead.
    """

    def __init__(self, schedule: Schedule, barriers: set[str]) -> None:
        self._barriers = barriers
        loop, cost = schedule.loop, schedule.machine.cost
        self._unit = {one.name: cost(one).steps[-1].unit for one in loop.operations}
        self._carried = {one.producer for one in loop.dependences if one.distance}

    def without(self, program: Program, *, keep: bool = False) -> Program:
        """Return a group's program without the barriers; `keep`: with all of its awaits."""
        issued = {part.operation: n for n, part in enumerate(program.issues)}
        body = list[Instruction]()
        moved = list[tuple[Await, Await]]()
        for n, one in enumerate(program.body):
            if isinstance(one, Arrive) and one.barrier in self._barriers:
                others = {
                    one.barrier for one in program.body[n + 1 : n + 2] if isinstance(one, Arrive)
                }
                if keep or others - self._barriers:
                    continue  # they need the same awaits
                while body and isinstance(last := body[-1], Await | Fence):
                    if isinstance(last, Await):
                        later = self._implied_by(last, program.body[n:], issued)
                        if later is None:
                            break
                        if last.operation in self._carried:
                            moved.append((last, later))
                    body.pop()
            elif not (isinstance(one, Wait) and one.barrier in self._barriers):
                body.append(one)
        for last, later in moved:
            body.insert(body.index(later), last)
        return _body(program, body)

    def _implied_by(
        self, given: Await, rest: Sequence[Instruction], issued: Mapping[str, int]
    ) -> Await | None:
        """Return the first await behind it that implies it, of a younger command of its unit."""
        if given.operation not in issued:
            return None
        for one in rest:
            if (
                isinstance(one, Await)
                and one.operation in issued
                and self._unit[one.operation] == self._unit[given.operation]
                and issued[one.operation] > issued[given.operation]
                and (one.stage, one.distance) == (given.stage, given.distance)
            ):
                return one
        return None


def _merged(schedule: Schedule, *names: str) -> Schedule | None:
    """Return a schedule with two barriers as one, None where that can not be.

    They concern the same iterations, are not named, and count no bytes that an arrival announces.
    A group waits where it waited for the first of them, and arrives where it did at the last.
    """
    rings = [barrier for barrier in schedule.barriers if barrier.name in names]
    stems = [one.name.rpartition(".")[0] for one in rings]
    name = ".".join((*stems, names[0].rpartition(".")[2]))
    name = rings[0].name if len(name) > MOST_LABEL else name
    if any(ring.kind or ring.transactions for ring in rings):
        return None
    programs, arrivals = list[Program](), 0
    for program in schedule.programs:
        told = [one for one in program.body if isinstance(one, Arrive) and one.barrier in names]
        asked = [n for n in program.body if isinstance(n, Wait) and n.barrier in names]
        signals = [part for part in program.issues if not {*names}.isdisjoint(part.signals)]
        for uses in (told, asked):
            concerned = {one.stage + one.distance for one in uses}
            if len(concerned) > 1 or len({one.barrier for one in uses}) < len(uses):
                return None
        if told and signals:
            return None
        arrivals += bool(told) + len(signals)
        left_out = (*told[:-1], *asked[1:])
        kept = (one for one in program.body if one not in left_out)
        programs.append(_body(program, [_renamed(one, names, name) for one in kept]))
    one = Barrier(name=name, slots=rings[0].slots, arrivals=arrivals)
    barriers = [one if ring is rings[0] else ring for ring in schedule.barriers]
    return _with(schedule, programs, [ring for ring in barriers if ring is not rings[1]])


def _renamed(one: Instruction, names: Collection[str], name: str) -> Instruction:
    """Return an instruction that uses a barrier instead of some others."""
    if isinstance(one, Wait | Arrive) and one.barrier in names:
        return one.model_copy(update={"barrier": name})
    if isinstance(one, Issue) and not {*names}.isdisjoint(one.signals):
        signals = dict.fromkeys(name if signal in names else signal for signal in one.signals)
        return one.model_copy(update={"signals": tuple(signals)})
    if isinstance(one, Interleave):
        return one.model_copy(update={"parts": tuple(_renamed(p, names, name) for p in one.parts)})
    return one
