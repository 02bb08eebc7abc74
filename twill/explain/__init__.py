"""The proof of a schedule: why no smaller interval exists, and its refutations made again."""

from __future__ import annotations

from twill.explain.proofs import Explanation, Part, Reproof, Role, explain, reprove

__all__ = ["Explanation", "Part", "Reproof", "Role", "explain", "reprove"]
