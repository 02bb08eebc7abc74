"""Local search over programs, with the simulator as judge.

Simulated annealing from several programs at once, each a chain of its own that starts from one of
them. Chains run one after the other or in processes side by side, and meet after as many
simulations as was said beforehand: the answer depends on neither the clock nor on how many run at a
time.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from random import Random

from twill.artifacts.schedule import Schedule
from twill.errors import TwillError
from twill.polish.candidates import Candidate, Programs
from twill.polish.judge import FIRST_ITERATIONS, Judge
from twill.polish.moves import Moves

# Iterations over which a new best is confirmed, and the one that is returned.
CONFIRMING, LAST = 64, 200
BETTER = 0.9995  # what is new is best if it takes less than that part of the best
HOT, COLD = 0.012, 0.001  # temperature at the beginning and at the end, as parts of the interval
ROUNDS = 4  # after each, chains are compared
PATIENCE = 100  # simulations without a new best after which a chain goes back to its best
RECORDED = 20  # accepted changes after which the critical chain is looked at again


@dataclass(frozen=True)
class Point:
    """A program.

    Attributes
    ----------
    estimate : float
        About what it takes, in cycles: programs near to each other are compared by it.
    interval, cost : float
        What it takes and what it costs by the judge, in cycles, if it was confirmed.
    origin : str
        What it was found from.
    """

    candidate: Candidate
    estimate: float
    interval: float = math.inf
    cost: float = math.inf
    origin: str = ""


@dataclass(frozen=True)
class Chain:
    """How far a chain has come.

    Attributes
    ----------
    here, best : Point
        Where it is, and the best that was confirmed.
    simulations : int
        Programs that it has simulated.
    counts : Counter
        What became of its proposals.
    """

    number: int
    here: Point
    best: Point
    simulations: int = 0
    counts: Counter[str] = field(default_factory=Counter)


class Walk:
    """Takes a chain so many simulations further."""

    def __init__(self, programs: Programs, judge: Judge, chain: Chain, seed: int) -> None:
        self._programs, self._judge, self._chain = programs, judge, chain
        of_chain = f"{seed} {chain.number} {chain.simulations}"
        self._random = Random(of_chain)  # noqa: S311 - no secret
        self._moves = Moves(programs, self._random)
        self._known: dict[str, float | None] = {}
        self._counts = Counter(chain.counts)
        self._simulations = 0

    def on(self, budget: int, temperature: Callable[[float], float]) -> Chain:
        """Return the chain after `budget` simulations more.

        `temperature`: by the part of the budget that is spent, as part of the interval.
        """
        here, best, since, accepted = self._chain.here, self._chain.best, 0, RECORDED
        proposals = 0
        while self._simulations < budget and proposals < 50 * budget:
            proposals += 1
            if accepted >= RECORDED:
                self._look(here.candidate)
                accepted = 0
            proposed = self._moves.propose(here.candidate)
            if proposed is None:
                self._counts["not possible"] += 1
                continue
            heat = temperature(self._simulations / budget) * here.estimate
            most = here.estimate - heat * math.log(1 - self._random.random())
            found = self._simulated(proposed, most)
            since += 1
            if found is not None and found <= most:
                accepted += 1
                here = Point(proposed, found, origin=here.origin)
                if found < BETTER * best.estimate:
                    better = self._confirmed(here, best)
                    if better is not None:
                        best, since = better, 0
                    here = best
            if since > PATIENCE:
                here, since = best, 0
        simulations = self._chain.simulations + self._simulations
        return replace(
            self._chain, here=here, best=best, simulations=simulations, counts=self._counts
        )

    def _look(self, candidate: Candidate) -> None:
        """Look at what is on the critical chain."""
        try:
            critical = self._judge.critical(self._programs.schedule(candidate))
        except TwillError:
            return
        index = self._programs.problem.index
        self._moves.critical = {index[name]: cycles for name, cycles in critical.items()}

    def _simulated(self, candidate: Candidate, most: float) -> float | None:
        """Return the interval, None if there is none or it is more than what is wanted."""
        try:
            schedule = self._programs.schedule(candidate)
        except TwillError:
            self._counts["refused"] += 1
            return None
        key = _key(schedule)
        if key in self._known:
            self._counts["known"] += 1
            return self._known[key]
        self._simulations += 1
        try:
            found = self._judge.estimate(schedule, most)
        except TwillError as error:
            self._counts[f"wrong: {str(error).partition(':')[0]}"] += 1
            found = None
        else:
            self._counts["slower" if found is None or found > most else "accepted"] += 1
        if found is not None or most >= self._chain.best.estimate:
            self._known[key] = found
        return found

    def _confirmed(self, point: Point, best: Point) -> Point | None:
        """Return a program with what it takes if it is still better and nothing is wrong."""
        schedule = self._programs.schedule(point.candidate)
        found = confirmed(self._judge, schedule, BETTER * best.cost)
        if found is not None:
            self._counts["better"] += 1
            interval, cost = found
            return replace(point, interval=interval, cost=cost)
        self._known[_key(schedule)] = None
        self._counts["not confirmed"] += 1
        return None


def confirmed(
    judge: Judge, schedule: Schedule, limit: float = math.inf
) -> tuple[float, float] | None:
    """Return interval and cost over more iterations, None if over a limit or if it is wrong."""
    try:
        for iterations in (FIRST_ITERATIONS, CONFIRMING):
            interval = judge.interval(schedule, iterations, limit)
            if interval is None or interval >= limit:
                return None
        assert interval is not None
        if judge.objection(schedule):
            return None
        cost = judge.cost(schedule, interval, CONFIRMING)
    except TwillError:
        return None
    return (interval, cost) if cost < limit else None


def _key(schedule: Schedule) -> str:
    said = repr((schedule.programs, schedule.storage, schedule.barriers))
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _walk(
    given: Schedule, judge: Judge, chain: Chain, seed: int, budget: int, part: tuple[float, float]
) -> Chain:
    """Take a chain further through a part of the whole search."""
    begin, end = part

    def temperature(spent: float) -> float:
        return HOT * math.pow(COLD / HOT, begin + spent * (end - begin))

    return Walk(Programs(given), judge, chain, seed).on(budget, temperature)


def anneal(
    given: Schedule,
    judge: Judge,
    points: Sequence[Point],
    *,
    simulations: int,
    seed: int = 0,
    pool: Executor | None = None,
    report: Callable[[Point], object],
) -> None:
    """Search from several programs, and report the best one after each round.

    After each round the better half of the chains goes on, at least two, so that each gets more of
    the next (successive halving).

    `points`: where chains begin, each confirmed.
    `simulations`: of all chains together.
    """
    chains = [Chain(n, point, point) for n, point in enumerate(points)]
    best = min(points, key=lambda point: point.cost)
    for number in range(ROUNDS):
        part = (number / ROUNDS, (number + 1) / ROUNDS)
        budget = simulations // (ROUNDS * len(chains))
        arguments = [(given, judge, chain, seed, budget, part) for chain in chains]
        if pool is None:
            chains = [_walk(*a) for a in arguments]
        else:
            chains = list(pool.map(_walk, *zip(*arguments, strict=True)))
        chains.sort(key=lambda chain: (chain.best.cost, chain.number))
        best = min(best, chains[0].best, key=lambda point: point.cost)
        report(best)
        chains = chains[: max(2, len(chains) // 2)]
