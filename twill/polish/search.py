"""Local search over programs, with the simulator as judge.

Simulated annealing from several programs at once, each a chain of its own that starts from one of
them. Chains run one after the other or in processes side by side, and meet after a given number of
simulations. The answer depends on neither the clock nor on how many chains run at a time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from twill.artifacts.schedule import Schedule
from twill.base.console import POLL_SECONDS
from twill.base.deadline import check
from twill.base.errors import TwillError
from twill.base.executors import keeping
from twill.polish.candidates import Candidate, Programs, in_turn
from twill.polish.judge import Judge
from twill.polish.moves import Moves
from twill.polish.tuning import TUNING


@dataclass(frozen=True)
class Point:
    """A program that the search has reached."""

    candidate: Candidate
    cycles: float  # estimated cycles of an iteration
    # Part of the register file that it lacks, and how many times that part counts.
    lack: float = 0.0
    weight: float = TUNING.chains.lacks[0]
    # Interval and cost by the judge, in cycles, if it was confirmed.
    interval: float = math.inf
    cost: float = math.inf
    origin: str = ""  # the beginning that it was found from

    @property
    def energy(self) -> float:
        """The figure by which neighbouring programs are compared, in cycles."""
        return self.cycles * (1 + self.weight * self.lack)


@dataclass(frozen=True)
class Chain:
    """How far a chain has come."""

    number: int
    # Where it is, and the best that was confirmed, if one was.
    here: Point
    best: Point | None = None
    simulations: int = 0  # programs that it has simulated

    @property
    def worth(self) -> tuple[float, int]:
        """The sort key of chains."""
        return self.here.energy, self.number


class Walk:
    """Takes a chain through a round, a part at a time, each part in any process.

    `known`: the least cost that was confirmed before.
    `budget`: programs that it simulates in this round.
    """

    def __init__(self, chain: Chain, number: int, seed: int, known: float, budget: int) -> None:
        self.chain = chain
        self.ended = False
        self._number, self._least, self._budget = number, known, budget
        of_chain = f"{seed} {chain.number} {chain.simulations}"
        self._random = Random(of_chain)  # noqa: S311 - no secret
        self._here = self._lowest = chain.here
        self._low = [chain.here]
        self._critical: Mapping[int, float] = {}
        self._known: dict[str, float | None] = {}
        self._since, self._accepted = 0, TUNING.chains.recorded
        self._simulations = self._proposals = 0

    def on(self, programs: Programs, judge: Judge) -> None:
        """Look at a part of the programs; once these are spent, confirm what was found."""
        if self._spent:
            self._end(programs, judge)
            return
        moves = Moves(programs, self._random)
        moves.critical = self._critical
        until = self._simulations + TUNING.chains.part
        while self._simulations < until and not self._spent:
            self._step(programs, judge, moves)
        self._critical = moves.critical

    @property
    def _spent(self) -> bool:
        most = TUNING.chains.proposals * self._budget
        return self._simulations >= self._budget or self._proposals >= most

    def _step(self, programs: Programs, judge: Judge, moves: Moves) -> None:
        """Look at one change."""
        here = self._here
        self._proposals += 1
        if self._accepted >= TUNING.chains.recorded:
            _look(programs, judge, moves, here)
            self._accepted = 0
        proposed = moves.propose(here.candidate)
        if proposed is None:
            return
        most = here.energy - self._heat() * math.log(1 - self._random.random())
        found = self._simulated(programs, judge, replace(here, candidate=proposed), most)
        self._since += 1
        if found is not None and found.energy <= most:
            self._accepted += 1
            self._here = found
            if found.energy < TUNING.chains.better * self._lowest.energy:
                self._lowest, self._since = found, 0
                self._low.append(found)
        if self._since > TUNING.chains.patience:
            self._here, self._since = self._lowest, 0

    def _heat(self) -> float:
        """Return the temperature, in cycles."""
        spent = (self._number + self._simulations / self._budget) / TUNING.chains.rounds
        hot = TUNING.chains.hot
        return hot * math.pow(TUNING.chains.cold / hot, spent) * self._here.energy

    def _end(self, programs: Programs, judge: Judge) -> None:
        """Confirm the best that was found, and say where the chain is."""
        chain, here, lowest = self.chain, self._here, self._lowest
        low = [point for point in self._low if point.energy < self._least]
        limit = math.inf if chain.best is None else TUNING.chains.better * chain.best.cost
        best = best_of(programs, judge, low, limit)
        if best is None and lowest.energy < self._least and not lowest.lack:
            here = chain.best or here
        self.chain = replace(
            chain,
            here=here,
            best=best or chain.best,
            simulations=chain.simulations + self._simulations,
        )
        self.ended = True

    def _simulated(
        self, programs: Programs, judge: Judge, point: Point, most: float
    ) -> Point | None:
        """Return a program with its energy, None if it has none or more than the limit."""
        try:
            schedule, lack = programs.with_lack(point.candidate)
        except TwillError:
            return None
        key, more = program_key(schedule), 1 + point.weight * lack
        if key in self._known:
            found = self._known[key]
        else:
            found = None
            self._simulations += 1
            with suppress(TwillError):
                found = judge.energy(schedule, most / more)
            if found is not None or most >= self.chain.here.energy:
                self._known[key] = found
        return None if found is None else replace(point, cycles=found, lack=lack)


def _look(programs: Programs, judge: Judge, moves: Moves, point: Point) -> None:
    """Look at what is on the critical chain of a program."""
    try:
        critical = judge.critical(programs.with_lack(point.candidate)[0])
    except TwillError:
        return
    index = programs.problem.index
    moves.critical = {index[name]: cycles for name, cycles in critical.items()}


def looked_at(
    programs: Programs, judge: Judge, points: Sequence[Point], *, exact: bool
) -> list[Point]:
    """Return those of some points that are programs, with energy, infinite where one fails to run.

    `exact`: whether all contexts run, instead of one that stands for them.
    """
    found = list[Point]()
    for point in filter(lambda point: programs.ordered(point.candidate), points):
        try:
            schedule, lack = programs.with_lack(point.candidate)
        except TwillError:
            continue
        cycles = None
        with suppress(TwillError):
            cycles = judge.energy(schedule) if exact else judge.estimate(schedule)
        found.append(replace(point, cycles=math.inf if cycles is None else cycles, lack=lack))
    return found


def best_of(
    programs: Programs, judge: Judge, points: Sequence[Point], limit: float = math.inf
) -> Point | None:
    """Return the best of the programs of lowest energy that is under a limit, None if none is."""
    right = sorted((p for p in points if not p.lack), key=lambda point: point.energy)
    for point in right[: TUNING.chains.confirmed]:
        found = confirmed(judge, programs.schedule(point.candidate), limit)
        if found is not None:
            return replace(point, interval=found[0], cost=found[1])
    return None


def confirmed(judge: Judge, schedule: Schedule, limit: float) -> tuple[float, float] | None:
    """Return interval and cost over more iterations, None if over a limit or if it is wrong.

    None too if the interval differs over yet more iterations: a promise must hold early on.
    """
    try:
        interval = judge.interval(schedule, TUNING.chains.confirming, limit)
        if interval is None or interval >= limit:
            return None
        cost = judge.cost(schedule, interval, TUNING.chains.confirming)
        if cost >= limit or judge.objection(schedule):
            return None
        later = judge.measured(schedule, judge.conditions[0], TUNING.chains.last)
        if abs(later - interval) > TUNING.chains.drift * interval:
            return None
    except TwillError:
        return None
    return interval, cost


def program_key(schedule: Schedule) -> str:
    """Return a hash of a schedule's programs, its storage and its barriers."""
    said = schedule.model_dump_json(include={"programs", "storage", "barriers"})
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def lowest(points: Sequence[Point], count: int) -> list[Point]:
    """Return different points of lowest energy.

    Among the points near the lowest, each number of groups gets equally many, if there are enough.
    Points that lack registers count apart from those that have enough.
    """
    different = {(point.candidate.group, point.energy): point for point in reversed(points)}
    ordered = sorted(different.values(), key=lambda point: point.energy)
    least = {
        lacks: min((p.energy for p in ordered if (p.lack > 0) == lacks), default=math.inf)
        for lacks in (False, True)
    }
    near = [p for p in ordered if p.energy <= TUNING.chains.far * least[p.lack > 0]]
    far = [p for p in ordered if p.energy > TUNING.chains.far * least[p.lack > 0]]
    taken = in_turn(near, lambda p: (len(set(p.candidate.group)), p.lack > 0)) + far
    return sorted(taken[:count], key=lambda point: point.energy)


