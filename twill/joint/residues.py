"""Why no rows are left: residues of closed walks through a state diagram.

Steps that miss nothing hold states together in components. Within one, how many operations of each
shape lie between two states is known up to the lattice of its cycles, in whichever direction steps
are taken. A closed walk visits components, goes from one to the next by steps that miss something,
of which it can have only so much, and what it issues is known up to the lattices of all that it
visits. If that is what there is to issue for no sequence of such steps, there is no walk.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.joint.lattice import Lattice, Vector
from twill.joint.states import StateDiagram, Step

MOST_LABELS = 400_000
"""Combinations of a component and residues to look at before giving up."""


@dataclass(frozen=True)
class _Waste:
    """A step that misses something, or all that are alike.

    Attributes
    ----------
    after : int
        Component in which it ends.
    missing : int
        What its rows weigh less than the heaviest configuration.
    label : Vector
        What it issues, from the component before to the one after.
    """

    after: int
    missing: int
    label: Vector


class Residues:
    """What closed walks through a state diagram can issue, as far as residues tell.

    Parameters
    ----------
    diagram : StateDiagram
        The diagram.
    steps : sequence of Step
        All of which walks can be made.
    """

    def __init__(self, diagram: StateDiagram, steps: Sequence[Step]) -> None:
        self._diagram, self._steps = diagram, within(steps)
        self._components = _Components(self._steps, len(diagram.shapes))
        lattices = self._components.lattices
        self._visited: dict[frozenset[int], Lattice] = {frozenset(): Lattice()}
        self._rich = [c for c, lattice in enumerate(lattices) if lattice]
        self._onward = self._wastes()
        self._back: list[dict[tuple[int, int], None]] = [{} for _ in lattices]
        for c, wastes in enumerate(self._onward):
            for waste in wastes:
                self._back[waste.after][c, waste.missing] = None

    def exclude(self) -> bool:
        """Return whether there is no closed walk that has all operations.

        That it is not excluded says nothing.
        """
        if self._long_without_cycles():
            return False
        left, banned = MOST_LABELS, set[int]()
        for component in self._rich:
            labels = 0
            for labels, reached in enumerate(self._returns(component, banned), 1):
                if reached or labels >= left:
                    return False
            left -= labels
            banned.add(component)
        return True

    def _wastes(self) -> list[list[_Waste]]:
        """Return for every component the steps that lead from it and miss something."""
        place, lattices = self._components.place, self._components.lattices
        onward: list[dict[_Waste, None]] = [{} for _ in lattices]
        for step in self._steps:
            if step.missing:
                before, after = place[step.before], place[step.after]
                label = self._components.label(step)
                label = self._modulo(self._among(before, after)).remainder(label)
                onward[before][_Waste(after, step.missing, label)] = None
        return [list(wastes) for wastes in onward]

    def _among(self, *components: int) -> frozenset[int]:
        """Return those of some components that have cycles."""
        return frozenset(c for c in components if self._components.lattices[c])

    def _modulo(self, visited: frozenset[int]) -> Lattice:
        """Return the lattice of all components that a walk visits."""
        if visited not in self._visited:
            bases = (self._components.lattices[c].basis for c in visited)
            self._visited[visited] = Lattice(vector for basis in bases for vector in basis)
        return self._visited[visited]

    def _returns(self, first: int, banned: set[int]) -> Iterator[bool]:
        """Yield for every residue with which a component is reached whether it closes a walk."""
        back = self._least_missing(first, banned)
        spare, counts = self._diagram.spare, self._diagram.counts
        start = (first, 0, self._among(first), (0,) * len(counts))
        known, left = {start}, [start]
        while left:
            component, missing, visited, label = left.pop()
            lattice = self._modulo(visited)
            closes = component == first and missing == spare
            yield closes and lattice.remainder(counts) == label
            for waste in self._onward[component]:
                more = missing + waste.missing
                if waste.after not in back or more + back[waste.after] > spare:
                    continue
                seen = visited | self._among(waste.after)
                sums = tuple(a + b for a, b in zip(label, waste.label, strict=True))
                state = (waste.after, more, seen, self._modulo(seen).remainder(sums))
                if state not in known:
                    known.add(state)
                    left.append(state)

    def _least_missing(self, first: int, banned: set[int]) -> dict[int, int]:
        """Return what is missing at least on the way from each component to one."""
        least = dict[int, int]()
        left = [(0, first)]
        while left:
            missing, component = heapq.heappop(left)
            if component in least:
                continue
            least[component] = missing
            for before, more in self._back[component]:
                if before not in banned and missing + more <= self._diagram.spare:
                    heapq.heappush(left, (missing + more, before))
        return least

    def _long_without_cycles(self) -> bool:
        """Return whether a walk that visits components without cycles only could be long enough.

        Within one every way between two states has equally many rows, and what is missing is at
        least one for every row elsewhere and for every change of component.
        """
        rows, spare = self._components.rows, self._diagram.spare
        extent: dict[int, tuple[int, int]] = {}
        for state, component in self._components.place.items():
            if not self._components.lattices[component]:
                low, high = extent.get(component, (rows[state], rows[state]))
                extent[component] = min(low, rows[state]), max(high, rows[state])
        longest = max((high - low for low, high in extent.values()), default=0)
        return spare * (longest + 1) >= self._diagram.interval


class _Components:
    """What steps that miss nothing hold together.

    Attributes
    ----------
    place : dict
        The component of each state.
    rows : dict
        Rows from the first state of its component to each state.
    lattices : list of Lattice
        For each component what its cycles issue.
    """

    def __init__(self, steps: Sequence[Step], shapes: int) -> None:
        self.place: dict[int, int] = {}
        self.rows: dict[int, int] = {}
        self.lattices: list[Lattice] = []
        self._issued: dict[int, Vector] = {}
        beside: dict[int, list[Step]] = {}
        for step in steps:
            mine = beside.setdefault(step.before, [])
            others = beside.setdefault(step.after, [])
            if not step.missing:
                mine.append(step)
                others.append(step)
        for state in beside:
            if state not in self.place:
                self._gather(state, beside, shapes)

    def label(self, step: Step) -> Vector:
        """Return what a step issues, from the first state of a component to that of the next.

        Parameters
        ----------
        step : Step
            The step.
        """
        found = [
            a - b for a, b in zip(self._issued[step.before], self._issued[step.after], strict=True)
        ]
        for shape in step.issued:
            found[shape] += 1
        return tuple(found)

    def _gather(self, first: int, beside: dict[int, list[Step]], shapes: int) -> None:
        """Find a component from one of its states on."""
        component = len(self.lattices)
        self.place[first], self.rows[first], self._issued[first] = component, 0, (0,) * shapes
        left, cycles = [first], set[Vector]()
        while left:
            state = left.pop()
            for step in beside[state]:
                forward = step.before == state
                other = step.after if forward else step.before
                if other in self.place:
                    if forward:
                        cycles.add(self.label(step))
                    continue
                sign = 1 if forward else -1
                issued = list(self._issued[state])
                for shape in step.issued:
                    issued[shape] += sign
                self.place[other] = component
                self.rows[other] = self.rows[state] + sign * step.rows
                self._issued[other] = tuple(issued)
                left.append(other)
        self.lattices.append(Lattice(sorted(cycles)))


def within(steps: Sequence[Step]) -> list[Step]:
    """Return the steps between states that others lead to, and on from.

    Parameters
    ----------
    steps : sequence of Step
        Steps of a state diagram; no others are on closed walks.
    """
    kept = list(steps)
    while True:
        both = {step.before for step in kept} & {step.after for step in kept}
        fewer = [step for step in kept if step.before in both and step.after in both]
        if len(fewer) == len(kept):
            return kept
        kept = fewer
