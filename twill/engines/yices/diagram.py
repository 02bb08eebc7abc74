"""Weighted sums of literals as one-sided decision diagrams."""

from __future__ import annotations

from collections.abc import Sequence

from twill.engines.yices.terms import Clauses, Literal


class Diagram:
    """Clauses that bound the weights of the true ones among some literals.

    Two amounts of room that no subset of what follows tells apart are one node, so that weights of
    few sizes, such as tiles, give small diagrams whatever the bound.

    `items`: positive weights and their literals; those of large weight come first.
    """

    def __init__(self, clauses: Clauses, items: Sequence[tuple[int, Literal]]) -> None:
        self._clauses = clauses
        self._constant = sum(weight for weight, literal in items if literal is True)
        kept = [(w, int(x)) for w, x in items if not isinstance(x, bool) and w > 0]
        self._items = sorted(kept, key=lambda item: -item[0])
        self._reachable, self._total = [1], [0]
        for weight, _ in reversed(self._items):
            sums = self._reachable[-1]
            self._reachable.append(sums | (sums << weight))
            self._total.append(self._total[-1] + weight)
        self._reachable.reverse()
        self._total.reverse()
        self._nodes: dict[tuple[int, int], Literal] = {}

    def at_most(self, limit: int) -> Literal:
        """Return a literal that implies: the weights of the true items sum to at most `limit`."""
        with self._clauses.under(None):
            return self._node(limit - self._constant)

    def _node(self, room: int) -> Literal:
        """Build the nodes below (0, room), deepest first."""
        layers: list[set[int]] = [{room}]
        for position, (weight, _) in enumerate(self._items):
            nxt: set[int] = set()
            for here in layers[-1]:
                known = self._constant_node(position, here)
                if known is None and (position, self._canonical(position, here)) not in self._nodes:
                    canonical = self._canonical(position, here)
                    nxt |= {canonical, canonical - weight}
            layers.append(nxt)
        for position in range(len(self._items) - 1, -1, -1):
            for here in sorted(layers[position]):
                if self._constant_node(position, here) is None:
                    self._define(position, self._canonical(position, here))
        return self._value(0, room)

    def _define(self, position: int, room: int) -> None:
        if (position, room) in self._nodes:
            return
        clauses = self._clauses
        weight, literal = self._items[position]
        without = self._value(position + 1, room)
        with_it = self._value(position + 1, room - weight)
        if without is with_it or (without == with_it and not isinstance(without, bool)):
            self._nodes[position, room] = without
            return
        here = clauses.fresh()
        clauses.clause(clauses.negated(here), without)
        clauses.clause(clauses.negated(here), clauses.negated(literal), with_it)
        self._nodes[position, room] = here

    def _value(self, position: int, room: int) -> Literal:
        known = self._constant_node(position, room)
        return self._nodes[position, self._canonical(position, room)] if known is None else known

    def _constant_node(self, position: int, room: int) -> bool | None:
        if room < 0:
            return False
        return True if self._total[position] <= room else None

    def _canonical(self, position: int, room: int) -> int:
        """Return the largest sum of what follows that is at most `room`."""
        return (self._reachable[position] & ((1 << (room + 1)) - 1)).bit_length() - 1
