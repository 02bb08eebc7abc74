"""Rows of a whole interval: closed walks through a state diagram.

A walk is a circulation in whole numbers whose steps hang together, taken in the order of an Euler
tour. Which steps are worth asking about are those of a few circulations in fractions.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from twill.console import interruptible
from twill.joint.circulations import Circulations
from twill.joint.cpsat_run import one_core
from twill.joint.residues import Route
from twill.joint.shapes import ShapeRows
from twill.joint.states import StateDiagram, Step

LEAST_VERTICES, MOST_VERTICES = 3, 6
"""Vertices between which whole numbers are asked for, before others are begun with."""
LEAST_SECONDS, WHOLE_SECONDS = 0.3, 1.0
"""Seconds for whole numbers, which are found soon or not at all: as many as the vertices took, but
no fewer and no more than these."""
FEW_STEPS, FEW_SECONDS = 400, 4.0
"""Of so few steps there are whole numbers within seconds, or none."""
VERTEX_SECONDS = 10.0
"""Seconds for a vertex."""


class Walks:
    """Closed walks that have all operations, found at random from a seed.

    Parameters
    ----------
    cp : module
        ``ortools.sat.python.cp_model``.
    diagram : StateDiagram
        The diagram; state 0 is that in which nothing is in progress.
    routes : sequence of Route
        Ways to go, tried in turn.
    seed : int
        Of what is drawn.
    """

    def __init__(self, cp: Any, diagram: StateDiagram, routes: Sequence[Route], seed: int) -> None:
        self._cp, self._seed = cp, seed
        generator = random.Random(seed)  # noqa: S311 - no secret
        self._routes = [Circulations(diagram, route, generator) for route in routes]

    def find(self, left: Callable[[], float]) -> list[Step] | None:
        """Return the steps of a walk, each as often as it is taken, in no order.

        Parameters
        ----------
        left : callable
            Gives the seconds that are left.

        Returns
        -------
        list of Step or None
            None if time is up, or if there is no way.
        """
        many = []
        for circulations in self._routes:
            if len(circulations.steps) > FEW_STEPS:
                many.append(circulations)
                continue
            every = range(len(circulations.steps))
            walk = self._whole(circulations, every, min(FEW_SECONDS, left()))
            if walk is not None:
                return walk
        for circulations in itertools.cycle(many):
            union, vertices, began = set[int](), 0, time.monotonic()
            while vertices < MOST_VERTICES:
                if left() <= 0:
                    return None
                vertex = circulations.vertex(min(VERTEX_SECONDS, left()))
                union.update(vertex)
                vertices += bool(vertex)
                if not vertex or vertices < LEAST_VERTICES:
                    continue
                among = circulations.mend(union)
                patience = max(LEAST_SECONDS, min(WHOLE_SECONDS, time.monotonic() - began))
                walk = self._whole(circulations, sorted(among), min(patience, left()))
                if walk is not None:
                    return walk
                union.update(among)
        return None

    def _whole(
        self, circulations: Circulations, among: Sequence[int], seconds: float
    ) -> list[Step] | None:
        """Return a walk of some steps, None if none was found."""
        model, ends = self._cp.CpModel(), time.monotonic() + seconds
        steps = [circulations.steps[position] for position in among]
        most = [circulations.most(position) for position in among]
        times = [model.new_int_var(0, n, "") for n in most]
        for terms, value in circulations.equations(among):
            model.add(sum(n * times[i] for i, n in terms.items()) == value)
        while ends > time.monotonic():
            solver = self._cp.CpSolver()
            one_core(solver.parameters, self._seed)
            solver.parameters.linearization_level = 2
            solver.parameters.max_time_in_seconds = max(0.0, ends - time.monotonic())
            status = interruptible(partial(solver.solve, model), solver.stop_search)
            if status not in (self._cp.OPTIMAL, self._cp.FEASIBLE):
                return None
            taken = [solver.value(n) for n in times]
            parts = _apart([step for step, n in zip(steps, taken, strict=True) if n])
            if len(parts) == 1:
                return [step for step, n in zip(steps, taken, strict=True) for _ in range(n)]
            for part in parts:
                _join(model, steps, times, most, part)
        return None


def tour(walk: Sequence[Step], seed: int) -> list[Step]:
    """Return the steps of a closed walk one after another.

    Parameters
    ----------
    walk : sequence of Step
        Its steps, in any order.
    seed : int
        Of which of its tours it is (Hierholzer's algorithm, at random).
    """
    onward: dict[int, list[Step]] = {}
    for step in walk:
        onward.setdefault(step.before, []).append(step)
    generator = random.Random(seed)  # noqa: S311 - no secret
    for mine in onward.values():
        generator.shuffle(mine)
    order: list[Step] = []
    path: list[tuple[int, Step | None]] = [(walk[0].before, None)]
    while path:
        state, reached_by = path[-1]
        if onward.get(state):
            step = onward[state].pop()
            path.append((step.after, step))
        else:
            path.pop()
            if reached_by is not None:
                order.append(reached_by)
    return order[::-1]


def rows_along(diagram: StateDiagram, order: Iterable[Step]) -> list[ShapeRows]:
    """Return rows of operations along a closed walk.

    Parameters
    ----------
    diagram : StateDiagram
        The diagram.
    order : iterable of Step
        The walk, step after step.
    """
    rows: list[list[int]] = [[] for _ in diagram.shapes]
    row = 0
    for step in order:
        for shape in step.issued:
            rows[shape].append(row)
        row += step.rows
    return [
        ShapeRows(shape.operations, tuple(mine))
        for shape, mine in zip(diagram.shapes, rows, strict=True)
    ]


def _join(
    model: Any, steps: Sequence[Step], times: Sequence[Any], most: Sequence[int], part: set[int]
) -> None:
    """State that some states are not visited, or left for others."""
    within = [i for i, s in enumerate(steps) if s.before in part and s.after in part]
    leaving = [i for i, s in enumerate(steps) if s.before in part and s.after not in part]
    limit = sum(most[i] for i in within)
    model.add(sum(times[i] for i in within) <= limit * sum(times[i] for i in leaving))


def _apart(steps: Iterable[Step]) -> list[set[int]]:
    """Return the states of steps, those together that steps connect."""
    beside: dict[int, set[int]] = {}
    for step in steps:
        beside.setdefault(step.before, set()).add(step.after)
        beside.setdefault(step.after, set()).add(step.before)
    parts: list[set[int]] = []
    while beside:
        part, left = set[int](), [next(iter(beside))]
        while left:
            state = left.pop()
            if state not in part:
                part.add(state)
                left.extend(beside.pop(state))
        parts.append(part)
    return parts
