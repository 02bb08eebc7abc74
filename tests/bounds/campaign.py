"""Many programs of every packaged loop, each held against the bound of its loop."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random

import twill
from tests.support.bounded import distances
from twill.console import silent
from twill.frontends import packaged_loops
from twill.polish import _Polishing
from twill.polish.candidates import Candidate, Programs
from twill.polish.judge import Judge
from twill.polish.moves import Moves
from twill.search.beginnings import answers, beginnings
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve
from twill.sim.engine import Conditions
from twill.sim.engine.events import SimulationError

ITERATIONS = 24
ROUNDING = 1e-6
NEAR = 1.05  # a program is near its bound that takes less than that many times it
MOVES = 4  # moves from one program to the next, at most
BARREN = 200  # walks without a new program after which a loop is taken to have no more


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
    nearest_of: str = ""


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
    """Yield different programs of a loop: those where polishing begins, and walks from there.

    None if the loop has no static schedule.
    """
    asked = beginnings(Request(twill.load_loop(name), machine_of(name)))
    try:
        found = answers(asked, partial(solve, cache=cache))
        given, *others = [one.schedule for one in found]
    except twill.RefusedError:
        return
    programs, random = Programs(given), Random(f"{name} {seed}")
    judge = Judge((Conditions(),))
    begins = [c for _, c in _Polishing(given, judge, silent, others)._candidates()]
    moves, known = Moves(programs, random), set[str]()
    yield given
    barren = 0
    while barren < BARREN:
        barren += 1
        candidate = random.choice(begins)
        for _ in range(10):
            made = _made(programs, candidate)
            if made is not None:
                said = repr((made.programs, made.storage, made.barriers))
                key = hashlib.blake2b(said.encode()).hexdigest()
                if key not in known:
                    known.add(key)
                    barren = 0
                    yield made
            for _ in range(random.randint(1, MOVES)):
                candidate = moves.propose(candidate) or candidate


def _made(programs: Programs, candidate: Candidate) -> twill.Schedule | None:
    try:
        return programs.with_lack(candidate)[0] if programs.ordered(candidate) else None
    except twill.RefusedError:
        return None


def campaign(name: str, count: int, seed: int = 0, cache: Cache | None = None) -> Figures:
    """Hold so many programs of a loop against its bound, under all conditions."""
    found = Figures()
    for schedule in programs_of(name, seed, cache):
        try:
            taken = list(distances(schedule, ITERATIONS))
        except SimulationError:
            continue
        found.programs += 1
        found.near += min(times for *_, times in taken) < NEAR
        for conditions, argument, times in taken:
            if times < found.nearest.get(conditions, float("inf")):
                found.nearest[conditions] = times
            if times < 1 - ROUNDING:
                found.below.append(f"{conditions}: {times} of {argument.reason} {argument.of}")
        if found.programs >= count:
            break
    return found