def _further(programs: Programs, judge: Judge, walk: Walk) -> Walk:
    walk.on(programs, judge)
    return walk


def _walked(
    programs: Programs,
    judge: Judge,
    walks: Sequence[Walk],
    pool: Executor | None,
    confirmed: Callable[[Point], None],
) -> list[Chain]:
    """Return chains after a round: any free process takes the next part of one.

    `confirmed`: called with the best of a chain as soon as the chain has ended.
    """
    if pool is None:
        for walk in walks:
            while not walk.ended:
                check()
                walk.on(programs, judge)
            if walk.chain.best is not None:
                confirmed(walk.chain.best)
        return [walk.chain for walk in walks]
    further = keeping(_further, programs, judge)
    begun = {pool.submit(further, walk): n for n, walk in enumerate(walks)}
    taken: dict[int, Chain] = {}
    while begun:
        check()
        for future in wait(begun, POLL_SECONDS, return_when=FIRST_COMPLETED).done:
            n, walk = begun.pop(future), future.result()
            if walk.ended:
                taken[n] = walk.chain
                if walk.chain.best is not None:
                    confirmed(walk.chain.best)
            else:
                begun[pool.submit(further, walk)] = n
    return [taken[n] for n in range(len(walks))]


def _weighed(chain: Chain, weight: float) -> Chain:
    """Return a chain as it begins a round: where it is, or at its best where that is worth more."""
    here = replace(chain.here, weight=weight)
    if chain.best is not None and chain.best.cycles < here.energy:
        here = replace(chain.best, weight=weight)
    return replace(chain, here=here)


