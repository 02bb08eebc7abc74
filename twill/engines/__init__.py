"""Questions and answers of every engine."""

from __future__ import annotations

from twill.engines.questions import (
    FAMILIES,
    FREELY,
    MEANING,
    NO_LIMITS,
    WAYS,
    Answer,
    Conditions,
    Engine,
    EngineFactory,
    Hint,
    Limits,
    Objective,
    Question,
    Range,
    Refutation,
)
from twill.solvers import Status

__all__ = [
    "FAMILIES",
    "FREELY",
    "MEANING",
    "NO_LIMITS",
    "WAYS",
    "Answer",
    "Conditions",
    "Engine",
    "EngineFactory",
    "Hint",
    "Limits",
    "Objective",
    "Question",
    "Range",
    "Refutation",
    "Status",
]
