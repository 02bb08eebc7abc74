"""Every level that a search reports is the schedule's own, wherever the search was cut short."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

import twill
from tests.support.small import tight_loop
from twill.artifacts.proof import LevelProof
from twill.base.errors import RefusedError
from twill.engines import Answer, Engine, Question
from twill.engines.yices import DifferenceEngine
from twill.lower import realize
from twill.problem import Problem, build_problem
from twill.search.answer import within_registers
from twill.search.request import Options
from twill.search.search import Found, search

SEEDS, LOOSE = (5, 8, 9, 10, 26), Options(most_stages=3)
"""Of small loops that have a schedule."""
LONG = (9, 26)


@dataclass
class Exhaustible:
    """Makes engines that answer so many questions together, and no more."""

    left: int

    def __call__(self, asked: Question) -> _Asked:
        return _Asked(self, DifferenceEngine(asked))


@dataclass
class _Asked:
    maker: Exhaustible
    engine: Engine

    @property
    def name(self) -> str:
        return self.engine.name

    def solve(self, *question: Any, **more: Any) -> Answer:
        if not self.maker.left:
            return Answer("unknown")
        self.maker.left -= 1
        return self.engine.solve(*question, **more)

    def dispose(self) -> None:
        self.engine.dispose()


def cut_short(problem: Problem, engines: Exhaustible) -> Found | None:
    """Return what is found with so many answers, None if that is said to be nothing."""
    try:
        return search(problem, engines, LOOSE)
    except RefusedError as error:
        if "does not mean that there is none" not in str(error):
            raise
        return None


def check(problem: Problem, found: Found, best: dict[str, int]) -> set[str]:
    """Let the verifier compare levels with the schedule's; return those that are not proved."""
    made = partial(realize, problem, found.interval, found.assignment, found.proof)
    schedule = within_registers(problem, made)
    assert twill.verify(schedule).violations == ()
    levels: dict[str, LevelProof] = {level.level: level for level in found.proof.levels}
    for name, level in levels.items():
        assert not level.proved or level.value == best[name]
    assert found.proof.bound.value <= best["interval"]
    return {name for name, level in levels.items() if not level.proved}


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.slow] * (s in LONG)) for s in SEEDS]
)
def test_levels_belong_to_the_schedule_after_any_number_of_answers(seed: int) -> None:
    problem = build_problem(*tight_loop(seed))
    whole = search(problem, DifferenceEngine, LOOSE)
    best: dict[str, int] = {level.level: level.value for level in whole.proof.levels}
    for answers in itertools.count():
        engines = Exhaustible(answers)
        found = cut_short(problem, engines)
        open_levels = {"interval"} if found is None else check(problem, found, best)
        if engines.left:
            assert not open_levels
            break
