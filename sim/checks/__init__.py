"""Checks of a program by a short run: races, occupancy, and its numbers."""

from __future__ import annotations

from twill.sim.checks.all_checks import Checks, check, enough_iterations

__all__ = ["Checks", "check", "enough_iterations"]
