"""Loops of any size that look like attention: chains of two products with a softmax between.

Every chain reads two streamed tiles that it shares with others, forms scores, turns them into
weights in registers and accumulates a second product over the iterations. Tiles are chosen so small
that one warp group could execute the whole loop, one operation after the other, within the
registers and memories of the machine.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal, get_args

from twill.artifacts.loop import Loop
from twill.base.errors import InputError, short
from twill.frontends.builder import LoopBuilder, Value

LEAST_OPERATIONS, MOST_OPERATIONS = 10, 200
OPERATIONS_A_PAIR = 60
EXTENTS = (16, 32, 64, 128)
INVARIANT_BYTES = 98304
FILLERS = ("mul", "add", "sub", "max", "mul", "add", "exp2")

Recipe = Literal["online", "fixed", "gated"]
# Softmax with a running maximum, with a fixed one, and weights without any row statistics.
RECIPES: tuple[Recipe, ...] = get_args(Recipe)


@dataclass(frozen=True)
class _Target:
    """What differs between the machines."""

    # Of a chain's score tile.
    rows: int
    products: Literal["registers", "tmem"]
    # Operations of a chain.
    sizes: dict[Recipe, int]
    usual_size: int
    # What accumulators may take of the memory they live in: registers per thread or columns of
    # tensor memory.
    room: int
    live: int


TARGETS: dict[str, _Target] = {
    "hopper_h100": _Target(
        rows=64,
        products="registers",
        sizes={"online": 13, "fixed": 6, "gated": 4},
        usual_size=13,
        room=128,
        live=224,
    ),
    "blackwell_b200": _Target(
        rows=128,
        products="tmem",
        sizes={"online": 17, "fixed": 8, "gated": 6},
        usual_size=20,
        room=384,
        live=224,
    ),
}
MACHINES = tuple(TARGETS)


@dataclass
class _Chain:
    """One chain: its recipe, its pair of streamed tiles and how many operations fill it up."""

    recipe: Recipe
    pair: int
    fillers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Pair:
    """Extents of two streamed tiles: `keys` x `depth` and `keys` x `width`."""

    keys: int
    depth: int
    width: int


def synthetic_loop(operations: int, seed: int, machine: str) -> Loop:
    """Return a random loop of exactly so many operations; the same for the same arguments.

    Costs are those of the machine's rules. There are recurrences through every accumulator and
    through the row statistics of at least one chain.

    `machine`: ``hopper_h100`` or ``blackwell_b200``: where products live and how large tiles are.

    Raises
    ------
    InputError
        If there are no such loops.
    """
    if machine not in TARGETS:
        raise InputError(f"one of {', '.join(MACHINES)} (got {short(machine)})", path="machine")
    if not LEAST_OPERATIONS <= operations <= MOST_OPERATIONS:
        raise InputError(
            f"{LEAST_OPERATIONS} to {MOST_OPERATIONS} (got {short(operations)})", path="operations"
        )
    target = TARGETS[machine]
    generator = random.Random(f"{machine} {operations} {seed}")
    pairs = 1 + (operations - LEAST_OPERATIONS) // OPERATIONS_A_PAIR
    chains = _chains(generator, target, operations - 2 * pairs, pairs)
    extents = [_extents(generator, target, len(chains)) for _ in range(pairs)]
    name = f"synthetic_{operations}_{seed}"
    with LoopBuilder(name, products=target.products) as loop:
        _Body(loop, generator, target, extents).write(chains)
    return loop.build()


def _chains(generator: random.Random, target: _Target, operations: int, pairs: int) -> list[_Chain]:
    """Choose chains that take `operations` together, with element-wise ones to fill them up."""
    count = max(pairs, operations // target.usual_size, 1)
    least = min(target.sizes.values())
    chains: list[_Chain] = []
    for index in range(count):
        room = operations - least * (count - index - 1)
        known = RECIPES if index else RECIPES[:2]
        fitting = [recipe for recipe in known if target.sizes[recipe] <= room]
        chains.append(_Chain(generator.choice(fitting), index % pairs))
        operations -= target.sizes[chains[-1].recipe]
    for _ in range(operations):
        generator.choice(chains).fillers.append(generator.choice(FILLERS))
    return chains


def _extents(generator: random.Random, target: _Target, chains: int) -> _Pair:
    """Choose extents at which all chains together fit."""
    room = target.room // chains
    if target.products == "registers":
        held = min(target.room, max(room, 12) * chains)
        width = _choose(generator, 2 * (room - 4))
        keys = _choose(generator, (target.live - held) * 4 // 7)
    else:
        width = _choose(generator, room // 2)
        keys = _choose(generator, min((room - width) * 2 // 3, (target.live - width) // 2))
    depth = _choose(generator, INVARIANT_BYTES // (2 * target.rows * chains))
    return _Pair(keys, depth, width)


def _choose(generator: random.Random, most: int) -> int:
    """Choose an extent of at most `most`, the least one if none is."""
    return generator.choice([e for e in EXTENTS if e <= most] or [EXTENTS[0]])


class _Body:
    """Writes the chains of one loop."""

    def __init__(
        self, loop: LoopBuilder, generator: random.Random, target: _Target, extents: list[_Pair]
    ) -> None:
        self.loop, self.generator, self.target, self.extents = loop, generator, target, extents
        self.in_tmem = target.products == "tmem"
        self.weights: dict[int, Value] = {}

    def write(self, chains: list[_Chain]) -> None:
        """Record all loads and chains."""
        load, pairs = self.loop.load, [*enumerate(self.extents)]
        self.keys = [load(f"k{i}", (pair.keys, pair.depth), "f16") for i, pair in pairs]
        self.values = [load(f"v{i}", (pair.keys, pair.width), "f16") for i, pair in pairs]
        recipes = {"online": self._online, "fixed": self._fixed, "gated": self._gated}
        for number, chain in enumerate(chains):
            recipes[chain.recipe](chain, self._scores(chain, number), number)

    def _scores(self, chain: _Chain, number: int) -> Value:
        depth = self.extents[chain.pair].depth
        q = self.loop.invariant(f"q{number}", (self.target.rows, depth), "f16")
        scores = self.loop.mma(q, self.keys[chain.pair].T, name=f"s{number}.mma")
        if self.in_tmem:
            scores = self.loop.tmem_load(scores, name=f"s{number}")
        for index, kind in enumerate(chain.fillers):
            operands = (scores,) if kind == "exp2" else (scores, 0.5)
            scores = self.loop.elementwise(kind, *operands, name=f"s{number}.{kind}{index}")
        return scores

    def _online(self, chain: _Chain, scores: Value, number: int) -> None:
        loop, rows = self.loop, (self.target.rows,)
        maximum = loop.carried(f"n{number}", rows)
        total = loop.carried(f"l{number}", rows)
        highest = loop.maximum(maximum, scores.max(1))
        weights = loop.exp2(scores - highest[:, None], name=f"p{number}")
        shrink = loop.exp2(maximum - highest, name=f"a{number}")
        # With a name it is not fused: what is asked for is a number of operations.
        total.assign(loop.elementwise("mul", total, shrink, name=f"l{number}.mul"))
        total += weights.sum(1)
        maximum.assign(highest)
        self._accumulate(chain, weights, number, shrink)

    def _fixed(self, chain: _Chain, scores: Value, number: int) -> None:
        total = self.loop.carried(f"l{number}", (self.target.rows,))
        weights = self.loop.exp2(scores, name=f"p{number}")
        total += weights.sum(1)
        self._accumulate(chain, weights, number)

    def _gated(self, chain: _Chain, scores: Value, number: int) -> None:
        """Multiply by the weights of an earlier chain of the same shape, as backward passes do."""
        gate = self.weights.get(chain.pair, 2.0)
        weights = self.loop.elementwise("mul", scores, gate, name=f"p{number}")
        self._accumulate(chain, weights, number)

    def _accumulate(
        self, chain: _Chain, weights: Value, number: int, shrink: Value | None = None
    ) -> None:
        loop, shape = self.loop, (self.target.rows, self.extents[chain.pair].width)
        self.weights[chain.pair] = weights
        total = loop.carried(f"o{number}", shape, memory=self.target.products)
        if shrink is not None and self.in_tmem:
            scaled = loop.tmem_load(total) * shrink[:, None]
            total.assign(loop.tmem_store(scaled, into=total))
        elif shrink is not None:
            total *= shrink[:, None]
        factor = loop.cast(weights, "f16")
        if self.in_tmem:
            factor = self.generator.choice((loop.local_store, loop.tmem_store))(factor)
        total.assign(loop.mma(factor, self.values[chain.pair], total))
