"""Whether a pipelined program computes what the loop as written computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twill.artifacts.schedule import Schedule
from twill.errors import InputError
from twill.sim.checks.dataflow import Dataflow, Expressions, Inputs
from twill.sim.checks.inputs import RandomInputs
from twill.sim.checks.provenance import Provenance
from twill.sim.checks.tiles import Array

Instance = tuple[str, int]


@dataclass(frozen=True)
class Difference:
    """A result of a pipelined program that is not the one of the loop as written.

    Attributes
    ----------
    operation, iteration : str, int
        Which result.
    elements, different : int
        Elements of the tile, and how many of them differ.
    largest : float
        Largest absolute difference; not a number where there is none on one side.
    """

    operation: str
    iteration: int
    elements: int
    different: int
    largest: float


class Values:
    """The results of one loop, computed on NumPy tiles.

    `inputs`: what the loop takes from outside; random tiles of seed 0 without it.

    Raises
    ------
    InputError
        If an operation does not say what it computes, or the results are no numbers.
    """

    def __init__(
        self,
        schedule: Schedule,
        iterations: int,
        inputs: Inputs | None = None,
        *,
        dataflow: Dataflow | None = None,
    ) -> None:
        dataflow = dataflow or Dataflow(schedule.loop)
        self._schedule, self._iterations = schedule, iterations
        self._expressions = Expressions(dataflow)
        self._inputs = inputs or RandomInputs(schedule.loop)
        written = self._expressions.written(iterations)
        self._wanted = {key: written[key] for key in dataflow.results(iterations)}
        self._last = dataflow.carried(iterations)
        self._tiles: dict[int, Array] = {}
        for (name, iteration), tile in self.as_written().items():
            if not np.isfinite(tile).all():
                raise InputError(
                    f"the loop as written makes {name} of iteration {iteration} infinite or no "
                    "number at all, which would hide differences; give it other inputs",
                    file=schedule.name,
                )

    def as_written(self) -> dict[Instance, Array]:
        """Return the results of the loop as written, by operation and iteration."""
        return self._evaluated(self._wanted)

    def watch(self, schedule: Schedule | None = None) -> Provenance:
        """Return an observer for an execution whose results are wanted.

        `schedule`: what is executed, if not the schedule at hand: one of the same loop.
        """
        return Provenance(schedule or self._schedule, self._expressions)

    def pipelined(self, watched: Provenance) -> dict[Instance, Array]:
        """Return the results of an execution, by operation and iteration."""
        return self._evaluated(watched.results(self._wanted, self._last))

    def differences(self, watched: Provenance) -> list[Difference]:
        """Return the results of an execution that are not those of the loop as written.

        Operations and their order are the same, so that equal results are equal in every bit.
        """
        made = watched.results(self._wanted, self._last)
        suspect = {key: number for key, number in made.items() if number != self._wanted[key]}
        right = self._evaluated({key: self._wanted[key] for key in suspect})
        wrong = self._evaluated(suspect)
        compared = (_difference(key, right[key], wrong[key]) for key in suspect)
        return [difference for difference in compared if difference.different]

    def _evaluated(self, numbers: Mapping[Instance, int]) -> dict[Instance, Array]:
        missing = [number for number in numbers.values() if number not in self._tiles]
        tiles = self._expressions.evaluate(missing, self._inputs)
        keep = set(self._wanted.values())
        self._tiles |= {number: tile for number, tile in tiles.items() if number in keep}
        return {
            key: tiles[number] if number in tiles else self._tiles[number]
            for key, number in numbers.items()
        }


def _difference(key: Instance, right: Array, wrong: Array) -> Difference:
    wide = np.broadcast_to(wrong, right.shape)
    unequal = (right != wide) & ~(np.isnan(right) & np.isnan(wide))
    with np.errstate(invalid="ignore"):
        gap = np.abs(right.astype(np.float64) - wide.astype(np.float64))
    largest = float(gap[unequal].max()) if unequal.any() else 0.0
    return Difference(*key, right.size, int(unequal.sum()), largest)
