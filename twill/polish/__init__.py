"""Programs that the simulated SM executes faster: local search with the simulator as judge."""

from __future__ import annotations

from twill.polish.answer import Interrupted, Other, Polished
from twill.polish.polishing import DEFAULT_CONDITIONS, polish, promised
from twill.polish.tuning import EFFORTS, programs_of

__all__ = [
    "DEFAULT_CONDITIONS",
    "EFFORTS",
    "Interrupted",
    "Other",
    "Polished",
    "polish",
    "programs_of",
    "promised",
]
