"""How often closed walks through a state diagram take its steps: in fractions, and what they lack.

As often as a state is reached it is left, every shape is issued as often as there are operations of
it, and steps that miss something are taken as a route says. Such circulations are too many to look
through in whole numbers. A vertex of the polytope of fractions has few steps, and is soon found for
random costs on part of the diagram, drawn at random; those of several vertices together often have
a solution in whole numbers. Where they do not, it is mostly that their cycles all issue, say, an
even number: a detour that does not mends it.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from twill.console import interruptible
from twill.joint.cpsat_run import import_linear_solver
from twill.joint.lattice import Lattice
from twill.joint.potentials import Edge, Potentials
from twill.joint.residues import Route
from twill.joint.states import StateDiagram

FIRST_KEPT, KEPT, CHANGE = 0.8, 0.6, 0.05
"""Chance of a state to be in a part, the first time and beside the states of an earlier vertex, and
what it changes by where that was too little or too much. Of few steps all are taken."""
FEW_STEPS, MANY_STEPS = 5_000, 30_000
"""A part of more steps takes seconds."""
TINY = 1e-7
"""What is less is nothing, of times that a step is taken."""
MOST_SEEN = 300_000
"""States with residues to look at for a detour."""

Equation = tuple[dict[int, int], int]
"""Coefficients of steps, and what they add up to."""


class Circulations:
    """Circulations of a route.

    Parameters
    ----------
    diagram : StateDiagram
        The diagram; state 0 is that in which nothing is in progress.
    route : Route
        Steps, and how often those that miss something are taken.
    generator : random.Random
        Of what is drawn.

    Attributes
    ----------
    steps : tuple of Step
        The steps. All others are spoken of by their positions.
    """

    def __init__(self, diagram: StateDiagram, route: Route, generator: random.Random) -> None:
        self.steps, self._taken = route.steps, route.taken
        self._diagram, self._random = diagram, generator
        self._near, self._kept = set[int](), FIRST_KEPT
        if len(route.steps) <= FEW_STEPS:
            self._kept = 1.0
        self._onward: dict[int, list[int]] = {}
        self._back: dict[int, list[int]] = {}
        for position, step in enumerate(route.steps):
            self._onward.setdefault(step.before, []).append(position)
            self._back.setdefault(step.after, []).append(position)
        self._edges = [self._edge(position) for position in range(len(route.steps))]
        self._all_of_it = (*diagram.counts, *(times for _, times in route.taken))

    def most(self, position: int) -> int:
        """Return how often a step can be taken at most.

        Parameters
        ----------
        position : int
            The step.
        """
        step = self.steps[position]
        limits = [self._diagram.interval // step.rows]
        for issued, whole in zip(self._edges[position].label, self._all_of_it, strict=True):
            if issued:
                limits.append(whole // issued)
        return min(limits)

    def equations(self, among: Sequence[int]) -> list[Equation]:
        """Return what circulations of some steps satisfy, steps by where they are among these.

        Parameters
        ----------
        among : sequence of int
            The steps.
        """
        states: dict[int, dict[int, int]] = {}
        sums: list[dict[int, int]] = [{} for _ in self._all_of_it]
        for i, position in enumerate(among):
            step = self.steps[position]
            if step.before != step.after:
                states.setdefault(step.before, {})[i] = -1
                states.setdefault(step.after, {})[i] = 1
            for k, issued in enumerate(self._edges[position].label):
                if issued:
                    sums[k][i] = issued
        conserved = [(terms, 0) for terms in states.values()]
        return conserved + list(zip(sums, self._all_of_it, strict=True))

    def vertex(self, seconds: float) -> list[int]:
        """Return the steps of a vertex, none if the part drawn has no circulation or is too large.

        Parameters
        ----------
        seconds : float
            Seconds for the linear program.
        """
        among = self._part()
        if len(among) > MANY_STEPS:
            self._kept -= CHANGE
            return []
        found = self._cheapest(among, seconds)
        if not found:
            self._kept = min(1.0, self._kept + CHANGE)
            return []
        self._near = {self.steps[position].before for position in found}
        if len(self.steps) > FEW_STEPS:
            self._kept = min(self._kept, KEPT)
        return found

    def mend(self, among: Iterable[int]) -> set[int]:
        """Return steps and detours with which residues do not exclude whole numbers.

        Parameters
        ----------
        among : iterable of int
            The steps.

        Returns
        -------
        set of int
            None of them if no detours were found.
        """
        mended = set(among)
        while True:
            edges = [self._edges[position] for position in sorted(mended)]
            potentials = Potentials(edges, len(self._all_of_it))
            lattice = Lattice(v for part in potentials.lattices for v in part.basis)
            if not any(lattice.remainder(self._all_of_it)):
                return mended
            weights = lattice.witness(self._all_of_it)
            detour = None if weights is None else self._detour(potentials, weights)
            if detour is None:
                return set()
            mended.update(detour)

    def _edge(self, position: int) -> Edge:
        """Return what a step issues of each shape, and which step of the route it is."""
        step = self.steps[position]
        counts = step.counts(len(self._diagram.shapes))
        taken = (int(position in alike) for alike, _ in self._taken)
        return Edge(step.before, step.after, (*counts, *taken))

    def _part(self) -> list[int]:
        """Return steps between some states, those of the last vertex among them."""
        onward = self._reached(
            self._onward, lambda s: s in self._near or self._random.random() < self._kept
        )
        both = self._reached(self._back, onward.__contains__)
        return [i for i, s in enumerate(self.steps) if s.before in both and s.after in both]

    def _reached(self, leading: dict[int, list[int]], admits: Callable[[int], bool]) -> set[int]:
        """Return the states to which steps lead from the idle one, or back, if admitted."""
        known, left = {0: True}, [0]
        while left:
            state = left.pop()
            for position in leading.get(state, ()):
                step = self.steps[position]
                other = step.after if step.before == state else step.before
                if other not in known:
                    known[other] = admits(other)
                    if known[other]:
                        left.append(other)
        return {state for state, admitted in known.items() if admitted}

    def _cheapest(self, among: Sequence[int], seconds: float) -> list[int]:
        """Return the steps of the cheapest circulation, at random costs."""
        pywraplp = import_linear_solver()
        solver = pywraplp.Solver.CreateSolver("GLOP")
        solver.SetTimeLimit(max(1, round(1000 * seconds)))
        flows = [solver.NumVar(0, solver.infinity(), "") for _ in among]
        objective = solver.Objective()
        for flow in flows:
            objective.SetCoefficient(flow, self._random.random())
        objective.SetMinimization()
        for terms, value in self.equations(among):
            constraint = solver.Constraint(value, value)
            for i, n in terms.items():
                constraint.SetCoefficient(flows[i], n)
        status = interruptible(solver.Solve, solver.InterruptSolve)
        if status != pywraplp.Solver.OPTIMAL:
            return []
        positions = zip(among, flows, strict=True)
        return [position for position, flow in positions if flow.solution_value() > TINY]

    def _detour(self, potentials: Potentials, weights: Sequence[Fraction]) -> list[int] | None:
        """Return steps from a state of a graph to another that weigh what no way in it does.

        What they weigh is whole numbers off the potentials' difference for all ways in the graph.
        """
        parts = math.lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * parts) for weight in weights]

        def weigh(label: Sequence[int]) -> int:
            return sum(a * b for a, b in zip(whole, label, strict=True) if b) % parts

        at = {state: weigh(label) for state, label in potentials.of.items()}
        first = list(at.items())
        self._random.shuffle(first)
        came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = dict.fromkeys(first)
        left = deque(first)
        while left and len(came) < MOST_SEEN:
            state, weight = left.popleft()
            onward = list(self._onward.get(state, ()))
            self._random.shuffle(onward)
            for position in onward:
                after = self.steps[position].after
                then = (weight + weigh(self._edges[position].label)) % parts
                if at.get(after, then) != then:
                    return [position, *_way(came, (state, weight))]
                if after not in at and (after, then) not in came:
                    came[after, then] = (state, weight), position
                    left.append((after, then))
        return None


def _way(
    came: dict[tuple[int, int], tuple[tuple[int, int], int] | None], state: tuple[int, int]
) -> list[int]:
    """Return the steps that led to a state, the last one first."""
    steps = []
    while (before := came[state]) is not None:
        state, position = before
        steps.append(position)
    return steps
