"""Why no rows are left: residues of closed walks through a state diagram.

Steps that miss nothing hold states together in components. Within one, how many operations of each
shape lie between two states is known up to the lattice of its cycles, in whichever direction steps
are taken. A closed walk visits components, goes from one to the next by steps that miss something,
of which it can have only so much, and what it issues is known up to the lattices of all that it
visits. If that is what there is to issue for no sequence of such steps, there is no walk.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.joint.lattice import Lattice, Vector
from twill.joint.potentials import Edge, Potentials
from twill.joint.shapes import TOGETHER, Puzzle
from twill.joint.states import StateDiagram, Step

MOST_STATES = 100_000
"""States of a diagram that is looked at, which takes up to ten seconds."""
MOST_LABELS = 400_000
"""Combinations of a component and residues to look at before giving up."""


@dataclass(frozen=True)
class Waste:
    """A step that misses something, or all that are alike.

    Attributes
    ----------
    before, after : int
        Components in which it begins and ends.
    missing : int
        What its rows weigh less than the heaviest configuration.
    label : tuple of int
        What it issues of each shape, and its rows, from the first state of the component before to
        that of the one after.
    """

    before: int
    after: int
    missing: int
    label: Vector


@dataclass(frozen=True)
class Route:
    """What is left of a diagram once it is said which wasting steps a walk takes.

    Attributes
    ----------
    steps : tuple of Step
        Of which the walk can be made.
    taken : tuple of (frozenset of int, int)
        Positions of wasting steps that are alike, and how often one of them is taken.
    """

    steps: tuple[Step, ...]
    taken: tuple[tuple[frozenset[int], int], ...]


_Reached = tuple[int, int, frozenset[int], Vector]
"""Component, what is missing so far, components with cycles so far, what is issued and rows."""


@dataclass(frozen=True)
class ResidueArgument:
    """Why units have no room for an iteration in an interval.

    Attributes
    ----------
    interval : int
        I, in rows.
    most : int
        What the heaviest configuration weighs.
    work : int
        What one iteration weighs.
    states, steps : int
        Of the state diagram, those of rows that miss no more than the interval leaves over.
    components : int
        Of states that steps hold together which miss nothing.
    """

    interval: int
    most: int
    work: int
    states: int
    steps: int
    components: int

    @property
    def spare(self) -> int:
        """What the interval leaves over."""
        return self.interval * self.most - self.work


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
        edges = (self._edge(step) for step in self._steps if not step.missing)
        states = {step.before for step in self._steps}
        self._potentials = Potentials(edges, len(diagram.shapes) + 1, sorted(states))
        self._lattices = lattices = self._potentials.lattices
        self._visited: dict[frozenset[int], Lattice] = {frozenset(): Lattice()}
        self._rich = [c for c, lattice in enumerate(lattices) if lattice]
        self._wastes = {step: self._waste(step) for step in self._steps if step.missing}
        self._onward: list[list[Waste]] = [[] for _ in lattices]
        self._back: list[list[Waste]] = [[] for _ in lattices]
        for waste in dict.fromkeys(self._wastes.values()):
            self._onward[waste.before].append(waste)
            self._back[waste.after].append(waste)

    @property
    def states(self) -> int:
        """How many states are on ways from others to others."""
        return len(self._potentials.place)

    @property
    def steps(self) -> int:
        """How many steps there are between them."""
        return len(self._steps)

    @property
    def components(self) -> int:
        """How many components steps make that miss nothing."""
        return len(self._lattices)

    def exclude(self) -> bool:
        """Return whether there is no closed walk that has all operations.

        That it is not excluded says nothing.
        """
        if self._long_without_cycles():
            return False
        left, banned = MOST_LABELS, set[int]()
        for component in self._rich:
            labels = 0
            for labels, closed in enumerate(self._returns(component, banned), 1):
                if closed is not None or labels >= left:
                    return False
            left -= labels
            banned.add(component)
        return True

    def routes(self, state: int, most: int) -> list[Route]:
        """Return ways for closed walks that visit a state, those of the fewest wasting steps first.

        Parameters
        ----------
        state : int
            The state.
        most : int
            So many at most, of all that residues do not exclude.
        """
        first = self._potentials.place.get(state)
        if first is None:
            return []
        returns = itertools.islice(self._returns(first, set()), MOST_LABELS)
        closed = (wastes for wastes in returns if wastes is not None)
        return [self._route(first, wastes) for wastes in itertools.islice(closed, most)]

    def _edge(self, step: Step) -> Edge:
        """Return what a step issues, and last its rows."""
        counts = step.counts(len(self._diagram.shapes))
        return Edge(step.before, step.after, (*counts, step.rows))

    def _route(self, first: int, wastes: Sequence[Waste]) -> Route:
        """Return what is left where some wasting steps are taken, and no others."""
        place, taken = self._potentials.place, Counter(wastes)
        visited = {first, *(waste.after for waste in wastes)}
        steps = [
            step
            for step in self._steps
            if (self._wastes[step] in taken if step.missing else place[step.before] in visited)
        ]
        alike: dict[Waste, list[int]] = {}
        for position, step in enumerate(steps):
            if step.missing:
                alike.setdefault(self._wastes[step], []).append(position)
        return Route(
            tuple(steps), tuple((frozenset(alike[waste]), n) for waste, n in taken.items())
        )

    def _waste(self, step: Step) -> Waste:
        """Return what a step is like that misses something."""
        before, after = self._potentials.place[step.before], self._potentials.place[step.after]
        lattice = self._modulo(self._among(before, after))
        label = lattice.remainder(self._potentials.across(self._edge(step)))
        return Waste(before, after, step.missing, label)

    def _among(self, *components: int) -> frozenset[int]:
        """Return those of some components that have cycles."""
        return frozenset(c for c in components if self._lattices[c])

    def _modulo(self, visited: frozenset[int]) -> Lattice:
        """Return the lattice of all components that a walk visits."""
        if visited not in self._visited:
            bases = (self._lattices[c].basis for c in visited)
            self._visited[visited] = Lattice(vector for basis in bases for vector in basis)
        return self._visited[visited]

    def _returns(self, first: int, banned: set[int]) -> Iterator[list[Waste] | None]:
        """Yield for every residue with which a component is reached the steps that close a walk.

        None for those that do not.
        """
        back = self._least_missing(first, banned)
        spare, all_of_it = self._diagram.spare, (*self._diagram.counts, self._diagram.interval)
        start = (first, 0, self._among(first), (0,) * len(all_of_it))
        known: dict[_Reached, tuple[_Reached, Waste] | None] = {start: None}
        left = deque([start])
        while left:
            state = left.popleft()
            component, missing, visited, label = state
            closes = component == first and missing == spare
            closes = closes and self._modulo(visited).remainder(all_of_it) == label
            yield list(_way(known, state)) if closes else None
            for waste in self._onward[component]:
                more = missing + waste.missing
                if waste.after not in back or more + back[waste.after] > spare:
                    continue
                seen = visited | self._among(waste.after)
                sums = tuple(a + b for a, b in zip(label, waste.label, strict=True))
                after = (waste.after, more, seen, self._modulo(seen).remainder(sums))
                if after not in known:
                    known[after] = state, waste
                    left.append(after)

    def _least_missing(self, first: int, banned: set[int]) -> dict[int, int]:
        """Return what is missing at least on the way from each component to one."""
        least = dict[int, int]()
        left = [(0, first)]
        while left:
            missing, component = heapq.heappop(left)
            if component in least:
                continue
            least[component] = missing
            for waste in self._back[component]:
                more = missing + waste.missing
                if waste.before not in banned and more <= self._diagram.spare:
                    heapq.heappush(left, (more, waste.before))
        return least

    def _long_without_cycles(self) -> bool:
        """Return whether a walk that visits components without cycles only could be long enough.

        Within one every way between two states has equally many rows, and what is missing is at
        least one for every row elsewhere and for every change of component.
        """
        extent: dict[int, tuple[int, int]] = {}
        for state, component in self._potentials.place.items():
            if not self._lattices[component]:
                row = self._potentials.of[state][-1]
                low, high = extent.get(component, (row, row))
                extent[component] = min(low, row), max(high, row)
        longest = max((high - low for low, high in extent.values()), default=0)
        return self._diagram.spare * (longest + 1) >= self._diagram.interval


def _way(known: dict[_Reached, tuple[_Reached, Waste] | None], state: _Reached) -> Iterator[Waste]:
    """Yield the wasting steps that led somewhere, the last one first."""
    while (before := known[state]) is not None:
        state, waste = before
        yield waste


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


def residue_argument(
    puzzle: Puzzle, interval: int, most: int = MOST_STATES
) -> ResidueArgument | None:
    """Return why units have no room for all operations in an interval, if residues show that.

    Parameters
    ----------
    puzzle : Puzzle
        Shapes of operations and what a row has for them.
    interval : int
        I, not below the configuration bound.
    most : int, optional
        States of the diagram; nothing is shown if there are more.
    """
    if TOGETHER not in puzzle.capacity:
        return None
    diagram = StateDiagram(puzzle, interval)
    steps = diagram.whole(most)
    seen = None if steps is None else Residues(diagram, steps)
    if seen is None or not seen.exclude():
        return None
    heaviest = puzzle.capacity[TOGETHER]
    work = interval * heaviest - diagram.spare
    return ResidueArgument(interval, heaviest, work, seen.states, seen.steps, seen.components)
