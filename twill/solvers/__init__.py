"""Yices: its bindings, made to find the shared library, and a context for questions."""

from __future__ import annotations

from twill.solvers.yices import Context, Formulas, Status, bundled_library, import_yices

__all__ = ["Context", "Formulas", "Status", "bundled_library", "import_yices"]