def _chosen(chains: Sequence[Chain], number: int) -> list[Chain]:
    """Return the best chains for a round, in the first half of which half lack registers.

    `chains`: the best first.
    """
    count = max(2, len(chains) >> number)
    if 2 * number >= TUNING.chains.rounds:
        return list(chains[:count])
    lacking = [chain for chain in chains if chain.here.lack][: count // 2]
    right = [chain for chain in chains if not chain.here.lack][: count - len(lacking)]
    more = [chain for chain in chains if chain not in lacking and chain not in right]
    return (lacking + right + more)[:count]


def anneal(
    programs: Programs,
    judge: Judge,
    points: Sequence[Point],
    *,
    known: float,
    simulations: int,
    seed: int = 0,
    pool: Executor | None = None,
    report: Callable[[Sequence[Point], int], bool],
    confirmed: Callable[[Point], None],
) -> list[Point]:
    """Search from several programs, and report the best of each chain after each round.

    The report includes how many programs were simulated. The search ends where `report` says that
    nothing can be better. Returns where chains are, the best first, for another search to go on
    from; nothing if the search was ended by `report`.

    After each round half as many chains go on, at least two, so that each gets more simulations in
    the next (successive halving).

    `points`: where chains may begin, the best first.
    `known`: the least cost that was confirmed before.
    `simulations`: of all chains together.
    `confirmed`: called with each confirmed program, in any order.
    """
    chains = [
        Chain(n, point)
        for n, point in enumerate(points[: max(1, simulations // TUNING.chains.rounds)])
    ]
    for number in range(TUNING.chains.rounds):
        chains = [_weighed(chain, TUNING.chains.lacks[number]) for chain in chains]
        chosen = _chosen(sorted(chains, key=lambda chain: chain.worth), number)
        budget = simulations // (TUNING.chains.rounds * len(chosen))
        known = min([known, *(chain.best.cost for chain in chains if chain.best is not None)])
        walks = [Walk(chain, number, seed, known, budget) for chain in chosen]
        taken = _walked(programs, judge, walks, pool, confirmed)
        chains = [chain for chain in chains if chain not in chosen] + taken
        simulated = sum(chain.simulations for chain in chains)
        if report([chain.best for chain in chains if chain.best is not None], simulated):
            return []
    chains = [_weighed(chain, TUNING.chains.lacks[-1]) for chain in chains]
    return [chain.here for chain in sorted(chains, key=lambda chain: chain.worth)]
