"""A loop on a machine as the integers that solvers see, built of the rules of docs/model.md."""

from __future__ import annotations

from twill.problem.build import build_problem
from twill.problem.problem import Problem

__all__ = ["Problem", "build_problem"]
