"""Many programs of every packaged loop, each held against the bound of its loop."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import twill
from tests.support.bounded import distances, random_program
from twill.bounds.arguments import Argument
from twill.bounds.programs import program_bound
from twill.frontends import packaged_loops
from twill.polish.candidates import Candidate, Programs
from twill.polish.judge import Judge
from twill.polish.moves import Moves
from twill.polish.starts import candidates
from twill.search.cache import Cache
from twill.search.request import Request, answers, beginnings
from twill.search.scheduler import solve
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError

ITERATIONS = 24
ROUNDING = 1e-6
NEAR = 1.05  # a program is near its bound that takes less than that many times it
STEPS = 10  # programs of a walk
MOVES = 4  # moves from one program to the next, at most
BARREN = 500  # tries without a new program after which there are taken to be no more


@dataclass
class Figures:
    """What was found of a loop.

    `programs`: that run; `below`: what a program took of its bound, under which conditions;
    `near`: programs near their bound under some conditions; `nearest`: by conditions.
    """

    programs: int = 0
    near: int = 0
    below: list[str] = field(default_factory=list)
    nearest: dict[str, float] = field(default_factory=dict)


def shares(count: int) -> dict[str, int]:
    """Return how many programs of each loop: the more the fewer operations it has."""
    weights = {name: 1 / len(twill.load_loop(name).operations) for name in packaged_loops()}
    whole = sum(weights.values())
    return {name: math.ceil(count * w / whole) for name, w in weights.items()}


def machine_of(name: str) -> twill.Machine:
    """Return the machine for which a packaged loop was made."""
    kinds = {"blackwell": "blackwell_b200", "hopper": "hopper_h100"}
    named = next((m for word, m in kinds.items() if word in name), "paper_example")
    return twill.Machine.named(named)


def programs_of(name: str, seed: int, cache: Cache | None) -> Iterator[twill.Schedule]:
    """Yield different programs of a loop: those of walks and random ones in turn."""
    known = set[str]()
    walked = _different(_walked(name, seed, cache), known)
    drawn = _different(_drawn(name, seed), known)
    for pair in itertools.zip_longest(walked, drawn):
        yield from filter(None, pair)


def _walked(name: str, seed: int, cache: Cache | None) -> Iterator[twill.Schedule | None]:
    """Yield programs where polishing begins, and of walks from there; None for one that is refused.

    Nothing if the loop has no static schedule.
    """
    asked = beginnings(Request(twill.load_loop(name), machine_of(name)))
    try:
        found = answers(asked, partial(solve, cache=cache))
        given, *others = [one.schedule for one in found]
    except twill.RefusedError:
        return
    programs, random = Programs(given), Random(f"{name} {seed}")
    judge = Judge((Conditions(),))
    bound = float(program_bound(given.loop, given.machine).cycles)
    begins = [c for _, c in candidates(programs, judge, (given, *others), bound)]
    moves = Moves(programs, random)
    yield given
    while True:
        candidate = random.choice(begins)
        for _ in range(STEPS):
            yield _made(programs, candidate)
            for _ in range(random.randint(1, MOVES)):
                candidate = moves.propose(candidate) or candidate


def _made(programs: Programs, candidate: Candidate) -> twill.Schedule | None:
    try:
        return programs.with_lack(candidate)[0] if programs.ordered(candidate) else None
    except twill.RefusedError:
        return None


def _drawn(name: str, seed: int) -> Iterator[twill.Schedule | None]:
    """Yield random programs, None for one that is not correct."""
    loop, machine = twill.load_loop(name), machine_of(name)
    for number in itertools.count():
        yield random_program(loop, machine, f"{seed} {number}")


def _different(
    schedules: Iterator[twill.Schedule | None], known: set[str]
) -> Iterator[twill.Schedule]:
    """Yield the schedules whose programs are not known, until `BARREN` in a row bring none."""
    barren = 0
    for schedule in schedules:
        if schedule is not None and (key := _key(schedule)) not in known:
            known.add(key)
            barren = 0
            yield schedule
        elif (barren := barren + 1) == BARREN:
            return


def _key(schedule: twill.Schedule) -> str:
    said = repr((schedule.programs, schedule.storage, schedule.barriers))
    return hashlib.blake2b(said.encode()).hexdigest()


class Campaign:
    """Programs of a loop, each held against its bound under all conditions.

    `found`: what was found so far.
    """

    def __init__(self, name: str, seed: int = 0, cache: Cache | None = None) -> None:
        self.found = Figures()
        self._programs = programs_of(name, seed, cache)

    def go_on(self, count: int) -> Figures:
        """Go on until so many programs ran, or there are no more."""
        while self.found.programs < count and (schedule := next(self._programs, None)):
            try:
                taken = list(distances(schedule, ITERATIONS))
            except SimulationError:
                continue
            self._count(taken)
        return self.found

    def _count(self, taken: Sequence[tuple[str, Argument, float]]) -> None:
        found = self.found
        found.programs += 1
        found.near += min(times for *_, times in taken) < NEAR
        for conditions, argument, times in taken:
            found.nearest[conditions] = min(times, found.nearest.get(conditions, math.inf))
            if times < 1 - ROUNDING:
                found.below.append(f"{conditions}: {times} of {argument.reason} {argument.of}")
