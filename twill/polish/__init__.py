"""Programs that the simulated SM executes faster: local search with the simulator as judge."""

from __future__ import annotations

from twill.polish.answer import Interrupted, Other, Polished
from twill.polish.barriers import fewer_barriers, optional_barriers, without_barriers
from twill.polish.judge import Judge
from twill.polish.polishing import DEFAULT_CONDITIONS, polish, promised
from twill.polish.search import program_key
from twill.polish.tuning import EFFORTS, programs_of

__all__ = [
    "DEFAULT_CONDITIONS",
    "EFFORTS",
    "Interrupted",
    "Judge",
    "Other",
    "Polished",
    "fewer_barriers",
    "optional_barriers",
    "polish",
    "program_key",
    "programs_of",
    "promised",
    "without_barriers",
]
