"""The proof of a schedule: why no smaller interval exists, and its refutations made again."""

from __future__ import annotations

from twill.explain.explanation import Explanation, Part, Role, explain
from twill.explain.reproof import Reproof, reprove

__all__ = ["Explanation", "Part", "Reproof", "Role", "explain", "reprove"]
