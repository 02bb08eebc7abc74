"""What the operations of a loop are for, found in its dependences and never in its names.

First products need no other product of their iteration; later ones do. A sub-tile is what hangs
together between first and later products: rows whose softmax, or whose part of a gradient, needs
nothing of the other rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.lower.baselines import components

Role = Literal[
    "load", "first product", "later product", "softmax", "rescaling", "staging", "preparation"
]
PRODUCT, EXPONENTIAL = "mma", "exp2"


@dataclass(frozen=True)
class Roles:
    """What each operation is for.

    Attributes
    ----------
    role : dict
        By operation: ``load`` (of variable latency), ``first product``, ``later product``,
        ``softmax`` (what a sub-tile computes between its products), ``rescaling`` (of an
        accumulator before a product adds to it), ``staging`` (what becomes of a finished product
        inside the loop, such as the store of a reduction), ``preparation`` (of what was loaded).
    tile : dict
        The sub-tile of first and later products, softmax and rescaling, counted from 0.
    exponentials : tuple of str
        Exponentials of whole tiles, not those of one number a row.
    """

    role: Mapping[str, Role]
    tile: Mapping[str, int]
    exponentials: tuple[str, ...]

    @property
    def tiles(self) -> list[int]:
        """Every sub-tile."""
        return sorted(set(self.tile.values()))

    def named(self, *roles: Role, tile: int | None = None) -> list[str]:
        """Return the operations that have one of some roles, in program order."""
        return [
            name
            for name, role in self.role.items()
            if role in roles and (tile is None or self.tile.get(name) == tile)
        ]


def roles_of(loop: Loop, machine: Machine) -> Roles:
    """Say what each operation of a loop is for."""
    loads = {o.name for o in loop.operations if machine.cost(o).variable_latency}
    products = {o.name for o in loop.operations if o.kind == PRODUCT}
    before = _before(loop)
    later = {name for name in products if before[name] & products}
    # What only a later product makes, and no first one feeds otherwise, is no sub-tile's own.
    tied = loop.model_copy(
        update={"dependences": tuple(d for d in loop.dependences if d.producer not in later)}
    )
    fed = [o for o in loop.operations if o.name in products or before[o.name] & products]
    tiles = [tile for tile in components(tied, fed) if any(o.name in products for o in tile)]
    tile = {o.name: number for number, members in enumerate(tiles) for o in members}
    rescaling = {
        d.producer
        for d in loop.dependences
        if d.in_place and d.consumer in later and d.producer not in products
    }

    def role(operation: Operation) -> Role:
        name = operation.name
        if name in loads:
            return "load"
        if name in products:
            return "later product" if name in later else "first product"
        if name in tile:
            return "rescaling" if name in rescaling else "softmax"
        return "staging" if before[name] & later else "preparation"

    found = {o.name: role(o) for o in loop.operations}
    tile = {name: number for name, number in tile.items() if found[name] != "staging"}
    exponentials = [o for o in loop.operations if o.kind == EXPONENTIAL]
    whole = tuple(o.name for o in exponentials if o.result and len(o.result.shape) > 1)
    return Roles(found, tile, whole)


def _before(loop: Loop) -> dict[str, set[str]]:
    """Return for each operation all that it needs of its own iteration."""
    needs: dict[str, set[str]] = defaultdict(set)
    for dependence in loop.dependences:
        if not dependence.distance and dependence.kind == "data":
            needs[dependence.consumer].add(dependence.producer)
    found: dict[str, set[str]] = {}

    def collect(name: str) -> set[str]:
        if name not in found:
            found[name] = set()
            for producer in needs[name]:
                found[name] |= {producer} | collect(producer)
        return found[name]

    for operation in loop.operations:
        collect(operation.name)
    return found
