"""The least time that all functional units need together: the configuration bound.

ResMII bounds the interval unit by unit, though what would keep two units busy may not fit the issue
slots at the same time. Reservations in progress in a row of a modulo schedule fit all units: a
configuration. Give every reservation a weight such that no configuration weighs more than `most`:
the weights times lengths of one iteration, over `most`, are then a lower bound of the interval. The
best weights are the dual solution of the configuration linear program of cutting stock (Gilmore and
Gomory, Operations Research 9, 1961).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from twill.problem import Problem
from twill.problem.costs import Reservation
from twill.problem.operations import ProblemOperation
from twill.solvers.scip import new_model, optimize, total

# Partial configurations to look at before a machine is too complicated for the bound.
MOST_NODES = 100_000
MOST_PARTS = 12  # largest denominator of weights: measured loops need 1, 2 and 4

TURN = "issue to "  # before the name of an in-order unit, the name of being issued to it in turn

Uses = tuple[tuple[str, int], ...]  # units with the count of each that is taken
Configuration = tuple[int, ...]  # how many instances of each kind are in progress


@dataclass(frozen=True)
class Piece:
    """A part of an operation during which it takes the same of every unit.

    `start`, `length`: time units, from the operation's issue.
    `uses`: units with the count of each that is taken.
    """

    operation: str
    start: int
    length: int
    uses: Uses


@dataclass(frozen=True)
class ConfigurationBound:
    """Weights of reservations that bound the interval.

    `most`: no pieces that fit all units at once weigh more together.
    `weights`: pieces of one iteration with their weights; those without weight are left out.
    """

    most: int
    weights: tuple[tuple[Piece, int], ...]

    @property
    def work(self) -> int:
        """Weights times lengths of one iteration."""
        return sum(weight * piece.length for piece, weight in self.weights)

    @property
    def value(self) -> int:
        """The least interval, in the problem's time units."""
        return -(-self.work // self.most)


def configuration_bound(
    problem: Problem, known: int = 0, *, turns: bool = True
) -> ConfigurationBound | None:
    """Return the configuration bound where it is more than what is known.

    `turns`: whether to count turns too, which follow from the rules of turns and concurrency.
    Returns: none too if there are too many configurations to look at.
    """
    capacities = dict(problem.capacities)
    plain = _best([p for o in problem.operations for p in _pieces(o, {})], capacities, known)
    held = turns_taken(problem) if turns else {}
    if not held:
        return plain
    capacities |= {turn: 1 for mine in held.values() for turn in mine}
    pieces = [p for o in problem.operations for p in _pieces(o, held.get(o.index, {}))]
    return _best(pieces, capacities, max(known, plain.value if plain else 0)) or plain


def turns_taken(problem: Problem) -> dict[int, dict[str, int]]:
    """Return what operations that are issued in turn hold of what only one can have.

    Returns: of each such operation the name of the turn and for how long it has it from its issue
    on, in time units.
    """
    return {
        v: {f"{TURN}{unit}": problem.operations[v].blocked_span}
        for v, unit in problem.in_turn.items()
        if problem.operations[v].blocked_span
    }


def is_turn(unit: str) -> bool:
    """Return whether what is taken is a turn instead of a functional unit."""
    return unit.startswith(TURN)


def _best(
    pieces: Sequence[Piece], capacities: Mapping[str, int], known: int
) -> ConfigurationBound | None:
    """Return the best bound of some pieces, where it is more than what is known."""
    time: Counter[Uses] = Counter()
    for piece in pieces:
        time[piece.uses] += piece.length
    if _greedily(time, capacities) <= known:
        return None
    kinds = sorted(time, key=lambda uses: (-time[uses], uses))
    found = _largest(kinds, capacities)
    if found is None:
        return None
    prices = _prices([time[uses] for uses in kinds], found)
    best: ConfigurationBound | None = None
    for parts in range(1, MOST_PARTS + 1):
        rounded = [round(price * parts) for price in prices]
        most = max(sum(n * w for n, w in zip(c, rounded, strict=True)) for c in found)
        weight = dict(zip(kinds, rounded, strict=True))
        mine = tuple((piece, weight[piece.uses]) for piece in pieces if weight[piece.uses])
        if most and ConfigurationBound(most, mine).value > (best.value if best else known):
            best = ConfigurationBound(most, mine)
    return best


def _pieces(operation: ProblemOperation, turns: Mapping[str, int]) -> Iterator[Piece]:
    """Cut an operation's reservations, and turns, where any of them begins or ends."""
    mine = [*operation.reservations, *(Reservation(name, 0, n, 1) for name, n in turns.items())]
    cuts = sorted({r.start for r in mine} | {r.start + r.length for r in mine})
    for start, end in itertools.pairwise(cuts):
        uses: Counter[str] = Counter()
        for r in mine:
            if r.start <= start < r.start + r.length:
                uses[r.unit] += r.count
        if uses:
            yield Piece(operation.name, start, end - start, tuple(sorted(uses.items())))


def _greedily(time: Mapping[Uses, int], capacities: Mapping[str, int]) -> int:
    """Return a time in which everything could run, were it all divisible: no bound is above it."""
    left, total = dict(time), 0
    while left:
        room, running = dict(capacities), list[Uses]()
        for uses in sorted(left, key=lambda uses: (-left[uses], uses)):
            if _instances(uses, room):
                running.append(uses)
                for unit, amount in uses:
                    room[unit] -= amount
        step = min(left[uses] for uses in running)
        total += step
        left = {u: t - step * (u in running) for u, t in left.items() if t > step * (u in running)}
    return total


def _largest(kinds: Sequence[Uses], capacities: Mapping[str, int]) -> list[Configuration] | None:
    """Return the configurations to which nothing can be added; None if there are too many."""
    found, looked_at = list[Configuration](), 0
    pending: list[tuple[Configuration, Mapping[str, int]]] = [((), capacities)]
    while pending:
        chosen, left = pending.pop()
        looked_at += 1
        if len(chosen) < len(kinds):
            uses = kinds[len(chosen)]
            most = _instances(uses, left)
            if looked_at + len(pending) + most >= MOST_NODES:
                return None
            for count in range(most + 1):
                taken = {unit: count * amount for unit, amount in uses}
                rest = {unit: room - taken.get(unit, 0) for unit, room in left.items()}
                pending.append(((*chosen, count), rest))
        elif not any(_instances(uses, left) for uses in kinds):
            found.append(chosen)
    return found


def _instances(uses: Uses, left: Mapping[str, int]) -> int:
    """Return how many instances of a kind fit what is left."""
    return min(left[unit] // amount for unit, amount in uses)


def _prices(times: Sequence[int], found: Sequence[Configuration]) -> list[float]:
    """Return weights of kinds that make the most of all times, no configuration above 1."""
    model = new_model("configurations")
    prices = [model.addVar(f"w{k}", lb=0) for k in range(len(times))]
    for configuration in found:
        chosen = zip(configuration, prices, strict=True)
        model.addCons(total(count * price for count, price in chosen if count) <= 1)
    model.setObjective(
        total(time * price for time, price in zip(times, prices, strict=True)), "maximize"
    )
    optimize(model)
    return [float(model.getVal(price)) for price in prices]
