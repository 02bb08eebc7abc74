"""Random loops of a few operations, and machines on which they hardly fit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import twill
from tests.support.small import number, small_machine, smem_of, tmem_of
from twill.artifacts.hardware import TensorMemory
from twill.artifacts.loop import Cost, Dependence, Invariant, Operation, Step, Tile

SLOT = 1024
"""Bytes of the smallest tile in SMEM."""


def random_loop(seed: int) -> tuple[twill.Loop, twill.Machine]:
    """Return a loop of 2 to 6 operations and a machine for it."""
    return _Draw(random.Random(seed), seed).made()


class _Draw:
    """Draws a loop first, and then a machine from what it needs."""

    def __init__(self, generator: random.Random, seed: int) -> None:
        self.random, self.seed = generator, seed
        self.count = generator.choice([2, 3, 3, 4, 4, 5, 5, 6])
        self.units = {"TC": 1, "A": 1, "B": generator.randint(2, 3), "TMA": 1}
        self.long = generator.choice([1, 2, 2, 3])

    def made(self) -> tuple[twill.Loop, twill.Machine]:
        loads = min(self.random.choice([0, 0, 1, 1, 2]), self.count - 1)
        drawn = [self._load() if n < loads else self._compute() for n in range(self.count)]
        edges = self._edges(loads, drawn)
        operations = []
        for index, draft in enumerate(drawn):
            read = [e for e in edges if e["consumer"] == f"o{index}" and e["kind"] == "data"]
            tiles = [drawn[int(e["producer"][1:])]["result"] for e in read]
            for position, e in enumerate(read):
                e["operand"] = position
            operations.append(Operation(name=f"o{index}", operands=tuple(tiles), **draft))
        loop = twill.Loop(
            name=f"random_{self.seed}",
            operations=tuple(operations),
            dependences=tuple(Dependence(**e) for e in edges),
            invariants=tuple(self._invariants(operations)),
        )
        return loop, self._machine(loop)

    def _load(self) -> dict[str, Any]:
        cycles = self.random.randint(1, self.long)
        cost = Cost(
            steps=(Step(unit="TMA", cycles=cycles),),
            asynchronous=True,
            issue=self.random.randint(0, 2),
            latency=cycles + self.random.randint(0, 6),
            variable_latency=True,
        )
        tile = Tile(shape=(256, self.random.choice([1, 1, 2])), dtype="f32", memory="smem")
        return {"kind": "load", "warps": 1, "result": tile, "cost": cost}

    def _compute(self) -> dict[str, Any]:
        product = self.random.random() < 0.45
        cycles = self.random.randint(1, self.long)
        if product:
            steps = [Step(unit="TC", cycles=cycles)]
            if self.random.random() < 0.2:
                steps.append(Step(unit="B", cycles=self.random.randint(1, 2)))
        else:
            unit = self.random.choice(["A", "B"])
            steps = [Step(unit=unit, cycles=cycles, count=self._share(unit))]
            if self.random.random() < 0.15:
                steps.append(Step(unit="B" if unit == "A" else "A", cycles=1))
        asynchronous = product or self.random.random() < 0.1
        cost = Cost(
            steps=tuple(steps),
            asynchronous=asynchronous,
            issue=self.random.randint(0, 2) if asynchronous else 0,
            latency=self._occupancy(steps, asynchronous) + self.random.randint(0, 3),
            transfer=self.random.choice([0, 0, 1, 2]),
            working_set=0 if product else self.random.choice([0, 0, 2, 4]),
        )
        where = ["registers", "registers", "smem", "tmem"] if product else ["registers"] * 4
        memory = self.random.choice([*where, "smem"])
        return {
            "kind": "product" if product else "work",
            "warps": 8 if self.random.random() < 0.06 else 4,
            "result": self._tile(memory),
            "elementwise": not asynchronous and self.random.random() < 0.5,
            "cost": cost,
        }

    def _share(self, unit: str) -> int:
        return self.random.randint(1, self.units["B"]) if unit == "B" else 1

    @staticmethod
    def _occupancy(steps: Iterable[Step], asynchronous: bool) -> int:
        cycles = [step.cycles for step in steps]
        return max(cycles) if asynchronous else sum(cycles)

    def _tile(self, memory: str) -> Tile:
        draw = self.random.choice
        shape = {
            "registers": (128, draw([4, 8, 16])),
            "smem": (256, draw([1, 2, 4])),
            "tmem": (draw([64, 128, 128]), draw([16, 32])),
        }[memory]
        return Tile.model_validate({"shape": shape, "dtype": "f32", "memory": memory})

    def _edges(self, loads: int, drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.found: dict[tuple[int, int, int], dict[str, Any]] = {}
        draw, last = self.random, self.count - 1
        for v in range(max(loads, 1), self.count):
            for u in range(v):
                if draw.random() < 1.6 / (v + 0.6):
                    self._add(u, v, 0 if u < loads or draw.random() < 0.8 else draw.randint(1, 2))
        if draw.random() < 0.35:
            self._add_distances(loads, drawn)
        for v in range(loads, self.count):
            if draw.random() < 0.25:
                self._add(v, v, 1, in_place=True)
            elif draw.random() < 0.2:
                self._add_update(v, loads, drawn)
        u, v = draw.randint(loads, last), draw.randint(0, last)
        if u > v and draw.random() < 0.5:
            order: dict[str, Any] = {"kind": "order"}
            more = draw.choice([{}, {}, order, {**order, "delay": 3}])
            self._add(u, v, draw.randint(1, 2), **more)
        return list(self.found.values())

    def _add(self, u: int, v: int, distance: int, **more: Any) -> None:
        edge = {"producer": f"o{u}", "consumer": f"o{v}", "distance": distance, "kind": "data"}
        self.found.setdefault((u, v, distance), {**edge, **more})

    def _add_distances(self, loads: int, drawn: list[dict[str, Any]]) -> None:
        """Add reads of one value at two distances."""
        v = self.random.randrange(loads, self.count)
        u = self.random.randrange(v + 1)
        distance = self.random.choice([1, 1, 2])
        if u != v:
            self._add(u, v, 0)
            self._add(u, v, distance)
        elif drawn[u]["result"].memory == "registers":
            self._add(u, v, distance)
            self._add(u, v, distance + 1)

    def _add_update(self, v: int, loads: int, drawn: list[dict[str, Any]]) -> None:
        """Let an operation update another one's registers where they are."""
        tile = drawn[v]["result"]
        alike = [u for u in range(loads, v) if drawn[u]["result"] == tile]
        if alike and tile.memory == "registers":
            self._add(alike[0], v, 0, in_place=True)

    def _invariants(self, operations: list[Operation]) -> Iterable[Invariant]:
        if self.random.random() < 0.15:
            tile = Tile(shape=(256, 1), dtype="f32", memory="smem")
            yield Invariant(name="kept", tile=tile, used_by=(operations[-1].name,))
        if self.random.random() < 0.1 and operations[-1].warps == 4:
            tile = Tile(shape=(128, 4), dtype="f32", memory="registers")
            yield Invariant(name="held", tile=tile, used_by=(operations[-1].name,))

    # The machine

    def _machine(self, loop: twill.Loop) -> twill.Machine:
        draw = self.random
        pools = [(1, draw.randint(1, 2))] if draw.random() < 0.6 else []
        pools.append((4, draw.choice([1, 2, 2, 3] if pools else [2, 2, 3])))
        if draw.random() < 0.35 or any(o.warps == 8 for o in loop.operations):
            pools.append((8, draw.randint(1, 2)))
        machine = small_machine(self.units, groups=pools, hop=draw.choice([0, 0, 1, 2, 3]))
        more = {"memories": self._memories(loop)}
        if draw.random() < 0.6:
            more["registers"] = self._file(loop)
        return twill.Machine.model_validate(machine.model_dump(by_alias=True) | more)

    def _memories(self, loop: twill.Loop) -> dict[str, Any]:
        """Return memories that hold every tile once, and a little more."""

        def needed(memory: str, size: Callable[[Tile], int]) -> int:
            results = [o.result for o in loop.operations if o.result]
            fixed = [i.tile for i in loop.invariants]
            return sum(size(tile) for tile in [*results, *fixed] if tile.memory == memory)

        more = self.random.choice([0, 0, 1, 2, 4, 8, 16, 64])
        columns = self.random.choice([0, 0, 16, 32, 480])
        smem = max(needed("smem", lambda tile: tile.bytes) + more * SLOT, SLOT)
        tensor = TensorMemory.model_validate(tmem_of(1))
        tmem = max(needed("tmem", tensor.slot_size) + columns, 32)
        aside = self.seed % 3 * SLOT // 2  # of bytes that there are beside
        shared = {**smem_of(smem + aside), "set_aside": number(aside, "bytes") if aside else None}
        return {"smem": shared, "tmem": tmem_of(tmem)}

    def _file(self, loop: twill.Loop) -> dict[str, Any]:
        """Return a file that gives groups hardly what an operation needs, or enough."""
        results = {
            o.name: o.result.registers_each(32 * o.warps)
            for o in loop.operations
            if o.result and o.result.memory == "registers"
        }
        most_at_once = 4
        for o in loop.operations:
            read = {d.producer for d in loop.dependences if d.consumer == o.name}
            own = sum(results.get(name, 0) for name in read | {o.name})
            most_at_once = max(most_at_once, own + (o.cost.working_set if o.cost else 0))
        reserve = self.random.choice([0, 0, 3])
        limit = most_at_once + reserve + self.random.choice([0, 4, 8, 16, 32, 48])
        most = -(-limit // 8) * 8
        groups = self.random.choice([2, 2, 3, 4, 8])
        return {
            "file": number(groups * most * 128),
            "limit": number(limit),
            "step": number(8),
            "least": number(8),
            "most": number(most),
            "warps": number(4),
            "launch": self.random.choice([None, number(8)]),
            "reserve": number(reserve),
            "product": number(self.seed % 4) if self.seed % 4 else None,
        }


FEATURES = (
    "widths of groups",
    "counts of groups",
    "hops",
    "register files",
    "memories just large enough",
    "streaming",
    "accumulators",
    "several distances",
)
"""What the loops have to vary."""


def features(loop: twill.Loop, machine: twill.Machine) -> set[str]:
    """Return which features a loop and its machine have."""
    pairs = [(d.producer, d.consumer) for d in loop.dependences if d.kind == "data"]
    waits = {d.consumer for d in loop.dependences}
    loads = [o for o in loop.operations if o.cost and o.cost.variable_latency]
    found = {
        "widths of groups": len({pool.warps for pool in machine.groups}) > 1,
        "counts of groups": any(pool.count > 1 for pool in machine.groups),
        "hops": machine.synchronisation.hop.value > 0,
        "register files": machine.registers is not None,
        "memories just large enough": _tight(loop, machine),
        "streaming": any(o.name not in waits for o in loads),
        "accumulators": any(d.in_place for d in loop.dependences),
        "several distances": len(pairs) > len(set(pairs)),
    }
    return {name for name, has in found.items() if has}


def _tight(loop: twill.Loop, machine: twill.Machine) -> bool:
    """Whether the tiles in a memory, one of each, leave no room for the largest once more."""
    for memory, facts in machine.memories.by_name.items():
        tiles = [o.result for o in loop.operations if o.result and o.result.memory == memory]
        tiles += [i.tile for i in loop.invariants if i.tile.memory == memory]
        sizes = [facts.slot_size(tile) for tile in tiles]
        if sizes and sum(sizes) <= facts.available < sum(sizes) + max(sizes):
            return True
    return False
