"""Programs from which a local search begins, made of schedules without solving anything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError, TwillError
from twill.lower.pipeline import Choices
from twill.polish.candidates import Candidate, Programs
from twill.polish.judge import Judge
from twill.polish.roles import Roles
from twill.polish.tuning import TUNING

TURNS = (("", Choices()), ("no turns", Choices(in_order=False)))


ANOTHER = "another schedule of least interval"


def candidates(
    programs: Programs, judge: Judge, given: Sequence[Schedule], bound: float
) -> Iterator[tuple[str, Candidate]]:
    """Yield where searches may begin, by the static times of schedules and by those of a run.

    `bound`: cycles, which no program is below.
    """
    found, said = list[Candidate](), list[str]()
    for schedule in given:
        found += _as_they_are(judge, schedule)
        said += [ANOTHER if schedule is not given[0] else ""] * (len(found) - len(said))
    by_turns = itertools.zip_longest(*(starts(programs, one, bound) for one in found))
    for some in by_turns:
        for which, start in zip(said, some, strict=True):
            if start is not None:
                yield ", ".join(filter(None, (which, start[0]))), start[1]


def _as_they_are(judge: Judge, schedule: Schedule) -> Iterator[Candidate]:
    """Yield the candidates that a schedule is, by its static times and by those of a run."""
    programs = Programs(schedule)
    if schedule.initiation_interval is not None and schedule.start:
        with suppress(RefusedError):  # it has groups that no kernel of the loop may have
            yield programs.candidate(schedule.initiation_interval, schedule.start)
    with suppress(TwillError):
        ran = programs.candidate(*judge.times(schedule))
        yield programs.with_late_loads(ran)


def starts(programs: Programs, given: Candidate, bound: float) -> Iterator[tuple[str, Candidate]]:
    """Yield candidates, each with what is different from the one that is given.

    All kinds of turns are tried, then ways to share groups among roles without turns: operations
    begin as soon as can be, or later as in the given candidate. A role is operations that large
    tiles tie together, or one operation. Groups of their own follow for all products, each
    operation, and each two of them, on one group or on two.

    `bound`: cycles, which no program is below.
    """
    for said, choices in TURNS:
        yield said, replace(given, choices=choices)
    given = replace(given, choices=TURNS[-1][1])
    way_down = max(0.0, given.interval - bound)
    # Shorter rounds let values wait in as many slots as the interval that is hoped for takes.
    shorter = TUNING.beginnings.shorter
    intervals = dict.fromkeys(round(given.interval - part * way_down) for part in shorter)
    tied = Roles(programs).assignments(given.group)
    single = Roles(programs, single=True).assignments(given.group)
    groups = dict([("", given.group), *tied, *single])
    soon = replace(given, start=(0,) * len(given.start))
    ways = [(soon, given.interval, 0.0)]
    ways += [(given, *way) for way in itertools.product(intervals, TUNING.beginnings.apart)]
    pairs = itertools.product(enumerate(ways), enumerate(groups.items()))
    order = sorted(pairs, key=lambda pair: TUNING.beginnings.groups * pair[0][0] + pair[1][0])
    for (_, (times, interval, apart)), (_, (said, group)) in order:
        moved = replace(times, group=group, interval=interval)
        settled = programs.settled(moved, round(apart * given.interval))
        if settled is not None:
            how = "as soon as can be" if times is soon else ""
            rounds = f"rounds of {interval}" if interval < given.interval else ""
            further = "groups half a round apart" if apart else ""
            yield ", ".join(filter(None, (said, how, rounds, further))), settled
    yield from _few_apart(programs, given)


def _few_apart(programs: Programs, given: Candidate) -> Iterator[tuple[str, Candidate]]:
    operations = programs.problem.operations
    products = [o.index for o in operations if o.in_order_unit is not None and not o.streaming]
    alone = [o.index for o in operations if not o.variable_latency]
    alone.sort(key=lambda v: -operations[v].issue)
    ways: list[tuple[str, tuple[list[int], ...]]] = [
        ("all products on a group of their own", (products,))
    ]
    ways += [(f"{operations[v].name} on a group of its own", ([v],)) for v in alone]
    pairs = list(itertools.combinations(alone, 2))
    pairs.sort(key=lambda pair: -sum(operations[v].issue for v in pair))
    for v, w in pairs:
        names = f"{operations[v].name} and {operations[w].name}"
        ways += [(f"{names} on a group of their own", ([v, w],))]
        ways += [(f"{names} on groups of their own", ([v], [w]))]
    for said, sets in ways:
        moved: Candidate | None = given
        for apart in sets:
            moved = moved and _apart(programs, moved, apart)
        if moved is not None:
            yield said, moved


def _apart(programs: Programs, given: Candidate, operations: list[int]) -> Candidate | None:
    """Return a candidate with some operations on the narrowest unused group that takes them."""
    to = programs.narrowest(operations, given.group) if operations else None
    if to is None:
        return None
    group = tuple(to if v in operations else g for v, g in enumerate(given.group))
    return programs.settled(replace(given, group=group))
