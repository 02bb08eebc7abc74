"""The judge of schedules: every rule of docs/model.md checked from its definition."""

from __future__ import annotations

from twill.verification.proof import Trusted, conditions
from twill.verification.verifier import RULES, UNTIMED, Verdict, Violation, verify, verify_bound

__all__ = [
    "RULES",
    "UNTIMED",
    "Trusted",
    "Verdict",
    "Violation",
    "conditions",
    "verify",
    "verify_bound",
]
